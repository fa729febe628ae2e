# SPDX-License-Identifier: GPL-3.0-or-later
"""Dies in a loop that is hot by then: specialized bytecode, and machine code where a JIT is on."""
import sys

import truth

ROUNDS = 30000


class Point:
    __slots__ = ("x", "y")

    def __init__(self, x, y):
        self.x = x
        self.y = y

    def moved(self, n):
        return Point(
            self.x + n,
            step(self.y, n),
        )


def step(y, n):
    if n == ROUNDS - 1:
        return last(y)
    return y ^ n


def last(y):
    return max((y, 1), key=lambda v: crash(v))


def crash(v):
    truth.record(sys._getframe(), WEAVE), truth.end()


def generate(n):
    for i in range(n):
        yield i


def loop():
    point = Point(0, 0)
    for n in generate(ROUNDS):
        point = point.moved(n)
        if n % 7 == 0:
            point.x -= 1
    return point


WEAVE = [
    truth.END,
    "crash",
    "<lambda>",
    "@builtin_max|min_max",
    "last",
    "step",
    "moved",
    "loop",
    "<module>",
    truth.MAIN,
]
loop()
