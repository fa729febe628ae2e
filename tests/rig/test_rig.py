# SPDX-License-Identifier: GPL-3.0-or-later
"""Real cores of PyTorch's released builds: the oldest and the newest, all scenarios that fit.

RIG_BUILD is the build whose shim is used, CORESCAN the program. What the network or the machine
does not give is skipped with the reason; a core that is not as its process said fails.
"""
import os
import pathlib
import sys
import types

import pytest

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

import fetch  # noqa: E402  (found by the line above)
import launch  # noqa: E402
import lock  # noqa: E402
import matrix  # noqa: E402

MINUTES = 15


def test_scenarios(capsys):
    args = types.SimpleNamespace(
        cache=fetch.CACHE,
        python=None,
        core=None,
        only=None,
        time=MINUTES,
        jobs=2,
        json=False,
        keep=None,
    )
    build = pathlib.Path(os.environ.get("RIG_BUILD", fetch.ROOT / "build"))
    try:
        launch.need("kernel")
        shim, corescan = matrix.built(build, pathlib.Path(os.environ["CORESCAN"]))
        targets = {}
        for torch in lock.ENDS:
            targets[torch] = fetch.fetch(torch, args.cache)
    except fetch.Unavailable as reason:
        pytest.skip(str(reason))
    with capsys.disabled():
        status = matrix.run(matrix.plan(lock.ENDS, args), shim, corescan, args)
    assert status == 0
