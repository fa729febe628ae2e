# SPDX-License-Identifier: GPL-3.0-or-later
"""A pasted report says what its core says: the text, whole and cut, and the page for an issue."""
import contextlib
import fcntl
import os
import pty
import re
import struct
import subprocess
import sys
import termios

import pytest

FORMS = {
    "text": [],
    "threads": ["--threads"],
    "all": ["--all"],
    "markdown": ["--markdown"],
}
NATIVE = {
    "null": ("crash.c", ["null"]),
    "call of NULL": ("crash.c", ["call"]),
    "division": ("crash.c", ["divide"]),
    "deep": ("crash.c", ["deep"]),
    "mutual": ("crash.c", ["mutual"]),
    "quit": ("crash.c", ["raise"]),
    "assert": ("crash.c", ["assert"]),
    "abort in a callback": ("crash.c", ["noreturn"]),
    "within a handler": ("crash.c", ["handler"]),
    "used-up stack": ("crash.c", ["overflow"]),
    "exception": ("throw.cc", []),
    "exception in a thread": ("throw.cc", ["thread"]),
    "names": ("names.cc", ["call"]),
    "threads": ("threads.c", ["12", "abort"]),
}
HANGS = {
    "parked threads": ("threads.c", ["12", "wait"]),
    "locks in a ring": ("locks.c", ["cycle"]),
}
CHAIN = """
import os, threading, time
threading.Thread(target=time.sleep, args=(99,), daemon=True).start()
def reads():
    raise OSError(5, "the disk says: no\\n\\n  second part\\nlast part")
def trains():
    try:
        reads()
    except OSError as error:
        raise RuntimeError("CUDA error: an illegal memory access was encountered") from error
try:
    trains()
except RuntimeError:
    os.abort()
"""
RECURSION = """
import ctypes, sys
sys.setrecursionlimit(10 ** 6)
KEY = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_int)
def turn(n):
    return callback(n + 1)
callback = KEY(turn)
turn(0)
"""
THREADS = """
import ctypes, threading, time
def loads(event):
    event.wait()
for _ in range(9):
    threading.Thread(target=loads, args=(threading.Event(),), daemon=True).start()
time.sleep(0.3)
try:
    {}["kept"]
except KeyError as error:
    kept = error
ctypes.string_at(0)
"""
FORKED = """
import os, threading, time, ctypes
threading.Thread(target=time.sleep, args=(1,)).start()
time.sleep(0.1)
if os.fork():
    os._exit(0 * os.wait()[0])
ctypes.string_at(0)
"""
PYTHON = {"chain": CHAIN, "recursion": RECURSION, "threads": THREADS, "forked": FORKED}
WAITS = """
import threading, time
locks = [threading.Lock() for _ in range(2)]
def takes(first, second):
    with locks[first]:
        time.sleep(0.2)
        locks[second].acquire()
threading.Thread(target=takes, args=(0, 1), daemon=True).start()
threading.Thread(target=takes, args=(1, 0), daemon=True).start()
time.sleep(0.4)
print("ready", flush=True)
time.sleep(1000)
"""


def words(text):
    """Without the blanks, of which a terminal makes ends of lines."""
    return " ".join(text.split())


def messages_of(core):
    """What its last words and exceptions are, with all that led to these."""
    found = [core["crash"]["message"]] if core["crash"]["message"] else []
    waiting = list(core["exception"])
    while waiting:
        e = waiting.pop(0)
        found.append(f"{e['type']}: {e['message']}" if e["message"] else e["type"])
        context = None if e["suppress_context"] else e["context"]
        waiting += [led for led in (e["cause"] or context,) if led]
    return {words(m) for m in found}


def ids(report):
    return [f["id"] for f in report["findings"]]


def assert_said(said, expected, name):
    """A page for an issue does not tell twice what one message has of another."""
    if name == "markdown":  # home folders become ~
        expected = {re.sub(r"/root\b|/(home|Users)/[^/\s]+", "~", m) for m in expected}
    missing = expected - said
    if name == "markdown":
        missing = {m for m in missing if not any(s.split(": ", 1)[-1] in m or m in s for s in said)}
    assert not missing and not said - expected, (name, said, expected)


def on_terminal(corescan, core, columns):
    """What a terminal of so many columns shows, colours included."""
    ours, its = pty.openpty()
    fcntl.ioctl(its, termios.TIOCSWINSZ, struct.pack("HHHH", 50, columns, 0, 0))
    out = b""
    with subprocess.Popen(
        [str(corescan.path), str(core)],
        stdin=subprocess.DEVNULL,
        stdout=its,
        stderr=subprocess.DEVNULL,
        env={**os.environ, "TERM": "xterm", "DEBUGINFOD_URLS": ""},
    ):
        os.close(its)
        with contextlib.suppress(OSError):  # the end, on Linux
            while more := os.read(ours, 65536):
                out += more
    os.close(ours)
    return out.decode()


@pytest.fixture
def compare(corescan, tmp_path):
    def texts(core):
        for name, options in FORMS.items():
            run = corescan(*options, core)
            assert run.status in (0, 1), run.err[:500]
            yield name, run.out
        for columns in (80, 132):
            yield f"terminal of {columns}", on_terminal(corescan, core, columns)

    def run(path):
        core = corescan.report(path, statuses=(0, 1))
        crashed = [t["tid"] for t in core["threads"] if t["crashed"]]
        for name, text in texts(path):
            pasted = tmp_path / f"{name}.txt"
            pasted.write_text(text)
            found = corescan("match", "--json", pasted).reports()
            assert len(found) == 1, (name, [r["input"] for r in found], text)
            report = found[0]
            assert report["input"]["format"] == "corescan", (name, text)
            assert ids(report)[:1] == ids(core)[:1], (name, ids(report), text)
            assert report["fingerprint"]["short"] == core["fingerprint"]["short"], (name, text)
            if report["crash"]["kind"] == "crash":
                assert report["crash"]["signal"] == core["crash"]["signal"], (name, text)
                assert [t["tid"] for t in report["threads"] if t.get("crashed")] == crashed, name
            assert_said({words(m) for m in report["messages"]}, messages_of(core), name)
        return core

    return run


@pytest.mark.parametrize("name", NATIVE)
def test_crash(name, recipes, compare):
    source, arguments = NATIVE[name]
    core = recipes.by_kernel([recipes.program(source), *arguments], recipes.new(name))
    compare(core.path)
    core.path.unlink()


@pytest.mark.parametrize("name", HANGS)
def test_hang(name, recipes, compare):
    source, arguments = HANGS[name]
    core = recipes.by_gcore([recipes.program(source), *arguments], recipes.new(name))
    compare(core.path)
    core.path.unlink()


@pytest.mark.parametrize("name", PYTHON)
def test_python(name, recipes, compare):
    core = recipes.by_kernel([sys.executable, "-c", PYTHON[name]], recipes.new(name))
    compare(core.path)
    core.path.unlink()


def test_python_hang(recipes, compare):
    core = recipes.by_gcore([sys.executable, "-c", WAITS], recipes.new("waits"))
    compare(core.path)
    core.path.unlink()
