# SPDX-License-Identifier: GPL-3.0-or-later
"""Out of memory where no tensor was asked for: a captured graph cannot be instantiated, error 2.

The caching allocator has taken what there is, and the driver wants memory of its own for the graph.
The message has none of the allocator's numbers, and its advice would not help.
"""
import _net
import inside
import torch

SCENARIO = {
    "about": "CUDA error 2 from cudaGraphInstantiate, not from the allocator, uncaught",
    "rules": [
        "gpu count=1 memory=80GiB other=500MiB",
        "on cudaGraphInstantiate nth=1: error=2",
        "on cudaGraphInstantiateWithFlags nth=1: error=2",
    ],
    "core": "kernel",
    "seconds": 9,
    "expect": {
        "signal": "SIGABRT",
        "crashed": {"role": "main", "stack": ["abort", "last_words"]},
        "threads": [{"name": "tensorboard", "stack": ["queue.py:get", "run"]}],
        "stderr": r"capture_end\(\)[\s\S]*CUDA error: out of memory",
        "exception": {
            "language": "python",
            "type": {"torch<2.8": "RuntimeError", "torch>=2.8": "torch.AcceleratorError"},
            "message": r"^CUDA error: out of memory\n",
        },
        "signature": "cuda-oom-uncaught-abort",
        "confidence": "certain",
    },
}


class Server:
    """Serves the model from a graph, as is done where launches cost more than kernels."""

    def __init__(self, model):
        self.model = model.cuda().eval()
        self.tokens = torch.zeros(4, 32, dtype=torch.long, device="cuda")
        self.graph = torch.cuda.CUDAGraph()

    def warm_up(self):
        stream = torch.cuda.Stream()
        with torch.cuda.stream(stream), torch.no_grad():
            self.model(self.tokens)
        torch.cuda.synchronize()

    def capture(self):
        with torch.cuda.graph(self.graph), torch.no_grad():
            self.logits = self.model(self.tokens)


inside.die_of_exceptions()
writer = _net.Writer()
server = Server(_net.Model())
server.warm_up()
server.capture()
