/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Objects of extension modules of the standard library: locks, and the types of datetime.
 * Knows the words behind their headers, which few versions have changed; refuses what
 * needs their code, like time zones.
 */
#include "python/repr.h"

#include <endian.h>

static int32_t behind(const struct cs_py_repr *r, int32_t bytes)
{
	return r->py->layout.object_size < 0 ? CS_ABSENT
					     : r->py->layout.object_size + bytes;
}

/* ---- locks (cpython: Modules/_threadmodule.c) ---- */

/**
 * Bytes behind the header: the structures have changed within 3.13. A lock was a handle,
 * weak references and a flag, and became a PyMutex alone; an RLock was handle, owner,
 * count and weak references, and became a PyMutex with owner and the count less one.
 */
static uint64_t words_behind(const struct cs_py_repr *r, uint64_t type)
{
	uint64_t basic, item, header = (uint64_t)CS_MAX(r->py->layout.object_size, 0);

	return cs_py_type_size(r->py, type, &basic, &item) && basic > header
		       ? (basic - header) / 8
		       : 0;
}

bool cs_py_repr_lock(struct cs_py_repr *r, uint64_t object, uint64_t type)
{
	const char *name = cs_py_type_full_name(r->py, type);
	uint64_t words = words_behind(r, type);
	uint8_t locked;

	if (!words || !cs_py_u8(r->py, object, behind(r, words == 1 ? 0 : 16), &locked))
		return false;
	cs_strbuf_printf(&r->out, "<%s %s object at %#llx>",
			 locked & 1 ? "locked" : "unlocked", name ? name : "_thread.lock",
			 (unsigned long long)object);
	return true;
}

bool cs_py_repr_rlock(struct cs_py_repr *r, uint64_t object, uint64_t type)
{
	const char *name = cs_py_type_full_name(r->py, type);
	uint64_t owner, count, words = words_behind(r, type);

	if (!words || !cs_py_u64(r->py, object, behind(r, 8), &owner) ||
	    !cs_py_u64(r->py, object, behind(r, 16), &count))
		return false;
	if (words == 3)
		count = owner ? count + 1 : 0;
	cs_strbuf_printf(&r->out, "<%s %s object owner=%llu count=%llu at %#llx>",
			 count ? "locked" : "unlocked", name ? name : "_thread.RLock",
			 (unsigned long long)owner, (unsigned long long)count,
			 (unsigned long long)object);
	return true;
}

/* ---- datetime (cpython: Include/datetime.h): a hash, a flag, then packed bytes ---- */

static bool packed(struct cs_py_repr *r, uint64_t object, uint8_t *bytes, size_t n)
{
	return cs_py_read(r->py, cs_py_add(object, (uint64_t)CS_MAX(behind(r, 9), 0)),
			  bytes, n);
}

static void put_date(struct cs_py_repr *r, const uint8_t *p)
{
	cs_strbuf_printf(&r->out, "%u, %u, %u", p[0] << 8 | p[1], p[2], p[3]);
}

/** ", tzinfo=..." if there is one at offset @at, and the closing bracket. */
static void put_zone(struct cs_py_repr *r, uint64_t object, int32_t at)
{
	uint8_t has = 0;

	if (cs_py_u8(r->py, object, behind(r, 8), &has) && has) {
		cs_strbuf_puts(&r->out, ", tzinfo=");
		cs_py_repr_value(r, cs_py_get(r->py, object, behind(r, at)));
	}
	cs_strbuf_putc(&r->out, ')');
}

/** "3, 4", "3, 4, 5", "3, 4, 5, 6": what is zero at the end is left out. */
static void put_time(struct cs_py_repr *r, const uint8_t *p)
{
	unsigned us = (unsigned)p[3] << 16 | (unsigned)p[4] << 8 | p[5];

	cs_strbuf_printf(&r->out, "%u, %u", p[0], p[1]);
	if (p[2] || us)
		cs_strbuf_printf(&r->out, ", %u", p[2]);
	if (us)
		cs_strbuf_printf(&r->out, ", %u", us);
}

bool cs_py_repr_date(struct cs_py_repr *r, uint64_t object, uint64_t type)
{
	uint8_t p[4];

	if (!packed(r, object, p, sizeof(p)))
		return false;
	cs_strbuf_printf(&r->out, "datetime.%s(", cs_py_short_name(r->py, type));
	put_date(r, p);
	cs_strbuf_putc(&r->out, ')');
	return true;
}

bool cs_py_repr_datetime(struct cs_py_repr *r, uint64_t object, uint64_t type)
{
	uint8_t p[10];

	if (!packed(r, object, p, sizeof(p)))
		return false;
	cs_strbuf_printf(&r->out, "datetime.%s(", cs_py_short_name(r->py, type));
	put_date(r, p);
	cs_strbuf_puts(&r->out, ", ");
	put_time(r, p + 4);
	put_zone(r, object, 24);
	return true;
}

bool cs_py_repr_time(struct cs_py_repr *r, uint64_t object, uint64_t type)
{
	uint8_t p[6];

	if (!packed(r, object, p, sizeof(p)))
		return false;
	cs_strbuf_printf(&r->out, "datetime.%s(", cs_py_short_name(r->py, type));
	put_time(r, p);
	put_zone(r, object, 16);
	return true;
}

bool cs_py_repr_timedelta(struct cs_py_repr *r, uint64_t object, uint64_t type)
{
	static const char *const names[] = {"days", "seconds", "microseconds"};
	uint32_t v[3];
	size_t n = 0;

	for (size_t i = 0; i < 3; i++)
		if (!cs_py_u32(r->py, object, behind(r, 8 + (int32_t)i * 4), &v[i]))
			return false;
	cs_strbuf_printf(&r->out, "datetime.%s(", cs_py_short_name(r->py, type));
	for (size_t i = 0; i < 3; i++)
		if (v[i])
			cs_strbuf_printf(&r->out, "%s%s=%d", n++ ? ", " : "", names[i],
					 (int)v[i]);
	cs_strbuf_puts(&r->out, n ? ")" : "0)");
	return true;
}
