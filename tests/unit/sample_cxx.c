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

static const struct cs_evidence evidence[] = {
	{.tid = 4242, .frame = -1, .text = "NCCL error: remote process exited or there was a network error"},
	{.tid = 4242, .frame = 4, .text = "check_depth (libtrain.so)"},
	{.frame = -1, .text = "Last error: socket closed"},
	{.tid = 4242, .frame = 5, .text = "parse_value (libtrain.so)"},
};
static const char *const steps[] = {"Find the rank that ended first.", "Look at its report.",
				    "Rerun with NCCL_DEBUG=WARN and read the first line with \"NCCL WARN\".",
				    "Check the network.", "Raise the time-out."};
static const char *const references[] = {"owner/repository#1", "owner/repository#2", "owner/repository#3",
					 "owner/repository#4"};
static const struct cs_finding findings[] = {
	{.id = "nccl-remote-error",
	 .category = "nccl-transport",
	 .title = "A peer went away",
	 .confidence = CS_CONFIDENCE_CERTAIN,
	 .explanation = "Another rank ended first, and the connection to it broke. "
			"This rank is only a witness.",
	 .steps = steps,
	 .n_steps = CS_COUNT(steps),
	 .evidence = evidence,
	 .n_evidence = CS_COUNT(evidence),
	 .references = references,
	 .n_references = CS_COUNT(references)},
	{.id = "cxx-uncaught",
	 .category = "c++",
	 .title = "A C++ exception was not caught",
	 .confidence = CS_CONFIDENCE_POSSIBLE,
	 .explanation = "Nothing catches it."},
};

const struct cs_analysis *sample_cxx(void)
{
	static struct cs_analysis analysis;

	analysis = *sample_abort();
	analysis.exceptions = exceptions;
	analysis.n_exceptions = CS_COUNT(exceptions);
	analysis.findings = findings;
	analysis.n_findings = CS_COUNT(findings);
	analysis.n_signatures = 189;
	return &analysis;
}
