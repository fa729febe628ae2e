/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Which lines of a log tell of an error or an end. Programs say it in their own words, so
 * that the words decide; but people, source code and settings use the same words. A line
 * must have such a word, must look like something that a program printed, and must not be
 * what another dialect may want.
 */
#include "paste/log.h"

#include "base/util.h"

#include <ctype.h>
#include <string.h>

#define MAX_WORD 40

/* ---- words ---- */

static const char *const hard[] = {
	"abort",     "aborted",     "aborting",   "assert",        "assertion",
	"bus",       "corrupted",   "corruption", "crashed",       "critical",
	"death",     "died",        "error",      "errors",        "exception",
	"exitcode",  "failed",      "failure",    "fatal",         "fault",
	"killed",    "mpi_abort",   "oom",        "oomkilled",     "panic",
	"panicked",  "pure",        "segfault",   "segmentation",  "smashing",
	"terminate", "terminating", "uncaught",   "uncorrectable", "unhandled",
	"watchdog",
};
static const char *const soft[] = {
	"broken",
	"cancelled",
	"cannot",
	"closed",
	"corrupt",
	"couldn",
	"deadline_exceeded",
	"deadlocks",
	"err",
	"evicted",
	"exceeds",
	"resource_exhausted",
	"failed_precondition",
	"deadlock",
	"denied",
	"dying",
	"exceeded",
	"exhausted",
	"fail",
	"fails",
	"forked",
	"hang",
	"hung",
	"illegal",
	"insufficient",
	"invalid",
	"kill",
	"lost",
	"misaligned",
	"mismatch",
	"overflow",
	"preempted",
	"refused",
	"stuck",
	"terminated",
	"timed",
	"timeout",
	"unable",
	"unavailable",
	"undefined",
	"unexpected",
	"unreachable",
	"unspecified",
	"violation",
};
/* What only means that a line may have a text of `strong`. */
static const char *const hints[] = {
	"ancdata",  "entire",     "forking",  "fork",      "dump",  "barrier",    "gil",
	"checksum", "completion", "double",   "free",      "freed", "malloc",     "many",
	"omp",      "panicked",   "openblas", "threshold", "warn",  "terminated", "retry",
};
/* What people write and programs do not, or hardly. */
static const char *const personal[] = {
	"also",    "always",    "anyone",       "anybody",      "believe",    "btw",
	"bug",     "encounter", "encountering", "experiencing", "facing",     "figure",
	"fix",     "fixed",     "get",          "gets",         "getting",    "guess",
	"happen",  "happened",  "happening",    "happens",      "hello",      "help",
	"hey",     "hi",        "how",          "however",      "idea",       "issue",
	"issues",  "just",      "know",         "like",         "maybe",      "met",
	"my",      "our",       "people",       "problem",      "really",     "same",
	"saw",     "seeing",    "seem",         "seems",        "similar",    "solution",
	"solve",   "solved",    "someone",      "sometimes",    "still",      "thank",
	"thanks",  "think",     "tried",        "trying",       "want",       "we",
	"why",     "wonder",    "wondering",    "work",         "workaround", "worked",
	"working", "works",     "would",
};
/* How a line of source code or of a shell begins. */
static const char *const code[] = {
	"#include", "$",     "%",     "//",    "/*",     "@",       "TORCH_CHECK",
	"assert",   "async", "await", "case",  "catch",  "class",   "const",
	"def",      "elif",  "else",  "else:", "except", "except:", "export",
	"finally:", "for",   "from",  "if",    "import", "int",     "logger",
	"logging",  "pip",   "pip3",  "print", "raise",  "return",  "static",
	"struct",   "sudo",  "throw", "try:",  "void",   "while",   "with",
	"yield",    ">>>",
};
/* Beginnings of what other dialects read, even where they did not take it. */
static const char *const foreign[] = {
	"#",
	"==",
	"File \"",
	"frame #",
	"Thread ",
	"Current thread",
	"(gdb)",
	"(lldb)",
	"[New Thread",
	"[Switching",
	"Traceback (",
	"...",
	"During handling",
	"The above exception",
	"Stack trace",
	"Extension modules:",
	"Program received",
	"Program terminated",
	"Core was generated",
	"Exception raised from",
	"Process ",
	"TID ",
	"warning: ",
};
/*
 * What a program said in so many words, wherever it stands: a sentence that has it quotes
 * the program. No sentence says this of itself.
 */
static const char *const strong[] = {
	"WorkNCCL(SeqNum",
	"NCCL WARN",
	"(exitcode: ",
	"terminate called after throwing",
	"terminate called without an",
	"terminate called recursively",
	"what():  ",
	"watchdog thread terminated with exception",
	"double free or corruption (",
	"corrupted size vs. prev_size",
	"free(): invalid ",
	"malloc(): ",
	"realloc(): invalid",
	"munmap_chunk(): invalid",
	"*** stack smashing detected",
	"*** buffer overflow detected",
	"INTERNAL ASSERT FAILED at",
	"is killed by signal: ",
	"oom_kill event",
	"symbol lookup error: ",
	"in static TLS block",
	"Inconsistency detected by ld.so",
	"' panicked at ",
	"LLVM ERROR: ",
	"Fatal glibc error: ",
	"MPI_ABORT was invoked",
	"SIGSEGV received",
	"NCCL error in: ",
	"Worker exit type: ",
	"died with <Signals.",
	"terminating due to uncaught exception",
	"NCCL operations have failed or timed out",
	"The futex facility returned an unexpected error code",
	"Too many open files",
	"Incorrect checksum for freed object",
	"pointer being freed was not allocated",
	"Got completion from peer",
	"double free detected",
	"exceeds the memory usage threshold",
	"OpenBLAS : Program ",
	"Transport retry count exceeded",
	"raise SignalException(", /* torchrun's source, where the line below it was cut
				     off */
	"OMP: Error #",
	"Waiting for thread pool to idle before forking",
	"Other threads are currently calling into gRPC",
	"we are taking the entire process down",
	"Received a dump signal due to a collective timeout",
	"Waiting in store based barrier",
	"is being called while the GIL is either not held",
	"Producer process has been terminated before",
};

static bool is_in(const char *const *words, size_t n, const char *word)
{
	for (size_t i = 0; i < n; i++)
		if (words[i][0] == word[0] && !strcmp(words[i], word))
			return true;
	return false;
}

static bool begins_with(const char *text, size_t len, const char *const *forms, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		size_t k = strlen(forms[i]);

		if (k <= len && !memcmp(text, forms[i], k))
			return true;
	}
	return false;
}

static const char *find(const char *text, size_t len, const char *what)
{
	return memmem(text, len, what, strlen(what));
}

struct weighed {
	size_t first; /* place of the first that tells, from 1; 0: none */
	bool hint, hard, soft, personal,
		named; /* named: "RuntimeError", "CUDA_ERROR_X" */
	size_t n;      /* words */
};

/* One word, as it stands there, of @len bytes. */
static void weigh_word(struct weighed *w, const char *word, size_t len)
{
	char lower[MAX_WORD];

	w->n++;
	if (len >= MAX_WORD || len < 2) {
		w->personal |= len == 1 && *word == 'I';
		return;
	}
	for (size_t i = 0; i < len; i++)
		lower[i] = (char)tolower((unsigned char)word[i]);
	lower[len] = '\0';
	if (is_in(hard, CS_COUNT(hard), lower))
		w->hard = true;
	else if (is_in(soft, CS_COUNT(soft), lower))
		w->soft = true;
	else if (is_in(hints, CS_COUNT(hints), lower))
		w->hint = true;
	else if (is_in(personal, CS_COUNT(personal), lower))
		w->personal = true;
	else if (isupper((unsigned char)word[0]) || find(word, len, "Error"))
		w->named |= find(word, len, "Error") || find(word, len, "Exception") ||
			    find(word, len, "ERROR") || !strncmp(word, "SIG", 3);
	if (!w->first && (w->hard || w->soft || w->named))
		w->first = w->n;
}

static struct weighed weigh_words(const char *text, size_t len)
{
	struct weighed w = {0};
	size_t i = 0, from;

	while (i < len) {
		if (!isalpha((unsigned char)text[i]) && text[i] != '_') {
			i++;
			continue;
		}
		for (from = i;
		     i < len && (isalnum((unsigned char)text[i]) || text[i] == '_');)
			i++;
		weigh_word(&w, text + from, i - from);
	}
	return w;
}

/* ---- what a line looks like ---- */

static bool has_strong(const char *text, size_t len)
{
	for (size_t i = 0; i < CS_COUNT(strong); i++)
		if (find(text, len, strong[i]))
			return true;
	return false;
}

/* "12, 3.5,": the value of a setting, as opposed to what an error says. */
static bool is_value(const char *p, size_t len)
{
	while (len && strchr(" \"',", p[len - 1]))
		len--;
	while (len && strchr(" \"'", *p)) {
		p++;
		len--;
	}
	return !memchr(p, ' ', len) || !len;
}

/* "RuntimeError", "torch.cuda.OutOfMemoryError": more than the word "Error" */
static bool is_exception(const char *name, size_t len)
{
	return (len > 5 && !memcmp(name + len - 5, "Error", 5)) ||
	       (len > 9 && !memcmp(name + len - 9, "Exception", 9));
}

/*
 * "timeout: 600", "max_errors=5", "\"fail_fast\": false,": no more than a name and a
 * value, which says nothing of an error itself.
 */
static bool is_setting(const char *text, size_t len)
{
	size_t name = 0;

	while (name < len &&
	       (isalnum((unsigned char)text[name]) || strchr("_-.\"'", text[name])))
		name++;
	if (!name || name == len || (text[name] != ':' && text[name] != '='))
		return false;
	if (text[name] == ':' && is_exception(text, name))
		return false;
	if (text[name] == ':' && text[0] != '"' && find(text, name, "rror"))
		return name + 1 ==
		       len; /* "Error: 12" tells of one, "Errors:" is a heading */
	return is_value(text + name + 1, len - name - 1) &&
	       !weigh_words(text + name + 1, len - name - 1).first;
}

static bool is_code(const char *text, size_t len)
{
	char word[MAX_WORD];
	size_t n = 0, last = len;

	while (n < len && n < sizeof(word) - 1 && text[n] != ' ' && text[n] != '(' &&
	       text[n] != '.') {
		word[n] = text[n];
		n++;
	}
	word[n] = '\0';
	if (is_in(code, CS_COUNT(code), word))
		return true;
	if (last && strchr("{;\\", text[last - 1]))
		return true;
	if (*text == '"' || *text == '\'')
		return true;
	/* "foo.bar(x, y)", "foo.bar = x": a call and nothing else, an assignment. */
	while (n < len && (isalnum((unsigned char)text[n]) || strchr("_.", text[n])))
		n++;
	if (!n || n == len)
		return false;
	return (text[n] == '(' && text[last - 1] == ')') ||
	       (len - n > 3 && !memcmp(text + n, " = ", 3));
}

/* "OMP: ", "NET/IB : ", "DEADLINE_EXCEEDED: ": a library's name or a code, but no note of
 * a person. */
static bool begins_in_capitals(const char *text, size_t len)
{
	static const char *const notes[] = {"EDIT", "UPDATE", "NOTE",
					    "PS",   "TLDR",   "BUG"};
	size_t word = 0;

	while (word < len &&
	       (isupper((unsigned char)text[word]) || strchr("/_", text[word])))
		word++;
	if (word < 3 || word == len ||
	    (text[word] != ':' && strncmp(text + word, " : ", 3)))
		return false;
	return !begins_with(text, len, notes, CS_COUNT(notes));
}

/* "RuntimeError: x", "[Rank 3] x", "*** x ***", "node.cc:12: x": a program's line,
 * whatever words it has. */
static bool is_printed(const char *text, size_t len)
{
	static const char *const words[] = {"rror",  "xception", "ERROR",
					    "FATAL", "fatal",    "."};
	const char *colon = memchr(text, ':', len), *blank = memchr(text, ' ', len);
	size_t word = colon ? (size_t)(colon - text) : 0;

	if (*text == '[' || !strncmp(text, "*** ", 4) || begins_in_capitals(text, len))
		return true;
	if (!colon || (blank && blank < colon) || word < 2)
		return false;
	for (size_t i = 0; i < CS_COUNT(words); i++)
		if (find(text, word, words[i]))
			return true;
	return isdigit((unsigned char)colon[1]);
}

/* "malloc.c:2401", somewhere */
static bool has_place(const char *text, size_t len)
{
	static const char *const endings[] = {
		".c:", ".cc:", ".cpp:", ".cu:", ".h:", ".hpp:", ".cuh:", ".rs:"};

	for (size_t i = 0; i < CS_COUNT(endings); i++) {
		const char *at = find(text, len, endings[i]);

		if (at && isdigit((unsigned char)at[strlen(endings[i])]))
			return true;
	}
	return false;
}

static bool is_list_item(const char *text)
{
	return *text == '|' || (!strncmp(text, "**", 2) && text[2] != '*') ||
	       (strchr("-*+", *text) && text[1] == ' ') ||
	       (isdigit((unsigned char)*text) && (text[1] == '.' || text[1] == ')') &&
		text[2] == ' ');
}

static bool is_sentence(const char *text, size_t len, const struct weighed *w)
{
	if (text[len - 1] == '?' || *text == '#' || is_list_item(text))
		return true;
	return w->personal && !is_printed(text, len);
}

static bool goes_on(const char *text, size_t len)
{
	static const char *const forms[] = {
		"terminate called", "what():",    "panicked at",       "CUDA error",
		"HIP error",        "NCCL error", "Last error:",       "with exception",
		"Check failed",     "nccl",       "CUDA out of memory"};

	for (size_t i = 0; i < CS_COUNT(forms); i++)
		if (find(text, len, forms[i]))
			return true;
	return text[len - 1] == ':';
}

/* What a sentence quotes in `...`, if that is a message of several words; NULL: nothing.
 */
static const char *quoted(const char *text, size_t len, size_t *ret_len)
{
	const char *open = memchr(text, '`', len), *close;

	while (open) {
		size_t left = len - (size_t)(open + 1 - text);

		close = memchr(open + 1, '`', left);
		if (!close)
			return NULL;
		*ret_len = (size_t)(close - open - 1);
		if (*ret_len > 12 && memchr(open + 1, ' ', *ret_len) &&
		    !is_code(open + 1, *ret_len) && !is_setting(open + 1, *ret_len)) {
			struct weighed w = weigh_words(open + 1, *ret_len);

			if ((w.hard || w.named) && w.n > 2 && !w.personal)
				return open + 1;
		}
		open = memchr(close + 1, '`', len - (size_t)(close + 1 - text));
	}
	return NULL;
}

/*
 * A line without a level, or with that of a warning. Programs come to the point: the word
 * that tells is among the first, or the line is short, or it has the form of a program's.
 */
static bool tells(const char *text, size_t len, const struct weighed *w,
		  const struct cs_line *line)
{
	bool native = line->carries || line->lead;

	if (is_code(text, len) || is_setting(text, len) || is_sentence(text, len, w))
		return false;
	if (begins_with(text, len, foreign, CS_COUNT(foreign)))
		return false;
	if (line->level == 'W')
		return w->hard || w->named || native;
	if (w->n < 2 && !w->named)
		return false;
	return w->first <= 4 || w->n <= 7 || is_printed(text, len) ||
	       has_place(text, len);
}

/* Bytes of "========= ", which compute-sanitizer prints before each line. */
static size_t equals_length(const char *text)
{
	static const char mark[] = "========= ";

	return strncmp(text, mark, sizeof(mark) - 1) ? 0 : sizeof(mark) - 1;
}

/* Bytes of a heading's "## ". */
static size_t heading_length(const char *text)
{
	size_t n = strspn(text, "#");

	return n && text[n] == ' ' ? n + 1 : 0;
}

/* What a logger calls an error is one, but for the lines of a traceback in it. */
static bool is_logged(const struct cs_line *line, const char *text, size_t len,
		      const struct weighed *w)
{
	if (begins_with(text, len, foreign, CS_COUNT(foreign)))
		return false;
	return w->first || (!line->indent && w->n > 2 && !is_code(text, len));
}

static bool is_said(const struct cs_line *line, const char *text, size_t len)
{
	struct weighed w = weigh_words(text, len);

	if (line->level == 'E' || line->level == 'F')
		return is_logged(line, text, len, &w);
	if (!w.first && !w.hint)
		return false;
	if (has_strong(text, len))
		return true;
	if (find(text, len, "*** End of error message"))
		return false;
	if (!w.first || line->level == 'I' || line->level == 'D')
		return false;
	if (!strncasecmp(text, "could not ", 10))
		w.first = 1;
	return tells(text, len, &w, line);
}

enum cs_log_weight cs_log_weigh(const struct cs_line *line, const char **ret,
				size_t *ret_len)
{
	const char *text = line->text + line->indent;
	size_t len = line->len - line->indent, skip = equals_length(text);

	text += skip;
	len -= skip;
	skip = heading_length(text);
	*ret = text + skip;
	*ret_len = len - skip;
	if (len < 5)
		return CS_LOG_NOTHING;
	if (!strncmp(text, "what():", 7))
		return CS_LOG_GOES_ON;
	if (is_said(line, text, len))
		return goes_on(text, len) ? CS_LOG_GOES_ON : CS_LOG_SAID;
	*ret = is_code(text, len) ? NULL : quoted(text, len, ret_len);
	return *ret ? CS_LOG_SAID : CS_LOG_NOTHING;
}

bool cs_log_is_sentence(const struct cs_line *line)
{
	const char *text = line->text + line->indent;
	size_t len = line->len - line->indent;
	struct weighed w = weigh_words(text, len);

	return len && !has_strong(text, len) && is_sentence(text, len, &w);
}

bool cs_log_may_go_on(const struct cs_line *line)
{
	const char *text = line->text + line->indent;
	size_t len = line->len - line->indent;
	struct weighed w;

	if (!len || line->level || begins_with(text, len, foreign, CS_COUNT(foreign)))
		return false;
	w = weigh_words(text, len);
	return !is_code(text, len) && (!w.personal || is_printed(text, len)) &&
	       !is_list_item(text);
}
