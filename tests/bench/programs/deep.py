# SPDX-License-Identifier: GPL-3.0-or-later
"""Dies below as many Python calls as asked for, in a thread whose stack holds them.

deep.py N: one function calls itself; deep.py N mixed: three call each other in no order that could
be folded.
"""
import os
import random
import sys
import threading

DEPTH = int(sys.argv[1])
ORDER = random.Random(1)
CHOSEN = [ORDER.randrange(3) for _ in range(DEPTH)] if sys.argv[2:] else [0] * DEPTH


def first(depth):
    if depth:
        return FUNCTIONS[CHOSEN[depth - 1]](depth - 1) + 1
    os.abort()


def second(depth):
    if depth:
        return FUNCTIONS[CHOSEN[depth - 1]](depth - 1) + 1
    os.abort()


def third(depth):
    if depth:
        return FUNCTIONS[CHOSEN[depth - 1]](depth - 1) + 1
    os.abort()


FUNCTIONS = [first, second, third]
sys.setrecursionlimit(DEPTH + 100)
threading.stack_size(1 << 30)
thread = threading.Thread(target=first, args=(DEPTH,))
thread.start()
thread.join()
