# SPDX-License-Identifier: GPL-3.0-or-later
"""A core of real PyTorch: 90 threads or more, 300 modules or more, read in little memory."""
import os
import sys

import compare_gdb
import pytest
from conftest import ROOT

sys.path.insert(0, str(ROOT / "tests/bench"))

import bench  # noqa: E402  (found by the line above)

PEAK_MIB = 64


@pytest.fixture(scope="module")
def core(recipes):
    return recipes.of_torch(recipes.new("torch"))


@pytest.fixture(scope="module")
def report(core, corescan):
    return corescan.report(core.path)


def test_shape(report):
    assert len(report["threads"]) >= 90
    assert len(report["modules"]) >= 300
    assert {m["file"] for m in report["modules"]} == {"verified"}


def test_verdict(report):
    assert report["crash"]["signal"] == "SIGABRT"
    assert report["crash"]["fault"] == "abort"
    assert "torch" in report["runtime"]
    assert report["threads"][0]["crashed"]
    assert {t["stop"] for t in report["threads"]} == {"bottom"}


def test_equal_stacks_are_folded(report):
    """The workers of one OpenMP pool wait in one place."""
    assert max(g["count"] for g in report["stack_groups"]) >= 80


def test_frames_are_those_of_gdb(core, corescan, tables):
    try:
        result = compare_gdb.compare_core(
            corescan.path, core.path, os.path.realpath(core.executable)
        )
    except compare_gdb.NoGroundTruth as reason:
        pytest.skip(str(reason))
    lines = list(compare_gdb.lines_of("torch", result))
    tables.append(lines[0])
    assert result.frames > 300
    assert result.share() >= 0.995, "\n".join(lines)


def test_peak_memory(core, corescan, tmp_path):
    _, _, peak_kib, _ = bench.Stopwatch(tmp_path).run([corescan.path, "--json", core.path])
    assert peak_kib / 1024 <= PEAK_MIB
