# SPDX-License-Identifier: GPL-3.0-or-later
"""A server that has nothing to do: an event loop, a pool of threads, a model. Nothing is wrong.

It has answered some requests, each by a forward pass in the pool, and waits for the next. Whoever
takes a core of it must not be told of a hang.
"""
import asyncio
import concurrent.futures
import sys
import threading

import inside
import torch

SCENARIO = {
    "about": "an idle server: asyncio's loop in epoll_wait, its pool's threads without work",
    "core": "gcore",
    "seconds": 8,
    "expect": {
        "signature": "unknown",
        "crashed": {
            "role": "main",
            "stack": [
                "epoll_wait",
                "select_epoll_poll*",
                "selectors.py:select",
                "base_events.py:_run_once",
                "base_events.py:run_forever",
                "base_events.py:run_until_complete",
                "<module>",
            ],
        },
        "threads": [
            {
                "role": "python-thread",
                "name": "forward_*",
                "stack": ["_queue_SimpleQueue_get*", "thread.py:_worker"],
                "count": 3,
            },
            {"role": "python-thread", "name": "witness", "stack": ["inside.py:watch"]},
        ],
    },
}


class Server:
    def __init__(self, pool):
        self.pool = pool
        self.model = torch.nn.Linear(16, 4).eval()
        self.answered = 0

    @torch.no_grad()
    def forward(self, request):
        return self.model(request).argmax(1)

    async def answer(self, reader, writer):
        loop = asyncio.get_running_loop()
        while await reader.readline():
            request = torch.ones(2, 16)
            found = await loop.run_in_executor(self.pool, self.forward, request)
            writer.write(b"%d\n" % len(found))
            await writer.drain()
            self.answered += 1
        writer.close()


async def ask(port, count):
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    for _ in range(count):
        writer.write(b"classify\n")
        await reader.readline()
    writer.close()


async def serve(server):
    listener = await asyncio.start_server(server.answer, "127.0.0.1", 0)
    port = listener.sockets[0].getsockname()[1]
    await asyncio.gather(*(ask(port, 5) for _ in range(4)))
    await asyncio.sleep(10**6)


def is_idle(server):
    """All is answered, the loop is in its wait, and so are the threads of the pool."""
    frames = sys._current_frames()
    main = frames[threading.main_thread().ident].f_code.co_name
    return server.answered == 20 and main == "select"


torch.set_num_threads(1)
pool = concurrent.futures.ThreadPoolExecutor(3, thread_name_prefix="forward")
list(pool.map(abs, range(3)))
server = Server(pool)
inside.witness(lambda: is_idle(server))
asyncio.run(serve(server))
