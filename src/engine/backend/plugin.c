/* SPDX-License-Identifier: Apache-2.0 */
/* Plug-ins: opens a shared object and calls it, trusting nothing that it answers. */
#include "engine/backend/backend.h"

#include "base/text.h"
#include "device/process_state.h"
#include "engine/backend/plugin_program.h"

#include <dlfcn.h>
#include <inttypes.h>
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
    const assay_backend *table;
    assay_plan *theirs;
    plugin_program program;
    bool has_run;
    error unheard; /* what a caller that wants no message would have been told: a plug-in may write one unasked */
} plugin_plan;

/* --- answers ------------------------------------------------------------------------------------------------------------ */

/* A text of theirs of at most size_bytes made one line that ends: what is no printable character becomes a space. Bytes over 127 are
   left to whoever writes them. */
static void clean_text(char *said, size_t size_bytes) {
    said[size_bytes - 1] = '\0';
    for (char *c = said; *c != '\0'; c++) {
        *c = (unsigned char)*c < ' ' || *c == 0x7f ? ' ' : *c;
    }
}

/* What a call of theirs answered, as a status that there is and a message that says something. err may be NULL. */
static status answered(assay_status theirs, error *err) {
    if (theirs == ASSAY_OK) {
        return ASSAY_OK;
    }
    error said = {0};
    if (err != NULL) {
        said = *err;
        clean_text(said.message, sizeof said.message);
    }
    bool is_known = (int)theirs > ASSAY_OK && (int)theirs <= ASSAY_INTERNAL;
    status code = is_known ? theirs : ASSAY_INTERNAL;
    bool is_empty = strspn(said.message, " ") == strlen(said.message);
    if (!is_known) {
        return fail(err, code, "the plug-in answered %d, which is no status%s%s", (int)theirs, is_empty ? "" : ": ", said.message);
    }
    return fail(err, code, "%s", is_empty ? assay_status_text(code) : said.message);
}

/* The same of a call that had an error of its own to fill in. */
static status answered_as(assay_status theirs, error *said, error *err) {
    status result = answered(theirs, said);
    if (result != ASSAY_OK && err != NULL) {
        *err = *said;
    }
    return result;
}

/* --- plans -------------------------------------------------------------------------------------------------------------- */

static status run(plan *base, error *err) {
    plugin_plan *p = (plugin_plan *)base;
    error *told = err != NULL ? err : &p->unheard;
    p->has_run = true;
    assay_status theirs = p->table->run(p->theirs, told);
    return theirs == ASSAY_OK ? ASSAY_OK : answered(theirs, told);
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
    if (v->sizes == NULL && v->ndim > 0) {
        return fail(err, ASSAY_INVALID, "the plug-in describes an output of %d dimensions without their sizes", (int)v->ndim);
    }
    tensor t;
    TRY(tensor_init_strided(&t, (dtype)v->dtype, v->ndim, v->sizes, v->strides, err));
    if (v->data == NULL && tensor_numel(&t) > 0) {
        return fail(err, ASSAY_INVALID, "the plug-in describes an output of %" PRId64 " elements without memory", tensor_numel(&t));
    }
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
    const outputs *own = &p->program.own;
    if (i < 0 || i >= own->n) {
        return fail(err, ASSAY_INVALID, "expected an output from 0 to %d, got %d", own->n - 1, i);
    }
    if (p->table->output == NULL) {
        tensor_share(out, &own->items[i]);
        return ASSAY_OK;
    }
    if (!p->has_run) {
        return fail(err, ASSAY_NOT_FOUND, "a plug-in that makes its outputs has none before its first run");
    }
    assay_tensor_view view = {0};
    error said = {0};
    const process_state ours = process_state_read();
    assay_status theirs = p->table->output(p->theirs, i, &view, &said);
    process_state_restore(&ours);
    TRY(answered_as(theirs, &said, err));
    return tensor_of_view(&view, out, err);
}

static status is_whole(plan *base, error *err) {
    return plugin_program_is_whole(&((plugin_plan *)base)->program, err);
}

static void release(plan *base) {
    plugin_plan *p = (plugin_plan *)base;
    if (p->theirs != NULL) {
        const process_state ours = process_state_read();
        p->table->release(p->theirs);
        process_state_restore(&ours);
    }
    plugin_program_clear(&p->program);
    free(p);
}

static status prepare_plan(plugin_backend *b, plugin_plan *p, const graph *g, error *err) {
    assay_plan_facts facts = {0};
    error said = {0};
    TRY(plugin_program_make(&p->program, g, b->table->output == NULL, err));
    assay_plan *theirs = NULL;
    const process_state ours = process_state_read();
    assay_status prepared = b->table->prepare(b->table->state, &p->program.lent, &theirs, &facts, &said);
    process_state_restore(&ours);
    TRY(answered_as(prepared, &said, err));
    p->theirs = theirs;
    if (facts.precision > ASSAY_NARROW_SUMS) {
        return fail(err, ASSAY_INVALID, "the plug-in says that it computes in precision %d, expected one from 0 to %d", (int)facts.precision,
                    (int)ASSAY_NARROW_SUMS);
    }
    if (facts.note != NULL) {
        size_t length = strnlen(facts.note, ASSAY_ERROR_MESSAGE_BYTES);
        char *note = arena_text(&p->program.memory, facts.note, length);
        if (note == NULL) {
            return fail(err, ASSAY_OUT_OF_MEMORY, "no memory for a plan's note");
        }
        clean_text(note, length + 1);
        p->base.note = note;
    }
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
    p->base = (plan){.run = run, .output = output, .release = release, .is_whole = is_whole, .makes_outputs = b->table->output != NULL};
    p->table = b->table;
    status result = prepare_plan(b, p, g, err);
    if (result != ASSAY_OK) {
        release(&p->base);
        return result;
    }
    *out = &p->base;
    return ASSAY_OK;
}

static status covers(backend *base, const op *o, error *err) {
    plugin_backend *b = (plugin_backend *)base;
    error said = {0};
    return b->table->covers != NULL ? answered_as(b->table->covers(b->table->state, o->signature.full, &said), &said, err) : ASSAY_OK;
}

/* --- opening ------------------------------------------------------------------------------------------------------------ */

static void close_plugin(backend *base) {
    plugin_backend *b = (plugin_backend *)base;
    if (b->table != NULL && b->table->close != NULL) {
        const process_state ours = process_state_read();
        b->table->close(b->table->state);
        process_state_restore(&ours);
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
    bool takes = b->table->size_bytes >= offsetof(assay_backend, set_options) + sizeof b->table->set_options && b->table->set_options != NULL;
    if (!takes) {
        return fail(err, ASSAY_INVALID, "%s takes no options, got '%.200s'", b->table->name, options);
    }
    error said = {0};
    TRY(answered_as(b->table->set_options(b->table->state, options, &said), &said, err));
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
    const int threads = omp_get_max_threads(); /* before anything of theirs runs */
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
        clean_text(refusal.message, sizeof refusal.message);
        return fail(err, ASSAY_UNSUPPORTED, "%s: refused: %s", path, refusal.message);
    }
    TRY(check_table(path, table, err));
    b->table = table;
    TRY(set_options(b, options, err));
    error said = {0};
    return table->configure != NULL ? answered_as(table->configure(table->state, threads, &said), &said, err) : ASSAY_OK;
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
    const process_state ours = process_state_read(); /* loading changes it as well: -ffast-math has subnormals flushed from then on */
    status result = file != NULL ? open_table(b, file, path[length] == ':' ? path + length + 1 : "", err)
                                 : fail(err, ASSAY_OUT_OF_MEMORY, "no memory for a plug-in");
    process_state_restore(&ours);
    free(file);
    if (result != ASSAY_OK) {
        close_plugin(&b->base);
        return result;
    }
    b->base = (backend){.name = b->name != NULL ? b->name : b->table->name,
                        .doc = b->table->doc != NULL ? b->table->doc : "a plug-in",
                        .is_plugin = true,
                        .prepare = prepare,
                        .covers = covers,
                        .close = close_plugin};
    *out = &b->base;
    return ASSAY_OK;
}
