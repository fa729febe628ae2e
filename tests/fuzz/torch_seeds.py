#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Seeds of fuzz_torch: memory of a process with C++ exceptions in every state.

What the addresses stand for is written in tests/unit/fake_cxx.h.
"""
from __future__ import annotations

import struct

BASE = 0x10000000
STACK_BYTES, GLOBALS, FIRST_FREE = 0x800, 0x1800, 0x2000
PRIMARY, DEPENDENT = b"\0++CCUNG", b"\1++CCUNG"
ARM64, TERMINATED, WATCHDOG = 1, 2, 4
MOVE_AND_RETURN = (
    b"\xf3\x0f\x1e\xfa\x48\x8b\x47\x10\xc3",
    struct.pack("<II", 0xF9400800, 0xD65F03C0),
)


class Memory:
    def __init__(self):
        self.data = bytearray(FIRST_FREE)
        self.kinds = {
            name: self.kind(name)
            for name in ("117__class", "120__si_class", "121__vmi_class", "119__pointer")
        }

    def alloc(self, size):
        at = len(self.data)
        self.data += bytes((size + 31) & ~15)
        return BASE + at

    def poke(self, at, data):
        self.data[at - BASE : at - BASE + len(data)] = data

    def word(self, at, value):
        self.poke(at, struct.pack("<Q", value & (1 << 64) - 1))

    def bytes(self, data):
        at = self.alloc(len(data))
        self.poke(at, data)
        return at

    def kind(self, name):
        info, table = self.alloc(16), self.alloc(48)
        self.word(info + 8, self.bytes(b"N10__cxxabiv1%s_type_infoE\0" % name.encode()))
        self.word(table + 8, info)
        return table + 16

    def type(self, raw, *bases):
        """@bases: (type_info, offset and flags); a single one without is the usual kind."""
        info = self.alloc(24 + 16 * len(bases))
        self.word(info + 8, self.bytes(raw + b"\0"))
        if not bases:
            self.word(info, self.kinds["117__class"])
        elif isinstance(bases[0], int):
            self.word(info, self.kinds["120__si_class"])
            self.word(info + 16, bases[0])
        else:
            self.word(info, self.kinds["121__vmi_class"])
            self.poke(info + 20, struct.pack("<I", len(bases)))
            for i, (base, flags) in enumerate(bases):
                self.word(info + 24 + 16 * i, base)
                self.word(info + 32 + 16 * i, flags)
        return info

    def throw(self, info, size, handlers=0):
        at = self.alloc(128 + size)
        self.word(at, 1)
        self.word(at + 16, info)
        self.poke(at + 16 + 40, struct.pack("<i", handlers))
        self.poke(at + 96, PRIMARY)
        return at + 128

    def string(self, at, text, old):
        data = self.alloc(24 + len(text) + 1) + 24
        if old:
            self.word(data - 24, len(text))
            self.word(data - 16, len(text))
        else:
            self.word(at + 8, len(text))
            self.word(at + 16, len(text) + 16)
        self.word(at, data)
        self.poke(data, text)

    def handled(self, thread, header, uncaught=0):
        self.word(BASE + GLOBALS + 0x100 * thread, header)
        self.word(BASE + GLOBALS + 0x100 * thread + 8, uncaught)


def types(m):
    base = m.type(b"St9exception")
    runtime = m.type(b"St13runtime_error", base)
    system = m.type(b"St12system_error", runtime)
    c10 = m.type(b"N3c105ErrorE", base)
    return {
        "exception": base,
        "runtime": runtime,
        "system": system,
        "file": m.type(b"NSt10filesystem7__cxx1116filesystem_errorE", system),
        "nested": m.type(
            b"St21_Nested_exceptionISt13runtime_errorE",
            (runtime, 2),
            (m.type(b"St16nested_exception"), 16 << 8 | 2),
        ),
        "accelerator": m.type(b"N3c1016AcceleratorErrorE", c10),
        "pybind": m.type(b"N8pybind1117error_already_setE", base),
        "torch": m.type(b"12python_error", base),
        "own": m.type(b"3Own", base),
        "literal": m.type(b"PKc"),
        "int": m.type(b"i"),
    }


def runtime_error(m, t, text, handlers=0, name="runtime"):
    e = m.throw(t[name], 48, handlers)
    m.string(e + 8, text, True)
    return e


def c10_error(m, t, old, lazy, handlers):
    place = {
        (False, True): (64, 88, 128),
        (False, False): (64, 128, 168),
        (True, True): (40, 64, 80),
        (True, False): (40, 56, 72),
    }[old, lazy]
    e, text = m.throw(t["accelerator"], 192, handlers), b"CUDA error: out of reach"
    m.string(e + 8, text, old)
    line = m.alloc(64)
    m.string(line, b"in a hook", old)
    m.word(e + (16 if old else 40), line)
    m.word(e + (24 if old else 48), line + (8 if old else 32))
    m.string(e + place[1], text + b" (in a hook)", old)
    if lazy:
        holder, value = m.alloc(64), m.alloc(32)
        m.string(value, b"Exception raised from f at g.cpp:7", old)
        m.word(holder + 8, value)
        m.word(e + place[0], holder)
    else:
        m.string(e + place[0], b"Exception raised from f at g.cpp:7", old)
    m.word(e + place[2], 700)
    return e


def own_error(m, t, arm64):
    """An object with a virtual table, whose what() is code."""
    e, table = m.throw(t["own"], 48), m.alloc(64)
    m.word(e, table)
    m.word(table + 16, m.bytes(MOVE_AND_RETURN[arm64]))
    m.word(e + 16, m.bytes(b"a member\0"))
    return e


def carried(m, t):
    e, fetched = m.throw(t["pybind"], 48), m.alloc(64)
    m.word(e + 8, fetched)
    m.word(fetched + 8, BASE)
    other = m.throw(t["torch"], 64)
    m.string(other + 32, b"from Python", False)
    return e, other


def chain(m, headers):
    for before, after in zip(headers, headers[1:]):
        m.word(before + 32, after)


def seed(flags, old, lazy):
    m = Memory()
    t = types(m)
    error = c10_error(m, t, old, lazy, 1)
    outer = runtime_error(m, t, b"outer", 1)
    nested = runtime_error(m, t, b"nested", 2, "nested")
    m.word(nested + 24, outer)
    again = m.alloc(112)
    m.word(again, outer)
    m.poke(again + 40, struct.pack("<i", 1))
    m.poke(again + 80, DEPENDENT)
    chain(m, [error - 112, nested - 112, again])
    m.handled(0, error - 112)
    way = own_error(m, t, flags & ARM64)
    system = runtime_error(m, t, b"no file", 0, "system")
    m.word(BASE + STACK_BYTES + 0x20, way - 32)
    m.word(BASE + STACK_BYTES + 0x40, system - 32)
    m.handled(1, 0, 2)
    carried(m, t)
    literal = m.throw(t["literal"], 16)
    m.word(literal, m.bytes(b"text\0"))
    m.word(m.throw(t["int"], 16), 7)
    if flags & TERMINATED:
        m.handled(0, 0)
        m.word(BASE + 0x30, error)
    return struct.pack("<BxHxxxx", flags, (error - BASE) // 8) + bytes(m.data)


def seeds() -> list[bytes]:
    return [
        seed(flags, old, lazy)
        for flags in (0, ARM64, TERMINATED, WATCHDOG)
        for old in (False, True)
        for lazy in (False, True)
    ]
