# SPDX-License-Identifier: GPL-3.0-or-later
"""Dies while a module is imported that is imported by another: frames of frozen importlib."""
import os
import sys

import truth

FOLDER = os.path.join(os.path.dirname(os.path.abspath(truth.PATH)), "modules")
os.makedirs(os.path.join(FOLDER, "package", "inner"))
sys.path.insert(0, FOLDER)


def write(name, text):
    with open(os.path.join(FOLDER, name), "w", encoding="ascii") as file:
        file.write(text)


write("first.py", "import package.inner.last\n")
write("package/__init__.py", "")
write("package/inner/__init__.py", "from . import last\n")
write(
    "package/inner/last.py",
    "import sys, truth\n\ntruth.record(sys._getframe()), truth.end()\n",
)
import first  # noqa: E402,F401
