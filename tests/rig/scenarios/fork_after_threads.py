# SPDX-License-Identifier: GPL-3.0-or-later
"""A process uses OpenMP and forks; the child's first parallel loop waits for threads it has not.

A server warms its model up, with four threads, and then forks its workers, as prefork servers do.
In the child the runtime still has the team of its parent; the threads of it stayed there. The
master waits at the team's barrier for ever. The core is the child's.
"""
import os
import sys

import inside
import torch

SCENARIO = {
    "about": "a forked child hangs in an OpenMP barrier: the team's threads are its parent's",
    "env": {"OMP_NUM_THREADS": "4", "OMP_WAIT_POLICY": "passive"},
    "core": ["gcore", "kill"],
    "of": "child",
    "seconds": 8,
    "expect": {
        "crashed": {
            "role": "main",
            "stack": {
                "torch<2.9": [
                    "libgomp*!*",
                    "at::TensorIteratorBase::parallel_reduce",
                    "at::_ops::sum::call",
                    "torch::autograd::THPVariable_sum",
                    "serve",
                    "prefork",
                    "<module>",
                ],
                "torch>=2.9": [
                    "gomp_team_barrier_wait_end",
                    "gomp_team_end",
                    "at::_ops::sum::call",
                    "torch::autograd::THPVariable_sum",
                    "serve",
                    "prefork",
                    "<module>",
                ],
            },
        },
        "signature": "fork-after-openmp-deadlock",
        # The child has one thread, and it waits for others.
        "confidence": "certain",
    },
}


def score(requests):
    return requests.sum()


def serve(requests):
    """A worker's loop; it never answers."""
    inside.record(sys._getframe(), gil=0), requests.sum()
    raise SystemExit("the child should have hung")


def prefork(count, requests):
    children = []
    for _ in range(count):
        child = os.fork()
        if child == 0:
            serve(requests)
        children.append(child)
    return children


torch.set_num_threads(4)
requests = torch.ones(1 << 21)
score(requests)
for child in prefork(1, requests):
    os.waitpid(child, 0)
