#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Seeds of fuzz_python: the memory of small made-up CPython processes, one for each column of the
table of layouts.

Two threads: one runs f(), called by g(), with locals of many types and an exception on its way;
the other is suspended in C. There are threading's names, a GIL, an asyncio task that awaits a
future, and a greenlet. What the addresses below stand for is written at the top of fuzz_python.c.
"""
from __future__ import annotations

import re
import struct
from pathlib import Path

LAYOUTS = Path(__file__).resolve().parents[2] / "symbols" / "layouts"
COLUMNS = "3.6 3.7 3.8 3.9 3.10 3.11 3.12 3.13 3.13t 3.14 3.14t 3.15 3.15t".split()

BASE = 0x10000000
STACK_BYTES = 0x800
RUNTIME, VERSION = BASE + 0x1000, BASE + 0x17F8
TYPE_TYPE, TYPE_CODE = BASE + 0x1800, BASE + 0x1A00
NONE, TRUE, FALSE = BASE + 0x1C00, BASE + 0x1C40, BASE + 0x1C80
FIRST_FREE = BASE + 0x1D00
THREAD_POINTER = 0x7F0000000000
HAS_RUNTIME, HAS_TYPES, HAS_LOOP, ARM64, NAMELESS = 1, 2, 4, 8, 16

ERRORS = (
    "ValueError KeyError OSError SyntaxError UnicodeEncodeError UnicodeDecodeError "
    "UnicodeTranslateError BaseExceptionGroup"
).split()
READY, HEAP, MANAGED_DICT = 1 << 12, 1 << 9, 1 << 4
INT, LIST, TUPLE, BYTES, STR, DICT, EXCEPTION, TYPE = (1 << n for n in range(24, 32))
ABSENT = -1


def rows(name: str, letter: str) -> list[list[str]]:
    text = re.sub(r"/\*.*?\*/", "", (LAYOUTS / name).read_text(), flags=re.S)
    found = re.findall(rf"^{letter}\(([^;]*?)\)$", text, flags=re.M | re.S)
    return [[part.strip() for part in row.split(",")] for row in found]


def layout(column: str) -> dict[str, int]:
    """Offsets by "object_field" for one column."""
    at = COLUMNS.index(column) + 4
    return {
        f"{row[0]}_{row[1]}": ABSENT if row[at] == "NO" else int(row[at])
        for row in rows("cpython.def", "F")
    }


class Process:
    """Memory that grows from BASE on, and the layout that says where fields go."""

    def __init__(self, column: str) -> None:
        self.minor = int(column.rstrip("t").split(".")[1])
        self.free_threaded = column.endswith("t")
        self.column = COLUMNS.index(column)
        self.at = layout(column)
        self.memory = bytearray(FIRST_FREE - BASE)
        self.types: dict[str, int] = {}

    def alloc(self, size: int) -> int:
        address = BASE + len(self.memory)
        self.memory += bytes((size + 15) // 16 * 16)
        return address

    def write(self, address: int, data: bytes) -> None:
        self.memory[address - BASE : address - BASE + len(data)] = data

    def put(self, address: int, field: str, value: int, form: str = "Q") -> None:
        """A field, where the version has it."""
        offset = self.at[field]
        if offset != ABSENT:
            self.write(address + offset, struct.pack("<" + form, value))

    def word(self, address: int, *values: int) -> None:
        self.write(address, struct.pack(f"<{len(values)}Q", *values))

    # objects

    def object(self, kind: str, size: int, address: int = 0) -> int:
        address = address or self.alloc(size)
        if not self.free_threaded:
            self.word(address, 1)  # references
        self.put(address, "object_type", self.types[kind])
        return address

    def type(self, name: str, flags: int = 0, address: int = 0, **fields: int) -> int:
        address = address or self.alloc(0x1A0)
        text = self.alloc(len(name) + 1)
        self.write(text, name.encode() + b"\0")
        self.types[name] = address
        self.put(address, "object_type", self.types["type"])
        self.put(address, "type_name", text)
        self.put(address, "type_flags", flags | READY)
        for field, value in fields.items():
            self.put(address, "type_" + field, value)
        return address

    def str(self, text: str) -> int:
        width = 1 if text.isascii() else 2 if max(text) <= "\uffff" else 4
        form = 3 if width == 1 else 1  # compact, ASCII
        data = text.encode({1: "latin-1", 2: "utf-16-le", 4: "utf-32-le"}[width])
        start = self.at["str_ascii_data" if width == 1 else "str_compact_data"]
        address = self.object("str", start + len(data) + width)
        if self.free_threaded and self.minor >= 14:
            state = width << 8 | form << 11
        else:
            state = width << 2 | form << 5 | 1 << 7
        self.put(address, "str_length", len(text))
        self.put(address, "str_state", state, "I")
        self.write(address + start, data)
        return address

    def bytes(self, data: bytes) -> int:
        address = self.object("bytes", self.at["bytes_data"] + len(data) + 1)
        self.put(address, "var_size", len(data))
        self.write(address + self.at["bytes_data"], data)
        return address

    def int(self, value: int) -> int:
        digits = []
        rest = abs(value)
        while rest:
            digits.append(rest & 0x3FFFFFFF)
            rest >>= 30
        address = self.object("int", self.at["int_digits"] + 4 * max(len(digits), 1))
        if self.minor >= 12:
            sign = 1 if not value else 2 if value < 0 else 0
            self.put(address, "int_tag", len(digits) << 3 | sign)
        else:
            self.put(address, "var_size", -len(digits) if value < 0 else len(digits), "q")
        self.write(address + self.at["int_digits"], struct.pack(f"<{len(digits)}I", *digits))
        return address

    def float(self, value: float) -> int:
        address = self.object("float", 48)
        self.write(address + self.at["float_value"], struct.pack("<d", value))
        return address

    def tuple(self, *items: int) -> int:
        address = self.object("tuple", self.at["tuple_items"] + 8 * len(items))
        self.put(address, "var_size", len(items))
        self.word(address + self.at["tuple_items"], *items)
        return address

    def list(self, *items: int) -> int:
        address, array = self.object("list", 64), self.alloc(8 * len(items) + 8)
        self.put(address, "var_size", len(items))
        self.put(address, "list_items", array)
        self.word(array, *items)
        return address

    def dict(self, entries: dict[int, int]) -> int:
        log2 = max(3, (2 * len(entries)).bit_length())
        start = self.at["keys_indices"] + (1 << log2)
        keys = self.alloc(start + 24 * len(entries))
        self.put(keys, "keys_size", 1 << log2)
        self.put(keys, "keys_log2_size", log2, "B")
        self.put(keys, "keys_log2_index_bytes", log2, "B")
        self.put(keys, "keys_nentries", len(entries))
        for i, (key, value) in enumerate(entries.items()):
            self.word(keys + start + 24 * i, 0, key, value)
        address = self.object("dict", 80)
        self.put(address, "dict_used", len(entries))
        self.put(address, "dict_keys", keys)
        return address

    def names(self, **entries: int) -> int:
        return self.dict({self.str(name): value for name, value in entries.items()})

    def set(self, *items: int) -> int:
        address, table = self.object("set", 200), self.alloc(8 * 16)
        self.put(address, "set_used", len(items))
        self.put(address, "set_mask", 7)
        self.put(address, "set_table", table)
        for i, item in enumerate(items):
            self.word(table + 32 * i, item, 1)
        return address

    def instance(self, kind: str, **attributes: int) -> int:
        """An object of a class whose instances have a dict behind their header."""
        address = self.object(kind, 64)
        self.word(address + self.at["object_size"], self.names(**attributes))
        return address

    def module(self, **entries: int) -> int:
        address = self.object("module", 64)
        self.put(address, "module_dict", self.names(**entries))
        return address

    def code(self, name: str, variables: list[str], table: bytes) -> int:
        address = self.object("code", self.at["code_size"] + 64, 0)
        self.put(address, "code_name", self.str(name))
        self.put(address, "code_qualname", self.str("C." + name))
        self.put(address, "code_filename", self.str("/srv/tr\u00e4in.py"))
        self.put(address, "code_firstlineno", 7, "I")
        self.put(address, "code_flags", 3, "I")
        self.put(address, "code_argcount", 1, "I")
        self.put(address, "code_nlocals", len(variables), "I")
        self.put(address, "code_nlocalsplus", len(variables), "I")
        self.put(address, "code_linetable", self.bytes(table))
        names = self.tuple(*(self.str(v) for v in variables))
        for field in ("code_varnames", "code_localsplusnames"):
            self.put(address, field, names)
        for field in ("code_cellvars", "code_freevars"):
            self.put(address, field, self.tuple())
        self.put(address, "code_localspluskinds", self.bytes(b"\x20" * len(variables)))
        self.put(address, "code_code", self.bytes(bytes([100, 0, 72, 0] * 8)))
        return address

    def line_table(self) -> bytes:
        if self.minor >= 11:
            return bytes.fromhex("8000e0090ad8090af103010a0b8041e40d12f830")
        if self.minor == 10:
            return bytes.fromhex("0202020104ff0c020401020106010680")
        return bytes.fromhex("0002020106010e0104ff7f00ff")

    def frame(self, code: int, back: int, values: list[int], at: int = 3, owner: int = 0,
              address: int = 0, generator: int = 0) -> int:
        if self.minor <= 10:
            address = self.object("frame", self.at["pyframe_localsplus"] + 8 * len(values) + 16)
            start = address + self.at["pyframe_localsplus"]
            self.put(address, "pyframe_back", back)
            self.put(address, "pyframe_code", code)
            self.put(address, "pyframe_lasti", at * (1 if self.minor == 10 else 2), "i")
            self.put(address, "pyframe_gen", generator)
            self.put(address, "pyframe_valuestack", start)
            self.put(address, "pyframe_stacktop", start + 8 * len(values))
            self.put(address, "pyframe_stackdepth", len(values), "I")
            self.put(address, "pyframe_state", 0xFF if generator else 0, "B")
            self.word(start, *values)
            return address
        address = address or self.alloc(self.at["frame_size"] + 8 * len(values))
        start = address + self.at["frame_localsplus"]
        self.put(address, "frame_executable", code)
        self.put(address, "frame_previous", back)
        self.put(address, "frame_instr_ptr", code + max(self.at["code_adaptive"], 0) + 2 * at)
        self.put(address, "frame_owner", owner, "B")
        self.put(address, "frame_stacktop", len(values), "I")
        self.put(address, "frame_stackpointer", start + 8 * len(values))
        self.word(start, *values)
        return address

    def frame_object(self, frame: int) -> int:
        if self.minor <= 10:
            return frame
        address = self.object("frame", 96)
        self.put(address, "pyframe_frame", frame)
        return address


def published(p: Process) -> bytes:
    """_Py_DebugOffsets of 3.13 and later, from the table."""
    words = []
    for since, struct_name, field, ours in rows("cpython_published.def", "D"):
        if int(since) > p.minor:
            continue
        name = f"{struct_name}.{field}"
        value = max(p.at.get(ours.removeprefix("OURS(").rstrip(")"), 0), 0)
        if name == "table.version":
            value = 3 << 24 | p.minor << 16 | 0x1F0
        elif name == "table.free_threaded":
            value = int(p.free_threaded)
        elif name == "interpreter_state.gc":
            value = p.at["interp_gc_collecting"] - 200
        elif name == "gc.collecting":
            value = 200
        elif name == "gc.frame":
            value = 208
        elif name == "interpreter_state.gil_runtime_state":
            value = 7752
        elif name == "interpreter_state.gil_runtime_state_locked":
            value = 7752 + p.at["gil_locked"]
        elif name == "interpreter_state.gil_runtime_state_holder":
            value = 7752 + p.at["gil_last_holder"]
        elif field.endswith("size") and field != "ob_size" and not value:
            value = 1024
        words.append(value)
    return b"xdebugpy" + struct.pack(f"<{len(words)}Q", *words)


def make_types(p: Process) -> None:
    p.types["type"] = TYPE_TYPE
    p.type("type", TYPE, TYPE_TYPE, basicsize=900)
    p.type("code", 0, TYPE_CODE)
    header = p.at["object_size"]
    for name, flags in (
        ("object", 0),
        ("str", STR),
        ("bytes", BYTES),
        ("tuple", TUPLE),
        ("list", LIST),
        ("dict", DICT),
        ("int", INT),
        ("bool", INT),
        ("float", 0),
        ("set", 0),
        ("NoneType", 0),
        ("module", 0),
        ("frame", 0),
        ("traceback", 0),
        ("cell", 0),
        ("coroutine", 0),
        ("_asyncio.Task", 0),
        ("_asyncio.Future", 0),
        *((name, EXCEPTION) for name in ERRORS),
    ):
        p.type(name, flags, basicsize=header + 8)
    for name in ("Thread", "C"):
        p.type(name, 0, basicsize=header + 16, dictoffset=header)
    p.type("greenlet.greenlet", 0, basicsize=header + 80)
    for name in ("Thread", "greenlet.greenlet", *ERRORS):
        p.put(p.types[name], "type_mro", p.tuple(p.types[name], p.types["object"]))
    p.object("NoneType", 16, NONE)
    p.object("bool", 32, TRUE)
    p.object("bool", 32, FALSE)
    p.write(TRUE + p.at["int_digits"], struct.pack("<I", 1))
    for address, tag in ((TRUE, 1 << 3), (FALSE, 1)):
        p.put(address, "int_tag", tag)
        if p.minor < 12:
            p.put(address, "var_size", int(address == TRUE))


def make_exception(p: Process, kind: str, message: str, frame: int, context: int = 0) -> int:
    entry = 0
    for line in (12, 11):
        traceback = p.object("traceback", 64)
        p.put(traceback, "traceback_next", entry)
        p.put(traceback, "traceback_frame", p.frame_object(frame))
        p.put(traceback, "traceback_lasti", 6, "I")
        p.put(traceback, "traceback_lineno", line, "i")
        entry = traceback
    address = p.object(kind, 160)
    text, numbers = p.str(message), p.tuple(p.int(2), p.int(17))
    p.put(address, "exception_args", p.tuple(text, numbers))
    own = address + p.at["exception_suppress_context"] + 8  # fields of the subclasses
    p.word(own, text, p.bytes(b"\xff\xfe") if "Decode" in kind else text, text, text, 1, 2)
    if "Unicode" in kind:
        p.put(address, "unicodeerror_start", 1)
        p.put(address, "unicodeerror_end", 2)
    elif "Group" in kind:
        p.put(address, "excgroup_excs", numbers)
    p.put(address, "exception_traceback", entry)
    p.put(address, "exception_context", context)
    p.put(address, "exception_cause", context)
    p.put(address, "exception_notes", p.list(p.str("a note")))
    return address


def make_task(p: Process, code: int) -> int:
    """A task whose coroutine awaits a future."""
    future = p.object("_asyncio.Future", 200)
    coroutine = p.object("coroutine", p.at["gen_size"] + 120)
    if p.minor <= 10:
        p.put(coroutine, "gen_frame", p.frame(code, 0, [future], generator=coroutine))
    else:
        p.frame(code, 0, [future, 0] if p.minor >= 15 else [future], owner=1,
                address=coroutine + p.at["gen_iframe"])
        state = 2 if p.minor >= 15 else 0xFF
        p.put(coroutine, "gen_frame_state", state, "B")
    p.put(coroutine, "gen_name", p.str("work"))
    p.put(coroutine, "gen_qualname", p.str("C.work"))
    task = p.object("_asyncio.Task", 256)
    p.put(task, "task_coro", coroutine)
    p.put(task, "task_name", p.str("Task-1"))
    p.put(task, "task_fut_waiter", future)
    return task


def make_greenlet(p: Process, frame: int) -> None:
    """One as before 2.0: start and end of its stack, copy, size, previous, parent, run, frame."""
    address = p.object("greenlet.greenlet", p.at["object_size"] + 80)
    words = (BASE + 0x500, BASE + 0x700, p.alloc(0x100), 0x100, 0, 0, 0, frame)
    p.word(address + p.at["object_size"], *words)


def make_managed(p: Process) -> int:
    """From 3.11 on: an instance whose attributes are in values that belong to its type's keys."""
    header = p.at["object_size"]
    kind = p.type("Managed", HEAP | MANAGED_DICT | 1 << 2, basicsize=header)
    p.alloc(1024 - 0x180)  # a heap type is larger
    keys = p.alloc(128)
    p.put(keys, "keys_log2_size", 3, "B")
    p.put(keys, "keys_log2_index_bytes", 3, "B")
    p.put(keys, "keys_kind", 2, "B")
    p.put(keys, "keys_nentries", 2)
    start = keys + p.at["keys_indices"] + 8
    p.word(start, p.str("one"), 0, p.str("two"), 0)
    p.put(kind, "heaptype_cached_keys", keys)
    p.put(kind, "heaptype_qualname", p.str("Managed"))
    values = p.alloc(64)
    p.write(values, bytes(6) + bytes([1, 2]))  # 3.11, 3.12: their order lies before them
    before = p.alloc(48)  # what a version keeps in front of the object
    address = p.object("Managed", header + 64)
    p.word(before + 16, values + 8, 0, (values + 8) | 1 if p.minor == 12 else 0, 0)
    inline = address + header  # 3.13+: capacity, size, embedded, valid; values; order
    p.write(inline, bytes([2, 2, 1, 1]))
    p.word(inline + 8, NONE, TRUE)
    p.write(inline + 24, bytes([1, 0]))
    p.word(values + 8, NONE, TRUE)
    return address


def make_modules(p: Process, threads: list[int], task: int) -> int:
    names = (("MainThread", FALSE), ("w\u00f6rker \U0001f40d", TRUE))
    objects = [
        p.instance("Thread", _name=p.str(name), _daemonic=daemon, _native_id=p.int(41 + i))
        for i, (name, daemon) in enumerate(names)
    ]
    active = p.dict({p.int(ident): thread for ident, thread in zip(threads, objects)})
    tasks = p.set(task)
    return p.dict(
        {
            p.str("threading"): p.module(_active=active, _main_thread=objects[0]),
            p.str("asyncio.tasks"): p.module(
                _all_tasks=tasks, _scheduled_tasks=tasks, _current_tasks=p.dict({NONE: task})
            ),
            p.str("_asyncio"): p.module(
                Task=p.types["_asyncio.Task"], Future=p.types["_asyncio.Future"]
            ),
            p.str("greenlet"): p.module(greenlet=p.types["greenlet.greenlet"]),
        }
    )


def make_builtins(p: Process) -> int:
    names = ("object", "str", "bytes", "tuple", "list", "dict", "int", "bool", "float", "set")
    entries = {name: p.types[name] for name in names}
    entries.update({"None": NONE, "True": TRUE, "False": FALSE})
    return p.names(**entries)


def make_museum(p: Process) -> list[int]:
    """Objects of types that are shown by a rule of their own, with words that may fit them."""
    names = (
        "collections.deque collections.defaultdict collections.OrderedDict collections.Counter "
        "types.SimpleNamespace _thread.lock _thread.RLock datetime.datetime datetime.date "
        "datetime.time datetime.timedelta enum.Enum numpy.ndarray numpy.dtype numpy.float64 "
        "numpy.int8 numpy.bool_ numpy.complex64 numpy.float16 torch.Size torch.dtype torch.device "
        "torch.Tensor complex bytearray range slice function method builtin_function_or_method "
        "cell frozenset memoryview property mappingproxy generator Point"
    ).split()
    header, dims, items = p.at["object_size"], p.alloc(64), p.tuple(p.int(5), p.str("x"))
    p.word(dims, 2, 3, 0x0109, p.int(1))
    generic = p.type("numpy.generic")
    objects = []
    for name in names[p.column % 7 :: 7]:
        flags = {"torch.Size": TUPLE}.get(name, DICT if "ict" in name or "Counter" in name else 0)
        kind = p.type(name, flags, basicsize=header + 64)
        bases = (generic,) if name.startswith("numpy.") else ()
        p.put(kind, "type_mro", p.tuple(kind, *bases, p.types["object"]))
        address = p.object(name, 0x180)
        p.word(address + header, dims, 2, dims, dims, items, address + header, items, 1)
        objects.append(address)
        if name == "torch.Tensor":
            impl = p.alloc(0x140)
            p.word(address + header, impl, 0)
            # vtable, counts, storage, autograd, ..., the object itself, sizes, offset, size, type
            p.word(impl, dims, 1, 1, dims, 0, 0, 0, address, 2, 2, 3)
            p.word(impl + 56 + 96, 4, 6, 0x01000000000006)
        elif name.endswith("Dict") or "dict" in name or name.endswith("Counter"):
            p.word(address + p.at["dict_keys"], 0)
        elif name == "torch.dtype":
            p.write(address + header, b"\6float32\0")
    return objects


def make_values(p: Process) -> list[int]:
    shared = p.list(p.int(1), p.int(-(1 << 70)), p.float(0.1))
    p.word(p.alloc(16), shared)
    return [
        p.int(12345),
        p.str("text \u03bb"),
        p.bytes(b"\0bytes\xff"),
        p.dict({p.str("k"): shared, p.tuple(p.int(0), NONE): TRUE}),
        p.set(p.str("a"), p.int(0)),
        p.instance("C", x=shared, y=p.float(float("inf"))),
        *([make_managed(p)] if p.minor >= 11 else []),
        *make_museum(p),
    ]


def link_frames(p: Process, tstate: int, inner: list[int], stack: int) -> None:
    """Let @inner (innermost first) be what thread state @tstate runs, in one call of the loop."""
    in_loop = stack + 0x40  # in the part of the innermost native frame
    if p.minor <= 10:
        p.put(tstate, "tstate_frame", inner[0])
        for i, frame in enumerate(inner):
            p.word(stack + 0x100 * 2 * i + 0x60, frame)
        if p.minor == 10:
            root = tstate + p.at["tstate_root_cframe"]
            outer = stack + 0x240
            p.put(tstate, "tstate_cframe", in_loop)
            p.put(in_loop, "cframe_previous", outer)
            p.put(outer, "cframe_previous", root)
        return
    if p.minor == 11:
        p.write(inner[-1] + p.at["frame_is_entry"], b"\1")
    else:
        shim = stack + 0x80
        p.put(shim, "frame_executable", NONE)
        p.put(shim, "frame_owner", 3, "B")
        if p.at["tstate_base_frame"] != ABSENT:
            base = tstate + p.at["tstate_base_frame"]
            p.put(base, "frame_owner", 3, "B")
            p.put(shim, "frame_previous", base)
        p.put(inner[-1], "frame_previous", shim)
    if p.at["tstate_cframe"] != ABSENT:
        p.put(tstate, "tstate_cframe", in_loop)
        p.put(in_loop, "cframe_current_frame", inner[0])
        p.put(in_loop, "cframe_previous", tstate + p.at["tstate_root_cframe"])
    p.put(tstate, "tstate_current_frame", inner[0])


def make_interpreter(p: Process) -> int:
    fields = [at for name, at in p.at.items() if name.startswith("interp_") and "size" not in name]
    interp = p.alloc(max(fields) + 16)
    if p.minor == 6:
        p.word(RUNTIME, interp, 0)
    p.put(RUNTIME, "runtime_interpreters_head", interp)
    p.put(RUNTIME, "runtime_interpreters_main", interp)
    p.put(RUNTIME, "runtime_main_thread", THREAD_POINTER)
    p.put(RUNTIME, "runtime_initialized", 1, "I")
    p.put(interp, "interp_gc_collecting", 1, "I")
    return interp


def make_thread(p: Process, interp: int, following: int, index: int) -> int:
    fields = [at for name, at in p.at.items() if name.startswith("tstate_") and "size" not in name]
    size = max(f for f in fields if f < 2000) + 200
    tstate = p.alloc(size)
    p.put(tstate, "tstate_interp", interp)
    p.put(tstate, "tstate_next", following)
    if following:
        p.put(following, "tstate_prev", tstate)
    p.put(tstate, "tstate_thread_id", THREAD_POINTER + index * 0x1000)
    p.put(tstate, "tstate_native_thread_id", 41 + index)
    p.put(tstate, "tstate_exc_info", tstate + max(p.at["tstate_exc_state"], 0))
    p.put(interp, "interp_threads_head", tstate)
    return tstate


def hold_gil(p: Process, interp: int, tstate: int) -> None:
    gil = p.alloc(256)
    p.put(gil, "gil_last_holder", tstate)
    p.put(gil, "gil_locked", 1, "I")
    p.put(interp, "interp_gil", gil)
    p.put(RUNTIME, "runtime_gil_last_holder", tstate)
    p.put(RUNTIME, "runtime_gil_locked", 1, "I")
    p.put(RUNTIME, "runtime_tstate_current", tstate)
    p.put(tstate, "tstate_holds_gil", 1, "I")
    p.put(tstate, "tstate_state", 1, "I")
    p.put(tstate, "tstate_status", 1 << 5 | 1, "I")


def raise_in(p: Process, tstate: int, frame: int) -> None:
    cause = make_exception(p, "KeyError", "k", 0)
    pending = make_exception(p, "ValueError", "no good", frame, cause)
    kind = ERRORS[p.column % len(ERRORS)]
    handled = make_exception(p, kind, "hand\u00e9led", frame)
    for name in ("curexc_value", "current_exception", "exc_value"):
        p.put(tstate, "tstate_" + name, pending)
    for name in ("curexc_type", "exc_type"):
        p.put(tstate, "tstate_" + name, p.types["ValueError"])
    if p.at["tstate_exc_state"] != ABSENT:
        item = tstate + p.at["tstate_exc_state"]
        p.put(item, "exc_item_value", handled)
        p.put(item, "exc_item_type", p.types[kind])


def list_task(p: Process, tstate: int, interp: int, task: int) -> None:
    """3.14 and later: a circular list through the tasks."""
    if p.at["tstate_asyncio_tasks"] == ABSENT or p.at["task_node"] == ABSENT:
        return
    head, node = tstate + p.at["tstate_asyncio_tasks"], task + p.at["task_node"]
    p.word(head, node, node)
    p.word(node, head, head)
    empty = interp + p.at["interp_asyncio_tasks"]
    p.word(empty, empty, empty)


def process(column: str) -> Process:
    p = Process(column)
    make_types(p)
    interp = make_interpreter(p)
    if p.minor >= 13:
        p.write(RUNTIME, published(p))
    p.word(VERSION, 3 << 24 | p.minor << 16 | 0x1F0)
    second = make_thread(p, interp, 0, 1)
    first = make_thread(p, interp, second, 0)
    values = make_values(p)
    variables = [f"v{i}" for i in range(len(values))]
    f, g = (p.code(name, variables, p.line_table()) for name in ("f", "g"))
    outer = p.frame(g, 0, [0] * len(values))
    inner = p.frame(f, outer, values)
    link_frames(p, first, [inner, outer], BASE)
    waiting = p.frame(p.code("wait\u00e9", [], p.line_table()), 0, [])
    link_frames(p, second, [waiting], BASE + STACK_BYTES)
    hold_gil(p, interp, first)
    raise_in(p, first, inner)
    task = make_task(p, g)
    list_task(p, first, interp, task)
    p.put(interp, "interp_modules",
          make_modules(p, [THREAD_POINTER, THREAD_POINTER + 0x1000], task))
    p.put(interp, "interp_builtins", make_builtins(p))
    p.put(interp, "interp_sysdict", p.names(hexversion=p.int(3 << 24 | p.minor << 16 | 0x1F0)))
    make_greenlet(p, p.frame_object(p.frame(g, 0, [0] * len(values))))
    return p


NAMES = (
    b"__pyx_pw_3pkg_5model_7Encoder_3forward",
    b"__pyx_Upw_3pkg_5sub_x_5model_39berfunktion_xje",
    b"__pyx_fuse_1__pyx_pf_5model_6f.cold",
    b"_PyEval_EvalFrameDefault.cold",
)


def seed(p: Process, flags: int, asked: int) -> bytes:
    return struct.pack("<BBHI", p.column, flags, (asked - BASE) // 8, 0) + bytes(p.memory)


def seeds() -> list[bytes]:
    result = []
    for i, column in enumerate(COLUMNS):
        p = process(column)
        p.write(BASE, NAMES[i % len(NAMES)] + b"\0")
        asked = p.dict({p.str("k"): p.tuple(p.int(1), p.list(p.str("x")))})
        result.append(seed(p, HAS_RUNTIME | HAS_TYPES | HAS_LOOP, asked))
        # By shape alone; and with what a stripped, nameless file would tell.
        result.append(seed(p, 0 if i % 2 else NAMELESS, TYPE_TYPE))
    return result
