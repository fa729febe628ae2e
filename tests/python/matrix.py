#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Every program by every Python: do all frames equal what the process wrote about itself?

    matrix.py [--all] [--newer] [--python 3.12] [--program sort,aio] [--how kernel,gcore]
              [--corescan PROGRAM] [--jobs 2] [--keep FOLDER]

Without --all, gcore takes a few of the programs only. --newer adds the interpreters that fetch.py
brings. The table has equal/written frames, and an exclamation mark where anything else is wrong.
"""
import argparse
import concurrent.futures
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path.insert(0, str(HERE))

import compare  # noqa: E402  (found by the line above)
import fetch  # noqa: E402
import recipes  # noqa: E402
from recipes import cores  # noqa: E402

LIMIT = 60


def report_of(corescan, core, *options):
    """The JSON report; AssertionError where there is none."""
    env = {**os.environ, "TERM": "dumb", "DEBUGINFOD_URLS": ""}
    run = subprocess.run(
        [str(corescan), "--json", "--all", *options, str(core)],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=LIMIT,
        env=env,
        check=False,
    )
    if run.returncode not in (0, 1):
        raise AssertionError(f"corescan ended with {run.returncode}: {run.stderr[-300:]!r}")
    return json.loads(run.stdout.decode("utf-8"))


class Cell:
    """One program by one interpreter, dumped in one way."""

    def __init__(self, python, program, how):
        self.python, self.program, self.how = python, program, how
        self.outcome = self.skipped = None
        self.problems = []
        self.seconds = 0.0

    def __str__(self):
        return f"{self.python.name} {self.program.name} ({self.how})"

    def run(self, corescan, folder, keep=False):
        core = None
        try:
            core, truth = recipes.make(self.python, self.program, self.how, folder)
            start = time.monotonic()
            report = report_of(corescan, core.path)
            self.seconds = time.monotonic() - start
            self.outcome = compare.compare(truth, report, self.python.symbols)
            self.problems = self.outcome.problems
        except cores.Unavailable as reason:
            self.skipped = str(reason)
        except (AssertionError, ValueError, KeyError, subprocess.TimeoutExpired) as error:
            self.problems = [f"{type(error).__name__}: {error}"]
        if core and not (keep and self.problems):
            recipes.forget(core)
        return self

    def figure(self):
        if self.skipped:
            return "-"
        if self.outcome is None:
            return "none!"
        mark = "!" if self.problems else ""
        return f"{self.outcome.equal}/{self.outcome.total}{mark}"


def cells(pythons, programs, hows, everything=True):
    return [
        Cell(python, program, how)
        for how in hows
        for python in pythons
        for program in programs
        if python.runs(program, how)
        and (how == "kernel" or everything or program.name in recipes.FEW)
    ]


def prepare(pythons, programs, folder):
    """Builds what is built once for each interpreter, before several threads want it."""
    for python in pythons:
        for program in programs:
            try:
                python.command(program, folder)
            except cores.Unavailable:
                continue


def table(done):
    """Lines: a program each, a column for each interpreter and way of dumping."""
    columns = list(dict.fromkeys((c.how, c.python.name) for c in done))
    rows = list(dict.fromkeys(c.program.name for c in done))
    figures = {(c.how, c.python.name, c.program.name): c.figure() for c in done}
    widths = [max(9, len(name) + 1) for _, name in columns]
    yield " " * 24 + "".join(f"{how:>{w}}" for (how, _), w in zip(columns, widths))
    yield f"{'frames equal/written':24}" + "".join(
        f"{name:>{w}}" for (_, name), w in zip(columns, widths)
    )
    for row in rows:
        line = "".join(f"{figures.get((*c, row), ''):>{w}}" for c, w in zip(columns, widths))
        yield f"{row:24}{line}"
    ran = [c for c in done if c.outcome]
    equal, total = sum(c.outcome.equal for c in ran), sum(c.outcome.total for c in ran)
    bad = sum(1 for c in done if c.problems)
    yield f"{equal} of {total} frames, {len(done)} cores, {bad} with something wrong"


def chosen(args):
    """The interpreters and programs that the options ask for."""
    pythons = recipes.installed() + (fetch.interpreters() if args.newer else [])
    if args.python:
        pythons = [p for p in pythons if p.name.startswith(tuple(args.python.split(",")))]
    wanted = args.program.split(",") if args.program else []
    return pythons, [p for p in recipes.ALL if not wanted or p.name in wanted]


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--corescan", type=pathlib.Path, default=ROOT / "build/bin/corescan")
    parser.add_argument("--all", action="store_true")
    parser.add_argument("--newer", action="store_true", help="also what fetch.py brings")
    parser.add_argument("--python", default="", help="versions that begin so, with commas")
    parser.add_argument("--program", default="", help="names, with commas")
    parser.add_argument("--how", default="kernel,gcore")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 2)
    parser.add_argument("--keep", type=pathlib.Path, help="keep the cores that show a problem here")
    args = parser.parse_args()
    pythons, programs = chosen(args)
    if args.keep:
        args.keep.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="matrix-") as temporary:
        folder = pathlib.Path(tempfile.mkdtemp(dir=args.keep) if args.keep else temporary)
        prepare(pythons, programs, folder)
        todo = cells(pythons, programs, args.how.split(","), args.all or bool(args.program))
        with concurrent.futures.ThreadPoolExecutor(args.jobs) as pool:
            run = [pool.submit(c.run, args.corescan, folder, bool(args.keep)) for c in todo]
            done = [future.result() for future in run]
    if args.keep:
        print(f"kept: {folder}")
    for cell in done:
        for problem in cell.problems:
            print(f"{cell}: {problem}")
    for reason in sorted({f"{c.python.name}: {c.skipped}" for c in done if c.skipped}):
        print(f"left out: {reason}")
    print(*table(done), sep="\n")
    return 1 if any(c.problems for c in done) else 0


if __name__ == "__main__":
    sys.exit(main())
