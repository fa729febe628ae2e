// SPDX-License-Identifier: GPL-3.0-or-later
// Ends by an exception that nothing catches ("throw"), or by a call of a pure virtual function ("pure").
#include <stdexcept>
#include <string>

namespace sample {

__attribute__((noinline)) void fail(const std::string &what)
{
	throw std::runtime_error(what);
}

struct Base {
	Base();
	virtual void act() = 0;
	virtual ~Base() = default;
};

__attribute__((noinline)) void call(Base *base)
{
	base->act();
}

Base::Base()
{
	call(this); // the derived part does not exist yet
}

struct Derived : Base {
	void act() override {}
};

} // namespace sample

int main(int argc, char **argv)
{
	if (argc > 1 && std::string(argv[1]) == "pure")
		sample::Derived derived;
	else
		sample::fail("no peer");
	return 97;
}
