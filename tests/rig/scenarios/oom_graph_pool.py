# SPDX-License-Identifier: GPL-3.0-or-later
"""Captured CUDA graphs have most of the memory in pools of their own; eager work gets no more.

An inference engine captures one graph for each batch size. What a graph's kernels use stays in
its private pool for as long as the graph lives, although nothing in Python holds a tensor of it.
"""
import sys
import threading

import inside
import torch

SCENARIO = {
    "about": "CUDA out of memory while private pools of CUDA graphs hold 60 of 80 GiB",
    "rules": ["gpu count=1 memory=80GiB other=500MiB"],
    "core": "kernel",
    "seconds": 8,
    "expect": {
        "signal": "SIGABRT",
        "crashed": {"role": "main", "stack": ["abort", "last_words", "out_of_memory"]},
        "threads": [{"name": "engine-output", "stack": ["park"]}],
        "stderr": {
            "torch<2.1": r"8\.00 GiB already allocated.*68\.00 GiB reserved in total by PyTorch",
            "torch<2.4": r"Of the allocated memory 8\.00 GiB is allocated by PyTorch, and "
            r"60\.00 GiB is reserved by PyTorch but unallocated",
            "torch>=2.4": r"8\.00 GiB is allocated by PyTorch, with 60\.00 GiB allocated in "
            r"private pools \(e\.g\., CUDA Graphs\)",
        },
        "exception": {
            "language": "python",
            "type": {
                "torch<2.5": "*OutOfMemoryError",
                "torch>=2.5": "torch.OutOfMemoryError",
            },
            "message": r"CUDA out of memory\. Tried to allocate 14\.00 GiB",
        },
        "signature": "cuda-oom-uncaught-abort",
        "confidence": "certain",
    },
}

GIB = 1 << 30


def allocate(gib):
    return torch.empty(gib * GIB, dtype=torch.uint8, device="cuda")


class Engine:
    """One graph for each batch size, as servers of models capture them at start."""

    def __init__(self):
        self.weights = allocate(8)
        self.graphs = {}

    def forward(self, gib):
        hidden = allocate(gib).add_(1)
        return hidden.mul_(2)

    def capture(self, size, gib):
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            self.forward(gib)
        self.graphs[size] = graph
        graph.replay()


def in_pools(segments):
    """Bytes of the segments of private pools; None where the snapshot does not tell them."""
    if any("segment_pool_id" not in s for s in segments):
        return None
    return sum(s["total_size"] for s in segments if tuple(s["segment_pool_id"]) != (0, 0))


def out_of_memory(kind, value, trace):
    """The graphs' segments are all that there is but the weights, and hold no tensor."""
    segments = torch.cuda.memory_snapshot()
    sizes = sorted(s["total_size"] // GIB for s in segments if s["total_size"] >= GIB)
    assert sizes == [8, 12, 16, 32], sizes
    assert sum(s["allocated_size"] for s in segments) // GIB == 8, segments
    pools = in_pools(segments)
    assert pools is None or 60 * GIB <= pools < 61 * GIB, segments
    assert torch.cuda.mem_get_info()[0] < 14 * GIB
    inside.last_words(kind, value, trace)


def serve(engine):
    for size, gib in ((32, 32), (16, 16), (8, 12)):
        engine.capture(size, gib)
    engine.forward(14)


inside.die_of_exceptions()
sys.excepthook = out_of_memory
idle = threading.Event()
threading.Thread(target=inside.park, args=(idle,), name="engine-output", daemon=True).start()
serve(Engine())
