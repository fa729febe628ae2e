# SPDX-License-Identifier: GPL-3.0-or-later
"""What a process said before abort() against what it wrote to its standard error."""
import os
import pathlib
import re
import shutil
import subprocess

import cores
import pytest

ABSEIL = os.environ.get("CORESCAN_TEST_ABSEIL")  # where an Abseil with a log is installed
PYTHON_MODES = ["own_message", "no_thread", "restored", "at_exit", "none_freed"]
PYTHONS = cores.pythons()
RUST_BUILDS = {
    "abort": ["-O", "-Cpanic=abort"],
    "debug": ["-g", "-Cpanic=abort"],
    "stripped": ["-O", "-Cpanic=abort", "-Cstrip=symbols"],
    "unwind": ["-O"],
}
RUST_MODES = [
    "literal",
    "formatted",
    "lines",
    "unwrapped",
    "expected",
    "outside",
    "owned",
    "number",
    "thread",
]


def died(recipes, command, name, **env):
    """A core of COMMAND, and what it wrote."""
    folder = recipes.new(name)
    shell = ["sh", "-c", 'exec "$0" "$@" 2>stderr', *command]
    core = recipes.by_kernel(shell, folder, env=cores.environment(**env))
    return core.path, (folder / "stderr").read_text(encoding="utf-8")


def crash(corescan, core):
    return corescan.report(core)["crash"]


# ---- Rust ----


def rust_program(recipes, build):
    """panics.rs, built once in a session for each way."""
    name = f"panics-{build}"
    if name not in recipes.made:
        if not shutil.which("rustc"):
            pytest.skip("rustc is not installed")
        path = pathlib.Path(recipes.folder) / name
        command = ["rustc", *RUST_BUILDS[build], "-o", path, cores.PROGRAMS / "panics.rs"]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr[-2000:]
        recipes.made[name] = path
    return recipes.made[name]


def rust_panics(text):
    """(place, message) of each panic that @text tells of, as both forms of the default hook do."""
    end = r"(?=\nnote: |\nthread |\nstack backtrace:|\Z)"
    found = re.findall(r"panicked at (\S+:\d+:\d+):\n(.*?)" + end, text, re.S)
    old = re.findall(r"panicked at '(.*?)', (\S+:\d+:\d+)$", text, re.S | re.M)
    return [(p, m.rstrip("\n")) for p, m in found] + [(p, m) for m, p in old]


def expect_rust(said, text):
    place, message = rust_panics(text)[-1]
    assert said["message"] == f"panicked at {place}: {message}"
    assert said["message_source"] == "Rust panic" and "a Rust panic" in said["summary"]


@pytest.mark.parametrize("build", ["abort", "debug", "stripped"])
@pytest.mark.parametrize("mode", RUST_MODES)
def test_rust(recipes, corescan, mode, build):
    core, text = died(recipes, [rust_program(recipes, build), mode], mode, RUST_BACKTRACE="0")
    said = crash(corescan, core)
    expect_rust(said, text)
    if build != "stripped":
        own = {"owned": "owned", "number": "number", "thread": "formatted"}.get(mode, mode)
        assert f"panics::{own}" in said["summary"] or "panics::main" in said["summary"]


def test_rust_that_may_not_unwind(recipes, corescan):
    """Two panics: the first, and the one of the function that it may not leave."""
    program = rust_program(recipes, "unwind")
    core, text = died(recipes, [program, "no-unwinding"], "no-unwinding", RUST_BACKTRACE="0")
    assert len(rust_panics(text)) == 2 or "cannot unwind" not in text
    said = crash(corescan, core)
    if "cannot unwind" in text:
        expect_rust(said, text)


@pytest.mark.parametrize("build", ["abort", "unwind"])
def test_rust_hook_that_aborts(recipes, corescan, build):
    core, text = died(recipes, [rust_program(recipes, build), "hooked"], "hooked")
    place, message = rust_panics(text)[-1]
    assert crash(corescan, core)["message"] == f"panicked at {place}: {message}"


def test_rust_panic_that_was_caught(recipes, corescan):
    """It is over, and abort() was called for something else: no text is better than that one."""
    core, text = died(recipes, [rust_program(recipes, "unwind"), "caught"], "caught")
    assert "the queue is closed" in text
    assert crash(corescan, core)["message"] is None


# ---- glog and Abseil ----


def logged(text):
    """The fatal message of standard error, without what follows it."""
    start = re.search(r"^(F\d{4,8} |\[\S+ : \d+\] RAW: )", text, re.M).start()
    text = text[start:]
    return re.split(r"\n\*\*\* Check failure|\n    @ ", text)[0].rstrip("\n")


def library_program(recipes, source, needs, *flags, name):
    """A program that is built with a library which may be missing."""
    if name not in recipes.made:
        done = subprocess.run(["pkg-config", "--exists", needs], check=False)
        if done.returncode:
            pytest.skip(f"pkg-config does not know {needs}")
        found = subprocess.run(
            ["pkg-config", "--cflags", "--libs", needs], capture_output=True, text=True, check=True
        )
        recipes.made[name] = recipes.build(
            source, recipes.folder, "-std=c++17", *found.stdout.split(), *flags, name=name
        )
    return recipes.made[name]


@pytest.mark.parametrize("mode", ["check", "fatal", "null", "raw"])
@pytest.mark.parametrize("flags", [(), ("-s",)], ids=["usual", "stripped"])
def test_glog(recipes, corescan, mode, flags):
    name = "die_glog" + "".join(flags)
    program = library_program(recipes, "die_glog.cc", "libglog", *flags, name=name)
    core, text = died(recipes, [program, mode], f"glog-{mode}")
    said = crash(corescan, core)
    assert said["message"] == logged(text) and said["message_source"] == "glog"
    assert "glog" in said["summary"]
    if not flags:
        own = {"null": "not_null"}.get(mode, mode)
        assert said["summary"].endswith((f"in sample::{own}()", "in main()"))


@pytest.mark.parametrize("mode", ["raw", "raw-check"])
def test_absl_raw_log(recipes, corescan, mode):
    needs = "absl_raw_logging_internal"
    program = library_program(recipes, "die_absl.cc", needs, name="die_absl")
    core, text = died(recipes, [program, mode], f"absl-{mode}")
    said = crash(corescan, core)
    assert said["message"] == logged(text) and said["message_source"] == "absl log"
    assert "Abseil" in said["summary"]


@pytest.mark.parametrize("mode", ["check", "fatal", "raw", "raw-check"])
@pytest.mark.parametrize("flags", [(), ("-s",)], ids=["usual", "stripped"])
def test_absl_log(recipes, corescan, mode, flags, monkeypatch):
    """Linked statically, as wheels have it; stripped, no name tells who spoke."""
    if ABSEIL:
        monkeypatch.setenv("PKG_CONFIG_PATH", f"{ABSEIL}/lib/pkgconfig")
    name = "die_absl_log" + "".join(flags)
    program = library_program(
        recipes,
        "die_absl.cc",
        "absl_log absl_check absl_log_internal_message absl_log_internal_check_op",
        "-DWITH_LOG",
        *flags,
        name=name,
    )
    core, text = died(recipes, [program, mode], f"absl-{mode}")
    said = crash(corescan, core)
    assert said["message"] == logged(text) and said["message_source"] == "absl log"
    assert "Abseil" in said["summary"]


# ---- CPython ----


def fatal_error(text):
    """What Py_FatalError() wrote, without the tracebacks; the state without its pointer."""
    found = re.search(r"^Fatal Python error: .*?(?=\n\n|\n?\Z)", text, re.S | re.M).group()
    return re.sub(r" \(tstate=\w+\)", "", found)


@pytest.mark.parametrize("version, python", PYTHONS, ids=[v for v, _ in PYTHONS])
@pytest.mark.parametrize("mode", PYTHON_MODES)
def test_python(recipes, corescan, mode, version, python):
    minor = int(version.split(".")[1])
    if mode == "none_freed" and minor > 11:
        pytest.skip("None is immortal")
    core, text = died(recipes, [python, cores.PROGRAMS / "fatal.py", mode], f"{version}-{mode}")
    said = crash(corescan, core)
    assert "abort() by Py_FatalError" in said["summary"]
    if mode == "own_message" and minor < 10:
        # The pointer was in registers only, which later functions have used for something else.
        assert said["message"] in (None, fatal_error(text))
        return
    assert said["message"] == fatal_error(text)
    assert said["message_source"] == "Py_FatalError"
