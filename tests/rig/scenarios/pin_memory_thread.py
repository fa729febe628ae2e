# SPDX-License-Identifier: GPL-3.0-or-later
"""The pin-memory thread of a DataLoader gets no page-locked memory; the trainer gets the error.

A limit of locked memory (ulimit -l, a container) makes cudaHostAlloc fail in the thread that copies
batches into pinned memory. It hands the exception over, the main thread raises it again with the
traceback of the thread as its text, and a hook turns it into an abort. The error's number is that
of the GPU's memory (2), which is not what has run out.
"""
import sys

import inside
import torch
import torch.utils.data

SCENARIO = {
    "about": "cudaHostAlloc fails in the pin-memory thread; its exception ends the main thread",
    "rules": ["on cudaHostAlloc cue=loading nth=3: error=2"],
    "core": "kernel",
    "seconds": 12,
    "expect": {
        "signature": "pinned-host-memory-exhausted",
        "confidence": "certain",
        "signal": "SIGABRT",
        "crashed": {"role": "main", "stack": ["abort", "last_words"]},
        "threads": [
            {"role": "python-thread", "stack": ["poll", "pin_memory.py:_pin_memory_loop"]},
            {"role": "python-thread", "name": "QueueFeederThread", "stack": ["_feed"]},
            {"role": "autograd", "stack": ["torch::autograd::ReadyQueue::pop"], "count": ">=1"},
        ],
        "stderr": r"Caught \w+ in pin memory thread for device 0",
        "exception": {
            "language": "python",
            "type": {"torch<2.9": "RuntimeError", "torch>=2.9": "torch.AcceleratorError"},
            "message": r"(?s)Caught \w+ in pin memory thread.*CUDA error: out of memory",
        },
    },
}


class Tokens(torch.utils.data.Dataset):
    def __len__(self):
        return 128

    def __getitem__(self, index):
        # Each batch is larger than the one before: none fits in a block that was given back.
        return torch.zeros(1 + index // 8, 512)


class Scale(torch.nn.Module):
    def __init__(self, width):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.ones(width))

    def forward(self, tokens):
        return tokens * self.weight


def train(model, optimizer, loader):
    for tokens in loader:
        optimizer.zero_grad()
        model(tokens.cuda(non_blocking=True)).mean().backward()
        optimizer.step()


inside.die_of_exceptions()
torch.set_num_threads(1)
model = Scale(512).cuda()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
loader = torch.utils.data.DataLoader(Tokens(), batch_size=8, num_workers=1, pin_memory=True)
inside.cue("loading")
train(model, optimizer, loader)
sys.exit("the pin-memory thread should have failed")
