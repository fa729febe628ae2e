/* SPDX-License-Identifier: GPL-3.0-or-later */
/**
 * corescan doctor: would a crash here leave a whole core, and where would it be?
 *
 * Each check looks at one thing and says what it found, whether that stands in the way,
 * and the command that mends it. All files are read below a root, so that tests can show
 * it other machines than this one.
 */
#ifndef CS_CLI_DOCTOR_H
#define CS_CLI_DOCTOR_H

#include "base/arena.h"
#include "base/vec.h"
#include "cli/options.h"

struct cs_doctor_env {
	const char *root; /* prefix of all paths; "" for this machine */
	int pid;          /* the process asked about; 0: one started from here */
};

enum cs_check_result {
	CS_CHECK_OK,
	CS_CHECK_NOTE,    /* worth knowing, does not stand in the way */
	CS_CHECK_PROBLEM, /* no core, or not a whole one, until it is mended */
};

struct cs_fix {
	const char *command; /* to type or to write into a file */
	const char *where;   /* when or where to; NULL: obvious */
};
#define CS_CHECK_FIXES 6

struct cs_check {
	const char *id; /* stable, for programs: "core-limit" */
	const char *title;
	enum cs_check_result result;
	const char *value; /* what was seen; NULL: could not be read */
	const char *text;  /* what it means; NULL: the value says it */
	struct cs_fix fixes[CS_CHECK_FIXES];
	size_t n_fixes;
};

/** Who gets the core. */
enum cs_core_sink {
	CS_SINK_UNKNOWN, /* core_pattern is not readable */
	CS_SINK_FILE,
	CS_SINK_APPORT,
	CS_SINK_SYSTEMD,
	CS_SINK_ABRT,
	CS_SINK_PROGRAM, /* a pipe to some other program */
	CS_SINK_SOCKET,
	CS_SINK_NOTHING, /* the pattern says that no core is kept */
};

struct cs_doctor {
	struct cs_doctor_env env;
	struct cs_arena *arena; /* not owned; holds all texts */
	CS_VEC(struct cs_check) checks;
	bool nomem;

	/* What checks learn from each other. */
	enum cs_core_sink sink;
	const char *destination; /* folder that cores land in; NULL: not known */
	const char *container;   /* kind of container that this is; NULL: none */
	uint64_t memory; /* bytes a core of it may take: RSS of the process, else RAM; 0:
			    unknown */
	long uid;        /* of process env.pid; -1: not known, or none given */
};

/**
 * Run all checks. @arena must outlive @ret, which is for cs_doctor_deinit() in any case.
 * Errors: NOT_FOUND (there is no process env.pid), NOMEM.
 */
CS_MUST_CHECK struct cs_error *cs_doctor_run(const struct cs_doctor_env *env,
					     struct cs_arena *arena,
					     struct cs_doctor *ret);
void cs_doctor_deinit(struct cs_doctor *doctor);

/** True if a crash would leave a whole core: no check found a problem. */
bool cs_doctor_is_well(const struct cs_doctor *doctor);

CS_MUST_CHECK struct cs_error *cs_doctor_report_text(const struct cs_doctor *doctor,
						     bool color, unsigned width,
						     FILE *out);
CS_MUST_CHECK struct cs_error *cs_doctor_report_json(const struct cs_doctor *doctor,
						     FILE *out);

/** corescan doctor: check this machine and report as @cli wants it. */
enum cs_exit cs_command_doctor(const struct cs_cli *cli);

/* ---- for the checks ---- */

/** Start a check; what follows with cs_doctor_fix() belongs to it. Texts must live as
 * long as the arena. */
void cs_doctor_add(struct cs_doctor *d, const char *id, const char *title,
		   enum cs_check_result result, const char *value, const char *text);
void cs_doctor_fix(struct cs_doctor *d, const char *command, const char *where);
/** A text in the arena, "" without memory (and the doctor remembers). */
const char *cs_doctor_printf(struct cs_doctor *d, const char *fmt, ...) CS_PRINTF(2, 3);

/** The path below the root. */
const char *cs_doctor_path(struct cs_doctor *d, const char *path);
/** "/proc/PID/NAME" or "/proc/self/NAME", not below the root yet. */
const char *cs_doctor_proc(struct cs_doctor *d, const char *name);
/** Contents of the file without trailing white space, at most CS_MAX_DOCTOR_FILE bytes;
 * NULL: not readable. */
char *cs_doctor_read(struct cs_doctor *d, const char *path);
bool cs_doctor_exists(struct cs_doctor *d, const char *path);
/** The number in the file; false if there is none. */
bool cs_doctor_read_number(struct cs_doctor *d, const char *path, uint64_t *ret);
/**
 * Value of the line "KEY<separator>VALUE" of @text, blanks around it removed, in the
 * arena; the last such line counts. NULL: none.
 */
const char *cs_doctor_value(struct cs_doctor *d, const char *text, const char *key,
			    char separator);

/** The checks, in the order in which they build on each other. */
void cs_doctor_check_process(
	struct cs_doctor *d); /* memory, uid; signals and dumpable with a pid */
void cs_doctor_check_container(struct cs_doctor *d);
void cs_doctor_check_pattern(struct cs_doctor *d); /* sink, destination */
void cs_doctor_check_handler(
	struct cs_doctor *d); /* the configuration of systemd, apport, ABRT */
void cs_doctor_check_limits(struct cs_doctor *d); /* core and file size */
void cs_doctor_check_space(struct cs_doctor *d);
void cs_doctor_check_filter(struct cs_doctor *d);
void cs_doctor_check_kernel(struct cs_doctor *d); /* suid_dumpable, ptrace scope */
void cs_doctor_check_memory(
	struct cs_doctor *d); /* memory limit, the out-of-memory killer */

#endif
