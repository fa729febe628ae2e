/* SPDX-License-Identifier: GPL-3.0-or-later */
/** DWARF expressions of call frame information, evaluated within bounds. */
#ifndef CS_UNWIND_EXPR_H
#define CS_UNWIND_EXPR_H

#include "mem/space.h"

#include <elfutils/libdw.h>

/** What an expression may look at; nothing is owned. */
struct cs_expr_scope {
	struct cs_mem *mem;
	const struct cs_regs *regs;
	bool has_cfa;
	uint64_t cfa;  /* for DW_OP_call_frame_cfa */
	uint64_t bias; /* added to DW_OP_addr: address in memory - address in the file */
};

enum cs_expr_status {
	CS_EXPR_OK,
	CS_EXPR_BAD,        /* malformed, an operation that CFI must not use, or CS_MAX_CFI_* reached */
	CS_EXPR_UNKNOWN,    /* needs a register whose value is not known */
	CS_EXPR_UNREADABLE, /* *ret is the address that could not be read */
};

/**
 * Evaluate the @n operations @ops as libdw decoded them (jumps go by the operations' byte offsets).
 *
 * @ret        top of the stack at the end
 * @value_ret  true if the expression ended with DW_OP_stack_value: @ret is the value itself, not the
 *             address of it; may be NULL
 */
CS_MUST_CHECK enum cs_expr_status cs_expr_eval(const struct cs_expr_scope *scope,
					       const Dwarf_Op *ops, size_t n, uint64_t *ret,
					       bool *value_ret);

#endif
