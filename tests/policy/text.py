#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Licence lines, opening comments, blanks, unfinished work, and no goto, print or exit."""
import re

import layers
import tree

SPDX = "SPDX-License-Identifier: GPL-3.0-or-later"
# Spelled in two halves, or this file would find itself.
UNFINISHED = re.compile(r"\b(?:" + "|".join(("TO" "DO", "FIX" "ME", "XX" "X", "HA" "CK")) + r")\b")
GOTO = re.compile(r"\bgoto\b")
EXIT = re.compile(r"\b(_exit|_Exit|exit|abort|err|errx|verr|warn|warnx|perror)\s*\(")
STANDARD = re.compile(r"\b(?:(printf|vprintf|puts|putchar)\s*\(|(stdout|stderr)\b)")
STREAM = re.compile(r"\b(fprintf|vfprintf|fputs|fputc|putc|fwrite)\s*\(")


def is_script(path, content):
    return path.suffix == ".py" or content.startswith("#!")


def check_lines(root, path, content):
    for number, line in enumerate(content.split("\n"), 1):
        if line != line.rstrip():
            yield tree.at(root, path, number, "blanks at the end of the line")
        if UNFINISHED.search(line):
            yield tree.at(root, path, number, "a mark of unfinished work")
        if path.suffix in (".c", ".h") and line.startswith("        "):
            yield tree.at(root, path, number, "indented with spaces, not tabs")
        if path.suffix == ".py" and "\t" in line:
            yield tree.at(root, path, number, "a tab in Python")
    if content and not content.endswith("\n"):
        yield tree.at(root, path, content.count("\n") + 1, "no newline at the end of the file")
    if content.endswith("\n\n"):
        yield tree.at(root, path, content.count("\n"), "blank lines at the end of the file")


def check_opening(root, path, content):
    if SPDX not in "\n".join(content.split("\n")[:2]):
        yield tree.at(root, path, 1, f"no {SPDX}")
    if path.suffix == ".c":
        rest = content.split("\n", 1)[1].lstrip() if "\n" in content else ""
        comment = re.match(r"/\*.*?\*/", rest, re.S)
        if not comment or len(comment.group()) < 60:
            yield tree.at(root, path, 2, "no comment that says what this file knows")


def check_code(root, path, content):
    layer = layers.layer_of(path.relative_to(root))
    rules = [(GOTO, "no goto here")]
    if layer and layer != "cli":
        rules += [(EXIT, "a library does not exit or warn"), (STANDARD, "a library does not print")]
        if layer not in ("report", "public"):
            rules.append((STREAM, "only report/ writes to streams"))
    for number, line in enumerate(tree.code_only(content).split("\n"), 1):
        for pattern, why in rules:
            match = pattern.search(line)
            if match:
                yield tree.at(root, path, number, f"{match.group().strip()}: {why}")


def check(root):
    root = root.resolve()
    found = []
    for path in tree.files(root):
        content = tree.text(path)
        if content is None or path.name == "LICENSE":
            continue
        found += check_lines(root, path, content)
        if path.suffix in (".c", ".h") or is_script(path, content):
            found += check_opening(root, path, content)
        if path.suffix in (".c", ".h"):
            found += check_code(root, path, content)
    return found


if __name__ == "__main__":
    tree.main(check)
