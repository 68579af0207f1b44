/* SPDX-License-Identifier: Apache-2.0 */
/* What reductions to the place of an extreme write: an element taken in, and what lanes found brought to the first of them. */
#include "engine/compile/emit/places_found.h"

#include "engine/compile/emit/place_keys.h"
#include "engine/compile/emit/writing.h"

#include <stdio.h>
#include <string.h>

void emit_take_place(emitter *m, const root *r, bool in_order, bool has_keys, const char *a, const char *at, const char *x, const char *p) {
    const char *beats = r->how == RED_ARGMAX ? ">" : "<";
    beats = has_keys ? ">" : beats;
    if (in_order) {
        bool may_be_nan = dtype_is_floating(r->dtype) && !has_keys;
        const char *loses = r->how == RED_ARGMAX ? "<=" : ">="; /* never to or of NaN */
        emit_line(m, may_be_nan ? "const int wins = !(%s %s %s) & (%s == %s);" : "const int wins = %s %s %s;", x,
                  may_be_nan ? loses : beats, a, a, a);
    } else if (dtype_is_floating(r->dtype)) {
        emit_line(m, "const int wins = ((%s %s %s) & (%s == %s)) | ((%s != %s) & (%s == %s)) |", x, beats, a, a, a, x, x, a, a);
        emit_line(m, "    (((%s == %s) | ((%s != %s) & (%s != %s))) & (%s < %s));", x, a, x, x, a, a, p, at);
    } else {
        emit_line(m, "const int wins = (%s %s %s) | ((%s == %s) & (%s < %s));", x, beats, a, x, a, p, at);
    }
    emit_line(m, "%s = wins ? %s : %s;", a, x, a);
    emit_line(m, "%s = wins ? %s : %s;", at, p, at);
}

/* Lanes of a place to lane 0: by halves as long as these are even, then one by one. */
static void emit_places_by_halves(emitter *m, int i) {
    const root *r = &m->k->roots[i];
    char a[32], at[32], x[48], p[48];
    int64_t n = m->k->lanes;
    enum { LEAST_HALF = 8 };
    for (; n % 2 == 0 && n / 2 >= LEAST_HALF; n /= 2) {
        snprintf(a, sizeof a, "a%d[l]", i);
        snprintf(at, sizeof at, "p%d[l]", i);
        snprintf(x, sizeof x, "a%d[l + %lld]", i, (long long)(n / 2));
        snprintf(p, sizeof p, "p%d[l + %lld]", i, (long long)(n / 2));
        emit_line(m, "for (int64_t l = 0; l < %lld; l++) {", (long long)(n / 2));
        m->depth++;
        emit_take_place(m, r, false, false, a, at, x, p);
        m->depth--;
        emit_line(m, "}");
    }
    snprintf(a, sizeof a, "a%d[0]", i);
    snprintf(at, sizeof at, "p%d[0]", i);
    snprintf(x, sizeof x, "a%d[l]", i);
    snprintf(p, sizeof p, "p%d[l]", i);
    emit_line(m, "for (int64_t l = 1; l < %lld; l++) {", (long long)n);
    m->depth++;
    emit_take_place(m, r, false, false, a, at, x, p);
    m->depth--;
    emit_line(m, "}");
}

void emit_places_together(emitter *m, int i) {
    const root *r = &m->k->roots[i];
    enum { MOST = 64 };
    const int lanes = (int)m->k->lanes;
    bool by_function = r->dtype == ASSAY_F32 && lanes <= MOST && strcmp(emit_place_type(m, r), "int32_t") == 0;
    if (by_function) {
        emit_line(m, "if (!place_of_f32(a%d, p%d, %d, %d)) {", i, i, lanes, r->how == RED_ARGMIN);
        m->depth++;
    }
    emit_places_by_halves(m, i);
    if (by_function) {
        m->depth--;
        emit_line(m, "}");
    }
}
