/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * corescan CORE...: one report for each core, in the order given. A core of which nothing
 * can be said costs its own report and no other one's.
 */
#include "cli/analyze_command.h"

#include "base/limits.h"
#include "cli/output.h"
#include "cli/progress.h"
#include "report/report.h"
#include "report/text_out.h"

CS_DEFINE_CLEANUP(const struct cs_analysis *, cs_analysis_destroy)

static enum cs_exit status_of(const struct cs_analysis *a)
{
	if (a->limit_hit)
		return CS_EXIT_LIMIT;
	for (size_t i = 0; i < a->n_diagnostics; i++)
		if (a->diagnostics[i].severity == CS_SEVERITY_ERROR)
			return CS_EXIT_INCOMPLETE;
	return a->n_diagnostics_dropped ? CS_EXIT_INCOMPLETE : CS_EXIT_OK;
}

static struct cs_error *report_text(const struct cs_cli *cli,
				    const struct cs_output *output,
				    const struct cs_analysis *a)
{
	const struct cs_text_options options = {
		.color = output->color,
		.threads = cli->threads,
		.modules = cli->modules,
		.all = cli->all,
		.width = output->width,
	};

	return cli->python ? cs_report_python(a, &options, output->stream)
			   : cs_report_text(a, &options, output->stream);
}

/* Core number @i, in its share of what an issue holds. */
static struct cs_error *report_markdown(const struct cs_cli *cli, const struct cs_output *output,
					const struct cs_analysis *a, size_t i)
{
	const struct cs_markdown_options options = {
		.threads = cli->threads || cli->all,
		.core = i,
		.n_cores = cli->n_operands,
		.max_bytes = CS_MAX_MARKDOWN / cli->n_operands,
	};

	return cs_report_markdown(a, &options, output->stream);
}

/* "==> core.17 <==", as tail(1) has it, before each of several reports for people. */
static void put_header(const struct cs_cli *cli, const struct cs_output *output, size_t i)
{
	const struct cs_text_options options = {.color = output->color};
	struct cs_text t = {.out = output->stream, .options = &options};

	if (cli->json || cli->markdown || cli->n_operands < 2)
		return;
	cs_text_printf(&t, "%s", i ? "\n" : "");
	cs_text_style(&t, CS_STYLE_HEAD);
	cs_text_printf(&t, "==> ");
	cs_text_put(&t, cli->operands[i]);
	cs_text_printf(&t, " <==");
	cs_text_plain(&t);
	cs_text_printf(&t, "\n");
}

static struct cs_error *report_failure(const struct cs_cli *cli,
				       const struct cs_output *output, const char *path,
				       const struct cs_error *why)
{
	fflush(output->stream); /* the complaint comes after the reports before it */
	cs_output_complain(path, why);
	return cli->json ? cs_report_json_failure(path, why, output->stream) : NULL;
}

/* An error is one of writing; what is wrong with the core is in @status. */
static struct cs_error *analyze_one(const struct cs_cli *cli,
				    const struct cs_output *output, size_t i,
				    enum cs_exit *status)
{
	CS_CLEANUP(cs_analysis_destroyp) const struct cs_analysis *a = NULL;
	CS_CLEANUP(cs_error_destroyp) struct cs_error *why = NULL;
	struct cs_options options = cli->analysis;
	struct cs_progress progress;

	options.all_lines = cli->all;
	cs_progress_begin(&progress, stderr, cli->quiet);
	if (progress.out) {
		options.progress = cs_progress_update;
		options.progress_arg = &progress;
	}
	why = cs_analyze(cli->operands[i], &options, &a);
	cs_progress_end(&progress);
	if (why) {
		*status = CS_EXIT_NOTHING;
		return report_failure(cli, output, cli->operands[i], why);
	}
	*status = status_of(a);
	put_header(cli, output, i);
	if (cli->markdown)
		return report_markdown(cli, output, a, i);
	return cli->json ? cs_report_json(a, output->stream)
			 : report_text(cli, output, a);
}

static struct cs_error *analyze_all(const struct cs_cli *cli, struct cs_output *output,
				    enum cs_exit *worst)
{
	for (size_t i = 0; i < cli->n_operands; i++) {
		enum cs_exit status = CS_EXIT_OK;
		struct cs_error *err = analyze_one(cli, output, i, &status);

		*worst = CS_MAX(*worst, status);
		if (err)
			return err;
	}
	return NULL;
}

enum cs_exit cs_command_analyze(const struct cs_cli *cli)
{
	return cs_output_run(cli, analyze_all);
}
