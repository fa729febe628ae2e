# SPDX-License-Identifier: GPL-3.0-or-later
"""What tools print about a core, read into one shape, and judged against what is true.

A Shown has the stacks of one tool, each innermost first. The truth of Python frames is what the
process wrote (tests/python/programs/truth.py); native frames are held against gdb's own list of
them, which gdb's Python gives (tests/e2e/gdb_frames.py), because nobody wrote them down.
"""
import collections
import difflib
import json
import pathlib
import re
import subprocess
import sys

TESTS = pathlib.Path(__file__).resolve().parents[1]
sys.path[:0] = [str(TESTS / "e2e"), str(TESTS / "python")]

import compare as python_truth  # noqa: E402  (found by the line above)
import compare_gdb  # noqa: E402

# kind: native, inline (a call that was inlined), tail (deduced, has no frame), signal, python.
# nearest: the tool says that the name is only that of the nearest symbol.
Frame = collections.namedtuple("Frame", "kind name file line pc nearest", defaults=(None,) * 4)
# threads: {tid: [Frame]}; those of whom a tool tells another name only: {("ident", pthread_t): ...}
Shown = collections.namedtuple("Shown", "threads")
# equal of total frames, and how many were shown that nobody wrote.
Judged = collections.namedtuple("Judged", "equal total invented")

NO_NAMES = ("??", "???", "", "-")
DEEPEST = 2000


class Unreadable(Exception):
    """The output is not what the parser knows; the text says why."""


def hexadecimal(text):
    return int(text, 16) if text else None


def by_thread(text, head):
    """{key: lines} where lines that match HEAD begin a thread; its first group is the key."""
    threads, lines = {}, []
    for line in text.splitlines():
        found = re.match(head, line)
        if found:
            lines = threads.setdefault(int(found[1]), [])
        else:
            lines.append(line)
    if not threads:
        raise Unreadable("no thread in " + (repr(text.strip()[-200:]) or "an empty output"))
    return threads


# ---- one parser a tool ----


def of_gdb_bt(text):
    """`thread apply all bt` after `set print frame-info location-and-address`.

    Inlined calls and tail calls look like frames there; those of one pc are one frame, the last.
    """
    threads = {}
    for tid, lines in by_thread(text, r"Thread \d+ \(.*?LWP (\d+)\)").items():
        frames = []
        for line in lines:
            found = re.match(r"#\d+ +(?:(0x[0-9a-f]+) in )?(.*)", line)
            if not found:
                continue
            pc, rest = hexadecimal(found[1]), found[2]
            if rest.startswith("<signal handler called>"):
                frames.append(Frame("signal", None, pc=pc))
                continue
            if frames and pc is not None and frames[-1].pc == pc:
                frames[-1] = frames[-1]._replace(kind="inline")
            rest = re.sub(r" (?:from \S+|at \S+:\d+)$", "", rest)
            frames.append(Frame("native", rest.rpartition(" (")[0] or rest, pc=pc))
        threads[tid] = frames
    return Shown(threads)


def of_gdb_py_bt(text):
    threads = {}
    for tid, lines in by_thread(text, r"Thread \d+ \(.*?LWP (\d+)\)").items():
        found = (re.match(r'  File "(.*)", line (\d+), in (.*)$', line) for line in lines)
        threads[tid] = [Frame("python", f[3], f[1], int(f[2])) for f in found if f]
    return Shown(threads)


def of_eu_stack(text):
    threads = {}
    for tid, lines in by_thread(text, r"TID (\d+):").items():
        found = (re.match(r"#\d+ +(0x[0-9a-f]+)(?: - \d+)?(?: +(.*))?$", line) for line in lines)
        threads[tid] = inlined([Frame("native", f[2], pc=hexadecimal(f[1])) for f in found if f])
    return Shown(threads)


def inlined(frames):
    """Of frames with one pc only the last, the outermost, is one; the others were inlined."""
    after = [f.pc for f in frames[1:]] + [None]
    return [
        f._replace(kind="inline") if f.pc is not None and f.pc == pc else f
        for f, pc in zip(frames, after)
    ]


def of_lldb(text):
    """`bt all` after `settings set thread-stop-format "thread: tid = ${thread.id%tid}\\n"`.

    Where calls were inlined, its pcs are not those of frames: they are not looked at.
    """
    threads = {}
    for tid, lines in by_thread(text, r"[* ] thread: tid = (\d+)").items():
        found = (
            re.match(r"[* ] +(?:\* )?frame #\d+: 0x[0-9a-f]+(?: [^`]*?`(.*))?", line)
            for line in lines
        )
        threads[tid] = []
        for frame in filter(None, found):
            name = re.sub(r" at \S+:\d+(?::\d+)?(?: \[opt\])?$| \+ \d+$", "", frame[1] or "")
            kind = "native"
            if " [inlined] " in name:
                kind, name = "inline", name.partition(" [inlined] ")[2]
            elif " [artificial]" in name:
                kind, name = "tail", name.replace(" [artificial]", "")
            name = None if name.startswith("___lldb_unnamed_symbol") else name
            threads[tid].append(Frame(kind, name))
    return Shown(threads)


def of_pystack(text):
    """Outermost first there; an inlined call says so."""
    threads = {}
    head = r"Traceback for thread (\d+) .*most recent call last"
    for tid, lines in by_thread(text, head).items():
        frames = []
        for line in lines:
            found = re.match(r' +(?:\((C|Python)\) )?File "(.*)", line (\d+), in (.*)$', line)
            if not found:
                continue
            if found[1] != "C":
                frames.append(Frame("python", found[4], found[2], int(found[3])))
                continue
            name, _, module = found[4].rpartition(" (")
            kind = "native"
            if name.endswith(" (inlined)"):
                kind, name = "inline", name[: -len(" (inlined)")]
            frames.append(Frame(kind, name or module, found[2], int(found[3])))
        threads[tid] = frames[::-1]
    return Shown(threads)


def of_py_spy(text):
    """`dump --json`; before Python 3.11 it knows no thread of the kernel's but the first."""
    threads = {}
    for thread in json.loads(text):
        tid = thread["os_thread_id"]
        key = ("ident", thread["thread_id"]) if tid is None else tid
        threads[key] = [
            Frame("python", f["name"], f["filename"], f["line"]) for f in thread["frames"]
        ]
    return Shown(threads)


def of_corescan(text):
    """`--json --all`, each fold written out."""
    report = json.loads(text)
    listed = {t["tid"]: t for t in report["threads"]}
    first = {g["id"]: listed[g["tids"][0]] for g in report["stack_groups"]}
    threads = {}
    for tid, thread in listed.items():
        if thread.get("frames_in_group"):
            thread = first[thread["stack_group"]]
        threads[tid] = [
            Frame(
                f["kind"],
                f.get("function"),
                f.get("file"),
                f.get("line"),
                hexadecimal(f.get("address")),
                f.get("nearest", False),
            )
            for f in python_truth.unfold(thread["frames"])
            if f["kind"] != "gap"
        ]
    return Shown(threads)


# ---- Python frames against what the process wrote ----


def last_part(name):
    """Some tools tell the qualified name of a function, some not."""
    return (name or "?").rpartition(".")[2]


def in_order(wanted, got):
    """How many of both are equal, in this order."""
    if wanted == got:
        return len(wanted)
    matcher = difflib.SequenceMatcher(None, wanted, got, autojunk=False)
    return sum(block.size for block in matcher.get_matching_blocks())


def judge_python(shown, truth):
    """Judged: a frame is equal where function, file and line are, in its place, in its thread."""
    left = {
        key: [(last_part(f.name), f.file, f.line) for f in frames if f.kind == "python"]
        for key, frames in shown.threads.items()
    }
    equal = total = invented = 0
    for thread in truth["threads"]:
        clean = python_truth.clean
        wanted = [(last_part(clean(n)), clean(f), line) for n, f, line, _ in thread["frames"]]
        got = left.pop(thread["tid"], None)
        if got is None:
            got = left.pop(("ident", thread["ident"]), [])
        same = in_order(wanted, got)
        equal += same
        total += len(wanted)
        invented += len(got) - same
    return Judged(equal, total, invented + sum(map(len, left.values())))


def right(judged):
    return judged.equal == judged.total and not judged.invented


def judge_weave(shown, truth, symbols):
    """Whether the recording thread's native and Python frames stand in the order they had.

    None: nothing is known of it. Any native frame may stand anywhere, only those that the weave
    names must be where it says: tools differ in which frames of the interpreter they leave out.
    """
    frames = shown.threads.get(truth["tid"])
    if not truth.get("weave") or not frames:
        return None
    told = [
        {"kind": "python" if f.kind == "python" else "native", "function": f.name, "plumbing": True}
        for f in frames
        if f.kind != "inline"
    ]
    return python_truth.Weave(truth["weave"], symbols).problem(told) is None


def merged(shown):
    """(threads with native and Python frames in one stack, threads with Python frames)."""
    kinds = [{f.kind for f in frames} for frames in shown.threads.values()]
    python = [k for k in kinds if "python" in k]
    return sum("native" in k for k in python), len(python)


# ---- native frames against gdb's list ----


def cut_templates(text):
    """Without what stands between < and >, nested."""
    found, depth = [], 0
    for char in text:
        depth += char == "<"
        if not depth:
            found.append(char)
        depth -= char == ">" and depth > 0
    return "".join(found) if not depth else text


def base_name(name):
    """The function's own name: no scopes, parameters, template arguments nor a compiler's suffix.

    Debuggers spell one function in many ways; frames are compared by their pc first.
    """
    if name is None or name in NO_NAMES:
        return None
    name = re.sub(r"\(anonymous namespace\)::|\[abi:\w+\]| ?\[clone [^]]*\]", "", name)
    name = name.replace("operator()", "operator_call").replace("->", "_arrow")
    name = re.sub(r"operator ?(<<=?|>>=?|<=|>=|<|>)", "operator_compares", name)
    name = cut_templates(name).partition("(")[0].partition("@")[0].strip()
    name = (name.split() or [""])[-1].rpartition("::")[2]
    return re.sub(r"\.(part|cold|constprop|isra|lto_priv|llvm)\b.*", "", name) or None


class Aliases:
    """Names that mean one function: several symbols may have one address (by nm)."""

    def __init__(self):
        self.tables = {}
        self.one = {}

    def symbols_at(self, path, address):
        if path not in self.tables:
            table = collections.defaultdict(set)
            for option in ([], ["-D"]):
                run = subprocess.run(
                    ["nm", *option, path],
                    stdout=subprocess.PIPE,
                    stderr=subprocess.DEVNULL,
                    text=True,
                    errors="replace",
                    check=False,
                )
                for match in re.finditer(r"^([0-9a-f]+) [TtWwiVu] (\S+)", run.stdout, re.M):
                    table[int(match[1], 16)].add(match[2])
            self.tables[path] = table
        return self.tables[path].get(address, ())

    def learn(self, report, reference):
        """From a report of corescan, where functions begin: gdb's name must be one of those."""
        names = {f.pc: base_name(f.name) for frames in reference.values() for f in frames}
        for frames in compare_gdb.frames_of_report(report).values():
            for frame in frames:
                name = names.pop(frame.pc, None)
                if name is None or frame.start is None or frame.module is None:
                    continue
                files = [frame.module.get("used_file"), frame.module.get("debug_file")]
                found = set()
                for file in filter(None, files):
                    found |= set(self.symbols_at(file, frame.start))
                same = set(map(base_name, compare_gdb.demangled(found).values()))
                if name in same:
                    self.one.update({other: name for other in same})

    def of(self, name):
        name = base_name(name)
        return self.one.get(name, name)

    def agree(self, reference, frame):
        """A name that a tool calls merely the nearest is none, unless gdb passes it off as one."""
        if "signal" in (reference.kind, frame.kind):
            return reference.kind == "signal"
        wanted, got = self.of(reference.name), self.of(frame.name)
        # gdb prints some names of C as if they were Ada's: uv.io_poll for uv__io_poll.
        same = wanted == got or (got and wanted == got.replace(".", "__"))
        return bool(same or (wanted is None and frame.nearest))


def judge_native(shown, reference, aliases):
    """Judged: a frame is equal where gdb has a frame of that function, in its place, in its thread.

    Where the tool tells pcs these must be equal, too. What gdb deduces (inlined calls, tail calls)
    is not counted.
    """
    equal = total = invented = 0
    for tid, frames in reference.items():
        wanted = [f for f in frames if f.kind != "tail"]
        got = [f for f in shown.threads.get(tid, ()) if f.kind in ("native", "signal")]
        total += len(wanted)
        if any(f.pc is not None for f in got):
            same = 0
            for left, right in compare_gdb.aligned(wanted, got):
                if left is None or right is None or wanted[left].pc != got[right].pc:
                    continue
                same += aliases.agree(wanted[left], got[right])
        else:
            same = in_order(
                [aliases.of(f.name) for f in wanted[:DEEPEST]],
                [aliases.of(f.name) for f in got[:DEEPEST]],
            )
        equal += same
        invented += len(got) - same
    return Judged(equal, total, invented)
