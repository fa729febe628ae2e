# SPDX-License-Identifier: GPL-3.0-or-later
"""The work is done, and the process dies at exit: a tensor outlives the driver.

A global holds tensors that were used on a side stream. It goes when the interpreter finalizes and
clears the modules; the allocator records events for the side stream, the driver says that it is
shutting down, and the exception leaves a destructor: std::terminate. The process group was never
destroyed: its watchdog still runs. PyTorch frees tensors without the GIL, so that the thread that
dies does not hold it.

Not with 2.1.2: there the global is never destroyed, and the process ends well.
"""
import sys

import inside
import torch
import torch.distributed

SCENARIO = {
    "about": "a tensor freed while the interpreter finalizes: the driver shuts down, terminate",
    "torch": "!=2.1",
    "rules": ["on cudaEventRecord cue=unloading: error=4"],
    "core": "kernel",
    "seconds": 10,
    "expect": {
        "signal": "SIGABRT",
        "crashed": {
            "role": "main",
            "stack": [
                "abort",
                # libstdc++ has no symbols: these are the nearest exported names.
                "std::rethrow_exception",
                "__gxx_personality_v0",
                "_Unwind_*",
                "c10::cuda::CUDACachingAllocator::*",
                "c10::TensorImpl::~TensorImpl",
                "THPVariable_*clear",
                "__del__",
                {
                    "python<3.9": "PyImport_Cleanup",
                    "python<3.13": "Py_FinalizeEx",
                    "python>=3.13": "_Py_Finalize",
                },
                "__libc_start_main",
            ],
        },
        "threads": [
            {"role": "nccl-watchdog", "stack": ["pthread_cond_timedwait"]},
            {"role": "cuda-driver"},
        ],
        "stderr": r"driver shutting down",
        "exception": {
            "language": "c++",
            "type": {"torch<2.9": "c10::Error", "torch>=2.9": "c10::*Error"},
            "message": r"driver shutting down",
        },
        "signature": "cuda-driver-shutting-down",
    },
}


class Offload:
    """Keeps what a side stream still reads."""

    def __init__(self):
        self.stream = torch.cuda.Stream()
        self.kept = []

    def put(self, tensor):
        tensor.record_stream(self.stream)
        self.kept.append(tensor)

    # The module's names may be gone by then.
    def __del__(self, inside=inside, sys=sys):
        inside.cue("unloading")
        inside.record(sys._getframe(), gil=0, torch=None), self.kept.clear()


inside.join()
offload = Offload()
for step in range(4):
    gradients = torch.ones(1 << 16, device="cuda")
    torch.distributed.all_reduce(gradients)
    offload.put(gradients)
del gradients
torch.cuda.synchronize()
print("done", flush=True)
