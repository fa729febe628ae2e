# SPDX-License-Identifier: GPL-3.0-or-later
"""Enough memory is free, and nowhere in one piece: the caching allocator's is fragmented.

A server's first, large batch makes the allocator reserve segments of 24 GiB. Later they are cut
up for caches of requests, of which every other one ends. What is free between those that go on is
four times what the next request wants, and no block of it is large enough.
"""
import sys
import threading

import inside
import torch

SCENARIO = {
    "about": "CUDA out of memory with 36 GiB free in the allocator, in blocks of 1 GiB",
    "rules": ["gpu count=1 memory=80GiB other=500MiB"],
    "core": "kernel",
    "seconds": 8,
    "expect": {
        "signal": "SIGABRT",
        "crashed": {"role": "main", "stack": ["abort", "last_words", "out_of_memory"]},
        "threads": [{"name": "requests", "stack": ["park"]}],
        "stderr": {
            "torch<2.1": r"36\.00 GiB already allocated.*72\.00 GiB reserved in total by PyTorch\)"
            r".*max_split_size_mb to avoid fragmentation",
            "torch>=2.1": r"36\.00 GiB is allocated by PyTorch, and 36\.00 GiB is reserved by "
            r"PyTorch but unallocated.*to avoid fragmentation",
        },
        "exception": {
            "language": "python",
            "type": {
                "torch<2.5": "*OutOfMemoryError",
                "torch>=2.5": "torch.OutOfMemoryError",
            },
            "message": r"CUDA out of memory\. Tried to allocate 9\.00 GiB",
        },
        "signature": "cuda-oom-uncaught-abort",
        "confidence": "certain",
    },
}

GIB = 1 << 30


def allocate(gib):
    return torch.empty(gib * GIB, dtype=torch.uint8, device="cuda")


class Server:
    def __init__(self):
        self.caches = {}

    def warm_up(self):
        """The largest batch first: three segments that stay."""
        batch = [allocate(24) for _ in range(3)]
        del batch

    def admit(self, request, gib):
        self.caches[request] = allocate(gib)

    def finish(self, request):
        del self.caches[request]


def out_of_memory(kind, value, trace):
    """The allocator's own word of it: much is free, and none of its blocks is of use."""
    blocks = [b for segment in torch.cuda.memory_snapshot() for b in segment["blocks"]]
    free = [b["size"] for b in blocks if b["state"] == "inactive"]
    assert sum(free) == 36 * GIB and max(free) == GIB and len(free) == 36, free
    stats = torch.cuda.memory_stats()
    assert stats["reserved_bytes.all.current"] == 72 * GIB, stats
    assert stats["inactive_split_bytes.all.current"] == 36 * GIB, stats
    assert stats["num_ooms"] == 1 and torch.cuda.mem_get_info()[0] < 9 * GIB
    inside.last_words(kind, value, trace)


def serve(server):
    server.warm_up()
    for request in range(72):
        server.admit(request, 1)
    for request in range(0, 72, 2):
        server.finish(request)
    server.admit(72, 9)


inside.die_of_exceptions()
sys.excepthook = out_of_memory
idle = threading.Event()
threading.Thread(target=inside.park, args=(idle,), name="requests", daemon=True).start()
serve(Server())
