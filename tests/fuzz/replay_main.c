/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Runs a fuzzing harness once on each file that is named, and on each file of a folder that is named. A
 * finding ends the program as it would end the fuzzer: by abort or by a sanitizer. No input at all is a
 * failure, so that a replay of nothing cannot pass.
 */
#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define MAX_BYTES (64UL << 20)

static unsigned long n_inputs;

static void replay_file(const char *path, size_t size)
{
	FILE *f = fopen(path, "rb");
	uint8_t *data;

	if (!f || size > MAX_BYTES) {
		fprintf(stderr, "%s: cannot be replayed\n", path);
		exit(1);
	}
	/* Exactly as large as the input, so that a sanitizer sees one byte too many. */
	data = malloc(size ? size : 1);
	if (!data || fread(data, 1, size, f) != size)
		exit(1);
	fclose(f);
	LLVMFuzzerTestOneInput(data, size);
	free(data);
	n_inputs++;
}

static void replay(const char *path)
{
	struct dirent **names;
	struct stat st;
	int n;

	if (stat(path, &st) < 0) {
		perror(path);
		exit(1);
	}
	if (!S_ISDIR(st.st_mode)) {
		replay_file(path, (size_t)st.st_size);
		return;
	}
	n = scandir(path, &names, NULL, alphasort);
	for (int i = 0; i < n; i++) {
		char inner[4096];

		if (names[i]->d_name[0] != '.' &&
		    (size_t)snprintf(inner, sizeof(inner), "%s/%s", path, names[i]->d_name) <
			    sizeof(inner)) {
			fprintf(stderr, "%s\n", inner); /* the last line names a finding */
			replay(inner);
		}
		free(names[i]);
	}
	if (n >= 0)
		free(names);
}

int main(int argc, char **argv)
{
	for (int i = 1; i < argc; i++)
		replay(argv[i]);
	printf("%lu inputs\n", n_inputs);
	return n_inputs ? 0 : 1;
}
