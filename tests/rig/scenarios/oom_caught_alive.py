# SPDX-License-Identifier: GPL-3.0-or-later
"""Out of memory, caught: the batch was halved, and the job trains on when somebody takes a core.

Nothing is wrong with this process. The error is still there as an object, in the trainer's list
of what happened, and the allocator counts it; neither is a reason to tell it as the cause. There
is no signature to expect: the right answer names none.
"""
import sys
import threading

import inside
import torch

SCENARIO = {
    "about": "CUDA out of memory that was handled; the process is alive and healthy",
    "rules": ["gpu count=1 memory=80GiB other=500MiB"],
    "core": ["gcore", "kill"],
    "seconds": 12,
    "expect": {
        "signature": "unknown",
        "crashed": {
            "role": "main",
            "stack": {
                "python<3.11": ["select", "train", "<module>"],
                "python>=3.11": ["clock_nanosleep", "train", "<module>"],
            },
        },
        "threads": [
            {"role": "autograd", "stack": ["torch::autograd::ReadyQueue::pop"]},
            {"name": "metrics", "stack": ["park"]},
            {"role": "python-thread", "stack": ["get", "_pin_memory_loop", "run"]},
        ],
        "stderr": r"batch of 4: CUDA out of memory\. Tried to allocate [\s\S]*"
        r"batch of 2: 6 steps are done",
    },
}

GIB = 1 << 30
WIDTH = 4096
SAMPLE = 5 * GIB // (2 * WIDTH)  # rows of a sample: its activation of 16 bits has 5 GiB


class Batches(torch.utils.data.Dataset):
    def __len__(self):
        return 64

    def __getitem__(self, index):
        return torch.full((16,), index, dtype=torch.float16)


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = torch.nn.Linear(WIDTH, WIDTH, bias=False)
        self.head = torch.nn.Linear(WIDTH, 8, bias=False)

    def forward(self, x):
        return self.head(torch.nn.functional.gelu(self.inner(x)))


class Trainer:
    def __init__(self, batch):
        self.model = Model().half().cuda()
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=0.1)
        self.batch = batch
        self.failures = []
        self.steps = 0

    def step(self, seed):
        x = torch.empty(self.batch * SAMPLE, WIDTH, dtype=torch.float16, device="cuda").fill_(1)
        x[:1, :16] = seed.to("cuda", non_blocking=True)
        self.optimizer.zero_grad()
        self.model(x).float().mean().backward()
        self.optimizer.step()

    def careful_step(self, seed):
        try:
            self.step(seed)
        except RuntimeError as error:  # OutOfMemoryError is one
            # Without its traceback it holds no tensors.
            self.failures.append(error.with_traceback(None))
            print("batch of %d: %s" % (self.batch, error), file=sys.stderr)
            self.batch //= 2
            return
        self.steps += 1


def check(trainer):
    """It did happen, once, and what was too much then is free now."""
    stats = torch.cuda.memory_stats()
    assert stats["num_ooms"] == len(trainer.failures) == 1, stats
    assert "CUDA out of memory" in str(trainer.failures[0])
    assert stats["allocated_bytes.all.peak"] > 60 * GIB, stats
    assert stats["allocated_bytes.all.current"] < GIB, stats
    print("batch of %d: %d steps are done" % (trainer.batch, trainer.steps), file=sys.stderr)


def train(trainer, batches):
    while trainer.steps < 6:
        trainer.careful_step(next(batches))
    check(trainer)
    inside.record(sys._getframe()), inside.end()


idle = threading.Event()
threading.Thread(target=inside.park, args=(idle,), name="metrics", daemon=True).start()
data = torch.utils.data.DataLoader(Batches(), None, num_workers=1, pin_memory=True)
train(Trainer(4), iter(data))
