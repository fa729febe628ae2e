/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Getting at a core's bytes: a plain file as it is, a compressed one or a pipe through libarchive into a
 * temporary file without a name. Knows filters and disks, nothing of ELF.
 *
 * The temporary file is sparse: a core is mostly zeroes, and 4 KiB of them cost a seek, not a write.
 */
#include "core/internal.h"

#include <archive.h>
#include <archive_entry.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define READ_BLOCK (256UL << 10)
#define HOLE 4096UL /* bytes of zeroes that are left out */

struct spool {
	struct cs_core *core;
	const struct cs_core_options *options;
	const char *path;   /* of the input, for messages */
	const char *folder; /* where the temporary file lies */
	struct archive *archive;
	int in;  /* not owned */
	int out; /* owned */
	uint64_t in_size; /* 0: not known */
	uint64_t written;
};

static const char *filter_of_magic(const uint8_t *p, size_t n)
{
	static const struct {
		const char *name, *magic;
		size_t len;
	} magics[] = {
		{"gzip", "\x1f\x8b", 2},
		{"xz", "\xfd" "7zXZ", 6},
		{"zstd", "\x28\xb5\x2f\xfd", 4},
		{"lz4", "\x04\x22\x4d\x18", 4},
		{"bzip2", "BZh", 3},
	};

	for (size_t i = 0; i < CS_COUNT(magics); i++)
		if (n >= magics[i].len && !memcmp(p, magics[i].magic, magics[i].len))
			return magics[i].name;
	return NULL;
}

static struct cs_error *spool_open(struct spool *s)
{
	const char *tmp = getenv("TMPDIR");
	char name[CS_MAX_PATH];

	s->folder = tmp && tmp[0] ? tmp : "/var/tmp"; /* not /tmp: that is often memory */
	s->out = open(s->folder, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
	if (s->out >= 0)
		return NULL;
	/* Some network and overlay file systems know no O_TMPFILE. */
	if ((size_t)snprintf(name, sizeof(name), "%s/corescan.XXXXXX", s->folder) >= sizeof(name))
		return cs_error_new(CS_ERR_ARGUMENT, "TMPDIR is longer than %lu bytes",
				    CS_MAX_PATH);
	s->out = mkostemp(name, O_CLOEXEC);
	if (s->out < 0)
		return cs_error_os(errno, "%s: no temporary file for the unpacked core (set TMPDIR to a "
				   "writable folder)", s->folder);
	unlink(name);
	return NULL;
}

static struct cs_error *write_all(struct spool *s, const uint8_t *p, size_t n, uint64_t at)
{
	while (n) {
		ssize_t done = pwrite(s->out, p, n, (off_t)at);

		if (done < 0 && errno == EINTR)
			continue;
		if (done < 0)
			return cs_error_os(errno,
					   "%s: unpacking to %s, byte %llu (set TMPDIR to a folder "
					   "with more space)",
					   s->path, s->folder, (unsigned long long)at);
		p += done;
		n -= (size_t)done;
		at += (uint64_t)done;
	}
	return NULL;
}

static bool all_zero(const uint8_t *p, size_t n)
{
	return !*p && !memcmp(p, p + 1, n - 1);
}

/** Write @n bytes at @at, leaving out aligned blocks of zeroes. */
static struct cs_error *write_sparse(struct spool *s, const uint8_t *p, size_t n, uint64_t at)
{
	size_t begin = 0, pos = 0;

	if (at > CS_MAX_SPOOL || n > CS_MAX_SPOOL - at)
		return cs_error_new(CS_ERR_LIMIT, "%s: unpacks to more than %lu bytes", s->path,
				    CS_MAX_SPOOL);
	while (pos < n) {
		size_t len = CS_MIN(HOLE - (size_t)((at + pos) % HOLE), n - pos);

		if (len == HOLE && all_zero(p + pos, len)) {
			CS_TRY(write_all(s, p + begin, pos - begin, at + begin));
			begin = pos + len;
		}
		pos += len;
	}
	CS_TRY(write_all(s, p + begin, n - begin, at + begin));
	s->written = CS_MAX(s->written, at + n);
	return NULL;
}

static void report_progress(const struct spool *s)
{
	if (s->options && s->options->progress)
		s->options->progress(s->options->progress_arg, "unpacking",
				     (uint64_t)archive_filter_bytes(s->archive, -1), s->in_size);
}

/** A stream that ends early or is damaged still gives what came before. */
static struct cs_error *stream_ended_badly(struct spool *s)
{
	const char *why = archive_error_string(s->archive);

	if (!s->written)
		return cs_error_new(CS_ERR_FORMAT, "%s: cannot be unpacked: %s", s->path,
				    why ? why : "unknown error");
	cs_diag(s->core->diags, CS_SEVERITY_ERROR, "core", "compressed-stream-cut", 0,
		"the compressed stream is damaged or cut off after %llu unpacked bytes (%s); get a "
		"complete copy", (unsigned long long)s->written, why ? why : "unknown error");
	return NULL;
}

static struct cs_error *copy_stream(struct spool *s)
{
	struct archive_entry *entry;
	int r = archive_read_next_header(s->archive, &entry);

	if (r == ARCHIVE_EOF)
		return NULL; /* empty: the ELF reader says so */
	if (r < ARCHIVE_WARN)
		return stream_ended_badly(s);
	for (;;) {
		const void *block;
		size_t n = 0; /* stays, where libarchive only warns */
		la_int64_t at = 0;

		r = archive_read_data_block(s->archive, &block, &n, &at);
		if (r == ARCHIVE_EOF)
			return NULL;
		if (r < ARCHIVE_WARN)
			return stream_ended_badly(s);
		if (n)
			CS_TRY(write_sparse(s, block, n, (uint64_t)at));
		report_progress(s);
	}
}

/**
 * Let libarchive use the filters that it has the code for. For one that it was built without it would run a
 * program ("zstd -d"), and says so by ARCHIVE_WARN when asked; nothing is run here. Such a stream is taken
 * for a plain one, and is refused as no core.
 */
static struct cs_error *add_filters(struct archive *a)
{
	static int (*const filters[])(struct archive *) = {
		archive_read_support_filter_gzip, archive_read_support_filter_xz,
		archive_read_support_filter_zstd, archive_read_support_filter_lz4,
		archive_read_support_filter_bzip2};

	for (size_t i = 0; i < CS_COUNT(filters); i++) {
		struct archive *probe = archive_read_new();
		bool built_in;

		if (!probe)
			return &cs_nomem;
		built_in = filters[i](probe) == ARCHIVE_OK;
		archive_read_free(probe);
		if (built_in && filters[i](a) != ARCHIVE_OK)
			return &cs_nomem;
	}
	return NULL;
}

static struct cs_error *archive_begin(struct spool *s)
{
	s->archive = archive_read_new();
	if (!s->archive)
		return &cs_nomem;
	CS_TRY(add_filters(s->archive));
	archive_read_support_format_raw(s->archive);
	archive_read_support_format_empty(s->archive);
	if (archive_read_open_fd(s->archive, s->in, READ_BLOCK) != ARCHIVE_OK)
		return cs_error_new(CS_ERR_FORMAT, "%s: %s", s->path,
				    archive_error_string(s->archive));
	return NULL;
}

static struct cs_error *spool_run(struct spool *s)
{
	struct cs_core_info *info = &s->core->info;
	const char *filter;
	int out;

	CS_TRY(archive_begin(s));
	CS_TRY(spool_open(s));
	CS_TRY(copy_stream(s));
	if (ftruncate(s->out, (off_t)s->written) < 0)
		return cs_error_os(errno, "%s: unpacking to %s", s->path, s->folder);
	filter = archive_filter_name(s->archive, 0);
	if (filter && strcmp(filter, "none") != 0)
		info->compression = filter; /* a literal of libarchive's */
	info->bytes = s->in_size ? s->in_size : (uint64_t)archive_filter_bytes(s->archive, -1);
	out = s->out;
	s->out = -1;
	return cs_file_from_fd(out, s->path, &s->core->file);
}

/** Unpack what comes from @in into core->file. */
static struct cs_error *spool(struct cs_core *core, const char *path, int in, uint64_t in_size,
			      const struct cs_core_options *options)
{
	struct spool s = {.core = core, .options = options, .path = path, .in = in, .out = -1,
			  .in_size = in_size};
	struct cs_error *err = spool_run(&s);

	if (s.archive)
		archive_read_free(s.archive);
	cs_closep(&s.out);
	return err;
}

static struct cs_error *unpack_file(struct cs_core *core, struct cs_file *file,
				    const struct cs_core_options *options)
{
	CS_CLEANUP(cs_file_closep) struct cs_file *packed = NULL;
	uint8_t head[8];
	size_t n;

	CS_TRY(cs_file_read_some(file, 0, head, sizeof(head), &n));
	core->info.bytes = file->size;
	core->info.file_time = file->mtime;
	if (!filter_of_magic(head, n))
		return NULL;
	packed = file;
	core->file = NULL;
	if (lseek(packed->fd, 0, SEEK_SET) < 0)
		return cs_error_os(errno, "%s", packed->path);
	return spool(core, packed->path, packed->fd, packed->size, options);
}

static struct cs_error *open_stdin(struct cs_core *core, const struct cs_core_options *options)
{
	static const char name[] = "standard input";
	struct stat st;
	int fd;

	if (isatty(STDIN_FILENO))
		return cs_error_new(CS_ERR_UNSUPPORTED,
				    "standard input is a terminal: redirect a core into it, or name a file");
	if (fstat(STDIN_FILENO, &st) < 0)
		return cs_error_os(errno, "%s", name);
	if (S_ISDIR(st.st_mode) || S_ISCHR(st.st_mode) || S_ISBLK(st.st_mode))
		return cs_error_new(CS_ERR_UNSUPPORTED,
				    "%s is neither a file nor a pipe: redirect a core into it", name);
	if (!S_ISREG(st.st_mode))
		return spool(core, name, STDIN_FILENO, 0, options);
	fd = fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3);
	if (fd < 0)
		return cs_error_os(errno, "%s", name);
	CS_TRY(cs_file_from_fd(fd, name, &core->file));
	return unpack_file(core, core->file, options);
}

static struct cs_error *explain_open(struct cs_error *err, const char *path)
{
	int code;

	if (!err || cs_error_code(err) != CS_ERR_OS)
		return err;
	code = cs_error_errno(err);
	if (code != ENOENT && code != EACCES && code != EPERM)
		return err;
	cs_error_destroy(err);
	if (code == ENOENT)
		return cs_error_os(code, "%s (no core was written? run `corescan doctor`)", path);
	return cs_error_os(code, "%s (cores belong to the process's user: use sudo, or copy it)", path);
}

struct cs_error *cs_core_unpack(struct cs_core *core, const char *path,
				const struct cs_core_options *options)
{
	if (!strcmp(path, "-"))
		return open_stdin(core, options);
	CS_TRY(explain_open(cs_file_open(path, &core->file), path));
	return unpack_file(core, core->file, options);
}
