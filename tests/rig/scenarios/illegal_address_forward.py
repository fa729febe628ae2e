# SPDX-License-Identifier: GPL-3.0-or-later
"""A kernel of the forward pass reads from a wrong address; the line that fails is another one.

The launch goes well, and so do those after it: the device is behind. The host learns of it where it
waits, with loss.item(). Nobody catches the exception, and the hook for such ends the process.
"""
import _net
import inside

SCENARIO = {
    "about": "CUDA error 700 of a forward kernel, found at loss.item(), uncaught",
    "rules": [
        "gpu count=1 memory=80GiB other=500MiB",
        "on launch match=*GeluCUDAKernelImpl* nth=5: pending sticky=700",
    ],
    "core": "kernel",
    "seconds": 9,
    "expect": {
        "signal": "SIGABRT",
        "crashed": {"role": "main", "stack": ["abort", "last_words"]},
        "threads": [
            {"role": "autograd", "stack": ["torch::autograd::ReadyQueue::pop"]},
            {"name": "tensorboard", "stack": ["queue.py:get", "run"]},
        ],
        "stderr": r"value = loss\.item\(\)[\s\S]*CUDA error: an illegal memory access was "
        r"encountered[\s\S]*CUDA kernel errors might be asynchronously reported",
        "exception": {
            "language": "python",
            "type": {"torch<2.8": "RuntimeError", "torch>=2.8": "torch.AcceleratorError"},
            "message": r"^CUDA error: an illegal memory access was encountered\n",
        },
        "signature": "cuda-illegal-address",
        "confidence": "certain",
    },
}

inside.die_of_exceptions()
_net.Trainer().train()
