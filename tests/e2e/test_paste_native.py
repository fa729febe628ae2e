# SPDX-License-Identifier: GPL-3.0-or-later
"""What debuggers print of real cores, read as text, against what they say to programs."""
import json
import os
import pathlib
import re
import subprocess
import textwrap

import cores
import pytest

HERE = pathlib.Path(__file__).resolve().parent
HOWS = ("abort", "assert", "throw", "handler", "segv", "free")
SIGNALS = {"segv": "SIGSEGV"}
ALL = "thread apply all bt"
PYTHONS = cores.pythons()


def narrow(text):
    """As a terminal of 80 columns breaks it."""
    return "\n".join(
        line[i : i + 80] for line in text.split("\n") for i in range(0, max(len(line), 1), 80)
    )


def by_words(text):
    """As a tracker or a mailer breaks it: at blanks, and what is longer than a line stays whole."""
    return "\n".join(
        part
        for line in text.split("\n")
        for part in (
            textwrap.wrap(line, 100, break_long_words=False, break_on_hyphens=False) or [line]
        )
    )


def quoted(text):
    return "".join(f"> {line}\n" for line in text.split("\n"))


def with_windows_ends(text):
    return text.replace("\n", "\r\n")


CHANGES = (None, narrow, by_words, quoted, with_windows_ends)


class Core:
    def __init__(self, core, how, truth):
        self.path, self.executable, self.how = core.path, core.executable, how
        self.truth = truth

    def gdb(self, *commands):
        return gdb(self, *[word for command in commands for word in ("-ex", command)])


def gdb(core, *arguments, **env):
    run = cores.run_gdb(
        *arguments, core.executable, core.path, env=cores.environment(DEBUGINFOD_URLS="", **env)
    )
    assert run.returncode == 0, run.stdout
    return run.stdout


def stacks_of(core, folder):
    """{tid: [[function, file, line, library]]} as gdb's Python tells."""
    out = folder / "stacks.jsonl"
    gdb(core, "-x", HERE / "gdb_stacks.py", CORESCAN_GDB_STACKS=str(out))
    rows = [json.loads(line) for line in out.read_text(encoding="utf-8").splitlines()]
    return {row["tid"]: row["frames"] for row in rows}


@pytest.fixture(scope="module", params=HOWS)
def dead(request, recipes):
    command = [recipes.program("spelled.cc", "-O1"), request.param]
    folder = recipes.new("spelled")
    core = recipes.by_kernel(command, folder)
    recipes.need("gdb")
    yield Core(core, request.param, stacks_of(core, folder))
    core.path.unlink()


@pytest.fixture
def read(corescan):
    def run(text):
        result = corescan("match", "--json", "-", stdin=None, input=text.encode())
        assert result.status in (0, 1), result.err
        return [json.loads(line) for line in result.out.splitlines()]

    return run


def frames_of(thread):
    return [[f["function"], f["file"], f["line"], f["module"]] for f in thread["frames"]]


def squeeze(word):
    """Without what a broken line may lose: a blank, and a bracket that looks like a quote mark."""
    return re.sub("[ >]", "", word) if isinstance(word, str) else word


def same(report, truth, squeezed=False):
    """The threads of the report are those of the truth, frame by frame."""
    keep = squeeze if squeezed else lambda word: word
    have = {t["tid"]: [[keep(w) for w in f] for f in frames_of(t)] for t in report["threads"]}
    want = {tid: [[keep(w) for w in f] for f in frames] for tid, frames in truth.items()}
    assert set(have) == set(want)
    for tid, frames in want.items():
        assert have[tid] == frames, tid


@pytest.mark.parametrize("change", CHANGES, ids=lambda f: f.__name__ if f else "as it is")
@pytest.mark.parametrize("command", (ALL, "thread apply all bt full"), ids=("bt", "bt full"))
def test_gdb(dead, read, command, change):
    text = dead.gdb("set print frame-arguments all", command)
    if change in (narrow, by_words) and "full" in command:
        pytest.skip("what is broken among values of variables cannot be told from them")
    reports = read(change(text) if change else text)
    assert len(reports) == 1
    same(reports[0], dead.truth, squeezed=change in (narrow, by_words))


def test_gdb_wraps(dead, read):
    """gdb's own way to fill a terminal."""
    reports = read(dead.gdb("set width 80", ALL))
    assert len(reports) == 1
    same(reports[0], dead.truth)


def test_gdb_session(dead, read):
    """What a person types: the same threads, however often they are printed."""
    reports = read(dead.gdb("bt", "info threads", ALL, "thread 2", "bt"))
    assert len(reports) == 1
    same(reports[0], dead.truth)


def has_libc_names():
    try:
        cores.need_libc_names()
    except cores.Unavailable:
        return False
    return True


def test_gdb_who_died(dead, read):
    (report,) = read(dead.gdb(ALL))
    crashed = [t for t in report["threads"] if t["crashed"]]
    assert report["crash"]["signal"] == SIGNALS.get(dead.how, "SIGABRT")
    assert len(crashed) == 1
    assert "main" in [f["function"] for f in crashed[0]["frames"]]
    if dead.how == "assert" and has_libc_names():  # the text is an argument of __assert_fail()
        assert any("no (text) \\\" from here" in m for m in report["messages"]), report["messages"]


def test_many(dead, read):
    """Each core is a report, and all together are as many."""
    text = dead.gdb(ALL)
    reports = read(text * 20)
    assert len(reports) == 20
    for report in reports:
        same(report, dead.truth)


def output_of(*command):
    run = subprocess.run(
        [str(word) for word in command],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        errors="replace",
        timeout=120,
        env=cores.environment(DEBUGINFOD_URLS=""),
        check=False,
    )
    return run.stdout


def is_own(frame):
    return frame["module"] == "spelled"


def test_eu_stack(dead, corescan, recipes, read):
    """By the symbol tables alone, as corescan's own frames are."""
    recipes.need("eu-stack")
    text = output_of("eu-stack", "-m", "-e", dead.executable, "--core", dead.path)
    (report,) = read(text)
    truth = corescan.report(dead.path)
    assert [t["tid"] for t in report["threads"]] == [t["tid"] for t in truth["threads"]]
    for have, want in zip(report["threads"], truth["threads"]):
        # Symbols of libraries have aliases, of which each takes another.
        own = [f["function"] for f in want["frames"] if is_own(f) and f["kind"] == "native"]
        assert own and [f["function"] for f in have["frames"] if is_own(f)] == own
    assert report["threads"][0]["crashed"] == (dead.how != "segv")


def test_lldb(dead, recipes, read):
    """It names no tids, and files without folders; lines are those that gdb finds."""
    recipes.need("lldb")
    text = output_of("lldb", "-b", "-o", "bt all", "-c", dead.path, dead.executable)
    if "frame #0" not in text:
        pytest.skip("lldb cannot read the core")
    (report,) = read(text)

    def places(frames):
        """Lines of the program itself: of libraries each debugger has its own."""
        return [f[2] for f in frames if f[1] and os.path.basename(f[1]) == "spelled.cc"]

    have = [places(frames_of(thread)) for thread in report["threads"]]
    assert sorted(have) == sorted(map(places, dead.truth.values()))
    assert [t["crashed"] for t in report["threads"]].count(True) == 1


def test_live_process(recipes, read):
    """gdb -p: nobody died."""
    recipes.need("gdb")
    program = recipes.program("spelled.cc", "-O1")
    folder = recipes.new("live")
    process = recipes.start(
        [program, "wait"], folder, cores.DEFAULT_FILTER, stdout=subprocess.PIPE
    )
    try:
        recipes.until_ready(process)
        run = recipes.run_gdb("-p", process.pid, "-ex", ALL)
    finally:
        process.kill()
        process.wait()
    if "ptrace" in run.stdout:
        pytest.skip("no process may be looked at here")
    (report,) = read(run.stdout)
    assert report["crash"]["kind"] == "hang"
    assert len(report["threads"]) == 4
    assert not any(t["crashed"] for t in report["threads"])
    mains = [t for t in report["threads"] if t["role"] == "main"]
    assert len(mains) == 1 and mains[0]["tid"] == process.pid


@pytest.mark.parametrize("python", [path for _, path in PYTHONS[-2:]], ids=str)
def test_interpreters(recipes, read, python, tmp_path):
    core = recipes.of_python(python, recipes.new("python"))
    recipes.need("gdb")
    truth = stacks_of(core, tmp_path)
    (report,) = read(gdb(core, "-ex", ALL))
    same(report, truth)
    core.path.unlink()
