/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * libunwind as a second opinion, with accessors of our own.
 *
 * Knows where a module's .eh_frame_hdr lies in the target's memory and lets libunwind search and run the
 * tables there, byte by byte through cs_mem: another implementation, on another source of the same bytes
 * (the target's image, not the file). Refuses libunwind's own guesses: it is asked only for addresses that
 * the tables cover. Only for targets of this machine's kind; libunwind's register numbers are those of
 * DWARF on both that we support.
 */
#include "unwind/stepper.h"
#include "unwind/vet.h"

#include "base/limits.h"

#include <elf.h>
#include <libunwind.h>
#include <link.h>
#include <string.h>

/* Exported for this purpose (perf uses it), but in no installed header. */
int UNW_OBJ(dwarf_search_unwind_table)(unw_addr_space_t as, unw_word_t ip, unw_dyn_info_t *di,
				       unw_proc_info_t *pi, int need_unwind_info, void *arg);

/**
 * How unw_proc_info_t.unwind_info begins: where the two programs lie in the target, ends exclusive.
 * libunwind: include/dwarf.h, struct dwarf_cie_info; the same since 1.1.
 */
struct programs {
	unw_word_t cie_start, cie_end, fde_start, fde_end;
};

/* The linker's name for our own ELF header: which machine this program was built for. */
extern const ElfW(Ehdr) __ehdr_start __attribute__((visibility("hidden")));

struct cs_unw {
	struct cs_unwinder *u;
	unw_addr_space_t space;
	size_t steps;
	/* The frame at hand. */
	const struct cs_cursor *in;
	size_t reads;
	bool described; /* the tables have an entry for it */
	uint64_t unreadable; /* first address that could not be read; 0: none */
};

/** The search table in .eh_frame_hdr (LSB core, "Exception Frames"; the only encoding that ld writes). */
#define HDR_BYTES 12
#define ENC_PCREL_SDATA4 0x1b
#define ENC_UDATA4 0x03
#define ENC_DATAREL_SDATA4 0x3b

static bool find_hdr(struct cs_mod *mod, uint64_t *ret)
{
	Elf *elf = cs_mod_elf(mod);
	size_t n;

	if (!elf || elf_getphdrnum(elf, &n) != 0)
		return false;
	for (size_t i = 0; i < n && i < CS_MAX_ELF_SEGMENTS; i++) {
		GElf_Phdr ph;

		if (gelf_getphdr(elf, (int)i, &ph) && ph.p_type == PT_GNU_EH_FRAME) {
			*ret = ph.p_vaddr + cs_mod_public(mod)->bias;
			return true;
		}
	}
	return false;
}

static bool find_table(struct cs_unw *unw, uint64_t ip, unw_dyn_info_t *ret)
{
	struct cs_mod *mod = cs_modules_find(unw->u->modules, ip);
	uint8_t hdr[HDR_BYTES];
	uint64_t at;
	uint32_t n;

	if (!mod || !find_hdr(mod, &at) ||
	    cs_mem_read_some(unw->u->mem, at, hdr, sizeof(hdr)) != sizeof(hdr))
		return false;
	if (hdr[0] != 1 || hdr[1] != ENC_PCREL_SDATA4 || hdr[2] != ENC_UDATA4 ||
	    hdr[3] != ENC_DATAREL_SDATA4)
		return false;
	memcpy(&n, hdr + 8, sizeof(n));
	*ret = (unw_dyn_info_t){
		.format = UNW_INFO_FORMAT_REMOTE_TABLE,
		.start_ip = cs_mod_public(mod)->start,
		.end_ip = cs_mod_public(mod)->end,
	};
	ret->u.rti.segbase = at;
	ret->u.rti.table_data = at + HDR_BYTES;
	ret->u.rti.table_len = le32toh(n); /* in words of 8 bytes, which is one entry */
	return true;
}

static bool program_is_good(struct cs_unw *unw, uint64_t start, uint64_t end)
{
	CS_CLEANUP(cs_freep) uint8_t *bytes = NULL;
	size_t len = (size_t)(end - start);

	if (end < start || end - start > CS_MAX_CFI_PROGRAM)
		return false;
	bytes = malloc(len + 1);
	return bytes && cs_mem_read_some(unw->u->mem, start, bytes, len) == len &&
	       cs_vet_program(bytes, len, unw->u->arch->n_regs);
}

/**
 * libunwind 1.6.2 takes the register number that a "register" rule names as an index of its cursor's
 * array, whatever it is (src/dwarf/Gparser.c, apply_reg_state).
 */
static bool programs_are_good(struct cs_unw *unw, const unw_proc_info_t *pi)
{
	struct programs p;

	if (!pi->unwind_info || pi->unwind_info_size < (int)sizeof(p))
		return false;
	memcpy(&p, pi->unwind_info, sizeof(p));
	return program_is_good(unw, p.cie_start, p.cie_end) &&
	       program_is_good(unw, p.fde_start, p.fde_end);
}

static int find_proc_info(unw_addr_space_t as, unw_word_t ip, unw_proc_info_t *pi, int need_info,
			  void *arg)
{
	struct cs_unw *unw = arg;
	unw_dyn_info_t di;
	int rc;

	if (!find_table(unw, ip, &di))
		return -UNW_ENOINFO;
	rc = UNW_OBJ(dwarf_search_unwind_table)(as, ip, &di, pi, need_info, arg);
	if (rc == 0 && need_info && !programs_are_good(unw, pi))
		rc = -UNW_ENOINFO;
	unw->described = rc == 0;
	return rc;
}

/** Taken from a pool of libunwind's own; it has no call to give it back. */
static void put_unwind_info(unw_addr_space_t as, unw_proc_info_t *pi, void *arg)
{
	(void)as;
	(void)pi;
	(void)arg;
}

static int get_dyn_info_list_addr(unw_addr_space_t as, unw_word_t *ret, void *arg)
{
	(void)as;
	(void)ret;
	(void)arg;
	return -UNW_ENOINFO;
}

static int access_mem(unw_addr_space_t as, unw_word_t addr, unw_word_t *value, int write, void *arg)
{
	struct cs_unw *unw = arg;
	uint64_t v;

	(void)as;
	/* libunwind runs a program of any length; it stops when a read fails. */
	if (write || unw->reads++ >= CS_MAX_LIBUNWIND_READS)
		return -UNW_EINVAL;
	if (!cs_mem_u64(unw->u->mem, addr, &v)) {
		if (!unw->unreadable)
			unw->unreadable = addr;
		return -UNW_EINVAL;
	}
	*value = v;
	return 0;
}

static int access_reg(unw_addr_space_t as, unw_regnum_t reg, unw_word_t *value, int write, void *arg)
{
	struct cs_unw *unw = arg;
	uint64_t v;

	(void)as;
	if (write || reg < 0 || !cs_regs_get(&unw->in->regs, (unsigned)reg, &v))
		return -UNW_EBADREG;
	/* A fresh cursor takes its pc as exact; a return address is looked up within the call. */
	*value = (unsigned)reg == unw->u->arch->pc && !unw->in->exact ? v - 1 : v;
	return 0;
}

static int access_fpreg(unw_addr_space_t as, unw_regnum_t reg, unw_fpreg_t *value, int write,
			void *arg)
{
	(void)as;
	(void)reg;
	(void)value;
	(void)write;
	(void)arg;
	return -UNW_EBADREG;
}

static int resume(unw_addr_space_t as, unw_cursor_t *cursor, void *arg)
{
	(void)as;
	(void)cursor;
	(void)arg;
	return -UNW_EINVAL;
}

static int get_proc_name(unw_addr_space_t as, unw_word_t addr, char *name, size_t len,
			 unw_word_t *offset, void *arg)
{
	(void)as;
	(void)addr;
	(void)name;
	(void)len;
	(void)offset;
	(void)arg;
	return -UNW_ENOINFO;
}

static unw_accessors_t accessors = {
	.find_proc_info = find_proc_info,
	.put_unwind_info = put_unwind_info,
	.get_dyn_info_list_addr = get_dyn_info_list_addr,
	.access_mem = access_mem,
	.access_reg = access_reg,
	.access_fpreg = access_fpreg,
	.resume = resume,
	.get_proc_name = get_proc_name,
};

struct cs_error *cs_unw_create(struct cs_unwinder *u, struct cs_unw **ret)
{
	CS_CLEANUP(cs_unw_destroyp) struct cs_unw *unw = NULL;

	*ret = NULL;
	if (__ehdr_start.e_machine != u->arch->machine)
		return NULL;
	unw = calloc(1, sizeof(*unw));
	if (!unw)
		return &cs_nomem;
	unw->u = u;
	unw->space = unw_create_addr_space(&accessors, 0);
	if (!unw->space)
		return &cs_nomem;
	/* The driver keeps what is worth keeping. */
	unw_set_caching_policy(unw->space, UNW_CACHE_NONE);
	*ret = CS_TAKE(unw);
	return NULL;
}

void cs_unw_destroy(struct cs_unw *unw)
{
	if (!unw)
		return;
	if (unw->space)
		unw_destroy_addr_space(unw->space);
	free(unw);
}

/** The registers of the frame that @cursor has reached. */
static void take_regs(const struct cs_arch *arch, unw_cursor_t *cursor, struct cs_regs *ret)
{
	unw_word_t v;

	ret->known = 0;
	for (unsigned reg = 0; reg < arch->n_regs && reg < CS_REGS; reg++) {
		bool kept = arch->callee_saved >> reg & 1;

		if ((kept || reg == arch->pc || reg == arch->sp) &&
		    unw_get_reg(cursor, (int)reg, &v) == 0)
			cs_regs_set(ret, reg, v);
	}
}

enum cs_found cs_unw_step(struct cs_unwinder *u, const struct cs_cursor *in,
			  struct cs_caller *ret)
{
	struct cs_unw *unw = u->unw;
	unw_dyn_info_t di;
	unw_cursor_t cursor;
	uint64_t pc, sp;
	int rc;

	if (!unw || unw->steps == CS_MAX_LIBUNWIND_STEPS || !find_table(unw, in->pc - !in->exact, &di))
		return CS_FOUND_NOTHING;
	unw->steps++;
	unw->in = in;
	unw->reads = 0;
	unw->described = false;
	unw->unreadable = 0;
	if (unw_init_remote(&cursor, unw->space, unw) != 0)
		return CS_FOUND_NOTHING;
	rc = unw_step(&cursor);
	ret->address = unw->unreadable;
	if (!unw->described)
		return CS_FOUND_NOTHING; /* whatever it says now is a guess */
	if (rc < 0)
		return unw->unreadable ? CS_FOUND_UNREADABLE : CS_FOUND_NOTHING;
	if (rc == 0)
		return CS_FOUND_BOTTOM;
	take_regs(u->arch, &cursor, &ret->regs);
	if (!cs_regs_get(&ret->regs, u->arch->pc, &pc) || !cs_regs_get(&ret->regs, u->arch->sp, &sp))
		return CS_FOUND_NOTHING;
	cs_regs_set(&ret->regs, u->arch->pc, cs_pc_strip(u, pc));
	ret->cfa = in->signal ? 0 : sp;
	ret->trust = CS_TRUST_CFI;
	return CS_FOUND_CALLER;
}
