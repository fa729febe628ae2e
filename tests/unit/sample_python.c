/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A Python process as the layers below would make it: threads, exceptions, tasks. */
#include "sample_analysis.h"

#include "base/util.h"

static const struct cs_module module_python = {
	.path = "/opt/venv/lib/libpython3.12.so.1.0",
	.name = "libpython3.12.so.1.0",
	.start = 0x7f0000200000,
	.end = 0x7f0000900000,
	.bias = 0x7f0000200000,
	.build_id = "31200000",
	.file = "/opt/venv/lib/libpython3.12.so.1.0",
	.file_state = CS_FILE_VERIFIED,
	.symbols = CS_SYMBOLS_SYMTAB,
	.in_use = true,
};
static const struct cs_module module_libc = {
	.path = "/lib/x86_64-linux-gnu/libc.so.6",
	.name = "libc.so.6",
	.start = 0x7f000a000000,
	.end = 0x7f000a200000,
	.bias = 0x7f000a000000,
	.build_id = "c0ffee",
	.file = "/lib/x86_64-linux-gnu/libc.so.6",
	.file_state = CS_FILE_VERIFIED,
	.symbols = CS_SYMBOLS_SYMTAB,
	.in_use = true,
};
static const struct cs_module *const modules[] = {&module_python, &module_libc};

#define NATIVE(mod, name, off, ...)                                                      \
	{                                                                                \
		.kind = CS_FRAME_NATIVE, .trust = CS_TRUST_CFI,                          \
		.address = 0x7f0000000000 + (off), .function = name, .offset = 0x10,     \
		.module = &(mod), .module_offset = (off), __VA_ARGS__                    \
	}
#define LIBC(name, off) NATIVE(module_libc, name, 0xa000000 + (off), .line = 0)
#define PLUMBING(name, off)                                                              \
	NATIVE(module_python, name, 0x200000 + (off), .plumbing = true)
#define PY(name, path, lineno, ...)                                                      \
	{                                                                                \
		.kind = CS_FRAME_PYTHON, .trust = CS_TRUST_RUNTIME,                      \
		.address = 0x7fffffff0000 + (lineno), .function = name, .file = path,    \
		.line = (lineno), __VA_ARGS__                                            \
	}

static const struct cs_python_variable lambda_variables[] = {
	{"size", "argument", "4096"},
	{"buffer", "argument", "<memory at 0x7f0000001000>"},
	{"later", "local", NULL},
	{"self", "free", "<Trainer object at 0x7f0000002000>"},
};

/* A crash below ctypes in a recursion, entered from a thread pool. */
static const struct cs_frame crash_frames[] = {
	LIBC("__memset_avx2_unaligned_erms", 0x1000),
	NATIVE(module_python, "PyCFuncPtr_call", 0x210000, .line = 0),
	PLUMBING("_PyObject_MakeTpCall", 0x100),
	PLUMBING("_PyEval_EvalFrameDefault", 0x200),
	PY("Trainer.crash.<locals>.<lambda>", "/srv/job/train.py", 22,
	   .source = "    ctypes.memset(buffer, 0, size)", .variables = lambda_variables,
	   .n_variables = CS_COUNT(lambda_variables), .entry = true),
	NATIVE(module_python, "builtin_map", 0x220000, .line = 0),
	PLUMBING("_PyEval_EvalFrameDefault", 0x300),
	{.kind = CS_FRAME_PYTHON,
	 .trust = CS_TRUST_RUNTIME,
	 .address = 0x7fffffff1000,
	 .function = "Trainer.step",
	 .file = "/srv/job/train.py",
	 .line = 40,
	 .repeat_period = 3,
	 .repeat_count = 4999},
	NATIVE(module_python, "PyObject_CallOneArg", 0x230000, .plumbing = true),
	PLUMBING("_PyEval_EvalFrameDefault", 0x400),
	{.kind = CS_FRAME_PYTHON,
	 .trust = CS_TRUST_RUNTIME,
	 .address = 0x7fffffff2000,
	 .function = "deep",
	 .file = "/srv/job/train.py",
	 .line = 51,
	 .repeat_period = 1,
	 .repeat_count = 300},
	{.kind = CS_FRAME_PYTHON, .trust = CS_TRUST_RUNTIME, .address = 0x7fffffff3000},
	PY("run", "/opt/venv/lib/python3.12/concurrent/futures/thread.py", 0),
	{.kind = CS_FRAME_GAP,
	 .trust = CS_TRUST_RUNTIME,
	 .function = "the place of what follows is not known"},
	PY("Thread._bootstrap", "/opt/venv/lib/python3.12/threading.py", 1030,
	   .entry = true),
	PLUMBING("_PyEval_EvalFrameDefault", 0x500),
	NATIVE(module_python, "thread_run", 0x240000, .line = 0),
	LIBC("start_thread", 0x89044),
};
static const struct cs_frame main_frames[] = {
	LIBC("__futex_abstimed_wait_common", 0x85e19),
	LIBC("pthread_cond_timedwait", 0x88818),
	NATIVE(module_python, "PyThread_acquire_lock_timed", 0x250000, .line = 0),
	PLUMBING("_PyEval_EvalFrameDefault", 0x600),
	PY("Thread.join", "/opt/venv/lib/python3.12/threading.py", 1147),
	PY("<module>", "train.py", 90, .entry = true),
	PLUMBING("_PyEval_EvalFrameDefault", 0x700),
	NATIVE(module_python, "Py_RunMain", 0x260000, .line = 0),
	LIBC("__libc_start_main", 0x29e40),
};
static const struct cs_frame worker_frames[] = {
	LIBC("__futex_abstimed_wait_common", 0x85e19),
	LIBC("pthread_cond_timedwait", 0x88818),
	NATIVE(module_python, "take_gil", 0x270000, .line = 0),
	PLUMBING("_PyEval_EvalFrameDefault", 0x800),
	PY("Loader.fetch", "/opt/venv/lib/python3.12/site-packages/torch/utils/data/x.py",
	   7),
	PY("Thread._bootstrap", "/opt/venv/lib/python3.12/threading.py", 1030,
	   .entry = true),
	PLUMBING("_PyEval_EvalFrameDefault", 0x500),
	LIBC("start_thread", 0x89044),
};
/* As worker_frames, but for a call that the interpreter had not specialised yet. */
static const struct cs_frame first_worker_frames[] = {
	LIBC("__futex_abstimed_wait_common", 0x85e19),
	LIBC("pthread_cond_timedwait", 0x88818),
	NATIVE(module_python, "take_gil", 0x270000, .line = 0),
	PLUMBING("_PyEval_EvalFrameDefault", 0x808),
	PY("Loader.fetch", "/opt/venv/lib/python3.12/site-packages/torch/utils/data/x.py",
	   7),
	PLUMBING("_PyObject_MakeTpCall", 0x104),
	PLUMBING("_PyEval_EvalFrameDefault", 0x80c),
	PY("Thread._bootstrap", "/opt/venv/lib/python3.12/threading.py", 1030,
	   .entry = true),
	PLUMBING("_PyEval_EvalFrameDefault", 0x500),
	LIBC("start_thread", 0x89044),
};
static const struct cs_frame loop_frames[] = {
	PLUMBING("_PyEval_EvalFrameDefault", 0x900),
	PY("spin", "pkg/__init__.py", 3, .entry = true),
	PLUMBING("_PyEval_EvalFrameDefault", 0x901),
	LIBC("start_thread", 0x89044),
};
static const struct cs_frame native_frames[] = {
	LIBC("epoll_wait", 0x100000),
	LIBC("start_thread", 0x89044),
};
static const int32_t tids[] = {7020, 7018, 7021, 7022, 7023, 7024, 7025, 7026, 1203};
static const struct cs_stack_group groups[] = {
	{.id = 0,
	 .tids = &tids[0],
	 .n_tids = 1,
	 .frames = crash_frames,
	 .n_frames = CS_COUNT(crash_frames),
	 .total_frames = 10005,
	 .stop = CS_STOP_BOTTOM},
	{.id = 1,
	 .tids = &tids[2],
	 .n_tids = 3,
	 .frames = worker_frames,
	 .n_frames = CS_COUNT(worker_frames),
	 .total_frames = 6,
	 .stop = CS_STOP_BOTTOM},
	{.id = 2,
	 .tids = &tids[6],
	 .n_tids = 2,
	 .frames = native_frames,
	 .n_frames = CS_COUNT(native_frames),
	 .total_frames = 2,
	 .stop = CS_STOP_BOTTOM},
	{.id = 3,
	 .tids = &tids[1],
	 .n_tids = 1,
	 .frames = main_frames,
	 .n_frames = CS_COUNT(main_frames),
	 .total_frames = 7,
	 .stop = CS_STOP_BOTTOM},
	{.id = 4,
	 .tids = &tids[5],
	 .n_tids = 1,
	 .frames = loop_frames,
	 .n_frames = CS_COUNT(loop_frames),
	 .total_frames = 3,
	 .stop = CS_STOP_BOTTOM},
	{.id = 5,
	 .tids = &tids[8],
	 .n_tids = 1,
	 .frames = first_worker_frames,
	 .n_frames = CS_COUNT(first_worker_frames),
	 .total_frames = 8,
	 .stop = CS_STOP_BOTTOM},
};
static const struct cs_python_thread python_crashed = {.name = "ThreadPool-0_0",
						       .ident = 0x7f00deadb700,
						       .holds_gil = true,
						       .collecting = true};
static const struct cs_python_thread python_main = {
	.name = "MainThread", .ident = 0x7f00deadc700, .is_main = true};
static const struct cs_python_thread python_workers[] = {
	{.name = "loader-0", .ident = 1, .daemon = true, .waits_for_gil = true},
	{.name = "loader-1", .ident = 2, .daemon = true, .waits_for_gil = true},
	{.name = "na\xc3\xafve", .ident = 3, .daemon = true},
	{.name = "loader-3", .ident = 5},
};
static const struct cs_python_thread python_loop = {
	.name = "sub",
	.ident = 4,
	.interpreter = 2,
	.broken = "the frame at 0x7f0000005000 is not in the core"};
/* A ring of two, one that waits for it, and a mutex of nobody. */
static const struct cs_wait waits[] = {
	{.kind = "mutex", .address = 0x7f0000009000, .owner = 7024, .deadlock = true},
	{.kind = "thread", .owner = 7018, .deadlock = true},
	{.kind = "gil", .owner = 7020},
	{.kind = "mutex", .address = 0x7f0000009040, .owner = 6999, .owner_gone = true},
};
static const struct cs_thread threads[] = {
	{.tid = 7020,
	 .name = "ThreadPool-0_0",
	 .name_source = "python",
	 .crashed = true,
	 .signal = 11,
	 .group = &groups[0],
	 .python = &python_crashed},
	{.tid = 7018,
	 .name = "python3",
	 .name_source = "note",
	 .role = "main",
	 .group = &groups[3],
	 .python = &python_main,
	 .wait = &waits[0]},
	{.tid = 7021,
	 .name = "loader-0",
	 .name_source = "python",
	 .group = &groups[1],
	 .python = &python_workers[0],
	 .wait = &waits[2]},
	{.tid = 7022,
	 .name = "loader-1",
	 .name_source = "python",
	 .group = &groups[1],
	 .python = &python_workers[1]},
	{.tid = 7023,
	 .name = "na\xc3\xafve",
	 .name_source = "python",
	 .group = &groups[1],
	 .python = &python_workers[2]},
	{.tid = 7024,
	 .name = "sub",
	 .name_source = "python",
	 .group = &groups[4],
	 .python = &python_loop,
	 .wait = &waits[1]},
	{.tid = 7025, .group = &groups[2]},
	{.tid = 7026, .group = &groups[2]},
	{.tid = 1203,
	 .name = "loader-3",
	 .name_source = "python",
	 .role = "python-thread",
	 .group = &groups[5],
	 .python = &python_workers[3],
	 .wait = &waits[3]},
};

/* ---- what the interpreter knows ---- */

static const struct cs_frame key_traceback[] = {
	PY("lookup", "/srv/job/conf.py", 12, .source = "return table[name]"),
};
static const struct cs_frame value_traceback[] = {
	PY("recurse", "/srv/job/train.py", 30),
	PY("recurse", "/srv/job/train.py", 30),
	PY("recurse", "/srv/job/train.py", 30),
	{.kind = CS_FRAME_PYTHON, .trust = CS_TRUST_RUNTIME, .address = 0x7f0000007000},
	PY("main", "/srv/job/train.py", 80, .source = "	step(batch)"),
};
static const char *const notes[] = {"while reading shard 3", "two\nlines"};
static const struct cs_exception key_error = {.tid = 7020,
					      .language = "python",
					      .type = "KeyError",
					      .message = "'lr'",
					      .state = "stored",
					      .frames = key_traceback,
					      .n_frames = CS_COUNT(key_traceback)};
static const struct cs_exception config_error = {.tid = 7020,
						 .language = "python",
						 .type = "conf.ConfigError",
						 .state = "stored",
						 .cause = &key_error,
						 .context = &key_error,
						 .suppress_context = true};
static const struct cs_exception exceptions[] = {
	{.tid = 7020,
	 .language = "python",
	 .type = "ValueError",
	 .message = "bad gradient\nin layer 3",
	 .state = "caught",
	 .frames = value_traceback,
	 .n_frames = CS_COUNT(value_traceback),
	 .context = &config_error,
	 .notes = notes,
	 .n_notes = CS_COUNT(notes)},
	{.tid = 7021,
	 .language = "python",
	 .type = "StopIteration",
	 .state = "in-flight"},
	{.tid = 7022,
	 .language = "python",
	 .type = "StopIteration",
	 .state = "in-flight"},
};
static const struct cs_frame fetch_chain[] = {
	PY("sleep", "/opt/venv/lib/python3.12/asyncio/tasks.py", 639),
	PY("fetch", "/srv/job/serve.py", 14),
};
static const struct cs_frame main_chain[] = {PY("main", "/srv/job/serve.py", 40)};
static const struct cs_python_task tasks[] = {
	{.name = "Task-1",
	 .coroutine = "main",
	 .state = "waiting",
	 .tid = 7018,
	 .address = 0x7f0000010000,
	 .loop = 0x7f0000020000,
	 .frames = main_chain,
	 .n_frames = CS_COUNT(main_chain),
	 .awaits = "<Task pending name='Task-3'>",
	 .awaits_task = 0x7f0000010200},
	{.name = "Task-2",
	 .coroutine = "fetch",
	 .state = "waiting",
	 .tid = 7018,
	 .address = 0x7f0000010100,
	 .loop = 0x7f0000020000,
	 .frames = fetch_chain,
	 .n_frames = CS_COUNT(fetch_chain),
	 .awaits = "<Future pending>"},
	{.name = "Task-3",
	 .coroutine = "fetch",
	 .state = "waiting",
	 .tid = 7018,
	 .address = 0x7f0000010200,
	 .loop = 0x7f0000020000,
	 .frames = fetch_chain,
	 .n_frames = CS_COUNT(fetch_chain),
	 .awaits = "<Future pending>"},
	{.name = "spin",
	 .coroutine = "Server.spin",
	 .state = "running",
	 .tid = 7018,
	 .address = 0x7f0000010300,
	 .loop = 0x7f0000020000},
};
static const struct cs_python_greenlet greenlets[] = {
	{.name = "gevent.Greenlet",
	 .state = "suspended",
	 .tid = 7018,
	 .address = 0x7f0000030000,
	 .frames = fetch_chain,
	 .n_frames = 2},
	{.name = "gevent.Greenlet",
	 .state = "suspended",
	 .tid = 7018,
	 .address = 0x7f0000030100,
	 .frames = fetch_chain,
	 .n_frames = 2},
	{.name = "gevent.hub.Hub",
	 .state = "not started",
	 .tid = 7020,
	 .address = 0x7f0000030200,
	 .broken = "its stack is not in the core"},
};
static const struct cs_python_runtime runtimes[] = {
	{.version = "3.12.1",
	 .layout = CS_LAYOUT_DWARF,
	 .found = "symbol _PyRuntime of /opt/venv/lib/libpython3.12.so.1.0",
	 .module = &module_python,
	 .phase = "finalizing",
	 .n_interpreters = 2,
	 .n_threads = 6,
	 .n_stale = 1,
	 .gil_holder = 7020,
	 .gil = "held",
	 .collecting = 7020},
	{.version = "3.13.0t",
	 .layout = CS_LAYOUT_PUBLISHED,
	 .free_threaded = true,
	 .phase = "running",
	 .n_interpreters = 1,
	 .gil = "disabled"},
};

const struct cs_analysis *sample_python(void)
{
	static const char *const command[] = {"python3", "train.py", "--name",
					      "two words"};
	static const struct cs_version versions[] = {
		{"python", "3.12.1", "/opt/venv/bin/python3"}};
	static const struct cs_diagnostic diagnostics[] = {
		{CS_SEVERITY_WARNING, "python", "python-frames",
		 "a page of the heap was not saved", 7024}};
	static const struct cs_analysis a = {
		.input = {.path = "core.7018",
			  .kind = "core",
			  .bytes = 9000000,
			  .complete = true,
			  .expected_bytes = 9000000,
			  .writer = "kernel"},
		.process = {.pid = 7018,
			    .uid = -1,
			    .gid = -1,
			    .command = command,
			    .n_command = CS_COUNT(command),
			    .command_complete = true,
			    .executable = "/opt/venv/bin/python3",
			    .machine = "x86_64",
			    .rank = -1,
			    .local_rank = -1,
			    .world_size = -1},
		.crash = {.tid = 7020,
			  .signal = 11,
			  .signal_name = "SIGSEGV",
			  .code = 1,
			  .code_name = "SEGV_MAPERR",
			  .has_address = true,
			  .access = "write",
			  .sender_pid = -1,
			  .sender_uid = -1,
			  .fault = CS_FAULT_NULL,
			  .summary = "write to address 0x0, the NULL pointer"},
		.versions = versions,
		.n_versions = 1,
		.modules = modules,
		.n_modules = CS_COUNT(modules),
		.threads = threads,
		.n_threads = CS_COUNT(threads),
		.groups = groups,
		.n_groups = CS_COUNT(groups),
		.python = {.runtimes = runtimes,
			   .n_runtimes = CS_COUNT(runtimes),
			   .tasks = tasks,
			   .n_tasks = CS_COUNT(tasks),
			   .greenlets = greenlets,
			   .n_greenlets = CS_COUNT(greenlets)},
		.exceptions = exceptions,
		.n_exceptions = CS_COUNT(exceptions),
		.diagnostics = diagnostics,
		.n_diagnostics = 1,
	};

	return &a;
}
