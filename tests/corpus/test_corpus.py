#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Each core of the corpus gives the report that corpus/expected has for it.

The cores are read with an empty folder as the system's root, so that nothing on this machine helps
or hinders: names and unwind tables are those of the memory image alone. After a change that is
meant, `tests/corpus/test_corpus.py build/bin/corescan` writes the expected reports anew; review the
difference.
"""
import json
import os
import pathlib
import subprocess
import sys
import tempfile

CORPUS = pathlib.Path(__file__).resolve().parents[2] / "corpus"
CORES = sorted((CORPUS / "cores").iterdir())
CRASH = ("signal", "code", "address", "access", "instruction", "operand", "fault", "summary")


def expected_path(core):
    return CORPUS / "expected" / (core.name.split(".")[0] + ".json")


def analyzed(program, core):
    with tempfile.TemporaryDirectory() as empty:
        run = subprocess.run(
            [program, "--json", "--all", "--sysroot", empty, core], capture_output=True, text=True
        )
    assert run.returncode in (0, 1), run.stderr
    return json.loads(run.stdout)


def frame_line(frame):
    """A frame as one line: where, trust, name; one that is only the nearest exported is no name."""
    if frame["kind"] == "python":
        return f"python {frame['function']} {frame['file']}:{frame['line']}"
    if not frame.get("module"):
        return frame["function"] or frame["address"]
    name = frame["function"] if not frame.get("nearest") else None
    return " ".join(
        filter(None, (frame["module"] + "+" + frame["module_offset"], frame["trust"], name))
    )


def summary(report):
    """What must stay the same, in a form that makes a readable difference."""
    process = report["process"]
    return {
        "process": {k: process[k] for k in ("command", "executable", "machine", "environment")},
        "crash": {k: report["crash"].get(k) for k in CRASH},
        "versions": {k: v["version"] for k, v in report["runtime"].items()},
        "modules": [f"{m['path']}: {m['file']}, {m['symbols']}" for m in report["modules"]],
        "threads": [
            {
                "tid": t["tid"],
                "role": t.get("role"),
                "crashed": t["crashed"],
                "stop": t["stop"],
                "frames": [frame_line(f) for f in t["frames"]],
            }
            for t in report["threads"]
        ],
        "diagnostics": [f"{d['severity']} {d['layer']} {d['code']}" for d in report["diagnostics"]],
    }


def without(modules, expected):
    """The summary less what separate debug files of `modules`, found by build id, add to it."""
    for thread in expected["threads"]:
        for i, line in enumerate(thread["frames"]):
            if line.split("+")[0] in modules:
                thread["frames"][i] = " ".join(line.split(" ")[:2])
    expected["modules"] = [
        m for m in expected["modules"] if m.split(":")[0].split("/")[-1] not in modules
    ]
    if expected["threads"][0]["frames"][0].split("+")[0] in modules:
        del expected["crash"]["summary"]
    return expected


def pytest_generate_tests(metafunc):
    metafunc.parametrize("core", CORES, ids=[c.name for c in CORES])


def test_expected(core):
    expected = json.loads(expected_path(core).read_text())
    report = analyzed(os.environ["CORESCAN"], core)
    debug = {m["name"] for m in report["modules"] if m.get("debug_file")}
    assert without(debug, summary(report)) == without(debug, expected)


def test_small_enough_to_keep(core):
    assert core.stat().st_size < 1_500_000


def test_has_a_recipe_and_a_line(core):
    name = core.name.split(".")[0]
    assert (CORPUS / "recipes" / f"{name}.sh").is_file()
    assert f"`cores/{core.name}`" in (CORPUS / "README.md").read_text()


if __name__ == "__main__":
    for one in CORES:
        result = analyzed(sys.argv[1], one)
        debug_files = [m["debug_file"] for m in result["modules"] if m.get("debug_file")]
        if debug_files:
            sys.exit(
                f"{one.name}: remove {' '.join(debug_files)} first: names must not come from it"
            )
        text = json.dumps(summary(result), indent=1, ensure_ascii=False)
        expected_path(one).write_text(text + "\n")
