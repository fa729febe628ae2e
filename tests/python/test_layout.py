# SPDX-License-Identifier: GPL-3.0-or-later
"""The tables of symbols/layouts against what interpreters on this machine say of themselves.

Where one has debug information, gdb works out every offset anew; from 3.13 on the words that the
runtime publishes are read out of its file as well. Nothing here asks corescan for the truth.
"""
import collections
import functools
import json
import os
import pathlib
import re
import subprocess
import sys

import pytest

HERE = pathlib.Path(__file__).resolve().parent
LAYOUTS = HERE.parents[1] / "symbols/layouts"
sys.path.insert(0, str(HERE))

import fetch  # noqa: E402  (found by the line above)
import recipes  # noqa: E402
from recipes import cores  # noqa: E402

COLUMNS = "3.6 3.7 3.8 3.9 3.10 3.11 3.12 3.13 3.13t 3.14 3.14t 3.15 3.15t".split()
# The release that each column was taken from.
TAKEN_FROM = "15 16 18 18 13 7 1 18 18 10 10 2 2".split()
# Between patch releases of one version structures grew at their ends. The runtime publishes these
# sizes itself; the loop is the first word behind the part that all thread states have.
MOVED = {"runtime_size", "interp_size", "tstate_size", "tstate_running_loop"}
CORESCAN = pathlib.Path(os.environ.get("CORESCAN", "build/bin/corescan"))
PRINT_LAYOUT = CORESCAN.parent / "print_layout"

Field = collections.namedtuple("Field", "name size declared values")


def without_comments(path):
    return re.sub(r"/\*.*?\*/", "", path.read_text(encoding="utf-8"), flags=re.S)


def table():
    """{name: Field} of cpython.def."""
    found = {}
    pattern = r'F\((\w+), (\w+), (\d+), "([^"]+)",\s*([^)]+)\)'
    for owner, field, size, declared, values in re.findall(
        pattern, without_comments(LAYOUTS / "cpython.def")
    ):
        numbers = [-1 if v.strip() == "NO" else int(v) for v in values.split(",")]
        assert len(numbers) == len(COLUMNS), f"{owner}_{field} has {len(numbers)} columns"
        name = f"{owner}_{field}"
        found[name] = Field(name, int(size), declared, numbers)
    return found


TABLE = table()


def column_of(python):
    return COLUMNS.index("%d.%d" % python.version[:2] + ("t" if python.free else ""))


def published():
    """[(minor version that has it, "struct.field", our name or None)] in order."""
    text = without_comments(LAYOUTS / "cpython_published.def")
    pattern = r"D\((\d+), (\w+), (\w+), (?:NONE|OURS\((\w+)\))\)"
    words = [
        (int(since), f"{struct}.{field}", ours or None)
        for since, struct, field, ours in re.findall(pattern, text)
    ]
    assert len(words) == text.count("D("), "some words are not understood"
    return words


def program_of(python):
    """The ELF file with the interpreter: its library, or the program itself."""
    library = pathlib.Path(python.libdir) / f"libpython{python.ldversion}.so.1.0"
    shown = subprocess.run(["readelf", "-d", python.path], capture_output=True, text=True)
    return library if "libpython" in shown.stdout and library.exists() else python.path


def has_section(path, name):
    shown = subprocess.run(["readelf", "-SW", path], capture_output=True, text=True)
    return f" {name} " in shown.stdout


@functools.lru_cache(maxsize=None)
def ask_gdb(path, what, words=0):
    """See gdb_layout.py; `what` are names of the table."""
    wanted = [[name, TABLE[name].declared] for name in what]
    run = cores.run_gdb(
        *("-ex", f"python WANTED = {wanted!r}; WORDS = {words}"),
        *("-x", HERE / "gdb_layout.py", path),
    )
    lines = [line for line in run.stdout.splitlines() if line.startswith("LAYOUT ")]
    assert lines, f"gdb says of {path}: {run.stdout[-500:]}"
    return json.loads(lines[-1][len("LAYOUT ") :])


def debug_information(python):
    """What gdb says, asyncio's task from the module that has it."""
    path = program_of(python)
    if not has_section(path, ".debug_info"):
        pytest.skip(f"{path} has no debug information")
    tasks = tuple(n for n in TABLE if n.startswith("task_"))
    answer = dict(ask_gdb(path, tuple(n for n in TABLE if n not in tasks)))
    answer["fields"] = dict(answer["fields"])
    modules = sorted(pathlib.Path(python.prefix).glob("lib/python3*/lib-dynload/_asyncio.*.so"))
    for module in modules[:1]:
        more = ask_gdb(module, tasks)
        answer["fields"].update(more["fields"])
        answer["sizes"] = {**answer["sizes"], **more["sizes"]}
    return answer


def may_differ(name, column, patch):
    # A build with the JIT compiler has a few bytes more.
    configured = name in ("runtime_size", "interp_size") and column >= COLUMNS.index("3.13")
    return configured or (name in MOVED and str(patch) != TAKEN_FROM[column])


def differences(values, answer, column, patch):
    """Fields of which the table (VALUES: {name: offset}) says something else than gdb."""
    found = []
    for name, offset in answer["fields"].items():
        mine = values[name]
        # No such type: another version's. Types that are nowhere used leave no trace.
        truth = -1 if offset is None else offset
        if mine != truth and not may_differ(name, column, patch):
            found.append(f"{name}: the table has {mine}, the debug information {truth}")
        size = answer["sizes"].get(name)
        if size and mine >= 0 and TABLE[name].size > size:
            found.append(f"{name}: {TABLE[name].size} bytes are read of a field of {size}")
    return found


def column_values(column):
    return {name: field.values[column] for name, field in TABLE.items()}


def pythons():
    try:
        return recipes.installed() + fetch.interpreters()
    except cores.Unavailable:
        return []


each_python = pytest.mark.parametrize("python", pythons(), ids=lambda p: p.name)


@pytest.fixture(autouse=True)
def gdb_is_there():
    try:
        cores.need("gdb", "readelf")
    except cores.Unavailable as reason:
        pytest.skip(str(reason))


@each_python
def test_table_equals_debug_information(python):
    column = column_of(python)
    answer = debug_information(python)
    assert len(answer["fields"]) > 150
    found = differences(column_values(column), answer, column, python.version[2])
    assert not found, "\n".join(found)
    known = sum(1 for v in answer["fields"].values() if v is not None and v >= 0)
    assert known > 90, f"debug information has only {known} of the fields"
    if python.version[:2] == (3, 13):
        fields = answer["fields"]
        assert fields["tstate_running_loop"] == fields["tstate_size"]


@each_python
def test_wrong_value_is_noticed(python):
    """Each value of the column, changed, is a difference: no field is left out unseen."""
    column = column_of(python)
    answer = debug_information(python)
    values = column_values(column)
    for name in values:
        if may_differ(name, column, python.version[2]):
            continue
        for wrong in {values[name] + 8, values[name] + 1, -1} - {values[name]}:
            changed = dict(values, **{name: wrong})
            found = differences(changed, answer, column, python.version[2])
            assert any(f.startswith(f"{name}: ") for f in found), (name, wrong)


@each_python
def test_table_equals_published_words(python):
    """3.13+: no debug information needed."""
    minor = python.version[1]
    if minor < 13:
        pytest.skip("publishes nothing")
    words = [(name, ours) for since, name, ours in published() if since <= minor]
    answer = ask_gdb(program_of(python), (), 1 + len(words))["words"]
    assert answer[0].to_bytes(8, "little") == b"xdebugpy"
    said = dict(zip((name for name, _ in words), answer[1:]))
    assert said["table.version"] >> 16 == 0x0300 | minor
    assert said["table.free_threaded"] == int(python.free)
    column = column_of(python)
    values = column_values(column)
    if not python.free:
        # Words for what only a free-threaded build has are 0 then.
        words = [(name, ours) for name, ours in words if "tlbc" not in name]
    found = [
        f"{ours}: the table has {values[ours]}, the runtime publishes {said[name]}"
        for name, ours in words
        if ours and values[ours] != said[name] and not may_differ(ours, column, python.version[2])
    ]
    gc, lock = said["interpreter_state.gc"], said["interpreter_state.gil_runtime_state"]
    for name, word in (
        ("interp_gc_collecting", gc + said["gc.collecting"]),
        ("gil_locked", said["interpreter_state.gil_runtime_state_locked"] - lock),
        ("gil_last_holder", said["interpreter_state.gil_runtime_state_holder"] - lock),
    ):
        if values[name] != word:
            found.append(f"{name}: the table has {values[name]}, the runtime publishes {word}")
    assert not found, "\n".join(found)


def printed(*arguments):
    """What print_layout says: {name: offset}."""
    if not PRINT_LAYOUT.exists():
        pytest.skip(f"{PRINT_LAYOUT} is not built")
    run = subprocess.run(
        [str(PRINT_LAYOUT), *map(str, arguments)], capture_output=True, text=True, timeout=60
    )
    assert run.returncode == 0, (arguments, run.returncode, run.stderr)
    return {name: int(value) for name, value in map(str.split, run.stdout.splitlines())}


@pytest.mark.parametrize("column", range(len(COLUMNS)), ids=COLUMNS)
def test_program_has_the_table(column):
    name = COLUMNS[column]
    version = 3 << 24 | int(name[2:].rstrip("t")) << 16 | int(TAKEN_FROM[column]) << 8 | 0xF0
    for machine in ("x86_64", "aarch64"):
        values = column_values(column)
        for other, field, offset in aarch64() if machine == "aarch64" else ():
            if other == column:
                values[field] = offset
        assert printed("table", f"{version:x}", int(name.endswith("t")), machine) == values


@each_python
def test_program_reads_debug_information(python):
    """cs_py_layout_dwarf() and gdb agree, starting from another version's table."""
    truth = debug_information(python)["fields"]
    minor = python.version[1]
    for start in {minor, 6 if minor > 6 else 12}:
        got = printed("dwarf", f"{3 << 24 | start << 16:x}", 0, program_of(python))
        assert got.pop("enough") == 1
        wrong = [
            f"{name}: got {got[name]}, gdb has {offset}"
            for name, offset in truth.items()
            if offset is not None and not name.startswith("task_") and got[name] != offset
            # Structures that the table does not ask for are not searched to the end.
            and not (start != minor and got[name] == -1)
        ]
        assert not wrong, "\n".join(wrong)


def aarch64():
    """[(column, name, offset)] of cpython_aarch64.def."""
    text = without_comments(LAYOUTS / "cpython_aarch64.def")
    found = []
    for version, owner, field, offset in re.findall(r"A\(CS_PY_(\w+), (\w+), (\w+), (\d+)\)", text):
        column = COLUMNS.index(version.replace("_", ".").replace("T", "t"))
        found.append((column, f"{owner}_{field}", int(offset)))
    return found


def test_aarch64_is_plausible():
    """The lock is larger there; what lies behind it moves by 16 or by what alignment adds."""
    entries = aarch64()
    assert len(entries) > 30
    assert len({entry[:2] for entry in entries}) == len(entries), "an entry occurs twice"
    for column, name, offset in entries:
        here = TABLE[name].values[column]
        assert here > 0, f"{name} of {COLUMNS[column]} is not in the table"
        moved = offset - here
        assert moved % 16 == 0 and 0 < moved <= 64, f"{name} of {COLUMNS[column]} moves by {moved}"
        # Smaller structures, before the lock, do not move.
        assert name.split("_")[0] in ("runtime", "interp")
