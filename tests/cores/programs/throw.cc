// SPDX-License-Identifier: GPL-3.0-or-later
// An exception that nobody catches, thrown through templates, a destructor and a thread.
#include <cstdio>
#include <functional>
#include <map>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace engine {

struct Guard {
	std::string name;
	~Guard() { std::fprintf(stderr, "%s\n", name.c_str()); }
};

template <typename Key, typename Value> class Table {
public:
	// No noexcept: the stack is as it was when std::terminate is called.
	__attribute__((noinline)) Value find(const std::map<Key, Value> &values, const Key &key) const
	{
		Guard guard{"looked up"};
		auto at = values.find(key);

		if (at == values.end())
			throw std::out_of_range("no such key: " + key);
		return at->second;
	}
};

__attribute__((noinline)) int visit(const std::function<int(int)> &body)
{
	int sum = 0;

	for (int i : std::vector<int>{1, 2, 3})
		sum += body(i);
	return sum;
}

} // namespace engine

int main(int argc, char **)
{
	std::map<std::string, int> values{{"a", 1}};
	auto body = [&](int i) {
		return engine::Table<std::string, int>().find(values, i < 2 ? "a" : "missing");
	};

	if (argc > 1) {
		std::thread worker([&] { engine::visit(body); });
		worker.join();
	}
	return engine::visit(body);
}
