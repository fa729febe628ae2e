# SPDX-License-Identifier: GPL-3.0-or-later
"""The job on one GPU that the scenarios of CUDA errors play. For Python 3.8 to 3.13.

A small language model: tokens from a loader, a step, and a thread that writes the losses away.
Other threads stand still while the main thread fails, so that each run is the same.
"""
import queue
import threading

import torch
import torch.utils.data

TOKENS, WIDTH, CLASSES = 512, 64, 16


class Corpus(torch.utils.data.Dataset):
    def __init__(self, length=64):
        self.length = length

    def __len__(self):
        return self.length

    def __getitem__(self, index):
        return torch.arange(index, index + 32) % TOKENS, torch.tensor(index % CLASSES)


class Block(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.up = torch.nn.Linear(WIDTH, 4 * WIDTH, bias=False)
        self.down = torch.nn.Linear(4 * WIDTH, WIDTH, bias=False)

    def forward(self, x):
        return x + self.down(torch.nn.functional.gelu(self.up(x)))


class Model(torch.nn.Module):
    """Without biases: cuBLASLt, which would add them, has no algorithms to offer here."""

    def __init__(self, depth=2):
        super().__init__()
        self.embedding = torch.nn.Embedding(TOKENS, WIDTH)
        self.blocks = torch.nn.ModuleList([Block() for _ in range(depth)])
        self.head = torch.nn.Linear(WIDTH, CLASSES, bias=False)

    def forward(self, tokens):
        x = self.embedding(tokens)
        for block in self.blocks:
            x = block(x)
        return self.head(x.mean(1))


class Writer(threading.Thread):
    """Writes losses away from the loop."""

    def __init__(self):
        super().__init__(name="tensorboard", daemon=True)
        self.queue = queue.Queue()
        self.start()

    def run(self):
        while True:
            print("step %d loss %.3f" % self.queue.get(), flush=True)


class Trainer:
    def __init__(self, model=None, dataset=None):
        self.model = (model or Model()).cuda()
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=0.1)
        self.criterion = torch.nn.CrossEntropyLoss()
        self.writer = Writer()
        self.loader = torch.utils.data.DataLoader(dataset or Corpus(), 4)

    def forward(self, tokens, labels):
        logits = self.model(tokens.cuda(non_blocking=True))
        return self.criterion(logits, labels.cuda(non_blocking=True))

    def step(self, tokens, labels):
        self.optimizer.zero_grad()
        loss = self.forward(tokens, labels)
        value = loss.item()  # a loss that is not finite must not reach the weights
        loss.backward()
        self.optimizer.step()
        return value

    def train(self):
        for number, (tokens, labels) in enumerate(self.loader):
            self.writer.queue.put((number, self.step(tokens, labels)))
