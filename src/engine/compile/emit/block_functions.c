/* SPDX-License-Identifier: Apache-2.0 */
/* Functions that a block of lanes is handed to as a whole. */
#include "engine/compile/emit/block_functions.h"

#include "engine/compile/emit/facts.h"
#include "engine/compile/emit/values.h"

#include <stdio.h>
#include <string.h>

void emit_open_scope(emitter *m, const char *from, block_scope *s) {
    s->from = m->out.length;
    emit_line(m, "{");
    m->depth++;
    bool is_first = strcmp(m->block, "0") == 0, from_0 = strcmp(from, "0") == 0;
    emit_define(m, &s->first, "const int64_t ", is_first ? "v%d = %s" : from_0 ? "v%d = block" : "v%d = %s + block", m->k->vector, from);
}

void emit_close_scope(emitter *m, const block_scope *s) {
    m->depth--;
    if (m->out.failed) {
        return;
    }
    if (m->out.length == s->first.to) {
        m->out.length = s->from;
        m->out.data[s->from] = '\0';
        return;
    }
    emit_drop_unused(m, &s->first);
    emit_line(m, "}");
}

/* Where results pass the caches the memory decides, which quotients keep waiting: group norm with silu took 1.02 of the time by them, where
   squeeze_excite's silu took 0.91 (Zen 4, 2026-11). */
static const char *function_name(const emitter *m, int i) {
    const expr *e = &m->k->exprs[i], *of = &m->k->exprs[e->sources[0]];
    dtype digits = emit_digits_of(m, i);
    if (e->n_sources == 2) {
        return dialect_block_of_two(e->fn, of->dtype, digits, of->kind == EXPR_NUMBER, m->k->exprs[e->sources[1]].kind == EXPR_NUMBER);
    }
    const char *name = digits != of->dtype                     ? NULL
                       : emit_is_below_0(m, e->sources[0])     ? dialect_block_below_0(e->fn, of->dtype)
                       : m->c->options->divides && !m->streams ? dialect_block_divided(e->fn, of->dtype)
                                                               : NULL;
    return name != NULL ? name : dialect_block(e->fn, of->dtype, digits);
}

int emit_block_function_lanes(const emitter *m, int i) {
    const expr *e = &m->k->exprs[i];
    return e->kind == EXPR_MAP && e->n_sources == 2 && function_name(m, i) != NULL ? DIALECT_PAIR_LANES : 0;
}

/* Whether an operand is neither a number nor anywhere yet. */
static bool needs_array(const emitter *m, int i) {
    const expr *e = &m->k->exprs[i];
    return e->kind != EXPR_NUMBER && !m->widened[i] && !(emit_is_dense_load(m, e) && m->saved_in[i] < 0);
}

/* Where a function finds an operand: in memory, as what the block has made, or in an array that the lanes fill now. Whether the
   vector variable has to be known where that stands. */
static bool emit_operand(emitter *m, text *out, int i, const char *array, const lane_range *range) {
    const expr *e = &m->k->exprs[i];
    bool is_number = e->kind == EXPR_NUMBER, reads = emit_is_dense_load(m, e) && m->saved_in[i] < 0;
    if (needs_array(m, i)) {
        emit_lanes_to(m, i, array, range);
        text_add(out, array);
    } else if (is_number) {
        emit_name(m, out, i);
    } else if (reads) {
        text_addf(out, "b%d + ", e->buffer);
        emit_index(m, out, e->at, -1);
    } else {
        text_addf(out, "wide%d", i);
    }
    return reads;
}

void emit_block_function(emitter *m, int i, const lane_range *range) {
    const expr *e = &m->k->exprs[i];
    const char *name = function_name(m, i);
    text to = {0}, first = {0}, second = {0};
    char array[24], other[24];
    block_scope start;
    snprintf(array, sizeof array, "wide%d", i);
    snprintf(other, sizeof other, "other%d", i);
    if (m->into[i] > 0 && (needs_array(m, e->sources[0]) || (e->n_sources == 2 && needs_array(m, e->sources[1])))) {
        emit_line(m, "float %s[%d];", array, emit_block_lanes(m));
    }
    bool reads = emit_operand(m, &first, e->sources[0], array, range);
    if (e->n_sources == 2) {
        bool taken = strcmp(text_get(&first), array) == 0;
        if (taken && needs_array(m, e->sources[1])) {
            emit_line(m, "float %s[%d];", other, emit_block_lanes(m));
        }
        text_add(&first, ", ");
        reads |= emit_operand(m, &second, e->sources[1], taken ? other : array, range);
    }
    if (m->into[i] > 0) {
        const root *r = &m->k->roots[m->into[i] - 1];
        text_addf(&to, "b%d + ", r->buffer);
        emit_index(m, &to, r->at, -1);
        reads = true;
    } else {
        text_add(&to, array);
    }
    if (reads) {
        emit_open_scope(m, range->from, &start);
    }
    emit_line(m, "%s(%s, %s%s, %d);", name, text_get(&to), text_get(&first), text_get(&second),
              m->short_lanes > 0 ? m->short_lanes : emit_block_lanes(m));
    if (reads) {
        emit_close_scope(m, &start);
    }
    m->out.failed |= to.failed || first.failed || second.failed;
    text_clear(&to);
    text_clear(&first);
    text_clear(&second);
}

void emit_shared_operand(emitter *m, int i, const lane_range *range) {
    char array[24];
    snprintf(array, sizeof array, "wide%d", i);
    m->widened[i] = false; /* computed now */
    emit_lanes_to(m, i, array, range);
    m->widened[i] = true;
}

void emit_scanned_block(emitter *m, int i) {
    const root *r = &m->k->roots[i];
    bool halves = r->store_dtype != r->dtype, streams = emit_is_streamed(m, r);
    char before[48], after[48];
    emit_line(m, "scan_block_f32(made%d, &total%d);", i, i);
    if (halves && !streams) {
        snprintf(before, sizeof before, "%s(", dialect_narrow(r->store_dtype, PAIRS_NONE));
        snprintf(after, sizeof after, ", made%d);", i);
    } else if (halves) {
        snprintf(before, sizeof before, "%s(", dialect_stream_narrow(r->store_dtype, PAIRS_NONE));
        snprintf(after, sizeof after, ", made%d);", i);
    } else {
        snprintf(before, sizeof before, streams ? "stream_lines(" : "memcpy(");
        snprintf(after, sizeof after, ", made%d, %d);", i, emit_block_lanes(m) * (int)sizeof(float));
    }
    emit_address_call(m, before, r->buffer, r->at, after);
}
