/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A stack machine for the DWARF expressions that call frame information uses (DWARF 5, 2.5 and 6.4.2).
 *
 * Knows operations, registers and memory reads. Refuses everything that needs a compilation unit, a
 * frame base or an object: CFI may not use it. Work and depth are bounded, so an expression that jumps
 * backwards for ever ends as BAD.
 */
#include "unwind/expr.h"

#include "base/limits.h"

#include <dwarf.h>

struct machine {
	const struct cs_expr_scope *scope;
	const Dwarf_Op *ops;
	size_t n;
	size_t next; /* operation to do next */
	uint64_t stack[CS_MAX_CFI_STACK];
	size_t depth;
	bool value;
};

/** Element @i from the top; NULL if the stack is not that deep. */
static uint64_t *peek(struct machine *m, uint64_t i)
{
	return i < m->depth ? &m->stack[m->depth - 1 - i] : NULL;
}

static enum cs_expr_status push(struct machine *m, uint64_t v)
{
	if (m->depth == CS_MAX_CFI_STACK)
		return CS_EXPR_BAD;
	m->stack[m->depth++] = v;
	return CS_EXPR_OK;
}

static enum cs_expr_status push_register(struct machine *m, uint64_t reg, uint64_t offset)
{
	uint64_t v;

	if (reg >= CS_REGS || !cs_regs_get(m->scope->regs, (unsigned)reg, &v))
		return CS_EXPR_UNKNOWN;
	return push(m, v + offset);
}

static enum cs_expr_status push_copy(struct machine *m, uint64_t i)
{
	uint64_t *v = peek(m, i);

	return v ? push(m, *v) : CS_EXPR_BAD;
}

/** Read @size bytes at the address on top, which they replace. */
static enum cs_expr_status deref(struct machine *m, uint64_t size)
{
	uint64_t *top = peek(m, 0), v = 0;

	if (!top || size == 0 || size > sizeof(v))
		return CS_EXPR_BAD;
	if (cs_mem_read_some(m->scope->mem, *top, &v, size) != size)
		return CS_EXPR_UNREADABLE;
	*top = le64toh(v);
	return CS_EXPR_OK;
}

/** Go to the operation at byte @offset. Past the last one is the end; into the middle of one is BAD. */
static enum cs_expr_status jump(struct machine *m, uint64_t offset)
{
	size_t i = m->n;

	if (m->n == 0 || offset > m->ops[m->n - 1].offset) {
		m->next = m->n;
		return CS_EXPR_OK;
	}
	/* From the end: an operation that libdw put in front shares offset 0 with the first real one. */
	while (i-- > 0) {
		if (m->ops[i].offset == offset) {
			m->next = i;
			return CS_EXPR_OK;
		}
	}
	return CS_EXPR_BAD;
}

/** DW_OP_skip and DW_OP_bra: the operand counts from the end of the operation, which is 3 bytes long. */
static enum cs_expr_status branch(struct machine *m, const Dwarf_Op *op)
{
	if (op->atom == DW_OP_bra) {
		uint64_t *top = peek(m, 0);

		if (!top)
			return CS_EXPR_BAD;
		m->depth--;
		if (*top == 0)
			return CS_EXPR_OK;
	}
	return jump(m, op->offset + 3 + (uint64_t)(int64_t)(int16_t)op->number);
}

static bool is_binary(uint8_t atom)
{
	switch (atom) {
	case DW_OP_and:
	case DW_OP_div:
	case DW_OP_minus:
	case DW_OP_mod:
	case DW_OP_mul:
	case DW_OP_or:
	case DW_OP_plus:
	case DW_OP_shl:
	case DW_OP_shr:
	case DW_OP_shra:
	case DW_OP_xor:
	case DW_OP_le:
	case DW_OP_ge:
	case DW_OP_eq:
	case DW_OP_lt:
	case DW_OP_gt:
	case DW_OP_ne:
		return true;
	default:
		return false;
	}
}

/** Comparisons are signed (DWARF 5, 2.5.1.5). */
static uint64_t compare(uint8_t atom, uint64_t a, uint64_t b)
{
	int64_t x = (int64_t)a, y = (int64_t)b;

	switch (atom) {
	case DW_OP_le:
		return x <= y;
	case DW_OP_ge:
		return x >= y;
	case DW_OP_eq:
		return x == y;
	case DW_OP_lt:
		return x < y;
	case DW_OP_gt:
		return x > y;
	default:
		return x != y;
	}
}

static uint64_t shift_right_signed(uint64_t a, uint64_t by)
{
	uint64_t fill = a >> 63 ? UINT64_MAX : 0;

	if (by == 0)
		return a;
	return by >= 64 ? fill : a >> by | fill << (64 - by);
}

/** The second element and the top are replaced by their combination. */
static enum cs_expr_status binary(struct machine *m, uint8_t atom)
{
	uint64_t *pb = peek(m, 0), *pa = peek(m, 1), a, b;

	if (!pa)
		return CS_EXPR_BAD;
	a = *pa;
	b = *pb;
	m->depth--;
	switch (atom) {
	case DW_OP_and:
		*pa = a & b;
		break;
	case DW_OP_div:
		if (b == 0)
			return CS_EXPR_BAD;
		/* Signed; the one quotient that does not fit wraps. */
		*pa = b == UINT64_MAX ? -a : (uint64_t)((int64_t)a / (int64_t)b);
		break;
	case DW_OP_minus:
		*pa = a - b;
		break;
	case DW_OP_mod:
		if (b == 0)
			return CS_EXPR_BAD;
		*pa = a % b;
		break;
	case DW_OP_mul:
		*pa = a * b;
		break;
	case DW_OP_or:
		*pa = a | b;
		break;
	case DW_OP_plus:
		*pa = a + b;
		break;
	case DW_OP_shl:
		*pa = b >= 64 ? 0 : a << b;
		break;
	case DW_OP_shr:
		*pa = b >= 64 ? 0 : a >> b;
		break;
	case DW_OP_shra:
		*pa = shift_right_signed(a, b);
		break;
	case DW_OP_xor:
		*pa = a ^ b;
		break;
	default:
		*pa = compare(atom, a, b);
		break;
	}
	return CS_EXPR_OK;
}

/** Operations that only move elements. */
static enum cs_expr_status shuffle(struct machine *m, const Dwarf_Op *op)
{
	uint64_t *a = peek(m, 0), *b = peek(m, 1), *c = peek(m, 2), top;

	switch (op->atom) {
	case DW_OP_dup:
		return push_copy(m, 0);
	case DW_OP_over:
		return push_copy(m, 1);
	case DW_OP_pick:
		return push_copy(m, op->number);
	case DW_OP_drop:
		if (!a)
			return CS_EXPR_BAD;
		m->depth--;
		return CS_EXPR_OK;
	case DW_OP_swap:
		if (!b)
			return CS_EXPR_BAD;
		top = *a;
		*a = *b;
		*b = top;
		return CS_EXPR_OK;
	default: /* DW_OP_rot */
		if (!c)
			return CS_EXPR_BAD;
		top = *a;
		*a = *b;
		*b = *c;
		*c = top;
		return CS_EXPR_OK;
	}
}

/** Operations on the top element alone. */
static enum cs_expr_status unary(struct machine *m, const Dwarf_Op *op)
{
	uint64_t *top = peek(m, 0);

	if (!top)
		return CS_EXPR_BAD;
	switch (op->atom) {
	case DW_OP_abs:
		*top = *top >> 63 ? -*top : *top;
		return CS_EXPR_OK;
	case DW_OP_neg:
		*top = -*top;
		return CS_EXPR_OK;
	case DW_OP_not:
		*top = ~*top;
		return CS_EXPR_OK;
	case DW_OP_plus_uconst:
		*top += op->number;
		return CS_EXPR_OK;
	case DW_OP_deref:
		return deref(m, 8);
	default: /* DW_OP_deref_size */
		return deref(m, op->number);
	}
}

static enum cs_expr_status execute(struct machine *m, const Dwarf_Op *op)
{
	uint8_t atom = op->atom;

	if (atom >= DW_OP_lit0 && atom <= DW_OP_lit31)
		return push(m, atom - DW_OP_lit0);
	if (atom >= DW_OP_breg0 && atom <= DW_OP_breg31)
		return push_register(m, atom - DW_OP_breg0, op->number);
	if (is_binary(atom))
		return binary(m, atom);
	switch (atom) {
	case DW_OP_addr:
		return push(m, op->number + m->scope->bias);
	case DW_OP_const1u ... DW_OP_consts: /* libdw has sign-extended the signed ones */
		return push(m, op->number);
	case DW_OP_bregx:
		return push_register(m, op->number, op->number2);
	case DW_OP_dup:
	case DW_OP_over:
	case DW_OP_pick:
	case DW_OP_drop:
	case DW_OP_swap:
	case DW_OP_rot:
		return shuffle(m, op);
	case DW_OP_abs:
	case DW_OP_neg:
	case DW_OP_not:
	case DW_OP_plus_uconst:
	case DW_OP_deref:
	case DW_OP_deref_size:
		return unary(m, op);
	case DW_OP_skip:
	case DW_OP_bra:
		return branch(m, op);
	case DW_OP_nop:
		return CS_EXPR_OK;
	case DW_OP_call_frame_cfa:
		return m->scope->has_cfa ? push(m, m->scope->cfa) : CS_EXPR_BAD;
	case DW_OP_stack_value:
		m->value = true;
		m->next = m->n; /* DWARF 5, 2.6.1.1.4: it ends the expression */
		return CS_EXPR_OK;
	default:
		return CS_EXPR_BAD;
	}
}

enum cs_expr_status cs_expr_eval(const struct cs_expr_scope *scope, const Dwarf_Op *ops, size_t n,
				 uint64_t *ret, bool *value_ret)
{
	struct machine m = {.scope = scope, .ops = ops, .n = n};

	for (size_t done = 0; m.next < m.n; done++) {
		const Dwarf_Op *op = &m.ops[m.next++];
		enum cs_expr_status status;

		if (done == CS_MAX_CFI_OPS)
			return CS_EXPR_BAD;
		status = execute(&m, op);
		if (status == CS_EXPR_UNREADABLE)
			*ret = m.stack[m.depth - 1];
		if (status != CS_EXPR_OK)
			return status;
	}
	if (!m.depth)
		return CS_EXPR_BAD;
	*ret = m.stack[m.depth - 1];
	if (value_ret)
		*value_ret = m.value;
	return CS_EXPR_OK;
}
