# SPDX-License-Identifier: GPL-3.0-or-later
"""What `corescan match` reads of Python's tools, against what the processes wrote of themselves."""
import json
import os
import pathlib
import resource
import signal
import subprocess
import sys
import time

import pytest
from conftest import ROOT

sys.path[:0] = [str(ROOT / "tests/python"), str(ROOT / "tests/bench")]

import fetch  # noqa: E402  (found by the line above)
import peers_install  # noqa: E402
import recipes  # noqa: E402

TELL = ROOT / "tests/programs/paste/tell.py"
PYTHONS = [*recipes.installed(), *fetch.interpreters()]
# Tracebacks of 3.13 are coloured, where they may be.
PLAIN = {"NO_COLOR": "1", "PYTHON_COLORS": "0", "LC_ALL": "C.UTF-8"}


def by_name(python):
    return python.name


@pytest.fixture(params=PYTHONS or [None], ids=lambda p: p.name if p else "none")
def python(request):
    if not request.param:
        pytest.skip("there is no Python that can be used")
    return request.param


def environment(python):
    return recipes.cores.environment(**PLAIN, **python.env)


def matched(corescan, text, folder):
    path = folder / "pasted.txt"
    path.write_text(text, encoding="utf-8")
    result = corescan("match", "--json", path)
    return [json.loads(line) for line in result.out.splitlines()]


def of_report(thread, full=True):
    """The Python frames, innermost first; some tools know where a function was defined, too."""
    return [
        [
            f["file"] if full else pathlib.Path(f["file"]).name,
            f["line"],
            f["function"].split(".")[-1],
        ]
        for f in thread["frames"]
        if f["kind"] == "python"
    ]


def own(thread, full=True):
    """What the process wrote; the file that was named on the command line has a folder."""
    return [[f[0] if full else pathlib.Path(f[0]).name, f[1], f[2]] for f in thread["frames"]]


def end(python, folder, *arguments):
    """A process that ends by itself: what it wrote, and what it printed."""
    told = folder / "told.json"
    run = subprocess.run(
        [python.path, TELL, arguments[0], told, *arguments[1:]],
        env=environment(python),
        cwd=folder,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        timeout=60,
        check=False,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_CORE, (0, 0)),
    )
    return json.loads(told.read_text()), run.stderr.decode("utf-8", "replace")


def plain(messages):
    """The interpreter names the module of an exception; the module traceback does from 3.10 on."""
    return [m[len("__main__.") :] if m.startswith("__main__.") else m for m in messages]


# ---- tracebacks ----


@pytest.mark.parametrize("kind", ["plain", "cause", "context", "recursion", "syntax"])
def test_traceback(corescan, python, tmp_path, kind):
    told, text = end(python, tmp_path, "raise", kind)
    (report,) = matched(corescan, text, tmp_path)
    threads = report["threads"]
    assert [t["crashed"] for t in threads] == [False] * (len(told) - 1) + [True]
    # What is told has the part of the stack below the exception's handler.
    for exception, thread in zip(reversed(told), threads):
        stack = of_report(thread)
        assert stack[: len(exception["frames"])] == exception["frames"]
    assert of_report(threads[-1])[-1][2] == "<module>"
    # Where in its text a SyntaxError is stands before its message.
    assert plain(report["messages"]) == plain(
        e["text"] if kind != "syntax" else e["text"].splitlines()[-1] for e in reversed(told)
    )
    assert report["crash"]["kind"] == "crash"


def test_group(corescan, python, tmp_path):
    if python.version < (3, 11):
        pytest.skip("exception groups are new in 3.11")
    told, text = end(python, tmp_path, "raise", "group")
    (report,) = matched(corescan, text, tmp_path)
    crashed = [t for t in report["threads"] if t["crashed"]]
    assert [of_report(t)[: len(told[0]["frames"])] for t in crashed] == [told[0]["frames"]]
    assert "ExceptionGroup: several (2 sub-exceptions)" in report["messages"]
    assert {"ValueError: one\n two\nthree", "Odd: two"} <= set(plain(report["messages"]))


def test_several(corescan, python, tmp_path):
    """As many reports as there were processes."""
    texts = [end(python, tmp_path, "raise", kind) for kind in ("plain", "cause", "context")]
    reports = matched(corescan, "".join(text for _, text in texts), tmp_path)
    assert plain(r["messages"][-1] for r in reports) == plain(told[0]["text"] for told, _ in texts)


# ---- faulthandler ----


def test_faulthandler(corescan, python, tmp_path):
    told, text = end(python, tmp_path, "fault")
    assert "Fatal Python error: Aborted" in text, text
    (report,) = matched(corescan, text, tmp_path)
    assert report["crash"]["kind"] == "crash" and report["crash"]["signal"] == "SIGABRT"
    assert "Fatal Python error: Aborted" in report["messages"][0]
    assert sorted(map(of_report, report["threads"])) == sorted(map(own, told))
    (crashed,) = [t for t in report["threads"] if t["crashed"]]
    assert of_report(crashed) == next(own(t) for t in told if t["main"])
    if "C stack trace" in text:
        assert "abort" in [f["function"] for f in crashed["frames"] if f["kind"] == "native"]


# ---- tools that look at processes ----


class Process:
    """One that waits."""

    def __init__(self, python, folder):
        told = folder / "told.json"
        self.process = subprocess.Popen(
            [str(python.path), str(TELL), "hang", str(told)],
            env=environment(python),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        self.pid = self.process.pid
        limit = time.monotonic() + 30
        while not told.exists():
            assert self.process.poll() is None and time.monotonic() < limit
            time.sleep(0.05)
        time.sleep(0.2)
        self.told = json.loads(told.read_text())


@pytest.fixture
def process(python, tmp_path):
    made = Process(python, tmp_path)
    yield made
    os.kill(made.pid, signal.SIGKILL)
    made.process.wait()


def tool(name, *arguments):
    """What it printed; what it cannot read skips the test."""
    path = peers_install.which(name)
    if not path:
        pytest.skip(f"no {name} (tests/bench/peers.py --install)")
    run = subprocess.run(
        [path, *map(str, arguments)],
        env={**os.environ, **PLAIN},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        timeout=120,
        check=False,
    )
    if run.returncode:
        pytest.skip(f"{name} {arguments[0]}: {run.stderr.strip()[-300:]}")
    return run.stdout


def check(report, process, full):
    """Threads and frames are the process's own."""
    assert report["crash"]["kind"] == "hang"
    want = {t["tid"]: own(t, full) for t in process.told}
    if None in want:  # before 3.8 the process cannot tell
        assert sorted(of_report(t, full) for t in report["threads"]) == sorted(
            own(t, full) for t in process.told
        )
    else:
        assert {t["tid"]: of_report(t, full) for t in report["threads"]} == want


def test_py_spy(corescan, process, tmp_path):
    text = tool("py-spy", "dump", "--pid", process.pid)
    (report,) = matched(corescan, text, tmp_path)
    check(report, process, full=False)
    assert report["process"]["pid"] == process.pid
    assert {t["name"] for t in report["threads"]} <= {t["name"] for t in process.told} | {None}
    (shown,) = matched(corescan, tool("py-spy", "dump", "--json", "--pid", process.pid), tmp_path)
    check(shown, process, full=True)

    def threads(report):
        return {t["tid"]: (t["name"], t["role"], of_report(t, False)) for t in report["threads"]}

    assert threads(shown) == threads(report)
    assert shown["fingerprint"]["short"] == report["fingerprint"]["short"]
    # With values of locals, the same frames.
    text = tool("py-spy", "dump", "--locals", "--pid", process.pid)
    (locals_too,) = matched(corescan, text, tmp_path)
    assert locals_too["threads"] == report["threads"]
    # Twice the same dump is two.
    assert len(matched(corescan, text + text, tmp_path)) == 2


def test_py_spy_native(corescan, process, tmp_path):
    text = tool("py-spy", "dump", "--native", "--pid", process.pid)
    (report,) = matched(corescan, text, tmp_path)
    (shown,) = matched(
        corescan, tool("py-spy", "dump", "--native", "--json", "--pid", process.pid), tmp_path
    )

    def threads(report):
        return {
            t["tid"]: [(f["kind"], f["function"], f["module"]) for f in t["frames"]]
            for t in report["threads"]
        }

    assert threads(report) == threads(shown)
    check(report, process, full=False)
    assert any(f["kind"] == "native" for t in report["threads"] for f in t["frames"])


@pytest.mark.parametrize("options", [(), ("--locals",), ("--native",)], ids=" ".join)
def test_pystack(corescan, process, tmp_path, options):
    text = tool("pystack", "remote", *options, process.pid)
    if "Unable to merge" in text:
        pytest.skip("pystack cannot bring Python's and native frames together")
    (report,) = matched(corescan, text, tmp_path)
    check(report, process, full=True)
    (main,) = [t for t in report["threads"] if t["role"] == "main"]
    assert main["tid"] == process.pid
    assert len(matched(corescan, text + text, tmp_path)) == 2


def test_pystack_core(corescan, python, tmp_path):
    told = tmp_path / "told.json"
    folder = tmp_path / "core"
    folder.mkdir()
    command = [str(python.path), str(TELL), "fault", str(told)]
    try:
        core = recipes.cores.by_kernel(command, folder, env={**PLAIN, **python.env})
    except recipes.cores.Unavailable as reason:
        pytest.skip(str(reason))
    try:
        text = tool("pystack", "core", core.path, python.path)
    finally:
        os.unlink(core.path)
    (report,) = matched(corescan, text, tmp_path)
    assert report["crash"]["signal"] == "SIGABRT" and report["crash"]["kind"] == "crash"
    threads = json.loads(told.read_text())
    assert sorted(map(of_report, report["threads"])) == sorted(map(own, threads))
    (main,) = [t for t in report["threads"] if t["role"] == "main"]
    assert main["tid"] == report["process"]["pid"]
