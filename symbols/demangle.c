/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Readable C++ and Rust names, by libiberty. The only file that knows libiberty; knows
 * nothing of modules or addresses, and refuses to trust a name: symbol tables come from
 * files that a core chose.
 *
 * Four things in libiberty (2.40: cp-demangle.c, rust-demangle.c) are not bounded by the
 * length of the name, and each has its bound here:
 *
 * - Substitutions (S0_, T_, Rust's B0_) let 100 bytes stand for gigabytes of text. A
 * print callback cannot ask the printer to stop, so ours leaves it by longjmp once
 * CS_MAX_DEMANGLED bytes are there. The printers keep everything on the stack (the tree
 * is ours), so nothing leaks. The one exception is a Rust punycode identifier, which is
 * unpacked on the heap: see rust_may_leak().
 * - d_find_pack() walks the whole expansion of a pack expansion's pattern and prints
 * nothing, so the bound on text never stops it. The tree is weighed first: see
 * tree_is_cheap().
 * - Parsing backtracks within the type of a conversion operator: see parse_is_cheap().
 * - Parsing recurses once per type constructor, and printing takes an array of templates
 * times scopes from the stack. Long names are handled on a thread with a stack of known
 * size, and that product is bounded.
 *
 * Options are those with which gdb demangles its minimal symbols, so that names are equal
 * to its `bt`.
 */
#include "symbols/demangle.h"

#include "base/limits.h"
#include "base/text.h"

#include <libiberty/demangle.h>
#include <pthread.h>
#include <setjmp.h>
#include <string.h>

#define OPTIONS (DMGL_PARAMS | DMGL_ANSI | DMGL_VERBOSE)
/** Without VERBOSE: it would append the hash of every Rust function. */
#define RUST_OPTIONS (DMGL_PARAMS | DMGL_ANSI)

/** Names up to this long are demangled on the caller's stack; it takes less than 1 MiB
 * for them. */
#define SHORT_NAME 1024
/** Stack for the others: the deepest names of CS_MAX_MANGLED bytes that were tried need
 * under 2 MiB. */
#define STACK_BYTES (8UL << 20)
struct job {
	const char *symbol;
	char *out; /* CS_MAX_DEMANGLED + 1 bytes */
	size_t len;
	bool too_long; /* the text was cut: it is of no use */
	bool may_jump;
	bool ok;
	jmp_buf stop;
};

static void collect(const char *text, size_t len, void *arg)
{
	struct job *job = arg;

	if (len > CS_MAX_DEMANGLED - job->len) {
		job->too_long = true;
		if (job->may_jump)
			longjmp(job->stop, 1);
		return;
	}
	if (len) /* rust-demangle.c passes NULL for an empty identifier */
		memcpy(job->out + job->len, text, len);
	job->len += len;
}

/** Children of a node, as d_find_pack() and the printer walk them; the number of them. */
static int children(const struct demangle_component *dc,
		    const struct demangle_component *ret[2])
{
	int n = 0;

	switch (dc->type) {
	case DEMANGLE_COMPONENT_NAME:
	case DEMANGLE_COMPONENT_TEMPLATE_PARAM:
	case DEMANGLE_COMPONENT_FUNCTION_PARAM:
	case DEMANGLE_COMPONENT_SUB_STD:
	case DEMANGLE_COMPONENT_BUILTIN_TYPE:
	case DEMANGLE_COMPONENT_EXTENDED_BUILTIN_TYPE:
	case DEMANGLE_COMPONENT_OPERATOR:
	case DEMANGLE_COMPONENT_CHARACTER:
	case DEMANGLE_COMPONENT_NUMBER:
	case DEMANGLE_COMPONENT_UNNAMED_TYPE:
	case DEMANGLE_COMPONENT_TEMPLATE_TYPE_PARM:
		return 0;
	case DEMANGLE_COMPONENT_EXTENDED_OPERATOR:
		ret[n] = dc->u.s_extended_operator.name;
		break;
	case DEMANGLE_COMPONENT_CTOR:
		ret[n] = dc->u.s_ctor.name;
		break;
	case DEMANGLE_COMPONENT_DTOR:
		ret[n] = dc->u.s_dtor.name;
		break;
	case DEMANGLE_COMPONENT_LAMBDA:
	case DEMANGLE_COMPONENT_DEFAULT_ARG:
		ret[n] = dc->u.s_unary_num.sub;
		break;
	case DEMANGLE_COMPONENT_FIXED_TYPE:
		ret[n] = dc->u.s_fixed.length;
		break;
	default:
		ret[n] = dc->u.s_binary.left;
		n += ret[n] != NULL;
		ret[n] = dc->u.s_binary.right;
		break;
	}
	return n + (ret[n] != NULL);
}

/** What tree_is_cheap() notes of each node. */
struct weight {
	uint32_t
		size; /* nodes of the subtree, shared ones counted each time; saturated */
	uint8_t state; /* 0: new, 1: being weighed, 2: done */
};

struct weighing {
	const struct demangle_component *base; /* the array that the nodes live in */
	size_t n;
	struct weight *weights;
	uint32_t *todo;
	uint64_t templates, scopes;
};

static bool is_inside(const struct weighing *w, const struct demangle_component *dc)
{
	return dc >= w->base && (size_t)(dc - w->base) < w->n;
}

/** Count what makes cplus_demangle_print_callback() take stack, as
 * d_count_templates_scopes() does. */
static void count_copies(struct weighing *w, const struct demangle_component *dc)
{
	const struct demangle_component *child = dc->u.s_binary.left;

	/* Each node is counted at most twice there, however often it is shared. */
	if (dc->type == DEMANGLE_COMPONENT_TEMPLATE)
		w->templates += 2;
	else if ((dc->type == DEMANGLE_COMPONENT_REFERENCE ||
		  dc->type == DEMANGLE_COMPONENT_RVALUE_REFERENCE) &&
		 child && child->type == DEMANGLE_COMPONENT_TEMPLATE_PARAM)
		w->scopes += 2;
}

/** All children of node @i are weighed: weigh it. False if it is too heavy. */
static bool weigh(struct weighing *w, size_t i,
		  const struct demangle_component *const kids[2], int n)
{
	const struct demangle_component *dc = &w->base[i];
	uint32_t size = 1;

	for (int k = 0; k < n; k++)
		size += CS_MIN(w->weights[kids[k] - w->base].size,
			       (uint32_t)CS_MAX_DEMANGLE_WEIGHT);
	w->weights[i] = (struct weight){.size = size, .state = 2};
	count_copies(w, dc);
	/*
	 * In a pattern, d_find_pack() would take the bytes that follow a fixed-point
	 * type's length for a pointer; no compiler puts one there.
	 */
	if (dc->type == DEMANGLE_COMPONENT_FIXED_TYPE)
		return false;
	return dc->type != DEMANGLE_COMPONENT_PACK_EXPANSION ||
	       size < CS_MAX_DEMANGLE_WEIGHT;
}

static bool weigh_all(struct weighing *w, size_t root)
{
	size_t depth = 0;

	w->todo[depth++] = (uint32_t)root;
	while (depth) {
		size_t i = w->todo[depth - 1];
		const struct demangle_component *kids[2];
		int n = children(&w->base[i], kids);
		bool ready = true;

		w->weights[i].state = CS_MAX(w->weights[i].state, (uint8_t)1);
		for (int k = 0; k < n; k++) {
			size_t kid = (size_t)(kids[k] - w->base);

			if (!is_inside(w, kids[k]) || w->weights[kid].state == 1)
				return false; /* not a tree that the parser makes */
			if (w->weights[kid].state == 2)
				continue;
			w->todo[depth++] = (uint32_t)kid;
			ready = false;
			break;
		}
		if (!ready)
			continue;
		if (!weigh(w, i, kids, n))
			return false;
		depth--;
	}
	return w->templates * w->scopes <= CS_MAX_DEMANGLE_COPIES;
}

/**
 * True if printing the tree takes time and stack in proportion to the text it makes. @mem
 * is the array that its nodes lie in, two for each byte of the name
 * (cplus_demangle_init_info()).
 */
static bool tree_is_cheap(const struct demangle_component *root, const void *mem,
			  size_t len)
{
	struct weighing w = {.base = mem, .n = 2 * len};
	bool cheap = false;

	w.weights = calloc(w.n, sizeof(*w.weights));
	w.todo = calloc(w.n, sizeof(*w.todo));
	if (w.weights && w.todo && is_inside(&w, root))
		cheap = weigh_all(&w, (size_t)(root - w.base));
	free(w.weights);
	free(w.todo);
	return cheap;
}

/** Bytes of a template parameter with arguments of its own at @p ("T_I", "T0_I",
 * "TL0__I"), or 0. */
static size_t parameter_with_arguments(const char *p)
{
	static const char digits[] = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ";
	size_t n = 1;

	if (*p != 'T')
		return 0;
	if (p[1] == 'L')
		n += strcspn(p + n, "_") + 1;
	if (strlen(p) <= n)
		return 0;
	n += strspn(p + n, digits);
	return p[n] == '_' && p[n + 1] == 'I' ? n + 2 : 0;
}

/**
 * True if parsing takes time in proportion to the name. Within a conversion operator's
 * type the parser tries the arguments of a template parameter both as its own and as the
 * operator's, each time anew: every such pair within another doubles the work
 * (cplus_demangle_type(), the only place that backtracks).
 */
static bool parse_is_cheap(const char *symbol)
{
	const char *p = strstr(symbol, "cv");
	size_t pairs = 0;

	for (; p && *p; p++)
		pairs += parameter_with_arguments(p) != 0;
	return pairs <= CS_MAX_DEMANGLE_PAIRS;
}

static void demangle_cxx(struct job *job)
{
	struct demangle_component *tree;
	void *mem = NULL;

	if (!parse_is_cheap(job->symbol))
		return;
	tree = cplus_demangle_v3_components(job->symbol, OPTIONS, &mem);

	if (tree && tree_is_cheap(tree, mem, strlen(job->symbol)) && !setjmp(job->stop))
		job->ok = cplus_demangle_print_callback(OPTIONS, tree, collect, job);
	free(mem);
}

/**
 * An identifier with non-ASCII letters ("u" and its length) is unpacked into heap memory
 * that is still held while its text is printed. Leaving then would leak, so such a name
 * must come to its end.
 */
static bool rust_may_leak(const char *symbol)
{
	for (const char *p = symbol; (p = strchr(p, 'u')); p++)
		if ((p[1] >= '0' && p[1] <= '9') || p[1] == '_')
			return true;
	return false;
}

static void demangle_rust(struct job *job)
{
	bool v0 = job->symbol[1] == 'R';
	size_t backrefs = 0;

	job->may_jump = true;
	if (v0 && rust_may_leak(job->symbol)) {
		/* Every back reference can at most double the work. */
		for (const char *p = job->symbol; (p = strchr(p, 'B')); p++)
			backrefs++;
		if (backrefs > 8)
			return;
		job->may_jump = false;
	}
	if (!setjmp(job->stop))
		job->ok = rust_demangle_callback(job->symbol, RUST_OPTIONS, collect, job);
}

static void *demangle_job(void *arg)
{
	struct job *job = arg;

	demangle_rust(job);
	if (!job->ok && !job->too_long && job->symbol[1] == 'Z') {
		job->len = 0;
		job->may_jump = true;
		demangle_cxx(job);
	}
	job->ok = job->ok && !job->too_long;
	return NULL;
}

/** Run @job where there is stack enough for it. */
static void job_run(struct job *job, size_t len)
{
	pthread_attr_t attr;
	pthread_t thread;

	if (len <= SHORT_NAME) {
		demangle_job(job);
		return;
	}
	if (pthread_attr_init(&attr))
		return;
	if (!pthread_attr_setstacksize(&attr, STACK_BYTES) &&
	    !pthread_create(&thread, &attr, demangle_job, job))
		pthread_join(thread, NULL);
	pthread_attr_destroy(&attr);
}

static const char *plain(struct cs_arena *arena, const char *name, size_t len)
{
	const char *text = cs_text_utf8(arena, name, len);

	return text ? cs_arena_intern(arena, text) : NULL;
}

const char *cs_demangle(struct cs_arena *arena, const char *symbol)
{
	size_t len = strcspn(
		symbol, "@"); /* "name@@VERSION" in symbol tables that linkers write */
	CS_CLEANUP(cs_freep) char *name = NULL;
	struct job job = {0};
	const char *result;

	if (!len)
		len = strlen(symbol);
	if (symbol[0] != '_' || (symbol[1] != 'Z' && symbol[1] != 'R') ||
	    len > CS_MAX_MANGLED)
		return plain(arena, symbol, len);
	name = strndup(symbol, len);
	job.out = malloc(CS_MAX_DEMANGLED + 1);
	if (!name || !job.out) {
		free(job.out);
		return NULL;
	}
	job.symbol = name;
	job_run(&job, len);
	result = job.ok && job.len ? plain(arena, job.out, job.len)
				   : plain(arena, name, len);
	free(job.out);
	return result;
}
