/* SPDX-License-Identifier: Apache-2.0 */
/* Verification: choose elements, run the reference on them, compare. */
#include "lab/experiment/verify.h"

#include "engine/schema/reference.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* Elements that lie together are cheap for references that work row by row, and catch errors at block boundaries. */
enum { RUN_ELEMENTS = 64 };

static int64_t elements_to_check(const op_call *call, double reduction, int64_t numel) {
    if (call->op->row->reference != NULL) {
        return numel; /* it computes everything anyway */
    }
    double most = VERIFY_MAX_TERMS / reduction;
    most = most < VERIFY_MIN_ELEMENTS ? VERIFY_MIN_ELEMENTS : most;
    most = most > VERIFY_MAX_ELEMENTS ? VERIFY_MAX_ELEMENTS : most;
    return (double)numel <= most ? numel : (int64_t)most;
}

/* n of numel indices, ascending: a run at a random place in each of n / RUN equal parts, the ends pinned. */
static int64_t *choose_elements(arena *memory, int64_t numel, int64_t *n, uint64_t seed) {
    int64_t runs = *n / RUN_ELEMENTS;
    int64_t *flat = arena_make(memory, (size_t)(runs * RUN_ELEMENTS), sizeof *flat);
    if (flat == NULL) {
        return NULL;
    }
    rng r = rng_make(seed);
    int64_t filled = 0;
    for (int64_t i = 0; i < runs; i++) {
        int64_t from = (int64_t)((double)numel * (double)i / (double)runs);
        int64_t to = (int64_t)((double)numel * (double)(i + 1) / (double)runs) - RUN_ELEMENTS;
        int64_t at = i == 0 ? 0 : i == runs - 1 ? numel - RUN_ELEMENTS : rng_range(&r, from, to + 1);
        for (int64_t k = 0; k < RUN_ELEMENTS; k++) {
            flat[filled++] = at + k;
        }
    }
    *n = filled;
    return flat;
}

static status make_output(arena *memory, const op_call *call, const tensor *t, double reduction, uint64_t seed,
                          expected_output *out, error *err) {
    int64_t numel = tensor_numel(t);
    size_t width = dtype_is_complex(t->dtype) ? 2 : 1;
    *out = (expected_output){.n = elements_to_check(call, reduction, numel)};
    if (out->n < numel) {
        out->flat = choose_elements(memory, numel, &out->n, seed);
    }
    out->value = arena_make(memory, (size_t)out->n * width, sizeof *out->value);
    out->norm = arena_make(memory, (size_t)out->n, sizeof *out->norm);
    if (out->value == NULL || out->norm == NULL || (out->flat == NULL && out->n < numel)) {
        return fail(err, ASSAY_OUT_OF_MEMORY, "no memory for the expected values");
    }
    return ASSAY_OK;
}

/* Arguments that a call writes besides its outputs (running statistics) are small, and expected whole. */
static status run_written(arena *memory, ref_ctx *ctx, expected_output *written, error *err) {
    const op_call *call = ctx->call;
    for (int i = 0; i < call->op->signature.n_params; i++) {
        const tensor *t = ref_written_tensor(call, i);
        if (t == NULL) {
            continue;
        }
        size_t n = (size_t)tensor_numel(t);
        written[i] = (expected_output){.n = (int64_t)n, .value = arena_make(memory, n, sizeof(double)),
                                       .norm = arena_make(memory, n, sizeof(double))};
        if (written[i].value == NULL || written[i].norm == NULL) {
            return fail(err, ASSAY_OUT_OF_MEMORY, "no memory for the expected values");
        }
        ref_request request = {.n = written[i].n, .value = written[i].value, .norm = written[i].norm};
        TRY(ref_run_written(ctx, i, &request, err));
    }
    return ASSAY_OK;
}

static status run_reference(arena *memory, const op_call *call, const outputs *out, expected_output *expected,
                            expected_output *written, error *err) {
    ref_ctx ctx;
    TRY(ref_init(&ctx, call, out, err));
    ref_request *requests = ref_make(&ctx, (size_t)out->n, sizeof *requests);
    status result = requests != NULL ? ASSAY_OK : fail(err, ASSAY_OUT_OF_MEMORY, "no memory for the reference");
    for (int i = 0; result == ASSAY_OK && i < out->n; i++) {
        requests[i] = (ref_request){
            .n = expected[i].n, .flat = expected[i].flat, .value = expected[i].value, .norm = expected[i].norm};
    }
    if (result == ASSAY_OK) {
        result = ref_run(&ctx, requests, err);
    }
    if (result == ASSAY_OK && written != NULL) {
        result = run_written(memory, &ctx, written, err);
    }
    ref_clear(&ctx);
    return result;
}

status expectation_make(arena *memory, const op_call *call, const outputs *out, uint64_t seed, expectation *e, error *err) {
    const op_row *row = call->op->row;
    op_cost cost;
    op_cost_of(call, out, &cost);
    expectation made = {.call = call, .out = out};
    made.rule = (agree_rule){.reduction = cost.reduction, .roundings = row->roundings};
    made.has_reference = !row->is_view && row->check == NULL;
    bool sparse = out->n > 0 && out->items[0].sparse != NULL;
    if (made.has_reference && !sparse) {
        made.outputs = arena_make(memory, (size_t)out->n, sizeof *made.outputs);
        if (made.outputs == NULL) {
            return fail(err, ASSAY_OUT_OF_MEMORY, "no memory for the expected values");
        }
        for (int i = 0; i < out->n; i++) {
            TRY(make_output(memory, call, &out->items[i], cost.reduction, rng_mix(seed + (uint64_t)i), &made.outputs[i],
                            err));
        }
        if (row->reference_written != NULL) {
            made.written = arena_make(memory, (size_t)call->op->signature.n_params, sizeof *made.written);
            if (made.written == NULL) {
                return fail(err, ASSAY_OUT_OF_MEMORY, "no memory for the expected values");
            }
        }
        TRY(run_reference(memory, call, out, made.outputs, made.written, err));
    }
    *e = made;
    return ASSAY_OK;
}

double expectation_bytes(const op_call *call, const outputs *out) {
    enum { MAX_TENSORS = 4096 };
    const op_row *row = call->op->row;
    if (row->is_view || row->check != NULL) {
        return 0;
    }
    double elements = 0; /* doubles, that is, and places of chosen elements, which take as much */
    bool dense_inputs = row->reference != NULL || row->reference_element != NULL;
    tensor *inputs[MAX_TENSORS];
    int n = dense_inputs ? call_all_tensors(call, inputs, MAX_TENSORS) : 0;
    for (int i = 0; i < n && i < MAX_TENSORS; i++) {
        elements += (double)tensor_numel(inputs[i]) * (dtype_is_complex(inputs[i]->dtype) ? 2 : 1);
    }
    for (int i = 0; i < out->n; i++) {
        double numel = (double)tensor_numel(&out->items[i]), width = dtype_is_complex(out->items[i].dtype) ? 2 : 1;
        /* Expected values with their norms, and the reference's own of both; or with the places of a subset. */
        elements += row->reference != NULL ? 2 * (width + 1) * numel : (width + 2) * fmin(numel, VERIFY_MAX_ELEMENTS);
    }
    return 8 * elements;
}

/* --- comparison --------------------------------------------------------------------------------------------------------- */

static status check_form(int i, const tensor *expected, const tensor *actual, error *err) {
    char wants[TENSOR_TEXT_BYTES], has[TENSOR_TEXT_BYTES];
    bool same = expected->dtype == actual->dtype && tensor_same_sizes(expected, actual) &&
                (expected->sparse != NULL) == (actual->sparse != NULL);
    if (same) {
        return ASSAY_OK;
    }
    return fail(err, ASSAY_INTERNAL, "output %d is %.200s, expected %.200s", i, tensor_describe(has, actual),
                tensor_describe(wants, expected));
}

static const record_error_stats nothing_compared = {
    .max_abs = NAN, .rel_l2 = NAN, .worst_ulp = NAN, .checked_elements = -1, .total_elements = -1};

/* What has no distance from the reference in one output has none in all. */
static void merge_stats(record_error_stats *stats, const agreement *a, int64_t numel) {
    const bool is_first = stats->checked_elements < 0;
    const bool is_known = !isnan(a->max_abs) && (is_first || !isnan(stats->max_abs));
    stats->max_abs = is_known ? fmax(stats->max_abs, a->max_abs) : NAN;
    stats->worst_ulp = is_known ? fmax(stats->worst_ulp, a->worst_ulp) : NAN;
    stats->rel_l2 = is_known ? fmax(stats->rel_l2, a->rel_l2) : NAN; /* that of zeros alone is not known, and left out */
    stats->checked_elements = a->checked + (is_first ? 0 : stats->checked_elements);
    stats->total_elements = numel + (is_first ? 0 : stats->total_elements);
}

enum { OUTPUT_NAME_BYTES = 32 };

static const char *output_name(int i, char *name) {
    snprintf(name, OUTPUT_NAME_BYTES, "output %d", i);
    return name;
}

/* A NaN's sign says nothing, and C's printf shows it. */
static double without_sign(double value) {
    return isnan(value) ? (double)NAN : value;
}

static status say_where(const char *what, const tensor *t, const agreement *a, error *err) {
    text at = {0};
    int64_t index[TENSOR_MAX_DIMS];
    int64_t flat = a->worst;
    for (int d = t->ndim - 1; d >= 0; d--) {
        index[d] = flat % t->sizes[d];
        flat /= t->sizes[d];
    }
    for (int d = 0; d < t->ndim; d++) {
        text_addf(&at, "%s%" PRId64, d > 0 ? ", " : "", index[d]);
    }
    text tolerance = {0}; /* NaN is within none */
    if (!isnan(a->actual_at_worst) && !isnan(a->expected_at_worst)) {
        text_addf(&tolerance, " (tolerance %.3g)", without_sign(a->tolerance_at_worst));
    }
    status result = fail(err, ASSAY_INTERNAL,
                         "%s[%s] is %.9g, expected %.9g%s; %" PRId64 " of %" PRId64
                         " checked element%s %s off",
                         what, text_get(&at), without_sign(a->actual_at_worst), without_sign(a->expected_at_worst), text_get(&tolerance), a->bad,
                         a->checked, a->checked == 1 ? "" : "s", a->bad == 1 ? "is" : "are");
    text_clear(&at);
    text_clear(&tolerance);
    return result;
}

/* The first of n elements, a stride apart, whose bytes differ; n when none does. */
static int64_t first_difference(const char *want, int64_t want_step, const char *got, int64_t got_step, int64_t n, int64_t size) {
    if (want == got && want_step == got_step) {
        return n;
    }
    if (want_step == size && got_step == size && memcmp(want, got, (size_t)(n * size)) == 0) {
        return n;
    }
    int64_t i = 0;
    while (i < n && memcmp(want + i * want_step, got + i * got_step, (size_t)size) == 0) {
        i++;
    }
    return i;
}

/* Every element of two tensors of one form must be the same bytes' worth of value. */
static status check_same(int i, const tensor *expected, const tensor *actual, record_error_stats *stats, error *err) {
    int64_t n = tensor_numel(expected), size = (int64_t)dtype_size(expected->dtype);
    int last = expected->ndim - 1;
    int64_t row = last >= 0 ? expected->sizes[last] : 1;
    int64_t want_step = last >= 0 ? expected->strides[last] * size : size;
    int64_t got_step = last >= 0 ? actual->strides[last] * size : size;
    int64_t differs = -1;
    for (int64_t k = 0; k < n && differs < 0; k += row) {
        const char *want = tensor_data(expected) + tensor_offset_of(expected, k) * size;
        const char *got = tensor_data(actual) + tensor_offset_of(actual, k) * size;
        int64_t same = first_difference(want, want_step, got, got_step, row, size);
        differs = same < row ? k + same : -1;
    }
    merge_stats(stats, &(agreement){.checked = n, .max_abs = differs < 0 ? 0 : NAN}, n);
    return differs < 0 ? ASSAY_OK
                       : fail(err, ASSAY_INTERNAL, "output %d differs from what it views at element %" PRId64, i, differs);
}

static status check_one(const expectation *e, const agree_rule *rule, int i, const tensor *actual, record_error_stats *stats,
                        error *err) {
    const tensor *expected = &e->out->items[i];
    TRY(check_form(i, expected, actual, err));
    if (expected->sparse != NULL) {
        TRY(check_same(i, &expected->sparse->indices, &actual->sparse->indices, stats, err));
        return check_same(i, &expected->sparse->values, &actual->sparse->values, stats, err);
    }
    if (e->call->op->row->is_view) {
        return check_same(i, expected, actual, stats, err);
    }
    agreement a;
    const expected_output *x = &e->outputs[i];
    agree_compare(actual, x->flat, x->n, x->value, x->norm, rule, &a);
    merge_stats(stats, &a, tensor_numel(expected));
    return a.agrees ? ASSAY_OK : say_where(output_name(i, (char[OUTPUT_NAME_BYTES]){0}), actual, &a, err);
}

/* The arguments that a run has written besides its outputs. */
static status check_written(const expectation *e, const agree_rule *rule, record_error_stats *stats, error *err) {
    for (int i = 0; e->written != NULL && i < e->call->op->signature.n_params; i++) {
        const expected_output *x = &e->written[i];
        if (x->n == 0) {
            continue;
        }
        agreement a;
        const tensor *t = call_tensor(e->call, i);
        agree_compare(t, NULL, x->n, x->value, x->norm, rule, &a);
        merge_stats(stats, &a, x->n);
        if (!a.agrees) {
            return say_where(e->call->op->signature.params[i].name, t, &a, err);
        }
    }
    return ASSAY_OK;
}

/* By the reference, but for outputs that have more than one right answer. */
static status check_determined(const expectation *e, const agree_rule *rule, const outputs *actual, record_error_stats *stats,
                               error *err) {
    const op_row *row = e->call->op->row;
    const uint32_t open = row->open != NULL ? row->open(e->call) : 0;
    for (int i = 0; i < actual->n; i++) {
        TRY(open >> i & 1 ? check_form(i, &e->out->items[i], &actual->items[i], err)
                          : check_one(e, rule, i, &actual->items[i], stats, err));
    }
    TRY(check_written(e, rule, stats, err));
    return open != 0 ? row->check_open(e->call, actual, err) : ASSAY_OK;
}

static status check_undetermined(const expectation *e, const outputs *actual, error *err) {
    for (int i = 0; i < actual->n; i++) {
        TRY(check_form(i, &e->out->items[i], &actual->items[i], err));
    }
    return e->call->op->row->check(e->call, actual, err);
}

static status gather_outputs(const expectation *e, plan *p, outputs *actual, error *err) {
    int n = e->g != NULL ? e->g->n_outputs : e->out->n;
    for (int i = 0; i < n; i++) {
        tensor *t = outputs_push(actual);
        if (t == NULL) {
            return fail(err, ASSAY_OUT_OF_MEMORY, "no memory to look at the outputs");
        }
        TRY(p->output(p, i, t, err));
    }
    return ASSAY_OK;
}

/* --- graphs ------------------------------------------------------------------------------------------------------------- */

status expectation_make_graph(arena *memory, const graph *g, const pristine *kept, uint64_t seed, expectation *e, error *err) {
    expectation made = {.g = g, .kept = kept, .seed = seed, .is_random = graph_is_random(g), .has_reference = true};
    if (!made.is_random) {
        TRY(exact_make(memory, g, NULL, seed, &made.exact, err));
    }
    *e = made;
    return ASSAY_OK;
}

/* *many: whether more than a few of an output's elements disagree, where it fails for that: 8, or 5%. */
static status compare_graph(const expectation *e, const exact *expected, const outputs *actual, record_error_stats *stats, bool *many,
                            error *err) {
    for (int i = 0; i < actual->n; i++) {
        agreement a;
        exact_compare(expected, i, &actual->items[i], &a);
        if (expected->outputs[i].is_known) {
            merge_stats(stats, &a, tensor_numel(e->g->outputs[i]));
        }
        if (!a.agrees) {
            *many = a.bad > 8 && (double)a.bad > 0.05 * (double)a.checked;
            return say_where(output_name(i, (char[OUTPUT_NAME_BYTES]){0}), &actual->items[i], &a, err);
        }
    }
    return ASSAY_OK;
}

/* What a random operator drew, or which of several right answers was taken, is in the outputs that show it; what follows from that is checked. */
static status check_as_taken(const expectation *e, const outputs *copies, bool well, record_error_stats *stats, bool *many, error *err) {
    arena memory = {0};
    exact expected;
    *stats = nothing_compared;
    pristine_restore(e->kept, NULL);
    status result = (well ? exact_make_well : exact_make)(&memory, e->g, copies->items, e->seed, &expected, err);
    if (result == ASSAY_OK) {
        result = compare_graph(e, &expected, copies, stats, many, err);
    }
    arena_clear(&memory);
    return result;
}

/* Few elements that disagree may be what rounding decides, or has been taken where a call is open. */
static status check_again(const expectation *e, const outputs *actual, record_error_stats *stats, bool many, error *err) {
    status result = ASSAY_INTERNAL;
    outputs copies;
    outputs_init(&copies);
    TRY(graph_copy_outputs(e->g, actual->items, &copies, err));
    if (e->is_random || graph_is_open(e->g)) {
        result = check_as_taken(e, &copies, false, stats, &many, err);
    }
    if (result == ASSAY_INTERNAL && !many) {
        result = check_as_taken(e, &copies, true, stats, &many, err);
    }
    outputs_clear(&copies);
    return result;
}

static status check_graph(const expectation *e, const outputs *actual, record_error_stats *stats, error *err) {
    for (int i = 0; i < actual->n; i++) {
        TRY(check_form(i, e->g->outputs[i], &actual->items[i], err));
    }
    bool many = true;
    status result = e->is_random ? ASSAY_INTERNAL : compare_graph(e, &e->exact, actual, stats, &many, err);
    return result == ASSAY_INTERNAL ? check_again(e, actual, stats, many, err) : result;
}

status expectation_check(const expectation *e, plan *p, record_error_stats *stats, bool *differs, error *err) {
    outputs actual;
    agree_rule rule = e->rule;
    rule.rounds_steps = p->precision != ASSAY_WIDE;
    rule.rounds_sums = p->precision == ASSAY_NARROW_SUMS;
    outputs_init(&actual);
    *stats = nothing_compared;
    *differs = false;
    status result = gather_outputs(e, p, &actual, err);
    if (result != ASSAY_OK) { /* there is nothing to compare */
        outputs_clear(&actual);
        return result;
    }
    if (e->g != NULL) {
        result = check_graph(e, &actual, stats, err);
    } else if (e->call->op->row->check != NULL) {
        result = check_undetermined(e, &actual, err);
    } else {
        result = check_determined(e, &rule, &actual, stats, err);
    }
    *differs = result == ASSAY_INTERNAL;
    outputs_clear(&actual);
    return result;
}

/* By address: a plug-in's tensors over our memory have storage objects of their own. */
static bool overlaps(const tensor *input, const tensor *t) {
    const storage *s = input->storage;
    const char *at = t->storage != NULL ? t->storage->data : NULL;
    return s != NULL && at != NULL && at < (const char *)s->data + s->size_bytes &&
           at + t->storage->size_bytes > (const char *)s->data;
}

static bool aliases_input(const expectation *e, const tensor *t) {
    enum { MAX_TENSORS = 1024 };
    tensor *inputs[MAX_TENSORS];
    int n = e->g != NULL ? e->g->n_inputs : call_all_tensors(e->call, inputs, MAX_TENSORS);
    for (int i = 0; i < n && (e->g != NULL || i < MAX_TENSORS); i++) {
        if (overlaps(e->g != NULL ? e->g->inputs[i].value : inputs[i], t)) {
            return true;
        }
    }
    return false;
}

/* What normal_ and the like draw into is nothing that they read, and may look like a draw. */
static bool draws_in_place(const op_row *row) {
    return row->is_random && row->is_in_place && row->check != NULL;
}

status expectation_poison(const expectation *e, plan *p, error *err) {
    outputs actual;
    outputs_init(&actual);
    if ((e->g == NULL && e->call->op->row->is_view) || p->makes_outputs) {
        return ASSAY_OK;
    }
    const bool fills_all = e->g == NULL && draws_in_place(e->call->op->row);
    status result = gather_outputs(e, p, &actual, err);
    for (int i = 0; result == ASSAY_OK && i < actual.n; i++) {
        if (fills_all || !aliases_input(e, &actual.items[i])) {
            agree_poison(&actual.items[i]);
        }
    }
    outputs_clear(&actual);
    /* A plan that makes its outputs at the first run has none to poison yet. */
    return result == ASSAY_OUT_OF_MEMORY ? result : ASSAY_OK;
}
