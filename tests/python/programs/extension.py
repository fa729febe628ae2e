# SPDX-License-Identifier: GPL-3.0-or-later
"""A compiled module that calls back, and a thread that it made itself."""
import os
import sys
import threading

sys.path.insert(0, os.environ["EXTENSION"])

import bouncer  # noqa: E402  (found by the line above)

import truth  # noqa: E402

ready = threading.Event()


def native_thread():
    ready.set()
    nested()


def nested():
    threading.Event().wait()


def down(depth):
    if not depth:
        truth.record(sys._getframe(), WEAVE), truth.end()
    return bouncer.bounce(down, depth - 1)


class Item(bouncer.Caller):
    def method(self, depth):
        return down(depth)


WEAVE = (
    [truth.END]
    + ["down", "=bouncer_hop", "=bouncer_bounce"] * 5
    + ["down", "method", "=caller_call"]
    + ["<module>", truth.MAIN]
)
bouncer.native_thread()
bouncer.run_in_thread(native_thread)
ready.wait()
Item()(5)
