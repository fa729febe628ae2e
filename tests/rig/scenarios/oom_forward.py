# SPDX-License-Identifier: GPL-3.0-or-later
"""A forward pass asks for more memory than the GPU has left, and nobody catches the error.

The caching allocator has 70 of 80 GiB in use when a layer asks for 12 more. The exception reaches
the excepthook, which records and aborts, as launchers of training jobs do to get a core.
"""
import sys
import threading

import inside
import torch

SCENARIO = {
    "about": "CUDA out of memory in a forward pass, uncaught, turned into an abort by a hook",
    "rules": ["gpu memory=80GiB other=500MiB"],
    "core": "kernel",
    "seconds": 15,
    "expect": {
        "signal": "SIGABRT",
        "crashed": {"role": "main", "stack": ["abort", "last_words"]},
        "threads": [{"name": "prefetch", "stack": ["park"]}],
        "stderr": r"CUDA out of memory\. Tried to allocate 12\.00 GiB",
        "exception": {
            "language": "python",
            "type": {
                "torch<2.5": "*OutOfMemoryError",
                "torch>=2.5": "torch.OutOfMemoryError",
            },
            "message": r"CUDA out of memory\. Tried to allocate 12\.00 GiB",
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


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.blocks = torch.nn.ModuleList([Block(20), Block(30), Block(20), Block(12)])

    def forward(self, kept):
        for block in self.blocks:
            kept = block(kept)
        return kept


def train_step(model):
    return model([])


inside.die_of_exceptions()
torch.cuda.init()
idle = threading.Event()
threading.Thread(target=inside.park, args=(idle,), name="prefetch", daemon=True).start()
train_step(Model())
sys.exit("the allocation should have failed")
