/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * aarch64 instructions: the address that a load or store accesses, and the extension it
 * needs; also their text, for a libopcodes that was built without aarch64. Knows
 * encodings alone.
 *
 * Encodings: Arm Architecture Reference Manual for A-profile, C4.1 "A64 instruction set
 * encoding", "Loads and Stores"; the masks below are its tables. What is in none of them
 * is left to others.
 */
#include "symbols/insn.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define SP 31 /* DWARF number; as a base or by "add", register 31 is sp */

struct decode {
	uint32_t word;
	uint64_t pc;
	const struct cs_regs *regs;
	struct cs_insn *insn;
};

/** Bits @high to @low of the instruction. */
static uint32_t bits(const struct decode *d, unsigned high, unsigned low)
{
	return d->word >> low & (uint32_t)((1ULL << (high - low + 1)) - 1);
}

static int64_t sign_extend(uint32_t value, unsigned width)
{
	int64_t sign = INT64_C(1) << (width - 1);

	return ((int64_t)value ^ sign) - sign;
}

/** The text of a register: w or x by @wide, or a vector register of 1 << @scale bytes. */
static const char *reg_name(char out[8], uint32_t n, bool vector, unsigned scale,
			    bool wide)
{
	static const char vectors[] = "bhsdq";

	if (vector)
		snprintf(out, 8, "%c%u", vectors[scale > 4 ? 4 : scale], n);
	else if (n == 31)
		snprintf(out, 8, "%s", wide ? "xzr" : "wzr");
	else
		snprintf(out, 8, "%c%u", wide ? 'x' : 'w', n);
	return out;
}

static const char *base_name(char out[8], uint32_t n)
{
	snprintf(out, 8, n == SP ? "sp" : "x%u", n);
	return out;
}

/** Text of the instruction, unless libopcodes gave it. */
static void CS_PRINTF(2, 3) say(struct decode *d, const char *fmt, ...)
{
	va_list args;

	if (d->insn->text[0])
		return;
	va_start(args, fmt);
	vsnprintf(d->insn->text, sizeof(d->insn->text), fmt, args);
	va_end(args);
}

/** The memory operand: base register @n and @offset, shown as @shown. */
static void access_at(struct decode *d, uint32_t n, int64_t offset, const char *shown,
		      enum cs_access access)
{
	struct cs_insn *insn = d->insn;
	uint64_t base;
	char name[8];

	insn->has_operand = true;
	insn->access = access;
	insn->operand_known = cs_regs_get(d->regs, n, &base);
	if (!insn->operand_known) {
		snprintf(insn->operand, sizeof(insn->operand), "%s", shown);
		return;
	}
	insn->operand_address = base + (uint64_t)offset;
	snprintf(insn->operand, sizeof(insn->operand),
		 "%s = 0x%" PRIx64 " (%s = 0x%" PRIx64 ")", shown, insn->operand_address,
		 base_name(name, n), base);
}

/** "[x1, #16]" and its kin for addressing @mode: 0 offset, 1 post-index, 3 pre-index. */
static void show_offset(char out[40], uint32_t n, int64_t offset, unsigned mode)
{
	char base[8];

	base_name(base, n);
	if (mode == 1)
		snprintf(out, 40, "[%s], #%" PRId64, base, offset);
	else if (mode == 3)
		snprintf(out, 40, "[%s, #%" PRId64 "]!", base, offset);
	else if (offset)
		snprintf(out, 40, "[%s, #%" PRId64 "]", base, offset);
	else
		snprintf(out, 40, "[%s]", base);
}

/** What size, V and opc of "Load/store register" say. */
struct single {
	bool vector, load, wide, prefetch;
	unsigned scale; /* log2 of the bytes */
	char name[8];   /* without "ld" or "st" */
};

static struct single single_of(const struct decode *d)
{
	static const char *const suffixes[] = {"b", "h", "", ""};
	uint32_t size = bits(d, 31, 30), opc = bits(d, 23, 22);
	struct single s = {.vector = bits(d, 26, 26), .scale = size};

	if (s.vector) {
		s.load = opc & 1;
		if (opc & 2)
			s.scale = 4;
		snprintf(s.name, sizeof(s.name), "r");
		return s;
	}
	s.load = opc != 0;
	s.prefetch = size == 3 && opc == 2;
	s.wide = size == 3 || opc == 2;
	snprintf(s.name, sizeof(s.name), "r%s%s", opc >= 2 ? "s" : "",
		 opc >= 2 && size == 2 ? "w" : suffixes[size]);
	return s;
}

static void say_single(struct decode *d, const struct single *s, const char *infix,
		       const char *address)
{
	char rt[8], name[16];

	/* "r" is the end of ldr and str, and of ldur and stur */
	snprintf(name, sizeof(name), "%s%s%s", s->load ? "ld" : "st", infix, s->name);
	if (s->prefetch)
		say(d, "prfm #%u, %s", bits(d, 4, 0), address);
	else
		say(d, "%s %s, %s", name,
		    reg_name(rt, bits(d, 4, 0), s->vector, s->scale, s->wide), address);
}

static enum cs_access access_of(bool load)
{
	return load ? CS_ACCESS_READ : CS_ACCESS_WRITE;
}

static void unsigned_offset(struct decode *d)
{
	struct single s = single_of(d);
	int64_t offset = (int64_t)bits(d, 21, 10) << s.scale;
	char shown[40];

	show_offset(shown, bits(d, 9, 5), offset, 0);
	say_single(d, &s, "", shown);
	if (!s.prefetch)
		access_at(d, bits(d, 9, 5), offset, shown, access_of(s.load));
}

static void small_offset(struct decode *d)
{
	struct single s = single_of(d);
	unsigned mode = bits(d, 11, 10); /* 0 unscaled, 1 post, 2 unprivileged, 3 pre */
	int64_t offset = sign_extend(bits(d, 20, 12), 9);
	char shown[40];

	show_offset(shown, bits(d, 9, 5), offset, mode);
	say_single(d, &s, mode == 0 ? "u" : mode == 2 ? "t" : "", shown);
	if (!s.prefetch)
		access_at(d, bits(d, 9, 5), mode == 1 ? 0 : offset, shown,
			  access_of(s.load));
}

/** Value of the offset register, extended as option says: uxtw 2, lsl 3, sxtw 6, sxtx 7.
 */
static bool extended(const struct decode *d, unsigned scale, uint64_t *ret)
{
	uint32_t rm = bits(d, 20, 16), option = bits(d, 15, 13);
	uint64_t value = 0;

	if (rm != 31 && !cs_regs_get(d->regs, rm, &value))
		return false;
	if (option == 2)
		value = (uint32_t)value;
	else if (option == 6)
		value = (uint64_t)(int64_t)(int32_t)(uint32_t)value;
	*ret = bits(d, 12, 12) ? value << scale : value;
	return true;
}

static void register_offset(struct decode *d)
{
	static const char *const extends[] = {"", "", "uxtw", "lsl",
					      "", "", "sxtw", "sxtx"};
	struct single s = single_of(d);
	uint32_t rn = bits(d, 9, 5), option = bits(d, 15, 13);
	char shown[40], base[8], index[8], amount[8] = "";
	uint64_t offset = 0;
	bool known = extended(d, s.scale, &offset);
	size_t len;

	if (bits(d, 12, 12))
		snprintf(amount, sizeof(amount), " #%u", s.scale);
	base_name(base, rn);
	reg_name(index, bits(d, 20, 16), false, 0, option & 1);
	if (option == 3 && !amount[0])
		snprintf(shown, sizeof(shown), "[%s, %s]", base, index);
	else
		snprintf(shown, sizeof(shown), "[%s, %s, %s%s]", base, index,
			 extends[option], amount);
	say_single(d, &s, "", shown);
	if (s.prefetch)
		return;
	access_at(d, rn, (int64_t)offset, shown, access_of(s.load));
	len = strlen(d->insn->operand);
	if (!known) {
		d->insn->operand_known = false;
		snprintf(d->insn->operand, sizeof(d->insn->operand), "%s", shown);
	} else if (d->insn->operand_known && len && bits(d, 20, 16) != 31) {
		uint64_t value = d->regs->value[bits(d, 20, 16)];

		snprintf(d->insn->operand + len - 1, sizeof(d->insn->operand) - len + 1,
			 ", x%u = 0x%" PRIx64 ")", bits(d, 20, 16), value);
	}
}

static void pair(struct decode *d)
{
	bool vector = bits(d, 26, 26), load = bits(d, 22, 22);
	uint32_t opc = bits(d, 31, 30);
	unsigned mode = bits(d, 24, 23); /* 0 no allocate, 1 post, 2 offset, 3 pre */
	unsigned scale = vector ? 2 + opc : 2 + (opc >> 1);
	bool tags = !vector && opc == 1 && !load; /* STGP: granules of 16 bytes */
	int64_t offset =
		sign_extend(bits(d, 21, 15), 7) * (INT64_C(1) << (tags ? 4 : scale));
	char shown[40], t1[8], t2[8];
	bool wide = opc != 0;

	show_offset(shown, bits(d, 9, 5), offset, mode);
	say(d, "%s%s%s %s, %s, %s", load ? "ld" : "st",
	    tags   ? "g"
	    : mode ? "p"
		   : "np",
	    tags                  ? "p"
	    : !vector && opc == 1 ? "sw"
				  : "",
	    reg_name(t1, bits(d, 4, 0), vector, scale, wide),
	    reg_name(t2, bits(d, 14, 10), vector, scale, wide), shown);
	access_at(d, bits(d, 9, 5), mode == 1 ? 0 : offset, shown, access_of(load));
}

static void literal(struct decode *d)
{
	int64_t offset = sign_extend(bits(d, 23, 5), 19) * 4;
	bool vector = bits(d, 26, 26);
	uint32_t opc = bits(d, 31, 30);
	char rt[8];

	if (!vector && opc == 3) { /* prfm */
		say(d, "prfm #%u, 0x%" PRIx64, bits(d, 4, 0), d->pc + (uint64_t)offset);
		return;
	}
	say(d, "ldr%s %s, 0x%" PRIx64, !vector && opc == 2 ? "sw" : "",
	    reg_name(rt, bits(d, 4, 0), vector, 2 + opc, opc != 0),
	    d->pc + (uint64_t)offset);
	d->insn->has_operand = d->insn->operand_known = true;
	d->insn->access = CS_ACCESS_READ;
	d->insn->operand_address = d->pc + (uint64_t)offset;
	snprintf(d->insn->operand, sizeof(d->insn->operand), "0x%" PRIx64,
		 d->insn->operand_address);
}

static const char *const sizes[] = {"b", "h", "", ""};

/** Exclusive, ordered, and compare-and-swap: a base register and no offset. */
static void exclusive(struct decode *d)
{
	/* [o2][L][o1]; o0 adds the "a" or "l" */
	static const char *const names[2][2][2] = {{{"stxr", "stxp"}, {"ldxr", "ldxp"}},
						   {{"stlr", "cas"}, {"ldar", "cas"}}};
	static const char *const ordered[2][2][2] = {
		{{"stlxr", "stlxp"}, {"ldaxr", "ldaxp"}},
		{{"stlr", "casl"}, {"ldar", "casal"}}};
	bool o2 = bits(d, 23, 23), l = bits(d, 22, 22), o1 = bits(d, 21, 21),
	     o0 = bits(d, 15, 15);
	bool casp = !o2 && o1 && !bits(d, 31, 31);
	uint32_t size = bits(d, 31, 30);
	const char *name = casp ? "casp" : o0 ? ordered[o2][l][o1] : names[o2][l][o1];
	bool swap = casp || (o2 && o1);
	bool wide = size == 3 || (casp && size == 1);
	char rs[16] = "", rt[8], shown[40];

	show_offset(shown, bits(d, 9, 5), 0, 0);
	if (swap ||
	    (!o2 &&
	     !l)) { /* the value compared with, or the status, which is 32 bits wide */
		reg_name(rs, bits(d, 20, 16), false, 0, swap && wide);
		strcat(rs, ", ");
	}
	say(d, "%s%s %s%s, %s", name, casp || o1 > o2 ? "" : sizes[size], rs,
	    reg_name(rt, bits(d, 4, 0), false, 0, wide), shown);
	if (swap)
		d->insn->isa = "LSE";
	access_at(d, bits(d, 9, 5), 0, shown, swap ? CS_ACCESS_WRITE : access_of(l));
}

static void atomic(struct decode *d)
{
	static const char *const names[] = {"ldadd",  "ldclr",  "ldeor",  "ldset",
					    "ldsmax", "ldsmin", "ldumax", "ldumin"};
	uint32_t opc = bits(d, 14, 12), size = bits(d, 31, 30);
	bool o3 = bits(d, 15, 15), load_only = o3 && opc == 4; /* ldapr */
	char rt[8], rs[8], shown[40];

	show_offset(shown, bits(d, 9, 5), 0, 0);
	reg_name(rt, bits(d, 4, 0), false, 0, size == 3);
	reg_name(rs, bits(d, 20, 16), false, 0, size == 3);
	if (load_only)
		say(d, "ldapr%s %s, %s", sizes[size], rt, shown);
	else
		say(d, "%s%s%s%s %s, %s, %s", o3 ? "swp" : names[opc],
		    bits(d, 23, 23) ? "a" : "", bits(d, 22, 22) ? "l" : "", sizes[size],
		    rs, rt, shown);
	d->insn->isa = load_only ? "RCpc" : "LSE";
	access_at(d, bits(d, 9, 5), 0, shown,
		  load_only ? CS_ACCESS_READ : CS_ACCESS_WRITE);
}

static void structures(struct decode *d)
{
	bool load = bits(d, 22, 22);
	char shown[40];

	show_offset(shown, bits(d, 9, 5), 0, 0);
	say(d, "%s {v%u...}, %s", load ? "ld1-4" : "st1-4", bits(d, 4, 0), shown);
	access_at(d, bits(d, 9, 5), 0, shown, access_of(load));
}

/** Instructions without memory that people meet at a crash. */
static bool others(struct decode *d)
{
	uint32_t w = d->word;
	char name[8];

	if (w >> 16 == 0)
		say(d, "udf #%u", w & 0xffff);
	else if ((w & 0xffe0001f) == 0xd4200000)
		say(d, "brk #0x%x", bits(d, 20, 5));
	else if ((w & 0xffe0001f) == 0xd4000001)
		say(d, "svc #0x%x", bits(d, 20, 5));
	else if ((w & 0xffdffc1f) == 0xd61f0000) {
		say(d, "%s %s", bits(d, 21, 21) ? "blr" : "br",
		    reg_name(name, bits(d, 9, 5), false, 0, true));
		d->insn->value_known =
			bits(d, 9, 5) != 31 &&
			cs_regs_get(d->regs, bits(d, 9, 5), &d->insn->value);
	} else if ((w & 0xfffffc1f) == 0xd65f0000)
		say(d, w == 0xd65f03c0 ? "ret" : "ret x%u", bits(d, 9, 5));
	else if ((w & 0x7c000000) == 0x14000000)
		say(d, "%s 0x%" PRIx64, bits(d, 31, 31) ? "bl" : "b",
		    d->pc + (uint64_t)(sign_extend(bits(d, 25, 0), 26) * 4));
	else if (w == 0xd503201f)
		say(d, "nop");
	else
		return false;
	return true;
}

/** Extensions told by the group of the encoding alone (C4.1, op0 in bits 28 to 25). */
static const char *group_extension(uint32_t w)
{
	uint32_t op0 = w >> 25 & 0xf;

	if (op0 == 2)
		return "SVE";
	if (op0 == 0 && w >> 31)
		return "SME";
	return NULL;
}

static void zero_cache_line(struct decode *d)
{
	char shown[40], name[8];
	uint64_t value;

	reg_name(name, bits(d, 4, 0), false, 0, true);
	say(d, "dc zva, %s", name);
	snprintf(shown, sizeof(shown), "[%s]", name);
	access_at(d, bits(d, 4, 0), 0, shown, CS_ACCESS_WRITE);
	/* register 31 is zero here, not sp */
	if (bits(d, 4, 0) == 31 || !cs_regs_get(d->regs, bits(d, 4, 0), &value))
		d->insn->operand_known = false;
}

struct form {
	uint32_t mask, value;
	void (*decode)(struct decode *d);
};

/** In order: the first that fits counts. */
static const struct form forms[] = {
	{0xffffffe0, 0xd50b7420, zero_cache_line},
	{0x3b000000, 0x39000000, unsigned_offset},
	{0x3b200000, 0x38000000, small_offset},
	{0x3b200c00, 0x38200800, register_offset},
	{0x3f200c00, 0x38200000, atomic},
	{0x3a000000, 0x28000000, pair},
	{0x3b000000, 0x18000000, literal},
	{0x3f000000, 0x08000000, exclusive},
	{0xbf000000, 0x0c000000, structures},
	{0xbf000000, 0x0d000000, structures},
};

bool cs_insn_arm64(uint32_t word, uint64_t pc, const struct cs_regs *regs,
		   struct cs_insn *insn)
{
	struct decode d = {.word = word, .pc = pc, .regs = regs, .insn = insn};

	insn->isa = group_extension(word);
	if (insn->isa)
		return false;
	for (size_t i = 0; i < CS_COUNT(forms); i++) {
		if ((word & forms[i].mask) == forms[i].value) {
			forms[i].decode(&d);
			return true;
		}
	}
	return others(&d);
}
