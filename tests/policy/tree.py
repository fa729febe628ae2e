# SPDX-License-Identifier: GPL-3.0-or-later
"""What every policy check shares: the list of files, C without its comments, and how to report.

A check is a module with `check(root, ...)` that returns complaints, "path:line: what is wrong"; it
exits with 0 (nothing found), 1 (complaints) or 77 (a tool that it needs is missing: skipped).
"""
import os
import pathlib
import re
import sys

SKIPPED = 77
TOPS = ("corescan", "symbols", "gdbplugin", "tests", "corpus", "docs", ".ci")


class Missing(Exception):
    """A tool that the check needs is not installed."""


def files(root, *suffixes):
    """All files of the project with one of the suffixes (all of them without), as sorted paths."""
    root = pathlib.Path(root)
    found = [p for p in root.iterdir() if p.is_file()]
    for top in TOPS:
        for folder, folders, names in os.walk(root / top):
            folders[:] = [f for f in folders if f not in ("__pycache__", ".pytest_cache")]
            found += [pathlib.Path(folder) / n for n in names]
    if suffixes:
        found = [p for p in found if p.suffix in suffixes]
    return sorted(p for p in found if not p.is_symlink())


def text(path):
    """The file as text, or None where it is not text."""
    data = pathlib.Path(path).read_bytes()
    if b"\0" in data:
        return None
    try:
        return data.decode()
    except UnicodeDecodeError:
        return None


_TOKEN = re.compile(r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'', re.S)


def code_only(c_text):
    """C text with comments and the insides of literals blanked; line numbers stay."""

    def blank(match):
        word = match.group()
        kept = word[0] if word[0] in "\"'" else " "
        return kept + re.sub(r"[^\n]", " ", word[1:-1]) + kept

    return _TOKEN.sub(blank, c_text)


def at(root, path, line, what):
    return f"{pathlib.Path(path).relative_to(root)}:{line}: {what}"


def main(check, *args):
    """Run `check` on the command line's root and further arguments."""
    try:
        complaints = check(pathlib.Path(sys.argv[1]), *sys.argv[2:], *args)
    except Missing as missing:
        print(f"skipped: {missing}")
        sys.exit(SKIPPED)
    for complaint in complaints:
        print(complaint)
    sys.exit(1 if complaints else 0)
