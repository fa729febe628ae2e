/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Two runtimes in one process, each in a thread of its own: LIBRARY HOME of both as arguments. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct job {
	const char *library, *home, *code;
	int pipe[2]; /* the interpreter writes a byte when it is where it stays */
};

static void *run(void *arg)
{
	struct job *job = arg;
	void *lib = dlopen(job->library, RTLD_NOW | RTLD_LOCAL | RTLD_DEEPBIND);
	void (*initialize)(int) = lib ? (void (*)(int))dlsym(lib, "Py_InitializeEx") : NULL;
	int (*run_string)(const char *, void *) =
		lib ? (int (*)(const char *, void *))dlsym(lib, "PyRun_SimpleStringFlags") : NULL;
	char code[512];

	if (!initialize || !run_string) {
		fprintf(stderr, "%s\n", dlerror());
		_exit(2);
	}
	setenv("PYTHONHOME", job->home, 1);
	initialize(0);
	snprintf(code, sizeof(code), job->code, job->pipe[1]);
	run_string(code, NULL);
	_exit(3); /* it came back */
}

static void start(struct job *job)
{
	pthread_t thread;
	char byte;

	if (pipe(job->pipe) || pthread_create(&thread, NULL, run, job) ||
	    read(job->pipe[0], &byte, 1) != 1)
		_exit(4);
	usleep(300000); /* from the write to the sleep behind it on the same line */
}

int main(int argc, char **argv)
{
	struct job one = {.code = "import os, time\n"
				  "def one():\n"
				  " os.write(%d, b'x'), time.sleep(1000)\n"
				  "one()\n"};
	struct job two = {.code = "import os, time\n"
				  "def two():\n"
				  " os.write(%d, b'x'), time.sleep(1000)\n"
				  "two()\n"};

	if (argc != 5)
		return 1;
	one.library = argv[1];
	one.home = argv[2];
	two.library = argv[3];
	two.home = argv[4];
	start(&one);
	start(&two);
	abort();
}
