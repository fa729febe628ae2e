# SPDX-License-Identifier: GPL-3.0-or-later
"""Two threads have what the other wants: the GIL, and the lock of the caching allocator.

One thread allocates. torch lets the GIL go there and takes the allocator's lock, and under it
something wants the GIL. In torch 1.13 it is the memory history: each block has the Python stack of
its allocation, which is dropped with the block when cached blocks go back to the device. Since 2.6
a pool may have an allocator of its own, and one that is written in Python (with ctypes) runs under
that lock. The other thread frees the storage of a parameter, as sharded training does after each
layer: resize_() keeps the GIL, and wants the lock.

In torch 2.1 and 2.4 there is neither: stacks are dropped later, by who has the GIL, and pools do
not have allocators of their own yet.
"""
import ctypes
import sys
import threading
import time

import inside
import torch

SCENARIO = {
    "about": "deadlock of the GIL with the caching allocator's lock",
    "torch": ">=1.13,!=2.1,!=2.4",
    "rules": [
        "gpu count=1 memory=80GiB other=500MiB",
        # Where the allocating thread is while the word is written: it has let the GIL go.
        "on cudaFree cue=loading nth=1: hang",
        "on cudaMalloc cue=growing nth=1: hang",
    ],
    "core": "gcore",
    "seconds": 10,
    "expect": {
        "crashed": {
            "role": "main",
            "stack": [
                "*mutex_lock*",
                "c10::cuda::CUDACachingAllocator::*",
                "*resize_*",
                "reshard",
                "<module>",
            ],
        },
        "threads": [
            {
                "role": "python-thread",
                "name": "loader",
                "stack": {
                    "torch<2.1": [
                        "take_gil",
                        "*StackContext*",
                        "c10::cuda::CUDACachingAllocator::*",
                        "load",
                    ],
                    "torch>=2.1": ["take_gil", "allocate", "*CUDACachingAllocator*", "grow"],
                },
            }
        ],
        "signature": "gil-vs-allocator-lock-inversion",
        "confidence": "certain",
    },
}

MIB, GIB = 1 << 20, 1 << 30
OLD = torch.__version__.startswith("1.")
# Functions of it are called with the GIL held, as those of most extensions in C are.
HOLDING = ctypes.PyDLL(None)


@ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_void_p)
def allocate(size, device, stream):
    """An allocator for a pool: this call into the runtime lets the GIL go and takes it again."""
    pointer = ctypes.c_void_p()
    inside.LIBRARY.cudaMalloc(ctypes.byref(pointer), ctypes.c_size_t(size))
    return pointer.value


@ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_void_p)
def free(pointer, size, device, stream):
    inside.LIBRARY.cudaFree(ctypes.c_void_p(pointer))


def grow():
    address = [ctypes.cast(f, ctypes.c_void_p).value for f in (allocate, free)]
    custom = torch._C._cuda_customAllocator(*address)
    pool = torch.cuda.MemPool(custom)
    with torch.cuda.use_mem_pool(pool):
        inside.cue("growing")
        return torch.empty(64 * MIB, dtype=torch.uint8, device="cuda")


def load():
    """The second batch is larger: what the first one left in the cache is given back for it."""
    first = torch.empty(48 * GIB, dtype=torch.uint8, device="cuda")
    del first
    inside.cue("loading")
    return torch.empty(64 * GIB, dtype=torch.uint8, device="cuda")


def reshard(storage, facts):
    """The GIL stays here from the record on; the other thread is let go and comes to want it."""
    inside.record(sys._getframe(), **facts), HOLDING.rig_release(), storage.resize_(0)


def until(condition):
    while not condition():
        time.sleep(0.01)


torch.cuda.init()
# Whoever has the GIL keeps it until it waits: what else is a matter of luck happens each time.
sys.setswitchinterval(1000)
if OLD:
    torch.cuda.memory._record_memory_history(True, 0)
    work, entry = load, "cudaFree"
else:
    work, entry = grow, "cudaMalloc"
shard = torch.empty(64 * MIB, dtype=torch.uint8, device="cuda")
# To ask the allocator later is to wait for its lock.
facts = {"torch": inside.torch_facts(), "gil": inside.gettid()}
before = inside.calls(entry)
threading.Thread(target=work, name="loader", daemon=True).start()
until(lambda: inside.calls(entry) > before)
reshard(shard.storage().untyped() if OLD else shard.untyped_storage(), facts)
