# SPDX-License-Identifier: GPL-3.0-or-later
"""Seeds of fuzz_paste: the texts in tests/fuzz/paste, and what trackers do to them."""
from __future__ import annotations

import html
import pathlib


def mangled(text: str) -> list[str]:
    """The text quoted, with entities, wrapped, with the ends of lines of another system."""
    lines = text.splitlines()
    wrapped = [line[i : i + 60] for line in lines for i in range(0, len(line) or 1, 60)]
    return [
        "\n".join("> " + line for line in lines),
        html.escape(text),
        "\n".join(wrapped),
        text.replace("\n", "\r\n"),
        "\n".join(f"[rank{i % 3}]: {line}" for i, line in enumerate(lines)),
    ]


def seeds() -> list[bytes]:
    texts = [
        path.read_text()
        for path in sorted((pathlib.Path(__file__).parent / "paste").glob("*.txt"))
    ]
    every = "\n--- report 3 ---\n".join(texts)
    return [s.encode() for text in texts for s in [text, *mangled(text)]] + [every.encode()]
