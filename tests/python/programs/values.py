# SPDX-License-Identifier: GPL-3.0-or-later
"""Frames with locals of all kinds, each with what repr() says of it. For Python 3.6 to 3.15.

values.py TRUTH [tensors]: the file TRUTH gets {function: [[name, kind, text], ...]} in the order of
the code; text is None for names that are not bound. Objects that repr() shows by their address are
expected by their fields, and what is too long by its beginning.
"""
import collections
import datetime
import enum
import json
import os
import sys
import threading
import types

PATH = sys.argv[1]
TRUTH = {}
VARARGS, VARKEYWORDS = 0x4, 0x8


def arguments(code):
    n = code.co_argcount + code.co_kwonlyargcount
    n += bool(code.co_flags & VARARGS) + bool(code.co_flags & VARKEYWORDS)
    return code.co_varnames[:n]


def names(code):
    """All names with their kinds, each once."""
    found = {name: "argument" for name in arguments(code)}
    for kind, some in (
        ("cell", code.co_cellvars),
        ("free", code.co_freevars),
        ("local", code.co_varnames),
    ):
        for name in some:
            found.setdefault(name, kind)
    return found


def record(shown=None, text=repr):
    """What the caller's variables are, at this moment."""
    frame = sys._getframe(1)
    values = frame.f_locals
    texts = {name: text(value) for name, value in values.items()}
    texts.update(shown or {})
    TRUTH[frame.f_code.co_name] = [
        [name, kind, texts.get(name)] for name, kind in names(frame.f_code).items()
    ]


def end():
    with open(PATH, "w", encoding="ascii") as file:
        json.dump(TRUTH, file)
    os.abort()


def then(following):
    """Calls the first of FOLLOWING with the rest, so that the caller's frame stays where it is."""
    if following:
        following[0](following[1:])
    else:
        end()


class Small(int):
    pass


class Word(str):
    pass


class Rows(list):
    pass


class Own(list):
    def __repr__(self):
        return "something else"


class Failure(ValueError):
    pass


class Color(enum.Enum):
    RED = 1
    GREEN = "g"


class Number(enum.IntEnum):
    ONE = 1


class Plain:
    def __init__(self):
        self.a = 1
        self.b = "x"

    def method(self):
        return self.a


class Slots:
    __slots__ = ("p", "q", "unset")

    def __init__(self):
        self.p = 3
        self.q = [1]


class Both(Slots):
    def __init__(self):
        super().__init__()
        self.z = 1.5


class Tagged(tuple):
    """Its dict lies behind the items."""


Point = collections.namedtuple("Point", "x y")

try:
    import dataclasses
except ImportError:  # 3.6
    dataclasses = None
else:

    @dataclasses.dataclass
    class Record:
        x: int
        y: str = "q"
        hidden: int = dataclasses.field(default=5, repr=False)


FIELDS = {
    "o0": "<Plain a=1 b='x'>",
    "o1": "<Slots p=3 q=[1]>",
    "o2": "<Both z=1.5 p=3 q=[1]>",
    "o3": "<Plain a=1 b='x' c=3>",
}
if sys.version_info < (3, 7):  # the fields have had their names since
    FIELDS["w2"] = "datetime.timedelta(days=1, seconds=2, microseconds=3)"


def numbers(following):
    none, true, false, dots, no = None, True, False, ..., NotImplemented
    i0, i1, i2, i3, i4 = 0, -1, 2**30, 2**31 - 1, 2**60
    i5, i6, i7, i8 = -(2**63), 10**500, -(3**1000), Small(77)
    f0, f1, f2, f3, f4, f5 = 0.0, -0.0, 0.1, 1e16, 1e15, 123456789.125
    f6, f7, f8, f9 = 1e-5, 0.0001, float("inf"), float("nan")
    f10, f11, f12 = 5e-324, 1.7976931348623157e308, 9007199254740993.0
    c0, c1, c2, c3 = 1j, 1 + 2j, -0.0 - 1.5j, complex(1e20, -3)
    bits = 10**3000
    record({"bits": "<int of about"})
    then(following)


def texts(following):
    s0, s1, s2, s3 = "", "plain", "it's", "both ' and \""
    s4 = "tab\tnew\nreturn\rback\\ null\0 escape\x1b delete\x7f"
    s5, s6, s7 = "na\u00efve \u00a0 \u00ad", "\u65e5\u672c", "\U0001f600 smile"
    s8, s9, s10 = "half \udc80", Word("word"), "\u200b\u2028 \ue000 \U000e0001"
    b0, b1, b2 = b"", b"abc", b"it's \x00\xff\n"
    b3, b4 = bytearray(b"xyz"), bytearray()
    long = "x" * 5000
    record({"long": "'xxxxxxxx"})
    then(following)


def sequences(following):
    l0, l1, l2 = [], [1, "a", None, True, 2.5], [[1, [2, [3]]]]
    l3 = [1]
    l3.append(l3)
    l4, l5 = Rows([1, 2]), Own([1])
    t0, t1, t2, t3 = (), (1,), (1, 2), Point(1, y="z")
    t4 = Tagged((1, 2))
    t4.name = "t4"
    s0, s1, s2, s3 = set(), {1, 2, 3}, frozenset([4]), {1, 17, 33}
    s3.discard(17)
    r0, r1, r2 = range(10), range(1, 10, 2), slice(1, None, 2)
    q0, q1 = collections.deque([1, 2], maxlen=5), collections.deque(range(20))
    q1.appendleft(-1)
    many, q2 = list(range(100)), collections.deque(range(300))
    q2.rotate(100)
    record({"l5": "Own([1])", "many": "[0, 1, 2, ", "q2": "deque([200, 201, 202, "})
    then(following)


def tables(following):
    d0, d1, d2 = {}, {"a": 1, 2: "b", None: [1]}, {"k": "v", "z": 0}
    d3 = {"me": 1}
    d3["me"] = d3
    d4 = {"a": 1, "b": 2}
    del d4["a"]
    d4["c"], d4[5] = 3, 1
    d5 = collections.OrderedDict([("a", 1), ("b", 2), ("c", 3)])
    d5.move_to_end("a")
    d6, d7 = collections.defaultdict(list, a=[1]), collections.Counter("aab")
    d8, d9 = types.MappingProxyType({"a": 1}), types.SimpleNamespace(a=1, b="c")
    d10 = Plain().__dict__
    d11 = Plain()
    del d11.a
    d11.a, d11.c = 5, 6
    d12 = d11.__dict__
    many = {number: None for number in range(40)}
    record({"many": "{0: None, 1: None, ", "d11": "<Plain b='x' a=5 c=6>"})
    then(following)


def objects(following):
    o0, o1, o2, o3 = Plain(), Slots(), Both(), Plain()
    o3.c = 3
    record_ = Record(1) if dataclasses else None
    e0, e1, e2, e3 = Color.RED, Color.GREEN, Number.ONE, ValueError("x")
    e4, e5, e6 = Failure("a", 1), KeyError(), OSError(2, "no")
    t0, t1, t2, t3, t4 = int, Plain, Color, ValueError, collections.OrderedDict
    f0, f1, f2, f3, f4 = objects, len, o0.method, [].append, lambda: 1
    m0, m1 = collections, os
    g0, g1 = (x for x in [1]), objects.__code__
    a0, a1 = object(), threading.Lock()
    a2, a3 = threading.Lock(), threading.RLock()
    a2.acquire()
    a3.acquire()
    w0, w1 = datetime.datetime(2020, 1, 2, 3, 4, 5), datetime.date(2020, 1, 2)
    w2, w3 = datetime.timedelta(1, 2, 3), datetime.time(1, 2)
    record(FIELDS)
    then(following)


def kinds(following, shared, default=5, *rest, key="k", **more):
    cell, gone = [1, 2], 1
    del gone
    if following is None:
        never = 1

    def inner(own=3):
        both = cell, shared
        record({"both": repr(both)})
        then(following)

    record()
    inner()


def generators(following):
    def generator(argument):
        for item in [1, 2]:
            record()
            then(following)
            yield item

    listed = [value for value in generator("g")]
    return listed


def begin(_):
    stages = [numbers, texts, sequences, tables, objects, generators]
    kinds(stages, "SHARED", 6, 7, 8, key="K", other=9)


class Body:
    """Neither the frame of a class nor that of a module has variables of its own."""

    if len(sys.argv) == 2:
        then([begin])


def address(tensor):
    return tensor.data_ptr() if tensor.device.type != "meta" and tensor.numel() else 0


def of_tensor(value):
    import torch

    if not isinstance(value, torch.Tensor):
        return repr(value)
    kind = type(value)
    return (
        f"<{kind.__module__}.{kind.__qualname__} shape={tuple(value.shape)} dtype={value.dtype} "
        f"device={value.device} data={hex(address(value)) if address(value) else 0} "
        f"requires_grad={value.requires_grad}>"
    )


def of_array(value):
    import numpy

    if not isinstance(value, numpy.ndarray):
        return repr(value)
    kind = value.dtype.str.lstrip("|") if value.dtype.char in "US" else value.dtype.name
    return f"<numpy.ndarray shape={value.shape} dtype={kind} data={value.ctypes.data:#x}>"


def tensors(following):
    import torch

    t0, t1, t2 = torch.zeros(2, 3), torch.arange(5), torch.ones(1, requires_grad=True)
    t3, t4 = t2 * 2, torch.zeros((), dtype=torch.float64)
    t5, t6 = torch.zeros(2, 2, dtype=torch.bfloat16), torch.zeros(1, 2, 3, 4, 5, 6, 7).bool()
    t7, t8 = t6[..., 2], torch.nn.Parameter(torch.zeros(4, 4))
    t9, t10, t11 = torch.zeros(3, device="meta"), torch.zeros(0), torch.ones(3) * 1j
    t12, t13, t14 = t0[1], torch.zeros(10)[3:], t2.detach()
    t15 = torch.nn.Parameter(torch.zeros(2), requires_grad=False)
    t16 = torch.ones(2, requires_grad=True)
    t16.sum().backward()
    t17, t18 = t16.grad, torch.nn.Linear(2, 2).weight
    k0, k1, k2 = torch.float32, torch.device("cpu"), torch.device("cuda", 3)
    k3 = torch.Size([2, 3])
    del torch
    record(text=of_tensor)
    then(following)


def arrays(following):
    import numpy

    a0, a1, a2 = numpy.zeros((2, 3)), numpy.arange(5), numpy.array(["abc", "de"])
    a3, a4, a5 = numpy.array([b"abc"]), numpy.array(1.0), numpy.zeros((2, 6))[1:, ::2]
    a6, a7 = numpy.zeros((1, 2, 3, 4, 5, 6, 1), dtype="c8"), numpy.empty((0, 4), "f2")
    n0, n1, n2, n3 = numpy.float64(1.5), numpy.float32(0.1), numpy.int64(-5), numpy.uint8(200)
    n4, n5, n6 = numpy.bool_(True), numpy.complex128(1 + 2j), numpy.float16(0.1)
    n7, n8, n9 = numpy.str_("x"), numpy.int8(-1), numpy.uint64(2**63)
    k0, l0 = numpy.dtype("f8"), [numpy.float64(1), numpy.int64(2)]
    del numpy
    record(text=of_array)
    then(following)


if sys.argv[2:] == ["tensors"]:
    then([tensors, arrays])
