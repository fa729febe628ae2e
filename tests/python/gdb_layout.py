# SPDX-License-Identifier: GPL-3.0-or-later
"""Runs inside gdb: what the debug information says of fields, and the words of _PyRuntime.

    gdb -nx -batch -ex "python WANTED = [...]; WORDS = 0" -x gdb_layout.py FILE

WANTED is a list of [name, "Type.member.member|Type.member"]. Prints one line of JSON: {"fields":
{name: offset, -1 where the type is there without the member, null without the type}, "words":
[...], "sizes": {name: bytes of the field}}.
"""
import json

import gdb


def evaluate(expression):
    return int(gdb.parse_and_eval(expression))


def has_type(name):
    try:
        return evaluate(f"sizeof({name})") > 0
    except gdb.error:
        return False


def one(path):
    """(offset, size) of one alternative; None: the type has no such member."""
    plain = path[len("struct ") :] if path.startswith("struct ") else path
    name, _, member = plain.partition(".")
    name = path[: len(path) - len(plain)] + name
    if not has_type(name):
        return None, None
    if member == "__sizeof__":
        return evaluate(f"sizeof({name})"), 0
    try:
        at = evaluate(f"(unsigned long)&(({name} *)0)->{member}")
        return at, evaluate(f"sizeof((({name} *)0)->{member})")
    except gdb.error:
        return -1, None


def field(declared):
    found = [one(path) for path in declared.split("|")]
    for offset, size in found:
        if offset is not None and offset >= 0:
            return offset, size
    known = any(offset is not None for offset, _ in found)
    return (-1 if known else None), None


def word(i):
    return evaluate(f"((unsigned long *)(char *)&_PyRuntime)[{i}]")


gdb.execute("set language c")
answers = {name: field(declared) for name, declared in WANTED}  # noqa: F821 (see above)
print(
    "LAYOUT "
    + json.dumps(
        {
            "fields": {name: offset for name, (offset, _) in answers.items()},
            "sizes": {name: size for name, (_, size) in answers.items() if size},
            "words": [word(i) for i in range(WORDS)],  # noqa: F821
        }
    )
)
