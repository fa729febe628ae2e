# SPDX-License-Identifier: GPL-3.0-or-later
"""Deep recursion, each turn of which goes through C in another way."""
import functools
import sys

import truth

sys.setrecursionlimit(3000)
ROUNDS = int(sys.argv[1]) if len(sys.argv) > 1 else 12


class Attribute:
    def __getattr__(self, name):
        return by_operator(int(name[1:]))


class Number:
    def __init__(self, depth):
        self.depth = depth

    def __add__(self, other):
        return by_index(self.depth)


class Items:
    def __init__(self, depth):
        self.depth = depth

    def __getitem__(self, index):
        if index:
            raise IndexError
        return by_iteration(self.depth)


class Iterator:
    def __init__(self, depth):
        self.depth = depth

    def __iter__(self):
        return self

    def __next__(self):
        return by_comparison(self.depth)


class Ordered:
    def __init__(self, depth):
        self.depth = depth

    def __lt__(self, other):
        return by_new(self.depth)


class Made:
    def __init__(self, depth):
        by_reduce(depth - 1)


def by_reduce(depth):
    if not depth:
        truth.record(sys._getframe(), WEAVE), truth.end()
    return functools.reduce(lambda a, b: by_map(depth), [1, 2])


def by_map(depth):
    return list(map(by_sorted, [depth]))


def by_sorted(depth):
    return sorted([depth], key=by_getattr)


def by_getattr(depth):
    return getattr(Attribute(), "n%d" % depth)


def by_operator(depth):
    return sum([depth], Number(depth))


def by_index(depth):
    return list(Items(depth))


def by_iteration(depth):
    return tuple(Iterator(depth))


def by_comparison(depth):
    return max([Ordered(depth), Ordered(depth)])


def by_new(depth):
    return functools.partial(Made, depth)()


# From the innermost out: what by_reduce(0) was called by.
TURN = [
    "by_reduce",
    "__init__",
    "@partial_call|partial_vectorcall|partial_fastcall",
    "by_new",
    "__lt__",
    "@builtin_max|min_max",
    "by_comparison",
    "__next__",
    "@tuple|list_extend|PySequence_Tuple",
    "by_iteration",
    "__getitem__",
    "@list_extend|list___init__|list_init|list_vectorcall|iter_iternext",
    "by_index",
    "__add__",
    "@builtin_sum",
    "by_operator",
    "__getattr__",
    "@getattr",
    "by_getattr",
    "@list_?sort",
    "by_sorted",
    "@map_next",
    "by_map",
    "<lambda>",
    "@functools_reduce",
]
WEAVE = [truth.END] + TURN * ROUNDS + ["by_reduce", "<module>", truth.MAIN]
by_reduce(ROUNDS)
