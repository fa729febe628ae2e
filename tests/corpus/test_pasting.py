#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""A report means the same however it comes: as a record, or as text in the form of some tool."""
import bisect
import json
import os
import pathlib
import subprocess

import pasting
import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
CASES = list(pasting.cases(ROOT))
FORMS = ("gdb", "eu-stack", "py-spy", "faulthandler", "log")


def corescan(*arguments, text):
    run = subprocess.run(
        [os.environ["CORESCAN"], *arguments], input=text, capture_output=True, text=True
    )
    assert run.returncode in (0, 1), run.stderr
    return [json.loads(line) for line in run.stdout.splitlines()]


def first(answer):
    return answer["findings"][0]["id"] if answer["findings"] else None


@pytest.fixture(scope="module")
def records():
    return corescan("match", "--records", "-", text="\n".join(map(json.dumps, CASES)))


@pytest.fixture(scope="module", params=FORMS)
def pasted(request, records):
    """[(case, its answer as a record, its reports as text)] of one form, all out of one text."""
    lines, starts, rows = [], [], []
    for case, answer in zip(CASES, records):
        text = pasting.forms(case).get(request.param)
        if text is None:
            continue
        rows.append((case, answer, []))
        starts.append(len(lines) + 1)
        lines += [f"==> {case['source']} <==", *text.split("\n"), ""]
    for report in corescan("match", "--json", "-", text="\n".join(lines)):
        rows[bisect.bisect(starts, report["input"]["line"]) - 1][2].append(report)
    assert len(rows) > 20
    return rows


# What the text in that form cannot say.
KNOWN = {
    ("gdb", "espressomd/espresso#2821"): "the message is an argument in a frame, not a line",
    ("log", "modelscope/ms-swift#64"): "a traceback's line of source, without the traceback",
}


def form_of(request):
    return request.node.callspec.params["pasted"]


def test_each_text_is_one_report(pasted, request):
    """But for a log in which nothing tells of an error: of that there is none."""
    assert not [
        (case["source"], len(found), case.get("message"))
        for case, answer, found in pasted
        if len(found) != 1
        and (found or first(answer) or pasting.threads(case))
        and not pasting.is_told_apart(case)
        and (form_of(request), case["source"]) not in KNOWN
    ]


def test_it_means_the_same(pasted, request):
    wrong = [
        (case["source"], first(answer), [first(report) for report in found])
        for case, answer, found in pasted
        if first(answer) not in [first(report) for report in found or [{"findings": []}]]
        and (form_of(request), case["source"]) not in KNOWN
    ]
    assert not wrong


def test_frames_are_those_of_the_record(pasted):
    for case, _, found in pasted:
        if pasting.is_told_apart(case):
            continue
        want = [native + python for _, native, python in pasting.threads(case)]
        have = [t["frames"] for report in found for t in report["threads"]]
        assert sorted(map(len, filter(None, want))) == sorted(map(len, filter(None, have)))
