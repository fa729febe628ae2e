/* SPDX-License-Identifier: GPL-3.0-or-later */
/* ELF headers, notes, sections and paths whose fields lie. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>

#include <cmocka.h>

#include "elf_fixture.h"

#include "symbols/tables.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define PAGE 4096UL
#define AT 0x7f1200000000UL

/** A small well-formed image: header, one PT_LOAD, one PT_NOTE with a build id, a section table. */
struct image {
	Elf64_Ehdr ehdr;
	Elf64_Phdr phdrs[2];
	struct {
		Elf64_Nhdr head;
		char name[4];
		uint8_t desc[20];
	} note;
	Elf64_Shdr sections[3];
	char names[32];
};

static struct image good_image(void)
{
	struct image i = {
		.ehdr = {.e_ident = {0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, EV_CURRENT},
			 .e_type = ET_DYN, .e_machine = EM_X86_64, .e_version = EV_CURRENT,
			 .e_phoff = offsetof(struct image, phdrs), .e_ehsize = sizeof(Elf64_Ehdr),
			 .e_phentsize = sizeof(Elf64_Phdr), .e_phnum = 2,
			 .e_shoff = offsetof(struct image, sections),
			 .e_shentsize = sizeof(Elf64_Shdr), .e_shnum = 3, .e_shstrndx = 2},
		.phdrs = {{.p_type = PT_LOAD, .p_flags = PF_R | PF_X, .p_filesz = sizeof(i),
			   .p_memsz = 0x1800, .p_align = PAGE},
			  {.p_type = PT_NOTE, .p_offset = offsetof(struct image, note),
			   .p_vaddr = offsetof(struct image, note), .p_filesz = sizeof(i.note),
			   .p_memsz = sizeof(i.note), .p_align = 4}},
		.note = {{4, 20, NT_GNU_BUILD_ID}, "GNU", {0xab, 0xcd, 1, 2, 3}},
		.sections = {{0},
			     {.sh_name = 1, .sh_type = SHT_PROGBITS, .sh_offset = 64, .sh_size = 8},
			     {.sh_name = 7, .sh_type = SHT_STRTAB,
			      .sh_offset = offsetof(struct image, names), .sh_size = 17}},
		.names = "\0.hello\0.shstrtab",
	};
	return i;
}

static struct cs_file *file_of(const void *bytes, size_t n)
{
	int fd = memfd_create("image", MFD_CLOEXEC);
	struct cs_file *file = NULL;

	assert_true(fd >= 0);
	assert_int_equal(write(fd, bytes, n), (ssize_t)n);
	assert_null(cs_file_from_fd(fd, "image", &file));
	return file;
}

/** Read the head of @n bytes both ways; both must agree that it is good or bad. */
static bool head_is_good(const void *bytes, size_t n, struct cs_elf_head *ret)
{
	struct fake_target *target = fake_create(EM_X86_64);
	struct cs_file *file = file_of(bytes, n);
	struct cs_elf_head of_file = {0}, of_memory = {0};
	struct cs_mem *mem = NULL;
	uint64_t bias = 0;
	bool good, good_memory;

	if (n)
		fake_map(target, AT, bytes, n, CS_PROT_READ);
	assert_null(cs_mem_create(fake_cs(target), &mem));
	good = cs_ok(cs_elf_head_of_file(file, PAGE, &of_file));
	good_memory = cs_ok(cs_elf_head_of_memory(mem, AT, PAGE, &of_memory, &bias));
	assert_int_equal(good, good_memory);
	if (good) {
		assert_int_equal(bias, AT);
		assert_true(cs_elf_head_same_layout(&of_file, &of_memory));
		assert_int_equal(of_file.id_state, of_memory.id_state);
	}
	cs_elf_head_deinit(&of_memory);
	cs_mem_destroy(mem);
	fake_destroy(target);
	cs_file_close(file);
	if (ret)
		*ret = of_file;
	else
		cs_elf_head_deinit(&of_file);
	return good;
}

static void test_good_head(void **state)
{
	struct image i = good_image();
	char text[2 * CS_MAX_BUILD_ID + 1];
	struct cs_elf_head h;

	(void)state;
	assert_true(head_is_good(&i, sizeof(i), &h));
	assert_int_equal(h.id_state, CS_ID_PRESENT);
	cs_elf_head_id_text(&h, text);
	assert_string_equal(text, "abcd010203000000000000000000000000000000");
	assert_int_equal(h.low, 0);
	assert_int_equal(h.high, 0x2000);
	assert_non_null(cs_elf_head_load(&h, PAGE, 0x1fff));
	assert_null(cs_elf_head_load(&h, PAGE, 0x2000));
	assert_null(cs_elf_head_segment(&h, PT_DYNAMIC));
	cs_elf_head_deinit(&h);
}

static void test_bad_cut_off(void **state)
{
	struct image i = good_image();
	size_t n, need = offsetof(struct image, note);

	(void)state;
	for (n = 0; n < sizeof(i); n++)
		assert_int_equal(head_is_good(&i, n, NULL), n >= need);
}

static void test_partial_note_cut_off(void **state)
{
	struct image i = good_image();
	struct cs_elf_head h;

	(void)state;
	/* The note was not saved: not the same as a module that has none. */
	assert_true(head_is_good(&i, offsetof(struct image, note) + 8, &h));
	assert_int_equal(h.id_state, CS_ID_UNKNOWN);
	cs_elf_head_deinit(&h);
	i.phdrs[1].p_type = PT_NULL;
	assert_true(head_is_good(&i, sizeof(i), &h));
	assert_int_equal(h.id_state, CS_ID_NONE);
	cs_elf_head_deinit(&h);
}

#define BAD(change)                                                                      \
	do {                                                                             \
		struct image i = good_image();                                           \
		change;                                                                  \
		assert_false(head_is_good(&i, sizeof(i), NULL));                         \
	} while (0)

static void test_bad_fields(void **state)
{
	(void)state;
	BAD(i.ehdr.e_ident[0] = 'x');
	BAD(i.ehdr.e_ident[EI_CLASS] = ELFCLASS32);
	BAD(i.ehdr.e_ident[EI_DATA] = ELFDATA2MSB);
	BAD(i.ehdr.e_type = ET_CORE);
	BAD(i.ehdr.e_phentsize = 32);
	BAD(i.ehdr.e_phnum = 0);
	BAD(i.ehdr.e_phnum = 0xffff);
	BAD(i.ehdr.e_phoff = UINT64_MAX);
	BAD(i.ehdr.e_phoff = UINT64_MAX - sizeof(i.phdrs) + 1);
	BAD(i.phdrs[0].p_type = PT_NULL);
	BAD(i.phdrs[0].p_memsz = UINT64_MAX);
	BAD(i.phdrs[0].p_vaddr = UINT64_MAX - 64);
	BAD(i.phdrs[0].p_filesz = i.phdrs[0].p_memsz + 1);
}

static void test_bad_notes(void **state)
{
	struct image i = good_image();
	struct cs_elf_head h;

	(void)state;
	i.note.head.n_namesz = UINT32_MAX;
	assert_true(head_is_good(&i, sizeof(i), &h));
	assert_int_not_equal(h.id_state, CS_ID_PRESENT);
	cs_elf_head_deinit(&h);
	i = good_image();
	i.note.head.n_descsz = 21;
	assert_true(head_is_good(&i, sizeof(i), &h));
	assert_int_not_equal(h.id_state, CS_ID_PRESENT);
	cs_elf_head_deinit(&h);
	i = good_image();
	i.phdrs[1].p_filesz = UINT64_MAX;
	assert_true(head_is_good(&i, sizeof(i), &h));
	assert_int_equal(h.id_state, CS_ID_UNKNOWN);
	cs_elf_head_deinit(&h);
}

static void test_sections(void **state)
{
	struct image i = good_image();
	struct cs_bytes from = {.data = (const uint8_t *)&i, .size = sizeof(i)};
	struct cs_sections s;

	(void)state;
	cs_sections_read(&from, &s);
	assert_int_equal(s.n, 3);
	assert_ptr_equal(cs_sections_named(&s, ".hello"), &s.v[1]);
	assert_null(cs_sections_named(&s, ".hell"));
	assert_null(cs_sections_named(&s, "hello.but.longer.than.any.name.in.there"));
	assert_ptr_equal(cs_sections_typed(&s, SHT_STRTAB), &s.v[2]);
	cs_sections_deinit(&s);
	/* Counts that do not fit 16 bits are in section 0. */
	i.ehdr.e_shnum = 0;
	i.ehdr.e_shstrndx = SHN_XINDEX;
	i.sections[0].sh_size = 3;
	i.sections[0].sh_link = 2;
	cs_sections_read(&from, &s);
	assert_ptr_equal(cs_sections_named(&s, ".hello"), &s.v[1]);
	cs_sections_deinit(&s);
	/* Lies: a table that is too long, that ends outside, that lies nowhere. */
	i.sections[0].sh_size = UINT64_MAX;
	cs_sections_read(&from, &s);
	assert_int_equal(s.n, 0);
	cs_sections_deinit(&s);
	i.sections[0].sh_size = 60000;
	cs_sections_read(&from, &s);
	assert_true(s.n >= 3 && s.n < 5);
	cs_sections_deinit(&s);
	i.ehdr.e_shoff = UINT64_MAX - 4;
	cs_sections_read(&from, &s);
	assert_int_equal(s.n, 0);
	cs_sections_deinit(&s);
}

static void test_strings(void **state)
{
	static char text[CS_MAX_MANGLED * 2];
	struct cs_bytes from = {.data = (const uint8_t *)text, .size = sizeof(text)};
	char *s;

	(void)state;
	memset(text, 'a', sizeof(text));
	assert_null(cs_bytes_string(&from, 0, sizeof(text)));
	text[5000] = 0;
	s = cs_bytes_string(&from, 0, sizeof(text));
	assert_int_equal(strlen(s), 5000);
	free(s);
	assert_null(cs_bytes_string(&from, 0, 5000));
	assert_null(cs_bytes_string(&from, sizeof(text), 100));
	assert_null(cs_bytes_string(&from, UINT64_MAX, 100));
	text[0] = 0;
	s = cs_bytes_string(&from, 0, 1);
	assert_string_equal(s, "");
	free(s);
}

/** Symbols that cover everything, in a table whose size lies. */
static void test_bad_symbols(void **state)
{
	Elf64_Sym raw[4] = {{0},
			    {.st_name = 1, .st_info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC),
			     .st_shndx = 1, .st_value = 1, .st_size = UINT64_MAX},
			    {.st_name = UINT32_MAX, .st_info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC),
			     .st_shndx = 1, .st_value = UINT64_MAX, .st_size = UINT64_MAX},
			    {.st_name = 1, .st_info = ELF64_ST_INFO(STB_LOCAL, STT_OBJECT),
			     .st_shndx = 1, .st_value = 50, .st_size = 100}};
	struct cs_sym_tables tables = {
		.v = {{.from = {.data = (const uint8_t *)raw, .size = sizeof(raw)},
		       .n_symbols = CS_MAX_SYMBOLS - 1}},
		.n = 1,
	};
	struct cs_sym_query queries[3] = {{.vaddr = 0}, {.vaddr = 60}, {.vaddr = UINT64_MAX}};
	struct cs_sym sym;

	(void)state;
	assert_true(cs_sym_pass(&tables, 0, queries, 3));
	assert_int_equal(queries[0].inside_table, 0);
	assert_int_equal(queries[0].before_table, 0);
	assert_int_equal(queries[1].inside_table, 1);
	assert_int_equal(queries[1].inside.value, 1);
	assert_int_equal(queries[2].inside.value, UINT64_MAX);
	assert_false(cs_sym_by_name(&tables.v[0], "x", &sym));
}

/** Hash tables without buckets, without an end, and with a chain that leads outside. */
static void test_bad_hash(void **state)
{
	struct fixture *fx = *state;
	uint32_t head[4] = {1, 1, 1, 5};
	struct image i = good_image();
	Elf64_Dyn dynamic[5] = {{DT_SYMTAB, {0x400}}, {DT_STRTAB, {0x500}}, {DT_STRSZ, {0x100}},
				{DT_GNU_HASH, {0x600}}, {DT_NULL, {0}}};
	uint8_t page[2 * PAGE] = {0};
	uint64_t addr;

	i.phdrs[1] = (Elf64_Phdr){.p_type = PT_DYNAMIC, .p_vaddr = 0x800, .p_memsz = sizeof(dynamic)};
	i.phdrs[0].p_filesz = i.phdrs[0].p_memsz = sizeof(page);
	memcpy(page, &i, sizeof(i));
	memcpy(page + 0x800, dynamic, sizeof(dynamic));
	memcpy(page + 0x600, head, sizeof(head));
	memset(page + 0x610, 0xff, 8); /* bloom: all */
	memset(page + 0x618, 0x01, 4); /* bucket: far outside */
	fake_map(fx->target, AT, page, sizeof(page), CS_PROT_READ | CS_PROT_EXEC);
	fixture_auxv(fx, AT_SYSINFO_EHDR, AT);
	fixture_modules(fx, NULL);
	assert_false(cs_mod_symbol(cs_modules_at(fx->modules, 0), "name", &addr, NULL));
	fixture_restart(fx);
	head[0] = 0; /* no buckets */
	memcpy(page + 0x600, head, sizeof(head));
	fake_map(fx->target, AT, page, sizeof(page), CS_PROT_READ | CS_PROT_EXEC);
	fixture_auxv(fx, AT_SYSINFO_EHDR, AT);
	fixture_modules(fx, NULL);
	assert_false(cs_mod_symbol(cs_modules_at(fx->modules, 0), "name", &addr, NULL));
}

/** Without openat2(2): links stay inside the root, and loops end. */
static void test_resolve_in_root(void **state)
{
	struct fixture *fx = *state;
	char inside[CS_MAX_PATH];
	struct cs_error *err;
	int root;

	fixture_run(fx, "mkdir -p root/usr/lib && touch root/usr/lib/x && ln -s /usr/lib root/lib && "
			"ln -s ../../../../../usr/lib/x root/usr/up && ln -s b root/a && ln -s a root/b");
	root = open(fixture_path(fx, "root"), O_PATH | O_DIRECTORY);
	assert_true(root >= 0);
	assert_null(cs_resolve_in_root(root, "/lib/x", inside));
	assert_string_equal(inside, "usr/lib/x");
	assert_null(cs_resolve_in_root(root, "//lib/./../lib/x", inside));
	assert_string_equal(inside, "usr/lib/x");
	assert_null(cs_resolve_in_root(root, "/usr/up", inside));
	assert_string_equal(inside, "usr/lib/x");
	assert_null(cs_resolve_in_root(root, "/../../..", inside));
	assert_string_equal(inside, "");
	err = cs_resolve_in_root(root, "/a/x", inside);
	assert_int_equal(cs_error_errno(err), ELOOP);
	cs_error_destroy(err);
	err = cs_resolve_in_root(root, "/nowhere/x", inside);
	assert_int_equal(cs_error_errno(err), ENOENT);
	cs_error_destroy(err);
	close(root);
}

#define CASE(test) cmocka_unit_test_setup_teardown(test, fixture_setup, fixture_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_good_head),    cmocka_unit_test(test_bad_cut_off),
		cmocka_unit_test(test_partial_note_cut_off),
		cmocka_unit_test(test_bad_fields),   cmocka_unit_test(test_bad_notes),
		cmocka_unit_test(test_sections),     cmocka_unit_test(test_strings),
		cmocka_unit_test(test_bad_symbols),  CASE(test_bad_hash),
		CASE(test_resolve_in_root),
	};

	return cmocka_run_group_tests_name("elf", tests, NULL, NULL);
}
