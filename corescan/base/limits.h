/* SPDX-License-Identifier: GPL-3.0-or-later */
/**
 * Every bound on work that a target can ask for, in one place. docs/LIMITS.md gives the reason for each
 * value, and a test keeps the two lists equal. Reaching one leaves a mark in the report.
 */
#ifndef CS_BASE_LIMITS_H
#define CS_BASE_LIMITS_H

#include <stddef.h>

#define CS_MAX_SEGMENTS 4194304UL             /* program headers of one core */
#define CS_MAX_NOTE_BYTES (64UL << 20)        /* bytes of one note that is read */
#define CS_MAX_NOTES 1048576UL                /* notes of one core */
#define CS_MAX_THREADS 65536UL                /* threads of one process */
#define CS_MAX_MAPPINGS 1048576UL             /* entries of NT_FILE */
#define CS_MAX_MODULES 16384UL                /* modules of one process, and link map entries */
#define CS_MAX_RAW_FRAMES 1048576UL           /* native frames unwound of one thread */
#define CS_MAX_FRAMES 4096UL                  /* frames of one thread kept in the report, after folding */
#define CS_MAX_TOTAL_FRAMES 16777216UL        /* native frames of all threads together */
#define CS_MAX_FOLD_PERIOD 32UL               /* frames in one cycle of a recursion that is folded */
#define CS_MAX_SCAN_BYTES 65536UL             /* stack bytes searched for one lost return address */
#define CS_MAX_SCAN_FRAMES 64UL               /* frames of one thread that were only found by scanning */
#define CS_MAX_SCAN_PREFERENCE 1024UL         /* stack bytes searched for a better one */
#define CS_MAX_FUNCTION 1048576UL             /* bytes of one function */
#define CS_MAX_READ (16UL << 20)              /* bytes of one read from target memory */
#define CS_MAX_STRING 65536UL                 /* bytes of one string read from the target */
#define CS_MAX_PATH 4096UL                    /* bytes of one path named by the target */
#define CS_MAX_ENVIRONMENT (8UL << 20)        /* bytes of argv and envp with their strings */
#define CS_MAX_ARGUMENTS 65536UL              /* entries of argv or envp looked at */
#define CS_MAX_ELF_SECTIONS 65536UL           /* section headers of one module */
#define CS_MAX_ELF_SEGMENTS 512UL             /* program headers of one module */
#define CS_MAX_ELF_NOTES 65536UL               /* bytes of one note segment of a module */
#define CS_MAX_BUILD_ID 64UL                  /* bytes of a build id; linkers write 8 to 20 */
#define CS_MAX_REGION_STEPS 16777216UL        /* regions looked at for code that left its file mapping */
#define CS_MAX_NAMESPACES 32UL                /* link map lists of one process; glibc allows 16 */
#define CS_MAX_SYMLINKS 40UL                  /* symbolic links followed in one path; linux: MAXSYMLINKS */
#define CS_MAX_SYMBOLS 33554432UL             /* symbol table entries of one module looked at */
#define CS_MAX_SYMBOL_STEPS 268435456UL       /* addresses that one table's overlapping symbols cover */
#define CS_MAX_NAME_HITS 64UL                 /* places in a string table where one name occurs */
#define CS_MAX_DYNAMIC 1024UL                 /* entries of one dynamic section; real ones have about 30 */
#define CS_MAX_HASH_CHAIN 65536UL             /* symbols in one hash bucket of a module */
#define CS_MAX_MANGLED 16384UL                /* bytes of a mangled name that is demangled */
#define CS_MAX_DEMANGLED 65536UL              /* bytes of a demangled name */
#define CS_MAX_DEMANGLE_WEIGHT 65536          /* steps of one search for argument packs */
#define CS_MAX_DEMANGLE_COPIES 32768UL        /* templates times scopes of one name: stack it takes */
#define CS_MAX_DEMANGLE_PAIRS 8UL             /* places of one name that the parser tries twice */
#define CS_MAX_NAME_NESTING 256UL             /* brackets within brackets in a demangled name */
#define CS_MAX_INLINES 64UL                   /* inlined calls at one pc */
#define CS_MAX_DIES 4194304UL                 /* debug information entries looked at for one address */
#define CS_MAX_DIE_DEPTH 200UL                /* depth of nested scopes in debug information */
#define CS_MAX_UNITS 1048576UL                /* address ranges of one module's compilation units */
#define CS_MAX_CFI_OPS 512UL                  /* operations evaluated of one DWARF expression */
#define CS_MAX_CFI_STACK 64UL                 /* values on the stack of one DWARF expression */
#define CS_MAX_CFI_ROW_BYTES (64UL << 20)     /* bytes of decoded call frame rows kept at once */
#define CS_MAX_CFI_PROGRAM 65536UL            /* bytes of the call frame entry of one function */
#define CS_MAX_CFI_REGISTER 1024UL            /* register numbers in call frame information */
#define CS_MAX_CFI_STATES 64UL                /* register states remembered at a time */
#define CS_MAX_CFI_ENTRIES 4194304UL          /* call frame entries of one module looked through */
#define CS_MAX_CODE_ADDRESSES 262144UL        /* code addresses whose facts are kept at once */
#define CS_MAX_STACK_SWITCHES 64UL            /* signal frames of one stack that lead to another stack */
#define CS_MAX_LIBUNWIND_STEPS 65536UL        /* frames of one process for which libunwind is asked */
#define CS_MAX_LIBUNWIND_READS 65536UL        /* words that libunwind reads for one frame */
#define CS_MAX_XZ_MEMORY (64UL << 20)         /* bytes the xz decoder may use for .gnu_debugdata */
#define CS_MAX_DEBUG_FILE (8UL << 30)          /* bytes of a debug file whose CRC is worked out */
#define CS_MAX_UNPACKED_LINES (2UL << 20)     /* bytes of one debug file unpacked for lines without --all */
#define CS_MAX_DEBUGDATA (64UL << 20)         /* bytes of one unpacked .gnu_debugdata */
#define CS_MAX_MEMORY_IMAGE (256UL << 20)     /* bytes of a module's image rebuilt from the core */
#define CS_MAX_LIBRARY_FILES 200000UL         /* files looked at in one --lib-path folder */
#define CS_MAX_LIBRARY_DEPTH 16UL             /* folder depth searched in one --lib-path folder */
#define CS_MAX_ABORT_FRAMES 48UL              /* frames between raise() and who wanted to abort */
#define CS_MAX_PANIC_STACK 65536UL            /* bytes of stack searched for last words */
#define CS_MAX_PANIC_TEXT 16384UL             /* bytes of last words other than the C library's */
#define CS_MAX_ROLE_FRAMES 256UL              /* outermost frames searched for a thread's role */
#define CS_MAX_VERSION_FILE 4096UL            /* bytes read of torch's version.py */
#define CS_MAX_VERSION_SCAN (64UL << 20)      /* bytes of one module searched for a version text */
#define CS_MAX_PY_RUNTIMES 16UL               /* CPython runtimes of one process */
#define CS_MAX_PY_INTERPRETERS 4096UL         /* interpreters of one runtime */
#define CS_MAX_PY_FRAMES 1048576UL            /* Python frames of one thread */
#define CS_MAX_PY_TOTAL_FRAMES 16777216UL     /* Python frames of all threads together */
#define CS_MAX_PY_CODES 1048576UL             /* code objects of one runtime */
#define CS_MAX_PY_LINE_TABLE (4UL << 20)      /* bytes of one code object's line table */
#define CS_MAX_PY_NAME 4096UL                 /* bytes of one function, file, thread or type name */
#define CS_MAX_PY_ITEMS 1048576UL             /* items of one dict, set, list or tuple looked at */
#define CS_MAX_PY_MRO 256UL                   /* base classes of one type looked at */
#define CS_MAX_PY_MESSAGE 16384UL             /* bytes of one exception's message or note */
#define CS_MAX_PY_REPR 1024UL                 /* bytes of one value shown */
#define CS_MAX_PY_DEPTH 8UL                   /* objects within objects of one value shown */
#define CS_MAX_PY_SHOWN 32UL                  /* items of one container shown */
#define CS_MAX_PY_DIGITS 64UL                 /* 30-bit digits of an int that is shown in decimal */
#define CS_MAX_PY_INNER_TEXT 128UL            /* characters shown of one text within another value */
#define CS_MAX_PY_OBJECTS 2UL                 /* objects within objects that are shown by their fields */
#define CS_MAX_PY_LOCALS 1024UL               /* variables of one frame shown */
#define CS_MAX_PY_EXCEPTIONS 64UL             /* exceptions of one thread, and of one chain of causes */
#define CS_MAX_PY_TRACEBACK 4096UL            /* entries of one traceback */
#define CS_MAX_PY_TRACEBACKS 2097152UL        /* traceback entries of all exceptions looked at */
#define CS_MAX_PY_TOTAL_EXCEPTIONS 16384UL    /* exceptions of all threads together, causes included */
#define CS_MAX_PY_COLLECTOR_STACK (64UL << 20) /* bytes of all stacks searched for the collector */
#define CS_MAX_PY_TASKS 65536UL               /* asyncio tasks of one process */
#define CS_MAX_PY_TASK_FRAMES 256UL           /* coroutines that one task waits through */
#define CS_MAX_PY_GREENLETS 65536UL           /* greenlets of one process */
#define CS_MAX_PY_SUBTYPES 4096UL             /* classes that inherit from greenlet */
#define CS_MAX_PY_STACK 65536UL               /* slots of one frame's evaluation stack */
#define CS_MAX_PY_STATICS (4UL << 20)         /* bytes of 3.6's _asyncio module searched for its tasks */
#define CS_MAX_PY_SCAN (4UL << 30)            /* bytes searched for a runtime or for greenlets */
#define CS_MAX_CXX_RUNTIMES 64UL              /* C++ runtimes of one process */
#define CS_MAX_CXX_TLS 4096UL                 /* bytes of one thread-local block searched for a C++ runtime */
#define CS_MAX_CXX_CHAIN 64UL                 /* C++ exceptions of one thread, and nested in one another */
#define CS_MAX_CXX_EXCEPTIONS 16384UL         /* C++ exceptions of all threads together */
#define CS_MAX_CXX_STORED 64UL                /* C++ exceptions shown that no thread handles */
#define CS_MAX_CXX_TYPES 4096UL               /* C++ types kept by name */
#define CS_MAX_CXX_BASES 128UL                /* base classes of one C++ type looked at */
#define CS_MAX_CXX_MESSAGE 16384UL            /* bytes of one C++ exception's message or backtrace */
#define CS_MAX_CXX_CONTEXT 32UL               /* lines of context of one c10::Error */
#define CS_MAX_CXX_STACK (1UL << 20)          /* bytes of one stack searched for an exception in flight */
#define CS_MAX_CXX_SCAN (1UL << 30)           /* bytes of memory searched for stored exceptions */
#define CS_MAX_CXX_SCAN_MS 300                /* milliseconds that this search takes */
#define CS_MAX_RELOCATIONS 1048576UL          /* relocations of one module looked through */
#define CS_MAX_SOURCE_FILE (16UL << 20)       /* bytes of one source file read with --source */
#define CS_MAX_SOURCE_LINE 512UL              /* bytes of one source line shown */
#define CS_MAX_SIGNATURE_FILES 4096UL         /* files in one folder of signatures */
#define CS_MAX_SIGNATURE_FILE (4UL << 20)     /* bytes of one signature file */
#define CS_MAX_SIGNATURES 16384UL             /* signatures of one set */
#define CS_MAX_SIGNATURE_ID 64UL              /* characters of a signature's id */
#define CS_MAX_SIGNATURE_COMPLAINTS 1000UL    /* complaints about signature files kept */
#define CS_MAX_PATTERNS 262144UL              /* regular expressions of one set */
#define CS_MAX_PATTERN 2048UL                 /* bytes of one regular expression */
#define CS_MAX_YAML_NODES 1048576UL           /* values of one signature file */
#define CS_MAX_YAML_DEPTH 8UL                 /* lists within lists of a signature file */
#define CS_MAX_RECORD (16UL << 20)            /* bytes of one record that signatures are matched against */
#define CS_MAX_PASTE_LINE 262144UL            /* bytes of one line of pasted text */
#define CS_MAX_PASTE_LABEL 63UL               /* bytes of what says whose line it is: "rank3" */
#define CS_MAX_PASTE_STREAMS 4096UL           /* processes whose lines are mixed in one text */
#define CS_MAX_PASTE_PAIRS 4096UL             /* versions, and variables, of one pasted report */
#define CS_MAX_PASTE_REPEAT 1000UL            /* frames that one line of pasted text says are repeated */
#define CS_MAX_PASTE_ARENA (256UL << 20)      /* bytes of all that one pasted report says */
#define CS_MAX_PASTE_COMPARED 4096UL          /* threads among which one printed twice is found */
#define CS_MAX_FACT_FRAMES 262144UL           /* frames of one process that signatures are matched against */
#define CS_MAX_FACT_TEXTS 65536UL             /* distinct frames, messages and modules of one process, too */
#define CS_MAX_FACT_NAME 4096UL               /* bytes of one function's name, too */
#define CS_MAX_FACT_MESSAGES 4096UL           /* messages of one process, too */
#define CS_MAX_FACT_MESSAGE 65536UL           /* bytes of one message, too */
#define CS_MAX_PRINT_FRAMES 1024UL            /* frames of which a fingerprint says what became of them */
#define CS_MAX_PRINT_TEXT 4096UL              /* bytes of what a fingerprint was made of, for people */
#define CS_MAX_CANDIDATES 4194304UL           /* pairs of pattern and text worth trying */
#define CS_MAX_MATCH_STEPS 100000UL           /* steps of one search for a pattern */
#define CS_MAX_MATCH_DEPTH 1000UL             /* states that one search for a pattern may go back to */
#define CS_MAX_MATCH_HEAP (4UL << 20)         /* bytes that one search for a pattern may use */
#define CS_MAX_MATCH_MS 2000                  /* milliseconds that all searches of one process take */
#define CS_MAX_FINDINGS 16UL                  /* findings of one process kept */
#define CS_MAX_EVIDENCE 12UL                  /* frames and messages kept of what makes one finding */
#define CS_MAX_EVIDENCE_TEXT 240UL            /* bytes of a message shown as evidence */
#define CS_MAX_MARKDOWN 60000UL               /* bytes of all reports for one issue */
#define CS_MAX_MARKDOWN_CORES 32UL            /* cores reported in one issue */
#define CS_MAX_JSON_STRING 16384UL            /* bytes of one string in the JSON report */
#define CS_MAX_JSON_FRAMES 250000UL           /* frames in one JSON report; beyond, equal stacks come once */
#define CS_MAX_CLI_FOLDERS 1024UL             /* folders in all --lib-path and --debug-dir options */
#define CS_MAX_DOCTOR_FILE 65536UL            /* bytes read of one file by corescan doctor */
#define CS_MAX_DOCTOR_CHECKS 64UL             /* checks of corescan doctor; files in a settings folder */
#define CS_MAX_DOCTOR_MEMORY (32UL << 20)     /* bytes of all texts of corescan doctor */
#define CS_MAX_DIAGNOSTICS 1000UL             /* diagnostics kept; the rest are counted */
#define CS_MAX_ARENA (4UL << 30)              /* bytes of one analysis' model */
#define CS_MAX_SPOOL (1UL << 40)              /* bytes of one unpacked core */

#endif
