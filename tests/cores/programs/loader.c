/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * loader LIBRARY [memfd] [remove FILE]...: loads a library, from its path or from a copy in memory,
 * removes files while they are mapped, and calls the library's entry, which dies.
 */
#include <dlfcn.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static int copy_to_memory(const char *path)
{
	static char block[65536];
	int from = open(path, O_RDONLY | O_CLOEXEC);
	int to = memfd_create("plugin in memory", MFD_CLOEXEC);
	ssize_t n;

	while ((n = read(from, block, sizeof(block))) > 0)
		if (write(to, block, (size_t)n) != n)
			exit(2);
	close(from);
	return to;
}

int main(int argc, char **argv)
{
	char path[4096];
	int (*entry)(int);
	void *library;
	int i = 2;

	if (argc < 2)
		return 2;
	snprintf(path, sizeof(path), "%s", argv[1]);
	if (argc > 2 && !strcmp(argv[2], "memfd")) {
		snprintf(path, sizeof(path), "/proc/self/fd/%d", copy_to_memory(argv[1]));
		i++;
	}
	library = dlopen(path, RTLD_NOW);
	entry = library ? (int (*)(int))dlsym(library, "plugin_entry") : NULL;
	if (!entry) {
		fprintf(stderr, "loader: %s\n", dlerror());
		return 2;
	}
	for (; i + 1 < argc && !strcmp(argv[i], "remove"); i += 2)
		unlink(argv[i + 1]);
	return entry(argc);
}
