# SPDX-License-Identifier: GPL-3.0-or-later
"""The watchdog hangs in a call to CUDA; the heartbeat monitor sees that and ends the process.

The driver does not come back from a query for an event, as with a GPU that fell off the bus or a
lock of the driver that another thread keeps. The main thread writes a checkpoint meanwhile. The
monitor is there from 2.2 on.
"""
import sys

import _job
import inside
import torch
import torch.distributed

SCENARIO = {
    "about": "the watchdog hangs in cudaEventQuery: the heartbeat monitor aborts",
    "torch": ">=2.2",
    "rules": [
        # Eight all-reduces are in two steps; the ninth is under way when the query hangs.
        "on collective match=AllReduce nth=9: pending",
        "on cudaEventQuery cue=stuck: hang",
    ],
    "env": {
        "TORCH_NCCL_ENABLE_MONITORING": "1",
        "TORCH_NCCL_HEARTBEAT_TIMEOUT_SEC": "3",
        "TORCH_NCCL_WAIT_TIMEOUT_DUMP_MILSEC": "500",
    },
    "core": "kernel",
    "end": "wait",
    "seconds": 25,
    "expect": {
        "signal": "SIGABRT",
        "crashed": {
            "role": "nccl-heartbeat",
            "stack": {
                "torch<2.8": [
                    "abort",
                    "c10::MessageLogger::~MessageLogger",
                    "c10d::ProcessGroupNCCL::terminateProcess",
                    "c10d::ProcessGroupNCCL::heartbeatMonitor",
                ],
                "torch>=2.8": [
                    "abort",
                    "c10::MessageLogger::~MessageLogger",
                    "c10d::ProcessGroupNCCL::terminateProcess",
                    "c10d::ProcessGroupNCCL::HeartbeatMonitor::runLoop",
                ],
            },
        },
        "threads": [
            {
                "role": "nccl-watchdog",
                "stack": [
                    "cudaEventQuery",
                    "c10d::ProcessGroupNCCL::WorkNCCL::finishedGPUExecutionInternal",
                    {
                        "torch<2.8": "c10d::ProcessGroupNCCL::watchdogHandler",
                        "torch>=2.8": "c10d::ProcessGroupNCCL::Watchdog::runLoop",
                    },
                ],
            },
            {"role": "main", "stack": ["save", "<module>"]},
        ],
        "stderr": r"ProcessGroupNCCL's watchdog got stuck for 3 seconds",
        "signature": "nccl-heartbeat-monitor-abort",
    },
}


def save(model):
    torch.distributed.all_reduce(torch.zeros(1, device="cuda"))
    inside.record(sys._getframe()), inside.cue("stuck"), inside.end()


inside.join()
trainer = _job.Trainer(length=8, watch=0)
trainer.train()
save(trainer.model)
