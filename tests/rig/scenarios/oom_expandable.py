# SPDX-License-Identifier: GPL-3.0-or-later
"""Out of memory with expandable segments: address space is plenty, pages of the device are not.

One segment grows by mapping pages into reserved addresses (cuMemAddressReserve, cuMemCreate,
cuMemMap); cudaMalloc is not used at all. The driver refuses the next page. Not for torch 1.13: its
allocator does not know the setting.
"""
import sys
import threading

import inside
import torch

SCENARIO = {
    "about": "CUDA out of memory with expandable_segments: cuMemCreate has no more pages",
    "torch": ">=2.1",
    "rules": ["gpu count=1 memory=24GiB other=500MiB"],
    "env": {"PYTORCH_CUDA_ALLOC_CONF": "expandable_segments:True"},
    "core": "kernel",
    "seconds": 8,
    "expect": {
        "signal": "SIGABRT",
        "crashed": {"role": "main", "stack": ["abort", "last_words", "out_of_memory"]},
        "threads": [{"name": "metrics", "stack": ["park"]}],
        "stderr": r"24\.00 GiB of which .*is free.*Of the allocated memory 20\.00 GiB is allocated",
        "exception": {
            "language": "python",
            "type": {
                "torch<2.5": "*OutOfMemoryError",
                "torch>=2.5": "torch.OutOfMemoryError",
            },
            "message": r"CUDA out of memory\. Tried to allocate 5\.00 GiB",
        },
        "signature": "cuda-oom-uncaught-abort",
        "confidence": "certain",
    },
}

GIB = 1 << 30


class Cache:
    """Keys and values of a growing sequence: each step needs a larger buffer than the last."""

    def __init__(self):
        self.layers = []

    def append(self, gib):
        self.layers.append(torch.empty(gib * GIB, dtype=torch.uint8, device="cuda"))


def out_of_memory(kind, value, trace):
    """One segment grew over all; what was freed in its middle was used again."""
    segments = torch.cuda.memory_snapshot()
    assert [s["is_expandable"] for s in segments] == [True], segments
    assert segments[0]["allocated_size"] == 20 * GIB, segments
    assert inside.calls("cudaMalloc") == 0 and inside.calls("cuMemMap") > 0
    stats = torch.cuda.memory_stats()
    assert stats["num_ooms"] == 1 and stats["reserved_bytes.all.current"] == 20 * GIB, stats
    inside.last_words(kind, value, trace)


def decode(cache):
    for length in (1, 2, 3):
        cache.append(length)
    del cache.layers[1:]
    for length in (5, 6, 8, 5):
        cache.append(length)


inside.die_of_exceptions()
sys.excepthook = out_of_memory
idle = threading.Event()
threading.Thread(target=inside.park, args=(idle,), name="metrics", daemon=True).start()
decode(Cache())
