# SPDX-License-Identifier: GPL-3.0-or-later
"""Python frames of arm64: Debian's CPython under qemu, against its own word."""
import json
import os
import pathlib
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

CORESCAN = pathlib.Path(os.environ.get("CORESCAN", matrix.ROOT / "build/bin/corescan"))
SUITES = ("bookworm", "trixie")
PACKAGES = {"bookworm": "python3.11-minimal", "trixie": "python3.13-minimal"}
PROGRAMS = ("threads", "sort", "handling", "names")


def tree_of(suite):
    """All that the interpreter needs, unpacked; what is in the cache is not fetched again."""
    folder = fetch.CACHE.resolve() / f"arm64-{suite}"
    tree = folder / "root"
    if not (folder / ".complete").is_file():
        folder.mkdir(parents=True, exist_ok=True)
        apt = fetch.Apt(folder / "apt", "arm64", suite)
        apt.update()
        library = PACKAGES[suite].replace("python", "libpython").replace("minimal", "stdlib")
        for package in apt.needed([PACKAGES[suite], library]):
            apt.get("download", package, cwd=folder / "apt/files")
        for path in (folder / "apt/files").glob("*.deb"):
            fetch.run("dpkg-deb", "-x", path, tree)
        if not (tree / "lib").exists():  # base-files would bring the link
            (tree / "lib").symlink_to("usr/lib")
        (folder / ".complete").touch()
    return tree


@pytest.fixture(scope="module", params=SUITES)
def python(request):
    try:
        cores.need("qemu-aarch64")
        tree = tree_of(request.param)
    except cores.Unavailable as reason:
        pytest.skip(str(reason))
    name = PACKAGES[request.param].replace("-minimal", "")
    return tree, tree / "usr/bin" / name


def core_of(tree, path, program, folder):
    (prog,) = [p for p in recipes.ALL if p.name == program]
    truth = folder / "truth" / "truth.json"
    truth.parent.mkdir()
    lib = str(recipes.PROGRAMS)
    env = cores.environment(TRUTH_FILE=str(truth), TRUTH_END="abort", TRUTH_LIB=lib)
    before = cores.files_in(folder)
    command = ["qemu-aarch64", "-L", tree, path, HERE / "programs" / prog.script, *prog.arguments]
    process = cores.start(command, folder, cores.DEFAULT_FILTER, env, stdout=subprocess.DEVNULL)
    try:
        process.wait(300)
    finally:
        process.kill()
    made = [p for p in cores.files_in(folder) - before if p.name.startswith("qemu_")]
    assert len(made) == 1, f"{len(made)} cores of qemu"
    cores.MADE["aarch64"] += 1
    return made[0], recipes.read(truth)


@pytest.mark.parametrize("program", PROGRAMS)
def test_frames(python, program, tmp_path):
    tree, path = python
    core, truth = core_of(tree, path, program, tmp_path)
    done = subprocess.run(
        [str(CORESCAN), "--json", "--all", "--exe", str(path), "--sysroot", str(tree), str(core)],
        capture_output=True,
        timeout=60,
        check=False,
    )
    assert done.returncode in (0, 1), done.stderr.decode()[-500:]
    outcome = compare.compare(truth, json.loads(done.stdout), symbols=False)
    assert not outcome.problems
    assert outcome.total, "the program wrote nothing"


@pytest.mark.parametrize("mode", ["own_message", "no_thread", "restored", "none_freed"])
def test_fatal_error(python, mode, tmp_path):
    """What Py_FatalError() said, against what it wrote."""
    tree, path = python
    if mode == "none_freed" and "3.13" in path.name:
        return  # None is immortal
    command = ["qemu-aarch64", "-L", tree, path, cores.PROGRAMS / "fatal.py", mode]
    before = cores.files_in(tmp_path)
    shell = ["sh", "-c", 'exec "$0" "$@" 2>written', *command]
    process = cores.start(shell, tmp_path, cores.DEFAULT_FILTER, stdout=subprocess.DEVNULL)
    try:
        process.wait(300)
    finally:
        process.kill()
    (core,) = [p for p in cores.files_in(tmp_path) - before if p.name.startswith("qemu_")]
    cores.MADE["aarch64"] += 1
    done = subprocess.run(
        [str(CORESCAN), "--json", "--exe", str(path), "--sysroot", str(tree), str(core)],
        capture_output=True,
        check=False,
    )
    said = json.loads(done.stdout)["crash"]
    written = (tmp_path / "written").read_text(encoding="utf-8")
    assert written.startswith(said["message"] + "\n")
    assert said["message_source"] == "Py_FatalError"
