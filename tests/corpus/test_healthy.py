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
    # Threads that take one lock after the other, in one order, all the time.
    "locks": "import threading, time\na, b = threading.Lock(), threading.RLock()\n"
    "def work():\n    while True:\n        with a, b:\n            time.sleep(0.001)\n"
    "for _ in range(4):\n    threading.Thread(target=work, daemon=True).start()\n"
    + READY
    + "work()\n",
    "http": "import http.server\n"
    "s = http.server.ThreadingHTTPServer(('127.0.0.1', 0), http.server.SimpleHTTPRequestHandler)\n"
    + READY
    + "s.serve_forever()\n",
    "logs": "import logging, logging.handlers, queue, threading, time\nq = queue.Queue()\n"
    "logging.handlers.QueueListener(q, logging.NullHandler()).start()\n"
    "logging.getLogger().addHandler(logging.handlers.QueueHandler(q))\n"
    "def work():\n    while True:\n        logging.error('a line')\n        time.sleep(0.001)\n"
    "for _ in range(3):\n    threading.Thread(target=work, daemon=True).start()\n"
    + READY
    + "work()\n",
    "processes": "import concurrent.futures as f, time\nif __name__ == '__main__':\n"
    "    p = f.ProcessPoolExecutor(2)\n    list(p.map(abs, range(9)))\n    "
    + READY
    + "    time.sleep(600)\n",
    "join": "import threading, time\nt = threading.Thread(target=time.sleep, args=(600,))\n"
    "t.start()\n" + READY + "t.join()\n",
    "timer": "import sched, threading, time\nthreading.Timer(600, print).start()\n"
    "s = sched.scheduler()\ns.enter(600, 1, print)\n" + READY + "s.run()\n",
    # The main thread has come to its end, and waits for the one that serves.
    "ends": "import threading, time\nthreading.Thread(target=time.sleep, args=(600,)).start()\n"
    + READY,
    "multiplies": "import numpy as n\na = n.ones((1500, 1500))\n"
    + READY
    + "while True:\n    a @ a\n",
    "read": "import os\nr, w = os.pipe()\n" + READY + "os.read(r, 1)\n",
}
# Of these the child is looked at, which puts its number into a file.
CHILD = "import os\ndef child():\n    open('child', 'w').write(str(os.getpid()))\n"
CHILDREN = {
    "pool": CHILD + "import multiprocessing as m, time\n"
    "p = m.get_context('fork').Pool(1, child)\np.map(abs, range(9))\n"
    + READY
    + "time.sleep(600)\n",
    "executor": CHILD + "import concurrent.futures as f, multiprocessing as m, time\n"
    "p = f.ProcessPoolExecutor(1, m.get_context('fork'), child)\nlist(p.map(abs, range(9)))\n"
    + READY
    + "time.sleep(600)\n",
    "works": CHILD + "import multiprocessing as m, threading, time\n"
    "threading.Thread(target=time.sleep, args=(600,), daemon=True).start()\n"
    "def work():\n    child()\n    " + READY + "    while True:\n        sum(range(1000))\n"
    "p = m.get_context('fork').Process(target=work)\np.start()\np.join()\n",
    "sleeps": CHILD + "import multiprocessing as m, threading, time\n"
    "threading.Thread(target=time.sleep, args=(600,), daemon=True).start()\n"
    "def work():\n    child()\n    " + READY + "    time.sleep(600)\n"
    "p = m.get_context('fork').Process(target=work)\np.start()\np.join()\n",
}
# With PyTorch for the CPU: Debian's python3-torch.
STEP = (
    "def step(m=torch.nn.Linear(512, 512)):\n"
    "    m(torch.randn(256, 512)).pow(2).mean().backward()\n"
)
DATA = (
    "import torch.utils.data\nclass D(torch.utils.data.Dataset):\n"
    "    def __len__(self):\n        return 10**6\n"
    "    def __getitem__(self, i):\n        return torch.randn(512)\n"
)
TORCH = {
    "trains": "import torch\n" + STEP + "step()\n" + READY + "while True:\n    step()\n",
    "loads": "import torch, time\n"
    + STEP
    + DATA
    + "l = torch.utils.data.DataLoader(D(), 64, num_workers=2)\nfor i, x in enumerate(l):\n"
    "    step()\n    if i == 5:\n        "
    + READY,
    "has-loaded": "import torch, time\n"
    + DATA
    + "l = torch.utils.data.DataLoader(D(), 64, num_workers=2)\ni = iter(l)\nnext(i)\n"
    "time.sleep(0.5)\n" + READY + "time.sleep(600)\n",
}
TORCH_CHILDREN = {
    "loader": CHILD + "import torch, time\n"
    + DATA
    + "l = torch.utils.data.DataLoader(D(), 64, num_workers=1, worker_init_fn=lambda _: child())\n"
    "for i, x in enumerate(l):\n    if i == 5:\n        " + READY,
    "loader-idle": CHILD + "import torch, time\n"
    + DATA
    + "l = torch.utils.data.DataLoader(D(), 64, num_workers=1, worker_init_fn=lambda _: child())\n"
    "i = iter(l)\nnext(i)\ntime.sleep(0.5)\n" + READY + "time.sleep(600)\n",
    # Hogwild: forked processes train, and may, for the parent never did.
    "trainer": CHILD + "import torch, multiprocessing as m\ntorch.set_num_threads(2)\n"
    + STEP
    + "def work():\n    child()\n    step()\n    " + READY + "    while True:\n        step()\n"
    "p = m.get_context('fork').Process(target=work)\np.start()\np.join()\n",
}


def sure_of(report):
    """The findings that are more than possible, with what was seen."""
    found = [f for f in report["findings"] if f["confidence"] != "possible"]
    return [(f["id"], [e["text"] for e in f["evidence"]]) for f in found]


def look(command, folder, **options):
    try:
        core = cores.by_gcore(command, folder, **options)
    except cores.Unavailable as why:
        pytest.skip(str(why))
    run = subprocess.run(
        [os.environ["CORESCAN"], "--json", core.path], capture_output=True, text=True, check=False
    )
    report = json.loads(run.stdout)
    assert len(report["threads"]) >= 1
    return report


def program_of(folder, text):
    program = folder / "program.py"
    program.write_text(text)
    return program


def need_torch():
    if subprocess.run([sys.executable, "-c", "import torch"], check=False).returncode:
        pytest.skip(f"{sys.executable} has no torch (Debian: python3-torch)")


@pytest.mark.parametrize("name", PROGRAMS)
def test_nothing_is_more_than_possible(name, tmp_path):
    if "import numpy" in PROGRAMS[name]:
        pytest.importorskip("numpy")
    report = look([sys.executable, program_of(tmp_path, PROGRAMS[name])], tmp_path)
    assert not sure_of(report)


@pytest.mark.parametrize("name", TORCH)
def test_torch(name, tmp_path):
    need_torch()
    report = look([sys.executable, program_of(tmp_path, TORCH[name])], tmp_path)
    assert not sure_of(report)


def child_of(folder, text):
    return look(
        [sys.executable, program_of(folder, text)],
        folder,
        pid_of=lambda _: int((folder / "child").read_text()),
    )


@pytest.mark.parametrize("name", CHILDREN)
def test_a_child(name, tmp_path):
    assert not sure_of(child_of(tmp_path, CHILDREN[name]))


@pytest.mark.parametrize("name", TORCH_CHILDREN)
def test_a_child_of_torch(name, tmp_path):
    need_torch()
    assert not sure_of(child_of(tmp_path, TORCH_CHILDREN[name]))
