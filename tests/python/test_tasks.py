# SPDX-License-Identifier: GPL-3.0-or-later
"""The asyncio tasks of real processes against what each wrote about itself."""
import os
import pathlib
import re
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

import compare  # noqa: E402  (found by the line above)
import fetch  # noqa: E402
import matrix  # noqa: E402
import recipes  # noqa: E402
from recipes import cores  # noqa: E402

CORESCAN = pathlib.Path(os.environ.get("CORESCAN", "build/bin/corescan"))
WAYS = {
    "plain": (recipes.program("tasks"), "kernel"),
    # Every future has a traceback then, and loops look at what they run.
    "debug": (recipes.program("tasks", options=("-X", "dev")), "kernel"),
    "gcore": (recipes.program("tasks"), "gcore"),
}


def pythons():
    try:
        return recipes.installed() + fetch.interpreters()
    except cores.Unavailable:
        return []


def check_frames(thing, entry):
    wanted = [(compare.clean(name), file, line) for name, file, line, _ in entry["frames"]]
    assert compare.python_frames(compare.unfold(thing["frames"])) == wanted
    assert thing["broken"] is None


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


def check(report, truth):
    tasks = {int(t["address"], 16): t for t in report["python"]["tasks"]}
    assert set(tasks) == {entry["address"] for entry in truth["tasks"]}
    for entry in truth["tasks"]:
        check_task(tasks[entry["address"]], entry)


@pytest.mark.parametrize("way", sorted(WAYS))
@pytest.mark.parametrize("python", pythons() or [None], ids=lambda p: p and p.name)
def test_tasks(python, way, tmp_path):
    """Every task that is not done, with its state, its chain, and what it awaits."""
    if python is None:
        pytest.skip("no Python that can load ctypes")
    program, how = WAYS[way]
    try:
        core, truth = recipes.make(python, program, how, tmp_path)
    except cores.Unavailable as reason:
        pytest.skip(str(reason))
    check(matrix.report_of(CORESCAN, core.path), truth)
    if way == "plain":
        # Without the files of the interpreter and its modules the same must be known.
        nothing = tmp_path / "nothing"
        nothing.mkdir()
        check(matrix.report_of(CORESCAN, core.path, "--sysroot", nothing), truth)
    recipes.forget(core)
