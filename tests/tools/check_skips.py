#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Fail when every test of a kind was skipped: a green run must not hide that nothing ran.

    check_skips.py BUILD-DIR JUNIT-FILE LABEL...
"""
import json
import subprocess
import sys
import xml.etree.ElementTree


def tests_with(build, label):
    shown = subprocess.run(
        ["ctest", "--test-dir", build, "--show-only=json-v1", "-L", f"^{label}$"],
        capture_output=True, text=True, check=True).stdout
    return {test["name"] for test in json.loads(shown)["tests"]}


def main():
    build, junit, labels = sys.argv[1], sys.argv[2], sys.argv[3:]
    ran = {case.get("name") for case in xml.etree.ElementTree.parse(junit).iter("testcase")
           if case.get("status") == "run"}
    idle = [label for label in labels if not tests_with(build, label) & ran]
    for label in idle:
        print(f"no test with label {label} ran: all were skipped, or there is none")
    return 1 if idle else 0


sys.exit(main())
