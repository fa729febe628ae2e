# SPDX-License-Identifier: GPL-3.0-or-later
"""corescan doctor against the machine that the test runs on: what it says must be what happens."""
import json
import os
import pathlib
import resource
import signal
import subprocess
import sys

import pytest

from conftest import CRASH, allow_cores


def checks(run):
    report = json.loads(run.stdout)
    assert report["schema"] == "corescan-doctor/1"
    return report, {check["id"]: check for check in report["checks"]}


def limit(soft):
    hard = resource.getrlimit(resource.RLIMIT_CORE)[1]
    return lambda: resource.setrlimit(resource.RLIMIT_CORE, (soft if soft >= 0 else hard, hard))


def crash(folder, before):
    """Files that a crash leaves in `folder`."""
    subprocess.run([sys.executable, "-c", CRASH], cwd=folder, preexec_fn=before, check=False)
    return list(folder.iterdir())


def test_yes_means_that_a_core_is_written(corescan, cores_land_here, tmp_path):
    if resource.getrlimit(resource.RLIMIT_CORE)[1] != resource.RLIM_INFINITY:
        pytest.skip("the hard limit of core files is not unlimited")
    run = corescan("doctor", "--json", cwd=tmp_path, preexec_fn=allow_cores)
    report, _ = checks(run)
    assert run.returncode == 0, run.stdout
    assert report["would_leave_core"] is True
    assert report["destination"] == str(tmp_path)
    assert len(crash(tmp_path, allow_cores)) == 1


def test_no_means_that_none_is_written(corescan, cores_land_here, tmp_path):
    run = corescan("doctor", "--json", cwd=tmp_path, preexec_fn=limit(0))
    report, found = checks(run)
    assert run.returncode == 1
    assert report["would_leave_core"] is False
    assert found["core-limit"]["result"] == "problem"
    assert found["core-limit"]["fixes"]
    assert crash(tmp_path, limit(0)) == []


def test_the_remedy_helps(corescan, cores_land_here, tmp_path):
    """The first command that is told, run in a shell before the crash, leads to a core."""
    run = corescan("doctor", "--json", cwd=tmp_path, preexec_fn=limit(0))
    command = checks(run)[1]["core-limit"]["fixes"][0]["command"]
    if not command.startswith("ulimit"):
        pytest.skip(f"not a command for this shell: {command}")
    subprocess.run(
        ["sh", "-c", f'{command}; exec "$@"', "sh", sys.executable, "-c", CRASH],
        cwd=tmp_path,
        preexec_fn=limit(0),
        check=False,
    )
    assert len(list(tmp_path.iterdir())) == 1


def test_a_running_process(corescan, tmp_path):
    with subprocess.Popen(
        [sys.executable, "-c", "import signal; signal.pause()"],
        cwd=tmp_path,
        preexec_fn=limit(0),
    ) as process:
        try:
            run = corescan("doctor", "--json", "--pid", process.pid)
        finally:
            process.send_signal(signal.SIGKILL)
    report, found = checks(run)
    assert report["pid"] == process.pid
    assert found["core-limit"]["value"].startswith("0 ")
    assert f"--pid {process.pid} " in found["core-limit"]["fixes"][0]["command"]


def test_no_such_process(corescan):
    run = corescan("doctor", "--pid", 2**31 - 1)
    assert run.returncode == 3
    assert "no process" in run.stderr


def test_a_folder_that_may_not_be_written(corescan, cores_land_here, tmp_path):
    if os.geteuid() == 0:
        pytest.skip("root may write everywhere")
    tmp_path.chmod(0o500)
    run = corescan("doctor", "--json", cwd=tmp_path, preexec_fn=allow_cores)
    tmp_path.chmod(0o700)
    assert checks(run)[1]["core-folder"]["result"] == "problem"


def test_values_are_those_of_the_machine(corescan):
    _, found = checks(corescan("doctor", "--json"))
    pattern = pathlib.Path("/proc/sys/kernel/core_pattern").read_text().strip()
    assert found["core-pattern"]["value"] == pattern
    mask = int(pathlib.Path("/proc/self/coredump_filter").read_text(), 16)
    assert int(found["coredump-filter"]["value"], 16) == mask


def test_text_has_what_json_has(corescan):
    _, found = checks(corescan("doctor", "--json"))
    text = corescan("doctor").stdout
    assert text.startswith("Would a crash of what is started here leave a whole core? ")
    words = " ".join(text.split())
    for check in found.values():
        assert check["title"] in words
        assert " ".join((check["text"] or "").split()) in words
        for fix in check["fixes"]:
            assert fix["command"] in text
