# SPDX-License-Identifier: GPL-3.0-or-later
"""What corescan says of a core, against the process's own word and what the scenario expects."""
import collections
import json
import re
import subprocess
import sys
import time

import scenario as scenarios
import truths
from fetch import ROOT

# Behind our own: there is a fetch.py, too.
sys.path.append(str(ROOT / "tests/python"))

import compare  # noqa: E402  (found by the line above)

# problems: what is wrong, in words.
Checked = collections.namedtuple(
    "Checked", "rank equal total threads problems seconds core_mb disk_mb"
)


def analyse(corescan, core):
    """(report, exit status, seconds)."""
    begin = time.monotonic()
    run = subprocess.run(
        [str(corescan), "--json", "--quiet", str(core)],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        check=False,
    )
    seconds = time.monotonic() - begin
    try:
        report = json.loads(run.stdout)
        report["threads"], report["process"]
        return report, run.returncode, seconds
    except KeyError:
        said = "; ".join(d.get("text") or "" for d in report.get("diagnostics") or [])
        raise ValueError(f"corescan ended with {run.returncode}: {said}") from None
    except ValueError:
        said = run.stderr.decode("utf-8", "replace").strip()[-300:]
        raise ValueError(
            f"corescan ended with {run.returncode} and no report: {said or 'not a word'}"
        ) from None


# Names


def pattern_matches(pattern, text):
    """`*` stands for anything; nothing else is special."""
    return bool(
        text and re.fullmatch(".*".join(map(re.escape, pattern.split("*"))), text, re.S)
    )


def names_of(frame):
    """All that a pattern may say for a frame."""
    function, short = frame.get("function"), frame.get("short_function")
    if frame["kind"] == "python":
        last = (function or "").rpartition(".")[2]
        file = (frame.get("file") or "").rpartition("/")[2]
        found = [function, last, f"{file}:{function}", f"{file}:{last}"]
    else:
        plain = re.sub(r"\(.*", "", function or "")
        found = [function, short, plain, re.sub(r"@.*", "", plain)]
        if frame.get("inlined"):
            found.append(f"[{short}]")
    module = frame.get("module")
    if module:
        found += [f"{module}!{name or '?'}" for name in found[:2]]
    return found


def frame_matches(pattern, frame):
    if frame.get("unqualified"):  # before Python 3.11 code has no qualified name
        file, colon, name = pattern.rpartition(":")
        pattern = file + colon + name.rpartition(".")[2]
    return any(pattern_matches(pattern, name) for name in names_of(frame))


def missing_of(patterns, frames):
    """The first pattern that does not come, in this order, in the frames; None: all do."""
    i = 0
    for pattern in patterns:
        while i < len(frames) and not frame_matches(pattern, frames[i]):
            i += 1
        if i == len(frames):
            return pattern
        i += 1
    return None


def stack_text(frames, most=14):
    names = [
        (f.get("short_function") or f.get("function") or f.get("module") or f["kind"])
        for f in frames
        if not f.get("plumbing")
    ]
    more = f" ← … {len(names) - most} more" if len(names) > most else ""
    return " ← ".join(n[:70] for n in names[:most]) + more


def frames_of(thread):
    return compare.unfold(thread.get("frames") or [])


def mark_unqualified(report):
    version = ((report.get("runtime") or {}).get("python") or {}).get("version") or ""
    if re.match(r"3\.([0-9]|10)\.", version):
        for thread in report["threads"]:
            for frame in thread.get("frames") or []:
                if frame["kind"] == "python":
                    frame["unqualified"] = True


# Python's stacks


def last_names(report):
    """The report with co_name instead of qualified names, as faulthandler has them."""

    def short(frame):
        if frame["kind"] != "python":
            return frame
        return {**frame, "function": (frame["function"] or "").rpartition(".")[2]}

    threads = [
        {**t, "frames": [short(f) for f in t.get("frames") or []]} for t in report["threads"]
    ]
    return {**report, "threads": threads}


def cut_frames(report, truth):
    """faulthandler writes 100 frames of a thread; no more are compared."""
    cut = {t["tid"]: len(t["frames"]) for t in truth["threads"] if t.get("cut")}
    threads = []
    for thread in report["threads"]:
        if thread["tid"] in cut:
            python = [{**f, "repeat": None} for f in frames_of(thread) if f["kind"] == "python"]
            thread = {**thread, "frames": python[: cut[thread["tid"]]]}
        threads.append(thread)
    return {**report, "threads": threads}


def adapt(truth, report):
    """Both in the same terms: what faulthandler cannot say is not compared."""
    if not truth.get("short"):
        return truth, report
    threads = [
        {**t, "frames": [[name, file, line, name] for name, file, line, _ in t["frames"]]}
        for t in truth["threads"]
    ]
    named = {t["tid"]: (t.get("python") or {}).get("name") for t in report["threads"]}
    for thread in threads:  # names are not known: nothing to differ
        thread["name"] = named.get(thread["tid"])
    return {**truth, "threads": threads}, cut_frames(last_names(report), truth)


def check_python(truth, report, problems):
    truth, report = adapt(truth, report)
    outcome = compare.compare(truth, report)
    problems += [f"python: {p}" for p in outcome.problems]
    return outcome.equal, outcome.total


def check_threads(core, report, truth, kind, problems):
    """Every thread of the core's notes is shown, and no other."""
    there = [t.tid for t in truths.threads_of(core)]
    if kind != "kernel":  # the process has waited since it wrote
        for tid in sorted(set(truth.get("all_tids", [])) - set(there)):
            problems.append(f"thread {tid} was there, and is not in the core")
    shown = [t["tid"] for t in report["threads"]]
    for tid in sorted(set(there) - set(shown)):
        problems.append(f"thread {tid} is in the core and not in the report")
    for tid in sorted(set(shown) - set(there)):
        problems.append(f"thread {tid} is in the report and not in the core")
    if len(set(shown)) != len(shown):
        problems.append("a thread is reported twice")
    return len(there)


# What the scenario expects


def fits(thread, wanted):
    if "role" in wanted and thread.get("role") != wanted["role"]:
        return False
    if "name" in wanted and not pattern_matches(wanted["name"], thread.get("name")):
        return False
    return missing_of(wanted.get("stack", []), frames_of(thread)) is None


def check_crashed(wanted, report, kind, problems):
    crashed = [t for t in report["threads"] if t.get("crashed")]
    if kind == "gcore":  # nobody crashed; the scenario's stack is that of the main thread
        crashed = crashed or [t for t in report["threads"] if t["tid"] == report["process"]["pid"]]
    if len(crashed) != 1:
        problems.append(f"{len(crashed)} threads are marked as crashed")
        return
    thread = crashed[0]
    if "role" in wanted and thread.get("role") != wanted["role"]:
        problems.append(f"crashed thread: role {thread.get('role')!r}, expected {wanted['role']!r}")
    frames = frames_of(thread)
    missing = missing_of(wanted.get("stack", []), frames)
    if missing is not None:
        problems.append(
            f"crashed thread: no {missing!r} in its place; the stack is {stack_text(frames)}"
        )


def check_counts(wanted, report, problems):
    for each in wanted:
        count = str(each.get("count", 1))
        found = sum(fits(t, each) for t in report["threads"])
        right = found >= int(count[2:]) if count.startswith(">=") else found == int(count)
        if not right:
            what = {k: v for k, v in each.items() if k != "count"}
            roles = collections.Counter(str(t.get("role")) for t in report["threads"])
            problems.append(
                f"threads {what}: {found}, expected {count}; roles are "
                + ", ".join(f"{r} {n}" for r, n in sorted(roles.items()))
            )


def chain_of(exception):
    while exception:
        yield exception
        exception = exception.get("cause") or exception.get("context")


def exception_fits(wanted, exception):
    return (
        ("type" not in wanted or pattern_matches(wanted["type"], exception.get("type")))
        and re.search(wanted.get("message", ""), exception.get("message") or "") is not None
    )


def check_exception(wanted, report, words, problems):
    """Against the report, and against the words of the process itself."""
    message = wanted.get("message", "")
    if not any(re.search(message, text, re.M) for text in words):
        problems.append(
            f"the process itself never said {message!r}, on stderr or in its record"
        )
    language = wanted.get("language", "python")
    all_of_it = [e for top in report.get("exception") or [] for e in chain_of(top)]
    found = [e for e in all_of_it if e.get("language") == language]
    if not any(exception_fits(wanted, e) for e in found):
        seen = "; ".join(f"{e.get('type')}: {str(e.get('message'))[:80]}" for e in found[:3])
        seen = seen or f"none of {language}"
        problems.append(f"exception: expected {wanted}, the report has {seen}")


def check_signature(wanted, report, problems):
    """Findings come in order, the cause first. "unknown": nothing is more than possible."""
    found = report.get("findings") or []
    if wanted == "unknown":
        found = [f for f in found if f["confidence"] != "possible"]
        right = not found
    else:
        right = bool(found) and found[0]["id"] == wanted
    if not right:
        ids = ", ".join(f"{f['id']} ({f['confidence']})" for f in found)
        problems.append(f"findings: expected {wanted} first, the report has {ids or 'none'}")


def check_confidence(wanted, report, problems):
    """Of the first finding, which may not be less sure."""
    words = ["possible", "likely", "certain"]
    for first in (report.get("findings") or [])[:1]:
        if words.index(first["confidence"]) < words.index(wanted):
            problems.append(f"{first['id']} is {first['confidence']}, expected {wanted}")


def check_signal(expect, report, kind, problems):
    wanted = {"kernel": expect.get("signal"), "kill": "SIGABRT", "gcore": None}[kind]
    crash = report.get("crash") or {}
    if wanted and crash.get("signal") != wanted:
        problems.append(f"signal {crash.get('signal')}, expected {wanted}")


def check_expected(expect, report, played, truth, kind, cores):
    problems = []
    check_signal(expect, report, kind, problems)
    # Of a scenario that can end by itself, the stack is that of its own end.
    if "crashed" in expect and (kind == "kernel" or "kernel" not in cores):
        check_crashed(expect["crashed"], report, kind, problems)
    check_counts(expect.get("threads", []), report, problems)
    words = [played.stderr, (truth.get("exception") or {}).get("message", "")]
    if "exception" in expect:
        check_exception(expect["exception"], report, words, problems)
    if "signature" in expect:
        check_signature(expect["signature"], report, problems)
    if "confidence" in expect:
        check_confidence(expect["confidence"], report, problems)
    return problems


def check_words(expect, played):
    """What it printed and how it ended: for ranks without a core, too."""
    problems = []
    if "stderr" in expect and not re.search(expect["stderr"], played.stderr, re.M):
        last = played.stderr.strip().splitlines()[-4:]
        problems.append(f"stderr has no {expect['stderr']!r}; it ends: {' / '.join(last)[:400]}")
    if "exit" in expect and played.status != expect["exit"]:
        problems.append(f"exit status {played.status}, expected {expect['exit']}")
    return problems


def check(played, scenario, kind, corescan, keep_report=None):
    """Everything about one rank."""
    expect = scenarios.expect_of(scenario, played.rank)
    problems = check_words(expect, played)
    if not scenarios.leaves_core(scenario, played.rank):
        return Checked(played.rank, 0, 0, 0, problems, 0.0, 0, 0)
    if played.core is None:
        last = "".join(f"\n    | {line[:300]}" for line in played.stderr.splitlines()[-15:])
        problems.append(
            f"process {played.pid} left no core (status {played.status}); stderr ends:{last}"
        )
        return Checked(played.rank, 0, 0, 0, problems, 0.0, 0, 0)
    size = played.core.stat()
    sizes = size.st_size // 10**6, size.st_blocks * 512 // 10**6
    try:
        report, status, seconds = analyse(corescan, played.core)
        if keep_report:
            keep_report.write_text(json.dumps(report, indent=1), encoding="utf-8")
        truth = truths.read(played, scenario.truth)
    except ValueError as problem:
        problems.append(str(problem))
        return Checked(played.rank, 0, 0, 0, problems, 0.0, *sizes)
    mark_unqualified(report)
    if status not in (0, 1):
        problems.append(f"corescan's exit status is {status}")
    pid = (report.get("process") or {}).get("pid")
    if pid != truth["pid"]:
        problems.append(f"the report is of process {pid}, the word of {truth['pid']}")
    threads = check_threads(played.core, report, truth, kind, problems)
    equal, total = check_python(truth, report, problems)
    if not total:
        problems.append("the process's word has no Python frame: nothing was compared")
    problems += check_expected(expect, report, played, truth, kind, scenario.cores)
    return Checked(played.rank, equal, total, threads, problems, seconds, *sizes)
