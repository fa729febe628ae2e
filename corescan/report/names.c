/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The words of the fixed JSON format. Each table is indexed by the enum, so a new value
 * without a word is seen here and nowhere else; a value from outside the enum is
 * "unknown", which consumers must accept.
 */
#include "report/report.h"

#include "base/util.h"

#define CS_WORD(words, value)                                                            \
	((size_t)(value) < CS_COUNT(words) && (words)[value] ? (words)[value] : "unknown")

const char *cs_trust_name(enum cs_trust trust)
{
	static const char *const words[] = {
		[CS_TRUST_CONTEXT] = "context",
		[CS_TRUST_CFI] = "cfi",
		[CS_TRUST_RUNTIME] = "runtime",
		[CS_TRUST_FRAME_POINTER] = "frame-pointer",
		[CS_TRUST_SCAN] = "scan",
	};

	return CS_WORD(words, trust);
}

const char *cs_stop_name(enum cs_stop stop)
{
	static const char *const words[] = {
		[CS_STOP_BOTTOM] = "bottom",
		[CS_STOP_NO_UNWIND_INFO] = "no-unwind-info",
		[CS_STOP_UNREADABLE] = "unreadable",
		[CS_STOP_NO_PROGRESS] = "no-progress",
		[CS_STOP_LIMIT] = "limit",
		[CS_STOP_CYCLE] = "cycle",
	};

	return CS_WORD(words, stop);
}

const char *cs_severity_name(enum cs_severity severity)
{
	static const char *const words[] = {
		[CS_SEVERITY_NOTE] = "note",
		[CS_SEVERITY_WARNING] = "warning",
		[CS_SEVERITY_ERROR] = "error",
	};

	return CS_WORD(words, severity);
}

const char *cs_file_state_name(enum cs_file_state state)
{
	static const char *const words[] = {
		[CS_FILE_VERIFIED] = "verified",
		[CS_FILE_UNVERIFIED] = "unverified",
		[CS_FILE_MISMATCH] = "mismatch",
		[CS_FILE_MISSING] = "missing",
	};

	return CS_WORD(words, state);
}

const char *cs_symbol_source_name(enum cs_symbol_source source)
{
	static const char *const words[] = {
		[CS_SYMBOLS_NONE] = "none",     [CS_SYMBOLS_MEMORY] = "memory",
		[CS_SYMBOLS_DYNSYM] = "dynsym", [CS_SYMBOLS_SYMTAB] = "symtab",
		[CS_SYMBOLS_DWARF] = "dwarf",
	};

	return CS_WORD(words, source);
}

const char *cs_frame_kind_name(enum cs_frame_kind kind)
{
	static const char *const words[] = {
		[CS_FRAME_NATIVE] = "native", [CS_FRAME_INLINE] = "inline",
		[CS_FRAME_PYTHON] = "python", [CS_FRAME_SIGNAL] = "signal",
		[CS_FRAME_GAP] = "gap",
	};

	return CS_WORD(words, kind);
}

const char *cs_fault_class_name(enum cs_fault_class fault)
{
	static const char *const words[] = {
		[CS_FAULT_NONE] = "none",
		[CS_FAULT_NULL] = "null",
		[CS_FAULT_STACK_OVERFLOW] = "stack-overflow",
		[CS_FAULT_UNMAPPED] = "unmapped",
		[CS_FAULT_PROTECTION] = "protection",
		[CS_FAULT_NON_CANONICAL] = "non-canonical",
		[CS_FAULT_EXECUTE_DATA] = "execute-data",
		[CS_FAULT_FILE_END] = "file-end",
		[CS_FAULT_ILLEGAL_INSTRUCTION] = "illegal-instruction",
		[CS_FAULT_ARITHMETIC] = "arithmetic",
		[CS_FAULT_ABORT] = "abort",
		[CS_FAULT_OTHER] = "other",
	};

	return CS_WORD(words, fault);
}

const char *cs_layout_source_name(enum cs_layout_source source)
{
	static const char *const words[] = {
		[CS_LAYOUT_PUBLISHED] = "published",
		[CS_LAYOUT_DWARF] = "dwarf",
		[CS_LAYOUT_TABLE] = "table",
	};

	return CS_WORD(words, source);
}

const char *cs_confidence_name(enum cs_confidence confidence)
{
	static const char *const words[] = {
		[CS_CONFIDENCE_POSSIBLE] = "possible",
		[CS_CONFIDENCE_LIKELY] = "likely",
		[CS_CONFIDENCE_CERTAIN] = "certain",
	};

	return CS_WORD(words, confidence);
}

const char *cs_print_part_name(enum cs_print_part part)
{
	static const char *const words[] = {
		[CS_PRINT_COUNTED] = "counted", [CS_PRINT_PREFIX] = "prefix",
		[CS_PRINT_LONG] = "long",       [CS_PRINT_IRRELEVANT] = "irrelevant",
		[CS_PRINT_CUT] = "cut",
	};

	return CS_WORD(words, part);
}
