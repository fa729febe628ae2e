#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Compare raw stacks of real cores with gdb's, and with the order in which the program made its
calls.

compare.py STACKS_PROGRAM PROGRAMS_FOLDER [CASE...]

Each case runs a program that dies, takes the core that the kernel wrote (or that gdb's gcore
took), and holds every thread's pcs against `thread apply all bt`. Where gdb is known to be wrong
(a smashed stack, code without tables) only the program's own call order counts. Exit status 77: no
core could be written.
"""

import os
import re
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Dict, List, NamedTuple, Optional, Tuple


class Frame(NamedTuple):
    pc: int
    trust: str
    flags: str
    module: str
    offset: int


class Thread(NamedTuple):
    tid: int
    stop: str
    address: int
    frames: List[Frame]
    interrupted: List[Tuple[int, int]]


class Case(NamedTuple):
    """`order`: functions that must occur in this order, innermost first; `gdb`: pcs must equal
    gdb's.
    """

    name: str
    program: str
    args: List[str]
    order: List[str]
    gdb: bool = True
    stop: str = "bottom"
    trust: Optional[str] = None  # one frame at least was found in this way
    mask: Optional[int] = None  # bits of enum cs_stepper
    signals: Optional[List[int]] = None  # of the interrupted frames, innermost first
    gcore: bool = False  # the program says "parked" and waits; gcore takes the core


VARIANTS = ["O0", "O2", "static", "nopie", "clang"]
SCENES: List[Case] = []


def scene(name: str, order: List[str], **more) -> None:
    for variant in VARIANTS:
        SCENES.append(Case(f"{name}-{variant}", f"scenes_{variant}", [name], order, **more))


scene("deep", ["die"] + ["deep_1"] * 80001 + ["run", "main"])
scene("overflow", ["overflow_1"] * 1000 + ["run", "main"])
scene("mutual", ["die"] + ["mutual_2", "mutual_1"] * 500 + ["run", "main"])
scene("alloca", ["die", "alloca_2", "alloca_1", "run", "main"])
scene("tail", ["die", "tail_3", "tail_1", "run", "main"])
scene("noreturn", ["noreturn_2", "noreturn_1", "run", "main"])
scene("longjmp", ["die", "longjmp_1", "run", "main"])
scene("null_call", ["null_call_1", "run", "main"])
scene("wild_call", ["wild_call_1", "run", "main"])
scene("data_call", ["data_call_1", "run", "main"])
scene("handler", ["die", "on_signal", "handler_1", "run", "main"])
scene("altstack", ["on_fault", "die", "altstack_1", "run", "main"], signals=[11])
scene("overflow_caught", ["on_fault"] + ["overflow_1"] * 1000 + ["run", "main"], signals=[11])
scene("null_call_caught", ["on_fault", "null_call_1", "run", "main"], signals=[11])
scene("nested", ["die", "on_second", "on_first", "nested_1", "run", "main"], signals=[12, 10])
scene("threads", ["die", "run", "main"])
scene("worker", ["die", "worker_1"])
scene("parked", ["parked_1", "run", "main"], gcore=True)
scene("vfork", ["die", "vfork_1", "run", "main"])
for _variant in VARIANTS:
    # The overwritten return addresses are lost; gdb prints 0x41... as frames.
    SCENES.append(
        Case(
            f"smash-{_variant}",
            f"scenes_{_variant}",
            ["smash"],
            ["die", "smash_3", "smash_2", "run", "main"],
            gdb=False,
            trust="scan",
        )
    )

# Executables without any table: frame pointers, where they are kept. The compiler gives die() no
# frame of its own, so its caller is not in the chain.
FP_ORDERS = {
    "alloca": ["die", "alloca_1", "run", "main"],
    "handler": ["die", "handler_1", "run", "main"],
    "mutual": ["die"] + ["mutual_1", "mutual_2"] * 499 + ["run", "main"],
}
for _name, _order in FP_ORDERS.items():
    SCENES.append(Case(f"{_name}-fp", "scenes_fp", [_name], _order, gdb=False, trust="fp"))
# Without frame pointers the scan finds the callers, among stale addresses.
SCENES.append(
    Case(
        "tail-bare",
        "scenes_bare",
        ["tail"],
        ["die", "tail_3", "tail_1", "main"],
        gdb=False,
        trust="scan",
    )
)
# Only .debug_frame.
SCENES.append(
    Case(
        "alloca-debugframe",
        "scenes_debugframe",
        ["alloca"],
        ["die", "alloca_2", "alloca_1", "run", "main"],
        trust="cfi",
    )
)
SCENES.append(Case("plt", "plt", [], ["plt_1", "main"]))
# Code without tables: by its own epilogue, and without that by what is left.
for _kind, _trust in (("frame", "fp"), ("bare", "scan")):
    for _name, _found, _mask in (("", "cfi", None), (f"-{_trust}", _trust, 63)):
        SCENES.append(
            Case(
                f"jit-{_kind}{_name}",
                "jit",
                [_kind],
                ["jit_callee", "", "jit_caller", "main"],
                gdb=False,
                trust=_found,
                mask=_mask,
            )
        )
# aarch64 under qemu-user, whose cores list no files; with signed return addresses gdb 13 is lost.
for _variant in ("aarch64", "aarch64_pac"):
    for _name, _order in {
        "deep": ["die"] + ["deep_1"] * 80001 + ["run", "main"],
        "alloca": ["die", "alloca_2", "alloca_1", "run", "main"],
        "tail": ["die", "tail_3", "tail_1", "run", "main"],
        "noreturn": ["noreturn_2", "noreturn_1", "run", "main"],
        "null_call": ["null_call_1", "run", "main"],
        "handler": ["die", "on_signal", "handler_1", "run", "main"],
        "altstack": ["on_fault", "die", "altstack_1", "run", "main"],
        "nested": ["die", "on_second", "on_first", "nested_1", "run", "main"],
    }.items():
        SCENES.append(Case(f"{_name}-{_variant}", f"scenes_{_variant}", [_name], _order, gdb=False))
SCENES.append(Case("many", "many", ["100"], ["main"]))
# libunwind in place of libdw: everything but CS_STEPPER_CFI, frame pointers and the scan.
for _name in ("alloca", "handler", "altstack", "nested", "noreturn"):
    _case = next(c for c in SCENES if c.name == f"{_name}-O2")
    SCENES.append(_case._replace(name=f"{_name}-libunwind", mask=1 | 2 | 8))


def run_program(program: Path, args: List[str], folder: Path) -> Path:
    """The core of a program that dies; LookupError where the system wrote none."""
    resource.setrlimit(resource.RLIMIT_CORE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    emulator = ["qemu-aarch64"] if "aarch64" in program.name else []
    if emulator and not shutil.which(emulator[0]):
        raise LookupError("qemu-aarch64 is not installed")
    done = subprocess.run(
        [*emulator, program, *args], cwd=folder, stderr=subprocess.DEVNULL, check=False, timeout=120
    )
    if done.returncode >= 0:
        raise AssertionError(f"{program.name} ended with status {done.returncode}, not by a signal")
    # qemu writes the core of the program, and the kernel one of qemu.
    cores = [p for p in folder.iterdir() if p.name.startswith("qemu_" if emulator else "core")]
    if not cores:
        raise LookupError(
            "the system wrote no core file into the working folder: see "
            "/proc/sys/kernel/core_pattern"
        )
    return cores[0]


def run_gcore(program: Path, args: List[str], folder: Path) -> Path:
    """The core that gcore takes of a parked program; LookupError where it cannot attach."""
    with subprocess.Popen([program, *args], cwd=folder, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"parked\n"
        done = subprocess.run(
            ["gcore", "-o", folder / "core", str(process.pid)],
            capture_output=True,
            text=True,
            check=False,
            timeout=120,
        )
        process.kill()
    core = folder / f"core.{process.pid}"
    if not core.exists():
        raise LookupError(f"gcore wrote no core: {(done.stdout + done.stderr).splitlines()[-1:]}")
    return core


def read_stacks(tool: Path, core: Path, mask: Optional[int]) -> List[Thread]:
    command = [str(tool), str(core)] + ([str(mask)] if mask is not None else [])
    out = subprocess.run(command, capture_output=True, text=True, check=True, timeout=120).stdout
    threads: List[Thread] = []
    for line in out.splitlines():
        words = line.split(" ")
        if words[0] == "thread":
            threads.append(Thread(int(words[1]), words[5], int(words[6], 16), [], []))
        elif words[0] == "interrupted":
            threads[-1].interrupted.append((int(words[1]), int(words[3])))
        else:
            threads[-1].frames.append(
                Frame(int(words[0], 16), words[1], words[2], words[3], int(words[4], 16))
            )
    return threads


def gdb_stacks(program: Path, core: Path) -> Dict[int, List[int]]:
    """tid -> pcs. Inlined frames share the next frame's pc; tail call frames are gdb's
    reconstruction of functions that have left the stack: neither has a frame of its own, so both
    are left out."""
    code = (
        "import gdb\n"
        "for t in gdb.selected_inferior().threads():\n"
        "    t.switch()\n"
        "    f = gdb.newest_frame()\n"
        "    pcs = []\n"
        "    while f is not None:\n"
        "        if f.type() not in (gdb.INLINE_FRAME, gdb.TAILCALL_FRAME): pcs.append(f.pc())\n"
        "        try: f = f.older()\n"
        "        except gdb.error: f = None\n"
        "    print('stack', t.ptid[1], *('%x' % p for p in pcs))\n"
    )
    script = core.parent / "stacks.py"
    script.write_text(code)
    out = subprocess.run(
        [
            "gdb",
            "-nx",
            "-batch",
            "-ex",
            "set auto-load off",
            "-ex",
            "set backtrace past-main on",
            "-ex",
            "set backtrace past-entry on",
            "-ex",
            f"source {script}",
            str(program),
            str(core),
        ],
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    ).stdout
    stacks = {}
    for line in out.splitlines():
        if line.startswith("stack "):
            words = line.split()
            stacks[int(words[1])] = [int(w, 16) for w in words[2:]]
    return stacks


class Symbols:
    """Names of a program's own functions, from nm."""

    def __init__(self, program: Path) -> None:
        self.path = os.path.realpath(program)
        self.table = []
        out = subprocess.run(
            ["nm", "-S", "--defined-only", program], capture_output=True, text=True, check=True
        ).stdout
        for line in out.splitlines():
            words = line.split()
            if len(words) == 4 and words[2] in "tTwW":
                start = int(words[0], 16)
                self.table.append((start, start + int(words[1], 16), words[3].split(".")[0]))
        self.table.sort()

    def name(self, frame: Frame) -> str:
        if os.path.realpath(frame.module) != self.path:
            return ""
        for start, end, name in self.table:
            if start <= frame.offset < end:
                return name
        return ""


def check_order(names: List[str], order: List[str]) -> None:
    at = 0
    for want in order:
        while at < len(names) and names[at] != want:
            at += 1
        if at == len(names):
            raise AssertionError(
                f"{want or 'a frame outside the program'} is missing or out of order in "
                f"{names[:12]} ... {names[-6:]}"
            )
        at += 1


def check_gdb(threads: List[Thread], stacks: Dict[int, List[int]]) -> None:
    assert len(stacks) == len(threads), f"gdb has {len(stacks)} threads, we have {len(threads)}"
    for thread in threads:
        ours = [f.pc for f in thread.frames]
        theirs = stacks[thread.tid]
        if ours == theirs:
            continue
        for i, (a, b) in enumerate(zip(ours + [0] * len(theirs), theirs)):
            if a != b:
                raise AssertionError(
                    f"thread {thread.tid}: frame {i} of {len(ours)} is {a:#x}, in gdb "
                    f"{b:#x} of {len(theirs)}; stop {thread.stop}"
                )
        raise AssertionError(
            f"thread {thread.tid}: {len(ours)} frames, gdb has {len(theirs)}: "
            f"{[hex(p) for p in ours[len(theirs):]]}"
        )


def check(case: Case, tool: Path, programs: Path, folder: Path) -> None:
    program = programs / case.program
    core = (run_gcore if case.gcore else run_program)(program, case.args, folder)
    threads = read_stacks(tool, core, case.mask)
    # The kernel writes the thread that died first; gdb has no such order, but the process's id.
    crashed = threads[0]
    if case.gcore:
        crashed = next(t for t in threads if t.tid == int(core.name.split(".")[1]))
    symbols = Symbols(program)
    cache: Dict[int, str] = {}
    names = [cache.setdefault(f.pc, symbols.name(f)) for f in crashed.frames]
    check_order(names, case.order)
    for thread in threads:
        assert thread.stop == case.stop, f"thread {thread.tid} stops with {thread.stop}"
    if case.trust:
        assert any(f.trust == case.trust for f in crashed.frames), f"no frame by {case.trust}"
    if case.signals is not None:
        got = [s for _, s in crashed.interrupted]
        assert got == case.signals, f"interrupted by {got}"
        for index, _ in crashed.interrupted:
            assert crashed.frames[index - 1].flags == "signal"
            assert crashed.frames[index].flags == "exact"
    if case.gdb:
        check_gdb(threads, gdb_stacks(program, core))


def main(argv: List[str]) -> int:
    tool, programs = Path(argv[1]).resolve(), Path(argv[2]).resolve()
    failed = 0
    ran = 0
    for case in SCENES:
        if argv[3:] and not any(re.fullmatch(pattern, case.name) for pattern in argv[3:]):
            continue
        if not (programs / case.program).exists():
            print(f"skip {case.name}: {case.program} was not built")
            continue
        folder = Path(tempfile.mkdtemp(prefix="unwind-"))
        try:
            check(case, tool, programs, folder)
            print(f"ok   {case.name}", flush=True)
            ran += 1
        except LookupError as reason:
            print(f"skip {case.name}: {reason}")
        except (AssertionError, subprocess.SubprocessError) as error:
            print(f"FAIL {case.name}: {error}", flush=True)
            failed += 1
        finally:
            shutil.rmtree(folder, ignore_errors=True)
    if failed:
        return 1
    return 0 if ran else 77


if __name__ == "__main__":
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    sys.exit(main(sys.argv))
