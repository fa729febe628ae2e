/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * From addresses to functions, lines and inlined calls. Knows the order of the sources; how each is read
 * is in symtab.c and lines.c.
 *
 * Addresses are grouped by module, and what one module needs is opened, read once and closed before
 * the next, so that memory depends on the largest module and not on their number.
 */
#include "symbols/symbolize.h"

#include "symbols/demangle.h"
#include "symbols/tables.h"

#include <string.h>

struct item {
	struct cs_mod *mod;
	struct cs_location *location;
};

/** One module's share of the work. */
struct job {
	struct cs_mod *mod;
	struct item *items;
	size_t n;
	struct cs_sym_tables tables;
	struct cs_sym_query *queries;
	struct cs_arena *arena;
};

static int compare_items(const void *a, const void *b)
{
	const struct item *x = a, *y = b;

	if (x->mod != y->mod)
		return x->mod->pub.start < y->mod->pub.start ||
				       (x->mod->pub.start == y->mod->pub.start && x->mod < y->mod)
			       ? -1
			       : 1;
	return x->location->lookup < y->location->lookup ? -1
							 : x->location->lookup > y->location->lookup;
}

/** True if @vaddr lies in the section that @sym is defined in, as far as sections are known. */
static bool same_section(const struct cs_sym_table *t, const struct cs_sym *sym, uint64_t vaddr)
{
	const struct cs_section *s;

	if (!t->sections || sym->shndx >= t->sections->n)
		return true;
	s = &t->sections->v[sym->shndx];
	return vaddr >= s->addr && vaddr - s->addr < s->size;
}

static void set_function(struct job *j, size_t i, const struct cs_sym *sym, size_t table,
			 bool nearest)
{
	const struct cs_sym_table *t = &j->tables.v[table];
	struct cs_location *l = j->items[i].location;
	CS_CLEANUP(cs_freep) char *name = NULL;

	l->offset = j->queries[i].vaddr - sym->value;
	l->nearest = nearest;
	if (i > 0 && j->items[i - 1].location->function &&
	    j->queries[i - 1].vaddr - j->items[i - 1].location->offset == sym->value) {
		/* The same symbol as before: its name need not be read again. */
		l->function = j->items[i - 1].location->function;
		l->short_name = j->items[i - 1].location->short_name;
		return;
	}
	if (sym->name >= t->strings_size)
		return;
	name = cs_bytes_string(&t->from, t->strings + sym->name, t->strings_size - sym->name);
	if (!name || !name[0])
		return;
	l->function = cs_demangle(j->arena, name);
	l->short_name = l->function ? cs_short_name(j->arena, l->function) : NULL;
}

static void use_symbols(struct job *j)
{
	size_t i;

	for (i = 0; i < j->n; i++) {
		const struct cs_sym_query *q = &j->queries[i];

		if (q->inside_table) {
			set_function(j, i, &q->inside, q->inside_table - 1u, false);
		} else if (q->before_table) {
			/* Assembler functions have no size: they reach to the next symbol. */
			bool covers = q->before.size == 0 &&
				      same_section(&j->tables.v[q->before_table - 1],
						   &q->before, q->vaddr);

			set_function(j, i, &q->before, q->before_table - 1u, !covers);
		}
	}
}

static void find_symbols(struct job *j, struct cs_diags *diags)
{
	struct cs_module *pub = &j->mod->pub;
	bool whole = true;
	size_t i;

	for (i = 0; i < j->n; i++)
		j->queries[i].vaddr = j->items[i].location->lookup - pub->bias;
	cs_sym_tables_open(j->mod, &j->tables);
	for (i = 0; i < j->tables.n; i++) {
		if (!cs_sym_pass(&j->tables, i, j->queries, j->n))
			whole = false;
		pub->symbols = CS_MAX(pub->symbols, j->tables.v[i].source);
	}
	if (!whole)
		cs_diag(diags, CS_SEVERITY_WARNING, "symbols", "symbol-limit", 0,
			"%s: its symbol table is not read to the end: more than %lu symbols, or "
			"symbols that overlap without end", pub->path, CS_MAX_SYMBOLS);
	use_symbols(j);
	cs_sym_tables_deinit(&j->tables);
}

static struct cs_error *find_lines(struct job *j)
{
	CS_CLEANUP(cs_lines_closep) struct cs_lines *lines = cs_lines_open(j->mod);
	size_t i;

	if (!lines)
		return NULL;
	j->mod->pub.symbols = CS_SYMBOLS_DWARF;
	for (i = 0; i < j->n; i++)
		CS_TRY(cs_lines_find(lines, j->arena, j->queries[i].vaddr, j->items[i].location));
	return NULL;
}

static struct cs_error *do_module(struct job *j, struct cs_diags *diags)
{
	CS_CLEANUP(cs_freep) struct cs_sym_query *queries = calloc(j->n, sizeof(*queries));
	size_t i;

	if (!queries)
		return &cs_nomem;
	j->queries = queries;
	j->mod->pub.in_use = true;
	for (i = 0; i < j->n; i++)
		j->items[i].location->module = &j->mod->pub;
	if (!j->mod->has_bias)
		return NULL;
	find_symbols(j, diags);
	return find_lines(j);
}

struct cs_error *cs_symbolize(struct cs_modules *modules, struct cs_arena *arena,
			      struct cs_diags *diags, struct cs_location *locations, size_t n)
{
	CS_CLEANUP(cs_freep) struct item *items = calloc(n + 1, sizeof(*items));
	size_t used = 0, i, count;

	if (!items)
		return &cs_nomem;
	for (i = 0; i < n; i++) {
		struct cs_mod *mod = cs_modules_find(modules, locations[i].lookup);

		if (mod)
			items[used++] = (struct item){mod, &locations[i]};
	}
	if (used)
		qsort(items, used, sizeof(*items), compare_items);
	for (i = 0; i < used; i += count) {
		struct job j = {.mod = items[i].mod, .items = &items[i], .arena = arena};

		for (count = 1; i + count < used && items[i + count].mod == j.mod;)
			count++;
		j.n = count;
		CS_TRY(do_module(&j, diags));
	}
	if (modules->n_lines_left_out)
		cs_diag(diags, CS_SEVERITY_NOTE, "symbols", "lines-left-out", 0,
			"source lines are left out where a large debug file would have to be unpacked: "
			"%zu of the modules (--all reads them)", modules->n_lines_left_out);
	return NULL;
}
