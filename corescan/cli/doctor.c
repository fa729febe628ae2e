/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The doctor's list of checks, and the files that they read. Knows no check's subject. */
#include "cli/doctor.h"

#include "base/file.h"
#include "base/limits.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

void cs_doctor_add(struct cs_doctor *d, const char *id, const char *title,
		   enum cs_check_result result, const char *value, const char *text)
{
	struct cs_check check = {
		.id = id, .title = title, .result = result, .value = value, .text = text};

	if (!cs_ok(CS_PUSH(&d->checks, check, CS_MAX_DOCTOR_CHECKS, "checks")))
		d->nomem = true;
}

void cs_doctor_fix(struct cs_doctor *d, const char *command, const char *where)
{
	struct cs_check *check = d->checks.n ? &d->checks.v[d->checks.n - 1] : NULL;

	if (check && check->n_fixes < CS_CHECK_FIXES)
		check->fixes[check->n_fixes++] = (struct cs_fix){command, where};
}

const char *cs_doctor_printf(struct cs_doctor *d, const char *fmt, ...)
{
	char text[2048], *copy;
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	copy = cs_arena_strdup(d->arena, text);
	if (!copy)
		d->nomem = true;
	return copy ? copy : "";
}

const char *cs_doctor_path(struct cs_doctor *d, const char *path)
{
	return cs_doctor_printf(d, "%s%s", d->env.root, path);
}

const char *cs_doctor_proc(struct cs_doctor *d, const char *name)
{
	if (d->env.pid)
		return cs_doctor_printf(d, "/proc/%d/%s", d->env.pid, name);
	return cs_doctor_printf(d, "/proc/self/%s", name);
}

char *cs_doctor_read(struct cs_doctor *d, const char *path)
{
	CS_CLEANUP(cs_file_closep) struct cs_file *file = NULL;
	char *text = cs_arena_alloc(d->arena, CS_MAX_DOCTOR_FILE + 1);
	size_t len;

	if (!text) {
		d->nomem = true;
		return NULL;
	}
	if (!cs_ok(cs_file_open(cs_doctor_path(d, path), &file)) ||
	    !cs_ok(cs_file_read_some(file, 0, text, CS_MAX_DOCTOR_FILE, &len)))
		return NULL;
	while (len && strchr(" \t\n", text[len - 1]))
		len--;
	text[len] = '\0';
	return text;
}

bool cs_doctor_exists(struct cs_doctor *d, const char *path)
{
	return !access(cs_doctor_path(d, path), F_OK);
}

bool cs_doctor_read_number(struct cs_doctor *d, const char *path, uint64_t *ret)
{
	const char *text = cs_doctor_read(d, path);
	char *end;
	uint64_t n;

	if (!text)
		return false;
	n = strtoull(text, &end, 0);
	if (end == text)
		return false;
	*ret = n;
	return true;
}

const char *cs_doctor_value(struct cs_doctor *d, const char *text, const char *key,
			    char separator)
{
	const char *value = NULL, *line, *end;
	size_t len = strlen(key), value_len = 0;

	for (line = text; line; line = *end ? end + 1 : NULL) {
		const char *p = line + strspn(line, " \t");

		end = line + strcspn(line, "\n");
		if (strncmp(p, key, len))
			continue;
		p += len;
		p += strspn(p, separator == ' ' ? "" : " \t");
		if (*p != separator)
			continue;
		p++;
		p += strspn(p, " \t");
		value = p;
		value_len = (size_t)(end - p);
	}
	if (!value)
		return NULL;
	while (value_len && strchr(" \t\r", value[value_len - 1]))
		value_len--;
	return cs_doctor_printf(d, "%.*s", (int)CS_MIN(value_len, (size_t)1024), value);
}

/* What no setting can change, and what a person may take for a crash. Always said, for it
 * is often the answer. */
static void note_other_causes(struct cs_doctor *d)
{
	cs_doctor_add(
		d, "no-core-deaths", "deaths without a core", CS_CHECK_NOTE, NULL,
		"SIGKILL (the out-of-memory killer, scancel, kubectl delete, kill -9) "
		"and SIGTERM leave no core, and neither does a Python exception: the "
		"process exits. Python can print the stacks of its threads when it gets "
		"a fatal signal; a core is written all the same.");
	cs_doctor_fix(d, "export PYTHONFAULTHANDLER=1", "before python starts");
}

struct cs_error *cs_doctor_run(const struct cs_doctor_env *env, struct cs_arena *arena,
			       struct cs_doctor *ret)
{
	*ret = (struct cs_doctor){.env = *env, .arena = arena, .uid = -1};
	if (env->pid && !cs_doctor_exists(ret, cs_doctor_proc(ret, "limits")))
		return cs_error_new(CS_ERR_NOT_FOUND,
				    "there is no process %d (ps -e lists them; one in "
				    "another container has another number there)",
				    env->pid);
	cs_doctor_check_process(ret);
	cs_doctor_check_container(ret);
	cs_doctor_check_pattern(ret);
	cs_doctor_check_handler(ret);
	cs_doctor_check_limits(ret);
	cs_doctor_check_space(ret);
	cs_doctor_check_filter(ret);
	cs_doctor_check_kernel(ret);
	cs_doctor_check_memory(ret);
	note_other_causes(ret);
	return ret->nomem ? &cs_nomem : NULL;
}

void cs_doctor_deinit(struct cs_doctor *doctor)
{
	free(doctor->checks.v);
	*doctor = (struct cs_doctor){0};
}

bool cs_doctor_is_well(const struct cs_doctor *doctor)
{
	for (size_t i = 0; i < doctor->checks.n; i++)
		if (doctor->checks.v[i].result == CS_CHECK_PROBLEM)
			return false;
	return true;
}
