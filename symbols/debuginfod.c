/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Files by build id from the servers in DEBUGINFOD_URLS, only if the user asked for it. Knows the four
 * functions of libdebuginfod that it loads at run time; everything else works without that library.
 */
#include "symbols/mod.h"

#include <dlfcn.h>
#include <unistd.h>

/* elfutils: debuginfod/debuginfod.h; the interface is stable (ELFUTILS_0.178). */
typedef void *begin_fn(void);
typedef int find_fn(void *client, const unsigned char *id, int id_len, char **path);
typedef void end_fn(void *client);

struct cs_debuginfod {
	void *library;
	void *client;
	find_fn *find_executable, *find_debuginfo;
	end_fn *end;
};

void cs_debuginfod_end(struct cs_debuginfod *client)
{
	if (!client)
		return;
	if (client->client)
		client->end(client->client);
	if (client->library)
		dlclose(client->library);
	free(client);
}

CS_DEFINE_CLEANUP(struct cs_debuginfod *, cs_debuginfod_end)

static struct cs_debuginfod *client_create(void)
{
	CS_CLEANUP(cs_debuginfod_endp) struct cs_debuginfod *c = calloc(1, sizeof(*c));
	begin_fn *begin;

	if (!c)
		return NULL;
	/* It brings libcurl and TLS libraries, whose global state does not survive being unloaded. */
	c->library = dlopen("libdebuginfod.so.1", RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
	if (!c->library)
		return NULL;
	begin = (begin_fn *)dlsym(c->library, "debuginfod_begin");
	c->find_executable = (find_fn *)dlsym(c->library, "debuginfod_find_executable");
	c->find_debuginfo = (find_fn *)dlsym(c->library, "debuginfod_find_debuginfo");
	c->end = (end_fn *)dlsym(c->library, "debuginfod_end");
	if (!begin || !c->find_executable || !c->find_debuginfo || !c->end)
		return NULL;
	c->client = begin();
	return c->client ? CS_TAKE(c) : NULL;
}

const char *cs_debuginfod_find(struct cs_modules *ms, const struct cs_mod *mod, bool debug)
{
	CS_CLEANUP(cs_freep) char *path = NULL;
	find_fn *find;
	int fd;

	if (!ms->options.debuginfod || mod->head.id_state != CS_ID_PRESENT)
		return NULL;
	if (!ms->debuginfod)
		ms->debuginfod = client_create();
	if (!ms->debuginfod) {
		ms->options.debuginfod = false;
		cs_diag(ms->diags, CS_SEVERITY_WARNING, "symbols", "debuginfod-missing", 0,
			"--debuginfod: libdebuginfod.so.1 cannot be loaded; install it "
			"(Debian: libdebuginfod1) or leave the option out");
		return NULL;
	}
	find = debug ? ms->debuginfod->find_debuginfo : ms->debuginfod->find_executable;
	fd = find(ms->debuginfod->client, mod->head.id, (int)mod->head.id_len, &path);
	if (fd < 0)
		return NULL;
	close(fd);
	return path ? cs_arena_strdup(ms->arena, path) : NULL;
}
