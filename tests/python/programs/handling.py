# SPDX-License-Identifier: GPL-3.0-or-later
"""Dies while exceptions are being handled: in except, in finally, in __exit__, one in the other."""
import sys

import truth


class Closing:
    def __enter__(self):
        return self

    def __exit__(self, kind, value, traceback):
        try:
            raise RuntimeError("in __exit__") from value
        except RuntimeError:
            in_generator = suspended()
            next(in_generator)
            next(in_generator)


def suspended():
    try:
        yield 1 / 0
    except ZeroDivisionError:
        yield 0
        last()


def last():
    try:
        int("no number")
    finally:
        truth.record(sys._getframe(), WEAVE), truth.end()


def middle():
    with Closing():
        {}["missing"]


def first():
    try:
        raise OSError(2, "no such thing", "näme")
    except OSError as error:
        keep = error
        try:
            middle()
        finally:
            keep = None
    return keep


WEAVE = [
    truth.END,
    "last",
    "suspended",
    "@gen_iternext|gen_send|builtin_next",
    "__exit__",
    "middle",
    "first",
    "<module>",
    truth.MAIN,
]
first()
