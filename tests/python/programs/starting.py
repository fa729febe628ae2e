# SPDX-License-Identifier: GPL-3.0-or-later
"""Never runs: site/sitecustomize.py dies before it."""
