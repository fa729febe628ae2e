# SPDX-License-Identifier: GPL-3.0-or-later
"""A kernel never ends, and the main thread waits for it in torch.cuda.synchronize().

No exception and no other process: one GPU that does not go on. The word is a witness's, for torch
lets the GIL go here. torch 1.13 and 2.1 keep it: sync_hang_gil.
"""
import _net
import inside
import torch

SCENARIO = {
    "about": "torch.cuda.synchronize() waits for a kernel that never ends",
    "torch": ">=2.2",
    "rules": [
        "gpu count=1 memory=80GiB other=500MiB",
        "on launch match=*GeluCUDAKernelImpl* nth=5: pending",
    ],
    "core": ["gcore", "kill"],
    "seconds": 9,
    "expect": {
        "crashed": {
            "role": "main",
            "stack": [
                "cudaDeviceSynchronize",
                "*cuda*synchronize*",
                "__init__.py:synchronize",
                "measure",
                "train",
                "<module>",
            ],
        },
        "threads": [
            {"role": "autograd", "stack": ["torch::autograd::ReadyQueue::pop"]},
            {"name": "tensorboard", "stack": ["queue.py:get", "run"]},
            {"role": "python-thread", "name": "witness", "stack": ["inside.py:watch"]},
        ],
        "signature": "cuda-sync-wait-generic",
    },
}


class Trainer(_net.Trainer):
    def measure(self):
        """The time of a step is that of the device, so it must be over."""
        torch.cuda.synchronize()

    def step(self, tokens, labels):
        loss = self.forward(tokens, labels)
        self.measure()
        loss.backward()
        self.optimizer.step()
        self.optimizer.zero_grad()
        return float(loss)


trainer = Trainer()
inside.witness(lambda: inside.calls("cudaDeviceSynchronize") == 3)
trainer.train()
