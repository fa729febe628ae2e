# SPDX-License-Identifier: GPL-3.0-or-later
"""An exception of Python that nobody caught, and a hook that aborts for it: that is the cause.

Beside it what looks the same and is not: an exception that was printed and left behind before
the process died of something else.
"""
import json
import os
import pathlib
import subprocess
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "cores"))
import cores  # noqa: E402

RAISE = "raise RuntimeError('CUDA error: device-side assert triggered')\n"
HOOK = "import os, sys\nsys.excepthook = lambda *_: os.abort()\n" + RAISE
# As an interactive loop does: it prints, and goes on.
LEFT = (
    "import os, sys\ntry:\n    " + RAISE + "except RuntimeError as e:\n"
    "    sys.last_type, sys.last_value, sys.last_exc = type(e), e, e\n"
    "os.abort()\n"
)
NAMES = [v for v, _ in cores.pythons()]


def is_stripped(python):
    """True without the name of the function that prints, in the program or its library."""
    cores.need("nm")
    files = [python.resolve(), *python.resolve().parents[1].glob("lib/libpython3*.so.*")]
    names = [
        subprocess.run(["nm", file], capture_output=True, text=True, check=False).stdout
        for file in files
    ]
    return not any("PyErr_PrintEx" in text for text in names)


def first(text, folder, version):
    program = folder / "program.py"
    program.write_text(text, encoding="ascii")
    try:
        core = cores.by_kernel([dict(cores.pythons())[version], program], folder)
    except cores.Unavailable as why:
        pytest.skip(str(why))
    run = subprocess.run(
        [os.environ["CORESCAN"], "--json", core.path], capture_output=True, text=True, check=False
    )
    return [(f["id"], f["confidence"]) for f in json.loads(run.stdout)["findings"]][:1]


@pytest.mark.parametrize("version", NAMES)
def test_a_hook_that_aborts(tmp_path, version):
    # A stripped interpreter does not tell that it was printing.
    sure = "likely" if is_stripped(dict(cores.pythons())[version]) else "certain"
    assert first(HOOK, tmp_path, version) == [("cuda-device-assert", sure)]


@pytest.mark.parametrize("version", NAMES)
def test_an_exception_that_was_left_behind(tmp_path, version):
    assert first(LEFT, tmp_path, version) == [("cuda-device-assert", "likely")]
