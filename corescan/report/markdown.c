/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The report that is pasted into an issue: the order of its parts, and who gets how much of the room.
 * Trackers refuse what is longer than they allow, so the parts are written in the order of their use, each
 * with a bound, and put together in the order of the page. Refuses to know what a part says.
 */
#include "base/limits.h"
#include "report/markdown_parts.h"

#include <errno.h>

typedef struct cs_error *part_fn(struct cs_md *m);

/*
 * In the order of the page. `turn` is the order of writing; `most` bytes bound a part, and so does one half
 * of what is left when its turn comes, so that a small page has a little of everything.
 */
static const struct part {
	part_fn *write;
	unsigned turn;
	size_t most;
	bool last; /* takes all that is left */
} parts[] = {
	{.write = cs_md_verdict, .turn = 0, .most = 2500},
	{.write = cs_md_finding, .turn = 3, .most = 5000},
	{.write = cs_md_versions, .turn = 5, .most = 3000},
	{.write = cs_md_exceptions, .turn = 6, .most = 9000},
	{.write = cs_md_crashed_stack, .turn = 4, .most = 12000},
	{.write = cs_md_python_stack, .turn = 7, .most = 5000},
	{.write = cs_md_others, .turn = 9, .most = 2000},
	{.write = cs_md_threads, .turn = 11, .last = true},
	{.write = cs_md_environment, .turn = 10, .most = 4000},
	{.write = cs_md_fingerprint, .turn = 2, .most = 700},
	{.write = cs_md_diagnostics, .turn = 8, .most = 2000},
	{.write = cs_md_footer, .turn = 1, .most = 200},
};

struct page {
	struct cs_strbuf parts[CS_COUNT(parts)];
};

static void page_deinit(struct page *page)
{
	for (size_t i = 0; i < CS_COUNT(page->parts); i++)
		cs_strbuf_deinit(&page->parts[i]);
}

/* Part @i into @page; what it takes goes off @left. An empty line comes after it. */
static struct cs_error *write_part(struct page *page, size_t i, const struct cs_analysis *a,
				   const struct cs_markdown_options *options, size_t *left)
{
	size_t most = parts[i].last ? *left : CS_MIN(parts[i].most, *left / 2);
	struct cs_md m = {.a = a, .options = options, .budget = most > 2 ? most - 2 : 0};
	struct cs_error *err;

	cs_strbuf_init(&m.out, CS_MD_MAX_UNIT);
	err = parts[i].write(&m);
	if (!err && m.out.len)
		cs_strbuf_puts(&m.out, "\n");
	page->parts[i] = m.out;
	if (err)
		return err;
	*left -= CS_MIN(*left, m.out.len);
	return m.out.cut ? &cs_nomem : NULL;
}

static size_t budget_of(const struct cs_markdown_options *options)
{
	size_t max = options->max_bytes ? options->max_bytes : CS_MAX_MARKDOWN;

	return CS_MIN(max, (size_t)CS_MAX_MARKDOWN);
}

static struct cs_error *put_heading(const struct cs_analysis *a, const struct cs_markdown_options *options,
				    FILE *out, size_t *left)
{
	struct cs_strbuf heading;
	struct cs_error *err = NULL;

	if (options->n_cores < 2)
		return NULL;
	cs_strbuf_init(&heading, CS_MD_MAX_UNIT);
	cs_strbuf_printf(&heading, "%s## Core %zu of %zu: ", options->core ? "\n" : "", options->core + 1,
			 options->n_cores);
	cs_md_code(&heading, a->input.path, 200);
	cs_strbuf_puts(&heading, "\n\n");
	if (heading.cut)
		err = &cs_nomem;
	else if (heading.len <= *left)
		fputs(cs_strbuf_text(&heading), out);
	*left -= CS_MIN(*left, heading.len);
	cs_strbuf_deinit(&heading);
	return err;
}

struct cs_error *cs_report_markdown(const struct cs_analysis *a, const struct cs_markdown_options *options,
				    FILE *out)
{
	CS_CLEANUP(page_deinit) struct page page = {0};
	size_t left = budget_of(options);
	bool begun = false;

	CS_TRY(put_heading(a, options, out, &left));
	for (unsigned turn = 0; turn < CS_COUNT(parts); turn++)
		for (size_t i = 0; i < CS_COUNT(parts); i++)
			if (parts[i].turn == turn)
				CS_TRY(write_part(&page, i, a, options, &left));
	for (size_t i = 0; i < CS_COUNT(parts); i++) {
		if (!page.parts[i].len)
			continue;
		fputs(begun ? "\n" : "", out);
		/* Without the empty line after it: the next part begins with one. */
		fwrite(page.parts[i].data, 1, page.parts[i].len - 1, out);
		begun = true;
	}
	errno = 0;
	if (fflush(out) || ferror(out))
		return cs_error_os(errno ? errno : EIO, "cannot write the report");
	return NULL;
}
