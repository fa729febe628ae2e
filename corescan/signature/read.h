/* SPDX-License-Identifier: GPL-3.0-or-later */
/** YAML nodes into signatures. One file's documents at a time; what they share is in the reader. */
#ifndef CS_SIGNATURE_READ_H
#define CS_SIGNATURE_READ_H

#include "signature/yaml.h"

CS_VEC_TYPE(cs_pattern_list, struct cs_pattern);

/** What is being read, and where complaints go. Vectors are owned by the caller: see load.c. */
struct cs_reader {
	struct cs_arena *arena;
	struct cs_complaints *complaints;
	const char *file;    /* for messages */
	const char *stem;    /* its name without folder and ".yaml" */
	const char *subject; /* id of the signature being read; NULL: none */
	bool any_order;      /* keys may stand in any */
	bool adds;           /* to a set that there is, which has its lists for fingerprints */
	bool nomem;
	struct cs_pattern_list patterns; /* [0] is not used */
	CS_VEC(struct cs_signature) signatures;
	CS_VEC(uint32_t) reporters;
	CS_VEC(uint32_t) plain;
	CS_VEC(struct cs_decoy) decoys;
	struct cs_pattern_list print_patterns; /* [0] is not used */
	struct cs_print_lists print;              /* without its patterns */
};

/** One document of a file of signatures. */
void cs_read_signature(struct cs_reader *r, const struct cs_yaml *node);
/** The documents of reporters.yaml, decoys.yaml and fingerprint.yaml. */
void cs_read_reporters(struct cs_reader *r, const struct cs_yaml *node);
void cs_read_decoy(struct cs_reader *r, const struct cs_yaml *node);
void cs_read_fingerprint(struct cs_reader *r, const struct cs_yaml *node);

/* ---- shared by the readers of parts ---- */

struct cs_key;
typedef void cs_read_fn(struct cs_reader *r, const struct cs_yaml *node, void *ret);

/** A member of a map: how it is read, and where it goes. */
struct cs_key {
	const char *name;
	cs_read_fn *read;
	size_t offset;
	bool required;
};

/** Complain of @node: "FILE:LINE: ID: KEY: text". */
void cs_read_complain(struct cs_reader *r, const struct cs_yaml *node, const char *fmt, ...)
	CS_PRINTF(3, 4);
/** Each member of map @node by @keys into @ret; complains of other kinds of node, keys, and lack. */
bool cs_read_map(struct cs_reader *r, const struct cs_yaml *node, const struct cs_key *keys, size_t n,
		 void *ret);
size_t cs_yaml_count(const struct cs_yaml *node);

cs_read_fn cs_read_text;       /* const char * */
cs_read_fn cs_read_texts;      /* struct cs_texts: a list, or one text */
cs_read_fn cs_read_pattern;    /* uint32_t */
cs_read_fn cs_read_patterns;   /* struct cs_patterns: a list, or one pattern */
cs_read_fn cs_read_versions;   /* struct cs_version_tests */
cs_read_fn cs_read_confidence; /* enum cs_confidence */

/** `any` and `not`: alternatives. @ret_n becomes their number. */
const struct cs_alternative *cs_read_alternatives(struct cs_reader *r, const struct cs_yaml *node,
						  uint32_t *ret_n);

#endif
