/* SPDX-License-Identifier: GPL-3.0-or-later */
/** Analyses built by hand, for tests of the reports: static, never freed. */
#ifndef TESTS_UNIT_SAMPLE_ANALYSIS_H
#define TESTS_UNIT_SAMPLE_ANALYSIS_H

#include "corescan/analysis.h"

/** A crash in a worker thread that uses every field of the model and every kind of frame.
 */
const struct cs_analysis *sample_crash(void);
/** abort() in a recursion of 80,000 frames: the machinery above the one to blame, folded
 * frames. */
const struct cs_analysis *sample_abort(void);
/** A gcore of a running process of which little is known: absent fields, eight stacks, a
 * cut-off file. */
const struct cs_analysis *sample_running(void);
/**
 * A Python process: a crash below ctypes, threads at the GIL, a chain of exceptions, tasks,
 * greenlets, two runtimes.
 */
const struct cs_analysis *sample_python(void);
/** sample_abort() with C++ exceptions: one that ended it, one that carries a Python one, one unread. */
const struct cs_analysis *sample_cxx(void);
/** Terminal escapes, invalid UTF-8, bidirectional overrides and newlines in every text.
 */
const struct cs_analysis *sample_hostile(void);
/** @n threads that share one stack of 20 frames. The caller frees it with free(). */
struct cs_analysis *sample_parked(size_t n);

#endif
