# SPDX-License-Identifier: GPL-3.0-or-later
"""The training job that the scenarios of NCCL and of whole jobs play. For Python 3.8 to 3.13.

Data-parallel as it is written by hand: each rank has the model and its part of the data, and
gradients are averaged after the backward pass. The loop notices that the GPU does not go on when
it reads the loss, as most loops do.
"""
import queue
import threading
import time

import inside
import torch
import torch.distributed as dist

WIDTH = 64
PARAMETERS = 4  # of the model: so many collectives are in one step


class Samples(torch.utils.data.Dataset):
    def __init__(self, length):
        self.length = length

    def __len__(self):
        return self.length

    def __getitem__(self, index):
        return torch.full((WIDTH,), float(index))


class Model(torch.nn.Module):
    """Without biases: cuBLASLt, which would add them, has no algorithms to offer here."""

    def __init__(self):
        super().__init__()
        self.gate = torch.nn.Linear(WIDTH, 4 * WIDTH, bias=False)
        self.up = torch.nn.Linear(WIDTH, 4 * WIDTH, bias=False)
        self.down = torch.nn.Linear(4 * WIDTH, WIDTH, bias=False)
        self.head = torch.nn.Linear(WIDTH, WIDTH, bias=False)

    def forward(self, batch):
        return self.head(self.down(torch.relu(self.gate(batch)) * self.up(batch)))


class Metrics(threading.Thread):
    """Writes losses away from the loop, and knows when the last step was."""

    def __init__(self):
        super().__init__(name="metrics", daemon=True)
        self.queue = queue.Queue()
        self.last = None
        self.start()

    def put(self, step, loss):
        self.last = time.monotonic()
        self.queue.put((step, loss))

    def run(self):
        while True:
            print("step %d loss %.3f" % self.queue.get(), flush=True)

    def still(self, seconds):
        return self.last is not None and time.monotonic() - self.last > seconds


class Trainer:
    """The loop. watch: another thread writes the word when no step has ended for a while."""

    def __init__(self, length=64, batch=4, watch=1.5, dataset=None):
        self.model = Model().cuda()
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=0.1)
        self.metrics = Metrics()
        sampler = torch.utils.data.DistributedSampler(dataset or Samples(length), shuffle=False)
        self.loader = torch.utils.data.DataLoader(sampler.dataset, batch, sampler=sampler)
        if watch:
            inside.witness(lambda: self.metrics.still(watch))

    def average_gradients(self):
        for parameter in self.model.parameters():
            dist.all_reduce(parameter.grad)
            parameter.grad /= dist.get_world_size()

    def step(self, batch):
        self.optimizer.zero_grad()
        loss = self.model(batch.cuda()).pow(2).mean()
        loss.backward()
        self.average_gradients()
        self.optimizer.step()
        return loss

    def train(self):
        for number, batch in enumerate(self.loader):
            loss = self.step(batch)
            self.metrics.put(number, loss.item())
