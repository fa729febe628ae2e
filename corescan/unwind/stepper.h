/* SPDX-License-Identifier: GPL-3.0-or-later */
/**
 * Inside the unwind layer: what the driver and its steppers share.
 *
 * A stepper looks at one frame and proposes its caller; it never decides whether the proposal is good.
 * That is the driver's part (driver.c), for all steppers alike.
 */
#ifndef CS_UNWIND_STEPPER_H
#define CS_UNWIND_STEPPER_H

#include "unwind/unwind.h"

/** The methods, as bits of cs_unwinder.steppers, in the order in which they are tried. */
enum cs_stepper {
	CS_STEPPER_NOWHERE = 1,   /* a call that reached no code */
	CS_STEPPER_SIGFRAME = 2,  /* registers in the kernel's signal frame */
	CS_STEPPER_CFI = 4,       /* libdw */
	CS_STEPPER_LIBUNWIND = 8, /* second opinion on the same tables */
	CS_STEPPER_FP = 16,
	CS_STEPPER_SCAN = 32,
	CS_STEPPER_EPILOGUE = 64, /* tried before the frame pointer */
};
#define CS_STEPPERS_ALL 127u

struct cs_cfi;
struct cs_cfi_row;
struct cs_unw;

/** What is known of one code address; cached, for thousands of threads share them. */
struct cs_pc {
	uint64_t pc;
	bool exact; /* see cs_raw_frame */
	bool used;
	bool executable; /* a mapping there may be executed */
	bool trampoline; /* the kernel's signal return code is there */
	const struct cs_cfi_row *row; /* NULL: no call frame information */
};

struct cs_unwinder {
	struct cs_mem *mem;
	struct cs_modules *modules;
	const struct cs_arch *arch;
	uint64_t pac_mask;
	unsigned steppers; /* bits of enum cs_stepper; tests take some away */
	struct cs_cfi *cfi;
	struct cs_unw *unw; /* NULL: the analysed machine is not the host's */
	struct cs_pc *pcs;  /* open addressing */
	size_t n_pcs;
	size_t pcs_mask;
};

/** One frame while its caller is looked for. */
struct cs_cursor {
	struct cs_regs regs; /* pc and sp are always known */
	uint64_t pc, sp;
	bool exact;  /* see cs_raw_frame */
	bool signal; /* a signal trampoline */
	bool known;  /* pc can be executed */
	const struct cs_cfi_row *row;
};

enum cs_found {
	CS_FOUND_CALLER,
	CS_FOUND_BOTTOM,     /* there is no caller */
	CS_FOUND_NOTHING,    /* this method has nothing to say */
	CS_FOUND_UNREADABLE, /* address holds what could not be read */
};

/** A stepper's proposal. */
struct cs_caller {
	struct cs_regs regs; /* of the caller, with pc and sp */
	uint64_t cfa;        /* of the frame that was stepped from; 0: not known */
	uint64_t address;
	uint8_t trust; /* enum cs_trust, of the caller */
};

/** What is known of @pc; valid until the next call. */
const struct cs_pc *cs_pc_facts(struct cs_unwinder *u, uint64_t pc, bool exact);
/** True if the target may execute code at @pc: an executable region or, without region, a module. */
bool cs_pc_executable(const struct cs_unwinder *u, uint64_t pc);
/** True if @pc is executable and the bytes in front of it are a call instruction. */
bool cs_pc_after_call(const struct cs_unwinder *u, uint64_t pc);
/** As cs_pc_after_call(), or @pc is a signal trampoline, to which handlers return uncalled. */
bool cs_pc_returnable(const struct cs_unwinder *u, uint64_t pc);
/**
 * True unless the call in front of return address @ra is known to have led to other code than that at
 * @callee: a direct call must go to a function that can hold it.
 */
bool cs_pc_may_call(const struct cs_unwinder *u, uint64_t ra, uint64_t callee);
/** @pc without its pointer authentication code (aarch64). */
uint64_t cs_pc_strip(const struct cs_unwinder *u, uint64_t pc);

enum cs_found cs_nowhere_step(struct cs_unwinder *u, const struct cs_cursor *in,
			      struct cs_caller *ret);
enum cs_found cs_sigframe_step(struct cs_unwinder *u, const struct cs_cursor *in,
			       struct cs_caller *ret);
enum cs_found cs_cfi_step(struct cs_unwinder *u, const struct cs_cursor *in,
			  struct cs_caller *ret);
enum cs_found cs_unw_step(struct cs_unwinder *u, const struct cs_cursor *in,
			  struct cs_caller *ret);
enum cs_found cs_epilogue_step(struct cs_unwinder *u, const struct cs_cursor *in,
			       struct cs_caller *ret);
enum cs_found cs_fp_step(struct cs_unwinder *u, const struct cs_cursor *in,
			 struct cs_caller *ret);
/** @from: the stack address where the search begins. */
enum cs_found cs_scan_step(struct cs_unwinder *u, const struct cs_cursor *in, uint64_t from,
			   struct cs_caller *ret);

/** The kernel's code at a signal frame's pc (linux: rt_sigreturn trampolines). */
bool cs_sigframe_at(const struct cs_unwinder *u, uint64_t pc);
/** signo, code and address of the siginfo in the signal frame at @in; all 0 where not readable. */
void cs_sigframe_info(const struct cs_unwinder *u, const struct cs_cursor *in,
		      struct cs_interrupted *ret);

/** Call frame information of all modules. Errors: NOMEM. */
CS_MUST_CHECK struct cs_error *cs_cfi_create(struct cs_unwinder *u, struct cs_cfi **ret);
void cs_cfi_destroy(struct cs_cfi *cfi);
CS_DEFINE_CLEANUP(struct cs_cfi *, cs_cfi_destroy)
/**
 * The row that governs code address @lookup, or NULL; valid until cs_cfi_forget().
 * *@full_ret is set when there was no room: forget all rows and try again.
 */
const struct cs_cfi_row *cs_cfi_row(struct cs_cfi *cfi, uint64_t lookup, bool *full_ret);
void cs_cfi_forget(struct cs_cfi *cfi);
bool cs_cfi_row_is_signal(const struct cs_cfi_row *row);

/** NULL in @ret when the analysed machine is not this one. Errors: NOMEM. */
CS_MUST_CHECK struct cs_error *cs_unw_create(struct cs_unwinder *u, struct cs_unw **ret);
void cs_unw_destroy(struct cs_unw *unw);
CS_DEFINE_CLEANUP(struct cs_unw *, cs_unw_destroy)

#endif
