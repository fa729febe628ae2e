#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""run_pytest.py FILE...: runs pytest for CTest; 77 (skipped) where there is no pytest or all tests skipped."""
import sys

SKIPPED = 77


class Count:
    """A plugin that counts what ran."""

    ran = 0

    def pytest_runtest_logreport(self, report):
        if report.outcome != "skipped" and (report.when == "call" or report.failed):
            self.ran += 1


def main(arguments):
    try:
        import pytest
    except ImportError:
        print("pytest is not installed (Debian: python3-pytest)")
        return SKIPPED
    count = Count()
    status = pytest.main(["-q", "-rs", "-p", "no:cacheprovider", *arguments], plugins=[count])
    nothing_ran = status in (pytest.ExitCode.OK, pytest.ExitCode.NO_TESTS_COLLECTED) and not count.ran
    return SKIPPED if nothing_ran else int(status)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
