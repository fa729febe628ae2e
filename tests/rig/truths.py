# SPDX-License-Identifier: GPL-3.0-or-later
"""The process's own word: what inside.py recorded, or what faulthandler wrote when it crashed.

And what the core's notes say of threads, read here without corescan: who there was, and the
thread pointer, by which faulthandler names a thread.
"""
import collections
import json
import re
import struct

PT_NOTE = 4
NT_PRSTATUS = 1
PID_AT, REGISTERS_AT = 32, 112  # struct elf_prstatus, x86_64
FS_BASE = 21  # its number in struct user_regs_struct

CoreThread = collections.namedtuple("CoreThread", "tid pointer")

HEAD = re.compile(
    r"(Current thread|Thread) 0x([0-9a-f]+)(?: \[(.*)\])? \(most recent call first\):"
)
FRAME = re.compile(r'  File (?:"(.*)"|\?\?\?), line (\d+|\?\?\?) in (.*)')
# faulthandler.c: MAX_FRAME_DEPTH
CUT = "  ..."


def notes(file):
    """(type, descriptor) of all notes of an ELF file of 64 bits."""
    header = file.read(64)
    if header[:4] != b"\x7fELF":
        raise ValueError("this is no ELF file")
    (offset,) = struct.unpack_from("<Q", header, 32)
    size, count = struct.unpack_from("<HH", header, 54)
    if count == 0xFFFF:  # as many as the first section header says
        file.seek(struct.unpack_from("<Q", header, 40)[0])
        (count,) = struct.unpack_from("<I", file.read(64), 44)
    file.seek(offset)
    table = file.read(size * count)
    for i in range(count):
        kind, _, start, _, _, length = struct.unpack_from("<IIQQQQ", table, i * size)
        if kind != PT_NOTE:
            continue
        file.seek(start)
        data, at = file.read(length), 0
        while at + 12 <= len(data):
            name, content, note = struct.unpack_from("<III", data, at)
            at += 12 + (name + 3 & ~3)
            yield note, data[at : at + content]
            at += content + 3 & ~3


def threads_of(core):
    """CoreThreads, in the order of the core."""
    found = []
    with open(core, "rb") as file:
        for kind, content in notes(file):
            if kind == NT_PRSTATUS:
                (tid,) = struct.unpack_from("<i", content, PID_AT)
                (pointer,) = struct.unpack_from("<Q", content, REGISTERS_AT + 8 * FS_BASE)
                found.append(CoreThread(tid, pointer))
    return found


def parse_fault(text):
    """Threads of a dump of faulthandler: dicts with ident, current, cut, frames, innermost first.

    Only the first dump counts: when the signal is raised again, another may follow.
    """
    found = []
    thread = None
    for line in text.splitlines():
        head, frame = HEAD.fullmatch(line), FRAME.fullmatch(line)
        if head:
            ident = int(head.group(2), 16)
            if any(t["ident"] == ident for t in found):
                break
            current = head.group(1) == "Current thread"
            thread = {"ident": ident, "current": current, "cut": False, "frames": []}
            found.append(thread)
        elif frame and thread:
            file, line_number, name = frame.groups()
            number = int(line_number) if line_number.isdigit() else None
            thread["frames"].append([name, file, number, name])
        elif line == CUT and thread:
            thread["cut"] = True
    return found


def of_fault(text, threads, facts):
    """In the shape of truth.record: names of functions are co_name, those of threads unknown."""
    tids = {t.pointer: t.tid for t in threads}
    parsed = parse_fault(text)
    missing = [hex(t["ident"]) for t in parsed if t["ident"] not in tids]
    if missing:
        raise ValueError(f"faulthandler wrote of threads that the core has not: {missing}")
    current = [tids[t["ident"]] for t in parsed if t["current"]]
    return {
        **facts,
        "tid": current[0] if current else None,
        "main": None,
        "named": False,
        "gil": None,
        "weave": None,
        "short": True,
        "threads": [
            {
                "ident": t["ident"],
                "tid": tids[t["ident"]],
                "name": None,
                "daemon": None,
                "frames": t["frames"],
                "cut": t["cut"],
            }
            for t in parsed
        ],
    }


def read(played, kind):
    """The truth of one rank; a ValueError says what is missing."""
    if not played.truth.is_file():
        missing = "inside.record()" if kind == "record" else "inside.watch_crash()"
        raise ValueError(
            f"process {played.pid} wrote no {played.truth.name}: {missing} did not run"
        )
    if kind == "record":
        return json.loads(played.truth.read_text(encoding="ascii"))
    facts = json.loads((played.folder / "facts.json").read_text(encoding="ascii"))
    text = played.truth.read_text(encoding="utf-8", errors="replace")
    truth = of_fault(text, threads_of(played.core), facts)
    if not truth["threads"]:
        raise ValueError("faulthandler wrote nothing: the process did not crash in it")
    return truth
