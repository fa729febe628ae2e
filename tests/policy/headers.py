#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Every header compiles alone; the public ones as strict C11 and C++17 too."""
import os
import shlex
import shutil
import subprocess

import layers
import tree

WARN = ["-Wall", "-Wextra", "-Werror", "-fsyntax-only"]


def compilers():
    cc = shutil.which(os.environ.get("CC", "cc"))
    cxx = shutil.which(os.environ.get("CXX", "c++"))
    if not cc or not cxx:
        raise tree.Missing("a C and a C++ compiler are needed")
    return cc, cxx


def compile_alone(root, path, command):
    """What the compiler says about a file that only includes `path` twice; "" if nothing."""
    source = f'#include "{path}"\n#include "{path}"\n'
    run = subprocess.run(
        [*command, *WARN, f"-I{root}/corescan/include", "-"],
        input=source,
        text=True,
        capture_output=True,
    )
    return "" if run.returncode == 0 else run.stderr.strip().split("\n")[0]


def check(root):
    root = root.resolve()
    cc, cxx = compilers()
    flags = shlex.split(os.environ.get("CORESCAN_INCLUDES", ""))
    internal = [
        cc,
        "-x",
        "c",
        "-std=gnu17",
        "-D_GNU_SOURCE",
        f"-I{root}/corescan",
        f"-I{root}",
        *flags,
    ]
    public = {
        "C11": [cc, "-x", "c", "-std=c11", "-pedantic-errors"],
        "C++17": [cxx, "-x", "c++", "-std=c++17", "-pedantic-errors"],
    }
    found = []
    for path in tree.files(root, ".h"):
        layer = layers.layer_of(path.relative_to(root))
        for name, command in (public if layer == "public" else {"gnu17": internal}).items():
            said = compile_alone(root, path, command)
            if layer and said:
                found.append(tree.at(root, path, 1, f"does not compile alone as {name}: {said}"))
    return found


if __name__ == "__main__":
    tree.main(check)
