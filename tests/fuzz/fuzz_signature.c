/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Signatures and records. The first byte of an input says what it is: 'r', a record that is matched
 * against the built-in signatures, and gets a fingerprint; 'y', a file of signatures, against which a
 * record of every kind of text is then matched; 'p', lists for fingerprints, with which that record gets
 * one.
 */
#include "base/limits.h"
#include "signature/fingerprint.h"
#include "signature/match.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char sample[] =
	"{\"signal\":\"SIGABRT\",\"kind\":\"crash\",\"message\":\"terminate called after out of memory\","
	"\"threads\":[{\"frames\":[\"abort (libc.so.6)\",\"c10::Error::Error() (libc10.so)\"],"
	"\"python_frames\":[\"train "
	"(train.py)\"]}],\"modules\":[\"libc10.so\"],\"env\":{\"RANK\":\"1\"}}";

static void check(const struct cs_findings *f)
{
	if (f->n > CS_MAX_FINDINGS)
		abort();
	for (size_t i = 0; i < f->n; i++)
		if (!f->v[i].id || !f->v[i].title || f->v[i].n_evidence > CS_MAX_EVIDENCE)
			abort();
}

static void check_fingerprint(const struct cs_fingerprint *f)
{
	if (f->n_frames > CS_MAX_PRINT_FRAMES || !f->long_form != !f->text ||
	    (f->short_form && !f->long_form))
		abort();
	for (size_t i = 0; i < f->n_frames; i++)
		if (!f->frames[i].text && f->frames[i].part <= CS_PRINT_LONG)
			abort();
}

/* Twice, for what the first leaves in the lists' scanner must not count. */
static void fingerprint(struct cs_arena *arena, const struct cs_print_lists *lists,
			struct cs_scanner *scanner, const struct cs_facts *facts)
{
	struct cs_fingerprinter *printer = NULL;
	struct cs_fingerprint once, again;

	if (!cs_ok(cs_fingerprinter_create(lists, &printer)))
		abort();
	if (cs_ok(cs_fingerprint_make(printer, &cs_signatures_builtin, scanner, facts, arena, &once)) &&
	    cs_ok(cs_fingerprint_make(printer, &cs_signatures_builtin, scanner, facts, arena, &again))) {
		check_fingerprint(&once);
		if (!once.long_form != !again.long_form ||
		    (once.long_form && strcmp(once.long_form, again.long_form) != 0))
			abort();
	}
	cs_fingerprinter_destroy(printer);
}

/* @lists NULL: no fingerprint is asked for. */
static void match(struct cs_arena *arena, const struct cs_signature_set *set,
		  const struct cs_print_lists *lists, const char *record, size_t len)
{
	struct cs_scanner *scanner = NULL;
	struct cs_findings findings;
	struct cs_facts facts;
	const char *source;

	if (!cs_ok(cs_facts_of_record(record, len, arena, &facts, &source)))
		return;
	if (!cs_ok(cs_scanner_create(set, &scanner)))
		abort();
	if (cs_ok(cs_match(set, scanner, &facts, arena, &findings)))
		check(&findings);
	if (lists)
		fingerprint(arena, lists, scanner, &facts);
	cs_scanner_destroy(scanner);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct cs_arena *arena = cs_arena_create(256UL << 20);
	struct cs_complaints complaints = {.arena = arena};
	struct cs_signature_set set;

	if (!arena)
		abort();
	if (size && data[0] == 'r')
		match(arena, &cs_signatures_builtin, &cs_signatures_builtin.print, (const char *)data + 1,
		      size - 1);
	if (size && data[0] == 'y' &&
	    cs_ok(cs_signatures_parse("fuzz.yaml", data + 1, size - 1, NULL, arena, &complaints, &set)))
		match(arena, &set, NULL, sample, strlen(sample));
	if (size && data[0] == 'p' &&
	    cs_ok(cs_signatures_parse("fingerprint.yaml", data + 1, size - 1, NULL, arena, &complaints,
				      &set)))
		match(arena, &cs_signatures_builtin, &set.print, sample, strlen(sample));
	free(complaints.list.v);
	cs_arena_destroy(arena);
	return 0;
}
