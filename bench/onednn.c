/* SPDX-License-Identifier: Apache-2.0 */
/* How near the eager backend's matrix products and convolutions come to oneDNN's own: each input of a file, in turns with
   oneDNN's primitive on the same memory (outputs too, once both have been compared), on the layouts as they are and on layouts of oneDNN's choice. The faster of the two
   is oneDNN's own; reorders count. "alone" is the primitive on those layouts without the reorders.

   usage: bench_onednn INPUTS [THREADS, 0: all] [DTYPE]; inputs recorded in bf16 serve bf16 and f32 */
#include "eager_call.h"
#include "engine/kernels/cpu/onednn.h"
#include "lab/measure/sample.h"

#include <math.h>
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { REPEATS = 11, MAX_PARTS = 2, WAYS = 2 };

/* One or two primitives, as a gradient has them, with where they read and write. */
typedef struct own {
    onednn *part[MAX_PARTS];
    onednn_data data[MAX_PARTS];
    int n;
} own;

static status run_plan(void *self, error *err) {
    plan *p = self;
    return p->run(p, err);
}

static status run_own(void *self, error *err) {
    own *o = self;
    for (int i = 0; i < o->n; i++) {
        TRY(onednn_run(o->part[i], &o->data[i], err));
    }
    return ASSAY_OK;
}

static status run_alone(void *self, error *err) {
    own *o = self;
    for (int i = 0; i < o->n; i++) {
        TRY(onednn_run_primitive(o->part[i], err));
    }
    return ASSAY_OK;
}

static void own_clear(own *o) {
    for (int i = 0; i < o->n; i++) {
        onednn_free(o->part[i]);
    }
}

/* --- the primitives of a call -------------------------------------------------------------------------------------------- */

static void *data_of(const op_call *call, int i) {
    return tensor_data(call_tensor(call, i));
}

static void matrix(const tensor *t, int64_t *strides) {
    strides[0] = t->ndim == 3 ? t->strides[0] : 0;
    strides[1] = t->strides[t->ndim - 2];
    strides[2] = t->strides[t->ndim - 1];
}

/* mm and bmm, or addmm with a bias of one row. targets: where to write instead of the call's own outputs. */
static status product_of(const op_call *call, const tensor *c, char *const *targets, bool own_layouts, arena *memory, own *o,
                         error *err) {
    int first = strncmp(call->op->signature.name, "add", 3) == 0 ? 1 : 0;
    const tensor *a = call_tensor(call, first), *b = call_tensor(call, first + 1);
    if (first == 1 && call_tensor(call, 0)->ndim != 1) {
        return fail(err, ASSAY_UNSUPPORTED, "this bench knows addmm with one row only");
    }
    onednn_matmul m = {.dtype = a->dtype, .batch = a->ndim == 3 ? a->sizes[0] : 1, .m = a->sizes[a->ndim - 2],
                       .k = a->sizes[a->ndim - 1], .n = b->sizes[b->ndim - 1], .alpha = 1, .adds_row = first == 1,
                       .own_layouts = own_layouts};
    matrix(a, m.a);
    matrix(b, m.b);
    matrix(c, m.c);
    o->data[0] = (onednn_data){{tensor_data(a), tensor_data(b), targets[0], first == 1 ? data_of(call, 0) : NULL}};
    TRY(onednn_matmul_prepare(&m, memory, &o->part[0], err));
    o->n = 1;
    return ASSAY_OK;
}

/* Strides as [batch, channel, depth, height, width]; dimensions there are not have size 1. */
static void five(const tensor *t, int64_t *strides) {
    int spatial = t->ndim - 2;
    strides[0] = t->strides[0];
    strides[1] = t->strides[1];
    for (int d = 0; d < 3; d++) {
        strides[2 + d] = d >= 3 - spatial ? t->strides[2 + d - (3 - spatial)] : 1;
    }
}

static status add_part(onednn_direction direction, const conv_shape *shape, const tensor *const side[3], void *const at[4],
                       bool own_layouts, arena *memory, own *o, error *err) {
    onednn_conv c = {.dtype = side[0]->dtype, .direction = direction, .shape = shape, .bias = at[3] != NULL,
                     .own_layouts = own_layouts};
    five(side[0], c.narrow);
    five(side[1], c.wide);
    five(side[2], c.weight);
    memcpy(o->data[o->n].at, at, sizeof o->data[o->n].at);
    TRY(onednn_conv_prepare(&c, memory, &o->part[o->n], err));
    o->n++;
    return ASSAY_OK;
}

/* Not transposed; of the gradients those of input and weight. */
static status convolution_of(const op_call *call, const outputs *out, char *const *targets, bool own_layouts, arena *memory,
                             own *o, error *err) {
    bool backward = strstr(call->op->signature.name, "backward") != NULL;
    if (backward && !(call->args[10].bools[0] && call->args[10].bools[1])) {
        return fail(err, ASSAY_UNSUPPORTED, "this bench knows gradients of both input and weight only");
    }
    conv_shape *shape = arena_make(memory, 1, sizeof *shape);
    if (shape == NULL) {
        return fail(err, ASSAY_OUT_OF_MEMORY, "no memory for a shape");
    }
    TRY(conv_shape_of(call, backward ? 1 : 0, backward ? 4 : 3, shape, err));
    if (!backward) {
        const tensor *bias = call_tensor(call, 2);
        const tensor *side[] = {&out->items[0], call_tensor(call, 0), call_tensor(call, 1)};
        void *at[] = {targets[0], data_of(call, 0), data_of(call, 1), bias != NULL ? tensor_data(bias) : NULL};
        return add_part(ONEDNN_TO_NARROW, shape, side, at, own_layouts, memory, o, err);
    }
    const tensor *grad = call_tensor(call, 0), *x = call_tensor(call, 1), *weight = call_tensor(call, 2);
    const tensor *to_wide[] = {grad, &out->items[0], weight}, *to_weight[] = {grad, x, &out->items[1]};
    void *wide_at[] = {tensor_data(grad), targets[0], tensor_data(weight), NULL};
    void *weight_at[] = {tensor_data(grad), tensor_data(x), targets[1], NULL};
    TRY(add_part(ONEDNN_TO_WIDE, shape, to_wide, wide_at, own_layouts, memory, o, err));
    return add_part(ONEDNN_TO_WEIGHT, shape, to_weight, weight_at, own_layouts, memory, o, err);
}

static status own_of(const eager_call *c, char *const *targets, bool own_layouts, arena *memory, own *o, error *err) {
    const op_call *call = &c->bound.call;
    if (strncmp(call->op->signature.name, "convolution", 11) == 0) {
        return convolution_of(call, &c->out, targets, own_layouts, memory, o, err);
    }
    return product_of(call, &c->out.items[0], targets, own_layouts, memory, o, err);
}

/* --- measuring ----------------------------------------------------------------------------------------------------------- */

/* From now on a way writes where eager does: memory of their own would stay in the caches, several of them writing it, and eager's not. */
static status share_outputs(eager_call *c, char *const *targets, own *o, error *err) {
    for (int i = 0; i < c->out.n && i < MAX_PARTS; i++) {
        tensor t;
        TRY(c->plan->output(c->plan, i, &t, err));
        for (int part = 0; part < o->n; part++) {
            for (size_t k = 0; k < countof(o->data[part].at); k++) {
                o->data[part].at[k] = o->data[part].at[k] == targets[i] ? tensor_data(&t) : o->data[part].at[k];
            }
        }
        tensor_clear(&t);
    }
    return ASSAY_OK;
}

/* The distance of what oneDNN made from what eager made, over the size of the latter; outputs lie alike and dense. */
static status distance(eager_call *c, char *const *targets, double *out, error *err) {
    double difference = 0, size = 0;
    for (int i = 0; i < c->out.n && i < MAX_PARTS; i++) {
        tensor t;
        TRY(c->plan->output(c->plan, i, &t, err));
        for (int64_t k = 0; k < tensor_numel(&t); k++) {
            int64_t at = k * (int64_t)dtype_size(t.dtype);
            double a = element_load(t.dtype, tensor_data(&t) + at), b = element_load(t.dtype, targets[i] + at);
            difference += (a - b) * (a - b);
            size += a * a;
        }
        tensor_clear(&t);
    }
    *out = sqrt(difference / fmax(size, 1e-300));
    return ASSAY_OK;
}

static double fastest(const sample_series *s) {
    double best = INFINITY;
    for (size_t i = 0; i < s->n_samples; i++) {
        best = fmin(best, s->samples_ns[i]);
    }
    return best;
}

static status compare(eager_call *c, const char *name, own *ways, int n_ways, char *const *targets, error *err) {
    sample_subject subjects[1 + 2 * WAYS] = {{.name = "eager", .run = run_plan, .arg = c->plan}};
    TRY(c->plan->run(c->plan, err));
    size_t n = 1;
    for (int i = 0; i < n_ways; i++) {
        TRY(run_own(&ways[i], err));
        double off;
        TRY(distance(c, targets, &off, err));
        if (!(off < 1e-2)) {
            return fail(err, ASSAY_INTERNAL, "oneDNN and eager differ by %.2g of the result", off);
        }
        TRY(share_outputs(c, targets, &ways[i], err));
        subjects[n++] = (sample_subject){.name = "own", .run = run_own, .arg = &ways[i]};
        subjects[n++] = (sample_subject){.name = "alone", .run = run_alone, .arg = &ways[i]};
    }
    sample_options options = {.repeats = REPEATS, .stopping = stop_at_once(), .clock = clock_monotonic()};
    sample_series series[countof(subjects)];
    TRY(sample_all(&c->memory, subjects, n, &options, series, err));
    for (size_t i = 0; i < n; i++) {
        if (series[i].result != ASSAY_OK) {
            *err = series[i].err;
            return series[i].result;
        }
    }
    op_cost cost;
    op_cost_of(&c->bound.call, &c->out, &cost);
    double eager_ns = fastest(&series[0]), own_ns = INFINITY, alone_ns = INFINITY;
    for (size_t i = 1; i < n; i += 2) {
        own_ns = fmin(own_ns, fastest(&series[i]));
        alone_ns = fmin(alone_ns, fastest(&series[i + 1]));
    }
    printf("%-24.24s %-5s %-26.26s %10.0f %10.0f %10.0f %10.0f %8.0f%%\n", name, assay_dtype_name(c->out.items[0].dtype), onednn_code(ways[0].part[0]), cost.flops / eager_ns,
           eager_ns / 1000, own_ns / 1000, alone_ns / 1000, 100 * own_ns / eager_ns);
    return ASSAY_OK;
}

static status measure(const op_table *table, backend *eager, const input *in, const char *name, dtype_mode mode, error *err) {
    eager_call c;
    own ways[WAYS] = {{.n = 0}};
    char *targets[MAX_PARTS] = {NULL};
    int n_ways = 0;
    status result = eager_call_open(&c, table, eager, in, name, mode, err);
    for (int i = 0; result == ASSAY_OK && i < c.out.n && i < MAX_PARTS; i++) {
        targets[i] = arena_make(&c.memory, (size_t)tensor_bytes(&c.out.items[i]) + 64, 1);
        result = targets[i] != NULL ? ASSAY_OK : fail(err, ASSAY_OUT_OF_MEMORY, "no memory for a second output");
    }
    for (int i = 0; result == ASSAY_OK && i < WAYS; i++) {
        status made = own_of(&c, targets, i == 1, &c.memory, &ways[n_ways], err);
        if (made == ASSAY_UNSUPPORTED) {
            own_clear(&ways[n_ways]); /* a first part may be there */
            ways[n_ways].n = 0;
        } else {
            result = made;
            n_ways++;
        }
    }
    if (result == ASSAY_OK && n_ways == 0) {
        result = ASSAY_UNSUPPORTED; /* err says why */
    }
    result = result == ASSAY_OK ? compare(&c, name, ways, n_ways, targets, err) : result;
    for (int i = 0; i < WAYS; i++) {
        own_clear(&ways[i]);
    }
    eager_call_close(&c);
    return result;
}

int main(int argc, char **argv) {
    error err = {0};
    op_table *table = NULL;
    backend *eager = NULL;
    inputs set = {0};
    dtype_mode mode = DTYPE_F32;
    int threads = argc > 2 ? atoi(argv[2]) : 0;
    omp_set_num_threads(threads > 0 ? threads : omp_get_max_threads());
    if (argc < 2 || (argc > 3 && dtype_mode_find(argv[3], &mode, &err) != ASSAY_OK) ||
        inputs_read_path(&set, argv[1], &err) != ASSAY_OK || op_table_new(&table, &err) != ASSAY_OK ||
        backend_eager_open(table, &eager, &err) != ASSAY_OK) {
        fprintf(stderr, "bench_onednn: %s\n", argc < 2 ? "usage: bench_onednn INPUTS [THREADS] [DTYPE]" : err.message);
        return 1;
    }
    if (set.n_bad_lines > 0) {
        fprintf(stderr, "bench_onednn: left out %zu lines of %s; `assay operators --dry-run --inputs` says what is wrong with them\n",
                set.n_bad_lines, argv[1]);
    }
    printf("%-24s %-5s %-26s %10s %10s %10s %10s %9s\n", "operator", "type", "oneDNN's code", "GFLOP/s", "eager us", "own us", "alone us",
           "of own");
    for (size_t i = 0; i < set.n_all; i++) {
        const inputs_operator *recorded = &set.operators[set.all[i]->operator_position];
        if (measure(table, eager, set.all[i], recorded->name, mode, &err) != ASSAY_OK) {
            printf("%-32.32s %s\n", recorded->name, err.message);
        }
    }
    eager->close(eager);
    op_table_free(table);
    inputs_clear(&set);
    return 0;
}
