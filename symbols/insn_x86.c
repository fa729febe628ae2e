/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * x86_64 instructions in libopcodes' AT&T text: which memory they access, how, and which
 * extension they need. Knows the text alone, not the encoding; what it does not know it
 * leaves unknown.
 *
 * In AT&T syntax the destination comes last: a memory operand there is written, but for
 * the compares.
 */
#include "symbols/insn.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define MAX_OPERANDS 6

/** An instruction's text in parts. */
struct parts {
	char mnemonic[24];
	char operand[MAX_OPERANDS][80];
	size_t n;
};

struct prefix_isa {
	const char *prefix, *isa;
};

static bool begins(const char *s, const char *with)
{
	return !strncmp(s, with, strlen(with));
}

static bool is_one_of(const char *word, const char *const *list, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (!strcmp(word, list[i]))
			return true;
	return false;
}

/** Words that libopcodes prints before the mnemonic. */
static bool is_prefix(const char *word)
{
	static const char *const words[] = {
		"lock",    "rep", "repz",   "repnz",  "repe",     "repne",
		"notrack", "bnd", "data16", "addr32", "cs",       "ds",
		"es",      "ss",  "fs",     "gs",     "xacquire", "xrelease",
	};

	return is_one_of(word, words, CS_COUNT(words)) || begins(word, "rex") ||
	       word[0] == '{';
}

static void split_operands(const char *p, struct parts *ret)
{
	while (*p == ' ')
		p++;
	while (*p && ret->n < MAX_OPERANDS) {
		char *out = ret->operand[ret->n++];
		int depth = 0;

		for (size_t len = 0; *p && (depth || *p != ','); p++) {
			if (*p == ' ' ||
			    *p == '#') { /* a comment: what an address resolves to */
				p += strlen(p);
				break;
			}
			depth += (*p == '(') - (*p == ')');
			if (len < sizeof(ret->operand[0]) - 1)
				out[len++] = *p;
		}
		p += *p == ',';
	}
}

static void split(const char *text, struct parts *ret)
{
	const char *p = text;

	*ret = (struct parts){0};
	for (;;) {
		size_t n = strcspn(p, " ");

		snprintf(ret->mnemonic, sizeof(ret->mnemonic), "%.*s", (int)n, p);
		p += n;
		while (*p == ' ')
			p++;
		if (!is_prefix(ret->mnemonic) || !*p)
			break;
	}
	split_operands(p, ret);
}

/** The value of AT&T register @name; false if it is not known or no general register. */
static bool reg_value(const struct cs_arch *arch, const struct cs_regs *regs,
		      const char *name, uint64_t *ret)
{
	char wide[8];
	bool half = name[0] == 'e' || (name[0] == 'r' && name[strlen(name) - 1] == 'd');

	if (!strcmp(name, "riz") || !strcmp(name, "eiz")) { /* "no index", written out */
		*ret = 0;
		return true;
	}
	snprintf(wide, sizeof(wide), "%s", name);
	if (half && wide[0] == 'e')
		wide[0] = 'r';
	else if (half)
		wide[strlen(wide) - 1] = '\0';
	for (unsigned i = 0; i < arch->n_regs; i++) {
		if (strcmp(arch->reg_names[i], wide))
			continue;
		if (!cs_regs_get(regs, i, ret))
			return false;
		if (half)
			*ret &= UINT32_MAX;
		return true;
	}
	return false;
}

/** One memory operand while it is worked out. */
struct memory {
	uint64_t address;
	bool known, half; /* half: 32-bit addressing */
	char values[96];  /* "rax = 0x0, rcx = 0x1" */
};

static void add_register(const struct cs_arch *arch, const struct cs_regs *regs,
			 const char *name, uint64_t scale, uint64_t next_pc,
			 struct memory *m)
{
	size_t len = strlen(m->values);
	uint64_t value = next_pc;
	/* rip stands for the next instruction in an operand */
	bool is_pc = !strcmp(name, "rip") || !strcmp(name, "eip");

	m->half |= name[0] == 'e' || (name[1] && name[strlen(name) - 1] == 'd');
	if (!is_pc && !reg_value(arch, regs, name, &value)) {
		m->known = false;
		return;
	}
	m->address += value * scale;
	if (!is_pc && strcmp(name, "riz") && strcmp(name, "eiz"))
		snprintf(m->values + len, sizeof(m->values) - len, "%s%s = 0x%" PRIx64,
			 len ? ", " : "", name, value);
}

/** Base, index and scale of "(%base,%index,scale)" at @p. */
static void add_registers(const struct cs_arch *arch, const struct cs_regs *regs,
			  const char *p, uint64_t next_pc, struct memory *m)
{
	char part[3][16] = {{0}};
	uint64_t scale;

	for (size_t i = 0, len = 0; *++p && *p != ')';) {
		if (*p == ',') {
			len = 0;
			if (++i == CS_COUNT(part))
				break;
		} else if (len < sizeof(part[0]) - 1) {
			part[i][len++] = *p;
		}
	}
	scale = part[2][0] ? strtoull(part[2], NULL, 10) : 1;
	if (part[0][0] == '%')
		add_register(arch, regs, part[0] + 1, 1, next_pc, m);
	if (part[1][0] == '%')
		add_register(arch, regs, part[1] + 1, scale, next_pc, m);
}

/** True if @op is a memory operand: "%fs:0x28", "-0x8(%rax)", "0x404010", "*(%rax)". */
static bool is_memory(const char *op)
{
	if (*op == '*')
		op++;
	if (!*op || *op == '$' || !strcmp(op, "(%dx)") || begins(op, "%st"))
		return false;
	return *op != '%' || op[3] == ':';
}

/** Work out memory operand @op and write it as text of @size bytes. */
static struct memory evaluate(const struct cs_arch *arch, const struct cs_regs *regs,
			      const char *op, uint64_t next_pc, char *text, size_t size)
{
	struct memory m = {.known = true};
	const char *p = op + (*op == '*'), *shown = p, *paren;
	char *end;

	if (*p == '%') { /* all segments but these begin at 0 in 64-bit mode */
		m.known = !begins(p, "%fs:") && !begins(p, "%gs:");
		p += 4;
		if (m.known)
			shown = p;
	}
	m.address = strtoull(p + (*p == '-'), &end, 0);
	if (*p == '-')
		m.address = -m.address;
	paren = strchr(p, '(');
	if (paren)
		add_registers(arch, regs, paren, next_pc, &m);
	if (m.half)
		m.address &= UINT32_MAX;
	if (!m.known || (!paren && shown == p))
		snprintf(text, size, "%s", shown);
	else if (m.values[0])
		snprintf(text, size, "%s = 0x%" PRIx64 " (%s)", shown, m.address,
			 m.values);
	else
		snprintf(text, size, "%s = 0x%" PRIx64, shown, m.address);
	return m;
}

/** Instructions that name memory and do not access it. */
static bool no_access(const char *m)
{
	return begins(m, "lea") ? !begins(m, "leave")
				: begins(m, "nop") || begins(m, "prefetch");
}

/** With one operand that is memory. */
static enum cs_access single_access(const char *m)
{
	static const char *const written[] = {
		"inc",       "dec",   "neg",     "not",      "set",    "pop",
		"shl",       "shr",   "sal",     "sar",      "rol",    "ror",
		"rcl",       "rcr",   "fst",     "fist",     "fnst",   "fbstp",
		"fnsave",    "fsave", "stmxcsr", "vstmxcsr", "fxsave", "xsave",
		"cmpxchg",   "sgdt",  "sidt",    "sldt",     "str",    "smsw",
		"sttilecfg",
	};

	for (size_t i = 0; i < CS_COUNT(written); i++)
		if (begins(m, written[i]))
			return CS_ACCESS_WRITE;
	return CS_ACCESS_READ;
}

/** Whose last operand is only read. */
static bool reads_destination(const char *m)
{
	static const char *const compares[] = {
		"cmp",   "cmpb",  "cmpw", "cmpl", "cmpq", "test", "testb", "testw",
		"testl", "testq", "bt",   "btw",  "btl",  "btq",  "scas",  "bound"};

	return is_one_of(m, compares, CS_COUNT(compares));
}

static enum cs_access operand_access(const struct parts *parts, size_t i)
{
	const char *m = parts->mnemonic;

	if (parts->n == 1)
		return single_access(m);
	if (begins(m, "xchg") || begins(m, "xadd"))
		return CS_ACCESS_WRITE;
	return i + 1 == parts->n && !reads_destination(m) ? CS_ACCESS_WRITE
							  : CS_ACCESS_READ;
}

/** "movsb %ds:(%rsi),%es:(%rdi)": the second memory operand. */
static void second_operand(const struct cs_arch *arch, const struct cs_regs *regs,
			   const struct parts *parts, size_t i, uint64_t next_pc,
			   struct cs_insn *insn)
{
	struct memory m = evaluate(arch, regs, parts->operand[i], next_pc, insn->implicit,
				   sizeof(insn->implicit));

	insn->has_implicit = true;
	insn->implicit_known = m.known;
	insn->implicit_address = m.address;
	insn->implicit_access = begins(parts->mnemonic, "cmps")
					? CS_ACCESS_READ
					: operand_access(parts, i);
}

/** "call *%rax", "idivl %ecx": where it goes, or what is divided by. */
static void register_value(const struct cs_arch *arch, const struct cs_regs *regs,
			   const struct parts *parts, struct cs_insn *insn)
{
	const char *op = parts->operand[0] + (parts->operand[0][0] == '*');

	if (parts->n == 1 && op[0] == '%' && op[1])
		insn->value_known = reg_value(arch, regs, op + 1, &insn->value);
}

/** What call, push, pop and their kin do to the stack. */
static void stack_access(const struct cs_arch *arch, const struct cs_regs *regs,
			 const struct parts *parts, struct cs_insn *insn)
{
	const char *m = parts->mnemonic;
	bool pushes = begins(m, "push") || begins(m, "call") || begins(m, "enter");
	bool pops = begins(m, "pop") || begins(m, "ret") || begins(m, "leave") ||
		    begins(m, "iret");
	uint64_t sp;

	if (begins(m, "popcnt") || (!pushes && !pops))
		return;
	insn->has_implicit = true;
	insn->implicit_access = pushes ? CS_ACCESS_WRITE : CS_ACCESS_READ;
	/* leave takes the frame pointer for the stack pointer first */
	insn->implicit_known =
		reg_value(arch, regs, begins(m, "leave") ? "rbp" : "rsp", &sp);
	if (!insn->implicit_known)
		return;
	insn->implicit_address = pushes ? sp - 8 : sp;
	snprintf(insn->implicit, sizeof(insn->implicit),
		 "stack at 0x%" PRIx64 " (%s = 0x%" PRIx64 ")", insn->implicit_address,
		 begins(m, "leave") ? "rbp" : "rsp", sp);
}

/** Extensions by mnemonic; the first that fits counts. */
static const struct prefix_isa extensions[] = {
	{"vfmadd", "FMA"},         {"vfmsub", "FMA"},       {"vfnmadd", "FMA"},
	{"vfnmsub", "FMA"},        {"vcvtph2ps", "F16C"},   {"vcvtps2ph", "F16C"},
	{"vpdpb", "AVX-VNNI"},     {"vpdpw", "AVX-VNNI"},   {"vaes", "VAES"},
	{"vpclmul", "VPCLMULQDQ"}, {"aes", "AES-NI"},       {"pclmul", "PCLMULQDQ"},
	{"sha1", "SHA"},           {"sha256", "SHA"},       {"gf2p8", "GFNI"},
	{"vgf2p8", "GFNI"},        {"andn", "BMI1"},        {"bextr", "BMI1"},
	{"bls", "BMI1"},           {"tzcnt", "BMI1"},       {"pextr", "SSE4.1"},
	{"bzhi", "BMI2"},          {"mulx", "BMI2"},        {"pdep", "BMI2"},
	{"pext", "BMI2"},          {"rorx", "BMI2"},        {"sarx", "BMI2"},
	{"shlx", "BMI2"},          {"shrx", "BMI2"},        {"lzcnt", "LZCNT"},
	{"popcnt", "POPCNT"},      {"movbe", "MOVBE"},      {"adcx", "ADX"},
	{"adox", "ADX"},           {"rdrand", "RDRAND"},    {"rdseed", "RDSEED"},
	{"xbegin", "TSX"},         {"xend", "TSX"},         {"xtest", "TSX"},
	{"movdir", "MOVDIR"},      {"enqcmd", "ENQCMD"},    {"serialize", "SERIALIZE"},
	{"clwb", "CLWB"},          {"crc32", "SSE4.2"},     {"pcmpestr", "SSE4.2"},
	{"pcmpistr", "SSE4.2"},    {"pcmpgtq", "SSE4.2"},   {"pblend", "SSE4.1"},
	{"blend", "SSE4.1"},       {"dpp", "SSE4.1"},       {"pmulld", "SSE4.1"},
	{"pmuldq", "SSE4.1"},      {"ptest", "SSE4.1"},     {"round", "SSE4.1"},
	{"insertps", "SSE4.1"},    {"extractps", "SSE4.1"}, {"pinsrb", "SSE4.1"},
	{"pinsrd", "SSE4.1"},      {"pinsrq", "SSE4.1"},    {"pmovsx", "SSE4.1"},
	{"pmovzx", "SSE4.1"},      {"movntdqa", "SSE4.1"},  {"mpsadbw", "SSE4.1"},
	{"pcmpeqq", "SSE4.1"},     {"packusdw", "SSE4.1"},  {"phminposuw", "SSE4.1"},
	{"pshufb", "SSSE3"},       {"palignr", "SSSE3"},    {"pabs", "SSSE3"},
	{"phadd", "SSSE3"},        {"phsub", "SSSE3"},      {"pmaddubsw", "SSSE3"},
	{"pmulhrsw", "SSSE3"},     {"psign", "SSSE3"},      {"movddup", "SSE3"},
	{"movshdup", "SSE3"},      {"movsldup", "SSE3"},    {"lddqu", "SSE3"},
	{"haddp", "SSE3"},         {"hsubp", "SSE3"},       {"addsub", "SSE3"},
};

/** Instructions that begin with a "v" and are no AVX. */
static bool is_not_vector(const char *m)
{
	return begins(m, "verr") || begins(m, "verw") || begins(m, "vmcall") ||
	       begins(m, "vmlaunch") || begins(m, "vmresume") || begins(m, "vmfunc");
}

/** True if @m needs AVX2: integers on ymm registers, and a few that AVX lacks altogether.
 */
static bool is_avx2(const char *text, const char *m)
{
	static const char *const always[] = {
		"vgather",     "vpgather",    "vpermd",   "vpermq",
		"vpermps",     "vpermpd",     "vpblendd", "vpmaskmov",
		"vpbroadcast", "vbroadcasti", "vinserti", "vextracti",
		"vperm2i",     "vpsllv",      "vpsrlv",   "vpsrav"};

	for (size_t i = 0; i < CS_COUNT(always); i++)
		if (begins(m, always[i]))
			return true;
	return strstr(text, "%ymm") && begins(m, "vp") && !begins(m, "vpermil") &&
	       !begins(m, "vptest") && !begins(m, "vperm2f");
}

static bool is_avx512(const char *text)
{
	const char *p = text;

	if (strstr(text, "%zmm") || strstr(text, "{%k") || strstr(text, "{1to") ||
	    begins(text, "{evex}"))
		return true;
	for (; (p = strstr(p, "%k")); p += 2)
		if (p[2] >= '0' && p[2] <= '7')
			return true;
	for (p = text; (p = strstr(p, "mm")); p += 2) /* %xmm16 .. %ymm31 */
		if ((p[2] == '1' && p[3] >= '6' && p[3] <= '9') ||
		    (p[2] == '2' && p[3] >= '0' && p[3] <= '9') ||
		    (p[2] == '3' && p[3] >= '0' && p[3] <= '1'))
			return true;
	return false;
}

static const char *extension(const char *text, const char *m)
{
	if (strstr(text, "%tmm") || begins(m, "tile") || begins(m, "ldtilecfg") ||
	    begins(m, "sttilecfg"))
		return "AMX";
	if (is_avx512(text))
		return "AVX-512";
	for (size_t i = 0; i < CS_COUNT(extensions); i++)
		if (begins(m, extensions[i].prefix))
			return extensions[i].isa;
	if (m[0] != 'v' || is_not_vector(m))
		return NULL;
	return is_avx2(text, m) ? "AVX2" : "AVX";
}

void cs_insn_x86(const struct cs_arch *arch, uint64_t pc, const struct cs_regs *regs,
		 struct cs_insn *insn)
{
	uint64_t next_pc = pc + insn->length;
	struct parts parts;

	split(insn->text, &parts);
	insn->isa = extension(insn->text, parts.mnemonic);
	stack_access(arch, regs, &parts, insn);
	register_value(arch, regs, &parts, insn);
	/* The operand of a direct jump or call is a target, not memory. */
	if (no_access(parts.mnemonic) ||
	    ((parts.mnemonic[0] == 'j' || begins(parts.mnemonic, "call") ||
	      begins(parts.mnemonic, "loop") || begins(parts.mnemonic, "xbegin")) &&
	     parts.operand[0][0] != '*'))
		return;
	for (size_t i = 0; i < parts.n; i++) {
		struct memory m;

		if (!is_memory(parts.operand[i]))
			continue;
		if (insn->has_operand) {
			second_operand(arch, regs, &parts, i, next_pc, insn);
			break;
		}
		m = evaluate(arch, regs, parts.operand[i], next_pc, insn->operand,
			     sizeof(insn->operand));
		insn->has_operand = true;
		insn->operand_known = m.known;
		insn->operand_address = m.address;
		insn->access = operand_access(&parts, i);
	}
}
