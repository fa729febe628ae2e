/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A library that programs load by path: its exported entry goes through a hidden function and
 * dies. PLUGIN_PAD shifts all addresses, so that two builds of it differ in what lies where.
 */
#include <stdlib.h>

int plugin_entry(int value);

#ifdef PLUGIN_PAD
int plugin_padding(int value);

int plugin_padding(int value)
{
	for (int i = 0; i < 100; i++)
		value = value * 31 + i * (value ^ PLUGIN_PAD);
	return value;
}

int plugin_wrong_name(int value);

int __attribute__((noinline)) plugin_wrong_name(int value)
{
	return plugin_padding(value) + PLUGIN_PAD;
}
#endif

static int __attribute__((noinline)) hidden_work(int value)
{
	if (value)
		abort();
	return value;
}

int plugin_entry(int value)
{
	return hidden_work(value) + 1;
}
