# SPDX-License-Identifier: GPL-3.0-or-later
"""corescan match as a command: what it takes, says and returns."""
import json
import pathlib

import jsonschema
import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
SCHEMA = json.loads((ROOT / "docs/corescan-report.schema.json").read_text())
OOM = """Traceback (most recent call last):
  File "/srv/train.py", line 20, in main
    loss.backward()
torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB.
"""
BT = """Program terminated with signal SIGSEGV, Segmentation fault.
#0  0x00007f3e1c0a4d3f in frobnicate () from /usr/lib/libfrob.so
#1  0x00007f3e1c0a4e3f in main ()
"""


@pytest.fixture
def texts(tmp_path):
    made = {"oom": OOM, "bt": BT, "empty": "", "prose": "Hello, how do I install this?\n"}
    for name, text in made.items():
        (tmp_path / name).write_text(text)
    return tmp_path


def test_text(corescan, texts):
    run = corescan("match", texts / "oom")
    assert run.returncode == 0, run.stderr
    assert run.stdout.startswith(f"Report 1, line 1 to 4 of {texts / 'oom'}\n")
    assert "CUDA out of memory ended the process (certain)" in run.stdout
    assert "it says torch.OutOfMemoryError: CUDA out of memory" in run.stdout


def test_unknown_is_an_answer(corescan, texts):
    run = corescan("match", texts / "bt")
    assert run.returncode == 0, run.stderr
    assert "gdb, SIGSEGV, 1 thread" in run.stdout
    assert "Finding: none of the" in run.stdout


def test_json_is_by_the_schema(corescan, texts):
    run = corescan("match", "--json", texts / "oom", texts / "bt")
    assert run.returncode == 0, run.stderr
    first, second = map(json.loads, run.stdout.splitlines())
    for report in (first, second):
        jsonschema.validate(report, SCHEMA)
    assert first["findings"][0]["id"] == "cuda-oom-uncaught-abort"
    assert first["input"] == {
        "path": str(texts / "oom"),
        "kind": "text",
        "format": "traceback",
        "line": 1,
        "lines": 4,
    }
    assert second["crash"]["signal"] == "SIGSEGV"
    assert [f["function"] for f in second["threads"][0]["frames"]] == ["frobnicate", "main"]
    assert second["fingerprint"]["short"].startswith("1-")


def test_standard_input(corescan, texts):
    with (texts / "oom").open() as text:
        run = corescan("match", "-", stdin=text)
    assert run.returncode == 0 and "of -\n" in run.stdout


@pytest.mark.parametrize("name", ["empty", "prose"])
def test_nothing_in_it(corescan, texts, name):
    run = corescan("match", texts / name)
    assert run.returncode == 3
    assert f"{texts / name}: no backtrace" in run.stderr


def test_one_bad_text_costs_no_other(corescan, texts):
    run = corescan("match", "--json", texts / "gone", texts / "prose", texts, texts / "oom")
    assert run.returncode == 3
    rows = [json.loads(line) for line in run.stdout.splitlines()]
    assert [bool(row.get("findings")) for row in rows] == [False, False, False, True]
    assert "No such file" in run.stderr and "Is a directory" in run.stderr


def test_a_core_is_no_text(corescan, texts):
    (texts / "core").write_bytes(b"\x7fELF\x02\x01\x01\0" + b"\nSegmentation fault (core dumped)\n")
    run = corescan("match", texts / "core")
    assert run.returncode == 3 and "leave out the word match" in run.stderr
    run = corescan(texts / "oom")
    assert run.returncode == 3 and "corescan match" in run.stderr


@pytest.mark.parametrize("path", sorted((ROOT / "tests/cli/reports").glob("*.txt")))
def test_every_form_is_by_the_schema(corescan, path):
    run = corescan("match", "--json", path)
    assert run.returncode == 0, run.stderr
    for line in run.stdout.splitlines():
        jsonschema.validate(json.loads(line), SCHEMA)
