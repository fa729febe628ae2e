# SPDX-License-Identifier: GPL-3.0-or-later
"""Dies while the interpreter starts, for the program "starting" of recipes.py."""
import os
import sys

sys.path.insert(0, os.environ["TRUTH_LIB"])

import truth  # noqa: E402  (found by the line above)

truth.record(sys._getframe()), truth.end()
