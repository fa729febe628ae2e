# SPDX-License-Identifier: GPL-3.0-or-later
"""asyncio: chains of coroutines that run and that wait, in two threads with a loop each."""
import asyncio
import sys
import threading

import truth

other_waits = threading.Event()


async def leaf(future):
    return await future


async def middle(future):
    async with Manager():
        return await leaf(future)


class Manager:
    async def __aenter__(self):
        await asyncio.sleep(0)

    async def __aexit__(self, *exception):
        await asyncio.sleep(0)


async def numbers():
    for n in range(3):
        await asyncio.sleep(0)
        yield n


async def crash():
    async for n in numbers():
        if n == 2:
            truth.record(sys._getframe(), WEAVE), truth.end()


async def runner():
    return await crash()


async def main(loop):
    future = loop.create_future()
    tasks = [loop.create_task(middle(future)) for _ in range(2)]
    await asyncio.sleep(0.01)
    await asyncio.gather(loop.create_task(runner()), *tasks)


async def forever():
    other_waits.set()
    await asyncio.get_event_loop().create_future()


def in_thread():
    loop = asyncio.new_event_loop()
    asyncio.set_event_loop(loop)
    loop.run_until_complete(forever())


WEAVE = [truth.END, "crash", "runner", "@task_step", "~", truth.MAIN]
threading.Thread(target=in_thread, daemon=True).start()
other_waits.wait()
the_loop = asyncio.new_event_loop()
asyncio.set_event_loop(the_loop)
the_loop.run_until_complete(main(the_loop))
