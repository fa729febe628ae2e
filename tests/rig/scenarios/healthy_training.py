# SPDX-License-Identifier: GPL-3.0-or-later
"""A training that is well: somebody takes a core of it to see what it does. Nothing is wrong.

Two workers deliver batches, the pin-memory thread copies them, the autograd engine has its thread
for the device, a thread writes metrics. The main thread is in a step that waits between two
batches, to keep to the rate of the storage.
"""
import queue
import sys
import threading

import inside
import torch
import torch.utils.data

SCENARIO = {
    "about": "a running training with DataLoader workers; no crash, no hang",
    "core": "gcore",
    "seconds": 12,
    "expect": {
        "signature": "unknown",
        "crashed": {
            "role": "main",
            "stack": ["*sleep", "wait", "train", "main", "<module>"],
        },
        "threads": [
            {
                "role": "python-thread",
                "name": "metrics",
                "stack": ["queue.py:get", "write_metrics"],
            },
            {"role": "python-thread", "stack": ["poll", "pin_memory.py:_pin_memory_loop"]},
            {"role": "python-thread", "name": "QueueFeederThread", "stack": ["_feed"], "count": 2},
            {
                "role": "autograd",
                "stack": [
                    "std::condition_variable::wait",
                    "torch::autograd::ReadyQueue::pop",
                    "torch::autograd::Engine::thread_main",
                ],
                "count": ">=1",
            },
            {"role": "cuda-driver"},
        ],
    },
}


class Digits(torch.utils.data.Dataset):
    def __len__(self):
        return 4096

    def __getitem__(self, index):
        return torch.full((32,), float(index % 10)), index % 10


class Scale(torch.nn.Module):
    def __init__(self, width):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.ones(width))

    def forward(self, values):
        return torch.relu(values * self.weight)


class Throttle:
    """Lets so many batches through, then waits."""

    def __init__(self, batches):
        self.left = batches

    def wait(self):
        self.left -= 1
        if self.left == 0:
            inside.record(sys._getframe()), inside.end()


def write_metrics(metrics):
    while True:
        step, batch = metrics.get()
        print("step %d: %d samples" % (step, batch), flush=True)


def train(model, optimizer, loader, metrics, throttle):
    for step, (values, labels) in enumerate(loader):
        values, labels = values.cuda(non_blocking=True), labels.cuda(non_blocking=True)
        loss = (model(values).mean(1) - labels).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        metrics.put((step, len(labels)))
        throttle.wait()


def main():
    metrics = queue.Queue()
    threading.Thread(target=write_metrics, args=(metrics,), name="metrics", daemon=True).start()
    model = Scale(32).cuda()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    loader = torch.utils.data.DataLoader(
        Digits(), batch_size=16, num_workers=2, pin_memory=True, persistent_workers=True
    )
    train(model, optimizer, loader, metrics, Throttle(12))


main()
