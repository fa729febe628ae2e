# SPDX-License-Identifier: GPL-3.0-or-later
"""Services of PyPI that are well: an idle kernel of a notebook, web servers that wait for requests.

Dumped by gdb while they wait, and while they answer. No finding may be more than possible.
"""
import contextlib
import json
import os
import pathlib
import socket
import subprocess
import sys
import threading
import time
import urllib.request
import venv

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/cores"))
import cores  # noqa: E402

CACHE = ROOT / ".cache/services"
# Exact, so that a run tomorrow tests what one today does.
PACKAGES = ["ipykernel==6.29.5", "flask==3.0.3", "gunicorn==22.0.0", "uvicorn==0.30.6"]
APP = """
import flask, time
app = flask.Flask("app")
@app.route("/")
def root():
    return "well"
@app.route("/slow")
def slow():
    time.sleep(600)
async def asgi(scope, receive, send):
    if scope["type"] == "http":
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b"well"})
"""
SERVERS = {
    "flask": ["-m", "flask", "--app", "app", "run", "--port", "PORT"],
    "gunicorn": ["-m", "gunicorn", "-w", "2", "-b", "127.0.0.1:PORT", "app:app"],
    "gunicorn-threads": ["-m", "gunicorn", "--threads", "4", "-b", "127.0.0.1:PORT", "app:app"],
    "uvicorn": ["-m", "uvicorn", "--port", "PORT", "app:asgi"],
}


@pytest.fixture(scope="session")
def python():
    """An interpreter that has the packages."""
    program = CACHE / "bin/python"
    done = CACHE / "-".join(["complete", *(p.replace("==", "-") for p in PACKAGES)])
    if not done.exists():
        venv.create(CACHE, with_pip=True, clear=True)
        command = [program, "-m", "pip", "install", "-q", "--disable-pip-version-check", *PACKAGES]
        run = subprocess.run(command, capture_output=True, text=True, check=False)
        if run.returncode:
            pytest.skip(f"pip: {run.stderr.strip()[-200:]}")
        done.touch()
    return program


def sure_of(core):
    run = subprocess.run(
        [os.environ["CORESCAN"], "--json", core.path], capture_output=True, text=True, check=False
    )
    report = json.loads(run.stdout)
    assert report["threads"]
    found = [f for f in report["findings"] if f["confidence"] != "possible"]
    return [(f["id"], [e["text"] for e in f["evidence"]]) for f in found]


def answer(port, path="/", limit=30.0):
    """Asks until somebody answers."""
    end = time.monotonic() + limit
    while True:
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{port}{path}", timeout=limit) as page:
                return page.read()
        except OSError:
            if time.monotonic() > end:
                raise
            time.sleep(0.2)


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def children_of(pid):
    text = pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text(encoding="ascii")
    return [int(word) for word in text.split()]


def dump(command, folder, ask, pid_of):
    """Starts COMMAND, waits for ASK() to succeed, and dumps the process of PID_OF."""

    def ready(process):
        ask()
        time.sleep(0.5)
        return pid_of(process.pid)

    # The recipe waits for a word on standard output, which the shell says at once.
    shell = ["/bin/sh", "-c", 'echo ready; exec "$@" >server.log 2>&1', "sh", *command]
    try:
        return cores.by_gcore([str(word) for word in shell], folder, pid_of=ready)
    except cores.Unavailable as why:
        pytest.skip(str(why))


CASES = [
    (name, busy, worker)
    for name in SERVERS
    for busy in ("idle", "busy")
    for worker in ("server", "worker")
    # What uvicorn runs here never blocks, and only gunicorn has workers.
    if not (busy == "busy" and name == "uvicorn")
    and (worker == "server" or name.startswith("gunicorn"))
]


@pytest.mark.parametrize("name, busy, worker", CASES, ids=["-".join(c) for c in CASES])
def test_a_web_server(python, tmp_path, name, busy, worker):
    (tmp_path / "app.py").write_text(APP, encoding="ascii")
    port = str(free_port())
    command = [python, *(word.replace("PORT", port) for word in SERVERS[name])]

    def slowly():
        with contextlib.suppress(OSError):
            answer(port, "/slow")

    def ask():
        assert answer(port) == b"well"
        if busy == "busy":
            threading.Thread(target=slowly, daemon=True).start()
            time.sleep(0.5)

    of_worker = worker == "worker"
    core = dump(command, tmp_path, ask, lambda pid: children_of(pid)[0] if of_worker else pid)
    assert not sure_of(core)


def test_an_idle_kernel(python, tmp_path):
    connection = tmp_path / "kernel.json"

    def ask():
        end = time.monotonic() + 60
        while not connection.exists():
            assert time.monotonic() < end, (tmp_path / "server.log").read_text()
            time.sleep(0.2)
        time.sleep(2)

    command = [python, "-m", "ipykernel_launcher", "-f", connection]
    core = dump(command, tmp_path, ask, lambda pid: pid)
    assert not sure_of(core)
