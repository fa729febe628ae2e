/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Arguments and environment from the initial stack.
 *
 * The kernel lays out, upwards: argc, argv[], NULL, envp[], NULL, auxv[], then the strings and the 16
 * random bytes (linux: fs/binfmt_elf.c, create_elf_tables). Nothing in a core points at the vectors, but
 * NT_AUXV is a copy of auxv, so that it can be found in memory and the rest be read backwards from it.
 */
#include "core/internal.h"

#include <elf.h>
#include <string.h>

#define WINDOW (256UL << 10) /* bytes searched below AT_RANDOM for the vector; padding is below 16 KiB */
#define WORD 8UL

/** Addresses of the pointers, without the NULLs behind them. */
struct vectors {
	uint64_t argv, argv_end;
	uint64_t envp, envp_end;
};

/** The saved stack bytes below @top, at most WINDOW of them; caller frees. */
static struct cs_error *stack_below(struct cs_mem *mem, uint64_t top, uint8_t **ret,
				    uint64_t *start_ret, size_t *len_ret)
{
	const struct cs_region *r = cs_mem_region(mem, top);
	CS_CLEANUP(cs_freep) uint8_t *bytes = NULL;
	uint64_t start;

	if (!r || top >= r->saved_end)
		return &cs_not_found;
	start = top - r->start > WINDOW ? top - WINDOW : r->start;
	start = (start + WORD - 1) & ~(WORD - 1);
	if (start >= top)
		return &cs_not_found;
	bytes = malloc((size_t)(top - start));
	if (!bytes)
		return &cs_nomem;
	CS_TRY(cs_mem_read(mem, start, bytes, (size_t)(top - start), NULL));
	*len_ret = (size_t)(top - start);
	*start_ret = start;
	*ret = CS_TAKE(bytes);
	return NULL;
}

static bool auxv_at(const struct cs_core *core, const uint8_t *bytes, size_t len)
{
	size_t n = CS_MIN(core->auxv.n, (size_t)8); /* enough to be sure */

	if (n < 2 || len / sizeof(struct cs_auxv_entry) < n)
		return false;
	for (size_t i = 0; i < n; i++) {
		uint64_t pair[2];

		memcpy(pair, bytes + i * sizeof(pair), sizeof(pair));
		if (le64toh(pair[0]) != core->auxv.v[i].type ||
		    le64toh(pair[1]) != core->auxv.v[i].value)
			return false;
	}
	return true;
}

/** Address of the auxiliary vector in the process. */
static struct cs_error *find_auxv(struct cs_core *core, struct cs_mem *mem, uint64_t *ret)
{
	CS_CLEANUP(cs_freep) uint8_t *bytes = NULL;
	uint64_t top, start;
	size_t len;

	if (!cs_core_auxv(core, AT_RANDOM, &top) && !cs_core_auxv(core, AT_EXECFN, &top))
		return &cs_not_found;
	CS_TRY(stack_below(mem, top, &bytes, &start, &len));
	for (size_t at = len & ~(WORD - 1); at >= WORD;) {
		at -= WORD;
		if (auxv_at(core, bytes + at, len - at)) {
			*ret = start + at;
			return NULL;
		}
	}
	return &cs_not_found;
}

/** Where the pointers above @begin end: at the first NULL, at the latest at @end. */
static uint64_t vector_end(struct cs_mem *mem, uint64_t begin, uint64_t end)
{
	uint64_t word;

	while (begin < end && cs_mem_u64(mem, begin, &word) && word)
		begin += WORD;
	return begin;
}

/**
 * The vectors below @auxv. argc is the first word downwards that is neither NULL nor large enough for a
 * pointer (vm.mmap_min_addr is 65536). The NULLs in between cannot be counted on: unsetenv() closes the
 * gap in envp where it stands, and leaves one more at its end (glibc: stdlib/setenv.c).
 */
static bool find_vectors(struct cs_mem *mem, uint64_t auxv, struct vectors *ret)
{
	uint64_t at = auxv, word, null;

	for (size_t n = 0; n < 2 * CS_MAX_ARGUMENTS; n++) {
		at -= WORD;
		if (!cs_mem_u64(mem, at, &word))
			return false;
		if (!word || word >= CS_MAX_ARGUMENTS)
			continue;
		ret->argv = at + WORD;
		ret->argv_end = ret->envp = ret->argv + word * WORD;
		if (word + 2 > n || !cs_mem_u64(mem, ret->argv_end, &null) || null)
			return false;
		ret->envp += WORD;
		ret->envp_end = vector_end(mem, ret->envp, auxv);
		return true;
	}
	return false;
}

/** A program that was started without any argument (linux before 5.18): only envp, upwards to @auxv. */
static bool find_envp(struct cs_mem *mem, uint64_t auxv, struct vectors *ret)
{
	uint64_t word;

	ret->argv = ret->argv_end = ret->envp_end = auxv - WORD;
	for (size_t n = 0; n < CS_MAX_ARGUMENTS; n++) {
		ret->envp = ret->envp_end - n * WORD;
		if (!cs_mem_u64(mem, ret->envp - WORD, &word))
			return false;
		if (!word)
			return true;
	}
	return false;
}

struct strings {
	CS_VEC(char *) list;
};

static void strings_free(char **list, size_t n)
{
	for (size_t i = 0; i < n; i++)
		free(list[i]);
	free(list);
}

/** Read the strings of [@begin, @end); one that is gone becomes "?". */
static struct cs_error *read_strings(struct cs_mem *mem, uint64_t begin, uint64_t end,
				     size_t *budget, struct strings *out)
{
	for (uint64_t at = begin; at < end; at += WORD) {
		struct cs_error *err = NULL;
		char *text = NULL;
		uint64_t p;

		if (cs_mem_u64(mem, at, &p))
			err = cs_mem_string(mem, p, CS_MIN(*budget, CS_MAX_STRING), &text);
		if (err && cs_error_code(err) == CS_ERR_NOMEM)
			return err;
		cs_error_destroy(err);
		if (!text)
			text = strdup("?");
		err = text ? CS_PUSH(&out->list, text, CS_MAX_ARGUMENTS, "arguments") : &cs_nomem;
		if (err) {
			free(text);
			return err;
		}
		*budget -= CS_MIN(*budget, strlen(text) + 1);
	}
	return NULL;
}

static struct cs_error *read_both(struct cs_core *core, struct cs_mem *mem, struct strings *argv,
				  struct strings *envp)
{
	size_t budget = CS_MAX_ENVIRONMENT;
	struct vectors v;
	uint64_t auxv;

	CS_TRY(find_auxv(core, mem, &auxv));
	if (!find_vectors(mem, auxv, &v) && !find_envp(mem, auxv, &v))
		return &cs_not_found;
	CS_TRY(read_strings(mem, v.argv, v.argv_end, &budget, argv));
	return read_strings(mem, v.envp, v.envp_end, &budget, envp);
}

struct cs_error *cs_core_strings(struct cs_core *core, struct cs_mem *mem,
				 struct cs_core_strings *ret)
{
	struct strings argv = {{0}}, envp = {{0}};
	struct cs_error *err = read_both(core, mem, &argv, &envp);

	if (err) {
		strings_free(argv.list.v, argv.list.n);
		strings_free(envp.list.v, envp.list.n);
		return err;
	}
	*ret = (struct cs_core_strings){.argv = argv.list.v, .n_argv = argv.list.n,
					.envp = envp.list.v, .n_envp = envp.list.n};
	return NULL;
}

void cs_core_strings_deinit(struct cs_core_strings *s)
{
	strings_free(s->argv, s->n_argv);
	strings_free(s->envp, s->n_envp);
	*s = (struct cs_core_strings){0};
}
