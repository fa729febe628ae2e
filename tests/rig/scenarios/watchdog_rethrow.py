# SPDX-License-Identifier: GPL-3.0-or-later
"""A collective is under way when NCCL reports an asynchronous error; the watchdog ends the process.

The thread that looks after outstanding work finds the error, makes an exception of it and throws
it; nobody catches it there, so std::terminate aborts. The main thread is elsewhere.
"""
import sys

import inside
import torch
import torch.distributed

SCENARIO = {
    "about": "NCCL's asynchronous error makes the watchdog throw: std::terminate, SIGABRT",
    "rules": [
        "on collective match=AllReduce nth=1: pending",
        # The pause lets the main thread reach its last call.
        'on ncclCommGetAsyncError cue=broken: delay=0.3 error=2 text="peer connection reset"',
    ],
    "env": {
        # 3: the error ends the process and does not abort the communicators first.
        "torch<2.2": {"NCCL_ASYNC_ERROR_HANDLING": "1"},
        # The watchdog gives the dump of the flight recorder this long: a minute otherwise.
        "torch>=2.2": {
            "TORCH_NCCL_ASYNC_ERROR_HANDLING": "3",
            "TORCH_NCCL_WAIT_TIMEOUT_DUMP_MILSEC": "1000",
        },
    },
    "core": "kernel",
    "end": "wait",
    "seconds": 20,
    "expect": {
        "signal": "SIGABRT",
        "crashed": {
            "role": "nccl-watchdog",
            "stack": {
                "torch<2.1": [
                    "raise",
                    "abort",
                    "std::rethrow_exception",
                    "c10d::ProcessGroupNCCL::WorkNCCL::handleNCCLGuard",
                    "c10d::ProcessGroupNCCL::workCleanupLoop",
                ],
                "torch<2.8": ["abort", "std::rethrow_exception", "c10d::ProcessGroupNCCL::*"],
                "torch>=2.8": [
                    "abort",
                    "std::rethrow_exception",
                    "c10d::ProcessGroupNCCL::Watchdog::run",
                ],
            },
        },
        "threads": [{"role": "main", "stack": ["<module>"]}],
        "stderr": r"NCCL error",
        "exception": {
            "language": "c++",
            "type": "@backend-error",
            "message": r"NCCL error",
        },
        "signature": "nccl-unhandled-error-generic",
    },
}

inside.join()
tensor = torch.empty(1 << 20, device="cuda")
torch.distributed.all_reduce(tensor)
inside.record(sys._getframe()), inside.cue("broken"), inside.end()
