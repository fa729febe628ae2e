# SPDX-License-Identifier: GPL-3.0-or-later
"""Rust panics in cores against what the processes wrote to their standard error."""
import pathlib
import re
import shutil
import subprocess

import cores
import pytest

BUILDS = {
    "abort": ["-O", "-Cpanic=abort"],
    "debug": ["-g", "-Cpanic=abort"],
    "stripped": ["-O", "-Cpanic=abort", "-Cstrip=symbols"],
    "unwind": ["-O"],
}
MODES = [
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


def rust_program(recipes, build):
    """panics.rs, built once in a session for each way."""
    name = f"panics-{build}"
    if name not in recipes.made:
        if not shutil.which("rustc"):
            pytest.skip("rustc is not installed")
        path = pathlib.Path(recipes.folder) / name
        command = ["rustc", *BUILDS[build], "-o", path, cores.PROGRAMS / "panics.rs"]
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
@pytest.mark.parametrize("mode", MODES)
def test_rust(recipes, corescan, mode, build):
    core, text = recipes.died([rust_program(recipes, build), mode], mode, RUST_BACKTRACE="0")
    said = corescan.report(core)["crash"]
    expect_rust(said, text)
    if build != "stripped":
        own = {"owned": "owned", "number": "number", "thread": "formatted"}.get(mode, mode)
        assert f"panics::{own}" in said["summary"] or "panics::main" in said["summary"]


def test_rust_that_may_not_unwind(recipes, corescan):
    """Two panics: the first, and the one of the function that it may not leave."""
    command = [rust_program(recipes, "unwind"), "no-unwinding"]
    tried = subprocess.run(command, env=cores.environment(), capture_output=True, check=False)
    if tried.returncode > 0:
        return  # until 1.80 it may
    core, text = recipes.died(command, "no-unwinding", RUST_BACKTRACE="0")
    assert len(rust_panics(text)) == 2
    expect_rust(corescan.report(core)["crash"], text)


@pytest.mark.parametrize("build", ["abort", "unwind"])
def test_rust_hook_that_aborts(recipes, corescan, build):
    core, text = recipes.died([rust_program(recipes, build), "hooked"], "hooked")
    place, message = rust_panics(text)[-1]
    assert corescan.report(core)["crash"]["message"] == f"panicked at {place}: {message}"


def test_rust_panic_that_was_caught(recipes, corescan):
    """It is over, and abort() was called for something else: no text is better than that one."""
    core, text = recipes.died([rust_program(recipes, "unwind"), "caught"], "caught")
    assert "the queue is closed" in text
    assert corescan.report(core)["crash"]["message"] is None
