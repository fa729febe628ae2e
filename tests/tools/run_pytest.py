#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Run one pytest file for ctest: 77 if pytest is not installed, or if every test of it was skipped.

    run_pytest.py FILE [pytest options]

pytest alone would call a file whose tests were all skipped a success, and nobody would see that
nothing ran.
"""
import sys

SKIPPED = 77

try:
    import pytest
except ImportError:
    print("skipped: pytest is not installed (Debian: python3-pytest)")
    sys.exit(SKIPPED)


class Count:
    """Counts the outcomes of all tests."""

    def __init__(self):
        self.ran = self.skipped = 0

    def pytest_runtest_logreport(self, report):
        if report.skipped:
            self.skipped += 1
        elif report.when == "call":
            self.ran += 1


def main():
    count = Count()
    status = pytest.main(["-q", "-rs", "-p", "no:cacheprovider", *sys.argv[1:]], plugins=[count])
    made = getattr(sys.modules.get("cores"), "MADE", None)
    if made:  # for check_skips.py
        print("cores made:", ", ".join(f"{kind} {n}" for kind, n in sorted(made.items())))
    if status in (pytest.ExitCode.OK, pytest.ExitCode.NO_TESTS_COLLECTED) and not count.ran:
        return SKIPPED
    return int(status)


sys.exit(main())
