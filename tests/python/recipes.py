# SPDX-License-Identifier: GPL-3.0-or-later
"""Cores of the programs in programs/, each with the truth that the process wrote about itself.

    for core, truth in made: ...

See programs/truth.py for what the truth is. An Interpreter is where one Python is and how programs
are built for it; a Program is what is run, and from which version on it makes sense.
"""
import collections
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
PROGRAMS = HERE / "programs"
sys.path.insert(0, str(HERE.parent / "cores"))

import cores  # noqa: E402  (found by the line above)

Program = collections.namedtuple("Program", "name script arguments options since needs env")
Made = collections.namedtuple("Made", "core truth seconds")


def program(name, *arguments, script=None, options=(), since=(3, 6), needs=None, **env):
    return Program(name, f"{script or name}.py", arguments, options, since, needs, env)


ALL = [
    program("threads"),
    program("thread_dies"),
    program("recursion"),
    program("recursion_c"),
    program("callback"),
    program("extension", needs="extension"),
    program("sort"),
    program("generators"),
    program("aio"),
    program("handling"),
    program("signals"),
    program("forked", "os"),
    program("forked-libc", "libc", script="forked"),
    program("forked-syscall", "syscall", script="forked"),
    program("embed", "main", script="embedded", needs="embed"),
    program("embed-thread", "thread", script="embedded", needs="embed"),
    program("subinterpreter", "same", since=(3, 8)),
    program("subinterpreter-worker", "worker", script="subinterpreter", since=(3, 8)),
    program("subinterpreter-parked", "parked", script="subinterpreter", since=(3, 8)),
    program("subinterpreter-isolated", "isolated", script="subinterpreter", since=(3, 12)),
    program("names"),
    program("exiting", "atexit"),
    program("exiting-module", "module", script="exiting"),
    program("comprehensions"),
    program("classes"),
    program("execd"),
    program("importing"),
    program("fault"),
    program("traced"),
    program("collected"),
    program("starting", PYTHONPATH=str(PROGRAMS / "site")),
    program("hot"),
    program("jit", script="hot", since=(3, 13), PYTHON_JIT="1"),
    program("malloc", script="threads", PYTHONMALLOC="malloc"),
    program("perf", script="sort", options=("-X", "perf"), since=(3, 12)),
    program("perf-recursion", "100", script="recursion", options=("-X", "perf"), since=(3, 12)),
]

# Those that dump differently when somebody attaches, for runs that cannot afford all.
FEW = {"threads", "forked-libc", "extension", "embed-thread", "generators", "subinterpreter-parked"}
FEW |= {"perf"}

# Those whose stacks gdb 13 can read where glibc makes guard pages of a mapping's own pages (2.42 on
# Linux 6.13): elsewhere it loses the whole stack of a thread to the page that cannot be read.
ALONE = {"recursion", "recursion_c", "sort", "generators", "handling", "signals"}
ALONE |= {"comprehensions", "classes", "execd", "importing", "fault", "traced", "collected", "hot"}
ALONE |= {"starting", "jit", "perf", "perf-recursion"}


class Interpreter:
    """One Python: how to run it and how to build for it."""

    PROBE = (
        "import json, os, sys, sysconfig, ctypes; v = sysconfig.get_config_var; "
        "print(json.dumps([list(sys.version_info[:3]), sys.prefix, "
        "sysconfig.get_paths()['include'], v('LIBDIR'), v('LDVERSION'), "
        "bool(v('Py_GIL_DISABLED')), os.confstr('CS_GNU_LIBC_VERSION')]))"
    )

    def __init__(self, path, name=None, env=None, libdir=None, includes=(), link=()):
        self.path = pathlib.Path(path)
        self.env = dict(env or {})
        self.link = list(link)
        run = subprocess.run(
            [str(path), "-c", self.PROBE],
            env=cores.environment(**self.env),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
        if run.returncode:
            raise cores.Unavailable(f"{path}: {run.stderr.strip()[-300:]}")
        version, self.prefix, include, found, *more = json.loads(run.stdout)
        self.ldversion, self.free, libc = more
        self.glibc = tuple(int(n) for n in libc.split()[1].split(".")[:2])
        self.version = tuple(version)
        self.libdir = libdir or found
        self.includes = list(includes) or [include]
        self.name = name or ".".join(map(str, version)) + ("t" if self.free else "")
        self.built = {}

    @property
    def symbols(self):
        """Whether its static functions have names: neither the program nor its library stripped."""
        library = pathlib.Path(self.libdir) / f"libpython{self.ldversion}.so.1.0"
        linked = subprocess.run(
            ["readelf", "-d", str(self.path)], capture_output=True, text=True, check=False
        )
        file = library if "libpython" in linked.stdout else self.path
        shown = subprocess.run(
            ["readelf", "-SW", str(file)], capture_output=True, text=True, check=False
        )
        return ".symtab" in shown.stdout

    def need_headers(self):
        if not (pathlib.Path(self.includes[0]) / "Python.h").is_file():
            raise cores.Unavailable(f"no Python.h for {self.name}")
        return [f"-I{folder}" for folder in self.includes]

    def extension(self, folder):
        """The folder with the compiled module of bouncer.c."""
        target = pathlib.Path(folder) / f"extension-{self.name}"
        if "extension" not in self.built:
            flags = self.need_headers()
            target.mkdir(exist_ok=True)
            source = PROGRAMS / "bouncer.c"
            cores.build_library(source, target, *flags, name="bouncer.so")
            self.built["extension"] = target
        return self.built["extension"]

    def embed(self, folder):
        """embed.c with this interpreter's library."""
        if "embed" not in self.built:
            flags = self.need_headers()
            library = pathlib.Path(self.libdir) / f"libpython{self.ldversion}.so"
            if not library.exists():
                raise cores.Unavailable(f"no {library.name} for {self.name}")
            flags += [f"-L{self.libdir}", f"-Wl,-rpath,{self.libdir}", f"-lpython{self.ldversion}"]
            name = f"embed-{self.name}"
            source = PROGRAMS / "embed.c"
            self.built["embed"] = cores.build(source, folder, *flags, *self.link, name=name)
        return self.built["embed"]

    def runs(self, prog, how="kernel"):
        if how == "gcore" and self.glibc >= (2, 42) and prog.name not in ALONE:
            return False
        # A free-threaded build has one allocator.
        return self.version >= prog.since and not (self.free and "PYTHONMALLOC" in prog.env)

    def command(self, prog, folder):
        """What to run and the environment it needs."""
        env = dict(self.env, TRUTH_LIB=str(PROGRAMS), **prog.env)
        script = str(PROGRAMS / prog.script)
        if prog.needs == "embed":
            env["PYTHONHOME"] = self.prefix
            return [self.embed(folder), *prog.arguments, script], env
        if prog.needs == "extension":
            env["EXTENSION"] = str(self.extension(folder))
        return [self.path, *prog.options, script, *prog.arguments], env


def installed():
    """Every Python of this machine that tests can use."""
    found = []
    for _, path in cores.pythons():
        try:
            found.append(Interpreter(path))
        except cores.Unavailable:
            continue
    return found


def read(path):
    return json.loads(path.read_text(encoding="ascii"))


def make(python, prog, how, parent):
    """A core of `prog` in a folder of its own below `parent`, and its truth."""
    folder = cores.fresh(parent, f"{python.name}-{prog.name}-{how}")
    truth = folder / "truth" / "truth.json"
    truth.parent.mkdir()
    command, more = python.command(prog, parent)
    end = "abort" if how == "kernel" else "wait"
    env = cores.environment(TRUTH_FILE=str(truth), TRUTH_END=end, **more)
    if how == "kernel":
        core = cores.by_kernel(command, folder, env=env)
    else:
        try:
            core = cores.by_gcore(command, folder, env=env, pid_of=lambda _: read(truth)["pid"])
        finally:
            end_child(truth)
    for path in pathlib.Path("/tmp").glob(f"perf-{core.pid}.map"):
        path.unlink()
    if not truth.is_file():
        raise AssertionError(f"{prog.name} of {python.name} wrote no truth")
    return core, read(truth)


def end_child(truth):
    """Whoever waits for a debugger waits for ever; a forked child outlives its parent."""
    if truth.is_file():
        try:
            os.kill(read(truth)["pid"], signal.SIGKILL)
        except ProcessLookupError:
            pass


def forget(core):
    shutil.rmtree(core.folder, ignore_errors=True)
