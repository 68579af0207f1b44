/* SPDX-License-Identifier: Apache-2.0 */
/* Kernels to text. A kernel is a function over tasks; a task is a row of phases, each the loops over what is reduced; the
   innermost loop runs over the lanes of one vector variable, so that any C compiler makes vector code of it. */
#include "engine/compile/emit/program.h"

#include "engine/compile/emit/abreast.h"
#include "engine/compile/emit/across.h"
#include "engine/compile/emit/blocks.h"
#include "engine/compile/emit/facts.h"
#include "engine/compile/emit/flow.h"
#include "engine/compile/emit/flow_choose.h"
#include "engine/compile/emit/frame.h"
#include "engine/compile/emit/guess.h"
#include "engine/compile/emit/halves.h"
#include "engine/compile/emit/indices.h"
#include "engine/compile/emit/joined.h"
#include "engine/compile/emit/ordered.h"
#include "engine/compile/emit/phases.h"
#include "engine/compile/emit/product.h"
#include "engine/compile/emit/saved.h"
#include "engine/compile/emit/team.h"
#include "engine/compile/emit/together.h"
#include "engine/compile/emit/twins.h"
#include "engine/compile/emit/windows.h"
#include "engine/compile/emit/writing.h"
#include "engine/compile/emit/row_ends.h"

#include <stdio.h>

static void emit_parameters(emitter *m, definition *made) {
    const kernel *k = m->k;
    for (int i = 0; i < k->n_buffers; i++) {
        const compile_buffer *b = &m->c->buffers[k->buffers[i]];
        bool written = false;
        for (int r = 0; r < k->n_roots; r++) {
            written |= k->roots[r].buffer == k->buffers[i];
        }
        char type[64];
        snprintf(type, sizeof type, "%s%s *const ", written ? "" : "const ", dialect_type(b->dtype));
        emit_define(m, &made[i], type, "b%d = buffers[%d]", k->buffers[i], i);
    }
}

/* The loops over tasks; made: room for what they define. */
static void emit_all_tasks(emitter *m, definition *made) {
    const kernel *k = m->k;
    int n = 0;
    if (m->flow != FLOW_NONE) {
        emit_flow(m);
        return;
    }
    if (k->n_tasks > 1 && !k->is_product) { /* what follows from the task's number takes no thought of its sign */
        emit_line(m, "if (first < 0) {");
        emit_line(m, "    __builtin_unreachable();");
        emit_line(m, "}");
    }
    if (m->page_tasks > 0) {
        emit_together(m);
        return;
    }
    if (m->ordered_tasks > 0) {
        emit_ordered(m, made);
        return;
    }
    if (k->is_product && k->product.has_windows) {
        emit_windows_room(m);
    } else if (k->is_product && k->product.keeps_rows) {
        emit_product_room(m);
    }
    if (k->has_frame) {
        emit_frame_room(m);
    }
    if (m->n_across > 0) {
        emit_open_bands(m);
    }
    definition room;
    emit_carried_room(m, &room);
    size_t from = m->out.length, body = 0, end;
    emit_line(m, "for (int64_t task = first; task < last; task++) {");
    m->depth++;
    if (k->is_product && k->product.has_windows) {
        emit_windows(m);
    } else if (k->is_product) {
        emit_product(m);
    } else {
        n = emit_tasks(m, made);
        body = m->out.length;
        if (k->has_frame) {
            emit_frame(m);
        } else {
            emit_phases(m);
        }
    }
    end = m->out.length;
    while (n-- > 0) { /* from the last: what only an unused line uses goes as well */
        emit_drop_unused(m, &made[n]);
    }
    const size_t dropped = end - m->out.length;
    m->depth--;
    emit_line(m, "}");
    emit_abreast(m, from, body, dropped);
    emit_drop_unused(m, &room);
    if (m->n_across > 0) {
        emit_close_bands(m);
    }
}

/* The loop over parts, whose tasks are one after the other, and the sums that these add to. */
static void emit_open_part(emitter *m) {
    const kernel *k = m->k;
    long long n = (long long)(k->n_task_items / k->column_parts);
    emit_line(m, "for (int64_t part = first_part; part < last_part; part++) {");
    m->depth++;
    emit_line(m, "const int64_t first = %lld * part, last = first + %lld;", n, n);
    for (int i = 0; i < k->n_roots; i++) {
        const root *r = &k->roots[i];
        if (r->kind == ROOT_COLUMNS) {
            emit_line(m, "for (int64_t l = 0; l < %lld; l++) {", (long long)r->limit);
            emit_line(m, "    b%d[%lld * part + l] = 0;", r->buffer, (long long)r->limit);
            emit_line(m, "}");
        }
    }
}

/* The rows at which tasks begin, where they are parts of a running sum's. */
static void emit_part_starts(emitter *m) {
    text starts = {0};
    for (int p = 0; p <= m->k->scan_parts; p++) {
        text_addf(&starts, p == 0 ? "%lld" : ", %lld", (long long)m->k->part_starts[p]);
    }
    emit_line(m, "static const int64_t parts[] = {%s};", text_get(&starts));
    m->out.failed |= starts.failed;
    text_clear(&starts);
}

static void emit_kernel(emitter *m, const char *symbol) {
    const kernel *k = m->k;
    emit_line(m, "/* %s */", k->title != NULL ? k->title : "");
    emit_line(m, k->column_parts > 0 ? "_Bool %s(void *const *buffers, int64_t first_part, int64_t last_part) {"
                                     : "_Bool %s(void *const *buffers, int64_t first, int64_t last) {",
              symbol);
    if (k->n_task_items == 0) {
        emit_line(m, "    return 1;"); /* of no elements */
        emit_line(m, "}");
        emit_line(m, "%s", "");
        return;
    }
    m->depth = 1;
    emit_choose_saved(m, EMIT_SAVED_BYTES);
    emit_choose_flow(m);
    emit_choose_quiet(m);
    emit_choose_together(m);
    emit_choose_abreast(m);
    emit_choose_ordered(m);
    if (m->flow == FLOW_NONE) {
        emit_choose_carried(m, k->n_phases > 0 && k->vector >= 0 ? emit_unaligned_root(m, k->n_phases - 1) : -1);
    }
    definition *made = arena_make(m->c->memory, (size_t)k->n_buffers + KERNEL_MAX_VARIABLES + 2, sizeof *made);
    if (made == NULL) {
        m->out.failed = true;
        return;
    }
    emit_parameters(m, made);
    size_t from = m->out.length;
    emit_declare_saved(m);
    emit_twin(m, from);
    emit_copy_abreast(m, from);
    emit_joined_room(m);
    if (m->shares) {
        emit_team(m, k->n_buffers + 1);
    }
    if (k->checks) {
        emit_line(m, "uint64_t bad = 0;");
        emit_index_tables(m);
    }
    if (k->column_parts > 0) {
        emit_open_part(m);
    }
    if (k->scan_parts > 0) {
        emit_part_starts(m);
    }
    emit_all_tasks(m, made + k->n_buffers);
    if (k->column_parts > 0) {
        m->depth--;
        emit_line(m, "}");
    }
    for (int i = k->n_buffers - 1; i >= 0; i--) {
        emit_drop_unused(m, &made[i]);
    }
    if (m->streams) {
        emit_line(m, "stream_settle();");
    }
    emit_line(m, k->checks ? "return bad == 0;" : "return 1;");
    m->depth = 0;
    emit_line(m, "}");
    emit_line(m, "%s", "");
}

/* The kernels' text behind the functions that they call. */
static char *with_prelude(compiler *c, const text *kernels, const char **body) {
    text all = {0};
    dialect_prelude(&all, text_get(kernels));
    text_add(&all, "\n");
    size_t before = all.length;
    text_add(&all, text_get(kernels));
    char *copy = all.failed ? NULL : arena_text(c->memory, all.data, all.length);
    *body = copy != NULL ? copy + before : "";
    text_clear(&all);
    return copy;
}

/* Whether loops wait for what they do rather than for memory, so that accumulators in registers are worth it: of halves, which are half
   the memory of f32 with as much to compute, and where caches hold what several phases go over. Norms, softmax and their gradients of
   bf16 past the caches take 0.66 to 0.92 of the time then, layer norm's gradient of [8, 128, 768] in f32 0.79; sums of f32 alone up to
   1.13 (two cores of a Granite Rapids, 2026-11). */
static bool waits_for_itself(const emitter *m, const kernel *k) {
    bool any = k->has_classes && k->n_phases > 1 && !m->streams;
    for (int i = 0; i < k->n_exprs && k->has_classes; i++) {
        any |= k->exprs[i].kind == EXPR_LOAD && dtype_is_floating(k->exprs[i].dtype) && dtype_size(k->exprs[i].dtype) == 2;
    }
    return any;
}

/* Compilers make no vector code of fewer lanes of halves: they are converted one by one. Sums over the second of [64, 512, 7] in f16 take 0.3
   of the time so, of [64, 512, 12] 0.28 (two cores of a Zen 4, 2026-11). */
enum { LEAST_VECTOR = 16 };

/* Readies the emitter for a kernel; false when memory is out. */
static bool begin(emitter *m, const kernel *k) {
    size_t n = (size_t)k->n_exprs + 1 + EMIT_MORE_EXPRS;
    m->k = k;
    m->never = -1;
    m->known = 0;
    m->rows = k->is_product || (k->vector >= 0 && !k->variables[k->vector].is_reduced);
    emit_choose_across(m);
    k = m->k;
    m->named = arena_make(m->c->memory, n, 1);
    m->kept = arena_make(m->c->memory, n, 1);
    m->wanted = arena_make(m->c->memory, n, 1);
    m->widened = arena_make(m->c->memory, n, 1);
    m->turned = arena_make(m->c->memory, n, 1);
    m->gathered = arena_make(m->c->memory, n, 1);
    m->tabled = arena_make(m->c->memory, n, 1);
    m->looked = arena_make(m->c->memory, n, 1);
    m->places = arena_make(m->c->memory, n, sizeof *m->places);
    m->operands = arena_make(m->c->memory, n, 1);
    m->follows = arena_make(m->c->memory, n, 1);
    m->into = arena_make(m->c->memory, n, sizeof *m->into);
    m->staged = arena_make(m->c->memory, (size_t)k->n_roots + 1, 1);
    m->narrowed = arena_make(m->c->memory, (size_t)k->n_roots + 1, 1);
    m->quiet = arena_make(m->c->memory, (size_t)k->n_roots + 1, 1);
    m->saved_in = arena_make(m->c->memory, n, sizeof *m->saved_in);
    m->versions = arena_make(m->c->memory, n, sizeof *m->versions);
    m->reduced = 0;
    m->room_bytes = 0;
    m->page_tasks = m->group_rows = 0;
    m->turns_rows = m->twins = m->shares = false;
    m->flow_lanes = 0;
    m->guessed = m->squares = m->cut = -1;
    m->guesses = false;
    m->singly = k->vector < 0 || k->lanes < LEAST_VECTOR;
    for (int i = 0; i < k->n_exprs; i++) {
        m->singly |= emit_is_gathered_half(m, &k->exprs[i]) || emit_is_apart_half(m, &k->exprs[i]);
    }
    for (int v = 0; v < k->n_variables; v++) {
        m->reduced |= k->variables[v].is_reduced ? (uint64_t)1 << v : 0;
    }
    m->streams = !k->is_product && emit_streams_any(m);
    m->spares_stores = m->c->options->few_stores || waits_for_itself(m, k);
    return m->saved_in != NULL && m->versions != NULL && m->named != NULL && m->kept != NULL && m->wanted != NULL &&
           m->widened != NULL && m->gathered != NULL && m->looked != NULL && m->places != NULL && m->tabled != NULL &&
           m->operands != NULL && m->follows != NULL && m->into != NULL && m->turned != NULL && m->staged != NULL && m->narrowed != NULL &&
           m->quiet != NULL;
}

char *emit_program(compiler *c, const char **body, const char **lacking) {
    emitter m = {.c = c};
    bool memory = true;
    *lacking = NULL;
    for (int s = 0; s < c->n_steps; s++) {
        for (int v = 0; v < c->steps[s].n_variants && memory && !m.failed; v++) {
            kernel *k = c->steps[s].variants[v];
            const int n_buffers = c->n_buffers;
            memory = begin(&m, k);
            if (memory) {
                emit_kernel(&m, k->symbol);
                k->room_bytes = m.room_bytes;
                k->shared = m.shares;
            }
            c->n_buffers = n_buffers; /* but for the emitter's own */
            if (m.failed) {
                const expr *e = &k->exprs[m.lacking];
                *lacking = arena_format(c->memory, "%s of %s", scalar_function_name(e->fn),
                                        assay_dtype_name(k->exprs[e->sources[e->n_sources - 1]].dtype));
            }
        }
    }
    char *source = memory && !m.out.failed && *lacking == NULL ? with_prelude(c, &m.out, body) : NULL;
    text_clear(&m.out);
    return source;
}
