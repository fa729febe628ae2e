#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Make a core small enough to keep: leave out code pages that no stack goes through.

    trim_core.py CORE REPORT.json OUT

REPORT.json is `corescan --json --all CORE`. A page is left out only if it is not writable and is
code more than one page away from every address in the report, or belongs to a module that no stack
goes through; the page with a module's ELF header always stays. In OUT such a page is mapped but not
saved (p_filesz 0), as a core written with another coredump_filter would have it. Every other byte
is as the kernel wrote it.
"""
import json
import struct
import sys

PAGE = 4096
PT_LOAD, PT_NOTE, PF_X, PF_W = 1, 4, 1, 2
PHDR = struct.Struct("<IIQQQQQQ")


def program_headers(core):
    (phoff,) = struct.unpack_from("<Q", core, 32)
    (phnum,) = struct.unpack_from("<H", core, 56)
    return [list(PHDR.unpack_from(core, phoff + i * PHDR.size)) for i in range(phnum)]


class Keep:
    """Which pages of non-writable segments stay."""

    def __init__(self, core, report):
        self.core = core
        frames = [f for t in report["threads"] for f in t["frames"]]
        pcs = {int(f["address"], 16) for f in frames if f.get("address")}
        self.pages = {a // PAGE + d for a in pcs for d in (-1, 0, 1)}
        spans = [(int(m["base"], 16), int(m["end"], 16)) for m in report["modules"]]
        self.unused = [s for s in spans if not any(s[0] <= a < s[1] for a in pcs)]

    def page(self, flags, vaddr, offset):
        if self.core[offset : offset + 4] == b"\x7fELF":
            return True
        if any(start <= vaddr < end for start, end in self.unused):
            return False
        return not flags & PF_X or vaddr // PAGE in self.pages


def split(header, keep):
    """The pieces of one PT_LOAD: runs of pages that are saved, and runs that are not."""
    kind, flags, offset, vaddr, paddr, filesz, memsz, align = header
    if kind != PT_LOAD or flags & PF_W or not filesz:
        return [header]
    pieces = []
    for at in range(0, memsz, PAGE):
        saved = at < filesz and keep.page(flags, vaddr + at, offset + at)
        if pieces and bool(pieces[-1][5]) == saved:
            pieces[-1][6] += PAGE
            pieces[-1][5] += PAGE if saved else 0
        else:
            size = PAGE if saved else 0
            pieces.append([kind, flags, offset + at, vaddr + at, 0, size, PAGE, align])
    return pieces


def main():
    core = open(sys.argv[1], "rb").read()
    keep = Keep(core, json.load(open(sys.argv[2])))
    headers = [piece for h in program_headers(core) for piece in split(h, keep)]
    head = bytearray(core[:64])
    struct.pack_into("<QQ", head, 32, 64, 0)  # e_phoff, e_shoff
    struct.pack_into("<HHHH", head, 56, len(headers), 0, 0, 0)
    end = 64 + len(headers) * PHDR.size
    body, table = [], b""
    for h in headers:
        pad = -end % (PAGE if h[0] == PT_LOAD else 4)
        data = core[h[2] : h[2] + h[5]]
        body.append(b"\0" * pad + data)
        h[2] = end + pad
        end += pad + len(data)
        table += PHDR.pack(*h)
    with open(sys.argv[3], "wb") as out:
        out.write(head + table + b"".join(body))


main()
