# SPDX-License-Identifier: GPL-3.0-or-later
"""Dies with as many Python threads as asked for, a few calls deep each: crowd.py N."""
import os
import sys
import threading
import time

event = threading.Event()
lock = threading.Lock()


def descend(depth, kind):
    if depth:
        return descend(depth - 1, kind)
    if kind == 0:
        return event.wait()
    if kind == 1:
        return lock.acquire()
    return time.sleep(10**6)


lock.acquire()
threading.stack_size(256 << 10)
for n in range(int(sys.argv[1])):
    threading.Thread(target=descend, args=(n % 4 + 2, n % 3), daemon=True).start()
time.sleep(0.5)
os.abort()
