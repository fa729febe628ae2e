# SPDX-License-Identifier: GPL-3.0-or-later
"""asyncio tasks that wait for many things, in two loops, of the C class and of the Python one.

The truth has for each task that is not done its name, state, coroutine and the chain of coroutines
that it is suspended through, each asked for with what Python itself has: cr_await and its kind.
"""
import asyncio
import gc
import inspect
import sys
import threading
import types

import truth

GENERATORS = inspect.CO_GENERATOR | inspect.CO_COROUTINE | inspect.CO_ASYNC_GENERATOR
PREFIXES = ("cr", "gi", "ag")
other_waits = threading.Event()
loops = []


class Awaitable:
    """__await__ is a generator."""

    def __init__(self, future):
        self.future = future

    def __await__(self):
        return (yield from self.future.__await__())


@types.coroutine
def old_style(future):
    yield from [None]
    return (yield from Awaitable(future).__await__())


async def leaf(future):
    return await future


async def sleeper():
    await asyncio.sleep(86400.5)


async def locker(lock):
    async with lock:
        pass


async def eventer(event):
    await event.wait()


async def getter(queue):
    return await queue.get()


async def joiner(task):
    return await task


async def gatherer(*tasks):
    await asyncio.gather(*tasks)


async def with_limit(future):
    await asyncio.wait_for(leaf(future), 3600)


async def waiter(task):
    await asyncio.wait({task})


async def wrapping(future):
    await Awaitable(future)


async def old(future):
    await old_style(future)


async def numbers(future):
    try:
        yield 1
        yield await leaf(future)
    finally:
        pass


async def iterating(future):
    async for _ in numbers(future):
        pass


async def sending(future):
    it = numbers(future)
    await it.__anext__()
    await it.asend(None)


async def defaulting(future):
    it = numbers(future)
    await it.__anext__()
    await anext(it, None)


async def throwing(future):
    async def stubborn():
        try:
            yield
        except KeyError:
            await leaf(future)

    it = stubborn()
    await it.__anext__()
    await it.athrow(KeyError)


async def deep(n, future):
    await (deep(n - 1, future) if n else leaf(future))


async def forever(lock):
    await lock.acquire()
    await asyncio.sleep(10**6)


async def naïve_名前(future):
    await leaf(future)


async def never_started():
    raise AssertionError


# ---- the truth ----


def of(o, field):
    for prefix in PREFIXES:
        if hasattr(o, prefix + "_code"):
            names = {"await": {"gi": "gi_yieldfrom"}.get(prefix, prefix + "_await")}
            return getattr(o, names.get(field, prefix + "_" + field))
    return None


def is_future(o):
    return hasattr(type(o), "add_done_callback")


def unwrap(o):
    """What an awaitable of the interpreter is a wrapper of."""
    while o is not None and not is_future(o) and of(o, "code") is None:
        inner = [r for r in gc.get_referents(o) if is_future(r) or of(r, "code") or is_wrapper(r)]
        if not inner:
            break
        o = inner[0]
    return o


def is_wrapper(o):
    names = ("FutureIter", "coroutine_wrapper", "async_generator_asend")
    return type(o).__name__ in names + ("async_generator_athrow", "anext_awaitable")


def suspended(coro):
    found = []
    while coro is not None and of(coro, "frame") is not None:
        found.append(truth.describe(of(coro, "frame")))
        coro = unwrap(of(coro, "await"))
    return found[::-1]


def running(coro, frame):
    """The frames from that of the coroutine on inwards that are of coroutines as well."""
    found = []
    while frame is not of(coro, "frame"):
        found = found + [frame] if frame.f_code.co_flags & GENERATORS else []
        frame = frame.f_back
    return [truth.describe(f) for f in found + [frame]]


def coro_of(task):
    return task.get_coro() if hasattr(task, "get_coro") else task._coro


def all_tasks(loop):
    if hasattr(asyncio, "all_tasks"):
        # From 3.14 on the two classes have registries of their own.
        more = getattr(asyncio.tasks, "_py_all_tasks", asyncio.all_tasks)
        return asyncio.all_tasks(loop) | more(loop)
    return Task.all_tasks(loop) | PyTask.all_tasks(loop)


def current(loop):
    if hasattr(asyncio, "current_task"):
        return asyncio.current_task(loop)
    return Task.current_task(loop)


def describe(task, loop, tid, frame):
    coro, future = coro_of(task), task._fut_waiter
    is_current = task is current(loop)
    state = "waiting" if future is not None and not future.done() else "ready"
    return {
        "address": id(task),
        "loop": id(loop),
        "tid": tid,
        "class": type(task).__module__ + "." + type(task).__qualname__,
        "name": NAMES.get(id(task)),
        "coroutine": coro.__qualname__,
        "state": "running" if is_current else state,
        "awaits_task": id(future) if isinstance(future, (Task, PyTask)) else None,
        "awaits": WAITS.get(id(task)),
        "frames": running(coro, frame) if is_current else suspended(coro),
    }


def tasks(frame):
    found = []
    for loop, tid in loops:
        for task in all_tasks(loop):
            if not task.done():
                found.append(describe(task, loop, tid, frame))
    return found


# ---- the program ----

Task = asyncio.Task
PyTask = getattr(asyncio.tasks, "_PyTask", asyncio.Task)
HAS_NAMES = sys.version_info >= (3, 8)
NAMES, WAITS, KEPT = {}, {}, []


def start(coro, awaits=None, name=None, kind=Task):
    loop = asyncio.get_event_loop()
    task = kind(coro, loop=loop, **({"name": name} if name and HAS_NAMES else {}))
    if HAS_NAMES and name:
        NAMES[id(task)] = name
    WAITS[id(task)] = awaits
    KEPT.append(task)
    return task


async def inner():
    truth.record(sys._getframe(), tasks=tasks(sys._getframe())), truth.end()


async def runner():
    async for _ in numbers_running():
        pass


async def numbers_running():
    yield await inner()


async def main():
    loop = asyncio.get_event_loop()
    loops.append((loop, truth.gettid()))
    future, lock = loop.create_future(), asyncio.Lock()
    event, queue = asyncio.Event(), asyncio.Queue()
    start(forever(lock), "sleep(1000000)")
    await asyncio.sleep(0)
    start(sleeper(), "sleep(86400.5)", "sleeper")
    start(locker(lock), "Lock.acquire")
    start(eventer(event), "Event.wait")
    start(getter(queue), "Queue.get", "getter-\u540d\U0001f600")
    first = start(leaf(future), "Future pending", "first")
    start(joiner(first), "first" if HAS_NAMES else "leaf")
    start(gatherer(first), "gather of 1, 1 pending")
    start(gatherer(first, start(leaf(future))), "gather of 2, 2 pending")
    start(with_limit(future))
    start(waiter(first), "wait")
    start(wrapping(future), "Future pending")
    start(old(future), "Future pending")
    start(iterating(future), "Future pending")
    start(sending(future), "Future pending")
    if "anext" in dir(__builtins__):
        start(defaulting(future), "Future pending")
    start(throwing(future), "Future pending")
    start(deep(50, future), "Future pending", "deep")
    start(naïve_名前(future), "Future pending")
    start(sleeper(), "sleep(86400.5)", "python", PyTask)
    start(joiner(start(leaf(future), "Future pending", kind=PyTask)), kind=PyTask)
    pure = getattr(asyncio.futures, "_PyFuture", asyncio.Future)(loop=loop)
    start(leaf(pure), kind=PyTask)
    start(wrapping(pure))
    for _ in range(4):
        await asyncio.sleep(0)
    start(never_started())
    done = loop.create_future()
    start(leaf(done), "Future done")
    await asyncio.sleep(0)
    done.set_result(None)
    start(never_started(), name="not started")
    await runner()


async def elsewhere():
    loop = asyncio.get_event_loop()
    loops.append((loop, truth.gettid()))
    start(leaf(loop.create_future()), "Future pending", "elsewhere")
    loop.call_later(0.1, other_waits.set)
    await asyncio.sleep(10**6)


def run(coro):
    loop = asyncio.new_event_loop()
    asyncio.set_event_loop(loop)
    loop.run_until_complete(coro)


threading.Thread(target=run, args=(elsewhere(),), daemon=True).start()
other_waits.wait()
run(main())
