/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The report for an issue: golden files for its look, and pages of random hostile texts, each read as a
 * tracker reads it: nothing but our own Markdown may be left of it once code is taken away. After an intended
 * change: CORESCAN_UPDATE_GOLDEN=1 ctest -R unit.test_markdown
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/limits.h"
#include "base/text.h"
#include "report/markdown_out.h"
#include "golden_page.h"
#include "sample_analysis.h"

#include <ctype.h>
#include <string.h>

static struct page render(const struct cs_analysis *a, struct cs_markdown_options options)
{
	struct page page = {0};
	FILE *out = open_memstream(&page.text, &page.len);

	assert_non_null(out);
	assert_null(cs_report_markdown(a, &options, out));
	fclose(out);
	return page;
}

/* ---- a page as a tracker reads it ---- */

/* Drop the spans of code from a line: what is left is Markdown. */
static void drop_code(char *line)
{
	char *out = line;

	for (char *p = line; *p;) {
		size_t ticks = strspn(p, "`"), run = 0;
		char *end;

		if (!ticks) {
			*out++ = *p++;
			continue;
		}
		for (end = p + ticks; *end; end += run) {
			end += strcspn(end, "`");
			run = strspn(end, "`");
			if (run == ticks)
				break;
		}
		if (!*end)
			fail_msg("backticks without an end: %s", line);
		p = end + ticks;
	}
	*out = '\0';
}

/* "owner/repository#12" and the marks between such: the only word with a number sign. */
static bool is_reference_word(const char *p, const char *start)
{
	while (p > start && !strchr(" (", p[-1]))
		p--;
	p += strspn(p, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_");
	if (*p++ != '/')
		return false;
	p += strspn(p, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.");
	return *p == '#' && isdigit((unsigned char)p[1]);
}

/* HTML that we write: folded parts, whose summary has escaped code. */
static bool is_summary(const char *line)
{
	static const char head[] = "<details><summary>", open_head[] = "<details open><summary>";
	const char *p = line;

	if (!strncmp(p, head, strlen(head)))
		p += strlen(head);
	else if (!strncmp(p, open_head, strlen(open_head)))
		p += strlen(open_head);
	else
		return false;
	if (!strcmp(p, "Environment</summary>"))
		return true;
	while ((p = strchr(p, '<'))) {
		if (!strcmp(p, "</summary>"))
			return true;
		if (!strncmp(p, "<code>", 6))
			p += 6;
		else if (!strncmp(p, "</code> in <code>", 17))
			p += 17;
		else if (!strncmp(p, "</code>", 7))
			p += 7;
		else
			return false;
	}
	return false;
}

/* Two cells. */
static void check_row(const char *row)
{
	size_t bars = 0;

	for (const char *p = row; *p; p++)
		bars += *p == '|' && (p == row || p[-1] != '\\');
	if (bars != 3)
		fail_msg("a row of %zu bars: %s", bars, row);
}

static void check_line(char *line)
{
	char *text;

	if (!strncmp(line, "<details", 8)) {
		if (!is_summary(line))
			fail_msg("%s", line);
		return;
	}
	if (!strcmp(line, "</details>"))
		return;
	drop_code(line);
	text = line;
	if (!strncmp(text, "## ", 3))
		text += 3;
	text += text[0] == '*' && text[1] == ' ' ? 2 : 0; /* an item */
	if (*text == '|') {
		check_row(text);
		return;
	}
	for (char *p = text; *p; p++) {
		if (*p == '#' && is_reference_word(p, text))
			continue;
		if (*p == '*' && (p[1] == '*' || (p > text && p[-1] == '*')))
			continue;
		if ((unsigned char)*p >= 0x80 || strchr("<>[]@#~$&\\|_*{}^=%+", *p))
			fail_msg("'%c' outside of code: %s", *p, text);
	}
	assert_null(strstr(text, "://"));
	assert_null(strcasestr(text, "www."));
}

/* Size, characters, fences, and what is between them. */
static void check_page(const struct page *page, size_t max)
{
	char *copy = strdup(page->text), *rest = copy, *line;
	size_t fence = 0, details = 0, n;

	assert_non_null(copy);
	assert_int_equal(strlen(page->text), page->len);
	if (page->len > max)
		fail_msg("%zu bytes, %zu allowed", page->len, max);
	for (size_t i = 0; i < page->len; i += n) {
		const unsigned char *p = (const unsigned char *)page->text + i;

		n = cs_utf8_sequence(p, page->len - i);
		assert_true(n > 0);
		assert_true(*p == '\n' || cs_text_is_safe(p, n));
	}
	while ((line = strsep(&rest, "\n"))) {
		size_t ticks = strspn(line, "`");

		if (fence) {
			fence = ticks >= fence && !line[ticks] ? 0 : fence;
			continue;
		}
		if (ticks >= 3 && !line[ticks]) {
			fence = ticks;
			continue;
		}
		details += !strncmp(line, "<details", 8);
		if (!strcmp(line, "</details>"))
			assert_true(details-- > 0);
		check_line(line);
	}
	assert_int_equal(fence, 0);
	assert_int_equal(details, 0);
	free(copy);
}

/* The golden files outlive versions. */
static void hide_version(struct page *page)
{
	static const char ours[] = "\ncorescan " CORESCAN_VERSION, shown[] = "\ncorescan VERSION";
	struct page copy = {0};
	FILE *out = open_memstream(&copy.text, &copy.len);
	const char *at = strstr(page->text, ours);

	assert_non_null(out);
	assert_non_null(at);
	fprintf(out, "%.*s%s%s", (int)(at - page->text), page->text, shown, at + strlen(ours));
	fclose(out);
	free(page->text);
	*page = copy;
}

static void check_golden(const char *name, const struct cs_analysis *a, struct cs_markdown_options options)
{
	struct page page = render(a, options);
	char path[128];

	check_page(&page, CS_MAX_MARKDOWN);
	hide_version(&page);
	snprintf(path, sizeof(path), "%s.md", name);
	check_golden_page(path, &page);
	free(page.text);
}

static void golden(void **state)
{
	struct cs_analysis a = *sample_cxx();

	(void)state;
	check_golden("issue-crash", sample_crash(), (struct cs_markdown_options){0});
	check_golden("issue-abort", sample_abort(), (struct cs_markdown_options){.core = 1, .n_cores = 2});
	check_golden("issue-running", sample_running(), (struct cs_markdown_options){0});
	check_golden("issue-python", sample_python(), (struct cs_markdown_options){0});
	check_golden("issue-hostile", sample_hostile(), (struct cs_markdown_options){.threads = true});
	a.fingerprint = (struct cs_fingerprint){
		.algorithm = 1,
		.short_form = "1-0123456789abcdef",
		.long_form = "1-0123456789abcdef0123456789abcdef",
		.text = "SIGABRT | parse_value | main",
	};
	check_golden("issue-finding", &a, (struct cs_markdown_options){0});
}

/* What is not known is not there, rather than "(null)" or an empty row. */
static void unknown_is_left_out(void **state)
{
	static const struct cs_analysis nothing = {
		.process = {.rank = -1, .local_rank = -1, .world_size = -1},
	};
	struct page page = render(&nothing, (struct cs_markdown_options){0});

	(void)state;
	assert_null(strstr(page.text, "null"));
	assert_null(strstr(page.text, "Fingerprint"));
	assert_null(strchr(page.text, '|'));
	check_page(&page, CS_MAX_MARKDOWN);
	free(page.text);
}

/* ---- gates ---- */

typedef void gate_fn(struct cs_strbuf *out, const char *s, size_t max);

static void check_gate(gate_fn *gate, const char *in, const char *want)
{
	struct cs_strbuf out;

	cs_strbuf_init(&out, 4096);
	gate(&out, in, 100);
	assert_string_equal(cs_strbuf_text(&out), want);
	cs_strbuf_deinit(&out);
}

static void reference(struct cs_strbuf *out, const char *s, size_t max)
{
	(void)max;
	cs_md_reference(out, s);
}

static void spans_end_where_they_should(void **state)
{
	(void)state;
	check_gate(cs_md_code, "f(x)", "`f(x)`");
	check_gate(cs_md_code, "a`b``c", "```a`b``c```");
	check_gate(cs_md_code, "`", "`` ` ``");
	check_gate(cs_md_code, "two\nlines", "`two\\nlines`");
	check_gate(cs_md_code, "\xe2\x80\xae!\x1b\xff", "`\\u{202e}!\\x1b\\xff`");
	check_gate(cs_md_code, "\xe2\x80\x8b", "`\\u{200b}`");
	check_gate(cs_md_code, "", "(empty)");
	check_gate(cs_md_code, "  ", "(empty)");
	check_gate(cs_md_code, NULL, "(empty)");
	check_gate(cs_md_cell, "a|b", "`a\\|b`");
	check_gate(cs_md_cell, "a\\|b|", "`a\\ \\|b\\|`");
	check_gate(cs_md_html_code, "<b> & 'c'", "<code>&lt;b&gt; &amp; 'c'</code>");
	check_gate(cs_md_html_code, "</summary>\n\n# x", "<code>&lt;/summary&gt;\\n\\n# x</code>");
}

static void words_stay_words(void **state)
{
	(void)state;
	check_gate(cs_md_prose, "Look at it (twice), on rank 3.", "Look at it (twice), on rank 3.");
	check_gate(cs_md_prose, "Set NCCL_DEBUG=INFO, then rerun.", "Set `NCCL_DEBUG=INFO`, then rerun.");
	check_gate(cs_md_prose, "call f() and g(x, y).", "call `f()` and `g(x`, y).");
	check_gate(cs_md_prose, "ask @user about #12", "ask `@user` about `#12`");
	check_gate(cs_md_prose, "![x](y) [a](b) <b> a|b", "`![x](y)` `[a](b)` `<b>` `a|b`");
	check_gate(cs_md_prose, "see http://a.b/c or www.a.b", "see `http://a.b/c` or `www.a.b`");
	check_gate(cs_md_prose, "at 0123abc4 or GH-12", "at `0123abc4` or `GH-12`");
	check_gate(cs_md_prose, "1. no list", "`1.` no list");
	check_gate(cs_md_prose, "- no list", "`-` no list");
	check_gate(cs_md_prose, "# no\n\nheading", "`#` no heading");
	check_gate(cs_md_prose, "torch.cuda of 2.14.1", "`torch.cuda` of 2.14.1");
	check_gate(reference, "pytorch/pytorch#126544", "pytorch/pytorch#126544");
	check_gate(reference, "#1", "`#1`");
	check_gate(reference, "a/b#1 @c", "`a/b#1 @c`");
	check_gate(reference, "../b#1", "`../b#1`");
	check_gate(reference, "a/b#", "`a/b#`");
}

static void home_folders_have_no_owner(void **state)
{
	(void)state;
	check_gate(cs_md_code, "/home/someone/x.py", "`~/x.py`");
	check_gate(cs_md_code, "/home/someone", "`~`");
	check_gate(cs_md_code, "/Users/some.one/x", "`~/x`");
	check_gate(cs_md_code, "/root/.cache", "`~/.cache`");
	check_gate(cs_md_code, "/rootfs/x /root", "`/rootfs/x ~`");
	check_gate(cs_md_code, "A=/x:/home/a/b:/home/c", "`A=/x:~/b:~`");
	check_gate(cs_md_code, "-I/home/a/b 'file:///home/a'", "`-I~/b 'file://~'`");
	check_gate(cs_md_code, "/data/home/a", "`/data/home/a`");
	check_gate(cs_md_code, "/home/", "`/home/`");
	check_gate(cs_md_prose, "in /home/someone/x", "in `~/x`");
}

static void fences_are_longer_than_what_they_hold(void **state)
{
	struct cs_strbuf out;

	(void)state;
	cs_strbuf_init(&out, 4096);
	cs_md_block(&out, "a\n````\nb\n", 1000);
	assert_string_equal(cs_strbuf_text(&out), "`````\na\n````\nb\n`````\n");
	cs_strbuf_deinit(&out);
	cs_md_block(&out, "1\n2\n3\n4\n", 75);
	assert_string_equal(cs_strbuf_text(&out), "```\n1\n2\n... 2 more lines\n```\n");
	cs_strbuf_deinit(&out);
}

static void long_lines_keep_their_ends(void **state)
{
	static char line[5000];
	struct cs_strbuf out;
	const char *p;

	(void)state;
	memset(line, 'x', sizeof(line) - 20);
	memcpy(line, "begin", 5);
	strcpy(line + 4000, " at file.cpp:12\n");
	cs_strbuf_init(&out, 10000);
	cs_md_block(&out, line, 10000);
	p = cs_strbuf_text(&out);
	assert_true(strlen(p) < CS_MD_MAX_LINE + 20);
	assert_non_null(strstr(p, "```\nbegin"));
	assert_non_null(strstr(p, "..."));
	assert_non_null(strstr(p, " at file.cpp:12\n```\n"));
	cs_strbuf_deinit(&out);
}

/* ---- pages of random texts ---- */

static uint64_t seed;

static uint64_t draw(uint64_t below)
{
	seed = seed * 6364136223846793005ULL + 1442695040888963407ULL;
	return (seed >> 33) % below;
}

static const char *const pieces[] = {
	"`", "```", "````````", "~~~", "</details>", "<details>", "</summary>", "<img src=x onerror=y>", "|",
	"\\|", "\\", "@user", "#12", "owner/repo#1", "![x](y)", "[a](http://b.c)", "http://x.yz/q?a=b",
	"www.x.org", "a@b.com", "\xe2\x80\xae", "\xe2\x80\x8b", "\n", "\n\n", "\r", "\t", "\x1b[31m", "\xff",
	"**", "__x__", "- x", "1. x", "# h", "<!--", "-->", "&lt;", "$x$", ":smile:", "/home/user/x",
	"\xc3\xa9", " ", "  ", "deadbeef12", "GH-1", "~label", "!1", "word", "two words", "f(int, char)", "(",
	")", "\"", "'", ".", ",", "===", "---", "\n```\n</details>\n@user\n", "<code>", "</code>",
	"&#64;user", "\xc2\x9b",
};

#define MAX_TEXTS 512
static char *texts[MAX_TEXTS];
static size_t n_texts;

/* Texts are drawn again and again; the pool is made anew for each page. */
static void fill_pool(void)
{
	for (n_texts = 0; n_texts < MAX_TEXTS; n_texts++) {
		char text[2000];
		size_t len = 0, n = draw(n_texts % 50 ? 6 : 300);

		text[0] = '\0';
		for (size_t i = 0; i < n; i++) {
			const char *piece = pieces[draw(CS_COUNT(pieces))];

			if (len + strlen(piece) >= sizeof(text))
				break;
			strcpy(text + len, piece);
			len += strlen(piece);
		}
		texts[n_texts] = strdup(text);
		assert_non_null(texts[n_texts]);
	}
}

static const char *text(void)
{
	return draw(8) ? texts[draw(n_texts)] : NULL;
}

static const char *some_text(void)
{
	return texts[draw(n_texts)];
}

static const struct cs_module *module_of(void)
{
	static struct cs_module module;

	module = (struct cs_module){.path = some_text(), .name = some_text()};
	return draw(4) ? &module : NULL;
}

static void random_frame(struct cs_frame *f)
{
	static const char *const plain[] = {"abort", "start_thread", "clone3", "main"};

	*f = (struct cs_frame){
		.kind = (enum cs_frame_kind)draw(6),
		.trust = (enum cs_trust)draw(6),
		.address = draw(UINT32_MAX),
		.function = draw(4) ? text() : plain[draw(4)],
		.short_name = draw(3) ? NULL : text(),
		.nearest = draw(5) == 0,
		.module = module_of(),
		.file = text(),
		.line = (uint32_t)draw(1000),
		.source = draw(3) ? NULL : text(),
		.plumbing = draw(7) == 0,
		.repeat_period = draw(9) ? 0 : (uint32_t)draw(5),
		.repeat_count = draw(100000),
	};
	if (f->nearest && !f->module)
		f->nearest = false;
}

static const struct cs_frame *random_frames(size_t n)
{
	struct cs_frame *frames = calloc(n + 1, sizeof(*frames));

	assert_non_null(frames);
	for (size_t i = 0; i < n; i++)
		random_frame(&frames[i]);
	return frames;
}

struct world {
	struct cs_analysis a;
	struct cs_stack_group *groups;
	struct cs_thread *threads;
	struct cs_python_thread *pythons;
	struct cs_exception exceptions[5];
	struct cs_finding findings[4];
	struct cs_evidence evidence[4];
	struct cs_variable variables[30];
	struct cs_version versions[6];
	struct cs_diagnostic diagnostics[20];
	const char *lists[64];
	int32_t tid;
};

static void random_threads(struct world *w, size_t n)
{
	static const char *const roles[] = {"main", "nccl-watchdog", "openmp-worker", NULL};

	w->groups = calloc(n, sizeof(*w->groups));
	w->threads = calloc(n, sizeof(*w->threads));
	w->pythons = calloc(n, sizeof(*w->pythons));
	assert_true(w->groups && w->threads && w->pythons);
	for (size_t i = 0; i < n; i++) {
		size_t n_frames = i == 0 ? 1 + draw(3000) : draw(20);

		w->groups[i] = (struct cs_stack_group){
			.id = (uint32_t)i,
			.tids = &w->tid,
			.n_tids = 1 + draw(3),
			.frames = random_frames(n_frames),
			.n_frames = n_frames,
			.total_frames = draw(2) ? n_frames : draw(1000000),
			.stop = (enum cs_stop)draw(6),
			.stop_text = text(),
		};
		w->groups[i].n_tids = 1;
		w->pythons[i] = (struct cs_python_thread){
			.name = text(), .state = draw(9) ? NULL : text(), .broken = draw(9) ? NULL : text(),
			.is_main = draw(50) == 0, .holds_gil = draw(50) == 0, .daemon = draw(2)};
		w->threads[i] = (struct cs_thread){
			.tid = (int32_t)i + 1,
			.name = text(),
			.role = draw(3) ? roles[draw(CS_COUNT(roles))] : text(),
			.crashed = i == 0 && draw(4),
			.group = &w->groups[i],
			.python = draw(2) ? &w->pythons[i] : NULL,
		};
	}
	w->a.threads = w->threads;
	w->a.n_threads = n;
	w->a.groups = w->groups;
	w->a.n_groups = n;
}

static void random_rest(struct world *w)
{
	for (size_t i = 0; i < CS_COUNT(w->lists); i++)
		w->lists[i] = some_text();
	for (size_t i = 0; i < CS_COUNT(w->exceptions); i++) {
		size_t n = draw(60);

		w->exceptions[i] = (struct cs_exception){
			.tid = (int32_t)draw(5), .language = draw(2) ? "c++" : "python", .type = text(),
			.message = text(), .frames = random_frames(n), .n_frames = n, .code = text(),
			.backtrace = text(), .notes = w->lists, .n_notes = draw(10),
			.cause = draw(2) && i ? &w->exceptions[i - 1] : NULL};
	}
	for (size_t i = 0; i < CS_COUNT(w->evidence); i++)
		w->evidence[i] = (struct cs_evidence){(int32_t)draw(9), (int64_t)draw(3) - 1, some_text()};
	for (size_t i = 0; i < CS_COUNT(w->findings); i++)
		w->findings[i] = (struct cs_finding){
			.id = text(), .title = text(), .explanation = text(), .steps = w->lists,
			.n_steps = draw(20), .evidence = w->evidence, .n_evidence = draw(5),
			.references = w->lists, .n_references = draw(30)};
	for (size_t i = 0; i < CS_COUNT(w->variables); i++)
		w->variables[i] = (struct cs_variable){some_text(), some_text()};
	for (size_t i = 0; i < CS_COUNT(w->versions); i++)
		w->versions[i] = (struct cs_version){text(), text(), text()};
	for (size_t i = 0; i < CS_COUNT(w->diagnostics); i++)
		w->diagnostics[i] = (struct cs_diagnostic){(enum cs_severity)draw(3), "core", "x", text(), 0};
}

static void world_init(struct world *w, size_t n_threads)
{
	*w = (struct world){.tid = 1};
	fill_pool();
	random_threads(w, n_threads);
	random_rest(w);
	w->a.input.path = some_text();
	w->a.process = (struct cs_process){
		.command = w->lists, .n_command = draw(64), .name = text(), .executable = text(),
		.machine = text(), .environment = w->variables, .n_environment = draw(30),
		.n_environment_hidden = draw(5), .rank = (int64_t)draw(3) - 1, .world_size = 8};
	w->a.crash = (struct cs_crash){.signal = (int)draw(2) * 6, .signal_name = draw(2) ? "SIGABRT" : NULL,
				       .summary = text(), .message = text()};
	w->a.exceptions = w->exceptions;
	w->a.n_exceptions = draw(6);
	w->a.findings = w->findings;
	w->a.n_findings = draw(5);
	w->a.n_signatures = draw(2) * 189;
	w->a.versions = w->versions;
	w->a.n_versions = draw(7);
	w->a.diagnostics = w->diagnostics;
	w->a.n_diagnostics = draw(21);
	w->a.fingerprint = (struct cs_fingerprint){.algorithm = 1, .short_form = text(), .long_form = text(),
						   .text = text()};
}

static void world_deinit(struct world *w)
{
	for (size_t i = 0; i < w->a.n_groups; i++)
		free((void *)(uintptr_t)w->groups[i].frames);
	for (size_t i = 0; i < CS_COUNT(w->exceptions); i++)
		free((void *)(uintptr_t)w->exceptions[i].frames);
	free(w->groups);
	free(w->threads);
	free(w->pythons);
	for (size_t i = 0; i < n_texts; i++)
		free(texts[i]);
}

static void save(const struct page *page, size_t n)
{
	const char *folder = getenv("CORESCAN_MARKDOWN_PAGES");
	char path[512];
	FILE *file;

	if (!folder)
		return;
	snprintf(path, sizeof(path), "%s/%zu.md", folder, n);
	file = fopen(path, "we");
	assert_non_null(file);
	fwrite(page->text, 1, page->len, file);
	fclose(file);
}

/* CORESCAN_MARKDOWN_PAGES=DIR keeps the pages, to be looked at with a tracker's own renderer. */
static void hostile_pages_are_harmless(void **state)
{
	(void)state;
	for (size_t i = 0; i < 150; i++) {
		size_t max = i % 3 ? 0 : CS_MAX_MARKDOWN / (1 + draw(CS_MAX_MARKDOWN_CORES));
		struct page page;
		struct world w;

		seed = i;
		world_init(&w, 1 + draw(i % 10 ? 40 : 3000));
		page = render(&w.a, (struct cs_markdown_options){
					    .threads = draw(2), .n_cores = draw(3), .max_bytes = max});
		check_page(&page, max ? max : CS_MAX_MARKDOWN);
		save(&page, i);
		free(page.text);
		world_deinit(&w);
	}
}

/* The smallest share still says what happened, and in the end which program wrote it. */
static void small_pages_say_what_matters(void **state)
{
	(void)state;
	for (size_t max = 1; max < 6000; max += 37) {
		struct page page = render(sample_python(), (struct cs_markdown_options){.max_bytes = max});

		check_page(&page, max);
		if (max >= CS_MAX_MARKDOWN / CS_MAX_MARKDOWN_CORES) {
			assert_non_null(strstr(page.text, "SIGSEGV"));
			assert_non_null(strstr(page.text, "Stack of the crashed thread"));
			assert_true(strstr(page.text, "Its Python stack") ||
				    strstr(page.text, "No room for the Python stack alone"));
			assert_true(strstr(page.text, "<details>") ||
				    strstr(page.text, "4 more distinct stacks"));
			assert_non_null(strstr(page.text, "\ncorescan "));
		}
		free(page.text);
	}
}

/* 100,000 frames that no folding makes fewer: the ends are there, and how many are not. */
static void deep_stacks_are_capped(void **state)
{
	size_t n = 100000;
	struct cs_frame *frames = calloc(n, sizeof(*frames));
	struct cs_stack_group group = {.n_tids = 1, .frames = frames, .n_frames = n, .total_frames = n};
	struct cs_thread thread = {.tid = 1, .crashed = true, .group = &group};
	struct cs_analysis a = *sample_abort();
	struct page page;

	(void)state;
	assert_non_null(frames);
	for (size_t i = 0; i < n; i++)
		frames[i] = (struct cs_frame){.kind = CS_FRAME_NATIVE, .function = i % 2 ? "odd" : "even"};
	frames[n - 1].function = "outermost";
	a.crash.culprit = NULL;
	a.threads = &thread;
	a.groups = &group;
	a.n_threads = a.n_groups = 1;
	page = render(&a, (struct cs_markdown_options){0});
	assert_non_null(strstr(page.text, "#99999  outermost"));
	assert_non_null(strstr(page.text, "... 99,940 more frames\n"));
	check_page(&page, 20000);
	free(page.text);
	free(frames);
}

static void failed_stream_is_an_error(void **state)
{
	FILE *full = fopen("/dev/full", "we");
	struct cs_error *err;

	(void)state;
	if (!full)
		skip();
	err = cs_report_markdown(sample_crash(), &(struct cs_markdown_options){0}, full);
	assert_non_null(err);
	assert_int_equal(cs_error_code(err), CS_ERR_OS);
	cs_error_destroy(err);
	fclose(full);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(golden),
		cmocka_unit_test(unknown_is_left_out),
		cmocka_unit_test(spans_end_where_they_should),
		cmocka_unit_test(words_stay_words),
		cmocka_unit_test(home_folders_have_no_owner),
		cmocka_unit_test(fences_are_longer_than_what_they_hold),
		cmocka_unit_test(long_lines_keep_their_ends),
		cmocka_unit_test(hostile_pages_are_harmless),
		cmocka_unit_test(small_pages_say_what_matters),
		cmocka_unit_test(deep_stacks_are_capped),
		cmocka_unit_test(failed_stream_is_an_error),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
