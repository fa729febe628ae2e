# SPDX-License-Identifier: GPL-3.0-or-later
"""CPU PyTorch with the OpenMP threads of a large machine; writes the truth and aborts."""
import sys

import torch
import truth


def multiply(size):
    torch.set_num_threads(96)
    x = torch.randn(size, size)
    return x @ x


def main():
    multiply(2048)
    truth.record(sys._getframe(), WEAVE), truth.end()


WEAVE = [truth.END, "main", "<module>", truth.MAIN]
main()
