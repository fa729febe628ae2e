# SPDX-License-Identifier: GPL-3.0-or-later
"""Many reports of all forms in one text: each is what it is alone, none is lost, cut or joined."""
import itertools
import json
import pathlib

import pytest

FOLDER = pathlib.Path(__file__).parent / "reports"
FORMS = sorted(FOLDER.glob("*.txt"))
SEPARATORS = ("-----", "==========", "--- report {n} ---", "==> rank{n}.log <==", "\f", "#####")
MANY = 10000
# What prints its lines without a prefix, and the prefixes that launchers and collectors add.
BARE = ("asan", "eu-stack", "faulthandler", "gdb", "py-spy", "terminate", "traceback", "ucx")
LABELS = (
    "[rank{n}]: ",
    "[default{n}]:",
    "[1,{n}]<stderr>:",
    "(Worker pid={n}, ip=10.0.0.1) ",
    "worker-{n}  | ",
    "Nov 30 01:02:03 node1 python[{n}]: ",
    "2024-05-01T12:00:00.123456789Z stderr F [rank{n}]: ",
    "2024-05-01T12:00:00+0000 node1 python3[{n}]: ",
    "node1: [rank{n}]: ",
)


def of_text(corescan, tmp_path, text):
    path = tmp_path / "pasted"
    path.write_text(text)
    run = corescan("match", "--json", path, timeout=300)
    assert run.returncode in (0, 1), run.stderr
    return [json.loads(line) for line in run.stdout.splitlines()]


def substance(report):
    """All that is said of the process; where it stands in the text is no part of it."""
    keys = ("process", "crash", "threads", "messages", "findings", "fingerprint")
    return {key: report.get(key) for key in keys}


@pytest.fixture(scope="module")
def alone(corescan, tmp_path_factory):
    folder = tmp_path_factory.mktemp("alone")
    return {
        form.stem: [substance(r) for r in of_text(corescan, folder, form.read_text())]
        for form in FORMS
    }


@pytest.mark.parametrize("form", [form.stem for form in FORMS])
def test_one_report(alone, form):
    assert len(alone[form]) == 1


@pytest.mark.parametrize("separator", SEPARATORS)
def test_twice(corescan, alone, tmp_path, separator):
    """Each form after each other form."""
    pairs = list(itertools.product(FORMS, FORMS))
    text = "".join(
        f"{form.read_text()}{separator.format(n=n)}\n"
        for n, form in enumerate(itertools.chain.from_iterable(pairs))
    )
    reports = [json.dumps(substance(r)) for r in of_text(corescan, tmp_path, text)]
    want = [json.dumps(alone[form.stem][0]) for pair in pairs for form in pair]
    assert len(reports) == len(want)
    assert sorted(reports) == sorted(want)


@pytest.mark.parametrize("label", LABELS)
def test_ranks(corescan, alone, tmp_path, label):
    """Line by line through one another, as ranks write to one terminal."""
    columns = [
        [label.format(n=n + 1) + line for line in (FOLDER / f"{form}.txt").read_text().splitlines()]
        for n, form in enumerate(BARE)
    ]
    rows = itertools.chain.from_iterable(itertools.zip_longest(*columns))
    text = "\n".join(row for row in rows if row is not None) + "\n"
    reports = [json.dumps(substance(r)) for r in of_text(corescan, tmp_path, text)]
    assert sorted(reports) == sorted(json.dumps(alone[form][0]) for form in BARE)


def test_ten_thousand(corescan, alone, tmp_path):
    """As many as a tracker has; tests/bench measures how long it takes."""
    forms = list(itertools.islice(itertools.cycle(FORMS), MANY))
    text = "".join(
        f"{form.read_text()}{SEPARATORS[n % len(SEPARATORS)].format(n=n)}\n"
        for n, form in enumerate(forms)
    )
    reports = of_text(corescan, tmp_path, text)
    assert len(reports) == MANY
    got = sorted(json.dumps(substance(r)) for r in reports)
    assert got == sorted(json.dumps(alone[form.stem][0]) for form in forms)
