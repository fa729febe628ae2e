# SPDX-License-Identifier: GPL-3.0-or-later
"""The rig's own parts, without torch and without the network: what they read, check and say."""
import json
import os
import pathlib
import re
import subprocess
import sys
import textwrap
import threading

import pytest

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

import check  # noqa: E402  (found by the line above)
import fetch  # noqa: E402
import launch  # noqa: E402
import lock  # noqa: E402
import matrix  # noqa: E402
import scenario as scenarios  # noqa: E402
import truths  # noqa: E402

CORESCAN = os.environ.get("CORESCAN", fetch.ROOT / "build/bin/corescan")
PAIRS = [(torch, python) for torch, pythons in lock.TARGETS.items() for python in pythons]
NEW = {"torch": "2.14.1", "python": "3.13"}

PARKED = """
    import sys, threading, inside
    SCENARIO = {
        "about": "two threads", "core": ["kernel", "kill", "gcore"], "seconds": 5,
        "expect": {
            "signal": "SIGABRT",
            "crashed": {"role": "main", "stack": ["abort", "dies", "<module>"]},
            "threads": [{"name": "worker", "stack": ["park", "run"]}],
            "stderr": "about to die",
        },
    }
    def dies():
        inside.record(sys._getframe()), inside.end()
    event = threading.Event()
    threading.Thread(target=inside.park, args=(event,), name="worker", daemon=True).start()
    print("about to die", file=sys.stderr, flush=True)
    dies()
"""
CRASH = """
    import ctypes, threading, inside
    SCENARIO = {
        "about": "a read of address 0 inside a call", "truth": "faulthandler",
        "expect": {"signal": "SIGSEGV", "crashed": {"role": "main", "stack": ["Reader.read"]}},
    }
    class Reader:
        def read(self, depth):
            return self.read(depth - 1) if depth else ctypes.string_at(0)
    event = threading.Event()
    threading.Thread(target=inside.park, args=(event,), daemon=True).start()
    inside.watch_crash()
    Reader().read(%d)
"""
RAISES = """
    import inside
    SCENARIO = {
        "about": "nobody catches it",
        "expect": {
            "signal": "SIGABRT",
            "exception": {"type": "ValueError", "message": "^no .* here"},
            "stderr": "ValueError: no bananas here",
        },
    }
    inside.die_of_exceptions()
    def shop():
        raise ValueError("no bananas here")
    shop()
"""
CHILD = """
    import os, sys, time, inside
    SCENARIO = {"about": "the child dies", "of": "child", "core": ["kernel", "kill", "gcore"],
                "expect": {"signal": "SIGABRT", "crashed": {"stack": ["in_child"]}}}
    def in_child():
        inside.record(sys._getframe()), inside.end()
    if os.fork() == 0:
        in_child()
    os.wait()
    time.sleep(1000)
"""
LEAVES = """
    import sys, inside
    SCENARIO = {"about": "ends well", "seconds": 1, "expect": {"signal": "SIGABRT"}}
    sys.exit("I would rather not")
"""
RANKS = """
    import os, sys, inside
    SCENARIO = {"about": "one of two dies", "ranks": 2, "seconds": 5, "expect": {
        "signal": "SIGABRT", "ranks": {"1": {"core": "none", "exit": 3}}}}
    if os.environ["RANK"] == "1":
        sys.exit(3)
    inside.record(sys._getframe()), inside.end()
"""


def written(folder, text, name="sample"):
    path = folder / f"{name}.py"
    path.write_text('"""A sample."""\n' + textwrap.dedent(text), encoding="utf-8")
    return scenarios.File(path)


def target(folder):
    """This Python without torch: the programs above need none, and nothing is preloaded."""
    (folder / "empty").mkdir(exist_ok=True)
    version = ".".join(map(str, sys.version_info[:2]))
    return fetch.Target("2.14.1", version, "13.0", "2.30.7", sys.executable, folder / "empty")


@pytest.fixture(autouse=True)
def quiet_loader(monkeypatch):
    """Nothing of the shim is needed here, and it is not there when this runs without a build."""
    monkeypatch.setattr(launch, "LIBRARIES", ())


def play(folder, text, kind="kernel"):
    try:
        launch.need(kind)
    except fetch.Unavailable as reason:
        pytest.skip(str(reason))
    found = written(folder, text).resolve(NEW)
    return matrix.play(target(folder), found, kind, folder / "shim", CORESCAN, folder / "cache")


def problems_of(result):
    return [p for c in result.of for p in c.problems] + ([result.problem] if result.problem else [])


# Scenarios


@pytest.mark.parametrize("name", [p.stem for p in sorted(scenarios.FOLDER.glob("[a-z]*.py"))])
def test_every_scenario_is_whole(name):
    file = scenarios.find(name)
    ran = 0
    for torch, python in PAIRS:
        versions = {"torch": torch, "python": python}
        if file.runs(versions):
            ran += 1
            found = file.resolve(versions)
            assert found.about and found.expect
            assert any(scenarios.leaves_core(found, rank) for rank in range(found.ranks))
    assert ran, "runs in no version"


@pytest.mark.parametrize(
    "body, said",
    [
        ('{"about": "x"}', "SCENARIO lacks 'expect'"),
        ('{"about": "x", "expekt": {}}', "unknown key 'expekt'; did you mean 'expect'?"),
        ('{"about": "x", "expect": {"signal": "SIGOOPS"}}', "'SIGOOPS', which is no signal"),
        ('{"about": "x", "expect": {}, "core": "kernal"}', "none of kernel, kill, gcore"),
        ('{"about": 3, "expect": {}}', "SCENARIO['about'] must be str"),
        ('{"about": "x", "expect": {"stderr": "("}}', "no regular expression"),
        ('{"about": "x", "expect": {"threads": [{"count": 2}]}}', "a role, a stack or a name"),
        ('{"about": "x", "expect": {"ranks": {"1": {}}}}', "there are 1 ranks"),
        ('{"about": {"torch<2": "x"}, "expect": {}}', "none of torch<2 holds for torch 2.14.1"),
        ('{"about": {"torch<2.x": "x"}, "expect": {}}', "is not a condition such as torch>=2.1"),
        ('{"about": open("x").read(), "expect": {}}', "must be a literal"),
    ],
)
def test_a_wrong_scenario_is_named_with_its_line(tmp_path, body, said):
    with pytest.raises(lock.Bad) as caught:
        written(tmp_path, f"import inside\nSCENARIO = {body}\n").resolve(NEW)
    assert f"{tmp_path}/sample.py:3: " in str(caught.value)
    assert said in str(caught.value)


def test_a_scenario_without_docstring_or_literal_is_refused(tmp_path):
    for text in ("SCENARIO = {}\n", '"""x"""\n', '"""x"""\ndef f(:\n'):
        (tmp_path / "bad.py").write_text(text, encoding="ascii")
        with pytest.raises(lock.Bad, match=r"bad\.py:\d+: "):
            scenarios.File(tmp_path / "bad.py")


@pytest.mark.parametrize(
    "condition, true",
    [
        ("torch<2.1", False),
        ("torch>=2.1", True),
        ("torch==2.14", True),
        ("torch>2.9", True),
        ("torch<2.9", False),
        ("torch>=2.1,torch<2.10", False),
        ("torch>=2.1, <3", True),
        ("python>=3.12", True),
        ("torch>=2,python<3.9", False),
        ("!=2.14.1", False),
    ],
)
def test_conditions_compare_numbers(condition, true):
    assert scenarios.holds(condition, NEW) is true


def test_the_first_condition_that_holds_is_taken():
    value = {"a": {"torch<2": 1, "torch>=2.1": [{"torch>=2": "x"}], "torch>=1": 3}, "b": {"c": 4}}
    assert scenarios.resolve(value, NEW) == {"a": ["x"], "b": {"c": 4}}


# The lock


def test_the_lock_is_complete():
    sections = {(s.torch, s.python): s for s in lock.read()}
    assert set(sections) == set(PAIRS)
    for (torch, _), section in sections.items():
        pins = {p.name: p for p in section.pins}
        assert pins["torch"].version == torch and len(pins) == len(section.pins)
        assert {"numpy", "typing-extensions"} <= set(pins)
        assert section.unpacked > section.wheels > 300
        same = [s for s in sections.values() if s.torch == torch]
        assert len({(s.cuda, s.nccl) for s in same}) == 1
    assert lock.parse(lock.text_of(lock.read())) == lock.read()


def test_what_scenarios_share(tmp_path):
    (tmp_path / "_expected.py").write_text('SHARED = {"why": {"torch<2": "a", "torch>=2": "b"}}\n')
    text = '"""What."""\nSCENARIO = {"about": "@%s", "expect": {}}\n'
    (tmp_path / "one.py").write_text(text % "why")
    (tmp_path / "two.py").write_text(text % "who")
    versions = {"torch": "2.1", "python": "3.10"}
    assert scenarios.find("one", tmp_path).resolve(versions).about == "b"
    with pytest.raises(lock.Bad, match=r"two\.py:2: '@who' is none of _expected\.py: why"):
        scenarios.find("two", tmp_path)


@pytest.mark.parametrize(
    "requirement, python, wanted",
    [
        ('setuptools; python_version >= "3.12"', "3.12", True),
        ('setuptools ; python_version >= "3.12"', "3.9", False),
        ("sympy (==1.13.1) ; python_version < '3.9'", "3.10", False),
        ("filelock", "3.8", True),
    ],
)
def test_requirements_are_those_of_the_target_not_of_pip(requirement, python, wanted):
    assert lock.asked_for(requirement, python) is wanted


def test_a_broken_lock_is_named_with_its_line():
    text = lock.LOCK.read_text(encoding="ascii")
    with pytest.raises(lock.Bad, match=r"versions\.lock:4: neither .*rig/rig lock"):
        lock.parse(text.replace("sha256:", "sha1:", 1))


# faulthandler


FAULTS = """
import faulthandler, json, sys, threading, _thread
event = threading.Event()
class Store:
    def wait(self):
        event.wait()
def deep(n):
    return deep(n - 1) if n else write()
def write():
    json.dump({"main": _thread.get_ident(), "worker": worker.ident}, sys.stdout); sys.stdout.flush()
    faulthandler.dump_traceback(all_threads=True)
worker = threading.Thread(target=Store().wait, daemon=True)
worker.start()
while not any(f.f_code.co_name == "wait" for f in sys._current_frames().values()):
    pass
import time; time.sleep(0.2)
deep(int(sys.argv[1]))
"""


@pytest.mark.parametrize("depth, cut", [(3, False), (150, True)])
def test_a_dump_of_faulthandler_is_read(tmp_path, depth, cut):
    script = tmp_path / "faults.py"
    script.write_text(FAULTS, encoding="ascii")
    run = subprocess.run(
        [sys.executable, script, str(depth)], capture_output=True, text=True, check=True
    )
    idents = json.loads(run.stdout)
    parsed = {t["ident"]: t for t in truths.parse_fault(run.stderr)}
    assert set(parsed) == set(idents.values())
    main, worker = parsed[idents["main"]], parsed[idents["worker"]]
    assert main["current"] and not worker["current"]
    assert main["cut"] is cut and not worker["cut"]
    assert main["frames"][0] == ["write", str(script), 11, "write"]
    assert main["frames"][1] == ["deep", str(script), 8, "deep"]
    assert len(main["frames"]) == (100 if cut else depth + 3)
    waits = [f[0] for f in worker["frames"]]
    assert [str(script), 6] in [f[1:3] for f in worker["frames"]] and waits[-1] == "_bootstrap"


def test_only_the_first_dump_counts():
    one = 'Current thread 0x00a1 (most recent call first):\n  File "a.py", line %d in f\n\n'
    assert [t["frames"][0][2] for t in truths.parse_fault(one % 1 + one % 2)] == [1]
    assert truths.parse_fault("Fatal Python error: Aborted\n\nnothing\n") == []


# Patterns


def frame(name, kind="native", **more):
    return {"kind": kind, "function": name, "short_function": name.partition("(")[0], **more}


STACK = [
    frame("raise"),
    frame("__GI_abort"),
    frame("c10d::Work::check(std::exception_ptr)", module="libtorch_cuda.so"),
    frame("Model.forward", "python", file="/x/train.py"),
]


@pytest.mark.parametrize(
    "patterns, missing",
    [
        (["raise", "*abort", "c10d::Work::check", "forward"], None),
        (["c10d::*::check", "train.py:forward"], None),
        (["libtorch_cuda.so!*", "Model.forward"], None),
        (["abort"], "abort"),
        (["*abort", "raise"], "raise"),
        (["forward", "forward"], "forward"),
        ([], None),
    ],
)
def test_patterns_must_come_in_order(patterns, missing):
    assert check.missing_of(patterns, STACK) == missing


def test_qualified_names_of_old_pythons():
    for version, missing in (("3.8.18", None), ("3.10.2", None), ("3.13.0", "*.py:Model.forward")):
        report = {
            "runtime": {"python": {"version": version}},
            "threads": [{"frames": [frame("forward", "python", file="/x/train.py")]}],
        }
        check.mark_unqualified(report)
        found = check.missing_of(["*.py:Model.forward"], report["threads"][0]["frames"])
        assert found == missing


def test_counts_of_threads():
    report = {"threads": [{"role": "gloo", "frames": []}] * 3}
    for wanted, right in (
        ({"role": "gloo", "count": 3}, True),
        ({"role": "gloo", "count": ">=2"}, True),
        ({"role": "gloo"}, False),
        ({"role": "main", "count": 0}, True),
    ):
        problems = []
        check.check_counts([wanted], report, problems)
        assert (not problems) is right


def test_an_exception_the_report_has_must_be_right():
    wanted = {"language": "python", "type": "torch.*Error", "message": "out of memory"}
    good = {"language": "python", "type": "torch.OutOfMemoryError", "message": "CUDA out of memory"}
    bad = {**good, "message": "another"}
    for exceptions, words, wrong in (
        ([good], "CUDA out of memory", 0),
        ([{"language": "python", "type": "E", "cause": good}], "out of memory", 0),
        ([bad], "out of memory", 1),
        ([], "out of memory", 1),
        ([{**good, "language": "c++"}], "out of memory", 1),
        ([good], "not a word", 1),
    ):
        problems = []
        check.check_exception(wanted, {"exception": exceptions}, [words], problems)
        assert len(problems) == wrong


@pytest.mark.parametrize(
    "wanted, found, right",
    [
        ("cause", ["cause likely", "witness certain"], True),
        ("cause", ["witness certain", "cause certain"], False),
        ("cause", [], False),
        ("unknown", [], True),
        ("unknown", ["wait possible"], True),
        ("unknown", ["wait possible", "witness likely"], False),
    ],
)
def test_the_cause_is_the_first_finding(wanted, found, right):
    findings = [dict(zip(("id", "confidence"), f.split())) for f in found]
    problems = []
    check.check_signature(wanted, {"findings": findings}, problems)
    assert (not problems) is right


@pytest.mark.parametrize("found", ["possible", "likely", "certain"])
def test_a_finding_may_be_surer_than_expected(found):
    problems = []
    findings = [{"id": "cause", "confidence": found}, {"id": "other", "confidence": "possible"}]
    check.check_confidence("likely", {"findings": findings}, problems)
    assert (not problems) is (found != "possible")


# Real processes, without torch


@pytest.mark.parametrize("kind", scenarios.CORES)
def test_a_core_of_each_kind_is_right(tmp_path, kind):
    result = play(tmp_path, PARKED, kind)
    assert result.right, problems_of(result)
    (checked,) = result.of
    assert checked.equal == checked.total >= 7 and checked.threads == 2
    assert not list((tmp_path / "cache/runs").iterdir()), "the core is left behind"


@pytest.mark.parametrize("kind", scenarios.CORES)
def test_the_core_of_a_child(tmp_path, kind):
    result = play(tmp_path, CHILD, kind)
    assert result.right, problems_of(result)
    assert result.of[0].total == 2


@pytest.mark.parametrize("depth", [5, 150])
def test_a_crash_is_compared_with_faulthandler(tmp_path, depth):
    result = play(tmp_path, CRASH % depth)
    assert result.right, problems_of(result)
    assert result.of[0].total > min(depth, 100)


def test_the_words_of_an_exception(tmp_path):
    result = play(tmp_path, RAISES)
    assert result.right, problems_of(result)
    wrong = play(tmp_path, RAISES.replace("no .* here", "no oranges"))
    assert any("never said" in p for p in problems_of(wrong))


def test_a_core_that_says_nothing_is_told_of(tmp_path):
    for content in (b"", b"not a core", b"\x7fELF" + bytes(60)):
        (tmp_path / "core").write_bytes(content)
        with pytest.raises(ValueError, match="corescan ended with 3: .*core"):
            check.analyse(CORESCAN, tmp_path / "core")


def test_a_rank_without_a_core(tmp_path):
    result = play(tmp_path, RANKS)
    assert result.right, problems_of(result)
    wrong = play(tmp_path, RANKS.replace('"exit": 3', '"exit": 4'))
    assert problems_of(wrong) == ["exit status 3, expected 4"]


def change_line(truth, _):
    truth["threads"][0]["frames"][0][2] += 1


def change_name(truth, _):
    truth["threads"][0]["frames"][-1][0] = "other"


def drop_thread(truth, _):
    truth["threads"].pop()


def change_gil(truth, _):
    truth["gil"] = 0


def change_thread_name(truth, _):
    truth["threads"][0]["name"] = "other"


def hide_thread(_, report):
    report["threads"].pop()


def show_twice(_, report):
    report["threads"].append(report["threads"][0])


@pytest.mark.parametrize(
    "damage",
    [
        change_line,
        change_name,
        drop_thread,
        change_gil,
        change_thread_name,
        hide_thread,
        show_twice,
    ],
)
def test_what_is_wrong_is_found(tmp_path, monkeypatch, damage):
    """A word or a report with one thing wrong; the same without is right (above)."""
    held = {}
    read, analyse = truths.read, check.analyse

    def damaged_report(*arguments):
        held["report"], *more = analyse(*arguments)
        return (held["report"], *more)

    def damaged_word(*arguments):
        truth = read(*arguments)
        damage(truth, held["report"])
        return truth

    monkeypatch.setattr(check, "analyse", damaged_report)
    monkeypatch.setattr(truths, "read", damaged_word)
    result = play(tmp_path, PARKED)
    assert not result.right and problems_of(result)


@pytest.mark.parametrize(
    "change, said",
    [
        (('"signal": "SIGABRT"', '"signal": "SIGBUS"'), "signal SIGABRT, expected SIGBUS"),
        (('"abort", "dies"', '"dies", "abort"'), "no 'abort' in its place; the stack is"),
        (('"role": "main"', '"role": "gloo"'), "role 'main', expected 'gloo'"),
        (('"name": "worker", "stack"', '"name": "clerk", "stack"'), "0, expected 1; roles are"),
        (('"stderr": "about to die"', '"stderr": "farewell"'), "stderr has no 'farewell'"),
        (("inside.record(sys._getframe()), ", ""), "inside.record() did not run"),
    ],
)
def test_what_is_expected_and_not_there_is_said(tmp_path, change, said):
    assert change[0] in PARKED
    result = play(tmp_path, PARKED.replace(*change))
    assert not result.right
    assert said in "\n".join(problems_of(result))


# Messages


def test_a_process_that_does_not_die_is_told_of(tmp_path, monkeypatch):
    assert "I would rather not" in "\n".join(problems_of(play(tmp_path, LEAVES)))
    assert "status 1" in "\n".join(problems_of(play(tmp_path, LEAVES)))
    said = "\n".join(problems_of(play(tmp_path, LEAVES, "kill")))
    assert "rank 0 ended with exit status 1 before ready" in said and "rather not" in said
    monkeypatch.setattr(launch, "limit_of", lambda _: 1)
    stays = LEAVES.replace("sys.exit(", "import time; time.sleep(9), (")
    (said,) = problems_of(play(tmp_path, stays))
    assert "not dead in 1 s" in said and "rank 0 is still running" in said


@pytest.mark.parametrize("kind", ["kernel", "kill"])
def test_a_program_that_lacks_something_is_left_out(tmp_path, kind):
    result = play(tmp_path, LEAVES.replace("sys.exit(", "inside.lacks("), kind)
    assert result.right is None
    assert result.problem == "the program says: I would rather not"


def test_a_failure_of_the_rig_is_one_wrong_case(tmp_path, monkeypatch):
    def fails(*_):
        raise KeyError("tid")

    monkeypatch.setattr(check, "check", fails)
    result = play(tmp_path, PARKED)
    assert result.right is False and "KeyError: 'tid'" in result.problem
    assert not list((tmp_path / "cache/runs").iterdir())


def test_everything_ends_with_the_job(tmp_path):
    text = """
        import os, time, inside
        SCENARIO = {"about": "x", "expect": {}}
        print(os.fork(), flush=True)
        time.sleep(1000)
    """
    found = written(tmp_path, text).resolve(NEW)
    job = launch.Job(target(tmp_path), found, "kernel", tmp_path, tmp_path / "cache")
    with pytest.raises(KeyboardInterrupt), job:
        folder, env = job.environment(0, 1)
        job.ranks.append(launch.Rank(0, folder, launch.command_of(job.target, found), env))
        while len(pids := re.findall(r"\d+", (folder / "stdout").read_text())) < 2:
            threading.Event().wait(0.05)
        raise KeyboardInterrupt
    child = max(map(int, pids))
    launch.wait_for(lambda: launch.is_gone(child), 10, "gone", [])
    assert not job.folder.exists() and not job.temporary.exists() and not launch.RUNNING


def rig(*arguments, **env):
    run = subprocess.run(
        [sys.executable, HERE / "rig", *map(str, arguments)],
        capture_output=True,
        text=True,
        env={**os.environ, **env},
        check=False,
    )
    return run.returncode, run.stdout + run.stderr


def test_mistakes_on_the_command_line(tmp_path):
    first = sorted(p.stem for p in scenarios.FOLDER.glob("[a-z]*.py"))[0]
    status, said = rig("run", first + "x")
    assert status == 2 and f"did you mean {first}?" in said
    status, said = rig("fetch", "--torch", "9.9", "--cache", tmp_path)
    assert status == 2 and "torch 9.9 is not one of 1.13.1, 2.1.2" in said
    status, said = rig("lock")
    assert status == 2 and "say which" in said
    status, said = rig("run", first, "--build", tmp_path)
    assert status == 2 and f"there is no {tmp_path}/bin/corescan" in said


def test_a_python_that_is_missing_is_named(monkeypatch):
    monkeypatch.setattr(fetch, "find_python", lambda version: None)
    with pytest.raises(fetch.Unavailable, match=r"needs Python 3\.8 or 3\.11.*pyenv install 3\.8"):
        fetch.choose("1.13.1")
    monkeypatch.undo()
    monkeypatch.setattr(fetch, "find_python", lambda version: version == "3.11" and "/python")
    assert fetch.choose("1.13.1")[0].python == "3.11"


def test_where_pythons_are_searched(tmp_path, monkeypatch):
    link = tmp_path / "python3"
    link.symlink_to(sys.executable)
    version = ".".join(map(str, sys.version_info[:2]))
    monkeypatch.setenv("CORESCAN_RIG_PYTHONS", f"/nowhere:{link}")
    assert fetch.find_python(version) == link
    assert fetch.find_python("3.2") is None


def test_a_full_disk_is_said_before_the_download(tmp_path, monkeypatch):
    section = lock.find("1.13.1", "3.8")
    usage = fetch.shutil.disk_usage(tmp_path)._replace(free=10**9)
    monkeypatch.setattr(fetch.shutil, "disk_usage", lambda _: usage)
    with pytest.raises(fetch.Unavailable, match=r"needs 3\.\d GB .*; 1\.0 GB are free"):
        fetch.check_room(tmp_path, section)


@pytest.mark.parametrize(
    "output, said",
    [
        ("ERROR: THESE PACKAGES DO NOT MATCH THE HASHES FROM\n", "not the one of versions.lock"),
        ("Temporary failure in name resolution\n", "the network failed; run it again"),
        ("OSError: [Errno 28] No space left on device\n", "the disk is full"),
        ("ERROR: something else\n", "ERROR: something else"),
    ],
)
def test_pip_is_translated(output, said):
    assert said in fetch.explain(output)


def test_a_cut_download_leaves_nothing_that_looks_finished(tmp_path, monkeypatch):
    section = lock.find("1.13.1", "3.8")

    def cut(folder, *_, **__):
        (folder / "torch-1.13.1.whl").write_bytes(b"PK")
        raise fetch.Unavailable("the network failed")

    monkeypatch.setattr(fetch, "pip_download", cut)
    with pytest.raises(fetch.Unavailable):
        fetch.bring(section, sys.executable, tmp_path)
    assert not fetch.is_complete(tmp_path / fetch.name_of(section), section)
    assert [p.name for p in tmp_path.iterdir()] == ["torch-1.13.1-python-3.8.wheels"]
