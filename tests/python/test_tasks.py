# SPDX-License-Identifier: GPL-3.0-or-later
"""asyncio tasks and suspended greenlets of real processes against what each wrote about itself."""
import json
import os
import pathlib
import re
import subprocess
import sys

import pytest

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "cores")]

import compare  # noqa: E402  (found by the line above)
import cores  # noqa: E402

PROGRAMS = HERE / "programs"
PYTHONS = dict(cores.pythons())
CORESCAN = pathlib.Path(os.environ.get("CORESCAN", HERE.parents[1] / "build/bin/corescan"))


def more_pythons():
    """Interpreters with the packages that a test wants: CORESCAN_GREENLET_PYTHONS, by colons."""
    return [p for p in os.environ.get("CORESCAN_GREENLET_PYTHONS", "").split(":") if p]


@pytest.fixture(params=sorted(PYTHONS) or [None])
def python(request):
    if request.param is None:
        pytest.skip("no Python that can load ctypes")
    return str(PYTHONS[request.param])


def made(python, program, folder, *arguments, options=(), how=cores.by_kernel):
    """The truth of one process and the report of its core."""
    truth = folder / "truth.json"
    env = cores.environment(TRUTH_FILE=str(truth), PYTHONPATH="")
    try:
        core = how(
            [python, *options, PROGRAMS / program, *arguments], cores.fresh(folder, "core"), env=env
        )
    except cores.Unavailable as reason:
        pytest.skip(str(reason))
    run = subprocess.run(
        [CORESCAN.resolve(), "--json", "--all", str(core.path)],
        capture_output=True,
        env={**os.environ, "DEBUGINFOD_URLS": ""},
        check=False,
    )
    core.path.unlink()
    assert run.returncode in (0, 1), run.stderr
    return json.loads(truth.read_text(encoding="ascii")), json.loads(run.stdout)


def check_frames(thing, entry):
    wanted = [(compare.clean(name), file, line) for name, file, line, _ in entry["frames"]]
    assert compare.python_frames(compare.unfold(thing["frames"])) == wanted


def check_task(task, entry):
    assert task["coroutine"] == entry["coroutine"]
    assert task["state"] == entry["state"]
    assert task["loop"] and int(task["loop"], 16) == entry["loop"]
    assert task["tid"] == entry["tid"]
    check_frames(task, entry)
    if entry["name"] is not None:
        assert task["name"] == entry["name"]
    elif task["name"] is not None:
        assert re.fullmatch(r"Task-\d+", task["name"])
    if entry["awaits"] is not None and entry["state"] != "running":
        assert task["awaits"] == entry["awaits"]
    if entry["awaits_task"] is not None:
        assert int(task["awaits_task"], 16) == entry["awaits_task"]


@pytest.mark.parametrize("debug", [False, True], ids=["plain", "debug"])
def test_tasks(python, debug, tmp_path):
    """Every task that is not done, with its state, its chain, and what it awaits."""
    options = ("-X", "dev") if debug and "3.6" not in python else ()
    truth, report = made(python, "tasks.py", tmp_path, options=options)
    tasks = {int(t["address"], 16): t for t in report["python"]["tasks"]}
    assert set(tasks) == {entry["address"] for entry in truth["tasks"]}
    for entry in truth["tasks"]:
        check_task(tasks[entry["address"]], entry)


def has_greenlet(python):
    run = subprocess.run([python, "-c", "import greenlet"], capture_output=True, check=False)
    return run.returncode == 0


@pytest.mark.parametrize("exposed", [False, True], ids=["plain", "exposed"])
@pytest.mark.parametrize("path", more_pythons() or sorted(set(PYTHONS.values()), key=str))
def test_greenlets(path, exposed, tmp_path):
    """Every greenlet that does not run, the main ones included, with all of its frames."""
    if not has_greenlet(path):
        pytest.skip(f"greenlet is not installed for {path}")
    more = ["exposed"] if exposed else []
    truth, report = made(path, "greens.py", tmp_path, *more)
    found = {int(g["address"], 16): g for g in report["python"]["greenlets"]}
    wanted = {g["address"]: g for g in truth["greenlets"] if g["state"]}
    assert truth["running"] not in found
    assert set(found) == set(wanted)
    for address, entry in wanted.items():
        check_frames(found[address], entry)
        assert found[address]["state"] == entry["state"]
        assert found[address]["broken"] is None
        assert found[address]["name"] == entry["type"]
        assert found[address]["tid"] == (entry["tid"] or None)
