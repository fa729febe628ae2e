/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What a thread is there for, by the functions on its stack. Knows names alone. A pattern
 * matches at the start of a name; "*" at its start lets it match anywhere.
 */
#include "base/limits.h"
#include "crash/internal.h"

#include <string.h>

struct role {
	const char *pattern;
	const char *role;
};

static const struct role roles[] = {
	/* PyTorch's own: pytorch torch/csrc/distributed/c10d/ProcessGroupNCCL.cpp */
	{"*ProcessGroupNCCL::ncclCommWatchdog", "nccl-watchdog"},
	{"*ProcessGroupNCCL::workCleanupLoop", "nccl-watchdog"},
	{"*ProcessGroupNCCL::watchdogHandler", "nccl-watchdog"},
	{"*ProcessGroupNCCL::Watchdog::run", "nccl-watchdog"},
	{"*ProcessGroupNCCL::HeartbeatMonitor::run", "nccl-heartbeat"},
	{"*ProcessGroupNCCL::heartbeatMonitor", "nccl-heartbeat"},
	{"*ProcessGroupNCCL::runHookLoop", "nccl-hooks"},
	{"*ProcessGroupNCCL::WorkNCCL::handle", "nccl-watchdog"},
	/* NCCL: src/proxy.cc, src/bootstrap.cc, src/ras */
	{"ncclProxyService", "nccl-proxy"},
	{"ncclProxyProgress", "nccl-proxy"},
	{"persistentThread", "nccl-proxy"},
	{"ncclRasThread", "nccl-ras"},
	{"rasThreadMain", "nccl-ras"},
	{"bootstrapRoot", "nccl-bootstrap"},
	{"ncclIbAsyncThreadMain", "nccl-ib-events"},
	{"ncclAsyncThreadMain", "nccl-init"},
	/* c10d's stores and other backends */
	/* Up to 2.0 these are in an unnamed namespace. */
	{"*TCPStoreMasterDaemon::run", "tcpstore"},
	{"*TCPStoreWorkerDaemon::run", "tcpstore"},
	{"*c10d::detail::LibUVStoreDaemon::run", "tcpstore"},
	{"*c10d::detail::BackgroundThread", "tcpstore"},
	{"*c10d::detail::UvTcpServer", "tcpstore"},
	{"*c10d::ProcessGroupGloo::runLoop", "gloo"},
	{"gloo::transport::tcp::Loop::run", "gloo"},
	{"gloo::transport::uv::", "gloo"},
	{"*c10d::ProcessGroupMPI::runLoop", "mpi"},
	{"*torch::autograd::Engine::thread_main", "autograd"},
	{"*torch::autograd::Engine::thread_init", "autograd"},
	{"*torch::autograd::python::PythonEngine::thread_init", "autograd"},
	{"*torch::autograd::Engine::reentrant_thread_init", "autograd"},
	{"c10::ThreadPool::main_loop", "c10-thread-pool"},
	{"c10::TaskThreadPool", "c10-thread-pool"},
	{"*at::cuda::CachingHostAllocator", "pinned-memory"},
	{"pthreadpool_worker", "pthreadpool"},
	{"thread_main(pthreadpool", "pthreadpool"},
	{"tensorpipe::", "tensorpipe"},
	{"libkineto::", "profiler"},
	/* OpenMP: gcc libgomp/team.c, llvm openmp/runtime/src/z_Linux_util.cpp */
	{"gomp_thread_start", "openmp-worker"},
	{"__kmp_launch_worker", "openmp-worker"},
	{"__kmp_launch_thread", "openmp-worker"},
	{"__kmp_launch_monitor", "openmp-monitor"},
	{"blas_thread_server", "openblas-worker"},
	{"mkl_", "mkl-worker"},
	{"*tbb::detail::r1::rml::private_worker", "tbb"},
	{"*tbb::internal::rml::private_worker", "tbb"},
	{"*tbb::detail::r1::thread_dispatcher", "tbb"},
	{"background_thread_entry", "jemalloc-background"},
	{"je_background_thread", "jemalloc-background"},
	{"grpc_core::", "grpc"},
	{"*grpc_core::(anonymous namespace)::ThreadInternalsPosix", "grpc"},
	{"grpc_event_engine::", "grpc"},
	{"ray::", "ray"},
	{"*boost::asio::detail::scheduler::run", "asio"},
	{"uv__thread_start", "libuv"},
	{"uv_thread_start", "libuv"},
	{"ucs_async_thread", "ucx"},
	{"progress_engine(", "openmpi-progress"},
	{"*folly::ThreadPoolExecutor", "folly"},
	/* Threads of Python's own; last, for they may run any of the above. CPython:
	   Modules/_threadmodule.c */
	{"thread_run", "python-thread"},
	{"t_bootstrap", "python-thread"},
	{"pythread_wrapper", "python-thread"},
};

static bool matches(const char *pattern, const char *function)
{
	if (pattern[0] == '*')
		return strstr(function, pattern + 1) != NULL;
	return !strncmp(function, pattern, strlen(pattern));
}

static const char *role_of(const char *function)
{
	for (size_t i = 0; i < CS_COUNT(roles); i++)
		if (matches(roles[i].pattern, function))
			return roles[i].role;
	return NULL;
}

/**
 * Roles by the module that a thread's first own function lies in: libraries that start
 * threads are often stripped, and their local functions have no names. Patterns as above.
 */
static const struct role modules[] = {
	{"libgomp", "openmp-worker"},
	{"libomp.so", "openmp-worker"},
	{"libiomp", "openmp-worker"},
	{"libopenblas", "openblas-worker"},
	{"libblis", "blis-worker"},
	{"libmkl_", "mkl-worker"},
	{"libtbb", "tbb"},
	{"libcuda.so", "cuda-driver"},
	{"libcupti", "profiler"},
	{"libnccl.so", "nccl"},
	{"librccl.so", "nccl"},
	{"libgloo", "gloo"},
	{"libpthreadpool", "pthreadpool"},
	{"libjemalloc", "jemalloc-background"},
	{"libucs.so", "ucx"},
	{"libucp.so", "ucx"},
	{"libgrpc", "grpc"},
	{"libuv.so", "libuv"},
	{"libpython3.", "python-thread"},
	{"python3", "python-thread"},
};

/** True for what stands below every thread's own functions: the C and C++ libraries. */
static bool starts_threads(const struct cs_module *m)
{
	static const char *const names[] = {"libc.so",       "libc-2.", "libpthread.so",
					    "libpthread-2.", "ld-",     "libstdc++.so",
					    "libc++.so"};

	for (size_t i = 0; i < CS_COUNT(names); i++)
		if (matches(names[i], m->name))
			return true;
	return false;
}

static const char *role_of_start(const struct cs_stack_group *group)
{
	for (size_t i = group->n_frames; i-- > 0;) {
		const struct cs_module *m = group->frames[i].module;

		if (!m || !m->name)
			return NULL;
		if (starts_threads(m))
			continue;
		for (size_t k = 0; k < CS_COUNT(modules); k++)
			if (matches(modules[k].pattern, m->name))
				return modules[k].role;
		return NULL;
	}
	return NULL;
}

const char *cs_thread_role(const struct cs_stack_group *group, bool is_main)
{
	const char *python = NULL;
	size_t first = 0;

	if (is_main)
		return "main";
	if (!group)
		return NULL;
	if (group->n_frames > CS_MAX_ROLE_FRAMES)
		first = group->n_frames - CS_MAX_ROLE_FRAMES;
	for (size_t i = group->n_frames; i-- > first;) {
		const struct cs_frame *f = &group->frames[i];
		const char *role =
			f->function && !f->nearest ? role_of(f->function) : NULL;

		if (role && strcmp(role, "python-thread"))
			return role;
		python = role ? role : python;
	}
	/* A stack without its outer end does not show where the thread began. */
	return python || group->stop != CS_STOP_BOTTOM ? python : role_of_start(group);
}
