# SPDX-License-Identifier: GPL-3.0-or-later
"""Scenarios times versions: which run, in which order, and what is told of each."""
import collections
import concurrent.futures
import fnmatch
import json
import pathlib
import subprocess
import sys
import threading
import time
import traceback

import check
import fetch
import launch
import lock
import scenario as scenarios

# right: None where the machine lacks what it takes. of: Checked of each rank; problem: why there
# is none.
Result = collections.namedtuple("Result", "name torch python kind right seconds of problem")
Case = collections.namedtuple("Case", "file torch section kind scenario seconds")


# What is needed


def run_build(*command):
    run = subprocess.run(
        [str(c) for c in command],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    if run.returncode:
        print(run.stdout[-3000:], file=sys.stderr)
        raise fetch.Unavailable(f"{' '.join(map(str, command))} failed; its end is above")


def built(build, corescan=None):
    """(folder of the shim, corescan): built if they are not there."""
    build = build.resolve()
    corescan = (corescan or build / "bin/corescan").resolve()
    if not corescan.is_file():
        if build != fetch.ROOT / "build":
            raise fetch.Unavailable(f"there is no {corescan}; build it first")
        fetch.say("corescan is not built; running ./quickstart build")
        run_build(fetch.ROOT / "quickstart", "build")
    shim = build / "tests/rig/shim"
    if not all((shim / name).is_file() for name in launch.LIBRARIES):
        return build_shim(build / "rig"), corescan
    made = min((shim / name).stat().st_mtime for name in launch.LIBRARIES)
    newer = [p.name for p in (fetch.HERE / "shim").glob("*.[ch]") if p.stat().st_mtime > made]
    if newer:
        fetch.say(f"the shim may be older than {newer[0]}; cmake --build {build} makes it anew")
    return shim, corescan


def build_shim(folder):
    """The shim alone, where the tests of the whole are not built; a change is built, too."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    with fetch.turn(folder.parent, "rig.lock", "building the shim"):
        if not (folder / "CMakeCache.txt").is_file():
            fetch.say(f"building the shim in {folder}")
            run_build("cmake", "-S", fetch.HERE, "-B", folder)
        try:
            run_build("cmake", "--build", folder, "--parallel", "2", "--target", "rig_shim")
        except fetch.Unavailable as reason:
            if not all((folder / "shim" / name).is_file() for name in launch.LIBRARIES):
                raise
            fetch.say(f"{reason}; going on with the shim that was built before")
    return folder / "shim"


# One scenario


def play(target, scenario, kind, shim, corescan, cache, keep=None):
    """The Result of one scenario with one kind of core in one version."""
    begin = time.monotonic()

    def result(right, of=(), problem=None):
        taken = time.monotonic() - begin
        return Result(
            scenario.name, target.torch, target.python, kind, right, taken, list(of), problem
        )

    try:
        with launch.Job(target, scenario, kind, shim, cache, keep) as job:
            checked = []
            for played in job.play():
                report = job.folder / f"report-rank{played.rank}.json" if keep else None
                checked.append(check.check(played, scenario, kind, corescan, report))
            return result(not any(c.problems for c in checked), checked)
    except launch.Died as reason:
        return result(False, problem=str(reason))
    except fetch.Unavailable as reason:
        return result(None, problem=str(reason))
    except Exception:  # of the harness itself: the other cases go on
        return result(False, problem=f"the rig itself failed: {traceback.format_exc()}")


def summary(result):
    """One line of what is equal, and how many there were."""
    of = result.of
    frames = f"frames {sum(c.equal for c in of)}/{sum(c.total for c in of)}"
    threads = f"threads {sum(c.threads for c in of)}"
    size = f"core {max((c.core_mb for c in of), default=0)} MB"
    disk = f"({max((c.disk_mb for c in of), default=0)} on disk)"
    speed = f"corescan {max((c.seconds for c in of), default=0):.2f} s"
    return f"{frames}  {threads}  {size} {disk}  {speed}  all {result.seconds:.1f} s"


def show(result, as_json=False):
    if as_json:
        facts = result._asdict()
        facts["of"] = [c._asdict() for c in result.of]
        print(json.dumps(facts), flush=True)
        return
    word = {True: "ok    ", False: "WRONG ", None: "left  "}[result.right]
    versions = f"torch {result.torch:7} python {result.python:5}"
    head = f"{word} {result.name:26} {versions} {result.kind:6}"
    if result.problem:
        print(f"{head}  {result.problem}", flush=True)
        return
    print(f"{head}  {summary(result)}", flush=True)
    for checked in result.of:
        rank = f"rank {checked.rank}: " if len(result.of) > 1 else ""
        for problem in checked.problems:
            print(f"       {rank}{problem}")
    sys.stdout.flush()


# All of them


class Times:
    """How long each took when it last ran: for the plan of the next run."""

    def __init__(self, cache):
        self.path = pathlib.Path(cache) / "times.json"
        self.turn = threading.Lock()
        try:
            self.known = json.loads(self.path.read_text(encoding="ascii"))
        except (OSError, ValueError):
            self.known = {}

    def of(self, name, torch, kind, usual):
        return self.known.get(f"{name} {torch} {kind}", usual)

    def note(self, result):
        with self.turn:
            key = f"{result.name} {result.torch} {result.kind}"
            self.known[key] = round(result.seconds, 1)
            self.path.write_text(json.dumps(self.known, indent=0), encoding="ascii")


def plan(versions, args):
    """(cases, what is left out), the shortest first: so that most fit."""
    times = Times(args.cache)
    cases, left_out = [], []
    for torch in versions:
        try:
            section, _ = fetch.choose(torch, args.python)
        except fetch.Unavailable as reason:
            left_out.append(str(reason))
            continue
        found = {"torch": torch, "python": section.python}
        for file in scenarios.find_all():
            if not fnmatch.fnmatch(file.name, args.only or "*") or not file.runs(found):
                continue
            resolved = file.resolve(found)
            for kind in [args.core] if args.core else resolved.cores:
                seconds = times.of(file.name, torch, kind, resolved.seconds)
                cases.append(Case(file.name, torch, section, kind, resolved, seconds))
    return sorted(cases, key=lambda c: (c.seconds, c.file, lock.number(c.torch))), left_out


def bring(cases, args):
    """{torch: Target} of all that the cases need."""
    targets = {}
    for torch in sorted({c.torch for c in cases}, key=lock.number):
        targets[torch] = fetch.fetch(torch, args.cache, args.python)
    return targets


class Run:
    """All cases, some at once, until the time is over."""

    def __init__(self, shim, corescan, args):
        self.shim, self.corescan, self.args = shim, corescan, args
        self.times = Times(args.cache)
        self.deadline = time.monotonic() + 60 * args.time if args.time else None
        self.results, self.left_out = [], []
        self.stopped = False
        self.turn = threading.Lock()

    def one(self, case, target):
        late = self.deadline and time.monotonic() + 1.3 * case.seconds > self.deadline
        if self.stopped or late:
            why = "interrupted" if self.stopped else "no time left"
            self.left_out.append(f"{case.file} torch {case.torch} {case.kind}: {why}")
            return
        args = self.args
        result = play(
            target, case.scenario, case.kind, self.shim, self.corescan, args.cache, args.keep
        )
        if self.stopped:  # its ranks were ended for that
            return
        with self.turn:
            if result.right is None:
                self.left_out.append(f"{case.file} torch {case.torch}: {result.problem}")
            else:
                self.results.append(result)
            show(result, self.args.json)
        if result.right:
            self.times.note(result)

    def all(self, cases, targets):
        with concurrent.futures.ThreadPoolExecutor(max(self.args.jobs, 1)) as pool:
            jobs = [pool.submit(self.one, case, targets[case.torch]) for case in cases]
            try:
                for job in jobs:
                    job.result()
            except BaseException:
                self.stopped = True
                for job in jobs:
                    job.cancel()
                launch.end_all()
                raise


def run(planned, shim, corescan, args):
    """Plays the plan; 0 only if something ran and all of it was right."""
    cases, left_out = planned
    work = Run(shim, corescan, args)
    work.all(cases, bring(cases, args))
    left_out = [*left_out, *work.left_out]
    wrong = [r for r in work.results if not r.right]
    equal = sum(c.equal for r in work.results for c in r.of)
    total = sum(c.total for r in work.results for c in r.of)
    say = print if not args.json else (lambda text: print(text, file=sys.stderr))
    for text in left_out:
        say(f"left out: {text}")
    say(
        f"{len(work.results)} ran, {len(wrong)} wrong, {len(left_out)} left out; "
        f"Python frames {equal} of {total} equal"
    )
    for result in wrong:
        say(f"wrong: {result.name} torch {result.torch} {result.kind}")
    return 1 if wrong or not work.results else 0
