// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * spelled HOW: dies of HOW (abort, assert, throw, handler, segv, free) below functions whose names and
 * arguments have all that C++ puts into them, while threads wait at several depths. HOW "wait": prints
 * "ready" and waits.
 */
#include <cassert>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <stdexcept>
#include <string>
#include <thread>
#include <unistd.h>
#include <vector>

static std::string how;

[[gnu::noinline]] static void idle(int depth)
{
	if (depth)
		idle(depth - 1);
	for (;;)
		pause();
}

[[gnu::noinline]] static void die(const char *text, char c)
{
	char *volatile block = static_cast<char *>(malloc(10));

	if (how == "abort")
		abort();
	if (how == "assert")
		assert(text == nullptr && "no (text) \" from here");
	if (how == "throw")
		throw std::out_of_range(text);
	if (how == "segv" || how == "handler")
		*reinterpret_cast<volatile int *>(8) = c;
	if (how == "free") {
		free(block);
		free(block);
	}
	puts("ready");
	fflush(stdout);
	idle(2);
}

namespace ns
{
template <class T, int N> struct box {
	T value;
	bool operator<(const box &other) const;
	void operator()(int n, const std::string &text);
	operator bool() const;
};

template <class T, int N> [[gnu::noinline]] bool box<T, N>::operator<(const box &other) const
{
	die("a ) b \" from c () at x", '\'');
	return value < other.value;
}

template <class T, int N> [[gnu::noinline]] void box<T, N>::operator()(int n, const std::string &)
{
	box<T, N> other{n};

	value = *this < other;
}

template <class T, int N> [[gnu::noinline]] box<T, N>::operator bool() const
{
	std::function<void(int, const std::string &)> call = box<T, (N > 2)>{};

	call(3, "text, with = and (");
	return true;
}

namespace
{
[[gnu::noinline]] bool hidden(const std::vector<box<int, 4>> &boxes)
{
	return boxes[0] ? true : false;
}
}
}

extern "C" [[gnu::noinline]] void on_fatal_signal(int)
{
	abort();
}

int main(int argc, char **argv)
{
	std::vector<std::thread> threads;

	how = argc > 1 ? argv[1] : "wait";
	for (int i = 0; i < 3; i++)
		threads.emplace_back([i] { idle(i); });
	usleep(100000);
	if (how == "handler")
		signal(SIGSEGV, on_fatal_signal);
	return ns::hidden({ns::box<int, 4>{1}});
}
