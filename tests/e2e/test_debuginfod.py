# SPDX-License-Identifier: GPL-3.0-or-later
"""Debug files from a debuginfod server: only where asked for, and only the very build's."""
import ctypes
import http.server
import subprocess
import threading

import pytest

try:
    ctypes.CDLL("libdebuginfod.so.1")
except OSError:
    pytest.skip("libdebuginfod.so.1 is not installed", allow_module_level=True)


def build_id(path):
    shown = subprocess.run(
        ["readelf", "-n", path], capture_output=True, text=True, check=True
    ).stdout
    return shown.split("Build ID:")[1].split()[0]


@pytest.fixture
def server():
    """A debuginfod of one build: /buildid/HEX/debuginfo; `asked` has what was asked for."""

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            self.server.asked.append(self.path)
            body = self.server.files.get(self.path)
            self.send_response(200 if body else 404)
            self.send_header("Content-Length", str(len(body or b"")))
            self.end_headers()
            self.wfile.write(body or b"")

        def log_message(self, *arguments):
            pass

    httpd = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    httpd.asked, httpd.files = [], {}
    thread = threading.Thread(target=httpd.serve_forever)
    thread.start()
    yield httpd
    httpd.shutdown()
    thread.join()
    httpd.server_close()


@pytest.fixture
def stripped(recipes, tmp_path):
    """The core of a stripped program, and the bytes of its debug file, which lies nowhere."""
    program = recipes.build("crash.c", tmp_path, name="stripped-crash")
    subprocess.run(["objcopy", "--only-keep-debug", program, tmp_path / "debug"], check=True)
    debug = (tmp_path / "debug").read_bytes()
    (tmp_path / "debug").unlink()
    subprocess.run(["strip", program], check=True)
    core = recipes.by_kernel([program, "null"], recipes.new("debuginfod"))
    return core.path, build_id(program), debug


def names(report):
    return [f["function"] for f in report["threads"][0]["frames"]]


def environment(server, tmp_path):
    return {
        "DEBUGINFOD_URLS": f"http://127.0.0.1:{server.server_address[1]}",
        "DEBUGINFOD_CACHE_PATH": str(tmp_path / "cache"),
    }


def test_asked_only_with_the_option(corescan, server, stripped, tmp_path):
    core, identity, debug = stripped
    server.files[f"/buildid/{identity}/debuginfo"] = debug
    env = environment(server, tmp_path)
    without = corescan.report(core, env=env)
    assert not server.asked and "die_null" not in names(without)
    report = corescan.report(core, "--debuginfod", env=env)
    assert names(report)[0] == "die_null"
    assert report["threads"][0]["frames"][0]["file"].endswith("crash.c")
    assert f"/buildid/{identity}/debuginfo" in server.asked


def test_another_build_is_refused(recipes, corescan, server, stripped, tmp_path):
    """A server may answer with anything: names of another build would be lies."""
    core, identity, _ = stripped
    other = recipes.build("crash.c", tmp_path, "-O0", name="other")
    assert build_id(other) != identity
    server.files[f"/buildid/{identity}/debuginfo"] = other.read_bytes()
    report = corescan.report(core, "--debuginfod", env=environment(server, tmp_path))
    assert f"/buildid/{identity}/debuginfo" in server.asked
    assert "die_null" not in names(report)
