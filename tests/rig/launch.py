# SPDX-License-Identifier: GPL-3.0-or-later
"""Runs the ranks of a scenario and takes their cores.

Each rank is a process of the target's own Python with the shim preloaded. What it leaves lies in a
folder of its own: stderr, stdout, and for each process that uses inside.py a folder PID with the
core and the process's own word.
"""
import collections
import ctypes
import os
import pathlib
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time

import lock
import scenario as scenarios
from fetch import ROOT, Unavailable, say
from lock import HERE

sys.path.append(str(ROOT / "tests/cores"))

import cores  # noqa: E402  (found by the line above)

DRIVER = "libcuda.so.550.54.14"
LIBRARIES = (DRIVER, "librig_cudart.so", "librig_nccl.so")
LIBC = ctypes.CDLL(None)
PR_SET_PDEATHSIG = 1
PROGRAMS = ROOT / "tests/python/programs"

# The exit status of a program that the machine does not let do its part: inside.lacks().
LACKS = 77

Played = collections.namedtuple("Played", "rank pid status folder core truth stderr seconds")


class Died(Exception):
    """The program did not do what it was started for; the text says what it did."""


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def environment(target, scenario, shim, kind, folder, rank, port, temporary):
    """A short one: nothing of the user's own goes into a core."""
    end = scenario.end or ("abort" if kind == "kernel" else "wait")
    # Where the flight recorder is written to; the newer ones warn of the old name.
    old = lock.number(target.torch) < (2, 8)
    dumps = "TORCH_NCCL_DEBUG_INFO_TEMP_FILE" if old else "TORCH_FR_DUMP_TEMP_FILE"
    paths = [HERE, PROGRAMS, target.folder / "site"]
    return {
        "PATH": os.environ.get("PATH", os.defpath),
        "HOME": str(temporary),
        "TMPDIR": str(temporary),
        "LANG": "C.UTF-8",
        "LD_PRELOAD": " ".join(str(shim / name) for name in LIBRARIES),
        "LD_LIBRARY_PATH": f"{target.folder / 'stubs'}:{shim}",
        "PYTHONPATH": ":".join(map(str, paths)),
        # Compiled once for all runs, and not beside what was unpacked: torch imports 2000 files.
        "PYTHONPYCACHEPREFIX": str(target.folder / "pyc"),
        "PYTHONNOUSERSITE": "1",
        "RIG_RULES": "\n".join(scenario.rules),
        "RIG_CUDA_VERSION": target.cuda,
        "RIG_NCCL_VERSION": target.nccl,
        "RIG_DIR": str(folder),
        "TRUTH_END": end,
        "RANK": str(rank),
        "LOCAL_RANK": str(rank),
        "WORLD_SIZE": str(scenario.ranks),
        "LOCAL_WORLD_SIZE": str(scenario.ranks),
        "MASTER_ADDR": "127.0.0.1",
        "MASTER_PORT": str(port),
        dumps: f"{temporary}/nccl_trace_rank_",
        **scenario.env,
    }


def prepare():
    """In the child before it becomes the program: a core without limit, and no survivors."""
    LIBC.prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    cores.allow_core(cores.DEFAULT_FILTER)()


def shown(text, lines=15):
    """The end of what a process printed, indented."""
    kept = text.rstrip().splitlines()[-lines:]
    return "".join(f"\n    | {line[:300]}" for line in kept) or " nothing"


RUNNING = set()


def end_all():
    """Ends every rank of every job: those of other threads, too."""
    for rank in list(RUNNING):
        rank.end()


class Rank:
    """One process of the job and those that it starts."""

    def __init__(self, number, folder, command, env):
        self.number = number
        self.folder = folder
        self.begin = time.monotonic()
        self.errors = open(folder / "stderr", "wb")
        self.process = subprocess.Popen(
            [str(c) for c in command],
            cwd=folder,
            env=env,
            stdin=subprocess.DEVNULL,
            stdout=open(folder / "stdout", "wb"),
            stderr=self.errors,
            preexec_fn=prepare,
            start_new_session=True,
        )
        self.pid = self.process.pid
        self.seconds = None
        RUNNING.add(self)

    def stderr(self):
        return (self.folder / "stderr").read_text(encoding="utf-8", errors="replace")

    def ended(self):
        if self.process.poll() is not None and self.seconds is None:
            self.seconds = time.monotonic() - self.begin
        return self.process.returncode is not None

    def how(self):
        """In words, what became of it."""
        code = self.process.poll()
        if code is None:
            return "is still running"
        if code < 0:
            return f"died of {signal.Signals(-code).name}"
        return f"ended with exit status {code}"

    def places(self):
        """{pid: folder} of all its processes that have been heard of."""
        found = [p for p in self.folder.iterdir() if p.name.isdigit() and p.is_dir()]
        return {int(p.name): p for p in found}

    def subject(self, of):
        """(pid, folder) of the process whose core is wanted; None: not heard of yet."""
        found = self.places()
        if of == "self":
            return (self.pid, found[self.pid]) if self.pid in found else None
        marks = ("truth.json", "fault.txt", "core")
        children = [
            (pid, place)
            for pid, place in sorted(found.items())
            if pid != self.pid and any((place / m).exists() for m in marks)
        ]
        with_core = [c for c in children if core_in(c[1])]
        return next(iter(with_core or children), None)

    def end(self):
        """Ends it and all that it started: they are one session."""
        try:
            os.killpg(self.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        self.process.wait()
        self.ended()
        self.errors.close()
        RUNNING.discard(self)


def core_in(folder):
    found = sorted(p for p in folder.glob("core*") if p.stat().st_size)
    return found[0] if found else None


def wait_for(condition, limit, what, ranks, early=True):
    """Died if it is not true in time; with EARLY also as soon as a rank has ended before it."""
    deadline = time.monotonic() + limit
    while not condition():
        gone = [r for r in ranks if r.ended()]
        if early and gone and not condition():
            rank = gone[0]
            raise Died(
                f"rank {rank.number} {rank.how()} before {what}; its stderr ends:"
                f"{shown(rank.stderr())}"
            )
        if time.monotonic() > deadline:
            texts = [f"\n  rank {r.number} {r.how()}:{shown(r.stderr())}" for r in ranks]
            raise Died(f"not {what} in {limit:.0f} s; stderr ends:{''.join(texts)}")
        time.sleep(0.05)


def is_ready(rank, of):
    subject = rank.subject(of)
    return subject is not None and (subject[1] / "truth.json").exists()


def by_itself(ranks, scenario, limit):
    """Waits for all that must die; the others are ended then."""
    doomed = [r for r in ranks if scenarios.leaves_core(scenario, r.number)]
    if scenario.of == "self":
        wait_for(lambda: all(r.ended() for r in doomed), limit, "dead", ranks, early=False)
        return

    def all_left_cores():
        subjects = [r.subject("child") for r in doomed]
        return all(s and core_in(s[1]) for s in subjects)

    wait_for(all_left_cores, limit, "a core of the child", ranks)
    # Its writer is still at it while the child is not gone.
    for rank in doomed:
        pid, _ = rank.subject("child")
        wait_for(lambda p=pid: is_gone(p), 120, "at the core's end", ranks, early=False)
        wait_for_words(rank, scenario)


def wait_for_words(rank, scenario, limit=15):
    """What a parent says of its child's end comes after it; what it never says is no error yet."""
    words = scenarios.expect_of(scenario, rank.number).get("stderr", "")
    deadline = time.monotonic() + limit
    while time.monotonic() < deadline and not rank.ended():
        if re.search(words, rank.stderr(), re.M):
            break
        time.sleep(0.05)


def is_gone(pid):
    """Whether a process of ours has ended, even if nobody has asked for its status yet."""
    try:
        text = pathlib.Path(f"/proc/{pid}/stat").read_text(encoding="ascii", errors="replace")
    except OSError:
        return True
    return text.rpartition(")")[2].split()[0] in "ZX"


def by_kill(ranks, scenario, limit):
    wait_for(lambda: all(is_ready(r, scenario.of) for r in ranks), limit, "ready", ranks)
    time.sleep(0.3)
    for rank in ranks:
        if scenarios.leaves_core(scenario, rank.number):
            pid, _ = rank.subject(scenario.of)
            os.kill(pid, signal.SIGABRT)
            wait_for(
                lambda p=pid: is_gone(p), 120, f"dead after SIGABRT to {pid}", ranks, early=False
            )


def by_gcore(ranks, scenario, limit):
    """gdb writes the core; names of functions are not wanted, so it loads no symbols."""
    wait_for(lambda: all(is_ready(r, scenario.of) for r in ranks), limit, "ready", ranks)
    time.sleep(0.3)
    for rank in ranks:
        if scenarios.leaves_core(scenario, rank.number):
            pid, place = rank.subject(scenario.of)
            path = place / "core.gdb"
            command = ("-iex", "set auto-solib-add off", "-p", pid, "-ex", f"gcore {path}")
            try:
                run = cores.run_gdb(*command, limit=300)
            except subprocess.TimeoutExpired:
                size = path.stat().st_size >> 20 if path.exists() else 0
                raise Died(f"gcore of {pid} took 300 s and had written {size} MB") from None
            failed = set(re.findall(r"Memory read failed for .* at (\w+)", run.stdout))
            if not path.is_file() or failed - {"0xffffffffff600000"}:
                raise Died(f"gcore of {pid} failed:{shown(run.stdout)}")


HOW = {"kernel": by_itself, "kill": by_kill, "gcore": by_gcore}


def limit_of(scenario):
    return 90 + 4 * scenario.seconds


def need(kind):
    try:
        if kind == "gcore":
            cores.need("gdb")
        else:
            cores.need_kernel_cores()
    except cores.Unavailable as reason:
        raise Unavailable(f"no core of kind {kind} can be had here: {reason}") from None


def command_of(target, scenario):
    return [target.interpreter, "-s", scenario.path]


def collect(rank, scenario):
    subject = rank.subject(scenario.of)
    pid, place = subject or (rank.pid, rank.folder)
    core = core_in(place) or core_in(rank.folder)
    if core:
        cores.MADE["gcore" if core.name == "core.gdb" else "kernel-core"] += 1
    word = place / ("truth.json" if scenario.truth == "record" else "fault.txt")
    status = rank.process.returncode
    return Played(
        rank.number, pid, status, place, core, word, rank.stderr(), rank.seconds or 0.0
    )


class Job:
    """A scenario being played. As a context: everything ends with it, folders are removed."""

    def __init__(self, target, scenario, kind, shim, cache, keep=None):
        need(kind)
        self.target, self.scenario, self.kind, self.shim = target, scenario, kind, shim
        runs = cache.resolve() / "runs"
        runs.mkdir(parents=True, exist_ok=True)
        self.kept = keep is not None
        name = f"{scenario.name}-{target.torch}-{kind}"
        if keep is None:
            self.folder = pathlib.Path(tempfile.mkdtemp(prefix=f"{name}-", dir=runs))
        else:
            self.folder = pathlib.Path(keep).resolve() / name
            shutil.rmtree(self.folder, ignore_errors=True)
            self.folder.mkdir(parents=True)
        # Sockets have short names: a deep checkout must not matter.
        self.temporary = pathlib.Path(tempfile.mkdtemp(prefix="rig-"))
        self.ranks = []

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for rank in self.ranks:
            rank.end()
        shutil.rmtree(self.temporary, ignore_errors=True)
        if not self.kept:
            shutil.rmtree(self.folder, ignore_errors=True)

    def environment(self, number, port):
        folder = self.folder / f"rank{number}"
        folder.mkdir()
        return folder, environment(
            self.target, self.scenario, self.shim, self.kind, folder, number, port, self.temporary
        )

    def check_lacks(self):
        for rank in self.ranks:
            if rank.ended() and rank.process.returncode == LACKS:
                raise Unavailable(f"the program says: {rank.stderr().strip()[-300:]}")

    def play(self):
        """Starts the ranks, waits, takes the cores: one Played for each rank."""
        port = free_port()
        command = command_of(self.target, self.scenario)
        for number in range(self.scenario.ranks):
            folder, env = self.environment(number, port)
            self.ranks.append(Rank(number, folder, command, env))
        try:
            HOW[self.kind](self.ranks, self.scenario, limit_of(self.scenario))
        finally:
            self.check_lacks()
        for rank in self.ranks:
            rank.end()
        return [collect(rank, self.scenario) for rank in self.ranks]

    def shell(self):
        """An interactive shell with what rank 0 would get."""
        folder, env = self.environment(0, free_port())
        preload = {k: env.pop(k) for k in ("LD_PRELOAD", "LD_LIBRARY_PATH", "PYTHONPATH")}
        for name, value in preload.items():
            env[f"TARGET_{name}"] = value
        command = " ".join(map(str, command_of(self.target, self.scenario)))
        (folder / "play").write_text(
            "#!/bin/sh\n"
            + "".join(f"export {k}='{v}'\n" for k, v in preload.items())
            + f'exec {command} "$@"\n',
            encoding="utf-8",
        )
        (folder / "play").chmod(0o755)
        say(f"./play runs {self.scenario.name} as rank 0; the folder goes when the shell ends")
        shell = os.environ.get("SHELL", "/bin/sh")
        env["TERM"] = os.environ.get("TERM", "dumb")
        return subprocess.call([shell], cwd=folder, env=env, preexec_fn=prepare)
