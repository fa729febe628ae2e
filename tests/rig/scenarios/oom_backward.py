# SPDX-License-Identifier: GPL-3.0-or-later
"""The forward pass fits; the gradients do not. Autograd's thread asks for memory in vain.

The allocator's error is thrown in the thread that autograd has for the device. The engine carries
it over to the main thread, where it leaves backward() as a Python exception that nobody catches.
A worker of the data loader and the thread that pins its batches are there, too.
"""
import sys
import threading

import inside
import torch

SCENARIO = {
    "about": "CUDA out of memory in autograd's thread, uncaught in the main thread",
    "rules": ["gpu count=1 memory=80GiB other=500MiB"],
    "core": "kernel",
    "seconds": 12,
    "expect": {
        "signal": "SIGABRT",
        "crashed": {"role": "main", "stack": ["abort", "last_words", "out_of_memory"]},
        "threads": [
            {
                "role": "autograd",
                "stack": [
                    "torch::autograd::ReadyQueue::pop",
                    "torch::autograd::Engine::thread_main",
                    "torch::autograd::python::PythonEngine::thread_init",
                ],
            },
            {"name": "metrics", "stack": ["park"]},
            {"role": "python-thread", "stack": ["get", "_pin_memory_loop", "run"]},
        ],
        "stderr": r"loss\.backward\(\)[\s\S]*CUDA out of memory\. Tried to allocate 10\.00 GiB",
        "exception": {
            "language": "python",
            "type": {
                "torch<2.5": "*OutOfMemoryError",
                "torch>=2.5": "torch.OutOfMemoryError",
            },
            "message": r"CUDA out of memory\. Tried to allocate 10\.00 GiB",
        },
        "signature": "cuda-oom-uncaught-abort",
        "confidence": "certain",
    },
}

GIB = 1 << 30
WIDTH = 4096
TOKENS = 10 * GIB // (2 * WIDTH)  # one activation of 16 bits has 10 GiB
BACKWARD = []  # the threads in which gradients were computed


class Batches(torch.utils.data.Dataset):
    def __len__(self):
        return 64

    def __getitem__(self, index):
        return torch.full((16,), index, dtype=torch.float16)


class Block(torch.nn.Module):
    def __init__(self, width):
        super().__init__()
        self.linear = torch.nn.Linear(width, width, bias=False)

    def forward(self, x):
        return torch.nn.functional.gelu(self.linear(x))


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.blocks = torch.nn.ModuleList([Block(WIDTH) for _ in range(3)])
        self.head = torch.nn.Linear(WIDTH, 8, bias=False)

    def forward(self, x):
        for block in self.blocks:
            x = block(x)
        logits = self.head(x)
        logits.register_hook(lambda _: BACKWARD.append(threading.get_native_id()))
        return logits


def out_of_memory(kind, value, trace):
    """Not one byte was short in the forward pass: the error is the backward pass's own."""
    main = threading.main_thread().native_id
    assert len(BACKWARD) == 1 and main not in BACKWARD, (main, BACKWARD)
    stats = torch.cuda.memory_stats()
    assert stats["num_ooms"] == 1, stats
    assert 70 * GIB <= stats["allocated_bytes.all.peak"] < 80 * GIB, stats
    inside.last_words(kind, value, trace)


def train_step(model, batch, optimizer):
    seed = batch.to("cuda", non_blocking=True)
    x = torch.empty(TOKENS, WIDTH, dtype=torch.float16, device="cuda").fill_(1)
    x[:1, :16] = seed
    optimizer.zero_grad()
    loss = model(x).float().mean()
    loss.backward()
    optimizer.step()


def main():
    model = Model().half().cuda()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    threading.Thread(target=inside.park, args=(idle,), name="metrics", daemon=True).start()
    loader = torch.utils.data.DataLoader(Batches(), None, num_workers=1, pin_memory=True)
    batches = iter(loader)  # a name of its own: what the frame keeps lives as long as the error
    for batch in batches:
        train_step(model, batch, optimizer)


inside.die_of_exceptions()
sys.excepthook = out_of_memory
idle = threading.Event()
main()
