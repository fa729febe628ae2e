# SPDX-License-Identifier: GPL-3.0-or-later
"""Recipes of real cores: programs of our own, built, run, and dumped by the kernel, gdb or qemu.

No core is kept in the tree: each is made where and when it is needed. What a recipe needs and does
not find raises Unavailable with the reason, and the caller skips.
"""
import collections
import contextlib
import os
import pathlib
import platform
import re
import resource
import shutil
import signal
import subprocess
import sys
import time

PROGRAMS = pathlib.Path(__file__).resolve().parent / "programs"
SYSROOT_AARCH64 = pathlib.Path("/usr/aarch64-linux-gnu")
FULL = 0x7F
DEFAULT_FILTER = 0x33

Core = collections.namedtuple("Core", "path executable pid folder")

# How many cores of each kind were made: a run in which one kind is missing proves less than it
# seems to.
MADE = collections.Counter()


class Unavailable(Exception):
    """The machine lacks what a recipe needs; the text says what."""


def need(*tools):
    for tool in tools:
        if not shutil.which(tool):
            raise Unavailable(f"{tool} is not installed")


def need_native():
    if platform.machine() != "x86_64":
        raise Unavailable(f"these recipes are for x86_64 hosts, not {platform.machine()}")


def need_kernel_cores():
    """The kernel must write cores as files into the working directory of the process."""
    need_native()
    pattern = pathlib.Path("/proc/sys/kernel/core_pattern").read_text().strip()
    if not pattern:
        if pathlib.Path("/proc/sys/kernel/core_uses_pid").read_text().strip() != "1":
            raise Unavailable("core_pattern is empty: the kernel writes no cores")
    elif pattern[0] in "|@/":
        raise Unavailable(f"core_pattern {pattern!r} does not name a file in the working directory")
    if resource.getrlimit(resource.RLIMIT_CORE)[1] != resource.RLIM_INFINITY:
        raise Unavailable("the hard limit of core files is not unlimited (ulimit -Hc)")


def environment(**extra):
    """A short one, so that no core of a test holds what the user has in his."""
    kept = {k: os.environ[k] for k in ("PATH", "HOME", "TMPDIR") if k in os.environ}
    return {**kept, "LANG": "C.UTF-8", "PYTHONDONTWRITEBYTECODE": "1", "RANK": "3", **extra}


def build(source, folder, *flags, name=None, compiler=None):
    """Compiles one of programs/ into FOLDER; the flags come after the usual ones and win."""
    source = PROGRAMS / source
    if compiler is None:
        compiler = "g++" if source.suffix == ".cc" else "gcc"
    need(compiler)
    target = pathlib.Path(folder) / (name or source.stem)
    command = [compiler, "-O2", "-g", "-D_GNU_SOURCE", "-w", "-pthread", "-o", str(target)]
    run = subprocess.run(
        [*command, str(source), *flags, "-ldl"],
        stderr=subprocess.PIPE,
        text=True,
        check=False,
    )
    if run.returncode:
        raise AssertionError(f"{source.name} does not compile: {run.stderr}")
    return target


def build_library(source, folder, *flags, name):
    return build(source, folder, "-shared", "-fPIC", *flags, name=name)


def allow_core(dump_filter):
    """For preexec_fn; the filter and the limit are inherited through exec."""

    def prepare():
        resource.setrlimit(resource.RLIMIT_CORE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
        with open("/proc/self/coredump_filter", "w", encoding="ascii") as file:
            file.write(hex(dump_filter))

    return prepare


def files_in(folder):
    return {p for p in pathlib.Path(folder).iterdir() if p.is_file()}


def start(command, folder, dump_filter, env=None, **options):
    return subprocess.Popen(
        [str(c) for c in command],
        cwd=folder,
        env=env or environment(),
        preexec_fn=allow_core(dump_filter),
        stdin=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        **options,
    )


def new_core(folder, before, command, pid, status):
    """The core that the kernel has written."""
    made = files_in(folder) - before
    cores = [p for p in made if "core" in p.name] or list(made)
    if len(cores) != 1:
        raise Unavailable(f"{command[0]} ended with {status} and left {len(cores)} core files")
    MADE["kernel-core"] += 1
    return Core(cores[0], pathlib.Path(command[0]), pid, pathlib.Path(folder))


def need_libc_names():
    """The names of the C library's own functions, which its stripped file has not."""
    need("readelf")
    for libc in pathlib.Path("/lib").glob("*/libc.so.6"):
        notes = subprocess.run(["readelf", "-n", libc], capture_output=True, text=True).stdout
        found = re.search(r"Build ID: (..)(\w+)", notes)
        if found and pathlib.Path(f"/usr/lib/debug/.build-id/{found[1]}/{found[2]}.debug").exists():
            return
    raise Unavailable("the C library has no debug file here (Debian: libc6-dbg)")


def by_kernel(command, folder, dump_filter=DEFAULT_FILTER, env=None, limit=60):
    """Runs COMMAND, which kills itself, in FOLDER, which should be empty."""
    need_kernel_cores()
    before = files_in(folder)
    process = start(command, folder, dump_filter, env, stdout=subprocess.DEVNULL)
    try:
        status = process.wait(limit)
    finally:
        process.kill()
    return new_core(folder, before, command, process.pid, status)


def until_ready(process):
    if b"ready" not in process.stdout.readline():
        process.kill()
        process.wait()
        raise AssertionError("the program ended before it was ready")
    time.sleep(0.3)


def by_signal(command, folder, number=signal.SIGABRT, dump_filter=DEFAULT_FILTER, env=None):
    """Runs COMMAND until it prints "ready", and kills it from outside, as `kill -ABRT` does."""
    need_kernel_cores()
    before = files_in(folder)
    process = start(command, folder, dump_filter, env, stdout=subprocess.PIPE)
    with process:
        until_ready(process)
        process.send_signal(number)
        status = process.wait(60)
    return new_core(folder, before, command, process.pid, status)


def run_gdb(*arguments, limit=120, cwd=None, env=None):
    need("gdb")
    return subprocess.run(
        ["gdb", "-nx", "-batch", "-iex", "set debuginfod enabled off", *map(str, arguments)],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        timeout=limit,
        cwd=cwd,
        env=env or environment(),
        check=False,
    )


def by_gcore(command, folder, env=None, pid_of=lambda process: process.pid):
    """Runs COMMAND until it prints "ready"; gdb attaches, dumps it, and lets it go.

    PID_OF says which process to dump, where it is not the one that was started.
    """
    need_native()
    need("gdb")
    path = pathlib.Path(folder) / "gcore.core"
    process = start(
        command, folder, DEFAULT_FILTER, env, stdout=subprocess.PIPE, start_new_session=True
    )
    with process:
        try:
            until_ready(process)
            pid = pid_of(process)
            run = run_gdb("-p", pid, "-ex", f'gcore "{path}"', cwd=folder)
            if not path.exists():
                run = run_gdb("-p", pid, "-ex", f"gcore {path}", cwd=folder)
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)  # those that it started, too
    if not path.is_file() or not path.stat().st_size:
        raise Unavailable(f"gcore: {run.stdout.strip().splitlines()[-1:]}")
    # That of the vsyscall page fails everywhere.
    failed = re.findall(r"Memory read failed for corefile section, \d+ bytes at (\w+)", run.stdout)
    if set(failed) - {"0xffffffffff600000"}:
        raise Unavailable(f"gcore wrote zeroes instead of memory at {failed[0]}")
    MADE["gcore"] += 1
    return Core(path, pathlib.Path(command[0]), pid, pathlib.Path(folder))


def by_gdb_after_crash(command, folder, env=None):
    """Lets COMMAND crash under gdb, and has gdb write the core of the crashed process."""
    need_native()
    path = pathlib.Path(folder) / "generated.core"
    run = run_gdb(
        *("-ex", "set startup-with-shell off", "-ex", "run"),
        *("-ex", f"generate-core-file {path}", "-ex", "kill", "--args", *command),
        cwd=folder,
        env=env,
    )
    if not path.is_file():
        raise Unavailable(f"generate-core-file: {run.stdout.strip().splitlines()[-1:]}")
    MADE["gdb"] += 1
    return Core(path, pathlib.Path(command[0]), None, pathlib.Path(folder))


PYTHON_THREADS = """
import ctypes, sys, threading, time
def sleeper(depth):
    if depth:
        return sleeper(depth - 1) + 1
    time.sleep(100000)
def locked(lock):
    with lock:
        pass
lock = threading.Lock()
lock.acquire()
for i in range(3):
    threading.Thread(target=sleeper, args=(i,), daemon=True).start()
threading.Thread(target=locked, args=(lock,), daemon=True).start()
threading.Thread(target=threading.Event().wait, daemon=True).start()
def crash(values):
    return sorted(values, key=lambda v: ctypes.string_at(0))
time.sleep(0.3)
if len(sys.argv) > 1:
    print("ready", flush=True)
    time.sleep(100000)
crash([3, 1, 2])
"""


def pythons():
    """Each interpreter of Python 3 on this machine that has ctypes, as (version, path)."""
    found = {}
    roots = [pathlib.Path(os.environ.get("PYENV_ROOT", pathlib.Path.home() / ".pyenv"))]
    paths = [pathlib.Path("/usr/bin/python3")]
    for root in roots:
        paths += sorted(root.glob("versions/3*/bin/python3"))
    for path in paths:
        if not path.exists():
            continue
        run = subprocess.run(
            [str(path), "-c", "import sys, ctypes; print('%d.%d.%d' % sys.version_info[:3])"],
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            env=environment(),
            check=False,
        )
        if run.returncode == 0:
            found.setdefault(run.stdout.strip(), path)
    return sorted(found.items(), key=lambda item: [int(n) for n in item[0].split(".")])


def of_python(python, folder, dump_filter=DEFAULT_FILTER):
    """A core of PYTHON with six threads, one of which read address 0 in a callback of sorted()."""
    return by_kernel([python, "-c", PYTHON_THREADS], folder, dump_filter)


TORCH = """
import os, torch
torch.set_num_threads(96)
x = torch.randn(2048, 2048)
x @ x
os.abort()
"""


def of_torch(folder, python="/usr/bin/python3"):
    """A core of CPU PyTorch (Debian: python3-torch) with its OpenMP threads."""
    probe = subprocess.run([python, "-c", "import torch"], capture_output=True, check=False)
    if probe.returncode:
        raise Unavailable(f"{python} has no torch (Debian: python3-torch)")
    return by_kernel([python, "-c", TORCH], folder)


def need_aarch64():
    need("aarch64-linux-gnu-gcc", "qemu-aarch64")
    if not SYSROOT_AARCH64.is_dir():
        raise Unavailable(f"{SYSROOT_AARCH64} is not there")


def build_aarch64(source, folder, *flags, name=None):
    need_aarch64()
    return build(source, folder, *flags, name=name, compiler="aarch64-linux-gnu-gcc")


def by_qemu(command, folder, limit=60):
    """Runs an aarch64 program under user-mode emulation, which writes a core of its own making."""
    need_aarch64()
    before = files_in(folder)
    process = start(
        ["qemu-aarch64", "-L", SYSROOT_AARCH64, *command],
        folder,
        DEFAULT_FILTER,
        stdout=subprocess.DEVNULL,
    )
    try:
        status = process.wait(limit)
    finally:
        process.kill()
    made = [p for p in files_in(folder) - before if p.name.startswith("qemu_")]
    if len(made) != 1:
        raise Unavailable(
            f"qemu-aarch64 ended with {status} and left {len(made)} qemu_*.core files"
        )
    MADE["aarch64"] += 1
    return Core(made[0], pathlib.Path(command[0]), process.pid, pathlib.Path(folder))


def fresh(parent, name):
    """An empty folder below PARENT for one process and its core."""
    folder = pathlib.Path(parent) / name
    folder.mkdir(parents=True)
    return folder


if sys.version_info < (3, 8):
    raise RuntimeError("these recipes need Python 3.8 or later")
