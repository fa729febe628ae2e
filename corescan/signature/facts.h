/* SPDX-License-Identifier: GPL-3.0-or-later */
/**
 * What is known of a process, in the one form that signatures are matched against: stacks and
 * messages as text, with the way back to thread and frame. Made from an analysis or from a record
 * of somebody's report; who matches does not know which.
 */
#ifndef CS_SIGNATURE_FACTS_H
#define CS_SIGNATURE_FACTS_H

#include "paste/paste.h"
#include "signature/signature.h"

/** name, name in signature files, what it says */
#define CS_FACTS(F)                                                                                      \
	F(PYTHON_FINALIZING, "python-finalizing", "a Python interpreter is shutting down")               \
	F(PROCESS_EXITING, "process-exiting", "exit handlers or library destructors run")                \
	F(GIL_WAITED_FOR, "gil-waited-for", "a thread waits for the GIL")                                \
	F(GIL_HELD_BY_NOBODY, "gil-held-by-nobody", "a thread waits for the GIL, and none has it")       \
	F(GIL_HOLDER_WAITS, "gil-holder-waits", "the thread that has the GIL waits for the GIL")         \
	F(GIL_ONE_WAITER, "gil-one-waiter", "one thread waits for the GIL, and no other runs Python")    \
	F(LOCK_CYCLE, "lock-cycle", "threads wait for one another in a ring, of which memory has proof")  \
	F(LOCK_OWNER_GONE, "lock-owner-gone",                                                            \
	  "a thread waits for a mutex, or the end, of a thread that does not exist")                     \
	F(ONLY_THREAD, "only-thread", "the process has no other thread")                                 \
	F(TWO_PYTHONS, "two-pythons", "the process has two CPython runtimes")                            \
	F(TWO_OPENMP, "two-openmp", "two OpenMP runtimes are loaded")                                    \
	F(TWO_RUNTIMES, "two-runtimes", "a runtime library is loaded twice, or with its rival")          \
	F(FORKED_CHILD, "forked-child", "made by fork() of a process that had threads")                  \
	F(OOM_ERROR_STORED, "oom-error-stored", "an out-of-memory error of CUDA or Python is kept")      \
	F(STACK_OVERFLOW, "stack-overflow", "the crashed thread's stack is used up")                     \
	F(NULL_READ, "null-read", "read at address 0 or close to it")                                    \
	F(NULL_WRITE, "null-write", "write at address 0 or close to it")                                 \
	F(EXEC_FAULT, "exec-fault", "the program counter was in no code")                                \
	F(UNMAPPED, "unmapped", "access where nothing is mapped, not close to 0")                        \
	F(PROTECTION, "protection", "access that the mapping does not allow")                            \
	F(NON_CANONICAL, "non-canonical", "access at an address that cannot be one")                     \
	F(FILE_END, "file-end", "access past the end of a mapped file")                                  \
	F(ILLEGAL_INSTRUCTION, "illegal-instruction", "an instruction that the CPU refused")             \
	F(TERMINATED, "terminated", "std::terminate() ended the process")                                \
	F(ABORTED, "aborted", "abort() by the process itself")                                           \
	F(COLLECTING, "collecting", "Python's cyclic garbage collector runs")                            \
	F(SENT_FROM_OUTSIDE, "sent-from-outside", "the signal was sent by another process")              \
	F(REPORT, "report",                                                                              \
	  "what is known is a pasted report, not a core: what it lacks may have been there")             \
	F(NO_CRASH, "no-crash", "the process did not crash: it hung, or was looked at")

enum cs_fact {
#define F(name, word, text) CS_FACT_##name,
	CS_FACTS(F)
#undef F
		CS_FACT_COUNT
};
#define CS_FACT_BIT(name) (UINT64_C(1) << CS_FACT_##name)

/** The fact of that word; CS_FACT_COUNT: none. */
enum cs_fact cs_fact_named(const char *word);
const char *cs_fact_word(enum cs_fact fact);

enum cs_text_kind { CS_TEXT_NATIVE, CS_TEXT_PYTHON, CS_TEXT_MESSAGE, CS_TEXT_MODULE, CS_TEXT_SIGNAL };

/** One distinct text that patterns are searched in. */
struct cs_fact_text {
	const char
		*text; /* a line for each way to write it: "__GI_abort (libc.so.6)\nabort (libc.so.6)" */
	const char *shown; /* for evidence */
	enum cs_text_kind kind;
};

struct cs_fact_frame {
	uint32_t text;  /* index into texts */
	int64_t number; /* index into the frames of the thread's group; -1: not known */
};

struct cs_fact_stack {
	const struct cs_fact_frame *frames; /* native, innermost first */
	uint32_t n_frames;
	const struct cs_fact_frame *python;
	uint32_t n_python;
};

struct cs_fact_thread {
	int32_t tid;      /* 0: not known */
	const char *name; /* NULL: not known, as all below */
	const char *role;
	bool crashed;
	bool main;
	bool holds_gil, waits_for_gil; /* false where that is not known */
	bool deadlocked;  /* one of a ring of threads that wait for one another */
	bool orphaned;    /* waits for a thread that does not exist */
	const char *wait; /* in words, for evidence; NULL: not known */
	uint32_t stack;
};

struct cs_fact_message {
	uint32_t text;
	int32_t tid;
	bool final;   /* of what ended the process, not of an exception that was kept or handled */
	bool handled; /* of one that is being handled: the program may go on */
};

struct cs_facts {
	const struct cs_fact_text *texts;
	uint32_t n_texts;
	const struct cs_fact_stack *stacks;
	uint32_t n_stacks;
	const struct cs_fact_thread *threads;
	uint32_t n_threads;
	const struct cs_fact_message *messages;
	uint32_t n_messages;
	const uint32_t *modules; /* texts; of a report those on its stacks */
	uint32_t n_modules;
	bool threads_known; /* false: a report that was cut; what is not said is not absent */
	uint32_t signal;    /* text */
	bool has_signal;
	int32_t exit; /* status, negative for a signal */
	bool has_exit;
	enum cs_kind kind;
	uint64_t facts;
	const struct cs_variable *environment;
	size_t n_environment;
	const struct cs_version *versions;
	size_t n_versions;
	size_t dropped; /* frames, messages or modules for which there was no room */
};

/** Facts of an analysis, in @arena. Errors: NOMEM. */
CS_MUST_CHECK struct cs_error *cs_facts_of_analysis(const struct cs_analysis *a, struct cs_arena *arena,
						    struct cs_facts *ret);

/**
 * Facts of a report; texts of @paste are pointed to. Errors: FORMAT (it gives itself a fact that there is
 * not), NOMEM.
 */
CS_MUST_CHECK struct cs_error *cs_facts_of_paste(const struct cs_paste *paste, struct cs_arena *arena,
						 struct cs_facts *ret);

/**
 * Facts of a record: one line of JSON, as cs_paste_of_record() has it. @source_ret becomes what it says of
 * where it is from; NULL: nothing. Errors: FORMAT (the message says which key is wrong), LIMIT, NOMEM.
 */
CS_MUST_CHECK struct cs_error *cs_facts_of_record(const char *line, size_t len, struct cs_arena *arena,
						  struct cs_facts *ret, const char **source_ret);

/* ---- for those who make facts ---- */

struct cs_facts_maker {
	struct cs_arena *arena; /* not owned */
	CS_VEC(struct cs_fact_text) texts;
	CS_VEC(struct cs_fact_frame) frames; /* of the stack being made */
	CS_VEC(struct cs_fact_frame) python;
	CS_VEC(struct cs_fact_stack) stacks;
	CS_VEC(struct cs_fact_thread) threads;
	CS_VEC(struct cs_fact_message) messages;
	CS_VEC(uint32_t) modules;
	uint32_t *slots; /* hash table of texts: index + 1; owned */
	size_t n_slots;
	size_t total_frames, dropped;
	bool nomem;
};

void cs_facts_maker_deinit(struct cs_facts_maker *m);
/** A frame of the stack being made; @library NULL: not known, @brief (the short name): to be worked out.
 * What has no room is counted. */
void cs_facts_native(struct cs_facts_maker *m, const char *function, const char *brief,
		     const char *library, int64_t number);
void cs_facts_python(struct cs_facts_maker *m, const char *function, const char *file, int64_t number);
/** End the stack: its number. */
uint32_t cs_facts_stack(struct cs_facts_maker *m);
void cs_facts_thread(struct cs_facts_maker *m, const struct cs_fact_thread *thread);
/** @like has all but the text's number. */
void cs_facts_message(struct cs_facts_maker *m, const char *text, const struct cs_fact_message *like);
void cs_facts_module(struct cs_facts_maker *m, const char *name);
void cs_facts_signal(struct cs_facts_maker *m, const char *name, struct cs_facts *ret);
/**
 * Hand everything over to @ret, whose other members are set already, and derive the facts that texts
 * tell. Errors: NOMEM.
 */
CS_MUST_CHECK struct cs_error *cs_facts_finish(struct cs_facts_maker *m, struct cs_facts *ret);

#endif
