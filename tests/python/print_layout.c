/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Prints what the Python layer takes a version's layout to be, "name offset" a line, for test_layout.py.
 *
 *	print_layout table VERSION_HEX FREE_THREADED MACHINE
 *	print_layout dwarf VERSION_HEX FREE_THREADED FILE
 */
#include "python/layout.h"

#include <elf.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static double milliseconds(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

static bool override_from(const char *path, struct cs_py_layout *layout)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	double start = milliseconds();
	bool enough;
	Elf *elf;

	if (fd < 0)
		return false;
	elf_version(EV_CURRENT);
	elf = elf_begin(fd, ELF_C_READ_MMAP, NULL);
	enough = elf && cs_py_layout_dwarf(elf, layout);
	fprintf(stderr, "%s: %.1f ms\n", path, milliseconds() - start);
	elf_end(elf);
	close(fd);
	return enough;
}

int main(int argc, char **argv)
{
	struct cs_py_layout layout;
	uint16_t machine = EM_X86_64;

	if (argc != 5)
		return 2;
	if (!strcmp(argv[4], "aarch64"))
		machine = EM_AARCH64;
	if (!cs_py_layout_table((uint32_t)strtoul(argv[2], NULL, 16), atoi(argv[3]), machine,
				&layout))
		return 3;
	if (!strcmp(argv[1], "dwarf"))
		printf("enough %d\n", override_from(argv[4], &layout));
	for (size_t i = 0; i < cs_py_n_fields; i++)
		printf("%s %d\n", cs_py_fields[i].name,
		       *(const int32_t *)(const void *)((const char *)&layout +
							cs_py_fields[i].position));
	return 0;
}
