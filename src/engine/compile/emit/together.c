/* SPDX-License-Identifier: Apache-2.0 */
/* Several places of memory at a time. Where a kernel only passes over its operands and stores past the caches, a thread that goes
   from one end of its part to the other has one page of each open: the CPU reads ahead in pages of their own, and lines of one
   page wait for each other. So tasks are taken in groups: a line of each, then the next line of each, in pages that lie a task
   apart (copying takes three quarters of the time then, measured on two cores of a Sapphire Rapids Xeon; glibc's memcpy does
   the same above its threshold). Zen 4 goes straight on: there loads wait for the stores past the caches before them, and four
   lines of one page between two stores wait once (on two cores relu takes 3.4 ms instead of 5.2, silu 6.2 instead of 12, clones
   of permuted heads 6.7 instead of 13; where a line of each page is read before any is stored, relu takes 5.4; 2026-11). */
#include "engine/compile/emit/together.h"

#include "device/caches.h"
#include "engine/compile/emit/blocks.h"
#include "engine/compile/emit/facts.h"
#include "engine/compile/emit/lane_loops.h"
#include "engine/compile/emit/phases.h"
#include "engine/compile/emit/ranges.h"
#include "engine/compile/emit/wants.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    PAGE_BYTES = 4096,
    MOST_ROW_WORK = 4,   /* of what a task computes before its lanes, for each block of them anew */
};

/* What follows from a task alone is cheap. */
static bool has_cheap_rows(const kernel *k) {
    double work = 0;
    for (int i = 0; i < k->n_exprs; i++) {
        const expr *e = &k->exprs[i];
        bool of_task = (e->variables >> k->vector & 1) == 0 && e->variables != 0;
        work += of_task && e->kind == EXPR_MAP ? scalar_function_cost(e->fn) : of_task && e->kind != EXPR_NUMBER ? 1 : 0;
    }
    return work <= MOST_ROW_WORK;
}

static bool only_stores(const kernel *k) {
    for (int i = 0; i < k->n_roots; i++) {
        if (k->roots[i].kind != ROOT_STORE) {
            return false;
        }
    }
    return true;
}

/* Bytes of the widest elements that a task reads or stores. */
static int64_t task_bytes(const kernel *k) {
    size_t widest = 1;
    for (int i = 0; i < k->n_exprs; i++) {
        size_t size = k->exprs[i].kind == EXPR_LOAD ? dtype_size(k->exprs[i].dtype) : 1;
        widest = size > widest ? size : widest;
    }
    for (int i = 0; i < k->n_roots; i++) {
        size_t size = dtype_size(k->roots[i].store_dtype);
        widest = size > widest ? size : widest;
    }
    return k->lanes * (int64_t)widest;
}

/* Whether a line of the widest elements goes with a quarter of a line of others that are read: those would be asked for in four
   turns, with other pages between (where and masked_fill by bytes reached 66% of copying then, 105% straight on). */
static bool reads_parts_of_lines(const kernel *k) {
    for (int i = 0; i < k->n_exprs; i++) {
        const expr *e = &k->exprs[i];
        bool by_lanes = e->kind == EXPR_LOAD && (e->variables >> k->vector & 1) != 0;
        if (by_lanes && 4 * (int64_t)dtype_size(e->dtype) * k->lanes <= task_bytes(k)) {
            return true;
        }
    }
    return false;
}

void emit_choose_together(emitter *m) {
    const kernel *k = m->k;
    m->page_tasks = 0;
    m->together_lanes = EMIT_BLOCK_LANES;
    if (m->c->options->no_together || !m->streams || m->flow != FLOW_NONE || k->has_classes || k->is_product || k->n_phases != 1 ||
        k->n_loops > 0 || k->vector < 0 || !m->rows || k->turns_lines || k->lanes < EMIT_BLOCK_LANES || !only_stores(k) ||
        !has_cheap_rows(k) || !emit_streams(m, 0)) {
        return;
    }
    if (!emit_is_aligned(m, 0) || reads_parts_of_lines(k)) {
        return;
    }
    int64_t bytes = task_bytes(k);
    m->together_lanes = emit_whole_lines(m); /* a block of each page */
    m->page_tasks = bytes < PAGE_BYTES ? (int)(PAGE_BYTES / bytes) : 1;
}

/* A task's lanes of the block at hand, or those that are left over. */
static void emit_task_part(emitter *m, bool *named, const char *block, const lane_range *rest, bool asks) {
    const kernel *k = m->k;
    definition made[KERNEL_MAX_VARIABLES + 2];
    emit_line(m, m->page_tasks > 1 ? "for (int64_t task = group + turn; task < group_last; task += %d) {"
                                   : "for (int64_t task = group; task < group_last; task++) {",
              m->page_tasks);
    m->depth++;
    int n = emit_tasks(m, made);
    if (asks) {
        emit_line(m, "if (%s > n_lanes - %d) {", block, m->together_lanes);
        emit_line(m, "    continue;");
        emit_line(m, "}");
    }
    size_t before = m->out.length;
    emit_want_phase(m, 0);
    emit_body(m, 0, true);
    if (rest != NULL) {
        emit_range(m, 0, rest);
    } else {
        emit_block_at(m, 0, block, "first_lane");
    }
    emit_drop_unasked(m, before, named);
    memcpy(m->named, named, (size_t)k->n_exprs);
    while (n-- > 0) {
        emit_drop_unused(m, &made[n]);
    }
    m->depth--;
    emit_line(m, "}");
}

void emit_together(emitter *m) {
    const kernel *k = m->k;
    int64_t lanes = k->lanes, block = m->together_lanes, whole = lanes - lanes % block;
    bool asks = k->variables[k->vector].size % lanes != 0; /* the last task of a row has fewer lanes */
    bool *named = malloc((size_t)k->n_exprs + 1);
    if (named == NULL) {
        m->out.failed = true;
        return;
    }
    memcpy(named, m->named, (size_t)k->n_exprs);
    m->phase = 0;
    const int group = EMIT_PAGES * m->page_tasks;
    emit_line(m, "for (int64_t group = first; group < last; group += %d) {", group);
    m->depth++;
    emit_line(m, "const int64_t group_last = group + %d < last ? group + %d : last;", group, group);
    if (m->page_tasks > 1) {
        emit_line(m, "for (int64_t turn = 0; turn < %d; turn++) {", m->page_tasks);
        m->depth++;
    }
    if (lanes == block && !asks) {
        emit_task_part(m, named, "0", NULL, false);
    } else {
        emit_line(m, "for (int64_t block = 0; block < %lld; block += %lld) {", (long long)whole, (long long)block);
        m->depth++;
        emit_task_part(m, named, "block", NULL, asks);
        m->depth--;
        emit_line(m, "}");
    }
    if (asks || whole != lanes) {
        char first[64], last[32];
        snprintf(first, sizeof first, asks ? "n_lanes - n_lanes %% %lld" : "%lld", (long long)(asks ? block : whole));
        snprintf(last, sizeof last, asks ? "n_lanes" : "%lld", (long long)lanes);
        emit_task_part(m, named, NULL, &(lane_range){first, last, "first_lane", 0, false}, false);
    }
    for (int i = 0; i < 1 + (m->page_tasks > 1); i++) {
        m->depth--;
        emit_line(m, "}");
    }
    free(named);
}
