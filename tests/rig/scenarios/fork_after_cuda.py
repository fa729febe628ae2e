# SPDX-License-Identifier: GPL-3.0-or-later
"""A server uses CUDA and forks its workers; a worker's first use of CUDA raises an error.

The parent puts the model on the GPU before it forks, as a server does that wants to load once.
PyTorch notices the fork and refuses; nobody catches the error, and a hook turns it into an abort.
The core is the child's: of the parent's threads only the one that forked is there.
"""
import os
import sys
import threading

import inside
import torch

SCENARIO = {
    "about": "CUDA in a forked child: Cannot re-initialize CUDA in forked subprocess",
    "core": "kernel",
    "of": "child",
    "seconds": 8,
    "expect": {
        "signal": "SIGABRT",
        "crashed": {"role": "main", "stack": ["abort", "last_words"]},
        "threads": [{"role": "main"}, {"role": "python-thread", "count": 0}],
        "stderr": r"RuntimeError: Cannot re-initialize CUDA in forked subprocess\.",
        "exception": {
            "language": "python",
            "type": "RuntimeError",
            "message": r"^Cannot re-initialize CUDA in forked subprocess\.",
        },
        "signature": "cuda-used-after-fork",
        "confidence": "certain",
    },
}


def serve(model):
    while True:
        requests = torch.ones(8, 64).cuda()
        model(requests)


def prefork(count, model):
    children = []
    for _ in range(count):
        child = os.fork()
        if child == 0:
            serve(model)
        children.append(child)
    return children


inside.die_of_exceptions()
stop = threading.Event()
threading.Thread(target=inside.park, args=(stop,), name="metrics", daemon=True).start()
model = torch.nn.Dropout(0.1).cuda()
weights = torch.ones(64, device="cuda")
for child in prefork(1, model):
    os.waitpid(child, 0)
sys.exit("the child should have died")
