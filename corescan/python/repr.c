/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A value as repr() would show it. Knows the containers, classes and plain objects; what
 * has a rule by the name of its type is in builtins.c. Refuses to run anything: where a
 * class has a __repr__ of its own, its fields are shown instead.
 *
 * Every answer is bounded: in depth, in items, in bytes, and in entries looked at.
 */
#include "python/repr.h"

#include <string.h>

#define CUT "..."

/* ---- the frame around containers ---- */

static bool is_around(const struct cs_py_repr *r, uint64_t object)
{
	for (size_t i = 0; i + 1 < r->depth; i++)
		if (r->path[i] == object)
			return true;
	return false;
}

bool cs_py_repr_closed(struct cs_py_repr *r, uint64_t object, const char *open,
		       const char *close)
{
	if (r->depth < CS_MAX_PY_DEPTH && !is_around(r, object))
		return false;
	cs_strbuf_printf(&r->out, "%s" CUT "%s", open, close);
	return true;
}

bool cs_py_repr_item(struct cs_py_repr *r, uint64_t i, uint64_t n)
{
	if (r->out.cut)
		return false;
	if (i)
		cs_strbuf_puts(&r->out, ", ");
	if (i < CS_MAX_PY_SHOWN)
		return true;
	cs_strbuf_printf(&r->out, CUT " %llu more", (unsigned long long)(n - i));
	return false;
}

bool cs_py_is_secret(const struct cs_py *py, const char *name, uint64_t object)
{
	static const char *const words[] = {"password", "passwd",     "passphrase",
					    "secret",   "credential", "api_key",
					    "apikey",   "access_key", "private_key",
					    "auth_key", "jwt"};
	bool secret = false;

	/* Numbers and tensors that are called token are what people look for. */
	if (!cs_py_is(py, object, CS_PY_STR) && !cs_py_is(py, object, CS_PY_BYTES))
		return false;
	for (size_t i = 0; i < CS_COUNT(words); i++)
		secret |= strcasestr(name, words[i]) != NULL;
	return secret ||
	       (strcasestr(name, "token") && cs_name_is_secret(name, strlen(name)));
}

void cs_py_repr_named_value(struct cs_py_repr *r, const char *name, uint64_t object)
{
	if (name && cs_py_is_secret(r->py, name, object))
		cs_strbuf_puts(&r->out, "'***'");
	else
		cs_py_repr_value(r, object);
}

void cs_py_repr_items(struct cs_py_repr *r, uint64_t items, uint64_t n, const char *open,
		      const char *close)
{
	cs_strbuf_puts(&r->out, open);
	for (uint64_t i = 0; i < n && cs_py_repr_item(r, i, n); i++)
		cs_py_repr_at(r, cs_py_add(items, i * 8));
	cs_strbuf_puts(&r->out, close);
}

/* ---- tuple, list, dict ---- */

/**
 * True if a class before the builtin one defines __repr__, so that Python shows something
 * of its own; or if that cannot be told.
 */
static bool has_own_repr(const struct cs_py *py, uint64_t type)
{
	struct cs_py_dict_iter it;
	uint64_t base, dict;

	for (uint64_t i = 0; (base = cs_py_type_base(py, type, i)); i++) {
		if (!cs_py_type_has(py, base, CS_PY_HEAPTYPE))
			return !cs_py_is_type(py, base);
		dict = cs_py_get(py, base, py->layout.type_dict);
		if (!dict || !cs_py_dict_begin(py, dict, &it) ||
		    cs_py_dict_get(py, dict, "__repr__"))
			return true;
	}
	return cs_py_type_has(py, type,
			      CS_PY_HEAPTYPE); /* all end in a static type: object */
}

/** "Point(x=1, y=2)" for what collections.namedtuple() made; false: it is no such class.
 */
static bool named_tuple(struct cs_py_repr *r, uint64_t type, uint64_t items, uint64_t n)
{
	const struct cs_py *py = r->py;
	uint64_t fields = cs_py_class_attribute(py, type, "_fields"), names, n_names;
	const char *name;

	if (!fields || !cs_py_items(py, fields, &names, &n_names) || n_names != n)
		return false;
	cs_strbuf_printf(&r->out, "%s(", cs_py_short_name(py, type));
	for (uint64_t i = 0; i < n && cs_py_repr_item(r, i, n); i++) {
		name = cs_py_str(py, cs_py_pointer_at(py, names + i * 8),
				 CS_MAX_PY_INNER_TEXT, NULL);
		cs_strbuf_printf(&r->out, "%s=", name ? name : "?");
		if (name &&
		    cs_py_is_secret(py, name, cs_py_pointer_at(py, items + i * 8)))
			cs_strbuf_puts(&r->out, "'***'");
		else
			cs_py_repr_at(r, items + i * 8);
	}
	cs_strbuf_putc(&r->out, ')');
	return true;
}

static void repr_sequence(struct cs_py_repr *r, uint64_t object, uint64_t type)
{
	bool tuple = cs_py_type_has(r->py, type, CS_PY_TUPLE), wrapped;
	const char *open = tuple ? "(" : "[", *close = tuple ? ")" : "]", *name;
	uint64_t items, n;

	if (cs_py_repr_closed(r, object, open, close))
		return;
	if (!cs_py_items(r->py, object, &items, &n)) {
		cs_strbuf_printf(&r->out, "<unreadable %s>", tuple ? "tuple" : "list");
		return;
	}
	if (tuple && named_tuple(r, type, items, n))
		return;
	if (tuple && cs_py_class_attribute(r->py, type, "n_sequence_fields")) {
		/* os.stat_result and the like: the names of its fields are in its code.
		 */
		name = cs_py_type_full_name(r->py, type);
		cs_strbuf_puts(&r->out, name ? name : "unknown");
		cs_py_repr_items(r, items, n, "(", ")");
		return;
	}
	wrapped = has_own_repr(r->py, type);
	if (wrapped)
		cs_strbuf_printf(&r->out, "%s(", cs_py_short_name(r->py, type));
	cs_py_repr_items(r, items, n, open, tuple && n == 1 ? ",)" : close);
	if (wrapped)
		cs_strbuf_putc(&r->out, ')');
}

/** Take the entries that @it may look at out of what is left. */
static void limit_steps(struct cs_py_repr *r, struct cs_py_dict_iter *it)
{
	if (it->n > r->steps) {
		it->n = r->steps;
		it->cut = true;
	}
}

void cs_py_repr_dict(struct cs_py_repr *r, uint64_t object)
{
	uint64_t key, value, n = 0, used;
	struct cs_py_dict_iter it;

	if (cs_py_repr_closed(r, object, "{", "}"))
		return;
	if (!cs_py_dict_begin(r->py, object, &it)) {
		cs_strbuf_puts(&r->out, "<unreadable dict>");
		return;
	}
	if (!cs_py_u64(r->py, object, r->py->layout.dict_used, &used))
		used = it.n;
	limit_steps(r, &it);
	cs_strbuf_putc(&r->out, '{');
	while (cs_py_dict_next(&it, &key, &value)) {
		if (!cs_py_repr_item(r, n, CS_MAX(used, n + 1)))
			break;
		n++;
		cs_py_repr_value(r, key);
		cs_strbuf_puts(&r->out, ": ");
		cs_py_repr_named_value(
			r, cs_py_str(r->py, key, CS_MAX_PY_INNER_TEXT, NULL), value);
	}
	r->steps -= CS_MIN(r->steps, it.i);
	if (it.cut)
		cs_strbuf_puts(&r->out, n ? ", " CUT : CUT);
	cs_strbuf_putc(&r->out, '}');
}

static void repr_dict(struct cs_py_repr *r, uint64_t object, uint64_t type)
{
	bool wrapped = has_own_repr(r->py, type);

	if (wrapped)
		cs_strbuf_printf(&r->out, "%s(", cs_py_short_name(r->py, type));
	cs_py_repr_dict(r, object);
	if (wrapped)
		cs_strbuf_putc(&r->out, ')');
}

/** Items of a set between braces. */
void cs_py_repr_set(struct cs_py_repr *r, uint64_t object)
{
	struct cs_py_set_iter it;
	uint64_t item, n = 0, used;

	if (cs_py_repr_closed(r, object, "{", "}"))
		return;
	if (!cs_py_set_begin(r->py, object, &it)) {
		cs_strbuf_puts(&r->out, "<unreadable set>");
		return;
	}
	if (!cs_py_u64(r->py, object, r->py->layout.set_used, &used))
		used = it.n;
	it.n = CS_MIN(it.n, r->steps);
	cs_strbuf_putc(&r->out, '{');
	while (cs_py_set_next(&it, &item)) {
		if (!cs_py_repr_item(r, n, CS_MAX(used, n + 1)))
			break;
		n++;
		cs_py_repr_value(r, item);
	}
	r->steps -= CS_MIN(r->steps, it.i);
	cs_strbuf_putc(&r->out, '}');
}

/* ---- classes, exceptions, objects by their fields ---- */

static void repr_type(struct cs_py_repr *r, uint64_t object, uint64_t meta)
{
	const char *name = cs_py_type_full_name(r->py, object);
	bool is_enum = cs_py_type_inherits(r->py, meta, "EnumMeta") ||
		       cs_py_type_inherits(r->py, meta, "EnumType");

	if (!name)
		cs_strbuf_printf(&r->out, "<class at %#llx>", (unsigned long long)object);
	else if (is_enum)
		cs_strbuf_printf(&r->out, "<enum '%s'>", cs_py_short_name(r->py, object));
	else
		cs_strbuf_printf(&r->out, "<class '%s'>", name);
}

static void repr_exception(struct cs_py_repr *r, uint64_t object, uint64_t type)
{
	uint64_t args = cs_py_get(r->py, object, r->py->layout.exception_args), items, n;
	const char *name = cs_py_short_name(r->py, type);

	if (cs_py_repr_closed(r, object, name, ""))
		return;
	cs_strbuf_puts(&r->out, name);
	if (args && cs_py_items(r->py, args, &items, &n))
		cs_py_repr_items(r, items, n, "(",
				 n == 1 && r->py->layout.minor < 7 ? ",)" : ")");
	else
		cs_strbuf_puts(&r->out, "(" CUT ")");
}

void cs_py_repr_plain(struct cs_py_repr *r, uint64_t object, uint64_t type)
{
	const char *name = cs_py_type_full_name(r->py, type);

	cs_strbuf_printf(&r->out, "<%s object at %#llx>", name ? name : "unknown",
			 (unsigned long long)object);
}

/** True for what a dataclass lists, but does not store: ClassVar and InitVar. */
static bool is_pseudo_field(const struct cs_py *py, uint64_t field)
{
	uint64_t kind = cs_py_attribute(py, field, "_field_type");
	uint64_t name = kind ? cs_py_attribute(py, kind, "name") : 0;

	return name && (cs_py_str_is(py, name, "_FIELD_CLASSVAR") ||
			cs_py_str_is(py, name, "_FIELD_INITVAR"));
}

/** "x=1, y=2" of a dataclass, in the order of its fields; those with repr=False are left
 * out. */
static void dataclass(struct cs_py_repr *r, uint64_t object, uint64_t type,
		      uint64_t fields)
{
	const struct cs_py *py = r->py;
	struct cs_py_dict_iter it;
	uint64_t key, field, value, no = cs_py_singleton(py, py->false_object, "False"),
				    n = 0;
	const char *name = cs_py_type_name(py, type), *attribute;
	bool whole = true;

	cs_strbuf_printf(&r->out, "%s(", name ? name : "unknown");
	if (cs_py_dict_begin(py, fields, &it)) {
		limit_steps(r, &it);
		while (!r->out.cut && cs_py_dict_next(&it, &key, &field)) {
			attribute = cs_py_str(py, key, CS_MAX_PY_INNER_TEXT, NULL);
			value = attribute ? cs_py_attribute(py, object, attribute) : 0;
			whole &= attribute && (value || is_pseudo_field(py, field));
			if (!value || (no && cs_py_attribute(py, field, "repr") == no))
				continue;
			cs_strbuf_printf(&r->out, "%s%s=", n++ ? ", " : "", attribute);
			cs_py_repr_named_value(r, attribute, value);
		}
		r->steps -= CS_MIN(r->steps, it.i);
		whole &= !it.cut;
	} else {
		whole = false;
	}
	cs_strbuf_puts(&r->out, whole ? ")" : n ? ", " CUT ")" : CUT ")");
}

static bool put_field(struct cs_py_repr *r, uint64_t key, uint64_t value, uint64_t *n)
{
	const char *name = cs_py_str(r->py, key, CS_MAX_PY_INNER_TEXT, NULL);

	if (r->out.cut)
		return false;
	if (*n >= CS_MAX_PY_SHOWN) {
		cs_strbuf_puts(&r->out, " " CUT);
		return false;
	}
	cs_strbuf_printf(&r->out, " %s=", name ? name : "?");
	cs_py_repr_named_value(r, name, value);
	++*n;
	return true;
}

/** " p=1 q=2" of the __slots__ of one class; false if there may be more than could be
 * read. */
static bool put_slots(struct cs_py_repr *r, uint64_t object, uint64_t base, uint64_t *n)
{
	const struct cs_py *py = r->py;
	uint64_t dict = cs_py_get(py, base, py->layout.type_dict), key, value, at;
	struct cs_py_dict_iter it;
	bool whole = true;

	if (!dict || !cs_py_dict_begin(py, dict, &it))
		return false;
	limit_steps(r, &it);
	while (cs_py_dict_next(&it, &key, &value)) {
		whole &= cs_py_type(py, value) != 0;
		at = cs_py_slot(py, object, base, value);
		if (!at)
			continue;
		if (!cs_py_pointer(py, at, 0, &value))
			whole = false;
		else if (value && !put_field(r, key, value, n))
			break;
	}
	r->steps -= CS_MIN(r->steps, it.i);
	return whole && !it.cut;
}

/** " a=1 b=2": what is in its __dict__, then in its __slots__; the number of them. */
static uint64_t put_fields(struct cs_py_repr *r, uint64_t object, uint64_t type)
{
	const struct cs_py *py = r->py;
	bool whole = !cs_py_attributes_lost(py, object);
	uint64_t key, value, base, n = 0;
	struct cs_py_dict_iter it;

	if (cs_py_attributes_begin(py, object, &it)) {
		limit_steps(r, &it);
		while (cs_py_dict_next(&it, &key, &value) && put_field(r, key, value, &n))
			;
		r->steps -= CS_MIN(r->steps, it.i);
		whole &= !it.cut;
	}
	for (uint64_t i = 0; (base = cs_py_type_base(py, type, i)) && n < CS_MAX_PY_SHOWN;
	     i++)
		if (cs_py_type_has(py, base, CS_PY_HEAPTYPE))
			whole &= put_slots(r, object, base, &n);
	if (!whole && n < CS_MAX_PY_SHOWN)
		cs_strbuf_puts(&r->out, " " CUT);
	return n;
}

static void repr_object(struct cs_py_repr *r, uint64_t object, uint64_t type)
{
	uint64_t fields = cs_py_class_attribute(r->py, type, "__dataclass_fields__");
	const char *name = cs_py_type_full_name(r->py, type);
	size_t before;

	if (!name || r->depth >= CS_MAX_PY_DEPTH || r->objects >= CS_MAX_PY_OBJECTS ||
	    is_around(r, object)) {
		cs_py_repr_plain(r, object, type);
		return;
	}
	r->objects++;
	if (fields) {
		dataclass(r, object, type, fields);
	} else {
		before = r->out.len;
		cs_strbuf_printf(&r->out, "<%s",
				 strncmp(name, "__main__.", 9) == 0 ? name + 9 : name);
		if (put_fields(r, object, type)) {
			cs_strbuf_putc(&r->out, '>');
		} else if (!r->out.cut) {
			cs_strbuf_truncate(&r->out, before);
			cs_py_repr_plain(r, object, type);
		}
	}
	r->objects--;
}

/* ---- dispatch ---- */

/** The few objects of which there is only one each. */
static const char *singleton(const struct cs_py *py, uint64_t object)
{
	if (cs_py_is_none(py, object))
		return "None";
	if (object == cs_py_singleton(py, py->true_object, "True"))
		return "True";
	if (object == cs_py_singleton(py, py->false_object, "False"))
		return "False";
	return NULL;
}

static void repr_by_type(struct cs_py_repr *r, uint64_t object, uint64_t type)
{
	const struct cs_py *py = r->py;
	uint64_t data, len;

	if (cs_py_repr_named(r, object, type))
		return;
	if (cs_py_type_has(py, type, CS_PY_STR))
		cs_py_repr_str(r, object);
	else if (cs_py_type_has(py, type, CS_PY_INT))
		cs_py_repr_int(r, object);
	else if (cs_py_type_has(py, type, CS_PY_TUPLE) ||
		 cs_py_type_has(py, type, CS_PY_LIST))
		repr_sequence(r, object, type);
	else if (cs_py_type_has(py, type, CS_PY_DICT))
		repr_dict(r, object, type);
	else if (cs_py_type_has(py, type, CS_PY_TYPE))
		repr_type(r, object, type);
	else if (cs_py_type_has(py, type, CS_PY_EXCEPTION))
		repr_exception(r, object, type);
	else if (cs_py_bytes(py, object, &data, &len))
		cs_py_repr_bytes(r, data, len);
	else
		repr_object(r, object, type);
}

void cs_py_repr_value(struct cs_py_repr *r, uint64_t object)
{
	uint64_t type = cs_py_type(r->py, object);
	const char *text;

	if (r->out.cut)
		return;
	if (!type) {
		if (object)
			cs_strbuf_printf(&r->out, "<unreadable object at %#llx>",
					 (unsigned long long)object);
		else
			cs_strbuf_puts(&r->out, "<NULL>");
		return;
	}
	text = singleton(r->py, object);
	if (text || r->depth >= CS_MAX_PY_DEPTH) {
		cs_strbuf_puts(&r->out, text ? text : CUT);
		return;
	}
	r->path[r->depth++] = object;
	repr_by_type(r, object, type);
	r->depth--;
}

void cs_py_repr_at(struct cs_py_repr *r, uint64_t address)
{
	uint64_t object;

	if (cs_py_u64(r->py, address, 0, &object))
		cs_py_repr_value(r, object);
	else
		cs_strbuf_puts(&r->out, "<unreadable>");
}

void cs_py_repr(const struct cs_py *py, uint64_t object, struct cs_strbuf *out)
{
	struct cs_py_repr r = {.py = py, .steps = CS_MAX_PY_ITEMS};

	cs_strbuf_init(&r.out, CS_MAX_PY_REPR - strlen(CUT));
	cs_py_repr_value(&r, object);
	cs_strbuf_puts(out, cs_strbuf_text(&r.out));
	if (r.out.cut)
		cs_strbuf_puts(out, CUT);
	cs_strbuf_deinit(&r.out);
}
