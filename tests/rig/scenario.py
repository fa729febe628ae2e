# SPDX-License-Identifier: GPL-3.0-or-later
"""Scenario files: what they say of themselves, for one version of torch and of Python.

SCENARIO is read and never run. A value may be a dict whose keys are conditions, such as
{"torch<2.1": ..., "torch>=2.1,python<3.12": ...}: the first that holds is taken.
"""
import ast
import collections
import difflib
import functools
import pathlib
import re
import signal

from lock import COMPARE, HERE, Bad, number

FOLDER = HERE / "scenarios"
SHARED = "_expected.py"
CORES = ("kernel", "kill", "gcore")
CONDITION = re.compile(r"(torch|python)?\s*(<=|>=|==|!=|<|>)\s*(\d+(?:\.\d+)*)")

TEXT, INT, TEXTS, DICT = (str,), (int,), (list, tuple), (dict,)
# Of each key, the types that it may have. What is required is marked by its place in REQUIRED.
KEYS = {
    "about": TEXT,
    "torch": TEXT,
    "ranks": INT,
    "rules": TEXTS,
    "env": DICT,
    "core": (str, list, tuple),
    "of": TEXT,
    "end": TEXT,
    "truth": TEXT,
    "seconds": (int, float),
    "expect": DICT,
}
EXPECT = {
    "signal": TEXT,
    "crashed": DICT,
    "threads": TEXTS,
    "stderr": TEXT,
    "exception": DICT,
    "signature": TEXT,
    "confidence": TEXT,
    "ranks": DICT,
    "core": (str, list, tuple),
    "exit": INT,
}
CRASHED = {"role": TEXT, "stack": TEXTS}
THREAD = {"role": TEXT, "stack": TEXTS, "name": TEXT, "count": (int, str)}
EXCEPTION = {"language": TEXT, "type": TEXT, "message": TEXT}
REQUIRED = ("about", "expect")

Scenario = collections.namedtuple(
    "Scenario", "name path about ranks rules env cores of end truth seconds expect"
)


def holds(condition, versions):
    """Whether a condition is true of {"torch": ..., "python": ...}."""
    for part in condition.split(","):
        found = CONDITION.fullmatch(part.strip())
        if not found:
            raise Bad(f"{condition!r} is not a condition such as torch>=2.1 or python<3.12")
        name, sign, wanted = found.groups()
        wanted = number(wanted)
        have = number(versions[name or "torch"])
        # Compared as far as the condition says: torch==2.14 holds for 2.14.1.
        if not COMPARE[sign](have[: len(wanted)], wanted):
            return False
    return True


def assignment(tree, name):
    """The node of NAME = ... in a file; None if there is none."""
    for node in tree.body:
        if isinstance(node, ast.Assign) and getattr(node.targets[0], "id", "") == name:
            return node
    return None


@functools.lru_cache(maxsize=None)
def shared(path):
    """What the scenarios of a folder have in common; nothing if there is no such file."""
    if not path.is_file():
        return {}
    tree = ast.parse(path.read_text(encoding="utf-8"))
    return ast.literal_eval(assignment(tree, "SHARED").value)


def fill(value, known):
    """A value with what "@NAME" stands for in its place."""
    if isinstance(value, dict):
        return {k: fill(v, known) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [fill(v, known) for v in value]
    if isinstance(value, str) and re.fullmatch(r"@[\w-]+", value):
        if value[1:] not in known:
            raise Bad(f"{value!r} is none of {SHARED}: {', '.join(known) or 'it has no entries'}")
        return known[value[1:]]
    return value


def is_choice(value):
    return (
        isinstance(value, dict)
        and bool(value)
        and all(isinstance(k, str) and re.match(r"\s*(torch|python)\s*[<>=!]", k) for k in value)
    )


def resolve(value, versions):
    """A value with every choice in it made."""
    if is_choice(value):
        for condition, choice in value.items():
            if holds(condition, versions):
                return resolve(choice, versions)
        raise Bad(f"none of {', '.join(value)} holds for torch {versions['torch']}")
    if isinstance(value, dict):
        return {k: resolve(v, versions) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [resolve(v, versions) for v in value]
    return value


class File:
    """One scenario as it is written, with all its versions."""

    def __init__(self, path):
        self.path = pathlib.Path(path)
        self.name = self.path.stem
        self.line = 1
        self.raw = self.parse()

    def bad(self, text):
        return Bad(f"{self.path}:{self.line}: {text}")

    def parse(self):
        try:
            tree = ast.parse(self.path.read_text(encoding="utf-8"))
        except SyntaxError as problem:
            self.line = problem.lineno
            raise self.bad(problem.msg) from None
        if not ast.get_docstring(tree):
            raise self.bad("a scenario begins with a docstring that says what happens")
        node = assignment(tree, "SCENARIO")
        if node is None:
            raise self.bad("there is no SCENARIO = {...}")
        self.line = node.lineno
        try:
            return fill(ast.literal_eval(node.value), shared(self.path.parent / SHARED))
        except ValueError:
            raise self.bad("SCENARIO must be a literal: it is read, never run") from None
        except Bad as problem:
            raise self.bad(str(problem)) from None

    def runs(self, versions):
        return "torch" not in self.raw or holds(self.raw["torch"], versions)

    def check(self, what, value, known, required=()):
        """Keys and types; a wrong key gets the nearest right one."""
        if not isinstance(value, dict):
            raise self.bad(f"{what} must be a dict, not {value!r}")
        for key in value:
            if key not in known:
                near = difflib.get_close_matches(str(key), known, 1)
                hint = f"; did you mean {near[0]!r}?" if near else f": one of {', '.join(known)}"
                raise self.bad(f"{what} has the unknown key {key!r}{hint}")
            if not isinstance(value[key], known[key]):
                names = " or ".join(t.__name__ for t in known[key])
                raise self.bad(f"{what}[{key!r}] must be {names}, not {value[key]!r}")
        for key in required:
            if key not in value:
                raise self.bad(f"{what} lacks {key!r}")

    def check_word(self, what, value, words):
        if value not in words:
            raise self.bad(f"{what} is {value!r}, which is none of {', '.join(words)}")

    def check_pattern(self, what, pattern):
        try:
            re.compile(pattern)
        except re.error as problem:
            raise self.bad(f"{what} is no regular expression: {problem}") from None

    def check_expect(self, what, expect):
        self.check(what, expect, EXPECT)
        if "signal" in expect and not hasattr(signal, expect["signal"]):
            raise self.bad(f"{what}['signal'] is {expect['signal']!r}, which is no signal")
        self.check(f"{what}['crashed']", expect.get("crashed", {}), CRASHED)
        for thread in expect.get("threads", []):
            self.check(f"a thread of {what}", thread, THREAD)
            if not {"role", "stack", "name"} & set(thread):
                raise self.bad(f"a thread of {what} needs a role, a stack or a name")
            if not re.fullmatch(r"(>=)?\d+", str(thread.get("count", 1))):
                raise self.bad(f"count of a thread of {what} must be as 2 or '>=2'")
        self.check(f"{what}['exception']", expect.get("exception", {}), EXCEPTION)
        self.check_pattern(f"{what}['stderr']", expect.get("stderr", ""))
        if expect.get("confidence", "likely") not in ("possible", "likely", "certain"):
            raise self.bad(f"{what}['confidence'] must be possible, likely or certain")
        message = expect.get("exception", {}).get("message", "")
        self.check_pattern(f"{what}['exception']['message']", message)
        if "core" in expect:
            for kind in as_list(expect["core"]):
                self.check_word(f"{what}['core']", kind, (*CORES, "none"))

    def resolve(self, versions):
        """The Scenario for these versions; Bad if anything is not as it must be."""
        self.check("SCENARIO", self.raw, {k: t + DICT for k, t in KEYS.items()}, REQUIRED)
        try:
            raw = resolve(self.raw, versions)
        except Bad as problem:
            raise self.bad(str(problem)) from None
        self.check("SCENARIO", raw, KEYS, REQUIRED)
        cores = as_list(raw.get("core", "kernel"))
        for kind in cores:
            self.check_word("core", kind, CORES)
        self.check_word("of", raw.get("of", "self"), ("self", "child"))
        self.check_word("truth", raw.get("truth", "record"), ("record", "faulthandler"))
        self.check_word("end", raw.get("end", "abort"), ("abort", "wait"))
        ranks = raw.get("ranks", 1)
        self.check_expect("expect", raw["expect"])
        for rank, expect in raw["expect"].get("ranks", {}).items():
            if not str(rank).isdigit() or int(rank) >= ranks:
                raise self.bad(f"expect['ranks'] has {rank!r}, and there are {ranks} ranks")
            self.check_expect(f"expect['ranks'][{rank!r}]", expect)
        return Scenario(
            self.name,
            self.path,
            raw["about"],
            ranks,
            [str(r) for r in raw.get("rules", [])],
            {str(k): str(v) for k, v in raw.get("env", {}).items()},
            cores,
            raw.get("of", "self"),
            raw.get("end"),
            raw.get("truth", "record"),
            raw.get("seconds", 30),
            raw["expect"],
        )


def as_list(value):
    return list(value) if isinstance(value, (list, tuple)) else [value]


def expect_of(scenario, rank):
    """What is expected of one rank: what is said of all, with what is said of it."""
    common = {k: v for k, v in scenario.expect.items() if k != "ranks"}
    return {**common, **scenario.expect.get("ranks", {}).get(str(rank), {})}


def leaves_core(scenario, rank):
    return "none" not in as_list(expect_of(scenario, rank).get("core", "kernel"))


def find_all(folder=FOLDER):
    return [File(path) for path in sorted(folder.glob("[a-z]*.py"))]


def find(name, folder=FOLDER):
    path = folder / f"{name.removesuffix('.py')}.py"
    if not path.is_file():
        known = sorted(p.stem for p in folder.glob("[a-z]*.py"))
        near = difflib.get_close_matches(name, known, 1)
        hint = f"; did you mean {near[0]}?" if near else f": there are {', '.join(known)}"
        raise Bad(f"there is no scenario {name}{hint}")
    return File(path)
