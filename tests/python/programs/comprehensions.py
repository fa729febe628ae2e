# SPDX-License-Identifier: GPL-3.0-or-later
"""Comprehensions: frames of their own up to 3.11, part of their function since."""
import sys

import truth


WEAVE = [truth.END, "~", truth.MAIN]


def crash(value):
    truth.record(sys._getframe(), WEAVE), truth.end()


def in_list(n):
    return [
        in_set(i)
        for i in range(n)
        if i
    ]


def in_set(n):
    return {in_dict(i) for i in [n]}


def in_dict(n):
    return {k: v for k, v in ((k, nested(k)) for k in [n])}


def nested(n):
    return [[crash(b) for b in [a]] for a in [n]]


class Body:
    values = [in_list(n) for n in (2,)]
