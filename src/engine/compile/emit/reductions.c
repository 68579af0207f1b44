/* SPDX-License-Identifier: Apache-2.0 */
/* Reductions as text: lanes of accumulators, what an element does to them, how lanes come to one result; and stores. */
#include "engine/compile/emit/reductions.h"

#include "engine/compile/emit/facts.h"
#include "engine/compile/emit/held.h"
#include "engine/compile/emit/lane_arrays.h"
#include "engine/compile/emit/place_keys.h"
#include "engine/compile/emit/places_found.h"
#include "engine/compile/emit/team.h"
#include "engine/compile/emit/values.h"
#include "engine/compile/emit/writing.h"

#include <stdio.h>
#include <string.h>

/* Of a task whose rows are taken in the order of memory. */
enum { ORDERED_LANES = 16 };

enum { RANKED_ROW = 64 };

static const char *start_of(reduction how, dtype t) {
    bool floating = dtype_is_floating(t);
    switch (how) {
    case RED_SUM:
        return "0";
    case RED_PROD:
        return "1";
    case RED_MAX:
    case RED_ARGMAX:
        return floating ? "-__builtin_inf()" : t == ASSAY_I64 ? "(-0x7fffffffffffffff - 1)" : t == ASSAY_B8 ? "0" : "(-0x7fffffff - 1)";
    default:
        return floating ? "__builtin_inf()" : t == ASSAY_I64 ? "0x7fffffffffffffff" : t == ASSAY_B8 ? "1" : "0x7fffffff";
    }
}

/* Whether a NaN among what a root is the largest of shows in the sum of exponentials: nothing else asks for the root, or a number near it
   stands for it. */
static bool is_quiet(const emitter *m, const root *r) {
    bool is_guessed = m->guessed >= 0 && r == &m->k->roots[m->guessed] && r->how == RED_MAX && r->buffer < 0;
    return is_guessed || m->quiet[r - m->k->roots];
}

/* `a` takes in x. */
static void emit_take(emitter *m, const root *r, const char *a, const char *x) {
    bool floating = dtype_is_floating(r->dtype);
    switch (r->how) {
    case RED_SUM:
        emit_line(m, r->dtype == ASSAY_B8 ? "%s |= %s;" : "%s += %s;", a, x);
        break;
    case RED_PROD:
        emit_line(m, r->dtype == ASSAY_B8 ? "%s &= %s;" : "%s *= %s;", a, x);
        break;
    case RED_MAX:
    case RED_MIN:
        floating &= !is_quiet(m, r);
        emit_line(m, floating ? "%s = ((%s %s %s) | (%s != %s)) ? %s : %s;" : "%s = %s %s %s ? %s : %s;", a, x,
             r->how == RED_MAX ? ">" : "<", a, x, floating ? x : a, x, a);
        break;
    default:
        break; /* emit_take_place */
    }
}

const char *emit_accumulator_type(const emitter *m, int i) {
    return emit_is_keyed(m, i) ? "int16_t" : dialect_type(m->k->roots[i].dtype);
}

static bool has_accumulator(const emitter *m, int i, int phase) {
    const root *r = &m->k->roots[i];
    return r->phase == phase && (r->kind == ROOT_REDUCE || r->kind == ROOT_SCAN) && emit_place_of(m, i) < 0 && r->rank == 0;
}

static void emit_start(emitter *m, int i) {
    const root *r = &m->k->roots[i];
    if (!m->rows && emit_is_held(m, i)) {
        emit_line(m, "start_held_f32(&held%d, %s);", i, start_of(r->how, r->dtype));
        return;
    }
    emit_line(m, "for (int64_t l = 0; l < %lld; l++) {", (long long)m->k->lanes);
    emit_line(m, "    a%d[l] = %s;", i, emit_is_keyed(m, i) ? "-0x8000" : start_of(r->how, r->dtype));
    if (emit_is_place(r->how)) {
        int64_t stride = 0;
        bool in_order = emit_takes_in_order(m, r), along = in_order && !m->rows && index_stride(r->place, m->k->vector, &stride);
        if (along && stride > 1) {
            emit_line(m, "    p%d[l] = %lld * l;", i, (long long)stride);
        } else {
            emit_line(m, along ? "    p%d[l] = l;" : in_order ? "    p%d[l] = 0;" : "    p%d[l] = 0x7fffffffffffffff;", i);
        }
    }
    emit_line(m, "}");
}

void emit_starts(emitter *m, int phase) {
    for (int i = 0; i < m->k->n_roots; i++) {
        if (has_accumulator(m, i, phase)) {
            emit_start(m, i);
        }
    }
}

int emit_ordered_lanes(const emitter *m) {
    int lanes = m->k->lanes;
    while (lanes > ORDERED_LANES && lanes % 2 == 0) {
        lanes /= 2;
    }
    return lanes;
}

void emit_ordered_starts(emitter *m) {
    for (int i = 0; i < m->k->n_roots; i++) {
        if (has_accumulator(m, i, 0)) {
            emit_line(m, "for (int64_t l = 0; l < %d; l++) {", emit_ordered_lanes(m));
            emit_line(m, "    all%d[task - group][l] = %s;", i, start_of(m->k->roots[i].how, m->k->roots[i].dtype));
            emit_line(m, "}");
        }
    }
}

/* a takes in b, lanes of both. */
static void emit_fold(emitter *m, int i, int lanes, const char *a, const char *b) {
    emit_line(m, "for (int64_t l = 0; l < %d; l++) {", lanes);
    m->depth++;
    emit_take(m, &m->k->roots[i], a, b);
    m->depth--;
    emit_line(m, "}");
}

void emit_ordered_folds(emitter *m) {
    char a[32], b[32];
    const int kept = emit_ordered_lanes(m);
    for (int i = 0; i < m->k->n_roots; i++) {
        if (!has_accumulator(m, i, 0)) {
            continue;
        }
        snprintf(a, sizeof a, "a%d[l]", i);
        for (int lanes = m->k->lanes / 2; lanes >= kept; lanes /= 2) {
            snprintf(b, sizeof b, "a%d[l + %d]", i, lanes);
            emit_fold(m, i, lanes, a, b);
        }
        snprintf(b, sizeof b, "all%d[task - group][l]", i);
        emit_fold(m, i, kept, b, a);
    }
}

void emit_ordered_accumulators(emitter *m) {
    const long long lanes = (long long)m->k->lanes;
    char name[32];
    for (int i = 0; i < m->k->n_roots; i++) {
        const root *r = &m->k->roots[i];
        if (has_accumulator(m, i, 0)) {
            snprintf(name, sizeof name, "a%d", i);
            emit_lane_array(m, emit_accumulator_type(m, i), name, "");
            emit_line(m, "for (int64_t l = 0; l < %lld; l++) {", lanes);
            emit_line(m, "    a%d[l] = l < %d ? all%d[task - group][l] : %s;", i, emit_ordered_lanes(m), i, start_of(r->how, r->dtype));
            emit_line(m, "}");
        }
    }
}

/* What a row's elements are ordered by; what it lacks of 64 is lowest. */
static void emit_orders_room(emitter *m, int i) {
    const long long n = (long long)m->k->lanes;
    emit_line(m, "int32_t a%d[%d] __attribute__((aligned(64)));", i, RANKED_ROW);
    if (n < RANKED_ROW) {
        emit_line(m, "for (int64_t l = %lld; l < %d; l++) {", n, RANKED_ROW);
        emit_line(m, "    a%d[l] = -0x7fffffff - 1;", i);
        emit_line(m, "}");
    }
}

void emit_accumulators(emitter *m, int phase) {
    char name[32];
    for (int i = 0; i < m->k->n_roots; i++) {
        const root *r = &m->k->roots[i];
        if (!has_accumulator(m, i, phase)) {
            continue;
        }
        if (emit_scans_along(m)) {
            emit_line(m, "%s total%d = %s;", dialect_type(r->dtype), i, start_of(r->how, r->dtype));
            continue;
        }
        if (r->ranks > 0) {
            emit_orders_room(m, i);
            continue;
        }
        if (!m->rows && emit_is_held(m, i)) {
            emit_line(m, "held_f32 held%d;", i);
        } else {
            snprintf(name, sizeof name, "a%d", i);
            emit_lane_array(m, emit_accumulator_type(m, i), name, "");
        }
        if (emit_is_place(r->how)) {
            snprintf(name, sizeof name, "p%d", i);
            emit_lane_array(m, emit_place_type(m, r), name, "");
        }
        emit_start(m, i);
    }
}

/* x and y to one, whatever they are: of floating extremes only where neither is NaN. */
static void add_joined(const root *r, text *out, const char *x, const char *y) {
    bool logical = r->dtype == ASSAY_B8;
    if (r->how == RED_SUM || r->how == RED_PROD) {
        text_addf(out, "%s %s %s", x, r->how == RED_SUM ? (logical ? "|" : "+") : logical ? "&" : "*", y);
    } else {
        text_addf(out, "%s %s %s ? %s : %s", x, r->how == RED_MAX ? ">" : "<", y, x, y);
    }
}

/* The prelude's function that brings so many lanes to one; NULL: there is none. */
static const char *to_one(const root *r, int64_t n) {
    bool sum = r->how == RED_SUM;
    if (r->dtype == ASSAY_F32 && (sum || r->how == RED_MAX) && (n == 64 || n == 16)) {
        return n == 64 ? (sum ? "sum_of_64_f32" : "largest_of_64_f32") : sum ? "sum_of_16_f32" : "largest_of_16_f32";
    }
    return r->dtype == ASSAY_I64 && r->how == RED_MAX && n == 16 ? "largest_of_16_i64" : NULL;
}

/* Lanes of root i to one, in halves: the rounding error of a sum grows with its depth. The last few are taken by names, which
   wait for no memory. A NaN is looked for beforehand, so that comparisons need no branch for it. */
static void emit_lanes_in_halves(emitter *m, int i) {
    enum { BY_NAME = 8 };
    const root *r = &m->k->roots[i];
    bool extreme = (r->how == RED_MAX || r->how == RED_MIN) && dtype_is_floating(r->dtype) && !is_quiet(m, r);
    const char *type = dialect_type(r->dtype);
    int64_t n = m->k->lanes;
    char x[64], y[64];
    text joined = {0};
    if (extreme) {
        emit_line(m, "uint32_t nan%d = 0;", i);
        emit_line(m, "for (int64_t l = 0; l < %lld; l++) {", (long long)n);
        emit_line(m, "    nan%d |= a%d[l] != a%d[l];", i, i, i);
        emit_line(m, "}");
    }
    for (int64_t half; n > BY_NAME && to_one(r, n) == NULL; n = half) {
        half = (n + 1) / 2;
        snprintf(x, sizeof x, "a%d[l]", i);
        snprintf(y, sizeof y, "a%d[l + %lld]", i, (long long)half);
        text_reset(&joined);
        add_joined(r, &joined, x, y);
        emit_line(m, "for (int64_t l = 0; l < %lld; l++) {", (long long)(n - half));
        emit_line(m, "    a%d[l] = %s;", i, text_get(&joined));
        emit_line(m, "}");
    }
    const char *rest = to_one(r, n);
    if (rest != NULL) {
        emit_line(m, "const %s a%d_1_0 = %s(a%d);", type, i, rest, i);
        n = 1;
    }
    for (int64_t l = 0; l < n && n > 1; l++) {
        emit_line(m, "const %s a%d_%lld_%lld = a%d[%lld];", type, i, (long long)n, (long long)l, i, (long long)l);
    }
    for (int64_t half; n > 1; n = half) {
        half = (n + 1) / 2;
        for (int64_t l = 0; l < half; l++) {
            snprintf(x, sizeof x, "a%d_%lld_%lld", i, (long long)n, (long long)l);
            snprintf(y, sizeof y, "a%d_%lld_%lld", i, (long long)n, (long long)(l + half));
            text_reset(&joined);
            if (l + half < n) {
                add_joined(r, &joined, x, y);
            } else {
                text_add(&joined, x);
            }
            emit_line(m, "const %s a%d_%lld_%lld = %s;", type, i, (long long)half, (long long)l, text_get(&joined));
        }
    }
    if (extreme) {
        emit_line(m, "const %s r%d = nan%d ? __builtin_nan(\"\") : a%d_1_0;", type, i, i, i);
    } else {
        emit_line(m, "const %s %s%d = a%d_1_0;", type, emit_result_name(m), i, i);
    }
    m->out.failed |= joined.failed;
    text_clear(&joined);
}

/* The number that a key is of, as a float. */
static void add_number_of_key(emitter *m, text *out, const root *r, const char *key) {
    char half[64];
    snprintf(half, sizeof half, "half_of_%skey(%s)", r->how == RED_ARGMIN ? "low_" : "", key);
    dialect_cast(out, emit_key_type(m, r), ASSAY_F32, half);
}

/* Of keys the largest, and of equals the one whose place comes first, as one number. */
static void emit_keys_together(emitter *m, int i) {
    emit_line(m, "int32_t best%d = -0x7fffffff - 1;", i);
    emit_line(m, "for (int64_t l = 0; l < %lld; l++) {", (long long)m->k->lanes);
    emit_line(m, "    const int32_t both = a%d[l] * 0x10000 + (0x7fff - p%d[l]);", i, i);
    emit_line(m, "    best%d = both > best%d ? both : best%d;", i, i, i);
    emit_line(m, "}");
    emit_line(m, "const int64_t r%d = 0x7fff - (best%d & 0x7fff);", i, i);
}

/* The numbers of keys: what root i comes to, whose places are root p's. */
static void emit_numbers_of_keys(emitter *m, int i, int p) {
    text value = {0};
    char key[32], name[32];
    snprintf(key, sizeof key, m->rows ? "a%d[l]" : "best%d >> 16", p);
    add_number_of_key(m, &value, &m->k->roots[p], key);
    if (m->rows) {
        snprintf(name, sizeof name, "r%d", i);
        emit_lane_array(m, "float", name, "");
        emit_line(m, "for (int64_t l = 0; l < %lld; l++) {", (long long)m->k->lanes);
        emit_line(m, "    r%d[l] = %s;", i, text_get(&value));
        emit_line(m, "}");
    } else {
        emit_line(m, "const float r%d = %s;", i, text_get(&value));
    }
    m->out.failed |= value.failed;
    text_clear(&value);
}

/* One of a row's largest; the first of them finds all. */
static void emit_rank(emitter *m, int i) {
    const root *r = &m->k->roots[i];
    if (r->rank == 0 && r->ranks_places) {
        emit_line(m, "int64_t ranks%d[%d];", i, r->ranks);
        emit_line(m, "ranks_of_largest(a%d, %lld, %d, ranks%d);", i, (long long)m->k->lanes - 1, r->ranks, i);
    } else if (r->rank == 0) {
        emit_line(m, "int64_t ranks%d[%d];", i, r->ranks);
        emit_line(m, "orders_of_largest(a%d, %d, ranks%d);", i, r->ranks, i);
    }
    emit_line(m, "const int64_t r%d = ranks%d[%d];", i, r->ranks_root, r->rank);
}

/* Lanes to one result, when the vector ran along what was reduced; else the lanes are the results. */
void emit_root_result(emitter *m, int i) {
    const root *r = &m->k->roots[i];
    bool placed = emit_is_place(r->how);
    int of_place = emit_place_of(m, i);
    if (r->ranks > 0) {
        emit_rank(m, i);
        return;
    }
    if (of_place >= 0 && emit_is_keyed(m, of_place)) {
        emit_numbers_of_keys(m, i, of_place);
        return;
    }
    if (emit_is_keyed(m, i) && !m->rows) {
        emit_keys_together(m, i);
        return;
    }
    if (m->rows) {
        emit_line(m, "%s *const r%d = %s%d;", placed ? emit_place_type(m, r) : dialect_type(r->dtype), i, placed ? "p" : "a", of_place < 0 ? i : of_place);
        return;
    }
    if (of_place >= 0) {
        emit_line(m, "const %s r%d = a%d[0];", dialect_type(r->dtype), i, of_place);
        return;
    }
    if (emit_is_held(m, i)) {
        emit_line(m, "const float %s%d = %s(&held%d);", emit_result_name(m), i, r->how == RED_SUM ? "sum_of_held_f32" : "largest_of_held_f32", i);
        return;
    }
    if (m->k->lanes > 1 && !placed) {
        emit_lanes_in_halves(m, i);
        return;
    }
    if (m->k->lanes > 1) {
        emit_places_together(m, i);
    }
    emit_line(m, "const %s %s%d = %s%d[0];", placed ? "int64_t" : dialect_type(r->dtype), emit_result_name(m), i, placed ? "p" : "a", i);
}

/* Places first, whose values may be others' results. */
static void emit_lanes_together(emitter *m, int phase) {
    for (int places = 1; places >= 0; places--) {
        for (int i = 0; i < m->k->n_roots; i++) {
            const root *r = &m->k->roots[i];
            if (r->phase == phase && r->kind == ROOT_REDUCE && emit_is_place(r->how) == (places == 1) && i != m->guessed && i != m->squares) {
                emit_root_result(m, i);
            }
        }
    }
}

/* The key of the half at hand, of which there is a line, in place of the number that it is cast to. */
static void emit_key(emitter *m, text *value, int i) {
    const root *r = &m->k->roots[i];
    text_reset(value);
    emit_name(m, value, emit_taken(m, i));
    emit_line(m, "const int16_t key%d = %skey_of_half(%s, %s);", i, r->how == RED_ARGMIN ? "low_" : "", text_get(value),
              emit_key_type(m, r) == ASSAY_BF16 ? "0x7f80" : "0x7c00");
    text_reset(value);
    text_addf(value, "key%d", i);
}

/* A lane that comes again adds nothing; the largest stays what it is. */
static void leave_out_again(const emitter *m, const root *r, text *value) {
    bool counts = r->kind == ROOT_REDUCE && (r->how == RED_SUM || r->how == RED_PROD) && r->dtype != ASSAY_B8;
    if (m->again_lanes == 0 || !counts) {
        return;
    }
    text chosen = {0};
    /* Compared as floats, gcc makes no two loops of it, the second of one lane: layer norm of rows of 49 takes 3.5 times as long then. */
    text_addf(&chosen, "((float)(int)%s > %d.5f ? %s : %s)", m->lane, m->again_lanes - 1, text_get(value), start_of(r->how, r->dtype));
    text_reset(value);
    text_add(value, text_get(&chosen));
    value->failed |= chosen.failed;
    text_clear(&chosen);
}

void emit_root(emitter *m, int i) {
    const root *r = &m->k->roots[i];
    text value = {0}, at = {0};
    emit_name(m, &value, r->expr);
    leave_out_again(m, r, &value);
    emit_index(m, &at, r->at, -1);
    char a[32], p[32];
    snprintf(a, sizeof a, emit_scans_along(m) ? "total%d" : m->k->lanes > 1 ? "a%d[l]" : "a%d[0]", i);
    snprintf(p, sizeof p, m->k->lanes > 1 ? "p%d[l]" : "p%d[0]", i);
    if (r->kind == ROOT_REDUCE && emit_is_place(r->how)) {
        text position = {0};
        emit_index(m, &position, r->place, -1);
        emit_line(m, "const %s here%d = %s;", emit_place_type(m, r), i, text_get(&position));
        char here[32];
        snprintf(here, sizeof here, "here%d", i);
        if (emit_is_keyed(m, i)) {
            emit_key(m, &value, i);
        }
        emit_line(m, "{");
        m->depth++;
        emit_take_place(m, r, emit_takes_in_order(m, r), emit_is_keyed(m, i), a, p, text_get(&value), here);
        m->depth--;
        emit_line(m, "}");
        m->out.failed |= position.failed;
        text_clear(&position);
    } else if (r->ranks > 0) {
        if (r->rank == 0) {
            emit_line(m, "a%d[l] = %s;", i, text_get(&value));
        }
    } else if (emit_is_held(m, i) && !emit_goes_past_held(m, strcmp(m->lane, "l") != 0)) {
        emit_line(m, "taken%d[%s] = %s;", i, m->lane, text_get(&value));
    } else if ((r->kind == ROOT_REDUCE && emit_place_of(m, i) < 0) || (r->kind == ROOT_SCAN && (!m->staged[i] || emit_scans_past(m, r)))) {
        emit_take(m, r, a, text_get(&value));
    }
    if (m->before || (r->kind == ROOT_SCAN && emit_is_held(m, i))) {
        /* nothing is stored, or when it is taken in */
    } else if (m->staged[i] && emit_scans_past(m, r)) {
        emit_line(m, "made%d[%s] = %s;", i, emit_block_lane(m), a);
    } else if (m->staged[i]) {
        text_reset(&value);
        emit_name(m, &value, emit_is_narrowed(m, i) ? m->k->exprs[r->expr].sources[0] : r->expr);
        emit_line(m, "made%d[%s] = %s;", i, emit_block_lane(m), text_get(&value));
    } else if (r->kind == ROOT_STORE) {
        emit_line(m, "b%d[%s] = %s;", r->buffer, text_get(&at), text_get(&value));
    } else if (r->kind == ROOT_SCAN) {
        text_reset(&value);
        if (r->store_dtype == r->dtype) {
            text_add(&value, a);
        } else {
            dialect_cast(&value, r->dtype, r->store_dtype, a);
        }
        emit_line(m, "b%d[%s] = %s;", r->buffer, text_get(&at), text_get(&value));
    } else if (r->kind == ROOT_SCATTER && r->adds && r->dtype == ASSAY_B8) {
        emit_line(m, "b%d[%s] |= %s;", r->buffer, text_get(&at), text_get(&value));
    } else if (r->kind == ROOT_COLUMNS) {
        emit_line(m, "b%d[%s] += %s;", r->buffer, text_get(&at), text_get(&value));
    } else if (m->k->lists_rows) {
        emit_line(m, "sum[v%d] += %s;", m->k->vector, text_get(&value));
    } else if (r->kind == ROOT_SCATTER) {
        emit_line(m, "b%d[%s] %s %s;", r->buffer, text_get(&at), r->adds ? "+=" : "=", text_get(&value));
    }
    m->out.failed |= value.failed || at.failed;
    text_clear(&value);
    text_clear(&at);
}

void emit_kept_results(emitter *m, int phase) {
    const kernel *k = m->k;
    for (int i = 0; i < k->n_roots; i++) {
        const root *r = &k->roots[i];
        if (r->phase != phase || r->kind != ROOT_REDUCE || r->buffer < 0) {
            continue;
        }
        const bool is_near = m->flow == FLOW_NONE && m->squares >= 0 && (i == m->guessed || i == m->squares);
        text at = {0};
        emit_index(m, &at, r->at, -1);
        if (m->rows) {
            int64_t rest = k->variables[k->vector].size % k->lanes;
            emit_line(m, rest == 0 ? "for (int64_t l = 0; l < %lld; l++) {" : "for (int64_t l = 0; l < n_lanes; l++) {",
                 (long long)k->lanes);
            emit_line(m, "    const int64_t v%d = first_lane + l;", k->vector);
            emit_line(m, is_near ? "    b%d[%s] = exact%d[l];" : "    b%d[%s] = r%d[l];", r->buffer, text_get(&at), i);
            emit_line(m, "}");
        } else {
            emit_line(m, is_near ? "b%d[%s] = exact%d;" : "b%d[%s] = r%d;", r->buffer, text_get(&at), i);
        }
        m->out.failed |= at.failed;
        text_clear(&at);
    }
}

void emit_results(emitter *m, int phase) {
    emit_lanes_together(m, phase);
    if (!m->shares) {
        emit_kept_results(m, phase);
        return;
    }
    if (m->squares >= 0) { /* those are known, and nothing else is summed */
        return;
    }
    emit_team_sums(m, phase, false);
    const size_t from = emit_open_once(m);
    emit_kept_results(m, phase);
    emit_close_once(m, from);
}
