# SPDX-License-Identifier: GPL-3.0-or-later
"""Four ranks in the same all-gather, one with a tensor of another size.

The data does not divide by the number of ranks, and rank 3's last batch is shorter. Each rank
gathers predictions of its batch. The stacks of all four are the same; the sizes are not, and are in
the watchdog's message and in the flight recorder alone.
"""
import datetime
import os

import _job
import inside
import torch
import torch.distributed as dist

SCENARIO = {
    "about": "four ranks: rank 3's all-gather is of another size than that of the others; timeouts",
    "ranks": 4,
    # Up to 2.0 the communicator is aborted before the watchdog throws. Here the GPU does not go
    # on then, for the main thread would be seen anywhere.
    "rules": {
        "torch<2.1": [
            "on collective match=AllGather nth=1: pending",
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
            {"role": "main", "stack": ["cuda*", "*dense_cuda", "predict", "<module>"]},
            {"name": "metrics", "stack": ["get", "run"]},
        ],
        "stderr": {
            "torch<2.1": r"Watchdog caught collective operation timeout: "
            r"WorkNCCL\(SeqNum=5, OpType=ALLGATHER, ",
            "torch>=2.1": r"Watchdog caught collective operation timeout: "
            r"WorkNCCL\(SeqNum=5, OpType=ALLGATHER, NumelIn=256, NumelOut=1024, ",
        },
        "exception": {
            "language": "c++",
            "type": "@backend-error",
            "message": r"collective operation timeout: WorkNCCL\(SeqNum=5, OpType=ALLGATHER, ",
        },
        "signature": "nccl-watchdog-collective-timeout",
        "ranks": {
            "3": {
                "stderr": {
                    "torch<2.1": r"Watchdog caught collective operation timeout: "
                    r"WorkNCCL\(SeqNum=5, OpType=ALLGATHER, ",
                    "torch>=2.1": r"Watchdog caught collective operation timeout: "
                    r"WorkNCCL\(SeqNum=5, OpType=ALLGATHER, NumelIn=128, NumelOut=512, ",
                },
            },
        },
    },
}


def predict(trainer):
    """Of 14 samples: rank 3 has the last two, the others have four each."""
    rows = 2 if os.environ["RANK"] == "3" else 4
    own = trainer.model(torch.zeros(rows, _job.WIDTH, device="cuda")).detach()
    all_rows = [torch.empty_like(own) for _ in range(dist.get_world_size())]
    dist.all_gather(all_rows, own)
    return torch.cat(all_rows).mean().item()


inside.join(timeout=datetime.timedelta(seconds=8))
trainer = _job.Trainer(length=16)
trainer.train()
predict(trainer)
