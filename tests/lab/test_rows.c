/* SPDX-License-Identifier: Apache-2.0 */
/* Every row of the operator table, by one table-driven test: signatures, in-place variants, shapes with and without memory,
   costs, and eager kernels against references on the embedded suite's inputs in every type and layout. */
#include "unit.h"

#include "engine/backend/backend.h"
#include "engine/literal/bind.h"
#include "lab/experiment/inputs.h"
#include "lab/experiment/suites.h"
#include "lab/experiment/verify.h"

#include <stdio.h>
#include <string.h>

/* How many operators of the embedded suite eager may lack. */
enum { MOST_UNCOVERED = 0 };

/* Inputs of more elements are run in the type they are recorded in alone: the reference takes seconds for some of them.
   An operator that has no smaller one runs its smallest in every variant. */
enum { SMALL_ELEMENTS = 1 << 15 };

enum { SEED = 20260 };

typedef struct fixture {
    op_table *table;
    backend *eager;
    inputs set;
} fixture;

static int open_all(void **state) {
    static fixture f;
    const suite *embedded;
    error err = {0};
    print_message("seed %d\n", SEED);
    if (op_table_new(&f.table, &err) != ASSAY_OK || backend_eager_open(f.table, &f.eager, &err) != ASSAY_OK ||
        suites_find("embedded", &embedded, &err) != ASSAY_OK || suites_read(&f.set, embedded, NULL, &err) != ASSAY_OK) {
        print_error("%s\n", err.message);
        return 1;
    }
    *state = &f;
    return 0;
}

static int close_all(void **state) {
    fixture *f = *state;
    inputs_clear(&f->set);
    f->eager->close(f->eager);
    op_table_free(f->table);
    return 0;
}

/* --- the table ------------------------------------------------------------------------------------------------------------- */

/* Spellings from ATen's native_functions.yaml, as its parser prints them. */
static const char *const known_signatures[] = {
    "add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor",
    "add_.Tensor(Tensor(a!) self, Tensor other, *, Scalar alpha=1) -> Tensor(a!)",
    "mm(Tensor self, Tensor mat2) -> Tensor",
    "addmm(Tensor self, Tensor mat1, Tensor mat2, *, Scalar beta=1, Scalar alpha=1) -> Tensor",
    "gelu(Tensor self, *, str approximate='none') -> Tensor",
    "relu_(Tensor(a!) self) -> Tensor(a!)",
    "_softmax(Tensor self, int dim, bool half_to_float) -> Tensor",
    "bernoulli_.float(Tensor(a!) self, float p=0.5, *, Generator? generator=None) -> Tensor(a!)",
    "where.self(Tensor condition, Tensor self, Tensor other) -> Tensor",
    "index_select(Tensor self, int dim, Tensor index) -> Tensor",
};

/* The text without what ATen's own spellings vary in: alias marks, and SymInt for int. */
static void normalise(const char *from, char *out, size_t room) {
    size_t n = 0;
    while (*from != '\0' && n + 1 < room) {
        if (strncmp(from, "SymInt", 6) == 0) {
            memcpy(out + n, "int", 3);
            n += 3;
            from += 6;
        } else if (strncmp(from, "(a)", 3) == 0) {
            from += 3;
        } else {
            out[n++] = *from++;
        }
    }
    out[n] = '\0';
}

static void signatures_are_atens(void **state) {
    fixture *f = *state;
    for (size_t i = 0; i < countof(known_signatures); i++) {
        char name[64], wants[256], has[256];
        snprintf(name, sizeof name, "%.*s", (int)strcspn(known_signatures[i], "("), known_signatures[i]);
        const op *o = op_table_find(f->table, name);
        assert_non_null(o);
        normalise(known_signatures[i], wants, sizeof wants);
        normalise(o->signature.text, has, sizeof has);
        assert_string_equal(has, wants);
    }
}

/* What was parsed says the same as the text: each parameter's type and name in order, and the name that finds it. */
static void signatures_round_trip(void **state) {
    fixture *f = *state;
    for (int i = 0; i < op_table_size(f->table); i++) {
        const op *o = op_table_at(f->table, i);
        const signature *s = &o->signature;
        arena memory = {0};
        signature again;
        error err = {0};
        assert_ptr_equal(op_table_find(f->table, s->full), o);
        assert_int_equal(o->id, i);
        assert_int_equal(signature_parse(&memory, s->text, &again, &err), ASSAY_OK);
        assert_string_equal(again.full, s->full);
        assert_int_equal(again.n_params, s->n_params);
        assert_int_equal(again.n_returns, s->n_returns);
        const char *at = strchr(s->text, '(');
        for (int p = 0; p < s->n_params; p++) {
            char type[32];
            const param *a = &s->params[p], *b = &again.params[p];
            assert_string_equal(a->name, b->name);
            assert_string_equal(param_type_text(type, a), param_type_text((char[32]){0}, b));
            assert_true(a->is_written == b->is_written && a->is_keyword == b->is_keyword &&
                        a->has_default == b->has_default);
            at = strstr(at, a->name);
            assert_non_null(at);
            at += strlen(a->name);
        }
        assert_true(o->row->doc != NULL && o->row->doc[0] != '\0');
        arena_clear(&memory);
    }
}

static void in_place_variants_exist(void **state) {
    fixture *f = *state;
    int n = 0;
    for (int i = 0; i < op_table_size(f->table); i++) {
        const op *o = op_table_at(f->table, i);
        const op_row *row = o->row;
        if (o->in_place) {
            assert_true(o->signature.params[0].is_written && op_writes(o, 0));
            assert_int_equal(o->signature.n_returns, 1);
            n++;
            continue;
        }
        if ((row->family->has_in_place || row->has_in_place) && !row->no_in_place) {
            char name[160];
            snprintf(name, sizeof name, "%s_.%s", o->signature.name,
                     row->in_place_overload != NULL ? row->in_place_overload : o->signature.overload);
            const op *variant = op_table_find(f->table, name);
            assert_non_null(variant);
            assert_true(variant->in_place && variant->row == row);
        }
    }
    print_message("%d operators, %d of them in place\n", op_table_size(f->table), n);
}

static void recorded_operators_are_found(void **state) {
    fixture *f = *state;
    int missing = 0;
    for (size_t i = 0; i < f->set.n_operators; i++) {
        if (op_table_find(f->table, f->set.operators[i].recorded) == NULL) {
            print_error("no operator is called %s\n", f->set.operators[i].recorded);
            missing++;
        }
    }
    print_message("%zu recorded operators\n", f->set.n_operators);
    assert_int_equal(missing, 0);
    assert_int_equal(f->set.n_diagnostics, 0);
}

static void eager_covers_them(void **state) {
    fixture *f = *state;
    int uncovered = 0;
    for (size_t i = 0; i < f->set.n_operators; i++) {
        const op *o = op_table_find(f->table, f->set.operators[i].name);
        error err = {0};
        if (o != NULL && f->eager->covers(f->eager, o, &err) != ASSAY_OK) {
            print_message("eager lacks %s: %s\n", o->signature.full, err.message);
            uncovered++;
        }
    }
    print_message("%d operators without an eager kernel\n", uncovered);
    assert_true(uncovered <= MOST_UNCOVERED);
}

/* --- the suite's inputs ---------------------------------------------------------------------------------------------------- */

typedef enum layout { AS_RECORDED_STRIDES, GAPS, TURNED } layout;

typedef struct variant {
    const char *name; /* the options of `assay operators` that come nearest */
    bind_options bind;
    layout layout;
    bool large; /* inputs over SMALL_ELEMENTS as well */
} variant;

static const variant variants[] = {
    {"--dtype as-recorded", {.dtype = DTYPE_AS_RECORDED, .channels_last = false}, AS_RECORDED_STRIDES, true},
    {"--dtype f32", {.dtype = DTYPE_F32, .channels_last = false}, AS_RECORDED_STRIDES, false},
    {"--dtype f16", {.dtype = DTYPE_F16, .channels_last = false}, AS_RECORDED_STRIDES, false},
    {"--dtype bf16", {.dtype = DTYPE_BF16, .channels_last = false}, AS_RECORDED_STRIDES, false},
    {"--dtype f64", {.dtype = DTYPE_F64, .channels_last = false}, AS_RECORDED_STRIDES, false},
    {"--dtype f32 --channels-last", {.dtype = DTYPE_F32, .channels_last = true}, AS_RECORDED_STRIDES, false},
    {"--dtype f32 (strides doubled)", {.dtype = DTYPE_F32, .channels_last = false}, GAPS, false},
    {"--dtype f32 (dimensions turned)", {.dtype = DTYPE_F32, .channels_last = false}, TURNED, false},
    {"--dtype bf16 (dimensions turned)", {.dtype = DTYPE_BF16, .channels_last = false}, TURNED, false},
};

/* One call on one input in one variant, and what is made on the way. */
typedef struct trial {
    fixture *f;
    const variant *v;
    const op *o;
    const input *in;
    arena memory;
    bound_call bound;
    outputs out;
    plan *plan;
} trial;

static double elements_of(const bound_call *b) {
    double n = 0;
    for (int i = 0; i < b->n_tensors; i++) {
        n += (double)tensor_numel(b->tensors[i]);
    }
    return n;
}

static status lay_out(tensor *t, layout how, error *err) {
    if (how == AS_RECORDED_STRIDES || t->is_wrapped_number || t->sparse != NULL || t->ndim == 0) {
        return ASSAY_OK;
    }
    int64_t strides[TENSOR_MAX_DIMS], next = 1;
    for (int d = 0; d < t->ndim; d++) {
        strides[d] = how == GAPS ? 2 * t->strides[d] : next;
        next *= t->sizes[d] > 0 ? t->sizes[d] : 1;
    }
    tensor made;
    TRY(tensor_init_strided(&made, t->dtype, t->ndim, t->sizes, strides, err));
    *t = made; /* no memory yet: only a layout is replaced */
    return ASSAY_OK;
}

static status check_same_form(const outputs *without, const outputs *with, error *err) {
    char a[TENSOR_TEXT_BYTES], b[TENSOR_TEXT_BYTES];
    if (without->n != with->n) {
        return fail(err, ASSAY_INTERNAL, "%d outputs on meta, %d with memory", without->n, with->n);
    }
    for (int i = 0; i < with->n; i++) {
        const tensor *s = &without->items[i], *t = &with->items[i];
        if (s->dtype != t->dtype || !tensor_same_sizes(s, t) || (t->sparse == NULL && !tensor_same_strides(s, t))) {
            return fail(err, ASSAY_INTERNAL, "output %d is %.200s on meta, %.200s with memory", i, tensor_describe(a, s),
                        tensor_describe(b, t));
        }
    }
    return ASSAY_OK;
}

/* Shapes without memory, then with it: the same, unless they depend on values. */
static status infer_twice(trial *t, error *err) {
    outputs meta;
    outputs_init(&meta);
    status without = op_infer(&t->bound.call, &meta, err);
    if (without != ASSAY_OK && without != ASSAY_UNSUPPORTED) {
        return without;
    }
    status result = bound_allocate(&t->bound, &device_cpu, err);
    t->bound.call.seed = SEED;
    result = result == ASSAY_OK ? op_fill_inputs(&t->bound.call, SEED, err) : result;
    result = result == ASSAY_OK ? op_infer(&t->bound.call, &t->out, err) : result;
    if (result == ASSAY_OK && without == ASSAY_OK) {
        result = check_same_form(&meta, &t->out, err);
    }
    outputs_clear(&meta);
    return result;
}

/* What is written is in the bytes. An in-place operator may write a part of its output alone (index_put_). */
static status check_cost(const trial *t, error *err) {
    op_cost cost;
    double written = 0;
    op_cost_of(&t->bound.call, &t->out, &cost);
    for (int i = 0; i < t->out.n && !t->o->row->is_view && !t->o->in_place; i++) {
        written += t->out.items[i].sparse == NULL ? tensor_bytes(&t->out.items[i]) : 0;
    }
    bool undefined = strncmp(t->o->signature.name, "empty", 5) == 0 || strncmp(t->o->signature.name, "new_empty", 9) == 0;
    if (!(cost.flops >= 0 && cost.bytes >= 0 && cost.reduction >= 1) || (!undefined && cost.bytes < written)) {
        return fail(err, ASSAY_INTERNAL, "it costs %g flops, %g bytes, sums of %g; the outputs alone are %g bytes", cost.flops,
                    cost.bytes, cost.reduction, written);
    }
    return ASSAY_OK;
}

static status run_eager(trial *t, error *err) {
    graph g;
    expectation expected;
    record_error_stats stats;
    TRY(graph_of_call(&t->memory, &t->bound.call, &t->out, &g, err));
    TRY(expectation_make(&t->memory, &t->bound.call, &t->out, SEED, &expected, err));
    TRY(t->f->eager->prepare(t->f->eager, &g, &t->plan, err));
    TRY(expectation_poison(&expected, t->plan, err));
    TRY(t->plan->run(t->plan, err));
    bool differs;
    return expectation_check(&expected, t->plan, &stats, &differs, err);
}

static status bind_trial(trial *t, error *err) {
    TRY(bind_call(&t->memory, t->o, t->in->args, t->in->kwargs, &t->v->bind, &t->bound, err));
    for (int i = 0; i < t->bound.n_tensors; i++) {
        TRY(lay_out(t->bound.tensors[i], t->v->layout, err));
    }
    return ASSAY_OK;
}

static status run_trial(trial *t, error *err) {
    TRY(infer_twice(t, err));
    TRY(check_cost(t, err));
    error reason = {0};
    return t->f->eager->covers(t->f->eager, t->o, &reason) == ASSAY_OK ? run_eager(t, err) : ASSAY_OK;
}

static void clear_trial(trial *t) {
    if (t->plan != NULL) {
        t->plan->release(t->plan);
    }
    outputs_clear(&t->out);
    bound_clear(&t->bound);
    arena_clear(&t->memory);
}

typedef struct tally {
    int ran, left_out, refused, failed;
} tally;

static double size_of_input(fixture *f, const op *o, const input *in) {
    arena memory = {0};
    bound_call bound;
    const bind_options as_recorded = {.dtype = DTYPE_AS_RECORDED, .channels_last = false};
    double n = 0;
    if (bind_call(&memory, o, in->args, in->kwargs, &as_recorded, &bound, NULL) == ASSAY_OK) {
        n = elements_of(&bound);
        bound_clear(&bound);
    }
    arena_clear(&memory);
    (void)f;
    return n;
}

static void try_input(fixture *f, const variant *v, const inputs_operator *recorded, size_t k, tally *count) {
    trial t = {.f = f, .v = v, .o = op_table_find(f->table, recorded->name), .in = recorded->items[k]};
    error err = {0};
    outputs_init(&t.out);
    status result = bind_trial(&t, &err);
    bool bound = result == ASSAY_OK;
    result = bound ? run_trial(&t, &err) : result;
    /* A view may well be impossible in another layout, and a type may be none of an operator's. */
    bool may_refuse = result == ASSAY_UNSUPPORTED || (result == ASSAY_INVALID && t.o->row->is_view && v->layout == TURNED);
    count->ran += result == ASSAY_OK;
    if (result != ASSAY_OK && may_refuse && strcmp(v->name, variants[0].name) != 0) {
        count->refused++;
    } else if (result != ASSAY_OK) {
        count->failed++;
        print_error("%s\n    %s\n    assay operators --suite embedded --op %s --start-idx %zu --max-samples 1 --seed %d %s\n",
                    err.message, t.in->text, recorded->name, k, SEED, v->name);
    }
    if (bound) {
        clear_trial(&t);
    } else {
        arena_clear(&t.memory);
    }
}

static void try_variant(fixture *f, const variant *v, tally *count) {
    for (size_t i = 0; i < f->set.n_operators; i++) {
        const inputs_operator *recorded = &f->set.operators[i];
        const op *o = op_table_find(f->table, recorded->name);
        size_t smallest = 0;
        double least = 0;
        for (size_t k = 0; o != NULL && k < recorded->n_items; k++) {
            double n = size_of_input(f, o, recorded->items[k]);
            smallest = k == 0 || n < least ? k : smallest;
            least = k == 0 || n < least ? n : least;
        }
        for (size_t k = 0; o != NULL && k < recorded->n_items; k++) {
            bool wanted = v->large || k == smallest || size_of_input(f, o, recorded->items[k]) <= SMALL_ELEMENTS;
            if (wanted) {
                try_input(f, v, recorded, k, count);
            } else {
                count->left_out++;
            }
        }
    }
}

static void kernels_agree_with_references(void **state) {
    fixture *f = *state;
    int failed = 0;
    for (size_t i = 0; i < countof(variants); i++) {
        tally count = {0};
        try_variant(f, &variants[i], &count);
        print_message("%-34s %d agree, %d refused, %d left out for their size, %d fail\n", variants[i].name, count.ran,
                      count.refused, count.left_out, count.failed);
        failed += count.failed;
    }
    assert_int_equal(failed, 0);
}

/* Infers the input with argument i's elements of one dimension laid in one place. False: it has none to lay so. */
static bool infers_on_itself(fixture *f, const inputs_operator *recorded, size_t k, int i, status *result, error *err) {
    trial t = {.f = f, .v = &variants[0], .o = op_table_find(f->table, recorded->name), .in = recorded->items[k]};
    bool tried = false;
    if (bind_trial(&t, err) == ASSAY_OK) {
        tensor *written = t.bound.call.args[i].kind == ARG_TENSOR ? t.bound.call.args[i].tensor : NULL;
        for (int d = 0; written != NULL && tensor_numel(written) > 1 && !tried && d < written->ndim; d++) {
            tried = written->sizes[d] > 1;
            written->strides[d] = tried ? 0 : written->strides[d];
        }
        *result = tried ? op_infer(&t.bound.call, &t.out, err) : ASSAY_OK;
        clear_trial(&t);
    } else {
        arena_clear(&t.memory);
    }
    return tried;
}

/* What an in-place operator writes has no two elements in one place; only what one number fills may. */
static void nothing_is_written_onto_itself(void **state) {
    fixture *f = *state;
    int refused = 0;
    for (size_t k = 0; k < f->set.n_operators; k++) {
        const inputs_operator *recorded = &f->set.operators[k];
        const op *o = op_table_find(f->table, recorded->name);
        for (int i = 0; o != NULL && o->in_place && !o->row->is_view && i < o->signature.n_params; i++) {
            status result;
            error err = {0};
            if (!o->signature.params[i].is_written || !infers_on_itself(f, recorded, 0, i, &result, &err)) {
                continue;
            }
            bool may = o->row->writes_one_value;
            bool told = result == ASSAY_INVALID && strstr(err.message, "lie in one place") != NULL;
            if (may ? result != ASSAY_OK : !told) {
                print_error("%s, argument %d: %s\n", o->signature.full, i, err.message);
            }
            assert_true(may ? result == ASSAY_OK : told);
            refused += told;
        }
    }
    print_message("%d written arguments refused\n", refused);
    assert_true(refused > 15);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(signatures_are_atens),         cmocka_unit_test(signatures_round_trip),
        cmocka_unit_test(in_place_variants_exist),      cmocka_unit_test(recorded_operators_are_found),
        cmocka_unit_test(eager_covers_them),            cmocka_unit_test(kernels_agree_with_references),
        cmocka_unit_test(nothing_is_written_onto_itself),
    };
    return cmocka_run_group_tests(tests, open_all, close_all);
}
