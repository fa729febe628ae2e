/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Call frame information through libdw: .eh_frame by its search table, else .debug_frame.
 *
 * Knows the tables of each module and the rules that they give for one code address, kept in a form that
 * costs no call into libdw when the next thread comes to the same address. Refuses to know whether the
 * caller that the rules give is a good one: the tables may be right and the stack overwritten.
 */
#include "base/arena.h"
#include "base/limits.h"
#include "unwind/expr.h"
#include "unwind/stepper.h"
#include "unwind/vet.h"

#include <dwarf.h>
#include <string.h>

enum rule_kind {
	RULE_AT_CFA,     /* saved at CFA + offset */
	RULE_CFA_VALUE,  /* is CFA + offset */
	RULE_REGISTER,   /* is in register `offset` */
	RULE_EXPRESSION, /* the expression gives its address, or itself (DW_OP_stack_value) */
	RULE_TOO_LONG,   /* an expression beyond CS_MAX_CFI_OPS */
};

struct rule {
	uint8_t reg;
	uint8_t kind; /* enum rule_kind */
	uint16_t n_ops;
	int64_t offset;
	const Dwarf_Op *ops;
};

struct cs_cfi_row {
	bool signal;
	bool bottom;        /* the return address is undefined: there is no caller */
	uint8_t cfa_reg;    /* if there are no cfa_ops */
	uint16_t n_cfa_ops;
	uint16_t n_rules;
	uint64_t same;      /* registers that keep their value, as a bit mask */
	int64_t cfa_offset;
	const Dwarf_Op *cfa_ops;
	uint64_t bias;
	const struct rule *rules; /* behind the row itself */
};

/** The tables of one module, opened when the first pc in it is looked up. */
struct tables {
	const struct cs_mod *mod;
	bool opened;
	Dwarf_CFI *eh; /* owned by us */
	struct cs_vet *vet;
	bool debug_opened;
	Dwarf *dwarf;     /* owner of `debug` */
	Dwarf_CFI *debug;
};

struct cs_cfi {
	const struct cs_unwinder *u;
	struct tables *tables; /* sorted by mod */
	size_t n_tables;
	struct cs_arena *rows;
};

static int compare_tables(const void *a, const void *b)
{
	const struct tables *x = a, *y = b;

	return x->mod < y->mod ? -1 : x->mod > y->mod;
}

struct cs_error *cs_cfi_create(struct cs_unwinder *u, struct cs_cfi **ret)
{
	CS_CLEANUP(cs_cfi_destroyp) struct cs_cfi *cfi = calloc(1, sizeof(*cfi));
	size_t n = cs_modules_count(u->modules);

	if (!cfi)
		return &cs_nomem;
	cfi->u = u;
	cfi->tables = calloc(n + 1, sizeof(*cfi->tables));
	cfi->rows = cs_arena_create(CS_MAX_CFI_ROW_BYTES);
	if (!cfi->tables || !cfi->rows)
		return &cs_nomem;
	for (; cfi->n_tables < n; cfi->n_tables++)
		cfi->tables[cfi->n_tables].mod = cs_modules_at(u->modules, cfi->n_tables);
	qsort(cfi->tables, n, sizeof(*cfi->tables), compare_tables);
	*ret = CS_TAKE(cfi);
	return NULL;
}

void cs_cfi_destroy(struct cs_cfi *cfi)
{
	if (!cfi)
		return;
	for (size_t i = 0; i < cfi->n_tables; i++) {
		if (cfi->tables[i].eh)
			dwarf_cfi_end(cfi->tables[i].eh);
		if (cfi->tables[i].dwarf)
			dwarf_end(cfi->tables[i].dwarf);
		cs_vet_destroy(cfi->tables[i].vet);
	}
	cs_arena_destroy(cfi->rows);
	free(cfi->tables);
	free(cfi);
}

void cs_cfi_forget(struct cs_cfi *cfi)
{
	struct cs_arena *fresh = cs_arena_create(CS_MAX_CFI_ROW_BYTES);

	if (!fresh)
		return; /* the old rows stay; new ones are not kept */
	cs_arena_destroy(cfi->rows);
	cfi->rows = fresh;
}

bool cs_cfi_row_is_signal(const struct cs_cfi_row *row)
{
	return row->signal;
}

static struct tables *tables_of(struct cs_cfi *cfi, const struct cs_mod *mod)
{
	struct tables key = {.mod = mod};

	return bsearch(&key, cfi->tables, cfi->n_tables, sizeof(key), compare_tables);
}

static bool has_debug_frame(Elf *elf)
{
	size_t names;
	Elf_Scn *scn = NULL;

	if (elf_getshdrstrndx(elf, &names) != 0)
		return false;
	while ((scn = elf_nextscn(elf, scn))) {
		const char *name;
		GElf_Shdr shdr;

		if (!gelf_getshdr(scn, &shdr) || shdr.sh_type == SHT_NOBITS)
			continue;
		name = elf_strptr(elf, names, shdr.sh_name);
		if (name && (!strcmp(name, ".debug_frame") || !strcmp(name, ".zdebug_frame")))
			return true;
	}
	return false;
}

/**
 * .debug_frame of the module's own file or of its debug file. Only asked for where .eh_frame is silent:
 * opening a Dwarf unpacks every compressed debug section of a file.
 */
static Dwarf_CFI *debug_tables(struct tables *t, struct cs_mod *mod)
{
	Elf *elf;

	if (t->debug_opened)
		return t->debug;
	t->debug_opened = true;
	elf = cs_mod_elf(mod);
	if (!elf || !has_debug_frame(elf))
		elf = cs_mod_debug_elf(mod);
	if (!elf || !has_debug_frame(elf))
		return NULL;
	t->dwarf = dwarf_begin_elf(elf, DWARF_C_READ, NULL);
	if (t->dwarf)
		t->debug = dwarf_getcfi(t->dwarf);
	return t->debug;
}

static void tables_open(struct tables *t, struct cs_mod *mod)
{
	Elf *elf;

	t->opened = true;
	elf = cs_mod_elf(mod);
	if (!elf)
		return;
	/* libdw gives registers and expressions no bound: what it gets to see is looked at before. */
	if (!cs_ok(cs_vet_create(elf, &t->vet)))
		return;
	t->eh = dwarf_getcfi_elf(elf);
}

/** The frame description at @addr (in the file's addresses); the caller frees it. */
static Dwarf_Frame *frame_at(struct tables *t, struct cs_mod *mod, uint64_t addr)
{
	Dwarf_Frame *frame = NULL;
	Dwarf_CFI *debug;

	if (!t->opened)
		tables_open(t, mod);
	if (t->eh && cs_vet_allows(t->vet, addr) &&
	    dwarf_cfi_addrframe(t->eh, addr, &frame) == 0)
		return frame;
	debug = debug_tables(t, mod);
	if (debug && dwarf_cfi_addrframe(debug, addr, &frame) == 0)
		return frame;
	return NULL;
}

static const Dwarf_Op *keep_ops(struct cs_cfi *cfi, const Dwarf_Op *ops, size_t n)
{
	Dwarf_Op *copy = cs_arena_calloc(cfi->rows, n, sizeof(*ops));

	if (copy)
		memcpy(copy, ops, n * sizeof(*ops));
	return copy;
}

/** Register number of a one-operation register location, or -1. */
static int register_of(const Dwarf_Op *op)
{
	if (op->atom >= DW_OP_reg0 && op->atom <= DW_OP_reg31)
		return op->atom - DW_OP_reg0;
	if (op->atom == DW_OP_regx && op->number < CS_REGS)
		return (int)op->number;
	return -1;
}

/** A row while it is put together, with room for all rules. */
struct draft {
	struct cs_cfi_row row;
	struct rule rules[CS_REGS];
};

/** Add the rule for @reg. False: no memory. */
static bool compile_rule(struct cs_cfi *cfi, unsigned reg, const Dwarf_Op *ops, size_t n,
			 struct draft *draft)
{
	struct rule *rule = &draft->rules[draft->row.n_rules++];
	bool value = n > 1 && ops[n - 1].atom == DW_OP_stack_value;
	size_t body = n - value;

	*rule = (struct rule){.reg = (uint8_t)reg};
	if (n == 1 && register_of(&ops[0]) >= 0) {
		rule->kind = RULE_REGISTER;
		rule->offset = register_of(&ops[0]);
	} else if (ops[0].atom == DW_OP_call_frame_cfa &&
		   (body == 1 || (body == 2 && ops[1].atom == DW_OP_plus_uconst))) {
		rule->kind = value ? RULE_CFA_VALUE : RULE_AT_CFA;
		rule->offset = body == 2 ? (int64_t)ops[1].number : 0;
	} else if (n <= CS_MAX_CFI_OPS) {
		rule->kind = RULE_EXPRESSION;
		rule->n_ops = (uint16_t)n;
		rule->ops = keep_ops(cfi, ops, n);
		return rule->ops != NULL;
	} else {
		rule->kind = RULE_TOO_LONG;
	}
	return true;
}

/** Fill in how the CFA is computed. False: no memory, or nothing that we can evaluate. */
static bool compile_cfa(struct cs_cfi *cfi, Dwarf_Frame *frame, struct cs_cfi_row *row)
{
	Dwarf_Op *ops;
	size_t n;

	if (dwarf_frame_cfa(frame, &ops, &n) != 0 || n == 0 || n > CS_MAX_CFI_OPS)
		return false;
	if (n == 1 && ops[0].atom == DW_OP_bregx && ops[0].number < CS_REGS) {
		row->cfa_reg = (uint8_t)ops[0].number;
		row->cfa_offset = (int64_t)ops[0].number2;
		return true;
	}
	if (n == 1 && ops[0].atom >= DW_OP_breg0 && ops[0].atom <= DW_OP_breg31) {
		row->cfa_reg = ops[0].atom - DW_OP_breg0;
		row->cfa_offset = (int64_t)ops[0].number;
		return true;
	}
	row->n_cfa_ops = (uint16_t)n;
	row->cfa_ops = keep_ops(cfi, ops, n);
	return row->cfa_ops != NULL;
}

/**
 * True if libdw took DW_CFA_AARCH64_negate_ra_state, which every function that signs its return address has
 * and which moves nothing, for the DW_CFA_GNU_window_save of SPARC with the same number (0x2d): registers 8
 * to 15 are in those 16 above, the others saved in a row from the CFA up. libdw 0.188: libdw/cfi.c. No table
 * of a signing machine says the like: it saves below the CFA.
 */
static bool is_window_save(const struct cs_arch *arch, unsigned reg, const struct rule *rule)
{
	if (!arch->pac_masks[0] || reg < 8)
		return false;
	if (reg < 16)
		return rule->kind == RULE_REGISTER && rule->offset == reg + 16;
	return rule->kind == RULE_AT_CFA && rule->offset == (reg - 16) * 8;
}

/** Where register @reg of the caller is. False: no memory. */
static bool compile_register(struct cs_cfi *cfi, Dwarf_Frame *frame, unsigned reg,
			     struct draft *draft)
{
	const struct cs_arch *arch = cfi->u->arch;
	uint64_t kept = arch->callee_saved | (arch->link < 0 ? 0 : 1ULL << arch->link);
	Dwarf_Op mem[3], *ops;
	size_t n;

	if (dwarf_frame_register(frame, (int)reg, mem, &ops, &n) != 0)
		return true; /* unknown */
	if (n) {
		const struct rule *rule = &draft->rules[draft->row.n_rules];

		if (!compile_rule(cfi, reg, ops, n, draft))
			return false;
		if (!is_window_save(arch, reg, rule))
			return true;
		draft->row.n_rules--;
		ops = NULL;
	}
	/*
	 * What the tables leave open is the ABI's to say, and libdw 0.188 has x86-64's wrong: it keeps
	 * rax and loses rbx (backends/x86_64_cfi.c names register 0 where it means rbx, 3).
	 */
	if (kept >> reg & 1 && (reg != arch->ra || !ops))
		draft->row.same |= 1ULL << reg;
	return true;
}

/** True if the rules say nothing of the return address: the outermost frame. */
static bool is_bottom(const struct cs_arch *arch, const struct draft *draft)
{
	for (unsigned i = 0; i < draft->row.n_rules; i++)
		if (draft->rules[i].reg == arch->ra)
			return false;
	/* "Same" makes sense only for a link register. */
	return arch->link < 0 || !(draft->row.same >> arch->ra & 1);
}

/** @full_ret is set when the arena has no room. */
static struct cs_cfi_row *compile(struct cs_cfi *cfi, Dwarf_Frame *frame, uint64_t bias,
				  bool *full_ret)
{
	const struct cs_arch *arch = cfi->u->arch;
	struct draft draft = {.row.bias = bias};
	struct cs_cfi_row *row;
	Dwarf_Addr start, end;
	size_t rules;

	if (dwarf_frame_info(frame, &start, &end, &draft.row.signal) != (int)arch->ra ||
	    !compile_cfa(cfi, frame, &draft.row))
		return NULL;
	*full_ret = true;
	for (unsigned reg = 0; reg < arch->n_regs && reg < CS_REGS; reg++)
		if (!compile_register(cfi, frame, reg, &draft))
			return NULL;
	draft.row.bottom = is_bottom(arch, &draft);
	rules = draft.row.n_rules * sizeof(struct rule);
	row = cs_arena_alloc(cfi->rows, sizeof(*row) + rules);
	if (!row)
		return NULL;
	*full_ret = false;
	*row = draft.row;
	row->rules = memcpy(row + 1, draft.rules, rules);
	return row;
}

const struct cs_cfi_row *cs_cfi_row(struct cs_cfi *cfi, uint64_t lookup, bool *full_ret)
{
	struct cs_mod *mod = cs_modules_find(cfi->u->modules, lookup);
	CS_CLEANUP(cs_freep) Dwarf_Frame *frame = NULL;
	struct tables *t = mod ? tables_of(cfi, mod) : NULL;
	uint64_t bias;

	*full_ret = false;
	if (!t)
		return NULL;
	bias = cs_mod_public(mod)->bias;
	frame = frame_at(t, mod, lookup - bias);
	return frame ? compile(cfi, frame, bias, full_ret) : NULL;
}

static enum cs_found found_of(enum cs_expr_status status)
{
	return status == CS_EXPR_UNREADABLE ? CS_FOUND_UNREADABLE : CS_FOUND_NOTHING;
}

static enum cs_found find_cfa(const struct cs_unwinder *u, const struct cs_cfi_row *row,
			      const struct cs_regs *regs, uint64_t *ret)
{
	struct cs_expr_scope scope = {.mem = u->mem, .regs = regs, .bias = row->bias};
	enum cs_expr_status status;
	uint64_t v;

	if (row->cfa_ops) {
		status = cs_expr_eval(&scope, row->cfa_ops, row->n_cfa_ops, ret, NULL);
		return status == CS_EXPR_OK ? CS_FOUND_CALLER : found_of(status);
	}
	if (!cs_regs_get(regs, row->cfa_reg, &v))
		return CS_FOUND_NOTHING;
	*ret = v + (uint64_t)row->cfa_offset;
	return CS_FOUND_CALLER;
}

/** The caller's value of one register; on UNREADABLE *@ret is the address. */
static enum cs_found apply(const struct rule *rule, const struct cs_expr_scope *scope,
			   uint64_t *ret)
{
	enum cs_expr_status status;
	uint64_t at = scope->cfa + (uint64_t)rule->offset;
	bool value = rule->kind == RULE_CFA_VALUE;

	if (rule->kind == RULE_TOO_LONG)
		return CS_FOUND_NOTHING;
	if (rule->kind == RULE_REGISTER)
		return cs_regs_get(scope->regs, (unsigned)rule->offset, ret) ? CS_FOUND_CALLER
									     : CS_FOUND_NOTHING;
	if (rule->kind == RULE_EXPRESSION) {
		status = cs_expr_eval(scope, rule->ops, rule->n_ops, &at, &value);
		if (status != CS_EXPR_OK) {
			*ret = at;
			return found_of(status);
		}
	}
	*ret = at;
	if (value || cs_mem_u64(scope->mem, at, ret))
		return CS_FOUND_CALLER;
	return CS_FOUND_UNREADABLE;
}

enum cs_found cs_cfi_step(struct cs_unwinder *u, const struct cs_cursor *in,
			  struct cs_caller *ret)
{
	const struct cs_cfi_row *row = in->row;
	const struct cs_arch *arch = u->arch;
	struct cs_expr_scope scope = {.mem = u->mem, .regs = &in->regs, .has_cfa = true};
	enum cs_found found;
	uint64_t v = 0;

	if (!row)
		return CS_FOUND_NOTHING;
	if (row->bottom)
		return CS_FOUND_BOTTOM;
	scope.bias = row->bias;
	found = find_cfa(u, row, &in->regs, &scope.cfa);
	ret->address = scope.cfa;
	if (found != CS_FOUND_CALLER)
		return found;
	ret->regs = in->regs;
	ret->regs.known &= row->same;
	ret->cfa = scope.cfa;
	ret->trust = CS_TRUST_CFI;
	/* By convention the CFA is the caller's sp, unless the tables say otherwise (signal frames). */
	cs_regs_set(&ret->regs, arch->sp, scope.cfa);
	for (unsigned i = 0; i < row->n_rules; i++) {
		const struct rule *rule = &row->rules[i];

		found = apply(rule, &scope, &v);
		if (found == CS_FOUND_CALLER)
			cs_regs_set(&ret->regs, rule->reg, v);
		else if (rule->reg == arch->ra) {
			ret->address = v;
			return found;
		}
	}
	/* A frame that made a call has lost its link register to it: "same" cannot be true. */
	if (!in->exact && arch->link >= 0 && row->same >> arch->ra & 1)
		return CS_FOUND_NOTHING;
	if (!cs_regs_get(&ret->regs, arch->ra, &v))
		return CS_FOUND_NOTHING;
	cs_regs_set(&ret->regs, arch->pc, cs_pc_strip(u, v));
	return CS_FOUND_CALLER;
}
