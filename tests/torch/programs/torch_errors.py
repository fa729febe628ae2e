# SPDX-License-Identifier: GPL-3.0-or-later
"""Makes PyTorch throw in C++: torch_errors.py KIND. catching.cc stops where that is caught."""
import sys

import torch


class Fails(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x * 2

    @staticmethod
    def backward(ctx, gradient):
        raise ValueError("bad gradient of %d" % gradient.numel())


def divide(future):
    return 1 // 0


@torch.jit.script
def scripted(x: int):
    if x > 1:
        raise ValueError("scripted: x is %d" % x)
    return x


def size():
    return torch.zeros(3) + torch.zeros(4)


def index():
    return torch.zeros(3)[5]


def singular():
    return torch.linalg.inv(torch.zeros(2, 2))


def missing():
    return torch.zeros(2, 2).to_sparse().median()


def argument():
    return torch.zeros(2).unsqueeze("no such")


def backward():
    x = torch.ones(4, requires_grad=True)
    Fails.apply(x).sum().backward()


def future():
    f = torch.futures.Future()
    f.set_result(1)
    return f.then(divide).wait()


def script():
    return scripted(7)


if __name__ == "__main__":
    globals()[sys.argv[1]]()
    sys.exit(97)
