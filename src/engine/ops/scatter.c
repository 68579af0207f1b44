/* SPDX-License-Identifier: Apache-2.0 */
/* Writing along one dimension at places that a tensor of indices names: index_add, scatter, scatter_add. */
#include "engine/ops/parts.h"
#include "engine/ops/rows.h"
#include "engine/ops/scatter.h"
#include "engine/schema/fill.h"
#include "engine/schema/indexing.h"
#include "engine/schema/reference.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

scatter_links *scatter_links_make(ref_ctx *ctx, int64_t n_places, int64_t n_sources) {
    scatter_links *l = ref_make(ctx, 1, sizeof *l);
    int64_t *head = ref_make(ctx, (size_t)n_places, sizeof *head);
    int64_t *next = ref_make(ctx, (size_t)n_sources, sizeof *next);
    if (l == NULL || head == NULL || next == NULL) {
        return NULL;
    }
    memset(head, 0xFF, (size_t)n_places * sizeof *head);
    *l = (scatter_links){.head = head, .next = next};
    return l;
}

void scatter_links_add(scatter_links *l, int64_t place, int64_t source) {
    if (place < 0) {
        l->failed = true;
        return;
    }
    l->next[source] = l->head[place];
    l->head[place] = source;
}

double scatter_stored(const ref_ctx *ctx, double sum) {
    bool is_whole = dtype_category_of(ctx->out->items[0].dtype) < CATEGORY_FLOATING;
    return is_whole ? ref_wrapped(ctx, 0, (uint64_t)(int64_t)sum) : sum;
}

int scatter_width(const ref_ctx *ctx) {
    return dtype_is_complex(ctx->out->items[0].dtype) ? 2 : 1;
}

double scatter_load(double n_sources, double n_places) {
    double mean = n_sources / (n_places > 0 ? n_places : 1);
    double most = 4 * mean + 16;
    return most < n_sources ? most : n_sources > 1 ? n_sources : 1;
}

void scatter_destination_cost(const op_call *call, const outputs *out, double written, bool adds, op_cost *cost) {
    if (call->op->in_place) {
        op_cost_reads(call, 0, adds ? written : 0, cost);
        cost->bytes -= fmax(tensor_bytes(&out->items[0]) - written, 0);
    }
}

status scatter_same_type(const op_call *call, const tensor *self, const tensor *values, error *err) {
    if (self->dtype == values->dtype) {
        return ASSAY_OK;
    }
    return fail(err, ASSAY_INVALID, "%s: expected values of self's type %s, got %s", call->op->signature.full,
                assay_dtype_name(self->dtype), assay_dtype_name(values->dtype));
}

/* --- along one dimension: index_add(self, dim, index, source, alpha) -------------------------------------------------------- */

static status check_index_add(const op_call *call, int dim, error *err) {
    const tensor *self = call_tensor(call, 0), *index = call_tensor(call, 2), *source = call_tensor(call, 3);
    TRY(index_check_type(call, index, err));
    TRY(scatter_same_type(call, self, source, err));
    bool fits = source->ndim == self->ndim && index->ndim <= 1;
    for (int d = 0; fits && d < self->ndim; d++) {
        fits = source->sizes[d] == (d == dim ? tensor_numel(index) : self->sizes[d]);
    }
    if (!fits || (self->ndim == 0 && tensor_numel(index) != 1)) {
        char has[TENSOR_TEXT_BYTES], given[TENSOR_TEXT_BYTES];
        return fail(err, ASSAY_INVALID, "%s: expected a source like %.120s with %" PRId64 " in dimension %d, got %.120s",
                    call->op->signature.full, tensor_describe(has, self), tensor_numel(index), dim,
                    tensor_describe(given, source));
    }
    return self->ndim == 1 && self->sizes[0] == 0 && tensor_numel(index) > 0 /* of rows of no elements none is out of range */
               ? fail(err, ASSAY_INVALID, "%s: an index is out of bounds for dimension 0 of size 0", call->op->signature.full)
               : ASSAY_OK;
}

static status push_contiguous(outputs *out, const tensor *self, error *err) {
    tensor *t = outputs_push(out);
    return t != NULL ? tensor_init(t, self->dtype, self->ndim, self->sizes, err)
                     : fail(err, ASSAY_OUT_OF_MEMORY, "no memory for outputs");
}

static status index_add_infer(const op_call *call, outputs *out, error *err) {
    const tensor *self = call_tensor(call, 0);
    int dim;
    TRY(dim_wrap(call_int(call, 1), self->ndim, &dim, err));
    TRY(check_index_add(call, dim, err));
    return push_contiguous(out, self, err);
}

static scatter_links *index_add_links(ref_ctx *ctx, int64_t size) {
    const int64_t *index = ref_ints(ctx, 2);
    int64_t n = tensor_numel(call_tensor(ctx->call, 2));
    scatter_links *l = index != NULL ? scatter_links_make(ctx, size, n) : NULL;
    for (int64_t i = 0; l != NULL && i < n; i++) {
        scatter_links_add(l, index_wrap(index[i], size), i);
    }
    return l;
}

/* Integers wrap around. first: of the slice's element in the first source. */
static double index_add_whole(ref_ctx *ctx, int64_t flat, int64_t link, int64_t first, int64_t inner) {
    const int64_t *x = ref_ints(ctx, 0), *source = ref_ints(ctx, 3);
    const scatter_links *l = ctx->scratch;
    if (x == NULL || source == NULL) {
        return NAN;
    }
    const uint64_t by = (uint64_t)number_to_int(call_number(ctx->call, 4));
    uint64_t sum = (uint64_t)x[flat];
    for (int64_t s = l->head[link]; s >= 0; s = l->next[s]) {
        sum += by * (uint64_t)source[first + s * inner];
    }
    return ref_wrapped(ctx, 0, sum);
}

static double index_add_element(ref_ctx *ctx, int out, int64_t flat, double *norm) {
    (void)out;
    const tensor *self = call_tensor(ctx->call, 0);
    const double *x = ref_real(ctx, 0), *source = ref_real(ctx, 3);
    int dim, width = scatter_width(ctx);
    if (x == NULL || source == NULL || dim_wrap(call_int(ctx->call, 1), self->ndim, &dim, NULL) != ASSAY_OK) {
        return NAN;
    }
    int64_t inner = width, size = self->ndim > 0 ? self->sizes[dim] : 1;
    for (int d = dim + 1; d < self->ndim; d++) {
        inner *= self->sizes[d];
    }
    if (ctx->scratch == NULL) {
        ctx->scratch = index_add_links(ctx, size);
    }
    const scatter_links *l = ctx->scratch;
    if (l == NULL || l->failed) {
        return NAN;
    }
    int64_t n = tensor_numel(call_tensor(ctx->call, 2));
    const int64_t first = flat / inner / size * n * inner + flat % inner, link = flat / inner % size;
    if (dtype_is_integral(self->dtype)) {
        return index_add_whole(ctx, flat, link, first, inner);
    }
    number alpha = call_number(ctx->call, 4);
    double re = self->dtype == ASSAY_B8 ? alpha.f != 0 || alpha.im != 0 : alpha.f; /* a truth is scaled by a truth */
    const double *from = source + first;
    double sum = x[flat];
    for (int64_t s = l->head[link]; s >= 0; s = l->next[s]) {
        double term = re * from[s * inner];
        if (width == 2 && alpha.im != 0) {
            term += flat % 2 == 0 ? -alpha.im * from[s * inner + 1] : alpha.im * from[s * inner - 1];
        }
        sum += term;
        *norm += term * term;
    }
    return scatter_stored(ctx, sum);
}

static status along_dim_inputs(const op_call *call, rng *r, error *err) {
    const tensor *self = call_tensor(call, 0);
    int dim;
    TRY(dim_wrap(call_int(call, 1), self->ndim, &dim, err));
    fill_integers(call_tensor(call, 2), r, 0, self->ndim > 0 ? self->sizes[dim] : 1);
    return ASSAY_OK;
}

static void index_add_cost(const op_call *call, const outputs *out, op_cost *cost) {
    const tensor *self = call_tensor(call, 0), *source = call_tensor(call, 3);
    double n = (double)tensor_numel(source);
    scatter_destination_cost(call, out, tensor_bytes(source), true, cost);
    cost->flops = n * (flops_of_add(self->dtype) + flops_of_scale(self->dtype, call_number(call, 4)));
    cost->reduction = scatter_load(n, (double)tensor_numel(self));
    if (cost->reduction > (double)tensor_numel(call_tensor(call, 2)) + 1) {
        cost->reduction = (double)tensor_numel(call_tensor(call, 2)) + 1;
    }
}

/* --- element by element along one dimension: scatter(self, dim, index, src), scatter_add ------------------------------------ */

static status scatter_check(const op_call *call, const tensor *src, error *err) {
    const tensor *self = call_tensor(call, 0), *index = call_tensor(call, 2);
    int dim;
    TRY(dim_wrap(call_int(call, 1), self->ndim, &dim, err));
    TRY(index_check_type(call, index, err));
    if (src != NULL) {
        TRY(scatter_same_type(call, self, src, err));
    }
    if (tensor_numel(index) == 0) {
        return ASSAY_OK;
    }
    int ndim = self->ndim > 0 ? self->ndim : 1;
    bool fits = (index->ndim > 0 ? index->ndim : 1) == ndim && (src == NULL || (src->ndim > 0 ? src->ndim : 1) == ndim);
    for (int d = 0; fits && d < ndim; d++) {
        int64_t n = index->ndim > 0 ? index->sizes[d] : 1;
        fits = (d == dim || n <= self->sizes[d]) && (src == NULL || n <= (src->ndim > 0 ? src->sizes[d] : 1));
    }
    if (!fits) {
        char has[TENSOR_TEXT_BYTES], given[TENSOR_TEXT_BYTES];
        return fail(err, ASSAY_INVALID, "%s: expected an index within src, and within %.100s but for dimension %d, got %.100s",
                    call->op->signature.full, tensor_describe(has, self), dim, tensor_describe(given, index));
    }
    return self->ndim > 0 && self->sizes[dim] == 0
               ? fail(err, ASSAY_INVALID, "%s: an index is out of bounds for dimension %d of size 0", call->op->signature.full, dim)
               : ASSAY_OK;
}

static status scatter_infer(const op_call *call, outputs *out, error *err) {
    TRY(scatter_check(call, call_tensor(call, 3), err));
    return push_contiguous(out, call_tensor(call, 0), err);
}

static status scatter_value_infer(const op_call *call, outputs *out, error *err) {
    TRY(scatter_check(call, NULL, err));
    return push_contiguous(out, call_tensor(call, 0), err);
}

/* Links elements of self to elements of index. */
static scatter_links *element_links(ref_ctx *ctx, int dim) {
    const tensor *self = call_tensor(ctx->call, 0), *index = call_tensor(ctx->call, 2);
    const int64_t *values = ref_ints(ctx, 2);
    int64_t n = tensor_numel(index);
    scatter_links *l = values != NULL ? scatter_links_make(ctx, tensor_numel(self), n) : NULL;
    for (int64_t i = 0; l != NULL && i < n; i++) {
        int64_t to = index_wrap(values[i], self->ndim > 0 ? self->sizes[dim] : 1);
        int64_t place = self->ndim > 0 || to < 0 ? 0 : to, stride = 1, rest = i;
        for (int d = self->ndim - 1; d >= 0; d--) {
            int64_t size = index->ndim > 0 ? index->sizes[d] : 1;
            place += (d == dim ? to : rest % size) * stride;
            rest /= size;
            stride *= self->sizes[d];
        }
        scatter_links_add(l, to < 0 ? -1 : place, i);
    }
    return l;
}

/* Flat index into a dense src of the element at flat position i of index. */
static int64_t src_place(const tensor *index, const tensor *src, int64_t i) {
    int64_t at = 0, stride = 1;
    for (int d = index->ndim - 1; d >= 0; d--) {
        at += i % index->sizes[d] * stride;
        i /= index->sizes[d];
        stride *= src->ndim > 0 ? src->sizes[d] : 1;
    }
    return at;
}

/* scatter.value's number as the output has it: its imaginary part, or else the real one. */
static double stored_value(const ref_ctx *ctx, bool imaginary) {
    const dtype t = ctx->out->items[0].dtype;
    const number value = call_number(ctx->call, 3);
    uint64_t bits[2] = {0};
    if (dtype_category_of(t) >= CATEGORY_FLOATING) {
        return imaginary ? value.im : value.f;
    }
    element_store_number(t, bits, value);
    return element_load(t, bits);
}

static double scatter_any(ref_ctx *ctx, int64_t flat, bool adds, bool has_src, double *norm) {
    const tensor *self = call_tensor(ctx->call, 0), *index = call_tensor(ctx->call, 2);
    const double *x = ref_real(ctx, 0), *src = has_src ? ref_real(ctx, 3) : NULL;
    int dim, width = scatter_width(ctx);
    if (x == NULL || (has_src && src == NULL) || dim_wrap(call_int(ctx->call, 1), self->ndim, &dim, NULL) != ASSAY_OK) {
        return NAN;
    }
    if (ctx->scratch == NULL) {
        ctx->scratch = element_links(ctx, dim);
    }
    const scatter_links *l = ctx->scratch;
    if (l == NULL || l->failed) {
        return NAN;
    }
    double sum = x[flat];
    for (int64_t s = l->head[flat / width]; s >= 0; s = l->next[s]) {
        if (!has_src) {
            return stored_value(ctx, flat % width == 1);
        }
        double term = src[src_place(index, call_tensor(ctx->call, 3), s) * width + flat % width];
        if (!adds) {
            return term;
        }
        sum += term;
        *norm += term * term;
    }
    return scatter_stored(ctx, sum);
}

static double scatter_element(ref_ctx *ctx, int out, int64_t flat, double *norm) {
    (void)out;
    return scatter_any(ctx, flat, false, true, norm);
}

static double scatter_value_element(ref_ctx *ctx, int out, int64_t flat, double *norm) {
    (void)out;
    return scatter_any(ctx, flat, false, false, norm);
}

static double scatter_add_element(ref_ctx *ctx, int out, int64_t flat, double *norm) {
    (void)out;
    return scatter_any(ctx, flat, true, true, norm);
}

/* Along dim every index is another one where there is room, so that no two writes meet. */
static status scatter_inputs(const op_call *call, rng *r, error *err) {
    const tensor *self = call_tensor(call, 0);
    tensor *index = call_tensor(call, 2);
    int dim;
    TRY(dim_wrap(call_int(call, 1), self->ndim, &dim, err));
    int64_t size = self->ndim > 0 ? self->sizes[dim] : 1, n = tensor_numel(index);
    int64_t along = index->ndim > 0 ? index->sizes[dim] : 1, inner = 1;
    double *values = n > 0 && size > 0 ? malloc((size_t)n * sizeof *values) : NULL;
    if (values == NULL) {
        return n == 0 || size == 0 ? ASSAY_OK : fail(err, ASSAY_OUT_OF_MEMORY, "no memory for the indices of %s", call->op->signature.full);
    }
    for (int d = dim + 1; d < index->ndim; d++) {
        inner *= index->sizes[d];
    }
    for (int64_t line = 0; line < n / along; line++) { /* (start + i * step) mod size, step prime to size */
        int64_t start = rng_range(r, 0, size), step = 1 + rng_range(r, 0, size > 1 ? size - 1 : 1);
        for (int64_t a = step, b = size; b != 0 && size > 1;) {
            int64_t rest = a % b;
            a = b;
            b = rest;
            if (b == 0 && a != 1) {
                step = 1;
            }
        }
        for (int64_t i = 0; i < along; i++) {
            values[(line / inner * along + i) * inner + line % inner] =
                (double)(((uint64_t)start + (uint64_t)i * (uint64_t)step) % (uint64_t)size);
        }
    }
    fill_from(index, values);
    free(values);
    return ASSAY_OK;
}

static void scatter_cost(const op_call *call, const outputs *out, op_cost *cost) {
    double named = (double)tensor_numel(call_tensor(call, 2)) * (double)dtype_size(call_tensor(call, 0)->dtype);
    scatter_destination_cost(call, out, named, false, cost);
    if (call->args[3].kind == ARG_TENSOR) {
        op_cost_reads(call, 3, named, cost); /* as many of src as of index, from the same places */
    }
}

static void scatter_add_cost(const op_call *call, const outputs *out, op_cost *cost) {
    const tensor *self = call_tensor(call, 0);
    double n = (double)tensor_numel(call_tensor(call, 2));
    scatter_destination_cost(call, out, n * (double)dtype_size(self->dtype), true, cost);
    op_cost_reads(call, 3, n * (double)dtype_size(self->dtype), cost);
    cost->flops = n * flops_of_add(self->dtype);
    cost->reduction = scatter_load(n, (double)tensor_numel(self));
}

static const op_family family_scatter = {.name = "scatter", .has_in_place = true};

static const op_row rows[] = {
    {.signature = "index_add(Tensor self, int dim, Tensor index, Tensor source, *, Scalar alpha=1) -> Tensor",
     .doc = "self with alpha times the slices of source added to the slices of self that the index names.",
     .family = &family_scatter,
     .infer = index_add_infer,
     .fits_output = 1 << 4,
     .inputs = along_dim_inputs,
     .cost = index_add_cost,
     .decompose = index_add_parts,
     .reference_element = index_add_element},
    {.signature = "scatter.src(Tensor self, int dim, Tensor index, Tensor src) -> Tensor",
     .doc = "self with elements of src written at the same place but for dim, where the index says.",
     .family = &family_scatter,
     .infer = scatter_infer,
     .inputs = scatter_inputs,
     .cost = scatter_cost,
     .decompose = scatter_parts,
     .reference_element = scatter_element},
    {.signature = "scatter.value(Tensor self, int dim, Tensor index, Scalar value) -> Tensor",
     .doc = "self with one value written at the same place as each index but for dim, where the index says.",
     .family = &family_scatter,
     .fits_output = 1 << 3,
     .infer = scatter_value_infer,
     .inputs = scatter_inputs,
     .cost = scatter_cost,
     .decompose = scatter_value_parts,
     .reference_element = scatter_value_element},
    {.signature = "scatter_add(Tensor self, int dim, Tensor index, Tensor src) -> Tensor",
     .doc = "self with elements of src added at the same place but for dim, where the index says.",
     .family = &family_scatter,
     .infer = scatter_infer,
     .inputs = along_dim_inputs,
     .cost = scatter_add_cost,
     .decompose = scatter_add_parts,
     .reference_element = scatter_add_element},
};

const op_rows rows_scatter = {rows, countof(rows)};
