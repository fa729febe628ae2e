# SPDX-License-Identifier: GPL-3.0-or-later
"""The process may take a quarter of the GPU and asks for more; the GPU itself is nearly empty.

set_per_process_memory_fraction() makes the allocator refuse by itself: cudaMalloc is never asked.
That 60 GiB are free is the point: neither another process nor fragmentation is to blame.
"""
import sys
import threading

import inside
import torch

SCENARIO = {
    "about": "CUDA out of memory by set_per_process_memory_fraction(0.25) on an empty GPU",
    "rules": ["gpu count=1 memory=80GiB other=500MiB"],
    "core": "kernel",
    "seconds": 8,
    "expect": {
        "signal": "SIGABRT",
        "crashed": {"role": "main", "stack": ["abort", "last_words", "out_of_memory"]},
        "threads": [{"name": "heartbeat", "stack": ["park"]}],
        "stderr": {
            "torch<2.1": r"80\.00 GiB total capacity; 16\.00 GiB already allocated; "
            r"6\d\.\d\d GiB free; 20\.00 GiB allowed",
            # 2.1 and 2.4 do not tell what is allowed: that GiB are free is all there is to see.
            "torch<2.6": r"80\.00 GiB of which 6\d\.\d\d GiB is free\..*"
            r"Of the allocated memory 16\.00 GiB",
            "torch>=2.6": r"80\.00 GiB of which 6\d\.\d\d GiB is free\..*20\.00 GiB allowed; "
            r"Of the allocated memory 16\.00 GiB",
        },
        "exception": {
            "language": "python",
            "type": {
                "torch<2.5": "*OutOfMemoryError",
                "torch>=2.5": "torch.OutOfMemoryError",
            },
            "message": r"CUDA out of memory\. Tried to allocate 6\.00 GiB",
        },
        "signature": "cuda-oom-uncaught-abort",
        "confidence": "certain",
    },
}

GIB = 1 << 30


class Tenant:
    """One of four that share the GPU."""

    def __init__(self, share):
        torch.cuda.set_per_process_memory_fraction(share, 0)
        self.layers = []

    def grow(self, gib):
        self.layers.append(torch.empty(gib * GIB, dtype=torch.uint8, device="cuda"))


def out_of_memory(kind, value, trace):
    """What the device has left would do three times over, and it was not asked."""
    stats = torch.cuda.memory_stats()
    assert stats["reserved_bytes.all.current"] == 16 * GIB, stats
    assert stats["num_ooms"] == 1, stats
    assert torch.cuda.mem_get_info()[0] > 60 * GIB
    assert inside.calls("cudaMalloc") == stats["segment.all.allocated"] == 4, stats
    inside.last_words(kind, value, trace)


def load(tenant):
    for _ in range(4):
        tenant.grow(4)
    tenant.grow(6)


inside.die_of_exceptions()
sys.excepthook = out_of_memory
idle = threading.Event()
threading.Thread(target=inside.park, args=(idle,), name="heartbeat", daemon=True).start()
load(Tenant(0.25))
