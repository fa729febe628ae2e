#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# Make corpus/cores/python-ctypes-null.core.xz anew: Debian 12's Python, the kernel's core, trimmed.
# usage: python-ctypes-null.sh CORESCAN-PROGRAM OUT.xz
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
corescan=$(realpath "$1") out=$(realpath -m "$2") dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
cp "$here/python-ctypes-null.py" train.py
(
	# 0x37: private file mappings too, so that names do not depend on the files of the reader's machine.
	echo 0x37 >/proc/self/coredump_filter
	ulimit -c unlimited
	exec env -i PATH=/usr/bin LC_ALL=C PYTHONCOERCECLOCALE=0 RANK=6 LOCAL_RANK=6 WORLD_SIZE=64 \
		/usr/bin/python3 -S -E train.py
) || true
core=$(ls core*)
"$corescan" --json --all "$core" >report.json
"$here/trim_core.py" "$core" report.json trimmed.core
xz -9e -c trimmed.core >"$out"
ls -l "$out"
