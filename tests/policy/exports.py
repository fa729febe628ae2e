#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""What libcorescan.so exports, its version script and the CS_API declarations are the same list."""
import re
import subprocess

import tree


def exported(library):
    out = subprocess.run(
        ["nm", "-D", "--defined-only", library], capture_output=True, text=True, check=True
    ).stdout
    rows = [row.split() for row in out.splitlines()]
    return {row[-1].split("@")[0] for row in rows if row[-2] != "A"}


def mapped(map_text):
    part = re.search(r"global:(.*?)local:", map_text, re.S)
    return set(re.findall(r"(\w+);", part.group(1)))


def declared(header_text):
    code = tree.code_only(header_text)
    return set(re.findall(r"^CS_API\b[^;{]*?(\w+)\(", code, re.M))


def compare(want, have, want_name, have_name):
    return [f"{name} is in {want_name}, not in {have_name}" for name in sorted(want - have)] + [
        f"{name} is in {have_name}, not in {want_name}" for name in sorted(have - want)
    ]


def check(root, library):
    map_names = mapped((root / "corescan/libcorescan.map").read_text())
    headers = set()
    for path in tree.files(root, ".h"):
        if "include" in path.parts:
            headers |= declared(path.read_text())
    return compare(map_names, exported(library), "libcorescan.map", "libcorescan.so") + compare(
        headers, map_names, "the public headers", "libcorescan.map"
    )


if __name__ == "__main__":
    tree.main(check)
