/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Symbol tables, streamed. Knows Elf64_Sym and which symbols name code; refuses to know demangling.
 *
 * A table may have a million entries and the question is about a few dozen addresses: the addresses are
 * sorted and the table is read once, in pieces, without an index.
 */
#include "symbols/tables.h"

#include <string.h>

#define CHUNK_SYMBOLS 2730UL /* 64 KiB of Elf64_Sym */

/* ---- which tables ---- */

static void add_table(struct cs_sym_tables *t, const struct cs_sections *sections, uint32_t type,
		      enum cs_symbol_source source)
{
	const struct cs_section *s = cs_sections_typed(sections, type), *strings;
	struct cs_sym_table table = {.from = sections->from, .sections = sections, .source = source};

	if (!s || s->link >= sections->n || t->n == CS_SYM_TABLES ||
	    s->entsize != sizeof(Elf64_Sym) || s->size < sizeof(Elf64_Sym))
		return;
	strings = &sections->v[s->link];
	table.symbols = s->offset;
	table.n_symbols = CS_MIN(s->size / sizeof(Elf64_Sym), (uint64_t)CS_MAX_SYMBOLS);
	table.strings = strings->offset;
	table.strings_size = strings->size;
	t->v[t->n++] = table;
}

/** The dynamic symbols as the process itself has them. */
static void add_memory_table(struct cs_sym_tables *t, struct cs_mod *mod)
{
	struct cs_sym_table table = {.source = CS_SYMBOLS_MEMORY};
	struct cs_dynamic d;

	if (t->n == CS_SYM_TABLES || !mod->has_bias || !cs_dynamic_read(mod, &d))
		return;
	table.from.mem = mod->owner->mem;
	table.symbols = mod->pub.bias + d.symtab;
	table.n_symbols = cs_dynamic_count(mod, &d);
	table.strings = mod->pub.bias + d.strtab;
	table.strings_size = d.strsz;
	if (table.n_symbols)
		t->v[t->n++] = table;
}

void cs_sym_tables_open(struct cs_mod *mod, struct cs_sym_tables *ret)
{
	struct cs_bytes from;

	*ret = (struct cs_sym_tables){0};
	if (cs_mod_file_bytes(mod, &from)) {
		cs_sections_read(&from, &ret->file);
		add_table(ret, &ret->file, SHT_SYMTAB, CS_SYMBOLS_SYMTAB);
	}
	if (ret->n == 0 && cs_mod_debug_bytes(mod, &from)) {
		cs_sections_read(&from, &ret->debug);
		add_table(ret, &ret->debug, SHT_SYMTAB, CS_SYMBOLS_SYMTAB);
	}
	if (ret->n > 0)
		return;
	add_table(ret, &ret->file, SHT_DYNSYM, CS_SYMBOLS_DYNSYM);
	if (cs_mod_mini_bytes(mod, &from)) {
		cs_sections_read(&from, &ret->mini);
		add_table(ret, &ret->mini, SHT_SYMTAB, CS_SYMBOLS_SYMTAB);
	}
	if (ret->n == 0)
		add_memory_table(ret, mod);
}

void cs_sym_tables_deinit(struct cs_sym_tables *tables)
{
	cs_sections_deinit(&tables->file);
	cs_sections_deinit(&tables->debug);
	cs_sections_deinit(&tables->mini);
	tables->n = 0;
}

/* ---- the pass ---- */

struct pass {
	const struct cs_sym_table *table;
	uint8_t id; /* index of the table + 1 */
	struct cs_sym_query *queries;
	size_t n;
	uint64_t steps;
	uint32_t verdict_name; /* the last st_name that was looked at, and */
	bool verdict;          /* whether it is a mapping symbol or a local label */
	bool has_verdict;
};

static void sym_parse(const uint8_t *raw, struct cs_sym *ret)
{
	Elf64_Sym s;

	memcpy(&s, raw, sizeof(s));
	ret->name = le32toh(s.st_name);
	ret->info = s.st_info;
	ret->other = s.st_other;
	ret->shndx = le16toh(s.st_shndx);
	ret->value = le64toh(s.st_value);
	ret->size = le64toh(s.st_size);
}

static bool in_code_section(const struct cs_sym_table *t, const struct cs_sym *s)
{
	if (!t->sections)
		return s->shndx < SHN_LORESERVE;
	return s->shndx < t->sections->n && (t->sections->v[s->shndx].flags & SHF_EXECINSTR);
}

static bool is_function(const struct cs_sym *s)
{
	return (s->info & 15) == STT_FUNC || (s->info & 15) == STT_GNU_IFUNC;
}

static bool names_code(const struct cs_sym_table *t, const struct cs_sym *s)
{
	if (s->value == 0 || s->shndx == SHN_UNDEF || s->name == 0)
		return false;
	return is_function(s) || ((s->info & 15) == STT_NOTYPE && in_code_section(t, s));
}

/** > 0: @a is the better answer; 0: only their names and bindings can tell. */
static int compare_symbols(const struct cs_sym *a, const struct cs_sym *b)
{
	if (a->value != b->value)
		return a->value > b->value ? 1 : -1;
	if (!a->size != !b->size)
		return a->size ? 1 : -1;
	return (a->info >> 4 != STB_LOCAL) - (b->info >> 4 != STB_LOCAL);
}

static int underscores(const struct cs_sym_table *t, const struct cs_sym *s)
{
	char name[4] = "";

	cs_bytes_read(&t->from, t->strings + s->name, name, sizeof(name) - 1);
	return (int)strspn(name, "_");
}

/**
 * Is @new of @p's table better than @old of table number @old_id - 1? Of aliases people know the one with
 * the fewest underscores: poll, which is weak, and not __poll, which is global.
 */
static bool better(const struct pass *p, const struct cs_sym *new, const struct cs_sym *old,
		   uint8_t old_id)
{
	int order = compare_symbols(new, old);

	if (order != 0 || old_id != p->id || new->name == old->name)
		return order > 0;
	order = underscores(p->table, old) - underscores(p->table, new);
	if (order == 0)
		order = (old->info >> 4 == STB_WEAK) - (new->info >> 4 == STB_WEAK);
	return order > 0 || (order == 0 && is_function(new) && !is_function(old));
}

/** Mapping symbols ("$x", "$d"; AAELF64 5.5.4) and assembler labels (".L12") are no functions. */
static bool is_label(struct pass *p, const struct cs_sym *s)
{
	char name[2] = "";

	if (s->info >> 4 != STB_LOCAL || (s->info & 15) != STT_NOTYPE)
		return false;
	if (p->has_verdict && p->verdict_name == s->name)
		return p->verdict;
	cs_bytes_read(&p->table->from, p->table->strings + s->name, name, sizeof(name));
	p->has_verdict = true;
	p->verdict_name = s->name;
	p->verdict = name[0] == 0 || name[0] == '$' || (name[0] == '.' && name[1] == 'L');
	return p->verdict;
}

/** Index of the first query at or above @vaddr. */
static size_t first_query(const struct pass *p, uint64_t vaddr)
{
	size_t lo = 0, hi = p->n;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (p->queries[mid].vaddr < vaddr)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

/**
 * Note @s at the queries it may answer. As "nearest before" it is noted only at the first query behind
 * it; spread_before() carries it on to the others.
 */
static void consider(struct pass *p, const struct cs_sym *s)
{
	struct cs_sym_query *first;
	size_t i = first_query(p, s->value);

	if (i == p->n || is_label(p, s))
		return;
	first = &p->queries[i];
	if (!first->before_table || better(p, s, &first->before, first->before_table)) {
		first->before = *s;
		first->before_table = p->id;
	}
	for (; i < p->n && p->queries[i].vaddr - s->value < s->size; i++) {
		struct cs_sym_query *q = &p->queries[i];

		if (p->steps++ >= CS_MAX_SYMBOL_STEPS)
			break;
		if (!q->inside_table || better(p, s, &q->inside, q->inside_table)) {
			q->inside = *s;
			q->inside_table = p->id;
		}
	}
}

static void spread_before(struct pass *p)
{
	size_t i;

	for (i = 1; i < p->n; i++) {
		const struct cs_sym_query *last = &p->queries[i - 1];
		struct cs_sym_query *q = &p->queries[i];

		if (!last->before_table ||
		    (q->before_table && compare_symbols(&last->before, &q->before) <= 0))
			continue;
		q->before = last->before;
		q->before_table = last->before_table;
	}
}

/** Up to CHUNK_SYMBOLS symbols from number @first on; 0 at the end of the table, or of its bytes. */
static size_t read_chunk(const struct cs_sym_table *t, uint64_t first, uint8_t *chunk)
{
	size_t want;

	if (first >= t->n_symbols)
		return 0;
	want = CS_MIN(CHUNK_SYMBOLS, t->n_symbols - first);
	return cs_bytes_read(&t->from, t->symbols + first * sizeof(Elf64_Sym), chunk,
			     want * sizeof(Elf64_Sym)) / sizeof(Elf64_Sym);
}

bool cs_sym_pass(const struct cs_sym_tables *tables, size_t table, struct cs_sym_query *queries,
		 size_t n)
{
	const struct cs_sym_table *t = &tables->v[table];
	struct pass p = {.table = t, .id = (uint8_t)(table + 1), .queries = queries, .n = n};
	CS_CLEANUP(cs_freep) uint8_t *chunk = malloc(CHUNK_SYMBOLS * sizeof(Elf64_Sym));
	uint64_t done, last = n ? queries[n - 1].vaddr : 0;
	size_t i, got;

	for (done = 0; chunk && n && (got = read_chunk(t, done, chunk)); done += got) {
		for (i = 0; i < got; i++) {
			struct cs_sym s;

			sym_parse(chunk + i * sizeof(Elf64_Sym), &s);
			if (s.value <= last && names_code(t, &s))
				consider(&p, &s);
		}
	}
	spread_before(&p);
	return chunk && p.steps <= CS_MAX_SYMBOL_STEPS && t->n_symbols < CS_MAX_SYMBOLS;
}

/* ---- by name ---- */

struct name_hits {
	uint32_t v[CS_MAX_NAME_HITS];
	size_t n;
};

/** Offsets of "name\0" in the string table; linkers let names share their tails. */
static void find_name(const struct cs_sym_table *t, const char *name, struct name_hits *hits)
{
	size_t want = strlen(name) + 1, kept = 0, got;
	CS_CLEANUP(cs_freep) char *buf = malloc(65536 + CS_MAX_MANGLED);
	uint64_t done;

	if (!buf || want > CS_MAX_MANGLED)
		return;
	for (done = 0; done < t->strings_size; done += got) {
		char *at = buf, *end;

		got = cs_bytes_read(&t->from, t->strings + done, buf + kept,
				    CS_MIN((uint64_t)65536, t->strings_size - done));
		if (got == 0)
			return;
		end = buf + kept + got;
		while ((at = memmem(at, (size_t)(end - at), name, want))) {
			if (hits->n == CS_MAX_NAME_HITS)
				return;
			hits->v[hits->n++] = (uint32_t)(done - kept + (uint64_t)(at - buf));
			at++;
		}
		kept = CS_MIN(want - 1, kept + got);
		memmove(buf, end - kept, kept);
	}
}

static bool is_hit(const struct name_hits *hits, uint32_t name)
{
	size_t i;

	for (i = 0; i < hits->n; i++) {
		if (hits->v[i] == name)
			return true;
	}
	return false;
}

bool cs_sym_by_name(const struct cs_sym_table *t, const char *name, struct cs_sym *ret)
{
	CS_CLEANUP(cs_freep) uint8_t *chunk = malloc(CHUNK_SYMBOLS * sizeof(Elf64_Sym));
	struct name_hits hits = {.n = 0};
	bool found = false;
	uint64_t done;
	size_t i, got;

	find_name(t, name, &hits);
	for (done = 0; chunk && hits.n && (got = read_chunk(t, done, chunk)); done += got) {
		for (i = 0; i < got; i++) {
			struct cs_sym s;

			sym_parse(chunk + i * sizeof(Elf64_Sym), &s);
			if (s.shndx == SHN_UNDEF || s.value == 0 || (s.info & 15) == STT_TLS ||
			    !is_hit(&hits, s.name) || (found && (s.info >> 4) != STB_GLOBAL))
				continue;
			*ret = s;
			found = true;
		}
	}
	return found;
}
