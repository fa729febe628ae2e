# SPDX-License-Identifier: GPL-3.0-or-later
"""The first lines of the report for people: what died, of what, and where, without options."""
import cores
import pytest

KINDS = {
    "null": (
        "SIGSEGV",
        "NULL",
        "die_null",
        "signal       SIGSEGV (11), SEGV_MAPERR, address 0x0 (write)",
    ),
    "assert": ("SIGABRT", "assertion", "die_assert", "zero == 1"),
    "divide": ("SIGFPE", "division by zero", "die_divide", "FPE_INTDIV"),
    "overflow": ("SIGSEGV", "stack overflow", "forever", "SEGV_"),
    "handler": ("SIGSEGV", "NULL", "die_null", "signal handler called"),
}


@pytest.mark.parametrize("kind", KINDS)
def test_first_line(recipes, corescan, kind):
    signal, what, where, somewhere = KINDS[kind]
    result = corescan(recipes.crash(kind).path)
    assert result.status == 0 and result.err == ""
    first = result.out.splitlines()[0]
    assert first.startswith(signal) and what in first and where in first, first
    assert somewhere in result.out
    assert "\x1b" not in result.out
    marked = [line for line in result.out.splitlines() if line.startswith(">")]
    assert len(marked) == 1 and where in marked[0]


def test_recursion_is_folded(recipes, corescan):
    """80,000 frames in a page: one turn and a count."""
    core = recipes.crash("deep")
    result = corescan(core.path)
    core.path.unlink()
    assert "deep" in result.out.splitlines()[0]
    assert len(result.out.splitlines()) < 100
    assert any(word in result.out for word in ("79,99", "80,00", "7999", "8000"))


def test_exception(recipes, corescan):
    result = corescan(recipes.by_kernel([recipes.program("throw.cc")], recipes.new("throw")).path)
    first = result.out.splitlines()[0]
    assert first.startswith("SIGABRT") and "std::terminate" in first and "engine::Table" in first


def test_threads_are_folded_and_the_crashed_one_is_first(recipes, corescan):
    core = recipes.threads(40, "segv")
    lines = corescan(core.path).out.splitlines()
    assert "one of 41 threads" in "\n".join(lines[:6])
    report = corescan.report(core.path)
    assert report["threads"][0]["crashed"] and report["threads"][0]["tid"] == report["crash"]["tid"]
    groups = report["stack_groups"]
    assert sum(g["count"] for g in groups) == 41 and len(groups) < 41


def test_stacks_that_were_not_saved(recipes, corescan):
    """Without anonymous memory there are no stacks: where each thread was, and what to do."""
    core = recipes.threads(8, "segv", 0)
    result = corescan(core.path)
    assert result.status == 1
    assert "coredump_filter" in result.out and "corescan doctor" in result.out
    report = corescan.report(core.path, statuses=(1,))
    assert len(report["threads"]) == 9
    assert {t["stop"] for t in report["threads"]} == {"unreadable"}
    assert all(t["frames"][0]["function"] for t in report["threads"])
    assert [d["code"] for d in report["diagnostics"]].count("stacks-not-saved") == 1


def test_running_process(recipes, corescan):
    """A core of a process that lives on has no crash, and says so instead of naming a thread."""
    core = recipes.by_gcore([recipes.program("threads.c"), 4, "wait"], recipes.new("gcore"))
    assert "running process" in corescan(core.path).out.splitlines()[0]
    report = corescan.report(core.path)
    assert report["crash"]["signal"] is None and not any(t["crashed"] for t in report["threads"])


def test_python(recipes, corescan):
    pythons = cores.pythons()
    if not pythons:
        pytest.skip("no Python 3 with ctypes")
    core = recipes.of_python(pythons[0][1], recipes.new("python"))
    first = corescan(core.path).out.splitlines()[0]
    assert first.startswith("SIGSEGV: read of address 0x0, the NULL pointer")
