/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Lines that name a place in Python: what quotes, commas and words part it. */
#include "paste/python_text.h"

#include <string.h>

bool cs_span_number(struct cs_span s, uint32_t *ret)
{
	uint64_t value = 0;

	if (!s.len)
		return false;
	for (size_t i = 0; i < s.len; i++) {
		if (s.at[i] < '0' || s.at[i] > '9')
			return false;
		value = 10 * value + (unsigned)(s.at[i] - '0');
		if (value > UINT32_MAX)
			return false;
	}
	*ret = (uint32_t)value;
	return true;
}

/* The last place where @needle stands in @s; @s.len: nowhere. A file's name may have anything in it. */
static size_t find_last(struct cs_span s, const char *needle)
{
	size_t len = strlen(needle);

	for (size_t i = s.len >= len ? s.len - len + 1 : 0; i-- > 0;)
		if (!memcmp(s.at + i, needle, len))
			return i;
	return s.len;
}

bool cs_python_place(struct cs_span text, struct cs_python_place *ret)
{
	static const char opening[] = "File \"", closing[] = "\", line ";
	size_t quote, digits;
	struct cs_span rest;

	*ret = (struct cs_python_place){0};
	if (!cs_span_begins(text, opening))
		return false;
	text = cs_span_from(text, strlen(opening));
	quote = find_last(text, closing);
	if (quote == text.len)
		return false;
	ret->file = (struct cs_span){text.at, quote};
	rest = cs_span_from(text, quote + strlen(closing));
	for (digits = 0; digits < rest.len && rest.at[digits] >= '0' && rest.at[digits] <= '9';)
		digits++;
	if (!cs_span_number((struct cs_span){rest.at, digits}, &ret->line))
		return false;
	rest = cs_span_from(rest, digits);
	if (cs_span_begins(rest, ","))
		rest = cs_span_from(rest, 1);
	if (!rest.len)
		return true;
	if (!cs_span_begins(rest, " in "))
		return false;
	ret->function = cs_span_trim(cs_span_from(rest, 4));
	return ret->function.len != 0;
}

void cs_python_frame(struct cs_paster *p, const struct cs_python_place *place)
{
	struct cs_paste_frame frame = {.line = place->line, .number = -1};
	bool known = !cs_span_is(place->file, "<unknown>") && !cs_span_is(place->file, "???");
	struct cs_span name = place->function;

	/* ray says each line once: "f [repeated 6x across cluster]". */
	name.len = cs_span_find(name, " [repeated ");
	/* Some print native frames in this form, too: TVM does. */
	frame.python = known && !cs_is_native_source(place->file);
	if (frame.python && name.len)
		frame.function = cs_paster_keep(p, name.at, name.len);
	else if (name.len)
		frame.function = cs_paste_function(p, name);
	if (known && place->file.len)
		frame.file = cs_paster_keep(p, place->file.at, place->file.len);
	cs_paster_frame(p, &frame);
}

bool cs_is_native_source(struct cs_span file)
{
	static const char *const ends[] = {".c",  ".cc",  ".cpp", ".cxx", ".C",	 ".h",	".hh", ".hpp", ".cu",
					   ".cuh", ".S", ".asm", ".rs",  ".inl", ".go", ".f90", ".m", ".mm"};

	for (size_t i = 0; i < CS_COUNT(ends); i++)
		if (cs_span_ends(file, ends[i]))
			return true;
	return false;
}

bool cs_paste_has_dump(const struct cs_paster *p)
{
	static const struct cs_dialect *const dumpers[] = {
		&cs_dialect_gdb,    &cs_dialect_lldb,	 &cs_dialect_eu_stack,     &cs_dialect_sanitizer,
		&cs_dialect_py_spy, &cs_dialect_py_spy_json, &cs_dialect_pystack, &cs_dialect_faulthandler,
	};

	for (size_t i = 0; i < CS_COUNT(dumpers); i++)
		if (cs_paster_has(p, dumpers[i]))
			return true;
	return false;
}
