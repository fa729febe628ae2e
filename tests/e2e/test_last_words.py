# SPDX-License-Identifier: GPL-3.0-or-later
"""What a process said before abort() against what it wrote to its standard error."""
import os
import re
import subprocess

import cores
import pytest

ABSEIL = os.environ.get("CORESCAN_TEST_ABSEIL")  # where an Abseil with a log is installed
PYTHON_MODES = ["own_message", "no_thread", "restored", "at_exit", "none_freed"]
PYTHONS = cores.pythons()


def crash(corescan, core):
    return corescan.report(core)["crash"]


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
    core, text = recipes.died([program, mode], f"glog-{mode}")
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
    core, text = recipes.died([program, mode], f"absl-{mode}")
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
    core, text = recipes.died([program, mode], f"absl-{mode}")
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
    core, text = recipes.died([python, cores.PROGRAMS / "fatal.py", mode], f"{version}-{mode}")
    said = crash(corescan, core)
    assert "abort() by Py_FatalError" in said["summary"]
    if mode == "own_message" and minor < 10:
        # The pointer was in registers only, which later functions have used for something else.
        assert said["message"] in (None, fatal_error(text))
        return
    assert said["message"] == fatal_error(text)
    assert said["message_source"] == "Py_FatalError"
