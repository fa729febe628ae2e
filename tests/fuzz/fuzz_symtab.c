/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Section headers and symbol tables. Input: an ELF file's bytes, read as the symbolizer reads .symtab of a
 * module or of unpacked .gnu_debugdata. Every symbol that is found must answer the question.
 */
#include "symbols/tables.h"

#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define QUERIES 64

bool cs_core_auxv(const struct cs_core *core, uint64_t type, uint64_t *ret)
{
	(void)core;
	(void)type;
	(void)ret;
	return false;
}

static void check(const struct cs_sym_query *q)
{
	if (q->inside_table &&
	    (q->inside.value > q->vaddr || q->vaddr - q->inside.value >= q->inside.size))
		abort();
	if (q->before_table && q->before.value > q->vaddr)
		abort();
	if (q->inside_table && !q->before_table)
		abort(); /* what covers an address also comes before it */
}

static void read_table(const struct cs_sections *sections, const struct cs_section *s)
{
	struct cs_sym_tables tables = {.n = 1};
	struct cs_sym_table *t = &tables.v[0];
	struct cs_sym_query queries[QUERIES] = {0};
	struct cs_sym sym;
	char *name;
	size_t i;

	if (s->link >= sections->n)
		return;
	*t = (struct cs_sym_table){.from = sections->from, .sections = sections,
				   .symbols = s->offset, .n_symbols = s->size / sizeof(Elf64_Sym),
				   .strings = sections->v[s->link].offset,
				   .strings_size = sections->v[s->link].size};
	for (i = 0; i < QUERIES; i++)
		queries[i].vaddr = i * i * 64;
	(void)!cs_sym_pass(&tables, 0, queries, QUERIES);
	for (i = 0; i < QUERIES; i++) {
		check(&queries[i]);
		if (!queries[i].inside_table || queries[i].inside.name >= t->strings_size)
			continue;
		name = cs_bytes_string(&t->from, t->strings + queries[i].inside.name,
				       t->strings_size - queries[i].inside.name);
		if (name && name[0])
			(void)!cs_sym_by_name(t, name, &sym);
		free(name);
		break;
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct cs_bytes from = {.data = data, .size = size};
	struct cs_sections sections;
	size_t i;

	cs_sections_read(&from, &sections);
	(void)cs_sections_named(&sections, ".gnu_debuglink");
	for (i = 0; i < sections.n && i < 16; i++) {
		if (sections.v[i].type == SHT_SYMTAB || sections.v[i].type == SHT_DYNSYM)
			read_table(&sections, &sections.v[i]);
	}
	cs_sections_deinit(&sections);
	return 0;
}
