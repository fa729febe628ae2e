# SPDX-License-Identifier: GPL-3.0-or-later
"""The right files, or none: programs and libraries that are gone, replaced, renamed, elsewhere, or
no files at all.

The process loads libplugin.so, whose plugin_entry() (exported) calls hidden_work() (only in the
symbol table), which aborts. A second build of the library has other functions at the same
addresses: to show one of those names would be the worst of all answers.
"""
import os
import shutil
import subprocess

import cores
import pytest

OTHER = "-DPLUGIN_PAD=77"
NEVER = {"plugin_wrong_name", "plugin_padding"}


class Case:
    """A core of loader and libplugin.so in a folder of its own, whose files a test may spoil."""

    def __init__(self, recipes, folder, dump_filter, *flags, arguments=()):
        self.recipes = recipes
        self.folder = folder
        self.loader = recipes.build("loader.c", folder)
        self.plugin = recipes.build_library("plugin.c", folder, *flags, name="libplugin.so")
        run = folder / "run"
        run.mkdir()
        self.core = recipes.by_kernel([self.loader, self.plugin, *arguments], run, dump_filter)

    def keep(self, path, name):
        """Moves a file out of the way, into a folder that nothing searches by itself."""
        kept = self.folder / "kept"
        kept.mkdir(exist_ok=True)
        return shutil.move(str(path), str(kept / name))

    def replace_plugin(self):
        self.plugin.unlink()
        self.recipes.build_library("plugin.c", self.folder, OTHER, name="libplugin.so")


@pytest.fixture
def case(recipes):
    def make(*flags, dump_filter=cores.DEFAULT_FILTER, name="files", **options):
        return Case(recipes, recipes.new(name), dump_filter, *flags, **options)

    return make


def functions(report, but="libc.so.6"):
    """Names of the crashed thread's frames, and never one of the wrong library's.

    Those of the C library are left out: how many have a name depends on whether its separate debug
    file (Debian: libc6-dbg) is installed.
    """
    frames = [f for f in report["threads"][0]["frames"] if f.get("module") != but]
    names = [f["function"] for f in frames if not f.get("nearest")]
    assert not NEVER & set(names), names
    return names


def module(report, name):
    found = [m for m in report["modules"] if m["name"] == name]
    assert len(found) == 1, [m["path"] for m in report["modules"]]
    return found[0]


def build_id(path):
    run = subprocess.run(["readelf", "-n", path], stdout=subprocess.PIPE, text=True, check=True)
    return run.stdout.split("Build ID: ")[1].split()[0]


def texts(report):
    return " ".join(d["text"] for d in report["diagnostics"] if d["severity"] != "note")


def test_all_in_place(corescan, case):
    made = case()
    report = corescan.report(made.core.path)
    assert ["hidden_work", "plugin_entry", "main"] == functions(report)[:3]
    for name, path in (("libplugin.so", made.plugin), ("loader", made.loader)):
        assert module(report, name)["file"] == "verified"
        assert module(report, name)["build_id"] == build_id(path)
    assert not texts(report)


def test_deleted_library(corescan, case):
    made = case()
    made.keep(made.plugin, "renamed.so")
    report = corescan.report(made.core.path)
    assert module(report, "libplugin.so")["file"] == "missing"
    assert "hidden_work" not in functions(report) and "main" in functions(report)
    assert "libplugin.so" in texts(report) and "--lib-path" in texts(report)


@pytest.mark.parametrize("replaced", (False, True), ids=("deleted", "replaced"))
def test_names_from_the_image_in_the_core(corescan, case, replaced):
    made = case(dump_filter=cores.FULL)
    if replaced:
        made.replace_plugin()
    else:
        made.plugin.unlink()
    report = corescan.report(made.core.path)
    plugin = module(report, "libplugin.so")
    assert plugin["symbols"] == "memory"
    assert plugin["file"] == ("mismatch" if replaced else "missing")
    frames = report["threads"][0]["frames"]
    names = functions(report)
    assert names.index("plugin_entry") + 1 == names.index("main")
    # With its tables, which were saved too, nothing need be searched for.
    assert {f["trust"] for f in frames} <= {"context", "cfi"}


def test_replaced_library_in_gcore(recipes, corescan):
    """gcore saves what the kernel leaves out; here the library stays mapped in a process that
    lives on.
    """
    folder = recipes.new("replaced-gcore")
    source = folder / "own.so"
    python = "/usr/bin/python3"
    recipes.build_library("plugin.c", folder, name="own.so")
    text = f"import ctypes, time; ctypes.CDLL({str(source)!r});"
    text += "print('ready', flush=True); time.sleep(9999)"
    core = recipes.by_gcore([python, "-c", text], folder)
    recipes.build_library("plugin.c", folder, OTHER, name="other.so")
    os.replace(folder / "other.so", source)
    report = corescan.report(core.path, statuses=(0, 1))
    assert module(report, "own.so")["file"] == "mismatch"


def test_replaced_library(corescan, case):
    made = case()
    made.replace_plugin()
    report = corescan.report(made.core.path)
    plugin = module(report, "libplugin.so")
    assert plugin["file"] == "mismatch"
    assert plugin["build_id"] != build_id(made.plugin)
    assert "plugin_entry" not in functions(report), "the name was in no page of the core"
    assert "another build" in texts(report) and "libplugin.so" in texts(report)


def test_deleted_executable(corescan, case):
    made = case()
    made.loader.unlink()
    report = corescan.report(made.core.path)
    assert module(report, "loader")["file"] == "missing"
    assert "hidden_work" in functions(report)
    assert "loader" in texts(report) and "--exe" in texts(report) + str(module(report, "loader"))


def test_executable_given(corescan, case):
    made = case()
    right = made.keep(made.loader, "another name")
    report = corescan.report(made.core.path, "--exe", right)
    assert module(report, "loader")["file"] == "verified"
    assert module(report, "loader")["used_file"] == right
    assert functions(report)[:3] == ["hidden_work", "plugin_entry", "main"]


def test_wrong_executable_is_named_with_both_ids(recipes, corescan, case):
    made = case()
    wrong = recipes.program("mappings.c")
    report = corescan.report(made.core.path, "--exe", wrong, statuses=(1,))
    errors = [d["text"] for d in report["diagnostics"] if d["severity"] == "error"]
    assert len(errors) == 1
    assert build_id(wrong) in errors[0] and build_id(made.loader) in errors[0]
    # What is right is found all the same.
    assert module(report, "loader")["file"] == "verified"
    assert functions(report)[:3] == ["hidden_work", "plugin_entry", "main"]


def test_library_by_build_id_not_by_name(recipes, corescan, case):
    made = case()
    folder = made.folder / "search"
    (folder / "decoy").mkdir(parents=True)
    (folder / "deep" / "er").mkdir(parents=True)
    recipes.build_library("plugin.c", folder / "decoy", OTHER, name="libplugin.so")
    shutil.move(made.plugin, folder / "deep/er/nothing like it.bin")
    report = corescan.report(made.core.path, "--lib-path", folder)
    assert module(report, "libplugin.so")["file"] == "verified"
    assert module(report, "libplugin.so")["used_file"].endswith("nothing like it.bin")
    assert functions(report)[:3] == ["hidden_work", "plugin_entry", "main"]


def test_decoy_alone(recipes, corescan, case):
    made = case()
    made.plugin.unlink()
    decoy = made.folder / "decoy"
    decoy.mkdir()
    recipes.build_library("plugin.c", decoy, OTHER, name="libplugin.so")
    report = corescan.report(made.core.path, "--lib-path", decoy)
    assert module(report, "libplugin.so")["file"] in ("missing", "mismatch")
    assert not {"plugin_entry", "hidden_work"} & set(functions(report))


def test_sysroot_with_absolute_links(corescan, case):
    """As in an image of a container: a folder links to /real, and that is below the root, not
    outside.
    """
    made = case()
    root = made.folder / "root"
    real = root / "real"
    real.mkdir(parents=True)
    paths = [
        m["path"] for m in corescan.report(made.core.path)["modules"] if m["path"].startswith("/")
    ]
    for path in paths:
        below = root / os.path.dirname(path).lstrip("/")
        below.mkdir(parents=True, exist_ok=True)
        shutil.copy(path, real)
        (below / os.path.basename(path)).symlink_to(f"/real/{os.path.basename(path)}")
    made.loader.unlink()
    made.plugin.unlink()
    report = corescan.report(made.core.path, "--sysroot", root)
    for path in paths:
        found = module(report, os.path.basename(path))
        assert found["file"] == "verified"
        assert found["used_file"].startswith(str(root))
    assert functions(report)[:3] == ["hidden_work", "plugin_entry", "main"]
    assert functions(report)[-1] == "_start"


def test_sysroot_alone_is_searched(corescan, case):
    made = case()
    root = made.folder / "root"
    root.mkdir()
    report = corescan.report(made.core.path, "--sysroot", root)
    files = {m["file"] for m in report["modules"] if m["path"].startswith("/")}
    assert files == {"missing"}


def test_sysroot_does_not_leak(corescan, case):
    """A link below the root that climbs out must not lead to the files of this machine."""
    made = case()
    root = made.folder / "root"
    below = root / str(made.folder).lstrip("/")
    below.mkdir(parents=True)
    (below / "libplugin.so").symlink_to("../" * 40 + str(made.plugin).lstrip("/"))
    report = corescan.report(made.core.path, "--sysroot", root)
    assert module(report, "libplugin.so")["file"] == "missing"


@pytest.mark.parametrize("name", ("with two  blanks", "ünïcode-文件", "quote'\"$(x)\\"))
def test_paths_with_odd_characters(corescan, case, name):
    made = case(name=name)
    report = corescan.report(made.core.path)
    assert module(report, "loader")["file"] == module(report, "libplugin.so")["file"] == "verified"
    assert report["process"]["executable"] == str(made.loader)
    assert functions(report)[:3] == ["hidden_work", "plugin_entry", "main"]
    assert name in corescan(made.core.path, "--modules").out or "\\" in name


def test_started_by_relative_path(recipes, corescan):
    folder = recipes.new("relative")
    recipes.build("crash.c", folder)
    core = recipes.by_kernel(["./crash", "null"], folder)
    report = corescan.report(core.path, cwd="/")
    assert module(report, "crash")["file"] == "verified"
    assert report["process"]["executable"] == str(folder / "crash")
    assert functions(report)[:2] == ["die_null", "main"]


def test_started_by_a_script(recipes, corescan):
    """The kernel runs the interpreter: that is the program, not the script that was named."""
    folder = recipes.new("script")
    python = shutil.which("python3", path="/usr/bin")
    if not python:
        pytest.skip("no /usr/bin/python3")
    script = folder / "launch"
    script.write_text(f"#!{python}\nimport ctypes\nctypes.string_at(0)\n")
    script.chmod(0o755)
    core = recipes.by_kernel([script], folder)
    report = corescan.report(core.path)
    assert os.path.samefile(report["process"]["executable"], python)
    first = report["modules"][0]
    assert os.path.samefile(first["path"], python) and first["file"] == "verified"
    assert str(script) in report["process"]["command"]


def test_library_in_memory(corescan, case):
    """Loaded from a memfd: no file has it, and the path that the loader used leads somewhere else
    by now.
    """
    made = case(dump_filter=cores.FULL, arguments=("memfd",))
    report = corescan.report(made.core.path, timeout=20)
    found = [m for m in report["modules"] if "memfd:" in m["path"]]
    assert len(found) == 1 and found[0]["file"] != "verified"
    assert "plugin_entry" in functions(report) and "main" in functions(report)


def test_deleted_while_mapped(corescan, case):
    """The kernel notes such paths with " (deleted)", and another file is at the path by now."""
    folder = case().folder
    made = case(dump_filter=cores.FULL, arguments=("remove", folder / "libplugin.so"))
    assert made.plugin.exists()
    own = made.folder / "gone.so"
    made.recipes.build_library("plugin.c", made.folder, name="gone.so")
    run = made.folder / "again"
    run.mkdir()
    core = made.recipes.by_kernel([made.loader, own, "remove", own], run, cores.FULL)
    assert not own.exists()
    made.recipes.build_library("plugin.c", made.folder, OTHER, name="gone.so")
    report = corescan.report(core.path)
    found = [m for m in report["modules"] if "gone.so" in m["path"]]
    assert len(found) == 1 and found[0]["file"] in ("missing", "mismatch")
    assert "plugin_entry" in functions(report)


def split_debug(path, target):
    target.parent.mkdir(parents=True, exist_ok=True)
    subprocess.run(["objcopy", "--only-keep-debug", path, target], check=True)
    subprocess.run(["strip", "-g", "-x", "-s", path], check=True)
    return target


def rerun(made):
    """The core again, of the files as they are now."""
    run = made.folder / "again"
    run.mkdir()
    return made.recipes.by_kernel([made.loader, made.plugin], run)


def test_debug_file_by_build_id(corescan, case):
    made = case()
    number = build_id(made.plugin)
    debug = made.folder / "debug"
    split_debug(made.plugin, debug / ".build-id" / number[:2] / f"{number[2:]}.debug")
    core = rerun(made)
    assert "hidden_work" not in functions(corescan.report(core.path))
    report = corescan.report(core.path, "--debug-dir", debug)
    assert functions(report)[:3] == ["hidden_work", "plugin_entry", "main"]
    assert module(report, "libplugin.so")["debug_file"].startswith(str(debug))
    assert [f for f in report["threads"][0]["frames"] if f["function"] == "hidden_work"][0]["line"]


@pytest.mark.parametrize("right", (True, False), ids=("right", "other build"))
def test_debug_file_by_debuglink(corescan, case, right):
    made = case()
    debug = split_debug(made.plugin, made.folder / "plugin.debug")
    subprocess.run(
        ["objcopy", f"--add-gnu-debuglink={debug}", made.plugin],
        cwd=made.folder,
        check=True,
    )
    if not right:
        other = made.recipes.build_library("plugin.c", made.folder, OTHER, name="other.so")
        split_debug(other, debug)
    report = corescan.report(rerun(made).path)
    assert ("hidden_work" in functions(report)) is right


def test_mini_debug_information(corescan, case):
    """.gnu_debugdata, as Fedora has it: the symbol table alone, in xz, in the stripped library
    itself.
    """
    if not shutil.which("xz"):
        pytest.skip("xz is not installed")
    made = case("-fno-reorder-blocks-and-partition")  # no .cold part, which has a name of its own
    mini = split_debug(made.plugin, made.folder / "mini")
    subprocess.run(
        ["objcopy", "-S", "-R", ".comment", "--keep-symbol=hidden_work", mini], check=True
    )
    subprocess.run(["xz", "--check=crc32", mini], check=True)
    subprocess.run(["objcopy", f"--add-section=.gnu_debugdata={mini}.xz", made.plugin], check=True)
    report = corescan.report(rerun(made).path)
    assert functions(report)[:3] == ["hidden_work", "plugin_entry", "main"]


def spoil(path, kind):
    path.unlink()
    if kind == "FIFO":
        os.mkfifo(path)
    elif kind == "directory":
        path.mkdir()
    elif kind == "empty":
        path.touch()
    elif kind == "loop":
        path.symlink_to(path)
    elif kind == "text":
        path.write_text("#!/bin/sh\n" * 4000)
    else:
        path.symlink_to(kind)


@pytest.mark.parametrize(
    "kind", ("FIFO", "directory", "empty", "loop", "text", "/dev/zero", "/dev/tty")
)
def test_no_file_in_place_of_library_and_program(corescan, case, kind):
    made = case()
    spoil(made.plugin, kind)
    spoil(made.loader, kind)
    report = corescan.report(made.core.path, timeout=20)
    for name in ("libplugin.so", "loader"):
        assert module(report, name)["file"] in ("missing", "mismatch"), kind
    assert not {"plugin_entry", "hidden_work"} & set(functions(report))
    assert "abort" in functions(report, but=None)


@pytest.mark.parametrize("kind", ("FIFO", "/dev/zero"))
def test_no_file_in_the_folders_to_search(corescan, case, kind):
    made = case()
    made.plugin.unlink()
    search = made.folder / "search"
    search.mkdir()
    (search / "libplugin.so").touch()
    spoil(search / "libplugin.so", kind)
    report = corescan.report(
        made.core.path, "--lib-path", search, "--debug-dir", search, timeout=20
    )
    assert module(report, "libplugin.so")["file"] == "missing"


@pytest.mark.parametrize("kind", ("FIFO", "directory", "empty", "/dev/zero"))
def test_no_file_as_executable(corescan, case, kind):
    made = case()
    wrong = made.folder / "wrong"
    wrong.touch()
    spoil(wrong, kind)
    result = corescan.json("--all", "--exe", wrong, made.core.path, timeout=20)
    assert result.status in (1, 2)
    assert "wrong" in result.err + result.out
