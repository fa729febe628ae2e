# SPDX-License-Identifier: GPL-3.0-or-later
"""The program under test, and real cores for it."""
import os
import pathlib
import resource
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]

# Reads address 0: the interpreter dies of SIGSEGV in C code that Python called.
CRASH = "import ctypes; ctypes.string_at(0)"


def find_program():
    path = pathlib.Path(os.environ.get("CORESCAN", ROOT / "build/bin/corescan"))
    return path.resolve()


def environment(extra):
    """Ours, but for the limit of core files that AddressSanitizer would set in a build with it."""
    asan = ":".join(filter(None, [os.environ.get("ASAN_OPTIONS"), "disable_coredump=0"]))
    return {**os.environ, "TERM": "dumb", "ASAN_OPTIONS": asan, **(extra or {})}


class Program:
    """Runs corescan and keeps what it wrote."""

    def __init__(self, path):
        self.path = path

    def __call__(self, *arguments, timeout=60, env=None, **options):
        options.setdefault("stdin", subprocess.DEVNULL)
        options.setdefault("stdout", subprocess.PIPE)
        return subprocess.run(
            [str(self.path), *map(str, arguments)],
            stderr=subprocess.PIPE,
            text=True,
            timeout=timeout,
            env=environment(env),
            check=False,
            **options,
        )


@pytest.fixture(scope="session")
def corescan():
    path = find_program()
    if not path.is_file():
        pytest.skip(f"{path} is not built; set CORESCAN to the program")
    return Program(path)


def allow_cores():
    hard = resource.getrlimit(resource.RLIMIT_CORE)[1]
    resource.setrlimit(resource.RLIMIT_CORE, (hard, hard))


def core_pattern():
    return pathlib.Path("/proc/sys/kernel/core_pattern").read_text().strip()


@pytest.fixture(scope="session")
def cores_land_here():
    """Skips where the kernel does not write cores into the working directory of the process."""
    if core_pattern()[:1] in ("|", "@", "/", ""):
        pytest.skip(
            f"core_pattern {core_pattern()!r} does not name a file in the working directory"
        )
    if resource.getrlimit(resource.RLIMIT_CORE)[1] == 0:
        pytest.skip("the hard limit of core files is 0")


@pytest.fixture(scope="session")
def python_core(tmp_path_factory, cores_land_here):
    """A core that the kernel wrote of a Python that read address 0."""
    folder = tmp_path_factory.mktemp("python-core")
    python = os.environ.get("CORESCAN_TEST_PYTHON", "/usr/bin/python3")
    run = subprocess.run(
        [python, "-c", CRASH],
        cwd=folder,
        env={**os.environ, "RANK": "6", "WORLD_SIZE": "64"},
        preexec_fn=allow_cores,
        check=False,
    )
    cores = list(folder.iterdir())
    if run.returncode != -11 or len(cores) != 1:
        pytest.skip(f"no core: {python} ended with {run.returncode}, {len(cores)} files")
    return cores[0]


if sys.version_info < (3, 8):
    raise RuntimeError("these tests need Python 3.8 or later")
