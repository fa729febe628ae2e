/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The whole analysis of a file that is said to be a core, and all reports on it. The input is the file. The
 * core names files, as every core does: what it names is opened, as it would be for a user without
 * --sysroot.
 */
#include "report/report.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void want(bool ok)
{
	if (!ok)
		abort();
}

static void render(const struct cs_analysis *a)
{
	static const struct cs_text_options terse = {.width = 80};
	static const struct cs_text_options full = {
		.color = true, .threads = true, .modules = true, .all = true};
	static const struct cs_markdown_options issue = {.threads = true};
	FILE *out = fopen("/dev/null", "w");

	want(out && cs_ok(cs_report_text(a, &terse, out)) && cs_ok(cs_report_text(a, &full, out)) &&
	     cs_ok(cs_report_json(a, out)) && cs_ok(cs_report_markdown(a, &issue, out)));
	fclose(out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct cs_options options = {.size = sizeof(options), .time_limit_ms = 5000};
	const struct cs_analysis *analysis;
	struct cs_error *err;
	int fd = memfd_create("core", MFD_CLOEXEC);
	char path[32];

	want(fd >= 0 && write(fd, data, size) == (ssize_t)size);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	err = cs_analyze(path, &options, &analysis);
	if (!err) {
		render(analysis);
		cs_analysis_destroy(analysis);
	} else {
		want(strstr(cs_error_message(err), path) != NULL); /* it names the file */
		cs_error_destroy(err);
	}
	close(fd);
	return 0;
}
