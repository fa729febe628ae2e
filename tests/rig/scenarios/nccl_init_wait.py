# SPDX-License-Identifier: GPL-3.0-or-later
"""One rank has begun to make the communicator, the other never comes to its first collective.

Rank 0 is inside ncclCommInitRank, which returns when all have called it. Rank 1 still builds an
index of its data. Nothing times out: the watchdog knows of works, and there is none yet.
"""
import os
import sys

import _job
import inside

SCENARIO = {
    "about": "rank 0 waits in ncclCommInitRank for rank 1, which does something else",
    "ranks": 2,
    "env": {"torch>=2.8": {"TORCH_FR_BUFFER_SIZE": "100"}, "torch>=1": {}},
    "core": ["gcore", "kill"],
    "seconds": 20,
    "expect": {
        "ranks": {
            "0": {
                "crashed": {
                    "role": "main",
                    "stack": [
                        "rig_nccl_bootstrap",
                        {"torch<2.2": "ncclGroupEnd", "torch>=2.2": "ncclCommInitRank*"},
                        "c10d::ProcessGroupNCCL::*NCCLComm",
                        "c10d::ProcessGroupNCCL::allreduce",
                        "all_reduce",
                        "average_gradients",
                        "step",
                        "<module>",
                    ],
                },
                "threads": [
                    {"role": "nccl-watchdog"},
                    # The older store has a thread in each client, too.
                    {"role": "tcpstore", "count": {"torch<2.1": 2, "torch>=2.1": 1}},
                    {"name": "metrics", "stack": ["run"]},
                    {"name": "witness", "stack": ["watch"]},
                ],
                "signature": "nccl-bootstrap-wait",
            },
            "1": {
                "crashed": {"role": "main", "stack": ["build_index", "<module>"]},
                "threads": [
                    {"role": "nccl-watchdog"},
                    {"role": "tcpstore", "count": {"torch<2.1": 1, "torch>=2.1": 0}},
                ],
                "signature": "unknown",
            },
        },
    },
}


def build_index():
    inside.record(sys._getframe()), inside.end()


inside.join()
calls = ["ncclCommInitRank", "ncclCommInitRankConfig", "ncclCommInitRankScalable"]
if os.environ["RANK"] == "1":
    build_index()
trainer = _job.Trainer(watch=0)
inside.witness(lambda: any(inside.calls(name) for name in calls))
trainer.train()
