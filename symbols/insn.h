/* SPDX-License-Identifier: GPL-3.0-or-later */
/** Between disasm.c and the files that know one machine's operands. */
#ifndef CS_SYMBOLS_INSN_H
#define CS_SYMBOLS_INSN_H

#include "symbols/disasm.h"

/** Operands and extension of the x86_64 instruction that @insn->text, @insn->length and
 * @pc describe. */
void cs_insn_x86(const struct cs_arch *arch, uint64_t pc, const struct cs_regs *regs,
		 struct cs_insn *insn);

/**
 * Operand and extension of the aarch64 instruction @word, and its text where @insn->text
 * is empty. False if @word is no instruction that this file knows.
 */
CS_MUST_CHECK bool cs_insn_arm64(uint32_t word, uint64_t pc, const struct cs_regs *regs,
				 struct cs_insn *insn);

#endif
