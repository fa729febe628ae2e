# SPDX-License-Identifier: GPL-3.0-or-later
"""A kernel fails and CUDA cannot say how: error 719, "unspecified launch failure".

It is the optimizer's kernel of the second step. The next step's copy of its batch waits for the
device, and gets the error.
"""
import _net
import inside

SCENARIO = {
    "about": "CUDA error 719 of the optimizer's kernel, found in the next step, uncaught",
    "rules": [
        "gpu count=1 memory=80GiB other=500MiB",
        "on launch cue=second match=*multi_tensor_apply* nth=1: pending sticky=719",
    ],
    "core": "kernel",
    "seconds": 9,
    "expect": {
        "signal": "SIGABRT",
        "crashed": {"role": "main", "stack": ["abort", "last_words"]},
        "threads": [
            {"role": "autograd", "stack": ["torch::autograd::ReadyQueue::pop"]},
            {"name": "tensorboard", "stack": ["queue.py:get", "run"]},
        ],
        "stderr": r"in fetch[\s\S]*tokens\.cuda\(\)[\s\S]*CUDA error: unspecified launch failure",
        "exception": {
            "language": "python",
            "type": {"torch<2.8": "RuntimeError", "torch>=2.8": "torch.AcceleratorError"},
            "message": r"^CUDA error: unspecified launch failure\n",
        },
        "signature": "cuda-unspecified-launch-failure",
        "confidence": "certain",
    },
}


class Trainer(_net.Trainer):
    def fetch(self, tokens, labels):
        return tokens.cuda(), labels.cuda()

    def step(self, tokens, labels):
        loss = self.forward(*self.fetch(tokens, labels))
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        return loss.detach()

    def train(self):
        for number, (tokens, labels) in enumerate(self.loader):
            if number == 1:
                inside.cue("second")
            self.step(tokens, labels)


inside.die_of_exceptions()
trainer = Trainer()
trainer.optimizer = _net.torch.optim.SGD(trainer.model.parameters(), lr=0.1, foreach=True)
trainer.train()
