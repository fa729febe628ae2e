# SPDX-License-Identifier: GPL-3.0-or-later
"""A process that is well, dumped by gcore, has no finding that is more than possible.

Each program waits, works or handles exceptions as healthy services do. It says "ready" when it is
where it should be looked at.
"""
import json
import os
import pathlib
import subprocess
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "cores"))
import cores  # noqa: E402

READY = "print('ready', flush=True)\n"
PROGRAMS = {
    "sleeps": READY + "import time\ntime.sleep(600)\n",
    "works": READY + "while True:\n    sum(range(1000))\n",
    "pool": "import concurrent.futures as f, time\n"
    "p = f.ThreadPoolExecutor(8)\nlist(p.map(abs, range(100)))\n" + READY + "time.sleep(600)\n",
    "queue": "import queue, threading\nq = queue.Queue()\n"
    "for _ in range(4):\n    threading.Thread(target=q.get, daemon=True).start()\n"
    + READY
    + "q.get()\n",
    "asyncio": "import asyncio\nasync def main():\n    "
    + READY
    + "    await asyncio.sleep(600)\nasyncio.run(main())\n",
    "server": "import socketserver, threading\n"
    "s = socketserver.TCPServer(('127.0.0.1', 0), socketserver.BaseRequestHandler)\n"
    "threading.Thread(target=s.serve_forever, daemon=True).start()\n"
    + READY
    + "threading.Event().wait()\n",
    "parent": "import multiprocessing as m\nif __name__ == '__main__':\n"
    "    p = m.get_context('spawn').Pool(2)\n    p.map(abs, range(9))\n    "
    + READY
    + "    p.apply(__import__('time').sleep, (600,))\n",
    "subprocess": "import subprocess\np = subprocess.Popen(['sleep', '60'])\n"
    + READY
    + "p.wait()\n",
    "handles": "import time\ntry:\n"
    "    raise RuntimeError('CUDA out of memory. Tried to allocate 2.00 GiB')\n"
    "except RuntimeError:\n    " + READY + "    time.sleep(600)\n",
    "busy": "import threading\ndef work():\n    while True:\n        sum(range(1000))\n"
    "for _ in range(3):\n    threading.Thread(target=work, daemon=True).start()\n"
    + READY
    + "work()\n",
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_nothing_is_more_than_possible(name, tmp_path):
    program = tmp_path / "program.py"
    program.write_text(PROGRAMS[name])
    try:
        core = cores.by_gcore([sys.executable, program], tmp_path)
    except cores.Unavailable as why:
        pytest.skip(str(why))
    run = subprocess.run(
        [os.environ["CORESCAN"], "--json", core.path], capture_output=True, text=True, check=False
    )
    report = json.loads(run.stdout)
    assert len(report["threads"]) >= 1
    sure = [f for f in report["findings"] if f["confidence"] != "possible"]
    assert not sure, [(f["id"], f["evidence"]) for f in sure]
