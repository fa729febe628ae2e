#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Seeds of fuzz_panic: the memory of a process that aborts, with each reporter's text where it is.

The addresses and the order of the areas are those of fuzz_panic.c.
"""
from __future__ import annotations

import struct

CODE, CONSTANTS, HEAP, STACK = 0x400000, 0x500000, 0x10000000000, 0x7FFE00000000
AREA = 1024
FRAME = AREA // 4
AREAS = (CODE, CONSTANTS, HEAP, STACK)
ERROR_FUNC, ERROR, REFCOUNT, FORMAT, RUST, GLOG, ABSL, C10, TSL, NAMELESS = range(10)


class Memory:
    def __init__(self, who):
        self.who = who
        self.areas = {area: bytearray(AREA) for area in AREAS}
        self.areas[CODE] = bytearray(b"\x90" * AREA)

    def poke(self, at, data):
        area = max(a for a in AREAS if a <= at)
        self.areas[area][at - area : at - area + len(data)] = data
        assert len(self.areas[area]) == AREA

    def words(self, at, *values):
        self.poke(at, struct.pack(f"<{len(values)}Q", *values))

    def call(self, frame, *leas):
        """The call that ends where FRAME goes on; each of LEAS is a register's byte and a place."""
        at = CODE + (frame + 1) * FRAME - 5 - 7 * len(leas)
        for modrm, to in leas:
            self.poke(at, b"\x48\x8d" + bytes([modrm]) + struct.pack("<i", to - at - 7))
            at += 7
        self.poke(at, b"\xe8\0\0\0\0")

    def bytes(self):
        return bytes([self.who]) + b"".join(bytes(self.areas[area]) for area in AREAS)


def python(who, text=b"the lock is not held\0"):
    m = Memory(who)
    m.poke(CONSTANTS, b"PyThreadState_Get\0")
    m.poke(CONSTANTS + 64, text)
    return m


def pythons():
    constant = python(ERROR_FUNC)
    constant.call(3, (0x3D, CONSTANTS), (0x35, CONSTANTS + 64))
    refcount = python(REFCOUNT)
    refcount.call(3, (0x35, CONSTANTS + 64), (0x3D, CONSTANTS))
    formatted = python(FORMAT, b"%s: no %-5.3zd of %%\0")
    formatted.call(2, (0x3D, CONSTANTS), (0x35, CONSTANTS + 64))
    saved = python(ERROR_FUNC)
    saved.words(STACK + FRAME + 40, CONSTANTS, CONSTANTS + 64)
    alone = python(ERROR)
    alone.words(STACK + FRAME + 40, CONSTANTS + 64)
    return [constant, refcount, formatted, saved, alone]


def arm64():
    """adrp x0; add x0, x0; adrp x1; mov x29, sp; add x1, x1, twice; bl"""
    m = python(ERROR_FUNC | 0x80)
    code = (0x90000800, 0x91000000, 0x90000801, 0x910003FD, 0x9100C021, 0x91004021, 0x94000000)
    m.poke(CODE + AREA - 28, struct.pack("<7I", *code))
    return m


def rust(who, size, between):
    m = Memory(who)
    m.poke(CONSTANTS, b"src/main.rs\0")
    m.words(CONSTANTS + 256, CONSTANTS, 11, 3 | 5 << 32)
    m.words(CONSTANTS + 512, CODE + 16, size, 8, CODE + 32)
    m.poke(HEAP + 64, b"no room\0")
    m.words(HEAP, *((HEAP + 64, 7) if size == 16 else (16, HEAP + 64, 7)))
    m.words(STACK + FRAME + 64, HEAP, CONSTANTS + 512, *[0] * between, CONSTANTS + 256, 1)
    return m


def log(who, text, at=HEAP + 4, pointer=HEAP):
    m = Memory(who)
    m.poke(at, text + b"\0")
    if pointer:
        m.words(STACK + 2 * FRAME + 40, pointer)
    return m


def logs():
    glog = log(GLOG, b"F20260131 12:34:56.789012 4711 store.cc:12] Check failed: a == b (1 vs. 2)")
    short = log(NAMELESS, b"F0131 12:34:56.789012    4711 store.cc:12] no")
    absl = log(ABSL, b"F0000 00:00:1796003893.860488    4711 store.cc:12] no", HEAP + 512)
    absl.words(HEAP + 96, HEAP + 512)
    raw = log(NAMELESS, b"[store.cc : 12] RAW: no room", STACK + FRAME + 43, None)
    c10 = log(C10, b"[F1130 01:48:45.093720831 die.cc:3] no room|old", HEAP)
    c10.words(STACK + 2 * FRAME + 40, HEAP, HEAP, HEAP + 10, HEAP, HEAP + 43, HEAP + 100)
    tsl = log(TSL, b"Check failed: no room|old", HEAP, None)
    tsl.poke(CONSTANTS, b"xla/store.cc\0")
    start = STACK + 2 * FRAME + 32
    tsl.words(start + 40, HEAP, HEAP + 21, HEAP + 512, 0, 0, HEAP)
    tsl.words(start + 112, CONSTANTS, 226 | 3 << 32)
    return [glog, short, absl, raw, c10, tsl]


def seeds() -> list[bytes]:
    rusts = [rust(who, size, n) for who in (RUST, NAMELESS) for size in (16, 24) for n in (0, 1)]
    return [m.bytes() for m in (*pythons(), arm64(), *rusts, *logs())]
