/* SPDX-License-Identifier: GPL-3.0-or-later */
/** What the files of this layer share about one module; private to symbols/. */
#ifndef CS_SYMBOLS_MOD_H
#define CS_SYMBOLS_MOD_H

#include "base/vec.h"
#include "symbols/elfhead.h"
#include "symbols/modules.h"
#include "symbols/sysroot.h"

/** One mapping of a module. */
struct cs_mod_range {
	uint64_t start;
	uint64_t end;    /* exclusive */
	uint64_t offset; /* in the file */
	unsigned prot;   /* enum cs_prot */
	bool from_file;  /* offset is the core's word (NT_FILE), not worked out from program headers */
};

/** An ELF image that libelf reads, with what it is made from. */
struct cs_elf_image {
	bool tried;
	Elf *elf;
	struct cs_file *file; /* owned, or NULL */
	void *map;            /* anonymous mapping of `size` bytes, owned, or NULL */
	uint8_t *heap;        /* or memory of malloc(), owned */
	size_t size;
};

struct cs_mod {
	struct cs_module pub;
	struct cs_modules *owner;
	const char *raw_path; /* bytes as the core has them; owned by core or arena */
	CS_VEC(struct cs_mod_range) ranges; /* by start */
	struct cs_elf_head head; /* of the core's image, else of the file in use */
	bool head_in_core;
	bool has_bias;
	uint64_t base; /* where the image's first byte lies; 0: not known */
	bool vdso, in_link_map, executable, deleted;

	struct cs_file *file; /* verified or unverified; NULL: none */
	struct cs_elf_head file_head; /* of `file`; patchelf keeps the build id, but not the layout */
	const char *other_file; /* a file at the path that is another build */
	char other_id[2 * CS_MAX_BUILD_ID + 1];
	const char *debug_hint; /* a file with the right build id and nothing but debug info */
	const char *open_problem; /* why the file at the path could not be opened; NULL: not there */
	struct cs_elf_image image, debug, mini;
	bool image_is_memory;
};

struct cs_mod_span {
	uint64_t start;
	uint64_t end;
	struct cs_mod *mod;
};

struct cs_modules {
	struct cs_core *core;
	struct cs_mem *mem;
	struct cs_arena *arena;
	struct cs_diags *diags;
	struct cs_modules_options options;
	size_t n_not_opened; /* files that were there, but no descriptor was left (EMFILE) */
	size_t n_lines_left_out; /* modules whose compressed debug file was not unpacked */
	uint64_t page_size;
	CS_VEC(struct cs_mod *) list; /* owned; by start */
	CS_VEC(struct cs_mod_span) spans; /* all ranges of all modules, by start */
	struct cs_mod *executable;
	struct cs_debuginfod *debuginfod; /* owned; NULL: not asked for, or not to be had */
};

/* modscan.c: which modules there are */

/** A new module at the end of @ms->list; @raw_path must outlive it. */
CS_MUST_CHECK struct cs_error *cs_mod_new(struct cs_modules *ms, const char *raw_path,
					  struct cs_mod **ret);
void cs_mod_free(struct cs_mod *mod);
CS_MUST_CHECK struct cs_error *cs_mod_add_range(struct cs_mod *mod, uint64_t start, uint64_t end,
						uint64_t offset, unsigned prot, bool from_file);
/** Fill @ms->list; ranges are complete for all modules that the core's own bytes describe. */
CS_MUST_CHECK struct cs_error *cs_modules_scan(struct cs_modules *ms);
bool cs_mod_has(const struct cs_mod *mod, uint64_t addr);
/** Sort @ms->list and rebuild @ms->spans from it; cs_modules_find() works on these. */
CS_MUST_CHECK struct cs_error *cs_modules_index(struct cs_modules *ms);

/* linkmap.c: what the dynamic linker says */

struct cs_link_entry {
	uint64_t bias;    /* l_addr */
	uint64_t dynamic; /* l_ld */
	const char *name; /* l_name in the arena; "" for the main executable */
};

struct cs_link_map {
	CS_VEC(struct cs_link_entry) list;
	bool broken; /* it ended in a loop, at a bound or in memory that is not there */
};

/** Read all link maps of the process. One that cannot be found is empty. Errors: NOMEM. */
CS_MUST_CHECK struct cs_error *cs_link_map_read(struct cs_modules *ms, struct cs_link_map *ret);
void cs_link_map_deinit(struct cs_link_map *map);

/* modfile.c: which file on this machine is the same build */

/** Find each module's file and fill in file, file_state, build_id and note. Errors: NOMEM. */
CS_MUST_CHECK struct cs_error *cs_modules_find_files(struct cs_modules *ms);
/** Does @range agree with the program headers of @head at @bias, or is it a hole between segments? */
bool cs_mod_range_fits(const struct cs_mod *mod, const struct cs_elf_head *head, uint64_t bias,
		       const struct cs_mod_range *range);
/**
 * Take @file for @mod if it is the same build. True: taken, *@file is NULL then; false: another build,
 * remembered for the note. @sections: also look whether its code was stripped off (a debug file).
 */
CS_MUST_CHECK bool cs_mod_offer_file(struct cs_mod *mod, struct cs_file **file,
				     bool sections);

/* sysroot.c */

/**
 * The same without openat2(2): resolve @path below folder @root_fd into @ret (CS_MAX_PATH bytes), relative
 * to @root_fd and without symbolic links. Errors: OS, LIMIT.
 */
CS_MUST_CHECK struct cs_error *cs_resolve_in_root(int root_fd, const char *path, char *ret);

/* libsearch.c */

/** Search the --lib-path folders for modules that have a build id but no verified file. */
CS_MUST_CHECK struct cs_error *cs_modules_search_libraries(struct cs_modules *ms);

/* debuginfod.c */

/** Path of the (executable or debug info) file of @mod's build, in the arena, or NULL. */
const char *cs_debuginfod_find(struct cs_modules *ms, const struct cs_mod *mod, bool debug);
void cs_debuginfod_end(struct cs_debuginfod *client);

/* image.c, debugfile.c: ELF images */

void cs_elf_image_deinit(struct cs_elf_image *image);
/** An image rebuilt from the core's memory; image->elf stays NULL where there is too little. */
void cs_mod_memory_image(struct cs_mod *mod, struct cs_elf_image *image);

#endif
