# SPDX-License-Identifier: GPL-3.0-or-later
"""As test_frames.py, for Pythons that are fetched: Debian's newest, and a free-threaded one."""
import pathlib
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

import ahead  # noqa: E402  (found by the line above)
import fetch  # noqa: E402
import matrix  # noqa: E402
import recipes  # noqa: E402

try:
    PYTHONS, WHY = fetch.fetch(), None
except recipes.cores.Unavailable as reason:
    PYTHONS, WHY = [], str(reason)
CELLS = matrix.cells(PYTHONS, recipes.ALL, ("kernel", "gcore"), everything=False)


@pytest.fixture(scope="module")
def cells(tmp_path_factory):
    made = ahead.Ahead(CELLS, tmp_path_factory.mktemp("frames"))
    yield made
    made.finish()


@pytest.mark.parametrize("cell", CELLS or [None], ids=str)
def test_frames(cells, cell):
    if cell is None:
        pytest.skip(WHY)
    cells.check(cell)


@pytest.mark.parametrize("version", [*fetch.VERSIONS, *(v + "t" for v in fetch.FREE_THREADED)])
def test_versions(version):
    """All that were asked for were there."""
    if not PYTHONS:
        pytest.skip(WHY)
    number, free = version.rstrip("t"), version.endswith("t")
    assert any(p.name.startswith(number) and p.free == free for p in PYTHONS)
