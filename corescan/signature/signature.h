/* SPDX-License-Identifier: GPL-3.0-or-later */
/**
 * Signatures of known problems: what files in corpus/signatures say, as plain structs.
 *
 * A set is made once: the built-in one when the program is built (corpus/embed), others by reading
 * a folder. Everything a set points to is constant or in the arena that it was read into; nothing
 * of it is ever changed. Patterns are kept as text; who matches compiles the few that it needs.
 */
#ifndef CS_SIGNATURE_SIGNATURE_H
#define CS_SIGNATURE_SIGNATURE_H

#include "base/arena.h"
#include "base/vec.h"
#include "corescan/analysis.h"

/**
 * A regular expression (PCRE2). Every text that it matches contains one of the literals, in any
 * case; without literals nothing is known, and it must be tried on every text.
 */
struct cs_pattern {
	const char *text;
	const char *const *literals;
	uint32_t n_literals;
};

/** Patterns by their number in the set; number 0 is no pattern. */
struct cs_patterns {
	const uint32_t *v;
	uint32_t n;
};

struct cs_texts {
	const char *const *v;
	uint32_t n;
};

/** "torch>=2.2": is known to be false only of a version that is known. */
struct cs_version_test {
	const char *name;
	const char *op; /* "<", "<=", "=", "!=", ">=", ">" */
	const char *version;
};

struct cs_version_tests {
	const struct cs_version_test *v;
	uint32_t n;
};

/** What one thread must show. */
struct cs_thread_test {
	const char *thread; /* "crashed", "any", "main", "gil-holder", "gil-waiter", or a role; NULL: see
			       match.c */
	struct cs_patterns frames; /* in this order from the innermost, gaps allowed */
	struct cs_patterns python;
	uint32_t top; /* of the innermost frame that says something; 0: none */
	bool apart;   /* `frames` and `python` may be of two threads */
};

struct cs_env_test {
	const char *name;
	uint32_t value;
};

enum cs_kind { CS_KIND_CRASH, CS_KIND_HANG, CS_KIND_OOM };

/** One alternative: all of it must hold. Members that are zero ask for nothing. */
struct cs_alternative {
	struct cs_patterns message; /* each must be found in some message */
	struct cs_thread_test self;
	const struct cs_thread_test *others; /* each must hold for a thread besides that one */
	uint32_t n_others;
	uint32_t signal;
	uint32_t kinds; /* bit set of enum cs_kind */
	const int32_t *exits;
	uint32_t n_exits;
	struct cs_patterns modules;
	const struct cs_env_test *env;
	uint32_t n_env;
	struct cs_version_tests versions;
	uint64_t facts; /* bit set of enum cs_fact */
	bool has_confidence;
	enum cs_confidence confidence;
};

struct cs_advice {
	const char *text;
	const char *unless_env; /* left out where this variable is set; NULL: never for that reason */
	struct cs_version_tests versions;
};

enum cs_severity_of { CS_HIGH, CS_MEDIUM, CS_LOW };

struct cs_signature {
	const char *id;
	const char *title;
	const char *category;
	enum cs_severity_of severity;
	int32_t priority; /* 1 .. 99; the highest that fits comes first */
	enum cs_confidence confidence;
	const struct cs_alternative *any;
	uint32_t n_any;
	const struct cs_alternative *nots; /* one that holds, and it is no match */
	uint32_t n_nots;
	struct cs_texts wins_over; /* ids */
	const char *explanation;
	const struct cs_advice *steps;
	uint32_t n_steps;
	const char *versions; /* for people */
	struct cs_texts references;
	const char *file; /* and line where it was read */
	uint32_t line;
};

/** A thread that shows these frames, in this order, and no others than `only`, is idle. */
struct cs_decoy {
	const char *name;
	struct cs_patterns frames;
	struct cs_patterns only; /* besides plain frames; empty: others do not matter */
	struct cs_patterns python;
	struct cs_patterns only_python;
};

/**
 * What the names of frames are to a fingerprint (fingerprint.yaml). The patterns are apart from those of
 * signatures, for they are searched in names in another form (print.h).
 */
struct cs_print_lists {
	uint32_t algorithm;                /* 0: there are no lists */
	const struct cs_pattern *patterns; /* [0] is not used */
	uint32_t n_patterns;
	struct cs_patterns sentinel;   /* they and all within ran because of the crash */
	struct cs_patterns irrelevant; /* say nothing, wherever they stand */
	struct cs_patterns interpreter; /* say something where nothing else does */
	struct cs_patterns prefix;     /* say too little to end with */
	struct cs_patterns silent;     /* messages that say nothing */
};

struct cs_signature_set {
	const struct cs_pattern *patterns; /* [0] is not used */
	uint32_t n_patterns;
	const struct cs_signature *signatures;
	uint32_t n_signatures;
	struct cs_patterns reporters; /* frames that only report a crash */
	struct cs_patterns plain;     /* frames that every thread may have: no thread's `top` */
	const struct cs_decoy *decoys;
	uint32_t n_decoys;
	struct cs_print_lists print;
};

/** The set that is compiled into the program. */
extern const struct cs_signature_set cs_signatures_builtin;

/** What is wrong with signature files: "FILE:LINE: KEY: what is wrong and what to do". */
struct cs_complaints {
	struct cs_arena *arena;    /* not owned */
	CS_VEC(const char *) list; /* owned by its user: free(list.v) */
	size_t dropped;            /* beyond CS_MAX_SIGNATURE_COMPLAINTS */
	bool strict;               /* also complain of what only matters for files of this project */
};

/**
 * Read the signature files of folder @dir (*.yaml, by name; reporters.yaml, decoys.yaml and
 * fingerprint.yaml have their own form) and add them to @base, whose fingerprint stays. A signature
 * whose id is in @base already replaces it.
 *
 * @base  what to add to; may be NULL
 * @arena receives everything; @base is pointed into
 * @complaints receives what is wrong with the files; @ret has then what could be read
 *
 * Errors: OS (the folder or a file cannot be read), LIMIT, NOMEM.
 */
CS_MUST_CHECK struct cs_error *cs_signatures_load(const char *dir, const struct cs_signature_set *base,
						  struct cs_arena *arena,
						  struct cs_complaints *complaints,
						  struct cs_signature_set *ret);

/** As cs_signatures_load(), of one file's bytes. @name is for messages and tells what is in it. */
CS_MUST_CHECK struct cs_error *cs_signatures_parse(const char *name, const void *bytes, size_t len,
						   const struct cs_signature_set *base,
						   struct cs_arena *arena,
						   struct cs_complaints *complaints,
						   struct cs_signature_set *ret);

/** The signature with that id; NULL: none. */
const struct cs_signature *cs_signature_find(const struct cs_signature_set *set, const char *id);

const char *cs_confidence_word(enum cs_confidence confidence);
const char *cs_severity_word(enum cs_severity_of severity);

/** True unless a version that is known lies outside. @value may be NULL: not known. */
bool cs_version_test_holds(const struct cs_version_test *test, const char *value);

#endif
