#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Write the seeds of fuzz_unwind and fuzz_expr: make_unwind_seeds.py FOLDER.

A seed of fuzz_unwind is a stack of 512 bytes, then .eh_frame_hdr at 0x200 and .eh_frame behind it, as a
linker writes them, for functions at 0x4000 on.
"""

import struct
import sys
from pathlib import Path

HDR, FRAMES, TEXT, BIAS = 0x200, 0x300, 0x4000, 0x500000


def pad(entry: bytes) -> bytes:
    entry += b"\0" * (-(len(entry) + 4) % 8)
    return struct.pack("<I", len(entry)) + entry


def tables(ra: int, cie_ops: bytes, functions: list) -> bytes:
    augmentation = b"zR\0"
    cie = struct.pack("<IB", 0, 1) + augmentation + bytes([1, 0x78, ra, 1, 0x1B]) + cie_ops
    frames = pad(cie)
    rows = []
    for i, ops in enumerate(functions):
        at = FRAMES + len(frames)
        text = TEXT + i * 64
        rows.append((text - HDR, at - HDR))
        fde = struct.pack("<IiI", at + 4 - FRAMES, text - (at + 8), 64) + b"\0" + ops
        frames += pad(fde)
    frames += struct.pack("<I", 0)
    hdr = bytes([1, 0x1B, 3, 0x3B]) + struct.pack("<iI", FRAMES - (HDR + 4), len(rows))
    for row in rows:
        hdr += struct.pack("<ii", *row)
    return hdr.ljust(FRAMES - HDR, b"\0") + frames


X86 = [b"\0", b"\x0e\x20\x86\x02", b"\x09\x03\x06\x14\x06\x03", b"\x07\x10",
       b"\x10\x03\x02\x77\x10\x16\x06\x02\x77\x01", b"\x0f\x03\x77\x00\x06",
       b"\x0f\x0b\x77\x08\x80\x00\x3f\x1a\x3b\x2a\x33\x24\x22", b"\x0a\x41\x0e\x10\x0b"]
ARM = [b"\0", b"\x0e\x20\x9d\x04\x9e\x03", b"\x41\x2d\x0e\x10\x9d\x02\x9e\x01", b"\x07\x1e"]


def main() -> None:
    folder = Path(sys.argv[1])
    stack = struct.pack("<64Q", *(BIAS + TEXT + (i * 72) % 512 for i in range(64)))
    unwind = folder / "fuzz_unwind"
    unwind.mkdir(parents=True, exist_ok=True)
    for name, data in (("x86", tables(16, b"\x0c\x07\x08\x90\x01", X86)),
                       ("arm", tables(30, b"\x0c\x1f\x00", ARM))):
        seed = stack + data
        # An odd length stands for aarch64.
        seed += b"\0" * ((len(seed) % 2) != (name == "arm"))
        (unwind / name).write_bytes(seed)
    expr = folder / "fuzz_expr"
    expr.mkdir(parents=True, exist_ok=True)
    (expr / "plt").write_bytes(bytes([0xFF]) + b"".join(
        bytes([op, n, 0, step]) for op, n, step in
        ((0x77, 8, 2), (0x80, 0, 2), (0x3F, 0, 1), (0x1A, 0, 1), (0x3B, 0, 1), (0x2A, 0, 1),
         (0x33, 0, 1), (0x24, 0, 1), (0x22, 0, 1))))
    (expr / "loop").write_bytes(b"\1" + bytes([0x31, 0, 0, 1, 0x13, 0, 0, 1, 0x2F, 0xFB, 0, 3]))


main()
