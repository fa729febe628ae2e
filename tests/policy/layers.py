#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""A layer includes itself and the layers to its left only; public headers include public ones."""
import pathlib
import re

import tree

ORDER = (
    "base",
    "mem",
    "arch",
    "core",
    "symbols",
    "unwind",
    "crash",
    "python",
    "torch",
    "gpu",
    "paste",
    "signature",
    "analyze",
    "report",
    "cli",
)
# Neighbours that must not know of each other although one of them has to come first in the list.
APART = {("gpu", "torch")}
INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*"([^"]+)"', re.M)


def layer_of(relative):
    """The layer of a file given relative to the root, "public", or None outside the layers."""
    parts = relative.parts
    if parts[0] == "symbols":
        return "symbols"
    if parts[0] != "corescan" or len(parts) < 2:
        return None
    if parts[1] == "include":
        return "public"
    if len(parts) == 2:
        return "analyze"
    return parts[1]


def resolve(root, path, name):
    """The project file that #include "name" in `path` means, or None."""
    for folder in (path.parent, root / "corescan", root / "corescan/include", root):
        if (folder / name).is_file():
            return (folder / name).resolve()
    return None


def complaint(source, target):
    """Why a file of layer `source` may not include one of layer `target`; None if it may."""
    if target == "public" or source == target:
        return None
    if source == "public":
        return "a public header includes an internal one"
    if target is None or target not in ORDER:
        return "includes a file outside the layers"
    if ORDER.index(target) > ORDER.index(source) or (source, target) in APART:
        return f"layer {source} includes layer {target}, which is not to its left"
    return None


def check(root):
    root = root.resolve()
    found = []
    for path in tree.files(root, ".c", ".h"):
        layer = layer_of(path.relative_to(root))
        if layer is None:
            continue
        if layer != "public" and layer not in ORDER:
            found.append(tree.at(root, path, 1, f"no such layer: {layer}"))
            continue
        content = tree.text(path) or ""
        for match in INCLUDE.finditer(content):
            line = content.count("\n", 0, match.start()) + 1
            target = resolve(root, path, match.group(1))
            if target is None:
                found.append(tree.at(root, path, line, f"{match.group(1)} is not found"))
                continue
            why = complaint(layer, layer_of(pathlib.Path(target).relative_to(root)))
            if why:
                found.append(tree.at(root, path, line, f"{match.group(1)}: {why}"))
    return found


if __name__ == "__main__":
    tree.main(check)
