#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""corescan and the tools that people use today on the same cores, in one table.

    peers.py --install                          bring the tools (PyPI's go to .cache/peers)
    peers.py [--runs 5] [--only TEXT,...]       the table, over a set of cores that it makes
    peers.py CORE[,EXECUTABLE[,TRUTH.json]]...  over cores of yours
    peers.py --write docs/BENCH.md              the same, into the page

Each command runs once unmeasured: that warms the cache, and its output is read and judged. Then the
tools take turns, so that a slow minute of the machine hits all of them; medians are printed. Python
frames are right where they equal what the process itself wrote before it died (TRUTH.json, see
tests/python/programs/truth.py); native frames are held against gdb's. --json and --markdown print
the table in other ways. Nothing passes or fails here: a tool that is not there is named, and why.
"""
import argparse
import collections
import json
import os
import pathlib
import re
import statistics
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
LIMIT = 300
MARKS = ("<!-- peers: begin -->", "<!-- peers: end -->")
# No downloads of debug information, no colours.
QUIET = {"DEBUGINFOD_URLS": "", "TERM": "dumb", "NO_COLOR": "1", "LC_ALL": "C.UTF-8"}

sys.path.insert(0, str(HERE))

import bench  # noqa: E402  (found by the line above)
import outputs  # noqa: E402
import peers_cores  # noqa: E402
import peers_install  # noqa: E402

# ---- the table of tools ----

# command: what is measured. counted: what is run to count and judge (None: the same). In both,
# CORE, EXECUTABLE, HELPER and DEBUG are replaced. shows: what the tool claims to show; nothing else
# is held against it. python_only: it refuses cores of other programs. notes: what to know of it.
Tool = collections.namedtuple(
    "Tool", "name program package command counted parse shows python_only notes"
)

GDB = ("gdb", "-nx", "-batch", "-iex", "set debuginfod enabled off")
GDB_BT = (*GDB, "-ex", "set backtrace past-main on")
EVERY_BT = ("-ex", "thread apply all bt", "EXECUTABLE", "CORE")
ADDRESSES = ("-ex", "set print frame-info location-and-address")
LLDB_TID = 'settings set thread-stop-format "thread: tid = ${thread.id%tid}\\n"'

TOOLS = (
    Tool(
        "corescan",
        "corescan",
        "build/bin/corescan (./quickstart builds it)",
        ("corescan", "CORE"),
        ("corescan", "--json", "--all", "CORE"),
        outputs.of_corescan,
        {"native", "inline", "python", "merged"},
        False,
        (
            "The time is that of its text report, which tells equal stacks once; the counts are"
            " those of --json --all.",
            "It needs no executable: it finds the files that the core names, by their build id.",
            "It shows no tail calls: gdb deduces some from the debug information.",
            "It shows no arguments nor local variables of native functions: gdb and lldb do, and"
            " spend time on it.",
        ),
    ),
    Tool(
        "eu-stack",
        "eu-stack",
        "elfutils",
        ("eu-stack", "-n", "0", "--core", "CORE", "--executable", "EXECUTABLE"),
        None,
        outputs.of_eu_stack,
        {"native"},
        False,
        (
            "Made to print native stacks, fast. It knows no Python.",
            "Without -n 0 it stops after 256 frames of a thread.",
        ),
    ),
    Tool(
        "eu-stack -i",
        "eu-stack",
        "elfutils",
        ("eu-stack", "-i", "-n", "0", "--core", "CORE", "--executable", "EXECUTABLE"),
        None,
        outputs.of_eu_stack,
        {"native", "inline"},
        False,
        ("The same with inlined calls, for which it reads the debug information.",),
    ),
    Tool(
        "gdb bt",
        "gdb",
        "gdb",
        (*GDB_BT, *EVERY_BT),
        (*GDB_BT, *ADDRESSES, *EVERY_BT),
        outputs.of_gdb_bt,
        {"native", "inline"},
        False,
        (
            "Made to debug interactively: it reads symbols and types of all modules before the"
            " first frame, and prints arguments with their values.",
            "It is the reference for native frames, and so right by definition; where it errs, the"
            " others are called wrong.",
            "With 'set backtrace past-main on', or it ends at main(), where the others go on.",
        ),
    ),
    Tool(
        "gdb py-bt",
        "gdb",
        "gdb",
        (
            *(*GDB, "-iex", "set debug-file-directory DEBUG", "-ex", "source HELPER"),
            *("-ex", "thread apply all py-bt", "EXECUTABLE", "CORE"),
        ),
        None,
        outputs.of_gdb_py_bt,
        {"python"},
        True,
        (
            "CPython's own helper for gdb (HELPER: pythonX.Y-gdb.py), which must be that of the"
            " core's minor version, and needs the interpreter's debug information. Its stacks are"
            " apart from those of bt.",
            "That of 3.8 takes a step back in the table of lines for one of 256 lines more:"
            " the lines of calls that are written over several lines can be wrong.",
            "Debian's interpreters have both in pythonX.Y-dbg, of exactly the same build;"
            " peers.py --install unpacks it into .cache/peers/debug (DEBUG) if the mirror has it.",
        ),
    ),
    Tool(
        "lldb",
        "lldb",
        "lldb",
        ("lldb", "--no-lldbinit", "--batch", "-o", "bt all", "-c", "CORE", "EXECUTABLE"),
        (
            *("lldb", "--no-lldbinit", "--batch", "-o", LLDB_TID),
            *("-o", "bt all", "-c", "CORE", "EXECUTABLE"),
        ),
        outputs.of_lldb,
        {"native", "inline"},
        False,
        (
            "A debugger, as gdb. It knows no Python.",
            "Debian's does not read the compressed symbol tables of some stripped modules"
            " (.gnu_debugdata): their functions have no names, and are not gdb's.",
            "Its number of native frames includes inlined calls that it does not mark: of code that"
            " gcc compiled, version 14 marks few.",
            "Where a call was inlined it tells pcs that are not those of frames, so its frames are"
            " compared by name and order alone.",
        ),
    ),
    Tool(
        "pystack",
        "pystack",
        "pystack, from PyPI",
        ("pystack", "core", "--native-all", "CORE", "EXECUTABLE"),
        None,
        outputs.of_pystack,
        {"native", "inline", "python", "merged"},
        True,
        (
            "Made for Python processes; it refuses others. The one peer that shows both kinds of"
            " frames in one stack, where their numbers match: where not, it drops the thread's"
            " native frames and says so.",
            "It leaves out the interpreter's evaluation loop and what surrounds it on purpose, and"
            " of native frames those that a Python frame stands for: fewer native frames than gdb's"
            " are no fault of it. Frames are compared by name and order: it tells no pcs.",
            "It does not read .gnu_debugdata, either.",
        ),
    ),
    Tool(
        "pystack, Python only",
        "pystack",
        "pystack, from PyPI",
        ("pystack", "core", "CORE", "EXECUTABLE"),
        None,
        outputs.of_pystack,
        {"python"},
        True,
        ("The same without native frames, which it does not unwind then. Python's threads only.",),
    ),
    Tool(
        "py-spy",
        "py-spy",
        "py-spy, from PyPI",
        ("py-spy", "dump", "--full-filenames", "--core", "CORE"),
        ("py-spy", "dump", "--json", "--core", "CORE"),
        outputs.of_py_spy,
        {"python"},
        True,
        (
            "Made to sample living processes, where it shows native frames, too; of a core it shows"
            " Python's only, takes no executable, and reads the whole core into memory.",
            "Python's threads only.",
        ),
    ),
)


# ---- running and judging ----

Present = collections.namedtuple("Present", "tool program version")


class NotHere(Exception):
    """A tool cannot be run on a core; the text says why."""


def tools_present(corescan):
    """([Present], {name of a tool: why it is left out})."""
    found, missing = [], {}
    for tool in TOOLS:
        program = str(corescan) if tool.program == "corescan" else peers_install.which(tool.program)
        if program is None or not os.access(program, os.X_OK):
            missing[tool.name] = f"not installed: {tool.package}"
            continue
        asked = [program, "--version"]
        run = subprocess.run(asked, stdin=subprocess.DEVNULL, capture_output=True, check=False)
        version = re.search(rb"\d+(\.\d+)+", run.stdout + run.stderr)
        found.append(Present(tool, program, version[0].decode() if version else "?"))
    return found, missing


def filled(words, present, core):
    """The command with its words in capitals replaced."""
    debug = f"/usr/lib/debug:{peers_install.CACHE / 'debug/usr/lib/debug'}"
    values = {"CORE": str(core.path), "EXECUTABLE": core.executable, "DEBUG": debug}
    if any("HELPER" in word for word in words):
        helper = peers_install.helper_of(core.executable)
        if helper is None:
            raise NotHere("no pythonX.Y-gdb.py that goes with this interpreter")
        values["HELPER"] = helper
    pattern = re.compile("|".join(rf"\b{name}\b" for name in values))
    command = [pattern.sub(lambda m: values[m[0]], word) for word in words]
    return [present.program, *command[1:]]


JUDGED = (
    *("threads", "native", "native_equal", "native_total", "inline", "tail"),
    *("python", "python_equal", "python_total", "python_invented", "merged", "woven"),
)


def count(shown, *kinds):
    return sum(frame.kind in kinds for frames in shown.threads.values() for frame in frames)


def judged(tool, shown, core, reference, aliases):
    """What is told of one tool's output, as the table has it; None: it claims no such thing."""
    row = dict.fromkeys(JUDGED)
    row["threads"] = len(shown.threads)
    if "native" in tool.shows:
        row["native"] = count(shown, "native", "signal")
        row["tail"] = count(shown, "tail")
        if reference:
            verdict = outputs.judge_native(shown, reference, aliases)
            row["native_equal"], row["native_total"] = verdict.equal, verdict.total
            if tool.name == "gdb bt":  # its text does not tell tail calls from frames
                row["tail"] = sum(f.kind == "tail" for fs in reference.values() for f in fs)
                row["native"] -= row["tail"]
    if "inline" in tool.shows:
        row["inline"] = count(shown, "inline")
    if "python" in tool.shows and core.python:
        row["python"] = count(shown, "python")
        if core.truth:
            verdict = outputs.judge_python(shown, core.truth)
            row["python_equal"], row["python_total"] = verdict.equal, verdict.total
            row["python_invented"] = verdict.invented
    if "merged" in tool.shows and core.python:
        row["merged"] = outputs.merged(shown)
        if core.truth:
            row["woven"] = outputs.judge_weave(shown, core.truth, core.symbols)
    return row


def last_line(run):
    lines = [line.strip() for line in (run.err + "\n" + run.out).splitlines() if line.strip()]
    return lines[-1][:160] if lines else "it said nothing"


def first_run(watch, present, core, limit):
    """(what it shows or None, what is to be said of it or None)."""
    tool = present.tool
    try:
        command = filled(tool.counted or tool.command, present, core)
        run = watch.measure(command, limit, environment())
    except NotHere as why:
        return None, str(why)
    if run.status is None:
        return None, f"not done in {limit} s"
    try:
        shown = tool.parse(run.out)
    except (outputs.Unreadable, ValueError, KeyError) as why:
        said = f": {last_line(run)}" if run.status else f": {why}"
        return None, f"exit status {run.status}{said}"
    return shown, f"exit status {run.status}: {last_line(run)}" if run.status else None


def environment():
    return {**os.environ, **QUIET}


def reference_of(core, presents):
    """gdb's frames, and which names are one; (None, why) if there is no gdb."""
    corescan = next((p for p in presents if p.tool.name == "corescan"), None)
    try:
        reference = outputs.compare_gdb.frames_of_gdb(core.path, core.executable, limit=LIMIT)
    except (OSError, outputs.compare_gdb.NoGroundTruth, subprocess.TimeoutExpired) as why:
        return None, None, f"no reference for native frames: {why}"
    aliases = outputs.Aliases()
    if corescan:
        command = [corescan.program, "--json", "--all", str(core.path)]
        run = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, check=False)
        report = json.loads(run.stdout or b"{}")
        if "stack_groups" in report:
            aliases.learn(report, reference)
    return reference, aliases, None


def over_core(core, presents, watch, args):
    """The rows of one core: {tool: row}; a tool that showed nothing has the reason in "failed"."""
    reference, aliases, why = reference_of(core, presents)
    rows, notes = {}, [why] if why else []
    for present in presents:
        if present.tool.python_only and not core.python:
            continue
        shown, said = first_run(watch, present, core, args.limit)
        if shown is None:
            rows[present.tool.name] = {"failed": said}
            continue
        rows[present.tool.name] = judged(present.tool, shown, core, reference, aliases)
        if said:
            notes.append(f"{present.tool.name}: {said}")
    ran = [p for p in presents if "failed" not in rows.get(p.tool.name, {"failed": ""})]
    figures = {p.tool.name: [] for p in ran}
    for _ in range(args.runs):
        for present in ran:
            command = filled(present.tool.command, present, core)
            figures[present.tool.name].append(watch.measure(command, args.limit, environment()))
    for name, runs in figures.items():
        for field in ("wall", "cpu", "rss_kib"):
            values = [getattr(run, field) for run in runs]
            rows[name][field] = None if None in values else statistics.median(values)
    size = core.path.stat().st_size
    return {
        "name": core.name,
        "bytes": size,
        "threads": len(reference) if reference else None,
        "truth": bool(core.truth),
        "notes": notes,
        "rows": rows,
    }


def cores_of(args, folder):
    """(name, function that makes it); cores that were given are not deleted."""
    if args.cores:
        return [(text, lambda _, text=text: peers_cores.given(text)) for text in args.cores]
    wanted = args.only.split(",") if args.only else [""]
    every = peers_cores.makers(args.corescan)
    return [(name, make) for name, make in every if any(w in name for w in wanted)]


def measure(args):
    """All of it, as --json prints it."""
    presents, missing = tools_present(args.corescan)
    cache = ROOT / ".cache/bench"
    cache.mkdir(parents=True, exist_ok=True)
    watch = bench.Stopwatch(cache)
    done, left_out = [], {f"tool {name}": why for name, why in missing.items()}
    load = os.getloadavg()[0]
    for name, make in cores_of(args, cache):
        with tempfile.TemporaryDirectory(prefix="peers-", dir=cache) as folder:
            try:
                core = make(pathlib.Path(folder))
                peers_install.say(f"{core.name} ...")
                done.append(over_core(core, presents, watch, args))
            except (peers_cores.Unavailable, peers_cores.cores.Unavailable) as why:
                left_out[name] = " ".join(str(why).split())
    return {
        "runs": args.runs,
        "cpus": os.cpu_count(),
        "load_before": round(load, 1),
        "tools": [
            {
                "name": p.tool.name,
                "version": p.version,
                "command": command_line(p.tool.command),
                "counted": command_line(p.tool.counted or p.tool.command),
                "notes": list(p.tool.notes),
            }
            for p in presents
        ],
        "cores": done,
        "left_out": left_out,
    }


# ---- printing ----

COLUMNS = (
    *("tool", "wall s", "CPU s", "MiB", "threads", "native", "as gdb's", "inlined"),
    *("Python", "as written", "merged"),
)


def command_line(words):
    return " ".join(f"'{w}'" if re.search(r"[^\w./=-]", w) else w for w in words)


def share(equal, total):
    return "-" if total is None else f"{equal}/{total}"


def cells(name, row):
    """One line of the table, as text."""
    if "failed" in row:
        return [name] + ["failed"] + [""] * (len(COLUMNS) - 2)
    wall, cpu, rss = row["wall"], row["cpu"], row["rss_kib"]
    times = [f"{wall:.3f}", f"{cpu:.3f}", f"{rss / 1024:.0f}"] if rss else ["too long", "-", "-"]
    python = share(row["python_equal"], row["python_total"])
    if row["python_total"] is not None:
        fields = (row[f"python_{name}"] for name in outputs.Judged._fields)
        python += " right" if outputs.right(outputs.Judged(*fields)) else " WRONG"
    merged = "-" if row["merged"] is None else "{}/{}".format(*row["merged"])
    merged += {None: "", True: " right", False: " WRONG"}[row["woven"]]
    inlined = "-" if row["inline"] is None else str(row["inline"])
    inlined += f" +{row['tail']} tail" if row["tail"] else ""
    number = ["-" if row[key] is None else str(row[key]) for key in ("native", "python")]
    native = share(row["native_equal"], row["native_total"])
    counts = [str(row["threads"]), number[0], native, inlined, number[1], python, merged]
    return [name, *times, *counts]


def title(core):
    number = core["threads"]
    threads = f", {number} thread{'s' * (number != 1)}" if number else ""
    return f"{core['name']}{threads}, {core['bytes'] / 2**20:,.0f} MiB"


def footnotes(result):
    """Lines: what failed, what is left out, the commands, and what to know of each tool."""
    for core in result["cores"]:
        for note in core["notes"]:
            yield "failures", f"{core['name']}: {note}"
        for tool, row in core["rows"].items():
            if "failed" in row:
                yield "failures", f"{tool} on {core['name']}: {row['failed']}"
    for name, why in result["left_out"].items():
        yield "left out", f"{name}: {why}"
    for tool in result["tools"]:
        yield "commands", f"{tool['name']} ({tool['version']}): {tool['command']}"
        if tool["counted"] != tool["command"]:
            yield "commands", f"{tool['name']}, to count: {tool['counted']}"
    for tool in result["tools"]:
        yield "notes", f"{tool['name']}: {' '.join(tool['notes'])}"


def headline(result):
    return (
        f"Medians of {result['runs']} runs, warm cache, tools in turn, {result['cpus']} CPUs, load"
        f" average before: {result['load_before']}."
    )


def as_text(result):
    table = [(core, [cells(*row) for row in core["rows"].items()]) for core in result["cores"]]
    every = [list(COLUMNS)] + [line for _, lines in table for line in lines]
    widths = [max(len(line[i]) for line in every) for i in range(len(COLUMNS))]

    def aligned(line):
        rest = (f"{cell:>{width}}" for cell, width in zip(line[1:], widths[1:]))
        return "  ".join([f"{line[0]:{widths[0]}}", *rest]).rstrip()

    yield headline(result)
    yield ""
    yield aligned(COLUMNS)
    for core, lines in table:
        yield f"-- {title(core)}"
        yield from map(aligned, lines)
    last = None
    for kind, text in footnotes(result):
        if kind != last:
            yield f"\n{kind}:"
        last = kind
        yield f"  {text}"


def as_markdown(result):
    yield headline(result)
    yield ""
    yield "| " + " | ".join(COLUMNS) + " |"
    yield "|---|" + "---:|" * (len(COLUMNS) - 1)
    for core in result["cores"]:
        yield f"| **{title(core)}** " + "| " * (len(COLUMNS) - 1) + "|"
        for name, row in core["rows"].items():
            yield "| " + " | ".join(cells(name, row)) + " |"
    last = None
    for kind, text in footnotes(result):
        if kind != last:
            yield f"\n{HEADINGS[kind]}\n"
        last = kind
        name, _, rest = text.partition(": ")
        yield f"* {name}: `{rest}`" if kind == "commands" else f"* {text}"


HEADINGS = {
    "failures": "**What failed, in whole or in part**",
    "left out": "**What was left out**",
    "commands": "**The commands** (what is counted is another run, where two are given)",
    "notes": "**What to know of each tool**",
}


def around_table(path):
    """What stands before and after MARKS in a page; without them nothing is measured in vain."""
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as why:
        raise SystemExit(f"peers.py: {path}: {why.strerror}") from why
    before, first, rest = text.partition(MARKS[0])
    _, last, after = rest.partition(MARKS[1])
    if not (first and last):
        raise SystemExit(
            f"peers.py: {path}: the table goes between a line {MARKS[0]} and a line {MARKS[1]}:"
            " write them where it is to stand"
        )
    return before + first, last + after


def write_page(path, around, lines):
    before, after = around
    inside = "\n".join(lines)
    path.write_text(f"{before}\n{inside}\n{after}", encoding="utf-8")


def options():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("cores", nargs="*", metavar="CORE[,EXECUTABLE[,TRUTH]]")
    parser.add_argument("--install", action="store_true", help="bring the tools, measure nothing")
    parser.add_argument("--corescan", type=pathlib.Path, default=ROOT / "build/bin/corescan")
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--limit", type=int, default=LIMIT, help="seconds for one command")
    parser.add_argument("--only", help="of the set: cores whose names contain one of these")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--markdown", action="store_true")
    parser.add_argument("--write", type=pathlib.Path, metavar="PAGE", help="between its two marks")
    return parser


def main():
    args = options().parse_args()
    if args.runs < 1:
        raise SystemExit("--runs: one at least")
    if args.install:
        peers_install.install()
        return 0
    around = around_table(args.write) if args.write else None
    result = measure(args)
    if args.json:
        print(json.dumps(result, indent=1))
    elif args.markdown:
        print("\n".join(as_markdown(result)))
    else:
        print("\n".join(as_text(result)))
    if args.write:
        write_page(args.write, around, as_markdown(result))
    return 0 if result["cores"] else 77


if __name__ == "__main__":
    sys.exit(main())
