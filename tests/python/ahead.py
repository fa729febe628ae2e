# SPDX-License-Identifier: GPL-3.0-or-later
"""What test_frames.py and test_newer.py share: cells of the matrix, made ahead by some workers.

The tests ask for the cells in order, so while one is looked at the next is being made.
"""
import concurrent.futures
import os
import pathlib

import matrix
import pytest
import recipes

# Printed by conftest.py at the end, whether the tests pass or not.
TABLES = []


def program():
    """The corescan under test."""
    path = pathlib.Path(os.environ.get("CORESCAN", matrix.ROOT / "build/bin/corescan")).resolve()
    if not path.is_file():
        pytest.skip(f"{path} is not built; set CORESCAN to the program")
    return path


class Ahead:
    """Runs all cells in the background; the figures are kept for the table."""

    def __init__(self, cells, folder):
        self.corescan = program()
        self.pool = concurrent.futures.ThreadPoolExecutor(os.cpu_count() or 2)
        pythons = list({c.python.name: c.python for c in cells}.values())
        matrix.prepare(pythons, recipes.ALL, folder)
        self.cells = cells
        self.running = {str(c): self.pool.submit(c.run, self.corescan, folder) for c in cells}

    def check(self, cell):
        done = self.running[str(cell)].result()
        if done.skipped:
            pytest.skip(done.skipped)
        assert not done.problems, "\n".join(done.problems)
        assert done.outcome.equal == done.outcome.total > 0

    def finish(self):
        self.pool.shutdown(wait=True, cancel_futures=True)
        done = [c for c in self.cells if c.outcome or c.skipped or c.problems]
        TABLES.extend(matrix.table(done) if done else [])
