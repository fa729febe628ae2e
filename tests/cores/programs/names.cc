// SPDX-License-Identifier: GPL-3.0-or-later
// Dies below functions whose names demanglers and debuggers write differently: templates, lambdas, operators,
// constructors, local classes, anonymous namespaces. "call": the lambda is called by another name.
#include <functional>
#include <string>
#include <vector>

#define NOINLINE __attribute__((noinline))

namespace {

template <typename T> NOINLINE int inner(T x)
{
	volatile int *nowhere = nullptr;

	return *nowhere + static_cast<int>(x);
}

} // namespace

namespace lib {

class Op {
public:
	template <typename F> NOINLINE int each(const std::vector<int> &values, F f) const
	{
		int sum = 0;

		for (int i : values)
			sum += f(i);
		return sum;
	}

	NOINLINE operator int() const
	{
		return each({1, 2}, [](int i) NOINLINE {
			volatile int k = inner<long>(i);

			return static_cast<int>(k);
		});
	}

	NOINLINE int operator()(int a) const
	{
		volatile int k = static_cast<int>(*this);

		return a + k;
	}

	NOINLINE bool operator<(const Op &) const
	{
		volatile int k = (*this)(3);

		return k != 0;
	}
};

struct Label {
	std::string text;

	NOINLINE explicit Label(std::string x);
};

Label::Label(std::string x) : text(std::move(x))
{
	Op a, b;
	volatile bool less = a < b;

	text += less ? "<" : ">";
}

} // namespace lib

NOINLINE static int run(const std::function<int(int)> &f)
{
	volatile int k = f(3);

	return k;
}

int main(int argc, char **)
{
	auto lambda = [](int k) NOINLINE {
		struct Local {
			NOINLINE static int go(int k)
			{
				lib::Label label("x");

				return k + static_cast<int>(label.text.size());
			}
		};
		volatile int r = Local::go(k);

		return static_cast<int>(r);
	};

	if (argc > 1) {
		volatile int r = lambda(argc);

		return r;
	}
	return run(lambda);
}
