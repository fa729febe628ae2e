# SPDX-License-Identifier: GPL-3.0-or-later
"""What a scenario's program uses while it runs. For Python 3.8 to 3.13.

A program ends with the line

    inside.record(sys._getframe()), inside.end()

so that the line of its innermost frame is the same in what is written and in the core. Where it
does not end itself (its watchdog ends it), record() comes first, then the cue that lets the rule
strike, then end(), all on that line, and the scenario says "end": "wait".

Each process has a folder of its own, RIG_DIR/PID: there are its core and its word (truth.json).
"""
import base64
import ctypes
import faulthandler
import json
import os
import sys
import threading
import time

import truth

LIBRARY = ctypes.CDLL(None)
DIRECTORY = os.environ["RIG_DIR"]
end = truth.end  # a function in C: no frame of ours comes between
gettid = truth.gettid
BUFFERS = []  # what the shim may look at for ever
FAULTS = []  # the open file of faulthandler


def place():
    """The folder of this process: its core goes to its working directory."""
    folder = os.path.join(DIRECTORY, str(os.getpid()))
    os.makedirs(folder, exist_ok=True)
    os.chdir(folder)
    truth.PATH = os.path.join(folder, "truth.json")


def text(value):
    BUFFERS.append(str(value).encode("utf-8"))
    return BUFFERS[-1]


# The shim (shim/shim.h)


def rule(line):
    """Adds a rule while the program runs; those that hold from the start are in SCENARIO."""
    LIBRARY.rig_rule.argtypes = [ctypes.c_char_p]
    if LIBRARY.rig_rule(text(line)) != 0:
        raise ValueError("the shim refused the rule %r: its reason is on stderr" % line)


def cue(name):
    """Rules with cue=NAME hold from now on."""
    LIBRARY.rig_cue.argtypes = [ctypes.c_char_p]
    LIBRARY.rig_cue.restype = None
    LIBRARY.rig_cue(text(name))


def release():
    """All that is pending completes."""
    LIBRARY.rig_release.restype = None
    LIBRARY.rig_release()


def calls(call, match=None):
    """How often an entry point was called so far."""
    LIBRARY.rig_calls.argtypes = [ctypes.c_char_p, ctypes.c_char_p]
    LIBRARY.rig_calls.restype = ctypes.c_uint64
    return LIBRARY.rig_calls(text(call), None if match is None else text(match))


# torch


def join(**options):
    """This rank's device, and the process group of all ranks over loopback."""
    import torch
    import torch.distributed

    torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
    torch.distributed.init_process_group("nccl", **options)


def plain(value):
    """As JSON can have it."""
    if isinstance(value, dict):
        return {str(k): plain(v) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(v) for v in value]
    if isinstance(value, (str, int, float, type(None))):
        return value
    if isinstance(value, bytes):
        return base64.b64encode(value).decode("ascii")
    return str(value)


def snapshot():
    import torch

    return torch.cuda.memory._snapshot()


def memory_snapshot():
    import torch

    return torch.cuda.memory_snapshot()


def memory_stats():
    import torch

    return [dict(torch.cuda.memory_stats(i)) for i in range(torch.cuda.device_count())]


def allocator_settings():
    found = snapshot()
    return found.get("allocator_settings") if isinstance(found, dict) else None


def flight_recorder():
    """The dump, a pickle, in base64; None where this version has none."""
    import torch

    dump = getattr(torch._C._distributed_c10d, "_dump_nccl_trace", None)
    return None if dump is None else dump()


def process_groups():
    from torch.distributed import distributed_c10d as c10d

    world = getattr(c10d, "_world", None)
    names = world.pg_names if world is not None else c10d._pg_names
    ranks = world.pg_group_ranks if world is not None else c10d._pg_group_ranks
    return [
        {
            "name": name,
            "backend": c10d.get_backend(group),
            "size": group.size(),
            "rank": group.rank(),
            "ranks": sorted(ranks.get(group, {})),
        }
        for group, name in names.items()
    ]


def torch_facts():
    """{name: what torch says of itself}; a question that fails leaves its error."""
    torch = sys.modules.get("torch")
    if torch is None:
        return None
    facts = {"version": torch.__version__, "cuda": torch.version.cuda}
    questions = []
    if torch.cuda.is_initialized():
        questions += [memory_snapshot, memory_stats, allocator_settings]
    distributed = sys.modules.get("torch.distributed")
    if distributed is not None and distributed.is_initialized():
        questions += [flight_recorder, process_groups]
    for question in questions:
        try:
            facts[question.__name__] = plain(question())
        except Exception as problem:  # whatever it is, the record is still worth having
            facts[question.__name__ + "_error"] = "%s: %s" % (type(problem).__name__, problem)
    return facts


# What the process says of itself


def lacks(reason):
    """The machine does not let the program do its part: it ends, and the scenario is left out."""
    sys.stderr.write("%s\n" % reason)
    sys.stderr.flush()
    os._exit(77)  # LACKS of launch.py


def spare_device_memory():
    """gdb would write the address space of device memory as zeroes, gigabytes of them.

    The kernel leaves it out by itself: nothing was ever there. 16 is MADV_DONTDUMP.
    """
    with open("/proc/self/maps", encoding="utf-8", errors="replace") as file:
        lines = file.read().splitlines()
    for line in lines:
        span, access, _, _, inode = line.split()[:5]
        begin, end_at = [int(n, 16) for n in span.split("-")]
        if access == "---p" and inode == "0" and end_at - begin > 1 << 27:
            LIBRARY.madvise(ctypes.c_void_p(begin), ctypes.c_size_t(end_at - begin), 16)


def record(frame, **facts):
    """Writes the truth; see truth.record. Who cannot ask torch any more gives torch=..."""
    if "torch" not in facts:
        facts["torch"] = torch_facts()
    for stream in (sys.stdout, sys.stderr):  # before 3.9 both wait until they are full
        stream.flush()
    if truth.FINISH != "abort":
        spare_device_memory()
    truth.record(frame, **facts)


def park(event, *more):
    """For threads that are to be found in a known line."""
    event.wait(*more)


def watch(condition, cues):
    while not condition():
        time.sleep(0.05)
    record(sys._getframe()), [cue(name) for name in cues], end()


def witness(condition, *cues):
    """A thread that writes the word for one that is stuck in a call: once CONDITION() is true.

    For example: lambda: inside.calls("cudaStreamSynchronize") > before. The stuck thread must
    have let the GIL go, as torch does where it waits for the device.
    """
    thread = threading.Thread(target=watch, args=(condition, cues), name="witness", daemon=True)
    thread.start()


def traceback_of(trace):
    """Innermost first, as truth.describe has frames."""
    found = []
    while trace is not None:
        name, file, _, short = truth.describe(trace.tb_frame)
        found.insert(0, [name, file, trace.tb_lineno, short])
        trace = trace.tb_next
    return found


def exception_facts(value):
    kind = type(value)
    known = kind.__module__ in ("builtins", "__main__")
    return {
        "type": kind.__qualname__ if known else kind.__module__ + "." + kind.__qualname__,
        "message": str(value),
        "traceback": traceback_of(value.__traceback__),
    }


def last_words(kind, value, trace):
    """An excepthook: says what the usual one says, records, and aborts."""
    sys.__excepthook__(kind, value, trace)
    sys.stderr.flush()
    record(sys._getframe(), exception=exception_facts(value)), os.abort()


def last_words_of_thread(args):
    last_words(args.exc_type, args.exc_value, args.exc_traceback)


def die_of_exceptions():
    """An exception that nobody catches, in any thread, ends the process with SIGABRT."""
    sys.excepthook = last_words
    threading.excepthook = last_words_of_thread


def watch_crash():
    """For a crash inside a call: faulthandler writes the stacks when it comes."""
    folder = os.path.dirname(truth.PATH)
    with open(os.path.join(folder, "facts.json"), "w", encoding="ascii") as file:
        known = {"pid": os.getpid(), "version": list(sys.version_info[:3]), "torch": torch_facts()}
        json.dump(known, file)
    FAULTS.append(open(os.path.join(folder, "fault.txt"), "wb", 0))
    faulthandler.enable(FAULTS[-1], all_threads=True)


place()
os.register_at_fork(after_in_child=place)
