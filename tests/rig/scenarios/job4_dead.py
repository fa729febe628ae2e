# SPDX-License-Identifier: GPL-3.0-or-later
"""Four ranks; one is killed, the others wait for it in an all-reduce until their watchdogs abort.

Rank 1 was killed as the kernel does when memory runs out: it leaves neither a core nor a word. Over
NVLink nobody notices that a peer is gone.
"""
import datetime
import os
import signal

import _job
import inside

SCENARIO = {
    "about": "four ranks: rank 1 is killed, the others run into the watchdog's timeout",
    "ranks": 4,
    # Up to 2.0 the communicator is aborted before the watchdog throws. Here the GPU does not go
    # on then, for the main thread would be seen anywhere.
    "rules": {
        "torch<2.1": [
            "on collective match=AllReduce nth=9: pending",
        ],
        "torch>=2.1": [],
    },
    "env": "@job-env",
    "core": "kernel",
    "end": "wait",
    "seconds": 50,
    "expect": {
        "signal": "SIGABRT",
        "crashed": {
            "role": "nccl-watchdog",
            "stack": "@watchdog-throws",
        },
        "threads": [
            {"role": "main", "stack": ["cuda*", "*dense_cuda", "train", "<module>"]},
            {"name": "metrics", "stack": ["get", "run"]},
        ],
        "exception": {
            "language": "c++",
            "type": "@backend-error",
            "message": r"collective operation timeout: WorkNCCL\(SeqNum=9, OpType=ALLREDUCE, ",
        },
        "signature": "nccl-watchdog-collective-timeout",
        "ranks": {"1": {"core": "none", "exit": -9}},
    },
}


class Hungry(_job.Samples):
    """Rank 1's third batch takes more memory than the machine has."""

    def __getitem__(self, index):
        if os.environ["RANK"] == "1" and index >= 32:
            os.kill(os.getpid(), signal.SIGKILL)
        return super().__getitem__(index)


inside.join(timeout=datetime.timedelta(seconds=8))
_job.Trainer(dataset=Hungry(128)).train()
