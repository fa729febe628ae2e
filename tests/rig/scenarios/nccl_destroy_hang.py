# SPDX-License-Identifier: GPL-3.0-or-later
"""The training is over; destroy_process_group hangs, because NCCL does not come to an end.

From 2.6 on it finalizes communicators, which waits for all that was put on them and for their
threads; ncclCommFinalize does not come back. The launcher sends SIGABRT to get a core. Versions
before abort here: see nccl_abort_hang.
"""
import os
import subprocess

import _job
import inside
import torch.distributed

SCENARIO = {
    "about": "destroy_process_group waits in ncclCommFinalize until SIGABRT comes",
    "torch": ">=2.6",
    "rules": ["on ncclCommFinalize: hang"],
    "core": "kernel",
    "truth": "faulthandler",
    "seconds": 20,
    "expect": {
        "signal": "SIGABRT",
        "crashed": {
            "role": "main",
            "stack": [
                "ncclCommFinalize",
                "c10d::NCCLComm::finalize",
                "c10d::ProcessGroupNCCL::shutdown",
                "destroy_process_group",
                "<module>",
            ],
        },
        "threads": [{"role": "nccl-watchdog"}, {"role": "nccl-heartbeat"}],
        "signature": "nccl-abort-destroy-blocked-join",
    },
}

inside.join()
_job.Trainer(length=8, watch=0).train()
inside.watch_crash()
# What a launcher does when a rank is still there some time after the others have ended.
subprocess.Popen(["sh", "-c", "sleep 4; kill -ABRT %d" % os.getpid()])
torch.distributed.destroy_process_group()
