# SPDX-License-Identifier: GPL-3.0-or-later
"""Reports for an issue, of real cores and of the golden pages, rendered as a tracker does."""
import json
import os
import subprocess

import markdown_page
import pytest
from conftest import ROOT, allow_cores

SAMPLE = ROOT / "corpus/cores/python-ctypes-null.core.xz"
GOLDEN = sorted((ROOT / "tests/unit/golden").glob("issue-*.md"))

# A program whose every name is an attack: on the block, on HTML, on the reader and on strangers.
HOSTILE = r'''
import ctypes, sys, threading, time

def wait(lock):
    with lock:
        pass

lock = threading.Lock()
lock.acquire()
NAMES = [
    "```\n</details>\n@octocat", "| a | b |", "![x](http://evil.example/x.png)", "\u202eexe.txt",
    "<img src=x onerror=alert(1)>", "fixes #12", "</summary></details>", "~~~", "[a](javascript:b)",
]
for name in NAMES:
    threading.Thread(target=wait, args=(lock,), name=name, daemon=True).start()
time.sleep(0.3)
exec(compile("""
def evil():
    try:
        raise ValueError('```\\n</details>\\n<script>@octocat #1 hf_abcdefghijklmnopqrstuvwxyz')
    except ValueError:
        ctypes.string_at(0)
""", "/home/someone/```</details>|@octocat.py", "exec"))
evil()
'''

LAST_WORDS = r'''
import ctypes
libc = ctypes.CDLL(None)
libc.__assert_fail(b"login(password='hunter2secret')", b"/home/someone/x.c", 7, b"f")
'''


def crash(folder, program, *arguments, signal):
    """The core of a Python program that dies of a signal."""
    python = os.environ.get("CORESCAN_TEST_PYTHON", "/usr/bin/python3")
    run = subprocess.run(
        [python, "-c", program, *arguments],
        cwd=folder,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        preexec_fn=allow_cores,
        check=False,
        timeout=60,
    )
    cores = list(folder.iterdir())
    if run.returncode != -signal or len(cores) != 1:
        pytest.skip(f"no core: {python} ended with {run.returncode}, {len(cores)} files")
    return cores[0]


@pytest.fixture(scope="module")
def hostile_core(tmp_path_factory, cores_land_here):
    arguments = ["--token", "abcdef123", "|@octocat|", "```", "https://me:pw12345@host/x"]
    return crash(tmp_path_factory.mktemp("hostile"), HOSTILE, *arguments, signal=11)


def report(corescan, *arguments):
    run = corescan("--markdown", *arguments)
    assert run.returncode in (0, 1), run.stderr
    return run.stdout


@pytest.mark.parametrize("path", GOLDEN, ids=lambda path: path.stem)
def test_golden_page_renders_to_what_was_written(path):
    page = markdown_page.check(path.read_text())
    assert page.words


def test_there_are_golden_pages():
    assert len(GOLDEN) >= 5


def test_sample_core(corescan):
    text = report(corescan, SAMPLE)
    page = markdown_page.check(text)
    assert text.startswith("**SIGSEGV: write to address 0x10")
    assert text.splitlines()[-1].startswith("corescan ")
    assert "| python | `3.11.2` |" in text
    assert "| rank | `6 of 64, local rank 6` |" in text
    assert "py   copy_to_device at" in text
    assert 'line 13 in copy_to_device\n  File "' in text
    assert "(--all)" not in text and "null" not in text.replace("NULL", "")
    assert len(page.summaries) == 2 and page.summaries[1] == "Environment"
    assert "load_batches" in page.summaries[0]


def test_real_core_says_what_json_says(corescan, python_core):
    text = report(corescan, python_core)
    told = json.loads(corescan("--json", python_core).stdout)
    page = markdown_page.check(text)
    code = "".join(page.code)
    for version in told["versions"].values() if isinstance(told.get("versions"), dict) else []:
        if isinstance(version, str):
            assert version in code
    for frame in told["threads"][0]["frames"]:
        if frame["kind"] == "python":
            assert frame["function"] in code
    assert "SIGSEGV" in text
    assert "ctypes.string_at(0)" in code


def test_hostile_names_stay_text(corescan, hostile_core):
    text = report(corescan, hostile_core, "--source", "--locals")
    page = markdown_page.check(text)
    code = "".join(page.code)
    assert "@octocat" in code
    assert "\u202e" not in text and "u{202e}" in text.replace("\\xe2\\x80\\xae", "u{202e}")
    assert "/home/someone" not in text and "~/```</details>|@octocat.py" in code
    assert "ValueError: ```" in code


def test_secrets_are_masked(corescan, hostile_core, tmp_path, cores_land_here):
    text = report(corescan, hostile_core)
    assert "--token" in text and "abcdef123" not in text
    assert "pw12345" not in text
    assert "hf_abcdefghijklmnopqrstuvwxyz" not in text
    core = crash(tmp_path, LAST_WORDS, signal=6)
    for option in ("--markdown", "--json", "--quiet"):
        said = corescan(option, core).stdout
        # The program's own text is its command line; its last words are the assertion.
        assert "Assertion" in said
        assert "hunter2secret" not in said


def test_several_cores_share_an_issue(corescan, python_core, hostile_core):
    text = report(corescan, python_core, hostile_core, SAMPLE)
    page = markdown_page.check(text)
    assert page.opened["h2"] == 3
    assert "## Core 2 of 3: " in text and "==>" not in text
    assert text.count("\ncorescan ") == 3


def test_too_many_cores_are_refused(corescan):
    run = corescan("--markdown", *[SAMPLE] * 33)
    assert run.returncode == 2 and run.stdout == ""
    assert "32 cores" in run.stderr


@pytest.mark.parametrize("other", ["--json", "--python"])
def test_one_form_at_a_time(corescan, other):
    run = corescan("--markdown", other, SAMPLE)
    assert run.returncode == 2 and run.stdout == ""
    assert f"--markdown and {other} are two forms" in run.stderr


def test_output_file(corescan, tmp_path):
    path = tmp_path / "issue.md"
    run = corescan("--markdown", "-o", path, SAMPLE)
    assert run.returncode in (0, 1) and run.stdout == ""
    assert path.read_text() == report(corescan, SAMPLE)


def test_unreadable_core_leaves_the_page_alone(corescan, tmp_path):
    empty = tmp_path / "empty"
    empty.write_bytes(b"")
    run = corescan("--markdown", empty, SAMPLE)
    assert run.returncode == 3
    assert str(empty) in run.stderr
    assert "## Core 2 of 2: " in run.stdout
