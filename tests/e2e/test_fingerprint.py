# SPDX-License-Identifier: GPL-3.0-or-later
"""One failure has one fingerprint, however it was dumped, printed, built and run."""
import pathlib
import shutil

import cores
import pytest

# Name: source, flags, arguments. gdb prints the frames of a used-up stack for minutes.
CRASHES = {
    "null": ("crash.c", [], ["null"]),
    "assert": ("crash.c", [], ["assert"]),
    "abort in a callback": ("crash.c", [], ["noreturn"]),
    "within a handler": ("crash.c", [], ["handler"]),
    "used-up stack": ("crash.c", [], ["overflow"]),
    "exception": ("throw.cc", [], []),
    "exception in a thread": ("throw.cc", [], ["thread"]),
    "names": ("names.cc", ["-O0"], []),
    "names, optimized": ("names.cc", ["-O2"], ["call"]),
    "names without lines": ("names.cc", ["-O2", "-g0"], ["call"]),
}
# The same failure as another: thrown by the same functions, built otherwise.
SAME = {
    "exception in a thread": "exception",
    "names, optimized": "names",
    "names without lines": "names",
}
HANGS = {
    "parked threads": ("threads.c", ["12", "wait"]),
    "locks in a ring": ("locks.c", ["cycle"]),
}
LIBRARY = """
#include <unistd.h>
int work(int *p);
int __attribute__((noinline)) inner(int *p) { *(volatile int *)p = 1; return *p; }
int outer(int *p) { volatile int k = inner(p); return k; }
int __attribute__((noinline)) other(int *p) { *(volatile int *)p = 2; return *p; }
int second(int *p) { volatile int k = other(p); return k; }
int stuck(int *p) { for (;;) pause(); }
"""
CALLS = """
import ctypes, sys, threading
lib = ctypes.CDLL(sys.argv[1])
getattr(lib, sys.argv[2])(None)
"""
WAITS = """
import ctypes, sys, threading, time
lib = ctypes.CDLL(sys.argv[1])
worker = threading.Thread(target=lambda: lib.stuck(None), daemon=True)
worker.start()
for _ in range(3):
    threading.Thread(target=threading.Event().wait, daemon=True).start()
time.sleep(0.3)
print("ready", flush=True)
worker.join()
"""


@pytest.fixture(scope="module")
def seen():
    """Short form: name of the failure, of all tests before."""
    return {}


@pytest.fixture
def of_core(corescan):
    def fingerprint(core):
        found = corescan.report(core.path, statuses=(0, 1))["fingerprint"]
        core.path.unlink()
        return found

    return fingerprint


@pytest.fixture
def of_text(corescan, recipes, tmp_path):
    def fingerprint(core, executable=None):
        program = executable or core.executable
        run = recipes.run_gdb("-ex", "thread apply all bt", program, core.path)
        text = tmp_path / "backtrace.txt"
        text.write_text(run.stdout)
        reports = corescan("match", "--json", text).reports()
        assert len(reports) == 1, run.stdout
        return reports[0]["fingerprint"]

    return fingerprint


def note(seen, name, short):
    assert short, name
    assert seen.setdefault(short, name) == name


@pytest.mark.parametrize("name", CRASHES)
def test_crash(name, recipes, of_core, of_text, seen, tmp_path):
    source, flags, arguments = CRASHES[name]
    program = recipes.program(source, *flags, name=name.replace(" ", "-"))
    copy = tmp_path / "elsewhere" / source
    copy.parent.mkdir()
    shutil.copy(cores.PROGRAMS / source, copy)
    built = recipes.build(copy, copy.parent, *flags, name="other-name")
    first = recipes.by_kernel([program, *arguments], recipes.new(name))
    texts = [] if name == "used-up stack" else [of_text(first)]
    prints = [of_core(first)]
    prints += [
        of_core(recipes.by_kernel([program, *arguments], recipes.new(name))) for _ in range(2)
    ]
    prints.append(of_core(recipes.by_gdb_after_crash([program, *arguments], recipes.new(name))))
    elsewhere = of_core(recipes.by_kernel([built, *arguments], recipes.new(name)))
    assert {p["short"] for p in [*prints, *texts, elsewhere]} == {prints[0]["short"]}
    assert {p["long"] for p in prints} == {prints[0]["long"]}
    note(seen, SAME.get(name, name), prints[0]["short"])


def test_long_form_does_not_tell_the_path(recipes, of_core, tmp_path):
    """That of an assertion, which prints the program's name, does."""
    longs = set()
    for folder in ("here", "there"):
        (tmp_path / folder).mkdir()
        copy = tmp_path / folder / "throw.cc"
        shutil.copy(cores.PROGRAMS / "throw.cc", copy)
        program = recipes.build(copy, copy.parent)
        longs.add(of_core(recipes.by_kernel([program], recipes.new(folder)))["long"])
    assert len(longs) == 1


@pytest.mark.parametrize("name", HANGS)
def test_hang(name, recipes, of_core, of_text, seen):
    source, arguments = HANGS[name]
    command = [recipes.program(source), *arguments]
    killed = recipes.by_signal(command, recipes.new(name))
    dumped = recipes.by_gcore(command, recipes.new(name))
    texts = [of_text(killed), of_text(dumped)]
    prints = [of_core(killed), of_core(dumped)]
    assert {p["short"] for p in [*texts, *prints]} == {prints[0]["short"]}
    assert prints[0]["long"] == prints[1]["long"]
    note(seen, name, prints[0]["short"])


def library(recipes, folder):
    source = pathlib.Path(folder) / "work.c"
    source.write_text(LIBRARY)
    return recipes.build_library(source, folder, name="libwork.so")


def pythons():
    """At most four, the oldest and the newest among them."""
    found = [path for _, path in cores.pythons()]
    return found if len(found) <= 4 else [found[0], found[len(found) // 2], found[-2], found[-1]]


def test_python_versions(recipes, of_core, seen, tmp_path):
    """The interpreter's own frames, of which each version has others, do not count."""
    work = library(recipes, tmp_path)
    found = pythons()
    if len(found) < 2:
        pytest.skip("only one Python 3 with ctypes on this machine")
    for function in ("outer", "second"):
        shorts = set()
        for python in found:
            command = [python, "-c", CALLS, work, function]
            shorts.add(of_core(recipes.by_kernel(command, recipes.new("python")))["short"])
        assert len(shorts) == 1, function
        note(seen, f"python {function}", shorts.pop())


def test_python_hang(recipes, of_core, of_text, seen, tmp_path):
    """The main thread only joins: the fingerprint is that of the one that is stuck in a library."""
    work = library(recipes, tmp_path)
    python = pathlib.Path(pythons()[-1])
    command = [python, "-c", WAITS, work]
    killed = recipes.by_signal(command, recipes.new("python"))
    dumped = recipes.by_gcore(command, recipes.new("python"))
    texts = [of_text(core, python.resolve()) for core in (killed, dumped)]
    prints = [of_core(killed), of_core(dumped)]
    assert {p["short"] for p in [*texts, *prints]} == {prints[0]["short"]}
    assert prints[0]["long"] == prints[1]["long"]
    assert "stuck" in prints[0]["text"]
    note(seen, "python hang", prints[0]["short"])


def test_waits_of_python_alone_have_only_a_long_one(recipes, of_core, of_text):
    """Every lock that is waited for has the same native frames; Python's tell them apart."""
    python = pathlib.Path(pythons()[-1])
    command = [python, "-c", cores.PYTHON_THREADS, "hang"]
    killed = recipes.by_signal(command, recipes.new("python"))
    text = of_text(killed, python.resolve())
    found = of_core(killed)
    assert found["short"] is None and text["short"] is None
    assert found["long"] and text["long"] is None
