#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Every CS_MAX_ of base/limits.h is in docs/LIMITS.md with the same value, and is used somewhere.

A row of docs/LIMITS.md is `| CS_MAX_NAME | value | reason |`; a value may have commas and a unit:
KiB, MiB, GiB or TiB.
"""
import re

import tree

DEFINE = re.compile(r"^#define (CS_MAX_\w+) ([^/\n]+)", re.M)
ROW = re.compile(r"^\| *`?(CS_MAX_\w+)`? *\| *([^|]+?) *\| *([^|]*)\|", re.M)
UNITS = {"": 0, "KiB": 10, "MiB": 20, "GiB": 30, "TiB": 40}


def c_value(expression):
    """The value of a constant made of numbers, parentheses, << and *."""
    plain = re.sub(r"(?<=\d)[uUlL]+", "", expression).strip()
    if not re.fullmatch(r"[\d\s()<*+-]+", plain):
        raise ValueError(f"not a plain constant: {expression.strip()}")
    return eval(plain)  # digits and operators only: checked above


def page_value(cell):
    match = re.match(r"`?([\d, ]+?)`? *(KiB|MiB|GiB|TiB)?\b", cell)
    return (
        int(re.sub(r"[, ]", "", match.group(1))) << UNITS[match.group(2) or ""] if match else None
    )


def check(root):
    defined = {
        n: c_value(v) for n, v in DEFINE.findall((root / "corescan/base/limits.h").read_text())
    }
    page = root / "docs/LIMITS.md"
    rows = {n: (v, why) for n, v, why in ROW.findall(page.read_text())} if page.is_file() else {}
    used = "".join(
        tree.code_only(p.read_text())
        for p in tree.files(root, ".c", ".h")
        if p.name != "limits.h" and "tests" not in p.parts
    )
    found = []
    for name, value in defined.items():
        if name not in rows:
            found.append(f"docs/LIMITS.md: {name} ({value}) is missing")
        elif page_value(rows[name][0]) != value:
            found.append(f"docs/LIMITS.md: {name} is {value}, the page says {rows[name][0]}")
        elif len(rows[name][1].strip()) < 10:
            found.append(f"docs/LIMITS.md: {name} has no reason")
        if not re.search(rf"\b{name}\b", used):
            found.append(f"corescan/base/limits.h: {name} is used nowhere")
    found += [f"docs/LIMITS.md: {name} does not exist" for name in rows if name not in defined]
    return found if defined else ["corescan/base/limits.h: no limits found"]


if __name__ == "__main__":
    tree.main(check)
