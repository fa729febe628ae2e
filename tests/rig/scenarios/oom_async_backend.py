# SPDX-License-Identifier: GPL-3.0-or-later
"""Out of memory in the driver's own pool: the allocator's backend is cudaMallocAsync.

torch has this backend since 2.0. It has no segments and blocks, and no snapshot: the process's
own word is the statistics and the text of the error.
"""
import sys
import threading

import inside
import torch

SCENARIO = {
    "about": "CUDA out of memory with the allocator's backend cudaMallocAsync",
    "torch": ">=2.0",
    "rules": ["gpu count=1 memory=80GiB other=500MiB"],
    "env": {"PYTORCH_CUDA_ALLOC_CONF": "backend:cudaMallocAsync"},
    "core": "kernel",
    "seconds": 8,
    "expect": {
        "signal": "SIGABRT",
        "crashed": {"role": "main", "stack": ["abort", "last_words", "out_of_memory"]},
        "threads": [{"name": "metrics", "stack": ["park"]}],
        "stderr": {
            # These print the number of the device as a character, which is NUL and ends the text.
            "torch>=2.4,torch<2.10": r"OutOfMemoryError: Allocation on device\s*$",
            "torch>=2.0": r"Currently allocated\s*: 72\.00 GiB\nRequested\s*: 12\.00 GiB",
        },
        "exception": {
            "language": "python",
            "type": {
                "torch<2.5": "*OutOfMemoryError",
                "torch>=2.5": "torch.OutOfMemoryError",
            },
            "message": {
                "torch>=2.4,torch<2.10": r"^Allocation on device\s*$",
                "torch>=2.0": r"Allocation on device 0 would exceed allowed memory",
            },
        },
        "signature": "cuda-oom-uncaught-abort",
        "confidence": "certain",
    },
}

GIB = 1 << 30


class Block(torch.nn.Module):
    def __init__(self, gib):
        super().__init__()
        self.gib = gib

    def forward(self, kept):
        kept.append(torch.empty(self.gib * GIB, dtype=torch.uint8, device="cuda"))
        return kept


def out_of_memory(kind, value, trace):
    """The statistics are the driver's pool's; a snapshot is refused."""
    assert torch.cuda.get_allocator_backend() == "cudaMallocAsync"
    assert inside.calls("cudaMallocAsync") > 0 and inside.calls("cudaMalloc") == 0
    stats = torch.cuda.memory_stats()
    assert stats["allocated_bytes.all.current"] == 72 * GIB, stats
    assert stats["reserved_bytes.all.current"] >= 72 * GIB, stats
    try:
        torch.cuda.memory_snapshot()
    except RuntimeError:
        inside.last_words(kind, value, trace)


def train_step(model):
    return model([])


inside.die_of_exceptions()
sys.excepthook = out_of_memory
idle = threading.Event()
threading.Thread(target=inside.park, args=(idle,), name="metrics", daemon=True).start()
train_step(torch.nn.Sequential(Block(40), Block(24), Block(8), Block(12)))
