# SPDX-License-Identifier: GPL-3.0-or-later
"""A handler in Python that runs in the middle of a loop, and one that runs in that handler."""
import os
import signal
import sys

import truth


def on_first(number, frame):
    # Up to 3.8 the loop runs no handler inside a handler; what waits in C does.
    signal.signal(signal.SIGALRM, Second().on_second)
    signal.setitimer(signal.ITIMER_REAL, 0.05)
    while True:
        signal.pause()


class Second:
    def on_second(self, number, frame):
        truth.record(sys._getframe(), WEAVE), truth.end()


def spin(n):
    os.kill(os.getpid(), signal.SIGUSR1)
    while True:
        n = n * 3 % 7


def busy():
    return spin(1) + 1


WEAVE = [
    truth.END,
    "on_second",
    "@PyErr_CheckSignals",
    "on_first",
    "@PyErr_CheckSignals",
    "spin",
    "busy",
    "<module>",
    truth.MAIN,
]
signal.signal(signal.SIGUSR1, on_first)
busy()
