#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Different known failures of the corpus have different fingerprints; if not, a file says why.

corpus/fingerprint-shared.json lists ids that share a short fingerprint, with the reason. Whoever
adds to it should first look whether an entry in corpus/signatures/fingerprint.yaml tells them
apart: `corescan match --all` shows what counted.
"""
import collections
import itertools
import json
import os
import pathlib
import subprocess

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
CASES = sorted((ROOT / "corpus/cases").glob("*.jsonl"))
SHARED = ROOT / "corpus/fingerprint-shared.json"


def matched(text):
    run = subprocess.run(
        [os.environ["CORESCAN"], "match", "--records", "-"],
        capture_output=True,
        text=True,
        input=text,
    )
    assert run.returncode == 0, run.stderr
    return [json.loads(line) for line in run.stdout.splitlines()]


@pytest.fixture(scope="module")
def prints():
    """(id or None, fingerprint, record) of each case."""
    found = []
    for path in CASES:
        lines = [line for line in path.read_text().splitlines() if line.strip()]
        for line, row in zip(lines, matched("\n".join(lines)), strict=True):
            record = json.loads(line)
            name = record.get("expected")
            name = None if name == "unknown" else name
            found.append((name, row["fingerprint"], record))
    return found


def listed():
    pairs = {}
    for entry in json.loads(SHARED.read_text()):
        assert len(entry["reason"]) > 40, entry
        for pair in itertools.combinations(sorted(entry["ids"]), 2):
            pairs.setdefault(pair, entry["reason"])
    return pairs


def test_known_failures_have_their_own(prints):
    by_short = collections.defaultdict(dict)
    for name, found, record in prints:
        if name and found["short"]:
            by_short[found["short"]].setdefault(name, (found["text"], record["source"]))
    shared = {}
    for short, names in by_short.items():
        for pair in itertools.combinations(sorted(names), 2):
            shared[pair] = (short, names[pair[0]], names[pair[1]])
    pairs = listed()
    assert not {p: shared[p] for p in shared.keys() - pairs.keys()}, "share a fingerprint"
    assert not sorted(pairs.keys() - shared.keys()), "are listed, but do not share one"


def test_most_have_one(prints):
    """Without one are those that say nothing: no telling frame, and no message but "Aborted"."""
    known = [found for name, found, _ in prints if name]
    assert sum(1 for f in known if f["short"]) > 0.9 * len(known)


def test_parts_add_up(prints):
    for _, found, _ in prints:
        parts = collections.Counter(f["part"] for f in found["frames"])
        assert set(parts) <= {"counted", "prefix", "long", "irrelevant", "cut"}
        assert all(f["text"] for f in found["frames"] if f["part"] in ("counted", "prefix", "long"))
        if found["short"]:
            assert found["short"].startswith(f"{found['algorithm']}-")
            assert found["long"].startswith(f"{found['algorithm']}-")
            shown = [f["text"] for f in found["frames"] if f["part"] in ("counted", "prefix")]
            assert all(text in found["text"] for text in shown) or len(found["text"]) > 4000


def test_a_folder_of_ones_own_changes_none(tmp_path):
    record = '{"signal": "SIGSEGV", "threads": [{"frames": ["mine::f (libmine.so)", "g (app)"]}]}'
    (tmp_path / "decoys.yaml").write_text("name: mine\nframes: ['mine::f']\n")
    run = subprocess.run(
        [os.environ["CORESCAN"], "match", "--records", "-", "--signatures", tmp_path],
        capture_output=True,
        text=True,
        input=record,
    )
    assert json.loads(run.stdout)["fingerprint"] == matched(record)[0]["fingerprint"]
    (tmp_path / "fingerprint.yaml").write_text("algorithm: 7\n")
    run = subprocess.run(
        [os.environ["CORESCAN"], "match", "--records", "-", "--signatures", tmp_path],
        capture_output=True,
        text=True,
        input=record,
    )
    assert run.returncode == 2 and "fingerprint.yaml:1: " in run.stderr
    assert "remove this file" in run.stderr


def test_lint_looks_into_the_lists(tmp_path):
    def lint(text):
        (tmp_path / "fingerprint.yaml").write_text(text)
        run = subprocess.run(
            [os.environ["CORESCAN"], "signatures", "lint", tmp_path], capture_output=True, text=True
        )
        assert run.returncode == 1
        return run.stdout + run.stderr

    lists = (
        "sentinel: ['^one$']\nirrelevant: ['^two$']\ninterpreter: ['^gc_']\nprefix: ['^{}$']\n"
        "silent_messages: ['four']\n"
    )
    assert "algorithm: must be a number" in lint("algorithm: x\n" + lists.format("three"))
    twice = lint("algorithm: 1\n" + lists.format("one"))
    assert "fingerprint.yaml:2: '^one$' occurs twice" in twice
    assert "is no regular expression" in lint("algorithm: 1\n" + lists.format("a(b"))
    assert "prefix is missing" in lint("algorithm: 1\nsentinel: [abc]\n")
    assert "there is no such key" in lint("algorithm: 1\nsentinels: [abc]\n")
