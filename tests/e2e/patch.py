# SPDX-License-Identifier: GPL-3.0-or-later
"""Reads and spoils ELF64 little-endian cores; shares nothing with the reader under test."""
import struct

EHDR = {
    "e_machine": (18, "<H"),
    "e_phoff": (32, "<Q"),
    "e_shoff": (40, "<Q"),
    "e_phentsize": (54, "<H"),
}
EHDR.update(
    {"e_phnum": (56, "<H"), "e_type": (16, "<H"), "ei_class": (4, "<B"), "ei_data": (5, "<B")}
)
PHDR = {"p_type": (0, "<I"), "p_offset": (8, "<Q"), "p_vaddr": (16, "<Q"), "p_filesz": (32, "<Q")}
PHDR.update({"p_memsz": (40, "<Q")})
PT_LOAD, PT_DYNAMIC, PT_NOTE = 1, 2, 4
NT_AUXV, AT_PHDR, AT_PHNUM, DT_DEBUG = 6, 3, 5, 21


class CoreBytes:
    """A core as bytes that can be changed, with its program headers and memory."""

    def __init__(self, path):
        self.data = bytearray(path.read_bytes())

    def get(self, name):
        at, form = EHDR[name]
        return struct.unpack_from(form, self.data, at)[0]

    def set(self, name, value):
        at, form = EHDR[name]
        struct.pack_into(form, self.data, at, value)

    def phdr_at(self, index):
        return self.get("e_phoff") + 56 * index

    def phdr(self, index, name):
        at, form = PHDR[name]
        return struct.unpack_from(form, self.data, self.phdr_at(index) + at)[0]

    def set_phdr(self, index, name, value):
        at, form = PHDR[name]
        struct.pack_into(form, self.data, self.phdr_at(index) + at, value)

    def segments(self, kind):
        return [i for i in range(self.get("e_phnum")) if self.phdr(i, "p_type") == kind]

    def notes(self):
        """(header, n_namesz, n_descsz, n_type, descriptor) of each; both positions."""
        at = self.phdr(self.segments(PT_NOTE)[0], "p_offset")
        end = at + self.phdr(self.segments(PT_NOTE)[0], "p_filesz")
        while at + 12 <= end:
            namesz, descsz, kind = struct.unpack_from("<III", self.data, at)
            desc = at + 12 + (namesz + 3) // 4 * 4
            yield at, namesz, descsz, kind, desc
            at = desc + (descsz + 3) // 4 * 4

    def position(self, address):
        """Where in the file the byte at ADDRESS of the process is."""
        for i in self.segments(PT_LOAD):
            offset = address - self.phdr(i, "p_vaddr")
            if 0 <= offset < self.phdr(i, "p_filesz"):
                return self.phdr(i, "p_offset") + offset
        raise KeyError(hex(address))

    def word(self, address):
        return struct.unpack_from("<Q", self.data, self.position(address))[0]

    def set_word(self, address, value):
        struct.pack_into("<Q", self.data, self.position(address), value)

    def auxv(self):
        for _, _, size, kind, desc in self.notes():
            if kind == NT_AUXV:
                words = struct.unpack_from(f"<{size // 8}Q", self.data, desc)
                return dict(zip(words[::2], words[1::2]))
        raise KeyError("NT_AUXV")

    def link_map(self):
        """Addresses of the entries of the dynamic linker's list."""
        table, count = self.auxv()[AT_PHDR], self.auxv()[AT_PHNUM]
        heads = [table + 56 * i for i in range(count)]
        bias = table - 64
        (dynamic,) = [
            bias + self.word(h + 16) for h in heads if self.word(h) & 0xFFFFFFFF == PT_DYNAMIC
        ]
        while self.word(dynamic) != DT_DEBUG:
            dynamic += 16
        entry = self.word(self.word(dynamic + 8) + 8)
        while entry:
            yield entry
            entry = self.word(entry + 24)

    def write(self, path):
        path.write_bytes(self.data)
        return path
