/* SPDX-License-Identifier: Apache-2.0 */
/* The .npy writer. */
#include "lab/experiment/npy.h"

#include "base/file.h"
#include "base/text.h"

#include <stdalign.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* The file's type for each of ours; the formats are little-endian, as is every machine this builds for. */
typedef struct npy_type {
    const char *descr;
    dtype stored;
} npy_type;

static const npy_type types[ASSAY_DTYPE_COUNT] = {
    [ASSAY_F16] = {"<f2", ASSAY_F16},  [ASSAY_BF16] = {"<f4", ASSAY_F32},   [ASSAY_F32] = {"<f4", ASSAY_F32},
    [ASSAY_F64] = {"<f8", ASSAY_F64},  [ASSAY_C32] = {"<c8", ASSAY_C64},    [ASSAY_C64] = {"<c8", ASSAY_C64},
    [ASSAY_C128] = {"<c16", ASSAY_C128}, [ASSAY_I8] = {"|i1", ASSAY_I8},    [ASSAY_I16] = {"<i2", ASSAY_I16},
    [ASSAY_I32] = {"<i4", ASSAY_I32},  [ASSAY_I64] = {"<i8", ASSAY_I64},    [ASSAY_U8] = {"|u1", ASSAY_U8},
    [ASSAY_B8] = {"|b1", ASSAY_B8},
};

static void add_header(text *out, const tensor *t, const char *descr) {
    enum { PREFIX_BYTES = 10, ALIGN_BYTES = 64 };
    text header = {0};
    text_addf(&header, "{'descr': '%s', 'fortran_order': False, 'shape': (", descr);
    for (int d = 0; d < t->ndim; d++) {
        text_addf(&header, "%" PRId64 "%s", t->sizes[d], t->ndim == 1 || d + 1 < t->ndim ? "," : "");
    }
    text_add(&header, "), }");
    while ((PREFIX_BYTES + header.length + 1) % ALIGN_BYTES != 0) {
        text_add_char(&header, ' ');
    }
    text_add_char(&header, '\n');
    const char prefix[PREFIX_BYTES] = {'\x93', 'N', 'U', 'M', 'P', 'Y', 1, 0, (char)(header.length & 0xff),
                                       (char)(header.length >> 8)};
    text_add_bytes(out, prefix, sizeof prefix);
    text_add_bytes(out, text_get(&header), header.length);
    out->failed = out->failed || header.failed;
    text_clear(&header);
}

static void add_elements(text *out, const tensor *t, dtype stored) {
    int64_t n = tensor_numel(t);
    size_t size = dtype_size(t->dtype);
    if (tensor_is_contiguous(t) && stored == t->dtype) {
        text_add_bytes(out, tensor_data(t), (size_t)n * size);
        return;
    }
    for (int64_t i = 0; i < n && !out->failed; i++) {
        const char *at = tensor_data(t) + (size_t)tensor_offset_of(t, i) * size;
        alignas(16) char wide[16];
        if (stored == t->dtype) {
            memcpy(wide, at, size);
        } else if (dtype_is_complex(stored)) {
            element_store_complex(stored, wide, element_load_complex(t->dtype, at));
        } else {
            element_store(stored, wide, element_load(t->dtype, at));
        }
        text_add_bytes(out, wide, dtype_size(stored));
    }
}

status npy_write(const char *path, const tensor *t, const char **file_dtype, error *err) {
    if (t->storage == NULL) {
        return fail(err, ASSAY_INVALID, "%s: expected a dense tensor with memory", path);
    }
    text content = {0};
    add_header(&content, t, types[t->dtype].descr);
    add_elements(&content, t, types[t->dtype].stored);
    status result = content.failed ? fail(err, ASSAY_OUT_OF_MEMORY, "%s: no memory to write it", path)
                                   : file_write(path, content.data, content.length, err);
    text_clear(&content);
    if (result == ASSAY_OK && file_dtype != NULL) {
        *file_dtype = dtype_torch_name(types[t->dtype].stored);
    }
    return result;
}
