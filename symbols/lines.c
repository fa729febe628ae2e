/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Source lines and inlined calls out of DWARF. The only file of this layer that knows libdw's DIE
 * interface; refuses to know ELF symbols.
 *
 * libdw's own scope search recurses as deep as the DIEs nest and would open whatever a skeleton unit or
 * an alternate link names, so both are done here, with a depth and with a look at the file before.
 */
#include "base/text.h"
#include "symbols/demangle.h"
#include "symbols/symbolize.h"
#include "symbols/tables.h"

#include <dwarf.h>
#include <elfutils/libdw.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

struct unit_range {
	uint64_t low;
	uint64_t high; /* exclusive */
	Dwarf_Off unit; /* offset of the unit's DIE */
};

struct cs_lines {
	Dwarf *dw;
	const char *dir; /* folder of the file, without the last slash; owned */
	CS_VEC(struct unit_range) units; /* by low; filled when .debug_aranges does not answer */
	bool has_units;
};

/** The scopes that hold one address: chain[0] is the function, the others are inlined into it. */
struct scopes {
	uint64_t pc;
	Dwarf_Die chain[CS_MAX_INLINES + 1];
	size_t n;
	size_t n_dies;
};

/* ---- opening ---- */

/** libdw opens a file named by the debug information without a look: a FIFO would block it. */
static bool may_open(const char *path)
{
	struct stat st;

	return stat(path, &st) < 0 || S_ISREG(st.st_mode);
}

static bool may_open_in(const char *dir, const char *name)
{
	CS_CLEANUP(cs_freep) char *path = NULL;

	if (name[0] == '/')
		return may_open(name);
	if (asprintf(&path, "%s/%s", dir, name) < 0) {
		path = NULL;
		return false;
	}
	return may_open(path);
}

static bool altlink_is_fine(const struct cs_sections *sections, const char *dir)
{
	const struct cs_section *s = cs_sections_named(sections, ".gnu_debugaltlink");
	CS_CLEANUP(cs_freep) char *name = NULL;

	if (!s)
		return true;
	name = cs_bytes_string(&sections->from, s->offset, s->size);
	return name && may_open_in(dir, name);
}

static bool has_debug_info(const struct cs_bytes *from, const char *dir)
{
	struct cs_sections sections;
	bool has;

	cs_sections_read(from, &sections);
	has = (cs_sections_named(&sections, ".debug_info") ||
	       cs_sections_named(&sections, ".zdebug_info")) &&
	      altlink_is_fine(&sections, dir);
	cs_sections_deinit(&sections);
	return has;
}

static char *folder_of(const char *path)
{
	char *dir = strdup(path), *slash = dir ? strrchr(dir, '/') : NULL;

	if (slash) {
		*slash = 0;
		return dir;
	}
	free(dir);
	return strdup(".");
}

static struct cs_lines *open_image(const struct cs_bytes *from, Elf *elf)
{
	CS_CLEANUP(cs_lines_closep) struct cs_lines *lines = calloc(1, sizeof(*lines));

	if (!lines || !elf)
		return NULL;
	lines->dir = folder_of(from->file->path);
	if (!lines->dir || !has_debug_info(from, lines->dir))
		return NULL;
	lines->dw = dwarf_begin_elf(elf, DWARF_C_READ, NULL);
	return lines->dw ? CS_TAKE(lines) : NULL;
}

/** Bytes that libdw would unpack: it does so for all debug sections when it opens them. */
static uint64_t unpacked_size(const struct cs_bytes *from)
{
	struct cs_sections sections;
	uint64_t sum = 0;

	cs_sections_read(from, &sections);
	for (size_t i = 0; i < sections.n; i++) {
		const struct cs_section *s = &sections.v[i];
		Elf64_Chdr chdr;

		if (s->flags & SHF_COMPRESSED && !(s->flags & SHF_ALLOC) &&
		    cs_bytes_read(from, s->offset, &chdr, sizeof(chdr)) == sizeof(chdr) &&
		    le64toh(chdr.ch_size) < UINT64_MAX - sum)
			sum += le64toh(chdr.ch_size);
	}
	cs_sections_deinit(&sections);
	return sum;
}

/**
 * Distributions compress their debug packages: unpacking the C library's costs more time than all else
 * that a report of a hundred threads takes, for lines that few look at. Symbols do not need it.
 */
static bool worth_unpacking(struct cs_mod *mod, const struct cs_bytes *from)
{
	if (mod->owner->options.all_lines || unpacked_size(from) <= CS_MAX_UNPACKED_LINES)
		return true;
	mod->owner->n_lines_left_out++;
	return false;
}

struct cs_lines *cs_lines_open(struct cs_mod *mod)
{
	struct cs_lines *lines = NULL;
	struct cs_bytes from;

	if (cs_mod_file_bytes(mod, &from))
		lines = open_image(&from, cs_mod_elf(mod));
	if (!lines && cs_mod_debug_bytes(mod, &from) && worth_unpacking(mod, &from))
		lines = open_image(&from, cs_mod_debug_elf(mod));
	return lines;
}

void cs_lines_close(struct cs_lines *lines)
{
	if (!lines)
		return;
	if (lines->dw)
		dwarf_end(lines->dw);
	free(lines->units.v);
	free((void *)lines->dir);
	free(lines);
}

/* ---- from address to unit ---- */

static int compare_units(const void *a, const void *b)
{
	const struct unit_range *x = a, *y = b;

	return x->low < y->low ? -1 : x->low > y->low;
}

static struct cs_error *add_unit(struct cs_lines *lines, Dwarf_Die *die)
{
	struct unit_range r = {.unit = dwarf_dieoffset(die)};
	Dwarf_Addr base, low, high;
	ptrdiff_t at = 0;

	while ((at = dwarf_ranges(die, at, &base, &low, &high)) > 0) {
		r.low = low;
		r.high = high;
		if (low < high)
			CS_TRY(CS_PUSH(&lines->units, r, CS_MAX_UNITS, "ranges of compilation units"));
	}
	return NULL;
}

/** clang writes no .debug_aranges; the units' own ranges say the same. */
static void read_units(struct cs_lines *lines)
{
	Dwarf_CU *cu = NULL;
	Dwarf_Die die;

	lines->has_units = true;
	while (dwarf_get_units(lines->dw, cu, &cu, NULL, NULL, &die, NULL) == 0) {
		if (!cs_ok(add_unit(lines, &die)))
			break;
	}
	if (lines->units.n)
		qsort(lines->units.v, lines->units.n, sizeof(*lines->units.v), compare_units);
}

static bool find_unit(struct cs_lines *lines, uint64_t pc, Dwarf_Die *ret)
{
	size_t lo = 0, hi;

	if (dwarf_addrdie(lines->dw, pc, ret))
		return true;
	if (!lines->has_units)
		read_units(lines);
	for (hi = lines->units.n; lo < hi;) {
		size_t mid = lo + (hi - lo) / 2;

		if (lines->units.v[mid].low <= pc)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo && pc < lines->units.v[lo - 1].high &&
	       dwarf_offdie(lines->dw, lines->units.v[lo - 1].unit, ret);
}

/** Where the scopes of @unit are: in itself, or, for a skeleton unit, in its .dwo file. */
static bool scope_unit(struct cs_lines *lines, Dwarf_Die *unit, Dwarf_Die *ret)
{
	Dwarf_Attribute attr;
	const char *name = NULL, *dir = NULL;
	Dwarf_Die split = {0};

	*ret = *unit;
	if (dwarf_attr(unit, DW_AT_dwo_name, &attr) || dwarf_attr(unit, DW_AT_GNU_dwo_name, &attr))
		name = dwarf_formstring(&attr);
	if (!name)
		return true;
	if (dwarf_attr(unit, DW_AT_comp_dir, &attr))
		dir = dwarf_formstring(&attr);
	if (!may_open_in(lines->dir, name) || (dir && !may_open_in(dir, name)) ||
	    dwarf_cu_info(unit->cu, NULL, NULL, NULL, &split, NULL, NULL, NULL) != 0 || !split.addr)
		return false;
	*ret = split;
	return true;
}

/* ---- from unit to scopes ---- */

static bool is_container(int tag)
{
	return tag == DW_TAG_namespace || tag == DW_TAG_module || tag == DW_TAG_class_type ||
	       tag == DW_TAG_structure_type || tag == DW_TAG_union_type;
}

static bool is_scope(int tag)
{
	return tag == DW_TAG_subprogram || tag == DW_TAG_inlined_subroutine ||
	       tag == DW_TAG_lexical_block || tag == DW_TAG_try_block ||
	       tag == DW_TAG_catch_block;
}

/** Depth first below @parent; true once the scopes are found, or a limit ends the search. */
static bool descend(struct scopes *s, Dwarf_Die *parent, unsigned depth)
{
	Dwarf_Die die;
	int more;

	if (depth > CS_MAX_DIE_DEPTH)
		return true;
	for (more = dwarf_child(parent, &die); more == 0; more = dwarf_siblingof(&die, &die)) {
		int tag = dwarf_tag(&die);

		if (++s->n_dies > CS_MAX_DIES || s->n == CS_COUNT(s->chain))
			return true;
		if (is_scope(tag) && dwarf_haspc(&die, s->pc) == 1) {
			if (tag == DW_TAG_subprogram || tag == DW_TAG_inlined_subroutine)
				s->chain[s->n++] = die;
			descend(s, &die, depth + 1);
			return true;
		}
		if (is_container(tag) && descend(s, &die, depth + 1))
			return true;
	}
	return false;
}

/* ---- words ---- */

static const char *function_name(Dwarf_Die *die, struct cs_arena *arena)
{
	Dwarf_Attribute attr;
	const char *name = NULL;

	if (dwarf_attr_integrate(die, DW_AT_linkage_name, &attr) ||
	    dwarf_attr_integrate(die, DW_AT_MIPS_linkage_name, &attr))
		name = dwarf_formstring(&attr);
	if (!name && dwarf_attr_integrate(die, DW_AT_name, &attr))
		name = dwarf_formstring(&attr);
	return name ? cs_demangle(arena, name) : NULL;
}

struct place {
	const char *file;
	uint32_t line, column;
};

static const char *shared_text(struct cs_arena *arena, const char *s)
{
	CS_CLEANUP(cs_freep) char *valid = NULL;
	size_t n = s ? strnlen(s, CS_MAX_PATH) : 0, i, step, at = 0;

	if (n == 0)
		return NULL;
	valid = malloc(n * 3 + 1); /* U+FFFD takes three bytes */
	if (!valid)
		return NULL;
	for (i = 0; i < n; i += step ? step : 1) {
		step = cs_utf8_sequence((const unsigned char *)s + i, n - i);
		memcpy(valid + at, step ? s + i : "\xef\xbf\xbd", step ? step : 3);
		at += step ? step : 3;
	}
	valid[at] = 0;
	return cs_arena_intern(arena, valid);
}

static struct place current_place(Dwarf_Die *unit, uint64_t pc, struct cs_arena *arena)
{
	Dwarf_Line *line = dwarf_getsrc_die(unit, pc);
	struct place p = {0};
	int number = 0, column = 0;

	if (!line || dwarf_lineno(line, &number) != 0 || number <= 0)
		return p;
	p.file = shared_text(arena, dwarf_linesrc(line, NULL, NULL));
	p.line = (uint32_t)number;
	if (dwarf_linecol(line, &column) == 0 && column > 0)
		p.column = (uint32_t)column;
	return p;
}

static uint32_t number_of(Dwarf_Die *die, unsigned name)
{
	Dwarf_Attribute attr;
	Dwarf_Word value = 0;

	if (!dwarf_attr(die, name, &attr) || dwarf_formudata(&attr, &value) != 0 ||
	    value > UINT32_MAX)
		return 0;
	return (uint32_t)value;
}

/** Where the call that @die was inlined for stands. */
static struct place call_place(Dwarf_Die *die, Dwarf_Die *unit, struct cs_arena *arena)
{
	struct place p = {.line = number_of(die, DW_AT_call_line),
			  .column = number_of(die, DW_AT_call_column)};
	uint32_t index = number_of(die, DW_AT_call_file);
	Dwarf_Files *files;
	size_t n;

	if (dwarf_getsrcfiles(unit, &files, &n) == 0 && index < n)
		p.file = shared_text(arena, dwarf_filesrc(files, index, NULL, NULL));
	return p;
}

/** True if @symbol is "@name.part.0", "@name.cold" or demangled "@name [clone .cold]". */
static bool is_part_of(const char *symbol, const char *name)
{
	size_t n = strlen(name);

	return strncmp(symbol, name, n) == 0 &&
	       (symbol[n] == '.' || strncmp(symbol + n, " [clone .", 9) == 0);
}

/**
 * A symbol's name stays: it is the same with and without debug information. Debug information names what
 * no symbol covers, and of which function a split-off part is one.
 */
static void name_function(Dwarf_Die *die, uint64_t pc, struct cs_arena *arena,
			  struct cs_location *l)
{
	bool known = l->function && !l->nearest;
	const char *name = function_name(die, arena);
	Dwarf_Addr low;

	if (!name || (known && !is_part_of(l->function, name)))
		return;
	if (!known) {
		if (dwarf_entrypc(die, &low) != 0 || low > pc)
			return;
		l->offset = pc - low;
		l->nearest = false;
	}
	l->function = name;
	l->short_name = cs_short_name(arena, name);
}

static struct cs_error *fill(struct scopes *s, Dwarf_Die *unit, struct place place,
			     struct cs_arena *arena, struct cs_location *l)
{
	struct cs_inline_call *calls = NULL;
	size_t n = s->n ? s->n - 1 : 0, i;

	if (n) {
		calls = cs_arena_calloc(arena, n, sizeof(*calls));
		if (!calls)
			return &cs_nomem;
	}
	for (i = 0; i < n; i++) {
		Dwarf_Die *die = &s->chain[s->n - 1 - i];

		calls[i].function = function_name(die, arena);
		calls[i].short_name = calls[i].function
					      ? cs_short_name(arena, calls[i].function)
					      : NULL;
		calls[i].file = place.file;
		calls[i].line = place.line;
		calls[i].column = place.column;
		place = call_place(die, unit, arena);
	}
	l->inlines = calls;
	l->n_inlines = n;
	l->file = place.file;
	l->line = place.line;
	l->column = place.column;
	if (s->n)
		name_function(&s->chain[0], s->pc, arena, l);
	return NULL;
}

struct cs_error *cs_lines_find(struct cs_lines *lines, struct cs_arena *arena, uint64_t vaddr,
			       struct cs_location *location)
{
	CS_CLEANUP(cs_freep) struct scopes *s = NULL;
	Dwarf_Die unit, inner;

	if (!find_unit(lines, vaddr, &unit))
		return NULL;
	s = calloc(1, sizeof(*s));
	if (!s)
		return &cs_nomem;
	s->pc = vaddr;
	if (scope_unit(lines, &unit, &inner))
		(void)descend(s, &inner, 0);
	else
		inner = unit;
	return fill(s, &inner, current_place(&unit, vaddr, arena), arena, location);
}
