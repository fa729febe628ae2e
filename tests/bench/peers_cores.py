# SPDX-License-Identifier: GPL-3.0-or-later
"""The cores that peers.py measures on: a set that it makes, or those that it is given."""
import collections
import json
import os
import pathlib
import re
import subprocess
import sys

from peers_install import debian_python

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path.insert(0, str(ROOT / "tests/python"))

import recipes  # noqa: E402  (found by the line above)
from recipes import cores  # noqa: E402

# executable: the program that left it; python: "3.12", or None where it is no Python; truth: what
# the process wrote; symbols: whether the interpreter's own functions have names.
Core = collections.namedtuple("Core", "name path executable python truth symbols")

# Of 3.11 that of Debian is taken: stripped, and linked without libpython.
PROGRAMS = (("3.8", "threads"), ("3.11", "threads"), ("3.12", "extension"), ("3.13", "threads"))
RIG = ROOT / "tests/rig/rig"
RIG_CACHE = pathlib.Path(os.environ.get("CORESCAN_RIG", ROOT / ".cache/rig"))
RIG_TORCH = ("2.14.1", "1.13.1")
SCENARIO = "watchdog_rethrow"


class Unavailable(Exception):
    """A core cannot be had here; the text says why."""


def minor_of(truth):
    return "{}.{}".format(*truth["version"])


def of_python(python, program, folder, name):
    core, truth = recipes.make(python, program, "kernel", folder)
    path = os.path.realpath(python.path)
    return Core(name, core.path, path, minor_of(truth), truth, python.symbols)


def make_python(minor, name, folder):
    found = [p for p in recipes.installed() if "{}.{}".format(*p.version) == minor and not p.free]
    found.sort(key=lambda p: str(p.path) != "/usr/bin/python3")
    if not found:
        raise Unavailable(f"no Python {minor} here (pyenv has them)")
    program = next(p for p in recipes.ALL if p.name == name)
    stripped = "" if found[0].symbols else " (stripped)"
    title = f"Python {found[0].name}{stripped}, {name}"
    return of_python(found[0], program, folder, title)


def make_torch(folder):
    """CPU PyTorch with the threads of a large machine."""
    python = debian_python()
    if subprocess.run([python, "-c", "import torch"], capture_output=True, check=False).returncode:
        raise Unavailable(f"{python} has no torch (Debian: python3-torch)")
    script = str(HERE / "programs/torch_threads.py")
    # The module that writes the truth is where the tests of Python have it.
    env = {"PYTHONPATH": str(recipes.PROGRAMS)}
    program = recipes.Program("torch", script, (), (), (3, 8), None, env)
    return of_python(recipes.Interpreter(python), program, folder, "CPU PyTorch")


def make_native(folder):
    program = cores.build("throw.cc", folder)
    core = cores.by_kernel([program], cores.fresh(folder, "native"))
    name = "C++ exception that nobody catches"
    return Core(name, core.path, str(program), None, None, True)


def make_rig(torch, folder, corescan):
    """The core of a released CUDA build: NCCL's watchdog thread ends the process."""
    if not RIG.exists():
        raise Unavailable("tests/rig/rig is not there")
    if not any(RIG_CACHE.glob(f"*{torch}*/complete")):
        raise Unavailable(f"torch {torch} is not fetched (tests/rig/rig fetch --torch {torch})")
    kept = folder / f"rig-{torch}"
    build = pathlib.Path(corescan).resolve().parents[1]
    if not (build / "CMakeCache.txt").exists():  # a corescan that was installed
        build = ROOT / "build"
    run = subprocess.run(
        [str(RIG), "run", SCENARIO, "--torch", torch, "--keep", str(kept), "--build", str(build)],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    for file in sorted(kept.rglob("truth.json")):
        found = sorted(p for p in file.parent.glob("core*") if p.is_file())
        if found:
            return of_rig(torch, found[0], json.loads(file.read_text(encoding="ascii")))
    raise Unavailable(f"tests/rig/rig left no core of torch {torch}: {run.stdout[-300:]}")


def of_rig(torch, path, truth):
    executable = os.path.realpath(truth["executable"])
    name = f"rig: torch {torch}, NCCL watchdog"
    return Core(name, path, executable, minor_of(truth), truth, True)


def makers(corescan):
    """(name, function of a folder) of each core of the set."""
    yield "C++", make_native
    for minor, name in PROGRAMS:
        yield f"Python {minor}", lambda folder, m=minor, n=name: make_python(m, n, folder)
    yield "CPU PyTorch", make_torch
    for torch in RIG_TORCH:
        yield f"rig: torch {torch}", lambda folder, t=torch: make_rig(t, folder, corescan)


def given(text):
    """CORE[,EXECUTABLE[,TRUTH]]: the executable may be left out where the truth names it."""
    path, executable, truth = (text.split(",") + ["", ""])[:3]
    if not pathlib.Path(path).is_file():
        raise Unavailable(f"{path}: there is no such core file")
    try:
        truth = json.loads(pathlib.Path(truth).read_text(encoding="ascii")) if truth else None
        python = minor_of(truth) if truth else None
    except (OSError, ValueError, KeyError, IndexError) as why:
        raise Unavailable(f"{path}: its truth cannot be read: {why!r}") from why
    executable = os.path.realpath(executable or (truth or {}).get("executable", ""))
    if not os.path.isfile(executable):
        raise Unavailable(f"{path}: no executable that left it: give CORE,EXECUTABLE[,TRUTH.json]")
    if not python:
        found = re.search(r"python(3\.\d+)", executable)
        python = found[1] if found else None
    return Core(path, pathlib.Path(path), executable, python, truth, True)
