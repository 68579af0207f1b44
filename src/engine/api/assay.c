/* SPDX-License-Identifier: Apache-2.0 */
/* The public C API: sessions, tensors, and the short path from a call to its kernel: no locks, no look-ups by name, no
   allocation but the outputs. */
#include "assay/assay.h"

#include "engine/api/quick.h"
#include "engine/api/session.h"
#include "engine/kernels/kernel.h"
#include "engine/schema/op.h"

#include <omp.h>
#include <stdlib.h>
#include <string.h>

struct assay_session {
    op_table *table;
    kernel_index *kernels;
    quick_calls quick;
    const observer *watch; /* NULL: nobody */
    int n_threads;         /* of each call; 0: as many as OpenMP gives the calling thread */
};

struct assay_op {
    op o; /* never made: a pointer to one is a pointer into the table */
};

assay_status assay_session_new(assay_session **out, assay_error *err) {
    assay_session *session = calloc(1, sizeof *session);
    if (session == NULL) {
        return fail(err, ASSAY_OUT_OF_MEMORY, "no memory for a session");
    }
    status result = op_table_new(&session->table, err);
    if (result == ASSAY_OK) {
        result = kernel_index_new(session->table, &session->kernels, err);
    }
    if (result == ASSAY_OK) {
        result = quick_init(&session->quick, op_table_size(session->table), err);
    }
    if (result != ASSAY_OK) {
        assay_session_free(session);
        return result;
    }
    *out = session;
    return ASSAY_OK;
}

void assay_session_free(assay_session *session) {
    if (session != NULL) {
        quick_clear(&session->quick);
        kernel_index_free(session->kernels);
        op_table_free(session->table);
        free(session);
    }
}

assay_status assay_session_set_threads(assay_session *session, int n_threads, assay_error *err) {
    if (n_threads < 1) {
        return fail(err, ASSAY_INVALID, "expected at least 1 thread, got %d", n_threads);
    }
    session->n_threads = n_threads;
    return ASSAY_OK;
}

/* OpenMP's number of threads is the calling thread's own: a call sets the session's and puts back what was there. */
static int swap_threads(int n_threads) {
    int before = omp_get_max_threads();
    if (n_threads != before) {
        omp_set_num_threads(n_threads);
    }
    return before;
}

const observer *session_observer(const assay_session *session) {
    return session->watch;
}

void session_observe(assay_session *session, const observer *watch) {
    session->watch = watch;
}

/* --- tensors ---------------------------------------------------------------------------------------------------------------- */

assay_status assay_tensor_new(assay_dtype t, int ndim, const int64_t *sizes, const int64_t *strides, assay_tensor **out,
                              assay_error *err) {
    if ((unsigned)t >= ASSAY_DTYPE_COUNT) {
        return fail(err, ASSAY_INVALID, "expected a dtype from 0 to %d, got %d", ASSAY_DTYPE_COUNT - 1, (int)t);
    }
    assay_tensor *made = malloc(sizeof *made);
    if (made == NULL) {
        return fail(err, ASSAY_OUT_OF_MEMORY, "no memory for a tensor");
    }
    status result = strides == NULL ? tensor_init(&made->t, t, ndim, sizes, err)
                                    : tensor_init_strided(&made->t, t, ndim, sizes, strides, err);
    if (result == ASSAY_OK) {
        result = tensor_allocate(&made->t, &device_cpu, err);
    }
    if (result != ASSAY_OK) {
        free(made);
        return result;
    }
    made->form = quick_form(&made->t);
    made->is_in_storage = false;
    *out = made;
    return ASSAY_OK;
}

void assay_tensor_free(assay_tensor *t) {
    if (t != NULL) {
        bool goes_with_storage = t->is_in_storage;
        tensor_clear(&t->t);
        if (!goes_with_storage) {
            free(t);
        }
    }
}

assay_dtype assay_tensor_dtype(const assay_tensor *t) {
    return t->t.dtype;
}

int assay_tensor_ndim(const assay_tensor *t) {
    return t->t.ndim;
}

const int64_t *assay_tensor_sizes(const assay_tensor *t) {
    return t->t.sizes;
}

const int64_t *assay_tensor_strides(const assay_tensor *t) {
    return t->t.strides;
}

void *assay_tensor_data(const assay_tensor *t) {
    return tensor_data(&t->t);
}

/* --- calls ------------------------------------------------------------------------------------------------------------------ */

assay_status assay_op_find(const assay_session *session, const char *name, const assay_op **out, assay_error *err) {
    const op *found = op_table_find(session->table, name);
    if (found == NULL) {
        const char *near = op_table_nearest(session->table, name);
        return fail(err, ASSAY_NOT_FOUND, "no operator is called '%s'%s%s%s", name, near != NULL ? "; did you mean '" : "",
                    near != NULL ? near : "", near != NULL ? "'?" : "");
    }
    *out = (const assay_op *)found;
    return ASSAY_OK;
}

const char *assay_op_signature(const assay_op *o) {
    return ((const op *)o)->signature.text;
}

enum { MAX_NUMBER_TENSORS = 4, MAX_LIST_TENSORS = 256 };

/* What a call's arguments need besides the caller's values. */
typedef struct call_space {
    arg args[SIGNATURE_MAX_PARAMS];
    int n_numbers;
    tensor numbers[MAX_NUMBER_TENSORS]; /* Python numbers given for tensors */
    int n_items;
    tensor **items; /* tensors of lists; made when there is a list */
} call_space;

static status wrong_kind(const op *o, const param *p, error *err) {
    char type[32];
    return fail(err, ASSAY_INVALID, "%s: argument '%s' is %s, got a value of another kind; it is %s", o->signature.full,
                p->name, param_type_text(type, p), o->signature.text);
}

/* A list of fewer than no values, or no list or text where there should be one. */
static bool is_broken(const assay_value *v) {
    switch (v->kind) {
    case ASSAY_VALUE_TENSORS:
    case ASSAY_VALUE_INTS:
    case ASSAY_VALUE_FLOATS:
    case ASSAY_VALUE_BOOLS:
        return v->n < 0 || (v->n > 0 && v->ints == NULL); /* every list is a pointer */
    case ASSAY_VALUE_STR:
        return v->str == NULL;
    default:
        return false;
    }
}

static bool number_of_value(const assay_value *v, number *out) {
    switch (v->kind) {
    case ASSAY_VALUE_INT:
        *out = number_of_int(v->i);
        return true;
    case ASSAY_VALUE_FLOAT:
        *out = number_of_double(v->f);
        return true;
    case ASSAY_VALUE_BOOL:
        *out = number_of_bool(v->b);
        return true;
    default:
        return false;
    }
}

static status take_tensors(call_space *s, const op *o, const param *p, const assay_value *v, arg *out, error *err) {
    if (s->items == NULL) {
        s->items = malloc(MAX_LIST_TENSORS * sizeof(tensor *));
    }
    if (s->items == NULL) {
        return fail(err, ASSAY_OUT_OF_MEMORY, "no memory for a list of tensors");
    }
    if (v->n > MAX_LIST_TENSORS - s->n_items) {
        return fail(err, ASSAY_TOO_LARGE, "%s: expected at most %d tensors in lists, got %d", o->signature.full,
                    MAX_LIST_TENSORS, v->n);
    }
    tensor **items = s->items + s->n_items;
    for (int k = 0; k < v->n; k++) {
        if (v->tensors[k] == NULL && !p->items_optional) {
            return wrong_kind(o, p, err);
        }
        items[k] = v->tensors[k] != NULL ? &v->tensors[k]->t : NULL;
    }
    s->n_items += v->n;
    *out = (arg){.kind = ARG_TENSORS, .n = v->n, .tensors = items};
    return ASSAY_OK;
}

/* Every kind but tensors. */
static status take_plain(call_space *s, const op *o, const param *p, const assay_value *v, arg *out, error *err) {
    static const arg_kind plain[] = {
        [ASSAY_VALUE_INT] = ARG_INT,       [ASSAY_VALUE_FLOAT] = ARG_FLOAT, [ASSAY_VALUE_BOOL] = ARG_BOOL,
        [ASSAY_VALUE_STR] = ARG_STR,       [ASSAY_VALUE_INTS] = ARG_INTS,   [ASSAY_VALUE_FLOATS] = ARG_FLOATS,
        [ASSAY_VALUE_BOOLS] = ARG_BOOLS,   [ASSAY_VALUE_DTYPE] = ARG_DTYPE,
    };
    number n;
    if (p->kind == ARG_TENSOR && number_of_value(v, &n)) {
        if (s->n_numbers == MAX_NUMBER_TENSORS) {
            return fail(err, ASSAY_TOO_LARGE, "%s: more than %d numbers in place of tensors", o->signature.full,
                        MAX_NUMBER_TENSORS);
        }
        TRY(tensor_init_number(&s->numbers[s->n_numbers], n, err));
        *out = (arg){.kind = ARG_TENSOR, .tensor = &s->numbers[s->n_numbers++]};
        return ASSAY_OK;
    }
    if (p->kind == ARG_NUMBER && number_of_value(v, &n)) {
        *out = (arg){.kind = ARG_NUMBER, .number = n};
        return ASSAY_OK;
    }
    if (p->kind == ARG_FLOAT && v->kind == ASSAY_VALUE_INT) {
        *out = (arg){.kind = ARG_FLOAT, .f = (double)v->i};
        return ASSAY_OK;
    }
    bool word = v->kind == ASSAY_VALUE_STR && p->kind >= ARG_LAYOUT && p->kind <= ARG_MEMORY_FORMAT;
    if ((size_t)v->kind >= countof(plain) || (plain[v->kind] != p->kind && !word)) {
        return wrong_kind(o, p, err);
    }
    *out = (arg){.kind = p->kind, .n = v->n, .i = v->i};
    if (v->kind == ASSAY_VALUE_BOOL) {
        out->b = v->b;
    } else if (v->kind == ASSAY_VALUE_DTYPE) {
        if ((unsigned)v->dtype >= ASSAY_DTYPE_COUNT) {
            return wrong_kind(o, p, err);
        }
        out->dtype = v->dtype;
    } else if (v->kind != ASSAY_VALUE_INT && v->kind != ASSAY_VALUE_FLOAT) {
        out->str = v->str; /* every list and text is a pointer */
    }
    return ASSAY_OK;
}

static status take_value(call_space *s, const op *o, const param *p, const assay_value *v, arg *out, error *err) {
    if (v->kind == ASSAY_VALUE_TENSOR && p->kind == ARG_TENSOR && v->tensor != NULL) {
        out->kind = ARG_TENSOR;
        out->tensor = &v->tensor->t;
        return ASSAY_OK;
    }
    if (v->kind == ASSAY_VALUE_DEFAULT && p->has_default) {
        *out = p->preset;
        return ASSAY_OK;
    }
    if (v->kind == ASSAY_VALUE_NONE && p->is_optional) {
        *out = (arg){.kind = ARG_NONE};
        return ASSAY_OK;
    }
    if (is_broken(v)) {
        return v->kind == ASSAY_VALUE_STR
                   ? fail(err, ASSAY_INVALID, "%s: argument '%s' is NULL, expected a text", o->signature.full, p->name)
                   : fail(err, ASSAY_INVALID, "%s: argument '%s' is a list of %d values%s", o->signature.full, p->name, v->n,
                          v->n > 0 ? " at NULL" : "");
    }
    if (v->kind == ASSAY_VALUE_TENSORS && p->kind == ARG_TENSORS) {
        return take_tensors(s, o, p, v, out, err);
    }
    return take_plain(s, o, p, v, out, err);
}

static status take_values(call_space *s, const op *o, const assay_value *values, int n_values, error *err) {
    const signature *g = &o->signature;
    if (n_values < 0 || n_values > g->n_params) {
        return fail(err, ASSAY_INVALID, "%s: expected at most %d arguments, got %d; it is %s", g->full, g->n_params, n_values,
                    g->text);
    }
    for (int i = 0; i < n_values; i++) {
        TRY(take_value(s, o, &g->params[i], &values[i], &s->args[i], err));
    }
    for (int i = n_values; i < g->n_params; i++) {
        if (!g->params[i].has_default) {
            return fail(err, ASSAY_INVALID, "%s: argument '%s' is missing; it is %s", g->full, g->params[i].name, g->text);
        }
        s->args[i] = g->params[i].preset;
    }
    return ASSAY_OK;
}

static status run_kernel(const assay_session *session, const op_call *call, outputs *out, bool *can_rebind, error *err) {
    const kernel_row *kernel = kernel_find_cpu(session->kernels, call->op);
    if (kernel == NULL) {
        return fail(err, ASSAY_UNSUPPORTED, "%s has no kernel", call->op->signature.full);
    }
    arena memory = {0};
    kernel_plan plan; /* not zeroed: its inline state is large, and prepare writes what run reads */
    plan.run = NULL;
    plan.clear = NULL;
    plan.rebind = NULL;
    plan.call = call;
    plan.out = out;
    plan.err = err;
    plan.memory = &memory;
    plan.state = NULL;
    int threads_before = session->n_threads > 0 ? swap_threads(session->n_threads) : 0;
    status result = kernel->prepare(&plan, err);
    if (result == ASSAY_OK) {
        observer_kernel_begin(session->watch, call, out);
        result = plan.run(&plan);
        observer_kernel_end(session->watch);
    }
    *can_rebind = result == ASSAY_OK && plan.rebind != NULL;
    if (plan.clear != NULL) {
        plan.clear(&plan);
    }
    arena_clear(&memory);
    if (threads_before > 0) {
        swap_threads(threads_before);
    }
    return result;
}

static status compute(const assay_session *session, const op_call *call, outputs *out, bool *can_rebind, error *err) {
    for (int i = 0; i < out->n; i++) {
        if (out->items[i].storage == NULL && out->items[i].sparse == NULL) {
            TRY(tensor_allocate_at(&out->items[i], &device_cpu, i + 1, err));
        }
    }
    return call->op->row->is_view ? ASSAY_OK : run_kernel(session, call, out, can_rebind, err);
}

enum { INLINE_HANDLES = 4 };

/* The tensors that a call hands out. They are made before anything is computed, so that what fails here has written nothing. */
typedef struct handles {
    int n;
    assay_tensor **items; /* inline_items, or of the heap */
    assay_tensor *inline_items[INLINE_HANDLES];
} handles;

static void handles_clear(handles *h) {
    for (int i = 0; i < h->n; i++) {
        free(h->items[i]);
    }
    if (h->items != h->inline_items) {
        free(h->items);
    }
}

static status handles_make(handles *h, int n, error *err) {
    h->n = 0;
    h->items = n <= INLINE_HANDLES ? h->inline_items : malloc((size_t)n * sizeof(assay_tensor *));
    while (h->items != NULL && h->n < n && (h->items[h->n] = malloc(sizeof(assay_tensor))) != NULL) {
        h->n++;
    }
    if (h->n < n) {
        handles_clear(h);
        return fail(err, ASSAY_OUT_OF_MEMORY, "no memory for outputs");
    }
    return ASSAY_OK;
}

/* Moves the outputs into their handles, and these to the caller. */
static void hand_out(handles *h, outputs *out, assay_tensor **tensors) {
    for (int i = 0; i < h->n; i++) {
        tensors[i] = h->items[i];
        tensor_move(&tensors[i]->t, &out->items[i]);
        tensors[i]->form = quick_form(&tensors[i]->t);
        tensors[i]->is_in_storage = false;
    }
    h->n = 0;
}

/* What follows when the call's outputs are known. */
static status compute_and_hand_out(assay_session *session, const op_call *call, const assay_value *values, int n_values,
                                   outputs *out, assay_tensor **tensors, int n_outputs, error *err) {
    if (n_outputs != out->n) {
        return fail(err, ASSAY_INVALID, "%s: this call has %d outputs, room was given for %d", call->op->signature.full, out->n,
                    n_outputs);
    }
    handles made;
    TRY(handles_make(&made, out->n, err));
    bool can_rebind = false;
    status result = compute(session, call, out, &can_rebind, err);
    if (can_rebind && session->watch == NULL) {
        quick_keep(&session->quick, call, kernel_find_cpu(session->kernels, call->op), values, n_values, out);
    }
    if (result == ASSAY_OK) {
        hand_out(&made, out, tensors);
        if (session->watch != NULL) {
            session->watch->call_end(session->watch->self, call, out);
        }
    }
    handles_clear(&made);
    return result;
}

static status call_plainly(assay_session *session, const op *o, const assay_value *values, int n_values,
                           assay_tensor **tensors, int n_outputs, error *err) {
    call_space space;
    outputs out;
    space.n_numbers = 0;
    space.n_items = 0;
    space.items = NULL;
    status result = take_values(&space, o, values, n_values, err);
    if (result == ASSAY_OK) {
        op_call call = {.op = o, .args = space.args};
        result = op_infer(&call, &out, err);
        if (result == ASSAY_OK) {
            result = compute_and_hand_out(session, &call, values, n_values, &out, tensors, n_outputs, err);
            outputs_clear(&out);
        }
    }
    for (int i = 0; i < space.n_numbers; i++) {
        tensor_clear(&space.numbers[i]);
    }
    free(space.items);
    return result;
}

/* Out of line: nobody watches most calls. */
static __attribute__((noinline)) status call_watched(assay_session *session, const op *o, const assay_value *values,
                                                     int n_values, assay_tensor **tensors, int n_outputs, error *err) {
    const observer *watch = session->watch, *before = observer_swap(watch);
    watch->call_begin(watch->self);
    status result = call_plainly(session, o, values, n_values, tensors, n_outputs, err);
    if (result != ASSAY_OK) {
        watch->call_end(watch->self, NULL, NULL);
    }
    observer_swap(before);
    return result;
}

assay_status assay_call(assay_session *session, const assay_op *handle, const assay_value *values, int n_values,
                        assay_tensor **tensors, int n_outputs, assay_error *err) {
    const op *o = (const op *)handle;
    if (session->watch != NULL) {
        return call_watched(session, o, values, n_values, tensors, n_outputs, err);
    }
    quick_call *kept = n_outputs == 1 ? quick_find(&session->quick, o, values, n_values) : NULL;
    return kept != NULL ? quick_run(kept, tensors, err)
                        : call_plainly(session, o, values, n_values, tensors, n_outputs, err);
}
