# SPDX-License-Identifier: GPL-3.0-or-later
"""Every Python frame of every thread is what the process wrote about itself, for each Python here.

Kernel cores of all programs; gdb's of those that differ. tests/python/matrix.py --all makes all.
"""
import pathlib
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

import ahead  # noqa: E402  (found by the line above)
import matrix  # noqa: E402
import recipes  # noqa: E402

CELLS = matrix.cells(recipes.installed(), recipes.ALL, ("kernel", "gcore"), everything=False)


@pytest.fixture(scope="module")
def cells(tmp_path_factory):
    made = ahead.Ahead(CELLS, tmp_path_factory.mktemp("frames"))
    yield made
    made.finish()


@pytest.mark.parametrize("cell", CELLS, ids=str)
def test_frames(cells, cell):
    cells.check(cell)
