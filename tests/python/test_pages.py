# SPDX-License-Identifier: GPL-3.0-or-later
"""A page that a core does not hold may hide frames, and makes none that were not there.

A few pages of some cores; tests/python/drop_pages.py does 500 of each.
"""
import concurrent.futures
import os
import pathlib
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

import ahead  # noqa: E402  (found by the line above)
import drop_pages  # noqa: E402
import matrix  # noqa: E402
import recipes  # noqa: E402

PAGES = 24
PROGRAMS = [p for p in recipes.ALL if p.name in ("threads", "generators")]
RUNS = [
    drop_pages.Run(cell.python, cell.program, cell.how)
    for cell in matrix.cells(recipes.installed(), PROGRAMS, ["kernel"])
]


@pytest.fixture(scope="module")
def running(tmp_path_factory):
    corescan, folder = ahead.program(), tmp_path_factory.mktemp("pages")
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count() or 2) as pool:
        yield {str(run): pool.submit(run.run, corescan, folder, PAGES) for run in RUNS}


@pytest.mark.parametrize("run", RUNS, ids=str)
def test_pages(running, run):
    done = running[str(run)].result()
    if done.skipped:
        pytest.skip(done.skipped)
    assert not done.problems, "\n".join(done.problems)
    assert done.pages == PAGES and done.frames > 0
