# SPDX-License-Identifier: GPL-3.0-or-later
"""Threads that wait for one another: real programs, and what the report says of each.

The programs know who waits for whom; the report must say the same, name a deadlock only where
there is one, and be certain of it.
"""
import json
import os
import pathlib
import re
import signal
import subprocess
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "cores"))
import cores  # noqa: E402

# Of locks.c: the way, what "a" waits for and whose it is, whether they are deadlocked, the finding.
WAYS = [
    ("cycle", ("mutex", "b"), True, "native-lock-cycle"),
    ("recursive", ("mutex", "b"), True, "native-lock-cycle"),
    ("adaptive", ("mutex", "b"), True, "native-lock-cycle"),
    ("join", ("mutex", "b"), True, "native-lock-cycle"),
    ("joins-holder", ("thread", "b"), True, "native-lock-cycle"),
    ("self", ("mutex", "a"), True, "native-mutex-self-deadlock"),
    ("dies", ("mutex", "b"), False, "native-lock-owner-gone"),
    ("timed", ("mutex", "b"), False, None),
    ("holder", ("mutex", "b"), False, None),
    ("inherits", ("mutex", "b"), False, None),
    ("shared", ("mutex", None), False, None),
]


def analyse(core):
    run = subprocess.run(
        [os.environ["CORESCAN"], "--json", core], capture_output=True, text=True, check=False
    )
    return json.loads(run.stdout)


def waits_of(report):
    return {t["tid"]: t["waits_for"] for t in report["threads"]}


def first(report):
    return [(f["id"], f["confidence"]) for f in report["findings"]][:1]


@pytest.fixture(scope="module")
def locks(tmp_path_factory):
    try:
        return cores.build("locks.c", tmp_path_factory.mktemp("locks"))
    except cores.Unavailable as why:
        pytest.skip(str(why))


def need_libc_names():
    try:
        cores.need_libc_names()
    except cores.Unavailable as why:
        pytest.skip(str(why))


def killed(command, folder):
    """The core of a process that hangs, and what it said of its threads: {"a": tid, ...}."""
    words = folder / "words"
    with words.open("w") as stderr:
        shell = ["/bin/sh", "-c", f'exec "$@" 2>{words}', "sh", *map(str, command)]
        try:
            core = cores.by_signal(shell, folder, signal.SIGABRT)
        except cores.Unavailable as why:
            pytest.skip(str(why))
        stderr.flush()
    return core.path, {k: int(v) for k, v in re.findall(r"(\w+) (\d+)", words.read_text())}


@pytest.mark.parametrize("way, waits_for, deadlock, finding", WAYS, ids=[w[0] for w in WAYS])
def test_native(locks, tmp_path, way, waits_for, deadlock, finding):
    if way in ("join", "joins-holder", "inherits"):  # waits within functions that are not exported
        need_libc_names()
    core, tids = killed([locks, way], tmp_path)
    report = analyse(core)
    wait = waits_of(report)[tids["a"]]
    kind, owner = waits_for
    assert (wait["kind"], wait["owner"]) == (kind, tids.get(owner))
    assert wait["owner_gone"] == (way == "dies")
    assert wait["deadlock"] is deadlock
    if deadlock and owner == "b":
        assert waits_of(report)[tids["b"]]["owner"] == tids["a"]
        assert waits_of(report)[tids["b"]]["deadlock"] is True
    assert first(report) == ([(finding, "certain")] if finding else [])


def test_forked_child(locks, tmp_path):
    core, tids = forked(locks, tmp_path)
    report = analyse(core)
    wait = waits_of(report)[tids["a"]]
    assert (wait["kind"], wait["owner"], wait["owner_gone"]) == ("mutex", tids["b"], True)
    assert first(report) == [("native-lock-owner-gone", "certain")]


def forked(locks, folder):
    """Of the child: gdb dumps it, for it is not the process that was started."""
    words = folder / "words"
    shell = ["/bin/sh", "-c", f'exec "$@" 2>{words}', "sh", str(locks), "fork"]

    def child(_):
        return int(re.search(r"child (\d+)", words.read_text()).group(1))

    try:
        core = cores.by_gcore(shell, folder, pid_of=child)
    except cores.Unavailable as why:
        pytest.skip(str(why))
    return core.path, {k: int(v) for k, v in re.findall(r"(\w+) (\d+)", words.read_text())}


INVERSION = """
import ctypes, threading, time
keeps, frees = ctypes.PyDLL(None), ctypes.CDLL(None)
mutex = ctypes.create_string_buffer(64)
locked = threading.Event()
def second():
    frees.pthread_mutex_lock(mutex)
    locked.set()
    time.sleep(0.2)
threading.Thread(target=second).start()
locked.wait()
print("ready", flush=True)
keeps.pthread_mutex_lock(mutex)
"""
# The thread asks for the GIL, and nothing lets it go on the way to the join.
JOIN = """
import ctypes, sys
sys.setswitchinterval(100)
keeps = ctypes.PyDLL(None)
run = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p)(lambda _: 0)
thread = ctypes.c_ulong()
where = ctypes.byref(thread)
print("ready", flush=True)
keeps.pthread_create(where, None, run, None)
keeps.pthread_join(thread, None)
"""
# The same locks, and nobody waits for ever.
CONTENTION = """
import ctypes, threading, time
frees = ctypes.CDLL(None)
mutex = ctypes.create_string_buffer(64)
def work():
    while True:
        frees.pthread_mutex_lock(mutex)
        frees.usleep(20000)
        frees.pthread_mutex_unlock(mutex)
        sum(range(20000))
for _ in range(6):
    threading.Thread(target=work, daemon=True).start()
time.sleep(0.5)
print("ready", flush=True)
work()
"""
FORKED = """
import ctypes, multiprocessing, threading, time
frees = ctypes.CDLL(None)
mutex = ctypes.create_string_buffer(64)
locked = threading.Event()
def second():
    frees.pthread_mutex_lock(mutex)
    locked.set()
    time.sleep(600)
def child():
    print("ready", flush=True)
    frees.pthread_mutex_lock(mutex)
threading.Thread(target=second, daemon=True).start()
locked.wait()
p = multiprocessing.get_context("fork").Process(target=child)
p.start()
open("child", "w").write(str(p.pid))
p.join()
"""


def of_python(text, folder, version, recipe=cores.by_signal, **options):
    python = dict(cores.pythons())[version]
    try:
        return analyse(recipe([python, "-c", text], folder, **options).path)
    except cores.Unavailable as why:
        pytest.skip(str(why))


@pytest.mark.parametrize("version", [v for v, _ in cores.pythons()])
def test_the_gil_and_a_mutex(tmp_path, version):
    report = of_python(INVERSION, tmp_path, version)
    stuck = [t for t in report["threads"] if (t["waits_for"] or {}).get("deadlock")]
    assert sorted(t["waits_for"]["kind"] for t in stuck) == ["gil", "mutex"]
    assert {t["waits_for"]["owner"] for t in stuck} == {t["tid"] for t in stuck}
    assert first(report) == [("gil-vs-native-lock-inversion", "certain")]
    evidence = [e["text"] for e in report["findings"][0]["evidence"]]
    assert any("waits for the GIL, which thread" in text for text in evidence), evidence
    assert any("waits for the mutex at 0x" in text for text in evidence), evidence


@pytest.mark.parametrize("version", [v for v, _ in cores.pythons()])
def test_a_join_with_the_gil(tmp_path, version):
    need_libc_names()
    report = of_python(JOIN, tmp_path, version)
    assert first(report) == [("gil-held-in-native-join", "certain")]


def test_a_child_of_multiprocessing(tmp_path):
    version = cores.pythons()[-1][0]
    report = of_python(
        FORKED,
        tmp_path,
        version,
        cores.by_gcore,
        pid_of=lambda _: int((tmp_path / "child").read_text()),
    )
    assert first(report) == [("fork-child-native-lock-held", "certain")]


def test_contention_is_no_deadlock(tmp_path):
    report = of_python(CONTENTION, tmp_path, cores.pythons()[-1][0], cores.by_gcore)
    waits = [t["waits_for"] for t in report["threads"] if t["waits_for"]]
    assert any(w["kind"] == "mutex" for w in waits), "nobody was caught waiting"
    assert not any(w["deadlock"] or w["owner_gone"] for w in waits), waits
    assert not [f for f in report["findings"] if f["confidence"] != "possible"]
