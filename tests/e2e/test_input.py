# SPDX-License-Identifier: GPL-3.0-or-later
"""What is given as a core: none, spoiled, huge, packed, through a pipe, or several."""
import itertools
import os
import pathlib
import shutil
import subprocess
import tempfile
import time

import cores
import patch
import pytest

MAX_MAP_COUNT = pathlib.Path("/proc/sys/vm/max_map_count")
NOBODY = 65534


@pytest.fixture(scope="module")
def core(recipes):
    return recipes.threads(8)


@pytest.fixture
def spoiled(core, tmp_path):
    """A function that hands out the core as bytes to change, and one that writes them."""

    def make(change):
        data = patch.CoreBytes(core.path)
        change(data)
        return data.write(tmp_path / "spoiled.core")

    return make


def comparable(report):
    """Without what differs from run to run, or with the file that the core came in."""
    report = {k: v for k, v in report.items() if k not in ("timing", "input")}
    report["process"] = {k: v for k, v in report["process"].items() if k != "core_time"}
    return report


def one_line(result, name):
    """Nothing can be said: one line, which names the file, and the status for that."""
    assert result.status == 3, (result.status, result.err, result.out[:300])
    assert result.out == ""
    assert len(result.err.splitlines()) == 1, result.err
    assert name in result.err and result.err.startswith("corescan: ")
    return result.err


# ---- no core at all ----


def no_core(kind, folder):
    path = folder / "given"
    if kind == "text":
        path.write_text("Traceback (most recent call last):\n" * 100)
    elif kind == "executable":
        shutil.copy("/bin/ls", path)
    elif kind == "empty":
        path.touch()
    elif kind == "directory":
        path.mkdir()
    elif kind == "FIFO":
        os.mkfifo(path)
    elif kind == "zeros":
        path.write_bytes(bytes(100000))
    elif kind == "gzip of text":
        subprocess.run(["gzip", "-c"], input=b"text\n" * 999, stdout=path.open("wb"), check=True)
    elif kind == "dangling link":
        path.symlink_to(folder / "nowhere")
    elif kind.startswith("/"):
        path.symlink_to(kind)
    return path


KINDS = ("missing", "text", "executable", "empty", "directory", "FIFO", "zeros", "gzip of text")


@pytest.mark.parametrize(
    "kind", (*KINDS, "dangling link", "/dev/zero", "/dev/null", "/proc/self/mem")
)
def test_not_a_core(corescan, tmp_path, kind):
    path = no_core(kind, tmp_path)
    one_line(corescan(path, timeout=20), "given")
    result = corescan.json(path, timeout=20)
    assert result.status == 3
    report = result.report()
    assert report["input"]["path"] == str(path)
    assert [d["severity"] for d in report["diagnostics"]] == ["error"]
    assert "threads" not in report or not report["threads"]


def test_an_executable_is_told_from_a_core(corescan):
    assert "execut" in one_line(corescan("/bin/ls"), "/bin/ls")


def test_no_permission(corescan, core):
    if os.geteuid() != 0:
        pytest.skip("needs root, to become somebody else")
    with tempfile.TemporaryDirectory() as folder:
        os.chmod(folder, 0o755)
        path = pathlib.Path(folder, "secret.core")
        shutil.copy(core.path, path)
        path.chmod(0)
        try:
            result = corescan(path, user=NOBODY, group=NOBODY, extra_groups=[])
        except PermissionError:
            pytest.skip("the program is where only root can start it")
        assert "ermission" in one_line(result, "secret.core")


# ---- spoiled ----


@pytest.mark.parametrize("machine, name", ((243, "RISC-V"), (3, "386"), (0xFFFF, "65535")))
def test_other_machine(corescan, spoiled, machine, name):
    result = corescan(spoiled(lambda c: c.set("e_machine", machine)))
    assert name.lower() in one_line(result, "spoiled.core").lower() or str(machine) in result.err


def test_32_bits(corescan, spoiled):
    assert "32" in one_line(corescan(spoiled(lambda c: c.set("ei_class", 1))), "spoiled.core")


def test_big_endian(corescan, spoiled):
    one_line(corescan(spoiled(lambda c: c.set("ei_data", 2))), "spoiled.core")


def first_load(core):
    return core.segments(patch.PT_LOAD)[0]


def note_segment(core):
    return core.segments(patch.PT_NOTE)[0]


def lie_in_note(core, field, value):
    at = next(core.notes())[0]
    core.data[at + field : at + field + 4] = value.to_bytes(4, "little")


LIES = {
    "e_phnum": lambda c: c.set("e_phnum", 60000),
    "e_phnum of section 0": lambda c: (c.set("e_phnum", 0xFFFF), c.set("e_shoff", 1 << 60)),
    "e_phoff": lambda c: c.set("e_phoff", 1 << 62),
    "e_phoff beyond": lambda c: c.set("e_phoff", len(c.data) - 8),
    "e_phentsize": lambda c: c.set("e_phentsize", 1),
    "p_filesz": lambda c: c.set_phdr(first_load(c), "p_filesz", (1 << 64) - 1),
    "p_memsz": lambda c: c.set_phdr(first_load(c), "p_memsz", (1 << 64) - 4096),
    "p_offset": lambda c: c.set_phdr(first_load(c), "p_offset", (1 << 64) - 4096),
    "p_vaddr": lambda c: c.set_phdr(first_load(c), "p_vaddr", (1 << 64) - 4096),
    "size of notes": lambda c: c.set_phdr(note_segment(c), "p_filesz", 1 << 50),
    "no notes": lambda c: c.set_phdr(note_segment(c), "p_filesz", 0),
    "n_namesz": lambda c: lie_in_note(c, 0, 0xFFFFFFFF),
    "n_descsz": lambda c: lie_in_note(c, 4, 0xFFFFFFF0),
    "n_descsz small": lambda c: lie_in_note(c, 4, 1),
    "overlapping": lambda c: [c.set_phdr(i, "p_vaddr", 0x10000) for i in c.segments(patch.PT_LOAD)],
}


@pytest.mark.parametrize("lie", LIES)
def test_sizes_that_lie(corescan, spoiled, lie):
    path = spoiled(LIES[lie])
    result = corescan.json("--all", path, timeout=20)
    assert result.status in (0, 1, 3), (result.status, result.err)
    report = result.report()
    assert [d for d in report["diagnostics"] if d["severity"] in ("error", "warning")], report[
        "diagnostics"
    ]
    text = corescan(path, timeout=20)
    assert text.status == result.status
    if text.status == 3:
        one_line(text, "spoiled.core")


def test_note_of_every_size(corescan, spoiled):
    """Each note's descriptor halved in turn: a report all the same."""
    count = len(list(patch.CoreBytes(spoiled(lambda c: None)).notes()))
    for index in range(0, count, max(1, count // 12)):

        def halve(core, index=index):
            at, _, size, _, _ = next(itertools.islice(core.notes(), index, None))
            core.data[at + 4 : at + 8] = (size // 2).to_bytes(4, "little")

        result = corescan.json("--all", spoiled(halve), timeout=20)
        assert result.status in (0, 1), (index, result.status, result.err)
        result.report()


@pytest.mark.parametrize("back_to", (0, -1), ids=("to the first", "to itself"))
def test_loop_in_the_link_map(corescan, core, spoiled, back_to):
    def tie(data):
        entries = list(data.link_map())
        assert len(entries) >= 3
        data.set_word(entries[-1] + 24, entries[back_to])

    report = corescan.report(spoiled(tie), statuses=(0, 1), timeout=20)
    bases = [m["base"] for m in report["modules"]]
    assert len(bases) == len(set(bases))
    assert "link" in " ".join(d["text"] for d in report["diagnostics"]).lower()
    whole = corescan.report(core.path)
    assert comparable(report)["threads"] == comparable(whole)["threads"]


# ---- large ----


def test_more_segments_than_e_phnum_counts(recipes, corescan):
    """Real PN_XNUM: the number is in section header 0."""
    old = MAX_MAP_COUNT.read_text()
    if int(old) < 80000:
        try:
            MAX_MAP_COUNT.write_text("100000")
        except OSError:
            pytest.skip("vm.max_map_count is too small and cannot be raised")
    try:
        made = recipes.by_kernel([recipes.program("mappings.c"), 70000], recipes.new("xnum"))
    finally:
        if int(old) < 80000:
            MAX_MAP_COUNT.write_text(old)
    with open(made.path, "rb") as file:
        assert file.read(58)[56:] == b"\xff\xff"
    report = corescan.report(made.path)
    # The frame between main() and this one has a name only where libc6-dbg is installed.
    names = [f["function"] for f in report["threads"][0]["frames"]]
    assert names[-4] == "main" and names[-2:] == ["__libc_start_main", "_start"]
    made.path.unlink()


def peak_of(program, *arguments):
    """(seconds, peak resident KiB, status) of one run."""
    start = time.monotonic()
    process = subprocess.Popen(
        [str(program), *map(str, arguments)],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    return time.monotonic() - start, usage.ru_maxrss, process.returncode


def test_100_gigabytes(corescan, core, tmp_path):
    """A hole of 100 GB in the middle of the address space costs neither time nor memory."""
    hole = 100 << 30
    data = patch.CoreBytes(core.path)
    count, old = data.get("e_phnum"), data.get("e_phoff")
    table = data.data[old : old + 56 * count]
    before = sum(data.phdr(i, "p_vaddr") < 1 << 44 for i in range(count))
    entry = bytearray(table[-56:])
    at = (len(data.data) + len(table) + 56 + 4095) // 4096 * 4096
    for name, value in (
        ("p_offset", at),
        ("p_vaddr", 1 << 44),
        ("p_filesz", hole),
        ("p_memsz", hole),
    ):
        at_field = patch.PHDR[name][0]
        entry[at_field : at_field + 8] = value.to_bytes(8, "little")
    data.set("e_phoff", len(data.data))
    data.set("e_phnum", count + 1)
    data.data += table[: 56 * before] + entry + table[56 * before :]
    path = data.write(tmp_path / "huge.core")
    try:
        os.truncate(path, at + hole)
    except OSError as error:
        pytest.skip(f"no sparse file of 100 GB here: {error}")
    seconds, peak, status = peak_of(corescan.path, "--json", path)
    usual, usual_peak, _ = peak_of(corescan.path, "--json", core.path)
    assert status == 0
    assert seconds < usual * 2 + 1 and peak < usual_peak * 1.5 + 8192, (
        seconds,
        usual,
        peak,
        usual_peak,
    )
    assert (
        comparable(corescan.report(path))["threads"]
        == comparable(corescan.report(core.path))["threads"]
    )


# ---- packed, and through pipes ----


@pytest.mark.parametrize(
    "tool, end", (("gzip", "gz"), ("xz", "xz"), ("zstd", "zst"), ("lz4", "lz4"), ("bzip2", "bz2"))
)
def test_compressed(corescan, core, tmp_path, tool, end):
    if not shutil.which(tool):
        pytest.skip(f"{tool} is not installed")
    path = tmp_path / f"packed.core.{end}"
    with open(core.path, "rb") as whole, open(path, "wb") as packed:
        subprocess.run([tool, "-c"], stdin=whole, stdout=packed, check=True)
    report = corescan.report(path)
    assert tool in report["input"]["compression"] or end in report["input"]["compression"]
    assert report["input"]["bytes"] == path.stat().st_size
    assert comparable(report) == comparable(corescan.report(core.path))
    # By what it is, not by what it is called; and cut in the middle there is a report of the rest.
    nameless = tmp_path / "nameless"
    nameless.write_bytes(path.read_bytes()[: path.stat().st_size * 2 // 3])
    cut = corescan.json(nameless)
    assert cut.status in (1, 3)
    assert [d for d in cut.report()["diagnostics"] if d["severity"] == "error"]


def test_standard_input(corescan, core):
    whole = comparable(corescan.report(core.path))
    with open(core.path, "rb") as file:
        assert comparable(corescan.report("-", stdin=file)) == whole
    with subprocess.Popen(["cat", core.path], stdout=subprocess.PIPE) as cat:
        assert comparable(corescan.report("-", stdin=cat.stdout)) == whole
    if shutil.which("gzip"):
        with subprocess.Popen(["gzip", "-c", core.path], stdout=subprocess.PIPE) as gzip:
            assert comparable(corescan.report("-", stdin=gzip.stdout)) == whole


def test_standard_input_without_a_core(corescan):
    for data in (b"", b"text\n"):
        with subprocess.Popen(["printf", data], stdout=subprocess.PIPE) as source:
            one_line(corescan("-", stdin=source.stdout, timeout=20), "standard input")


# ---- several, and again ----


def test_several_cores(recipes, corescan, core, tmp_path):
    other = recipes.crash("null").path
    part = tmp_path / "part.core"
    part.write_bytes(core.path.read_bytes()[:200000])
    for paths, status in (
        ([core.path, other], 0),
        ([core.path, part, other], 1),
        ([core.path, "/bin/ls", part], 3),
        (["/nowhere/core", core.path], 3),
    ):
        result = corescan.json(*paths)
        assert result.status == status, paths
        assert [r["input"]["path"] for r in result.reports()] == [str(p) for p in paths]
        assert corescan(*paths).status == status


def test_two_runs_say_the_same(corescan, core):
    one, two = (corescan.json("--all", core.path).report() for _ in range(2))
    del one["timing"], two["timing"]
    assert one == two
    assert corescan(core.path).out == corescan(core.path).out


def test_wrong_usage(corescan, core):
    for arguments in ([], ["--no-such-option", core.path], ["--exe"]):
        result = corescan(*arguments)
        assert result.status == 2 and result.out == "" and result.err


def test_time_limit(recipes, corescan):
    """Stopped at once: what there is then is reported, with the status for that."""
    deep = recipes.crash("mutual")
    result = corescan.json("--all", "--time-limit", "0.001", deep.path)
    assert result.status == 4
    assert result.report()["schema"] == "corescan-report/1"
    deep.path.unlink()
