/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The command line: what right ones mean, and that wrong ones are answered with the
 * option's name. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "cli/options.h"

#include <string.h>

#define MAX_ARGUMENTS 32

/* Parse "corescan" and the words of @line, separated by blanks; "" is the word "". */
struct parsed {
	char line[256];
	char *argv[MAX_ARGUMENTS];
	struct cs_cli cli;
	struct cs_error *err;
};

static void parse(struct parsed *p, const char *line)
{
	char *rest = p->line, *word;
	int argc = 0;

	snprintf(p->line, sizeof(p->line), "corescan%s%s", *line ? " " : "", line);
	while ((word = strsep(&rest, " "))) {
		assert_true(argc + 1 < MAX_ARGUMENTS);
		p->argv[argc++] = strcmp(word, "''") ? word : word + 2;
	}
	p->argv[argc] = NULL;
	p->err = cs_cli_parse(argc, p->argv, &p->cli);
}

static void end(struct parsed *p)
{
	cs_error_destroy(p->err);
	cs_cli_deinit(&p->cli);
}

static void test_defaults(void **state)
{
	struct parsed p;

	(void)state;
	parse(&p, "core.1");
	assert_null(p.err);
	assert_int_equal(p.cli.command, CS_COMMAND_ANALYZE);
	assert_int_equal(p.cli.n_operands, 1);
	assert_string_equal(p.cli.operands[0], "core.1");
	assert_int_equal(p.cli.analysis.size, sizeof(struct cs_options));
	assert_int_equal(p.cli.analysis.time_limit_ms, 60000);
	assert_int_equal(p.cli.color, CS_WHEN_AUTO);
	assert_false(p.cli.analysis.debuginfod);
	end(&p);
}

static void test_every_option(void **state)
{
	struct parsed p;

	(void)state;
	parse(&p, "a --json --threads b --modules --all --python --locals --source "
		  "--exe /proc/self/exe --sysroot / --debuginfod --time-limit 1.5 "
		  "--color=never --quiet -o out");
	/* /proc/self/exe is a link to a regular file. */
	assert_null(p.err);
	assert_true(p.cli.json && p.cli.threads && p.cli.modules && p.cli.all &&
		    p.cli.python && p.cli.quiet);
	assert_true(p.cli.analysis.locals && p.cli.analysis.source);
	assert_true(p.cli.analysis.debuginfod);
	assert_string_equal(p.cli.analysis.executable, "/proc/self/exe");
	assert_string_equal(p.cli.analysis.sysroot, "/");
	assert_int_equal(p.cli.analysis.time_limit_ms, 1500);
	assert_int_equal(p.cli.color, CS_WHEN_NEVER);
	assert_string_equal(p.cli.output, "out");
	assert_int_equal(p.cli.n_operands, 2);
	assert_string_equal(p.cli.operands[1], "b");
	end(&p);
}

static void test_folders_add_up(void **state)
{
	struct parsed p;

	(void)state;
	parse(&p, "--lib-path /:/tmp:: -L /usr --debug-dir /etc core");
	assert_null(p.err);
	assert_int_equal(p.cli.analysis.n_lib_paths, 3);
	assert_string_equal(p.cli.analysis.lib_paths[0], "/");
	assert_string_equal(p.cli.analysis.lib_paths[1], "/tmp");
	assert_string_equal(p.cli.analysis.lib_paths[2], "/usr");
	assert_int_equal(p.cli.analysis.n_debug_dirs, 1);
	assert_string_equal(p.cli.analysis.debug_dirs[0], "/etc");
	end(&p);
}

static void test_time_limit_edges(void **state)
{
	static const struct {
		const char *line;
		unsigned ms;
	} cases[] = {{"-T 0 c", 0},
		     {"-T 0.0001 c", 1},
		     {"-T 60 c", 60000},
		     {"-T 1000000 c", 1000000000}};
	struct parsed p;

	(void)state;
	for (size_t i = 0; i < CS_COUNT(cases); i++) {
		parse(&p, cases[i].line);
		assert_null(p.err);
		assert_int_equal(p.cli.analysis.time_limit_ms, cases[i].ms);
		end(&p);
	}
}

static void test_commands(void **state)
{
	struct parsed p;

	(void)state;
	parse(&p, "doctor --json --pid 12");
	assert_null(p.err);
	assert_int_equal(p.cli.command, CS_COMMAND_DOCTOR);
	assert_int_equal(p.cli.pid, 12);
	end(&p);
	parse(&p, "--json doctor");
	assert_null(p.err);
	assert_int_equal(p.cli.command, CS_COMMAND_DOCTOR);
	end(&p);
	parse(&p, "analyze core");
	assert_null(p.err);
	assert_int_equal(p.cli.n_operands, 1);
	assert_string_equal(p.cli.operands[0], "core");
	end(&p);
	parse(&p, "match --records file.jsonl --signatures /");
	assert_null(p.err);
	assert_int_equal(p.cli.command, CS_COMMAND_MATCH);
	assert_string_equal(p.cli.records, "file.jsonl");
	assert_string_equal(p.cli.analysis.signatures, "/");
	end(&p);
	parse(&p, "signatures show an-id");
	assert_null(p.err);
	assert_int_equal(p.cli.command, CS_COMMAND_SIGNATURES);
	assert_int_equal(p.cli.n_operands, 2);
	end(&p);
	parse(&p, "./doctor");
	assert_null(p.err);
	assert_int_equal(p.cli.command, CS_COMMAND_ANALYZE);
	end(&p);
	parse(&p, "core doctor");
	assert_null(p.err);
	assert_int_equal(p.cli.command, CS_COMMAND_ANALYZE);
	assert_int_equal(p.cli.n_operands, 2);
	end(&p);
	parse(&p, "--version --no-such-option");
	assert_null(p.err);
	assert_int_equal(p.cli.command, CS_COMMAND_VERSION);
	end(&p);
}

static void test_wrong_usage(void **state)
{
	/* What the message must name. */
	static const struct {
		const char *line;
		const char *part;
	} cases[] = {
		{"", "no core file given"},
		{"--no-such c", "--no-such"},
		{"-y c", "-y"},
		{"c --exe", "--exe needs a value"},
		{"-L", "--lib-path needs a value"},
		{"--json=1 c", "--json takes no value"},
		{"--markdown -j c", "--markdown and --json are two forms"},
		{"-M --python c", "--markdown and --python are two forms"},
		{"--de x c", "--de could be several"},
		{"--exe '' c", "--exe needs a FILE"},
		{"--exe / c", "--exe /: not a regular file"},
		{"--exe /no/such c", "--exe /no/such"},
		{"--sysroot /dev/null c", "--sysroot /dev/null: not a directory"},
		{"--lib-path /:/no/such c", "--lib-path /no/such"},
		{"--debug-dir '' c", "--debug-dir needs"},
		{"--time-limit x c", "--time-limit x"},
		{"--time-limit -1 c", "--time-limit -1"},
		{"--time-limit nan c", "--time-limit nan"},
		{"--time-limit 1s c", "--time-limit 1s"},
		{"--color sometimes c", "--color=sometimes"},
		{"--pid 0 doctor", "--pid 0"},
		{"--pid 99999999999999999999 doctor", "--pid 9999"},
		{"doctor --threads", "--threads has no meaning for corescan doctor"},
		{"doctor core", "./doctor"},
		{"--pid 1 core", "--pid has no meaning"},
		{"- -", "standard input"},
	};
	struct parsed p;

	(void)state;
	for (size_t i = 0; i < CS_COUNT(cases); i++) {
		parse(&p, cases[i].line);
		if (!p.err || !strstr(cs_error_message(p.err), cases[i].part))
			fail_msg("corescan %s: %s", cases[i].line,
				 p.err ? cs_error_message(p.err) : "no error");
		assert_int_equal(cs_error_code(p.err), CS_ERR_ARGUMENT);
		end(&p);
	}
}

static void test_help_has_every_option(void **state)
{
	char *text = NULL, option[64];
	const char *name;
	size_t len, n = 0;
	FILE *out = open_memstream(&text, &len);

	(void)state;
	cs_cli_help(out);
	fclose(out);
	for (; (name = cs_cli_option_name(n)); n++) {
		snprintf(option, sizeof(option), "--%s ", name);
		assert_non_null(strstr(text, option));
	}
	assert_true(n > 10);
	for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n"))
		assert_true(strlen(line) <= 100);
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_defaults),
		cmocka_unit_test(test_every_option),
		cmocka_unit_test(test_folders_add_up),
		cmocka_unit_test(test_time_limit_edges),
		cmocka_unit_test(test_commands),
		cmocka_unit_test(test_wrong_usage),
		cmocka_unit_test(test_help_has_every_option),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
