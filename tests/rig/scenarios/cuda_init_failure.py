# SPDX-License-Identifier: GPL-3.0-or-later
"""The fabric manager of a machine with NVSwitch does not run: CUDA cannot start, error 802.

The first call that needs a device fails, before anything was put on one. Nobody catches it.
"""
import _net
import inside

SCENARIO = {
    "about": "CUDA error 802 from cudaGetDeviceCount: the system is not ready, uncaught",
    "rules": ["gpu count=8 memory=80GiB", "on cudaGetDeviceCount: error=802"],
    "core": "kernel",
    "seconds": 7,
    "expect": {
        "signal": "SIGABRT",
        "crashed": {"role": "main", "stack": ["abort", "last_words"]},
        "threads": [{"name": "tensorboard", "stack": ["queue.py:get", "run"]}],
        "stderr": r"in _lazy_init[\s\S]*Unexpected error from cudaGetDeviceCount\(\)",
        "exception": {
            "language": "python",
            "type": "RuntimeError",
            "message": r"Unexpected error from cudaGetDeviceCount\(\)[\s\S]*Error 802: system not "
            r"yet initialized",
        },
        "signature": "cuda-system-not-ready-802",
        "confidence": "certain",
    },
}

inside.die_of_exceptions()
writer = _net.Writer()
_net.Model().cuda()
