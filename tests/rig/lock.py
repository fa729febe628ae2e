# SPDX-License-Identifier: GPL-3.0-or-later
"""What the rig downloads: the versions of torch it knows, and the lock file with their hashes.

versions.lock has one section for each pair of torch and Python:

    torch 1.13.1 python 3.8 cuda 11.7 nccl 2.14.3 wheels 905 unpacked 1890
        torch==1.13.1 sha256:727d...

The two sizes are in MB. `rig lock` writes it anew (docs/HOWTO-rig.md).
"""
import collections
import hashlib
import operator
import pathlib
import re
import zipfile

HERE = pathlib.Path(__file__).resolve().parent
LOCK = HERE / "versions.lock"

# The Python that each version runs under, then the one to be used where that is not found.
TARGETS = {
    "1.13.1": ("3.8", "3.11"),
    "2.1.2": ("3.10", "3.11"),
    "2.4.1": ("3.9", "3.11"),
    "2.6.0": ("3.11",),
    "2.9.1": ("3.12", "3.11"),
    "2.14.1": ("3.13", "3.11"),
}
# Those that a short run takes: the oldest and the newest.
ENDS = ("1.13.1", "2.14.1")
COMPARE = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "==": operator.eq,
    "!=": operator.ne,
}
# Requirements of the wheel that the stand-ins and the shim take the place of.
PLAYED = re.compile(r"(nvidia|cuda|triton)\b")
HEAD = re.compile(
    r"torch (\S+) python (\d+\.\d+) cuda (\d+\.\d+) nccl (\d+\.\d+\.\d+) "
    r"wheels (\d+) unpacked (\d+)"
)
PIN = re.compile(r"([A-Za-z0-9._-]+)==([A-Za-z0-9.]+) sha256:([0-9a-f]{64})")

Pin = collections.namedtuple("Pin", "name version digest")
Section = collections.namedtuple("Section", "torch python cuda nccl wheels unpacked pins")


class Bad(Exception):
    """A file of the rig that is not as it must be; the text names file and line."""


def number(version):
    """2.14.1 as something that compares."""
    return tuple(int(n) for n in version.split("."))


def parse(text, name="versions.lock"):
    """Sections of a lock file."""
    found = []
    for n, line in enumerate(text.splitlines(), 1):
        head, pin = HEAD.fullmatch(line.strip()), PIN.fullmatch(line.strip())
        if not line.strip() or line.startswith("#"):
            continue
        if head:
            torch, python, cuda, nccl, wheels, unpacked = head.groups()
            found.append(Section(torch, python, cuda, nccl, int(wheels), int(unpacked), []))
        elif pin and found:
            found[-1].pins.append(Pin(*pin.groups()))
        else:
            raise Bad(
                f"{name}:{n}: neither the head of a section nor NAME==VERSION sha256:HASH: "
                f"{line.strip()[:60]!r}; `tests/rig/rig lock` writes it anew"
            )
    return found


def read(path=LOCK):
    try:
        return parse(path.read_text(encoding="ascii"), path.name)
    except OSError as problem:
        raise Bad(f"{path}: {problem.strerror}; it belongs to the tree") from None


def text_of(sections):
    lines = [
        "# What tests/rig/rig downloads, from PyPI; written by `tests/rig/rig lock`.",
        "# Sizes are in MB.",
    ]
    for s in sections:
        lines.append(
            f"torch {s.torch} python {s.python} cuda {s.cuda} nccl {s.nccl} "
            f"wheels {s.wheels} unpacked {s.unpacked}"
        )
        lines += [f"    {p.name}=={p.version} sha256:{p.digest}" for p in s.pins]
    return "\n".join(lines) + "\n"


def find(torch, python):
    for section in read():
        if (section.torch, section.python) == (torch, python):
            return section
    raise Bad(f"{LOCK.name} has nothing for torch {torch} with Python {python}; `rig lock` adds it")


def digest(path):
    found = hashlib.sha256()
    with open(path, "rb") as file:
        while block := file.read(1 << 20):
            found.update(block)
    return found.hexdigest()


def asked_for(requirement, python):
    """Whether a requirement is one under this Python: pip would ask the Python that runs it."""
    found = re.search(r"python_version (<=?|>=?|[=!]=) ['\"]([\d.]+)['\"]", requirement)
    return not found or COMPARE[found.group(1)](number(python), number(found.group(2)))


def requirements(wheel, torch, python):
    """What a wheel of torch asks for, without what is played and what is optional."""
    with zipfile.ZipFile(wheel) as archive:
        (name,) = [n for n in archive.namelist() if n.endswith(".dist-info/METADATA")]
        metadata = archive.read(name).decode("utf-8")
    found = [m.strip() for m in re.findall(r"^Requires-Dist: (.*)$", metadata, re.M)]
    kept = [
        r.partition(";")[0].strip()
        for r in found
        if "extra ==" not in r and not PLAYED.match(r) and asked_for(r, python)
    ]
    return [*kept, "numpy<2" if number(torch) < (2, 3) else "numpy"], metadata


def nccl_of(wheel, metadata):
    """The version that a wheel was linked with: as a requirement, or inside."""
    wanted = re.search(r"nvidia-nccl-cu\d+ ?\(?==(\d+\.\d+\.\d+)", metadata)
    if wanted:
        return wanted.group(1)
    with zipfile.ZipFile(wheel) as archive:
        for name in archive.namelist():
            if re.search(r"lib/libtorch_cuda\w*\.so$", name):
                banner = re.search(rb"NCCL version (\d+\.\d+\.\d+)\+cuda", archive.read(name))
                if banner:
                    return banner.group(1).decode("ascii")
    raise Bad(f"{wheel.name} does not say which NCCL it was linked with")


def cuda_of(wheel):
    with zipfile.ZipFile(wheel) as archive:
        text = archive.read("torch/version.py").decode("utf-8")
    found = re.search(r"^cuda.*= '(\d+\.\d+)'$", text, re.M)
    if not found:
        raise Bad(f"{wheel.name} is not a CUDA build: its version.py names no CUDA")
    return found.group(1)


def names_of(wheel):
    """(name, version) of a wheel's file."""
    name, version = wheel.name.split("-")[:2]
    return name.lower().replace("_", "-"), version


def pin_of(wheel):
    return Pin(*names_of(wheel), digest(wheel))


def section_of(torch, python, download, folder):
    """Downloads what is newest now; download(folder, python, requirements) does it."""
    download(folder, python, [f"torch=={torch}"], deps=False)
    (wheel,) = folder.glob("torch-*.whl")
    wanted, metadata = requirements(wheel, torch, python)
    download(folder, python, wanted, deps=True)
    wheels = sorted(folder.glob("*.whl"), key=lambda w: (w != wheel, w.name.lower()))
    unpacked = 0
    for path in wheels:
        with zipfile.ZipFile(path) as archive:
            unpacked += sum(i.file_size for i in archive.infolist())
    return Section(
        torch,
        python,
        cuda_of(wheel),
        nccl_of(wheel, metadata),
        -(-sum(w.stat().st_size for w in wheels) // 10**6),
        -(-unpacked // 10**6),
        [pin_of(w) for w in wheels],
    )
