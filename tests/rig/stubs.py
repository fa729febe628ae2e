# SPDX-License-Identifier: GPL-3.0-or-later
"""Stand-ins for the libraries that a wheel of PyTorch links with and the rig does not download.

Each stand-in has the soname and the symbol versions that the loader asks for; its functions return
0, which cuBLAS, cuDNN, cuFFT and the others call success. What must have substance, the CUDA
runtime, the driver and NCCL, comes from the preloaded shim: a definition there wins over these.
"""
import collections
import os
import pathlib
import re
import subprocess

SYSTEM = re.compile(r"lib(c|m|dl|rt|pthread|stdc\+\+|gcc_s|util|z)\.so|ld-linux")
# Of a soname, what its functions begin with: for those libraries that version no symbols.
PREFIXES = {
    "libcublas": "cublas",
    "libcublasLt": "cublasLt",
    "libcudart": "cuda|__cuda",
    "libcudnn": "cudnn",
    "libcudss": "cudss",
    "libcufft": "cufft",
    "libcufile": "cuFile",
    "libcupti": "cupti",
    "libcurand": "curand",
    "libcusolver": "cusolver",
    "libcusparse": "cusparse",
    "libcusparseLt": "cusparseLt",
    "libnccl": "nccl|pnccl",
    "libnvToolsExt": "nvtx",
    "libnvrtc": "nvrtc",
    "libnvshmem_host": "nvshmem",
}


def run(*command, text=None):
    done = subprocess.run(
        [str(c) for c in command],
        input=text,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        check=False,
        env={**os.environ, "LC_ALL": "C"},
    )
    if done.returncode:
        raise RuntimeError(f"{' '.join(map(str, command))[:200]}: {done.stderr[-2000:]}")
    return done.stdout


def needed(path):
    """Sonames that a library asks for."""
    return re.findall(r"\(NEEDED\).*\[(.*)\]", run("readelf", "-dW", path))


def version_files(path):
    """{version: soname} of the symbol versions that a library asks for."""
    found, soname = {}, None
    for line in run("readelf", "-VW", path).splitlines():
        file = re.search(r"Version: 1  File: (\S+)", line)
        name = re.search(r"Name: (\S+)  Flags:", line)
        if file:
            soname = file.group(1)
        elif name and soname:
            found[name.group(1)] = soname
    return found


def undefined(path):
    """(symbol, version or None) of what a library imports."""
    for line in run("nm", "-D", "--undefined-only", path).splitlines():
        name, at, version = line.split()[-1].partition("@")
        yield name, version.lstrip("@") if at else None


def imports(libraries, present):
    """{soname: {version or None: {symbols}}} of all libraries that are not PRESENT."""
    found = collections.defaultdict(lambda: collections.defaultdict(set))
    for path in libraries:
        missing = [s for s in needed(path) if s not in present and not SYSTEM.match(s)]
        if not missing:
            continue
        owners = version_files(path)
        for soname in missing:
            found[soname]  # one without symbols is wanted, too
        for name, version in undefined(path):
            if version is None:
                for soname in missing:
                    stem = soname.partition(".so")[0]
                    if re.match(rf"(?:{PREFIXES.get(stem, '$')})[A-Z_]", name):
                        found[soname][None].add(name)
            elif owners.get(version) in missing:
                found[owners[version]][version].add(name)
    return found


def build_one(folder, soname, versions):
    """Compiles one stand-in."""
    functions = sorted(set().union(*versions.values()))
    source = "".join(f"long {name}(void) {{ return 0; }}\n" for name in functions)
    command = ["gcc", "-shared", "-fPIC", "-O1", "-w", "-xc", "-", f"-Wl,-soname,{soname}"]
    named = {version: names for version, names in versions.items() if version}
    if named:
        script = folder / f"{soname}.map"
        script.write_text(
            "".join(
                f"{version} {{ global: {''.join(f'{n}; ' for n in sorted(names))}}};\n"
                for version, names in named.items()
            ),
            encoding="ascii",
        )
        command.append(f"-Wl,--version-script={script}")
    run(*command, "-o", folder / soname, text=source or "int rig_empty;\n")


def build(libraries, folder):
    """Makes all stand-ins that LIBRARIES (paths) need beside themselves; returns their sonames."""
    libraries = [pathlib.Path(p) for p in libraries]
    folder.mkdir(parents=True, exist_ok=True)
    wanted = imports(libraries, {p.name for p in libraries})
    for soname, versions in wanted.items():
        build_one(folder, soname, versions)
    return sorted(wanted)
