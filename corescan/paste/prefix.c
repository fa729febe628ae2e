/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Prefixes come in pieces, the collector's first, the program's own last:
 *
 *	2024-05-01T12:00:00.1Z stderr F [rank3]:[E501 12:00:00.123456789
 *ProcessGroupNCCL.cpp:616] [Rank 3] ...
 *
 * Each function here knows one kind of piece and moves the reader behind it. The
 *outermost label is the line's: the launcher labels each line, a library only some. Forms
 *are those of the tools' sources: c10/util/Logging.cpp and torch/distributed/elastic
 *(PyTorch), glog's logging.cc, absl's log_format.cc, CPython's logging, Ray's
 *log_monitor, vLLM's logger.py, srun --label, mpirun --tag-output, Docker Compose, the
 *CRI's log format, syslog, journalctl -o short-iso, dmesg, and reports that show them.
 */
#include "paste/prefix.h"

#include "base/util.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#define MAX_PIECES 8

struct reader {
	const char *start, *p;
	const char *lead; /* where words begin that a message may need; NULL: none did */
	struct cs_prefix *ret;
	bool timed, levelled; /* a time was read, a level */
	bool first_only;      /* the label is on first lines only */
	bool node; /* the label is a node's, on which there are several ranks */
};

/* ---- forms ---- */

static bool is_name(char c)
{
	return isalnum((unsigned char)c) || (c && strchr("_.-/+<>@", c));
}

static const char *skip_digits(const char *p)
{
	while (isdigit((unsigned char)*p))
		p++;
	return p;
}

static const char *skip_class(const char *p, char c)
{
	const char *q = p;

	switch (c) {
	case '1':
		return isdigit((unsigned char)*p) ? p + 1 : NULL;
	case 'd':
		q = skip_digits(p);
		return q > p ? q : NULL;
	case 'f': /* a fraction, if there is one */
		return (*p == '.' || *p == ',') && isdigit((unsigned char)p[1])
			       ? skip_digits(p + 1)
			       : p;
	case 'a':
		while (isalpha((unsigned char)*q))
			q++;
		return q > p ? q : NULL;
	case 'n':
		while (is_name(*q))
			q++;
		return q > p ? q : NULL;
	default: /* 's': blanks, if there are any; 'S': at least one */
		q += strspn(p, " ");
		return q > p || c == 's' ? q : NULL;
	}
}

/* Behind @form at @p; NULL: something else stands there. %1 a digit, %d digits, %f, %a
 * letters, %n a name. */
static const char *scan(const char *p, const char *form)
{
	for (; *form && p; form++) {
		if (*form == '%')
			p = skip_class(p, *++form);
		else
			p = *p == *form ? p + 1 : NULL;
	}
	return p;
}

static const char *skip_clock(const char *p)
{
	return scan(p, "%1%1:%1%1:%1%1%f");
}

static const char *skip_iso(const char *p)
{
	const char *q = scan(p, "%1%1%1%1-%1%1-%1%1"), *zone;

	if (!q)
		q = scan(p, "%1%1%1%1/%1%1/%1%1");
	if (!q || (*q != 'T' && *q != ' '))
		return NULL;
	q = skip_clock(q + 1);
	if (!q || *q == 'Z')
		return q ? q + 1 : NULL;
	if (*q != '+' && *q != '-')
		return q;
	zone = scan(q + 1, "%1%1:%1%1");
	zone = zone ? zone : scan(q + 1, "%1%1%1%1");
	return zone ? zone : q;
}

/* "Nov 30 01:02:03" */
static const char *skip_month(const char *p)
{
	static const char months[] = "JanFebMarAprMayJunJulAugSepOctNovDec";

	for (size_t i = 0; i + 3 < sizeof(months); i += 3) {
		const char *q;

		if (strncmp(p, months + i, 3))
			continue;
		q = scan(p + 3, "%S%d ");
		return q ? skip_clock(q) : NULL;
	}
	return NULL;
}

/* A level's word, all capitals but in brackets: its letter; *@p behind it. */
static char read_level(const char **p, bool bracket)
{
	static const struct {
		const char *word;
		char level;
	} words[] = {
		{"DEBUG", 'D'},  {"INFO", 'I'},     {"WARNING", 'W'}, {"WARN", 'W'},
		{"ERROR", 'E'},  {"CRITICAL", 'F'}, {"FATAL", 'F'},   {"TRACE", 'D'},
		{"NOTICE", 'I'}, {"SUCCESS", 'I'},
	};

	for (size_t i = 0; i < CS_COUNT(words); i++) {
		size_t n = strlen(words[i].word);

		if (bracket ? strncasecmp(*p, words[i].word, n)
			    : strncmp(*p, words[i].word, n))
			continue;
		if (bracket ? (*p)[n] != ']'
			    : isalnum((unsigned char)(*p)[n]) || (*p)[n] == '_')
			continue;
		*p += n;
		return words[i].level;
	}
	return 0;
}

/* "ProcessGroupNCCL.cpp:616", "C:\x\y.cpp:12" of @len bytes; @ret_native: it is no Python
 * file. */
static bool is_place(const char *p, size_t len, bool *ret_native)
{
	static const char *const endings[] = {".cpp", ".cc",  ".c",   ".h", ".hpp",
					      ".cu",  ".cuh", ".cxx", ".py"};
	size_t i = len, end;

	while (i && isdigit((unsigned char)p[i - 1]))
		i--;
	if (i == len || i < 4 || p[i - 1] != ':')
		return false;
	end = i - 1;
	for (size_t k = 0; k < CS_COUNT(endings); k++) {
		size_t n = strlen(endings[k]);

		if (end <= n || memcmp(p + end - n, endings[k], n))
			continue;
		*ret_native = strcmp(endings[k], ".py") != 0;
		return true;
	}
	return false;
}

/* ---- what pieces say ---- */

static void set_level(struct reader *r, char level)
{
	if (!r->ret->level || r->ret->level == '-')
		r->ret->level = level;
}

/* A node's name is widened by the rank on it; else the outermost label stays. */
static void set_label(struct reader *r, const char *kind, const char *name, size_t len)
{
	size_t n = strlen(r->ret->label);

	if (n && (strcmp(kind, "rank") || !r->node || n + 1 >= sizeof(r->ret->label)))
		return;
	r->node = false;
	if (n)
		r->ret->label[n++] = ' ';
	snprintf(r->ret->label + n, sizeof(r->ret->label) - n, "%s%.*s", kind, (int)len,
		 name);
}

static bool move(struct reader *r, const char *to)
{
	r->p = to;
	return true;
}

/* ---- what comes after a time or a level ---- */

/* "[core.py:12]", "[launch.py:12:main]", "[1234]", "core.py:12]", "worker.py:12 --",
 * "module:function:12 -" */
static const char *skip_place(const char *p, const char **lead)
{
	const char *q = *p == '[' ? p + 1 : p, *end;
	bool native = false;
	size_t len;

	end = strpbrk(q, *p == '[' ? "] " : "] |");
	if (!end || end == q || (*p == '[' && *end != ']'))
		return NULL;
	len = (size_t)(end - q);
	if (*p == '[' && strspn(q, "0123456789") == len)
		return end + 1;
	if (is_place(q, len, &native)) {
		if (native && !*lead)
			*lead = p;
		return *end == ']' ? end + 1 : end;
	}
	if (!memchr(q, ':', len))
		return NULL;
	if (*p ==
	    '[') /* "[launch.py:12:main]", but no "[host:12]", which is the tool's own */
		return strstr(q, ".py:") && strstr(q, ".py:") < end ? end + 1 : NULL;
	return isdigit((unsigned char)end[-1]) && !strncmp(end, " - ", 3) ? end : NULL;
}

/* "module.name - ", and where a level comes next "module.name: ": what a formatter puts
 * beside the level. */
static const char *skip_logger(const char *p, bool before_level)
{
	const char *q = scan(p, "%n");

	if (!q || !(islower((unsigned char)*p) || *p == '_') ||
	    memchr(p, '<', (size_t)(q - p)))
		return NULL;
	if (!strncmp(q, " - ", 3) || !strncmp(q, " | ", 3))
		return q;
	return before_level && (*q == ':' || *q == ' ') ? q : NULL;
}

/* Marks between the parts of a formatter: not more blanks than it prints, for the text
 * may be indented. */
static const char *skip_marks(const char *p)
{
	const char *q = p + strspn(p, " ");

	if (*q == '|' || ((*q == '-' || *q == ':') && (q[1] == ' ' || q[1] == '-')) ||
	    !strncmp(q, ">> ", 3))
		q += strspn(q, "-|:>");
	else
		return p;
	return *q == ' ' ? q + 1 : q;
}

/* The level after a time, or before one, with the names around it. */
static bool after_level(struct reader *r, const char *p, const char *word, char level)
{
	const char *lead = NULL, *q;

	set_level(r, level);
	r->levelled = true;
	if (*p == ']')
		p++;
	for (int i = 0; i < 4; i++) {
		p = skip_marks(p);
		q = p + strspn(p, " ");
		if (skip_place(q, &lead))
			p = skip_place(q, &lead);
		else if (skip_logger(q, false))
			p = skip_logger(q, false);
		else
			break;
	}
	if (lead && !r->lead)
		r->lead = word;
	return move(r, *p == ' ' ? p + 1 : p);
}

/* "ERROR", "[ERROR]", "- name - ERROR", "F tensorflow/core/x.cc:12]" */
static bool take_level(struct reader *r)
{
	const char *p = skip_marks(r->p), *q, *word;
	const char *lead = NULL;
	char level;

	p += strspn(p, " ");
	for (int i = 0; i < 3; i++) {
		word = p;
		q = *p == '[' ? p + 1 : p;
		level = read_level(&q, *p == '[');
		if (level)
			return after_level(r, q, word, level);
		q = skip_logger(p, true);
		q = q ? q : skip_place(p, &lead);
		if (!q)
			break;
		q += *q == ':' ? 1 : 0;
		p = skip_marks(q);
		p += strspn(p, " ");
	}
	p = r->p + strspn(r->p, " ");
	if (*p && strchr("FEWI", *p) && p[1] == ' ' && skip_place(p + 2, &lead) && lead) {
		set_level(r, *p);
		r->lead = r->lead ? r->lead : p;
		q = skip_place(p + 2, &lead);
		return move(r, *q == ' ' ? q + 1 : q);
	}
	return false;
}

/* ---- times ---- */

/* "host prog[123]: ", "host kernel: " */
static bool take_syslog(struct reader *r, const char *p)
{
	static const char *const keepers[] = {"kernel",  "systemd", "containerd",
					      "dockerd", "kubelet", "audit"};
	const char *host_end = scan(p, "%n "), *q;
	bool keeper = false;

	q = host_end ? scan(host_end, "%n") : NULL;
	if (!q)
		return false;
	for (size_t i = 0; i < CS_COUNT(keepers); i++)
		keeper |= !strncmp(host_end, keepers[i], strlen(keepers[i]));
	r->levelled |= keeper;
	if (!strncmp(q, ": ", 2) && keeper)
		return move(r, q + 2);
	q = scan(q, "[%d]:");
	if (!q || (*q && *q != ' '))
		return false;
	if (!keeper)
		set_label(r, "", host_end, (size_t)(q - 1 - host_end));
	return move(r, *q ? q + 1 : q);
}

/* "stderr F " of the CRI */
static const char *skip_stream(const char *p)
{
	const char *q = scan(p, "std%a ");

	return q && (*q == 'F' || *q == 'P') && q[1] == ' ' ? q + 2 : p;
}

/* "[2024-05-01 12:00:00 TP0]": SGLang's workers; the first line of a record only. */
static const char *skip_parallel(struct reader *r, const char *p)
{
	const char *start = p + 1;

	while (*p == ' ' && p[1] && p[2] == 'P' && strchr("TDPE", p[1]) &&
	       isdigit((unsigned char)p[3]))
		p = skip_digits(p + 3);
	if (p > start) {
		set_label(r, "", start, (size_t)(p - start));
		r->first_only = true;
	}
	return p;
}

static bool take_time(struct reader *r)
{
	const char *p = r->p + strspn(r->p, " "), *q;
	bool bracket = *p == '[';

	p += bracket;
	q = skip_iso(p);
	if (!q && !bracket && (q = skip_month(p)) != NULL) {
		if (*q != ' ' || !take_syslog(r, q + 1))
			return false;
		set_level(r, '-');
		return r->timed = true;
	}
	if (!q)
		return false;
	if (bracket)
		q = skip_parallel(r, q);
	if (bracket ? *q != ']' : *q && !strchr(" :|,", *q))
		return false;
	q += bracket ? 1 : strspn(q, ":|,");
	set_level(r, '-');
	r->timed = true;
	if (*q != ' ')
		return move(r, q);
	if (take_syslog(r, q + 1))
		return true;
	return move(r, skip_stream(q + 1));
}

/* "[  123.456789] ", "[Mon Nov 30 01:02:03 2026] ", "[T123] " of the kernel's log */
static bool take_dmesg(struct reader *r)
{
	const char *q = scan(r->p, "[%s%d.%1%1%1%1%1%1]"), *caller;

	if (!q && (q = scan(r->p, "[%a ")) && (q = skip_month(q)))
		q = scan(q, " %1%1%1%1]");
	if (!q && r->timed) {
		caller = scan(r->p, "[%s");
		q = caller && (*caller == 'T' || *caller == 'C') ? scan(caller + 1, "%d]")
								 : NULL;
	}
	if (!q || (*q && *q != ' '))
		return false;
	r->timed = true;
	r->levelled = true; /* "INFO: task" is the kernel's own */
	set_level(r, '-');
	return move(r, *q ? q + 1 : q);
}

/* ---- loggers ---- */

/* "F0501 12:34:56.789 123 client.cc:12] ", absl's "E0000 00:00:1733333333.123456 123
 * client.cc:12] " */
static bool take_glog(struct reader *r)
{
	const char *p = r->p, *q = scan(p + 1, "%1%1%1%1 %1%1:%1%1:%d%f%S"), *end;
	bool native;

	if (!q)
		return false;
	end = strchr(q, ']');
	while ((p = scan(q, "%d%S")) != NULL)
		q = p;
	if (!end || end <= q || !is_place(q, (size_t)(end - q), &native))
		return false;
	set_level(r, *r->p == 'V' ? 'D' : *r->p);
	if (native && !r->lead)
		r->lead = r->p;
	return move(r, end[1] == ' ' ? end + 2 : end + 1);
}

/* "[E ProcessGroupNCCL.cpp:737] ", "[W1130 01:02:03.000000000 ProcessGroupNCCL.cpp:123] "
 */
static bool take_c10(struct reader *r)
{
	const char *p = r->p + 2, *q = scan(p, "%d %n:%d:%d.%d "), *end = strchr(p, ']');
	bool native;

	if (!q)
		q = scan(p, " ");
	if (!q || !end || end <= q || end - q > 256 ||
	    !is_place(q, (size_t)(end - q), &native))
		return false;
	set_level(r, r->p[1] == 'V' ? 'D' : r->p[1]);
	/* What goes on below is an exception; a warning is one line. */
	r->ret->carries |= r->ret->label[0] && strchr("EF", r->p[1]);
	return move(r, end[1] == ' ' ? end + 2 : end + 1);
}

/* "ERROR:root:", "ERROR 01-02 03:04:05 [core.py:12] ", "INFO 2024-05-01 12:00:00,123 x: "
 */
static bool take_head(struct reader *r)
{
	const char *p = r->p, *q;
	char level = read_level(&p, false);

	if (!level)
		return false;
	if (*p == ':' && (q = scan(p + 1, "%n:")) != NULL &&
	    isalpha((unsigned char)p[1]) && *q != ':') {
		set_level(r, level);
		return move(r, *q == ' ' ? q + 1 : q);
	}
	q = scan(p, "%S%1%1-%1%1 ");
	q = q ? skip_clock(q) : skip_iso(p + strspn(p, " "));
	if (!q || *q != ' ' || *p != ' ')
		return false;
	r->timed = true;
	return after_level(r, q, r->p, level);
}

/* "[INFO|trainer.py:12] 2024-05-01 12:00:00,123 >> " */
static bool take_transformers(struct reader *r)
{
	const char *p = r->p + 1, *q;
	char level = read_level(&p, false);

	q = level && *p == '|' ? scan(p + 1, "%n:%d] ") : NULL;
	q = q ? skip_iso(q) : NULL;
	if (!q || strncmp(q, " >> ", 4))
		return false;
	set_level(r, level);
	return move(r, q + 4);
}

/* ---- launchers ---- */

/* How the lines begin that a label is certain before: what the tools of this folder and
 * loggers print. */
static bool is_known(const char *p)
{
	static const char *const forms[] = {
		"Traceback (",
		"File \"",
		"  File \"",
		"frame #",
		"Fatal Python error",
		"Thread ",
		"Current thread",
		"terminate called",
		"  what():",
		"[rank",
		"[Rank ",
		"[E",
		"[W",
		"[F",
		"*** ",
		"==",
		"Segmentation fault",
		"Aborted",
		"Killed",
		"Bus error",
		"    ",
		"ERROR",
		"WARNING",
		"INFO",
		"CRITICAL",
		"srun: ",
		"slurmstepd: ",
		"NVRM: ",
		"CUDA error",
		"NCCL ",
		"During handling of",
		"The above exception",
		"RuntimeError",
		"Exception raised from",
		"  Segfault",
		"Process ",
	};
	const char *q = scan(p, "%n");

	for (size_t i = 0; i < CS_COUNT(forms); i++)
		if (!strncmp(p, forms[i], strlen(forms[i])))
			return true;
	if (skip_iso(p) || skip_iso(p + (*p == '[')) || scan(p, "#%d ") ||
	    scan(p, "%n:%d:%d [%d] NCCL "))
		return true;
	if (q && (*q == ':' || !*q) && q - p > 5 && (!strncmp(q - 5, "Error", 5)))
		return true;
	return q && *q == ':' && q - p > 9 && !strncmp(q - 9, "Exception", 9);
}

/* srun --label's "3: ", pdsh's and DeepSpeed's "node1: ". Backtraces have numbers like
 * these. */
static bool take_task(struct reader *r)
{
	const char *p = r->p + strspn(r->p, " "), *q = scan(p, "%d: "), *end;
	bool task = q != NULL;

	if (!q)
		q = p == r->p && islower((unsigned char)*p) ? scan(p, "%n: ") : NULL;
	if (!q || p - r->p > 3 || !is_known(q) || (p > r->p && *q == ' '))
		return false;
	end = q - 2;
	if (!task && !strpbrk(p, "0123456789"))
		return false;
	if (!task && strcspn(p, "0123456789") >= (size_t)(end - p))
		return false;
	set_label(r, task ? "task" : "", p, (size_t)(end - p));
	r->node = !task;
	return move(r, q);
}

/* Docker Compose's "worker-1  | " */
static bool take_compose(struct reader *r)
{
	const char *p = r->p, *end = scan(p, "%n"), *q = end;

	if (!end || !isdigit((unsigned char)end[-1]))
		return false;
	while (q > p && isdigit((unsigned char)q[-1]))
		q--;
	if (q - p < 2 || (q[-1] != '-' && q[-1] != '_') || !isalpha((unsigned char)*p))
		return false;
	q = scan(end, "%S|");
	if (!q || (*q && *q != ' '))
		return false;
	set_label(r, "", p, (size_t)(end - p));
	return move(r, *q ? q + 1 : q);
}

/* "[rank3]: ", "[rank3]:[E", "[default0]:" */
static bool take_rank(struct reader *r)
{
	static const char *const forms[] = {"[rank", "[default", "[trainer", "[worker"};

	for (size_t i = 0; i < CS_COUNT(forms); i++) {
		size_t n = strlen(forms[i]);
		const char *q =
			strncmp(r->p, forms[i], n) ? NULL : scan(r->p + n, "%d]:");

		if (!q)
			continue;
		set_label(r, forms[i] + 1, r->p + n, (size_t)(q - 2 - (r->p + n)));
		r->ret->carries = false;
		return move(r, *q == ' ' ? q + 1 : q);
	}
	return false;
}

/* mpirun --tag-output's "[1,3]<stderr>:" */
static bool take_mpirun(struct reader *r)
{
	const char *rank = scan(r->p, "[%d,"),
		   *q = rank ? scan(rank, "%d]<std%a>:") : NULL;

	if (!q)
		return false;
	set_label(r, "rank", rank, strspn(rank, "0123456789"));
	return move(r, *q == ' ' ? q + 1 : q);
}

/* Ray's "(Worker pid=123, ip=10.0.0.1) ", vLLM's "(EngineCore_0 pid=123) " */
static bool take_actor(struct reader *r)
{
	const char *end = strchr(r->p, ')'), *pid = strstr(r->p, "pid="), *q;
	char label[CS_MAX_PASTE_LABEL + 1];

	if (!end || !pid || pid > end || !isdigit((unsigned char)pid[4]) ||
	    (end[1] && end[1] != ' '))
		return false;
	q = memchr(r->p, '=', (size_t)(end - r->p));
	if (!q || memchr(r->p + 1, '(', (size_t)(end - r->p - 1)) || pid == r->p + 1)
		return false;
	snprintf(label, sizeof(label), "%.*s", (int)(end - r->p - 1), r->p + 1);
	set_label(r, "", label, strlen(label));
	return move(r, end[1] ? end + 2 : end + 1);
}

/* "[80746] [rank0]:": the number of a line of a log */
static bool take_number(struct reader *r)
{
	const char *q = scan(r->p, "[%d] ");

	return q && *q == '[' && is_known(q) && move(r, q);
}

/* pytest's "E       " before what an exception says, accelerate's "stderr: " */
static bool take_margin(struct reader *r)
{
	size_t blanks;

	if (r->p != r->start)
		return false;
	if (!strncmp(r->p, "stderr: ", 8) || !strncmp(r->p, "stdout: ", 8))
		return move(r, r->p + 8);
	blanks = *r->p == 'E' ? strspn(r->p + 1, " ") : 0;
	if (blanks >= 3)
		return move(r, r->p + 1 + (blanks < 7 ? 3 : 7));
	return !strcmp(r->p, "E") && move(r, r->p + 1);
}

/* ---- all ---- */

static bool take_bracket(struct reader *r)
{
	char c = r->p[1];

	if (c && strchr("VIWEF", c) &&
	    (r->p[2] == ' ' || isdigit((unsigned char)r->p[2])) && take_c10(r))
		return true;
	if (isupper((unsigned char)c) && take_transformers(r))
		return true;
	if (isdigit((unsigned char)c) && take_number(r))
		return true;
	return take_rank(r) || take_mpirun(r) || take_dmesg(r) || take_time(r);
}

/* What begins with a capital letter or a digit, where blanks may stand before. */
static bool take_word(struct reader *r, char first)
{
	if (isupper((unsigned char)first))
		return (!r->levelled && take_head(r)) || take_time(r) || take_compose(r);
	if (isdigit((unsigned char)first))
		return take_time(r) || take_task(r);
	return islower((unsigned char)first) && (take_task(r) || take_compose(r));
}

static bool take_piece(struct reader *r)
{
	const char *p = r->p + strspn(r->p, " ");

	if (*p == '[' && (p == r->p || skip_iso(p + 1))) {
		r->p = p;
		if (take_bracket(r))
			return true;
	}
	if (*r->p == '(' && take_actor(r))
		return true;
	if (*r->p && strchr("VIWEF", *r->p) && take_glog(r))
		return true;
	return (r->timed && !r->levelled && take_level(r)) || take_margin(r) ||
	       take_word(r, *p);
}

void cs_prefix_read(const char *text, struct cs_prefix *ret)
{
	struct reader r = {.start = text, .p = text, .ret = ret};
	const char *before;

	*ret = (struct cs_prefix){0};
	for (int i = 0; i < MAX_PIECES; i++) {
		before = r.p;
		if (!take_piece(&r)) {
			r.p = before;
			break;
		}
	}
	/* Of what it says in one line nothing goes on. */
	if (r.first_only &&
	    (strstr(r.p, "Traceback") || strstr(r.p, "rror") || strstr(r.p, "xception")))
		ret->carries = true;
	ret->len = (size_t)(r.p - text);
	ret->lead = r.lead ? (size_t)(r.p - r.lead) : 0;
}
