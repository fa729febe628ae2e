/* SPDX-License-Identifier: GPL-3.0-or-later */
/**
 * The model rendered. A back end reads struct cs_analysis alone and writes to the stream
 * it is given; none knows how anything was found.
 */
#ifndef CS_REPORT_REPORT_H
#define CS_REPORT_REPORT_H

#include "base/error.h"
#include "corescan/analysis.h"

#include <stdio.h>

struct cs_text_options {
	bool color;     /* ANSI colours */
	bool threads;   /* --threads: every stack group, not only the most important */
	bool modules;   /* --modules: the module table */
	bool all;       /* --all: nothing cut, whole names, registers, notes */
	unsigned width; /* columns of the terminal; 0: do not cut lines */
};

/** For people. Errors: OS (the stream failed), NOMEM. */
CS_MUST_CHECK struct cs_error *cs_report_text(const struct cs_analysis *a,
					      const struct cs_text_options *options,
					      FILE *out);

/** The Python stacks alone, as `py-spy dump` prints them. Errors: OS, NOMEM. */
CS_MUST_CHECK struct cs_error *cs_report_python(const struct cs_analysis *a,
						const struct cs_text_options *options,
						FILE *out);

struct cs_markdown_options {
	bool threads;     /* --threads: as many stacks as have room */
	size_t core;      /* number of this core among those that are reported, from 0 */
	size_t n_cores;   /* more than one: a heading says which core it is */
	size_t max_bytes; /* of this report; 0, or more: CS_MAX_MARKDOWN */
};

/**
 * For an issue tracker: CommonMark with what GitHub and GitLab share, never longer than they take. Texts of
 * the target are set as code or in blocks of it, and home folders become "~". Errors: OS, NOMEM.
 */
CS_MUST_CHECK struct cs_error *cs_report_markdown(const struct cs_analysis *a,
						  const struct cs_markdown_options *options,
						  FILE *out);

/** One JSON object on one line (docs/corescan-report.schema.json). Errors: OS, NOMEM. */
CS_MUST_CHECK struct cs_error *cs_report_json(const struct cs_analysis *a, FILE *out);

/** The JSON object for a core of which nothing could be said: input and one error
 * diagnostic. */
CS_MUST_CHECK struct cs_error *
cs_report_json_failure(const char *path, const struct cs_error *error, FILE *out);

/** The words that the fixed JSON format uses for enum values; never NULL. */
const char *cs_trust_name(enum cs_trust trust);
const char *cs_stop_name(enum cs_stop stop);
const char *cs_severity_name(enum cs_severity severity);
const char *cs_file_state_name(enum cs_file_state state);
const char *cs_symbol_source_name(enum cs_symbol_source source);
const char *cs_frame_kind_name(enum cs_frame_kind kind);
const char *cs_fault_class_name(enum cs_fault_class fault);
const char *cs_layout_source_name(enum cs_layout_source source);
const char *cs_confidence_name(enum cs_confidence confidence);
const char *cs_print_part_name(enum cs_print_part part);

#endif
