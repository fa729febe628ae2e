# SPDX-License-Identifier: GPL-3.0-or-later
"""A kernel's launch has failed for a reason that CUDA does not know, and NCCL's watchdog says so.

Error 719: the same as watchdog_cuda_error in all but the number, which is what tells an
address that the GPU could name from a fault that it could not.
"""
import sys

import _job
import inside
import torch
import torch.distributed

SCENARIO = {
    "about": "CUDA error 719, found by NCCL's watchdog: SIGABRT",
    "rules": [
        "on collective match=AllReduce nth=9: pending",
        "on cudaEventQuery cue=fault: delay=0.3 sticky=719",
    ],
    "env": {
        "torch<2.1": {"NCCL_ASYNC_ERROR_HANDLING": "1"},
        "torch<2.2": {"NCCL_ASYNC_ERROR_HANDLING": "3"},
        "torch>=2.2": {"TORCH_NCCL_WAIT_TIMEOUT_DUMP_MILSEC": "500"},
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
                    "abort",
                    "__cxa_rethrow",
                    "c10d::ProcessGroupNCCL::WorkNCCL::finishedGPUExecutionInternal",
                    "c10d::ProcessGroupNCCL::workCleanupLoop",
                ],
                "torch<2.8": [
                    "abort",
                    "std::rethrow_exception",
                    "c10d::ProcessGroupNCCL::ncclCommWatchdog",
                ],
                "torch>=2.8": [
                    "abort",
                    "std::rethrow_exception",
                    "c10d::ProcessGroupNCCL::Watchdog::run",
                ],
            },
        },
        "threads": [{"role": "main", "stack": ["read_batch", "<module>"]}],
        "stderr": r"CUDA error: unspecified launch failure",
        "exception": {
            "language": "c++",
            "type": {
                "torch<2.2": "c10::*Error",
                "torch>=2.2": "c10::DistBackendError",
            },
            "message": r"CUDA error: unspecified launch failure",
        },
        "signature": "nccl-watchdog-cuda-error",
    },
}


def read_batch():
    inside.record(sys._getframe()), inside.cue("fault"), inside.end()


inside.join()
trainer = _job.Trainer(length=8, watch=0)
trainer.train()
torch.distributed.all_reduce(torch.zeros(1, device="cuda"))
read_batch()
