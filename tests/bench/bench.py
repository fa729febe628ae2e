#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""corescan beside its peers on the same cores, in turn: wall time, CPU time, peak memory, frames.

    bench.py [--corescan PROGRAM] [--runs 5] [--only PARTS] [--cache DIR] [--json]

Each command runs once unmeasured (warm cache), then RUNS times; the commands of one core take
turns, so that a slow minute of the machine hits all of them. Medians are printed, and the ratios
that the project holds itself to. Nothing here passes or fails: a busy machine must not turn a test
red.
"""
import argparse
import collections
import json
import os
import pathlib
import resource
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
sys.path[:0] = [str(ROOT / "tests/cores"), str(ROOT / "tests/corpus"), str(HERE)]

import cores  # noqa: E402  (found by the line above)
import pasting  # noqa: E402
import peers_cores  # noqa: E402


class Unavailable(Exception):
    """What a part of the benchmark needs is not on this machine."""


def make_core(command, cache, name):
    """Run `command` until it dies and keep the kernel's core as cache/name."""
    kept = cache / name
    if kept.exists():
        return kept
    pattern = pathlib.Path("/proc/sys/kernel/core_pattern").read_text().strip()
    if pattern.startswith("|") or "/" in pattern:
        raise Unavailable(f"kernel.core_pattern is {pattern!r}: no cores in the working folder")

    def unlimited():
        hard = resource.getrlimit(resource.RLIMIT_CORE)[1]
        resource.setrlimit(resource.RLIMIT_CORE, (hard, hard))

    with tempfile.TemporaryDirectory(dir=cache) as folder:
        done = subprocess.run(
            command, cwd=folder, preexec_fn=unlimited, capture_output=True, text=True
        )
        cores = list(pathlib.Path(folder).glob("core*"))
        if not cores:
            why = f"{command[0]} left no core (status {done.returncode}): {done.stderr[-300:]}"
            raise Unavailable(why)
        cores[0].rename(kept)
    return kept


def build(cache, name):
    program = cache / name
    source = HERE / f"programs/{name}.c"
    if not program.exists() or program.stat().st_mtime < source.stat().st_mtime:
        subprocess.run(["cc", "-O1", "-g", "-pthread", "-o", program, source], check=True)
    return program


# status: that of exit, from 128 on the signal that ended it; None: it ran past its limit.
Run = collections.namedtuple("Run", "wall cpu rss_kib status out err")


class Stopwatch:
    """Runs commands through programs/measure.c, which says why."""

    def __init__(self, cache):
        self.launcher = build(cache, "measure")

    def measure(self, command, limit=None, env=None):
        """A Run of the command; of one that ran past LIMIT seconds nothing else is known."""
        with tempfile.NamedTemporaryFile() as figures, tempfile.TemporaryFile() as out:
            with tempfile.TemporaryFile() as err:
                process = subprocess.Popen(
                    [self.launcher, figures.name, *command],
                    **{"stdin": subprocess.DEVNULL, "stdout": out, "stderr": err},
                    start_new_session=True,
                    env=env,
                )
                try:
                    failed = process.wait(limit)
                except subprocess.TimeoutExpired:
                    os.killpg(process.pid, signal.SIGKILL)
                    process.wait()
                    return Run(limit, None, None, None, "", "")
                if failed:
                    raise RuntimeError(f"{self.launcher} could not run {command[0]}")
                said = []
                for file in (out, err):
                    file.seek(0)
                    said.append(file.read().decode(errors="replace"))
            wall, cpu, rss, status = pathlib.Path(figures.name).read_text().split()
            return Run(float(wall), float(cpu), int(rss), int(status), *said)

    def run(self, command):
        """Wall seconds, CPU seconds and peak KiB of one run, and what it printed."""
        run = self.measure(command)
        return run.wall, run.cpu, run.rss_kib, run.out


def frames_of(thread, python=False):
    """Native or Python frames of one thread, each fold counted as often as it stands for."""
    total = left = 0
    times = 1
    for frame in thread["frames"]:
        if not left:
            fold = frame.get("repeat")
            left, times = (fold["period"], fold["count"]) if fold else (1, 1)
        left -= 1
        wanted = (frame["kind"] == "python") == python and frame["kind"] != "inline"
        total += times if wanted else 0
    return total


def frames_printed(tool, text):
    """gdb's number includes inlined calls, which it prints like frames, and pystack's Python's."""
    if tool == "corescan":
        return sum(map(frames_of, json.loads(text)["threads"]))
    marks = ("(C) ", "(Python) ") if tool == "pystack" else "#"
    return sum(1 for line in text.splitlines() if line.lstrip().startswith(marks))


def commands(corescan, core, program, native):
    found = {"corescan": [str(corescan), "--json", str(core)]}
    if shutil.which("eu-stack"):
        found["eu-stack"] = ["eu-stack", "--core", str(core), "--executable", str(program)]
    if shutil.which("pystack") and "python" in str(program):  # it refuses all others
        found["pystack"] = ["pystack", "core", native, str(core), str(program)]
    if shutil.which("gdb"):
        every = "thread apply all bt"
        found["gdb"] = ["gdb", "-nx", "-batch", "-ex", every, str(program), str(core)]
    return found


def compare(args, core, program, runs, peers=True, native="--native-all"):
    """{tool: {wall, cpu, rss_kib, frames}}, medians; corescan's time is that of its text report."""
    watch = Stopwatch(args.cache)
    todo = commands(args.corescan, core, program, native)
    if not peers:
        todo = {"corescan": todo["corescan"]}
    counts = {tool: frames_printed(tool, watch.run(command)[3]) for tool, command in todo.items()}
    rows = {tool: [] for tool in todo}
    todo["corescan"] = [str(args.corescan), str(core)]
    for _ in range(runs):
        for tool, command in todo.items():
            rows[tool].append(watch.run(command)[:3])
    return {
        tool: {
            "wall": statistics.median(r[0] for r in row),
            "cpu": statistics.median(r[1] for r in row),
            "rss_kib": statistics.median(r[2] for r in row),
            "frames": counts[tool],
        }
        for tool, row in rows.items()
    }


def ratio(result, tool, field="wall"):
    if tool not in result:
        return None
    return result["corescan"][field] / result[tool][field]


def bench_threads(args):
    park = build(args.cache, "park")
    result = {}
    for n in (500, 2000):
        core = make_core([park, str(n), "0"], args.cache, f"park-{n}.core")
        result[n] = compare(args, core, park, args.runs)
    bars = [
        ("2,000 threads: corescan / gdb", ratio(result[2000], "gdb"), 0.1),
        ("2,000 threads: corescan / eu-stack", ratio(result[2000], "eu-stack"), 0.05),
        (
            "corescan: 2,000 threads / 500 threads",
            result[2000]["corescan"]["wall"] / result[500]["corescan"]["wall"],
            4.5,
        ),
    ]
    return {f"{n} threads": r for n, r in result.items()}, bars


def bench_torch(args):
    python = args.python
    if subprocess.run([python, "-c", "import torch"], capture_output=True).returncode:
        raise Unavailable(f"{python} has no torch (Debian: python3-torch)")
    core = make_core([python, "-c", cores.TORCH], args.cache, "torch.core")
    result = compare(args, core, os.path.realpath(python), args.runs)
    text = Stopwatch(args.cache).run([str(args.corescan), "--json", str(core)])[3]
    report = json.loads(text)
    shape = f"torch, {len(report['threads'])} threads, {len(report['modules'])} modules"
    bars = [
        (f"{shape}: corescan / eu-stack", ratio(result, "eu-stack"), 0.5),
        (f"{shape}: corescan / gdb", ratio(result, "gdb"), 0.05),
        (f"{shape}: corescan's peak memory, MiB", result["corescan"]["rss_kib"] / 1024, 64),
    ]
    return {shape: result}, bars


def bench_heap(args):
    park = build(args.cache, "park")
    small = make_core([park, "16", "0"], args.cache, "heap-0.core")
    big = make_core([park, "16", "3072"], args.cache, "heap-3g.core")
    # These take milliseconds each: more runs, or the machine's noise is all that is measured.
    result = {
        "16 threads": compare(args, small, park, args.runs * 5, peers=False),
        "16 threads, 3 GiB heap": compare(args, big, park, args.runs * 5, peers=False),
    }
    a, b = (r["corescan"] for r in result.values())
    bars = [
        ("3 GiB heap / none: wall time", b["wall"] / a["wall"], 1.2),
        ("3 GiB heap / none: peak memory", b["rss_kib"] / a["rss_kib"], 1.1),
    ]
    return result, bars


def bench_deep(args, version, python, *mixed):
    """200,000 Python frames in one thread; mixed: none of them can be folded."""
    what = " ".join((f"Python {version}, 200,000 frames", *mixed))
    program = [python, HERE / "programs/deep.py", "200000", *mixed]
    core = make_core(program, args.cache, "-".join(("deep", version, *mixed)) + ".core")
    result = compare(args, core, python, args.runs, peers=False)
    row = result["corescan"]
    bars = [
        (f"{what}: seconds", row["wall"], 2),
        (f"{what}: peak memory, MiB", row["rss_kib"] / 1024, 100),
    ]
    if not mixed:  # of those that fold, all are told
        text = Stopwatch(args.cache).run([str(args.corescan), "--json", str(core)])[3]
        row["frames"] = sum(frames_of(t, True) for t in json.loads(text)["threads"])
        bars.append((f"{what}: frames left out", max(200001 - row["frames"], 0), 0))
    core.unlink()  # more than a gigabyte of stack
    return {what: result}, bars


def bench_python(args):
    """One evaluation loop runs all the calls from 3.11 on; before, each has its own."""
    pythons = {}
    for version, path in cores.pythons():
        pythons.setdefault(".".join(version.split(".")[:2]), path)
    tables, bars = {}, []
    for version in ("3.8", "3.11", "3.12", "3.13"):
        for mixed in ((), ("mixed",)):
            if version in pythons:
                more, more_bars = bench_deep(args, version, pythons[version], *mixed)
                tables.update(more)
                bars += more_bars
    program = [args.python, HERE / "programs/crowd.py", "500"]
    core = make_core(program, args.cache, "crowd-500.core")
    result = compare(args, core, os.path.realpath(args.python), args.runs, native="--native")
    tables["500 Python threads"] = result
    bars.append(("500 Python threads: corescan / pystack --native", ratio(result, "pystack"), 0.1))
    return tables, bars


def bench_rig(args):
    """A released CUDA build that its NCCL watchdog ended: tests/rig makes the core."""
    torch = peers_cores.RIG_TORCH[0]
    with tempfile.TemporaryDirectory(prefix="rig-", dir=args.cache) as folder:
        try:
            core = peers_cores.make_rig(torch, pathlib.Path(folder), args.corescan)
        except peers_cores.Unavailable as why:
            raise Unavailable(str(why)) from why
        result = compare(args, core.path, core.executable, args.runs)
        shares = [share_of_matching(args.corescan, core.path) for _ in range(args.runs)]
    bars = [
        (f"{core.name}: corescan / eu-stack", ratio(result, "eu-stack"), 1),
        (f"{core.name}: corescan / gdb", ratio(result, "gdb"), 1 / 30),
        (f"{core.name}: peak memory, MiB", result["corescan"]["rss_kib"] / 1024, 64),
    ]
    bars.append((f"{core.name}: matching's share", statistics.median(shares), 0.1))
    return {core.name: result}, bars


def share_of_matching(corescan, core):
    """Of the time of a report, by the report's own account."""
    text = subprocess.run([corescan, "--json", core], capture_output=True, text=True).stdout
    timing = json.loads(text)["timing"]
    return timing["layers_ms"]["signature"] / timing["total_ms"]


PASTES = 10000


def bench_match(args):
    """Pasted reports: the corpus' cases in the forms of several tools, again and again."""
    texts = [
        text
        for case in pasting.cases(ROOT)
        for form, text in pasting.forms(case).items()
        if not pasting.is_told_apart(case)
        # A log that only warns is no report.
        and (form != "log" or case.get("expected", "unknown") != "unknown")
    ]
    text = args.cache / "pastes.txt"
    with text.open("w") as file:
        for i in range(PASTES):
            file.write(f"==> report-{i} <==\n{texts[i % len(texts)]}\n")
    watch = Stopwatch(args.cache)
    rows, command = [], [str(args.corescan), "match", "--json", str(text)]
    for _ in range(args.runs):
        wall, cpu, rss, out = watch.run(command)
        frames = out.count('"kind":"native"')
        rows.append({"wall": wall, "cpu": cpu, "rss_kib": rss, "frames": frames})
        if out.count("\n") != PASTES:
            raise RuntimeError(f"{out.count(chr(10))} reports of {PASTES}")
    middle = sorted(rows, key=lambda row: row["wall"])[len(rows) // 2]
    return {f"{PASTES:,} pasted reports": {"corescan": middle}}, [
        (f"{PASTES:,} pasted reports: seconds", middle["wall"], 20),
        (f"{PASTES:,} pasted reports: peak memory, MiB", middle["rss_kib"] / 1024, 256),
    ]


PARTS = {
    "threads": bench_threads,
    "torch": bench_torch,
    "heap": bench_heap,
    "python": bench_python,
    "match": bench_match,
    "rig": bench_rig,
}


def show(tables, bars):
    print(f"{'core':38} {'tool':10} {'wall s':>8} {'CPU s':>8} {'peak MiB':>9} {'frames':>8}")
    for core, tools in tables.items():
        for tool, r in tools.items():
            figures = f"{r['wall']:8.3f} {r['cpu']:8.3f} {r['rss_kib'] / 1024:9.1f} {r['frames']:8}"
            print(f"{core:38} {tool:10} {figures}")
    print(f"\n{'ratio':62} {'measured':>9} {'bar':>6}")
    for name, value, bar in bars:
        measured = "-" if value is None else f"{value:.3f}"
        verdict = "" if value is None else "ok" if value <= bar else "ABOVE"
        print(f"{name:62} {measured:>9} {bar:6.3g} {verdict}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--corescan", type=pathlib.Path, default=ROOT / "build/bin/corescan")
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--only", default=",".join(PARTS))
    parser.add_argument("--cache", type=pathlib.Path, default=ROOT / ".cache/bench")
    parser.add_argument("--python", default="/usr/bin/python3", help="a Python with CPU PyTorch")
    parser.add_argument("--json", action="store_true")
    args = parser.parse_args()
    args.cache = args.cache.resolve()
    args.cache.mkdir(parents=True, exist_ok=True)
    tables, bars, ran = {}, [], 0
    for part in args.only.split(","):
        try:
            more, more_bars = PARTS[part](args)
        except Unavailable as why:
            print(f"{part}: left out: {why}", file=sys.stderr)
            continue
        tables.update(more)
        bars += more_bars
        ran += 1
    if args.json:
        named = [dict(zip(("name", "measured", "bar"), bar)) for bar in bars]
        print(json.dumps({"tables": tables, "bars": named}))
    else:
        show(tables, bars)
    return 0 if ran else 77


if __name__ == "__main__":
    sys.exit(main())
