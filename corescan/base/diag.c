/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The list of diagnostics of one analysis. Knows how many are kept and that their text is valid UTF-8;
 * refuses to know what a diagnostic is about.
 */
#include "base/diag.h"

#include "base/limits.h"
#include "base/text.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static void diag_add(struct cs_diags *diags, struct cs_diagnostic d, const char *text)
{
	d.text = cs_text_utf8(diags->arena, text, strlen(text));
	if (!d.text || !cs_ok(CS_PUSH(&diags->list, d, CS_MAX_DIAGNOSTICS, "diagnostics")))
		diags->dropped++;
}

void cs_diag(struct cs_diags *diags, enum cs_severity severity, const char *layer,
	     const char *code, int32_t tid, const char *fmt, ...)
{
	char text[2048];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	diag_add(diags,
		 (struct cs_diagnostic){
			 .severity = severity, .layer = layer, .code = code, .tid = tid},
		 text);
}

void cs_diag_error(struct cs_diags *diags, enum cs_severity severity, const char *layer,
		   const char *code, int32_t tid, struct cs_error *err)
{
	if (!err)
		return;
	diag_add(diags,
		 (struct cs_diagnostic){
			 .severity = severity, .layer = layer, .code = code, .tid = tid},
		 cs_error_message(err));
	cs_error_destroy(err);
}
