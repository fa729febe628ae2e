# SPDX-License-Identifier: GPL-3.0-or-later
"""The table of peers: each tool's output is read right, and what is wrong is called wrong.

The cores are real, and so is what each tool prints about them.
"""
import copy
import json
import os
import pathlib
import subprocess
import sys

import pytest

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

import bench  # noqa: E402  (found by the line above)
import outputs  # noqa: E402
import peers  # noqa: E402
import peers_cores  # noqa: E402
import peers_install  # noqa: E402

THREADS = 15  # of tests/python/programs/threads.py, one of which has no Python frame
CORESCAN = os.environ["CORESCAN"]
PYTHON_TOOLS = ("corescan", "gdb py-bt", "pystack", "pystack, Python only", "py-spy")


@pytest.fixture(scope="module")
def presents():
    found, _ = peers.tools_present(CORESCAN)
    return {p.tool.name: p for p in found}


def made(folder, *wanted):
    """The first of these (version, program) that this machine can make."""
    for minor, program in wanted:
        try:
            return peers_cores.make_python(minor, program, folder)
        except (peers_cores.Unavailable, peers_cores.cores.Unavailable) as reason:
            why = reason
    return pytest.skip(str(why))


@pytest.fixture(scope="module")
def core(tmp_path_factory):
    versions = ("3.12", "3.13", "3.10", "3.11")
    folder = tmp_path_factory.mktemp("threads")
    return made(folder, *((version, "threads") for version in versions))


@pytest.fixture(scope="module")
def reference(core, presents):
    reference, aliases, why = peers.reference_of(core, list(presents.values()))
    assert why is None
    return reference, aliases


@pytest.fixture(scope="module")
def shown(core, presents, tmp_path_factory):
    """shown(tool): what it shows of the core, read by its parser."""
    watch = bench.Stopwatch(tmp_path_factory.mktemp("watch"))
    known = {}

    def show(name, core=core):
        if name not in presents:
            pytest.skip(f"{name} is not installed")
        if (name, core.path) not in known:
            known[name, core.path] = peers.first_run(watch, presents[name], core, 120)
        return known[name, core.path]

    return show


def read(shown, name):
    found, why = shown(name)
    assert why is None, why
    return found


@pytest.mark.parametrize("name", PYTHON_TOOLS)
def test_python_frames_are_those_that_the_process_wrote(shown, core, name):
    verdict = outputs.judge_python(read(shown, name), core.truth)
    written = sum(len(thread["frames"]) for thread in core.truth["threads"])
    assert written > 40
    assert verdict == outputs.Judged(written, written, 0)


@pytest.mark.parametrize("name", PYTHON_TOOLS)
def test_a_wrong_truth_is_called_wrong(shown, core, name):
    found = read(shown, name)
    for change in (wrong_line, wrong_name, wrong_file, frame_more, thread_more):
        truth = copy.deepcopy(core.truth)
        change(truth)
        assert not outputs.right(outputs.judge_python(found, truth)), change.__name__
    truth = copy.deepcopy(core.truth)
    truth["threads"][0]["frames"].pop()
    verdict = outputs.judge_python(found, truth)
    assert verdict.equal == verdict.total and verdict.invented == 1
    assert not outputs.right(verdict)


def wrong_line(truth):
    truth["threads"][0]["frames"][0][2] += 1


def wrong_name(truth):
    truth["threads"][0]["frames"][0][0] = "another"


def wrong_file(truth):
    truth["threads"][-1]["frames"][0][1] += "x"


def frame_more(truth):
    truth["threads"][-1]["frames"].append(["main", "main.py", 1, "main"])


def thread_more(truth):
    truth["threads"].append({"tid": 1, "ident": 1, "frames": [["main", "main.py", 1, "main"]]})


def test_frames_in_another_order_are_wrong(shown, core):
    found = copy.deepcopy(read(shown, "corescan"))
    found.threads[core.truth["tid"]].reverse()
    assert not outputs.right(outputs.judge_python(found, core.truth))
    assert outputs.judge_weave(found, core.truth, core.symbols) is False


@pytest.mark.parametrize("name", ("corescan", "eu-stack", "eu-stack -i", "gdb bt"))
def test_native_frames_are_those_of_gdb(shown, reference, name):
    frames, aliases = reference
    verdict = outputs.judge_native(read(shown, name), frames, aliases)
    assert len(frames) == len(read(shown, name).threads) == THREADS
    assert verdict.total > 100
    assert verdict.equal == verdict.total


@pytest.mark.parametrize("name", ("lldb", "pystack"))
def test_native_frames_of_tools_without_pcs(shown, reference, name):
    """pystack leaves frames out, lldb puts some in; neither may fall short by a misreading."""
    frames, aliases = reference
    verdict = outputs.judge_native(read(shown, name), frames, aliases)
    assert len(read(shown, name).threads) == THREADS
    total = verdict.total if name == "lldb" else verdict.equal + verdict.invented
    assert verdict.equal >= 0.95 * total > 50


def test_native_frames_that_gdb_does_not_have_are_not_its(shown, reference):
    frames, aliases = reference
    found = copy.deepcopy(read(shown, "eu-stack"))
    total = outputs.judge_native(found, frames, aliases).equal
    tid, stack = next((t, f) for t, f in found.threads.items() if len(f) > 5)
    stack[4] = stack[4]._replace(name="another")
    stack[3] = stack[3]._replace(pc=stack[3].pc + 1)
    del stack[1]
    assert outputs.judge_native(found, frames, aliases) == outputs.Judged(total - 3, total, 2)
    del found.threads[tid]
    assert outputs.judge_native(found, frames, aliases).equal < total - 5


def test_inlined_calls(shown, core):
    """Those of gdb, by its own mark: they have no frame. Three tools agree."""
    if not core.symbols:
        pytest.skip("this Python is stripped: nothing in it is known to be inlined")
    number = {
        name: peers.count(read(shown, name), "inline")
        for name in ("corescan", "gdb bt", "eu-stack -i")
    }
    assert number["corescan"] > 10
    assert len(set(number.values())) == 1, number
    assert peers.count(read(shown, "pystack"), "inline") > 10
    assert peers.count(read(shown, "eu-stack"), "inline") == 0


@pytest.mark.parametrize("name", ("corescan", "pystack"))
def test_merged_stacks(shown, core, name):
    assert outputs.merged(read(shown, name)) == (THREADS - 1, THREADS - 1)
    assert outputs.judge_weave(read(shown, name), core.truth, core.symbols) is True


def test_a_weave_needs_its_native_frames(shown, core):
    found = copy.deepcopy(read(shown, "corescan"))
    stack = found.threads[core.truth["tid"]]
    stack[:] = [f for f in stack if f.kind == "python"]
    assert outputs.judge_weave(found, core.truth, core.symbols) is False
    # Without them the thread is merged no more.
    assert outputs.merged(found) == (THREADS - 2, THREADS - 1)


def test_python_3_8(tmp_path, shown):
    """Before 3.11 py-spy knows Python's idents of threads only."""
    core = made(tmp_path, ("3.8", "threads"))
    for name in ("corescan", "pystack", "py-spy"):
        found, why = shown(name, core)
        assert why is None, why
        assert outputs.right(outputs.judge_python(found, core.truth)), name


def test_native_program(tmp_path, shown, presents):
    core = peers_cores.make_native(tmp_path)
    reference, aliases, why = peers.reference_of(core, list(presents.values()))
    assert why is None
    for name in ("corescan", "eu-stack", "gdb bt", "lldb"):
        found, why = shown(name, core)
        assert why is None, why
        names = [outputs.base_name(f.name) for f in found.threads[min(found.threads)]]
        assert names.index("__cxa_throw") < names.index("find") < names.index("main"), name
        verdict = outputs.judge_native(found, reference, aliases)
        assert verdict.equal == verdict.total, name
    found, why = shown("pystack", core)
    assert found is None and "status 1" in why  # it is for Python


def test_names():
    plain = {
        "std::_Function_handler<int (int), main::{lambda(int)#1}>::_M_invoke(int&&)": "_M_invoke",
        "(anonymous namespace)::Guard::~Guard()": "~Guard",
        "engine::Table<std::string, int>::find(int) const [clone .isra.0] [clone .cold]": "find",
        "void std::__invoke_impl<void, main::{lambda()#2}>(std::__invoke_other)": "__invoke_impl",
        "std::function<int (int)>::operator()(int) const": "operator_call",
        "bool operator< <int>(int, int)": "operator_compares",
        "__libc_start_main@@GLIBC_2.34": "__libc_start_main",
        "__new_sem_wait_slow64.constprop.0": "__new_sem_wait_slow64",
        "start": "start",
        "??": None,
        None: None,
    }
    assert {name: outputs.base_name(name) for name in plain} == plain


@pytest.mark.parametrize("parse", [t.parse for t in peers.TOOLS], ids=[t.name for t in peers.TOOLS])
def test_output_that_is_none_is_no_empty_answer(parse):
    for text in ("", "error: it failed\n"):
        with pytest.raises((outputs.Unreadable, ValueError)):
            parse(text)


def run(*arguments):
    command = [sys.executable, HERE / "peers.py", "--corescan", CORESCAN, *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def given(core, tmp_path):
    truth = tmp_path / "truth.json"
    truth.write_text(json.dumps(core.truth))
    return f"{core.path},{core.executable},{truth}"


def test_the_table(core, tmp_path, presents):
    done = run("--runs", "1", "--json", given(core, tmp_path))
    assert done.returncode == 0, done.stderr
    result = json.loads(done.stdout)
    assert {t["name"] for t in result["tools"]} == set(presents)
    rows = result["cores"][0]["rows"]
    assert set(rows) == set(presents)
    for name, row in rows.items():
        assert "failed" not in row, (name, row)
        assert row["wall"] > 0 and row["rss_kib"] > 1000
        assert row["threads"] in (THREADS, THREADS - 1)
    assert rows["corescan"]["python_equal"] == rows["corescan"]["python_total"] > 40
    assert rows["eu-stack"]["python"] is None and rows["py-spy"]["native"] is None


def test_a_page_is_written_between_its_marks(core, tmp_path):
    page = tmp_path / "page.md"
    page.write_text("before\n" + "\nold\n".join(peers.MARKS) + "\nafter\n")
    wrong = copy.deepcopy(core.truth)
    wrong_line(wrong)
    done = run("--runs", "1", "--write", page, given(core._replace(truth=wrong), tmp_path))
    assert done.returncode == 0, done.stderr
    text = page.read_text()
    assert text.startswith(f"before\n{peers.MARKS[0]}\n") and text.endswith("\nafter\n")
    assert "| eu-stack |" in text and "WRONG" in text and "old" not in text
    page.write_text("no marks")
    refused = run("--runs", "1", "--write", page, given(core, tmp_path))
    assert refused.returncode == 1 and "peers: begin" in refused.stderr
    assert page.read_text() == "no marks"


def test_what_cannot_be_had_is_named(core, tmp_path):
    folder = tmp_path / "bin"
    folder.mkdir()
    done = subprocess.run(
        [sys.executable, HERE / "peers.py", "--runs", "1", "--corescan", folder / "none"]
        + [given(core, tmp_path), tmp_path / "none"],
        env={**os.environ, "PATH": str(folder)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert "tool gdb bt: not installed: gdb" in done.stdout
    assert "tool corescan: not installed" in done.stdout
    assert "there is no such core file" in done.stdout


def test_the_lock_has_hashes():
    locked = peers_install.locked()
    assert set(locked) == {"py-spy", "pystack"}
    assert all("==" in text and "--hash=sha256:" in text for text in locked.values())
