/* SPDX-License-Identifier: GPL-3.0-or-later */
/**
 * The model: what corescan found out about one dead or stopped process.
 *
 * cs_analyze() builds it once; it is immutable afterwards, and every report renders it. All strings are
 * NUL-terminated valid UTF-8 owned by the analysis and live until cs_analysis_destroy(). A NULL string
 * means "not known". Addresses are the target's virtual addresses. Ranges are [start, end).
 */
#ifndef CORESCAN_ANALYSIS_H
#define CORESCAN_ANALYSIS_H

#include "corescan/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- how sure an answer is ---- */

/** How a frame was found, from most to least certain. */
enum cs_trust {
	CS_TRUST_CONTEXT,       /* the thread's own registers */
	CS_TRUST_CFI,           /* call frame information of the module */
	CS_TRUST_RUNTIME,       /* a language runtime's own records */
	CS_TRUST_FRAME_POINTER, /* the saved frame pointer chain */
	CS_TRUST_SCAN,          /* a return address found by searching the stack: may be stale */
};

/** Why a stack ends where it does. */
enum cs_stop {
	CS_STOP_BOTTOM,         /* the outermost frame of the thread */
	CS_STOP_NO_UNWIND_INFO, /* nothing says how to go on */
	CS_STOP_UNREADABLE,     /* the next frame's memory is not in the core */
	CS_STOP_NO_PROGRESS,    /* the next frame is not further out than this one */
	CS_STOP_LIMIT,          /* CS_MAX_RAW_FRAMES, or the time budget */
	CS_STOP_CYCLE,          /* the same frame again */
};

enum cs_severity { CS_SEVERITY_NOTE, CS_SEVERITY_WARNING, CS_SEVERITY_ERROR };

/** One thing that limits what this analysis can say. */
struct cs_diagnostic {
	enum cs_severity severity;
	const char *layer; /* "core", "symbols", "unwind", ... */
	const char *code;  /* stable, for programs: "core-truncated" */
	const char *text;  /* for people: what is wrong and what to do */
	int32_t tid;       /* 0 when it is not about one thread */
};

/* ---- where the bytes came from ---- */

struct cs_input {
	const char *path;
	const char *kind;        /* "core" */
	uint64_t bytes;          /* size of the file as given */
	const char *compression; /* "zstd", ...; NULL: none */
	bool complete;           /* no segment or note reaches past the end of the file */
	uint64_t expected_bytes; /* what the headers ask for; > bytes when cut off */
	const char *writer;      /* "kernel", "gdb" (gcore) or NULL */
};

/* ---- the process ---- */

struct cs_variable {
	const char *name;
	const char *value; /* masked where it looks like a secret */
};

struct cs_process {
	int32_t pid;              /* 0: unknown */
	int32_t ppid;
	int64_t uid;              /* -1: unknown */
	int64_t gid;
	const char *const *command; /* argv */
	size_t n_command;
	bool command_complete;    /* false: taken from the 80 bytes of NT_PRPSINFO */
	const char *name;         /* comm of the main thread, 15 bytes at most */
	const char *executable;   /* path as the process saw it */
	const char *machine;      /* "x86_64", "aarch64" */
	const struct cs_variable *environment; /* allow-listed only, sorted by name */
	size_t n_environment;
	size_t n_environment_hidden; /* variables that are not on the allow-list */
	int64_t rank, local_rank, world_size; /* -1: unknown */
	int64_t start_time;       /* seconds since the epoch; 0: unknown */
	int64_t core_time;        /* mtime of the core file; 0: unknown (stdin) */
};

struct cs_version {
	const char *name;   /* "python", "torch", "nccl", "cuda-runtime", "cuda-driver", "glibc" */
	const char *value;
	const char *source; /* where it was read: a module's path, or "core memory" */
};

/* ---- modules ---- */

enum cs_file_state {
	CS_FILE_VERIFIED,   /* its build id equals the one in the core's image */
	CS_FILE_UNVERIFIED, /* the core's image has no build id to compare */
	CS_FILE_MISMATCH,   /* another build lies at that path: not used */
	CS_FILE_MISSING,
};

enum cs_symbol_source {
	CS_SYMBOLS_NONE,
	CS_SYMBOLS_MEMORY, /* dynamic symbols in the core's own image */
	CS_SYMBOLS_DYNSYM,
	CS_SYMBOLS_SYMTAB, /* .symtab, also of a debug file or .gnu_debugdata */
	CS_SYMBOLS_DWARF,
};

struct cs_module {
	const char *path; /* as the core names it; "[vdso]" */
	const char *name; /* last component of path */
	uint64_t start;   /* lowest and highest address of its mappings */
	uint64_t end;
	uint64_t bias;    /* address in memory - address in the ELF file */
	const char *build_id;     /* lower-case hex of the core's image (or of the unverified file) */
	const char *file;         /* file that is used for it, on this machine; NULL: none */
	const char *debug_file;   /* separate debug file; NULL: none or not looked for */
	enum cs_file_state file_state;
	enum cs_symbol_source symbols; /* NONE also when no frame points into it */
	bool in_use;              /* at least one frame points into it */
	const char *note;         /* one line on what is wrong with its file; NULL: nothing */
};

/* ---- stacks ---- */

enum cs_frame_kind {
	CS_FRAME_NATIVE,
	CS_FRAME_INLINE, /* a call inlined into the next native frame; same address */
	CS_FRAME_PYTHON,
	CS_FRAME_SIGNAL, /* <signal handler called> */
	CS_FRAME_GAP,    /* frames are missing here; `function` says why */
};

struct cs_python_variable;

struct cs_frame {
	enum cs_frame_kind kind;
	enum cs_trust trust;
	uint64_t address;       /* pc: for callers the return address; PYTHON: of the frame's record */
	/* Demangled, whole; NULL: not known. PYTHON: the qualified name where the version has it. */
	const char *function;
	const char *short_name; /* without template arguments and parameters; NULL: as function */
	uint64_t offset;        /* address - start of function, bytes */
	bool nearest;           /* address lies outside the symbol: only the closest name before it */
	const struct cs_module *module; /* NULL: no module there */
	uint64_t module_offset; /* address - module->bias */
	const char *place;      /* what lies at an address in no module: "not mapped", ...; else NULL */
	const char *file;       /* source file as the debug info names it */
	uint32_t line;          /* 0: unknown */
	uint32_t column;
	/*
	 * Recursion is folded: this frame is the first of `repeat_period` frames that occur
	 * `repeat_count` times in a row; 0 for frames that are not the first of such a run.
	 */
	uint32_t repeat_period;
	uint64_t repeat_count;

	/* CS_FRAME_PYTHON only, but `plumbing`: native frames that only carry Python calls. */
	bool plumbing;          /* the interpreter's own: the evaluation loop, vectorcall, ... */
	bool entry;             /* the outermost Python frame that one native call runs */
	const char *source;     /* the text of `line`; NULL: not asked for, or not to be had */
	const struct cs_python_variable *variables; /* in the order of the code; asked for only */
	size_t n_variables;
};

/** One local name of a Python frame. */
struct cs_python_variable {
	const char *name;
	const char *kind;  /* "argument", "local", "cell" (shared with inner functions), "free" */
	const char *value; /* as repr() would, bounded; NULL: not bound */
};

/** Threads with equal stacks; the threads of a process share a group's frames. */
struct cs_stack_group {
	uint32_t id;             /* index into cs_analysis.groups */
	const int32_t *tids;     /* in order of the core's notes */
	size_t n_tids;
	const struct cs_frame *frames; /* innermost first */
	size_t n_frames;
	uint64_t total_frames;   /* native frames before folding */
	enum cs_stop stop;
	const char *stop_text;   /* for people; NULL when stop is BOTTOM */
};

struct cs_register {
	const char *name;
	uint64_t value;
};

/** What the interpreter knows of a thread. */
struct cs_python_thread {
	const char *name;     /* threading.Thread.name; NULL: not known */
	uint64_t ident;       /* threading.get_ident(): its pthread_t */
	int64_t interpreter;  /* id; 0 is the main one */
	uint32_t runtime;     /* index into cs_analysis.python.runtimes */
	bool is_main;         /* threading.main_thread() */
	bool daemon;
	bool holds_gil;
	bool waits_for_gil;
	bool collecting;      /* runs the cyclic garbage collector */
	const char *state;    /* without a GIL: "attached", "detached", "suspended"; else NULL */
	const char *broken;   /* why the Python frames end early; NULL: they are all there */
};

/** What a thread waits for, where its system call and its memory tell who has to act first. */
struct cs_wait {
	const char *kind;  /* "mutex", "thread" (pthread_join()), "gil" */
	uint64_t address;  /* of the mutex; 0 for others */
	int32_t owner;     /* tid of who has the mutex or the GIL, or is joined; 0: nobody, or not known */
	bool owner_gone;   /* that is no thread of this process */
	bool timed;        /* the wait ends by itself after a time */
	bool deadlock;     /* the owner waits, itself or through others, for this very thread */
};

struct cs_thread {
	int32_t tid;
	const char *name;        /* NULL: not known */
	const char *name_source; /* "stack", "python" or "note"; NULL without name */
	const char *role;        /* "main", "openmp-worker", "nccl-watchdog", ...; NULL: not known */
	bool crashed;            /* it received the fatal signal */
	int signal;              /* pr_cursig, 0: none */
	const struct cs_stack_group *group;
	const struct cs_python_thread *python; /* NULL: it never entered Python */
	const struct cs_wait *wait; /* NULL: for nothing of that kind, or not known */
	const struct cs_register *registers; /* only for the crashed thread */
	size_t n_registers;
};

/* ---- what killed it ---- */

enum cs_fault_class {
	CS_FAULT_NONE,            /* no fault: a signal that was sent */
	CS_FAULT_NULL,            /* address 0 or a small offset from it */
	CS_FAULT_STACK_OVERFLOW,
	CS_FAULT_UNMAPPED,
	CS_FAULT_PROTECTION,      /* mapped, but without the right that the access needs */
	CS_FAULT_NON_CANONICAL,
	CS_FAULT_EXECUTE_DATA,    /* the pc itself lies in memory that is not executable, or nowhere */
	CS_FAULT_FILE_END,        /* SIGBUS: past the end of a mapped file, or I/O error */
	CS_FAULT_ILLEGAL_INSTRUCTION,
	CS_FAULT_ARITHMETIC,      /* SIGFPE */
	CS_FAULT_ABORT,           /* abort() by the process itself */
	CS_FAULT_OTHER,
};

struct cs_crash {
	int32_t tid;             /* 0: no thread crashed (gcore of a running process) */
	int signal;              /* 0: none */
	const char *signal_name; /* "SIGSEGV" */
	int code;                /* si_code */
	const char *code_name;   /* "SEGV_MAPERR"; NULL: not known */
	bool has_address;
	uint64_t address;        /* si_addr, or the operand's address where the kernel gives none */
	const char *access;      /* "read", "write", "execute"; NULL: not known */
	int32_t sender_pid;      /* -1: not sent by a process */
	int64_t sender_uid;
	enum cs_fault_class fault;
	const char *instruction; /* disassembled; NULL: not known */
	const char *operand;     /* "0x10(%rax) = 0x10 (rax = 0x0)"; NULL: no memory operand */
	const char *summary;     /* one line: what happened */
	const char *detail;      /* further lines, or NULL */
	const char *message;     /* the process's last words: abort, assertion, malloc text; NULL: none */
	const char *message_source; /* "__abort_msg", ... */
	bool reraised;           /* signal was raised again by a handler; the facts are the original's */
	/*
	 * The frame of the crashed thread to look at first: who called abort(), where the original fault
	 * struck. NULL: not worked out, and the innermost frame that is not raise() or abort() will do.
	 */
	const struct cs_frame *culprit;
};

/* ---- what the interpreter knows ---- */

enum cs_layout_source {
	CS_LAYOUT_PUBLISHED, /* the offsets that the runtime itself publishes (CPython 3.13+) */
	CS_LAYOUT_DWARF,     /* debug information of that very interpreter */
	CS_LAYOUT_TABLE,     /* the table of its version */
};

/** One CPython runtime; a process can hold several. */
struct cs_python_runtime {
	const char *version;     /* "3.12.1" */
	enum cs_layout_source layout;
	const char *found;       /* how: "symbol _PyRuntime of /usr/bin/python3", ... */
	const struct cs_module *module; /* NULL: not known */
	bool free_threaded;
	const char *phase;       /* "starting", "running", "finalizing" */
	size_t n_interpreters;
	size_t n_threads;        /* thread states that belong to a thread of the process */
	size_t n_stale;          /* thread states without one: those of a fork's parent */
	int32_t gil_holder;      /* tid; 0: nobody, or not known */
	const char *gil;         /* "held", "free", "disabled"; NULL: not known */
	int32_t collecting;      /* tid of who collects garbage; 0: nobody */
};

/** An exception; cause and context as Python has them. */
struct cs_exception {
	int32_t tid;             /* of the thread it was found with; 0: none */
	const char *language;    /* "python", "c++" */
	const char *type;        /* "ValueError", "torch.cuda.OutOfMemoryError" */
	const char *message;     /* str() of it, as far as memory tells; NULL: none */
	const char *state;       /* "in-flight": raised, not handled yet; "caught": being handled; "stored" */
	const struct cs_frame *frames; /* of the traceback, innermost first as in stacks */
	size_t n_frames;
	const struct cs_exception *cause;   /* raise ... from ...; NULL: none */
	const struct cs_exception *context; /* raised while this one was handled; NULL: none */
	bool suppress_context;   /* raise ... from None, or with a cause */
	const char *const *notes; /* add_note() */
	size_t n_notes;

	/* C++ only; `cause` is the Python exception that it carries, `context` the one nested in it. */
	bool fatal;              /* it is why the process ended: std::terminate() was called for it */
	const char *code;        /* its error code, with the category if known: "system:11"; NULL: none */
	const char *backtrace;   /* where it was thrown, as it says itself (c10::Error); NULL: it does not */
};

/** An asyncio task. */
struct cs_python_task {
	const char *name;        /* "Task-3" */
	const char *coroutine;   /* qualified name of what it runs */
	const char *state;       /* "running", "waiting", "ready", "done"; NULL: not known */
	int32_t tid;             /* of the thread of its event loop; 0: not known */
	uint64_t address;        /* of the task */
	uint64_t loop;           /* address of its event loop; 0: not known */
	const struct cs_frame *frames; /* coroutine chain, innermost first: what it is suspended at */
	size_t n_frames;
	const char *awaits;      /* what the innermost frame waits for: "<Future pending>"; NULL: not known */
	uint64_t awaits_task;    /* address of the task that it waits for; 0: not a task */
	const char *broken;      /* why inner frames are missing; NULL: none */
};

/** A greenlet that is not running now. */
struct cs_python_greenlet {
	const char *name;        /* type name: "gevent._gevent_cgreenlet.Greenlet" */
	const char *state;       /* "suspended", "not started" */
	int32_t tid;             /* of the thread that it belongs to; 0: not known */
	uint64_t address;
	const struct cs_frame *frames; /* innermost first */
	size_t n_frames;
	const char *broken;      /* why frames are missing; NULL: none */
};

struct cs_python {
	const struct cs_python_runtime *runtimes; /* the one with most threads first */
	size_t n_runtimes;
	const struct cs_python_task *tasks;
	size_t n_tasks;
	const struct cs_python_greenlet *greenlets;
	size_t n_greenlets;
};

/* ---- what it all means ---- */

/** How sure a finding is. */
enum cs_confidence {
	CS_CONFIDENCE_POSSIBLE, /* what is seen fits, and other causes look the same */
	CS_CONFIDENCE_LIKELY,
	CS_CONFIDENCE_CERTAIN,  /* the process says so itself, or nothing else looks like this */
};

/** One thing seen in the process that makes a signature fit. */
struct cs_evidence {
	int32_t tid;      /* 0: not of one thread */
	int64_t frame;    /* index into the frames of that thread's group; -1: not a frame */
	const char *text; /* the frame, or the line of the message */
};

/** A known problem that fits this process. */
struct cs_finding {
	const char *id;       /* of the signature; stable for ever */
	const char *category;
	const char *title;
	enum cs_confidence confidence;
	const char *explanation;
	const char *const *steps; /* what to do, most useful first; only those that apply */
	size_t n_steps;
	const struct cs_evidence *evidence;
	size_t n_evidence;
	const char *const *references; /* public reports of it: "pytorch/pytorch#126544" */
	size_t n_references;
};

/** What became of a frame in the fingerprint. */
enum cs_print_part {
	CS_PRINT_COUNTED,   /* in the short and the long form */
	CS_PRINT_PREFIX,    /* counted, but says too little to end with: memcpy(), a wait */
	CS_PRINT_LONG,      /* further out than the short form looks */
	CS_PRINT_IRRELEVANT, /* carries or reports and says nothing: start_thread(), an interpreter's frame */
	CS_PRINT_CUT,       /* what ran because of the crash: abort(), a signal handler */
};

struct cs_print_frame {
	int64_t frame;    /* index into the frames of the thread's group; -1: not known */
	const char *text; /* the name that is compared; NULL where it is not */
	enum cs_print_part part;
};

/**
 * What two processes that died of the same thing have in common. Equal strings mean the same failure only
 * if they were made by the same algorithm; its number is at the beginning of both.
 */
struct cs_fingerprint {
	unsigned algorithm;
	const char *short_form; /* "1-" and 16 hexadecimal digits; NULL: too little is known */
	const char *long_form;  /* "1-" and 32; also tells messages and outer frames apart */
	const char *text;       /* what it was made of, for people: "SIGABRT | message | frame | frame" */
	int32_t tid;            /* of the thread whose frames count; 0: none, or not known */
	const struct cs_print_frame *frames; /* of that thread, innermost first */
	size_t n_frames;
};

/* ---- the whole ---- */

struct cs_timing {
	const char *layer;
	double ms;
};

struct cs_analysis {
	struct cs_input input;
	struct cs_process process;
	struct cs_crash crash;
	const struct cs_version *versions;
	size_t n_versions;
	const struct cs_module *const *modules; /* by start address */
	size_t n_modules;
	const struct cs_thread *threads; /* crashed first, then as the core's notes have them */
	size_t n_threads;
	const struct cs_stack_group *groups; /* the crashed thread's first, then by size, largest first */
	size_t n_groups;
	struct cs_python python;
	const struct cs_exception *exceptions; /* the crashed thread's first */
	size_t n_exceptions;
	const struct cs_finding *findings; /* the cause first, then what follows from it or fits less well */
	size_t n_findings;
	size_t n_signatures; /* that were tried */
	struct cs_fingerprint fingerprint;
	const struct cs_diagnostic *diagnostics;
	size_t n_diagnostics;
	size_t n_diagnostics_dropped; /* beyond CS_MAX_DIAGNOSTICS */
	const struct cs_timing *timing;
	size_t n_timing;
	double total_ms;
	bool limit_hit; /* a limit of time or memory ended the analysis early */
};

/** Progress of long work: @done of @total bytes (0: total not known) of @what. */
typedef void cs_progress_fn(void *arg, const char *what, uint64_t done, uint64_t total);

/** Zero-initialise, then set `size`; later versions add fields at the end. */
struct cs_options {
	size_t size;                   /* sizeof(struct cs_options) */
	const char *executable;        /* --exe: file to use for the main executable */
	const char *sysroot;           /* paths named by the core are looked up below it only */
	const char *const *lib_paths;  /* folders searched by build id */
	size_t n_lib_paths;
	const char *const *debug_dirs; /* besides /usr/lib/debug */
	size_t n_debug_dirs;
	bool debuginfod;               /* ask the servers in DEBUGINFOD_URLS */
	bool all_lines;                /* source lines also where large debug files must be unpacked */
	bool locals;                   /* values of the locals of Python frames */
	bool source;                   /* source lines of Python frames, where the file is there */
	unsigned time_limit_ms;        /* 0: none */
	cs_progress_fn *progress;      /* may be NULL */
	void *progress_arg;
	const char *signatures;        /* --signatures: folder of further signature files */
};

/**
 * Analyse core file @path ("-": standard input).
 *
 * Succeeds whenever something can be said; what went wrong is in the diagnostics.
 * Errors: OS, FORMAT, UNSUPPORTED (not a core at all: the message says what it is instead and what to do),
 * NOMEM. The caller ends @ret with cs_analysis_destroy().
 */
CS_API CS_MUST_CHECK struct cs_error *cs_analyze(const char *path, const struct cs_options *options,
						 const struct cs_analysis **ret);
CS_API void cs_analysis_destroy(const struct cs_analysis *analysis);

#ifdef __cplusplus
}
#endif
#endif
