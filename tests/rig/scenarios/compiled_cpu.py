# SPDX-License-Identifier: GPL-3.0-or-later
"""A model compiled by torch.compile for the CPU reads past a table: SIGSEGV in generated code.

A tokenizer newer than the model gives an id that the embedding has no row for. The checks of
indices are switched off, as those do who want the last per cent, so the compiled kernel reads far
outside. The kernel is a shared object that g++ made a moment ago; it is called from Python that
Inductor wrote, below the frames of Dynamo.
"""
import importlib.util
import os
import shutil

import inside
import torch

SCENARIO = {
    "about": "SIGSEGV in a C++ kernel that torch.compile generated for the CPU",
    "torch": ">=2.1",
    "env": {"TORCHINDUCTOR_COMPILE_THREADS": "1", "OMP_NUM_THREADS": "1"},
    "core": "kernel",
    "truth": "faulthandler",
    "seconds": 40,
    "expect": {
        "signal": "SIGSEGV",
        "crashed": {
            "role": "main",
            "stack": ["call", "eval_frame.py:*", "score", "main", "<module>"],
        },
        "signature": "inductor-cpp-kernel-segv",
    },
}


class Scorer(torch.nn.Module):
    def __init__(self, tokens, width):
        super().__init__()
        self.table = torch.nn.Parameter(torch.ones(tokens, width))

    def forward(self, ids):
        return torch.relu(self.table[ids] * 2 + 1)


def score(model, ids):
    with torch.no_grad():
        return model(ids)


def main():
    model = torch.compile(Scorer(1000, 64))
    score(model, torch.arange(16))
    inside.watch_crash()
    ids = torch.arange(16)
    ids[7] = 1 << 30
    score(model, ids)


if not shutil.which("g++"):
    inside.lacks("g++ is not installed: torch.compile has no compiler for the CPU")
if importlib.util.find_spec("setuptools") is None:
    inside.lacks("setuptools is not installed: torch.compile's way to g++ needs it")
os.environ["TORCHINDUCTOR_CACHE_DIR"] = os.path.join(os.environ["TMPDIR"], "inductor")
import torch._inductor.config  # noqa: E402  (it reads the environment)

if hasattr(torch._inductor.config, "assert_indirect_indexing"):  # 2.1 never checks
    torch._inductor.config.assert_indirect_indexing = False
torch.set_num_threads(1)
main()
