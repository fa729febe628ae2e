# SPDX-License-Identifier: GPL-3.0-or-later
"""Runs inside gdb: writes what a backtrace says of each frame, an object a line for each thread.

They go to the file that CORESCAN_GDB_STACKS names. Inlined calls are frames, as in gdb's own text.
"""
import json
import os

import gdb


def describe(frame):
    """As print_frame() sees it: a library only where there is no source."""
    if frame.type() == gdb.SIGTRAMP_FRAME:
        return ["<signal handler called>", None, None, None]
    sal = frame.find_sal()
    if sal.symtab:
        return [frame.name(), sal.symtab.filename, sal.line, None]
    library = gdb.solib_name(frame.pc())
    return [frame.name(), None, None, library and os.path.basename(library)]


def frames_of(frame):
    while frame is not None and frame.is_valid():
        yield describe(frame)
        try:
            frame = frame.older()
        except gdb.error:
            return


def main():
    with open(os.environ["CORESCAN_GDB_STACKS"], "w", encoding="utf-8") as out:
        for thread in gdb.selected_inferior().threads():
            thread.switch()
            row = {"tid": thread.ptid[1] or thread.ptid[0]}
            row["frames"] = list(frames_of(gdb.newest_frame()))
            out.write(json.dumps(row) + "\n")


main()
