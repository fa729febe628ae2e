# SPDX-License-Identifier: GPL-3.0-or-later
"""Names in all three widths that str has, of functions, classes, files and threads."""
import os
import sys
import threading

import truth

FOLDER = os.path.dirname(os.path.abspath(truth.PATH))


def module(name, text):
    """Code of a file called `name`; the file is there."""
    path = os.path.join(FOLDER, name)
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
    space = {"truth": truth, "sys": sys, "threading": threading}
    exec(compile(text, path, "exec"), space)
    return space


latin = module("grün.py", "def größe(ruf):\n    ruf()\n")
bmp = module("文件.py", "class Ἄλφα:\n    def μέθοδος(self, ruf):\n\n        return ruf()\n")
astral = module("🐍𝔭.py", "def 𝔫𝔞𝔪𝔢(ruf): return 𝔭(ruf)\ndef 𝒻(ruf):\n  ruf()\n𝔭 = 𝒻\n")
long_one = module("l" + "ä" * 100 + ".py", "def " + "ö" * 300 + "(ruf): ruf()\n")
waits = module("wartet.py", "def läuft(ereignis):\n    ereignis.wait()\n")
assert "𝔫𝔞𝔪𝔢" not in astral and "name" in astral  # the parser makes NFKC of names


def renamed(function, name):
    """The same function with a name that no source could have."""
    code = function.__code__
    if hasattr(code, "replace"):
        more = {"co_qualname": name} if hasattr(code, "co_qualname") else {}
        function.__code__ = code.replace(co_name=name, **more)
    return function


odd = renamed(lambda ruf: ruf(), "𐍈🎉 odd\nname\t\"'\\")
for name in ("Fäden", "нить", "線程🧵", "plain", "a\nb"):
    event = threading.Event()
    threading.Thread(target=waits["läuft"], args=(event,), name=name, daemon=True).start()


def crash():
    truth.record(sys._getframe(), WEAVE), truth.end()


WEAVE = [truth.END, "~", "<module>", truth.MAIN]
odd(
    lambda: long_one["ö" * 300](
        lambda: latin["größe"](
            lambda: bmp["Ἄλφα"]().μέθοδος(lambda: astral["name"](crash))
        )
    )
)
