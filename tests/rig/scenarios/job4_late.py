# SPDX-License-Identifier: GPL-3.0-or-later
"""Four ranks; one reads its next batch from a file system that does not answer, three wait for it.

Nothing has failed and nothing times out yet: the cores are those of a job that somebody looks at
because it no longer writes losses. All that is wrong is the stack of rank 2.
"""
import os
import time

import _job
import inside

SCENARIO = {
    "about": "four ranks: rank 2 sleeps in its data loading, the others wait in an all-reduce",
    "ranks": 4,
    "env": {
        "torch<2.8": {"TORCH_NCCL_TRACE_BUFFER_SIZE": "200"},
        "torch>=2.8": {"TORCH_FR_BUFFER_SIZE": "200"},
    },
    "core": "gcore",
    "seconds": 40,
    "expect": {
        "crashed": {
            "role": "main",
            "stack": ["cuda*", "at::native::_local_scalar_dense_cuda", "train", "<module>"],
        },
        "threads": [
            {"role": "nccl-watchdog"},
            {"name": "metrics", "stack": ["get", "run"]},
            {"role": "autograd", "count": 8},
        ],
        "signature": "collective-wait-generic",
        "ranks": {
            "2": {
                "crashed": {
                    "role": "main",
                    "stack": ["read_sample", "__getitem__", "fetch", "__next__", "train"],
                },
                "signature": "unknown",
            },
        },
    },
}


def read_sample(index):
    """Of a network file system, which hangs for one rank at its third batch."""
    if os.environ["RANK"] == "2" and index >= 32:
        time.sleep(10**6)


class Remote(_job.Samples):
    def __getitem__(self, index):
        read_sample(index)
        return super().__getitem__(index)


inside.join()
_job.Trainer(dataset=Remote(128)).train()
