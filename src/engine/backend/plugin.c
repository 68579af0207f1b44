/* SPDX-License-Identifier: Apache-2.0 */
/* Plug-ins: opens a shared object, translates graphs into the public ABI's plain structs, and calls it. */
#include "engine/backend/backend.h"

#include "assay/backend.h"
#include "base/text.h"

#include <dlfcn.h>
#include <omp.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

typedef struct plugin_backend {
    backend base;
    void *library;
    const assay_backend *table;
    char *name; /* with the options; NULL without any */
} plugin_backend;

typedef struct plugin_plan {
    plan base;
    arena memory;
    const assay_backend *table;
    assay_plan *theirs;
    const graph *g;
    int n_tensors;
    tensor **tensors; /* by program index */
    assay_tensor_view *views;
    outputs own; /* the graph's outputs, with memory */
    assay_program program; /* lent for as long as the plan lives */
} plugin_plan;

/* --- translation ------------------------------------------------------------------------------------------------------ */

static void fill_view(assay_tensor_view *v, const tensor *t) {
    *v = (assay_tensor_view){.data = tensor_data(t),
                             .sizes = t->sizes,
                             .strides = t->sparse != NULL ? NULL : t->strides,
                             .ndim = t->ndim,
                             .dtype = (int32_t)t->dtype,
                             .layout = t->sparse != NULL ? ASSAY_SPARSE_COO : ASSAY_STRIDED,
                             .is_wrapped_number = t->is_wrapped_number};
}

static status add_view(plugin_plan *p, assay_tensor_view *v, const tensor *t, error *err) {
    fill_view(v, t);
    if (t->sparse != NULL) {
        assay_tensor_view *parts = arena_make(&p->memory, 2, sizeof *parts);
        if (parts == NULL) {
            return fail(err, ASSAY_OUT_OF_MEMORY, "no memory for a plan");
        }
        fill_view(&parts[0], &t->sparse->indices);
        fill_view(&parts[1], &t->sparse->values);
        v->indices = &parts[0];
        v->values = &parts[1];
        v->is_coalesced = t->sparse->is_coalesced;
    }
    return ASSAY_OK;
}

/* An output of the graph is the one that this plan has memory for. */
static tensor *own_of(plugin_plan *p, tensor *t) {
    for (int i = 0; i < p->own.n; i++) {
        if (p->g->outputs[i] == t) {
            return &p->own.items[i];
        }
    }
    return t;
}

static int32_t index_of(const plugin_plan *p, const tensor *t) {
    for (int i = 0; i < p->n_tensors; i++) {
        if (p->tensors[i] == t) {
            return i;
        }
    }
    return -1;
}

static void add_tensor(plugin_plan *p, tensor *t) {
    tensor *own = own_of(p, t);
    if (own != NULL && index_of(p, own) < 0) {
        p->tensors[p->n_tensors++] = own;
    }
}

static size_t count_tensors(const graph *g) {
    size_t n = 0;
    for (int i = 0; i < g->n_nodes; i++) {
        n += (size_t)call_all_tensors(&g->nodes[i].call, NULL, 0) + (size_t)g->nodes[i].out->n;
    }
    return n;
}

static void collect_tensors(plugin_plan *p) {
    for (int i = 0; i < p->g->n_nodes; i++) {
        const graph_node *node = &p->g->nodes[i];
        for (int a = 0; a < node->call.op->signature.n_params; a++) {
            const arg *argument = &node->call.args[a];
            if (argument->kind == ARG_TENSOR) {
                add_tensor(p, argument->tensor);
            }
            for (int k = 0; argument->kind == ARG_TENSORS && k < argument->n; k++) {
                add_tensor(p, argument->tensors[k]);
            }
        }
        for (int k = 0; k < node->out->n; k++) {
            add_tensor(p, &node->out->items[k]);
        }
    }
}

static status translate_tensors_of(plugin_plan *p, const arg *from, assay_argument *to, error *err) {
    int n = from->kind == ARG_TENSOR ? 1 : from->n;
    int32_t *indices = arena_make(&p->memory, (size_t)n, sizeof *indices);
    if (indices == NULL) {
        return fail(err, ASSAY_OUT_OF_MEMORY, "no memory for a plan");
    }
    for (int k = 0; k < n; k++) {
        tensor *t = from->kind == ARG_TENSOR ? from->tensor : from->tensors[k];
        indices[k] = t != NULL ? index_of(p, own_of(p, t)) : -1;
    }
    to->n = n;
    to->tensors = indices;
    return ASSAY_OK;
}

/* The internal kinds and the ABI's are two lists on purpose: the ABI's numbers never change. */
static const int32_t abi_kinds[] = {
    [ARG_NONE] = ASSAY_ARG_NONE,       [ARG_TENSOR] = ASSAY_ARG_TENSOR,
    [ARG_TENSORS] = ASSAY_ARG_TENSORS, [ARG_NUMBER] = ASSAY_ARG_NUMBER,
    [ARG_INT] = ASSAY_ARG_INT,         [ARG_FLOAT] = ASSAY_ARG_FLOAT,
    [ARG_BOOL] = ASSAY_ARG_BOOL,       [ARG_STR] = ASSAY_ARG_STR,
    [ARG_INTS] = ASSAY_ARG_INTS,       [ARG_FLOATS] = ASSAY_ARG_FLOATS,
    [ARG_BOOLS] = ASSAY_ARG_BOOLS,     [ARG_DTYPE] = ASSAY_ARG_DTYPE,
    [ARG_LAYOUT] = ASSAY_ARG_LAYOUT,   [ARG_DEVICE] = ASSAY_ARG_DEVICE,
    [ARG_MEMORY_FORMAT] = ASSAY_ARG_MEMORY_FORMAT, [ARG_GENERATOR] = ASSAY_ARG_GENERATOR,
};

static status translate_argument(plugin_plan *p, const arg *from, assay_argument *to, error *err) {
    *to = (assay_argument){.kind = abi_kinds[from->kind], .n = from->n};
    switch (from->kind) {
    case ARG_TENSOR:
    case ARG_TENSORS:
        return translate_tensors_of(p, from, to, err);
    case ARG_NUMBER:
        to->number_category = (int32_t)from->number.category;
        to->i = from->number.i;
        to->f = from->number.f;
        to->imaginary = from->number.im;
        break;
    case ARG_INT:
        to->i = from->i;
        break;
    case ARG_BOOL:
        to->i = from->b;
        break;
    case ARG_DTYPE:
        to->i = (int64_t)from->dtype;
        break;
    case ARG_FLOAT:
        to->f = from->f;
        break;
    case ARG_INTS:
        to->ints = from->ints;
        break;
    case ARG_FLOATS:
        to->floats = from->floats;
        break;
    case ARG_BOOLS:
        to->bools = from->bools;
        break;
    case ARG_STR:
    case ARG_LAYOUT:
    case ARG_DEVICE:
    case ARG_MEMORY_FORMAT:
        to->str = from->str;
        break;
    case ARG_NONE:
    case ARG_GENERATOR:
        break;
    }
    return ASSAY_OK;
}

static status translate_node(plugin_plan *p, int i, assay_node *to, error *err) {
    const graph_node *from = &p->g->nodes[i];
    const signature *s = &from->call.op->signature;
    assay_argument *arguments = arena_make(&p->memory, (size_t)s->n_params, sizeof *arguments);
    int32_t *outs = arena_make(&p->memory, (size_t)from->out->n, sizeof *outs);
    if (arguments == NULL || outs == NULL) {
        return fail(err, ASSAY_OUT_OF_MEMORY, "no memory for a plan");
    }
    for (int a = 0; a < s->n_params; a++) {
        TRY(translate_argument(p, &from->call.args[a], &arguments[a], err));
    }
    for (int k = 0; k < from->out->n; k++) {
        outs[k] = index_of(p, own_of(p, &from->out->items[k]));
    }
    *to = (assay_node){.op = s->full,
                       .signature = s->text,
                       .n_arguments = s->n_params,
                       .n_outputs = from->out->n,
                       .arguments = arguments,
                       .outputs = outs,
                       .seed = from->call.seed,
                       .is_view = from->call.op->row->is_view,
                       .is_in_place = from->call.op->in_place};
    return ASSAY_OK;
}

static status translate(plugin_plan *p, assay_program *out, error *err) {
    size_t n = count_tensors(p->g);
    p->tensors = arena_make(&p->memory, n, sizeof(tensor *));
    p->views = arena_make(&p->memory, n, sizeof *p->views);
    assay_node *nodes = arena_make(&p->memory, (size_t)p->g->n_nodes, sizeof *nodes);
    if (p->tensors == NULL || p->views == NULL || nodes == NULL) {
        return fail(err, ASSAY_OUT_OF_MEMORY, "no memory for a plan");
    }
    collect_tensors(p);
    for (int i = 0; i < p->n_tensors; i++) {
        TRY(add_view(p, &p->views[i], p->tensors[i], err));
    }
    for (int i = 0; i < p->g->n_nodes; i++) {
        TRY(translate_node(p, i, &nodes[i], err));
    }
    int32_t *outs = arena_make(&p->memory, (size_t)p->own.n, sizeof *outs);
    if (outs == NULL) {
        return fail(err, ASSAY_OUT_OF_MEMORY, "no memory for a plan");
    }
    for (int i = 0; i < p->own.n; i++) {
        outs[i] = index_of(p, &p->own.items[i]);
    }
    *out = (assay_program){.tensors = p->views,
                           .nodes = nodes,
                           .outputs = outs,
                           .n_tensors = p->n_tensors,
                           .n_nodes = p->g->n_nodes,
                           .n_outputs = p->own.n};
    return ASSAY_OK;
}

/* --- plans -------------------------------------------------------------------------------------------------------------- */

static status run(plan *base, error *err) {
    plugin_plan *p = (plugin_plan *)base;
    return p->table->run(p->theirs, err);
}

/* A tensor over memory that the plug-in keeps: the storage frees nothing. */
static void *borrow_nothing(const device *d, size_t size_bytes, int place) {
    (void)d;
    (void)size_bytes;
    (void)place;
    return NULL;
}

static void free_nothing(const device *d, void *memory, size_t size_bytes) {
    (void)d;
    (void)memory;
    (void)size_bytes;
}

static const device device_borrowed = {
    .name = "cpu", .doc = "a plug-in's memory", .has_memory = true, .alloc = borrow_nothing, .free = free_nothing};

static status strided_of_view(const assay_tensor_view *v, tensor *out, error *err) {
    if (v->dtype < 0 || v->dtype >= ASSAY_DTYPE_COUNT || v->layout != ASSAY_STRIDED || v->strides == NULL) {
        return fail(err, ASSAY_INVALID, "the plug-in describes an output of unknown dtype %d, unknown layout %d or no strides",
                    (int)v->dtype, (int)v->layout);
    }
    tensor t;
    TRY(tensor_init_strided(&t, (dtype)v->dtype, v->ndim, v->sizes, v->strides, err));
    storage *s = malloc(sizeof *s);
    if (s == NULL) {
        return fail(err, ASSAY_OUT_OF_MEMORY, "no memory to describe an output");
    }
    *s = (storage){.refs = 1,
                   .device = &device_borrowed,
                   .data = v->data,
                   .size_bytes = (size_t)tensor_span(&t) * dtype_size(t.dtype)};
    t.storage = s;
    *out = t;
    return ASSAY_OK;
}

static status tensor_of_view(const assay_tensor_view *v, tensor *out, error *err) {
    if (v->layout != ASSAY_SPARSE_COO) {
        return strided_of_view(v, out, err);
    }
    if (v->indices == NULL || v->values == NULL) {
        return fail(err, ASSAY_INVALID, "the plug-in describes a sparse output without its indices or values");
    }
    tensor indices = {0}, values = {0};
    status result = strided_of_view(v->indices, &indices, err);
    if (result == ASSAY_OK) {
        result = strided_of_view(v->values, &values, err);
    }
    if (result == ASSAY_OK) {
        result = tensor_init_sparse(out, v->ndim, v->sizes, &indices, &values, v->is_coalesced, err);
    }
    tensor_clear(&indices);
    tensor_clear(&values);
    return result;
}

static status output(plan *base, int i, tensor *out, error *err) {
    plugin_plan *p = (plugin_plan *)base;
    if (i < 0 || i >= p->own.n) {
        return fail(err, ASSAY_INVALID, "expected an output from 0 to %d, got %d", p->own.n - 1, i);
    }
    if (p->table->output == NULL) {
        tensor_share(out, &p->own.items[i]);
        return ASSAY_OK;
    }
    assay_tensor_view view = {0};
    TRY(p->table->output(p->theirs, i, &view, err));
    return tensor_of_view(&view, out, err);
}

static void release(plan *base) {
    plugin_plan *p = (plugin_plan *)base;
    if (p->theirs != NULL) {
        p->table->release(p->theirs);
    }
    outputs_clear(&p->own);
    arena_clear(&p->memory);
    free(p);
}

static status make_outputs(plugin_plan *p, error *err) {
    if (p->g->n_nodes == 1 && p->g->n_outputs > 0 && p->g->outputs[0]->sparse != NULL) {
        return op_infer(&p->g->nodes[0].call, &p->own, err); /* indices and values that are not the graph's */
    }
    for (int i = 0; i < p->g->n_outputs; i++) {
        tensor *t = NULL;
        TRY(outputs_next(&p->own, &t, err));
        tensor_share(t, p->g->outputs[i]);
        if (p->table->output == NULL && t->storage == NULL && t->sparse == NULL) {
            TRY(tensor_allocate_at(t, &device_cpu, i + 1, err));
        }
    }
    return ASSAY_OK;
}

static status prepare_plan(plugin_backend *b, plugin_plan *p, error *err) {
    assay_plan_facts facts = {0};
    TRY(make_outputs(p, err));
    TRY(translate(p, &p->program, err));
    status result = b->table->prepare(b->table->state, &p->program, &p->theirs, &facts, err);
    if (result != ASSAY_OK) {
        p->theirs = NULL;
        return result;
    }
    p->base.note = facts.note;
    p->base.is_fallback = facts.is_fallback;
    p->base.precision = (assay_precision)facts.precision;
    return ASSAY_OK;
}

static status prepare(backend *base, const graph *g, plan **out, error *err) {
    plugin_backend *b = (plugin_backend *)base;
    plugin_plan *p = calloc(1, sizeof *p);
    if (p == NULL) {
        return fail(err, ASSAY_OUT_OF_MEMORY, "no memory for a plan");
    }
    p->base = (plan){.run = run, .output = output, .release = release};
    p->table = b->table;
    p->g = g;
    outputs_init(&p->own);
    status result = prepare_plan(b, p, err);
    if (result != ASSAY_OK) {
        release(&p->base);
        return result;
    }
    *out = &p->base;
    return ASSAY_OK;
}

static status covers(backend *base, const op *o, error *err) {
    plugin_backend *b = (plugin_backend *)base;
    return b->table->covers != NULL ? b->table->covers(b->table->state, o->signature.full, err) : ASSAY_OK;
}

/* --- opening ------------------------------------------------------------------------------------------------------------ */

static void close_plugin(backend *base) {
    plugin_backend *b = (plugin_backend *)base;
    if (b->table != NULL && b->table->close != NULL) {
        b->table->close(b->table->state);
    }
    /* The library stays mapped: it may have left threads or exit handlers behind, and the process ends soon. */
    free(b->name);
    free(b);
}

static status check_table(const char *path, const assay_backend *table, error *err) {
    if (table->abi != ASSAY_BACKEND_ABI) {
        return fail(err, ASSAY_UNSUPPORTED, "%s: built for version %u of the plug-in ABI, this assay speaks %u; rebuild it",
                    path, table->abi, ASSAY_BACKEND_ABI);
    }
    if (table->size_bytes < offsetof(assay_backend, set_options) || table->prepare == NULL || table->run == NULL ||
        table->release == NULL || table->name == NULL || table->name[0] == '\0') {
        return fail(err, ASSAY_INVALID, "%s: its table lacks a name, prepare, run or release, or is shorter than %zu bytes",
                    path, offsetof(assay_backend, set_options));
    }
    if (strspn(table->name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_") != strlen(table->name)) {
        return fail(err, ASSAY_INVALID, "%s: expected a name of letters, digits, '-' and '_', got '%.64s'", path,
                    table->name);
    }
    return ASSAY_OK;
}

static status set_options(plugin_backend *b, const char *options, error *err) {
    if (options[0] == '\0') {
        return ASSAY_OK;
    }
    bool takes = b->table->size_bytes >= sizeof *b->table && b->table->set_options != NULL;
    if (!takes) {
        return fail(err, ASSAY_INVALID, "%s takes no options, got '%.200s'", b->table->name, options);
    }
    TRY(b->table->set_options(b->table->state, options, err));
    text name = {0};
    text_addf(&name, "%s:%s", b->table->name, options);
    if (name.failed) {
        text_clear(&name);
        return fail(err, ASSAY_OUT_OF_MEMORY, "no memory for a plug-in's name");
    }
    b->name = name.data;
    return ASSAY_OK;
}

static status open_table(plugin_backend *b, const char *path, const char *options, error *err) {
    /* RTLD_LOCAL: a plug-in's libraries (another oneDNN, another OpenMP) stay out of ours. */
    b->library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (b->library == NULL) {
        return fail(err, ASSAY_NOT_FOUND, "plug-in cannot be opened: %s", dlerror());
    }
    assay_backend_entry_fn *entry;
    void *symbol = dlsym(b->library, ASSAY_BACKEND_ENTRY);
    if (symbol == NULL) {
        return fail(err, ASSAY_INVALID, "%s: no plug-in of assay: it does not export %s", path, ASSAY_BACKEND_ENTRY);
    }
    memcpy(&entry, &symbol, sizeof entry); /* POSIX: an object pointer from dlsym is a function */
    error refusal = {.message = "it gives no reason"};
    const assay_backend *table = entry(ASSAY_BACKEND_ABI, &refusal);
    if (table == NULL) {
        return fail(err, ASSAY_UNSUPPORTED, "%s: refused: %s", path, refusal.message);
    }
    TRY(check_table(path, table, err));
    b->table = table;
    TRY(set_options(b, options, err));
    return table->configure != NULL ? table->configure(table->state, omp_get_max_threads(), err) : ASSAY_OK;
}

status backend_plugin_open(const char *path, backend **out, error *err) {
    plugin_backend *b = calloc(1, sizeof *b);
    if (b == NULL) {
        return fail(err, ASSAY_OUT_OF_MEMORY, "no memory for a plug-in");
    }
    /* "LIB.so:OPTIONS"; a ':' elsewhere in the path is its own. */
    const char *end = strstr(path, ".so:");
    size_t length = end != NULL ? (size_t)(end - path) + strlen(".so") : strlen(path);
    char *file = strndup(path, length);
    status result = file != NULL ? open_table(b, file, path[length] == ':' ? path + length + 1 : "", err)
                                 : fail(err, ASSAY_OUT_OF_MEMORY, "no memory for a plug-in");
    free(file);
    if (result != ASSAY_OK) {
        close_plugin(&b->base);
        return result;
    }
    b->base = (backend){.name = b->name != NULL ? b->name : b->table->name,
                        .doc = b->table->doc != NULL ? b->table->doc : "a plug-in",
                        .prepare = prepare,
                        .covers = covers,
                        .close = close_plugin};
    *out = &b->base;
    return ASSAY_OK;
}
