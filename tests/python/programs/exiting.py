# SPDX-License-Identifier: GPL-3.0-or-later
"""Dies while the interpreter finalizes; daemon threads are there still. argv: atexit or module."""
import atexit
import sys
import threading

import truth


def waiting(event):
    event.wait()


class AtTheEnd:
    def __del__(self, sys=sys, truth=truth):
        truth.record(sys._getframe(), waiting=False, finalizing=True), truth.end()


for n in range(3):
    threading.Thread(target=waiting, args=(threading.Event(),), daemon=True).start()
truth.settle()


def at_exit():
    truth.record(sys._getframe(), finalizing=False), truth.end()


if sys.argv[1] == "atexit":
    atexit.register(at_exit)
else:
    # Modules go after the interpreter has said that it finalizes.
    sys.modules["held"] = AtTheEnd()
