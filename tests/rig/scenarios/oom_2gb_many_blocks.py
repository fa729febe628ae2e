# SPDX-License-Identifier: GPL-3.0-or-later
"""A GPU of 2 GiB, full of thousands of blocks, small and large, of several streams.

A tracker of objects keeps features of many sizes on each camera's own stream. Memory that was
freed on one stream is of no use to another, so the last frame fails although much is free.
"""
import random
import sys
import threading

import inside
import torch

SCENARIO = {
    "about": "CUDA out of memory on a GPU of 2 GiB with thousands of blocks on six streams",
    "rules": ['gpu count=1 memory=2GiB other=200MiB name="NVIDIA T400" capability=7.5 sms=6'],
    "core": "kernel",
    "seconds": 10,
    "expect": {
        "signal": "SIGABRT",
        "crashed": {"role": "main", "stack": ["abort", "last_words", "out_of_memory"]},
        "threads": [{"name": "camera-4", "stack": ["park"]}],
        "stderr": {
            "torch<2.1": r"2\.00 GiB total capacity.*reserved in total by PyTorch",
            "torch>=2.1": r"2\.00 GiB of which .* MiB is free\..*reserved by PyTorch but",
        },
        "exception": {
            "language": "python",
            "type": {
                "torch<2.5": "*OutOfMemoryError",
                "torch>=2.5": "torch.OutOfMemoryError",
            },
            "message": r"CUDA out of memory\. Tried to allocate 96\.00 MiB",
        },
        "signature": "cuda-oom-uncaught-abort",
        "confidence": "certain",
    },
}

MIB = 1 << 20
BOXES, CROPS, FRAMES = 1500, 60, 3  # of each camera
MOSAICS = []  # of all of them


def allocate(size):
    return torch.empty(size, dtype=torch.uint8, device="cuda")


class Camera:
    def __init__(self, number):
        self.stream = torch.cuda.Stream()
        self.sizes = random.Random(number)
        self.boxes, self.crops, self.frames = [], [], []

    def track(self):
        """Small blocks by the thousand, middling ones in segments of 20 MiB, and frames."""
        with torch.cuda.stream(self.stream):
            self.boxes += [allocate(512 * self.sizes.randrange(1, 48)) for _ in range(BOXES)]
            self.crops += [allocate(MIB + 4096 * self.sizes.randrange(700)) for _ in range(CROPS)]
            self.frames += [allocate(24 * MIB) for _ in range(FRAMES)]

    def forget(self):
        """Every third box and every other crop is left."""
        self.boxes = self.boxes[::3]
        self.crops = self.crops[::2]


def out_of_memory(kind, value, trace):
    """Blocks of six streams, thousands of them; hundreds of MiB are free in them."""
    segments = torch.cuda.memory_snapshot()
    blocks = [b for s in segments for b in s["blocks"]]
    assert len({s["stream"] for s in segments}) == 6, {s["stream"] for s in segments}
    assert {s["segment_type"] for s in segments} == {"small", "large"}
    active = sum(b["state"] == "active_allocated" for b in blocks)
    assert active == 5 * (BOXES // 3 + CROPS // 2 + FRAMES) + len(MOSAICS), active
    free = [b["size"] for b in blocks if b["state"] == "inactive"]
    assert len(free) > 1000 and sum(free) > 300 * MIB and max(free) < 96 * MIB, sum(free)
    stats = torch.cuda.memory_stats()
    assert stats["num_ooms"] == 1 and stats["active.all.current"] == active, stats
    inside.last_words(kind, value, trace)


def watch(cameras):
    for camera in cameras:
        camera.track()
    for camera in cameras:
        camera.forget()
    while True:
        MOSAICS.append(allocate(96 * MIB))


inside.die_of_exceptions()
sys.excepthook = out_of_memory
idle = threading.Event()
threading.Thread(target=inside.park, args=(idle,), name="camera-4", daemon=True).start()
watch([Camera(number) for number in range(5)])
