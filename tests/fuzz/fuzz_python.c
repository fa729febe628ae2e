/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The whole python layer on the memory of a made-up process: runtimes found by symbol, version or shape,
 * thread states, frames and their lines, names, GIL, exceptions, tasks, greenlets, the weave, values.
 *
 * The input is 8 bytes, then memory that lies at BASE: the stacks of two threads (0x800 bytes each), at
 * RUNTIME what symbol _PyRuntime (3.6: interp_head) names, then anything.
 *
 *	0   column of the table of layouts, modulo their number: which version the module's name tells
 *	1   flags: 1 the runtime has a symbol, 2 static types and None have symbols, 4 the evaluation loop
 *	    has one, 8 aarch64, 16 the module is called nothing that tells a version
 *	2-3 where an object is, in units of 8 bytes from BASE: it is read as all that can be asked for
 *	4-7 not used
 *
 * The first bytes of the first stack are also taken for the name of a native function.
 */
#include "python/python.h"

#include "base/limits.h"
#include "base/text.h"
#include "python/runtime.h"
#include "symbols/elfhead.h"
#include "tests/unit/fake_modules.h"
#include "tests/unit/fake_target.h"

#include <elf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned seed);
/* libFuzzer's; not there where seeds are replayed. */
size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t max_size) __attribute__((weak));

#define BASE 0x10000000UL
#define STACK_BYTES 0x800UL
#define N_THREADS 2
#define N_FRAMES 7
#define RUNTIME (BASE + 0x1000)
#define VERSION (BASE + 0x17f8) /* Py_Version */
#define TYPE_TYPE (BASE + 0x1800)
#define TYPE_CODE (BASE + 0x1a00)
#define NONE (BASE + 0x1c00)
#define TRUE_OBJECT (BASE + 0x1c40)
#define FALSE_OBJECT (BASE + 0x1c80)
#define TEXT (BASE - TEXT_BYTES) /* the module, whose data is at BASE; the loop is its first half */
#define TEXT_BYTES 0x2000UL
#define THREAD_POINTER 0x7f0000000000UL
#define HEADER 8

enum flag { HAS_RUNTIME = 1, HAS_TYPES = 2, HAS_LOOP = 4, ARM64 = 8, NAMELESS = 16 };

static void want(bool ok)
{
	if (!ok)
		abort();
}

/* ---- what stands in for the core and symbols layers, beside fake_modules.c ---- */

static unsigned minor;
static bool free_threaded;
static unsigned flags;
static uint64_t runtime_size;

const struct cs_core_info *cs_core_info(const struct cs_core *core)
{
	static const struct cs_core_info info = {0};

	(void)core;
	return &info;
}

struct cs_mod *cs_modules_executable(const struct cs_modules *modules)
{
	return cs_modules_at(modules, 0);
}

struct cs_mod *cs_modules_named(const struct cs_modules *modules, const char *prefix)
{
	struct cs_mod *mod = cs_modules_at(modules, 0);

	return strncmp(cs_mod_public(mod)->name, prefix, strlen(prefix)) == 0 ? mod : NULL;
}

bool cs_mod_is_vdso(const struct cs_mod *mod)
{
	(void)mod;
	return false;
}

bool cs_mod_elf_is_memory(struct cs_mod *mod)
{
	(void)mod;
	return false;
}

struct cs_error *cs_elf_head_of_memory(struct cs_mem *mem, uint64_t base, uint64_t page_size,
				       struct cs_elf_head *ret, uint64_t *bias_ret)
{
	(void)mem;
	(void)base;
	(void)page_size;
	(void)ret;
	(void)bias_ret;
	return &cs_not_found;
}

void cs_elf_head_deinit(struct cs_elf_head *head)
{
	(void)head;
}

bool cs_mod_symbol(struct cs_mod *mod, const char *name, uint64_t *ret, uint64_t *size_ret)
{
	const struct {
		const char *name;
		bool there;
		uint64_t address, size;
	} symbols[] = {
		{"_PyRuntime", (flags & HAS_RUNTIME) && minor > 6, RUNTIME, runtime_size},
		{"_PyThreadState_Current", (flags & HAS_RUNTIME) && minor == 6, RUNTIME + 8, 8},
		{"interp_head", (flags & HAS_RUNTIME) && minor == 6, RUNTIME, 8},
		{"Py_Version", (flags & HAS_RUNTIME) && minor > 10, VERSION, 8},
		{"PyType_Type", flags & HAS_TYPES, TYPE_TYPE, 0x200},
		{"PyCode_Type", flags & HAS_TYPES, TYPE_CODE, 0x200},
		{"_Py_NoneStruct", flags & HAS_TYPES, NONE, 16},
		{"_Py_TrueStruct", flags & HAS_TYPES, TRUE_OBJECT, 32},
		{"_Py_FalseStruct", flags & HAS_TYPES, FALSE_OBJECT, 32},
		{"_PyEval_EvalFrameDefault", flags & HAS_LOOP, TEXT, TEXT_BYTES / 2},
	};

	(void)mod;
	for (size_t i = 0; i < CS_COUNT(symbols); i++)
		if (symbols[i].there && !strcmp(symbols[i].name, name)) {
			*ret = symbols[i].address;
			if (size_ret)
				*size_ret = symbols[i].size;
			return true;
		}
	return false;
}

/* ---- what is found must make sense ---- */

static void check_text(const char *text)
{
	/* Whatever a report prints was made safe, or is made so by it: here, that it can be read at all. */
	if (text)
		want(strlen(text) <= CS_MAX_PY_MESSAGE + 64);
}

static void check_frames(const struct cs_frame *frames, size_t n)
{
	want(n <= CS_MAX_PY_FRAMES + 1);
	for (size_t i = 0; i < n; i++) {
		check_text(frames[i].function);
		check_text(frames[i].file);
		want(frames[i].line <= INT32_MAX);
		want(frames[i].kind == CS_FRAME_PYTHON || frames[i].kind == CS_FRAME_GAP);
	}
}

static void check_exception(const struct cs_exception *e, unsigned depth)
{
	want(depth <= 2 * CS_MAX_PY_EXCEPTIONS);
	check_text(e->type);
	check_text(e->message);
	for (size_t i = 0; i < e->n_notes; i++)
		check_text(e->notes[i]);
	check_frames(e->frames, e->n_frames);
	if (e->cause)
		check_exception(e->cause, depth + 1);
	if (e->context)
		check_exception(e->context, depth + 1);
}

static void check_model(const struct cs_analysis *a)
{
	for (size_t i = 0; i < a->python.n_runtimes; i++) {
		const struct cs_python_runtime *r = &a->python.runtimes[i];

		want(r->version && r->found && r->n_threads <= CS_MAX_THREADS);
	}
	for (size_t i = 0; i < a->n_exceptions; i++)
		check_exception(&a->exceptions[i], 0);
	for (size_t i = 0; i < a->python.n_tasks; i++) {
		check_text(a->python.tasks[i].name);
		check_text(a->python.tasks[i].awaits);
		check_frames(a->python.tasks[i].frames, a->python.tasks[i].n_frames);
	}
	for (size_t i = 0; i < a->python.n_greenlets; i++) {
		check_text(a->python.greenlets[i].name);
		check_frames(a->python.greenlets[i].frames, a->python.greenlets[i].n_frames);
	}
}

/** Every native frame once and in order, and every Python frame once. */
static void check_weave(const struct cs_weave *w, size_t n_native)
{
	size_t native = 0;

	for (size_t i = 0; i < w->items.n; i++) {
		const struct cs_woven *item = &w->items.v[i];

		switch ((enum cs_woven_kind)item->kind) {
		case CS_WOVEN_NATIVE:
		case CS_WOVEN_LOOP:
			want(item->index == native++);
			break;
		case CS_WOVEN_PYTHON: {
			const struct cs_py_frame *f = cs_woven_frame(w, item);
			const struct cs_py *py = w->strands.v[item->strand].py;
			struct cs_frame model = cs_py_frame_model(f);

			check_frames(&model, 1);
			if (i < 16)
				want(cs_ok(cs_py_locals_read(py, f, &model)));
			for (size_t v = 0; v < model.n_variables; v++) {
				check_text(model.variables[v].name);
				check_text(model.variables[v].value);
			}
			break;
		}
		case CS_WOVEN_GAP:
			check_text(w->texts.v[item->index]);
			break;
		}
	}
	want(!w->items.n || native == n_native);
}

/* ---- one object, asked for everything ---- */

static void ask_containers(const struct cs_py *py, uint64_t object)
{
	struct cs_py_dict_iter dict;
	struct cs_py_set_iter set;
	uint64_t key, value, a, b;
	size_t n = 0;

	if (cs_py_dict_begin(py, object, &dict))
		while (cs_py_dict_next(&dict, &key, &value))
			n++;
	if (cs_py_attributes_begin(py, object, &dict))
		while (cs_py_dict_next(&dict, &key, &value))
			n++;
	if (cs_py_set_begin(py, object, &set))
		while (cs_py_set_next(&set, &key))
			n++;
	want(n <= 3 * CS_MAX_PY_ITEMS);
	if (cs_py_items(py, object, &a, &b) || cs_py_bytes(py, object, &a, &b))
		want(b <= INT64_MAX);
	(void)cs_py_attribute(py, object, "x");
	(void)cs_py_dict_get(py, object, "x");
}

static void ask_code(const struct cs_py *py, uint64_t object)
{
	CS_CLEANUP(cs_py_codes_destroyp) struct cs_py_codes *codes = NULL;
	static const int64_t positions[] = {-1, 0, 1, 7, 200, 5000, INT32_MAX, INT64_MAX};
	struct cs_py_chain chain;
	const struct cs_py_code *code;
	struct cs_py_frame frame;

	want(cs_ok(cs_py_codes_create(py, &codes)));
	code = cs_py_code_at(codes, object);
	for (size_t i = 0; code && i < CS_COUNT(positions); i++)
		want(cs_py_code_line(codes, code, positions[i]) <= INT32_MAX);
	if (cs_py_frame_read(py, codes, object, &frame))
		want(frame.line <= INT32_MAX);
	want(cs_ok(cs_py_chain_from(py, codes, object, 1000, &chain)));
	want(chain.frames.n <= 1000);
	cs_py_chain_deinit(&chain);
	want(cs_ok(cs_py_chain_read(py, codes, object, &chain)));
	cs_py_chain_deinit(&chain);
	(void)cs_py_frame_of_object(py, object);
}

static void ask(const struct cs_py *py, uint64_t object)
{
	struct cs_strbuf out;
	uint64_t type = cs_py_type(py, object);
	int64_t number;
	bool cut;

	cs_strbuf_init(&out, CS_MAX_PY_REPR);
	cs_py_repr(py, object, &out);
	want(out.len <= CS_MAX_PY_REPR);
	cs_strbuf_deinit(&out);
	check_text(cs_py_str(py, object, CS_MAX_PY_NAME, &cut));
	check_text(cs_py_type_name(py, type));
	check_text(cs_py_type_full_name(py, type));
	(void)cs_py_type_inherits(py, type, "object");
	(void)cs_py_is_none(py, object);
	(void)cs_py_str_is(py, object, "x");
	if (cs_py_int(py, object, &number))
		(void)number;
	(void)cs_py_interp_plausible(py, object);
	ask_containers(py, object);
	ask_code(py, object);
}

/** By the table alone, whatever the process says of itself. */
static void ask_by_table(const struct cs_scene *scene, uint64_t object)
{
	struct cs_py_found found = {.runtime = RUNTIME};
	struct cs_py py;

	if (!cs_py_layout_table(3U << 24 | minor << 16, free_threaded, scene->arch->machine,
				&found.layout))
		return;
	cs_py_open(scene, &found, &py);
	ask(&py, object);
}

/** What native functions are called comes from files that the core chose. */
static void ask_names(struct cs_arena *arena, const uint8_t *data, size_t size)
{
	size_t len = strnlen((const char *)data, CS_MIN(size, (size_t)512));
	char *name = strndup((const char *)data, len);

	want(name != NULL);
	check_text(cs_py_cython_name(arena, name));
	(void)cs_py_cython_same(name, name);
	if (cs_py_is_eval_loop(name))
		want(cs_py_is_plumbing(name));
	free(name);
}

/* ---- the process ---- */

static void pick_column(uint8_t byte)
{
	unsigned column = byte % CS_PY_COLUMNS;
	struct cs_py_layout l;

	free_threaded = column >= CS_PY_3_13 && (column - CS_PY_3_13) % 2;
	minor = column < CS_PY_3_13 ? 6 + column : 13 + (column - CS_PY_3_13) / 2;
	want(cs_py_layout_table(3U << 24 | minor << 16, free_threaded, EM_X86_64, &l));
	runtime_size = (uint64_t)CS_MAX(l.runtime_size, 0);
}

static void make_stack(unsigned thread, const struct cs_arch *arch, struct cs_raw_frame *frames,
		       struct cs_raw_stack *stack, struct cs_regs *regs)
{
	uint64_t sp = BASE + thread * STACK_BYTES;

	for (size_t i = 0; i < N_FRAMES; i++)
		frames[i] = (struct cs_raw_frame){.pc = TEXT + 0x10 + (i % 2) * TEXT_BYTES / 2,
						  .cfa = sp + (i + 1) * 0x100,
						  .trust = CS_TRUST_CFI,
						  .exact = i == 0};
	*stack = (struct cs_raw_stack){.frames = frames, .n = N_FRAMES};
	*regs = (struct cs_regs){0};
	for (unsigned reg = 0; reg < arch->n_regs; reg++)
		cs_regs_set(regs, reg, RUNTIME + reg * 8);
	cs_regs_set(regs, arch->sp, sp);
	cs_regs_set(regs, arch->pc, frames[0].pc);
}

static void read_process(struct cs_scene *scene, uint64_t object)
{
	struct cs_raw_frame frames[N_THREADS][N_FRAMES];
	struct cs_raw_stack stacks[N_THREADS];
	struct cs_regs regs[N_THREADS];
	struct cs_py_native natives[N_THREADS];
	struct cs_analysis analysis = {0};
	struct cs_pythons *pythons;

	for (unsigned i = 0; i < N_THREADS; i++) {
		make_stack(i, scene->arch, frames[i], &stacks[i], &regs[i]);
		natives[i] = (struct cs_py_native){.regs = &regs[i], .raw = &stacks[i]};
	}
	want(cs_ok(cs_pythons_read(scene, natives, N_THREADS, &analysis, &pythons)));
	check_model(&analysis);
	for (size_t i = 0; i < N_THREADS; i++) {
		const struct cs_weave *w = cs_pythons_weave(pythons, i);

		check_weave(w, N_FRAMES);
		if (w->strands.n)
			ask(w->strands.v[0].py, object);
	}
	cs_pythons_destroy(pythons);
}

static struct cs_modules *make_modules(void)
{
	static char path[64];
	struct cs_modules *modules = fake_modules_create();
	struct cs_module *m =
		cs_mod_public(fake_module(modules, TEXT, TEXT + TEXT_BYTES, TEXT, NULL, 0));

	if (flags & NAMELESS)
		snprintf(path, sizeof(path), "/usr/lib/python/embedder");
	else
		snprintf(path, sizeof(path), "/usr/lib/libpython3.%u.so.1.0", minor);
	m->path = path;
	m->name = strrchr(path, '/') + 1;
	return modules;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct cs_diags diags = {0};
	struct cs_scene scene = {.diags = &diags};
	struct fake_target *target;
	uint64_t object;

	if (size <= HEADER)
		return 0;
	pick_column(data[0]);
	flags = data[1];
	object = BASE + 8 * (data[2] | (uint64_t)data[3] << 8);
	target = fake_create(flags & ARM64 ? EM_AARCH64 : EM_X86_64);
	for (unsigned i = 0; i < N_THREADS; i++)
		fake_thread_pointer(target, fake_thread(target, 41 + (int32_t)i, 0),
				    THREAD_POINTER + i * 0x1000);
	fake_map(target, TEXT, NULL, TEXT_BYTES, CS_PROT_READ | CS_PROT_EXEC);
	fake_map(target, BASE, data + HEADER, size - HEADER, CS_PROT_READ | CS_PROT_WRITE);
	scene.modules = make_modules();
	scene.arch = cs_arch_find(fake_cs(target)->machine);
	scene.arena = diags.arena = cs_arena_create(CS_MAX_ARENA);
	want(scene.arena && cs_ok(cs_mem_create(fake_cs(target), &scene.mem)));
	read_process(&scene, object);
	ask_by_table(&scene, object);
	ask_names(scene.arena, data + HEADER, size - HEADER);
	cs_mem_destroy(scene.mem);
	free(diags.list.v);
	cs_arena_destroy(scene.arena);
	cs_modules_destroy(scene.modules);
	fake_destroy(target);
	return 0;
}

/* ---- mutations ---- */

static uint32_t next_random(uint32_t *state)
{
	*state = *state * 1664525 + 1013904223;
	return *state >> 8;
}

/** Offset of a word of @data that is not 0, if a few tries find one. */
static size_t some_word(const uint8_t *data, size_t size, uint32_t *state)
{
	size_t at = 0;
	uint64_t word;

	for (unsigned i = 0; i < 32; i++) {
		at = HEADER + next_random(state) % ((size - HEADER) / 8) * 8;
		memcpy(&word, data + at, sizeof(word));
		if (word)
			break;
	}
	return at;
}

/** What a word may become: another one, one nearby, a place in memory, a telling number. */
static uint64_t other_word(const uint8_t *data, size_t size, uint64_t word, uint32_t *state)
{
	static const uint64_t telling[] = {0, 1, 2, 3, 0xff, 1UL << 31, 1UL << 32, 1UL << 63, UINT64_MAX};
	uint64_t other;

	memcpy(&other, data + some_word(data, size, state), sizeof(other));
	switch (next_random(state) % 6) {
	case 0:
		return other;
	case 1:
		return word + 8;
	case 2:
		return word - 1;
	case 3:
		return BASE + next_random(state) % size / 8 * 8;
	case 4:
		return word ^ 1UL << next_random(state) % 64;
	default:
		return telling[next_random(state) % CS_COUNT(telling)];
	}
}

/**
 * Memory is made of words, most of them pointers: half of the time some of those that are not 0 change as
 * such. Other mutations are libFuzzer's own.
 */
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned seed)
{
	uint32_t state = seed;

	if (size < HEADER + 64 || next_random(&state) % 2)
		return LLVMFuzzerMutate(data, size, max_size);
	for (unsigned n = 1 + next_random(&state) % 4; n--;) {
		size_t at = some_word(data, size, &state);
		uint64_t word;

		memcpy(&word, data + at, sizeof(word));
		word = other_word(data, size, word, &state);
		memcpy(data + at, &word, sizeof(word));
	}
	if (next_random(&state) % 8 == 0) {
		uint16_t object = (uint16_t)(next_random(&state) % (size / 8));

		memcpy(data + 2, &object, sizeof(object));
	}
	return size;
}
