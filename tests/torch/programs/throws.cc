// SPDX-License-Identifier: GPL-3.0-or-later
// Exceptions of all kinds in all states: throws MODE TRUTH [PLUGIN]. What an outside reader must find is written
// to TRUTH, one line an exception: tid, state, fatal, code, type and text, separated by tabs, the text escaped.
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <cxxabi.h>
#include <dlfcn.h>
#include <filesystem>
#include <functional>
#include <future>
#include <memory>
#include <mutex>
#include <new>
#include <optional>
#include <regex>
#include <string>
#include <sys/syscall.h>
#include <system_error>
#include <thread>
#include <typeinfo>
#include <unistd.h>
#include <variant>
#include <vector>

#include "throws.h"

static FILE *truth;
static std::mutex truth_lock;

static std::string demangled(const char *name)
{
	int status;
	char *text = abi::__cxa_demangle(name, nullptr, nullptr, &status);
	std::string result = text ? text : name;

	free(text);
	return result;
}

void record(const char *state, bool fatal, const char *code, const char *type, const char *text)
{
	std::lock_guard<std::mutex> hold(truth_lock);

	fprintf(truth, "%ld\t%s\t%d\t%s\t%s\t", syscall(SYS_gettid), state, fatal, code,
		demangled(type).c_str());
	for (const char *p = text; *p; p++)
		if (*p == '\n')
			fputs("\\n", truth);
		else if (*p == '\t')
			fputs("\\t", truth);
		else
			fputc(*p, truth);
	fputc('\n', truth);
	fflush(truth);
}

static void note(const char *state, bool fatal, const std::exception &e, const char *code = "")
{
	record(state, fatal, code, typeid(e).name(), e.what());
}

// ---- types of our own ----

struct OwnText : std::exception {
	std::string text;
	int padding = 7;
	explicit OwnText(std::string t) : text(std::move(t)) {}
	const char *what() const noexcept override { return text.c_str(); }
};

struct Constant : std::exception {
	const char *what() const noexcept override { return "always the same"; }
};

struct Silent : std::exception {
	int value = 3;
	const char *what() const noexcept override;
};

// Nothing that can be read off its code.
const char *Silent::what() const noexcept
{
	static thread_local std::string text;

	text = "value " + std::to_string(value);
	return text.c_str();
}

struct Detail {
	long padding[3] = {1, 2, 3};
	virtual ~Detail() = default;
};

struct Second : Detail, std::runtime_error {
	using std::runtime_error::runtime_error;
};

struct Virtual : virtual std::runtime_error {
	long padding = 5;
	explicit Virtual(const std::string &t) : std::runtime_error(t) {}
};

struct Diamond : Virtual, virtual Detail {
	explicit Diamond(const std::string &t) : std::runtime_error(t), Virtual(t) {}
};

// ---- threads that stay where they are ----

static std::mutex park_lock;
static std::condition_variable parked;
static int n_parked;

static void park()
{
	{
		std::lock_guard<std::mutex> hold(park_lock);
		n_parked++;
	}
	parked.notify_all();
	for (;;)
		pause();
}

static std::vector<std::thread> threads;

static void in_thread(std::function<void()> f)
{
	threads.emplace_back(std::move(f));
}

static void wait_parked()
{
	std::unique_lock<std::mutex> hold(park_lock);

	parked.wait(hold, [] { return n_parked == (int)threads.size(); });
}

// Throws E and stays in the handler.
template <class E> static void handle(E e, const char *code = "")
{
	std::string c = code;

	in_thread([e, c] {
		try {
			throw e;
		} catch (const std::exception &x) {
			note("caught", false, x, c.c_str());
			park();
		}
	});
}

template <class T> static void handle_value(T v, const char *text)
{
	in_thread([v, text] {
		try {
			throw v;
		} catch (const T &x) {
			record("caught", false, "", typeid(x).name(), text);
			park();
		}
	});
}

static void standard_types()
{
	std::string sso = "short", heap(300, 'h');

	handle(std::runtime_error("a runtime error"));
	handle(std::runtime_error(""));
	handle(std::runtime_error("Grüße, 日本"));
	handle(std::out_of_range(heap));
	handle(std::invalid_argument("two\nlines"));
	handle(std::system_error(2, std::generic_category(), "opening"), "generic:2");
	handle(std::system_error(std::make_error_code(std::errc::connection_refused)), "generic:111");
	/* The old one is no std::system_error. */
	handle(std::ios_base::failure("a stream"), _GLIBCXX_USE_CXX11_ABI ? "iostream:1" : "");
	handle(std::future_error(std::future_errc::broken_promise));
	handle(std::bad_alloc());
	handle(std::bad_array_new_length());
	handle(std::bad_cast());
	handle(std::bad_function_call());
	handle(std::bad_weak_ptr());
	handle(std::bad_optional_access());
	handle(std::regex_error(std::regex_constants::error_brack));
	handle(std::filesystem::filesystem_error("cannot do it", "/a/path", "/another",
						 std::make_error_code(std::errc::no_space_on_device)),
	       "generic:28");
	handle(std::exception());
	handle(OwnText(sso));
	handle(OwnText(heap));
	handle(Constant());
	handle(Second("of two bases"));
	handle(Virtual("of a virtual base"));
	handle(Diamond("of several"));
}

static void values()
{
	handle_value("a literal", "a literal");
	handle_value(std::string("a string of more than fifteen bytes"),
		     "a string of more than fifteen bytes");
	handle_value(std::string("short"), "short");
	handle_value(-7, "-7");
	handle_value(7u, "7");
	handle_value(-5000000000L, "-5000000000");
	handle_value(18446744073709551615ul, "18446744073709551615");
	handle_value(true, "true");
	handle_value(2.5, "2.5");
	handle_value(0.25f, "0.25");
	handle_value((short)-3, "-3");
}

// One more is thrown and handled in each handler.
static void several_in_one(int depth)
{
	try {
		throw std::runtime_error("number " + std::to_string(depth));
	} catch (const std::exception &x) {
		note("caught", false, x);
		if (depth)
			several_in_one(depth - 1);
		else
			park();
	}
}

// ---- what ends the process ----

// The compiler must not see that handlers are never reached.
static volatile bool armed = true;

struct AbortInDestructor {
	~AbortInDestructor()
	{
		if (armed)
			abort();
	}
};

struct ThrowInDestructor {
	~ThrowInDestructor() noexcept(false)
	{
		OwnText e("from a destructor");

		if (!armed)
			return;
		note("in-flight", true, e);
		throw e;
	}
};

// Throws and handles within the destructor: the outer one stays in flight.
struct HandleInDestructor {
	~HandleInDestructor()
	{
		try {
			throw std::logic_error("handled meanwhile");
		} catch (const std::exception &x) {
			note("caught", true, x);
			if (armed)
				abort();
		}
	}
};

template <class E> [[noreturn]] static void fail(E e)
{
	note("in-flight", true, e);
	throw e;
}

template <class Guard> static void unwind(bool fatal)
{
	try {
		Guard guard;
		std::runtime_error e("on its way");

		note("in-flight", fatal, e);
		throw e;
	} catch (const std::logic_error &) {
	} catch (const std::runtime_error &) {
	}
}

static void again()
{
	try {
		throw std::range_error("thrown again");
	} catch (const std::exception &x) {
		AbortInDestructor guard;

		note("in-flight", true, x);
		throw;
	}
}

static void handle_again()
{
	try {
		again();
	} catch (const std::exception &) {
	}
}

static void no_exceptions() noexcept
{
	fail(std::runtime_error("through noexcept"));
}

static std::exception_ptr make_pointer()
{
	std::exception_ptr result;

	std::thread([&result] {
		try {
			throw std::runtime_error("NCCL error: kept for later");
		} catch (...) {
			result = std::current_exception();
		}
	}).join();
	return result;
}

static void rethrow(std::exception_ptr p)
{
	record("in-flight", true, "", typeid(std::runtime_error).name(), "NCCL error: kept for later");
	std::rethrow_exception(p);
}

static void nest(int depth)
{
	try {
		if (!depth)
			throw std::invalid_argument("level 0");
		nest(depth - 1);
	} catch (...) {
		std::throw_with_nested(std::runtime_error("level " + std::to_string(depth + 1)));
	}
}

static std::exception_ptr kept;

// Objects that were thrown and freed, before one that is kept.
static void keep_one()
{
	for (int i = 0; i < 50; i++)
		try {
			throw std::runtime_error("freed " + std::to_string(i));
		} catch (const std::exception &) {
		}
	kept = make_pointer();
	record("stored", false, "", typeid(std::runtime_error).name(), "NCCL error: kept for later");
}

static void run(const std::string &mode, const char *plugin)
{
	if (mode == "main")
		fail(std::runtime_error("nothing catches it"));
	if (mode == "thread")
		std::thread([] { fail(std::out_of_range("in a thread")); }).join();
	if (mode == "noexcept")
		no_exceptions();
	if (mode == "rethrow") {
		std::exception_ptr p = make_pointer();

		std::thread(rethrow, p).join();
	}
	if (mode == "nested") {
		record("in-flight", true, "", typeid(std::_Nested_exception<std::runtime_error>).name(),
		       "level 3");
		nest(2);
	}
	if (mode == "destructor")
		unwind<AbortInDestructor>(true);
	if (mode == "destructor-throw")
		unwind<ThrowInDestructor>(false);
	if (mode == "destructor-catch")
		unwind<HandleInDestructor>(false);
	if (mode == "again")
		handle_again();
	if (mode == "catch-abort")
		try {
			throw std::runtime_error("and then abort()");
		} catch (const std::exception &x) {
			note("caught", true, x);
			abort();
		}
	if (mode == "catch-wait")
		try {
			throw std::runtime_error("and then it takes long");
		} catch (const std::exception &x) {
			note("caught", false, x);
			puts("ready");
			fflush(stdout);
			pause();
		}
	if (mode == "catch-segv")
		try {
			throw std::runtime_error("and then a fault");
		} catch (const std::exception &x) {
			note("caught", false, x);
			*(volatile int *)nullptr = 1;
		}
	if (mode == "silent")
		try {
			throw Silent();
		} catch (const std::exception &x) {
			record("caught", true, "", typeid(x).name(), "");
			abort();
		}
	if (mode == "stored") {
		keep_one();
		std::terminate();
	}
	if (mode == "secret")
		throw std::runtime_error("cannot reach redis://user:hunter2@host/0");
	if (mode == "plugin") {
		void *library = dlopen(plugin, RTLD_NOW);
		void (*act)(record_fn *) = library ? (void (*)(record_fn *))dlsym(library, "act") : nullptr;

		if (!act)
			fprintf(stderr, "%s\n", dlerror());
		else
			act(record);
	}
}

int main(int argc, char **argv)
{
	std::string mode = argc > 2 ? argv[1] : "";

	truth = argc > 2 ? fopen(argv[2], "w") : nullptr;
	if (!truth)
		return 98;
	if (mode == "parked" || mode == "parked-abort") {
		standard_types();
		values();
		in_thread([] { several_in_one(4); });
		wait_parked();
		puts("ready");
		fflush(stdout);
		if (mode == "parked-abort")
			abort();
		pause();
	}
	run(mode, argc > 3 ? argv[3] : "");
	return 97;
}
