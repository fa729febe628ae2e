/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Pasted text of any tool. What is read must be whole: lists as long as they say, texts
 * that end, places in the input that exist. Then what a report says is made facts of and
 * matched, as `corescan match` does.
 */
#include "base/limits.h"
#include "paste/paste.h"
#include "signature/match.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct check {
	struct cs_scanner *scanner;
	size_t lines; /* of the input */
};

/* Every byte is looked at, so that one that is not there is found. */
static void touch(const char *text)
{
	if (text && strlen(text) > CS_MAX_PASTE_ARENA)
		abort();
}

static void check_threads(const struct cs_paste *paste)
{
	for (size_t i = 0; i < paste->n_threads; i++) {
		const struct cs_paste_thread *t = &paste->threads[i];

		touch(t->name);
		touch(t->role);
		for (size_t k = 0; k < t->n_frames; k++) {
			touch(t->frames[k].function);
			touch(t->frames[k].library);
			touch(t->frames[k].file);
		}
	}
}

static struct cs_error *look(void *arg, const struct cs_paste *paste)
{
	const struct check *check = arg;
	struct cs_arena *arena = cs_arena_create(256UL << 20);
	struct cs_findings findings;
	struct cs_facts facts;

	if (!arena || !paste->format || !paste->line ||
	    paste->line + paste->n_lines > check->lines + 1)
		abort();
	check_threads(paste);
	for (size_t i = 0; i < paste->n_messages; i++)
		touch(paste->messages[i]);
	for (size_t i = 0; i < paste->n_modules; i++)
		touch(paste->modules[i]);
	for (size_t i = 0; i < paste->n_versions; i++)
		touch(paste->versions[i].value);
	for (size_t i = 0; i < paste->n_environment; i++)
		touch(paste->environment[i].value);
	if (cs_ok(cs_facts_of_paste(paste, arena, &facts)) &&
	    cs_ok(cs_match(&cs_signatures_builtin, check->scanner, &facts, arena,
			   &findings)) &&
	    findings.n > CS_MAX_FINDINGS)
		abort();
	cs_arena_destroy(arena);
	return NULL;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct cs_scanner *scanner; /* made once: most inputs are shorter to read */
	struct check check = {.lines = 1};
	FILE *in;

	if (!size)
		return 0;
	for (size_t i = 0; i < size; i++)
		check.lines += data[i] == '\n';
	in = fmemopen((void *)(uintptr_t)data, size, "r");
	if (!in || (!scanner && !cs_ok(cs_scanner_create(&cs_signatures_builtin, &scanner))))
		abort();
	check.scanner = scanner;
	if (!cs_ok(cs_paste_read(in, look, &check)))
		abort();
	fclose(in);
	return 0;
}
