# SPDX-License-Identifier: GPL-3.0-or-later
"""What the report says of threads, the GIL, the collector and exceptions of real processes, against
what each wrote about itself just before it died."""
import contextlib
import json
import os
import pathlib
import subprocess
import sys

import pytest

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "cores")]

import cores  # noqa: E402  (found by the line above)
import fetch  # noqa: E402

PROGRAM = HERE / "programs/state.py"
CORESCAN = pathlib.Path(os.environ.get("CORESCAN", HERE.parents[1] / "build/bin/corescan"))
# What the report keeps of one message, and of one traceback.
MESSAGE, ENTRIES = 16384, 4096
PENDING = ("text", "key", "tuple", "nothing", "os", "made", "number")


def pythons():
    """By name, each with the environment that it needs: installed ones and fetch.py's."""
    found = {name: (path, {}) for name, path in cores.pythons()}
    for python in fetch.interpreters():
        found.setdefault(python.name, (python.path, python.env))
    return found


PYTHONS = pythons()


@pytest.fixture(params=sorted(PYTHONS) or [None])
def python(request):
    if request.param is None:
        pytest.skip("no Python that can load ctypes")
    return PYTHONS[request.param]


@contextlib.contextmanager
def skipping():
    try:
        yield
    except cores.Unavailable as reason:
        pytest.skip(str(reason))


class State:
    """One process: its truth and its report."""

    def __init__(self, python, folder, corescan):
        (self.python, self.env), self.folder, self.corescan = python, folder, corescan
        self.truth = self.report = None

    def die(self, mode, *arguments, killed=False, **env):
        """Runs the program, which ends itself or is killed, and reads its core."""
        truth = self.folder / "truth.json"
        command = [self.python, PROGRAM, mode, truth, *arguments]
        recipe = cores.by_signal if killed else cores.by_kernel
        place = cores.fresh(self.folder, "core")
        with skipping():
            core = recipe(command, place, env=cores.environment(**self.env, **env))
        self.truth = json.loads(truth.read_text(encoding="ascii"))
        run = subprocess.run(
            [self.corescan, "--json", "--all", str(core.path)],
            capture_output=True,
            env={**os.environ, "DEBUGINFOD_URLS": ""},
            check=False,
        )
        assert run.returncode in (0, 1), run.stderr
        self.report = json.loads(run.stdout)
        core.path.unlink()
        return self

    @property
    def runtime(self):
        return self.report["runtime"]["python"]

    def thread(self, tid):
        found = [t for t in self.report["threads"] if t["tid"] == tid]
        assert len(found) == 1, f"thread {tid} comes {len(found)} times"
        return found[0]["python"]

    def exceptions(self, state):
        found = {}
        for error in self.report["exception"]:
            if error["state"] == state:
                found.setdefault(error["tid"], []).append(error)
        return found


@pytest.fixture
def state(python, tmp_path):
    return State(python, tmp_path, CORESCAN.resolve())


def clean(text):
    """As JSON can have it: halves of surrogate pairs have no UTF-8."""
    if text is None:
        return None
    return "".join("\ufffd" if "\ud800" <= c < "\ue000" else c for c in text)


def written(frames):
    """Frames of a report, folds written out."""
    found, i = [], 0
    while i < len(frames):
        fold = frames[i].get("repeat") or {"period": 1, "count": 1}
        period = frames[i : i + fold["period"]]
        found += [[f["function"], f["file"], f["line"]] for f in period] * fold["count"]
        i += fold["period"]
    return found


def same(wanted, got, where):
    if wanted is None:
        assert got is None, f"{where}: invented {got['type']}: {got['message']}"
        return
    assert got is not None, f"{where}: {wanted['type']} is missing"
    for key in ("type", "message"):
        assert got[key] == clean(wanted[key]), f"{where}: {key}"
    for key in ("notes", "suppress_context"):
        assert got[key] == wanted[key], f"{where}: {key}"
    frames = [[clean(name), clean(file), line] for name, file, line in wanted["frames"]]
    assert written(got["traceback"]) == frames, where
    for key in ("cause", "context"):
        same(wanted[key], got[key], f"{where}: {key} of {wanted['type']}")


def test_handled_exceptions(state):
    state.die("exceptions")
    found = state.exceptions("caught")
    for tid, wanted in state.truth["caught"].items():
        here = found.pop(int(tid), [None])
        assert len(here) == 1, f"{wanted['case']}: {len(here)} exceptions"
        same(wanted, here[0], wanted["case"])
    assert not found, "threads that handle nothing"
    assert not state.exceptions("in-flight")


def test_crashed_thread_comes_first(state):
    state.die("exceptions")
    assert state.report["exception"][0]["tid"] == state.truth["tid"] == state.report["crash"]["tid"]


def test_handled_exception_in_a_generator(state):
    """The innermost one comes first, and what the caller handles is not lost."""
    state.die("generator")
    (found,) = state.exceptions("caught").values()
    (wanted,) = state.truth["caught"].values()
    same(wanted, found[0], "generator")
    told = found + [found[0]["context"]] if found[0]["context"] else found
    if state.runtime["version"].startswith("3.6."):
        return  # 3.6 swaps the two: the caller's is in the generator's frame meanwhile
    assert state.truth["outer"] in [e["message"] for e in told]


def test_nothing_is_left_of_what_was_handled(state):
    state.die("none")
    assert state.report["exception"] == []


def test_long_traceback_keeps_its_inner_end(state):
    state.die("long")
    ((error,),) = state.exceptions("caught").values()
    (wanted,) = state.truth["caught"].values()
    assert len(wanted["frames"]) > ENTRIES
    frames = written(error["traceback"])
    assert frames[:ENTRIES] == wanted["frames"][:ENTRIES]
    assert len(frames) == ENTRIES + 1
    left_out = len(wanted["frames"]) - ENTRIES
    assert frames[-1][0] == f"{left_out} outer frames left out"


@pytest.fixture(scope="session")
def pending_library(tmp_path_factory):
    with skipping():
        cores.need("gcc")
        source = HERE / "programs/pending.c"
        folder = tmp_path_factory.mktemp("pending")
        return str(cores.build_library(source, folder, name="pending.so"))


@pytest.mark.parametrize("case", PENDING)
def test_pending_exception(state, pending_library, case):
    state.die("pending", case, PENDING_LIBRARY=pending_library)
    ((error,),) = state.exceptions("in-flight").values()
    ((tid, wanted),) = state.truth["pending"].items()
    assert error["tid"] == int(tid)
    same(wanted, error, case)
    assert not state.exceptions("caught")


def test_pending_exception_with_its_traceback(state, pending_library):
    state.die("pending_frames", PENDING_LIBRARY=pending_library)
    ((error,),) = state.exceptions("in-flight").values()
    (wanted,) = state.truth["pending"].values()
    same(wanted, error, "pending")


def test_exception_that_ended_the_program(state):
    """Told, but as what it is: no thread is in it any more."""
    state.die("uncaught")
    ((error,),) = state.exceptions("stored").values()
    same(state.truth["stored"], error, "stored")
    assert error["tid"] is None
    assert len(state.report["exception"]) == 1


@pytest.mark.parametrize("mode", ["threads", "bare"])
def test_threads(state, mode):
    state.die(mode)
    for tid, wanted in state.truth["threads"].items():
        thread = state.thread(int(tid))
        wanted = wanted or {"name": None, "daemon": False, "main": False}
        got = {key: thread[key] for key in ("name", "daemon", "main")}
        assert got == wanted
    assert state.runtime["phase"] == "running"


def holders(state):
    return [t["tid"] for t in state.report["threads"] if t["python"] and t["python"]["holds_gil"]]


@pytest.mark.parametrize("mode", ["gil", "free"])
def test_gil(state, mode):
    state.die(mode, killed=True)
    holder = state.truth["holder"]
    if state.runtime["free_threaded"]:
        assert state.runtime["gil"] == "disabled" and not holders(state)
        for tid in [*state.truth["waits"], *([holder] if holder else [])]:
            assert state.thread(tid)["state"] == "attached"
        for tid in state.truth["idle"]:
            assert state.thread(tid)["state"] == "detached"
        return
    assert holders(state) == ([holder] if holder else [])
    assert state.runtime["gil"] == ("held" if holder else "free")
    assert state.runtime["gil_holder"] == (holder or None)
    for tid in state.truth["waits"]:
        assert state.thread(tid)["waits_for_gil"]
    for tid in [*state.truth["idle"], holder or state.truth["tid"]]:
        assert not state.thread(tid)["waits_for_gil"]


@pytest.mark.parametrize("mode", ["collecting", "finalizer", "collect_name"])
def test_collector(state, mode):
    state.die(mode)
    wanted = state.truth["collecting"]
    threads = state.report["threads"]
    marked = [t["tid"] for t in threads if t["python"] and t["python"]["collecting"]]
    free_threaded = state.runtime["free_threaded"]
    assert holders(state) == ([] if free_threaded else [state.truth["holder"]])
    if free_threaded and not marked and mode == "finalizer":
        return  # the world goes on while finalizers run, and nothing says who had stopped it
    assert marked == ([wanted] if wanted else [])
    assert state.runtime["collecting"] == (wanted or None)


def test_finalizing(state):
    state.die("finalizing")
    assert state.runtime["phase"] == "finalizing"
