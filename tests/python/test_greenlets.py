# SPDX-License-Identifier: GPL-3.0-or-later
"""Greenlets that do not run, of real processes, against what each wrote about itself.

Several releases of the greenlet package come from PyPI, into .cache; wheels, nothing is built.
"""
import os
import pathlib
import subprocess
import sys
import venv

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

import fetch  # noqa: E402  (found by the line above)
import matrix  # noqa: E402
import recipes  # noqa: E402
from recipes import cores  # noqa: E402
from test_tasks import check_frames, pythons  # noqa: E402

CORESCAN = pathlib.Path(os.environ.get("CORESCAN", "build/bin/corescan"))
CACHE = fetch.ROOT / ".cache/greenlets"
NEWEST = "newest"
# Each kept its state in a way of its own: in the object, behind a pointer, with a pointer back.
OLDER = {
    (3, 8): ["0.4.17", "1.1.3.post0"],
    (3, 9): ["2.0.2"],
    (3, 10): ["1.1.3.post0"],
    (3, 11): ["2.0.2"],
    (3, 12): ["3.0.3"],
    (3, 13): ["3.1.1"],
}
PLATFORMS = "2_28 2_24 2_17 2014 2010 1".split()
WAYS = {
    "plain": {},
    # Someone asked each for its frames: the package has changed their links.
    "exposed": {},
    "malloc": {"PYTHONMALLOC": "malloc"},
    "debug": {"PYTHONMALLOC": "debug"},
}


def cases():
    """Interpreter, release of greenlet, way."""
    found = []
    for python in pythons():
        if python.free:
            continue  # the package turns the GIL on
        short = python.version[:2]
        for release in [NEWEST, *OLDER.get(short, [])]:
            found += [(python, release, w) for w in WAYS if release == NEWEST or w == "plain"]
    return found


def pip():
    """A pip that can fetch wheels for any version."""
    program = CACHE / "pip/bin/python"
    if not program.exists():
        venv.create(CACHE / "pip", with_pip=True)
    return [str(program), "-m", "pip", "--disable-pip-version-check"]


def package(python, release):
    """The folder with greenlet for PYTHON."""
    major, minor = python.version[:2]
    folder = CACHE / f"{major}.{minor}-{release}"
    if (folder / "greenlet").is_dir() or list(folder.glob("greenlet*.so")):
        return folder
    abi = f"cp{major}{minor}" + ("m" if (major, minor) < (3, 8) else "")
    wanted = "greenlet" if release == NEWEST else f"greenlet=={release}"
    command = [*pip(), "install", "-q", "--no-deps", "--only-binary=:all:", f"--target={folder}"]
    command += [f"--python-version={major}.{minor}", "--implementation=cp", f"--abi={abi}"]
    command += [f"--platform=manylinux{p if '_' not in p else '_' + p}_x86_64" for p in PLATFORMS]
    run = subprocess.run([*command, wanted], capture_output=True, text=True, check=False)
    if run.returncode:
        raise cores.Unavailable(f"{wanted} for {python.name}: {run.stderr.strip()[-300:]}")
    return folder


class With(recipes.Interpreter):
    """PYTHON with a folder on its path and more in its environment."""

    def __init__(self, python, folder, env):
        self.__dict__.update(python.__dict__)
        self.env = {**python.env, **env, "PYTHONPATH": str(folder)}


@pytest.mark.parametrize(
    "case", cases() or [None], ids=lambda c: c and "-".join([c[0].name, *c[1:]])
)
def test_greenlets(case, tmp_path):
    """All but the running ones, the main greenlets included, with all of their frames."""
    if case is None:
        pytest.skip("no Python that can load ctypes")
    python, release, way = case
    try:
        cores.need_native()
        python = With(python, package(python, release), WAYS[way])
        core, truth = recipes.make(python, recipes.program("greens", way), "kernel", tmp_path)
    except cores.Unavailable as reason:
        pytest.skip(str(reason))
    report = matrix.report_of(CORESCAN, core.path)
    recipes.forget(core)
    found = {int(g["address"], 16): g for g in report["python"]["greenlets"]}
    wanted = {g["address"]: g for g in truth["greenlets"] if g["state"]}
    assert truth["running"] not in found
    assert set(found) == set(wanted)
    for address, entry in wanted.items():
        check_frames(found[address], entry)
        assert found[address]["state"] == entry["state"]
        assert found[address]["name"] == entry["type"]
        assert found[address]["tid"] == (entry["tid"] or None)
