# SPDX-License-Identifier: GPL-3.0-or-later
"""Processes that are unlike others: two runtimes in one, secrets in variables, source lines."""
import os
import pathlib
import subprocess
import sys

import pytest

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

import matrix  # noqa: E402  (found by the line above)
import recipes  # noqa: E402
from recipes import cores  # noqa: E402

PYTHONS = recipes.installed()
CORESCAN = pathlib.Path(os.environ.get("CORESCAN", matrix.ROOT / "build/bin/corescan"))

SECRETS = """
import os
class Settings:
    def __init__(self):
        self.db_password = "sekret-1"
        self.size = 7
def reach(api_key, token, config, url, settings):
    try:
        raise ValueError("cannot reach " + url)
    except ValueError:
        os.abort()
reach("sekret-2", 17, {"secret": "sekret-3", "hf_token": b"sekret-4"},
      "redis://user:sekret-5@host/0", Settings())
"""

SOURCE = """import os
def inner():
    {}["missing"]
def outer():
    try:
        inner()
    except KeyError:
        os.abort()  # the end
outer()
"""


def run(*arguments):
    done = subprocess.run(
        [str(CORESCAN), *map(str, arguments)], capture_output=True, timeout=60, check=False
    )
    assert done.returncode in (0, 1), done.stderr.decode()[-500:]
    return done.stdout.decode()


def report(core, *options):
    import json

    return json.loads(run("--json", *options, core.path))


def core_of(command, folder, **env):
    try:
        return cores.by_kernel(command, folder, env=cores.environment(**env))
    except cores.Unavailable as reason:
        pytest.skip(str(reason))


def library(python):
    path = pathlib.Path(python.libdir) / f"libpython{python.ldversion}.so.1.0"
    return path if path.is_file() else None


def functions(thread):
    return [f["function"] for f in thread["frames"] if f["kind"] == "python"]


def test_two_runtimes(tmp_path):
    """Each thread has the frames of its own runtime, in front of the function that ran it."""
    shared = [p for p in PYTHONS if library(p) and not p.free]
    if len(shared) < 2:
        pytest.skip("two interpreters with a shared library are needed")
    first, second = shared[0], shared[-1]
    program = cores.build(recipes.PROGRAMS / "two.c", tmp_path)
    folder = cores.fresh(tmp_path, "run")
    command = [program, library(first), first.prefix, library(second), second.prefix]
    found = report(core_of(command, folder))
    versions = {p["version"] for p in found["runtime"]["pythons"]}
    assert versions == {p.name for p in (first, second)}
    threads = {tuple(functions(t)): t for t in found["threads"] if functions(t)}
    assert set(threads) == {("one", "<module>"), ("two", "<module>")}
    for thread, python in (("one", first), ("two", second)):
        frames = threads[thread, "<module>"]["frames"]
        after = frames[[f["function"] for f in frames].index("<module>") :]
        assert "run" in [f["function"] for f in after], "the C function that called Python"
        index = threads[thread, "<module>"]["python"]["runtime"]
        assert found["runtime"]["pythons"][index]["version"] == python.name


@pytest.mark.parametrize("python", PYTHONS[-1:], ids=lambda p: p.name)
def test_secrets(tmp_path, python):
    script = tmp_path / "secrets.py"
    script.write_text(SECRETS, encoding="ascii")
    core = core_of([python.path, script], cores.fresh(tmp_path, "run"))
    for text in (run("--locals", "--all", core.path), run("--locals", "--json", core.path)):
        assert "sekret" not in text
        assert "***" in text
    (thread,) = report(core, "--locals")["threads"]
    (frame,) = [f for f in thread["frames"] if f["function"] == "reach"]
    values = {v["name"]: v["value"] for v in frame["locals"]}
    assert values["token"] == "17", "numbers are shown, whatever they are called"
    assert "size=7" in values["settings"]


@pytest.mark.parametrize("python", PYTHONS[-1:], ids=lambda p: p.name)
def test_source(tmp_path, python):
    """Lines of stacks and tracebacks; none where the file is newer than the core."""
    script = tmp_path / "lines.py"
    script.write_text(SOURCE, encoding="ascii")
    core = core_of([python.path, script], cores.fresh(tmp_path, "run"))
    found = report(core, "--source")
    frames = [f for f in found["threads"][0]["frames"] if f["kind"] == "python"]
    assert [f["source"] for f in frames] == ["os.abort()  # the end", "outer()"]
    (exception,) = found["exception"]
    assert [f["source"] for f in exception["traceback"]] == ['{}["missing"]', "inner()"]
    assert 'File "' in run("--source", core.path)
    later = core.path.stat().st_mtime + 100
    os.utime(script, (later, later))
    frames = report(core, "--source")["threads"][0]["frames"]
    assert not [f for f in frames if f.get("source")]
    assert not [f for f in report(core)["threads"][0]["frames"] if f.get("source")]
