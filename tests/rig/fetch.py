# SPDX-License-Identifier: GPL-3.0-or-later
"""Brings the released CUDA builds of PyTorch: downloads, unpacks and completes with stand-ins.

pip downloads what versions.lock names, and compares the hashes. Wheels are archives: unpacked, they
are put on PYTHONPATH. A version is there when its folder has its name; before, it is `NAME.part`.
"""
import collections
import concurrent.futures
import contextlib
import fcntl
import hashlib
import json
import os
import pathlib
import shutil
import subprocess
import sys
import time
import zipfile

import lock
import stubs

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
CACHE = pathlib.Path(os.environ.get("CORESCAN_RIG", ROOT / ".cache/rig"))
PLATFORMS = ("manylinux1_x86_64", "manylinux2014_x86_64", "manylinux_2_28_x86_64")
OLDEST_PIP = (20, 3)  # the first that takes several platforms
# Where nothing on the machine has pip: a wheel of it runs as it is.
PIP_URL = (
    "https://files.pythonhosted.org/packages/ef/7d/"
    "500c9ad20238fcfcb4cb9243eede163594d7020ce87bd9610c9e02771876/pip-24.3.1-py3-none-any.whl"
)
PIP_DIGEST = "3790624780082365f47549d032f3770eeb2b1e8bd1f7b2e02dace1afa361b4ed"

Target = collections.namedtuple("Target", "torch python cuda nccl interpreter folder")


class Unavailable(Exception):
    """What cannot be had here; the text says what and what helps."""


def say(text):
    print(f"rig: {text}", file=sys.stderr, flush=True)


# Pythons


def version_of(path):
    """'3.8'; None if it does not run or lacks what the rig's programs need."""
    code = "import sys, ctypes, json; print('%d.%d' % sys.version_info[:2])"
    try:
        run = subprocess.run(
            [str(path), "-c", code],
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            stdin=subprocess.DEVNULL,
            text=True,
            timeout=20,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return run.stdout.strip() if run.returncode == 0 else None


def candidates(version):
    """Where a Python of this version may be, the first that runs is taken."""
    for entry in filter(None, os.environ.get("CORESCAN_RIG_PYTHONS", "").split(":")):
        path = pathlib.Path(entry)
        if path.is_dir():
            yield from (path / f"bin/python{version}", path / f"python{version}")
            yield from sorted(path.glob(f"{version}*/bin/python{version}"))
        else:
            yield path
    root = pathlib.Path(os.environ.get("PYENV_ROOT", pathlib.Path.home() / ".pyenv"))
    yield from sorted((root / "versions").glob(f"{version}.*/bin/python{version}"))
    for folder in os.get_exec_path():
        yield pathlib.Path(folder) / f"python{version}"
    yield pathlib.Path(f"/usr/bin/python{version}")
    yield pathlib.Path(f"/usr/local/bin/python{version}")
    yield pathlib.Path("/usr/bin/python3")


def find_python(version):
    for path in candidates(version):
        if path.is_file() and version_of(path) == version:
            return path
    return None


def choose(torch, only=None):
    """(section of the lock, interpreter): the version's own Python, or the second one."""
    if torch not in lock.TARGETS:
        raise Unavailable(f"torch {torch} is not one of {', '.join(lock.TARGETS)}")
    wanted = [only] if only else lock.TARGETS[torch]
    for python in wanted:
        path = find_python(python)
        if path:
            return lock.find(torch, python), path
    raise Unavailable(
        f"torch {torch} needs Python {' or '.join(wanted)}, and none was found (looked at "
        "CORESCAN_RIG_PYTHONS, ~/.pyenv/versions, PATH and /usr/bin); "
        f"pyenv install {wanted[0]} brings one"
    )


# Download


def pip_version(command):
    try:
        run = subprocess.run(
            [*command, "--version"], capture_output=True, text=True, timeout=30, check=False
        )
        return tuple(int(n) for n in run.stdout.split()[1].split(".")[:2])
    except (OSError, subprocess.TimeoutExpired, IndexError, ValueError):
        return None


def pip_by_url(folder):
    """pip's own wheel, checked; a Python runs it unpacked or not."""
    import urllib.error
    import urllib.request

    path = folder / PIP_URL.rsplit("/", 1)[1]
    if not path.is_file() or lock.digest(path) != PIP_DIGEST:
        say("no pip here; taking its wheel")
        try:
            with urllib.request.urlopen(PIP_URL, timeout=60) as answer:
                data = answer.read()
        except (OSError, urllib.error.URLError) as problem:
            raise Unavailable(
                f"there is no pip here, and its wheel cannot be had ({problem}); "
                "apt-get install python3-pip helps"
            ) from None
        if hashlib.sha256(data).hexdigest() != PIP_DIGEST:
            raise Unavailable(f"{PIP_URL}: SHA-256 is not {PIP_DIGEST}")
        path.write_bytes(data)
    return [sys.executable, str(path / "pip")]


def find_pip(folder, interpreter=None):
    options = [[sys.executable, "-m", "pip"], ["pip3"], ["pip"]]
    if interpreter:
        options.insert(1, [str(interpreter), "-m", "pip"])
    for command in options:
        if (pip_version(command) or (0,)) >= OLDEST_PIP:
            return command
    return pip_by_url(folder.parent)


def explain(output):
    """What went wrong, in a line, of what pip printed."""
    text = output.lower()
    lines = [line for line in output.splitlines() if line.strip()]
    if "do not match the hashes" in text:
        return "a downloaded file is not the one of versions.lock: a mirror that changes files?"
    if "no space left" in text:
        return "the disk is full"
    if "connection" in text or "timed out" in text or "name resolution" in text:
        return "the network failed; run it again, what is complete stays (PIP_INDEX_URL: a mirror)"
    return lines[-1] if lines else "no message"


def pip_download(folder, python, requirements, deps=False, hashes=False, interpreter=None):
    """Wheels for another Python than the one that runs pip."""
    listed = folder / "requirements.txt"
    listed.write_text("".join(f"{r}\n" for r in requirements), encoding="ascii")
    command = find_pip(folder, interpreter) + [
        "download",
        "--quiet",
        "--disable-pip-version-check",
        "--no-cache-dir",
        "--only-binary=:all:",
        *(f"--platform={p}" for p in PLATFORMS),
        f"--python-version={python}",
        "--implementation=cp",
        *([] if deps else ["--no-deps"]),
        *(["--require-hashes"] if hashes else []),
        "--dest",
        str(folder),
        "--requirement",
        str(listed),
    ]
    run = subprocess.run(
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
        env={**os.environ, "TMPDIR": str(folder)},
    )
    listed.unlink()
    if run.returncode:
        print(run.stdout[-3000:], file=sys.stderr)
        raise Unavailable(f"pip could not download: {explain(run.stdout)}")


# Unpacking


def extract(wheel, names, folder):
    with zipfile.ZipFile(wheel) as archive:
        for name in names:
            archive.extract(name, folder)


def unpack(wheels, folder):
    """All files of the wheels, in two threads of about equal work (zlib lets the GIL go)."""
    members = []
    for wheel in wheels:
        with zipfile.ZipFile(wheel) as archive:
            members += [(info.file_size, wheel, info.filename) for info in archive.infolist()]
    # Beforehand, for two threads would fall over each other's.
    for parent in {(folder / name).parent for _, _, name in members}:
        parent.mkdir(parents=True, exist_ok=True)
    parts = [[0, collections.defaultdict(list)] for _ in range(min(os.cpu_count() or 1, 4))]
    for size, wheel, name in sorted(members, key=lambda m: m[0], reverse=True):
        part = min(parts, key=lambda p: p[0])
        part[0] += size + 10000
        part[1][wheel].append(name)
    with concurrent.futures.ThreadPoolExecutor(len(parts)) as pool:
        jobs = [
            pool.submit(extract, wheel, names, folder)
            for _, work in parts
            for wheel, names in work.items()
        ]
        for job in jobs:
            job.result()


# The cache


def name_of(section):
    return f"torch-{section.torch}-python-{section.python}"


def stamp_of(section):
    """Changes when the lock's section does."""
    return hashlib.sha256(lock.text_of([section]).encode("ascii")).hexdigest()


@contextlib.contextmanager
def turn(cache, name="lock", what="fetching"):
    """One at a time; the other waits and then finds what it wants."""
    cache.mkdir(parents=True, exist_ok=True)
    with open(cache / name, "w", encoding="ascii") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            say(f"another rig is {what}; waiting for it")
            fcntl.flock(file, fcntl.LOCK_EX)
        yield


def is_complete(folder, section):
    try:
        facts = json.loads((folder / "complete").read_text(encoding="ascii"))
    except (OSError, ValueError):
        return False
    return facts.get("lock") == stamp_of(section)


def check_room(cache, section):
    need = section.wheels + section.unpacked + 300
    free = shutil.disk_usage(cache).free // 10**6
    if free < need:
        raise Unavailable(
            f"torch {section.torch} needs {need / 1000:.1f} GB under {cache} for a while and "
            f"{section.unpacked / 1000:.1f} GB for good; {free / 1000:.1f} GB are free "
            "(CORESCAN_RIG names another folder; tests/rig/rig clean removes what was fetched)"
        )


def stubs_stamp():
    return hashlib.sha256((HERE / "stubs.py").read_bytes()).hexdigest()


def are_made(folder):
    mark = folder / "stubs/made"
    return mark.is_file() and mark.read_text(encoding="ascii") == stubs_stamp()


def build_stubs(folder):
    """Stand-ins beside the libraries; made anew when the program that makes them changes."""
    if are_made(folder):
        return
    for tool in ("gcc", "readelf", "nm"):
        if not shutil.which(tool):
            raise Unavailable(
                f"{tool} is missing, the stand-ins are made with it (apt-get install gcc binutils)"
            )
    shutil.rmtree(folder / "stubs", ignore_errors=True)
    libraries = [*(folder / "site/torch/lib").glob("*.so*"), *(folder / "site/torch").glob("*.so")]
    stubs.build(libraries, folder / "stubs")
    (folder / "stubs/made").write_text(stubs_stamp(), encoding="ascii")


def wheels_of(section, folder):
    """The wheels of the section: an earlier lock may have left others, whose download was cut."""
    wanted = {(p.name, p.version) for p in section.pins}
    found = [w for w in sorted(folder.glob("*.whl")) if lock.names_of(w) in wanted]
    if len(found) != len(wanted):
        have = {lock.names_of(w) for w in found}
        missing = ", ".join(name for name, _ in sorted(wanted - have))
        raise Unavailable(f"pip downloaded other files than versions.lock has: no {missing}")
    return found


def bring(section, interpreter, cache):
    """Downloads and unpacks one version into CACHE."""
    folder = cache / name_of(section)
    part = cache / f"{name_of(section)}.part"
    wheels = cache / f"{name_of(section)}.wheels"
    for old in (folder, part):
        shutil.rmtree(old, ignore_errors=True)
    wheels.mkdir(exist_ok=True)
    check_room(cache, section)
    say(
        f"torch {section.torch} for Python {section.python}: {section.wheels} MB to download, "
        f"{section.unpacked} MB unpacked"
    )
    begin = time.monotonic()
    pins = [f"{p.name}=={p.version} --hash=sha256:{p.digest}" for p in section.pins]
    pip_download(wheels, section.python, pins, hashes=True, interpreter=interpreter)
    middle = time.monotonic()
    unpack(wheels_of(section, wheels), part / "site")
    unpacked = time.monotonic()
    build_stubs(part)
    end = time.monotonic()
    facts = {"lock": stamp_of(section)}
    (part / "complete").write_text(json.dumps(facts), encoding="ascii")
    os.rename(part, folder)
    # Only now: if the stand-ins fail, nothing is downloaded twice.
    shutil.rmtree(wheels)
    say(
        f"torch {section.torch}: downloaded in {middle - begin:.0f} s, unpacked in "
        f"{unpacked - middle:.0f} s, stand-ins in {end - unpacked:.0f} s"
    )


def fetch(torch, cache=CACHE, only=None):
    """The Target of a version, brought here if it is not yet."""
    section, interpreter = choose(torch, only)
    cache = cache.resolve()
    folder = cache / name_of(section)
    if not (is_complete(folder, section) and are_made(folder)):
        try:
            with turn(cache):
                if not is_complete(folder, section):
                    bring(section, interpreter, cache)
                build_stubs(folder)
        except OSError as problem:
            raise Unavailable(f"torch {torch}: {problem}") from None
    return Target(torch, section.python, section.cuda, section.nccl, interpreter, folder)


def clean(cache=CACHE):
    """Removes all that was fetched; returns how many versions that were."""
    found = [p for p in cache.glob("torch-*") if p.is_dir()]
    with turn(cache):
        for path in [*found, cache / "runs"]:
            shutil.rmtree(path, ignore_errors=True)
    return len(found)


def write_lock(versions, cache=CACHE):
    """`rig lock`: what PyPI has now for these versions; the others stay as they are."""
    sections = {(s.torch, s.python): s for s in (lock.read() if lock.LOCK.exists() else [])}
    for torch in versions:
        for python in lock.TARGETS[torch]:
            folder = cache / "lock.part"
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir(parents=True)
            sections[torch, python] = lock.section_of(torch, python, pip_download, folder)
            shutil.rmtree(folder)
            say(f"locked torch {torch} for Python {python}")
    known = [(t, p) for t, pythons in lock.TARGETS.items() for p in pythons]
    kept = [sections[pair] for pair in known if pair in sections]
    lock.LOCK.write_text(lock.text_of(kept), encoding="ascii")
