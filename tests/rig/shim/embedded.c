/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Runtimes that a library has within itself. PyTorch 1.13.1's libc10_cuda.so,
 * libtorch_python.so and libtorch_cuda_linalg.so were linked with libcudart_static.a, so
 * their calls of the runtime go past every preload. Their symbol tables are there, so
 * each of these functions becomes a jump to the one of the same name here. In the
 * process's memory alone: the files stay as they were released.
 */
#include <dlfcn.h>
#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "embedded.h"
#include "model.h"

#define MAX_DONE 16

/* jmp *0(%rip), and the address that it reads. */
struct jump {
	unsigned char code[6];
	uint64_t target;
} __attribute__((packed));

struct image {
	const unsigned char *bytes;
	size_t size;
	uint64_t base; /* where it is loaded */
	void *self;    /* handle of this library */
	const char *path;
};

static unsigned long long
	seen; /* libraries that were ever loaded when it was last looked */
static uint64_t done[MAX_DONE]; /* base addresses */
static size_t done_count;

static int missing(void)
{
	return RIG_NOT_SUPPORTED;
}

static bool runtime_name(const char *name)
{
	size_t skip = !strncmp(name, "__cuda", 6) ? 6 : !strncmp(name, "cuda", 4) ? 4 : 0;

	return skip && name[skip] >= 'A' && name[skip] <= 'Z';
}

static bool write_jump(uint64_t address, const void *target)
{
	struct jump jump = {.code = {0xff, 0x25, 0, 0, 0, 0},
			    .target = (uint64_t)(uintptr_t)target};
	uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE), first = address & ~(page - 1);
	void *start = (void *)(uintptr_t)first; /* NOLINT */
	size_t length = (address + sizeof(jump) - first + page - 1) & ~(page - 1);

	if (mprotect(start, length, PROT_READ | PROT_WRITE | PROT_EXEC))
		return false;
	memcpy((void *)(uintptr_t)address, &jump, sizeof(jump)); /* NOLINT */
	return !mprotect(start, length, PROT_READ | PROT_EXEC);
}

static void redirect(const struct image *image, const Elf64_Sym *symbol, const char *name)
{
	const void *target = dlsym(image->self, name);

	/* Functions that the rig does not have say so; before, they would look for a GPU.
	 */
	if (!target)
		target = (const void *)(uintptr_t)missing;
	if (symbol->st_size < sizeof(struct jump) ||
	    !write_jump(image->base + symbol->st_value, target))
		fprintf(stderr, "rig: %s: %s cannot be replaced (%llu bytes)\n",
			image->path, name, (unsigned long long)symbol->st_size);
}

/* A section's bytes; NULL: not within the file. */
static const void *section(const struct image *image, const Elf64_Shdr *header)
{
	if (header->sh_offset > image->size ||
	    header->sh_size > image->size - header->sh_offset)
		return NULL;
	return image->bytes + header->sh_offset;
}

static void redirect_all(const struct image *image, const Elf64_Sym *symbols,
			 size_t count, const char *names, size_t names_size)
{
	for (size_t i = 0; i < count; i++) {
		const Elf64_Sym *s = &symbols[i];

		if (ELF64_ST_TYPE(s->st_info) != STT_FUNC ||
		    ELF64_ST_BIND(s->st_info) != STB_LOCAL || !s->st_value ||
		    s->st_name >= names_size || !runtime_name(names + s->st_name))
			continue;
		redirect(image, s, names + s->st_name);
	}
}

/* Is there a runtime in it? One of its functions says so. */
static bool embeds(const Elf64_Sym *symbols, size_t count, const char *names,
		   size_t names_size)
{
	for (size_t i = 0; i < count; i++)
		if (ELF64_ST_BIND(symbols[i].st_info) == STB_LOCAL &&
		    symbols[i].st_value && symbols[i].st_name < names_size &&
		    !strcmp(names + symbols[i].st_name, "cudaGetDeviceCount"))
			return true;
	return false;
}

static void read_symbols(const struct image *image)
{
	const Elf64_Ehdr *header = (const void *)image->bytes;
	const Elf64_Shdr *sections;

	if (image->size < sizeof(*header) || memcmp(header->e_ident, ELFMAG, SELFMAG) ||
	    header->e_shoff > image->size ||
	    (uint64_t)header->e_shnum * sizeof(*sections) > image->size - header->e_shoff)
		return;
	sections = (const void *)(image->bytes + header->e_shoff);
	for (size_t i = 0; i < header->e_shnum; i++) {
		const Elf64_Shdr *s = &sections[i], *n;
		const void *symbols;
		const char *names;

		if (s->sh_type != SHT_SYMTAB || s->sh_link >= header->e_shnum)
			continue;
		n = &sections[s->sh_link];
		symbols = section(image, s);
		names = section(image, n);
		if (symbols && names && n->sh_size && !names[n->sh_size - 1] &&
		    embeds(symbols, s->sh_size / sizeof(Elf64_Sym), names, n->sh_size))
			redirect_all(image, symbols, s->sh_size / sizeof(Elf64_Sym),
				     names, n->sh_size);
	}
}

static void read_library(const char *path, uint64_t base, void *self)
{
	struct image image = {.base = base, .self = self, .path = path};
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct stat st;
	void *map;

	if (fd < 0)
		return;
	if (!fstat(fd, &st) && st.st_size > 0) {
		image.size = (size_t)st.st_size;
		map = mmap(NULL, image.size, PROT_READ, MAP_PRIVATE, fd, 0);
		if (map != MAP_FAILED) {
			image.bytes = map;
			read_symbols(&image);
			munmap(map, image.size);
		}
	}
	close(fd);
}

/* Libraries of PyTorch's by their names: the others, of which there are many, need not be
 * opened. */
static int visit(struct dl_phdr_info *info, size_t size, void *self)
{
	const char *slash = strrchr(info->dlpi_name, '/');

	(void)size;
	seen = info->dlpi_adds;
	if (!slash || (!strstr(slash, "torch") && !strstr(slash, "c10")))
		return 0;
	for (size_t i = 0; i < done_count; i++)
		if (done[i] == info->dlpi_addr)
			return 0;
	if (done_count == MAX_DONE)
		return 1;
	done[done_count++] = info->dlpi_addr;
	read_library(info->dlpi_name, info->dlpi_addr, self);
	return 0;
}

static int adds(struct dl_phdr_info *info, size_t size, void *ret)
{
	(void)size;
	*(unsigned long long *)ret = info->dlpi_adds;
	return 1;
}

void embedded_replace(void)
{
	unsigned long long now = 0;
	Dl_info info;
	void *self;

	if (rig_cuda_version() >= 12000)
		return;
	dl_iterate_phdr(adds, &now);
	if (now == seen || !dladdr((void *)(uintptr_t)embedded_replace, &info))
		return;
	self = dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
	if (!self)
		return;
	dl_iterate_phdr(visit, self);
	dlclose(self);
}
