# SPDX-License-Identifier: GPL-3.0-or-later
"""C++ exceptions in cores against what the processes wrote before they died."""
import collections
import json
import os
import pathlib
import subprocess
import sys

import pytest

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path.insert(0, str(ROOT / "tests/cores"))

import cores  # noqa: E402  (found by the line above)

CORESCAN = pathlib.Path(os.environ.get("CORESCAN", ROOT / "build/bin/corescan"))
PROGRAMS = HERE / "programs"

# How a program can get its C++ runtime and its strings.
BUILDS = {
    "usual": [],
    "unoptimised": ["-O0"],
    "old-strings": ["-D_GLIBCXX_USE_CXX11_ABI=0"],
    "static-runtime": ["-static-libstdc++", "-static-libgcc"],
    "static-stripped": ["-static-libstdc++", "-static-libgcc", "-s"],
    "static": ["-static"],
}
MODES = [
    "main",
    "thread",
    "noexcept",
    "rethrow",
    "nested",
    "destructor",
    "destructor-throw",
    "destructor-catch",
    "again",
    "catch-abort",
    "catch-segv",
    "silent",
    "stored",
    "parked-abort",
]
# In these a name on the stack says that nothing catches it.
NAMED = {"main", "thread", "noexcept", "rethrow", "nested", "destructor-throw"}
Truth = collections.namedtuple("Truth", "tid state fatal code type text")


def program(folder, build):
    """throws, built once in a session for each way."""
    path = folder / f"throws-{build}"
    if not path.exists():
        try:
            cores.build(
                PROGRAMS / "throws.cc", folder, "-std=c++17", *BUILDS[build], name=path.name
            )
        except cores.Unavailable as reason:
            pytest.skip(str(reason))
    return path


@pytest.fixture(scope="session", name="folder")
def session_folder(tmp_path_factory):
    return tmp_path_factory.mktemp("programs")


def made(how, *arguments):
    try:
        return how(*arguments)
    except cores.Unavailable as reason:
        pytest.skip(str(reason))


def read_truth(path):
    rows = []
    for line in path.read_text(encoding="utf-8").splitlines():
        tid, state, fatal, code, kind, text = line.split("\t")
        text = text.replace("\\n", "\n").replace("\\t", "\t")
        rows.append(Truth(int(tid), state, fatal == "1", code, kind, text))
    return rows


def run(*arguments):
    done = subprocess.run(
        [str(CORESCAN), *map(str, arguments)], capture_output=True, timeout=60, check=False
    )
    assert done.returncode in (0, 1), done.stderr.decode()[-500:]
    return done.stdout.decode()


def report(core):
    return json.loads(run("--json", core.path))


def told(e):
    code, message = e["code"] or "", e["message"] or ""
    return Truth(e["tid"], e["state"], e["fatal"], code, e["type"], message)


def expect(core, truth):
    """Exactly the exceptions of the truth; what is why the process ended comes first."""
    r = report(core)
    found = [e for e in r["exception"] if e["language"] == "c++"]
    # A stored one belongs to no thread.
    want = [t._replace(tid=None) if t.state == "stored" else t for t in truth]
    assert sorted(map(told, found), key=repr) == sorted(want, key=repr)
    assert [e["fatal"] for e in found] == sorted((e["fatal"] for e in found), reverse=True)
    return r, found


@pytest.mark.parametrize("build", BUILDS)
@pytest.mark.parametrize("mode", MODES)
def test_kernel_core(folder, tmp_path, build, mode):
    truth = tmp_path / "truth"
    where = cores.fresh(tmp_path, "core")
    core = made(cores.by_kernel, [program(folder, build), mode, truth], where)
    rows = read_truth(truth)
    assert rows
    if build == "static-stripped":
        if mode == "stored":
            pytest.skip("no name tells that it was std::terminate(), so nothing is searched for")
        # Nor whether a handler called abort() or, for want of one, std::terminate().
        rows = [t._replace(state="caught") if t.fatal and mode in NAMED else t for t in rows]
    if mode == "nested":
        # Each level is caught by the next one; what it says itself is tested below.
        _, found = expect_nested(core, rows)
        assert found[0]["fatal"]
    else:
        expect(core, rows)


def expect_nested(core, rows):
    """level 3 ends the process and has level 2 in it, and so on; level 2 is also being handled."""
    r = report(core)
    found = [e for e in r["exception"] if e["language"] == "c++"]
    assert told(found[0]) == rows[0]
    assert [e["message"] for e in found] == ["level 3", "level 2"]
    chain, e = [], found[0]
    while e:
        chain.append((e["type"], e["message"]))
        e = e["context"]
    nested = "std::_Nested_exception<std::runtime_error>"
    assert chain == [
        (nested, "level 3"),
        (nested, "level 2"),
        (nested, "level 1"),
        ("std::invalid_argument", "level 0"),
    ]
    return r, found


def test_gcore(folder, tmp_path):
    """Threads that handle exceptions in a process that goes on."""
    truth = tmp_path / "truth"
    core = made(cores.by_gcore, [program(folder, "usual"), "parked", truth], tmp_path)
    expect(core, read_truth(truth))


def test_killed_from_outside(folder, tmp_path):
    """Who sends SIGABRT wants a core: what is being handled meanwhile is not the reason."""
    truth = tmp_path / "truth"
    where = cores.fresh(tmp_path, "core")
    expect(
        made(cores.by_signal, [program(folder, "usual"), "catch-wait", truth], where),
        read_truth(truth),
    )


def test_thrown_by_a_library(folder, tmp_path):
    """A type that only a dlopened library knows, with a virtual base."""
    library = made(
        lambda: cores.build_library(
            PROGRAMS / "throws_plugin.cc", tmp_path, "-std=c++17", name="libplugin.so"
        )
    )
    truth = tmp_path / "truth"
    where = cores.fresh(tmp_path, "core")
    command = [program(folder, "usual"), "plugin", truth, library]
    expect(made(cores.by_kernel, command, where), read_truth(truth))


def test_two_runtimes(folder, tmp_path):
    """A library with a C++ runtime of its own: what it throws is in that one's globals."""
    library = made(
        lambda: cores.build_library(
            PROGRAMS / "throws_plugin.cc",
            tmp_path,
            *("-std=c++17", "-static-libstdc++", "-static-libgcc", "-Wl,-Bsymbolic"),
            name="libplugin.so",
        )
    )
    truth = tmp_path / "truth"
    where = cores.fresh(tmp_path, "core")
    command = [program(folder, "usual"), "plugin", truth, library]
    expect(made(cores.by_kernel, command, where), read_truth(truth))


def test_without_the_library(folder, tmp_path):
    """The type is not readable where its module's file is gone, but the exception is there."""
    library = made(
        lambda: cores.build_library(
            PROGRAMS / "throws_plugin.cc", tmp_path, "-std=c++17", name="libplugin.so"
        )
    )
    where = cores.fresh(tmp_path, "core")
    command = [program(folder, "usual"), "plugin", tmp_path / "truth", library]
    core = made(cores.by_kernel, command, where)
    library.unlink()
    (e,) = report(core)["exception"]
    assert (e["type"], e["message"], e["fatal"]) == (None, None, True)


def test_secret(folder, tmp_path):
    core = made(cores.by_kernel, [program(folder, "usual"), "secret", tmp_path / "truth"], tmp_path)
    (e,) = report(core)["exception"]
    assert e["message"] == "cannot reach redis://user:***@host/0"
    assert "hunter2" not in run("--all", core.path)


def test_text(folder, tmp_path):
    """The first screen names it, and the section says why it is there."""
    where = cores.fresh(tmp_path, "core")
    command = [program(folder, "usual"), "nested", tmp_path / "truth"]
    text = run(made(cores.by_kernel, command, where).path)
    first, _, rest = text.partition("Stack of the crashed thread")
    assert "exception    std::_Nested_exception<std::runtime_error>: level 3" in first
    assert "(nothing catches it)" in first
    assert "The next one has the one above nested in it:" in rest
    assert rest.index("level 0") < rest.index("level 1") < rest.index("level 3")
