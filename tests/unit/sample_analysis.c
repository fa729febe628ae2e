/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Analyses as the layers below would make them, with values that are easy to find again
 * in a report. */
#include "sample_analysis.h"

#include "base/util.h"

/* ---- sample_crash ---- */

static const struct cs_module module_train = {
	.path = "/srv/job/libtrain.so",
	.name = "libtrain.so",
	.start = 0x7f0000100000,
	.end = 0x7f0000180000,
	.bias = 0x7f0000100000,
	.build_id = "0123456789abcdef0123456789abcdef01234567",
	.file = "/srv/job/libtrain.so",
	.debug_file = "/usr/lib/debug/.build-id/01/"
		      "23456789abcdef0123456789abcdef01234567.debug",
	.file_state = CS_FILE_VERIFIED,
	.symbols = CS_SYMBOLS_DWARF,
	.in_use = true,
};
static const struct cs_module module_nccl = {
	.path = "/opt/venv/lib/python3.8/site-packages/nvidia/nccl/lib/libnccl.so.2",
	.name = "libnccl.so.2",
	.start = 0x7f0001000000,
	.end = 0x7f0009000000,
	.bias = 0x7f0001000000,
	.build_id = "89abcdef",
	.file_state = CS_FILE_MISMATCH,
	.symbols = CS_SYMBOLS_MEMORY,
	.in_use = true,
	.note = "the file at that path is another build (aa55aa55), so it is not used; "
		"give the folder of "
		"the old one with --lib-path",
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
static const struct cs_module module_gone = {
	.path = "/tmp/build/kernel_a1b2.so (deleted)",
	.name = "kernel_a1b2.so",
	.start = 0x7f000b000000,
	.end = 0x7f000b010000,
	.file_state = CS_FILE_MISSING,
};
static const struct cs_module module_vdso = {
	.path = "[vdso]",
	.name = "[vdso]",
	.start = 0x7ffff7fc9000,
	.end = 0x7ffff7fcb000,
	.file_state = CS_FILE_UNVERIFIED,
	.symbols = CS_SYMBOLS_NONE,
};
static const struct cs_module *const crash_modules[] = {
	&module_train, &module_nccl, &module_libc, &module_gone, &module_vdso};

#define LONG_NAME                                                                        \
	"std::vector<std::tuple<at::Tensor, c10::optional<at::Tensor>, long>, "          \
	"std::allocator<std::tuple<at::Tensor, c10::optional<at::Tensor>, long> > > "    \
	"train::collect<at::Tensor, c10::optional<at::Tensor> >(train::Batch const&, "   \
	"long)"

static const struct cs_frame crash_frames[] = {
	{.kind = CS_FRAME_INLINE,
	 .trust = CS_TRUST_CONTEXT,
	 .address = 0x7f0000101234,
	 .function = "Matrix::at(int, int)",
	 .short_name = "Matrix::at",
	 .module = &module_train,
	 .module_offset = 0x1234,
	 .file = "src/matrix.h",
	 .line = 12,
	 .column = 9},
	{.kind = CS_FRAME_NATIVE,
	 .trust = CS_TRUST_CONTEXT,
	 .address = 0x7f0000101234,
	 .function = "apply_gradient(Matrix*, float)",
	 .short_name = "apply_gradient",
	 .offset = 0x24,
	 .module = &module_train,
	 .module_offset = 0x1234,
	 .file = "src/optim.cpp",
	 .line = 118},
	{.kind = CS_FRAME_NATIVE,
	 .trust = CS_TRUST_CFI,
	 .address = 0x7f0000101400,
	 .function = LONG_NAME,
	 .short_name = "train::collect",
	 .offset = 0x40,
	 .module = &module_train,
	 .module_offset = 0x1400,
	 .file = "/opt/conda/conda-bld/train_1670525552411/work/src/very/deep/folder/"
		 "collect_batches.cpp",
	 .line = 2041},
	{.kind = CS_FRAME_NATIVE,
	 .trust = CS_TRUST_CFI,
	 .address = 0x7f0001002345,
	 .function = "ncclRedOpDestroy",
	 .offset = 0x1f45,
	 .nearest = true,
	 .module = &module_nccl,
	 .module_offset = 0x2345},
	{.kind = CS_FRAME_PYTHON,
	 .trust = CS_TRUST_RUNTIME,
	 .address = 0x5555,
	 .function = "train_step",
	 .file = "/srv/job/train.py",
	 .line = 88},
	{.kind = CS_FRAME_GAP,
	 .trust = CS_TRUST_RUNTIME,
	 .function = "the interpreter's own frames"},
	{.kind = CS_FRAME_NATIVE,
	 .trust = CS_TRUST_FRAME_POINTER,
	 .address = 0x7f0001003000,
	 .module = &module_nccl,
	 .module_offset = 0x3000},
	{.kind = CS_FRAME_NATIVE, .trust = CS_TRUST_SCAN, .address = 0x7e0000000010,
	 .place = "code made at run time"},
	{.kind = CS_FRAME_SIGNAL,
	 .trust = CS_TRUST_CFI,
	 .address = 0x7f000a040000,
	 .function = "__restore_rt",
	 .module = &module_libc,
	 .module_offset = 0x40000},
	{.kind = CS_FRAME_NATIVE,
	 .trust = CS_TRUST_CFI,
	 .address = 0x7f000a089044,
	 .function = "start_thread",
	 .offset = 0x134,
	 .module = &module_libc,
	 .module_offset = 0x89044},
};
static const struct cs_frame wait_frames[] = {
	{.kind = CS_FRAME_NATIVE,
	 .trust = CS_TRUST_CONTEXT,
	 .address = 0x7f000a085e19,
	 .function = "__futex_abstimed_wait_common",
	 .offset = 0xd9,
	 .module = &module_libc,
	 .module_offset = 0x85e19},
	{.kind = CS_FRAME_NATIVE,
	 .trust = CS_TRUST_CFI,
	 .address = 0x7f000a088818,
	 .function = "pthread_cond_wait@@GLIBC_2.3.2",
	 .offset = 0x208,
	 .module = &module_libc,
	 .module_offset = 0x88818},
	{.kind = CS_FRAME_NATIVE,
	 .trust = CS_TRUST_CFI,
	 .address = 0x7f000a089044,
	 .function = "start_thread",
	 .offset = 0x134,
	 .module = &module_libc,
	 .module_offset = 0x89044},
};
static const int32_t crash_tids[] = {4242};
static const int32_t wait_tids[] = {4241, 4243, 4244, 4245, 4246, 4247, 4248, 4249, 4250};
static const struct cs_stack_group crash_groups[] = {
	{.id = 0,
	 .tids = crash_tids,
	 .n_tids = 1,
	 .frames = crash_frames,
	 .n_frames = CS_COUNT(crash_frames),
	 .total_frames = 7,
	 .stop = CS_STOP_UNREADABLE,
	 .stop_text = "the stack at 0x7e0000000018 is not in the core"},
	{.id = 1,
	 .tids = wait_tids,
	 .n_tids = CS_COUNT(wait_tids),
	 .frames = wait_frames,
	 .n_frames = CS_COUNT(wait_frames),
	 .total_frames = 3,
	 .stop = CS_STOP_BOTTOM},
};
static const struct cs_register crash_registers[] = {
	{"rip", 0x7f0000101234}, {"rsp", 0x7e0000000000}, {"rax", 0}, {"rbx", 0}};
#define WAITING(id)                                                                      \
	{                                                                                \
		.tid = (id), .name = "pool-worker", .name_source = "stack",              \
		.role = "openmp-worker", .group = &crash_groups[1]                       \
	}
static const struct cs_thread crash_threads[] = {
	{.tid = 4242,
	 .name = "worker-1",
	 .name_source = "note",
	 .role = "dataloader",
	 .crashed = true,
	 .signal = 11,
	 .group = &crash_groups[0],
	 .registers = crash_registers,
	 .n_registers = CS_COUNT(crash_registers)},
	WAITING(4241),
	WAITING(4243),
	WAITING(4244),
	WAITING(4245),
	WAITING(4246),
	WAITING(4247),
	WAITING(4248),
	WAITING(4249),
	WAITING(4250),
};
static const char *const crash_command[] = {"python", "train.py", "--name", "two words",
					    "--lr=0.1"};
static const struct cs_variable crash_environment[] = {{"NCCL_DEBUG", "INFO"},
						       {"RANK", "6"},
						       {"WANDB_API_KEY", "(masked)"},
						       {"WORLD_SIZE", "64"}};
static const struct cs_version crash_versions[] = {
	{"python", "3.8.13", "/opt/venv/bin/python3"},
	{"torch", "1.13.1", "core memory"},
	{"cuda-runtime", "11.7", "core memory"},
	{"cuda-driver", "535.54", "core memory"}};
static const struct cs_diagnostic crash_diagnostics[] = {
	{CS_SEVERITY_NOTE, "symbols", "no-line-info",
	 "libnccl.so.2 has no line information", 0},
	{CS_SEVERITY_WARNING, "symbols", "file-mismatch",
	 "libnccl.so.2 was replaced since the process started: names come from the core; "
	 "give the old one "
	 "with --lib-path",
	 0},
	{CS_SEVERITY_ERROR, "unwind", "stack-unreadable",
	 "a part of the stack was not saved; write the core with the default "
	 "coredump_filter (0x33)",
	 4242}};
static const struct cs_timing crash_timing[] = {{"core", 3.25}, {"unwind", 12.5}};

const struct cs_analysis *sample_crash(void)
{
	static const struct cs_analysis a = {
		.input = {.path = "core-python-4240-6",
			  .kind = "core",
			  .bytes = 656310272,
			  .compression = "zstd",
			  .complete = true,
			  .expected_bytes = 656310272,
			  .writer = "kernel"},
		.process = {.pid = 4240,
			    .ppid = 4200,
			    .uid = 1000,
			    .gid = 1001,
			    .command = crash_command,
			    .n_command = CS_COUNT(crash_command),
			    .command_complete = true,
			    .name = "python",
			    .executable = "/opt/venv/bin/python3",
			    .machine = "x86_64",
			    .environment = crash_environment,
			    .n_environment = CS_COUNT(crash_environment),
			    .n_environment_hidden = 34,
			    .rank = 6,
			    .local_rank = 2,
			    .world_size = 64,
			    .start_time = 1700000000,
			    .core_time = 1700003600},
		.crash = {.tid = 4242,
			  .signal = 11,
			  .signal_name = "SIGSEGV",
			  .code = 1,
			  .code_name = "SEGV_MAPERR",
			  .has_address = true,
			  .address = 0x10,
			  .access = "write",
			  .sender_pid = -1,
			  .sender_uid = -1,
			  .fault = CS_FAULT_NULL,
			  .instruction = "mov %rax,0x10(%rbx)",
			  .operand = "0x10(%rbx) = 0x10 (rbx = 0x0)",
			  .summary = "write to 0x10, a small offset from a NULL pointer",
			  .detail = "the page at 0x0 is not mapped",
			  .message = "terminate called after throwing an instance of "
				     "'c10::Error'\n"
				     "  what():  bad gradient\n",
			  .message_source = "__abort_msg"},
		.versions = crash_versions,
		.n_versions = CS_COUNT(crash_versions),
		.modules = crash_modules,
		.n_modules = CS_COUNT(crash_modules),
		.threads = crash_threads,
		.n_threads = CS_COUNT(crash_threads),
		.groups = crash_groups,
		.n_groups = CS_COUNT(crash_groups),
		.diagnostics = crash_diagnostics,
		.n_diagnostics = CS_COUNT(crash_diagnostics),
		.n_diagnostics_dropped = 7,
		.timing = crash_timing,
		.n_timing = CS_COUNT(crash_timing),
		.total_ms = 84.5,
	};

	return &a;
}

/* ---- sample_abort ---- */

#define LIBC(name, off)                                                                  \
	{                                                                                \
		.kind = CS_FRAME_NATIVE, .trust = CS_TRUST_CFI,                          \
		.address = 0x7f000a000000 + (off), .function = name, .offset = 0x10,     \
		.module = &module_libc, .module_offset = (off)                           \
	}
#define TRAIN(name, lineno)                                                              \
	{                                                                                \
		.kind = CS_FRAME_NATIVE, .trust = CS_TRUST_CFI,                          \
		.address = 0x7f0000100000 + (lineno), .function = name, .offset = 0x10,  \
		.module = &module_train, .module_offset = (lineno),                      \
		.file = "src/parse.c", .line = (lineno)                                  \
	}

static const struct cs_frame abort_frames[] = {
	LIBC("__pthread_kill_implementation", 0x8a9fc),
	LIBC("raise", 0x42476),
	LIBC("abort", 0x287f3),
	LIBC("__assert_fail", 0x39f96),
	TRAIN("check_depth", 40),
	{.kind = CS_FRAME_NATIVE,
	 .trust = CS_TRUST_CFI,
	 .address = 0x7f0000100050,
	 .function = "parse_value",
	 .module = &module_train,
	 .module_offset = 0x50,
	 .file = "src/parse.c",
	 .line = 80,
	 .repeat_period = 3,
	 .repeat_count = 26664},
	TRAIN("parse_array", 81),
	TRAIN("parse_object", 82),
	{.kind = CS_FRAME_NATIVE,
	 .trust = CS_TRUST_CFI,
	 .address = 0x7f0000100099,
	 .function = "step",
	 .module = &module_train,
	 .module_offset = 0x99,
	 .file = "src/parse.c",
	 .line = 99,
	 .repeat_period = 1,
	 .repeat_count = 5},
	TRAIN("main", 120),
	LIBC("__libc_start_main", 0x29e40),
};
static const struct cs_stack_group abort_groups[] = {{.id = 0,
						      .tids = crash_tids,
						      .n_tids = 1,
						      .frames = abort_frames,
						      .n_frames = CS_COUNT(abort_frames),
						      .total_frames = 80004,
						      .stop = CS_STOP_BOTTOM}};
static const struct cs_thread abort_threads[] = {{.tid = 4242,
						  .name = "parse",
						  .name_source = "note",
						  .role = "main",
						  .crashed = true,
						  .signal = 6,
						  .group = &abort_groups[0]}};

const struct cs_analysis *sample_abort(void)
{
	static const char *const command[] = {"./parse"};
	static const struct cs_analysis a = {
		.input = {.path = "core.4242",
			  .kind = "core",
			  .bytes = 9000000,
			  .complete = true,
			  .expected_bytes = 9000000,
			  .writer = "kernel"},
		.process = {.pid = 4242,
			    .uid = 0,
			    .gid = 0,
			    .command = command,
			    .n_command = 1,
			    .command_complete = true,
			    .executable = "/srv/job/parse",
			    .machine = "aarch64",
			    .rank = -1,
			    .local_rank = -1,
			    .world_size = -1},
		.crash = {.tid = 4242,
			  .signal = 6,
			  .signal_name = "SIGABRT",
			  .code = -6,
			  .code_name = "SI_TKILL",
			  .sender_pid = 4242,
			  .sender_uid = 0,
			  .fault = CS_FAULT_ABORT,
			  .culprit = &abort_frames[4],
			  .summary = "SIGABRT: an assertion failed",
			  .message = "parse: src/parse.c:40: check_depth: Assertion "
				     "`depth < max' failed."},
		.threads = abort_threads,
		.n_threads = 1,
		.groups = abort_groups,
		.n_groups = 1,
		.total_ms = 12,
	};

	return &a;
}

/* ---- sample_running ---- */

#define ONE_FRAME(n)                                                                     \
	{                                                                                \
		.kind = CS_FRAME_NATIVE, .trust = CS_TRUST_CONTEXT,                      \
		.address = 0x1000 + (n)                                                  \
	}
static const struct cs_frame running_frames[] = {ONE_FRAME(0), ONE_FRAME(1), ONE_FRAME(2),
						 ONE_FRAME(3), ONE_FRAME(4), ONE_FRAME(5),
						 ONE_FRAME(6)};
static const int32_t running_tids[] = {100, 101, 102, 103, 104, 105, 106, 107, 108};
#define RUNNING_GROUP(n)                                                                 \
	{                                                                                \
		.id = (n), .tids = &running_tids[n], .n_tids = 1,                        \
		.frames = &running_frames[n], .n_frames = 1, .total_frames = 1,          \
		.stop = CS_STOP_NO_UNWIND_INFO, .stop_text = "no module lies there"      \
	}
static const struct cs_stack_group running_groups[] = {
	RUNNING_GROUP(0),
	RUNNING_GROUP(1),
	RUNNING_GROUP(2),
	RUNNING_GROUP(3),
	RUNNING_GROUP(4),
	RUNNING_GROUP(5),
	RUNNING_GROUP(6),
	{.id = 7, .tids = &running_tids[7], .n_tids = 2, .stop = CS_STOP_UNREADABLE}};
static const struct cs_thread running_threads[] = {
	{.tid = 100, .group = &running_groups[0]},
	{.tid = 101, .group = &running_groups[1]},
	{.tid = 102, .group = &running_groups[2]},
	{.tid = 103, .group = &running_groups[3]},
	{.tid = 104, .group = &running_groups[4]},
	{.tid = 105, .group = &running_groups[5]},
	{.tid = 106, .group = &running_groups[6]},
	{.tid = 107, .name = "a", .name_source = "stack", .group = &running_groups[7]},
	{.tid = 108, .name = "b", .name_source = "stack", .group = &running_groups[7]},
};

const struct cs_analysis *sample_running(void)
{
	static const struct cs_analysis a = {
		.input = {.path = "-",
			  .kind = "core",
			  .bytes = 4096,
			  .expected_bytes = 8192,
			  .writer = "gdb"},
		.process = {.uid = -1,
			    .gid = -1,
			    .rank = -1,
			    .local_rank = -1,
			    .world_size = -1},
		.crash = {.sender_pid = -1, .sender_uid = -1},
		.threads = running_threads,
		.n_threads = CS_COUNT(running_threads),
		.groups = running_groups,
		.n_groups = CS_COUNT(running_groups),
		.limit_hit = true,
	};

	return &a;
}

/* ---- sample_hostile ---- */

#define EVIL                                                                             \
	"a\x1b]0;owned\x07"                                                              \
	"b\x1b[31m\r\nc\t\x7f"                                                           \
	"\xc2\x9b"                                                                       \
	"31m \xe2\x80\xae"                                                               \
	"evil \xff\xfe \"q\\"

static const struct cs_module hostile_module = {.path = EVIL,
						.name = EVIL,
						.build_id = EVIL,
						.file = EVIL,
						.debug_file = EVIL,
						.file_state = CS_FILE_MISMATCH,
						.symbols = (enum cs_symbol_source)77,
						.in_use = true,
						.note = EVIL,
						.start = UINT64_MAX,
						.end = 0};
static const struct cs_module *const hostile_modules[] = {&hostile_module};
static const struct cs_python_variable hostile_python_variables[] = {
	{EVIL, EVIL, EVIL}, {EVIL, "argument", EVIL}, {NULL, NULL, NULL}};
static const struct cs_frame hostile_frames[] = {
	{.kind = CS_FRAME_NATIVE,
	 .function = EVIL,
	 .short_name = EVIL,
	 .module = &hostile_module,
	 .file = EVIL,
	 .line = UINT32_MAX,
	 .trust = (enum cs_trust)99},
	{.kind = CS_FRAME_NATIVE,
	 .function = EVIL,
	 .nearest = true,
	 .module = &hostile_module,
	 .offset = UINT64_MAX},
	{.kind = CS_FRAME_NATIVE,
	 .function = EVIL,
	 .repeat_period = 9,
	 .repeat_count = UINT64_MAX},
	{.kind = CS_FRAME_GAP, .function = EVIL},
	{.kind = CS_FRAME_PYTHON,
	 .function = EVIL,
	 .file = EVIL,
	 .line = UINT32_MAX,
	 .source = EVIL,
	 .variables = hostile_python_variables,
	 .n_variables = CS_COUNT(hostile_python_variables),
	 .repeat_period = UINT32_MAX,
	 .repeat_count = UINT64_MAX},
	{.kind = CS_FRAME_PYTHON, .address = UINT64_MAX, .file = EVIL},
	{.kind = (enum cs_frame_kind)55, .function = EVIL, .file = EVIL}};
static const int32_t hostile_tids[] = {-5};
static const struct cs_stack_group hostile_groups[] = {
	{.id = 0,
	 .tids = hostile_tids,
	 .n_tids = 1,
	 .frames = hostile_frames,
	 .n_frames = CS_COUNT(hostile_frames),
	 .total_frames = UINT64_MAX,
	 .stop = (enum cs_stop)42,
	 .stop_text = EVIL}};
static const struct cs_python_thread hostile_python = {.name = EVIL,
						       .ident = UINT64_MAX,
						       .interpreter = INT64_MAX,
						       .runtime = UINT32_MAX,
						       .daemon = true,
						       .holds_gil = true,
						       .state = EVIL,
						       .broken = EVIL};
static const struct cs_python_runtime hostile_runtimes[] = {
	{.version = EVIL,
	 .layout = (enum cs_layout_source)66,
	 .found = EVIL,
	 .module = &hostile_module,
	 .phase = EVIL,
	 .n_interpreters = SIZE_MAX,
	 .n_threads = SIZE_MAX,
	 .n_stale = SIZE_MAX,
	 .gil = EVIL,
	 .collecting = -5},
	{.gil_holder = -5}};
static const char *const hostile_notes[] = {EVIL, NULL};
/* Its own cause and context, over and over. */
static const struct cs_exception hostile_exceptions[] = {
	{.tid = -5,
	 .language = EVIL,
	 .type = EVIL,
	 .message = EVIL,
	 .state = EVIL,
	 .frames = hostile_frames,
	 .n_frames = CS_COUNT(hostile_frames),
	 .cause = &hostile_exceptions[1],
	 .context = &hostile_exceptions[0],
	 .notes = hostile_notes,
	 .n_notes = CS_COUNT(hostile_notes)},
	{.cause = &hostile_exceptions[0], .context = &hostile_exceptions[1]}};
static const struct cs_python_task hostile_tasks[] = {
	{.name = EVIL,
	 .coroutine = EVIL,
	 .state = "waiting",
	 .tid = -5,
	 .address = UINT64_MAX,
	 .frames = hostile_frames,
	 .n_frames = CS_COUNT(hostile_frames),
	 .awaits = EVIL,
	 .awaits_task = UINT64_MAX},
	{.state = EVIL}};
static const struct cs_python_greenlet hostile_greenlets[] = {
	{.name = EVIL,
	 .state = EVIL,
	 .tid = -5,
	 .frames = hostile_frames,
	 .n_frames = CS_COUNT(hostile_frames),
	 .broken = EVIL},
	{.broken = EVIL}};
static const struct cs_register hostile_registers[] = {{"rip", UINT64_MAX}};
static const struct cs_thread hostile_threads[] = {{.tid = -5,
						    .name = EVIL,
						    .name_source = "note",
						    .role = "main",
						    .crashed = true,
						    .signal = -1,
						    .group = hostile_groups,
						    .python = &hostile_python,
						    .registers = hostile_registers,
						    .n_registers = 1}};
static const char *const hostile_command[] = {EVIL, "", "\xff"};
static const struct cs_variable hostile_environment[] = {{EVIL, EVIL}, {"\xff", "\xff"}};
static const struct cs_version hostile_versions[] = {{"python", EVIL, EVIL}};
static const struct cs_diagnostic hostile_diagnostics[] = {
	{CS_SEVERITY_ERROR, "core", "evil", EVIL, -5},
	{CS_SEVERITY_NOTE, "core", "evil", EVIL, 0}};

static const struct cs_evidence hostile_evidence[] = {{-5, INT64_MAX, EVIL}, {0, -1, EVIL}};
static const char *const hostile_texts[] = {EVIL, EVIL};
static const struct cs_finding hostile_findings[] = {
	{.id = EVIL,
	 .category = EVIL,
	 .title = EVIL,
	 .confidence = (enum cs_confidence)88,
	 .explanation = EVIL,
	 .steps = hostile_texts,
	 .n_steps = CS_COUNT(hostile_texts),
	 .evidence = hostile_evidence,
	 .n_evidence = CS_COUNT(hostile_evidence),
	 .references = hostile_texts,
	 .n_references = CS_COUNT(hostile_texts)},
	{0}};

const struct cs_analysis *sample_hostile(void)
{
	static const struct cs_analysis a = {
		.input = {.path = EVIL,
			  .kind = "core",
			  .bytes = UINT64_MAX,
			  .expected_bytes = UINT64_MAX},
		.process = {.pid = INT32_MAX,
			    .uid = INT64_MAX,
			    .gid = INT64_MAX,
			    .command = hostile_command,
			    .n_command = CS_COUNT(hostile_command),
			    .name = EVIL,
			    .executable = EVIL,
			    .environment = hostile_environment,
			    .n_environment = CS_COUNT(hostile_environment),
			    .n_environment_hidden = SIZE_MAX,
			    .rank = INT64_MAX,
			    .local_rank = -1,
			    .world_size = INT64_MAX,
			    .start_time = INT64_MAX,
			    .core_time = INT64_MAX},
		.crash = {.tid = -5,
			  .signal = INT32_MAX,
			  .sender_pid = 0,
			  .sender_uid = INT64_MAX,
			  .fault = (enum cs_fault_class)88,
			  .instruction = EVIL,
			  .operand = EVIL,
			  .summary = EVIL,
			  .detail = EVIL,
			  .message = EVIL,
			  .message_source = EVIL,
			  .reraised = true,
			  .has_address = true,
			  .address = UINT64_MAX},
		.versions = hostile_versions,
		.n_versions = 1,
		.modules = hostile_modules,
		.n_modules = 1,
		.threads = hostile_threads,
		.n_threads = 1,
		.groups = hostile_groups,
		.n_groups = 1,
		.python = {.runtimes = hostile_runtimes,
			   .n_runtimes = CS_COUNT(hostile_runtimes),
			   .tasks = hostile_tasks,
			   .n_tasks = CS_COUNT(hostile_tasks),
			   .greenlets = hostile_greenlets,
			   .n_greenlets = CS_COUNT(hostile_greenlets)},
		.exceptions = hostile_exceptions,
		.n_exceptions = CS_COUNT(hostile_exceptions),
		.findings = hostile_findings,
		.n_findings = CS_COUNT(hostile_findings),
		.n_signatures = SIZE_MAX,
		.diagnostics = hostile_diagnostics,
		.n_diagnostics = 2,
	};

	return &a;
}

/* ---- sample_parked ---- */

struct parked {
	struct cs_analysis a;
	struct cs_stack_group group;
	struct cs_frame frames[20];
	int32_t *tids;
	struct cs_thread threads[];
};

struct cs_analysis *sample_parked(size_t n)
{
	struct parked *p =
		calloc(1, sizeof(*p) + n * (sizeof(p->threads[0]) + sizeof(*p->tids)));

	if (!p)
		return NULL;
	p->tids = (int32_t *)&p->threads[n];
	p->a = *sample_running();
	for (size_t i = 0; i < CS_COUNT(p->frames); i++)
		p->frames[i] = wait_frames[i % CS_COUNT(wait_frames)];
	p->group = (struct cs_stack_group){.tids = p->tids,
					   .n_tids = n,
					   .frames = p->frames,
					   .n_frames = CS_COUNT(p->frames),
					   .total_frames = 20};
	for (size_t i = 0; i < n; i++) {
		p->tids[i] = (int32_t)(1000 + i);
		p->threads[i] = (struct cs_thread){.tid = p->tids[i], .group = &p->group};
	}
	p->a.threads = p->threads;
	p->a.n_threads = n;
	p->a.groups = &p->group;
	p->a.n_groups = 1;
	return &p->a;
}
