# SPDX-License-Identifier: GPL-3.0-or-later
"""The training is over; the process group's end hangs in ncclCommAbort.

The launcher sees that the rank does not go away, and sends SIGABRT to get a core. Up to 2.5 it is
destroy_process_group that aborts communicators (up to 2.1 in the group's destructor, where the GIL
is kept, from 2.2 on in a thread of its own that the main thread waits for). Later versions have a
function for it, and nccl_destroy_hang is what destroy_process_group does there.
"""
import os
import subprocess

import _job
import inside
from torch.distributed import distributed_c10d as c10d

SCENARIO = {
    "about": "the end of the process group hangs in ncclCommAbort until SIGABRT comes",
    "rules": ["on ncclCommAbort: hang"],
    "core": "kernel",
    "truth": "faulthandler",
    "seconds": 20,
    "expect": {
        "signal": "SIGABRT",
        "crashed": {
            "role": "main",
            "stack": {
                "torch<2.1": [
                    "ncclCommAbort",
                    "c10d::NCCLComm::ncclCommAbort",
                    "c10d::ProcessGroupNCCL::~ProcessGroupNCCL",
                    "pybind11_object_dealloc",
                    "<module>",
                ],
                "torch<2.2": [
                    "ncclCommAbort",
                    "c10d::NCCLComm::ncclCommAbort",
                    "c10d::abortCommsFromMap",
                    "c10d::ProcessGroupNCCL::abort",
                    "c10d::ProcessGroupNCCL::~ProcessGroupNCCL",
                    "pybind11_object_dealloc",
                    "<module>",
                ],
                "torch<2.6": [
                    "c10d::ProcessGroupNCCL::waitForFutureOrTimeout",
                    "c10d::ProcessGroupNCCL::shutdown",
                    "destroy_process_group",
                    "<module>",
                ],
                "torch>=2.6": [
                    "c10d::ProcessGroupNCCL::*abort*",
                    "_abort_process_group",
                    "<module>",
                ],
            },
        },
        "threads": [
            {"stack": ["ncclCommAbort", "c10d::NCCLComm::*bort", "c10d::ProcessGroupNCCL::*"]}
        ],
        "signature": "nccl-abort-destroy-blocked-join",
    },
}

inside.join()
_job.Trainer(length=8, watch=0).train()
inside.watch_crash()
# What a launcher does when a rank is still there some time after the others have ended.
subprocess.Popen(["sh", "-c", "sleep 4; kill -ABRT %d" % os.getpid()])
getattr(c10d, "_abort_process_group", c10d.destroy_process_group)()
