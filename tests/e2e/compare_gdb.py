#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""compare_gdb.py CORE EXECUTABLE: the frames of corescan's report beside those of gdb.

Frames are compared by pc and by the name in the symbol tables. Inlined calls are left out on both
sides: they are no frames of the stack but what the line tables say about one. So are the tail
calls that gdb deduces from call sites: they had no frame of their own, are no return addresses,
and are counted apart. Names are taken for equal only where they are spelled alike or where both
name the same address of the module (an alias). A name that corescan marks as merely the nearest is
no name, unless gdb passes the same one off as the function. All else is a difference, and has a
reason.
"""
import bisect
import collections
import difflib
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
NO_PYTHON = "Python scripting is not supported"

Frame = collections.namedtuple("Frame", "pc name kind start module nearest", defaults=(None,) * 3)
Difference = collections.namedtuple("Difference", "reason lwp index gdb corescan")


class NoGroundTruth(Exception):
    """gdb cannot say what the frames are; the text says why."""


class Comparison:
    """What one core, or several, came to."""

    def __init__(self):
        self.threads = self.frames = self.equal = self.tail_calls = 0
        self.aliases = collections.Counter()
        self.differences = []

    def add(self, other):
        self.threads += other.threads
        self.frames += other.frames
        self.equal += other.equal
        self.tail_calls += other.tail_calls
        self.aliases.update(other.aliases)
        self.differences += other.differences

    def share(self):
        return self.equal / self.frames if self.frames else 0.0

    def reasons(self):
        return collections.Counter(d.reason for d in self.differences)


def frames_of_gdb(core, executable, limit=200):
    """{lwp: [Frame]} as gdb's own Python tells."""
    with tempfile.TemporaryDirectory() as folder:
        out = pathlib.Path(folder, "frames")
        run = subprocess.run(
            [
                "gdb",
                "-nx",
                "-batch",
                "-iex",
                "set debuginfod enabled off",
                "-iex",
                "set auto-load no",
            ]
            + ["-x", str(HERE / "gdb_frames.py"), str(executable), str(core)],
            env={**os.environ, "CORESCAN_GDB_FRAMES": str(out)},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            timeout=limit,
            check=False,
        )
        if NO_PYTHON in run.stdout:
            raise NoGroundTruth("this gdb has no Python")
        if run.returncode or not out.exists():
            raise NoGroundTruth(f"gdb: {run.stdout.strip().splitlines()[-3:]}")
        threads = [json.loads(line) for line in out.read_text(encoding="utf-8").splitlines()]
    names = {f[1] for t in threads for f in t["frames"] if f[1]}
    shown = demangled(names)
    return {
        t["lwp"]: [Frame(pc, shown.get(name), kind) for pc, name, kind in t["frames"]]
        for t in threads
    }


def demangled(names):
    """{name: demangled, without a symbol version}, by c++filt."""
    names = sorted(names)
    plain = [name.split("@")[0] for name in names]
    if not any(name.startswith(("_Z", "_R")) for name in plain):
        return dict(zip(names, plain))
    run = subprocess.run(
        ["c++filt"],
        input="\n".join(plain) + "\n",
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    return dict(zip(names, run.stdout.splitlines()))


def is_native(frame):
    """No inlined call, no Python frame, nor a gap where only such are missing."""
    return frame["kind"] not in ("inline", "python") and (
        frame["kind"] != "gap" or frame["trust"] != "runtime"
    )


def unfolded(frames):
    """The native frames with each run that was folded written out again."""
    at = 0
    while at < len(frames):
        repeat = frames[at].get("repeat")
        turn = frames[at : at + repeat["period"]] if repeat else frames[at : at + 1]
        native = [f for f in turn if is_native(f)]
        for _ in range(repeat["count"] if repeat else 1):
            yield from native
        at += len(turn)


def frames_of_report(report):
    """{tid: [Frame]} of a report of corescan --json --all."""
    modules = sorted(report.get("modules", []), key=lambda m: int(m["base"], 16))
    bases = [int(m["base"], 16) for m in modules]
    groups = {g["id"]: g["tids"][0] for g in report["stack_groups"]}
    listed = {t["tid"]: t for t in report["threads"]}
    found = {}
    for tid, thread in listed.items():
        if thread.get("frames_in_group"):
            thread = listed[groups[thread["stack_group"]]]
        found[tid] = []
        for frame in unfolded(thread["frames"]):
            if frame["kind"] == "gap":
                found[tid].append(Frame(None, frame["function"], "gap"))
                continue
            pc = int(frame["address"], 16)
            module = modules[bisect.bisect(bases, pc) - 1] if frame.get("module") else None
            start = None
            if frame.get("module_offset") and frame.get("offset"):
                start = int(frame["module_offset"], 16) - int(frame["offset"], 16)
            nearest = frame.get("nearest", False)
            found[tid].append(Frame(pc, frame["function"], frame["kind"], start, module, nearest))
    return found


class Symbols:
    """{name: addresses} of a module's files, by nm."""

    def __init__(self):
        self.read = {}

    def of_file(self, path):
        if path not in self.read:
            table = collections.defaultdict(set)
            for option in ([], ["-D"]):
                run = subprocess.run(
                    ["nm", *option, path],
                    stdout=subprocess.PIPE,
                    stderr=subprocess.DEVNULL,
                    text=True,
                    errors="replace",
                    check=False,
                )
                for match in re.finditer(r"^([0-9a-f]+) \S ([^@\n]+)", run.stdout, re.M):
                    table[match[2]].add(int(match[1], 16))
            # The names are looked up demangled, because that is how reports have them.
            shown = demangled(table)
            self.read[path] = collections.defaultdict(set)
            for name, addresses in table.items():
                self.read[path][shown[name]] |= addresses
        return self.read[path]

    def same_address(self, frame, name):
        """Whether NAME is a symbol at the address where corescan says that the function starts."""
        if frame.start is None or frame.module is None:
            return False
        files = [frame.module.get("used_file"), frame.module.get("debug_file")]
        return any(frame.start in self.of_file(f).get(name, ()) for f in files if f)


SYMBOLS = Symbols()


def compare_frame(gdb, ours, result):
    """None where both are equal, or the reason why not."""
    if "signal" in (gdb.kind, ours.kind):
        return None if gdb.kind == ours.kind else "only one takes it for a signal handler's frame"
    if gdb.name == ours.name:
        return None
    if gdb.name is None:
        return None if ours.nearest else "no name in gdb"
    if ours.name is None:
        return "no name in corescan"
    if SYMBOLS.same_address(ours, gdb.name):
        result.aliases[(gdb.name, ours.name)] += 1
        return None
    return "only the nearest name in corescan" if ours.nearest else "another name"


def aligned(gdb, ours):
    """Pairs of indices with equal pcs; None on the side where there is no partner."""
    one, two = [f.pc for f in gdb], [f.pc for f in ours]
    if one == two:
        return [(i, i) for i in range(len(one))]
    head = 0
    while head < min(len(one), len(two)) and one[head] == two[head]:
        head += 1
    pairs = [(i, i) for i in range(head)]
    matcher = difflib.SequenceMatcher(None, one[head : head + 2000], two[head : head + 2000], False)
    for _, from_one, to_one, from_two, to_two in matcher.get_opcodes():
        count = max(to_one - from_one, to_two - from_two)
        for i in range(count):
            left = head + from_one + i if from_one + i < to_one else None
            right = head + from_two + i if from_two + i < to_two else None
            pairs.append((left, right))
    pairs += [(i, None) for i in range(head + 2000, len(one))]
    pairs += [(None, i) for i in range(head + 2000, len(two))]
    return pairs


def unpaired_reason(gdb, ours, left, right):
    if left is None:
        rest_of_gdb = right >= len(gdb)
        return "gdb stops early" if rest_of_gdb else "only corescan has this frame"
    if right is None:
        return "corescan stops early" if left >= len(ours) else "only gdb has this frame"
    return "another pc"


def compare_thread(lwp, gdb, ours, result):
    result.threads += 1
    result.tail_calls += sum(f.kind == "tail" for f in gdb)
    gdb = [f for f in gdb if f.kind != "tail"]
    for left, right in aligned(gdb, ours):
        result.frames += 1
        if left is None or right is None or gdb[left].pc != ours[right].pc:
            reason = unpaired_reason(gdb, ours, left, right)
        else:
            reason = compare_frame(gdb[left], ours[right], result)
        if reason is None:
            result.equal += 1
            continue
        result.differences.append(
            Difference(
                reason,
                lwp,
                left if left is not None else right,
                gdb[left] if left is not None else None,
                ours[right] if right is not None else None,
            )
        )


def compare(gdb, ours):
    """Both {tid: [Frame]}; a thread that only one side has counts with all its frames."""
    result = Comparison()
    for lwp in sorted({*gdb, *ours}):
        compare_thread(lwp, gdb.get(lwp, []), ours.get(lwp, []), result)
    return result


def compare_core(corescan, core, executable, options=()):
    run = subprocess.run(
        [str(corescan), "--json", "--all", *map(str, options), str(core)],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        check=False,
    )
    return compare(frames_of_gdb(core, executable), frames_of_report(json.loads(run.stdout)))


def show(frame):
    if frame is None:
        return "-"
    return f"{frame.pc or 0:#x} {frame.name}" + (
        f" ({frame.kind})" if frame.kind != "native" else ""
    )


def lines_of(label, result, most=12):
    yield (
        f"{label}: {result.threads} threads, {result.frames} frames, {result.equal} equal"
        f" ({100 * result.share():.3f} %), {sum(result.aliases.values())} of them by alias;"
        f" {result.tail_calls} tail calls deduced by gdb"
    )
    for (gdb, ours), count in result.aliases.most_common(most):
        yield f"    alias {count} x  {gdb} = {ours}"
    for reason, count in result.reasons().most_common():
        yield f"    {count} x {reason}"
        kinds = collections.Counter(
            (d.gdb and d.gdb.name, d.corescan and d.corescan.name)
            for d in result.differences
            if d.reason == reason
        )
        for (gdb, ours), times in kinds.most_common(most):
            sample = next(
                d
                for d in result.differences
                if d.reason == reason
                and (d.gdb and d.gdb.name, d.corescan and d.corescan.name) == (gdb, ours)
            )
            yield (
                f"        {times} x gdb {show(sample.gdb)} | corescan {show(sample.corescan)}"
                f"  (first: thread {sample.lwp}, frame {sample.index})"
            )


if __name__ == "__main__":
    program = os.environ.get("CORESCAN", HERE.parents[1] / "build/bin/corescan")
    print("\n".join(lines_of(sys.argv[1], compare_core(program, *sys.argv[1:3]))))
