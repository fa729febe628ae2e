# SPDX-License-Identifier: GPL-3.0-or-later
"""What a person who writes Python sees of a real core: --python, --locals, --source."""
import json
import re

import pytest

VERSION = re.compile(r"Python v3\.\d+\.\d+\S* \(/.+\)")


@pytest.fixture(scope="module")
def dump(corescan, python_core):
    run = corescan("--python", python_core)
    assert run.returncode in (0, 1), run.stderr
    return run.stdout.splitlines()


def test_dump_reads_as_that_of_py_spy(dump):
    assert re.fullmatch(r"Process \d+: \S+ -c import ctypes; ctypes\.string_at\(0\)", dump[0])
    assert VERSION.fullmatch(dump[1])
    assert dump[2] == ""
    # Without the module threading the main thread has no name.
    assert re.fullmatch(r'Thread \d+ \(active(\+gil)?\)(: "MainThread")?', dump[3])
    assert re.fullmatch(r"    string_at \(ctypes/__init__\.py:\d+\)", dump[4])
    assert dump[5:] == ["    <module> (<string>:1)"]


def test_locals(corescan, python_core):
    lines = corescan("--python", "--locals", python_core).stdout.splitlines()
    at = lines.index(next(line for line in lines if line.startswith("    string_at (")))
    assert lines[at + 1] == "        Arguments:"
    assert lines[at + 2 : at + 4] == ["            ptr: 0", "            size: -1"]
    report = corescan("--locals", python_core).stdout
    assert re.search(r"py +string_at at .*\n +ptr: 0\n +size: -1\n", report)


def test_source(corescan, python_core):
    report = corescan("--source", python_core).stdout
    assert re.search(r"py +string_at at .*\n +return _string_at\(ptr, size\)\n", report)
    assert "return _string_at" not in corescan(python_core).stdout


def test_json_is_the_same_with_python(corescan, python_core):
    plain = json.loads(corescan("--json", python_core).stdout)
    python = json.loads(corescan("--json", "--python", python_core).stdout)
    for report in (plain, python):
        del report["timing"]
    assert plain == python


def test_frames_stand_in_their_places(corescan, python_core):
    thread = json.loads(corescan("--json", python_core).stdout)["threads"][0]
    names = [(f["kind"], f["function"]) for f in thread["frames"] if not f.get("plumbing")]
    assert names.index(("native", "ffi_call")) < names.index(("python", "string_at"))
    assert names.index(("python", "string_at")) < names.index(("python", "<module>"))
    assert names.index(("python", "<module>")) < names.index(("native", "_start"))
    assert thread["python"]["main"] is True
    assert [f["trust"] for f in thread["frames"] if f["kind"] == "python"] == ["runtime"] * 2


def test_plumbing_is_hidden_unless_asked_for(corescan, python_core):
    brief, whole = corescan(python_core).stdout, corescan("--all", python_core).stdout
    assert "_PyEval_EvalFrameDefault" in whole
    assert "_PyEval_EvalFrameDefault" not in brief.split("Other threads")[0]
    assert re.search(r"\(\d+ frames of the interpreter itself are hidden: --all\)", brief)
    assert "hidden: --all" not in whole


def test_verdict_names_the_python_frame(corescan, python_core):
    first = corescan(python_core).stdout.split("Stack of")[0]
    assert re.search(r"^  python +string_at at .*ctypes/__init__\.py:\d+$", first, re.M)
