# SPDX-License-Identifier: GPL-3.0-or-later
"""Seeds of fuzz_signature: 'r' and a record, 'y' and signatures, 'p' and a fingerprint's lists."""
from __future__ import annotations

import json

RECORDS = [
    {},
    {
        "source": "owner/repository#1",
        "signal": "SIGABRT",
        "kind": "crash",
        "threads": [
            {
                "name": "pt_nccl_watchdg",
                "tid": 17,
                "frames": [
                    "__GI_abort (libc.so.6)",
                    "std::terminate() (libstdc++.so.6)",
                    "c10d::ProcessGroupNCCL::WorkNCCL::checkTimeout (libtorch_cuda.so)",
                    "c10d::ProcessGroupNCCL::watchdogHandler() [clone .cold] (libtorch_cuda.so)",
                ],
            },
            {"frames": ["pthread_cond_wait@@GLIBC_2.3.2 (libpthread.so.0)", "?? (libcuda.so.1)"]},
        ],
        "python_frames": ["Trainer.step (/usr/lib/python3.11/site-packages/t/train.py)"],
        "message": "Watchdog caught collective operation timeout: WorkNCCL(SeqNum=7) \u00e9",
        "modules": ["libgomp.so.1", "libiomp5.so"],
        "env": {"RANK": "6"},
        "versions": {"torch": "2.6.0+cu124"},
        "exit": -6,
        "facts": ["null-write"],
    },
    {"kind": "hang", "python_frames": ["wait (threading.py)", "<module> (<string>)"]},
    {"kind": "oom", "message": ["DataLoader worker is killed by signal", "exit code 137"]},
    {"kind": "crash", "signal": "SIGSEGV", "threads": [{"frames": ["a" * 5000 + " (b)"] * 40}]},
]

SIGNATURE = """id: a-crash
title: "A crash"
category: fuzz
severity: high
priority: 85
confidence: certain
any:
  - message: 'out of (memory|luck)'
    env: {RANK: '^[0-9]+$|none'}
  - frames: ['^abort \\(', '(?i)c10::error']
    python: ['train \\(']
    same_thread: false
    others: [{top: '^memcpy', thread: any}]
    signal: SIGABRT|SIGBUS
    exit: [137, -9]
    modules: ['^libc10']
    versions: 'torch>=2.2,python<3.12'
    fact: [null-write, aborted]
    confidence: possible
not:
  - message: 'lucky|(a+)+b'
explanation: >-
  Something happened, and a text that is long enough tells why it did.
steps:
  - Look at it.
  - {text: Set it., unless_env: NCCL_DEBUG, versions: 'torch>=2'}
references: [owner/repository#12]
"""


LISTS = """algorithm: 2
sentinel: ['^abort$', '^std::(terminate|rethrow_exception)$']
irrelevant: ['^start_thread$']
interpreter: ['^PyDict_']
prefix: ['^c10::Error::Error$']
silent_messages: ['^Aborted$']
"""

# Names that demanglers and debuggers write, and what looks like one.
NAMES = (
    "void g::f<int>(int) const",
    "main::{lambda(int)#1}::operator()(int) const",
    "f()::'lambda0'(int)::operator()(int) const",
    "std::ostream& operator<< <char>(std::ostream&, char)",
    "<demo::Pool as core::ops::drop::Drop>::drop",
    "demo::run::h0123456789abcdef",
    "(anonymous namespace)::inner<(char)62>(long)",
    "__memmove_avx_unaligned_erms",
    "operator std::map<a, b>",
    "f<((((",
    "a::" * 200,
)


def seeds() -> list[bytes]:
    named = [f"{name} (libx.so)" for name in NAMES]
    named += [f"walk (a) {i % 3}" for i in range(30)]
    records = [*RECORDS, {"signal": "SIGSEGV", "threads": [{"frames": named}]}]
    return (
        [b"r" + json.dumps(r).encode() for r in records]
        + [b"p" + LISTS.encode()]
        + [b"y" + SIGNATURE.encode(), b"y" + (SIGNATURE + "---\n" + SIGNATURE).encode()]
        + [b"y" + b"[" * 60, b"ya: &a [*a, *a]\n", b"yreporters: ['^x']\n"]
    )
