# SPDX-License-Identifier: GPL-3.0-or-later
"""The command line: messages, exit status, streams."""
import os
import re
import subprocess

import pytest

from conftest import ROOT


def one_line(text):
    """The only line of `text`, which must begin with the program's name."""
    assert text.endswith("\n") and text.count("\n") == 1, text
    assert text.startswith("corescan: "), text
    return text


@pytest.mark.parametrize(
    "arguments, part",
    [
        ([], "no core file given"),
        (["--frobnicate", "core"], "no option --frobnicate"),
        (["-Z", "core"], "no option -Z"),
        (["core", "--exe"], "--exe needs a value"),
        (["--exe", "/no/such/file", "core"], "--exe /no/such/file"),
        (["--exe", "/", "core"], "not a regular file"),
        (["--sysroot", "/etc/passwd", "core"], "not a directory"),
        (["--lib-path", "/no/such", "core"], "--lib-path /no/such"),
        (["--debug-dir", "/no/such", "core"], "--debug-dir /no/such"),
        (["--time-limit", "soon", "core"], "--time-limit soon"),
        (["--color=often", "core"], "auto, always or never"),
        (["--json=yes", "core"], "--json takes no value"),
        (["--pid", "1", "core"], "no meaning for corescan analyze"),
        (["doctor", "--all"], "no meaning for corescan doctor"),
        (["doctor", "core"], "./doctor"),
        (["doctor", "--pid", "zero"], "--pid zero"),
        (["-", "-"], "standard input"),
        (["match"], "match needs a FILE"),
        (["match", "report.txt", "--records", "x"], "not both"),
        (["match", "-", "-"], "can be read only once"),
        (["match", "--records", ""], "--records needs a FILE"),
        (["--records", "x", "core"], "no meaning for corescan analyze"),
        (["signatures"], "signatures needs a word what to do"),
        (["signatures", "frobnicate"], "signatures needs a word what to do"),
        (["signatures", "show"], "signatures show needs an id"),
        (["signatures", "show", "no-such"], "there is no signature no-such"),
        (["signatures", "list", "x"], "signatures list takes no argument"),
        (["signatures", "list", "--json"], "no meaning for corescan signatures"),
        (["--signatures", "/etc/passwd", "core"], "not a directory"),
    ],
)
def test_wrong_usage_names_the_option(corescan, arguments, part):
    run = corescan(*arguments)
    assert run.returncode == 2
    assert run.stdout == ""
    assert part in one_line(run.stderr)


def test_help_and_version(corescan):
    run = corescan("--help")
    assert run.returncode == 0 and run.stderr == ""
    assert run.stdout.startswith("Usage: corescan ")
    assert all(len(line) <= 100 for line in run.stdout.splitlines())
    run = corescan("--version")
    assert run.returncode == 0
    assert re.fullmatch(r"corescan \d+\.\d+\.\d+\n", run.stdout)
    cmake = (ROOT / "CMakeLists.txt").read_text()
    assert f"project(corescan VERSION {run.stdout.split()[1]} " in cmake


def test_every_exit_status_is_in_the_man_page(corescan):
    page = (ROOT / "docs/corescan.1").read_text()
    section = page.split(".Sh EXIT STATUS")[1].split(".Sh ")[0]
    helped = re.findall(r"\b(\d) ", corescan("--help").stdout.split("Exit status:")[1])
    assert helped == re.findall(r"^\.It (\d)$", section, re.M) == list("01234")


@pytest.fixture(
    params=["directory", "empty", "text", "executable", "fifo", "device", "missing", "secret"]
)
def not_a_core(request, tmp_path):
    path = tmp_path / f"some {request.param}"
    if request.param == "directory":
        path.mkdir()
    elif request.param == "fifo":
        os.mkfifo(path)
    elif request.param == "device":
        return "/dev/zero"
    elif request.param == "executable":
        path.write_bytes(open("/bin/true", "rb").read())
    elif request.param == "secret":
        path.write_bytes(b"\x7fELF")
        path.chmod(0)
        if os.access(path, os.R_OK):
            pytest.skip("root may read everything")
    elif request.param != "missing":
        path.write_bytes(b"" if request.param == "empty" else b"Traceback: no core\n" * 100)
    return path


def test_not_a_core_is_one_line_and_status_3(corescan, not_a_core):
    run = corescan(not_a_core, timeout=20)
    assert run.returncode == 3
    assert run.stdout == ""
    assert str(not_a_core) in one_line(run.stderr)


def test_not_a_core_as_json(corescan, tmp_path):
    import json

    run = corescan("--json", tmp_path, tmp_path / "missing")
    assert run.returncode == 3
    reports = [json.loads(line) for line in run.stdout.splitlines()]
    assert [r["input"]["path"] for r in reports] == [str(tmp_path), str(tmp_path / "missing")]
    for report in reports:
        assert report["schema"] == "corescan-report/1"
        (diagnostic,) = report["diagnostics"]
        assert diagnostic["severity"] == "error"
        assert diagnostic["text"] in run.stderr


def test_names_from_the_command_line_cannot_drive_the_terminal(corescan, tmp_path):
    path = tmp_path / "a\033]0;owned\007"
    path.mkdir()
    run = corescan(path)
    assert run.returncode == 3
    assert "\033" not in run.stderr and "\\x1b" in run.stderr


def test_a_full_disk_is_told(corescan):
    if not os.path.exists("/dev/full"):
        pytest.skip("no /dev/full")
    with open("/dev/full", "w", encoding="ascii") as full:
        run = corescan("doctor", stdout=full)
    assert run.returncode == 3
    assert "No space left" in one_line(run.stderr)


def test_a_closed_standard_output_is_told(corescan):
    run = subprocess.run(
        ["sh", "-c", 'exec "$1" doctor >&-', "sh", str(corescan.path)],
        stderr=subprocess.PIPE,
        text=True,
        check=False,
    )
    assert run.returncode == 3
    one_line(run.stderr)


def test_a_reader_who_leaves_is_no_error(corescan):
    run = subprocess.run(
        ["sh", "-c", '"$1" doctor --json | true', "sh", str(corescan.path)],
        stderr=subprocess.PIPE,
        text=True,
        check=False,
    )
    assert run.stderr == ""


def test_output_file(corescan, tmp_path):
    path = tmp_path / "report"
    run = corescan("doctor", "--json", "-o", path)
    assert run.stdout == ""
    assert path.read_text().startswith('{"schema":"corescan-doctor/1"')
    run = corescan("doctor", "-o", tmp_path / "no" / "such")
    assert run.returncode == 3
    assert "--output" in one_line(run.stderr)


def test_color(corescan):
    assert "\033" not in corescan("doctor").stdout
    assert "\033" in corescan("doctor", "--color=always").stdout
    assert "\033" in corescan("doctor", "--color=always", env={"NO_COLOR": "1"}).stdout
    assert "\033" not in corescan("doctor", "--color=never").stdout


def on_terminal(corescan, *arguments, **env):
    """What the program writes when its standard output is a terminal of 72 columns."""
    import fcntl
    import pty
    import struct
    import termios

    master, slave = pty.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 72, 0, 0))
    corescan(*arguments, stdout=slave, env=env)
    os.close(slave)
    out = b""
    try:
        while chunk := os.read(master, 65536):
            out += chunk
    except OSError:
        pass  # the other end is closed: all was read
    os.close(master)
    return out.decode()


def test_terminal(corescan):
    assert "\033[" in on_terminal(corescan, "doctor", TERM="xterm")
    assert "\033[" not in on_terminal(corescan, "doctor", TERM="xterm", NO_COLOR="1")
    assert "\033[" not in on_terminal(corescan, "doctor", TERM="dumb")
    assert "\033[" not in on_terminal(corescan, "doctor", "--json", TERM="xterm")
