# SPDX-License-Identifier: GPL-3.0-or-later
"""The program under test, recipes that skip where something is missing, shared helpers."""
import json
import os
import pathlib
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tests/cores"), str(ROOT / "tests/e2e")]

import cores  # noqa: E402  (found by the line above)

try:
    import jsonschema
except ImportError:
    jsonschema = None

TABLES = []


def validator():
    """Of the report's schema, or None where python3-jsonschema is missing or too old for it."""
    kind = getattr(jsonschema, "Draft202012Validator", None)
    schema = json.loads((ROOT / "docs/corescan-report.schema.json").read_text(encoding="utf-8"))
    return kind(schema) if kind else None


class Result:
    """One run of corescan."""

    def __init__(self, run):
        self.status = run.returncode
        self.out = run.stdout.decode(errors="replace")
        self.err = run.stderr.decode(errors="replace")

    def reports(self):
        found = [json.loads(line) for line in self.out.splitlines()]
        for report in found:
            problems = list(VALIDATOR.iter_errors(report)) if VALIDATOR else []
            assert not problems, f"not as the schema says: {problems[0].message[:300]}"
        return found

    def report(self):
        found = self.reports()
        assert len(found) == 1, f"{len(found)} reports, status {self.status}: {self.err[:500]}"
        return found[0]


VALIDATOR = validator()


class Program:
    """Runs corescan. Nothing it could ask on the network is asked."""

    def __init__(self, path):
        self.path = path

    def __call__(self, *arguments, timeout=60, env=None, **options):
        options.setdefault("stdin", subprocess.DEVNULL)
        return Result(
            subprocess.run(
                [str(self.path), *map(str, arguments)],
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                timeout=timeout,
                env={**os.environ, "TERM": "dumb", "DEBUGINFOD_URLS": "", **(env or {})},
                check=False,
                **options,
            )
        )

    def json(self, *arguments, **options):
        return self("--json", *arguments, **options)

    def report(self, core, *arguments, statuses=(0,), **options):
        result = self.json("--all", *arguments, core, **options)
        assert result.status in statuses, (result.status, result.err[:500], result.out[:500])
        return result.report()


@pytest.fixture(scope="session")
def corescan():
    path = pathlib.Path(os.environ.get("CORESCAN", ROOT / "build/bin/corescan")).resolve()
    if not path.is_file():
        # Who names a program means that one.
        (pytest.fail if "CORESCAN" in os.environ else pytest.skip)(
            f"{path} is not built; set CORESCAN to the program"
        )
    return Program(path)


class Recipes:
    """The functions of cores.py; what is not available skips the test, with the reason."""

    def __init__(self, folder):
        self.folder = folder
        self.made = {}

    def __getattr__(self, name):
        function = getattr(cores, name)

        def call(*arguments, **options):
            try:
                return function(*arguments, **options)
            except cores.Unavailable as reason:
                pytest.skip(str(reason))

        return call

    def program(self, source, *flags, name=None):
        """Built once in a session for each name."""
        name = name or pathlib.Path(source).stem
        if name not in self.made:
            self.made[name] = self.build(source, self.folder, *flags, name=name)
        return self.made[name]

    def new(self, name):
        """An empty folder for one process and its core."""
        return cores.fresh(self.folder, f"{len(os.listdir(self.folder))}-{name}")

    def crash(self, kind, dump_filter=cores.DEFAULT_FILTER):
        return self.by_kernel([self.program("crash.c"), kind], self.new(kind), dump_filter)

    def died(self, command, name, **env):
        """A core of COMMAND, which kills itself, and what it wrote to its standard error."""
        folder = self.new(name)
        written = folder.with_suffix(".stderr")
        shell = ["sh", "-c", f'exec "$0" "$@" 2>"{written}"', *command]
        core = self.by_kernel(shell, folder, env=cores.environment(**env))
        return core.path, written.read_text(encoding="utf-8")

    def threads(self, count, how="abort", dump_filter=cores.DEFAULT_FILTER):
        command = [self.program("threads.c"), count, how]
        return self.by_kernel(command, self.new("threads"), dump_filter)


@pytest.fixture(scope="session")
def recipes(tmp_path_factory):
    return Recipes(tmp_path_factory.mktemp("cores"))


@pytest.fixture(scope="session")
def tables():
    """Lines added to this are printed at the end, whether the tests pass or not."""
    return TABLES


def pytest_terminal_summary(terminalreporter):
    for line in TABLES:
        terminalreporter.write_line(line)
