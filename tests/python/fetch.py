#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Newer Pythons for the tests: Debian's builds of 3.13 to 3.15, and free-threaded builds.

    fetch.py [--cache .cache/pythons] [--free-threaded 3.14] [--update]

Debian's development suite has the stripped builds with link time optimization and the JIT
compiler. apt fetches the packages that pythons.lock names (with its own check of signatures),
their SHA-256 is compared with the lock, and they are unpacked beside the system, not installed; in
the programs the name of the loader is overwritten, nothing else, so that they use the C library
that came with them. A package that has left the mirror is replaced by the newer one, with a
warning; --update writes a new lock. The free-threaded Python is built from the stable suite's
source package.
"""
import argparse
import fcntl
import hashlib
import os
import pathlib
import re
import shutil
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
CACHE = pathlib.Path(os.environ.get("CORESCAN_PYTHONS", ROOT / ".cache/pythons"))
LOCK = HERE / "pythons.lock"
SUITE = "sid"
SOURCES = "trixie"
VERSIONS = ("3.13", "3.14", "3.15")
FREE_THREADED = ("3.13",)
INTERPRETER = b"/lib64/ld-linux-x86-64.so.2"
TRIPLET = "x86_64-linux-gnu"
KEYRING = "/usr/share/keyrings/debian-archive-keyring.gpg"

sys.path.insert(0, str(HERE))

import recipes  # noqa: E402  (found by the line above)
from recipes import cores  # noqa: E402


def say(text):
    print(f"fetch.py: {text}", file=sys.stderr, flush=True)


def run(*command, cwd=None, capture=False):
    done = subprocess.run(
        [str(c) for c in command],
        cwd=cwd,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT if not capture else subprocess.PIPE,
        text=True,
        check=False,
    )
    if done.returncode:
        shown = (done.stdout + (done.stderr or ""))[-2000:]
        raise cores.Unavailable(f"{' '.join(map(str, command))[:200]}: {shown}")
    return done.stdout


class Apt:
    """apt with lists, cache and status of its own: the machine's are left alone."""

    def __init__(self, folder, architecture="amd64", suite=SUITE):
        cores.need("apt-get", "apt-cache", "dpkg-deb")
        self.folder = folder
        for name in ("lists/partial", "cache/archives/partial", "etc", "files"):
            (folder / name).mkdir(parents=True, exist_ok=True)
        (folder / "status").touch()
        mirror = self.mirror()
        lines = [
            f"{kind} [signed-by={KEYRING}] {mirror} {suite} main"
            for kind, suite in (("deb", suite), ("deb-src", SOURCES))
        ]
        (folder / "etc/sources.list").write_text("\n".join(lines) + "\n", encoding="ascii")
        settings = {
            "Dir::Etc::sourcelist": folder / "etc/sources.list",
            "Dir::Etc::sourceparts": folder / "etc",
            "Dir::Etc::preferences": folder / "etc/none",
            "Dir::Etc::preferencesparts": folder / "etc",
            "Dir::State::lists": folder / "lists",
            "Dir::State::status": folder / "status",
            "Dir::Cache": folder / "cache",
            "APT::Architecture": architecture,
            "APT::Architectures": architecture,
            "APT::Sandbox::User": "root",
            "APT::Get::List-Cleanup": "false",
        }
        self.options = [f"-o{key}={value}" for key, value in settings.items()]
        self.updated = False

    @staticmethod
    def mirror():
        """The mirror of Debian that this machine uses anyhow."""
        wanted = "$(REPO_URI) $(ORIGIN) $(LABEL)"
        shown = run("apt-get", "indextargets", "--format", wanted, capture=True)
        for line in shown.splitlines():
            uri, *origin = line.split()
            if origin == ["Debian", "Debian"]:
                return uri
        # Without lists of packages, apt does not know whose they are.
        folder = pathlib.Path("/etc/apt")
        for path in [*folder.glob("sources.list"), *sorted(folder.glob("sources.list.d/*"))]:
            found = re.search(r"https?://\S+/debian/?(?=\s)", path.read_text(encoding="utf-8"))
            if found:
                return found.group()
        raise cores.Unavailable("no mirror of Debian among apt's sources")

    def get(self, *arguments, cwd=None):
        return run("apt-get", "-q", *self.options, *arguments, cwd=cwd)

    def update(self):
        if not self.updated:
            self.get("update")
            self.updated = True

    def facts(self, package, version=None):
        """(version, SHA256) of a package in the index; None if it is not in it."""
        which = f"{package}={version}" if version else package
        try:
            command = ["apt-cache", *self.options, "show", "--no-all-versions", which]
            shown = run(*command, capture=True)
        except cores.Unavailable:
            return None
        fields = dict(re.findall(r"^(Version|SHA256): (\S+)$", shown, re.M))
        return (fields["Version"], fields["SHA256"]) if len(fields) == 2 else None

    def needed(self, packages):
        """The packages with all that they depend on."""
        shown = self.get("install", "--simulate", "--no-install-recommends", "--yes", *packages)
        return sorted(set(re.findall(r"^Inst (\S+)", shown, re.M)))

    def kept(self, package, digest):
        """The file of a package that is here already."""
        for path in (self.folder / "files").glob(f"{package}_*.deb"):
            if hashlib.sha256(path.read_bytes()).hexdigest() == digest:
                return path
        return None

    def download(self, lock):
        """Files of all packages of the lock, or of newer ones where the mirror has no others."""
        lock = list(lock)
        missing = [f"{p}={v}" for p, v, digest in lock if not self.kept(p, digest)]
        if missing:
            self.update()
            try:
                self.get("download", *missing, cwd=self.folder / "files")
            except cores.Unavailable:
                lock = [self.replacement(*line) for line in lock]
                missing = [f"{p}={v}" for p, v, digest in lock if not self.kept(p, digest)]
                if missing:
                    self.get("download", *missing, cwd=self.folder / "files")
        for package, version, digest in lock:
            path = self.kept(package, digest)
            if not path:
                raise AssertionError(f"{package} {version}: its SHA-256 is not {digest}")
            yield path

    def replacement(self, package, version, digest):
        if self.kept(package, digest) or self.facts(package, version):
            return package, version, digest
        found = self.facts(package)
        if found is None:
            raise cores.Unavailable(f"{package} is no longer in {SUITE}")
        say(f"{package} {version} has left the mirror, {found[0]} is used (fetch.py --update)")
        return (package, *found)


def wanted_packages():
    found = []
    for version in VERSIONS:
        found += [f"python{version}", f"libpython{version}"]
    return found


def read_lock():
    found = []
    for line in LOCK.read_text(encoding="ascii").splitlines():
        if line and not line.startswith("#"):
            found.append(tuple(line.split()))
    return found


def update_lock(apt):
    apt.update()
    # The headers alone, without the compiler and C library that they depend on.
    names = apt.needed(wanted_packages()) + [f"libpython{v}-dev" for v in VERSIONS]
    lines = [
        f"# Packages of Debian {SUITE}, amd64, for fetch.py; written by fetch.py --update.",
        "# package version SHA-256",
    ]
    lines += [" ".join((name, *apt.facts(name))) for name in sorted(names)]
    LOCK.write_text("\n".join(lines) + "\n", encoding="ascii")


def unpack(apt, lock, tree):
    """All packages in one tree, with programs that run where they lie."""
    stamp = tree / ".complete"
    want = LOCK.read_text(encoding="ascii")
    if not stamp.is_file() or stamp.read_text(encoding="ascii") != want:
        shutil.rmtree(tree, ignore_errors=True)
        tree.mkdir(parents=True)
        for path in apt.download(lock):
            run("dpkg-deb", "-x", path, tree)
        for version in VERSIONS:
            set_loader(tree / f"usr/bin/python{version}", loader(tree))
        stamp.write_text(want, encoding="ascii")


def libraries(tree):
    return tree / "usr/lib" / TRIPLET


def loader(tree):
    """A name for the tree's loader that is no longer than the usual one."""
    mark = hashlib.sha256(bytes(tree)).hexdigest()[:12]
    return pathlib.Path(f"/tmp/.ld-{mark}.so")


def set_loader(program, path):
    data = program.read_bytes()
    name = bytes(path)
    if len(name) > len(INTERPRETER) or data.count(INTERPRETER + b"\0") != 1:
        raise cores.Unavailable(f"{program} names no loader that could be replaced")
    program.write_bytes(data.replace(INTERPRETER, name.ljust(len(INTERPRETER), b"\0")))


def link_loader(tree):
    """/tmp is swept now and then; nobody else's link is followed."""
    path, target = loader(tree), libraries(tree) / INTERPRETER.decode().rsplit("/", 1)[1]
    if path.is_symlink() and os.readlink(path) == str(target):
        if path.lstat().st_uid == os.getuid():
            return
    try:
        path.symlink_to(target)
    except FileExistsError:
        raise cores.Unavailable(f"{path} is there, and not as it should be") from None


def debian(tree):
    if not (tree / ".complete").is_file():
        return
    link_loader(tree)
    for version in VERSIONS:
        path = tree / f"usr/bin/python{version}"
        includes = [tree / f"usr/include/python{version}", tree / "usr/include"]
        yield recipes.Interpreter(
            path,
            env={"LD_LIBRARY_PATH": str(libraries(tree))},
            libdir=str(libraries(tree)),
            includes=includes,
            link=[f"-Wl,--dynamic-linker={loader(tree)}", "-Wl,--allow-shlib-undefined"],
        )


def build_free_threaded(apt, version, cache):
    """Debian's source of that version, configured without a GIL; its debug information stays."""
    prefix = cache / f"free-threaded-{version}"
    if (prefix / f"bin/python{version}t").is_file():
        return
    cores.need("gcc", "make", "xz")
    work = cache / f"build-{version}t"
    shutil.rmtree(work, ignore_errors=True)
    work.mkdir(parents=True)
    apt.update()
    apt.get("source", "--download-only", "--tar-only", f"python{version}", cwd=work)
    (archive,) = work.glob("*.orig.tar.*z")
    run("tar", "-xf", archive, "--strip-components=1", cwd=work)
    say(f"building {archive.name} without a GIL")
    options = ["--disable-gil", "--enable-shared", "--without-ensurepip", "--disable-test-modules"]
    options += ["CFLAGS=-g1", f"LDFLAGS=-Wl,-rpath,{prefix}/lib"]
    run(work / "configure", "-q", f"--prefix={prefix}", *options, cwd=work)
    run("make", "-s", f"-j{os.cpu_count() or 2}", cwd=work)
    run("make", "-s", "altinstall", cwd=work)
    shutil.rmtree(work)


def free_threaded(cache):
    for path in sorted(cache.glob("free-threaded-*/bin/python3.*t")):
        yield recipes.Interpreter(path)


def interpreters(cache=CACHE):
    """Those that a run of this program has brought; none if there was none."""
    try:
        return [*debian(cache / SUITE), *free_threaded(cache)]
    except cores.Unavailable as reason:
        say(str(reason))
        return []


def fetch(cache=CACHE, versions=FREE_THREADED, update=False):
    """Unavailable tells why it cannot be had. Two processes that want it take turns."""
    cores.need_native()
    cache = cache.resolve()
    cache.mkdir(parents=True, exist_ok=True)
    with open(cache / "lock", "w", encoding="ascii") as turn:
        fcntl.flock(turn, fcntl.LOCK_EX)
        apt = Apt(cache / "apt")
        if update:
            update_lock(apt)
        unpack(apt, read_lock(), cache / SUITE)
        for version in versions:
            build_free_threaded(apt, version, cache)
    return interpreters(cache)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--cache", type=pathlib.Path, default=CACHE)
    parser.add_argument("--free-threaded", default=",".join(FREE_THREADED))
    parser.add_argument("--update", action="store_true", help="lock what the mirror has now")
    args = parser.parse_args()
    versions = [v for v in args.free_threaded.split(",") if v]
    try:
        found = fetch(args.cache, versions, args.update)
    except cores.Unavailable as reason:
        say(str(reason))
        return 77
    for python in found:
        print(python.name, python.path)
    return 0


if __name__ == "__main__":
    sys.exit(main())
