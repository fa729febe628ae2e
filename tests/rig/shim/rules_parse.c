/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The rules' grammar. A message names where it is wrong, what stands there and what may
 * stand there. */
#include <ctype.h>
#include <dlfcn.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "model.h"

#define MAX_WORD 4096

/* A place in the text, and the first thing that was wrong. */
struct cursor {
	const char *source, *at, *line_start;
	unsigned line;
	char *message;
};

static const struct {
	const char *name;
	int number;
} signals[] = {
	{"SIGHUP", SIGHUP},   {"SIGINT", SIGINT},   {"SIGQUIT", SIGQUIT},
	{"SIGILL", SIGILL},   {"SIGTRAP", SIGTRAP}, {"SIGABRT", SIGABRT},
	{"SIGBUS", SIGBUS},   {"SIGFPE", SIGFPE},   {"SIGKILL", SIGKILL},
	{"SIGUSR1", SIGUSR1}, {"SIGSEGV", SIGSEGV}, {"SIGUSR2", SIGUSR2},
	{"SIGTERM", SIGTERM}, {"SIGSTOP", SIGSTOP}, {"SIGSYS", SIGSYS},
};

/* Keeps the first message. Always -1, for `return`. */
__attribute__((format(printf, 3, 4))) static int wrong(struct cursor *c, const char *at,
						       const char *format, ...)
{
	char text[512];
	va_list arguments;

	if (c->message)
		return -1;
	va_start(arguments, format);
	vsnprintf(text, sizeof(text), format, arguments);
	va_end(arguments);
	if (asprintf(&c->message, "%s:%u:%zu: %s", c->source, c->line,
		     (size_t)(at - c->line_start) + 1, text) < 0)
		c->message = strdup("out of memory");
	return -1;
}

static void skip_blanks(struct cursor *c)
{
	while (*c->at == ' ' || *c->at == '\t' || *c->at == '\r')
		c->at++;
	if (*c->at == '#')
		while (*c->at && *c->at != '\n')
			c->at++;
}

static bool at_end(const struct cursor *c)
{
	return !*c->at || *c->at == '\n' || *c->at == ';';
}

static int unescape(struct cursor *c, char *ret)
{
	c->at++;
	if (*c->at == 'n')
		*ret = '\n';
	else if (*c->at == '"' || *c->at == '\\')
		*ret = *c->at;
	else
		return wrong(c, c->at, "\"\\%c\" in quotes; known are \\\\, \\\" and \\n",
			     *c->at);
	return 0;
}

/* One word: up to a blank, a colon or the end; in quotes anything may stand. */
static int word(struct cursor *c, char ret[MAX_WORD])
{
	size_t n = 0;
	const char *open = NULL;

	for (; *c->at && *c->at != '\n'; c->at++) {
		char next = *c->at;

		if (next == '"') {
			open = open ? NULL : c->at;
			continue;
		}
		if (open && next == '\\' && unescape(c, &next))
			return -1;
		if (!open && strchr(" \t\r:;#", next))
			break;
		if (n + 1 == MAX_WORD)
			return wrong(c, c->at, "a word of more than %d characters",
				     MAX_WORD - 1);
		ret[n++] = next;
	}
	if (open)
		return wrong(c, open, "a quote without its end on this line");
	ret[n] = 0;
	return 0;
}

static int number(struct cursor *c, const char *at, const char *key, const char *value,
		  uint64_t least, uint64_t most, uint64_t *ret)
{
	char *end;
	unsigned long long n = strtoull(value, &end, 10);

	if (!isdigit((unsigned char)value[0]) || *end || n < least || n > most)
		return wrong(c, at, "\"%s=%s\": %s is a number from %llu to %llu", key,
			     value, key, (unsigned long long)least,
			     (unsigned long long)most);
	*ret = n;
	return 0;
}

static int seconds(struct cursor *c, const char *at, const char *key, const char *value,
		   double *ret)
{
	char *end;
	double n = strtod(value, &end);

	if (!isdigit((unsigned char)value[0]) || *end || !(n >= 0 && n <= 1e6))
		return wrong(c, at, "\"%s=%s\": %s is a number of seconds, such as 2.5",
			     key, value, key);
	*ret = n;
	return 0;
}

static int size(struct cursor *c, const char *at, const char *key, const char *value,
		uint64_t *ret)
{
	static const char *const units[] = {"", "KiB", "MiB", "GiB", "TiB"};
	char *end;
	unsigned long long n = strtoull(value, &end, 10);

	for (size_t i = 0;
	     isdigit((unsigned char)value[0]) && i < sizeof(units) / sizeof(units[0]);
	     i++)
		if (!strcmp(end, units[i]) && n <= (UINT64_C(1) << 50 >> (10 * i))) {
			*ret = n << (10 * i);
			return 0;
		}
	return wrong(c, at,
		     "\"%s=%s\": %s is a size of at most 1024TiB, such as 80GiB, 500MiB, "
		     "64KiB or 4096",
		     key, value, key);
}

static int copy(struct cursor *c, const char *at, const char *key, const char *value,
		char **ret)
{
	if (!*value)
		return wrong(c, at, "\"%s=\": nothing stands behind it", key);
	free(*ret);
	*ret = strdup(value);
	return *ret ? 0 : wrong(c, at, "out of memory");
}

static int whole(struct cursor *c, const char *at, const char *key, const char *value,
		 uint64_t least, uint64_t most, int *ret)
{
	uint64_t n;

	if (number(c, at, key, value, least, most, &n))
		return -1;
	*ret = (int)n;
	return 0;
}

static int condition(struct cursor *c, const char *at, struct rig_rule *rule,
		     const char *key, const char *value)
{
	if (!strcmp(key, "nth"))
		return number(c, at, key, value, 1, UINT64_MAX / 2, &rule->nth);
	if (!strcmp(key, "every"))
		return number(c, at, key, value, 1, UINT64_MAX / 2, &rule->every);
	if (!strcmp(key, "count"))
		return number(c, at, key, value, 1, UINT64_MAX / 2, &rule->count);
	if (!strcmp(key, "after"))
		return seconds(c, at, key, value, &rule->after);
	if (!strcmp(key, "rank"))
		return whole(c, at, key, value, 0, 1000000, &rule->rank);
	if (!strcmp(key, "device"))
		return whole(c, at, key, value, 0, RIG_MAX_DEVICES - 1, &rule->device);
	if (!strcmp(key, "match"))
		return copy(c, at, key, value, &rule->match);
	if (!strcmp(key, "cue"))
		return copy(c, at, key, value, &rule->cue);
	return wrong(c, at,
		     "\"%s=\" is no condition; expected nth= every= count= after= rank= "
		     "device= match= cue=, "
		     "then \":\" and what happens",
		     key);
}

static int signal_name(struct cursor *c, const char *at, const char *value, int *ret)
{
	for (size_t i = 0; i < sizeof(signals) / sizeof(signals[0]); i++)
		if (!strcmp(value, signals[i].name)) {
			*ret = signals[i].number;
			return 0;
		}
	return wrong(c, at,
		     "\"signal=%s\": a name is expected, such as SIGSEGV, SIGABRT, "
		     "SIGBUS or SIGKILL",
		     value);
}

static int action(struct cursor *c, const char *at, struct rig_rule *rule,
		  const char *key, const char *value)
{
	bool flag = !strcmp(key, "pending") || !strcmp(key, "hang");

	if (flag && value)
		return wrong(c, at, "\"%s\" takes no value", key);
	if (!strcmp(key, "pending"))
		return rule->pending = true, 0;
	if (!strcmp(key, "hang"))
		return rule->hang = true, 0;
	if (value && !strcmp(key, "error"))
		return whole(c, at, key, value, 1, 9999, &rule->error);
	if (value && !strcmp(key, "sticky"))
		return whole(c, at, key, value, 1, 9999, &rule->sticky);
	if (value && !strcmp(key, "delay"))
		return seconds(c, at, key, value, &rule->delay);
	if (value && !strcmp(key, "text"))
		return copy(c, at, key, value, &rule->text);
	if (value && !strcmp(key, "signal"))
		return signal_name(c, at, value, &rule->signal);
	return wrong(c, at,
		     "\"%s\" is nothing that can happen; expected error= sticky= delay= "
		     "signal= text=, "
		     "pending or hang",
		     key);
}

static int gpu_key(struct cursor *c, const char *at, struct rig_gpu *gpu, const char *key,
		   const char *value)
{
	int used = 0;

	if (!strcmp(key, "count"))
		return whole(c, at, key, value, 1, RIG_MAX_DEVICES, &gpu->count);
	if (!strcmp(key, "sms"))
		return whole(c, at, key, value, 1, 10000, &gpu->multiprocessors);
	if (!strcmp(key, "memory"))
		return size(c, at, key, value, &gpu->memory);
	if (!strcmp(key, "other"))
		return size(c, at, key, value, &gpu->other);
	if (!strcmp(key, "name")) {
		if (!*value || strlen(value) >= sizeof(gpu->name))
			return wrong(c, at, "\"name=\" wants 1 to %zu characters",
				     sizeof(gpu->name) - 1);
		strcpy(gpu->name, value);
		return 0;
	}
	if (!strcmp(key, "capability")) {
		if (sscanf(value, "%2d.%1d%n", &gpu->major, &gpu->minor, &used) != 2 ||
		    value[used])
			return wrong(c, at, "\"capability=%s\": such as 9.0", value);
		return 0;
	}
	return wrong(c, at,
		     "\"%s=\" is no property of a GPU; expected count= memory= other= "
		     "name= capability= sms=",
		     key);
}

/* Splits key=value; *VALUE is NULL where there is no "=". */
static char *split(char *text)
{
	char *equals = strchr(text, '=');

	if (!equals)
		return NULL;
	*equals = 0;
	return equals + 1;
}

static int parse_gpu(struct cursor *c, const char *start, struct rig_gpu *gpu)
{
	char text[MAX_WORD];

	if (!gpu)
		return wrong(c, start,
			     "the GPU is what it is once the process runs: `gpu` belongs "
			     "into RIG_RULES "
			     "or the file that RIG_FILE names");
	for (skip_blanks(c); !at_end(c); skip_blanks(c)) {
		const char *at = c->at;
		char *value;

		if (word(c, text))
			return -1;
		value = split(text);
		if (!value)
			return wrong(c, at,
				     "\"%s\": key=value expected, such as memory=80GiB",
				     text);
		if (gpu_key(c, at, gpu, text, value))
			return -1;
	}
	if (gpu->other > gpu->memory)
		return wrong(c, start,
			     "others have more of the GPU's memory (other=) than there "
			     "is (memory=)");
	return 0;
}

/* Is there an entry point of this name in a library of the rig? Nothing is known of
 * libraries that are not there. */
static bool known_call(const char *call)
{
	static const char *const groups[] = {"launch", "copy", "collective"};
	static const struct {
		const char *prefix, *probe;
	} libraries[] = {{"cuda", "cudaMalloc"},
			 {"cu", "cuInit"},
			 {"nvml", "nvmlInit_v2"},
			 {"nccl", "ncclGetVersion"}};
	static const char *const suffixes[] = {"", "_v2", "_v3"};
	char name[MAX_WORD + 4];

	for (size_t i = 0; i < sizeof(groups) / sizeof(groups[0]); i++)
		if (!strcmp(call, groups[i]))
			return true;
	for (size_t i = 0; i < sizeof(suffixes) / sizeof(suffixes[0]); i++) {
		snprintf(name, sizeof(name), "%s%s", call, suffixes[i]);
		if (dlsym(RTLD_DEFAULT, name))
			return true;
	}
	for (size_t i = 0; i < sizeof(libraries) / sizeof(libraries[0]); i++)
		if (!strncmp(call, libraries[i].prefix, strlen(libraries[i].prefix)))
			return !dlsym(RTLD_DEFAULT, libraries[i].probe);
	return false;
}

static int parse_actions(struct cursor *c, struct rig_rule *rule)
{
	char text[MAX_WORD];
	bool any = false;

	for (skip_blanks(c); !at_end(c); skip_blanks(c), any = true) {
		const char *at = c->at;
		char *value;

		if (word(c, text))
			return -1;
		value = split(text);
		if (action(c, at, rule, text, value))
			return -1;
	}
	return any ? 0
		   : wrong(c, c->at,
			   "nothing happens; expected error= sticky= delay= signal= "
			   "text=, pending "
			   "or hang");
}

static int parse_on(struct cursor *c, struct rig_rule *rule)
{
	char text[MAX_WORD];
	const char *at;

	skip_blanks(c);
	at = c->at;
	if (word(c, text))
		return -1;
	if (!*text || strchr(text, '='))
		return wrong(c, at,
			     "\"%s\": a call is expected behind `on`, such as cudaMalloc "
			     "or launch",
			     text);
	if (!known_call(text))
		return wrong(c, at,
			     "\"%s\" is no entry point of the rig (without version "
			     "suffix), nor launch, copy "
			     "or collective",
			     text);
	if (copy(c, at, "on", text, &rule->call))
		return -1;
	for (skip_blanks(c); *c->at != ':'; skip_blanks(c)) {
		char *value;

		at = c->at;
		if (at_end(c))
			return wrong(
				c, at,
				"\":\" expected, then what happens, such as error=2");
		if (word(c, text))
			return -1;
		value = split(text);
		if (!value)
			return wrong(c, at,
				     "\"%s\": a condition is key=value, such as nth=3",
				     text);
		if (condition(c, at, rule, text, value))
			return -1;
	}
	c->at++;
	if (rule->nth && rule->every)
		return wrong(c, at, "nth= and every= in one rule");
	return parse_actions(c, rule);
}

void rig_rules_free(struct rig_rule *rules)
{
	while (rules) {
		struct rig_rule *next = rules->next;

		free(rules->call);
		free(rules->match);
		free(rules->cue);
		free(rules->text);
		free(rules);
		rules = next;
	}
}

static int parse_line(struct cursor *c, struct rig_gpu *gpu, struct rig_rule ***last)
{
	char text[MAX_WORD];
	const char *start = c->at;
	struct rig_rule *rule;

	if (word(c, text))
		return -1;
	if (!strcmp(text, "gpu"))
		return parse_gpu(c, start, gpu);
	if (strcmp(text, "on"))
		return wrong(c, start, "\"%s\": a rule begins with `on` or `gpu`", text);
	rule = calloc(1, sizeof(*rule));
	if (!rule)
		return wrong(c, start, "out of memory");
	rule->rank = rule->device = -1;
	**last = rule;
	*last = &rule->next;
	return parse_on(c, rule);
}

int rig_parse(const char *source, const char *text, struct rig_gpu *gpu,
	      struct rig_rule **rules, char **message)
{
	struct cursor c = {.source = source, .at = text, .line_start = text, .line = 1};
	struct rig_gpu parsed = gpu ? *gpu : (struct rig_gpu){0};
	struct rig_rule *first = NULL, **last = &first;

	*rules = NULL;
	for (skip_blanks(&c); *c.at; skip_blanks(&c)) {
		if (!at_end(&c)) {
			if (parse_line(&c, gpu ? &parsed : NULL, &last))
				break;
			if (!at_end(&c)) {
				wrong(&c, c.at, "\"%c\" is not expected here", *c.at);
				break;
			}
			continue;
		}
		if (*c.at++ == '\n') {
			c.line++;
			c.line_start = c.at;
		}
	}
	if (c.message) {
		rig_rules_free(first);
		*message = c.message;
		return -1;
	}
	if (gpu)
		*gpu = parsed;
	*rules = first;
	return 0;
}
