/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The vet of call frame programs.
 *
 * Knows the layout of .eh_frame and .eh_frame_hdr (LSB core, "Exception Frames") and how long each
 * operation is (DWARF 5, 6.4.2). Refuses to execute any: it only says whether libdw may. Where the search
 * table is usable, the entry is found as libdw finds it; else libdw will walk all entries, so all are
 * looked at, once.
 */
#include "unwind/vet.h"

#include "base/buf.h"
#include "base/limits.h"

#include <dwarf.h>
#include <elfutils/libdw.h>

#define ENC_ABSENT 0xff
#define ENC_DATAREL_SDATA4 0x3b
#define ENTRY_BYTES 8 /* of the search table: start and FDE, 4 bytes each */

struct cs_vet {
	struct cs_buf frames; /* .eh_frame and what follows it in the file */
	uint64_t frames_vaddr;
	struct cs_buf table; /* empty: there is none, or not one that libdw uses */
	uint64_t table_base; /* address that its values are relative to */
	bool all_done;       /* without a table: verdict on the whole */
	bool all_good;
};

/** One CIE or FDE. */
struct entry {
	bool cie;
	uint64_t cie_offset; /* of an FDE's CIE */
	struct cs_buf body;  /* what follows the id */
	uint64_t next;       /* offset of the next entry */
};

/** What an FDE needs to know of its CIE. */
struct cie {
	uint8_t encoding;   /* of FDE addresses */
	bool has_size;      /* FDEs have sized augmentation data ('z') */
	struct cs_buf program;
};

static bool read_uleb(struct cs_buf *b, uint64_t *ret)
{
	uint64_t v = 0;

	for (unsigned shift = 0;; shift += 7) {
		uint8_t byte;

		if (!cs_buf_u8(b, "LEB128", &byte))
			return false;
		if (shift < 64)
			v |= (uint64_t)(byte & 0x7f) << shift;
		if (!(byte & 0x80))
			break;
	}
	*ret = v;
	return true;
}

static bool skip_leb(struct cs_buf *b)
{
	uint64_t ignored;

	return read_uleb(b, &ignored);
}

/** Bytes of a pointer in @encoding; 0 for LEB128 forms, and for ones that do not exist. */
static size_t encoded_size(uint8_t encoding)
{
	switch (encoding & 0x07) {
	case DW_EH_PE_absptr:
	case DW_EH_PE_udata8:
		return 8;
	case DW_EH_PE_udata4:
		return 4;
	case DW_EH_PE_udata2:
		return 2;
	default:
		return 0;
	}
}

static bool skip_encoded(struct cs_buf *b, uint8_t encoding)
{
	size_t size = encoded_size(encoding);

	if (encoding == ENC_ABSENT)
		return true;
	return size ? cs_buf_skip(b, size, "encoded pointer") : skip_leb(b);
}

/** The entry at @offset of .eh_frame. END at the terminator and at the end of the data. */
static enum cs_step entry_at(const struct cs_vet *vet, uint64_t offset, struct entry *ret)
{
	struct cs_buf b = vet->frames;
	uint64_t len, id_at;
	uint32_t len32, id;
	const uint8_t *bytes;

	if (offset >= cs_buf_left(&b))
		return CS_STEP_END;
	if (!cs_buf_seek(&b, offset, "entry") || !cs_buf_u32(&b, "length", &len32))
		return CS_STEP_BAD;
	if (len32 == 0)
		return CS_STEP_END;
	len = len32;
	if (len32 == 0xffffffff && !cs_buf_u64(&b, "64-bit length", &len))
		return CS_STEP_BAD;
	id_at = cs_buf_offset(&b);
	if (len < sizeof(id) || !cs_buf_take(&b, len, "entry", &bytes))
		return CS_STEP_BAD;
	ret->next = cs_buf_offset(&b);
	ret->body = cs_buf_of(bytes, (size_t)len);
	/* In .eh_frame the id has 4 bytes, also in entries with a 64-bit length. */
	if (!cs_buf_u32(&ret->body, "id", &id))
		return CS_STEP_BAD;
	ret->cie = id == 0;
	ret->cie_offset = id_at - id;
	return CS_STEP_ITEM;
}

/** One step over an operation with its operands. */
struct walker {
	struct cs_buf b;
	size_t pointer_size; /* 0: set_loc is not allowed */
	uint64_t registers;  /* numbers below this one are allowed */
	size_t states;
};

static bool take_register(struct walker *w)
{
	uint64_t reg;

	return read_uleb(&w->b, &reg) && reg < w->registers;
}

static bool skip_block(struct walker *w)
{
	uint64_t len;

	return read_uleb(&w->b, &len) && cs_buf_skip(&w->b, len, "expression");
}

/** The operations whose opcode is the whole byte. */
static bool walk_extended(struct walker *w, uint8_t op)
{
	switch (op) {
	case DW_CFA_nop:
	case DW_CFA_GNU_window_save: /* AARCH64_negate_ra_state */
		return true;
	case DW_CFA_restore_state: /* with none to restore, libdw gives up */
		w->states -= w->states > 0;
		return true;
	case DW_CFA_remember_state:
		return ++w->states <= CS_MAX_CFI_STATES;
	case DW_CFA_set_loc:
		return w->pointer_size && cs_buf_skip(&w->b, w->pointer_size, "set_loc");
	case DW_CFA_advance_loc1:
		return cs_buf_skip(&w->b, 1, "advance_loc1");
	case DW_CFA_advance_loc2:
		return cs_buf_skip(&w->b, 2, "advance_loc2");
	case DW_CFA_advance_loc4:
		return cs_buf_skip(&w->b, 4, "advance_loc4");
	case DW_CFA_MIPS_advance_loc8:
		return cs_buf_skip(&w->b, 8, "advance_loc8");
	case DW_CFA_restore_extended:
	case DW_CFA_undefined:
	case DW_CFA_same_value:
	case DW_CFA_def_cfa_register:
		return take_register(w);
	case DW_CFA_register:
		return take_register(w) && take_register(w);
	case DW_CFA_offset_extended:
	case DW_CFA_offset_extended_sf:
	case DW_CFA_val_offset:
	case DW_CFA_val_offset_sf:
	case DW_CFA_def_cfa:
	case DW_CFA_def_cfa_sf:
	case DW_CFA_GNU_negative_offset_extended:
		return take_register(w) && skip_leb(&w->b);
	case DW_CFA_def_cfa_offset:
	case DW_CFA_def_cfa_offset_sf:
	case DW_CFA_GNU_args_size:
		return skip_leb(&w->b);
	case DW_CFA_def_cfa_expression:
		return skip_block(w);
	case DW_CFA_expression:
	case DW_CFA_val_expression:
		return take_register(w) && skip_block(w);
	default:
		return false;
	}
}

/** The operations with an operand in the low six bits: advance_loc, offset, restore. */
static bool walk_short(struct walker *w, uint8_t op)
{
	if (op >> 6 == 1)
		return true;
	return (op & 0x3fu) < w->registers && (op >> 6 == 3 || skip_leb(&w->b));
}

static bool walk_program(struct walker *w)
{
	uint8_t op;

	while (cs_buf_left(&w->b)) {
		if (!cs_buf_u8(&w->b, "operation", &op))
			return false;
		if (op >> 6 ? !walk_short(w, op) : !walk_extended(w, op))
			return false;
	}
	return true;
}

static bool program_is_good(struct cs_buf program, uint8_t encoding)
{
	struct walker w = {
		.b = program,
		.pointer_size = encoded_size(encoding),
		.registers = CS_MAX_CFI_REGISTER,
	};

	return walk_program(&w);
}

bool cs_vet_program(const void *program, size_t len, uint64_t registers)
{
	struct walker w = {.b = cs_buf_of(program, len), .registers = registers};

	return len <= CS_MAX_CFI_PROGRAM && walk_program(&w);
}

/** The part of a CIE's augmentation data that says how FDEs are written. */
static bool read_augmentation(const char *letters, struct cs_buf data, struct cie *ret)
{
	for (; *letters; letters++) {
		uint8_t encoding;

		switch (*letters) {
		case 'R':
			if (!cs_buf_u8(&data, "FDE encoding", &ret->encoding))
				return false;
			break;
		case 'L':
			if (!cs_buf_u8(&data, "LSDA encoding", &encoding))
				return false;
			break;
		case 'P':
			if (!cs_buf_u8(&data, "personality encoding", &encoding) ||
			    !skip_encoded(&data, encoding))
				return false;
			break;
		case 'S': /* signal frame */
		case 'B': /* return addresses signed with the B key */
			break;
		default:
			return false;
		}
	}
	return true;
}

static bool read_cie(struct cs_buf body, struct cie *ret)
{
	const char *augmentation;
	const uint8_t *bytes;
	uint8_t version, ra;
	uint64_t len;

	*ret = (struct cie){.encoding = DW_EH_PE_absptr};
	if (!cs_buf_u8(&body, "version", &version) ||
	    !cs_buf_cstr(&body, "augmentation", &augmentation))
		return false;
	/* Version 4 has address and segment sizes, which .eh_frame never has. */
	if ((version != 1 && version != 3) || !skip_leb(&body) || !skip_leb(&body))
		return false;
	if (version == 1 ? !cs_buf_u8(&body, "return address", &ra) : !skip_leb(&body))
		return false;
	ret->has_size = *augmentation == 'z';
	if (ret->has_size) {
		if (!read_uleb(&body, &len) ||
		    !cs_buf_take(&body, len, "augmentation data", &bytes) ||
		    !read_augmentation(augmentation + 1, cs_buf_of(bytes, (size_t)len), ret))
			return false;
	} else if (*augmentation) {
		return false;
	}
	ret->program = body;
	return program_is_good(body, ret->encoding);
}

/** An FDE and its CIE. */
static bool fde_is_good(const struct cs_vet *vet, const struct entry *fde)
{
	struct cs_buf body = fde->body;
	struct entry at;
	struct cie cie;
	uint64_t len;

	if (cs_buf_left(&body) > CS_MAX_CFI_PROGRAM ||
	    entry_at(vet, fde->cie_offset, &at) != CS_STEP_ITEM || !at.cie ||
	    cs_buf_left(&at.body) > CS_MAX_CFI_PROGRAM || !read_cie(at.body, &cie))
		return false;
	if (!skip_encoded(&body, cie.encoding) || !skip_encoded(&body, cie.encoding & 0x0f))
		return false;
	if (cie.has_size && (!read_uleb(&body, &len) ||
			     !cs_buf_skip(&body, len, "augmentation data")))
		return false;
	return program_is_good(body, cie.encoding);
}

static bool all_are_good(const struct cs_vet *vet)
{
	uint64_t offset = 0;

	for (size_t i = 0; i < CS_MAX_CFI_ENTRIES; i++) {
		struct entry e;
		enum cs_step step = entry_at(vet, offset, &e);

		if (step == CS_STEP_END)
			return true;
		if (step == CS_STEP_BAD || (!e.cie && !fde_is_good(vet, &e)))
			return false;
		offset = e.next;
	}
	return false;
}

/** Value @which (0: start, 1: FDE) of table entry @i, as an address. */
static uint64_t table_value(const struct cs_vet *vet, size_t i, size_t which)
{
	uint32_t v;

	memcpy(&v, vet->table.start + i * ENTRY_BYTES + which * sizeof(v), sizeof(v));
	return vet->table_base + (uint64_t)(int64_t)(int32_t)le32toh(v);
}

/**
 * Offset of the FDE that libdw will take for @addr, by the very same search: a table that is not sorted
 * must not lead the two to different entries.
 */
static bool search(const struct cs_vet *vet, uint64_t addr, uint64_t *ret)
{
	size_t n = cs_buf_left(&vet->table) / ENTRY_BYTES, lo = 0, hi = n;

	while (lo < hi) {
		size_t mid = (lo + hi) / 2;

		if (addr < table_value(vet, mid, 0)) {
			hi = mid;
		} else if (mid + 1 < n && addr >= table_value(vet, mid + 1, 0)) {
			lo = mid + 1;
		} else {
			*ret = table_value(vet, mid, 1) - vet->frames_vaddr;
			return true;
		}
	}
	return false;
}

bool cs_vet_allows(struct cs_vet *vet, uint64_t addr)
{
	struct entry fde;
	uint64_t offset;

	if (cs_buf_left(&vet->table))
		return search(vet, addr, &offset) &&
		       entry_at(vet, offset, &fde) == CS_STEP_ITEM && !fde.cie &&
		       fde_is_good(vet, &fde);
	if (!vet->all_done) {
		vet->all_good = all_are_good(vet);
		vet->all_done = true;
	}
	return vet->all_good;
}

/** Read an encoded pointer of .eh_frame_hdr, whose first byte is at address @vaddr. */
static bool hdr_pointer(struct cs_buf *b, uint8_t encoding, uint64_t vaddr, uint64_t *ret)
{
	uint64_t here = vaddr + cs_buf_offset(b), v;
	uint32_t v32;

	switch (encoding & 0x0f) {
	case DW_EH_PE_absptr:
	case DW_EH_PE_udata8:
	case DW_EH_PE_sdata8:
		if (!cs_buf_u64(b, "pointer", &v))
			return false;
		break;
	case DW_EH_PE_udata4:
	case DW_EH_PE_sdata4:
		if (!cs_buf_u32(b, "pointer", &v32))
			return false;
		v = encoding & 0x08 ? (uint64_t)(int64_t)(int32_t)v32 : v32;
		break;
	default:
		return false;
	}
	switch (encoding & 0x70) {
	case DW_EH_PE_absptr:
		*ret = v;
		return true;
	case DW_EH_PE_pcrel:
		*ret = v + here;
		return true;
	case DW_EH_PE_datarel:
		*ret = v + vaddr;
		return true;
	default:
		return false;
	}
}

/** Take apart the .eh_frame_hdr in @b, at address @vaddr. */
static bool read_hdr(struct cs_vet *vet, struct cs_buf b, uint64_t vaddr, uint64_t *frames_ret)
{
	uint8_t version, frames_enc, count_enc, table_enc;
	uint64_t n;

	if (!cs_buf_u8(&b, "version", &version) || !cs_buf_u8(&b, "eh_frame_ptr_enc", &frames_enc) ||
	    !cs_buf_u8(&b, "fde_count_enc", &count_enc) || !cs_buf_u8(&b, "table_enc", &table_enc) ||
	    version != 1 || !hdr_pointer(&b, frames_enc, vaddr, frames_ret))
		return false;
	if (table_enc == ENC_DATAREL_SDATA4 && hdr_pointer(&b, count_enc, vaddr, &n)) {
		n = CS_MIN(n, (uint64_t)cs_buf_left(&b) / ENTRY_BYTES);
		vet->table = cs_buf_of(b.pos, (size_t)n * ENTRY_BYTES);
		vet->table_base = vaddr;
	}
	return true;
}

/** From PT_GNU_EH_FRAME, as libdw does where there is one. */
static bool open_hdr(struct cs_vet *vet, struct cs_buf file, const GElf_Phdr *ph)
{
	struct cs_buf hdr;
	const uint8_t *bytes;
	uint64_t offset;

	if (!cs_buf_seek(&file, ph->p_offset, ".eh_frame_hdr") ||
	    !cs_buf_take(&file, ph->p_filesz, ".eh_frame_hdr", &bytes))
		return false;
	hdr = cs_buf_of(bytes, (size_t)ph->p_filesz);
	if (!read_hdr(vet, hdr, ph->p_vaddr, &vet->frames_vaddr))
		return false;
	offset = vet->frames_vaddr - ph->p_vaddr + ph->p_offset;
	if (!cs_buf_seek(&file, offset, ".eh_frame"))
		return false;
	vet->frames = cs_buf_of(file.pos, cs_buf_left(&file));
	return true;
}

/** Without PT_GNU_EH_FRAME libdw takes the section; what table it may have is not looked at. */
static bool open_section(struct cs_vet *vet, Elf *elf, struct cs_buf file)
{
	Elf_Scn *scn = NULL;
	size_t names;

	if (elf_getshdrstrndx(elf, &names) != 0)
		return false;
	while ((scn = elf_nextscn(elf, scn))) {
		struct cs_buf b = file;
		const uint8_t *bytes;
		const char *name;
		GElf_Shdr sh;

		if (!gelf_getshdr(scn, &sh) || sh.sh_type == SHT_NOBITS)
			continue;
		name = elf_strptr(elf, names, sh.sh_name);
		if (!name || strcmp(name, ".eh_frame") != 0)
			continue;
		if (!cs_buf_seek(&b, sh.sh_offset, name) || !cs_buf_take(&b, sh.sh_size, name, &bytes))
			return false;
		vet->frames = cs_buf_of(bytes, (size_t)sh.sh_size);
		return true;
	}
	return false;
}

struct cs_error *cs_vet_create(Elf *elf, struct cs_vet **ret)
{
	CS_CLEANUP(cs_vet_destroyp) struct cs_vet *vet = calloc(1, sizeof(*vet));
	size_t size, n;
	const char *raw = elf_rawfile(elf, &size);
	struct cs_buf file;

	if (!vet)
		return &cs_nomem;
	if (!raw || elf_getphdrnum(elf, &n) != 0)
		return &cs_not_found;
	file = cs_buf_of(raw, size);
	for (size_t i = 0; i < n && i < CS_MAX_ELF_SEGMENTS; i++) {
		GElf_Phdr ph;

		if (!gelf_getphdr(elf, (int)i, &ph) || ph.p_type != PT_GNU_EH_FRAME)
			continue;
		if (!open_hdr(vet, file, &ph))
			return cs_error_new(CS_ERR_FORMAT, ".eh_frame_hdr is damaged");
		*ret = CS_TAKE(vet);
		return NULL;
	}
	if (!open_section(vet, elf, file))
		return &cs_not_found;
	*ret = CS_TAKE(vet);
	return NULL;
}

void cs_vet_destroy(struct cs_vet *vet)
{
	free(vet);
}
