/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Versions and variables, where the text tells them: PyTorch's collect_env.py, pip's and
 * conda's lists, NCCL's first line, and the variables that stand before a command or are
 * exported.
 */
#include "paste/log.h"

#include "base/util.h"

#include <ctype.h>
#include <string.h>

/* "PyTorch version: 2.6.0+cu124", "Python version: 3.10.12 (main, ...)" */
bool cs_log_collected(struct cs_paster *p, const struct cs_line *line,
		      const struct cs_groups *g)
{
	static const struct {
		const char *text, *name;
	} rows[] = {
		{"PyTorch version", "torch"},
		{"Python version", "python"},
		{"CUDA used to build PyTorch", "cuda"},
		{"ROCM used to build PyTorch", "rocm"},
		{"Nvidia driver version", "driver"},
		{"NCCL version", "nccl"},
		{"vLLM Version", "vllm"},
		{"Using NCCL version", "nccl"},
	};
	const char *what = cs_group_text(p, g, 1), *value = cs_group_text(p, g, 2), *text;
	size_t len;

	for (size_t i = 0; what && value && i < CS_COUNT(rows); i++) {
		if (strcmp(rows[i].text, what))
			continue;
		cs_paster_version(p, rows[i].name, value);
		if (cs_log_weigh(line, &text, &len) != CS_LOG_NOTHING)
			cs_log_say(p, line, text, len, true); /* an error that names it */
		return true;
	}
	return false;
}

/* "[pip3] torch==2.6.0", "torch    2.6.0+cu124", "[conda] pytorch 2.1.0" */
bool cs_log_package(struct cs_paster *p, const struct cs_line *line,
		    const struct cs_groups *g)
{
	const char *name = cs_group_text(p, g, 1), *version = cs_group_text(p, g, 2);

	(void)line;
	if (!name || !version)
		return false;
	cs_paster_version(p, strcmp(name, "pytorch") ? name : "torch", version);
	return true;
}

static bool is_variable(const char *p, size_t len)
{
	if (!isupper((unsigned char)*p) || len < 4)
		return false;
	for (size_t i = 0; i < len; i++)
		if (!isupper((unsigned char)p[i]) && !isdigit((unsigned char)p[i]) &&
		    p[i] != '_')
			return false;
	return true;
}

/* "export NCCL_DEBUG=INFO", "CUDA_VISIBLE_DEVICES=0 OMP_NUM_THREADS=1 python train.py" */
bool cs_log_variables(struct cs_paster *p, const struct cs_line *line,
		      const struct cs_groups *g)
{
	size_t len;
	const char *s = cs_group_bytes(g, 1, &len), *equals, *end;
	bool any = false;

	(void)line;
	while (s && *s) {
		equals = strchr(s, '=');
		if (!equals || !is_variable(s, (size_t)(equals - s)))
			break;
		end = equals[1] == '"' || equals[1] == '\''
			      ? strchr(equals + 2, equals[1])
			      : NULL;
		s = cs_paster_keep(p, s, (size_t)(equals - s));
		if (end) {
			cs_paster_variable(p, s,
					   cs_paster_keep(p, equals + 2,
							  (size_t)(end - equals - 2)));
			end++;
		} else {
			end = equals + 1 + strcspn(equals + 1, " ;");
			cs_paster_variable(p, s,
					   cs_paster_keep(p, equals + 1,
							  (size_t)(end - equals - 1)));
		}
		any = true;
		s = end + strspn(end, " ;\\");
		s += strncmp(s, "export ", 7) ? 0 : 7;
	}
	return any;
}
