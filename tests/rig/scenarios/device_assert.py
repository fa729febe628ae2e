# SPDX-License-Identifier: GPL-3.0-or-later
"""A token is one past the vocabulary: the embedding's kernel asserts on the device, error 710.

The tokenizer got a token that the model has no row for. The kernel's assert stops the device; the
host hears of it at loss.item(), many lines after the embedding. (The driver would also print the
assert's own line, with block and thread; that is not played.)
"""
import _net
import inside
import torch

SCENARIO = {
    "about": "CUDA error 710: device-side assert of an embedding, index out of range, uncaught",
    "rules": [
        "gpu count=1 memory=80GiB other=500MiB",
        {
            "torch<2.9": "on launch match=*indexSelect* nth=3: pending sticky=710",
            "torch>=2.9": "on launch match=*vectorized_gather* nth=3: pending sticky=710",
        },
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
        "stderr": r"value = loss\.item\(\)[\s\S]*CUDA error: device-side assert triggered",
        "exception": {
            "language": "python",
            "type": {"torch<2.8": "RuntimeError", "torch>=2.8": "torch.AcceleratorError"},
            "message": r"^CUDA error: device-side assert triggered\n",
        },
        "signature": "cuda-device-assert",
        "confidence": "certain",
    },
}


class Corpus(_net.Corpus):
    """The third batch has the new token."""

    def __getitem__(self, index):
        tokens, label = super().__getitem__(index)
        return (tokens, label) if index != 9 else (torch.full((32,), _net.TOKENS), label)


inside.die_of_exceptions()
_net.Trainer(dataset=Corpus()).train()
