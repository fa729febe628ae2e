# SPDX-License-Identifier: GPL-3.0-or-later
"""Exceptions of released PyTorch builds, stopped where PyTorch catches them (programs/catching.cc).

The builds are the rig's: its oldest and newest, which are downloaded, and those that are there.
"""
import collections
import json
import os
import pathlib
import subprocess
import sys

import pytest

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path[:0] = [str(ROOT / "tests/cores"), str(ROOT / "tests/rig")]

import cores  # noqa: E402  (found by the line above)
import fetch  # noqa: E402
import lock  # noqa: E402

CORESCAN = pathlib.Path(os.environ.get("CORESCAN", ROOT / "build/bin/corescan"))
PROGRAM = HERE / "programs/torch_errors.py"

# kind: function of torch_errors.py; caught: part of the mangled type to stop at; cause: the Python
# exception inside.
Case = collections.namedtuple("Case", "kind caught type message cause")
CASES = [
    Case("size", "c10", "c10::Error", "The size of tensor a (3) must match", None),
    Case("index", "Index", "c10::IndexError", "index 5 is out of bounds for dimension 0", None),
    Case("singular", "LinAlg", "c10::LinAlgError", "linalg.inv: The diagonal element 1", None),
    Case("missing", "NotImpl", "c10::NotImplementedError", "Could not run 'aten::median'", None),
    # torch::TypeError, in newer ones c10::TypeError.
    Case("argument", "9TypeError", "::TypeError", "unsqueeze(): argument 'dim'", None),
    Case("script", "jit", "torch::jit::JITException", "scripted: x is 7", None),
    Case(
        "backward",
        "python_error",
        "python_error",
        "ValueError: bad gradient of 4",
        ("ValueError", "bad gradient of 4"),
    ),
    Case(
        "future",
        "already_set",
        "pybind11::error_already_set",
        "ZeroDivisionError: ",
        ("ZeroDivisionError", None),
    ),
]


@pytest.fixture(scope="session", name="library")
def built_library(tmp_path_factory):
    folder = tmp_path_factory.mktemp("library")
    flags = ("-shared", "-fPIC")
    try:
        source = HERE / "programs/catching.cc"
        return cores.build(source, folder, *flags, name="libcatching.so")
    except cores.Unavailable as reason:
        pytest.skip(str(reason))


def core_of(version, library, case, folder, action, call_what):
    """(core, lines of the truth)"""
    truth = folder / "truth"
    where = cores.fresh(folder, "core")
    try:
        target = fetch.fetch(version)
        env = cores.environment(
            PYTHONPATH=str(target.folder / "site"),
            LD_LIBRARY_PATH=str(target.folder / "stubs"),
            LD_PRELOAD=str(library),
            CATCH_TYPE=case.caught,
            CATCH_ACTION=action,
            CATCH_TRUTH=str(truth),
            CATCH_WHAT="1" if call_what else "0",
        )
        command = [target.interpreter, PROGRAM, case.kind]
        core = cores.by_kernel(command, where, env=env, limit=120)
    except (fetch.Unavailable, cores.Unavailable) as reason:
        pytest.skip(str(reason))
    tid, kind, what = truth.read_text(encoding="utf-8").split("\n", 2)
    return core, int(tid), kind, what


def exceptions(core):
    done = subprocess.run(
        [str(CORESCAN), "--json", str(core.path)], capture_output=True, timeout=60, check=False
    )
    core.path.unlink()
    assert done.returncode in (0, 1), done.stderr.decode()[-500:]
    found = json.loads(done.stdout)["exception"]
    return [e for e in found if e["language"] == "c++"]


def check(e, case, tid, kind, what):
    assert e["tid"] == tid and e["type"] == kind and kind.endswith(case.type)
    assert e["message"].startswith(case.message)
    if case.cause:
        assert e["cause"]["language"] == "python" and e["cause"]["type"] == case.cause[0]
        assert case.cause[1] in (None, e["cause"]["message"])
        # pybind11's what() goes on with the traceback.
        assert what.split("\n")[0] in e["message"]
    elif what and "c10" in kind:
        # what() is the message and then the backtrace; a long one is cut, and says so.
        whole = f"{e['message']}\n{e['backtrace']}"
        assert whole == what or (whole.endswith("…") and what.startswith(whole[:-2]))
        assert e["backtrace"].startswith("Exception raised from ")
    elif what:
        assert e["message"] == what


def is_there(version):
    sections = (s for s in lock.read() if s.torch == version)
    return any(fetch.is_complete(fetch.CACHE / fetch.name_of(s), s) for s in sections)


@pytest.mark.parametrize("version", [v for v in lock.TARGETS if v in lock.ENDS or is_there(v)])
@pytest.mark.parametrize("case", CASES, ids=[c.kind for c in CASES])
def test_in_the_handler(library, tmp_path, version, case):
    """abort() while it is handled: it is the reason, and comes first."""
    core, *truth = core_of(version, library, case, tmp_path, "abort", True)
    found = exceptions(core)
    check(found[0], case, *truth)
    assert found[0]["fatal"] and found[0]["state"] == "caught"


@pytest.mark.parametrize("version", lock.ENDS)
@pytest.mark.parametrize("case", CASES, ids=[c.kind for c in CASES])
def test_parked(library, tmp_path, version, case):
    """A thread handles it while another one ends the process; what() was never called."""
    core, *truth = core_of(version, library, case, tmp_path, "park", False)
    found = [e for e in exceptions(core) if e["tid"] == truth[0]]
    check(found[0], case, *truth)
    assert not found[0]["fatal"] and found[0]["state"] == "caught"
    if "c10" in truth[1]:
        # Where it was thrown is known although the backtrace was not made into a text yet.
        assert found[0]["backtrace"].startswith("Exception raised from ")
