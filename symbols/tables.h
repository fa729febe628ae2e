/* SPDX-License-Identifier: GPL-3.0-or-later */
/** Section headers, dynamic sections and symbol tables, read in pieces; private to symbols/. */
#ifndef CS_SYMBOLS_TABLES_H
#define CS_SYMBOLS_TABLES_H

#include "symbols/mod.h"

/** Where bytes of an ELF image are read: exactly one of the three is set. */
struct cs_bytes {
	const struct cs_file *file; /* positions are file offsets */
	const uint8_t *data;        /* positions are offsets, below size */
	struct cs_mem *mem;         /* positions are the target's addresses */
	size_t size;
};

/** Read up to @len bytes at @at; returns how many there are. */
size_t cs_bytes_read(const struct cs_bytes *from, uint64_t at, void *buf, size_t len);
/** A string of at most CS_MAX_MANGLED bytes; caller frees. NULL: not there, too long, no memory. */
char *cs_bytes_string(const struct cs_bytes *from, uint64_t at, uint64_t left);

/* elfsect.c */

struct cs_section {
	uint32_t name; /* offset in the section name table */
	uint32_t type, link;
	uint64_t flags, addr, offset, size, entsize;
};

struct cs_sections {
	struct cs_bytes from;
	struct cs_section *v; /* owned */
	size_t n;
	uint64_t names, names_size; /* position of the name table */
};

/** No sections where the image has none or they are damaged. */
void cs_sections_read(const struct cs_bytes *from, struct cs_sections *ret);
void cs_sections_deinit(struct cs_sections *sections);
/** The first section called @name, with bytes in the file; or NULL. */
const struct cs_section *cs_sections_named(const struct cs_sections *s, const char *name);
const struct cs_section *cs_sections_typed(const struct cs_sections *s, uint32_t type);

/* dynsym.c */

/** The tables that PT_DYNAMIC points to; positions are addresses in the ELF file (no bias). */
struct cs_dynamic {
	uint64_t symtab, strtab, strsz, gnu_hash, hash; /* 0: none */
};

/** False: no dynamic section, or it cannot be read. */
CS_MUST_CHECK bool cs_dynamic_read(struct cs_mod *mod, struct cs_dynamic *ret);
/** Read at ELF address @vaddr of @mod: from its file, or else from the core's memory. */
size_t cs_mod_read(struct cs_mod *mod, uint64_t vaddr, void *buf, size_t len);
/** Number of entries of the dynamic symbol table, by its hash tables; 0: not known. */
uint64_t cs_dynamic_count(struct cs_mod *mod, const struct cs_dynamic *dynamic);

/* symtab.c */

struct cs_sym {
	uint64_t value, size;
	uint32_t name;
	uint16_t shndx;
	uint8_t info, other;
};

struct cs_sym_table {
	struct cs_bytes from;
	uint64_t symbols, n_symbols; /* position, entries */
	uint64_t strings, strings_size;
	const struct cs_sections *sections; /* NULL: not known which sections hold code */
	enum cs_symbol_source source;
};

#define CS_SYM_TABLES 3 /* .symtab alone, or .dynsym with what .gnu_debugdata adds */

/** All that one module's symbols are read from. */
struct cs_sym_tables {
	struct cs_sym_table v[CS_SYM_TABLES];
	size_t n;
	struct cs_sections file, debug, mini; /* what the tables refer to */
};

/**
 * The tables of @mod that are worth a look for functions: .symtab alone where there is one (it repeats
 * .dynsym), else .dynsym with what .gnu_debugdata adds, else the core's own dynamic symbols.
 */
void cs_sym_tables_open(struct cs_mod *mod, struct cs_sym_tables *ret);
void cs_sym_tables_deinit(struct cs_sym_tables *tables);

/** One address that is looked for, in addresses of the ELF file. */
struct cs_sym_query {
	uint64_t vaddr;
	struct cs_sym inside;  /* best symbol whose size covers vaddr */
	struct cs_sym before;  /* else the nearest one before it */
	uint8_t inside_table, before_table; /* index + 1; 0: none */
};

/** One streamed pass over @table for @n sorted queries. False: a limit was hit. */
CS_MUST_CHECK bool cs_sym_pass(const struct cs_sym_tables *tables, size_t table,
			       struct cs_sym_query *queries, size_t n);

/** Find the symbol called exactly @name in @table by a pass over it. */
CS_MUST_CHECK bool cs_sym_by_name(const struct cs_sym_table *table, const char *name,
				  struct cs_sym *ret);

/* lines.c */

struct cs_lines;

/** Debug information of @mod, or NULL if there is none. */
struct cs_lines *cs_lines_open(struct cs_mod *mod);
void cs_lines_close(struct cs_lines *lines);

struct cs_location;
/** Fill in file, line, column, inlines and, where no symbol covers the address, function. */
CS_MUST_CHECK struct cs_error *cs_lines_find(struct cs_lines *lines, struct cs_arena *arena,
					     uint64_t vaddr, struct cs_location *location);

/* debugfile.c */

/** Bytes of the module's file, debug file or .gnu_debugdata; false: it has none. */
CS_MUST_CHECK bool cs_mod_file_bytes(struct cs_mod *mod, struct cs_bytes *ret);
CS_MUST_CHECK bool cs_mod_debug_bytes(struct cs_mod *mod, struct cs_bytes *ret);
CS_MUST_CHECK bool cs_mod_mini_bytes(struct cs_mod *mod, struct cs_bytes *ret);

CS_DEFINE_CLEANUP(struct cs_lines *, cs_lines_close)

#endif
