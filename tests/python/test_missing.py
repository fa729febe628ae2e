# SPDX-License-Identifier: GPL-3.0-or-later
"""Cores of interpreters whose file is stripped, replaced by another build, or gone.

Each process runs from a copy of its interpreter; what happens to the copy afterwards must cost no
Python frame. The truth is what the process wrote about itself.
"""
import pathlib
import shutil
import subprocess
import sys

import pytest

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

import compare  # noqa: E402  (found by the line above)
import fetch  # noqa: E402
import matrix  # noqa: E402
import recipes  # noqa: E402
from recipes import cores  # noqa: E402

CORESCAN = pathlib.Path(recipes.os.environ.get("CORESCAN", "build/bin/corescan"))
PROGRAMS = {"threads", "recursion", "generators", "names", "callback", "subinterpreter-parked"}


def pythons():
    try:
        return recipes.installed() + fetch.interpreters()
    except cores.Unavailable:
        return []


def library_of(python):
    """The shared library that the program runs from, or None."""
    shown = subprocess.run(["readelf", "-d", python.path], capture_output=True, text=True)
    library = pathlib.Path(python.libdir) / f"libpython{python.ldversion}.so.1.0"
    return library if "libpython" in shown.stdout and library.exists() else None


class Copy(recipes.Interpreter):
    """An interpreter of which `victim` is a file of its own; the rest is shared with the original."""

    def __init__(self, python, folder):
        folder = pathlib.Path(folder) / f"copy-{python.name}"
        (folder / "bin").mkdir(parents=True)
        program = folder / "bin" / python.path.resolve().name
        shutil.copy(python.path, program)
        env = {**python.env, "PYTHONHOME": python.prefix}
        library = library_of(python)
        self.victim = program
        if library:
            self.victim = folder / library.name
            shutil.copy(library, self.victim)
            env["LD_LIBRARY_PATH"] = str(folder)
        self.victim.chmod(0o755)
        super().__init__(program, env=env, libdir=python.libdir, includes=python.includes)


def strip(path):
    """Static symbols and debug information; the build id stays."""
    subprocess.run(["strip", "--strip-all", str(path)], check=True)


def replace(path):
    """The same name, another build."""
    source = path.parent / "another.c"
    source.write_text("int another_build;\n", encoding="ascii")
    path.unlink()
    subprocess.run(
        ["gcc", "-shared", "-fPIC", "-Wl,--build-id=sha1", "-o", str(path), str(source)], check=True
    )


def remove(path):
    path.unlink()


def relax(truth, python):
    """What only the interpreter's file can tell."""
    truth = dict(truth)
    if python.version < (3, 10):
        # Before, nothing but names says which native frame is the evaluation loop.
        truth["weave"] = None
    if python.version < (3, 7):
        # Who has the GIL is in a static variable of no structure.
        truth["gil"] = None
    return truth


def check(core, truth, symbols):
    report = matrix.report_of(CORESCAN, core.path)
    outcome = compare.compare(truth, report, symbols)
    assert not outcome.problems, "\n".join(outcome.problems)
    assert outcome.total == outcome.equal > 0
    return report


def codes(report):
    return {d["code"] for d in report["diagnostics"]}


@pytest.mark.parametrize("name", sorted(PROGRAMS))
@pytest.mark.parametrize("python", pythons(), ids=lambda p: p.name)
def test_file(python, name, tmp_path):
    program = next(p for p in recipes.ALL if p.name == name)
    if not python.runs(program):
        pytest.skip(f"{name} is not for {python.name}")
    try:
        cores.need("strip", "gcc", "readelf")
        copy = Copy(python, tmp_path)
        core, truth = recipes.make(copy, program, "kernel", tmp_path)
    except cores.Unavailable as reason:
        pytest.skip(str(reason))
    check(core, truth, copy.symbols)
    strip(copy.victim)
    check(core, truth, False)
    less = relax(truth, copy)
    replace(copy.victim)
    assert "python-file" in codes(check(core, less, False))
    remove(copy.victim)
    assert "python-file" in codes(check(core, less, False))
