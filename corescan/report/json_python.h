/* SPDX-License-Identifier: GPL-3.0-or-later */
/** What the interpreter knows, as JSON. */
#ifndef CS_REPORT_JSON_PYTHON_H
#define CS_REPORT_JSON_PYTHON_H

#include "corescan/analysis.h"
#include "report/json_build.h"

/** The member "python" of a thread; null for NULL. */
json_t *cs_json_python_thread(struct cs_json *j, const struct cs_python_thread *p);
/** Set "python" of the runtimes @o to the first one, "pythons" to all where there are
 * more. */
void cs_json_set_pythons(struct cs_json *j, json_t *o, const struct cs_python *python);
/** The member "exception" of the report. */
void cs_json_exceptions(struct cs_json *j, const struct cs_analysis *a);
/** The member "python" of the report: tasks and greenlets. */
void cs_json_python(struct cs_json *j, const struct cs_analysis *a);

#endif
