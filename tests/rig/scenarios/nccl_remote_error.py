# SPDX-License-Identifier: GPL-3.0-or-later
"""A peer dies in the middle of training, and NCCL tells the ranks that are left.

Rank 1 is killed, as the kernel does when memory runs out. Rank 0 waits in an all-reduce for it;
NCCL finds the connection closed and reports an asynchronous error, which makes the watchdog abort.
"""
import os
import signal

import _job
import inside

SCENARIO = {
    "about": "rank 1 is killed; NCCL's remote error makes the watchdog of rank 0 abort",
    "ranks": 2,
    # Up to 2.0 the communicator is aborted before the watchdog throws. Here the GPU does not go
    # on then, for the main thread would be seen anywhere.
    "rules": {
        "torch<2.1": [
            "on collective match=AllReduce nth=9: pending",
        ],
        "torch>=2.1": [],
    },
    "env": {
        "torch<2.1": {"NCCL_ASYNC_ERROR_HANDLING": "1", "RIG_NCCL_PEER_DEATH": "4"},
        "torch<2.2": {"NCCL_ASYNC_ERROR_HANDLING": "3", "RIG_NCCL_PEER_DEATH": "4"},
        "torch>=2.2": {
            "RIG_NCCL_PEER_DEATH": "4",
            "TORCH_NCCL_WAIT_TIMEOUT_DUMP_MILSEC": "500",
            "TORCH_NCCL_HEARTBEAT_TIMEOUT_SEC": "30",
        },
    },
    "core": "kernel",
    "end": "wait",
    "seconds": 25,
    "expect": {
        "ranks": {
            "0": {
                "signal": "SIGABRT",
                "crashed": {
                    "role": "nccl-watchdog",
                    "stack": "@watchdog-throws",
                },
                "threads": [
                    {"role": "main", "stack": ["cuda*", "*dense_cuda", "train", "<module>"]},
                    {"role": "tcpstore", "count": ">=1"},
                ],
                "stderr": r"NCCL error: remote process exited or there was a network error",
                "exception": {
                    "language": "c++",
                    "type": "@backend-error",
                    "message": r"NCCL error: remote process exited or there was a network error",
                },
                "signature": "nccl-unhandled-error-generic",
            },
            "1": {"core": "none", "exit": -9},
        },
    },
}


class Killed(_job.Samples):
    """The third batch needs more memory than the machine has."""

    def __getitem__(self, index):
        if os.environ["RANK"] == "1" and index >= 20:
            os.kill(os.getpid(), signal.SIGKILL)
        return super().__getitem__(index)


inside.join()
_job.Trainer(dataset=Killed(64)).train()
