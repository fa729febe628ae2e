#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""The options of `corescan --help` are those of docs/corescan.1; the pages are well formed."""
import re
import shutil
import subprocess

import tree

OPTION = re.compile(r"(?<![\w-])(--?[A-Za-z][\w-]*)")


def options(rendered):
    """Options at the start of an indented line, up to the first wide gap (the explanation)."""
    found = set()
    for line in rendered.splitlines():
        match = re.match(r"\s+(-.*)", line)
        if match:
            found.update(OPTION.findall(re.split(r"\s{2,}", match.group(1))[0]))
    return found


def render(page):
    if not shutil.which("mandoc"):
        raise tree.Missing("mandoc is not installed")
    out = subprocess.run(
        ["mandoc", "-T", "ascii", "-O", "width=1000", str(page)],
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    return re.sub(".\b", "", out)


def lint(page):
    run = subprocess.run(
        ["mandoc", "-T", "lint", "-W", "warning", str(page)], capture_output=True, text=True
    )
    return (run.stdout + run.stderr).splitlines()


def check(root, program):
    helped = options(
        subprocess.run([program, "--help"], capture_output=True, text=True, check=True).stdout
    )
    manual = options(render(root / "docs/corescan.1"))
    found = [] if helped else [f"{program} --help names no options"]
    found += [f"docs/corescan.1: {o} of --help is missing" for o in sorted(helped - manual)]
    found += [f"docs/corescan.1: {o} is not in --help" for o in sorted(manual - helped)]
    for page in tree.files(root):
        if re.fullmatch(r"\.[1-8]", page.suffix):
            found += lint(page)
    return found


if __name__ == "__main__":
    tree.main(check)
