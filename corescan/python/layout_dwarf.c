/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Offsets of CPython's fields out of the debug information of one build. Knows how C structures are written
 * in DWARF; refuses to know what a field means.
 *
 * The structures are types, so they stand right below their compilation unit, and no unit has all of them:
 * one pass over these entries, ended once every structure was seen whole.
 */
#include "python/layout.h"

#include "base/limits.h"

#include <dwarf.h>
#include <elfutils/libdw.h>
#include <string.h>

#define MAX_STRUCTS 128UL
#define MAX_NAME 64UL
#define MAX_TYPEDEFS 16 /* between a name and its structure */
#define MAX_NESTING 8   /* structures without a name within one another */

struct structure {
	char name[MAX_NAME]; /* without "struct " */
	bool tag;            /* it is the name of a struct; else a typedef will do as well */
	bool found;
	Dwarf_Die die;
};

struct reader {
	struct structure list[MAX_STRUCTS]; /* by name */
	size_t n;
	size_t n_dies; /* looked at so far */
};

/* ---- which structures ---- */

/** One of the alternatives that a declaration consists of: "PyThreadState.frame". */
struct path {
	const char *name; /* of the structure */
	size_t name_len;
	bool tag;
	const char *members; /* "imports.modules" */
	size_t members_len;
};

/** The next alternative of *@at; false at the end. */
static bool next_path(const char **at, struct path *ret)
{
	static const char tag[] = "struct ";
	const char *p = *at;
	size_t len = strcspn(p, "|");
	const char *dot;

	if (!*p)
		return false;
	*at = p + len + (p[len] == '|');
	ret->tag = strncmp(p, tag, sizeof(tag) - 1) == 0;
	if (ret->tag) {
		p += sizeof(tag) - 1;
		len -= sizeof(tag) - 1;
	}
	dot = memchr(p, '.', len);
	if (!dot)
		return false;
	ret->name = p;
	ret->name_len = (size_t)(dot - p);
	ret->members = dot + 1;
	ret->members_len = len - ret->name_len - 1;
	return ret->name_len < MAX_NAME;
}

static int compare_structures(const void *a, const void *b)
{
	return strcmp(((const struct structure *)a)->name, ((const struct structure *)b)->name);
}

static struct structure *find_structure(struct reader *r, const char *name)
{
	size_t lo = 0, hi = r->n;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;
		int order = strcmp(name, r->list[mid].name);

		if (order == 0)
			return &r->list[mid];
		if (order < 0)
			hi = mid;
		else
			lo = mid + 1;
	}
	return NULL;
}

static struct structure *structure_of(struct reader *r, const struct path *path)
{
	char name[MAX_NAME];

	memcpy(name, path->name, path->name_len);
	name[path->name_len] = '\0';
	return find_structure(r, name);
}

static void list_structures(struct reader *r)
{
	for (size_t i = 0; i < cs_py_n_fields; i++) {
		const char *at = cs_py_fields[i].declared;
		struct path path;

		while (next_path(&at, &path)) {
			struct structure s = {.tag = path.tag};

			if (r->n == MAX_STRUCTS || structure_of(r, &path))
				continue;
			memcpy(s.name, path.name, path.name_len);
			r->list[r->n++] = s;
			qsort(r->list, r->n, sizeof(s), compare_structures);
		}
	}
}

/* ---- one pass over the types ---- */

/** Behind typedefs and qualifiers; false where there is no type. */
static bool strip(Dwarf_Die *die, Dwarf_Die *ret)
{
	*ret = *die;
	for (int i = 0; i < MAX_TYPEDEFS; i++) {
		int tag = dwarf_tag(ret);
		Dwarf_Attribute attr;

		if (tag != DW_TAG_typedef && tag != DW_TAG_const_type &&
		    tag != DW_TAG_volatile_type && tag != DW_TAG_atomic_type)
			return tag > 0;
		if (!dwarf_attr(ret, DW_AT_type, &attr) || !dwarf_formref_die(&attr, ret))
			return false;
	}
	return false;
}

/** The structure that @die defines or names, if it is whole: in most units it is only declared. */
static bool whole_structure(Dwarf_Die *die, Dwarf_Die *ret)
{
	Dwarf_Attribute attr;
	int tag;

	if (!strip(die, ret))
		return false;
	tag = dwarf_tag(ret);
	if (tag != DW_TAG_structure_type && tag != DW_TAG_union_type)
		return false;
	if (!dwarf_hasattr(ret, DW_AT_declaration))
		return true;
	/* -fdebug-types-section: the definition is in a unit of its own. */
	return dwarf_attr(ret, DW_AT_signature, &attr) && dwarf_formref_die(&attr, ret) &&
	       !dwarf_hasattr(ret, DW_AT_declaration);
}

static void look_at(struct reader *r, Dwarf_Die *die)
{
	int tag = dwarf_tag(die);
	struct structure *s;
	const char *name;
	Dwarf_Die type;

	if (tag != DW_TAG_typedef && tag != DW_TAG_structure_type)
		return;
	name = dwarf_diename(die);
	s = name ? find_structure(r, name) : NULL;
	if (!s || s->found || (s->tag && tag == DW_TAG_typedef) || !whole_structure(die, &type))
		return;
	s->found = true;
	s->die = type;
}

static void read_unit(struct reader *r, Dwarf_Die *unit)
{
	Dwarf_Die die;

	if (dwarf_child(unit, &die) != 0)
		return;
	do {
		look_at(r, &die);
	} while (++r->n_dies < CS_MAX_DIES && dwarf_siblingof(&die, &die) == 0);
}

static int32_t *field_of(struct cs_py_layout *layout, size_t i)
{
	return cs_py_layout_at(layout, cs_py_fields[i].position);
}

/**
 * True if nothing is left to look for. Structures of which the layout has no field are those of other
 * versions; asyncio's task is declared in a module of its own.
 */
static bool is_complete(struct reader *r, struct cs_py_layout *layout)
{
	for (size_t i = 0; i < cs_py_n_fields; i++) {
		const char *at = cs_py_fields[i].declared;
		bool found = *field_of(layout, i) == CS_ABSENT ||
			     strncmp(cs_py_fields[i].name, "task_", 5) == 0;
		struct path path;

		while (!found && next_path(&at, &path)) {
			const struct structure *s = structure_of(r, &path);

			found = s && s->found;
		}
		if (!found)
			return false;
	}
	return true;
}

static void find_structures(struct reader *r, Dwarf *dw, struct cs_py_layout *layout)
{
	Dwarf_CU *cu = NULL;
	Dwarf_Die unit;

	while (r->n_dies < CS_MAX_DIES &&
	       dwarf_get_units(dw, cu, &cu, NULL, NULL, &unit, NULL) == 0) {
		read_unit(r, &unit);
		if (is_complete(r, layout))
			break;
	}
}

/* ---- from structure to offset ---- */

/** Where @member lies within its structure, bytes. */
static bool member_offset(Dwarf_Die *member, uint64_t *ret)
{
	Dwarf_Attribute attr;
	Dwarf_Word value;
	Dwarf_Op *op;
	size_t n;

	*ret = 0;
	if (dwarf_attr(member, DW_AT_data_bit_offset, &attr)) {
		if (dwarf_formudata(&attr, &value) != 0)
			return false;
		*ret = value / 8;
		return true;
	}
	if (!dwarf_attr(member, DW_AT_data_member_location, &attr))
		return true; /* of a union */
	if (dwarf_formudata(&attr, &value) == 0) {
		*ret = value;
		return true;
	}
	/* DWARF 2 writes an expression. */
	if (dwarf_getlocation(&attr, &op, &n) != 0 || n != 1 || op[0].atom != DW_OP_plus_uconst)
		return false;
	*ret = op[0].number;
	return true;
}

static bool is_named(Dwarf_Die *die, const char *name, size_t len)
{
	const char *own = dwarf_diename(die);

	return own && strlen(own) == len && memcmp(own, name, len) == 0;
}

static bool type_of(Dwarf_Die *member, Dwarf_Die *ret)
{
	Dwarf_Attribute attr;
	Dwarf_Die type;

	return dwarf_attr(member, DW_AT_type, &attr) && dwarf_formref_die(&attr, &type) &&
	       whole_structure(&type, ret);
}

/**
 * Member @name of @type, also one within members that have no name; its offset is added to *@offset.
 * Recursion ends at MAX_NESTING.
 */
static bool find_member(struct reader *r, Dwarf_Die *type, const char *name, size_t len, int depth,
			uint64_t *offset, Dwarf_Die *ret)
{
	Dwarf_Die die, inner;
	uint64_t at;

	if (depth == MAX_NESTING || dwarf_child(type, &die) != 0)
		return false;
	do {
		uint64_t sum;

		if (dwarf_tag(&die) != DW_TAG_member || !member_offset(&die, &at))
			continue;
		if (is_named(&die, name, len)) {
			*offset += at;
			*ret = die;
			return true;
		}
		sum = *offset + at;
		if (!dwarf_diename(&die) && type_of(&die, &inner) &&
		    find_member(r, &inner, name, len, depth + 1, &sum, ret)) {
			*offset = sum;
			return true;
		}
	} while (++r->n_dies < 2 * CS_MAX_DIES && dwarf_siblingof(&die, &die) == 0);
	return false;
}

static bool offset_of(struct reader *r, const struct structure *s, const struct path *path,
		      uint64_t *ret)
{
	const char *p = path->members, *end = p + path->members_len;
	Dwarf_Die type = s->die, member;
	uint64_t sum = 0;

	for (;;) {
		const char *dot = memchr(p, '.', (size_t)(end - p));
		size_t len = (size_t)((dot ? dot : end) - p);

		if (!find_member(r, &type, p, len, 0, &sum, &member))
			return false;
		if (!dot)
			break;
		if (!type_of(&member, &type))
			return false;
		p = dot + 1;
	}
	*ret = sum;
	return true;
}

static bool value_of(struct reader *r, struct structure *s, const struct path *path, uint64_t *ret)
{
	static const char size[] = "__sizeof__";
	int bytes;

	if (path->members_len != sizeof(size) - 1 ||
	    memcmp(path->members, size, sizeof(size) - 1) != 0)
		return offset_of(r, s, path, ret);
	bytes = dwarf_bytesize(&s->die);
	*ret = bytes > 0 ? (uint64_t)bytes : 0;
	return bytes > 0;
}

/** A structure that is there, but without the field, says that this build has none such. */
static void override(struct reader *r, struct cs_py_layout *layout, size_t i)
{
	const char *at = cs_py_fields[i].declared;
	int32_t *field = field_of(layout, i);
	bool seen = false;
	struct path path;
	uint64_t value;

	while (next_path(&at, &path)) {
		struct structure *s = structure_of(r, &path);

		if (!s || !s->found)
			continue;
		if (value_of(r, s, &path, &value) && value <= INT32_MAX) {
			*field = (int32_t)value;
			return;
		}
		seen = true;
	}
	if (seen)
		*field = CS_ABSENT;
}

static bool has(struct reader *r, const char *name)
{
	const struct structure *s = find_structure(r, name);

	return s && s->found;
}

/**
 * libdw opens the file that .gnu_debugaltlink names, whatever it is, once an entry refers to it. It holds
 * what several packages share; a debug build of one's own has none.
 */
static bool has_alternate(Elf *elf)
{
	Elf_Scn *scn = NULL;
	size_t names;

	if (elf_getshdrstrndx(elf, &names) != 0)
		return false;
	for (size_t i = 0; i < CS_MAX_ELF_SECTIONS && (scn = elf_nextscn(elf, scn)); i++) {
		GElf_Shdr shdr;
		const char *name = gelf_getshdr(scn, &shdr) ? elf_strptr(elf, names, shdr.sh_name)
							    : NULL;

		if (name && strcmp(name, ".gnu_debugaltlink") == 0)
			return true;
	}
	return false;
}

bool cs_py_layout_dwarf(Elf *elf, struct cs_py_layout *layout)
{
	CS_CLEANUP(cs_freep) struct reader *r = calloc(1, sizeof(*r));
	bool enough;
	Dwarf *dw;

	if (!r || !elf || has_alternate(elf))
		return false;
	dw = dwarf_begin_elf(elf, DWARF_C_READ, NULL);
	if (!dw)
		return false;
	list_structures(r);
	find_structures(r, dw, layout);
	for (size_t i = 0; i < cs_py_n_fields; i++)
		override(r, layout, i);
	enough = has(r, "PyInterpreterState") && has(r, "PyThreadState") && has(r, "PyCodeObject") &&
		 (has(r, "_PyInterpreterFrame") || layout->pyframe_code != CS_ABSENT);
	if (enough)
		layout->source = CS_LAYOUT_DWARF;
	dwarf_end(dw);
	return enough;
}
