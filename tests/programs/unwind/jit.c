/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Code that no table describes: a compiler's output at run time. `jit frame` keeps frame pointers, `jit
 * bare` does not. The made code calls jit_callee(), which dies.
 */
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#define NOINLINE __attribute__((noinline, noclone))

volatile int sink;
int *volatile null_pointer;

NOINLINE static void jit_callee(void)
{
	*null_pointer = 1;
	sink++;
}

typedef void made(void);

#if defined(__x86_64__)
/* push rbp; mov rbp, rsp; sub rsp, 32; mov rax, imm64; call rax; leave; ret */
static const uint8_t framed[] = {0x55, 0x48, 0x89, 0xe5, 0x48, 0x83, 0xec, 0x20, 0x48, 0xb8, 0, 0,
				 0,    0,    0,	   0,	 0,    0,    0xff, 0xd0, 0xc9, 0xc3};
/* sub rsp, 40; mov rax, imm64; call rax; add rsp, 40; ret */
static const uint8_t bare[] = {0x48, 0x83, 0xec, 0x28, 0x48, 0xb8, 0,	 0,    0,    0,	   0,
			       0,    0,	   0,	 0xff, 0xd0, 0x48, 0x83, 0xc4, 0x28, 0xc3};
#define FRAMED_AT 10
#define BARE_AT 6
#else
#error "no code for this machine"
#endif

static made *make(const uint8_t *code, size_t len, size_t callee_at)
{
	uint8_t *p = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	void (*callee)(void) = jit_callee;
	made *fn;

	memcpy(p, code, len);
	memcpy(p + callee_at, &callee, sizeof(callee));
	mprotect(p, 4096, PROT_READ | PROT_EXEC);
	memcpy(&fn, &p, sizeof(fn));
	return fn;
}

NOINLINE static void jit_caller(made *fn)
{
	fn();
	sink++;
}

int main(int argc, char **argv)
{
	if (argc == 2 && strcmp(argv[1], "frame") == 0)
		jit_caller(make(framed, sizeof(framed), FRAMED_AT));
	else if (argc == 2 && strcmp(argv[1], "bare") == 0)
		jit_caller(make(bare, sizeof(bare), BARE_AT));
	fprintf(stderr, "usage: jit frame|bare\n");
	return 2;
}
