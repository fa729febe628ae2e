# SPDX-License-Identifier: GPL-3.0-or-later
"""Cores of interpreters whose file is stripped, replaced by another build, or gone.

Each process runs from a copy of its interpreter; what happens to the copy afterwards must cost no
Python frame. The truth is what the process wrote about itself.
"""
import os
import pathlib
import re
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

CORESCAN = pathlib.Path(os.environ.get("CORESCAN", "build/bin/corescan"))
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
    """An interpreter of which `victim` is a file of its own; the rest is the original's."""

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
    """What only the interpreter's file can tell, left out."""
    truth = dict(truth, weave=None)
    if python.version < (3, 7):
        # Who has the GIL is in a static variable of no structure.
        truth["gil"] = None
    return truth


def misplaced(truth, report):
    """None, or which native frame stands among the wrong Python frames.

    Without the interpreter's unwind tables native frames are lost, but those of other modules that
    are found ("=qsort" in the weave) must stand where they belong, or a gap say that this is not
    known.
    """
    tokens = compare.Weave(truth["weave"] or ["~"], False).tokens
    if "~" in tokens:
        return None
    patterns = [t[1:] for t in tokens if t[0] == "="]
    (thread,) = [t for t in report["threads"] if t["tid"] == truth["tid"]]
    frames = compare.unfold(thread["frames"])
    gaps = [i for i, frame in enumerate(frames) if frame["kind"] == "gap"]
    at = 0
    for i, frame in enumerate(frames):
        name = frame.get("function") or "?"
        if frame["kind"] == "python":
            while at < len(tokens) and tokens[at][0] in "@=":
                at += 1
            if at == len(tokens) or not compare.is_code_name(name, tokens[at]):
                return f"{name} where {tokens[at : at + 1]} belongs"
            at += 1
        elif i > min(gaps, default=-1) and any(re.search(p, name) for p in patterns):
            here = []
            for token in tokens[at - 1 if at and tokens[at - 1][0] == "=" else at :]:
                if token[0] not in "@=":
                    break
                here.append(token)
            if not any(t[0] == "=" and re.search(t[1:], name) for t in here):
                return f"native {name} where {here} belong"
    return None


def check(state, core, truth, symbols):
    """STATE is what was done to the file."""
    report = matrix.report_of(CORESCAN, core.path)
    outcome = compare.compare(truth, report, symbols)
    assert not outcome.problems, "\n".join([f"file {state}:", *outcome.problems])
    assert outcome.total == outcome.equal > 0
    return report


def check_lacking(state, core, truth, python):
    report = check(state, core, relax(truth, python), False)
    problem = misplaced(truth, report)
    assert not problem, f"file {state}: {problem}"
    assert "python-file" in {d["code"] for d in report["diagnostics"]}


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
    check("intact", core, truth, copy.symbols)
    strip(copy.victim)
    check("stripped", core, truth, False)
    replace(copy.victim)
    check_lacking("replaced", core, truth, copy)
    remove(copy.victim)
    check_lacking("gone", core, truth, copy)
