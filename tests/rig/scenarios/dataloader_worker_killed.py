# SPDX-License-Identifier: GPL-3.0-or-later
"""The kernel takes a DataLoader worker away for want of memory; the core is the trainer's.

SIGKILL leaves no word: all that the trainer has is the exit status of its worker, of which PyTorch
makes "DataLoader worker (pid ...) is killed by signal: Killed". The worker sends the signal to
itself where the OOM killer would strike, in the middle of its first batch (what it had delivered
before could be lost with it, and give another error); another worker goes on.
Nobody catches the error, and a hook turns it into an abort.
"""
import os
import signal
import sys
import threading
import time

import inside
import torch
import torch.utils.data

SCENARIO = {
    "about": "a DataLoader worker killed by SIGKILL, as by the OOM killer; the trainer aborts",
    "core": "kernel",
    "seconds": 12,
    "expect": {
        "signal": "SIGABRT",
        "crashed": {"role": "main", "stack": ["abort", "last_words"]},
        "threads": [
            {"role": "python-thread", "name": "metrics", "stack": ["park"]},
            {"role": "python-thread", "name": "QueueFeederThread", "stack": ["_feed"], "count": 2},
        ],
        "stderr": r"DataLoader worker \(pid(\(s\))? \d+\) is killed by signal: Killed",
        "exception": {
            "language": "python",
            "type": "RuntimeError",
            "message": r"DataLoader worker \(pid(\(s\))? [\d, ]+\) (exited unexpectedly|is killed)",
        },
        "signature": "dataloader-worker-oom-killed",
        "confidence": "certain",
    },
}

BIG = 9  # this sample is larger than what is left of the memory


class Volumes(torch.utils.data.Dataset):
    def __len__(self):
        return 64

    def __getitem__(self, index):
        volume = torch.ones(16, 16, 16)
        if index == BIG:
            time.sleep(1)  # it fills the memory; the trainer has used up the first batch by now
            os.kill(os.getpid(), signal.SIGKILL)
            time.sleep(60)
        return volume * index


def train(model, optimizer, loader):
    for volumes in loader:
        loss = model(volumes.flatten(1)).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


inside.die_of_exceptions()
torch.set_num_threads(1)
stop = threading.Event()
threading.Thread(target=inside.park, args=(stop,), name="metrics", daemon=True).start()
model = torch.nn.Linear(16 * 16 * 16, 8)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
train(model, optimizer, torch.utils.data.DataLoader(Volumes(), batch_size=8, num_workers=2))
sys.exit("a worker should have died")
