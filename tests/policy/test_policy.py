# SPDX-License-Identifier: GPL-3.0-or-later
"""Each policy check finds what it exists to find, on small trees that break one rule each."""
import pathlib
import subprocess
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import exports  # noqa: E402
import headers  # noqa: E402
import layers  # noqa: E402
import limits  # noqa: E402
import manpage  # noqa: E402
import shape  # noqa: E402
import text  # noqa: E402
import tree  # noqa: E402

SPDX = "/* SPDX-License-Identifier: GPL-3.0-or-later */\n"
OPENING = (
    SPDX
    + "/*\n * A file for a test: knows nothing at all, and refuses to know anything more.\n */\n"
)


@pytest.fixture
def put(tmp_path):
    def put_file(name, content):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content)
        return tmp_path

    return put_file


@pytest.mark.parametrize(
    "source, target, allowed",
    [
        ("corescan/mem/a.c", "base/a.h", True),
        ("corescan/mem/a.c", "core/a.h", False),
        ("symbols/a.c", "core/a.h", True),
        ("corescan/core/a.c", "symbols/a.h", False),
        ("corescan/gpu/a.c", "torch/a.h", False),
        ("corescan/analyze.c", "crash/a.h", True),
        ("corescan/analyze.c", "report/a.h", False),
        ("corescan/cli/a.c", "report/a.h", True),
        ("corescan/report/a.c", "unwind/a.h", True),
        ("corescan/include/corescan/a.h", "base/a.h", False),
        ("corescan/base/a.c", "nowhere/a.h", False),
    ],
)
def test_layers(put, source, target, allowed):
    folder = "" if target.startswith("symbols") else "corescan/"
    if not target.startswith("nowhere"):
        put(folder + target, "")
    root = put(source, f'#include "{target}"\n')
    assert (not layers.check(root)) == allowed


@pytest.mark.parametrize(
    "name, content, complaint",
    [
        (
            "long.c",
            OPENING + "int f(void)\n{\n" + "\tf();\n" * 77 + "\treturn 0;\n}\n",
            "has 81 lines",
        ),
        (
            "knot.c",
            OPENING + "int f(int a)\n{\n" + "\tif (a)\n\t\tf(a);\n" * 20 + "\treturn 0;\n}\n",
            "complexity 21",
        ),
        ("file.c", OPENING + "int a;\n" * 800, "800 allowed"),
        ("wide.c", OPENING + "int " + "a" * 110 + ";\n", "columns"),
        ("bare.h", "int a;\n" * 3 + "/* one of four */\n", "25% of the lines"),
    ],
)
def test_shape(put, name, content, complaint):
    root = put("corescan/base/" + name, content)
    try:
        assert any(complaint in c for c in shape.check(root))
    except tree.Missing as missing:
        pytest.skip(str(missing))


def test_shape_accepts(put):
    root = put(
        "corescan/base/a.c",
        OPENING + "int f(int a)\n{\n" + "\tif (a)\n\t\tf(a);\n" * 19 + "\treturn 0;\n}\n",
    )
    try:
        assert shape.check(root) == []
    except tree.Missing as missing:
        pytest.skip(str(missing))


def test_headers(put):
    put(
        "corescan/base/good.h",
        "#ifndef G\n#define G\n#include <stddef.h>\nsize_t f(size_t);\n#endif\n",
    )
    root = put("corescan/base/bad.h", "#ifndef B\n#define B\nsize_t f(size_t);\n#endif\n")
    assert [c.split(":")[0] for c in headers.check(root)] == ["corescan/base/bad.h"]
    root = put(
        "corescan/include/corescan/cxx.h", "#ifndef C\n#define C\nint f(int class);\n#endif\n"
    )
    assert any("C++17" in c for c in headers.check(root))


def test_exports(put, tmp_path):
    put("corescan/libcorescan.map", "X_0 {\nglobal:\n\tcs_one;\n\tcs_two;\nlocal:\n\t*;\n};\n")
    put(
        "corescan/include/corescan/a.h",
        "CS_API int cs_one(int a,\n\t\tint b);\nCS_API int cs_three(void);\n",
    )
    root = put("lib.c", "int cs_one; int cs_extra;\n")
    subprocess.run(["cc", "-shared", "-o", tmp_path / "lib.so", tmp_path / "lib.c"], check=True)
    found = exports.check(root, tmp_path / "lib.so")
    assert found == [
        "cs_two is in libcorescan.map, not in libcorescan.so",
        "cs_extra is in libcorescan.so, not in libcorescan.map",
        "cs_three is in the public headers, not in libcorescan.map",
        "cs_two is in libcorescan.map, not in the public headers",
    ]


def test_manpage(put, tmp_path):
    put(
        "docs/corescan.1",
        ".Dd January 1, 2026\n.Dt CORESCAN 1\n.Os\n.Sh NAME\n.Nm corescan\n.Nd x\n.Sh OPTIONS\n"
        ".Bl -tag -width Ds\n.It Fl -json\nText with\n.Fl -not-an-option .\n"
        ".It Fl -old\nGone.\n.El\n",
    )
    root = put(
        "program",
        "#!/bin/sh\necho 'usage: x'; echo '  --json       print --like this'; echo '  -v, --new'\n",
    )
    (tmp_path / "program").chmod(0o755)
    try:
        found = [c for c in manpage.check(root, tmp_path / "program") if "docs/corescan.1: -" in c]
    except tree.Missing as missing:
        pytest.skip(str(missing))
    assert found == [
        "docs/corescan.1: --new of --help is missing",
        "docs/corescan.1: -v of --help is missing",
        "docs/corescan.1: --old is not in --help",
    ]


def test_limits(put):
    put(
        "corescan/base/limits.h",
        "#define CS_MAX_A (64UL << 20) /* a */\n#define CS_MAX_B 65536UL /* b */\n"
        "#define CS_MAX_C 7UL /* c */\n#define CS_MAX_E 9UL\n",
    )
    put("corescan/base/a.c", "int a = CS_MAX_A + CS_MAX_B + CS_MAX_C; /* CS_MAX_E */\n")
    root = put(
        "docs/LIMITS.md",
        "| `CS_MAX_A` | 64 MiB | because of this |\n| `CS_MAX_B` | 65,537 | because |\n"
        "| `CS_MAX_D` | 1 | because of that |\n| `CS_MAX_E` | 9 | because of that |\n",
    )
    assert limits.check(root) == [
        "docs/LIMITS.md: CS_MAX_B is 65536, the page says 65,537",
        "docs/LIMITS.md: CS_MAX_C (7) is missing",
        "corescan/base/limits.h: CS_MAX_E is used nowhere",
        "docs/LIMITS.md: CS_MAX_D does not exist",
    ]


@pytest.mark.parametrize(
    "name, content, complaint",
    [
        ("corescan/base/a.c", OPENING + "int a; \n", "blanks at the end"),
        ("corescan/base/a.c", OPENING + "/* FIX" "ME later */\n", "unfinished"),
        ("corescan/base/a.c", OPENING + "        int a;\n", "spaces, not tabs"),
        ("corescan/base/a.c", OPENING + "int a;", "no newline"),
        ("corescan/base/a.c", SPDX + "int a;\n", "no comment"),
        ("corescan/base/a.c", OPENING[len(SPDX) :], "no SPDX"),
        ("tests/a.py", '"""No licence."""\n', "no SPDX"),
        ("corescan/base/a.c", OPENING + "void f(void)\n{\n\tgoto out;\n}\n", "no goto"),
        ("corescan/core/a.c", OPENING + "void f(void)\n{\n\tprintf(0);\n}\n", "does not print"),
        ("symbols/a.c", OPENING + "void f(void)\n{\n\texit(1);\n}\n", "does not exit"),
        ("corescan/core/a.c", OPENING + "void f(FILE *o)\n{\n\tfputs(0, o);\n}\n", "only report/"),
        ("corescan/report/a.c", OPENING + "void f(void)\n{\n\tg(stdout);\n}\n", "does not print"),
    ],
)
def test_text(put, name, content, complaint):
    assert any(complaint in c for c in text.check(put(name, content)))


@pytest.mark.parametrize(
    "name, content",
    [
        ("corescan/cli/a.c", OPENING + "void f(void)\n{\n\tprintf(0);\n\texit(1);\n}\n"),
        ("corescan/report/a.c", OPENING + "void f(FILE *o)\n{\n\tfputs(0, o);\n}\n"),
        (
            "corescan/core/a.c",
            OPENING + '/* goto printf( */\nchar *s = "exit(1) goto";\nint n = cs_printf(s);\n',
        ),
    ],
)
def test_text_accepts(put, name, content):
    assert text.check(put(name, content)) == []
