// SPDX-License-Identifier: GPL-3.0-or-later
// A library that throws a type of its own, which nothing else knows, through its caller.
#include <stdexcept>
#include <string>
#include <typeinfo>

#include "throws.h"

namespace plugin {

struct Base {
	long padding = 1;
	virtual ~Base() = default;
};

struct Failure : Base, virtual std::runtime_error {
	explicit Failure(const std::string &t) : std::runtime_error(t) {}
};

} // namespace plugin

extern "C" __attribute__((visibility("default"))) void act(record_fn *record)
{
	plugin::Failure e("thrown by a library");

	record("in-flight", true, "", typeid(e).name(), e.what());
	throw e;
}
