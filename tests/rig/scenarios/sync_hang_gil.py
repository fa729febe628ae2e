# SPDX-License-Identifier: GPL-3.0-or-later
"""A kernel never ends, and torch up to 2.1 waits for it with the GIL held: nothing else runs.

The thread that writes losses has one to write, and stands in line for the GIL. Later versions let
the GIL go in synchronize(): sync_hang.
"""
import sys

import _net
import inside
import torch

SCENARIO = {
    "about": "synchronize() waits with the GIL for a kernel that never ends",
    "torch": "<2.2",
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
                "c10::cuda::device_synchronize",
                "THCPModule_cudaSynchronize",
                "measure",
                "train",
                "<module>",
            ],
        },
        "threads": [
            {"role": "autograd", "stack": ["torch::autograd::ReadyQueue::pop"]},
            {"name": "tensorboard", "stack": ["queue.py:get", "run"]},
        ],
        "signature": "gil-held-in-blocking-cuda-call",
    },
}


class Trainer(_net.Trainer):
    steps = 0

    def measure(self):
        """The time of a step is that of the device, so it must be over."""
        self.steps += 1
        if self.steps < 3:
            torch.cuda.synchronize()
        else:
            inside.record(sys._getframe(), gil=inside.gettid()), torch._C._cuda_synchronize()

    def step(self, tokens, labels):
        loss = self.forward(tokens, labels)
        self.measure()
        loss.backward()
        self.optimizer.step()
        self.optimizer.zero_grad()
        return float(loss)


Trainer().train()
