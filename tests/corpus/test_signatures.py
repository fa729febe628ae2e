#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Signatures are right as files; each has a case that it matches and one that it must not."""
import collections
import json
import os
import pathlib
import re
import subprocess

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
FILES = ROOT / "corpus/signatures"
CASES = sorted((ROOT / "corpus/cases").glob("*.jsonl"))


def corescan(*arguments, text=None):
    return subprocess.run(
        [os.environ["CORESCAN"], *map(str, arguments)], capture_output=True, text=True, input=text
    )


def cases():
    return [json.loads(line) for path in CASES for line in path.read_text().splitlines() if line]


def listed():
    """Rows of `corescan signatures list`, of the built-in set."""
    run = corescan("signatures", "list")
    assert run.returncode == 0, run.stderr
    return [line.split("\t") for line in run.stdout.splitlines()]


def test_files_are_right():
    run = corescan("signatures", "lint", FILES)
    assert run.returncode == 0, run.stdout + run.stderr


def test_ids_are_unique_and_built_in():
    written = re.findall(
        r"^id: (\S+)", "\n".join(p.read_text() for p in FILES.glob("*.yaml")), re.M
    )
    twice = [i for i, n in collections.Counter(written).items() if n > 1]
    assert not twice
    assert sorted(row[0] for row in listed()) == sorted(written)


@pytest.mark.parametrize("path", CASES, ids=[p.stem for p in CASES])
def test_cases_hold(path):
    run = corescan("signatures", "test", path)
    assert run.returncode == 0, run.stdout + run.stderr


def test_every_signature_has_both_cases():
    ids = {row[0] for row in listed()}
    matched = {c.get("expected") for c in cases()}
    avoided = {c.get("must_not") for c in cases()}
    assert not sorted(ids - matched), "without a case that it matches"
    assert not sorted(ids - avoided), "without a case that it must not match"
    assert not sorted((matched | avoided) - ids - {None, "unknown"}), "cases of no signature"


def test_cases_say_where_they_are_from():
    for case in cases():
        assert case["source"].strip()


def test_every_fact_is_described():
    header = (ROOT / "corescan/signature/facts.h").read_text()
    page = (ROOT / "docs/HOWTO-signatures.md").read_text()
    for word in re.findall(r'F\(\w+, "([\w-]+)"', header):
        assert f"| `{word}` |" in page, word


def test_show_has_all_of_a_signature():
    rows = listed()
    shown = corescan("signatures", "show", *(row[0] for row in rows))
    assert shown.returncode == 0, shown.stderr
    for row in rows:
        assert re.search(rf"^  id +{row[0]}$", shown.stdout, re.M), row[0]
    assert shown.stdout.count("Fits if there is") == len(rows)


def test_records_come_back_in_order():
    lines = ['{"source": "a/b#1"}', "", "not JSON", '{"source": "a/b#2", "message": 7}', "[]"]
    run = corescan("match", "--records", "-", text="\n".join(lines))
    assert run.returncode == 1 and run.stderr == ""
    rows = [json.loads(line) for line in run.stdout.splitlines()]
    assert [r["source"] for r in rows] == ["a/b#1", None, "a/b#2", None]
    assert all(r["findings"] == [] for r in rows)
    assert ["error" in r for r in rows] == [False, True, True, True]
    assert rows[1]["error"].startswith("line 3: not JSON")


def test_findings_of_a_record_are_those_of_the_schema():
    jsonschema = pytest.importorskip("jsonschema")
    schema = json.loads((ROOT / "docs/corescan-report.schema.json").read_text())
    found = []
    for path in CASES:
        for line in corescan("match", "--records", path).stdout.splitlines():
            found += json.loads(line)["findings"]
    assert found
    one_of_each = list({f["id"]: f for f in found}.values())
    jsonschema.validate({"schema": "corescan-report/1", "findings": one_of_each}, schema)


def test_a_folder_of_ones_own(tmp_path):
    (tmp_path / "mine.yaml").write_text(
        'id: my-problem\ntitle: "Mine"\ncategory: mine\nseverity: low\npriority: 99\n'
        "confidence: certain\nany:\n  - message: 'utterly my own trouble'\n"
        "explanation: This is a problem of mine alone, and nobody else has seen it.\n"
        "steps:\n  - Ask me.\n"
    )
    record = '{"message": "utterly my own trouble"}'
    run = corescan("match", "--records", "-", "--signatures", tmp_path, text=record)
    assert json.loads(run.stdout)["findings"][0]["id"] == "my-problem"
    assert json.loads(corescan("match", "--records", "-", text=record).stdout)["findings"] == []
    (tmp_path / "mine.yaml").write_text("id: my problem\n")
    run = corescan("match", "--records", "-", "--signatures", tmp_path, text=record)
    assert run.returncode == 2
    assert "mine.yaml:1: my problem: id: must be of a-z" in run.stderr
    core = next((ROOT / "corpus/cores").iterdir())
    run = corescan("--json", "--signatures", tmp_path, core)
    codes = [d["code"] for d in json.loads(run.stdout)["diagnostics"]]
    assert run.returncode == 1 and "signature-file" in codes
