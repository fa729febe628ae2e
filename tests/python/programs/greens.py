# SPDX-License-Identifier: GPL-3.0-or-later
"""Greenlets that do not run, in two threads: suspended within Python, through C, within generators.

The truth has the frames that gr_frame leads to. Asking for gr_frame makes the package rewrite the
links of the frames from 3.12 on, so that is done only with "exposed"; else the frames are those
that each greenlet wrote down itself before it switched away.
"""
import functools
import sys
import threading

import greenlet

import truth

EXPOSED = "exposed" in sys.argv[1:]
PARKED = threading.Event()
BUFFER = []
KEPT = []
FRAMES = {}


class Worker(greenlet.greenlet):
    __slots__ = ()


def park(to):
    # The line that switches is the one that is written down.
    FRAMES[id(greenlet.getcurrent())] = (truth.gettid(), truth.chain(sys._getframe())); to.switch()


def deep(n, to):
    return deep(n - 1, to) if n else park(to)


def through_c(n, to):
    """Each level calls the next from C."""
    if not n:
        return park(to)
    return functools.reduce(lambda a, b: through_c(n - 1, to), [1, 2])


def key(to, x):
    park(to)
    return x


def sorting(to):
    sorted([1], key=lambda x: key(to, x))


def generator(to):
    yield park(to)


def generating(to):
    list(generator(to))


def nested(to):
    inner = start(Worker, deep, 3, greenlet.getcurrent())
    KEPT.append(inner)
    park(to)


def native_stack(n, to):
    """Enough C stack that a part of it must be saved."""
    return max([0], key=lambda _: native_stack(n - 1, to)) if n else park(to)


def start(kind, function, *arguments):
    g = kind(functools.partial(function, *arguments))
    g.switch()
    return g


def make(kind):
    main = greenlet.getcurrent()
    KEPT.append(main)
    for function, n in ((deep, 0), (deep, 50), (through_c, 1), (through_c, 7), (native_stack, 20)):
        KEPT.append(start(kind, function, n, main))
    for function in (sorting, generating, nested):
        KEPT.append(start(kind, function, main))
    finished = start(kind, len, ())
    KEPT.append(finished)
    KEPT.append(kind(len))


def described(g):
    tid, frames = FRAMES.get(id(g), (0, []))
    if EXPOSED and g.gr_frame is not None:
        frames = truth.chain(g.gr_frame)
    # One that lives but has no frames runs, in the other thread.
    state = None if g.dead else "not started" if not g else "suspended" if frames else None
    return {
        "address": id(g),
        "type": type(g).__module__ + "." + type(g).__qualname__,
        "state": state,
        "tid": tid,
        "frames": frames,
    }


def in_thread():
    make(Worker)
    truth.park(PARKED)


def crash(main):
    running = greenlet.getcurrent()
    facts = [described(g) for g in KEPT if g is not running]
    truth.record(sys._getframe(), greenlets=facts, running=id(running)), truth.end()


def last(main):
    # The main greenlet is suspended now: its frames are those that called switch().
    crash(main)


def main():
    make(greenlet.greenlet)
    me = greenlet.getcurrent()
    own = id(me)
    FRAMES[own] = truth.gettid(), truth.chain(sys._getframe()); greenlet.greenlet(last).switch(me)


threading.Thread(target=in_thread, daemon=True).start()
while len(KEPT) < 11:
    truth.time.sleep(0.01)
main()
