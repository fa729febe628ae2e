# SPDX-License-Identifier: GPL-3.0-or-later
"""Under sys.settrace and sys.setprofile: other bytecode, and tracers have frames."""
import sys

import truth

armed = []


def profiler(frame, event, argument):
    if armed and event == "call":
        truth.record(sys._getframe(), WEAVE), truth.end()


def tracer(frame, event, argument):
    return tracer


def traced(n):
    n += 1
    armed.append(n)
    return last(
        n,
    )


def last(n):
    return n


def outer():
    x = 1
    y = traced(
        x
    )
    return y


WEAVE = [truth.END, "profiler", "@trampoline", "last", "traced", "outer", "<module>", truth.MAIN]
sys.settrace(tracer)
sys.setprofile(profiler)
outer()
