# SPDX-License-Identifier: GPL-3.0-or-later
"""Eight ranks, four to a model and two copies of it; one rank leaves its place to save.

Ranks 0-3 and 4-7 are tensor-parallel groups, ranks N and N+4 average gradients. Rank 5 alone has
the notice that the job will be preempted, and waits with all ranks for the checkpoint. Ranks 4, 6
and 7 miss it in their layer, 0, 2 and 3 wait for the gradients of those, rank 1 for its: seven
ranks have the same stack, and three different collectives are out.
"""
import os

import _job
import inside
import torch
import torch.distributed as dist

SCENARIO = {
    "about": "eight ranks in groups: rank 5 waits in another group than all that wait for it",
    "ranks": 8,
    "env": {
        "torch<2.8": {"TORCH_NCCL_TRACE_BUFFER_SIZE": "200"},
        "torch>=2.8": {"TORCH_FR_BUFFER_SIZE": "200"},
    },
    # Cores of gdb are three times as big.
    "core": "kill",
    "seconds": 80,
    "expect": {
        "crashed": {
            "role": "main",
            "stack": ["cuda*", "at::native::_local_scalar_dense_cuda", "train", "<module>"],
        },
        # Of all ranks, of the tensor's and of the data's.
        "threads": [
            {"role": "nccl-watchdog", "count": 3},
            {"name": "metrics", "stack": ["get", "run"]},
            {"role": "autograd", "count": 8},
        ],
        "signature": "collective-wait-generic",
        "ranks": {
            "5": {
                "crashed": {
                    "role": "main",
                    "stack": ["cuda*", "*dense_cuda", "save", "train", "<module>"],
                },
            },
        },
    },
}

TENSOR = 4


class Reduce(torch.autograd.Function):
    """The parts of a layer's result, added up over those who have them."""

    @staticmethod
    def forward(_, part, group):
        dist.all_reduce(part, group=group)
        return part

    @staticmethod
    def backward(_, gradient):
        return gradient, None


class Parallel(_job.Trainer):
    def __init__(self, tensor, data):
        super().__init__(length=128)
        self.tensor, self.data = tensor, data
        self.model.down.register_forward_hook(lambda *a: Reduce.apply(a[2], self.tensor))

    def average_gradients(self):
        for parameter in self.model.parameters():
            dist.all_reduce(parameter.grad, group=self.data)

    def preempted(self, number):
        return os.environ["RANK"] == "5" and number == 2

    def save(self):
        ready = torch.ones(1, device="cuda")
        dist.all_reduce(ready)
        return ready.item()

    def train(self):
        self.save()
        for number, batch in enumerate(self.loader):
            if self.preempted(number):
                self.save()
            loss = self.step(batch)
            self.metrics.put(number, loss.item())


def own(groups):
    """Of all groups, the one that this rank is in; all ranks make all of them."""
    made = [dist.new_group(ranks) for ranks in groups]
    return next(m for m, ranks in zip(made, groups) if dist.get_rank() in ranks)


inside.join()
world = range(dist.get_world_size())
tensor = own([list(world[:TENSOR]), list(world[TENSOR:])])
data = own([[rank, rank + TENSOR] for rank in world[:TENSOR]])
Parallel(tensor, data).train()
