/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the rules say of a call, and how often each call was made. */
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "model.h"

/* How often a call was entered: by name, and by name and match. Open addressing, never
 * more than half full. */
struct counter {
	char *call, *match;
	uint64_t count;
};
static struct counter *counters;
static size_t counters_size, counters_used;

static struct rig_rule *rules, **rules_end = &rules;
static char *cues[64];
static size_t cues_used;

static uint64_t hash(const char *call, const char *match)
{
	uint64_t h = UINT64_C(1469598103934665603);

	for (; *call; call++)
		h = (h ^ (unsigned char)*call) * UINT64_C(1099511628211);
	h = (h ^ (match ? 1 : 2)) * UINT64_C(1099511628211);
	for (; match && *match; match++)
		h = (h ^ (unsigned char)*match) * UINT64_C(1099511628211);
	return h ^ h >> 32;
}

static bool same(const struct counter *c, const char *call, const char *match)
{
	if (strcmp(c->call, call) || !c->match != !match)
		return false;
	return !match || !strcmp(c->match, match);
}

/* The counter, or the free place for it. */
static struct counter *find(struct counter *table, size_t table_size, const char *call,
			    const char *match)
{
	for (size_t i = hash(call, match);; i++) {
		struct counter *c = &table[i & (table_size - 1)];

		if (!c->call || same(c, call, match))
			return c;
	}
}

static bool grow(void)
{
	size_t wanted = counters_size ? counters_size * 2 : 256;
	struct counter *table = calloc(wanted, sizeof(*table));

	if (!table)
		return false;
	for (size_t i = 0; i < counters_size; i++)
		if (counters[i].call)
			*find(table, wanted, counters[i].call, counters[i].match) =
				counters[i];
	free(counters);
	counters = table;
	counters_size = wanted;
	return true;
}

static void count(const char *call, const char *match)
{
	struct counter *c;

	if (counters_used * 2 >= counters_size && !grow())
		return; /* out of memory: the call itself will have more to say of it */
	c = find(counters, counters_size, call, match);
	if (!c->call) {
		char *call_copy = strdup(call),
		     *match_copy = match ? strdup(match) : NULL;

		if (!call_copy || (match && !match_copy)) {
			free(call_copy);
			free(match_copy);
			return;
		}
		c->call = call_copy;
		c->match = match_copy;
		counters_used++;
	}
	c->count++;
}

uint64_t rig_calls(const char *call, const char *match)
{
	uint64_t n = 0;

	rig_lock();
	if (counters_size) {
		const struct counter *c = find(counters, counters_size, call, match);

		n = c->call ? c->count : 0;
	}
	rig_unlock();
	return n;
}

static bool cued(const char *name)
{
	for (size_t i = 0; i < cues_used; i++)
		if (!strcmp(cues[i], name))
			return true;
	return false;
}

void rig_cue(const char *name)
{
	rig_lock();
	if (!cued(name)) {
		char *own =
			cues_used < sizeof(cues) / sizeof(cues[0]) ? strdup(name) : NULL;

		if (own)
			cues[cues_used++] = own;
		else
			fprintf(stderr, "rig: cue %s: more than %zu cues\n", name,
				sizeof(cues) / sizeof(cues[0]));
	}
	rig_unlock();
}

static bool rank_is(int rank)
{
	const char *own = getenv("RANK");
	char text[16];

	snprintf(text, sizeof(text), "%d", rank);
	return own && !strcmp(own, text);
}

/* Counts a hit and says whether the rule applies to it. */
static bool applies(struct rig_rule *rule, const char *call, const char *match)
{
	bool now;

	if (strcmp(rule->call, call) ||
	    (rule->match && (!match || fnmatch(rule->match, match, 0))))
		return false;
	if ((rule->device >= 0 && rule->device != rig_device()) ||
	    (rule->rank >= 0 && !rank_is(rule->rank)))
		return false;
	if ((rule->after > 0 && rig_seconds() < rule->after) ||
	    (rule->cue && !cued(rule->cue)))
		return false;
	rule->hits++;
	if (rule->nth)
		now = rule->hits >= rule->nth &&
		      rule->hits - rule->nth < (rule->count ? rule->count : 1);
	else
		now = (!rule->every || rule->hits % rule->every == 0) &&
		      (!rule->count || rule->applied < rule->count);
	rule->applied += now;
	return now;
}

static void pause_for(double length)
{
	struct timespec rest = {.tv_sec = (time_t)length,
				.tv_nsec =
					(long)((length - (double)(time_t)length) * 1e9)};

	while (nanosleep(&rest, &rest))
		;
}

static uint64_t released; /* how often rig_release() was called */

static void hang(void)
{
	uint64_t before = __atomic_load_n(&released, __ATOMIC_ACQUIRE);

	while (__atomic_load_n(&released, __ATOMIC_ACQUIRE) == before)
		pause_for(0.01);
}

struct rig_verdict rig_enter(const char *call, const char *match)
{
	struct rig_verdict verdict = {0};
	double delay = 0;
	int signal = 0;
	bool hangs = false;

	rig_lock();
	count(call, NULL);
	if (match)
		count(call, match);
	for (struct rig_rule *rule = rules; rule; rule = rule->next) {
		if (!applies(rule, call, match))
			continue;
		verdict.error = verdict.error ? verdict.error : rule->error;
		verdict.sticky = verdict.sticky ? verdict.sticky : rule->sticky;
		verdict.text = verdict.text ? verdict.text : rule->text;
		verdict.pending |= rule->pending;
		hangs |= rule->hang;
		delay += rule->delay;
		signal = signal ? signal : rule->signal;
	}
	rig_unlock();
	if (delay > 0)
		pause_for(delay);
	if (signal)
		raise(signal);
	if (hangs)
		hang();
	return verdict;
}

/* What a rule made pending is done after the next release. */
static bool pending_done(void *owner, uint64_t number)
{
	(void)owner;
	return __atomic_load_n(&released, __ATOMIC_ACQUIRE) > number;
}

void rig_release(void)
{
	__atomic_add_fetch(&released, 1, __ATOMIC_ACQ_REL);
}

/* A kernel that fails: the device comes to it when somebody asks how far it is. */
static bool fail(void *owner, uint64_t number)
{
	(void)owner;
	rig_break((int)number);
	return true;
}

void rig_stream_apply(struct rig_stream *stream, const struct rig_verdict *verdict)
{
	if (verdict->pending && verdict->sticky) {
		rig_stream_depend(
			stream, (struct rig_ticket){.done = fail,
						    .number = (uint64_t)verdict->sticky});
		return;
	}
	if (verdict->pending)
		rig_stream_depend(stream, (struct rig_ticket){
						  .done = pending_done,
						  .number = __atomic_load_n(
							  &released, __ATOMIC_ACQUIRE)});
	if (verdict->sticky)
		rig_break(verdict->sticky);
}

void rig_rules_add(struct rig_rule *list)
{
	rig_lock();
	*rules_end = list;
	while (*rules_end)
		rules_end = &(*rules_end)->next;
	rig_unlock();
}

int rig_rule(const char *text)
{
	struct rig_rule *list;
	char *message;

	if (rig_parse("rig_rule", text, NULL, &list, &message)) {
		fprintf(stderr, "rig: %s\n", message);
		free(message);
		return -1;
	}
	rig_rules_add(list);
	return 0;
}

void rig_rules_reset(void)
{
	rig_lock();
	rig_rules_free(rules);
	rules = NULL;
	rules_end = &rules;
	while (cues_used)
		free(cues[--cues_used]);
	for (size_t i = 0; i < counters_size; i++) {
		free(counters[i].call);
		free(counters[i].match);
	}
	free(counters);
	counters = NULL;
	counters_size = counters_used = 0;
	rig_unlock();
}
