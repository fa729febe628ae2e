# SPDX-License-Identifier: GPL-3.0-or-later
"""--locals against repr(): every variable of every frame, with the files and without."""
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
import recipes  # noqa: E402

PROGRAM = HERE / "programs/values.py"
CORESCAN = os.environ["CORESCAN"]
LONGEST = 1024  # CS_MAX_PY_REPR
# Only the file has the name of a method of a builtin type.
NAMELESS = {"f3": "<builtin_function_or_method object at 0x"}


@contextlib.contextmanager
def skipping():
    try:
        yield
    except cores.Unavailable as reason:
        pytest.skip(str(reason))


def die(python, folder, *arguments, env=None):
    """The program's truth and its core."""
    truth = folder / "truth.json"
    place = cores.fresh(folder, "core")
    environment = cores.environment(PYTHONHASHSEED="0", **(env or {}))
    with skipping():
        core = cores.by_kernel([python, PROGRAM, truth, *arguments], place, env=environment)
    return json.loads(truth.read_text(encoding="ascii")), core.path


def frames(core, *options):
    """The variables of each Python frame, by the plain name of its function."""
    run = subprocess.run(
        [CORESCAN, "--json", "--all", "--locals", *options, str(core)],
        capture_output=True,
        env={**os.environ, "DEBUGINFOD_URLS": ""},
        check=False,
    )
    assert run.returncode in (0, 1), run.stderr
    found = {}
    for thread in json.loads(run.stdout)["threads"]:
        for frame in thread["frames"]:
            if frame["kind"] == "python":
                found[frame["function"].rsplit(".", 1)[-1]] = frame.get("locals") or []
    return found


def fits(wanted, got, name, nameless):
    if wanted is None or got is None:
        return wanted == got
    if len(got) > LONGEST:
        return False
    if name in nameless and got.startswith(nameless[name]):
        return True
    if got == wanted:
        return True
    shortened = "..." in got or got.startswith("<int of about")
    return shortened and got.startswith(wanted if len(wanted) < 30 else wanted[:30])


def compare(truth, found, nameless):
    wrong = []
    for function, variables in truth.items():
        got = {v["name"]: v for v in found[function]}
        assert sorted(got) == sorted(name for name, *_ in variables), function
        for name, kind, text in variables:
            if got[name]["kind"] != kind or not fits(text, got[name]["value"], name, nameless):
                wrong.append((function, name, kind, text, got[name]))
    assert not wrong


PYTHONS = [*recipes.installed(), *fetch.interpreters()]


@pytest.fixture(scope="module", params=PYTHONS, ids=lambda python: python.name)
def made(request, tmp_path_factory):
    python = request.param
    return die(python.path, tmp_path_factory.mktemp("values"), env=python.env)


def test_every_value_is_what_repr_says(made):
    truth, core = made
    found = frames(core)
    compare(truth, found, {})
    assert not found["<module>"] and not found["Body"]


def test_every_value_without_any_file(made, tmp_path):
    truth, core = made
    compare(truth, frames(core, "--sysroot", str(tmp_path)), NAMELESS)


def test_tensors_and_arrays(tmp_path):
    probe = subprocess.run(
        ["/usr/bin/python3", "-c", "import torch, numpy"], capture_output=True, check=False
    )
    if probe.returncode:
        pytest.skip("/usr/bin/python3 has no torch (Debian: python3-torch)")
    truth, core = die("/usr/bin/python3", tmp_path, "tensors")
    compare(truth, frames(core), {})
    compare(truth, frames(core, "--sysroot", str(tmp_path)), {})
