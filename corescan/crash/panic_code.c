/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Arguments that code hands over as constants. At a call that never returns the registers of its
 * arguments are lost, but the instructions in front of it still say what was put into them. Knows
 * x86_64's few ways to put an address into a register (Intel SDM, volume 2: LEA, MOV; System V ABI:
 * the order of arguments), and aarch64's.
 */
#include "crash/panic_internal.h"

#include <elf.h>
#include <string.h>

#define MAX_CALL 6    /* bytes of the call instruction */
#define MAX_BEFORE 64 /* bytes in front of a call that are looked at for one constant */
#define MAX_ENTRY 128 /* bytes from a function's start to a call that are followed from there */
#define MAX_DEPTH 4   /* callers through which an argument is only handed on */

enum what { UNKNOWN, CONSTANT, ARGUMENT };

struct value {
	enum what what;
	uint64_t value; /* the constant, or the argument's number */
};

struct state {
	struct value regs[16]; /* by the machine's numbers */
};

/* rdi, rsi, rdx, rcx, r8, r9 */
static const uint8_t arguments[] = {7, 6, 2, 1, 8, 9};

/* Of the machine's numbers, those that a called function may change. */
#define CALLER_SAVED 0x0fc7U

static uint32_t u32(const uint8_t *b)
{
	return (uint32_t)b[0] | (uint32_t)b[1] << 8 | (uint32_t)b[2] << 16 | (uint32_t)b[3] << 24;
}

/** Number of the register that the text of an instruction has as its last operand; -1: none. */
static int destination(const char *text)
{
	static const char *const names[16][4] = {
		{"rax", "eax", "ax", "al"},     {"rcx", "ecx", "cx", "cl"},
		{"rdx", "edx", "dx", "dl"},     {"rbx", "ebx", "bx", "bl"},
		{"rsp", "esp", "sp", "spl"},    {"rbp", "ebp", "bp", "bpl"},
		{"rsi", "esi", "si", "sil"},    {"rdi", "edi", "di", "dil"},
		{"r8", "r8d", "r8w", "r8b"},    {"r9", "r9d", "r9w", "r9b"},
		{"r10", "r10d", "r10w", "r10b"}, {"r11", "r11d", "r11w", "r11b"},
		{"r12", "r12d", "r12w", "r12b"}, {"r13", "r13d", "r13w", "r13b"},
		{"r14", "r14d", "r14w", "r14b"}, {"r15", "r15d", "r15w", "r15b"},
	};
	const char *last = strrchr(text, '%');
	size_t n = last ? strcspn(last + 1, " ,)#") : 0;

	if (!n || last[1 + n] == ')')
		return -1;
	for (int i = 0; i < 16; i++)
		for (size_t j = 0; j < 4; j++)
			if (strlen(names[i][j]) == n && !strncmp(names[i][j], last + 1, n))
				return i;
	return -1;
}

/** Decode the instructions that put a constant or another register into one; false: it is another. */
static bool step_move(const uint8_t *b, size_t n, uint64_t pc, struct state *s)
{
	unsigned rex = n > 1 && (b[0] & 0xf0) == 0x40 ? *b : 0, modrm;
	const uint8_t *op = b + (rex != 0);
	unsigned reg, rm;

	n -= rex != 0;
	if (n >= 5 && (*op & 0xf8) == 0xb8 && !(rex & 8)) { /* mov $imm32, %r32 */
		reg = (*op & 7) | (rex & 1) << 3;
		s->regs[reg] = (struct value){CONSTANT, u32(op + 1)};
		return true;
	}
	if (n < 2 || !(rex & 8))
		return false;
	modrm = op[1];
	reg = (modrm >> 3 & 7) | (rex & 4) << 1;
	rm = (modrm & 7) | (rex & 1) << 3;
	if (*op == 0x8d && (modrm & 0xc7) == 5 && n >= 6) { /* lea disp32(%rip), %r64 */
		uint64_t next = pc + (rex != 0) + 6;

		s->regs[reg] = (struct value){CONSTANT, next + (uint64_t)(int64_t)(int32_t)u32(op + 2)};
		return true;
	}
	if (*op == 0x89 && modrm >= 0xc0) { /* mov %r64, %r64 */
		s->regs[rm] = s->regs[reg];
		return true;
	}
	if (*op == 0x8b && modrm >= 0xc0) {
		s->regs[reg] = s->regs[rm];
		return true;
	}
	return false;
}

/** Follow the code from @pc to @end, exactly; false: it does not lead there, or not straight. */
static bool follow(const struct cs_panic *p, const uint8_t *b, uint64_t pc, uint64_t end,
		   bool through_calls, struct state *s)
{
	static const struct cs_regs none; /* what an operand's address was is not asked */
	struct cs_insn insn;

	while (pc < end) {
		size_t left = end - pc;
		int reg;

		if (!cs_ok(cs_disasm(p->in->scene->arch, b, left, pc, &none, &insn)) || !insn.length ||
		    insn.length > left)
			return false;
		if (!strncmp(insn.text, "jmp", 3) || !strncmp(insn.text, "ret", 3) ||
		    !strncmp(insn.text, "ud2", 3) || !strncmp(insn.text, "hlt", 3) || *insn.text == '(')
			return false;
		if (!strncmp(insn.text, "call", 4)) {
			if (!through_calls)
				return false;
			for (unsigned i = 0; i < 16; i++)
				if (CALLER_SAVED >> i & 1)
					s->regs[i].what = UNKNOWN;
		} else if (!step_move(b, left, pc, s)) {
			reg = destination(insn.text);
			if (reg >= 0)
				s->regs[reg].what = UNKNOWN;
		}
		b += insn.length;
		pc += insn.length;
	}
	return true;
}

/** Length of the call that ends with @b + @n; 0: it is none that a constant could be handed to. */
static size_t call_length(const uint8_t *b, size_t n)
{
	if (n >= 6 && b[n - 6] == 0xff && b[n - 5] == 0x15) /* call *disp32(%rip) */
		return 6;
	if (n >= 6 && b[n - 6] == 0x67 && b[n - 5] == 0xe8) /* padded by the linker */
		return 6;
	return n >= 5 && b[n - 5] == 0xe8 ? 5 : 0;
}

/** Where the function of @f begins; 0: not known, or what is called so is only a part moved elsewhere. */
static uint64_t start_of(const struct cs_panic_frame *f)
{
	const struct cs_frame *own = cs_panic_own(f);

	if (!own || !own->function || own->nearest || own->offset > f->pc || strstr(own->function, ".cold"))
		return 0;
	return f->pc - own->offset;
}

/** By the code from the function's start on: its own arguments are known then, too. */
static bool from_start(const struct cs_panic *p, const struct cs_panic_frame *f, uint64_t call, unsigned reg,
		       struct value *ret)
{
	uint64_t start = start_of(f);
	uint8_t code[MAX_ENTRY];
	struct state s = {0};

	if (!start || start > call || call - start > sizeof(code) ||
	    (call > start &&
	     !cs_ok(cs_mem_read(p->in->scene->mem, start, code, call - start, NULL))))
		return false;
	for (unsigned i = 0; i < CS_COUNT(arguments); i++)
		s.regs[arguments[i]] = (struct value){ARGUMENT, i};
	if (!follow(p, code, start, call, true, &s) || s.regs[reg].what == UNKNOWN)
		return false;
	*ret = s.regs[reg];
	return true;
}

/** By the last instruction in front of the call that puts a constant into @reg and that leads to the call. */
static bool from_constant(const struct cs_panic *p, const uint8_t *code, size_t n, uint64_t call,
			  unsigned reg, struct value *ret)
{
	for (size_t back = 5; back <= n; back++) {
		const uint8_t *b = code + n - back;
		struct state s = {0};

		if (!step_move(b, back, call - back, &s) || s.regs[reg].what != CONSTANT)
			continue;
		s = (struct state){0};
		if (follow(p, b, call - back, call, false, &s) && s.regs[reg].what == CONSTANT) {
			*ret = s.regs[reg];
			return true;
		}
	}
	return false;
}

/** What the call that ends at @f's pc got in @reg. */
static bool at_call(const struct cs_panic *p, const struct cs_panic_frame *f, unsigned reg, struct value *ret)
{
	uint8_t code[MAX_BEFORE + MAX_CALL];
	uint64_t call;
	size_t n = sizeof(code), length;

	if (f->pc < n)
		return false;
	while (n > MAX_CALL && !cs_ok(cs_mem_read(p->in->scene->mem, f->pc - n, code, n, NULL)))
		n /= 2; /* the function may lie at the start of what is mapped */
	length = n > MAX_CALL ? call_length(code, n) : 0;
	if (!length)
		return false;
	call = f->pc - length;
	return from_start(p, f, call, reg, ret) || from_constant(p, code, n - length, call, reg, ret);
}

#define ARM64_BACK 16 /* instructions in front of a call that are looked at */

/** A register followed back from a call on aarch64. */
struct trail {
	unsigned reg;
	bool added; /* what was in it had @sum added to it later */
	uint64_t sum;
};

/**
 * ADD (immediate), ADRP, MOV (register), LDP, STP and STR as in the Arm ARM, C6.2. 0: @t goes on in front of
 * @insn, 1: @ret is what was in the register, -1: that cannot be known.
 */
static int step_back(uint32_t insn, uint64_t pc, struct trail *t, uint64_t *ret)
{
	unsigned rd = insn & 31, rn = insn >> 5 & 31;
	uint64_t page;

	if ((insn & 0x1c000000) == 0x14000000) /* branches, calls, returns, system */
		return -1;
	if ((insn & 0x3b400000) == 0x28000000 || (insn & 0x3b400000) == 0x29000000 ||
	    (insn & 0x3f400000) == 0x39000000) /* a store writes no register */
		return 0;
	if ((insn & 0x3a000000) == 0x28000000 && (insn >> 10 & 31) == t->reg) /* ldp */
		return -1;
	if (rd != t->reg)
		return 0;
	if ((insn & 0xffc00000) == 0x91000000 && rn != 31) { /* add, not to the stack's pointer */
		t->reg = rn;
		t->added = true;
		t->sum += insn >> 10 & 0xfff;
		return 0;
	}
	if ((insn & 0x9f000000) == 0x90000000) { /* adrp */
		page = (uint64_t)(insn >> 29 & 3) | (uint64_t)(insn >> 5 & 0x7ffff) << 2;
		page = (page ^ 0x100000) - 0x100000; /* 21 bits with a sign */
		*ret = (pc & ~0xfffULL) + (page << 12) + t->sum;
		return 1;
	}
	if ((insn & 0xffe0ffe0) == 0xaa0003e0) { /* mov */
		t->reg = insn >> 16 & 31;
		return 0;
	}
	return -1;
}

/** What the call that ends at @f's pc got in argument @arg, on aarch64. */
static bool at_call_arm64(const struct cs_panic *p, const struct cs_panic_frame *f, unsigned arg,
			  struct value *ret)
{
	struct trail t = {.reg = arg};
	uint64_t pc = f->pc - 4, start = start_of(f);
	uint32_t insn;

	if (f->pc < 4096 || !cs_mem_u32(p->in->scene->mem, pc, &insn) || insn >> 26 != 0x25) /* bl */
		return false;
	for (unsigned i = 0; i < ARM64_BACK && pc != start; i++) {
		int told;

		pc -= 4;
		if (!cs_mem_u32(p->in->scene->mem, pc, &insn))
			return false;
		told = step_back(insn, pc, &t, &ret->value);
		ret->what = CONSTANT;
		if (told)
			return told > 0;
	}
	*ret = (struct value){ARGUMENT, t.reg};
	return pc == start && !t.added;
}

bool cs_panic_argument(const struct cs_panic *p, size_t callee, unsigned arg, uint64_t *ret)
{
	bool arm64 = p->in->scene->arch->machine == EM_AARCH64;
	struct value value = {ARGUMENT, arg};

	for (size_t i = callee + 1; i < p->n && i <= callee + MAX_DEPTH; i++) {
		if (value.value >= CS_COUNT(arguments) ||
		    !(arm64 ? at_call_arm64(p, &p->frames[i], (unsigned)value.value, &value)
			    : at_call(p, &p->frames[i], arguments[value.value], &value)))
			return false;
		if (value.what == CONSTANT) {
			*ret = value.value;
			return true;
		}
	}
	return false;
}
