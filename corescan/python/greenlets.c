/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Greenlets that do not run. Knows how the greenlet package keeps a suspended one (python-greenlet:
 * greenlet.h of 1.1.3, TGreenlet.hpp and TStackState.cpp of 2.0 and later): the frame it will go on with,
 * and a copy of that part of the C stack which others use meanwhile; refuses to know who will resume it.
 *
 * No list leads to all greenlets, and none of the package's own symbols is needed: its type is in
 * sys.modules, and every object of that type or of one derived from it has the type's address at a fixed
 * place. One pass over the writable memory finds them.
 */
#include "base/limits.h"
#include "python/state.h"
#include "python/value.h"

#include <endian.h>
#include <string.h>

#define OWNER_SHIM 3        /* 3.12+, and above; CPython: Include/internal/pycore_frame.h */
#define PIECE (1UL << 20)   /* bytes searched in one go */
#define POOL_HEADER 48      /* bytes */
#define MAIN_STOP UINT64_MAX /* stack_stop of the greenlet that a thread began with */

/** What a greenlet keeps of itself; addresses of the target. */
struct saved {
	uint64_t start; /* of its part of the C stack; 0: not started, or finished */
	uint64_t stop;  /* exclusive; 0: not started */
	uint64_t copy;  /* on the heap, of [start, start + size) */
	uint64_t size;
	uint64_t frame; /* frame object that it will go on with; 0: it runs */
};

/** One thread's stack, by the region that it is in. */
struct stack {
	const struct cs_region *of_sp, *of_pointer; /* NULL: not known */
	uint64_t pointer;
	int32_t tid;
};

struct reader {
	struct cs_py_process *p;
	const struct cs_py *py;
	struct cs_py_greenlets *ret;
	uint64_t types[CS_MAX_PY_SUBTYPES];
	size_t n_types, n_roots; /* the roots come first: greenlet.greenlet itself */
	uint64_t table[4 * CS_MAX_PY_SUBTYPES]; /* the types again, hashed; 0: free */
	struct stack *stacks;          /* owned; one a thread */
	size_t n_stacks;
	uint64_t frames; /* that may still be read, of all greenlets */
	bool cut;
};

static void reader_destroy(struct reader *r)
{
	if (r)
		free(r->stacks);
	free(r);
}
CS_DEFINE_CLEANUP(struct reader *, reader_destroy)

/* ---- the types ---- */

static size_t slot_of(const struct reader *r, uint64_t type)
{
	size_t i = (size_t)((type >> 4) * 0x9e3779b97f4a7c15ULL >> 40) % CS_COUNT(r->table);

	while (r->table[i] && r->table[i] != type)
		i = (i + 1) % CS_COUNT(r->table);
	return i;
}

static void add_type(struct reader *r, uint64_t type)
{
	size_t slot;

	if (!type || !cs_py_is_type(r->py, type))
		return;
	slot = slot_of(r, type);
	if (r->table[slot])
		return;
	if (r->n_types >= CS_MAX_PY_SUBTYPES) {
		r->cut = true;
		return;
	}
	r->table[slot] = type;
	r->types[r->n_types++] = type;
}

/** greenlet.greenlet of every interpreter, and the classes derived from it. */
static void find_types(struct reader *r)
{
	static const char *const modules[] = {"greenlet._greenlet", "greenlet"};
	const struct cs_py_layout *l = &r->py->layout;

	for (size_t i = 0; i < r->p->interps.n; i++) {
		for (size_t m = 0; m < CS_COUNT(modules); m++) {
			uint64_t dict = cs_py_module_dict(r->py, r->p->interps.v[i].address,
							  modules[m]);

			if (dict)
				add_type(r, cs_py_dict_get(r->py, dict, "greenlet"));
		}
	}
	r->n_roots = r->n_types;
	/* The list grows while it is gone through. */
	for (size_t i = 0; i < r->n_types; i++) {
		uint64_t dict = cs_py_get(r->py, r->types[i], l->type_subclasses), key, weak;
		struct cs_py_dict_iter it;

		if (!dict || !cs_py_dict_begin(r->py, dict, &it))
			continue;
		while (cs_py_dict_next(&it, &key, &weak))
			add_type(r, cs_py_get(r->py, weak, l->weakref_object));
	}
}

/* ---- one greenlet ---- */

/** Where the C++ object of 2.0 and later has its StackState; 0: that is none. */
static uint64_t stack_in_pimpl(const struct cs_py *py, uint64_t greenlet, uint64_t pimpl)
{
	const struct cs_py_layout *l = &py->layout;
	uint64_t vtable, self, at = pimpl + 8;

	if (pimpl < 4096 || pimpl > UINT64_MAX - 4096 || !cs_mem_u64(py->mem, pimpl, &vtable) ||
	    !cs_modules_find(py->scene->modules, vtable) || !cs_mem_u64(py->mem, pimpl + 8, &self))
		return 0;
	/* 3.1 and later begin with a pointer back. */
	if (self == greenlet)
		at += 8;
	/* ExceptionState, then SwitchingArgs: two pointers. */
	if (l->minor == 6)
		at += 3 * 8;
	else
		at += 8 + (l->exc_item_type == CS_ABSENT ? 2 * 8 : 4 * 8);
	return at + 2 * 8;
}

/** Bytes of an object of the class that all of @type's greenlets come from; 0: not known. */
static uint64_t basic_size(const struct cs_py *py, uint64_t type)
{
	uint64_t basic = 0, item, base = type;

	/* It is the last but `object` that the type inherits from. */
	for (uint64_t i = 1, t; (t = cs_py_type_base(py, type, i)); i++)
		if (cs_py_type_base(py, type, i + 1))
			base = t;
	return cs_py_type_size(py, base, &basic, &item) ? basic : 0;
}

/**
 * Addresses of what @greenlet keeps of its stack, and of its frame. False: there is no greenlet, or not one
 * of a known layout. Other objects refer to the type as well, so what is not the stack's must fit, too.
 */
static bool find_saved(const struct reader *r, uint64_t greenlet, uint64_t type, uint64_t *stack_ret,
		       uint64_t *frame_ret)
{
	const struct cs_py *py = r->py;
	int32_t header = py->layout.object_size;
	uint64_t weak, dict, parent, size = basic_size(py, type);

	if (size == (uint64_t)header + 3 * 8) {
		/* Weak references, dict, and the C++ object. */
		weak = cs_py_get(py, greenlet, header);
		dict = cs_py_get(py, greenlet, header + 8);
		if ((weak && cs_py_get(py, weak, py->layout.weakref_object) != greenlet) ||
		    (dict && !cs_py_is(py, dict, CS_PY_DICT)))
			return false;
		*stack_ret = stack_in_pimpl(py, greenlet, cs_py_get(py, greenlet, header + 16));
		/* Five words of stack, and a contextvars context from 3.7 on. */
		*frame_ret = *stack_ret + (py->layout.minor >= 7 ? 6 : 5) * 8;
		return *stack_ret != 0;
	}
	/* Five words of stack, parent, what it is to run, frame. */
	parent = cs_py_get(py, greenlet, header + 5 * 8);
	if (size < (uint64_t)header + 10 * 8 ||
	    (parent && !r->table[slot_of(r, cs_py_type(py, parent))]))
		return false;
	*stack_ret = greenlet + (uint64_t)header;
	*frame_ret = *stack_ret + 7 * 8;
	return true;
}

static bool read_saved(const struct reader *r, uint64_t greenlet, uint64_t type, struct saved *ret)
{
	uint64_t stack, frame, words[4];

	if (!find_saved(r, greenlet, type, &stack, &frame) ||
	    !cs_py_read(r->py, stack, words, sizeof(words)) ||
	    !cs_mem_u64(r->py->mem, frame, &ret->frame))
		return false;
	ret->start = le64toh(words[0]);
	ret->stop = le64toh(words[1]);
	ret->copy = le64toh(words[2]);
	ret->size = le64toh(words[3]);
	return true;
}

/** What is saved makes sense together. */
static bool consistent(const struct cs_py *py, const struct saved *s)
{
	const char *name;

	if (!s->stop)
		return !s->start && !s->copy && !s->size && !s->frame;
	if (s->start > s->stop || s->size > s->stop - s->start)
		return false;
	if (s->size && (!s->copy || s->copy > UINT64_MAX - s->size || !cs_mem_region(py->mem, s->copy)))
		return false;
	if (!s->frame)
		return true;
	name = cs_py_type_name(py, cs_py_type(py, s->frame));
	return s->start > 4096 && cs_py_type(py, s->frame) && (!name || strcmp(name, "frame") == 0);
}

/* ---- its frames ---- */

static bool is_moved(const struct saved *s, uint64_t addr)
{
	return addr >= s->start && addr - s->start < s->size;
}

/** Where the bytes are now that were, or are, at @addr of its stack. */
static uint64_t moved(const struct saved *s, uint64_t addr)
{
	return is_moved(s, addr) ? s->copy + (addr - s->start) : addr;
}

static const char *broken_at(const struct cs_py *py, uint64_t frame)
{
	const char *text = cs_arena_printf(py->arena, "the Python frame at 0x%llx cannot be read",
					   (unsigned long long)frame);

	return text ? text : "a Python frame cannot be read";
}

/**
 * 3.12 and later: between the frames of two native calls is a shim that lies on the C stack, perhaps in the
 * part that was moved away.
 */
static struct cs_error *walk_shims(const struct reader *r, const struct saved *s, uint64_t frame,
				   struct cs_py_chain *ret)
{
	const struct cs_py_layout *l = &r->py->layout;

	*ret = (struct cs_py_chain){0};
	for (size_t n = 0; frame && ret->frames.n < CS_MAX_FRAMES; n++) {
		uint64_t previous, owner_at = moved(s, frame + (uint64_t)l->frame_owner);
		struct cs_py_frame f;
		uint8_t owner;

		if (n >= 2 * CS_MAX_FRAMES || !cs_py_u8(r->py, owner_at, 0, &owner) ||
		    (is_moved(s, frame) && owner < OWNER_SHIM) ||
		    !cs_py_pointer(r->py, moved(s, frame + (uint64_t)l->frame_previous), 0,
				   &previous)) {
			ret->broken = broken_at(r->py, frame);
			break;
		}
		if (owner < OWNER_SHIM && cs_py_frame_read(r->py, r->p->codes, frame, &f))
			CS_TRY(CS_PUSH(&ret->frames, f, CS_MAX_FRAMES, "frames of a greenlet"));
		frame = previous;
	}
	if (frame && ret->frames.n >= CS_MAX_FRAMES)
		ret->broken = "more frames than are looked at";
	return NULL;
}

static struct cs_error *read_frames(struct reader *r, const struct saved *s,
				    struct cs_python_greenlet *ret)
{
	CS_CLEANUP(cs_py_chain_deinit) struct cs_py_chain chain = {0};
	uint64_t frame = cs_py_frame_of_object(r->py, s->frame);
	struct cs_frame *frames;

	if (r->py->layout.minor <= 11)
		CS_TRY(cs_py_chain_from(r->py, r->p->codes, frame, CS_MAX_FRAMES, &chain));
	else
		CS_TRY(walk_shims(r, s, frame, &chain));
	ret->broken = frame ? chain.broken : "its frame object cannot be read";
	if (chain.frames.n > r->frames) {
		ret->broken = "more frames in all greenlets than are looked at";
		return NULL;
	}
	r->frames -= chain.frames.n;
	frames = cs_arena_calloc(r->py->arena, chain.frames.n + 1, sizeof(*frames));
	if (!frames)
		return &cs_nomem;
	for (size_t i = 0; i < chain.frames.n; i++)
		frames[i] = cs_py_frame_model(&chain.frames.v[i]);
	ret->frames = frames;
	ret->n_frames = chain.frames.n;
	return NULL;
}

/* ---- its thread ---- */

static struct cs_error *find_stacks(struct reader *r)
{
	const struct cs_scene *scene = r->py->scene;
	struct cs_target *t = cs_mem_target(r->py->mem);

	r->stacks = calloc(t->n_threads + 1, sizeof(*r->stacks));
	if (!r->stacks)
		return &cs_nomem;
	for (; r->n_stacks < t->n_threads; r->n_stacks++) {
		struct stack *s = &r->stacks[r->n_stacks];
		struct cs_regs regs = {0};
		uint64_t sp;

		s->tid = t->threads[r->n_stacks].tid;
		s->pointer = t->threads[r->n_stacks].thread_pointer;
		s->of_pointer = s->pointer ? cs_mem_region(r->py->mem, s->pointer) : NULL;
		if (cs_ok(t->ops->registers(t, r->n_stacks, &regs)) &&
		    cs_regs_get(&regs, scene->arch->sp, &sp))
			s->of_sp = cs_mem_region(r->py->mem, sp);
	}
	return NULL;
}

/** The thread whose stack @addr is on; 0: none. glibc has a thread's control block above its stack. */
static int32_t thread_of_stack(const struct reader *r, uint64_t addr)
{
	const struct cs_region *region = cs_mem_region(r->py->mem, addr);
	const struct stack *best = NULL;

	for (size_t i = 0; region && i < r->n_stacks; i++) {
		const struct stack *s = &r->stacks[i];

		if (s->of_pointer == region && s->pointer > addr &&
		    (!best || s->pointer < best->pointer))
			best = s;
	}
	for (size_t i = 0; region && !best && i < r->n_stacks; i++)
		if (r->stacks[i].of_sp == region)
			best = &r->stacks[i];
	return best ? best->tid : 0;
}

/* ---- all of them ---- */

static bool is_root(const struct reader *r, uint64_t type)
{
	for (size_t i = 0; i < r->n_roots; i++)
		if (r->types[i] == type)
			return true;
	return false;
}

/** Freed memory keeps its type, with no references; what is no object has a pointer there, or anything. */
static bool has_references(const struct cs_py *py, uint64_t object)
{
	uint64_t word;

	if (py->layout.free_threaded)
		return true;
	/* 3.14 and later have flags in the highest 16 bits; CPython: Include/object.h */
	return cs_mem_u64(py->mem, object, &word) && (uint32_t)word && !(word >> 32 & 0xffff);
}

static struct cs_error *look_at(struct reader *r, uint64_t object, uint64_t type)
{
	struct cs_python_greenlet g = {.address = object};
	struct saved s = {0};

	if (!has_references(r->py, object))
		return NULL;
	if (!read_saved(r, object, type, &s) || !consistent(r->py, &s))
		return NULL;
	if (s.stop && !s.frame) /* finished, or running now */
		return NULL;
	if (r->ret->n >= CS_MAX_PY_GREENLETS) {
		r->cut = true;
		return NULL;
	}
	g.name = cs_py_type_full_name(r->py, type);
	/* The name of a static type is in the file of its module, which may be missing. */
	if (!g.name && is_root(r, type))
		g.name = "greenlet.greenlet";
	g.state = s.stop ? "suspended" : "not started";
	if (s.stop) {
		g.tid = thread_of_stack(r, s.stop == MAIN_STOP ? s.start : s.stop);
		CS_TRY(read_frames(r, &s, &g));
	}
	return CS_PUSH(r->ret, g, CS_MAX_PY_GREENLETS, "greenlets");
}

/** @n words of @piece, read from @addr on. */
static struct cs_error *search_piece(struct reader *r, const uint64_t *piece, size_t n, uint64_t addr)
{
	/* From 3.8 on objects lie at multiples of 16, and ob_type 8 above one. */
	size_t step = r->py->layout.minor >= 8 ? 2 : 1;
	uint64_t type_at = (uint64_t)r->py->layout.object_type;

	for (size_t i = step - 1; i < n; i += step) {
		uint64_t word = le64toh(piece[i]);

		if (word < 4096 || !r->table[slot_of(r, word)])
			continue;
		CS_TRY(look_at(r, addr + 8 * i - type_at, word));
	}
	return NULL;
}

static bool is_searched(const struct cs_py *py, const struct cs_region *region)
{
	return region->prot & CS_PROT_WRITE && region->saved_end > region->start &&
	       region->start % 16 == 0 && !cs_mem_mapping(py->mem, region->start);
}

static int compare_regions(const void *a, const void *b)
{
	const struct cs_region *x = *(const struct cs_region *const *)a;
	const struct cs_region *y = *(const struct cs_region *const *)b;
	uint64_t nx = x->saved_end - x->start, ny = y->saved_end - y->start;

	return nx < ny ? -1 : nx > ny ? 1 : x->start < y->start ? -1 : x->start > y->start;
}

static struct cs_error *read_piece(struct reader *r, const struct cs_region *region, uint64_t at,
				   uint64_t n, uint64_t *piece)
{
	struct cs_target *t = cs_mem_target(r->py->mem);

	return cs_ok(t->ops->read(t, region, at, piece, (size_t)n))
		       ? search_piece(r, piece, (size_t)(n / 8), at)
		       : NULL;
}

static struct cs_error *search_region(struct reader *r, const struct cs_region *region,
				      uint64_t *piece)
{
	for (uint64_t at = region->start; at < region->saved_end; at += PIECE)
		CS_TRY(read_piece(r, region, at, CS_MIN(PIECE, region->saved_end - at), piece));
	return NULL;
}

/* ---- pools: most memory of a process with tensors holds no small objects ---- */

/** Bytes of a pool of Python's allocator. CPython: Objects/obmalloc.c, Include/internal/pycore_obmalloc.h */
static uint64_t pool_size(const struct cs_py *py)
{
	return py->layout.minor >= 10 ? 16384 : 4096;
}

/** True if a pool with objects in it begins with @header, POOL_HEADER bytes. */
static bool is_pool(const struct cs_py *py, const uint32_t *header)
{
	uint64_t used = le32toh(header[0]), class = le32toh(header[9]), end = le32toh(header[11]);
	uint64_t size = pool_size(py);

	if (!used || used > size / 8 || class >= 64 || end >= size)
		return false;
	/* The last place for a block; blocks are multiples of 16 bytes, of 8 in 3.6 and early 3.7. */
	return size - end == (class + 1) * 16 || (py->layout.minor <= 7 && size - end == (class + 1) * 8);
}

static bool in_pool(const struct cs_py *py, uint64_t object)
{
	uint32_t header[POOL_HEADER / 4];

	return object && cs_py_read(py, object & ~(pool_size(py) - 1), header, sizeof(header)) &&
	       is_pool(py, header);
}

/** Small objects are in pools: some of them are looked at. False: another allocator is in use. */
static bool has_pools(const struct reader *r)
{
	const struct cs_py_layout *l = &r->py->layout;
	uint64_t interp = r->p->interps.n ? r->p->interps.v[0].address : 0;

	return !l->free_threaded && in_pool(r->py, cs_py_get(r->py, interp, l->interp_modules)) &&
	       in_pool(r->py, cs_py_get(r->py, interp, l->interp_sysdict)) &&
	       in_pool(r->py, cs_py_get(r->py, interp, l->interp_builtins));
}

static struct cs_error *search_pools(struct reader *r, const struct cs_region *region,
				     uint64_t *piece)
{
	struct cs_target *t = cs_mem_target(r->py->mem);
	uint64_t size = pool_size(r->py), at = (region->start + size - 1) & ~(size - 1);
	uint32_t header[POOL_HEADER / 4];

	for (; at < region->saved_end && region->saved_end - at >= size; at += size)
		if (cs_ok(t->ops->read(t, region, at, header, sizeof(header))) &&
		    is_pool(r->py, header))
			CS_TRY(read_piece(r, region, at, size, piece));
	return NULL;
}

/** The arenas of Python's allocator are small, tensors are large: what may be left out comes last. */
static struct cs_error *search(struct reader *r)
{
	const struct cs_target *t = cs_mem_target(r->py->mem);
	CS_CLEANUP(cs_freep) const struct cs_region **regions = NULL;
	CS_CLEANUP(cs_freep) uint64_t *piece = malloc(PIECE);
	bool pools = has_pools(r);
	/* Of what is in no pool only the places are read where one could begin. */
	uint64_t left = pools ? 16 * CS_MAX_PY_SCAN : CS_MAX_PY_SCAN;
	size_t n = 0;

	regions = calloc(t->n_regions + 1, sizeof(*regions));
	if (!regions || !piece)
		return &cs_nomem;
	for (size_t i = 0; i < t->n_regions; i++)
		if (is_searched(r->py, &t->regions[i]))
			regions[n++] = &t->regions[i];
	qsort(regions, n, sizeof(*regions), compare_regions);
	for (size_t i = 0; i < n; i++) {
		uint64_t bytes = regions[i]->saved_end - regions[i]->start;

		if (bytes > left) {
			r->cut = true;
			break;
		}
		left -= bytes;
		CS_TRY(pools ? search_pools(r, regions[i], piece)
			     : search_region(r, regions[i], piece));
	}
	return NULL;
}

static int compare_greenlets(const void *a, const void *b)
{
	const struct cs_python_greenlet *x = a, *y = b;
	int order = strcmp(y->state, x->state); /* "suspended" before "not started" */

	return order ? order : x->address < y->address ? -1 : x->address > y->address;
}

struct cs_error *cs_py_greenlets_read(struct cs_py_process *p, struct cs_py_greenlets *ret)
{
	CS_CLEANUP(reader_destroyp) struct reader *r = calloc(1, sizeof(*r));

	if (!r)
		return &cs_nomem;
	r->p = p;
	r->py = &p->py;
	r->ret = ret;
	r->frames = CS_MAX_PY_TOTAL_FRAMES;
	find_types(r);
	if (!r->n_types || r->py->layout.object_size == CS_ABSENT)
		return NULL;
	CS_TRY(find_stacks(r));
	CS_TRY(search(r));
	if (r->cut)
		cs_diag(p->py.scene->diags, CS_SEVERITY_WARNING, "python", "greenlets-cut", 0,
			"not all memory was searched for greenlets, or there are more than %lu",
			CS_MAX_PY_GREENLETS);
	if (ret->n)
		qsort(ret->v, ret->n, sizeof(*ret->v), compare_greenlets);
	return NULL;
}
