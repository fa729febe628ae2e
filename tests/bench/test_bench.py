# SPDX-License-Identifier: GPL-3.0-or-later
"""The benchmark runs, measures every tool that is there, and sees the frames that they see."""
import json
import os
import pathlib
import subprocess
import sys

import pytest

HERE = pathlib.Path(__file__).parent


def bench(part, tmp_path):
    run = subprocess.run(
        [
            sys.executable,
            HERE / "bench.py",
            "--corescan",
            os.environ["CORESCAN"],
            "--runs",
            "1",
            "--only",
            part,
            "--cache",
            tmp_path,
            "--json",
        ],
        capture_output=True,
        text=True,
    )
    if run.returncode == 77:
        pytest.skip(run.stderr.strip())
    assert run.returncode == 0, run.stderr
    return json.loads(run.stdout)


# The part on the rig's core needs gigabytes of downloads: it is for those who have them.
@pytest.mark.parametrize("part", ["threads", "torch", "heap", "python", "match"])
def test_bench(part, tmp_path):
    result = bench(part, tmp_path)
    assert result["bars"]
    for tools in result["tables"].values():
        assert tools["corescan"]["wall"] > 0 and tools["corescan"]["frames"] > 0
        if "eu-stack" in tools:
            assert tools["corescan"]["frames"] >= tools["eu-stack"]["frames"] * 0.995
