#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Write the seeds of the fuzzing harnesses: make_seeds.py FOLDER.

Each harness gets FOLDER/NAME/ with a few inputs that reach deep, and with damaged variants of
each: cut off, and with bytes changed. What is written depends on this file, *_seeds.py and
the tables in symbols/layouts alone, so that a replay is the same everywhere. The inputs' formats
are described at the top of each harness.
"""
from __future__ import annotations

import random
import struct
import sys
import zlib
from pathlib import Path

import panic_seeds
import paste_seeds
import python_seeds
import signature_seeds
import torch_seeds

EM_X86_64, EM_AARCH64 = 62, 183
PT_LOAD, PT_DYNAMIC, PT_NOTE, PT_PHDR, PT_GNU_EH_FRAME = 1, 2, 4, 6, 0x6474E550
R, W, X = 4, 2, 1
NT_PRSTATUS, NT_PRPSINFO, NT_AUXV = 1, 3, 6
NT_SIGINFO, NT_FILE, NT_ARM_PAC_MASK = 0x53494749, 0x46494C45, 0x406

CODE, LIB, STACK = 0x400000, 0x7F0000000000, 0x7FFE00000000


def align(data: bytes, n: int) -> bytes:
    return data + bytes(-len(data) % n)


def ehdr(
    kind: int,
    machine: int,
    phnum: int,
    phoff: int = 64,
    shoff: int = 0,
    shnum: int = 0,
    shstrndx: int = 0,
) -> bytes:
    return (
        b"\x7fELF\x02\x01\x01"
        + bytes(9)
        + struct.pack(
            "<HHIQQQIHHHHHH",
            kind,
            machine,
            1,
            0,
            phoff,
            shoff,
            0,
            64,
            56,
            phnum,
            64,
            shnum,
            shstrndx,
        )
    )


def phdr(
    kind: int, flags: int, offset: int, vaddr: int, filesz: int, memsz: int, al: int = 1
) -> bytes:
    return struct.pack("<IIQQQQQQ", kind, flags, offset, vaddr, vaddr, filesz, memsz, al)


def note(name: bytes, kind: int, desc: bytes) -> bytes:
    name += b"\0"
    return struct.pack("<III", len(name), len(desc), kind) + align(name, 4) + align(desc, 4)


def prstatus(tid: int, machine: int, pc: int, sp: int, fp: int, signo: int) -> bytes:
    slots = [0] * (27 if machine == EM_X86_64 else 34)
    if machine == EM_X86_64:
        slots[16], slots[19], slots[4] = pc, sp, fp
    else:
        slots[32], slots[31], slots[29], slots[30] = pc, sp, fp, pc
    head = struct.pack("<iiiHHQQIIII", signo, 0, 0, signo, 0, 0, 0, tid, 1, tid, tid) + bytes(64)
    return head + struct.pack(f"<{len(slots)}Q", *slots) + bytes(8)


def prpsinfo() -> bytes:
    return (
        struct.pack("<bbbbxxxxQIIiiii", 0, 82, 0, 0, 0, 1000, 1000, 41, 1, 41, 41)
        + b"python3".ljust(16, b"\0")
        + b"python3 train.py".ljust(80, b"\0")
    )


def siginfo(signo: int, code: int, payload: int) -> bytes:
    return struct.pack("<iiiiQ", signo, 0, code, 0, payload).ljust(128, b"\0")


def nt_file(rows: list[tuple[int, int, int, bytes]]) -> bytes:
    return (
        struct.pack("<QQ", len(rows), 4096)
        + b"".join(struct.pack("<QQQ", a, b, o) for a, b, o, _ in rows)
        + b"".join(n + b"\0" for *_, n in rows)
    )


def eh_frame(machine: int, base: int, code: int) -> bytes:
    """.eh_frame_hdr at @base with one entry, then .eh_frame; the function at @code is 0x100 bytes.
    """
    ra, sp, fp, off = (16, 7, 6, 8) if machine == EM_X86_64 else (30, 31, 29, 0)
    cie = b"\x01zR\0" + bytes([1, 0x78, ra, 1, 0x1B, 0x0C, sp, off])
    if machine == EM_X86_64:
        cie += bytes([0x80 | ra, 1])
    cie = align(struct.pack("<I", 0) + cie, 4)
    hdr_len = 12 + 8
    at = base + hdr_len + 4 + len(cie) + 4  # address of the FDE's pointer to its CIE
    fde = (
        struct.pack("<IiI", at - (base + hdr_len), code - (at + 4), 0x100)
        + b"\0"
        + bytes([0x41, 0x0E, 16, 0x80 | fp, 2, 0x43, 0x0D, fp])
    )
    fde = align(fde, 4)
    frame = struct.pack("<I", len(cie)) + cie + struct.pack("<I", len(fde)) + fde + bytes(4)
    return (
        b"\x01\x1b\x03\x3b"
        + struct.pack("<iI", hdr_len - 4, 1)
        + struct.pack("<ii", code - base, at - 4 - base)
        + frame
    )


def image(machine: int, link_map: int = 0) -> bytes:
    """A shared library's first page: headers, build id, dynamic section, symbols, call frames,
    code.
    """
    dynstr = b"\0main\0_ZN3foo3barEv\0libfoo.so\0"
    sym = (
        bytes(24)
        + struct.pack("<IBBHQQ", 1, 0x12, 0, 1, 0x800, 0x40)
        + struct.pack("<IBBHQQ", 6, 0x12, 0, 1, 0x840, 0x100)
    )
    build_id = note(b"GNU", 3, bytes(range(20)))
    hash_ = struct.pack("<IIIIII", 1, 3, 1, 0, 2, 0)
    at_note, at_dyn, at_sym, at_str, at_hash, at_eh = 0x200, 0x240, 0x340, 0x3A0, 0x3E0, 0x400
    dyn = b"".join(
        struct.pack("<QQ", t, v)
        for t, v in (
            (14, 21),
            (4, at_hash),
            (5, at_str),
            (6, at_sym),
            (10, len(dynstr)),
            (11, 24),
            (21, link_map),
            (0, 0),
        )
    )
    eh = eh_frame(machine, at_eh, 0x840)
    phdrs = b"".join(
        (
            phdr(PT_PHDR, R, 64, 64, 56 * 5, 56 * 5),
            phdr(PT_LOAD, R | X, 0, 0, 0x1000, 0x1000, 0x1000),
            phdr(PT_NOTE, R, at_note, at_note, len(build_id), len(build_id), 4),
            phdr(PT_DYNAMIC, R | W, at_dyn, at_dyn, len(dyn), len(dyn), 8),
            phdr(PT_GNU_EH_FRAME, R, at_eh, at_eh, len(eh), len(eh), 4),
        )
    )
    page = bytearray(0x1000)
    for at, data in (
        (0, ehdr(3, machine, 5) + phdrs),
        (at_note, build_id),
        (at_dyn, dyn),
        (at_sym, sym),
        (at_str, dynstr),
        (at_hash, hash_),
        (at_eh, eh),
    ):
        page[at : at + len(data)] = data
    nop = b"\x90" if machine == EM_X86_64 else b"\x1f\x20\x03\xd5"
    page[0x800:0x1000] = nop * (0x800 // len(nop))
    if machine == EM_X86_64:
        page[0x880:0x888] = b"\x48\x8b\x04\x25\x10\x00\x00\x00"  # a load from an absolute address
        page[0x900:0x905] = b"\xe8\x00\x00\x00\x00"
    return bytes(page)


def stack_page(fp_chain: bool = True) -> bytes:
    """Upwards: frames that are linked by frame pointer, argc, argv, envp, auxv, strings."""
    page = bytearray(0x1000)
    if fp_chain:
        for at in (0x100, 0x140, 0x180):
            struct.pack_into("<QQ", page, at, STACK + at + 0x40, LIB + 0x905)
    strings = 0xF00
    page[strings : strings + 40] = b"python3\0train.py\0RANK=3\0HOME=/root\0".ljust(40, b"\0")
    words = [
        2,
        STACK + strings,
        STACK + strings + 8,
        0,
        STACK + strings + 17,
        STACK + strings + 24,
        0,
    ]
    struct.pack_into(f"<{len(words)}Q", page, 0x800, *words)
    page[0x800 + 8 * len(words) : 0x800 + 8 * len(words) + len(auxv())] = auxv()
    return bytes(page)


def auxv() -> bytes:
    return b"".join(
        struct.pack("<QQ", t, v)
        for t, v in (
            (33, 0),
            (16, 0x178BFBFF),
            (6, 4096),
            (17, 100),
            (3, LIB + 64),
            (4, 56),
            (5, 5),
            (7, 0),
            (8, 0),
            (9, LIB + 0x800),
            (11, 1000),
            (25, STACK + 0xFF0),
            (31, STACK + 0xF00),
            (0, 0),
        )
    )


def core(machine: int = EM_X86_64, gdb: bool = False, threads: int = 3, signo: int = 11) -> bytes:
    one = [
        note(
            b"CORE",
            NT_PRSTATUS,
            prstatus(41 + i, machine, LIB + 0x880, STACK + 0xC0, STACK + 0x100, signo),
        )
        for i in range(threads)
    ]
    process = note(b"CORE", NT_PRPSINFO, prpsinfo())
    sig = note(b"CORE", NT_SIGINFO, siginfo(signo, 1, 0x10))
    rest = note(b"CORE", NT_AUXV, auxv()) + note(
        b"CORE",
        NT_FILE,
        nt_file(
            [
                (CODE, CODE + 0x1000, 0, b"/usr/bin/python3"),
                (LIB, LIB + 0x1000, 0, b"/nowhere/libfoo.so"),
            ]
        ),
    )
    if machine == EM_AARCH64:
        rest += note(b"LINUX", NT_ARM_PAC_MASK, struct.pack("<QQ", 0x7F << 48, 0x7F << 48))
    if gdb:
        notes = process + b"".join(n + sig for n in one) + rest
    else:
        notes = b"".join(one[:1]) + process + sig + rest + b"".join(one[1:])
    loads = [
        (CODE, R | X, image(machine), 0x1000),
        (LIB, R | X, image(machine), 0x1000),
        (LIB + 0x1000, R | W, b"", 0x2000),
        (STACK, R | W, stack_page(), 0x1000),
    ]
    phdrs, body = [], b""
    at = 64 + 56 * (1 + len(loads))
    phdrs.append(phdr(PT_NOTE, 0, at, 0, len(notes), 0))
    body += notes
    for vaddr, flags, data, memsz in loads:
        phdrs.append(phdr(PT_LOAD, flags, at + len(body), vaddr, len(data), memsz))
        body += data
    return ehdr(4, machine, len(phdrs)) + b"".join(phdrs) + body


def symtab_file() -> bytes:
    """An ELF file with .symtab, .strtab, .gnu_debuglink and their names."""
    names = b"\0.symtab\0.strtab\0.shstrtab\0.gnu_debuglink\0"
    strings = b"\0main\0foo\0"
    syms = bytes(24) + b"".join(
        struct.pack("<IBBHQQ", n, info, 0, 1, value, size)
        for n, info, value, size in (
            (1, 0x12, 0, 0x4000),
            (6, 0x02, 0x1000, 0x100),
            (6, 0x12, 0x1000, 0),
            (1, 0x11, 0x2000, 8),
        )
    )
    link = align(b"lib.debug\0", 4) + struct.pack("<I", zlib.crc32(b"debug"))
    body, rows = b"", [bytes(64)]
    for name, kind, data, lk, entry in (
        (1, 2, syms, 2, 24),
        (9, 3, strings, 0, 0),
        (17, 3, names, 0, 0),
        (27, 1, link, 0, 0),
    ):
        rows.append(
            struct.pack("<IIQQQQIIQQ", name, kind, 0, 0, 64 + len(body), len(data), lk, 1, 8, entry)
        )
        body += align(data, 8)
    return ehdr(3, EM_X86_64, 0, 0, 64 + len(body), len(rows), 3) + body + b"".join(rows)


def expressions() -> list[bytes]:
    """fuzz_expr: known registers, then (atom, operand, operand, length)."""

    def ops(*rows: tuple[int, ...]) -> bytes:
        return b"\xff" + b"".join(bytes(r + (0,) * (3 - len(r)) + (1,)) for r in rows)

    return [
        ops((0x77, 8), (0x06,)),
        ops((0x08, 5), (0x12,), (0x1E,), (0x23, 7)),
        ops((0x30,), (0x28, 2), (0x31,), (0x2F, 0xFD)),
        ops((0x9C,), (0x9F,)),
        ops((0x70, 0), (0x94, 4), (0x10, 9), (0x1B,)),
    ]


def unwinds() -> list[bytes]:
    """fuzz_unwind: 512 bytes of stack, then .eh_frame_hdr; the size's parity chooses the machine.
    """
    result = []
    for machine in (EM_X86_64, EM_AARCH64):
        stack = struct.pack(
            "<64Q", *(0x502040 if i % 2 else 0x7FF00000 + i * 8 + 16 for i in range(64))
        )
        data = stack + align(eh_frame(machine, 0x200, 0x2000), 8)
        result.append(data + (b"\0" if machine == EM_AARCH64 else b""))
    return result


def elfs() -> list[bytes]:
    """fuzz_elf: flags, then the image; its link map lies at the end of the page."""
    page = bytearray(image(EM_X86_64, 0x10F00))
    struct.pack_into("<iiQQ", page, 0xF00, 1, 0, 0x10F40, 0)
    struct.pack_into("<QQQQQ", page, 0xF40, 0x10000, 0x10F80, 0x10240, 0, 0)
    page[0xF80:0xF90] = b"/nowhere/lib.so\0"
    with_tls = tls(page)
    return [bytes([flags]) + bytes(page) for flags in (0, 1, 2, 3, 4, 9, 18, 19, 31)] + [
        bytes([flags]) + data for flags in (2, 3) for data in with_tls
    ]


def tls(page: bytearray) -> list[bytes]:
    """The same with thread-local memory, whose number or distance a relocation's slot tells."""
    result = []
    for kind, slot in ((16, (1, 0)), (36, (0, 0x10E80)), (36, (0, -64 % (1 << 64)))):
        data = bytearray(page)
        # In place of PT_PHDR; DT_RELA and DT_RELASZ in place of soname and DT_SYMENT.
        data[64 : 64 + 56] = phdr(7, R, 0x900, 0x900, 0, 0x20, 8)
        struct.pack_into("<QQ", data, 0x240, 7, 0xD00)
        struct.pack_into("<QQ", data, 0x240 + 5 * 16, 8, 24)
        struct.pack_into("<QQq", data, 0xD00, 0xD20, kind, 0)
        struct.pack_into("<QQ", data, 0xD20, *slot)
        # The thread's own: the vector's address, its length, an entry for module 1.
        struct.pack_into("<QQ", data, 0xE00, 0x10E40, 0x10E40)
        struct.pack_into("<QQQQ", data, 0xE30, 4, 0, 0, 0)
        struct.pack_into("<Q", data, 0xE50, 0x10A00)
        struct.pack_into("<QQ", data, 0xE80, 1, 0)
        result.append(bytes(data))
    return result


def demangles() -> list[bytes]:
    return [
        b"_ZN3c1010TensorImplD0Ev",
        b"_RNvCs1234_7mycrate3foo",
        b"__Z3foov",
        b"_ZNSt6vectorIN2at6TensorESaIS1_EE9push_backERKS1_",
        b"_ZZN3foo3barEvENKUliE_clEi.cold",
        b"std::vector<int, std::allocator<int> >::operator[](unsigned long) const",
        b"(anonymous namespace)::f<&(g(int))>(int)::{lambda()#1}::operator()() const",
        b"a::operator<< <int>(b, c)",
        b"_Z" + b"1aIJ" * 200,
    ]


def insns() -> list[bytes]:
    x86 = (
        b"\x48\x8b\x04\x25\0\0\0\0",
        b"\xc5\xfd\x6f\x04\x08",
        b"\x0f\x0b",
        b"\x48\xf7\xf9",
        b"\x64\x48\x8b\x04\x25\x28\0\0\0",
        b"\xf3\x48\xa5",
        b"\xff\x24\xc5\0\x10\x40\0",
        b"\x62\xf1\x7c\x48\x10\x04\x08",
    )
    arm = (
        b"\x1f\x20\x03\xd5",
        b"\x20\x00\x40\xf9",
        b"\x20\x78\x62\xf8",
        b"\xe0\x0f\x1f\xf8",
        b"\x00\x00\x3f\xd6",
        b"\x20\x04\x41\xa9",
        b"\x00\x00\x00\x00",
    )
    return [bytes([flags]) + i for i in x86 for flags in (0, 2, 0xAA)] + [
        bytes([1 | flags]) + i for i in arm for flags in (0, 2, 0xAA)
    ]


def cores() -> list[bytes]:
    whole = core()
    gz = zlib.compressobj(9, zlib.DEFLATED, 31)
    return [
        whole,
        core(gdb=True, signo=19),
        core(EM_AARCH64),
        core(threads=1, signo=6),
        core(threads=0),
        gz.compress(whole) + gz.flush(),
        whole[: 64 + 56 * 5],
    ]


def damaged(seed: bytes, rng: random.Random) -> list[bytes]:
    """Three cut off, three with a few bytes changed to telling values."""
    result = [seed[: rng.randrange(len(seed) + 1)] for _ in range(3)]
    for _ in range(3):
        data = bytearray(seed)
        for _ in range(rng.randrange(1, 6)):
            at = rng.randrange(len(data))
            width = rng.choice((1, 4, 8))
            value = rng.choice(
                (0, 1, 0x7F, 0x80, 0xFF, 0x7FFFFFFF, 0xFFFFFFFF, (1 << 64) - 1, 1 << 63)
            )
            data[at : at + width] = (value & ((1 << 8 * width) - 1)).to_bytes(width, "little")
        result.append(bytes(data[: len(seed)]))
    return result


def main() -> None:
    folder = Path(sys.argv[1])
    seeds = {
        "fuzz_demangle": demangles(),
        "fuzz_disasm": insns(),
        "fuzz_elf": elfs(),
        "fuzz_symtab": [symtab_file(), image(EM_X86_64)],
        "fuzz_expr": expressions(),
        "fuzz_unwind": unwinds(),
        "fuzz_python": python_seeds.seeds(),
        "fuzz_torch": torch_seeds.seeds(),
        "fuzz_panic": panic_seeds.seeds(),
        "fuzz_signature": signature_seeds.seeds(),
        "fuzz_paste": paste_seeds.seeds(),
        "fuzz_core": cores(),
        "fuzz_analyze": cores(),
    }
    for name, wholes in seeds.items():
        rng = random.Random(name)
        (folder / name).mkdir(parents=True, exist_ok=True)
        for i, whole in enumerate(wholes):
            (folder / name / f"{i:02}").write_bytes(whole)
            for j, data in enumerate(damaged(whole, rng)):
                (folder / name / f"{i:02}-damaged-{j}").write_bytes(data)


if __name__ == "__main__":
    main()
