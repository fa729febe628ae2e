# SPDX-License-Identifier: GPL-3.0-or-later
"""The handler of one out-of-memory error causes the next: it still holds what did not fit.

While the except block runs, the exception's traceback keeps the frames of the failed step alive,
and they keep its tensors. The second try, with half the batch, inside the block, finds no memory.
"""
import sys
import threading

import inside
import torch

SCENARIO = {
    "about": "CUDA out of memory, then again in its except block: the traceback holds the tensors",
    "rules": ["gpu count=1 memory=80GiB other=500MiB"],
    "core": "kernel",
    "seconds": 8,
    "expect": {
        "signal": "SIGABRT",
        "crashed": {"role": "main", "stack": ["abort", "last_words", "out_of_memory"]},
        "threads": [{"name": "checkpoint", "stack": ["park"]}],
        "stderr": r"Tried to allocate 32\.00 GiB[\s\S]*During handling of the above exception, "
        r"another exception occurred:[\s\S]*in retry[\s\S]*Tried to allocate 16\.00 GiB",
        "exception": {
            "language": "python",
            "type": {
                "torch<2.5": "*OutOfMemoryError",
                "torch>=2.5": "torch.OutOfMemoryError",
            },
            "message": r"CUDA out of memory\. Tried to allocate 16\.00 GiB",
        },
        "signature": "cuda-oom-uncaught-abort",
        "confidence": "certain",
    },
}

GIB = 1 << 30


def layer(gib):
    return torch.empty(gib * GIB, dtype=torch.uint8, device="cuda")


def step(batch):
    """Activations grow with the batch; they are locals of this frame."""
    first = layer(batch)
    second = layer(batch)
    third = layer(batch)
    return first, second, third


def retry(batch):
    return step(batch // 2)


def train(batch):
    try:
        return step(batch)
    except RuntimeError:  # OutOfMemoryError is one
        torch.cuda.empty_cache()
        return retry(batch)


def out_of_memory(kind, value, trace):
    """The first error's frames still own 64 GiB, and half a batch would fit in them."""
    first = value.__context__
    assert type(first) is kind and "32.00 GiB" in str(first), first
    frames = []
    trace_of_first = first.__traceback__
    while trace_of_first:
        frames.append(trace_of_first.tb_frame)
        trace_of_first = trace_of_first.tb_next
    held = [f for f in frames if f.f_code.co_name == "step"][0].f_locals
    assert held["first"].numel() + held["second"].numel() == 64 * GIB
    stats = torch.cuda.memory_stats()
    assert stats["num_ooms"] == 2 and stats["allocated_bytes.all.current"] == 64 * GIB, stats
    assert sum(s["allocated_size"] for s in torch.cuda.memory_snapshot()) == 64 * GIB
    inside.last_words(kind, value, trace)


inside.die_of_exceptions()
sys.excepthook = out_of_memory
idle = threading.Event()
threading.Thread(target=inside.park, args=(idle,), name="checkpoint", daemon=True).start()
train(32)
