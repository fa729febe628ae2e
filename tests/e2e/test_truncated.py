# SPDX-License-Identifier: GPL-3.0-or-later
"""Cores that were cut off: at each 2 % of its length a report, never with fewer frames than
eu-stack finds.
"""
import re
import shutil
import subprocess

import compare_gdb
import cores
import pytest


def frames_of_eu_stack(core, executable):
    """{tid: number of frames}; an empty one where eu-stack gives up."""
    run = subprocess.run(
        ["eu-stack", f"--core={core}", f"--executable={executable}"],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        errors="replace",
        timeout=60,
        check=False,
    )
    found, tid = {}, None
    for line in run.stdout.splitlines():
        thread = re.match(r"TID (\d+):", line)
        if thread:
            tid = int(thread[1])
            found[tid] = 0
        elif re.match(r"#\d+ ", line):
            found[tid] += 1
    return found


def frames_of_report(report):
    frames = compare_gdb.frames_of_report(report)
    return {tid: sum(f.kind != "gap" for f in stack) for tid, stack in frames.items()}


def cut(core, size):
    target = core.folder / "cut.core"
    with open(core.path, "rb") as whole, open(target, "wb") as part:
        part.write(whole.read(size))
    return target


@pytest.mark.parametrize("dump_filter", (cores.DEFAULT_FILTER, cores.FULL))
def test_each_two_percent(recipes, corescan, tables, dump_filter):
    if not shutil.which("eu-stack"):
        pytest.skip("eu-stack is not installed")
    core = recipes.threads(24, "abort", dump_filter)
    size = core.path.stat().st_size
    whole = frames_of_eu_stack(core.path, core.executable)
    assert len(whole) == 25 and sum(whole.values()) > 100, "eu-stack cannot read the whole core"
    ours = theirs = more = 0
    for percent in range(2, 100, 2):
        part = cut(core, size * percent // 100)
        report = corescan.report(part, statuses=(1,))
        assert report["input"]["complete"] is False
        assert any(
            d["severity"] == "error" and d["code"] == "core-truncated"
            for d in report["diagnostics"]
        )
        mine, peer = frames_of_report(report), frames_of_eu_stack(part, core.executable)
        for tid, count in peer.items():
            assert (
                mine.get(tid, 0) >= count
            ), f"{percent} %: thread {tid}: {mine.get(tid)} < {count} of eu-stack"
        ours, theirs = ours + sum(mine.values()), theirs + sum(peer.values())
        more += sum(mine.values()) > sum(peer.values())
    tables.append(
        f"cut at each 2 %, filter {dump_filter:#x}: {ours} frames in 49 reports, eu-stack {theirs};"
        f" more than eu-stack in {more}"
    )
    report = corescan.report(core.path)
    assert report["input"]["complete"] is True
    assert sum(frames_of_report(report).values()) >= sum(whole.values())


@pytest.mark.parametrize("size", (0, 1, 4, 16, 63))
def test_without_headers_one_line(recipes, corescan, size):
    part = cut(recipes.crash("abort"), size)
    result = corescan(part)
    assert result.status == 3
    assert result.out == ""
    assert len(result.err.splitlines()) == 1 and "cut.core" in result.err


def test_any_length_ends_well(recipes, corescan):
    """Headers and notes are where a cut is worst: the first 8 KiB at odd steps."""
    core = recipes.crash("abort")
    for size in range(64, 8192, 331):
        result = corescan.json("--all", cut(core, size))
        assert result.status in (1, 3), (size, result.status, result.err)
        report = result.report()
        assert report["schema"] == "corescan-report/1"
        assert any(d["severity"] == "error" for d in report["diagnostics"]), size
