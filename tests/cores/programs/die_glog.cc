// SPDX-License-Identifier: GPL-3.0-or-later
// Ends by a fatal message of glog.
#include <glog/logging.h>
#include <glog/raw_logging.h>

#include <string>

namespace sample {

__attribute__((noinline)) void check(int ranks)
{
	CHECK_EQ(ranks, 8) << "shards of the store";
}

__attribute__((noinline)) void fatal(const std::string &which)
{
	LOG(FATAL) << "the queue " << which << " is closed\nand has a second line";
}

__attribute__((noinline)) void not_null(void *store)
{
	CHECK_NOTNULL(store);
}

__attribute__((noinline)) void raw(int n)
{
	RAW_LOG(FATAL, "no room for %d of the store", n);
}

} // namespace sample

int main(int argc, char **argv)
{
	std::string way = argc > 1 ? argv[1] : "";

	google::InitGoogleLogging(argv[0]);
	FLAGS_logtostderr = true;
	LOG(ERROR) << "this is not why it ends";
	if (way == "check")
		sample::check(argc);
	else if (way == "fatal")
		sample::fatal(way);
	else if (way == "null")
		sample::not_null(nullptr);
	else if (way == "raw")
		sample::raw(argc);
	return 97;
}
