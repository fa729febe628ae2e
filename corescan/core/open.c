/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Opening a core and serving it as a target. Knows the order in which its parts are read; each part is
 * in a file of its own.
 */
#include "core/internal.h"

#include <elf.h>
#include <signal.h>
#include <string.h>

static struct cs_core *core_of(struct cs_target *target)
{
	return (struct cs_core *)target; /* the target is the first member */
}

static struct cs_error *core_read(struct cs_target *target, const struct cs_region *region,
				  uint64_t addr, void *buf, size_t len)
{
	return cs_file_read(core_of(target)->file, region->source + (addr - region->start), buf,
			    len);
}

static struct cs_error *core_registers(struct cs_target *target, size_t index,
				       struct cs_regs *ret)
{
	struct cs_core *core = core_of(target);

	if (index >= core->threads.n)
		return &cs_not_found;
	if (!core->threads.v[index].has_regs)
		return cs_error_new(CS_ERR_FORMAT,
				    "registers of thread %d: its NT_PRSTATUS note is too short",
				    core->thread_infos.v[index].tid);
	*ret = core->threads.v[index].regs;
	return NULL;
}

static void core_destroy(struct cs_target *target)
{
	cs_core_close(core_of(target));
}

static const struct cs_target_ops core_ops = {
	.read = core_read,
	.registers = core_registers,
	.destroy = core_destroy,
};

void cs_core_close(struct cs_core *core)
{
	if (!core)
		return;
	cs_file_close(core->file);
	free(core->regions.v);
	free(core->note_segments.v);
	free(core->mappings.v);
	free(core->thread_infos.v);
	free(core->threads.v);
	free(core->auxv.v);
	free(core->mapping_names);
	free(core);
}

/** Signals with which a debugger or a job control shell stops a process that has not crashed. */
static bool is_stop_signal(int signo)
{
	return signo == SIGTRAP || signo == SIGSTOP || signo == SIGTSTP || signo == SIGINT ||
	       signo == SIGTTIN || signo == SIGTTOU || signo == SIGCHLD;
}

/**
 * The kernel and gdb both write the thread that took the signal first, and put that signal into the
 * notes of all threads (linux: fs/binfmt_elf.c, fill_thread_core_info; gdb: linux-tdep.c).
 */
static void find_crashed(struct cs_core *core)
{
	const char *writer = core->info.writer;
	int signo;

	core->info.crashed_thread = core->threads.n;
	for (size_t i = 1; i < core->thread_infos.n; i++)
		core->thread_infos.v[i].signal = 0;
	if (!core->threads.n)
		return;
	if (core->threads.v[0].siginfo.present && core->threads.v[0].siginfo.signo)
		core->thread_infos.v[0].signal = core->threads.v[0].siginfo.signo;
	signo = core->thread_infos.v[0].signal;
	if (signo > 0 && !(writer && !strcmp(writer, "gdb") && is_stop_signal(signo)))
		core->info.crashed_thread = 0;
}

static void check_complete(struct cs_core *core)
{
	struct cs_core_info *info = &core->info;

	info->complete = info->expected_bytes <= core->file->size;
	if (info->complete)
		return;
	cs_diag(core->diags, CS_SEVERITY_ERROR, "core", "core-truncated", 0,
		"the core is cut off: its headers ask for %llu bytes, %llu are there (%llu are "
		"missing); check free disk space, ulimit -c and the core handler's size limits "
		"(corescan doctor)",
		(unsigned long long)info->expected_bytes, (unsigned long long)core->file->size,
		(unsigned long long)(info->expected_bytes - core->file->size));
}

static void publish(struct cs_core *core)
{
	struct cs_target *t = &core->target;
	uint64_t page;

	t->ops = &core_ops;
	t->kind = "core";
	t->machine = core->arch->machine;
	t->regions = core->regions.v;
	t->n_regions = core->regions.n;
	t->mappings = core->mappings.v;
	t->n_mappings = core->mappings.n;
	t->threads = core->thread_infos.v;
	t->n_threads = core->thread_infos.n;
	if (!t->page_size)
		t->page_size = 4096;
	if (cs_core_auxv(core, AT_PAGESZ, &page) && page >= 4096 && page <= 65536 &&
	    !(page & (page - 1)))
		t->page_size = page;
}

struct cs_error *cs_core_open(const char *path, const struct cs_core_options *options,
			      struct cs_diags *diags, struct cs_core **ret)
{
	CS_CLEANUP(cs_core_closep) struct cs_core *core = calloc(1, sizeof(*core));

	if (!core)
		return &cs_nomem;
	core->diags = diags;
	core->info.uid = core->info.gid = -1;
	CS_TRY(cs_core_unpack(core, path, options));
	CS_TRY(cs_core_read_headers(core));
	CS_TRY(cs_core_read_notes(core));
	if (!core->threads.n && !core->regions.n)
		return cs_error_new(CS_ERR_FORMAT,
				    "%s: is a core without threads and without memory: it is cut off "
				    "within its first headers; get a complete copy",
				    path);
	if (!core->threads.n)
		cs_diag(diags, CS_SEVERITY_ERROR, "core", "no-threads", 0,
			"the core has no thread (no readable NT_PRSTATUS note): it was cut off in its "
			"notes or written by a tool that saves none");
	find_crashed(core);
	check_complete(core);
	publish(core);
	*ret = CS_TAKE(core);
	return NULL;
}

struct cs_target *cs_core_target(struct cs_core *core)
{
	return &core->target;
}

const struct cs_core_info *cs_core_info(const struct cs_core *core)
{
	return &core->info;
}

const struct cs_arch *cs_core_arch(const struct cs_core *core)
{
	return core->arch;
}

const struct cs_siginfo *cs_core_siginfo(const struct cs_core *core, size_t index)
{
	static const struct cs_siginfo none = {.sender_pid = -1, .sender_uid = -1};

	return index < core->threads.n ? &core->threads.v[index].siginfo : &none;
}

bool cs_core_auxv(const struct cs_core *core, uint64_t type, uint64_t *ret)
{
	for (size_t i = 0; i < core->auxv.n; i++) {
		if (core->auxv.v[i].type == type) {
			*ret = core->auxv.v[i].value;
			return true;
		}
	}
	return false;
}
