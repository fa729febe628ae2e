/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Reading the command line. A wrong one is answered with the option, what is wrong with
 * its value and what would be right; what cannot work (a folder that is not there) is
 * found here and not after the analysis.
 */
#include "cli/options.h"

#include "base/limits.h"

#include <errno.h>
#include <getopt.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>

#define DEFAULT_TIME_LIMIT_MS 60000U
#define MAX_TIME_LIMIT_S 1000000.0

#define FOR(command) (1U << (command))
#define FOR_BOTH (FOR(CS_COMMAND_ANALYZE) | FOR(CS_COMMAND_DOCTOR))
#define FOR_SIGNATURES \
	(FOR(CS_COMMAND_ANALYZE) | FOR(CS_COMMAND_MATCH) | FOR(CS_COMMAND_SIGNATURES))
#define FOR_ALL (FOR_BOTH | FOR_SIGNATURES)

struct option_row;
typedef struct cs_error *set_fn(struct cs_cli *cli, const struct option_row *row,
				const char *value);

struct option_row {
	const char *name;
	char letter;          /* 0: none */
	const char *argument; /* NULL: takes none */
	unsigned commands;    /* FOR(...) */
	set_fn *set;
	size_t field;     /* of struct cs_cli, for set_flag() and set_file() */
	const char *help; /* lines separated by newlines */
};

static struct cs_error *set_flag(struct cs_cli *cli, const struct option_row *row,
				 const char *value)
{
	(void)value;
	*(bool *)((char *)cli + row->field) = true;
	return NULL;
}

static struct cs_error *set_text(struct cs_cli *cli, const struct option_row *row,
				 const char *value)
{
	if (!*value)
		return cs_error_new(CS_ERR_ARGUMENT, "--%s needs a %s, not an empty text",
				    row->name, row->argument);
	*(const char **)((char *)cli + row->field) = value;
	return NULL;
}

static struct cs_error *check_folder(const struct option_row *row, const char *path)
{
	struct stat st;

	if (stat(path, &st))
		return cs_error_new(CS_ERR_ARGUMENT, "--%s %s: %s", row->name, path,
				    strerror(errno));
	if (!S_ISDIR(st.st_mode))
		return cs_error_new(
			CS_ERR_ARGUMENT,
			"--%s %s: not a directory; name the one that holds the files",
			row->name, path);
	return NULL;
}

static struct cs_error *set_folder(struct cs_cli *cli, const struct option_row *row,
				   const char *value)
{
	CS_TRY(set_text(cli, row, value));
	return check_folder(row, value);
}

static struct cs_error *set_executable(struct cs_cli *cli, const struct option_row *row,
				       const char *value)
{
	struct stat st;

	CS_TRY(set_text(cli, row, value));
	if (stat(value, &st))
		return cs_error_new(CS_ERR_ARGUMENT, "--%s %s: %s", row->name, value,
				    strerror(errno));
	if (!S_ISREG(st.st_mode))
		return cs_error_new(
			CS_ERR_ARGUMENT,
			"--%s %s: not a regular file; name the program itself, for "
			"example what readlink -f $(command -v python3) prints",
			row->name, value);
	return NULL;
}

/* Folders as in PATH: separated by colons, and the option may be given again. */
static struct cs_error *add_folders(struct cs_cli *cli, const struct option_row *row,
				    const char *value)
{
	bool debug = row->field == offsetof(struct cs_cli, debug_dirs);
	char *copy = strdup(value), *rest = copy, *folder;

	if (!copy)
		return &cs_nomem;
	CS_TRY(CS_PUSH(&cli->owned, copy, CS_MAX_CLI_FOLDERS, "folders"));
	if (!*value)
		return cs_error_new(CS_ERR_ARGUMENT,
				    "--%s needs a folder, not an empty text", row->name);
	while ((folder = strsep(&rest, ":"))) {
		if (!*folder)
			continue;
		CS_TRY(check_folder(row, folder));
		if (debug)
			CS_TRY(CS_PUSH(&cli->debug_dirs, folder, CS_MAX_CLI_FOLDERS,
				       "folders"));
		else
			CS_TRY(CS_PUSH(&cli->lib_paths, folder, CS_MAX_CLI_FOLDERS,
				       "folders"));
	}
	return NULL;
}

static struct cs_error *set_color(struct cs_cli *cli, const struct option_row *row,
				  const char *value)
{
	static const char *const words[] = {
		[CS_WHEN_AUTO] = "auto",
		[CS_WHEN_ALWAYS] = "always",
		[CS_WHEN_NEVER] = "never",
	};

	for (size_t i = 0; i < CS_COUNT(words); i++) {
		if (strcmp(value, words[i]))
			continue;
		cli->color = (enum cs_when)i;
		return NULL;
	}
	return cs_error_new(CS_ERR_ARGUMENT, "--%s=%s: must be auto, always or never",
			    row->name, value);
}

static struct cs_error *set_time_limit(struct cs_cli *cli, const struct option_row *row,
				       const char *value)
{
	char *end;
	double seconds = strtod(value, &end);

	/* The comparison is written so that NaN fails it. */
	if (end == value || *end || !(seconds >= 0 && seconds <= MAX_TIME_LIMIT_S))
		return cs_error_new(
			CS_ERR_ARGUMENT,
			"--%s %s: must be a number of seconds, 0 for no limit", row->name,
			value);
	cli->analysis.time_limit_ms = (unsigned)(seconds * 1000);
	/* Less than a millisecond is a limit, and not the absence of one. */
	if (seconds > 0 && !cli->analysis.time_limit_ms)
		cli->analysis.time_limit_ms = 1;
	return NULL;
}

static struct cs_error *set_pid(struct cs_cli *cli, const struct option_row *row,
				const char *value)
{
	char *end;
	long pid;

	errno = 0;
	pid = strtol(value, &end, 10);
	if (errno || end == value || *end || pid < 1 || pid > INT_MAX)
		return cs_error_new(
			CS_ERR_ARGUMENT,
			"--%s %s: must be the number of a process, as ps prints it",
			row->name, value);
	cli->pid = (int)pid;
	return NULL;
}

static struct cs_error *set_command(struct cs_cli *cli, const struct option_row *row,
				    const char *value)
{
	(void)value;
	cli->command = row->letter == 'h' ? CS_COMMAND_HELP : CS_COMMAND_VERSION;
	return NULL;
}

#define FIELD(name) offsetof(struct cs_cli, name)

static const struct option_row rows[] = {
	{"json", 'j', NULL, FOR_BOTH | FOR(CS_COMMAND_MATCH), set_flag, FIELD(json),
	 "print one JSON object a core, each on one line"},
	{"markdown", 'M', NULL, FOR(CS_COMMAND_ANALYZE), set_flag, FIELD(markdown),
	 "print what can be pasted into an issue on GitHub or GitLab"},
	{"threads", 't', NULL, FOR(CS_COMMAND_ANALYZE), set_flag, FIELD(threads),
	 "show every distinct stack, not only the first few"},
	{"modules", 'm', NULL, FOR(CS_COMMAND_ANALYZE), set_flag, FIELD(modules),
	 "show the table of modules: program, libraries, their files"},
	{"all", 'a', NULL, FOR(CS_COMMAND_ANALYZE) | FOR(CS_COMMAND_MATCH), set_flag, FIELD(all),
	 "cut nothing: all stacks and frames, whole names, registers"},
	{"python", 'P', NULL, FOR(CS_COMMAND_ANALYZE), set_flag, FIELD(python),
	 "show the Python stacks alone, as py-spy dump prints them"},
	{"locals", 'l', NULL, FOR(CS_COMMAND_ANALYZE), set_flag, FIELD(analysis.locals),
	 "show the arguments and local variables of Python frames"},
	{"source", 's', NULL, FOR(CS_COMMAND_ANALYZE), set_flag, FIELD(analysis.source),
	 "show the line of each Python frame, where the file is there and\n"
	 "is not newer than the process"},
	{"exe", 'e', "FILE", FOR(CS_COMMAND_ANALYZE), set_executable,
	 FIELD(analysis.executable),
	 "the program that dumped the core, if it is not found where it ran"},
	{"sysroot", 0, "DIR", FOR(CS_COMMAND_ANALYZE), set_folder,
	 FIELD(analysis.sysroot),
	 "look up the paths in the core below DIR only: a container image,\n"
	 "or a copy of the machine that it ran on"},
	{"lib-path", 'L', "DIR[:DIR]", FOR(CS_COMMAND_ANALYZE), add_folders,
	 FIELD(lib_paths),
	 "search DIR for the files of the modules, by build id; repeatable"},
	{"debug-dir", 'D', "DIR[:DIR]", FOR(CS_COMMAND_ANALYZE), add_folders,
	 FIELD(debug_dirs),
	 "search DIR for separate debug files, besides /usr/lib/debug;\nrepeatable"},
	{"debuginfod", 0, NULL, FOR(CS_COMMAND_ANALYZE), set_flag,
	 FIELD(analysis.debuginfod),
	 "ask the servers in DEBUGINFOD_URLS for files that are missing;\n"
	 "without it nothing goes over the network"},
	{"time-limit", 'T', "SECONDS", FOR(CS_COMMAND_ANALYZE), set_time_limit, 0,
	 "stop after SECONDS and report what was found (60; 0: no limit)"},
	{"pid", 'p', "PID", FOR(CS_COMMAND_DOCTOR), set_pid, 0,
	 "check the limits of running process PID instead of this shell's"},
	{"signatures", 0, "DIR", FOR_SIGNATURES, set_folder, FIELD(analysis.signatures),
	 "know the problems that the signature files in DIR describe, besides\n"
	 "the built-in ones"},
	{"records", 0, "FILE", FOR(CS_COMMAND_MATCH), set_text, FIELD(records),
	 "match each line of FILE, a report split into frames, as JSON"},
	{"output", 'o', "FILE", FOR_ALL, set_text, FIELD(output),
	 "write the report to FILE"},
	{"color", 0, "WHEN", FOR_ALL, set_color, 0,
	 "auto (on a terminal), always or never; NO_COLOR is heeded"},
	{"quiet", 'q', NULL, FOR_ALL, set_flag, FIELD(quiet),
	 "no progress on standard error"},
	{"help", 'h', NULL, FOR_ALL, set_command, 0, "print this and exit"},
	{"version", 'V', NULL, FOR_ALL, set_command, 0, "print the version and exit"},
};

static const struct {
	const char *name;
	enum cs_command command;
	const char *help;
} commands[] = {
	{"analyze", CS_COMMAND_ANALYZE,
	 "explain core files; the default, its name may be left out"},
	{"doctor", CS_COMMAND_DOCTOR,
	 "find out why a crash leaves no core, and how to mend it"},
	{"match", CS_COMMAND_MATCH, "read pasted backtraces and logs, and name the known problems"},
	{"signatures", CS_COMMAND_SIGNATURES,
	 "list, show ID, lint [DIR], test [FILE]: what known problems look like"},
};

static const char *command_name(enum cs_command command)
{
	for (size_t i = 0; i < CS_COUNT(commands); i++)
		if (commands[i].command == command)
			return commands[i].name;
	return "";
}

const char *cs_cli_option_name(size_t n)
{
	return n < CS_COUNT(rows) ? rows[n].name : NULL;
}

/* What getopt wants, out of the table. Values are indexes into it, from 256 on. */
static void make_getopt(struct option *longs, char *letters)
{
	*letters++ = ':'; /* a missing argument is told apart from an unknown option */
	for (size_t i = 0; i < CS_COUNT(rows); i++) {
		longs[i] = (struct option){
			.name = rows[i].name,
			.has_arg = rows[i].argument ? required_argument : no_argument,
			.val = 256 + (int)i,
		};
		if (!rows[i].letter)
			continue;
		*letters++ = rows[i].letter;
		if (rows[i].argument)
			*letters++ = ':';
	}
	longs[CS_COUNT(rows)] = (struct option){0};
	*letters = '\0';
}

static const struct option_row *row_of(int value)
{
	if (value >= 256)
		return &rows[value - 256];
	for (size_t i = 0; i < CS_COUNT(rows); i++)
		if (rows[i].letter == value && value)
			return &rows[i];
	return NULL;
}

static struct cs_error *option_error(int value, char **argv)
{
	const struct option_row *row = row_of(optopt);
	const char *given = argv[optind - 1];

	if (value == ':' && row)
		return cs_error_new(CS_ERR_ARGUMENT, "--%s needs a value: --%s %s",
				    row->name, row->name, row->argument);
	if (optopt >= 256 && row)
		return cs_error_new(CS_ERR_ARGUMENT, "--%s takes no value", row->name);
	if (optopt)
		return cs_error_new(CS_ERR_ARGUMENT,
				    "there is no option -%c; corescan --help lists them",
				    optopt);
	for (size_t i = 0, n = 0; i < CS_COUNT(rows) && !strncmp(given, "--", 2); i++) {
		n += !strncmp(rows[i].name, given + 2, strcspn(given + 2, "="));
		if (n == 2)
			return cs_error_new(CS_ERR_ARGUMENT,
					    "%s could be several options; write it out",
					    given);
	}
	return cs_error_new(CS_ERR_ARGUMENT,
			    "there is no option %s; corescan --help lists them", given);
}

/* The first operand is a command if it is one's name. */
static void take_command(struct cs_cli *cli)
{
	for (size_t i = 0; cli->n_operands && i < CS_COUNT(commands); i++) {
		if (strcmp(cli->operands[0], commands[i].name))
			continue;
		cli->command = commands[i].command;
		cli->operands++;
		cli->n_operands--;
		return;
	}
}

static struct cs_error *check_stdin(const struct cs_cli *cli)
{
	size_t stdins = 0;

	for (size_t i = 0; i < cli->n_operands; i++)
		stdins += !strcmp(cli->operands[i], "-");
	return stdins > 1 ? cs_error_new(CS_ERR_ARGUMENT,
					 "standard input (-) can be read only once")
			  : NULL;
}

static struct cs_error *check_match(const struct cs_cli *cli)
{
	if (cli->records && cli->n_operands)
		return cs_error_new(CS_ERR_ARGUMENT,
				    "match takes texts (%s) or --records FILE, not both",
				    cli->operands[0]);
	if (!cli->records && !cli->n_operands)
		return cs_error_new(CS_ERR_ARGUMENT,
				    "match needs a FILE with backtraces, logs or other text, or - "
				    "for standard input");
	return check_stdin(cli);
}

static struct cs_error *check_signatures(const struct cs_cli *cli)
{
	static const char *const verbs[] = {"list", "show", "lint", "test"};

	for (size_t i = 0; cli->n_operands && i < CS_COUNT(verbs); i++)
		if (!strcmp(cli->operands[0], verbs[i]))
			return NULL;
	return cs_error_new(CS_ERR_ARGUMENT,
			    "signatures needs a word what to do: list, show ID, lint [DIR] or "
			    "test [FILE]");
}

/* What is for an issue is nothing else at the same time. */
static struct cs_error *check_form(const struct cs_cli *cli)
{
	if (cli->markdown && (cli->json || cli->python))
		return cs_error_new(CS_ERR_ARGUMENT,
				    "--markdown and --%s are two forms of report: give one of them",
				    cli->json ? "json" : "python");
	if (cli->markdown && cli->n_operands > CS_MAX_MARKDOWN_CORES)
		return cs_error_new(CS_ERR_ARGUMENT,
				    "--markdown has room for %lu cores, and these are %zu: an issue holds no "
				    "more; name those that matter",
				    CS_MAX_MARKDOWN_CORES, cli->n_operands);
	return NULL;
}

static struct cs_error *check(const struct cs_cli *cli, const bool *given)
{
	for (size_t i = 0; i < CS_COUNT(rows); i++) {
		if (given[i] && !(rows[i].commands & FOR(cli->command)))
			return cs_error_new(
				CS_ERR_ARGUMENT, "--%s has no meaning for corescan %s",
				rows[i].name, command_name(cli->command));
	}
	if (cli->command == CS_COMMAND_DOCTOR)
		return cli->n_operands
			       ? cs_error_new(CS_ERR_ARGUMENT,
					      "doctor looks at this machine and takes no "
					      "file (%s); to analyse a core called "
					      "doctor, write ./doctor",
					      cli->operands[0])
			       : NULL;
	if (cli->command == CS_COMMAND_MATCH)
		return check_match(cli);
	if (cli->command == CS_COMMAND_SIGNATURES)
		return check_signatures(cli);
	if (!cli->n_operands)
		return cs_error_new(CS_ERR_ARGUMENT,
				    "no core file given: corescan CORE (no core at all? "
				    "try corescan doctor)");
	CS_TRY(check_form(cli));
	return check_stdin(cli);
}

static struct cs_error *parse_options(int argc, char **argv, struct cs_cli *cli,
				      bool *given)
{
	struct option longs[CS_COUNT(rows) + 1];
	char letters[2 * CS_COUNT(rows) + 2];
	int value;

	make_getopt(longs, letters);
	optind = 0; /* start afresh: tests parse more than one command line */
	opterr = 0;
	while ((value = getopt_long(argc, argv, letters, longs, NULL)) != -1) {
		const struct option_row *row =
			value == '?' || value == ':' ? NULL : row_of(value);

		if (!row)
			return option_error(value, argv);
		given[row - rows] = true;
		CS_TRY(row->set(cli, row, optarg));
		if (cli->command == CS_COMMAND_HELP || cli->command == CS_COMMAND_VERSION)
			return NULL;
	}
	cli->operands = argv + optind;
	cli->n_operands = (size_t)(argc - optind);
	return NULL;
}

struct cs_error *cs_cli_parse(int argc, char **argv, struct cs_cli *ret)
{
	bool given[CS_COUNT(rows)] = {false};

	*ret = (struct cs_cli){
		.analysis = {.size = sizeof(ret->analysis),
			     .time_limit_ms = DEFAULT_TIME_LIMIT_MS},
	};
	CS_TRY(parse_options(argc, argv, ret, given));
	if (ret->command == CS_COMMAND_HELP || ret->command == CS_COMMAND_VERSION)
		return NULL;
	take_command(ret);
	CS_TRY(check(ret, given));
	ret->analysis.lib_paths = ret->lib_paths.v;
	ret->analysis.n_lib_paths = ret->lib_paths.n;
	ret->analysis.debug_dirs = ret->debug_dirs.v;
	ret->analysis.n_debug_dirs = ret->debug_dirs.n;
	return NULL;
}

void cs_cli_deinit(struct cs_cli *cli)
{
	for (size_t i = 0; i < cli->owned.n; i++)
		free(cli->owned.v[i]);
	free(cli->owned.v);
	free(cli->lib_paths.v);
	free(cli->debug_dirs.v);
	*cli = (struct cs_cli){0};
}

static void help_option(FILE *out, const struct option_row *row)
{
	const char *line = row->help, *end;
	char name[48], letter[8] = "    ";

	if (row->letter)
		snprintf(letter, sizeof(letter), "-%c, ", row->letter);
	snprintf(name, sizeof(name), "%s--%s%s%s", letter, row->name,
		 row->argument ? " " : "", row->argument ? row->argument : "");
	fprintf(out, "  %-25s", name);
	while ((end = strchr(line, '\n'))) {
		fprintf(out, " %.*s\n  %-25s", (int)(end - line), line, "");
		line = end + 1;
	}
	fprintf(out, " %s\n", line);
}

void cs_cli_help(FILE *out)
{
	fputs("Usage: corescan [OPTION]... CORE...\n"
	      "       corescan doctor [OPTION]...\n"
	      "       corescan match [OPTION]... FILE...\n"
	      "       corescan signatures list|show|lint|test [OPTION]... [WORD]...\n"
	      "\n"
	      "Says what killed the process that a core file is of, where, and what each "
	      "of its\n"
	      "threads was doing. CORE may be compressed (gzip, xz, zstd, lz4, bzip2); - "
	      "is standard\n"
	      "input. Program and libraries are found by themselves and are never "
	      "executed.\n"
	      "\n"
	      "Commands:\n",
	      out);
	for (size_t i = 0; i < CS_COUNT(commands); i++)
		fprintf(out, "  %-25s %s\n", commands[i].name, commands[i].help);
	fputs("\nOptions:\n", out);
	for (size_t i = 0; i < CS_COUNT(rows); i++)
		help_option(out, &rows[i]);
	fputs("\n"
	      "Exit status: 0 a report with nothing known to be missing, 1 a report with "
	      "errors among\n"
	      "its notes (doctor: a crash would leave no whole core), 2 wrong usage, 3 "
	      "nothing could\n"
	      "be said, 4 stopped by a limit of time or memory. With several cores it is "
	      "the highest.\n",
	      out);
}
