# SPDX-License-Identifier: GPL-3.0-or-later
"""The training is over and the process does not end: a thread that is no daemon still uploads.

The main thread has left the script. The interpreter waits for the uploader, whose server took the
connection and never answers. The word is the witness's.
"""
import socket
import sys
import threading

import inside
import torch

SCENARIO = {
    "about": "the interpreter waits at exit for an upload thread that waits for its server",
    "core": "gcore",
    "seconds": 8,
    "expect": {
        "crashed": {
            "role": "main",
            "stack": {
                "python<3.13": ["lock_PyThread_acquire_lock", "threading.py:_shutdown"],
                "python>=3.13": ["thread_shutdown", "threading.py:_shutdown"],
            },
        },
        "threads": [
            {
                "role": "python-thread",
                "name": "upload",
                "stack": ["recv", "sock_recv", "answer_of", "upload", "threading.py:run"],
            },
            {"role": "python-thread", "name": "witness", "stack": ["inside.py:watch"]},
        ],
        "signature": "python-threading-shutdown-join",
    },
}


def train(model, optimizer, steps):
    for _ in range(steps):
        loss = model(torch.ones(8, 16)).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def answer_of(stream):
    return stream.recv(64)


def upload(address, weights):
    with socket.create_connection(address) as stream:
        stream.sendall(weights)
        answer_of(stream)


def is_shutting_down():
    """Whether the script is left, and the interpreter in its wait for threads."""
    frame = sys._current_frames().get(threading.main_thread().ident)
    names = [name for _, _, _, name in inside.truth.chain(frame)]
    return names[-1:] == ["_shutdown"]


torch.set_num_threads(1)
server = socket.create_server(("127.0.0.1", 0))
model = torch.nn.Linear(16, 4)
train(model, torch.optim.SGD(model.parameters(), lr=0.1), 3)
weights = model.weight.detach().numpy().tobytes()
threading.Thread(target=upload, args=(server.getsockname(), weights), name="upload").start()
inside.witness(is_shutting_down)
