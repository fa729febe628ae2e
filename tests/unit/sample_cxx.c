/* SPDX-License-Identifier: GPL-3.0-or-later */
/* C++ exceptions as the layers below would make them: one that ended the process, with what others keep. */
#include "sample_analysis.h"

#include "base/util.h"

static const struct cs_frame hook_traceback[] = {
	{.kind = CS_FRAME_PYTHON,
	 .trust = CS_TRUST_RUNTIME,
	 .function = "Scale.backward",
	 .file = "/srv/job/model.py",
	 .line = 31},
};
static const struct cs_exception value_error = {.language = "python",
						.type = "ValueError",
						.message = "bad gradient",
						.state = "stored",
						.frames = hook_traceback,
						.n_frames = CS_COUNT(hook_traceback)};
static const struct cs_exception inner = {.tid = 4242,
					  .language = "c++",
					  .type = "std::system_error",
					  .message = "connect: Connection refused",
					  .code = "generic:111",
					  .state = "stored"};
static const struct cs_exception exceptions[] = {
	{.tid = 4242,
	 .language = "c++",
	 .type = "c10::DistBackendError",
	 .message = "NCCL error: remote process exited or there was a network error\n"
		    "Last error: socket closed",
	 .state = "in-flight",
	 .fatal = true,
	 .backtrace = "Exception raised from checkForNCCLErrorsInternal at ProcessGroupNCCL.cpp:1142\n"
		      "frame #0: c10::Error::Error\nframe #1: c10d::ProcessGroupNCCL::checkForNCCLErrors",
	 .context = &inner},
	{.tid = 4242,
	 .language = "c++",
	 .type = "python_error",
	 .message = "ValueError: bad gradient",
	 .state = "caught",
	 .cause = &value_error},
	{.language = "c++", .state = "stored"},
};

const struct cs_analysis *sample_cxx(void)
{
	static struct cs_analysis analysis;

	analysis = *sample_abort();
	analysis.exceptions = exceptions;
	analysis.n_exceptions = CS_COUNT(exceptions);
	return &analysis;
}
