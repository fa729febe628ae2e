# SPDX-License-Identifier: GPL-3.0-or-later
"""Runs inside gdb: writes the frames of each thread of the core it has open, an object a line.

They go to the file that CORESCAN_GDB_FRAMES names, so that nothing else gdb says is mixed in.
"""
import json
import os

import gdb

KINDS = {gdb.SIGTRAMP_FRAME: "signal", gdb.TAILCALL_FRAME: "tail"}


def in_symbol_table(function):
    """What the symbol table calls a function whose debug information has no such name."""
    said = gdb.execute(f"info symbol {int(function.value().address):#x}", to_string=True)
    return None if said.startswith("No symbol") else said.split(" in section ")[0].strip()


def name_of(frame):
    """The name as symbol tables spell it, or None."""
    function = frame.function()
    if function is None:
        return frame.name()
    name = function.linkage_name or function.name
    # gdb makes names up from types for main(), lambdas and the like.
    return (in_symbol_table(function) or name) if set("(<") & set(name) else name


def frames_of(frame):
    while frame is not None and frame.is_valid():
        kind = frame.type()
        if kind != gdb.INLINE_FRAME:
            yield [frame.pc(), name_of(frame), KINDS.get(kind, "native")]
        try:
            frame = frame.older()
        except gdb.error:
            return


def main():
    for setting in (
        "backtrace past-main on",
        "backtrace limit unlimited",
        "print demangle off",
        "print asm-demangle off",
    ):
        gdb.execute("set " + setting)
    with open(os.environ["CORESCAN_GDB_FRAMES"], "w", encoding="utf-8") as out:
        for thread in gdb.selected_inferior().threads():
            thread.switch()
            frames = list(frames_of(gdb.newest_frame()))
            out.write(
                json.dumps({"lwp": thread.ptid[1] or thread.ptid[0], "frames": frames}) + "\n"
            )


main()
