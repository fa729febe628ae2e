# SPDX-License-Identifier: GPL-3.0-or-later
"""Threads that wait in all the ways there are, one of them not of threading's making."""
import _thread
import queue
import select
import socket
import sys
import threading
import time

import truth

lock = threading.Lock()
lock.acquire()
raw = _thread.allocate_lock()
raw.acquire()
left, right = socket.socketpair()


def sleeper(depth):
    if depth:
        return sleeper(depth - 1) + 1
    time.sleep(10**6)
    return 0


def locked():
    with lock:
        pass


def selecting():
    select.select([left], [], [])


class Worker(threading.Thread):
    def run(self):
        self.wait_for_work(queue.Queue())

    def wait_for_work(self, jobs):
        return jobs.get(block=True, timeout=None)


class Callable:
    def __call__(self, sock):
        sock.recv(
            1,
        )


def start(target, *args, **options):
    threading.Thread(target=target, args=args, daemon=True, **options).start()


for depth in range(3):
    start(sleeper, depth, name="sleeper-%d" % depth)
start(locked, name="locked")
start(selecting)
start(Callable(), left)
start(threading.Event().wait)
start(threading.Event().wait, 10**6)
start(threading.Condition(lock).acquire, name="condition")
Worker(daemon=True, name="worker").start()
_thread.start_new_thread(raw.acquire, ())
_thread.start_new_thread(sleeper, (2,))
joined = threading.Thread(target=sleeper, args=(1,), daemon=True)
joined.start()
start(joined.join)


def crash():
    truth.record(sys._getframe(), WEAVE), truth.end()


WEAVE = [truth.END, "crash", "<module>", truth.MAIN]
crash()
