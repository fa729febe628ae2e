# SPDX-License-Identifier: GPL-3.0-or-later
"""Callbacks out of sorting, in the ways that sorting has."""
import functools
import heapq
import sys

import truth


def crash():
    truth.record(sys._getframe(), WEAVE), truth.end()


class Least:
    def __lt__(self, other):
        return heapq.nsmallest(1, [2, 1], key=lambda v: crash())


@functools.total_ordering
class Total:
    def __eq__(self, other):
        return False

    def __lt__(self, other):
        return sorted([3, 2], key=functools.cmp_to_key(compare))


def compare(a, b):
    return [Least(), Least()].sort()


WEAVE = [
    truth.END,
    "crash",
    "<lambda>",
    "@builtin_min|min_max",
    "nsmallest",
    "__lt__",
    "@list_?sort",
    "compare",
    "@keyobject_richcompare",
    "__lt__",
    "@list_?sort",
    "<lambda>",
    "@list_?sort",
    "<module>",
    truth.MAIN,
]
[1, 2].sort(key=lambda v: [Total(), Total()].sort())
