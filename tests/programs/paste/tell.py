# SPDX-License-Identifier: GPL-3.0-or-later
"""Python processes that say of themselves what tools are asked afterwards.

    tell.py hang FILE       FILE has the frames of all threads; then it waits
    tell.py fault FILE      the same, then abort() under faulthandler
    tell.py raise FILE KIND FILE has the frames and texts of the exceptions that end it
"""
import collections
import faulthandler
import functools
import json
import os
import sys
import threading
import time
import traceback


class Odd(Exception):
    """Its name is qualified."""


def deep(n, work):
    return deep(n - 1, work) if n else [work(x) for x in (n,)]


def wait(started):
    started.release()
    time.sleep(1000)


def frames(stack):
    """Innermost first."""
    return [[f.filename, f.lineno, f.name] for f in reversed(stack)]


def threads():
    names = {t.ident: t for t in threading.enumerate()}
    told = []
    for ident, frame in sys._current_frames().items():
        thread = names[ident]
        told.append(
            {
                "name": thread.name,
                "tid": getattr(thread, "native_id", None),
                "main": thread is threading.main_thread(),
                # Who tells is in this function now, and will not be.
                "frames": [f for f in frames(traceback.extract_stack(frame)) if f[2] != "threads"],
            }
        )
    return told


def write(path, told):
    with open(path + ".new", "w") as out:
        json.dump(told, out)
    os.rename(path + ".new", path)


def start_threads():
    started = threading.Semaphore(0)
    for i in range(3):
        arguments = (i, lambda n: wait(started))
        threading.Thread(target=deep, args=arguments, name="worker %d" % i, daemon=True).start()
    for i in range(3):
        started.acquire()
    time.sleep(0.2)


def told_and_then(path, then):
    def work(n):
        write(path, threads()); then()  # one line, as the frames say  # noqa: E702

    return work


def first():
    raise ValueError("one\n two\nthree")


def chained(kind):
    try:
        deep(2, lambda n: first())
    except ValueError as error:
        if kind == "cause":
            raise Odd("CUDA error: \u00e4\nmore") from error
        {}["k"]


def recurse(n):
    return recurse(n - 1) if n else first()


def group():
    try:
        first()
    except ValueError as error:
        raise ExceptionGroup("several", [error, Odd("two")])


KINDS = collections.OrderedDict(
    plain=lambda: deep(3, lambda n: first()),
    cause=lambda: chained("cause"),
    context=lambda: chained("context"),
    recursion=lambda: recurse(500),
    syntax=lambda: compile("x = (\n", "bad.py", "exec"),
    group=lambda: group(),
)


def tell_exception(path, kind):
    try:
        KINDS[kind]()
    except BaseException as error:
        told = []
        while error is not None:
            text = "".join(traceback.format_exception_only(type(error), error)).rstrip("\n")
            stack = frames(traceback.extract_tb(error.__traceback__))
            told.append({"frames": stack, "text": text})
            error = error.__cause__ or error.__context__
        write(path, told)
        raise


if __name__ == "__main__":
    if sys.argv[1] == "hang":
        start_threads()
        deep(4, told_and_then(sys.argv[2], functools.partial(time.sleep, 1000)))
    elif sys.argv[1] == "fault":
        start_threads()
        faulthandler.enable()
        deep(4, told_and_then(sys.argv[2], os.abort))
    else:
        tell_exception(sys.argv[2], sys.argv[3])
