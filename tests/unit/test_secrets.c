/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What of an environment and a command line is shown. The tokens below are made up. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "crash/internal.h"

#include <string.h>

struct pair {
	const char *in, *out;
};

static void values_are_masked(void **state)
{
	static const struct pair pairs[] = {
		{"INFO", "INFO"},
		{"/data/task-2024/sk-short", "/data/task-2024/sk-short"},
		{"sk-abcdefghijklmnopqrstuvwx", "***"},
		{"key: hf_abcdefghijklmnopqrst, ok", "key: ***, ok"},
		{"ghp_0123456789abcdefghij0123456789abcdef", "***"},
		{"AKIAIOSFODNN7EXAMPLE", "***"},
		{"eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.abc-DEF_123", "***"},
		{"risk-abcdefghijklmnopqrstuvwx", "risk-abcdefghijklmnopqrstuvwx"},
		{"https://user:pass@host:80/x?y", "https://user:***@host:80/x?y"},
		{"redis://:pass@host", "redis://:***@host"},
		{"http://host:80/a@b", "http://host:80/a@b"},
		{"http://user@host/", "http://user@host/"},
		{"two http://a:b@c http://d:e@f", "two http://a:***@c http://d:***@f"},
		{"", ""},
		{"login(token='tiny', user='me')", "login(token='***', user='me')"},
		{"{'password': \"hunter2\", 'n': 3}", "{'password': \"***\", 'n': 3}"},
		{"https://h/x?access_token=a1b2c3d4e5&n=1", "https://h/x?access_token=***&n=1"},
		{"db_password=hunter2/x", "db_password=***"},
		{"Authorization: Basic dXNlcjpwYXNz", "Authorization: ***"},
		{"-H 'authorization: Bearer abc.def-123'", "-H 'authorization: ***'"},
		{"sent Bearer abcdef.123456== to h", "sent Bearer *** to h"},
		{"secret = 'a b'; x", "secret = '***'; x"},
		/* what people look for */
		{"KeyError: 'token'", "KeyError: 'token'"},
		{"next_token=50256", "next_token=50256"},
		{"token=tensor([1])", "token=tensor([1])"},
		{"token: unexpected end of input", "token: unexpected end of input"},
		{"max_tokens=very_long_word", "max_tokens=very_long_word"},
		{"pad_token='<pad>'", "pad_token='<pad>'"},
		{"author=Somebody-else", "author=Somebody-else"},
		{"key=layer1.weight.data", "key=layer1.weight.data"},
		{"password=", "password="},
		{"password=''", "password=''"},
		{"the bearer of news", "the bearer of news"},
		{"=:", "=:"},
	};

	for (size_t i = 0; i < sizeof(pairs) / sizeof(*pairs); i++)
		assert_string_equal(cs_mask_value(*state, pairs[i].in), pairs[i].out);
}

static void names_tell_secrets(void **state)
{
	static const char *const secret[] = {
		"HF_TOKEN",    "AWS_SECRET_ACCESS_KEY", "--api-key",       "apikey",
		"db_password", "WANDB_API_KEY",         "NCCL_AUTH",       "key",
		"--hub-token", "SSH_PRIVATE_THING",     "TOKENIZER_SECRET"};
	static const char *const harmless[] = {"RANK",         "TOKENIZERS_PARALLELISM",
					       "--max_tokens", "--tokenizer",
					       "MONKEY",       "--keyframes",
					       "NCCL_DEBUG",   "--pad_token_id"};

	(void)state;
	for (size_t i = 0; i < sizeof(secret) / sizeof(*secret); i++)
		assert_true(cs_name_is_secret(secret[i], strlen(secret[i])));
	for (size_t i = 0; i < sizeof(harmless) / sizeof(*harmless); i++)
		assert_false(cs_name_is_secret(harmless[i], strlen(harmless[i])));
}

static void only_listed_variables_are_shown(void **state)
{
	static const char *const shown[] = {
		"RANK",       "NCCL_DEBUG",           "NCCL_",
		"TORCH_LOGS", "CUDA_VISIBLE_DEVICES", "SLURM_PROCID",
		"PYTHONPATH", "OMP_NUM_THREADS",      "PYTORCH_CUDA_ALLOC_CONF"};
	static const char *const hidden[] = {"HOME",        "RANKS",
					     "RAN",         "SSH_AUTH_SOCK",
					     "SLURM_JWT",   "AWS_ACCESS_KEY_ID",
					     "PATH",        "",
					     "XNCCL_DEBUG", "SLURM_JOB_USER"};

	(void)state;
	for (size_t i = 0; i < sizeof(shown) / sizeof(*shown); i++)
		assert_true(cs_variable_is_shown(shown[i], strlen(shown[i])));
	for (size_t i = 0; i < sizeof(hidden) / sizeof(*hidden); i++)
		assert_false(cs_variable_is_shown(hidden[i], strlen(hidden[i])));
}

static void signals_have_names(void **state)
{
	(void)state;
	assert_string_equal(cs_signal_name(11), "SIGSEGV");
	assert_string_equal(cs_signal_name(6), "SIGABRT");
	assert_null(cs_signal_name(0));
	assert_null(cs_signal_name(-1));
	assert_null(cs_signal_name(34));
	assert_string_equal(cs_signal_code_name(11, 1), "SEGV_MAPERR");
	assert_string_equal(cs_signal_code_name(7, 2), "BUS_ADRERR");
	assert_string_equal(cs_signal_code_name(11, 0x80), "SI_KERNEL");
	assert_string_equal(cs_signal_code_name(6, -6), "SI_TKILL");
	assert_null(cs_signal_code_name(11, 77));
}

static void roles_come_from_functions(void **state)
{
	static const struct pair cases[] = {
		{"gomp_thread_start", "openmp-worker"},
		{"c10d::ProcessGroupNCCL::ncclCommWatchdog()", "nccl-watchdog"},
		{"c10d::detail::(anonymous namespace)::TCPStoreMasterDaemon::run()", "tcpstore"},
		{"c10d::ProcessGroupNCCL::HeartbeatMonitor::runLoop()", "nccl-heartbeat"},
		{"c10d::ProcessGroupNCCL::heartbeatMonitor()", "nccl-heartbeat"},
		{"torch::autograd::Engine::thread_main(std::shared_ptr<x> const&)",
		 "autograd"},
		{"ncclProxyProgress", "nccl-proxy"},
		{"blas_thread_server", "openblas-worker"},
		{"t_bootstrap", "python-thread"},
		{"start_thread", NULL},
		{"my_gomp_thread_start", NULL},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct cs_frame frames[] = {{.function = "read"},
					    {.function = cases[i].in},
					    {.function = "start_thread"},
					    {.function = "clone3"}};
		struct cs_stack_group group = {.frames = frames, .n_frames = 4};
		const char *role = cs_thread_role(&group, false);

		if (cases[i].out)
			assert_string_equal(role, cases[i].out);
		else
			assert_null(role);
		frames[1].nearest = true; /* only the closest name: no evidence */
		assert_null(cs_thread_role(&group, false));
		assert_string_equal(cs_thread_role(&group, true), "main");
	}
	assert_null(cs_thread_role(NULL, false));
}

static void a_library_inside_a_python_thread_decides(void **state)
{
	struct cs_frame frames[] = {
		{.function = "torch::autograd::Engine::thread_main(x)"},
		{.function = "thread_run"},
		{.function = "pythread_wrapper"}};
	struct cs_stack_group group = {.frames = frames, .n_frames = 3};

	(void)state;
	assert_string_equal(cs_thread_role(&group, false), "autograd");
	frames[0].function = "poll";
	assert_string_equal(cs_thread_role(&group, false), "python-thread");
}

static void stripped_libraries_tell_by_their_name(void **state)
{
	struct cs_module libgomp = {.name = "libgomp.so.1.0.0"},
			 libc = {.name = "libc.so.6"}, mine = {.name = "libmine.so"},
			 cuda = {.name = "libcuda.so.535.104.05"};
	struct cs_frame frames[] = {
		{.function = "poll", .module = &libc},
		{.function = "omp_get_num_procs", .nearest = true, .module = &libgomp},
		{.function = "start_thread", .module = &libc},
		{.function = "clone3", .module = &libc}};
	struct cs_stack_group group = {
		.frames = frames, .n_frames = 4, .stop = CS_STOP_BOTTOM};

	(void)state;
	assert_string_equal(cs_thread_role(&group, false), "openmp-worker");
	frames[1].module = &cuda;
	assert_string_equal(cs_thread_role(&group, false), "cuda-driver");
	frames[1].module = &mine;
	assert_null(cs_thread_role(&group, false));
	frames[1].module = &libgomp;
	group.stop = CS_STOP_NO_UNWIND_INFO; /* what is below it is not known */
	assert_null(cs_thread_role(&group, false));
	group.stop = CS_STOP_BOTTOM;
	frames[0].module = &libgomp;
	frames[1].module = &mine; /* called from another library's thread */
	assert_null(cs_thread_role(&group, false));
}

static int setup(void **state)
{
	*state = cs_arena_create(1 << 20);
	return *state ? 0 : -1;
}

static int teardown(void **state)
{
	cs_arena_destroy(*state);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(values_are_masked),
		cmocka_unit_test(names_tell_secrets),
		cmocka_unit_test(only_listed_variables_are_shown),
		cmocka_unit_test(signals_have_names),
		cmocka_unit_test(roles_come_from_functions),
		cmocka_unit_test(a_library_inside_a_python_thread_decides),
		cmocka_unit_test(stripped_libraries_tell_by_their_name),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
