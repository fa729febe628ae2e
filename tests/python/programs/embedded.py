# SPDX-License-Identifier: GPL-3.0-or-later
"""Run by embed.c, in its main thread or in one that Python did not make."""
import sys
import threading

import truth


def waits():
    threading.Event().wait()


def crash(depth):
    if depth:
        return list(map(crash, [depth - 1]))
    truth.record(sys._getframe(), WEAVE), truth.end()


WEAVE = [truth.END] + ["crash", "@map_next"] * 2 + ["crash", "<module>", "=host_runs"]
WEAVE += ["=main|host_thread"]
threading.Thread(target=waits, daemon=True, name="embedded").start()
crash(2)
