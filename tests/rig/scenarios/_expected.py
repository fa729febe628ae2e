# SPDX-License-Identifier: GPL-3.0-or-later
"""What several scenarios say alike: "@NAME" in a SCENARIO stands for the entry of that name."""

SHARED = {
    # The watchdog throws what it found in a collective, and nothing catches it.
    "watchdog-throws": {
        "torch<2.1": [
            "abort",
            "std::rethrow_exception",
            "c10d::ProcessGroupNCCL::WorkNCCL::handleNCCLGuard",
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
    "backend-error": {
        "torch<2.2": "std::runtime_error",
        "torch>=2.2": "c10::DistBackendError",
    },
    # A job that its watchdogs end: soon, and with a flight recorder where there is one.
    "job-env": {
        "torch<2.1": {"NCCL_ASYNC_ERROR_HANDLING": "1"},
        "torch<2.2": {"NCCL_ASYNC_ERROR_HANDLING": "3"},
        "torch<2.8": {
            "TORCH_NCCL_TRACE_BUFFER_SIZE": "200",
            "TORCH_NCCL_WAIT_TIMEOUT_DUMP_MILSEC": "1000",
            "TORCH_NCCL_HEARTBEAT_TIMEOUT_SEC": "60",
        },
        "torch>=2.8": {
            "TORCH_FR_BUFFER_SIZE": "200",
            "TORCH_NCCL_WAIT_TIMEOUT_DUMP_MILSEC": "1000",
            "TORCH_NCCL_HEARTBEAT_TIMEOUT_SEC": "60",
        },
    },
}
