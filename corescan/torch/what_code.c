/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What a function like std::exception::what() returns, read off its code: most of them load one member, or
 * the address of a constant, and return. Knows the few instructions that compilers make of that, with and
 * without optimisation; anything else ends the reading, so what is answered is what the function returns.
 */
#include "torch/cxx.h"

#include "base/buf.h"

#include <elf.h>
#include <string.h>

#define MAX_STEPS 24 /* instructions, of called functions as well */
#define MAX_CALLS 4  /* functions within functions */
#define MAX_INSN 16

enum place { NONE, RAX, RDI, SLOT }; /* SLOT: where code without optimisation keeps `this` */

enum action {
	SKIP,     /* no matter here: frame set up and torn down */
	MOVE,     /* to = from */
	ADD,      /* to = from + operand */
	LOAD,     /* to = word at from + operand */
	CONSTANT, /* to = operand */
	RELATIVE, /* to = address behind the instruction + operand */
	INDIRECT, /* go on at the word at the address behind the instruction + operand: a linkage table */
	JUMP,
	CALL,
	RETURN,
};

/** One instruction: its first bytes, then an operand of `operand` bytes, signed. */
struct insn {
	uint8_t bytes[4];
	uint8_t n, operand;
	uint8_t action, to, from;
};

static const struct insn x86[] = {
	{{0xf3, 0x0f, 0x1e, 0xfa}, 4, 0, SKIP, NONE, NONE},     /* endbr64 */
	{{0x55}, 1, 0, SKIP, NONE, NONE},                       /* push %rbp */
	{{0x48, 0x89, 0xe5}, 3, 0, SKIP, NONE, NONE},           /* mov %rsp,%rbp */
	{{0x48, 0x83, 0xec}, 3, 1, SKIP, NONE, NONE},           /* sub $n,%rsp */
	{{0x48, 0x83, 0xc4}, 3, 1, SKIP, NONE, NONE},           /* add $n,%rsp */
	{{0x5d}, 1, 0, SKIP, NONE, NONE},                       /* pop %rbp */
	{{0xc9}, 1, 0, SKIP, NONE, NONE},                       /* leave */
	{{0x90}, 1, 0, SKIP, NONE, NONE},                       /* nop */
	{{0x48, 0x89, 0x7d, 0xf8}, 4, 0, MOVE, SLOT, RDI},      /* mov %rdi,-8(%rbp) */
	{{0x48, 0x8b, 0x45, 0xf8}, 4, 0, MOVE, RAX, SLOT},      /* mov -8(%rbp),%rax */
	{{0x48, 0x89, 0xc7}, 3, 0, MOVE, RDI, RAX},             /* mov %rax,%rdi */
	{{0x48, 0x89, 0xf8}, 3, 0, MOVE, RAX, RDI},             /* mov %rdi,%rax */
	{{0x48, 0x8b, 0x00}, 3, 0, LOAD, RAX, RAX},             /* mov (%rax),%rax */
	{{0x48, 0x8b, 0x40}, 3, 1, LOAD, RAX, RAX},
	{{0x48, 0x8b, 0x80}, 3, 4, LOAD, RAX, RAX},
	{{0x48, 0x8b, 0x07}, 3, 0, LOAD, RAX, RDI},             /* mov (%rdi),%rax */
	{{0x48, 0x8b, 0x47}, 3, 1, LOAD, RAX, RDI},
	{{0x48, 0x8b, 0x87}, 3, 4, LOAD, RAX, RDI},
	{{0x48, 0x8b, 0x7f}, 3, 1, LOAD, RDI, RDI},
	{{0x48, 0x8b, 0xbf}, 3, 4, LOAD, RDI, RDI},
	{{0x48, 0x83, 0xc0}, 3, 1, ADD, RAX, RAX},              /* add $n,%rax */
	{{0x48, 0x83, 0xc7}, 3, 1, ADD, RDI, RDI},              /* add $n,%rdi */
	{{0x48, 0x8d, 0x47}, 3, 1, ADD, RAX, RDI},              /* lea n(%rdi),%rax */
	{{0x48, 0x8d, 0x87}, 3, 4, ADD, RAX, RDI},
	{{0x48, 0x8d, 0x7f}, 3, 1, ADD, RDI, RDI},
	{{0x48, 0x8d, 0xbf}, 3, 4, ADD, RDI, RDI},
	{{0x48, 0x8d, 0x05}, 3, 4, RELATIVE, RAX, NONE},        /* lea n(%rip),%rax */
	{{0xb8}, 1, 4, CONSTANT, RAX, NONE},                    /* mov $n,%eax */
	{{0xf2, 0xff, 0x25}, 3, 4, INDIRECT, NONE, NONE},       /* bnd jmp *n(%rip) */
	{{0xff, 0x25}, 2, 4, INDIRECT, NONE, NONE},             /* jmp *n(%rip) */
	{{0xe9}, 1, 4, JUMP, NONE, NONE},
	{{0xeb}, 1, 1, JUMP, NONE, NONE},
	{{0xe8}, 1, 4, CALL, NONE, NONE},
	{{0xc3}, 1, 0, RETURN, NONE, NONE},
};

struct run {
	struct cs_cxx *cx;
	uint64_t at;       /* of the next instruction */
	uint64_t value[4]; /* by enum place */
	uint64_t back[MAX_CALLS];
	uint64_t slots[MAX_CALLS]; /* SLOT of the callers */
	unsigned depth;
};

static const struct insn *decode(const uint8_t *bytes, size_t n)
{
	for (size_t i = 0; i < CS_COUNT(x86); i++)
		if ((size_t)x86[i].n + x86[i].operand <= n && !memcmp(bytes, x86[i].bytes, x86[i].n))
			return &x86[i];
	return NULL;
}

static uint64_t operand_of(const struct insn *insn, const uint8_t *bytes)
{
	struct cs_buf b = cs_buf_of(bytes + insn->n, insn->operand);
	uint32_t v32 = 0;
	uint8_t v8 = 0;

	if (insn->operand == 1 && cs_buf_u8(&b, "operand", &v8))
		return (uint64_t)(int8_t)v8;
	if (insn->operand == 4 && cs_buf_u32(&b, "operand", &v32))
		return insn->action == CONSTANT ? v32 : (uint64_t)(int32_t)v32;
	return 0;
}

/** False: the end, or what cannot be followed. */
static bool execute(struct run *r, const struct insn *insn, uint64_t operand)
{
	uint64_t from = r->value[insn->from];

	switch ((enum action)insn->action) {
	case SKIP:
		return true;
	case MOVE:
		r->value[insn->to] = from;
		return true;
	case ADD:
		r->value[insn->to] = from + operand;
		return true;
	case LOAD:
		return cs_mem_u64(r->cx->mem, from + operand, &r->value[insn->to]);
	case CONSTANT:
		r->value[insn->to] = operand;
		return true;
	case RELATIVE:
		r->value[insn->to] = r->at + operand;
		return true;
	case INDIRECT:
		return cs_mem_u64(r->cx->mem, r->at + operand, &r->at);
	case CALL:
		if (r->depth == MAX_CALLS)
			return false;
		r->slots[r->depth] = r->value[SLOT];
		r->back[r->depth++] = r->at;
		r->at += operand;
		return true;
	case JUMP:
		r->at += operand;
		return true;
	case RETURN:
		break;
	}
	if (!r->depth)
		return false;
	r->at = r->back[--r->depth];
	r->value[SLOT] = r->slots[r->depth];
	return true;
}

static bool run_x86(struct cs_cxx *cx, uint64_t function, uint64_t object, uint64_t *ret)
{
	struct run r = {.cx = cx, .at = function};
	uint8_t bytes[MAX_INSN];

	r.value[RDI] = object;
	for (unsigned i = 0; i < MAX_STEPS; i++) {
		size_t n = cs_mem_read_some(cx->mem, r.at, bytes, sizeof(bytes));
		const struct insn *insn = decode(bytes, n);
		bool last = insn && insn->action == RETURN && !r.depth;

		if (!insn)
			return false;
		r.at += insn->n + insn->operand;
		if (last) {
			*ret = r.value[RAX];
			return true;
		}
		if (!execute(&r, insn, operand_of(insn, bytes)))
			return false;
	}
	return false;
}

/** Instructions of aarch64 that work on x0 alone (Arm Architecture Reference Manual, C4). */
static bool run_arm64(struct cs_cxx *cx, uint64_t at, uint64_t object, uint64_t *ret)
{
	uint64_t x0 = object;
	uint32_t op;

	for (unsigned i = 0; i < MAX_STEPS && cs_mem_u32(cx->mem, at, &op); i++, at += 4) {
		if (op == 0xd65f03c0) { /* ret */
			*ret = x0;
			return true;
		}
		if (op == 0xd503245f) /* bti c */
			continue;
		if ((op & 0xffc003ff) == 0xf9400000) { /* ldr x0, [x0, #n] */
			if (!cs_mem_u64(cx->mem, x0 + 8 * (op >> 10 & 0xfff), &x0))
				return false;
		} else if ((op & 0xffc003ff) == 0x91000000) { /* add x0, x0, #n */
			x0 += op >> 10 & 0xfff;
		} else if ((op & 0x9f00001f) == 0x90000000) { /* adrp x0, n */
			int64_t pages = (int64_t)((uint64_t)(op >> 5 & 0x7ffff) << 45) >> 43;

			x0 = (at & ~4095ULL) + (((uint64_t)pages | (op >> 29 & 3)) << 12);
		} else if ((op & 0xfc000000) == 0x14000000) { /* b n */
			at += (uint64_t)((int64_t)((uint64_t)op << 38) >> 36) - 4;
		} else {
			return false;
		}
	}
	return false;
}

bool cs_cxx_returned(struct cs_cxx *cx, uint64_t object, unsigned slot, uint64_t *ret)
{
	uint64_t table, function;

	if (!cs_mem_u64(cx->mem, object, &table) || table & 7 || table > UINT64_MAX - 4096 ||
	    !cs_mem_u64(cx->mem, table + 8ULL * slot, &function) || function < 4096)
		return false;
	if (cx->scene->arch->machine == EM_X86_64)
		return run_x86(cx, function, object, ret);
	return cx->scene->arch->machine == EM_AARCH64 && run_arm64(cx, function, object, ret);
}
