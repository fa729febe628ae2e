/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Names of functions in one form, whoever printed them.
 *
 * A demangler writes "void g::f<int>(int) const", a debugger with debug information "g::f<int>", one
 * without template arguments "g::f": g::f is common to all. A lambda is "main::{lambda()#1}::operator()"
 * to one and "operator()" to the other. The C library's own names say which variant a CPU got, or which
 * alias a symbol table has first.
 */
#include "signature/print.h"

#include "base/util.h"

#include <ctype.h>
#include <string.h>

#define MAX_NAME 512 /* bytes of a name that are compared */

struct namer {
	const char *s;
	size_t len, at;
	char out[MAX_NAME];
	size_t n;
	bool spaces; /* in a conversion operator's type, where a space does not end a return type */
};

static void put(struct namer *w, const char *bytes, size_t len)
{
	len = CS_MIN(len, sizeof(w->out) - w->n);
	memcpy(w->out + w->n, bytes, len);
	w->n += len;
}

static void puts_to(struct namer *w, const char *s)
{
	put(w, s, strlen(s));
}

static bool is_word(char c)
{
	return isalnum((unsigned char)c) || c == '_' || c == '$';
}

static bool at_is(const struct namer *w, const char *s)
{
	size_t n = strlen(s);

	return w->len - w->at >= n && !memcmp(w->s + w->at, s, n);
}

/* Where the bracket at @at is closed; len: nowhere. Within <>, what stands in () is passed over. */
static size_t closing(const struct namer *w, size_t at)
{
	char open = w->s[at];
	char close = open == '(' ? ')' : open == '<' ? '>' : open == '{' ? '}' : ']';
	size_t depth = 0, parens = 0;

	for (size_t i = at; i < w->len; i++) {
		char c = w->s[i];

		if (open == '<') {
			parens += c == '(';
			parens -= c == ')' && parens;
			if (parens || (c == '>' && w->s[i - 1] == '-'))
				continue;
		}
		depth += c == open;
		if (c == close && --depth == 0)
			return i;
	}
	return w->len;
}

static void skip_bracket(struct namer *w)
{
	w->at = closing(w, w->at);
	w->at += w->at < w->len;
}

/* "operator" and what belongs to it. */
static void take_operator(struct namer *w)
{
	static const char *const signs[] = {"()", "[]", "<=>", "<<=", ">>=", "->*", "<<", ">>", "->",
					    "<=", ">=", "<",   ">",   "\"\""};

	puts_to(w, "operator");
	w->at += 8;
	for (size_t i = 0; i < CS_COUNT(signs); i++)
		if (at_is(w, signs[i])) {
			puts_to(w, signs[i]);
			w->at += strlen(signs[i]);
			return;
		}
	w->spaces = w->at < w->len && w->s[w->at] == ' '; /* new, delete, a type */
}

/* "(anonymous namespace)", parameters, or the parentheses of "decltype (...)". True: the name is over. */
static bool take_parenthesis(struct namer *w)
{
	if (at_is(w, "(anonymous namespace)")) {
		puts_to(w, "(anonymous namespace)");
		w->at += 21;
		return false;
	}
	skip_bracket(w);
	if (!w->n)
		return false;
	if (w->n >= 8 && !memcmp(w->out + w->n - 8, "decltype", 8)) {
		w->n = 0;
		return false;
	}
	if (w->n && w->out[w->n - 1] == '}') /* of a lambda, as clang writes it */
		return false;
	/* What is within a function is called by its own name; some leave the function out. */
	if (at_is(w, "::") || at_is(w, " const::")) {
		w->at += at_is(w, "::") ? 2 : 8;
		w->n = 0;
		return false;
	}
	return true;
}

/* "<T as Trait>::method" of Rust has the type's name in it; else template arguments. */
static void take_angle(struct namer *w)
{
	size_t end = closing(w, w->at), from = w->at + 1;

	if (!w->n && end + 2 < w->len && w->s[end + 1] == ':') {
		while (from < end && strchr("&*<[( ", w->s[from]))
			from++;
		while (from < end && (is_word(w->s[from]) || w->s[from] == ':'))
			put(w, &w->s[from++], 1);
	}
	w->at = end + (end < w->len);
}

/* "{lambda(int)#1}", "{closure#0}", "{{closure}}", "{unnamed type#2}". */
static void take_brace(struct namer *w)
{
	size_t from = w->at, len = 0;

	skip_bracket(w);
	from += strspn(w->s + from, "{");
	while (from + len < w->at && is_word(w->s[from + len]))
		len++;
	puts_to(w, "{");
	put(w, w->s + from, len);
	puts_to(w, "}");
}

/* "'lambda0'(int)" and "'unnamed'" of clang. */
static void take_quote(struct namer *w)
{
	const char *p = w->s + w->at + 1, *end = memchr(p, '\'', w->len - w->at - 1);
	size_t len = 0;

	if (!end) {
		w->at = w->len;
		return;
	}
	while (p + len < end && isalpha((unsigned char)p[len]))
		len++;
	puts_to(w, "{");
	put(w, p, len);
	puts_to(w, "}");
	w->at = (size_t)(end - w->s) + 1;
}

/* One step through the name. True: it is over. */
static bool take(struct namer *w)
{
	char c = w->s[w->at];

	if (at_is(w, "operator") && (!w->n || !is_word(w->out[w->n - 1])) &&
	    (w->len - w->at == 8 || !is_word(w->s[w->at + 8]))) {
		take_operator(w);
		return false;
	}
	switch (c) {
	case '(':
		return take_parenthesis(w);
	case '<':
		take_angle(w);
		return false;
	case '{':
		take_brace(w);
		return false;
	case '[':
		if (w->spaces)
			break;
		skip_bracket(w);
		return false;
	case '\'':
		take_quote(w);
		return false;
	case ' ':
		if (w->spaces)
			break;
		w->at++;
		/* That was the type that it returns, but in "f (int)" and "operator<< <char>". */
		if ((!at_is(w, "(") && !at_is(w, "<")) || at_is(w, "(anonymous namespace)"))
			w->n = 0;
		return false;
	default:
		break;
	}
	put(w, &c, 1);
	w->at++;
	return false;
}

/* Namespaces that are there for their version alone. */
static bool is_version(const char *part, size_t len)
{
	static const char *const names[] = {"__cxx11", "__1", "__ndk1", "_V2", "__cxx1998"};
	size_t digits = 0;

	for (size_t i = 0; i < CS_COUNT(names); i++)
		if (strlen(names[i]) == len && !memcmp(part, names[i], len))
			return true;
	if (len > 4 && !memcmp(part, "lts_", 4))
		digits = 4;
	else if (len > 1 && part[0] == 'v')
		digits = 1;
	else if (len > 9 && !memcmp(part, "json_abi_", 9))
		return true;
	for (size_t i = digits; digits && i < len; i++)
		if (!isdigit((unsigned char)part[i]))
			return false;
	return digits != 0;
}

/* "h0123456789abcdef", with which Rust ends a name. */
static bool is_rust_hash(const char *part, size_t len)
{
	if (len != 17 || part[0] != 'h')
		return false;
	for (size_t i = 1; i < len; i++)
		if (!isxdigit((unsigned char)part[i]))
			return false;
	return true;
}

static bool part_is(const char *part, size_t len, const char *name)
{
	return strlen(name) == len && !memcmp(part, name, len);
}

/* The parts of w->out between "::", without what does not count, into @ret. */
static void join_parts(const struct namer *w, struct namer *ret)
{
	bool lambda = false;

	ret->n = 0;
	for (size_t at = 0; at < w->n;) {
		const char *part = w->out + at;
		const char *end = memmem(part, w->n - at, "::", 2);
		size_t len = end ? (size_t)(end - part) : w->n - at;

		at += len + 2;
		if (!len || is_version(part, len) || (!end && is_rust_hash(part, len)))
			continue;
		if (lambda && (part_is(part, len, "operator()") || part_is(part, len, "_FUN") ||
			       part_is(part, len, "__invoke")))
			continue;
		lambda = part_is(part, len, "{lambda}");
		/* Debuggers know a lambda's function by no other name than operator(). */
		if (lambda)
			ret->n = 0;
		if (ret->n)
			puts_to(ret, "::");
		put(ret, part, len);
	}
	if (part_is(ret->out, ret->n, "operator()") || part_is(ret->out, ret->n, "_FUN")) {
		ret->n = 0;
		puts_to(ret, "{lambda}");
	}
}

/* ---- C ---- */

static bool starts(const char *s, const char *prefix)
{
	return !strncmp(s, prefix, strlen(prefix));
}

/* Without what marks the C library's aliases; names of other compilers' helpers are left alone. */
static const char *without_marks(const char *name)
{
	static const char *const marks[] = {"__GI_", "__libc_", "__new_", "_IO_new_", "_IO_"};
	static const char *const kept[] = {"__cxa_", "__gxx_", "__gnu_", "__pyx_",      "__Pyx_",
					   "__kmp",  "__asan", "__tsan", "__sanitizer", "__libc_start",
					   "__libc_csu"};

	for (bool more = true; more;) {
		more = false;
		for (size_t i = 0; i < CS_COUNT(kept); i++)
			if (starts(name, kept[i]))
				return name;
		for (size_t i = 0; i < CS_COUNT(marks) && !more; i++) {
			more = starts(name, marks[i]) && is_word(name[strlen(marks[i])]);
			name += more ? strlen(marks[i]) : 0;
		}
	}
	if (starts(name, "__") && islower((unsigned char)name[strspn(name, "_")]))
		name += strspn(name, "_");
	return name;
}

/* Length of @name without the CPU that its variant is for: "strlen" of "strlen_avx2". */
static size_t without_cpu(const char *name)
{
	static const char *const cpus[] = {"_avx",  "_sse",   "_ssse3",  "_evex", "_erms",
					   "_fma",  "_sve",   "_asimd",  "_a64fx", "_thunderx",
					   "_mops", "_falkor", "_kunpeng", "_generic"};
	size_t len = strlen(name);

	for (size_t i = 0; i < CS_COUNT(cpus); i++) {
		const char *at = strstr(name, cpus[i]);

		if (at && at > name)
			len = CS_MIN(len, (size_t)(at - name));
	}
	return len;
}

static size_t without_suffix(const char *name, size_t len)
{
	static const char *const suffixes[] = {".localalias", ".warm", ".cold",   ".part",
					       ".constprop",  ".isra", ".clone", "_nocancel"};

	for (size_t i = 0; i < CS_COUNT(suffixes); i++) {
		const char *at = memmem(name, len, suffixes[i], strlen(suffixes[i]));

		if (at && at > name)
			len = (size_t)(at - name);
	}
	/* open64() and open() are one function; so are those that take offsets. */
	if (len > 4 && !memcmp(name + len - 2, "64", 2)) {
		static const char *const twice[] = {"open", "openat", "pread", "pwrite", "fopen", "mmap",
						    "lseek", "fcntl", "creat", "ftruncate", "sendfile"};

		for (size_t i = 0; i < CS_COUNT(twice); i++)
			if (part_is(name, len - 2, twice[i]))
				return len - 2;
	}
	return len;
}

static void c_name(struct namer *ret, const char *name)
{
	bool marked = name[0] == '_' && name[1] == '_';
	const char *plain = without_marks(name);
	size_t len = strlen(plain);

	/* Only the C and mathematical libraries' own, which begin with underscores, are variants. */
	if (marked && plain != name)
		len = without_cpu(plain);
	len = without_suffix(plain, len);
	ret->n = 0;
	/* One code for both, under two names. */
	if (part_is(plain, len, "memmove")) {
		plain = "memcpy";
		len = 6;
	} else if (part_is(plain, len, "cfree")) {
		plain = "free";
		len = 4;
	}
	put(ret, plain, len);
}

/* ---- frames ---- */

static struct cs_error *intern(struct cs_arena *arena, const struct namer *w, const char **ret)
{
	char text[MAX_NAME + 1];

	memcpy(text, w->out, w->n);
	text[w->n] = '\0';
	*ret = cs_arena_intern(arena, text);
	return *ret ? NULL : &cs_nomem;
}

/* "libcuda" of "libcuda.so.535.104.05", "libgomp" of "libgomp-a34b3233.so.1": its length; 0: no library. */
static size_t library_name(const char *library, size_t len)
{
	const char *so = memmem(library, len, ".so", 3);
	const char *python = memmem(library, len, ".cpython-", 9);
	size_t n = so ? (size_t)(so - library) : 0;

	if (python && n)
		n = CS_MIN(n, (size_t)(python - library));
	for (size_t i = 1; i + 1 < n; i++) {
		size_t hex = strspn(library + i + 1, "0123456789abcdef");

		if (library[i] == '-' && (hex >= 8 || isdigit((unsigned char)library[i + 1])))
			n = i;
		else if (library[i] == '.' && isdigit((unsigned char)library[i + 1]))
			n = i;
	}
	return n;
}

static bool is_c_library(const char *name, size_t len)
{
	static const char *const names[] = {"libc", "libpthread", "ld", "libdl", "librt", "libm",
					    "ld-linux-x86", "ld-linux-aarch64", "ld-linux-x86-64"};

	for (size_t i = 0; i < CS_COUNT(names); i++)
		if (part_is(name, len, names[i]))
			return true;
	return false;
}

static struct cs_error *unnamed(struct cs_arena *arena, const char *library, size_t len,
				const char **ret)
{
	const char *slash = memrchr(library, '/', len);
	struct namer w = {0};
	size_t n;

	if (slash) {
		len -= (size_t)(slash + 1 - library);
		library = slash + 1;
	}
	n = library_name(library, len);
	*ret = NULL;
	if (!n || is_c_library(library, n))
		return NULL;
	puts_to(&w, "[");
	put(&w, library, CS_MIN(n, (size_t)MAX_NAME - 2));
	puts_to(&w, "]");
	return intern(arena, &w, ret);
}

static bool has_name(const char *s, size_t len)
{
	return len && strncmp(s, "??", 2) && strncmp(s, "<unknown", 8) && strncmp(s, "0x", 2) &&
	       strncmp(s, "n/a", 3) && strncmp(s, "_init (", 7) && s[0] != '[';
}

/* Length of the function in "function (library)", and where the library's name is. */
static size_t split(const char *text, size_t len, const char **library, size_t *library_len)
{
	const char *open = len && text[len - 1] == ')' ? memrchr(text, '(', len) : NULL;

	*library = "";
	*library_len = 0;
	if (!open || open - text < 2 || open[-1] != ' ')
		return len;
	*library = open + 1;
	*library_len = len - (size_t)(open + 1 - text) - 1;
	return (size_t)(open - text) - 1;
}

struct cs_error *cs_print_native(struct cs_arena *arena, const char *text, const char **ret)
{
	static const char *const thunks[] = {"non-virtual thunk to ", "virtual thunk to ",
					     "covariant return thunk to "};
	struct namer w = {.s = text}, joined = {0};
	const char *library;
	size_t library_len;

	w.len = split(text, strcspn(text, "\n"), &library, &library_len);
	if (!has_name(text, w.len))
		return unnamed(arena, library, library_len, ret);
	if (!strncmp(text, "<signal handler called>", 23)) {
		*ret = cs_arena_intern(arena, "<signal handler called>");
		return *ret ? NULL : &cs_nomem;
	}
	for (size_t i = 0; i < CS_COUNT(thunks); i++)
		w.at = at_is(&w, thunks[i]) ? strlen(thunks[i]) : w.at;
	while (w.at < w.len && w.n < MAX_NAME && !take(&w))
		;
	join_parts(&w, &joined);
	if (!joined.n)
		return unnamed(arena, library, library_len, ret);
	if (!memchr(joined.out, ':', joined.n) && is_word(joined.out[0]) && joined.n < MAX_NAME) {
		char name[MAX_NAME + 1];

		memcpy(name, joined.out, joined.n);
		name[joined.n] = '\0';
		c_name(&joined, name);
	}
	return intern(arena, &joined, ret);
}

/* ---- Python ---- */

/* A file that a compiler has made up the name of says nothing by it. */
static bool is_made_up(const char *file, size_t len)
{
	size_t stem = strcspn(file, ".");

	return CS_MIN(stem, len) >= 32 && !memchr(file, '_', CS_MIN(stem, len));
}

struct cs_error *cs_print_python(struct cs_arena *arena, const char *text, const char **ret)
{
	const char *file, *slash, *dot;
	struct namer w = {0};
	size_t file_len, len = split(text, strcspn(text, "\n"), &file, &file_len);

	dot = memrchr(text, '.', len);
	if (dot && (size_t)(dot + 1 - text) < len) {
		len -= (size_t)(dot + 1 - text);
		text = dot + 1;
	}
	slash = memrchr(file, '/', file_len);
	if (slash && file[0] != '<') {
		file_len -= (size_t)(slash + 1 - file);
		file = slash + 1;
	}
	if (file_len > 1 && file[0] == '<') /* "<eval_with_key>.12" */
		file_len = strcspn(file, ">") < file_len ? strcspn(file, ">") + 1 : file_len;
	put(&w, text, CS_MIN(len, (size_t)MAX_NAME / 2));
	if (is_made_up(file, file_len))
		puts_to(&w, " (<generated>)");
	else if (file_len && strncmp(file, "?", file_len) != 0) {
		puts_to(&w, " (");
		put(&w, file, CS_MIN(file_len, (size_t)MAX_NAME / 2 - 8));
		puts_to(&w, ")");
	}
	return intern(arena, &w, ret);
}
