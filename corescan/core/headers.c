/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * ELF header and program headers of a core. Knows what the file must be to be a core of a 64-bit
 * little-endian process, and says what it is instead; never reads a segment's contents.
 */
#include "core/internal.h"

#include <elf.h>
#include <string.h>

#define PHDR_SIZE 56u /* bytes of an Elf64_Phdr in the file */
#define PHDR_BATCH 512u

/** The header fields that matter. */
struct ehdr {
	uint16_t type, machine, phentsize, phnum;
	uint64_t phoff, shoff;
	uint64_t n_phdrs; /* phnum, or the count in section 0 */
};

/** Files that people take for cores, or give instead of one; what to do with each. */
static struct cs_error *not_elf(const char *path, const uint8_t *head, size_t n)
{
	static const struct {
		const char *magic, *what;
	} kinds[] = {
		{"ProblemType:", "an apport report: run `apport-unpack FILE DIR` and give DIR/CoreDump"},
		{"MDMP", "a minidump, not an ELF core: use minidump-2-core or lldb"},
		{"#!", "a script: give the core file that its interpreter left"},
		{"PK\3\4", "a zip archive: unpack it and give the core in it"},
		{"KDUMP   ", "a dump of a kernel: use crash or drgn"},
	};

	for (size_t i = 0; i < CS_COUNT(kinds); i++) {
		size_t len = strlen(kinds[i].magic);

		if (n >= len && !memcmp(head, kinds[i].magic, len))
			return cs_error_new(CS_ERR_UNSUPPORTED, "%s: is not a core but %s", path,
					    kinds[i].what);
	}
	return cs_error_new(CS_ERR_UNSUPPORTED,
			    "%s: is not a core: it does not begin with an ELF header (e_ident); give "
			    "the core file, compressed or not; backtraces and logs go to corescan match",
			    path);
}

static struct cs_error *not_a_core(const char *path, const uint8_t *head, size_t n)
{
	if (n == 0)
		return cs_error_new(CS_ERR_FORMAT,
				    "%s: is empty: the core was not written; run `corescan doctor`",
				    path);
	if (n < SELFMAG || memcmp(head, ELFMAG, SELFMAG) != 0)
		return not_elf(path, head, n);
	if (n < sizeof(Elf64_Ehdr))
		return cs_error_new(CS_ERR_FORMAT,
				    "%s: ends at byte %zu, inside the ELF header; get a complete copy",
				    path, n);
	if (head[EI_CLASS] != ELFCLASS64)
		return cs_error_new(CS_ERR_UNSUPPORTED,
				    "%s: EI_CLASS is %u, a 32-bit file: only 64-bit processes are "
				    "supported; use gdb",
				    path, head[EI_CLASS]);
	if (head[EI_DATA] != ELFDATA2LSB)
		return cs_error_new(CS_ERR_UNSUPPORTED,
				    "%s: EI_DATA is %u, not little-endian: that machine is not "
				    "supported; use gdb",
				    path, head[EI_DATA]);
	return NULL;
}

static struct cs_error *check_type(const char *path, const struct ehdr *e)
{
	static const char *const kinds[] = {
		[ET_NONE] = "of no type",
		[ET_REL] = "an object file",
		[ET_EXEC] = "an executable",
		[ET_DYN] = "an executable or shared library",
	};

	if (e->type == ET_CORE)
		return NULL;
	if (e->type < CS_COUNT(kinds))
		return cs_error_new(CS_ERR_UNSUPPORTED,
				    "%s: is %s, not a core (e_type is %u); give the core file, and "
				    "this one with --exe if it is the program",
				    path, kinds[e->type], e->type);
	return cs_error_new(CS_ERR_UNSUPPORTED,
			    "%s: is not a core (e_type is %u); give the core file", path, e->type);
}

static struct cs_error *check_machine(struct cs_core *core, const struct ehdr *e)
{
	const char *name = cs_machine_name(e->machine);

	core->arch = cs_arch_find(e->machine);
	if (core->arch)
		return NULL;
	if (e->machine == EM_CUDA)
		return cs_error_new(CS_ERR_UNSUPPORTED,
				    "%s: is a core of a GPU (e_machine %u, NVIDIA CUDA), not of a process: "
				    "use cuda-gdb with `target cudacore`",
				    core->file->path, e->machine);
	return cs_error_new(CS_ERR_UNSUPPORTED,
			    "%s: is a core of a %s process (e_machine %u): only x86_64 and aarch64 "
			    "are supported; use gdb-multiarch",
			    core->file->path, name ? name : "unknown", e->machine);
}

/** Note how far the file should reach; a sum that wraps cannot be true and does not count. */
static void expect(struct cs_core *core, uint64_t offset, uint64_t size)
{
	uint64_t end;

	if (size && !__builtin_add_overflow(offset, size, &end) && end > core->info.expected_bytes)
		core->info.expected_bytes = end;
}

/**
 * The kernel writes section 0 last, so a core that lost a few bytes has lost it; but the notes, its first
 * segment, begin right behind the program headers (linux: fs/binfmt_elf.c, elf_core_dump). 0: not so here.
 */
static uint64_t count_up_to_notes(const struct cs_core *core, const struct ehdr *e)
{
	uint8_t bytes[PHDR_SIZE] = {0};
	struct cs_buf b = cs_buf_of(bytes, sizeof(bytes));
	uint64_t notes = 0, n;
	uint32_t type = 0;

	if (!cs_ok(cs_file_read(core->file, e->phoff, bytes, sizeof(bytes))))
		return 0;
	cs_buf_u32(&b, "p_type", &type);
	cs_buf_skip(&b, 4, "p_flags");
	cs_buf_u64(&b, "p_offset", &notes);
	if (type != PT_NOTE || notes < e->phoff)
		return 0;
	n = (notes - e->phoff) / PHDR_SIZE;
	return n >= PN_XNUM && n <= CS_MAX_SEGMENTS ? n : 0;
}

/** From 65,535 program headers on, the count is in sh_info of section 0 (PN_XNUM). */
static struct cs_error *count_phdrs(struct cs_core *core, struct ehdr *e)
{
	uint8_t bytes[sizeof(Elf64_Shdr)] = {0};
	struct cs_buf b = cs_buf_of(bytes, sizeof(bytes));
	uint32_t info = 0;
	uint64_t n;

	e->n_phdrs = e->phnum;
	if (e->phnum != PN_XNUM)
		return NULL;
	if (e->shoff && cs_ok(cs_file_read(core->file, e->shoff, bytes, sizeof(bytes)))) {
		(void)cs_buf_seek(&b, offsetof(Elf64_Shdr, sh_info), "sh_info");
		if (cs_buf_u32(&b, "sh_info", &info) && info >= PN_XNUM)
			e->n_phdrs = info;
		return NULL;
	}
	expect(core, e->shoff, sizeof(bytes));
	n = count_up_to_notes(core, e);
	if (n)
		e->n_phdrs = n;
	else
		cs_diag(core->diags, CS_SEVERITY_ERROR, "core", "phnum-unreadable", 0,
			"e_phnum says that section 0 holds the number of segments, but e_shoff (%#llx) "
			"is not readable: only the first 65,535 are used",
			(unsigned long long)e->shoff);
	return NULL;
}

static struct cs_error *read_ehdr(struct cs_core *core, struct ehdr *e)
{
	uint8_t bytes[sizeof(Elf64_Ehdr)];
	const char *path = core->file->path;
	struct cs_buf b;
	uint32_t ignored;
	uint64_t entry;
	size_t n;

	CS_TRY(cs_file_read_some(core->file, 0, bytes, sizeof(bytes), &n));
	CS_TRY(not_a_core(path, bytes, n));
	b = cs_buf_of(bytes, n);
	cs_buf_skip(&b, EI_NIDENT, "e_ident");
	cs_buf_u16(&b, "e_type", &e->type);
	cs_buf_u16(&b, "e_machine", &e->machine);
	cs_buf_u32(&b, "e_version", &ignored);
	cs_buf_u64(&b, "e_entry", &entry);
	cs_buf_u64(&b, "e_phoff", &e->phoff);
	cs_buf_u64(&b, "e_shoff", &e->shoff);
	cs_buf_skip(&b, 4 + 2, "e_flags");
	cs_buf_u16(&b, "e_phentsize", &e->phentsize);
	cs_buf_u16(&b, "e_phnum", &e->phnum);
	if (b.bad)
		return cs_error_new(CS_ERR_FORMAT, "%s: %s does not fit", path, b.bad);
	CS_TRY(check_type(path, e));
	CS_TRY(check_machine(core, e));
	if (e->phentsize != PHDR_SIZE)
		return cs_error_new(CS_ERR_FORMAT, "%s: e_phentsize is %u, not %u: the header is damaged",
				    path, e->phentsize, PHDR_SIZE);
	if (!e->phnum)
		return cs_error_new(CS_ERR_FORMAT,
				    "%s: e_phnum is 0: a core without segments holds nothing", path);
	return count_phdrs(core, e);
}

static struct cs_error *add_load(struct cs_core *core, const Elf64_Phdr *p)
{
	uint64_t size = core->file->size, saved = CS_MIN(p->p_filesz, p->p_memsz);
	struct cs_region r = {
		.start = p->p_vaddr,
		.end = p->p_vaddr + p->p_memsz,
		.prot = p->p_flags & (PF_R | PF_W | PF_X), /* same bits as enum cs_prot */
		.source = p->p_offset,
	};

	if (!p->p_memsz)
		return NULL;
	if (r.end <= r.start) {
		cs_diag(core->diags, CS_SEVERITY_WARNING, "core", "segment-wraps", 0,
			"segment at %#llx: p_memsz %#llx reaches past the address space; left out",
			(unsigned long long)p->p_vaddr, (unsigned long long)p->p_memsz);
		return NULL;
	}
	if (p->p_offset + p->p_filesz < p->p_offset)
		cs_diag(core->diags, CS_SEVERITY_WARNING, "core", "segment-wraps", 0,
			"segment at %#llx: p_offset %#llx and p_filesz %#llx reach past any file; what "
			"the file has there is used",
			(unsigned long long)p->p_vaddr, (unsigned long long)p->p_offset,
			(unsigned long long)p->p_filesz);
	expect(core, p->p_offset, p->p_filesz);
	saved = p->p_offset >= size ? 0 : CS_MIN(saved, size - p->p_offset);
	r.saved_end = r.start + saved;
	return CS_PUSH(&core->regions, r, CS_MAX_SEGMENTS, "segments");
}

static struct cs_error *add_note(struct cs_core *core, const Elf64_Phdr *p)
{
	struct cs_note_segment s = {
		.offset = p->p_offset, .size = p->p_filesz, .align = p->p_align == 8 ? 8 : 4};

	expect(core, p->p_offset, p->p_filesz);
	return CS_PUSH(&core->note_segments, s, CS_MAX_SEGMENTS, "note segments");
}

static struct cs_error *add_phdr(struct cs_core *core, const uint8_t *bytes)
{
	struct cs_buf b = cs_buf_of(bytes, PHDR_SIZE);
	Elf64_Phdr p;

	if (!cs_buf_u32(&b, "p_type", &p.p_type) || !cs_buf_u32(&b, "p_flags", &p.p_flags) ||
	    !cs_buf_u64(&b, "p_offset", &p.p_offset) || !cs_buf_u64(&b, "p_vaddr", &p.p_vaddr) ||
	    !cs_buf_u64(&b, "p_paddr", &p.p_paddr) || !cs_buf_u64(&b, "p_filesz", &p.p_filesz) ||
	    !cs_buf_u64(&b, "p_memsz", &p.p_memsz) || !cs_buf_u64(&b, "p_align", &p.p_align))
		return cs_error_new(CS_ERR_FORMAT, "%s does not fit", b.bad);
	if (p.p_type == PT_LOAD)
		return add_load(core, &p);
	if (p.p_type == PT_NOTE)
		return add_note(core, &p);
	return NULL;
}

static struct cs_error *read_phdrs(struct cs_core *core, const struct ehdr *e)
{
	CS_CLEANUP(cs_freep) uint8_t *batch = malloc(PHDR_BATCH * PHDR_SIZE);
	uint64_t n = CS_MIN(e->n_phdrs, CS_MAX_SEGMENTS), offset = e->phoff, done = 0;
	size_t got, want;

	if (!batch)
		return &cs_nomem;
	expect(core, e->phoff, n * PHDR_SIZE);
	while (done < n) {
		want = (size_t)CS_MIN(n - done, PHDR_BATCH) * PHDR_SIZE;
		CS_TRY(cs_file_read_some(core->file, offset, batch, want, &got));
		for (size_t i = 0; i < got / PHDR_SIZE; i++)
			CS_TRY(add_phdr(core, batch + i * PHDR_SIZE));
		done += got / PHDR_SIZE;
		offset += got;
		if (got < want)
			break;
	}
	if (done < e->n_phdrs)
		cs_diag(core->diags, CS_SEVERITY_ERROR, "core", "segments-missing", 0,
			"only %llu of %llu program headers (e_phnum) could be read",
			(unsigned long long)done, (unsigned long long)e->n_phdrs);
	return NULL;
}

static int compare_regions(const void *a, const void *b)
{
	const struct cs_region *x = a, *y = b;

	return x->start < y->start ? -1 : x->start > y->start;
}

/** Sort, and let each address belong to one region: of two that overlap, the lower keeps it. */
static void settle_regions(struct cs_core *core)
{
	size_t kept = 0, overlaps = 0;

	if (core->regions.n)
		qsort(core->regions.v, core->regions.n, sizeof(*core->regions.v),
		      compare_regions);
	for (size_t i = 0; i < core->regions.n; i++) {
		struct cs_region r = core->regions.v[i];
		uint64_t floor = kept ? core->regions.v[kept - 1].end : 0;

		if (r.start < floor) {
			overlaps++;
			if (r.end <= floor)
				continue;
			r.source += floor - r.start;
			r.saved_end = CS_MAX(r.saved_end, floor);
			r.start = floor;
		}
		core->regions.v[kept++] = r;
	}
	core->regions.n = kept;
	if (overlaps)
		cs_diag(core->diags, CS_SEVERITY_WARNING, "core", "segments-overlap", 0,
			"%zu segments overlap others (p_vaddr, p_memsz): the file is damaged; the "
			"lower one of each pair is used", overlaps);
}

struct cs_error *cs_core_read_headers(struct cs_core *core)
{
	struct ehdr e = {0};

	CS_TRY(read_ehdr(core, &e));
	CS_TRY(read_phdrs(core, &e));
	settle_regions(core);
	return NULL;
}
