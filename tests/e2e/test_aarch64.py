# SPDX-License-Identifier: GPL-3.0-or-later
"""Cores of aarch64 programs on this host, written by qemu-aarch64, with the libraries of a cross toolchain."""
import cores
import pytest

SYSROOT = cores.SYSROOT_AARCH64


def options(folder):
    return ["--sysroot", SYSROOT, "--lib-path", folder, "--lib-path", SYSROOT]


def functions(thread):
    return [f["function"] for f in thread["frames"] if f["kind"] != "inline"]


@pytest.mark.parametrize("flags", ([], ["-static"], ["-mbranch-protection=standard"], ["-fomit-frame-pointer"]))
def test_null_below_main(recipes, corescan, flags):
    folder = recipes.new("aarch64")
    program = recipes.build_aarch64("crash.c", folder, *flags)
    core = recipes.by_qemu([program, "null"], folder)
    report = corescan.report(core.path, *options(folder), statuses=(0, 1))
    assert report["process"]["machine"] == "aarch64"
    assert report["crash"]["signal"] == "SIGSEGV"
    thread = report["threads"][0]
    assert thread["crashed"]
    assert functions(thread)[:2] == ["die_null", "main"]
    assert "_start" in functions(thread)[-1]
    assert all(f["trust"] in ("context", "cfi") for f in thread["frames"][:2])


def test_recursion(recipes, corescan):
    folder = recipes.new("aarch64-deep")
    program = recipes.build_aarch64("crash.c", folder, "-static")
    core = recipes.by_qemu([program, "overflow"], folder)
    report = corescan.report(core.path, *options(folder), statuses=(0, 1))
    names = functions(report["threads"][0])
    assert "forever" in names and "main" in names


def test_callback_of_the_c_library(recipes, corescan):
    """Through libc.so.6 of the cross toolchain, whose unwind tables are at hand and whose build id differs not."""
    folder = recipes.new("aarch64-callback")
    program = recipes.build_aarch64("crash.c", folder)
    core = recipes.by_qemu([program, "noreturn"], folder)
    report = corescan.report(core.path, *options(folder), statuses=(0, 1))
    names = [n for n in functions(report["threads"][0]) if n]
    at = [names.index(n) for n in ("never_back", "compare", "die_callback", "main")]
    assert at == sorted(at)
