# SPDX-License-Identifier: GPL-3.0-or-later
"""A report of corescan against what the process wrote about itself."""
import collections
import difflib
import re

Outcome = collections.namedtuple("Outcome", "equal total problems")


def unfold(frames):
    """Frames of one thread of a report, each fold written out."""
    found = []
    i = 0
    while i < len(frames):
        fold = frames[i].get("repeat")
        if not fold:
            found.append(frames[i])
            i += 1
            continue
        period = frames[i : i + fold["period"]]
        found += period * fold["count"]
        i += fold["period"]
    return found


def python_frames(frames):
    return [(f["function"], f["file"], f["line"]) for f in frames if f["kind"] == "python"]


def clean(text):
    """As a report can have it: no halves of surrogate pairs."""
    return re.sub("[\ud800-\udfff]", "\ufffd", text)


def expected(thread):
    return [(clean(name), clean(file), line) for name, file, line, _ in thread["frames"]]


def is_code_name(function, name):
    return function == name or (function or "").endswith("." + name)


class Weave:
    """The order that native and Python frames must have: a small machine over the frames.

    A state is the number of the token that must come next. Frames of the interpreter's plumbing
    may stand anywhere; other native ones only where the weave names some, or says "~" or "?".
    """

    def __init__(self, tokens, symbols):
        self.tokens = []
        for token in tokens:
            name, star, times = token.partition("*")
            many = int(times) if star and times.isdigit() else 1
            self.tokens += [name if many > 1 else token] * many
        self.symbols = symbols

    def native_at(self, i):
        """Whether any native frames may stand before token i."""
        near = self.tokens[max(i - 1, 0) : i + 1]
        return any(t[0] in "@=" or t in ("~", "?") for t in near)

    def is_native(self, token, frame):
        if token[0] == "@" and not self.symbols:
            return True
        return token[0] in "@=" and re.search(token[1:], frame.get("function") or "?")

    def closure(self, states):
        """With the states that are reached where "~" or "?" stand for nothing more."""
        found = set(states)
        for i in sorted(states):
            while i < len(self.tokens) and self.tokens[i] in ("~", "?"):
                i += 1
                found.add(i)
        return found

    def step(self, i, frame):
        token = self.tokens[i] if i < len(self.tokens) else None
        if token == "~":
            return {i}
        if frame["kind"] == "python":
            return {i + 1} if token and is_code_name(frame["function"], token) else set()
        found = set()
        if frame.get("plumbing") or frame["kind"] == "signal" or self.native_at(i):
            found.add(i)
        if token and frame["kind"] != "gap" and self.is_native(token, frame):
            found.add(i + 1)
        return found

    def problem(self, frames):
        """None, or where the frames cease to be what the weave says."""
        states = self.closure({0})
        for n, frame in enumerate(frames):
            after = set()
            for i in states:
                after |= self.step(i, frame)
            if not after:
                wanted = sorted({self.tokens[i] for i in states if i < len(self.tokens)})
                what = f"{frame['kind']} {frame['function']!r}"
                return f"weave: frame {n} is {what}, wanted {wanted or 'nothing'}"
            states = self.closure(after)
        if len(self.tokens) not in states:
            return f"weave: ends before {self.tokens[max(states)]!r}"
        return None


def same_frames(wanted, got):
    """How many frames are equal, and what is not."""
    if wanted == got:
        return len(wanted), []
    matcher = difflib.SequenceMatcher(None, wanted, got, autojunk=False)
    equal = sum(block.size for block in matcher.get_matching_blocks())
    problems = []
    for kind, a, b, c, d in matcher.get_opcodes():
        if kind != "equal" and len(problems) < 3:
            problems.append(f"frame {a}: wrote {wanted[a:b][:2]}, got {got[c:d][:2]}")
    if len(wanted) != len(got):
        problems.append(f"{len(wanted)} frames were written, {len(got)} found")
    return equal, problems


def check_facts(truth, thread, report, problems):
    tid = report["tid"]
    python = report.get("python") or {}
    name = clean(thread["name"]) if thread["name"] is not None else None
    if (name is not None or truth["named"]) and python.get("name") != name:
        problems.append(f"{tid}: name {python.get('name')!r}, wrote {thread['name']!r}")
    if "ident" in python and int(str(python["ident"]), 0) != thread["ident"]:
        problems.append(f"{tid}: ident {python['ident']}, wrote {thread['ident']:#x}")
    if truth["gil"] is not None:
        holds = bool(python.get("holds_gil"))
        if holds != (thread["tid"] == truth["gil"]):
            problems.append(f"{tid}: holds_gil is {holds}, the holder was {truth['gil']}")
    if truth["main"] is not None and "main" in python:
        if python["main"] != (thread["ident"] == truth["main"]):
            problems.append(f"{tid}: main is {python['main']}")


def compare(truth, report, symbols=True):
    """Outcome: frames that are equal, frames that were written, and all that is not as written."""
    problems = []
    equal = total = 0
    reported = {t["tid"]: t for t in report["threads"]}
    for thread in truth["threads"]:
        wanted = expected(thread)
        total += len(wanted)
        there = reported.pop(thread["tid"], None)
        if there is None:
            problems.append(f"thread {thread['tid']} is not reported")
            continue
        frames = unfold(there.get("frames") or [])
        same, differences = same_frames(wanted, python_frames(frames))
        equal += same
        problems += [f"{thread['tid']}: {d}" for d in differences]
        check_facts(truth, thread, there, problems)
        if thread["tid"] == truth["tid"] and truth["weave"]:
            problem = Weave(truth["weave"], symbols).problem(frames)
            if problem:
                problems.append(f"{thread['tid']}: {problem}")
    for tid, there in reported.items():
        invented = python_frames(there.get("frames") or [])
        if invented:
            problems.append(f"{tid}: wrote nothing, got {invented[:2]}")
    return Outcome(equal, total, problems)
