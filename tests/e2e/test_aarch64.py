# SPDX-License-Identifier: GPL-3.0-or-later
"""Cores of aarch64 programs on this host, written by qemu-aarch64, with the libraries of a cross
toolchain.

gdb of the host reads no aarch64, so the ground truth is what the programs call. These cores have
no NT_FILE note and no page of the program's file, which is why the program is named with --exe.
"""
import cores
import pytest

SYSROOT = cores.SYSROOT_AARCH64
BUILDS = ([], ["-static"], ["-mbranch-protection=standard"], ["-fomit-frame-pointer", "-O3"])


def report_of(recipes, corescan, flags, source, *arguments):
    folder = recipes.new("aarch64")
    program = recipes.build_aarch64(source, folder, *flags)
    core = recipes.by_qemu([program, *arguments], folder)
    options = ["--exe", program, "--sysroot", SYSROOT]
    report = corescan.report(core.path, *options, statuses=(0, 1))
    assert report["process"]["machine"] == "aarch64"
    return report


def functions(thread):
    return [f["function"] for f in thread["frames"] if f["kind"] != "inline"]


def in_order(names, wanted):
    """Whether WANTED stand in NAMES in that order, others between them or not."""
    left = iter(names)
    return all(any(name == one for name in left) for one in wanted)


@pytest.mark.parametrize("flags", BUILDS)
def test_null(recipes, corescan, flags):
    report = report_of(recipes, corescan, flags, "crash.c", "null")
    assert report["crash"]["signal"] == "SIGSEGV"
    assert report["crash"]["instruction"].startswith("str")
    thread = report["threads"][0]
    assert thread["crashed"] and thread["stop"] == "bottom"
    assert functions(thread)[:2] == ["die_null", "main"]
    assert functions(thread)[-1] == "_start"
    assert {f["trust"] for f in thread["frames"]} <= {"context", "cfi"}


@pytest.mark.parametrize("flags", BUILDS)
def test_through_a_callback_of_the_c_library(recipes, corescan, flags):
    report = report_of(recipes, corescan, flags, "crash.c", "noreturn")
    assert report["crash"]["signal"] == "SIGABRT"
    thread = report["threads"][0]
    names = functions(thread)
    assert in_order(names, ["never_back", "compare", "die_callback", "main", "_start"]), names
    assert thread["stop"] == "bottom"


@pytest.mark.parametrize("flags", BUILDS)
def test_signal_handler(recipes, corescan, flags):
    report = report_of(recipes, corescan, flags, "crash.c", "handler")
    thread = report["threads"][0]
    kinds = [f["kind"] for f in thread["frames"]]
    assert kinds.count("signal") == 1
    names = functions(thread)
    assert in_order(names, ["on_fault", "die_null", "die_handler", "main", "_start"]), names


@pytest.mark.parametrize("flags", BUILDS[:2])
def test_threads(recipes, corescan, flags):
    report = report_of(recipes, corescan, flags, "threads.c", 8, "segv")
    assert len(report["threads"]) == 9
    waits = set()
    for thread in report["threads"][1:]:
        names = functions(thread)
        assert in_order(names, ["descend", "park"]), names
        assert thread["stop"] == "bottom"
        waits |= {n for n in names if n and n.startswith("wait_")}
    # wait_select() ends in a tail call, and two of eight wait without a function of ours.
    assert waits == {"wait_cond", "wait_until", "wait_read", "wait_sleep", "wait_poll"}


def test_another_program_is_refused(recipes, corescan):
    folder = recipes.new("aarch64")
    right = recipes.build_aarch64("crash.c", folder)
    wrong = recipes.build_aarch64("mappings.c", folder)
    core = recipes.by_qemu([right, "null"], folder)
    result = corescan.json("--exe", wrong, "--sysroot", SYSROOT, core.path)
    report = result.report()
    assert not [f for t in report["threads"] for f in t["frames"] if f["function"] == "main"]
    assert any("mappings" in d["text"] for d in report["diagnostics"])
