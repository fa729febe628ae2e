#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Drops pages of a process's memory from its core, one at a time: is any answer wrong then?

    drop_pages.py [--pages 500] [--python 3.12] [--program threads,sort] [--how kernel] [--newer]
                  [--seed 1] [--jobs 2] [--corescan PROGRAM]

A page is dropped as a core does it that does not hold all: its segment is split in three, and the
middle one has no bytes in the file. Frames may be missing then, or unknown, but every frame,
name and line that is reported must be one that the process wrote about itself, in its order; and
corescan must end in time, by itself. Half of the pages are any writable ones, half are those that
hold frames, names, code objects and what points to them.
"""
import argparse
import concurrent.futures
import os
import pathlib
import random
import struct
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

import compare  # noqa: E402  (found by the line above)
import fetch  # noqa: E402
import matrix  # noqa: E402
import recipes  # noqa: E402
from recipes import cores  # noqa: E402

PAGE = 4096
PT_LOAD, PF_W = 1, 2
PHDR = struct.Struct("<IIQQQQQQ")  # type flags offset vaddr paddr filesz memsz align
# Where the text of a str object can begin, from the object's start.
TEXT_AT = (40, 48, 56, 72)
MAX_TEXTS = 40


class Core:
    """A core whose program headers can be changed in place: their table lies at the end."""

    def __init__(self, path):
        self.path = path
        self.file = open(path, "r+b")
        head = self.file.read(64)
        (offset,) = struct.unpack_from("<Q", head, 32)
        size, count = struct.unpack_from("<HH", head, 54)
        if size != PHDR.size:
            raise AssertionError(f"{path}: program headers of {size} bytes")
        self.file.seek(offset)
        self.headers = list(PHDR.iter_unpack(self.file.read(size * count)))
        end = self.file.seek(0, os.SEEK_END)
        self.table = (end + 7) & ~7
        self.file.truncate(self.table + (count + 2) * size)
        self.write(self.headers)

    def write(self, headers):
        self.file.seek(self.table)
        self.file.write(b"".join(PHDR.pack(*h) for h in headers))
        self.file.seek(32)
        self.file.write(struct.pack("<Q", self.table))
        self.file.seek(56)
        self.file.write(struct.pack("<H", len(headers)))
        self.file.flush()

    def saved(self):
        """Segments of writable memory that the file holds."""
        return [h for h in self.headers if h[0] == PT_LOAD and h[1] & PF_W and h[5]]

    def pages(self):
        found = []
        for _, _, _, vaddr, _, filesz, _, _ in self.saved():
            found += range(vaddr, vaddr + filesz, PAGE)
        return found

    def drop(self, page):
        """Leaves out the page at this address, and no other."""
        headers = []
        for header in self.headers:
            kind, flags, offset, vaddr, paddr, filesz, memsz, align = header
            if kind != PT_LOAD or not vaddr <= page < vaddr + filesz:
                headers.append(header)
                continue
            before = page - vaddr
            after = before + PAGE
            if before:
                headers.append((kind, flags, offset, vaddr, paddr, before, before, align))
            headers.append((kind, flags, offset, page, 0, 0, min(PAGE, memsz - before), align))
            if after < memsz:
                left = max(filesz - after, 0)
                more = (offset + after, vaddr + after, 0, left, memsz - after, align)
                headers.append((kind, flags, *more))
        self.write(headers)

    def places(self, data, needle):
        """Addresses in writable memory that hold these bytes."""
        for _, _, offset, vaddr, _, filesz, _, _ in self.saved():
            at = data.find(needle, offset, offset + filesz)
            while at >= 0:
                yield vaddr + at - offset
                at = data.find(needle, at + 1, offset + filesz)

    def that_matter(self, truth, report):
        """Pages with the frames, their names and files, and with pointers to these."""
        wanted = set()
        for thread in report["threads"]:
            for frame in thread.get("frames") or []:
                if frame["kind"] == "python" and frame.get("address"):
                    wanted.add(int(frame["address"], 16))
        texts = set()
        for thread in truth["threads"]:
            for name, file, _, code_name in thread["frames"]:
                texts |= {name, file, code_name}
        pages = {a & -PAGE for a in wanted}
        data = self.path.read_bytes()
        strings = []
        for text in sorted(t for t in texts if len(t) > 3)[:MAX_TEXTS]:
            strings += self.places(data, compare.clean(text).encode())
        pages |= {a & -PAGE for a in strings}
        return pages | self.pages_with(data, wanted | {a - at for a in strings for at in TEXT_AT})

    def pages_with(self, data, targets):
        """Pages of writable memory with a pointer to one of these addresses."""
        found = set()
        for _, _, offset, vaddr, _, filesz, _, _ in self.saved():
            words = memoryview(data)[offset : offset + filesz // 8 * 8].cast("Q")
            found |= {(vaddr + 8 * i) & -PAGE for i, word in enumerate(words) if word in targets}
        return found


def fits(reported, written):
    """Whether what is known of a reported frame is so in the written one.

    Without the qualified name, that of the code object is right, too.
    """
    function, file, line = reported
    name, its_file, its_line, code_name = written
    return (
        function in (None, compare.clean(name), compare.clean(code_name))
        and file in (None, compare.clean(its_file))
        and line in (None, its_line)
    )


def wrong_frame(reported, written):
    """The first reported frame that the process did not have there; None: all are right."""
    at = 0
    for frame in reported:
        if frame == (None, None, None):
            continue
        while at < len(written) and not fits(frame, written[at]):
            at += 1
        if at == len(written):
            return frame
        at += 1
    return None


def wrong(truth, report):
    """What the report says that is not so, one line each."""
    written = {t["tid"]: t for t in truth["threads"]}
    for thread in report["threads"]:
        there = written.get(thread["tid"])
        frames = compare.python_frames(compare.unfold(thread.get("frames") or []))
        bad = wrong_frame(frames, there["frames"] if there else [])
        if bad:
            yield f"{thread['tid']}: {bad} is none of its frames"
        python = thread.get("python") or {}
        if there and there["name"] is not None and python.get("name") is not None:
            if python["name"] != compare.clean(there["name"]):
                yield f"{thread['tid']}: named {python['name']!r}, it is {there['name']!r}"
        if python.get("holds_gil") and truth["gil"] not in (None, thread["tid"]):
            yield f"{thread['tid']}: said to hold the GIL, {truth['gil']} does"


def sample(core, truth, report, count, chosen):
    every = core.pages()
    saved = set(every)
    near = sorted(page for page in core.that_matter(truth, report) if page in saved)
    half = chosen.sample(near, min(len(near), count // 2))
    return half + chosen.sample(every, min(len(every), count - len(half)))


def try_pages(corescan, path, truth, count, seed=1):
    """(pages dropped, frames reported in all, problems) of one core, which is changed."""
    report = matrix.report_of(corescan, path)
    core = Core(path)
    problems = [f"with all pages: {w}" for w in wrong(truth, report)]
    pages = sample(core, truth, report, count, random.Random(seed))
    frames = 0
    for page in pages:
        core.drop(page)
        try:
            report = matrix.report_of(corescan, path)
            problems += [f"without page {page:#x}: {w}" for w in wrong(truth, report)]
            for thread in report["threads"]:
                frames += len(compare.python_frames(thread.get("frames") or []))
        except (AssertionError, ValueError, KeyError, subprocess.TimeoutExpired) as error:
            problems.append(f"without page {page:#x}: {type(error).__name__}: {error}")
    core.write(core.headers)
    core.file.close()
    return len(pages), frames, problems


class Run:
    """One core made, and its pages dropped."""

    def __init__(self, python, program, how):
        self.python, self.program, self.how = python, program, how
        self.pages = self.frames = 0
        self.problems, self.skipped = [], None

    def __str__(self):
        return f"{self.python.name} {self.program.name} ({self.how})"

    def run(self, corescan, folder, count, seed=1, keep=False):
        core = None
        try:
            core, truth = recipes.make(self.python, self.program, self.how, folder)
            got = try_pages(corescan, core.path, truth, count, seed)
            self.pages, self.frames, self.problems = got
        except cores.Unavailable as reason:
            self.skipped = str(reason)
        except AssertionError as error:
            self.problems = [str(error)]
        if core and not (keep and self.problems):
            recipes.forget(core)
        return self


def show(run):
    print(f"{run}: {run.skipped or f'{run.pages} pages, {len(run.problems)} problems'}", flush=True)
    for problem in run.problems[:20]:
        print(f"  {problem}", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--corescan", type=pathlib.Path, default=matrix.ROOT / "build/bin/corescan")
    parser.add_argument("--pages", type=int, default=500)
    parser.add_argument("--python", default="", help="versions that begin so, with commas")
    parser.add_argument("--program", default="", help="names, with commas")
    parser.add_argument("--how", default="kernel")
    parser.add_argument("--newer", action="store_true", help="also what fetch.py brings")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 2)
    parser.add_argument("--keep", type=pathlib.Path, help="keep the cores that show a problem here")
    args = parser.parse_args()
    pythons, programs = matrix.chosen(args)
    with tempfile.TemporaryDirectory(prefix="pages-") as temporary:
        folder = args.keep or pathlib.Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        matrix.prepare(pythons, programs, folder)
        cells = matrix.cells(pythons, programs, args.how.split(","))
        runs = [Run(c.python, c.program, c.how) for c in cells]
        options = (args.corescan, folder, args.pages, args.seed, bool(args.keep))
        with concurrent.futures.ThreadPoolExecutor(args.jobs) as pool:
            todo = [pool.submit(r.run, *options) for r in runs]
            for done in concurrent.futures.as_completed(todo):
                show(done.result())
    pages = sum(r.pages for r in runs)
    bad = sum(len(r.problems) for r in runs)
    print(f"{pages} pages dropped from {len(runs)} cores, {bad} wrong answers")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
