// SPDX-License-Identifier: GPL-3.0-or-later
// Ends by a fatal message of Abseil: of its raw log, or (with -DWITH_LOG, from 20230125 on) of its log.
#include <absl/base/internal/raw_logging.h>
#ifdef WITH_LOG
#include <absl/log/check.h>
#include <absl/log/log.h>
#endif

#include <string>

namespace sample {

__attribute__((noinline)) void raw(int n)
{
	ABSL_RAW_LOG(FATAL, "no room for %d of %s", n, "the store");
}

__attribute__((noinline)) void raw_check(int n)
{
	ABSL_RAW_CHECK(n == 7, "ranks differ");
}

#ifdef WITH_LOG
__attribute__((noinline)) void check(int ranks)
{
	CHECK_EQ(ranks, 8) << "shards of the store";
}

__attribute__((noinline)) void fatal(const std::string &which)
{
	LOG(FATAL) << "the queue " << which << " is closed\nand has a second line";
}
#endif

} // namespace sample

int main(int argc, char **argv)
{
	std::string way = argc > 1 ? argv[1] : "";

	if (way == "raw")
		sample::raw(argc);
	else if (way == "raw-check")
		sample::raw_check(argc);
#ifdef WITH_LOG
	LOG(ERROR) << "this is not why it ends";
	if (way == "check")
		sample::check(argc);
	else if (way == "fatal")
		sample::fatal(way);
#endif
	return 97;
}
