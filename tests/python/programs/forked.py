# SPDX-License-Identifier: GPL-3.0-or-later
"""The child of a fork dies; its parent had threads. argv: os, libc or syscall."""
import ctypes
import os
import sys
import threading

import truth

KIND = sys.argv[1]
forever = threading.Event()


def waiting():
    forever.wait()


def fork():
    if KIND == "os":
        return os.fork()
    libc = ctypes.PyDLL(None)
    if KIND == "libc":
        return libc.fork()
    return libc.syscall({"x86_64": 57}[os.uname().machine])


def child(depth):
    if depth:
        return child(depth - 1)
    truth.record(sys._getframe(), WEAVE), truth.end()


def forker():
    pid = fork()
    if pid:
        os.waitpid(pid, 0)
        os._exit(0)
    child(3)


WEAVE = [truth.END, "child*4", "forker", "run", "~", "@."]
for n in range(3):
    threading.Thread(target=waiting, daemon=True, name="parent's %d" % n).start()
thread = threading.Thread(target=forker, name="forker")
thread.start()
thread.join()
