# SPDX-License-Identifier: GPL-3.0-or-later
"""Generators in generators, by next, yield from, send, throw, and out of C."""
import sys

import truth


def innermost():
    yield 1
    truth.record(sys._getframe(), WEAVE), truth.end()
    yield 2


def delegating():
    got = yield from innermost()
    return got


def twice():
    yield from delegating()
    yield from (n for n in delegating())


def sending():
    got = yield
    while True:
        got = yield sum(got)


def throwing():
    try:
        yield
    except ValueError:
        sender = sending()
        next(sender)
        sender.send(
            n
            for n in twice()
        )


class Iterable:
    def __iter__(self):
        suspended = throwing()
        next(suspended)
        yield suspended.throw(ValueError("x"))


never_run = twice()
suspended = twice()
next(suspended)
WEAVE = [
    truth.END,
    "innermost",
    "delegating",
    "twice",
    "<genexpr>",
    "@builtin_sum",
    "sending",
    "@gen_send",
    "throwing",
    "@gen_throw",
    "__iter__",
    "@list_extend|list_init|list___init__|list_vectorcall",
    "<module>",
    truth.MAIN,
]
list(Iterable())
