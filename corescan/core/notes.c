/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The notes of a core: threads with their registers, mapped files, auxiliary vector, process facts.
 *
 * Layouts: linux: fs/binfmt_elf.c (fill_note_info, fill_files_note), include/linux/elfcore.h. A damaged
 * note ends its segment, and what came before it stays; that is said, never taken for the end.
 */
#include "core/internal.h"

#include <elf.h>
#include <signal.h>
#include <string.h>

#ifndef NT_ARM_PAC_MASK
#define NT_ARM_PAC_MASK 0x406
#endif

#define NOTE_WINDOW (256UL << 10) /* bytes of notes in memory at a time */

struct note {
	uint32_t type;
	const char *name; /* NUL-terminated within namesz, or "" */
	struct cs_buf desc;
};

static enum cs_step note_next(struct cs_buf *b, size_t align, struct note *ret)
{
	uint32_t namesz, descsz, type;
	const uint8_t *name, *desc;

	if (b->pos == b->end)
		return CS_STEP_END;
	if (!cs_buf_u32(b, "n_namesz", &namesz) || !cs_buf_u32(b, "n_descsz", &descsz) ||
	    !cs_buf_u32(b, "n_type", &type) || !cs_buf_take(b, namesz, "note name", &name))
		return CS_STEP_BAD;
	cs_buf_pad(b, align);
	if (!cs_buf_take(b, descsz, "note descriptor", &desc))
		return CS_STEP_BAD;
	cs_buf_pad(b, align); /* the last note may lack its padding: this stops at the end */
	ret->type = type;
	ret->name = namesz && !name[namesz - 1] ? (const char *)name : "";
	ret->desc = cs_buf_of(desc, descsz);
	return CS_STEP_ITEM;
}

static void complain(struct cs_core *core, const char *note, const char *field)
{
	cs_diag(core->diags, CS_SEVERITY_WARNING, "core", "note-damaged", 0,
		"note %s: %s does not fit in its descriptor; left out", note, field);
}

/**
 * A thread whose note is too short is kept, without registers and perhaps without an id: the one that took
 * the signal comes first, and the next must not be mistaken for it.
 */
static struct cs_error *read_prstatus(struct cs_core *core, struct cs_buf desc)
{
	const struct cs_prstatus_layout *l = &core->arch->prstatus;
	struct cs_core_thread t = {.siginfo = {.sender_pid = -1, .sender_uid = -1}};
	struct cs_thread_info info = {0};
	uint16_t cursig = 0;
	uint32_t pid = 0;

	core->thread_dropped = true; /* until it has its place */
	cs_buf_seek(&desc, l->cursig, "pr_cursig");
	cs_buf_u16(&desc, "pr_cursig", &cursig);
	cs_buf_seek(&desc, l->pid, "pr_pid");
	cs_buf_u32(&desc, "pr_pid", &pid);
	info.tid = (int32_t)pid;
	info.signal = cursig;
	t.has_regs = cs_arch_prstatus_regs(core->arch, &desc, &t.regs);
	info.thread_pointer = cs_arch_prstatus_thread_pointer(core->arch, &desc);
	if (desc.bad)
		cs_diag(core->diags, CS_SEVERITY_WARNING, "core", "note-damaged", info.tid,
			"note NT_PRSTATUS of thread number %zu: %s does not fit in its descriptor; "
			"its registers are lost", core->threads.n + 1, desc.bad);
	CS_TRY(CS_PUSH(&core->threads, t, CS_MAX_THREADS, "threads"));
	CS_TRY(CS_PUSH(&core->thread_infos, info, CS_MAX_THREADS, "threads"));
	core->thread_dropped = false;
	return NULL;
}

static void read_prpsinfo(struct cs_core *core, struct cs_buf desc)
{
	const struct cs_prpsinfo_layout *l = &core->arch->prpsinfo;
	struct cs_core_info *info = &core->info;
	uint32_t uid, gid, pid, ppid;
	const uint8_t *name, *args;

	cs_buf_seek(&desc, l->uid, "pr_uid");
	cs_buf_u32(&desc, "pr_uid", &uid);
	cs_buf_seek(&desc, l->gid, "pr_gid");
	cs_buf_u32(&desc, "pr_gid", &gid);
	cs_buf_seek(&desc, l->pid, "pr_pid");
	cs_buf_u32(&desc, "pr_pid", &pid);
	cs_buf_seek(&desc, l->ppid, "pr_ppid");
	cs_buf_u32(&desc, "pr_ppid", &ppid);
	cs_buf_seek(&desc, l->fname, "pr_fname");
	if (!cs_buf_take(&desc, 16, "pr_fname", &name) ||
	    !cs_buf_seek(&desc, l->psargs, "pr_psargs") ||
	    !cs_buf_take(&desc, 80, "pr_psargs", &args)) {
		complain(core, "NT_PRPSINFO", desc.bad);
		return;
	}
	info->has_prpsinfo = true;
	info->uid = uid;
	info->gid = gid;
	info->pid = (int32_t)pid;
	info->ppid = (int32_t)ppid;
	memcpy(info->name, name, 16); /* the arrays have one byte more, which stays NUL */
	memcpy(info->arguments, args, 80);
}

static bool is_sent(int code)
{
	return code == SI_USER || code == SI_TKILL || code == SI_QUEUE;
}

static bool has_fault_address(int signo, int code)
{
	/* Codes below and from SI_KERNEL on carry no address. */
	return code > 0 && code < SI_KERNEL &&
	       (signo == SIGSEGV || signo == SIGBUS || signo == SIGILL || signo == SIGFPE ||
		signo == SIGTRAP);
}

/** struct siginfo on LP64: signo, errno, code, padding, union; linux: include/uapi/asm-generic/siginfo.h */
static void read_siginfo(struct cs_core *core, struct cs_buf desc)
{
	struct cs_siginfo *s;
	uint32_t signo, ignored, code;
	uint64_t payload;

	if (!core->threads.n || core->thread_dropped)
		return; /* it belongs to the thread whose NT_PRSTATUS came before */
	s = &core->threads.v[core->threads.n - 1].siginfo;
	cs_buf_u32(&desc, "si_signo", &signo);
	cs_buf_u32(&desc, "si_errno", &ignored);
	cs_buf_u32(&desc, "si_code", &code);
	cs_buf_u32(&desc, "siginfo", &ignored);
	if (!cs_buf_u64(&desc, "si_addr", &payload)) {
		complain(core, "NT_SIGINFO", desc.bad);
		return;
	}
	s->present = true;
	s->signo = (int32_t)signo;
	s->code = (int32_t)code;
	if (is_sent(s->code)) {
		s->sender_pid = (int32_t)(uint32_t)payload;
		s->sender_uid = (int64_t)(payload >> 32);
	} else if (has_fault_address(s->signo, s->code)) {
		s->address = payload;
	}
}

static struct cs_error *read_auxv(struct cs_core *core, struct cs_buf desc)
{
	struct cs_auxv_entry e;

	while (cs_buf_u64(&desc, "a_type", &e.type) && cs_buf_u64(&desc, "a_val", &e.value)) {
		if (e.type == AT_NULL)
			break;
		CS_TRY(CS_PUSH(&core->auxv, e, 256UL, "auxiliary vector entries"));
	}
	return NULL;
}

static int compare_mappings(const void *a, const void *b)
{
	const struct cs_mapping *x = a, *y = b;

	return x->start < y->start ? -1 : x->start > y->start;
}

/** NT_FILE: count, page size, count times (start, end, offset in pages), then the names. */
static struct cs_error *read_files(struct cs_core *core, struct cs_buf desc)
{
	struct cs_buf names;
	uint64_t count, page;
	size_t names_len;

	if (core->mapping_names)
		return NULL; /* one is enough; a second would be a forgery */
	cs_buf_u64(&desc, "count", &count);
	if (!cs_buf_u64(&desc, "page_size", &page) || count > cs_buf_left(&desc) / 24) {
		complain(core, "NT_FILE", desc.bad ? desc.bad : "count");
		return NULL;
	}
	names = desc;
	cs_buf_skip(&names, count * 24, "names"); /* does not wrap: count was compared */
	names_len = cs_buf_left(&names);
	core->mapping_names = malloc(names_len + 1);
	if (!core->mapping_names)
		return &cs_nomem;
	memcpy(core->mapping_names, names.pos, names_len);
	core->mapping_names[names_len] = 0;
	names = cs_buf_of(core->mapping_names, names_len);
	for (uint64_t i = 0; i < count; i++) {
		struct cs_mapping m;

		if (!cs_buf_u64(&desc, "start", &m.start) || !cs_buf_u64(&desc, "end", &m.end) ||
		    !cs_buf_u64(&desc, "file_ofs", &m.offset) ||
		    !cs_buf_cstr(&names, "name", &m.path)) {
			complain(core, "NT_FILE", desc.bad ? desc.bad : names.bad);
			break;
		}
		if (m.start >= m.end || __builtin_mul_overflow(m.offset, page, &m.offset))
			continue;
		CS_TRY(CS_PUSH(&core->mappings, m, CS_MAX_MAPPINGS, "file mappings"));
	}
	if (page >= 4096 && page <= 65536 && !(page & (page - 1)))
		core->target.page_size = page;
	return NULL;
}

static void read_pac_mask(struct cs_core *core, struct cs_buf desc)
{
	uint64_t data_mask, insn_mask;

	/* struct user_pac_mask; linux: arch/arm64/include/uapi/asm/ptrace.h */
	if (cs_buf_u64(&desc, "data_mask", &data_mask) &&
	    cs_buf_u64(&desc, "insn_mask", &insn_mask))
		core->info.pac_mask = insn_mask;
	else
		complain(core, "NT_ARM_PAC_MASK", desc.bad);
}

/** tpidr_el0 of the thread whose NT_PRSTATUS came last; linux: arch/arm64/kernel/ptrace.c, tls_get */
static void read_arm_tls(struct cs_core *core, struct cs_buf desc)
{
	uint64_t tpidr;

	if (core->thread_infos.n && !core->thread_dropped && cs_buf_u64(&desc, "tpidr", &tpidr))
		core->thread_infos.v[core->thread_infos.n - 1].thread_pointer = tpidr;
}

static struct cs_error *read_note(struct cs_core *core, const struct note *n, bool first)
{
	if (!strcmp(n->name, "LINUX")) {
		if (n->type == NT_ARM_PAC_MASK && core->target.machine != EM_X86_64)
			read_pac_mask(core, n->desc);
		if (n->type == NT_ARM_TLS && core->target.machine == EM_AARCH64)
			read_arm_tls(core, n->desc);
		return NULL;
	}
	if (strcmp(n->name, "CORE") != 0)
		return NULL;
	/* gdb writes the process before the first thread, the kernel after it. */
	if (first && n->type == NT_PRPSINFO)
		core->info.writer = "gdb";
	else if (first && n->type == NT_PRSTATUS)
		core->info.writer = "kernel";
	switch (n->type) {
	case NT_PRSTATUS:
		return read_prstatus(core, n->desc);
	case NT_PRPSINFO:
		read_prpsinfo(core, n->desc);
		return NULL;
	case NT_SIGINFO:
		read_siginfo(core, n->desc);
		return NULL;
	case NT_AUXV:
		return read_auxv(core, n->desc);
	case NT_FILE:
		return read_files(core, n->desc);
	default:
		return NULL;
	}
}

/**
 * Read the notes that lie wholly in @b. Its position is then where the next one begins, and its `bad` the
 * field of that one that does not fit.
 */
static struct cs_error *read_window(struct cs_core *core, struct cs_buf *b, size_t align)
{
	for (; core->n_notes < CS_MAX_NOTES; core->n_notes++) {
		const uint8_t *begin = b->pos;
		struct cs_error *err;
		struct note n;

		if (note_next(b, align, &n) != CS_STEP_ITEM) {
			b->pos = begin;
			return NULL;
		}
		err = read_note(core, &n, !core->info.writer);
		if (err && cs_error_code(err) != CS_ERR_LIMIT)
			return err;
		if (!core->limit_said) /* every further note of the kind runs into it again */
			cs_diag_error(core->diags, CS_SEVERITY_ERROR, "core", "note-limit", 0, err);
		else
			cs_error_destroy(err);
		core->limit_said |= err != NULL;
	}
	return NULL;
}

/**
 * Read the notes of @s through a window, for those of thousands of threads are tens of MB, vector registers
 * that nobody asks for above all. The window grows where one note alone does not fit.
 */
static struct cs_error *read_segment(struct cs_core *core, const struct cs_note_segment *s)
{
	uint64_t have = s->offset < core->file->size ? core->file->size - s->offset : 0;
	uint64_t size = CS_MIN(s->size, have), at = 0;
	size_t window = NOTE_WINDOW, got;
	const char *bad = NULL;

	while (at < size) {
		size_t want = (size_t)CS_MIN(size - at, window);
		CS_CLEANUP(cs_freep) uint8_t *bytes = malloc(want);
		struct cs_buf b;
		bool last;

		if (!bytes)
			return &cs_nomem;
		CS_TRY(cs_file_read_some(core->file, s->offset + at, bytes, want, &got));
		b = cs_buf_of(bytes, got);
		CS_TRY(read_window(core, &b, (size_t)s->align));
		if (core->n_notes >= CS_MAX_NOTES)
			break;
		bad = b.bad;
		last = got < want || got == size - at;
		/* Windows begin at notes, which are aligned; padding may lie behind the window's end. */
		at = CS_MIN(size, (at + cs_buf_offset(&b) + s->align - 1) & ~(s->align - 1));
		if (last || (b.pos == b.start && window >= CS_MAX_NOTE_BYTES))
			break;
		if (b.pos == b.start)
			window = CS_MIN(window * 4, CS_MAX_NOTE_BYTES);
	}
	if (core->n_notes >= CS_MAX_NOTES)
		cs_diag(core->diags, CS_SEVERITY_ERROR, "core", "note-limit", 0,
			"more than %lu notes: the rest is not read", CS_MAX_NOTES);
	else if (bad || at < s->size)
		cs_diag(core->diags, CS_SEVERITY_ERROR, "core", "notes-damaged", 0,
			"the notes end early: %s at byte %llu of %llu in the PT_NOTE segment; what came "
			"before it is used", bad ? bad : "the file ends", (unsigned long long)at,
			(unsigned long long)s->size);
	return NULL;
}

/** Sort, and drop what overlaps: the search for an address needs ends that grow as the starts do. */
static void settle_mappings(struct cs_core *core)
{
	size_t kept = 0, overlaps = 0;

	if (core->mappings.n)
		qsort(core->mappings.v, core->mappings.n, sizeof(*core->mappings.v),
		      compare_mappings);
	for (size_t i = 0; i < core->mappings.n; i++) {
		if (kept && core->mappings.v[i].start < core->mappings.v[kept - 1].end)
			overlaps++;
		else
			core->mappings.v[kept++] = core->mappings.v[i];
	}
	core->mappings.n = kept;
	if (overlaps)
		cs_diag(core->diags, CS_SEVERITY_WARNING, "core", "mappings-overlap", 0,
			"note NT_FILE: %zu file mappings overlap others; left out", overlaps);
}

/** Only later notes tell of a pid where NT_PRPSINFO is lost: then the first thread stands for it. */
static void settle_process(struct cs_core *core)
{
	if (!core->info.has_prpsinfo && core->thread_infos.n)
		core->info.pid = core->thread_infos.v[0].tid;
}

struct cs_error *cs_core_read_notes(struct cs_core *core)
{
	core->target.machine = core->arch->machine;
	for (size_t i = 0; i < core->note_segments.n && core->n_notes < CS_MAX_NOTES; i++)
		CS_TRY(read_segment(core, &core->note_segments.v[i]));
	settle_mappings(core);
	settle_process(core);
	return NULL;
}
