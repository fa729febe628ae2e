# SPDX-License-Identifier: GPL-3.0-or-later
"""What a process writes about itself just before it dies. For Python 3.6 to 3.15.

A program ends with the line

    truth.record(sys._getframe(), weave=[...]), truth.end()

so that the line of its innermost frame is the same in what is written and in the core. The other
threads are where they will be found: record() waits until they are.

The weave is the stack of the recording thread, innermost first: names of Python functions as
co_name has them ("name*3": three in a row), and between them the native functions that must stand
there: "@list_?sort" is a pattern for the name of a function of the interpreter (any native function
will do where the interpreter has no symbols), "=qsort" for one of a module that has symbols
anyhow. Where no native function is given, none may stand but the interpreter's plumbing. "?" is any
number of native frames, "~" of any frames.

TRUTH_FILE names the file, TRUTH_END how it ends: "abort", or "wait" for whoever attaches.
"""
import _thread
import ctypes
import functools
import json
import os
import sys
import time

# Offset of `tid` in glibc's struct pthread, x86_64 and aarch64; wrong ones are noticed.
TID_IN_PTHREAD = {"x86_64": 720, "aarch64": 208}.get(os.uname().machine, 0)
SYS_GETTID = {"x86_64": 186, "aarch64": 178}.get(os.uname().machine, 0)
LIBC = ctypes.CDLL(None)
FINISH = os.environ.get("TRUTH_END", "abort")
PATH = os.environ.get("TRUTH_FILE", "truth.json")

# Functions in C both: no frame of ours comes between.
end = os.abort if FINISH == "abort" else functools.partial(time.sleep, 10**6)

# Where the weaves begin and end.
END = "=abort|sleep|select"
MAIN = "@Py_BytesMain|Py_RunMain|Py_Main|pymain_main"


def gettid():
    return LIBC.syscall(SYS_GETTID)


def describe(frame):
    code = frame.f_code
    name = getattr(code, "co_qualname", code.co_name)
    return [name, code.co_filename, frame.f_lineno, code.co_name]


def chain(frame):
    """A frame and its callers, innermost first."""
    found = []
    while frame is not None:
        found.append(describe(frame))
        frame = frame.f_back
    return found


def tids():
    return {int(name) for name in os.listdir("/proc/self/task")}


def tid_of(ident):
    """The kernel's id of the thread with this ident (its pthread_t); 0: not known."""
    if ident == _thread.get_ident():
        return gettid()
    return ctypes.c_int32.from_address(ident + TID_IN_PTHREAD).value


def others(running):
    """Frames of all other threads that this process has: a fork leaves states of dead ones."""
    found = {}
    if len(running) == 1:  # without a GIL, to ask for frames is to wait for those that are gone
        return found
    for ident, frame in sys._current_frames().items():
        if ident != _thread.get_ident() and tid_of(ident) in running:
            found[ident] = frame
    return found


def settle(rounds=4, pause=0.04):
    """Waits until no other thread has moved for a while."""
    last, same = None, 0
    deadline = time.monotonic() + 20
    while same < rounds and time.monotonic() < deadline:
        now = {i: [(f.f_code, f.f_lasti) for f in frames(f)] for i, f in others(tids()).items()}
        same = same + 1 if now == last else 0
        last = now
        time.sleep(pause)


def frames(frame):
    while frame is not None:
        yield frame
        frame = frame.f_back


def threads_known(threads):
    """{ident: (name, daemon)} of threading, where it is imported."""
    threading = sys.modules.get("threading")
    found = {}
    if threading is not None:
        for ident, thread in list(threading._active.items()):
            found[ident] = [thread.name, thread.daemon]
    return {ident: known for ident, known in found.items() if ident in threads}


def holder():
    """tid of the thread that has the GIL when the process ends; 0: nobody; None: there is none."""
    if not getattr(sys, "_is_gil_enabled", lambda: True)():
        return None
    return gettid() if FINISH == "abort" else 0


def write(facts):
    temporary = PATH + ".new"
    # Plain calls: open() no longer works while the interpreter finalizes.
    file = os.open(temporary, os.O_WRONLY | os.O_CREAT, 0o600)
    left = json.dumps(facts).encode("ascii")
    while left:
        left = left[os.write(file, left) :]
    os.close(file)
    os.rename(temporary, PATH)
    if FINISH != "abort":
        os.write(1, b"ready\n")


def record(frame, weave=None, outer=(), gil=-1, waiting=True, more=None, **facts):
    """Writes the truth. `outer`: frames below `frame` that f_back does not lead to."""
    if waiting:
        settle()
    me = _thread.get_ident()
    running = tids()
    threads = {ident: chain(top) for ident, top in others(running).items()}
    threads[me] = chain(frame) + [list(f) for f in outer]
    threads.update(more or {})
    known = threads_known(threads)
    threading = sys.modules.get("threading")
    main = threading.main_thread().ident if threading is not None else None
    write(
        {
            "version": list(sys.version_info[:3]),
            "pid": os.getpid(),
            "executable": sys.executable,
            "free_threaded": holder() is None,
            "tid": gettid(),
            "main": main,
            "named": threading is not None and not facts.get("interpreter"),
            "gil": holder() if gil == -1 else gil,
            "weave": weave,
            "threads": [
                {
                    "ident": ident,
                    "tid": tid_of(ident),
                    "name": known.get(ident, [None])[0],
                    "daemon": known.get(ident, [None, None])[1],
                    "frames": frames,
                }
                for ident, frames in threads.items()
            ],
            "all_tids": sorted(running),
            **facts,
        }
    )


def park(event, *more):
    """For threads that are to be found in a known line."""
    event.wait(*more)


assert tid_of(_thread.get_ident()) == gettid()
assert not TID_IN_PTHREAD or (
    ctypes.c_int32.from_address(_thread.get_ident() + TID_IN_PTHREAD).value == gettid()
)
