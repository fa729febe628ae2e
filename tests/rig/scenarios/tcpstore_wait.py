# SPDX-License-Identifier: GPL-3.0-or-later
"""A rank waits in the store for a key that the other one has not written.

Rank 0 writes "weights" when it has them; it still downloads. Rank 1 waits for the key. The store
is in rank 0's process, so is the thread that serves it.
"""
import datetime
import sys
import time

import inside
import torch.distributed as dist
from torch.distributed import distributed_c10d as c10d

SCENARIO = {
    "about": "rank 1 waits in TCPStore for a key that rank 0 does not write",
    "ranks": 2,
    # Whoever kills rank 0 ends the store, and with it rank 1's wait.
    "core": "gcore",
    "seconds": 20,
    "expect": {
        "ranks": {
            "0": {
                "crashed": {"role": "main", "stack": ["download", "prepare", "<module>"]},
                "threads": [
                    # The older store has a thread in each client, too.
                    {"role": "tcpstore", "count": {"torch<2.1": 2, "torch>=2.1": 1}},
                ],
                "signature": "unknown",
            },
            "1": {
                "crashed": {
                    "role": "main",
                    "stack": [
                        "c10d::TCPStore::doWait",
                        "c10d::TCPStore::wait",
                        "prepare",
                        "<module>",
                    ],
                },
                "threads": [{"role": "tcpstore", "count": {"torch<2.1": 1, "torch>=2.1": 0}}],
                "signature": "tcpstore-wait-rendezvous",
            },
        },
    },
}


def download():
    inside.record(sys._getframe()), inside.end()


def prepare(store):
    if dist.get_rank() == 0:
        download()
        store.set("weights", "/tmp/weights.pt")
    store.wait(["weights"], datetime.timedelta(hours=1))


inside.join()
store = c10d._get_default_store()
if dist.get_rank() == 1:
    begun = time.monotonic()
    inside.witness(lambda: time.monotonic() - begun > 1)
prepare(store)
