# SPDX-License-Identifier: GPL-3.0-or-later
"""While one CUDA error unwinds, a destructor meets it again and throws: std::terminate.

Gradients are copied to the host on a side stream as they come, so each is marked as in use there.
The first kernel of a layer norm's backward pass fails, and the launch of the second says so. The
exception leaves the node and takes the node's gradient with it: the
allocator must record an event on the side stream before the memory is free, and that call fails,
too, in the destructor of the tensor. Python never hears of the first error.
"""
import _net
import inside
import torch

SCENARIO = {
    "about": "CUDA error 700: a tensor's destructor throws while the exception unwinds, terminate",
    "rules": [
        "gpu count=1 memory=80GiB other=500MiB",
        "on launch match=*layer_norm_grad_input* nth=4: sticky=700",
    ],
    "core": "kernel",
    "truth": "faulthandler",
    "seconds": 10,
    "expect": {
        "signal": "SIGABRT",
        "crashed": {
            "role": "autograd",
            # The cleanup of one exception (_Unwind_Resume) has come to a destructor, which is
            # noexcept: the personality ends it. The chain in libstdc++ has no symbols.
            "stack": [
                "abort",
                "__gxx_personality_v0",
                "_Unwind_Resume",
                "c10::cuda::CUDACachingAllocator::*",
                "c10::TensorImpl::~TensorImpl",
                "torch::autograd::Engine::evaluate_function",
                "torch::autograd::Engine::thread_main",
                "torch::autograd::python::PythonEngine::thread_init",
            ],
        },
        "threads": [
            {
                "role": "main",
                "stack": ["torch::autograd::Engine::execute", "backward", "step", "train"],
            },
            {"role": "python-thread", "stack": ["queue.py:get", "run"]},
        ],
        "stderr": r"terminate called after throwing an instance of 'c10::(Accelerator)?Error'\n"
        r"  what\(\):  CUDA error: an illegal memory access was encountered",
        "exception": {
            "language": "c++",
            "type": {"torch<2.8": "c10::Error", "torch>=2.8": "c10::AcceleratorError"},
            "message": r"CUDA error: an illegal memory access was encountered",
        },
        "signature": "cuda-error-in-destructor-abort",
    },
}


class Offload:
    """Takes the gradients of activations to the host while the backward pass goes on."""

    def __init__(self):
        self.stream = torch.cuda.Stream()
        self.host = torch.empty(4, 32, _net.WIDTH).pin_memory()

    def take(self, gradient):
        self.stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(self.stream):
            self.host.copy_(gradient, non_blocking=True)
        gradient.record_stream(self.stream)


class Block(_net.Block):
    def __init__(self, offload):
        super().__init__()
        self.norm = torch.nn.LayerNorm(_net.WIDTH)
        self.offload = offload

    def forward(self, x):
        normed = self.norm(x)
        normed.register_hook(self.offload.take)
        return x + self.down(torch.nn.functional.gelu(self.up(normed)))


offload = Offload()
model = _net.Model()
model.blocks = torch.nn.ModuleList([Block(offload) for _ in range(2)])
trainer = _net.Trainer(model)
inside.watch_crash()
trainer.train()
