# SPDX-License-Identifier: GPL-3.0-or-later
"""A container's /dev/shm is too small: a worker's write into its shared batch is a SIGBUS.

The process has a /dev/shm of its own of 4 MiB, as containers have one of 64 MiB: a tmpfs in a mount
namespace (of a user namespace, where it is not root). A worker collates its batch there for the
trainer to take, and the trainer is slow. The file has its length at once and gets its pages when
they are written: the write for which no page is left faults. PyTorch's handler for SIGBUS writes
its line and raises the signal again.

PyTorch from 2.14 on asks for the pages beforehand and would raise an error; there the batches are
in multiprocessing.shared_memory, which does not ask.
"""
import ctypes
import math
import os
import sys
import time
from multiprocessing import shared_memory

import inside
import torch
import torch.utils.data

SCENARIO = {
    "about": "SIGBUS of a DataLoader worker that writes to a full /dev/shm",
    "core": "kernel",
    "of": "child",
    "seconds": 12,
    "expect": {
        "signal": "SIGBUS",
        "crashed": {
            "role": "main",
            "stack": [
                "raise",
                "handler_SIGBUS",
                "at::native::structured_cat_out_cpu::impl",
                "at::_ops::stack_out::call",
                "torch::autograd::THPVariable_stack",
                "collate",
                "fetch.py:fetch",
                "worker.py:_worker_loop",
                "_bootstrap",
                "dataloader.py:__init__",
                "train",
                "<module>",
            ],
        },
        "stderr": r"(?s)ERROR: Unexpected bus error encountered in worker\."
        r".*DataLoader worker \(pid(\(s\))? \d+\) is killed by signal: Bus error",
        "threads": [{"role": "python-thread", "name": "QueueFeederThread", "stack": ["_feed"]}],
        "signature": "dataloader-shm-sigbus",
    },
}

LIBC = ctypes.CDLL(None, use_errno=True)
NEWNS, NEWUSER = 0x20000, 0x10000000
REC_PRIVATE = 0x44000
VERSION = tuple(map(int, torch.__version__.split(".")[:2]))
SEGMENTS = []  # what of shared_memory the worker has made


class Images(torch.utils.data.Dataset):
    def __len__(self):
        return 64

    def __getitem__(self, index):
        return torch.full((3, 224, 224), index / 64)


def small_shm():
    """A /dev/shm of 4 MiB for this process and its children."""
    user, group = os.getuid(), os.getgid()
    if LIBC.unshare(NEWNS) and LIBC.unshare(NEWNS | NEWUSER):
        inside.lacks("no mount namespace may be made: %s" % os.strerror(ctypes.get_errno()))
    if os.getuid() != user:
        for name, line in (
            ("setgroups", "deny"),
            ("uid_map", "0 %d 1" % user),
            ("gid_map", "0 %d 1" % group),
        ):
            with open("/proc/self/" + name, "w") as file:
                file.write(line)
    LIBC.mount(b"none", b"/", None, REC_PRIVATE, None)
    if LIBC.mount(b"tmpfs", b"/dev/shm", b"tmpfs", 0, b"size=4m"):
        inside.lacks("no tmpfs may be mounted: %s" % os.strerror(ctypes.get_errno()))


def shared(shape):
    """A tensor whose memory is a file of /dev/shm."""
    size = 4 * math.prod(shape)
    if VERSION >= (2, 14):
        SEGMENTS.append(shared_memory.SharedMemory(create=True, size=size))
        return torch.frombuffer(SEGMENTS[-1].buf, dtype=torch.float32)[: size // 4].view(shape)
    storage = torch.UntypedStorage._new_shared(size)
    return torch.empty(0).set_(storage, 0, shape)


def collate(samples):
    batch = shared((len(samples), *samples[0].shape))
    inside.record(sys._getframe(), gil=0), torch.stack(samples, out=batch)
    return batch


def train(model, optimizer, loader):
    for images in loader:
        loss = model(images.clone()).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        time.sleep(0.5)


small_shm()
torch.set_num_threads(1)
model = torch.nn.Sequential(torch.nn.Conv2d(3, 4, 7, stride=4), torch.nn.ReLU())
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
loader = torch.utils.data.DataLoader(
    Images(), batch_size=4, num_workers=1, prefetch_factor=8, collate_fn=collate
)
train(model, optimizer, loader)
sys.exit("a worker should have died")
