# SPDX-License-Identifier: GPL-3.0-or-later
"""Subinterpreters, in the main thread and in another.

argv: same: the one that dies runs in the main thread; worker: in another thread; parked: it waits
in another thread while the main interpreter dies; isolated: the same with a GIL of its own (3.12+).
"""
import json
import os
import sys
import threading
import time

import truth

try:
    import _interpreters as interpreters
except ImportError:
    import _xxsubinterpreters as interpreters

KIND = sys.argv[1]
HERE = os.path.dirname(os.path.abspath(__file__))
OUTER = truth.PATH + ".outer"
INNER = truth.PATH + ".inner"
SCRIPT = """
import json, sys, os, time
def waiting(n):
    if n:
        return list(map(waiting, [n - 1]))
    %s
def outer():
    waiting(2)
outer()
"""
DIES = """
    sys.path.insert(0, {here!r}); import truth; saved = json.load(open({outer!r}))
    others = {{int(ident): frames for ident, frames in saved["others"].items()}}
    known = dict(outer=saved["frames"], more=others, interpreter=True)
    truth.record(sys._getframe(), saved["weave"], **known), truth.end()
"""
PARKS = """
    def chain(frame):
        return (chain(frame.f_back) if frame.f_back else []) + [frame]
    def describe(frame):
        code = frame.f_code
        name = getattr(code, "co_qualname", code.co_name)
        return [name, code.co_filename, frame.f_lineno, code.co_name]
    def write(frame):
        with open({inner!r} + ".new", "w") as file:
            json.dump([describe(f) for f in chain(frame)[::-1]], file)
        os.rename({inner!r} + ".new", {inner!r})
    write(sys._getframe()), time.sleep(10**6)
"""


def make():
    if KIND == "isolated":
        return interpreters.create()
    for arguments, options in ((("legacy",), {}), ((), {"isolated": False})):
        try:
            return interpreters.create(*arguments, **options)
        except TypeError:
            continue
    return interpreters.create()


def save(frame):
    # Newer interpreters tell of their own threads alone.
    truth.settle()
    others = {ident: truth.chain(top) for ident, top in truth.others(truth.tids()).items()}
    with open(OUTER, "w", encoding="ascii") as file:
        json.dump({"frames": truth.chain(frame), "others": others, "weave": WEAVE}, file)


def run(interpreter, script):
    save(sys._getframe()), interpreters.run_string(interpreter, script)


def waits():
    threading.Event().wait()


def load(path):
    while not os.path.exists(path):
        time.sleep(0.01)
    with open(path, encoding="ascii") as file:
        return json.load(file)


def die(thread):
    more = {thread.ident: load(INNER) + load(OUTER)["frames"]}
    truth.record(sys._getframe(), more=more), truth.end()


WEAVE = [truth.END] + ["waiting", "@map_next"] * 2 + ["waiting", "outer", "<module>"]
WEAVE += ["@interp_run_string|interpreters_run_string|_run_script", "run"]
WEAVE += ["<module>", truth.MAIN] if KIND == "same" else ["run", "~", "@."]
threading.Thread(target=waits, daemon=True, name="of main").start()
script = SCRIPT % (DIES if KIND in ("same", "worker") else PARKS).strip()
script = script.format(here=HERE, outer=OUTER, inner=INNER)
the_interpreter = make()
idle = make()
if KIND == "same":
    run(the_interpreter, script)
worker = threading.Thread(target=run, args=(the_interpreter, script), name="worker", daemon=True)
worker.start()
if KIND in ("parked", "isolated"):
    die(worker)
worker.join()
