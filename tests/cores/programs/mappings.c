/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * mappings COUNT: a process with at least COUNT mappings, and then abort(). Neighbours differ in
 * their protection, or the kernel would merge them.
 */
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

int main(int argc, char **argv)
{
	size_t count = argc > 1 ? strtoul(argv[1], NULL, 10) : 1000;
	const size_t page = 4096;
	char *area = mmap(NULL, count * page, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE,
			  -1, 0);

	if (area == MAP_FAILED)
		return 2;
	for (size_t i = 0; i < count; i += 2)
		if (mprotect(area + i * page, page, PROT_NONE)) {
			perror("mappings: mprotect");
			return 2;
		}
	abort();
}
