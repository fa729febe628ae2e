# SPDX-License-Identifier: GPL-3.0-or-later
"""Four ranks; one leaves a collective out and goes on to the next, and none ever ends.

Rank 2 drops its second batch as bad, without its part in averaging the gradients, and goes to the
evaluation, whose all-gather is its fifth collective; that of the others is an all-reduce. All
ranks wait, each watchdog runs into the timeout and aborts its own rank: four cores, and only side
by side do they tell who left the order.
"""
import datetime
import os

import _job
import inside
import torch
import torch.distributed as dist

SCENARIO = {
    "about": "four ranks: rank 2 skips an all-reduce and waits in an all-gather; timeouts",
    "ranks": 4,
    # Up to 2.0 the communicator is aborted before the watchdog throws. Here the GPU does not go
    # on then, for the main thread would be seen anywhere.
    "rules": {
        "torch<2.1": [
            "on collective match=AllReduce nth=5: pending",
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
            {"role": "main", "stack": ["cuda*", "*dense_cuda", "train", "<module>"]},
            {"name": "metrics", "stack": ["get", "run"]},
        ],
        "stderr": r"Watchdog caught collective operation timeout: "
        r"WorkNCCL\(SeqNum=5, OpType=ALLREDUCE, ",
        "exception": {
            "language": "c++",
            "type": "@backend-error",
            "message": r"collective operation timeout: WorkNCCL\(SeqNum=5, OpType=ALLREDUCE, ",
        },
        "signature": "nccl-watchdog-collective-timeout",
        "ranks": {
            "2": {
                "threads": [
                    {"role": "main", "stack": ["cuda*", "*dense_cuda", "evaluate", "<module>"]},
                    {"name": "metrics", "stack": ["get", "run"]},
                ],
                "stderr": r"Watchdog caught collective operation timeout: "
                r"WorkNCCL\(SeqNum=5, OpType=ALLGATHER, ",
                "exception": {
                    "language": "c++",
                    "type": "@backend-error",
                    "message": r"operation timeout: WorkNCCL\(SeqNum=5, OpType=ALLGATHER, ",
                },
            },
        },
    },
}


class Careful(_job.Trainer):
    """Ends the epoch at a batch that it takes for bad: on this rank alone."""

    def is_bad(self, number):
        return os.environ["RANK"] == "2" and number == 1

    def train(self):
        for number, batch in enumerate(self.loader):
            if self.is_bad(number):
                break
            loss = self.step(batch)
            self.metrics.put(number, loss.item())


def evaluate(trainer):
    score = trainer.model(torch.zeros(1, _job.WIDTH, device="cuda")).sum()
    scores = [torch.empty_like(score) for _ in range(dist.get_world_size())]
    dist.all_gather(scores, score)
    return sum(scores).item()


inside.join(timeout=datetime.timedelta(seconds=8))
trainer = Careful()
trainer.train()
evaluate(trainer)
