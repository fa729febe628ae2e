#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Sizes: functions of 80 lines and complexity 20 at most, files of 800 lines.

The headers together are at least 30 % comment: they carry the contracts.
"""
import re
import shutil
import subprocess

import tree

MAX_FUNCTION = 80
MAX_COMPLEXITY = 20
MAX_FILE = 800
MIN_COMMENT = 0.30
MAX_COLUMNS = {".c": 110, ".h": 110, ".py": 100}


def functions(paths):
    """(path, line, name, lines, modified complexity) of each C function, as pmccabe counts them."""
    if not shutil.which("pmccabe"):
        raise tree.Missing("pmccabe is not installed")
    out = subprocess.run(
        ["pmccabe", *map(str, paths)], capture_output=True, text=True, check=True
    ).stdout
    for row in out.splitlines():
        modified, _, _, line, lines, where = row.split("\t")
        path, name = re.fullmatch(r"(.*)\(\d+\): (.*)", where).groups()
        yield path, int(line), name, int(lines), int(modified)


def comment_share(content):
    """Share of the non-blank lines that carry a comment, or part of one."""
    comments = set()
    for match in re.finditer(r"/\*.*?\*/", content, re.S):
        first = content.count("\n", 0, match.start())
        comments.update(range(first, first + match.group().count("\n") + 1))
    filled = [n for n, line in enumerate(content.split("\n")) if line.strip()]
    return sum(n in comments for n in filled) / max(len(filled), 1)


def check(root):
    found = []
    sources = tree.files(root, ".c")
    for path, line, name, lines, complexity in functions(sources) if sources else ():
        if lines > MAX_FUNCTION:
            found.append(
                tree.at(root, path, line, f"{name} has {lines} lines, {MAX_FUNCTION} allowed")
            )
        if complexity > MAX_COMPLEXITY:
            found.append(
                tree.at(
                    root,
                    path,
                    line,
                    f"{name} has complexity {complexity}, {MAX_COMPLEXITY} allowed",
                )
            )
    for path in tree.files(root, ".c", ".h", ".py"):
        content = tree.text(path) or ""
        lines = content.split("\n")
        if len(lines) - 1 > MAX_FILE:
            found.append(
                tree.at(root, path, MAX_FILE, f"{len(lines) - 1} lines, {MAX_FILE} allowed")
            )
        for number, line in enumerate(lines, 1):
            width = len(line.expandtabs(8))
            if width > MAX_COLUMNS[path.suffix]:
                found.append(tree.at(root, path, number, f"{width} columns"))
    headers = "".join(tree.text(path) or "" for path in tree.files(root, ".h"))
    if headers and comment_share(headers) < MIN_COMMENT:
        found.append(
            f"headers: {comment_share(headers):.0%} of the lines have a comment, "
            f"{MIN_COMMENT:.0%} needed"
        )
    return found


if __name__ == "__main__":
    tree.main(check)
