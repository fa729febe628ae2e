# SPDX-License-Identifier: GPL-3.0-or-later
"""An all-reduce of the second step never ends; after the group's timeout the watchdog aborts.

The main thread waits for the loss, which stands behind the collective on the GPU's stream. The
watchdog finds that the work is out for longer than it may be, makes an exception of it and throws
it out of its thread.
"""
import datetime

import _job
import inside

SCENARIO = {
    "about": "a collective that never ends: the watchdog's timeout, SIGABRT",
    # Four all-reduces in each step: this is the first of the second.
    "rules": ["on collective match=AllReduce nth=5: pending"],
    "env": {
        "torch<2.1": {"NCCL_ASYNC_ERROR_HANDLING": "1"},
        "torch<2.2": {"NCCL_ASYNC_ERROR_HANDLING": "3"},
        # The usual minute between finding it and throwing is for writing the flight recorder.
        "torch<2.8": {
            "TORCH_NCCL_TRACE_BUFFER_SIZE": "100",
            "TORCH_NCCL_WAIT_TIMEOUT_DUMP_MILSEC": "500",
            "TORCH_NCCL_HEARTBEAT_TIMEOUT_SEC": "30",
        },
        "torch>=2.8": {
            "TORCH_FR_BUFFER_SIZE": "100",
            "TORCH_NCCL_WAIT_TIMEOUT_DUMP_MILSEC": "500",
            "TORCH_NCCL_HEARTBEAT_TIMEOUT_SEC": "30",
        },
    },
    "core": "kernel",
    "end": "wait",
    "seconds": 25,
    "expect": {
        "signal": "SIGABRT",
        "crashed": {
            "role": "nccl-watchdog",
            "stack": "@watchdog-throws",
        },
        "threads": [
            {
                "role": "main",
                "stack": [
                    "cuda*",
                    "at::native::_local_scalar_dense_cuda",
                    "train",
                    "<module>",
                ],
            },
            {"name": "metrics", "stack": ["get", "run"]},
            {"role": "autograd", "count": 8},  # one for each device
        ],
        "stderr": {
            "torch<2.1": r"Watchdog caught collective operation timeout: "
            r"WorkNCCL\(SeqNum=5, OpType=ALLREDUCE, Timeout\(ms\)=6000\)",
            "torch>=2.1": r"Watchdog caught collective operation timeout: "
            r"WorkNCCL\(SeqNum=5, OpType=ALLREDUCE, NumelIn=16384, NumelOut=16384, "
            r"Timeout\(ms\)=6000\)",
        },
        "exception": {
            "language": "c++",
            "type": "@backend-error",
            "message": r"Watchdog caught collective operation timeout: WorkNCCL\(SeqNum=5,",
        },
        "signature": "nccl-watchdog-collective-timeout",
    },
}

inside.join(timeout=datetime.timedelta(seconds=6))
_job.Trainer().train()
