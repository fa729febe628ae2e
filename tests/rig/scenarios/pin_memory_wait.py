# SPDX-License-Identifier: GPL-3.0-or-later
"""A trainer waits for a batch: its workers hang in their storage.

Each worker reads its shard from a server that took the connection and sends nothing. The main
thread waits for the pin-memory thread, which waits for the workers' queue: only the workers know
why.
"""
import socket
import sys
import threading

import inside
import torch
import torch.utils.data

SCENARIO = {
    "about": "the trainer waits for pinned batches of workers that hang in recv()",
    "core": "gcore",
    "seconds": 12,
    "expect": {
        "crashed": {
            "role": "main",
            "stack": [
                "queue.py:get",
                "dataloader.py:_try_get_data",
                "dataloader.py:_get_data",
                "dataloader.py:_next_data",
                "dataloader.py:__next__",
                "train",
                "<module>",
            ],
        },
        "threads": [
            {
                "role": "python-thread",
                "stack": [
                    "poll",
                    "connection.py:wait",
                    "queues.py:get",
                    "pin_memory.py:_pin_memory_loop",
                ],
            },
            {"role": "python-thread", "name": "QueueFeederThread", "count": 2},
            {"role": "python-thread", "name": "witness"},
        ],
        "signature": "dataloader-main-waits-dead-worker",
    },
}


class Shards(torch.utils.data.IterableDataset):
    """Samples as a server of storage sends them."""

    def __init__(self, address):
        self.address = address

    def __iter__(self):
        with socket.create_connection(self.address) as stream:
            while True:
                yield torch.frombuffer(bytearray(stream.recv(512)), dtype=torch.uint8)


def train(model, loader):
    for batch in loader:
        model(batch.cuda(non_blocking=True))


def waits_for_batch():
    """Whether the main thread is in the loader, and in the wait of its queue."""
    main = sys._current_frames()[threading.main_thread().ident]
    names = [name for _, _, _, name in inside.truth.chain(main)]
    return names[0] == "wait" and "_try_get_data" in names


torch.cuda.init()
server = socket.create_server(("127.0.0.1", 0))
shards = Shards(server.getsockname())
loader = torch.utils.data.DataLoader(shards, batch_size=8, num_workers=2, pin_memory=True)
inside.witness(waits_for_batch)
train(torch.nn.Identity(), loader)
sys.exit("the workers should have sent nothing")
