# SPDX-License-Identifier: GPL-3.0-or-later
"""A worker of a DataLoader dies in native code of its Dataset; the core is the worker's.

The Dataset reads records through a C library. The file of one record is missing, the library's
open gives NULL, nobody looks, and the read faults. The worker's own handler (PyTorch installs one
for SIGSEGV) writes its line, puts the default action back and raises the signal again: so the
handler is on the stack, and below it what really happened. The trainer learns of it as
"DataLoader worker (pid ...) is killed by signal" and ends.
"""
import ctypes
import os
import sys

import inside
import torch
import torch.utils.data

SCENARIO = {
    "about": "SIGSEGV of a DataLoader worker in native code, raised again by PyTorch's handler",
    "core": "kernel",
    "of": "child",
    "seconds": 12,
    "expect": {
        "signal": "SIGSEGV",
        "crashed": {
            "role": "main",
            "stack": [
                "raise",
                "handler_SIGSEGV",
                "fread",
                "ffi_call*",
                "read",
                "__getitem__",
                "fetch.py:fetch",
                "worker.py:_worker_loop",
                "_bootstrap",
                "dataloader.py:__init__",
                "train",
                "<module>",
            ],
        },
        "stderr": r"(?s)ERROR: Unexpected segmentation fault encountered in worker\."
        r".*DataLoader worker \(pid(\(s\))? \d+\) is killed by signal: Segmentation fault",
        "threads": [{"role": "python-thread", "name": "QueueFeederThread", "stack": ["_feed"]}],
        "signature": "dataloader-worker-segv",
    },
}

RECORD = 64 * 4
LIBC = ctypes.CDLL(None)
LIBC.fopen.restype = ctypes.c_void_p
LIBC.fopen.argtypes = [ctypes.c_char_p, ctypes.c_char_p]
LIBC.fread.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_size_t, ctypes.c_void_p]
LIBC.fclose.argtypes = [ctypes.c_void_p]


class RecordReader:
    """Reads records into memory of its own, as a binding to a C library does."""

    def __init__(self, folder):
        self.folder = folder
        self.buffer = ctypes.create_string_buffer(RECORD)

    def read(self, index):
        path = os.path.join(self.folder, "record-%d" % index)
        file = LIBC.fopen(path.encode("utf-8"), b"rb")
        if file is None:  # what the missing check would find: the last words, then the fault
            inside.record(sys._getframe(), gil=0), LIBC.fread(self.buffer, 1, RECORD, file)
        LIBC.fread(self.buffer, 1, RECORD, file)
        LIBC.fclose(file)
        return self.buffer


class Records(torch.utils.data.Dataset):
    def __init__(self, folder, count):
        self.count = count
        self.reader = RecordReader(folder)

    def __len__(self):
        return self.count

    def __getitem__(self, index):
        values = self.reader.read(index)
        return torch.frombuffer(values, dtype=torch.float32).clone(), index % 10


def write_records(folder, count, missing):
    os.makedirs(folder, exist_ok=True)
    for index in range(count):
        if index != missing:
            with open(os.path.join(folder, "record-%d" % index), "wb") as file:
                file.write(bytes(RECORD))


def train(model, optimizer, loader):
    for values, labels in loader:
        loss = torch.nn.functional.cross_entropy(model(values), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


torch.set_num_threads(1)
records = os.path.join(os.environ["RIG_DIR"], "records")
write_records(records, 64, missing=37)
model = torch.nn.Sequential(torch.nn.Linear(64, 32), torch.nn.ReLU(), torch.nn.Linear(32, 10))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
loader = torch.utils.data.DataLoader(Records(records, 64), batch_size=8, num_workers=2)
train(model, optimizer, loader)
sys.exit("a worker should have died")
