# SPDX-License-Identifier: GPL-3.0-or-later
"""Reports of a real core, as text and as JSON."""
import json
import subprocess

import pytest

from conftest import ROOT


@pytest.fixture(scope="module")
def report(corescan, python_core):
    run = corescan("--json", python_core)
    assert run.returncode in (0, 1), run.stderr
    assert run.stdout.count("\n") == 1
    return json.loads(run.stdout)


def test_valid_by_the_schema(report):
    jsonschema = pytest.importorskip("jsonschema", reason="python3-jsonschema is not installed")
    schema = json.loads((ROOT / "docs/corescan-report.schema.json").read_text())
    jsonschema.Draft202012Validator.check_schema(schema)
    errors = list(jsonschema.Draft202012Validator(schema).iter_errors(report))
    assert [f"{'/'.join(map(str, e.path))}: {e.message}" for e in errors] == []


def described(schema, value, root, path=""):
    """Paths of all members of `value` that the schema does not describe."""
    while "$ref" in schema:
        schema = root["$defs"][schema["$ref"].split("/")[-1]]
    for option in schema.get("oneOf", []):
        if "$ref" in option:
            option = root["$defs"][option["$ref"].split("/")[-1]]
        if option.get("type") == "object":
            schema = option
    if isinstance(value, list):
        for item in value:
            yield from described(schema.get("items", {}), item, root, path + "/*")
    if not isinstance(value, dict):
        return
    for key, item in value.items():
        if key in schema.get("properties", {}):
            yield from described(schema["properties"][key], item, root, f"{path}/{key}")
        elif isinstance(schema.get("additionalProperties"), dict):
            yield from described(schema["additionalProperties"], item, root, f"{path}/*")
        else:
            yield f"{path}/{key}"


def test_schema_describes_every_member(report):
    schema = json.loads((ROOT / "docs/corescan-report.schema.json").read_text())
    assert sorted(set(described(schema, report, schema))) == []


def test_what_happened(report):
    assert report["crash"]["signal"] == "SIGSEGV"
    assert report["crash"]["address"] == "0x0"
    assert report["crash"]["fault"] == "null"
    assert report["process"]["rank"] == 6
    assert report["process"]["world_size"] == 64
    assert report["process"]["environment"]["RANK"] == "6"
    assert report["process"]["command"][1:] == ["-c", "import ctypes; ctypes.string_at(0)"]
    assert report["threads"][0]["crashed"] is True
    assert report["threads"][0]["tid"] == report["crash"]["tid"]
    assert report["threads"][0]["stop"] == "bottom"


def test_frames_are_those_of_gdb(report, python_core):
    try:
        out = subprocess.run(
            ["gdb", "-nx", "-batch", "-ex", "bt", report["process"]["executable"], python_core],
            capture_output=True,
            text=True,
            check=True,
            timeout=120,
            env={"DEBUGINFOD_URLS": "", "PATH": "/usr/bin:/bin", "LC_ALL": "C"},
        ).stdout
    except FileNotFoundError:
        pytest.skip("gdb is not installed")
    # gdb prints the innermost frame once more when it opens a core.
    numbered = [line for line in out.splitlines() if line.startswith("#")][1:]
    frames = [f for f in report["threads"][0]["frames"] if f["kind"] not in ("gap", "python")]
    assert len(frames) == len(numbered)
    for frame, line in zip(frames, numbered):
        words = line.split()
        if words[1].startswith("0x"):
            assert int(words[1], 16) == int(frame["address"], 16), line
        name = (words[3] if words[1].startswith("0x") else words[1]).split("@")[0]
        known = frame["function"] and not frame.get("nearest")
        ours = frame["function"].split("(")[0].split("@")[0] if known else "??"
        # Of two names gdb takes that of the debug information: __libc_start_main_impl.
        assert ours in name, line


def test_text_begins_with_the_verdict(corescan, python_core, report):
    run = corescan(python_core)
    assert run.returncode in (0, 1)
    assert run.stdout.startswith("SIGSEGV: ")
    assert report["crash"]["summary"] in run.stdout
    assert "Stack of the crashed thread" in run.stdout
    assert "\033" not in run.stdout
    assert run.stderr == ""


def test_options_show_more(corescan, python_core, report):
    brief = corescan(python_core).stdout
    modules = corescan("--modules", python_core).stdout
    whole = corescan("--all", python_core).stdout
    assert all(m["path"] in modules for m in report["modules"])
    assert "Registers of thread" in whole and "Registers of thread" not in brief
    for frame in report["threads"][0]["frames"]:
        if frame["kind"] == "native":
            assert frame["address"][2:].rjust(16, "0") in whole


def test_several_cores(corescan, python_core, tmp_path):
    run = corescan(python_core, tmp_path, python_core)
    assert run.returncode == 3
    assert run.stdout.count(f"==> {python_core} <==") == 2
    assert str(tmp_path) in run.stderr
    run = corescan("--json", python_core, python_core)
    first, second = [json.loads(line) for line in run.stdout.splitlines()]
    assert first["crash"] == second["crash"]


def test_standard_input(corescan, python_core, report):
    with open(python_core, "rb") as core:
        run = corescan("--json", "-", stdin=core)
    piped = json.loads(run.stdout)
    assert piped["input"]["path"] == "-"
    assert piped["threads"] == report["threads"]
