/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A C program with an interpreter in it: embed main|thread SCRIPT. It runs the script in its main
 * thread, or in a thread of its own while the main one is out of Python.
 */
#include <Python.h>

#include <pthread.h>
#include <stdio.h>
#include <string.h>

static const char *script;

__attribute__((noinline)) static int host_runs(void)
{
	FILE *file = fopen(script, "r");
	int status = file ? PyRun_SimpleFile(file, script) : -1;

	__asm__ volatile("" ::: "memory"); /* no tail call */
	return status;
}

static void *host_thread(void *arg)
{
	PyGILState_STATE state = PyGILState_Ensure();

	(void)arg;
	host_runs();
	PyGILState_Release(state);
	return NULL;
}

int main(int argc, char **argv)
{
	PyThreadState *saved;
	pthread_t thread;

	if (argc < 3)
		return 2;
	script = argv[2];
	Py_Initialize();
	PyRun_SimpleString("import sys, os; sys.argv = ['embed']; "
			   "sys.path.insert(0, os.environ['TRUTH_LIB'])");
	if (strcmp(argv[1], "thread") != 0)
		return host_runs();
	saved = PyEval_SaveThread();
	if (pthread_create(&thread, NULL, host_thread, NULL) != 0)
		return 1;
	pthread_join(thread, NULL);
	PyEval_RestoreThread(saved);
	Py_Finalize();
	return 0;
}
