# SPDX-License-Identifier: GPL-3.0-or-later
"""A page as GitHub renders it, with cmark-gfm and the extensions that GitHub turns on."""
import collections
import html.parser
import re
import shutil
import subprocess

import pytest

# What our pages are made of; anything else was made by a text of the core.
OWN = set("p strong code pre details summary ul ol li table thead tbody tr th td h2".split())
VOID = {"br", "hr", "img", "input"}
EXTENSIONS = ("table", "autolink", "strikethrough", "tasklist", "footnotes")
FENCED = re.compile(r"^(`{3,})$.*?^\1$", re.M | re.S)


class Page(html.parser.HTMLParser):
    """Tags, text outside of code, and the cells of each row."""

    def __init__(self):
        super().__init__()
        self.opened = collections.Counter()
        self.closed = collections.Counter()
        self.open = []
        self.unmatched = []
        self.words = []
        self.code = []
        self.summaries = []
        self.rows = []

    def handle_starttag(self, tag, attrs):
        self.opened[tag] += 1
        if tag in VOID:
            return
        self.open.append(tag)
        if tag == "tr":
            self.rows.append(0)
        if tag in ("td", "th"):
            self.rows[-1] += 1
        if tag == "summary":
            self.summaries.append("")

    def handle_endtag(self, tag):
        self.closed[tag] += 1
        if not self.open or self.open.pop() != tag:
            self.unmatched.append(tag)

    def handle_data(self, data):
        if "summary" in self.open:
            self.summaries[-1] += data
        if "code" in self.open:
            self.code.append(data)
        else:
            self.words.append(data)


def render(text):
    """`text` as a Page; skips where no renderer is installed."""
    program = shutil.which("cmark-gfm")
    if not program:
        pytest.skip("cmark-gfm is not installed (Debian: apt install cmark-gfm)")
    command = [program, "--unsafe"]
    for extension in EXTENSIONS:
        command += ["-e", extension]
    run = subprocess.run(command, input=text, capture_output=True, text=True, check=True)
    page = Page()
    page.feed(run.stdout)
    page.close()
    return page


def check(text):
    """`text` renders to what we wrote, and no text of a core made anything. Returns its Page."""
    page = render(text)
    assert set(page.opened) <= OWN
    assert page.unmatched == [] and page.open == []
    written = re.findall(r"^<details", FENCED.sub("", text), re.M)
    assert page.opened["details"] == page.closed["details"] == len(written)
    assert page.opened["summary"] == page.closed["summary"] == len(written)
    assert set(page.rows) <= {2}
    words = "".join(page.words)
    # Mentions and issues are looked for in what is rendered; only whole references are ours.
    assert not re.search(r"(?<!\w)@\w", words), words
    assert not re.search(r"(?<![\w.-])#\d|GH-\d|://|www\.", words), words
    assert "<" not in words and ">" not in words
    assert len(text.encode()) <= 60000
    return page
