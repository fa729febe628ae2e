/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Demangling and short names. Expected texts are those of c++filt and gdb; the hostile
 * names are ones on which c++filt 2.40 runs for minutes or prints megabytes.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/limits.h"
#include "symbols/demangle.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

static int setup(void **state)
{
	*state = cs_arena_create(64UL << 20);
	return *state ? 0 : -1;
}

static int teardown(void **state)
{
	cs_arena_destroy(*state);
	return 0;
}

struct pair {
	const char *in, *out;
};

static void names_read_as_in_gdb(void **state)
{
	static const struct pair pairs[] = {
		{"main", "main"},
		{"_Z1fv", "f()"},
		{"_Z3fooi.cold", "foo(int) [clone .cold]"},
		{"_Z3fooi.constprop.0.isra.0",
		 "foo(int) [clone .constprop.0] [clone .isra.0]"},
		{"PyEval_EvalFrame.part.1", "PyEval_EvalFrame.part.1"},
		{"malloc@@GLIBC_2.2.5", "malloc"},
		{"_Z1fi@VERS_1", "f(int)"},
		{"_ZNSt6vectorIiSaIiEE9push_backERKi",
		 "std::vector<int, std::allocator<int> >::push_back(int const&)"},
		/* the standard abbreviations are spelt out */
		{"_ZlsRSoi",
		 "operator<<(std::basic_ostream<char, std::char_traits<char> >&, int)"},
		{"_Z5printIiEvT_", "void print<int>(int)"},
		{"_ZN12_GLOBAL__N_11gEv", "(anonymous namespace)::g()"},
		{"_ZZ4mainENKUliE_clEi", "main::{lambda(int)#1}::operator()(int) const"},
		{"_ZN4core3fmt5Write9write_fmt17h0123456789abcdefE",
		 "core::fmt::Write::write_fmt"},
		{"_RNvC6_123foo3bar", "123foo::bar"},
		{"_RINvNtC3std3mem8align_ofjE", "std::mem::align_of::<usize>"},
		{"_Znwm", "operator new(unsigned long)"},
		{"_Z", "_Z"},
		{"_R", "_R"},
		{"", ""},
		{"@", "@"},
		{"_Zbroken", "_Zbroken"},
	};

	for (size_t i = 0; i < sizeof(pairs) / sizeof(*pairs); i++)
		assert_string_equal(cs_demangle(*state, pairs[i].in), pairs[i].out);
}

static void names_are_interned_and_valid_utf8(void **state)
{
	const char *a = cs_demangle(*state, "_Z1fv"), *b = cs_demangle(*state, "_Z1fv");

	assert_ptr_equal(a, b);
	assert_string_equal(cs_demangle(*state, "bad\xff"), "bad\xef\xbf\xbd");
}

static double milliseconds(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec * 1e3 + (double)ts.tv_nsec / 1e6;
}

/** "S_", "S0_", ..., "SZ_", "S10_": the Itanium ABI's name for substitution @n. */
static void substitution(unsigned n, char *out)
{
	static const char digits[] = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ";

	if (n == 0)
		strcpy(out, "S_");
	else if (n <= 36)
		sprintf(out, "S%c_", digits[n - 1]);
	else
		sprintf(out, "S%c%c_", digits[(n - 1) / 36], digits[(n - 1) % 36]);
}

/** @prefix and a function type in which every level has the one below twice: 2^levels
 * nodes. */
static char *doubling(const char *prefix, unsigned levels, unsigned first)
{
	char *text = calloc(1, 4096), sub[8];

	assert_non_null(text);
	strcpy(text, prefix);
	for (unsigned i = 0; i < levels; i++)
		strcat(text, "Fv");
	strcat(text, "Pi");
	for (unsigned i = 0; i < levels; i++) {
		substitution(i + first, sub);
		strcat(text, sub);
		strcat(text, "E");
	}
	return text;
}

/** The name comes back as it is, and soon. */
static void assert_refused_quickly(struct cs_arena *arena, const char *symbol)
{
	double before = milliseconds();

	assert_string_equal(cs_demangle(arena, symbol), symbol);
	assert_true(milliseconds() - before < 1000);
}

static void bombs_of_text_are_left_alone(void **state)
{
	char *few = doubling("_Z1f", 6, 0), *bomb = doubling("_Z1f", 40, 0);

	assert_string_not_equal(cs_demangle(*state, few),
				few); /* the same shape, small: fine */
	assert_refused_quickly(*state, bomb);
	free(few);
	free(bomb);
}

static void bombs_that_print_nothing_are_left_alone(void **state)
{
	/* An empty argument pack whose pattern has 2^30 nodes: searched for a pack, never
	 * printed. */
	for (unsigned first = 0; first < 3; first++) {
		char *bomb = doubling("_Z1fIJEEvDp", 30, first);

		assert_refused_quickly(*state, bomb);
		free(bomb);
	}
}

static void bombs_in_the_parser_are_left_alone(void **state)
{
	/* operator T<operator T<...>>: each level is parsed twice */
	static const char *const links[] = {"cvT_I", "cvT_IN1a", "cvPKT0_IT_I"};

	for (size_t i = 0; i < sizeof(links) / sizeof(*links); i++) {
		char text[1024] = "_ZN1a";

		for (int k = 0; k < 40; k++)
			strcat(text, links[i]);
		strcat(text, "iEEEv");
		assert_refused_quickly(*state, text);
	}
}

static void a_template_conversion_is_demangled(void **state)
{
	assert_string_equal(cs_demangle(*state, "_ZN1acvT_IiEEv"),
			    "a::operator int<int>()");
}

/** @head and tuples of two back references to the tuple before: 2^levels leaves. */
static void rust_doubling(const char *head, int levels, char *out)
{
	static const char base62[] =
		"0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
	size_t at = (size_t)sprintf(out, "%s", head), target = at - 2;

	at += (size_t)sprintf(out + at, "ThhE");
	for (int i = 0; i < levels; i++) {
		char back[8];

		/* positions count from behind "_R"; "B_" is 0, so n is written as n - 1
		 */
		sprintf(back, "B%c%c_", base62[(target - 1) / 62],
			base62[(target - 1) % 62]);
		target = at - 2;
		at += (size_t)sprintf(out + at, "T%s%sE", back, back);
	}
	sprintf(out + at, "E");
}

static void rust_bombs_are_left_alone(void **state)
{
	/* the second has a punycode identifier */
	static const char *const heads[] = {"_RINvC1a1f", "_RINvC1au8gdel_5qa"};

	for (size_t h = 0; h < 2; h++) {
		char text[1024];

		rust_doubling(heads[h], 3, text); /* the same shape, small: fine */
		assert_string_not_equal(cs_demangle(*state, text), text);
		rust_doubling(heads[h], 30, text);
		assert_refused_quickly(*state, text);
	}
}

static void deep_names_do_not_exhaust_the_stack(void **state)
{
	static const char *const links[] = {"P",   "F",   "Z1g",    "N1a", "1aI",
					    "A_",  "M1a", "K",      "Dp",  "DTcv",
					    "Xng", "RT_", "1aIRT_", "LZ",  "cv"};

	for (size_t i = 0; i < sizeof(links) / sizeof(*links); i++) {
		size_t len = strlen(links[i]), n = (CS_MAX_MANGLED - 4) / len;
		char *text = malloc(n * len + 8);

		assert_non_null(text);
		strcpy(text, "_Z1f");
		for (size_t k = 0; k < n; k++)
			memcpy(text + 4 + k * len, links[i], len);
		strcpy(text + 4 + n * len - (len > 1), "i");
		assert_non_null(cs_demangle(*state, text));
		free(text);
	}
}

static void long_real_names_are_demangled(void **state)
{
	/* f(Outer<Outer<...>>), 200 deep: 1,605 bytes, more than libiberty takes by
	 * default */
	char text[4096] = "_Z1f", tail[512] = "";

	for (int i = 0; i < 200; i++)
		strcat(text, "5OuterI");
	for (int i = 0; i < 200; i++)
		strcat(tail, "E");
	strcat(text, "i");
	strcat(text, tail);
	assert_true(strlen(text) > 1024);
	assert_memory_equal(cs_demangle(*state, text), "f(Outer<Outer<", 14);
}

static void too_long_names_stay(void **state)
{
	char *text = malloc(CS_MAX_MANGLED + 16);

	assert_non_null(text);
	memset(text, 'P', CS_MAX_MANGLED + 2);
	memcpy(text, "_Z1f", 4);
	strcpy(text + CS_MAX_MANGLED, "i");
	assert_string_equal(cs_demangle(*state, text), text);
	free(text);
}

static void short_names(void **state)
{
	static const struct pair pairs[] = {
		{"main", "main"},
		{"f(int)", "f"},
		{"void print<int>(int)", "print<int>"},
		{"void print<unsigned>(int)", "print<...>"},
		{"std::vector<int, std::allocator<int> >::push_back(int const&)",
		 "std::vector<...>::push_back"},
		{"std::vector<int, std::allocator<int> >::operator[](unsigned long) "
		 "const",
		 "std::vector<...>::operator[]"},
		{"bool std::operator< <char, int>(a<b> const&, a<b> const&)",
		 "std::operator< <...>"},
		{"std::ostream& operator<< <char, int>(std::ostream&)",
		 "operator<< <...>"},
		{"operator<(A const&, B const&)", "operator<"},
		{"A::operator->() const", "A::operator->"},
		{"A::operator->*(int)", "A::operator->*"},
		{"A::operator<=>(A const&) const", "A::operator<=>"},
		{"A<(a>b)>::operator>>(int)", "A<...>::operator>>"},
		{"A::operator()(int) const", "A::operator()"},
		{"void A::operator()<int, long>(int) const &", "A::operator()<...>"},
		{"A::operator bool() const", "A::operator bool"},
		{"A::operator std::vector<int, x>() const",
		 "A::operator std::vector<...>"},
		{"A::operator void (*)(int)() const", "A::operator void (*)(int)"},
		{"operator new(unsigned long)", "operator new"},
		{"operator new[](unsigned long, std::nothrow_t const&)",
		 "operator new[]"},
		{"operator delete(void*)", "operator delete"},
		{"operator\"\" _km(long double)", "operator\"\" _km"},
		{"main::{lambda(int)#1}::operator()(int) const",
		 "main::{lambda}::operator()"},
		{"a::(anonymous namespace)::f(b::c const&)::{lambda()#2}::operator()() "
		 "const",
		 "a::(anonymous namespace)::f::{lambda}::operator()"},
		{"f(int) [clone .cold]", "f"},
		{"f(int) [clone .isra.0] [clone .cold]", "f"},
		{"f(int) (.llvm.123)", "f"},
		{"A::f[abi:cxx11](int) const &&", "A::f"},
		{"decltype (f((a)())) g<int, long>(int)", "g<...>"},
		{"void (*pick<int, long>(int))(char)", "pick<...>"},
		{"f(void (*)(int), int (&)[3])", "f"},
		{"c10::f<A (B)>::g<A (B)>(c<&A::operator< >)", "c10::f<...>::g<...>"},
		{"x<&(A::operator->(int))>::y()", "x<...>::y"},
		{"non-virtual thunk to A<int, int>::f(int)",
		 "non-virtual thunk to A<...>::f"},
		{"guard variable for f(int)::x", "guard variable for f::x"},
		{"<alloc::vec::Vec<u8, A> as core::ops::drop::Drop>::drop",
		 "<alloc::vec::Vec<...> as core::ops::drop::Drop>::drop"},
		{"core::mem::align_of::<usize>", "core::mem::align_of::<...>"},
		{"tokio::runtime::{{closure}}", "tokio::runtime::{{closure}}"},
		/* text that cannot be followed is left whole */
		{"f(int", "f(int"},
		{"a<b", "a<b"},
		{"a)b(", "a)b("},
		{"f{", "f{"},
		{" ", " "},
		{"(", "("},
		{"operator", "operator"},
		{"a operator ", "a operator "},
		{"f(int)operator delete[]", "f(int)operator delete[]"},
		{"[ab[abi:]i:]cc", "[ab[abi:]i:]cc"},
		{"ope[abi:x]rator<(int)", "ope[abi:x]rator<(int)"},
		{"A::f[abi:cxx11]<int, int>(int)", "A::f<...>"},
	};

	for (size_t i = 0; i < sizeof(pairs) / sizeof(*pairs); i++) {
		const char *out = cs_short_name(*state, pairs[i].in);

		assert_string_equal(out, pairs[i].out);
		assert_string_equal(cs_short_name(*state, out), out);
		assert_true(strlen(out) <= strlen(pairs[i].in));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names_read_as_in_gdb),
		cmocka_unit_test(names_are_interned_and_valid_utf8),
		cmocka_unit_test(bombs_of_text_are_left_alone),
		cmocka_unit_test(bombs_that_print_nothing_are_left_alone),
		cmocka_unit_test(bombs_in_the_parser_are_left_alone),
		cmocka_unit_test(a_template_conversion_is_demangled),
		cmocka_unit_test(rust_bombs_are_left_alone),
		cmocka_unit_test(deep_names_do_not_exhaust_the_stack),
		cmocka_unit_test(long_real_names_are_demangled),
		cmocka_unit_test(too_long_names_stay),
		cmocka_unit_test(short_names),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
