# SPDX-License-Identifier: GPL-3.0-or-later
"""A kernel of the backward pass writes to a wrong address, and autograd's own thread finds it.

The error comes back with the launch of the next gradient's kernel, in the thread that autograd has
for the device. The engine carries the C++ exception over to the thread that called backward().
"""
import sys
import threading

import _net
import inside

SCENARIO = {
    "about": "CUDA error 700 in the backward pass: autograd's thread finds it, uncaught",
    "rules": [
        "gpu count=1 memory=80GiB other=500MiB",
        "on launch match=*GeluBackwardCUDAKernelImpl* nth=4: sticky=700",
    ],
    "core": "kernel",
    "seconds": 9,
    "expect": {
        "signal": "SIGABRT",
        "crashed": {"role": "main", "stack": ["abort", "last_words", "backward_failed"]},
        "threads": [
            {
                "role": "autograd",
                "stack": [
                    "torch::autograd::ReadyQueue::pop",
                    "torch::autograd::Engine::thread_main",
                    "torch::autograd::python::PythonEngine::thread_init",
                ],
            },
            {"name": "tensorboard", "stack": ["queue.py:get", "run"]},
        ],
        "stderr": r"loss\.backward\(\)[\s\S]*CUDA error: an illegal memory access was encountered",
        "exception": {
            "language": "python",
            "type": {"torch<2.8": "RuntimeError", "torch>=2.8": "torch.AcceleratorError"},
            "message": r"^CUDA error: an illegal memory access was encountered\n",
        },
        "signature": "cuda-illegal-address",
        "confidence": "certain",
    },
}

BACKWARD = []  # the threads in which gradients were computed


class Model(_net.Model):
    def forward(self, tokens):
        logits = super().forward(tokens)
        logits.register_hook(lambda _: BACKWARD.append(threading.get_native_id()))
        return logits


def backward_failed(kind, value, trace):
    """It was autograd's thread that ran, and the second step that failed."""
    assert len(BACKWARD) == 2 and len(set(BACKWARD)) == 1, BACKWARD
    assert threading.main_thread().native_id not in BACKWARD, BACKWARD
    inside.last_words(kind, value, trace)


inside.die_of_exceptions()
sys.excepthook = backward_failed
_net.Trainer(Model()).train()
