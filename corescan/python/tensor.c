/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * torch.Tensor, torch.dtype, torch.device. Knows c10::TensorImpl and what hangs off it;
 * refuses the elements of a tensor, which may lie on a GPU.
 *
 * PyTorch moved these fields between releases, so they are found from what is certain:
 * the TensorImpl holds the address of its Python object, and the fields behind that have
 * kept their order since 1.9 (pytorch: c10/core/TensorImpl.h,
 * c10/core/impl/PyObjectSlot.h, c10/core/impl/SizesAndStrides.h).
 */
#include "python/repr.h"

#include <stdio.h>
#include <string.h>

#define MAX_DIMENSIONS                                                                   \
	64 /* TensorIterator takes no more (pytorch: aten/src/ATen/TensorIterator.h) */
#define INLINE_DIMENSIONS 5 /* C10_SIZES_AND_STRIDES_MAX_INLINE_SIZE */

/** c10::ScalarType by number (pytorch: torch/headeronly/core/ScalarType.h). */
static const struct {
	const char *name;
	unsigned bytes;
} dtypes[] = {
	{"uint8", 1},
	{"int8", 1},
	{"int16", 2},
	{"int32", 4},
	{"int64", 8},
	{"float16", 2},
	{"float32", 4},
	{"float64", 8},
	{"complex32", 4},
	{"complex64", 8},
	{"complex128", 16},
	{"bool", 1},
	{"qint8", 1},
	{"quint8", 1},
	{"qint32", 4},
	{"bfloat16", 2},
	{"quint4x2", 1},
	{"quint2x4", 1},
	{"bits1x8", 1},
	{"bits2x4", 1},
	{"bits4x2", 1},
	{"bits8", 1},
	{"bits16", 2},
	{"float8_e5m2", 1},
	{"float8_e4m3fn", 1},
	{"float8_e5m2fnuz", 1},
	{"float8_e4m3fnuz", 1},
	{"uint16", 2},
	{"uint32", 4},
	{"uint64", 8},
	{"uint1", 1},
	{"uint2", 1},
	{"uint3", 1},
	{"uint4", 1},
	{"uint5", 1},
	{"uint6", 1},
	{"uint7", 1},
	{"int1", 1},
	{"int2", 1},
	{"int3", 1},
	{"int4", 1},
	{"int5", 1},
	{"int6", 1},
	{"int7", 1},
	{"float8_e8m0fnu", 1},
	{"float4_e2m1fn_x2", 1},
};

/** c10::DeviceType by number (pytorch: torch/headeronly/core/DeviceType.h). */
static const char *const devices[] = {
	"cpu",  "cuda", "mkldnn", "opengl", "opencl", "ideep", "hip",
	"fpga", "maia", "xla",    "vulkan", "metal",  "xpu",   "mps",
	"meta", "hpu",  "ve",     "lazy",   "ipu",    "mtia",  "privateuseone",
};

/** A TensorImpl, as far as it could be read. */
struct tensor {
	uint64_t impl;
	uint64_t counts; /* bytes of the vtable pointer and the reference counts */
	uint64_t slot;   /* offset of the pointer to the Python object */
	uint64_t n;      /* dimensions */
	int64_t sizes[MAX_DIMENSIONS];
	bool has_sizes;
	uint16_t type;
	uint8_t device[2]; /* type, index (0xff: none) */
	bool has_device;
};

static bool word(const struct cs_py *py, uint64_t object, uint64_t at, uint64_t *ret)
{
	return cs_py_u64(py, cs_py_add(object, at), 0, ret);
}

/**
 * The TensorImpl of the Python object: behind the header, as c10::MaybeOwned (a flag,
 * then the pointer) from 1.10 to 2.9, as at::Tensor (the pointer alone) before and after
 * (pytorch: python_variable.h).
 */
static uint64_t tensor_impl(const struct cs_py *py, uint64_t object)
{
	uint64_t header = (uint64_t)CS_MAX(py->layout.object_size, 0), first, second;

	if (!word(py, object, header, &first) || !word(py, object, header + 8, &second))
		return 0;
	if (first > 0xff)
		return first % 8 ? 0 : first;
	return second % 8 ? 0 : second;
}

/** Where the TensorImpl names its Python object; the lowest bit is a mark in some
 * releases. */
static bool find_slot(const struct cs_py *py, uint64_t object, struct tensor *t)
{
	uint64_t w;

	for (uint64_t at = 40; at <= 88; at += 8) {
		if (word(py, t->impl, at, &w) && (w & ~1UL) == object) {
			t->slot = at;
			return true;
		}
	}
	return false;
}

static void read_sizes(const struct cs_py *py, struct tensor *t)
{
	uint64_t at = t->slot + 16, out = 0, v, numel, product = 1;

	if (!word(py, t->impl, t->slot + 8, &t->n) || t->n > MAX_DIMENSIONS ||
	    !word(py, t->impl, t->slot + 104, &numel))
		return;
	if (t->n > INLINE_DIMENSIONS && (!word(py, t->impl, at, &out) || !out))
		return;
	for (uint64_t i = 0; i < t->n; i++) {
		if (out ? !word(py, out, i * 8, &v) : !word(py, t->impl, at + i * 8, &v))
			return;
		t->sizes[i] = (int64_t)v;
		product *= v;
	}
	t->has_sizes = product == numel; /* symbolic sizes are elsewhere */
}

/**
 * The device: of an optional<Device>, three bytes. c10's own optional has its flag in
 * front, std::optional (2.3 and later) behind; where both readings are possible the flag
 * is behind, as no CPU has a number.
 */
static void read_device(const struct cs_py *py, struct tensor *t)
{
	uint8_t b[3];
	size_t first = 0;

	if (!cs_py_read(py, t->impl + t->slot + 114, b, sizeof(b)))
		return;
	if (b[2] != 1) {
		if (b[0] != 1)
			return;
		first = 1;
	}
	t->device[0] = b[first];
	t->device[1] = b[first + 1];
	t->has_device = t->device[0] < CS_COUNT(devices);
}

static bool tensor_read(const struct cs_py *py, uint64_t object, struct tensor *t)
{
	uint8_t type[2];
	uint64_t w;

	t->impl = tensor_impl(py, object);
	/* Both counts are in one word from 2.10 on, the weak one above: it is never 0. */
	if (!t->impl || t->impl > UINT64_MAX - 512 || !word(py, t->impl, 8, &w) ||
	    !find_slot(py, object, t) ||
	    !cs_py_read(py, t->impl + t->slot + 112, type, sizeof(type)))
		return false;
	t->counts = w >> 32 ? 16 : 24;
	t->type = (uint16_t)(type[0] | type[1] << 8);
	read_sizes(py, t);
	read_device(py, t);
	return true;
}

/** The address of the first element; false: it has no storage, or it is not readable. */
static bool data_pointer(const struct cs_py *py, const struct tensor *t, uint64_t *ret)
{
	uint64_t storage, data, offset;

	if (!word(py, t->impl, t->counts, &storage) || !storage || storage % 8 ||
	    !word(py, storage, t->counts, &data) ||
	    !word(py, t->impl, t->slot + 96, &offset) || t->type >= CS_COUNT(dtypes))
		return false;
	*ret = data ? data + offset * dtypes[t->type].bytes : 0;
	return true;
}

/** 213 of torch 2.13; 0: not known. */
static unsigned torch_version(const struct cs_py *py)
{
	uint64_t dict = cs_py_module_dict(py, py->first_interp, "torch"), text;
	const char *version;
	unsigned major, minor;

	text = dict ? cs_py_dict_get(py, dict, "__version__") : 0;
	version = text ? cs_py_str(py, text, 64, NULL) : NULL;
	if (!version || sscanf(version, "%2u.%2u", &major, &minor) != 2)
		return 0;
	return major * 100 + minor;
}

/**
 * Offset of requires_grad_ in torch::autograd::AutogradMeta, from grad_ at @at on: grad_,
 * grad_fn_ and grad_accumulator_ (two words each before 2.13), fw_grad_, hooks_,
 * cpp_hooks_list_, and from 2.1 on post_acc_grad_hooks_ (pytorch:
 * torch/csrc/autograd/variable.h).
 */
static uint64_t flag_offset(unsigned version, uint64_t at)
{
	return at + 8 + (version >= 213 ? 2 : 4) * 8 + 16 + 24 + 16 +
	       (version >= 201 ? 8 : 0);
}

static const char *requires_grad(const struct cs_py *py, const struct tensor *t)
{
	unsigned version = torch_version(py);
	uint64_t meta, name, grad_fn, at;
	uint8_t flag;

	if (!word(py, t->impl, t->counts + 8, &meta))
		return NULL;
	if (!meta)
		return "False";
	if (meta % 8 || !word(py, meta, 8, &name))
		return NULL;
	/* name_ is an std::string of 32 bytes that points into itself, or one of 8 before
	 * C++11. */
	at = name == meta + 24 ? 40 : 16;
	if (!word(py, meta, at + 8, &grad_fn))
		return NULL;
	if (grad_fn)
		return "True";
	if (!version ||
	    !cs_py_u8(py, cs_py_add(meta, flag_offset(version, at)), 0, &flag) ||
	    flag > 1)
		return NULL;
	return flag ? "True" : "False";
}

static void put_device(struct cs_strbuf *out, const uint8_t device[2])
{
	cs_strbuf_puts(out, devices[device[0]]);
	if (device[1] < 0x80)
		cs_strbuf_printf(out, ":%u", device[1]);
}

bool cs_py_repr_tensor(struct cs_py_repr *r, uint64_t object, uint64_t type)
{
	const char *name = cs_py_type_full_name(r->py, type), *grad;
	struct tensor t = {0};
	uint64_t data;

	if (!tensor_read(r->py, object, &t))
		return false;
	cs_strbuf_printf(&r->out, "<%s", name ? name : "torch.Tensor");
	if (t.has_sizes) {
		cs_strbuf_puts(&r->out, " shape=(");
		for (uint64_t i = 0; i < t.n; i++)
			cs_strbuf_printf(&r->out, "%s%lld", i ? ", " : "",
					 (long long)t.sizes[i]);
		cs_strbuf_puts(&r->out, t.n == 1 ? ",)" : ")");
	}
	if (t.type < CS_COUNT(dtypes))
		cs_strbuf_printf(&r->out, " dtype=torch.%s", dtypes[t.type].name);
	if (t.has_device) {
		cs_strbuf_puts(&r->out, " device=");
		put_device(&r->out, t.device);
	}
	if (data_pointer(r->py, &t, &data))
		cs_strbuf_printf(&r->out, " data=%#llx", (unsigned long long)data);
	grad = requires_grad(r->py, &t);
	if (grad)
		cs_strbuf_printf(&r->out, " requires_grad=%s", grad);
	cs_strbuf_putc(&r->out, '>');
	return true;
}

bool cs_py_repr_torch_size(struct cs_py_repr *r, uint64_t object, uint64_t type)
{
	uint64_t items, n;

	(void)type;
	if (!cs_py_items(r->py, object, &items, &n))
		return false;
	cs_py_repr_items(r, items, n, "torch.Size([", "])");
	return true;
}

bool cs_py_repr_torch_dtype(struct cs_py_repr *r, uint64_t object, uint64_t type)
{
	uint64_t at = cs_py_add(object, (uint64_t)CS_MAX(r->py->layout.object_size, 0));
	char name[64];

	(void)type;
	/* THPDtype: the ScalarType in one byte, then its name (pytorch:
	 * torch/csrc/Dtype.h). */
	if (!at || !cs_py_c_string(r->py, at + 1, name, sizeof(name)))
		return false;
	cs_strbuf_printf(&r->out, "torch.%s", name);
	return true;
}

bool cs_py_repr_torch_device(struct cs_py_repr *r, uint64_t object, uint64_t type)
{
	uint64_t at = cs_py_add(object, (uint64_t)CS_MAX(r->py->layout.object_size, 0));
	uint8_t device[2];

	(void)type;
	if (!at || !cs_py_read(r->py, at, device, sizeof(device)) ||
	    device[0] >= CS_COUNT(devices))
		return false;
	cs_strbuf_printf(&r->out, "device(type='%s'", devices[device[0]]);
	if (device[1] < 0x80)
		cs_strbuf_printf(&r->out, ", index=%u", device[1]);
	cs_strbuf_putc(&r->out, ')');
	return true;
}
