# SPDX-License-Identifier: GPL-3.0-or-later
"""Code that no file has: exec, eval, compile, and names that are not what they seem."""
import sys

import truth

SPACE = {"truth": truth, "sys": sys}


def crash():
    truth.record(sys._getframe(), WEAVE), truth.end()


SPACE["crash"] = crash
SPACE["deeper"] = lambda: exec("\n\n\ncrash()\n", SPACE)
exec(compile("\n" * 70000 + "def far(): \\\n  deeper()\n", "far away.py", "exec"), SPACE)
exec(compile("def nothing(): far()", "", "exec"), SPACE)
text = "class A:\n def f(self, g=lambda: nothing()):\n  return g()"
exec(compile(text, "<a <b> c>", "exec"), SPACE)
# More than 255 bytes of code in one statement, and lines that go up and down.
long_line = "def long_line():\n  x = [" + ", ".join(str(n) for n in range(1000)) + "]\n"
long_line += "  y = (\n" + "\n" * 300 + "   A().f()\n" + "\n" * 300 + "  )\n"
exec(compile(long_line, "long.py", "exec"), SPACE)
SPACE["WEAVE"] = WEAVE = [
    truth.END,
    "crash",
    "<module>",
    "@exec",
    "<lambda>",
    "far",
    "nothing",
    "<lambda>",
    "f",
    "long_line",
    "<module>",
    "@eval",
    "<module>",
    truth.MAIN,
]
eval("long_line()", SPACE)
