# SPDX-License-Identifier: GPL-3.0-or-later
"""Brings the tools that peers.py measures: Debian's by apt-get, those of PyPI to .cache/peers.

What cannot be had is said, with the reason, and the rest is brought all the same.
"""
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
CACHE = HERE.parents[1] / ".cache/peers"
LOCK = HERE / "peers.lock"
DEBIAN = {"gdb": "gdb", "eu-stack": "elfutils", "lldb": "lldb"}
HELPERS = "usr/share/gdb/auto-load/usr/bin"


def say(text):
    print(f"peers.py: {text}", file=sys.stderr, flush=True)


def failure(command, **options):
    """None, or the last that a command said before it failed."""
    try:
        run = subprocess.run(
            [str(c) for c in command],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            check=False,
            **options,
        )
    except OSError as error:
        return str(error)
    if not run.returncode:
        return None
    return " ".join(run.stdout.split())[-300:] or f"it ended with {run.returncode}"


def debian_python():
    return "/usr/bin/python3" if os.path.exists("/usr/bin/python3") else sys.executable


def which(program):
    path = os.pathsep.join((str(CACHE / "bin"), os.environ.get("PATH", os.defpath)))
    return shutil.which(program, path=path)


def helper_of(program):
    """CPython's script for gdb that goes with an interpreter: beside it, or in Debian's place."""
    name = f"{os.path.basename(program)}-gdb.py"
    folders = (os.path.dirname(program), pathlib.Path("/", HELPERS), CACHE / "debug" / HELPERS)
    found = (pathlib.Path(folder, name) for folder in folders)
    return next((str(path) for path in found if path.is_file()), None)


def install_packages():
    missing = [package for program, package in DEBIAN.items() if not which(program)]
    if not missing:
        return
    command = ["apt-get", "-y", "-q", "--no-install-recommends", "install", *missing]
    if os.geteuid():
        say(f"left out, as this needs root: {' '.join(command)}")
        return
    env = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    why = failure(command, env=env)
    if why and not failure(["apt-get", "-q", "update"], env=env):
        why = failure(command, env=env)
    if why:
        say(f"left out: {' '.join(missing)}: apt-get: {why}")


def locked():
    """{name: what pip reads} of peers.lock."""
    text = re.sub(r"^#.*\n", "", LOCK.read_text(encoding="ascii"), flags=re.M)
    text = re.sub(r"\n +--", " --", text)
    parts = re.findall(r"^([\w.-]+)(==.*)$", text, re.M)
    return {name: name + rest for name, rest in parts}


def install_from_pypi():
    """Into a virtual environment of its own; one that has no build for this machine fails alone."""
    pip = CACHE / "bin/pip"
    why = None if pip.exists() else failure([debian_python(), "-m", "venv", CACHE])
    if why:
        names = ", ".join(locked())
        say(f"left out: {names}: no virtual environment (Debian: python3-venv): {why}")
        return
    options = ("-q", "--disable-pip-version-check", "--no-deps", "--only-binary", ":all:")
    for name, requirement in locked().items():
        with tempfile.NamedTemporaryFile("w", suffix=".txt") as file:
            file.write(requirement)
            file.flush()
            why = failure([pip, "install", *options, "--require-hashes", "-r", file.name])
        if why:
            say(f"left out: {name}: {why}")


def install_debug_information():
    """That of Debian's interpreter, of its very build, beside the system: gdb's py-bt wants it."""
    path = os.path.realpath(debian_python())
    name = os.path.basename(path)
    if not shutil.which("dpkg-query") or helper_of(path):
        return
    asked = ["dpkg-query", "-W", "-f", "${Version}", name]
    version = subprocess.run(asked, capture_output=True, text=True, check=False).stdout
    package = f"{name}-dbg={version}"
    with tempfile.TemporaryDirectory() as folder:
        why = failure(["apt-get", "-q", "download", package], cwd=folder)
        for file in pathlib.Path(folder).glob("*.deb"):
            why = failure(["dpkg-deb", "-x", file, CACHE / "debug"])
    if why:
        say(f"left out: gdb's py-bt on cores of {path}: no {package}: {why}")


def install():
    CACHE.mkdir(parents=True, exist_ok=True)
    install_packages()
    install_from_pypi()
    install_debug_information()
