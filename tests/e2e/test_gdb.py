# SPDX-License-Identifier: GPL-3.0-or-later
"""The frames of real cores, pc and function, against those that gdb finds in them."""
import signal

import compare_gdb
import cores
import pytest

SHARE = 0.995
# Each of these is 80,000 frames, and must not outweigh everything else.
DEEP = ("deep", "mutual")
KINDS = (
    *("null", "call", "abort", "assert", "divide", "noreturn", "handler", "handler-same-stack"),
    *("overflow", "raise", *DEEP),
)
PYTHONS = cores.pythons()


def test_comparison_sees_what_differs():
    """A comparison that calls everything equal would pass all that follows."""
    frame = compare_gdb.Frame
    gdb = {
        1: [
            frame(1, "a", "native"),
            frame(9, "t", "tail"),
            frame(2, None, "native"),
            frame(3, "c", "signal"),
        ]
    }
    same = [frame(1, "a", "native"), frame(2, "n", "native", nearest=True), frame(3, "s", "signal")]
    assert compare_gdb.compare(gdb, {1: same}).share() == 1.0
    for ours, reason in (
        ([same[0]._replace(pc=8), *same[1:]], "another pc"),
        ([same[0]._replace(name="b"), *same[1:]], "another name"),
        ([same[0]._replace(name=None), *same[1:]], "no name in corescan"),
        (
            [same[0]._replace(nearest=True, name="b"), *same[1:]],
            "only the nearest name in corescan",
        ),
        ([same[0], same[1]._replace(nearest=False), same[2]], "no name in gdb"),
        (
            [*same[:2], same[2]._replace(kind="native")],
            "only one takes it for a signal handler's frame",
        ),
        (same[:2], "corescan stops early"),
        (same[1:], "only gdb has this frame"),
        ([*same, frame(4, "d", "native")], "gdb stops early"),
    ):
        assert list(compare_gdb.compare(gdb, {1: ours}).reasons()) == [reason]
    assert compare_gdb.compare(gdb, {2: same}).equal == 0


@pytest.fixture(scope="module")
def total(tables):
    """(all, without the deep ones): filled by each test, judged by the last."""
    if not cores.shutil.which("gdb"):
        pytest.skip("gdb is not installed")
    both = (compare_gdb.Comparison(), compare_gdb.Comparison())
    yield both
    if both[0].frames:
        tables.extend(compare_gdb.lines_of("all cores", both[0]))
        tables.extend(list(compare_gdb.lines_of("without deep recursion", both[1]))[:1])


@pytest.fixture
def check(request, corescan, total, tables):
    def run(core, label):
        try:
            result = compare_gdb.compare_core(corescan.path, core.path, core.executable)
        except compare_gdb.NoGroundTruth as reason:
            pytest.skip(str(reason))
        lines = list(compare_gdb.lines_of(label, result))
        tables.append(lines[0])
        for one in total if label not in DEEP else total[:1]:
            one.add(result)
        core.path.unlink()
        assert result.frames > 3
        # One frame may be argued about; more in one core is a fault whatever the total says.
        assert len(result.differences) <= max(1, (1 - SHARE) * result.frames), "\n".join(lines)

    return run


@pytest.mark.parametrize("kind", KINDS)
def test_deaths(recipes, check, kind):
    check(recipes.crash(kind), kind)


@pytest.mark.parametrize(
    "flags", (["-O0"], ["-O3", "-fno-omit-frame-pointer"], ["-s"], ["-no-pie", "-g0"])
)
def test_builds(recipes, check, flags):
    program = recipes.program("crash.c", *flags, name="crash" + "".join(flags))
    check(
        recipes.by_kernel([program, "noreturn"], recipes.new("build")),
        f"noreturn {' '.join(flags)}",
    )


@pytest.mark.parametrize("dump_filter", (cores.DEFAULT_FILTER, cores.FULL, 0x1))
def test_filters(recipes, check, dump_filter):
    check(recipes.threads(40, "segv", dump_filter), f"threads, filter {dump_filter:#x}")


def test_killed_from_outside(recipes, check):
    command = [recipes.program("threads.c"), 24, "wait"]
    check(recipes.by_signal(command, recipes.new("kill"), signal.SIGABRT), "kill -ABRT")


def test_gcore(recipes, check):
    check(
        recipes.by_gcore([recipes.program("threads.c"), 24, "wait"], recipes.new("gcore")), "gcore"
    )


def test_gdb_after_crash(recipes, check):
    command = [recipes.program("threads.c"), 24, "segv"]
    check(recipes.by_gdb_after_crash(command, recipes.new("gdb")), "generate-core-file")


@pytest.mark.parametrize("arguments", ([], ["thread"]))
@pytest.mark.parametrize("flags", (["-O2"], ["-O0"], ["-O2", "-static-libstdc++"]))
def test_cplusplus(recipes, check, arguments, flags):
    program = recipes.program("throw.cc", *flags, name="throw" + "".join(flags))
    core = recipes.by_kernel([program, *arguments], recipes.new("throw"))
    check(core, f"C++ {' '.join([*flags, *arguments])}")


def test_dlopen(recipes, check):
    library = recipes.build_library("plugin.c", recipes.folder, name="libplugin.so")
    check(
        recipes.by_kernel([recipes.program("loader.c"), library], recipes.new("dlopen")), "dlopen"
    )


def test_many_mappings(recipes, check):
    core = recipes.by_kernel([recipes.program("mappings.c"), 10000], recipes.new("mappings"))
    check(core, "10,000 mappings")


@pytest.mark.parametrize("version, python", PYTHONS, ids=[version for version, _ in PYTHONS])
def test_python(recipes, check, version, python):
    check(recipes.of_python(python, recipes.new("python")), f"Python {version}")


def test_python_in_gcore(recipes, check):
    if not PYTHONS:
        pytest.skip("no Python 3 with ctypes")
    version, python = PYTHONS[-1]
    command = [python, "-c", cores.PYTHON_THREADS, "wait"]
    check(recipes.by_gcore(command, recipes.new("python-gcore")), f"Python {version}, gcore")


def test_share_of_equal_frames(total):
    whole, shallow = total
    if not whole.frames:
        pytest.skip("no core was compared")
    assert whole.share() >= SHARE, "\n".join(compare_gdb.lines_of("all cores", whole))
    assert shallow.share() >= SHARE, "\n".join(compare_gdb.lines_of("without recursion", shallow))
