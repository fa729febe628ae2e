/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The streams of the program. Knows terminals and descriptors, not what is written. */
#include "cli/output.h"

#include "base/text.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <unistd.h>

#define MIN_WIDTH                                                                        \
	60 /* a narrower window wraps lines itself, better than we would cut them */

/** Each module keeps its file open, and large processes have more than the usual soft limit of 1,024. */
static void raise_file_limit(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur < limit.rlim_max) {
		limit.rlim_cur = limit.rlim_max;
		setrlimit(RLIMIT_NOFILE, &limit);
	}
}

void cs_output_prepare_process(void)
{
	/* The lowest free descriptor is what open() gives: it fills the holes in order.
	 */
	for (int fd = 0; fd <= 2; fd++)
		if (fcntl(fd, F_GETFD) < 0 && errno == EBADF &&
		    open("/dev/null", O_RDONLY) < 0)
			_exit(CS_EXIT_NOTHING);
	signal(SIGPIPE, SIG_IGN);
	raise_file_limit();
}

static bool wants_color(const struct cs_cli *cli, int fd)
{
	const char *no_color = getenv("NO_COLOR"), *term = getenv("TERM");

	if (cli->color != CS_WHEN_AUTO)
		return cli->color == CS_WHEN_ALWAYS;
	return !(no_color && *no_color) && isatty(fd) && term && *term &&
	       strcmp(term, "dumb");
}

struct cs_error *cs_output_open(const struct cs_cli *cli, struct cs_output *ret)
{
	struct cs_output output = {.stream = stdout, .path = "standard output"};
	struct winsize size;
	int fd;

	if (cli->output) {
		output.path = cli->output;
		output.stream = fopen(cli->output, "we");
		if (!output.stream)
			return cs_error_os(errno, "--output %s", cli->output);
	}
	fd = fileno(output.stream);
	output.color = wants_color(cli, fd);
	if (isatty(fd) && !ioctl(fd, TIOCGWINSZ, &size) && size.ws_col)
		output.width = CS_MAX((unsigned)size.ws_col, (unsigned)MIN_WIDTH);
	*ret = output;
	return NULL;
}

struct cs_error *cs_output_close(struct cs_output *output)
{
	FILE *stream = CS_TAKE(output->stream);
	bool failed;

	if (!stream)
		return NULL;
	errno = 0;
	failed = fflush(stream) || ferror(stream);
	if (stream != stdout && fclose(stream))
		failed = true;
	if (!failed)
		return NULL;
	return cs_error_os(errno ? errno : EIO, "%s", output->path);
}

static void put_safe(const char *s)
{
	const unsigned char *p = (const unsigned char *)s;

	while (*p) {
		size_t n = cs_utf8_sequence(p, strnlen((const char *)p, 4));

		if (n && cs_text_is_safe(p, n))
			fwrite(p, 1, n, stderr);
		else
			fprintf(stderr, "\\x%02x", *p);
		p += n && cs_text_is_safe(p, n) ? n : 1;
	}
}

void cs_output_complain(const char *path, const struct cs_error *err)
{
	const char *message = cs_error_message(err);

	fputs("corescan: ", stderr);
	/* Most messages name the file themselves. */
	if (path && strncmp(message, path, strlen(path)) != 0) {
		put_safe(path);
		fputs(": ", stderr);
	}
	put_safe(message);
	fputc('\n', stderr);
}

bool cs_output_reader_gone(const struct cs_error *err)
{
	return cs_error_code(err) == CS_ERR_OS && cs_error_errno(err) == EPIPE;
}

enum cs_exit cs_output_run(const struct cs_cli *cli, cs_output_fn *work)
{
	CS_CLEANUP(cs_error_destroyp) struct cs_error *err = NULL;
	enum cs_exit status = CS_EXIT_OK;
	struct cs_output output = {0};

	err = cs_output_open(cli, &output);
	if (!err) {
		struct cs_error *closing;

		err = work(cli, &output, &status);
		closing = cs_output_close(&output);
		if (err)
			cs_error_destroy(closing); /* the first one says it */
		else
			err = closing;
	}
	if (!err || cs_output_reader_gone(err))
		return status;
	cs_output_complain(NULL, err);
	return cs_error_code(err) == CS_ERR_ARGUMENT ? CS_EXIT_USAGE : CS_EXIT_NOTHING;
}
