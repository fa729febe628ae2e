/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The process in words: command line, environment, ranks, ids, times. Knows launchers'
 * variables; what may be shown of them is decided by secrets.c.
 */
#include "crash/internal.h"

#include "base/limits.h"
#include "base/text.h"

#include <elf.h>
#include <errno.h>
#include <limits.h>
#include <string.h>

#define HIDDEN "***"

/** One argument for the report; NULL on exhaustion. @value_of_secret: the option before
 * it names a secret. */
static const char *argument(struct cs_arena *arena, const char *raw, bool value_of_secret)
{
	const char *text, *equals;
	size_t len = strnlen(raw, CS_MAX_STRING);

	if (value_of_secret)
		return HIDDEN;
	text = cs_text_utf8(arena, raw, len);
	if (!text)
		return NULL;
	equals = strchr(text, '=');
	if (equals && cs_name_is_secret(text, (size_t)(equals - text)))
		return cs_arena_printf(arena, "%.*s=" HIDDEN, (int)(equals - text), text);
	return cs_mask_value(arena, text);
}

/** True if @raw is an option whose value comes as the next argument and is a secret. */
static bool announces_secret(const char *raw)
{
	return raw[0] == '-' && !strchr(raw, '=') &&
	       cs_name_is_secret(raw, strnlen(raw, CS_MAX_STRING));
}

static void set_command(const struct cs_scene *scene, char *const *argv, size_t n,
			struct cs_process *ret)
{
	const char **command = cs_arena_calloc(scene->arena, n, sizeof(*command));
	bool secret = false;

	if (!command)
		return;
	for (size_t i = 0; i < n; i++) {
		command[i] = argument(scene->arena, argv[i], secret && argv[i][0] != '-');
		if (!command[i])
			return;
		secret = announces_secret(argv[i]);
	}
	ret->command = command;
	ret->n_command = n;
	ret->command_complete = true;
}

/** The 80 bytes of NT_PRPSINFO: arguments with spaces between them, perhaps cut. */
static void set_short_command(const struct cs_scene *scene, const char *arguments,
			      struct cs_process *ret)
{
	char copy[sizeof(((struct cs_core_info *)0)->arguments)],
		*argv[sizeof(copy) / 2 + 1];
	size_t n = 0;

	memcpy(copy, arguments, sizeof(copy));
	copy[sizeof(copy) - 1] = '\0';
	for (char *save = NULL, *word = strtok_r(copy, " ", &save);
	     word && n < CS_COUNT(argv); word = strtok_r(NULL, " ", &save))
		argv[n++] = word;
	if (n)
		set_command(scene, argv, n, ret);
	ret->command_complete = false;
}

static int compare_variables(const void *a, const void *b)
{
	const struct cs_variable *x = a, *y = b;

	return strcmp(x->name, y->name);
}

static void set_environment(const struct cs_scene *scene, char *const *envp, size_t n,
			    struct cs_process *ret)
{
	struct cs_variable *list = cs_arena_calloc(scene->arena, n, sizeof(*list));
	size_t at = 0;

	for (size_t i = 0; list && i < n; i++) {
		const char *equals = strchr(envp[i], '=');
		size_t len = equals ? (size_t)(equals - envp[i]) : 0;

		if (!len || !cs_variable_is_shown(envp[i], len))
			continue;
		list[at].name = cs_text_utf8(scene->arena, envp[i], len);
		list[at].value = HIDDEN;
		if (!cs_name_is_secret(envp[i], len)) {
			const char *value = cs_text_utf8(scene->arena, equals + 1,
							 strlen(equals + 1));

			list[at].value =
				value ? cs_mask_value(scene->arena, value) : NULL;
		}
		if (!list[at].name || !list[at].value)
			break;
		at++;
	}
	ret->n_environment_hidden = n - at;
	if (!at)
		return;
	qsort(list, at, sizeof(*list), compare_variables);
	ret->environment = list;
	ret->n_environment = at;
}

/** The number in the first of the variables @names (NULL at the end) that holds one; -1:
 * none does. */
static int64_t number_of(char *const *envp, size_t n, const char *const *names)
{
	for (; *names; names++) {
		size_t len = strlen(*names);

		for (size_t i = 0; i < n; i++) {
			char *end;
			long long value;

			if (strncmp(envp[i], *names, len) || envp[i][len] != '=')
				continue;
			errno = 0;
			value = strtoll(envp[i] + len + 1, &end, 10);
			if (!errno && end != envp[i] + len + 1 && !*end && value >= 0 &&
			    value <= INT_MAX)
				return value;
		}
	}
	return -1;
}

/* torchrun first; then what Slurm, Open MPI, MPICH's PMI, PMIx, MVAPICH and PALS set. */
static const char *const rank_names[] = {
	"RANK",      "SLURM_PROCID",        "OMPI_COMM_WORLD_RANK", "PMI_RANK",
	"PMIX_RANK", "MV2_COMM_WORLD_RANK", "PALS_RANKID",          NULL};
static const char *const local_rank_names[] = {"LOCAL_RANK",
					       "SLURM_LOCALID",
					       "OMPI_COMM_WORLD_LOCAL_RANK",
					       "MPI_LOCALRANKID",
					       "MV2_COMM_WORLD_LOCAL_RANK",
					       "PALS_LOCAL_RANKID",
					       NULL};
static const char *const world_size_names[] = {"WORLD_SIZE",
					       "SLURM_NTASKS",
					       "SLURM_NPROCS",
					       "OMPI_COMM_WORLD_SIZE",
					       "PMI_SIZE",
					       "MV2_COMM_WORLD_SIZE",
					       NULL};

static void set_ranks(char *const *envp, size_t n, struct cs_process *ret)
{
	/* A launcher's variables reach every child; without a rank a size says nothing.
	 */
	ret->rank = number_of(envp, n, rank_names);
	ret->local_rank = number_of(envp, n, local_rank_names);
	if (ret->rank >= 0)
		ret->world_size = number_of(envp, n, world_size_names);
}

static void set_executable(const struct cs_scene *scene, struct cs_process *ret)
{
	struct cs_mod *exe =
		scene->modules ? cs_modules_executable(scene->modules) : NULL;
	uint64_t at;
	char *path;

	if (exe) {
		ret->executable = cs_mod_public(exe)->path;
		return;
	}
	if (!cs_core_auxv(scene->core, AT_EXECFN, &at) ||
	    !cs_ok(cs_mem_string(scene->mem, at, CS_MAX_PATH, &path)))
		return;
	ret->executable = cs_text_utf8(scene->arena, path, strlen(path));
	free(path);
}

void cs_process_describe(const struct cs_scene *scene, struct cs_process *ret)
{
	const struct cs_core_info *info = cs_core_info(scene->core);
	struct cs_core_strings strings = {0};
	struct cs_error *err;

	*ret = (struct cs_process){
		.pid = info->pid,
		.ppid = info->ppid,
		.uid = info->uid,
		.gid = info->gid,
		.machine = scene->arch->name,
		.rank = -1,
		.local_rank = -1,
		.world_size = -1,
		.core_time = info->file_time,
	};
	if (info->name[0])
		ret->name =
			cs_text_utf8(scene->arena, info->name, strnlen(info->name, 16));
	set_executable(scene, ret);
	err = cs_core_strings(scene->core, scene->mem, &strings);
	if (err) {
		cs_diag_error(scene->diags, CS_SEVERITY_NOTE, "crash", "no-environment",
			      0, cs_error_prefix(err, "arguments and environment"));
		set_short_command(scene, info->arguments, ret);
		return;
	}
	set_command(scene, strings.argv, strings.n_argv, ret);
	if (!ret->n_command)
		set_short_command(scene, info->arguments, ret);
	set_environment(scene, strings.envp, strings.n_envp, ret);
	set_ranks(strings.envp, strings.n_envp, ret);
	cs_core_strings_deinit(&strings);
}
