/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A fingerprint as JSON. Knows the model; refuses to know how it was made. */
#include "report/json_fingerprint.h"

#include "report/report.h"

static json_t *frame_json(struct cs_json *j, const struct cs_print_frame *f)
{
	json_t *o = json_object();

	cs_json_set_int(j, o, "frame", f->frame, f->frame >= 0);
	cs_json_set_text(j, o, "text", f->text);
	cs_json_set(j, o, "part", json_string(cs_print_part_name(f->part)));
	return o;
}

json_t *cs_json_fingerprint(struct cs_json *j, const struct cs_fingerprint *fingerprint)
{
	json_t *o, *frames;

	if (!fingerprint->algorithm)
		return json_null();
	o = json_object();
	frames = json_array();
	for (size_t i = 0; i < fingerprint->n_frames; i++)
		cs_json_append(j, frames, frame_json(j, &fingerprint->frames[i]));
	cs_json_set_int(j, o, "algorithm", fingerprint->algorithm, true);
	cs_json_set_text(j, o, "short", fingerprint->short_form);
	cs_json_set_text(j, o, "long", fingerprint->long_form);
	cs_json_set_text(j, o, "text", fingerprint->text);
	cs_json_set_int(j, o, "tid", fingerprint->tid, fingerprint->tid > 0);
	cs_json_set(j, o, "frames", frames);
	return o;
}
