/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * How the three programs that distributions pipe cores into keep them: systemd-coredump,
 * apport, ABRT. On the host of a container their configuration cannot be seen, so then
 * only the place is told.
 */
#include "cli/doctor.h"

#include "base/limits.h"

#include <dirent.h>
#include <inttypes.h>
#include <string.h>
#include <strings.h>

#define SYSTEMD_FOLDER "/var/lib/systemd/coredump"
#define APPORT_FOLDER "/var/lib/apport/coredump"
#define ABRT_FOLDER "/var/spool/abrt"

/* systemd's sizes: a number with K, M, G, T, or "infinity"; UINT64_MAX for the latter.
 * False: not a size. */
static bool parse_size(const char *s, uint64_t *ret)
{
	static const char suffixes[] = "KMGTPE";
	char *end;
	uint64_t n;
	const char *suffix;

	if (!strcmp(s, "infinity")) {
		*ret = UINT64_MAX;
		return true;
	}
	n = strtoull(s, &end, 10);
	if (end == s)
		return false;
	suffix = *end ? strchr(suffixes, *end) : NULL;
	if (suffix) {
		unsigned shift = 10 * (unsigned)(suffix - suffixes + 1);

		n = n > UINT64_MAX >> shift ? UINT64_MAX : n << shift;
	}
	*ret = n;
	return true;
}

struct systemd_settings {
	const char *storage;
	const char *external_max;
	const char *process_max;
	const char *keep_free;
};

static void apply_settings(struct cs_doctor *d, const char *path,
			   struct systemd_settings *s)
{
	const char *text = cs_doctor_read(d, path);
	const char *value;

	if (!text)
		return;
	if ((value = cs_doctor_value(d, text, "Storage", '=')))
		s->storage = value;
	if ((value = cs_doctor_value(d, text, "ExternalSizeMax", '=')))
		s->external_max = value;
	if ((value = cs_doctor_value(d, text, "ProcessSizeMax", '=')))
		s->process_max = value;
	if ((value = cs_doctor_value(d, text, "KeepFree", '=')))
		s->keep_free = value;
}

/* The files that override parts, by name, whatever folder they are in; later folders are
 * stronger. */
static void apply_folder(struct cs_doctor *d, const char *folder,
			 struct systemd_settings *s)
{
	struct dirent **entries = NULL;
	int n = scandir(cs_doctor_path(d, folder), &entries, NULL, alphasort);

	for (int i = 0; i < n; i++) {
		const char *dot = strrchr(entries[i]->d_name, '.');

		if (i < (int)CS_MAX_DOCTOR_CHECKS && dot && !strcmp(dot, ".conf"))
			apply_settings(
				d,
				cs_doctor_printf(d, "%s/%s", folder, entries[i]->d_name),
				s);
		free(entries[i]);
	}
	free(entries);
}

static void check_systemd_size(struct cs_doctor *d, const struct systemd_settings *s)
{
	uint64_t max;

	if (!s->external_max) {
		cs_doctor_add(d, "systemd-size", "size of cores", CS_CHECK_OK,
			      "ExternalSizeMax is not set",
			      "The default is 32G in current versions of systemd, 2G in "
			      "older ones; a larger core is cut off.");
		return;
	}
	if (!parse_size(s->external_max, &max) ||
	    (max && (!d->memory || max >= d->memory))) {
		cs_doctor_add(d, "systemd-size", "size of cores", CS_CHECK_OK,
			      cs_doctor_printf(d, "ExternalSizeMax=%s", s->external_max),
			      NULL);
		return;
	}
	cs_doctor_add(d, "systemd-size", "size of cores",
		      max && !d->env.pid ? CS_CHECK_NOTE : CS_CHECK_PROBLEM,
		      cs_doctor_printf(d, "ExternalSizeMax=%s", s->external_max),
		      max ? "A larger core is cut off, and this is less than the memory "
			    "it may have."
			  : "No core is stored.");
	cs_doctor_fix(d, "ExternalSizeMax=infinity",
		      "in /etc/systemd/coredump.conf, below [Coredump]");
}

static void check_systemd(struct cs_doctor *d)
{
	static const char *const folders[] = {"/usr/lib/systemd/coredump.conf.d",
					      "/run/systemd/coredump.conf.d",
					      "/etc/systemd/coredump.conf.d"};
	struct systemd_settings s = {.storage = "external"};

	apply_settings(d, "/usr/lib/systemd/coredump.conf", &s);
	apply_settings(d, "/etc/systemd/coredump.conf", &s);
	for (size_t i = 0; i < CS_COUNT(folders); i++)
		apply_folder(d, folders[i], &s);
	if (!strcmp(s.storage, "none")) {
		d->destination = NULL;
		cs_doctor_add(d, "systemd-storage", "systemd-coredump", CS_CHECK_PROBLEM,
			      "Storage=none", "Crashes are logged, but no core is kept.");
		cs_doctor_fix(d, "Storage=external",
			      "in /etc/systemd/coredump.conf, below [Coredump]");
		return;
	}
	d->destination = strcmp(s.storage, "journal") ? SYSTEMD_FOLDER : "the journal";
	cs_doctor_add(d, "systemd-storage", "systemd-coredump", CS_CHECK_OK,
		      cs_doctor_printf(d, "Storage=%s%s%s%s%s", s.storage,
				       s.process_max ? ", ProcessSizeMax=" : "",
				       s.process_max ? s.process_max : "",
				       s.keep_free ? ", KeepFree=" : "",
				       s.keep_free ? s.keep_free : ""),
		      "coredumpctl list shows the crashes, coredumpctl dump PID -o core "
		      "writes one out; corescan reads the compressed files as they are. "
		      "Writing one out is given up after 5 minutes (RuntimeMaxSec= of "
		      "systemd-coredump@.service), which is too short for very large "
		      "processes, and old cores are removed when the disk fills "
		      "(MaxUse=, KeepFree=).");
	check_systemd_size(d, &s);
}

static void check_apport(struct cs_doctor *d)
{
	const char *settings = cs_doctor_read(d, "/etc/default/apport");
	const char *enabled =
		settings ? cs_doctor_value(d, settings, "enabled", '=') : NULL;

	d->destination = APPORT_FOLDER;
	if (enabled && !strcmp(enabled, "0")) {
		cs_doctor_add(d, "apport-enabled", "apport", CS_CHECK_NOTE,
			      "enabled=0 in /etc/default/apport",
			      "apport is switched off for the next start, although "
			      "core_pattern still names it.");
		return;
	}
	cs_doctor_add(d, "apport", "apport", CS_CHECK_NOTE,
		      "cores in " APPORT_FOLDER ", reports in /var/crash",
		      "apport makes no report of a program that is not of a package (a "
		      "Python of conda or pyenv), and keeps no core larger than three "
		      "quarters of the free memory.");
	cs_doctor_fix(d,
		      "mkdir -p ~/.config/apport && printf '[main]\\nunpackaged=true\\n' "
		      ">~/.config/apport/settings",
		      "to get reports of those programs too");
	cs_doctor_fix(d, "sudo sysctl -w kernel.core_pattern=/var/tmp/core.%e.%p",
		      "to go without apport until the next boot");
}

static void check_abrt(struct cs_doctor *d)
{
	const char *text =
		cs_doctor_read(d, "/etc/abrt/abrt-action-save-package-data.conf");
	const char *unpackaged =
		text ? cs_doctor_value(d, text, "ProcessUnpackaged", '=') : NULL;

	d->destination = ABRT_FOLDER;
	if (unpackaged && !strcasecmp(unpackaged, "yes")) {
		cs_doctor_add(
			d, "abrt", "ABRT", CS_CHECK_OK, "ProcessUnpackaged = yes",
			"abrt list shows the crashes; each has a folder in " ABRT_FOLDER
			" with its core in coredump.");
		return;
	}
	/* Said to be a problem only where it is known: the file may be missing for other
	 * reasons. */
	cs_doctor_add(d, "abrt", "ABRT", unpackaged ? CS_CHECK_PROBLEM : CS_CHECK_NOTE,
		      cs_doctor_printf(d, "ProcessUnpackaged = %s",
				       unpackaged ? unpackaged : "not set (no)"),
		      "ABRT deletes the cores of programs that are not of a package: a "
		      "Python of conda or pyenv.");
	cs_doctor_fix(d, "ProcessUnpackaged = yes",
		      "in /etc/abrt/abrt-action-save-package-data.conf");
}

void cs_doctor_check_handler(struct cs_doctor *d)
{
	static const char *const places[] = {
		[CS_SINK_SYSTEMD] = SYSTEMD_FOLDER,
		[CS_SINK_APPORT] = APPORT_FOLDER,
		[CS_SINK_ABRT] = ABRT_FOLDER,
	};

	if (d->container && (d->sink == CS_SINK_SYSTEMD || d->sink == CS_SINK_APPORT ||
			     d->sink == CS_SINK_ABRT))
		d->destination = places[d->sink]; /* the settings are the host's */
	else if (d->sink == CS_SINK_SYSTEMD)
		check_systemd(d);
	else if (d->sink == CS_SINK_APPORT)
		check_apport(d);
	else if (d->sink == CS_SINK_ABRT)
		check_abrt(d);
}
