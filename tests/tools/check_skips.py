#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Fail when every test of a kind was skipped: a green run must not hide that nothing ran.

    check_skips.py BUILD-DIR JUNIT-FILE LABEL...

A label that stands for a kind of core counts only where a test says that it made one of that kind
(run_pytest.py prints it); a file of tests runs even if all its gcore tests were skipped.
"""
import json
import re
import subprocess
import sys
import xml.etree.ElementTree

KINDS = {"kernel-core", "gcore", "gdb", "aarch64"}


def tests_with(build, label):
    shown = subprocess.run(
        ["ctest", "--test-dir", build, "--show-only=json-v1", "-L", f"^{label}$"],
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    return {test["name"] for test in json.loads(shown)["tests"]}


def proven(junit):
    """{name of a test that ran: the kinds of cores that it made}."""
    found = {}
    for case in xml.etree.ElementTree.parse(junit).iter("testcase"):
        if case.get("status") == "run":
            made = re.search(r"^cores made: (.*)", case.findtext("system-out") or "", re.M)
            found[case.get("name")] = (
                set(re.findall(r"([\w-]+) \d+", made.group(1))) if made else set()
            )
    return found


def main():
    build, junit, labels = sys.argv[1], sys.argv[2], sys.argv[3:]
    ran = proven(junit)
    idle = [
        label
        for label in labels
        if not any(
            name in ran and (label not in KINDS or label in ran[name])
            for name in tests_with(build, label)
        )
    ]
    for label in idle:
        print(f"no test with label {label} ran: all were skipped, or there is none")
    return 1 if idle else 0


sys.exit(main())
