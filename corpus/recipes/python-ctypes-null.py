# SPDX-License-Identifier: GPL-3.0-or-later
"""A training-shaped process that dies as many do: native code called with a bad pointer."""
import ctypes
import threading
import time


def load_batches():
    time.sleep(100)


def copy_to_device(batch):
    ctypes.memset(batch, 0, 16)


def train_step(step):
    copy_to_device(0x10)  # the pointer of a buffer that was never allocated, plus an offset


for _ in range(3):
    threading.Thread(target=load_batches, daemon=True).start()
time.sleep(0.2)
train_step(0)
