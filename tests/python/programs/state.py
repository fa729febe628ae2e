# SPDX-License-Identifier: GPL-3.0-or-later
"""Threads, the GIL, the collector and exceptions, as argv[1] says. For Python 3.6 to 3.15.

What the process knows of itself goes to the file argv[2] just before the end: abort() on the same
line, or "ready" on stdout for whoever sends a signal.
"""
import _thread
import ctypes
import gc
import itertools
import json
import os
import sys
import threading
import time
import traceback

LIBC = ctypes.CDLL(None)
MODE, PATH = sys.argv[1:3]
SYS_GETTID = {"x86_64": 186, "aarch64": 178}[os.uname().machine]


def gettid():
    return LIBC.syscall(SYS_GETTID)


def write(**facts):
    facts.setdefault("tid", gettid())
    with open(PATH, "w", encoding="ascii") as file:
        json.dump(facts, file)


def ready():
    os.write(1, b"ready\n")


# ---- exceptions ----


class Custom(Exception):
    """With a name of its own, and defined in __main__."""


class Weird(OSError):
    """Keeps its fields where OSError has them, behind more of its own."""

    def __init__(self, *args):
        super().__init__(*args)
        self.extra = list(args)


class KeyErrorToo(KeyError):
    pass


def describe(error, seen):
    """An exception as the report should have it, its chain included."""
    if error is None or id(error) in seen:
        return None
    seen.add(id(error))
    kind = type(error)
    name = getattr(kind, "__qualname__", kind.__name__)
    if kind.__module__ not in ("builtins", "__main__"):
        name = kind.__module__ + "." + name
    frames = [
        [getattr(f.f_code, "co_qualname", f.f_code.co_name), f.f_code.co_filename, line]
        for f, line in traceback.walk_tb(error.__traceback__)
    ]
    return {
        "type": name,
        "message": str(error) or None,
        "frames": frames[::-1],
        "notes": list(getattr(error, "__notes__", [])),
        "suppress_context": error.__suppress_context__,
        "cause": describe(error.__cause__, seen),
        "context": describe(error.__context__, seen),
    }


def caught():
    """What is being handled by this thread, for whom it is to be found."""
    return describe(sys.exc_info()[1], set())


def fail(error, cause=None):
    if cause is not None:
        raise error from cause
    raise error


def deep(n, error):
    if n == 0:
        fail(error)
    deep(n - 1, error)


def chained():
    try:
        try:
            fail(ValueError("first"))
        except ValueError as first:
            fail(Custom("second", 2, None), first)
    except Custom:
        try:
            deep(50, KeyError("third: naïve κ 𝄞"))
        except KeyError:
            fail(RuntimeError())


def circle():
    one, two = ValueError("one"), ValueError("two")
    one.__cause__, two.__cause__ = two, one
    one.__context__ = one.__cause__
    raise one


def nothing():
    try:
        fail(ValueError("hidden"))
    except ValueError:
        raise TypeError("shown") from None


def noted():
    error = ValueError("with notes")
    if hasattr(error, "add_note"):
        error.add_note("a note: é")
        error.add_note("another")
    raise error


def group():
    kind = getattr(__import__("builtins"), "ExceptionGroup", None)
    if kind is None:
        raise ValueError("no groups yet")
    raise kind("several", [ValueError(1), TypeError("x")])


def recursion():
    def down():
        return down() + 1

    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(200)
    try:
        down()
    finally:
        sys.setrecursionlimit(limit)


def many_entries():
    """A traceback longer than what a report keeps."""

    def down(n):
        if n == 0:
            raise ValueError("far down")
        # Every level is entered through a frame of its own.
        down(n - 1)

    sys.setrecursionlimit(20000)
    down(6000)


def compiled(text):
    compile(text, "folder/some file.py", "exec")


CASES = {
    "plain": lambda: fail(ValueError("text")),
    "empty": lambda: fail(ValueError()),
    "empty-text": lambda: fail(ValueError("")),
    "number": lambda: fail(ValueError(3)),
    "tuple": lambda: fail(ValueError("a", 1, None, b"\x00b")),
    "nested": lambda: fail(RuntimeError(OSError(2, "No such file", "x"))),
    "key": lambda: {}["mis'sing"],
    "key-number": lambda: {}[7],
    "key-tuple": lambda: {}[1, "a"],
    "key-own": lambda: fail(KeyErrorToo("k")),
    "index": lambda: [][1],
    "zero": lambda: 1 // 0,
    "attribute": lambda: None.nothing,
    "name": lambda: undefined,  # noqa: F821
    "os": lambda: open("/nonexistent/näme"),
    "os-two": lambda: os.rename("/nonexistent/a", "/nonexistent/b"),
    "os-plain": lambda: fail(OSError("only text")),
    "os-errno": lambda: fail(OSError(5, "Input/output error")),
    "os-own": lambda: fail(Weird(13, "Permission denied", b"bytes")),
    "os-three": lambda: fail(OSError(1, 2, 3, 4, 5)),
    "import": lambda: __import__("no_such_module_at_all"),
    "syntax": lambda: compiled("x = = 1"),
    "syntax-plain": lambda: fail(SyntaxError("just so")),
    "syntax-line": lambda: fail(SyntaxError("so", ("f", 3, 1, "text"))),
    "encode": lambda: "abcé".encode("ascii"),
    "encode-many": lambda: "abc𝄞𝄞".encode("ascii"),
    "encode-wide": lambda: "ab𝄞".encode("latin-1"),
    "encode-surrogate": lambda: "ab\ud800".encode("utf-8"),
    "decode": lambda: b"ab\xff".decode("utf-8"),
    "decode-many": lambda: b"ab\xe2\x82".decode("utf-8"),
    "exit": lambda: sys.exit(3),
    "exit-text": lambda: sys.exit("gone"),
    "interrupt": lambda: fail(KeyboardInterrupt()),
    "stop": lambda: next(iter([])),
    "assert": lambda: fail(AssertionError()),
    "unicode-text": lambda: fail(ValueError("ä κ 𝄞")),
    "json": lambda: json.loads("{"),
    "long": lambda: fail(ValueError("x" * 5000)),
    "chained": chained,
    "circle": circle,
    "from-none": nothing,
    "notes": noted,
    "group": group,
    "recursion": recursion,
    "custom": lambda: fail(Custom("own", 1)),
}


def handle(name, barrier, facts):
    """Raises, and stays in the handler."""
    try:
        CASES[name]()
    except BaseException:
        facts[gettid()] = dict(caught(), case=name)
        barrier.acquire()


def run_exceptions():
    facts, barrier = {}, threading.Lock()
    barrier.acquire()
    for name in CASES:
        threading.Thread(target=handle, args=(name, barrier, facts), daemon=True).start()
    while len(facts) < len(CASES):
        time.sleep(0.05)
    time.sleep(0.2)
    try:
        chained()
    except RuntimeError:
        facts[gettid()] = dict(caught(), case="main")
        write(caught=facts), os.abort()


def run_long():
    try:
        many_entries()
    except ValueError:
        write(caught={gettid(): dict(caught(), case="long")}), os.abort()


def suspended():
    """A generator that handles one exception while its caller handles another."""
    try:
        yield fail(KeyError("inner"))
    except KeyError:
        inner = describe(sys.exc_info()[1], set())
        yield inner
        write(caught={gettid(): dict(inner, case="generator")}, outer="outer"), os.abort()


def run_generator():
    walker = suspended()
    next(walker)
    try:
        fail(ValueError("outer"))
    except ValueError:
        next(walker)


def run_none():
    """An exception that was handled is no more."""
    try:
        fail(ValueError("over"))
    except ValueError:
        pass
    write(caught={}), os.abort()


PENDING = {
    "text": (ValueError, "set in C"),
    "key": (KeyError, "it's"),
    "tuple": (ValueError, ("a", 1)),
    "nothing": (RuntimeError, None),
    "os": (OSError, (5, "Input/output error", "file")),
    "made": (ValueError, ValueError("made", 2)),
    "number": (OverflowError, 34),
}


def native(name, *types):
    function = getattr(ctypes.PyDLL(os.environ["PENDING_LIBRARY"]), name)
    function.argtypes = types
    function.restype = ctypes.py_object
    return function


def run_pending():
    """An error that was set by a C function, which dies before it returns."""
    kind, value = PENDING[sys.argv[3]]
    die = native("set_and_die", ctypes.py_object, ctypes.py_object)
    try:
        # As CPython makes the exception when somebody asks for it.
        if isinstance(value, kind):
            raise value
        raise kind(*(value if isinstance(value, tuple) else () if value is None else (value,)))
    except kind as error:
        made = dict(describe(error, set()), frames=[])
        error.__traceback__ = None
    write(pending={gettid(): made})
    die(kind, value)


def raiser():
    try:
        fail(KeyError("first"))
    except KeyError as error:
        fail(Custom("second"), error)


def run_pending_frames():
    """An error on its way through a C function, raised in Python."""
    die = native("call_and_die", ctypes.py_object)
    try:
        raiser()
    except Custom as error:
        made = describe(error, set())
        made["frames"].pop()  # our own frame is not on the way
    write(pending={gettid(): made})
    die(raiser)


def run_uncaught():
    """Nobody handles it; the interpreter has printed it, and dies on its way out."""

    def die():
        kept = describe(sys.last_value, set())
        write(stored=kept), os.abort()

    __import__("atexit").register(die)
    chained()


# ---- threads ----


def named(threads):
    return {
        t.ident: {"name": t.name, "daemon": t.daemon, "main": t is threading.main_thread()}
        for t in threads
    }


def run_threads():
    tids, stop = {}, threading.Event()

    def wait():
        tids[_thread.get_ident()] = gettid()
        stop.wait()

    for name, daemon in (("plain", False), ("wörker κ 𝄞", True), ("", True), ("x" * 300, True)):
        threading.Thread(target=wait, name=name, daemon=daemon).start()
    threading.Thread(target=wait, daemon=True).start()
    _thread.start_new_thread(wait, ())
    while len(tids) < 6:
        time.sleep(0.01)
    time.sleep(0.1)
    known = named(threading.enumerate())
    facts = {tid: known.get(ident) for ident, tid in tids.items()}
    facts[gettid()] = known[_thread.get_ident()]
    write(threads=facts, phase="running"), os.abort()


def run_bare():
    """No threading in sys.modules: only the runtime knows which thread is the main one."""
    for name in [name for name in sys.modules if name.startswith("threading")]:
        del sys.modules[name]
    tids, lock = [], _thread.allocate_lock()
    lock.acquire()

    def wait():
        tids.append(gettid())
        lock.acquire()

    _thread.start_new_thread(wait, ())
    while not tids:
        time.sleep(0.01)
    time.sleep(0.1)
    facts = {
        gettid(): {"name": None, "daemon": False, "main": True},
        tids[0]: {"name": None, "daemon": False, "main": False},
    }
    write(threads=facts), os.abort()


# ---- the GIL ----


def run_gil():
    """One thread keeps the GIL in C for ever, others want it, others do not."""
    sleeping, spinning, locked = [], [], []
    lock = threading.Lock()
    lock.acquire()

    def spin():
        spinning.append(gettid())
        while True:
            pass

    def sleep():
        sleeping.append(gettid())
        time.sleep(10**6)

    def block():
        locked.append(gettid())
        lock.acquire()

    def timed():
        locked.append(gettid())
        condition = threading.Condition()
        with condition:
            condition.wait(10**6)

    for target in (spin, spin, sleep, block, timed):
        threading.Thread(target=target, daemon=True).start()
    while len(spinning) + len(sleeping) + len(locked) < 5:
        time.sleep(0.01)
    time.sleep(0.3)
    write(holder=gettid(), waits=spinning, idle=sleeping + locked)
    ready()
    sum(itertools.repeat(0))


def run_free():
    """Nobody has it."""
    write(holder=0, waits=[], idle=[gettid()])
    ready()
    time.sleep(10**6)


# ---- the collector ----


class Cycle:
    def __init__(self, action):
        self.me = self
        self.action = action

    def __del__(self):
        self.action()


def run_collecting():
    def die():
        write(collecting=gettid(), holder=gettid()), os.abort()

    Cycle(die)
    gc.collect()


def run_finalizer():
    """A finalizer has let the GIL go: who collects is not who has it."""
    inside = threading.Event()
    tids = []

    def sleep():
        tids.append(gettid())
        inside.set()
        time.sleep(10**6)

    def collect():
        gc.disable()
        Cycle(sleep)
        gc.collect()

    threading.Thread(target=collect, daemon=True).start()
    inside.wait()
    time.sleep(0.1)
    write(collecting=tids[0], holder=gettid()), os.abort()


def collect():
    """A function of this name is none of the collector's."""
    write(collecting=0, holder=gettid()), os.abort()


# ---- phases ----


class AtEnd:
    """Dies when sys is cleared. open() and the globals of this module are gone by then."""

    def __init__(self):
        self.file = os.open(PATH, os.O_WRONLY | os.O_CREAT, 0o600)
        self.facts = json.dumps({"tid": gettid(), "phase": "finalizing"}).encode()

    def __del__(self, put=os.write, abort=os.abort):
        put(self.file, self.facts), abort()


def run_finalizing():
    sys.keep_until_the_end = AtEnd()


def run_collect_name():
    collect()


globals()["run_" + MODE]()
