/* SPDX-License-Identifier: Apache-2.0 */
/* Sums of squares of deviations that do not wait for the mean. A variance asks for the mean first, so that a row is read once more,
   from a cache that other rows pass. But about any number s, with n elements,

       sum (x - mean)^2 = sum (x - s)^2 - (sum (x - s))^2 / n        sum x = sum (x - s) + n s

   and where s lies near the mean, next to nothing is taken off, so that rounding is that of the sums. So s is near the mean of the
   first few elements, in few digits. Where it lies too far off, both sums are taken once more, about the mean that they told: s was a mean of elements,
   so it is at most some hundred deviations off, and what that rounds is nothing beside a deviation. */
#include "engine/compile/emit/deviations.h"

#include "engine/compile/emit/facts.h"
#include "engine/compile/emit/reductions.h"
#include "engine/compile/emit/team.h"
#include "engine/compile/emit/writing.h"

#include <math.h>

/* What may be taken off: rounding errors grow fourfold where it is so much. */
#define FAR_SHARE "0.75f"

/* A copy of expression i, in the first phase. */
static int append(kernel *k, int i) {
    k->exprs[k->n_exprs] = k->exprs[i];
    k->exprs[k->n_exprs].phase = 0;
    return k->n_exprs++;
}

void emit_use_near_mean(kernel *own, const deviation_form *form, bool by_columns) {
    int n = own->n_exprs, near = append(own, form->result), mean = append(own, form->mean), deviation = append(own, form->deviation);
    int square = append(own, own->roots[form->squares].expr);
    own->exprs[mean].sources[0] = near;
    own->exprs[deviation].sources[1] = by_columns ? near : mean;
    own->exprs[square].sources[0] = own->exprs[square].sources[1] = deviation;
    own->roots[form->sum].expr = deviation;
    own->roots[form->squares].expr = square;
    own->n_phases = 1;
    for (int i = 0; i < n; i++) {
        expr *e = &own->exprs[i];
        int reads[EXPR_MAX_READS], n_reads = expr_reads(own, e, reads);
        e->phase = e->kind == EXPR_RESULT ? own->exprs[own->roots[e->root].expr].phase + 1 : 0;
        for (int r = 0; r < n_reads; r++) {
            e->phase = own->exprs[reads[r]].phase > e->phase ? own->exprs[reads[r]].phase : e->phase;
        }
    }
    for (int i = 0; i < own->n_roots; i++) {
        own->roots[i].phase = own->exprs[own->roots[i].expr].phase;
        own->n_phases = own->roots[i].phase + 1 > own->n_phases ? own->roots[i].phase + 1 : own->n_phases;
    }
    columns_come_last(own);
}

/* What is infinite or NaN would make NaN of all, also of a sum that is infinite. */
#define FINITE "3.4028234e38f"

void emit_near_sum(emitter *m, const char *to) {
    emit_line(m, "%s = near_mean_of_16_f32(near%d) * %.9ef;", to, m->guessed, (double)emit_visited(m));
    emit_line(m, "%s = fabsf(%s) <= " FINITE " ? %s : 0;", to, to, to);
}

/* The condition under which they are far: of sums that are finite. */
static void add_far(const emitter *m, text *out, int phase) {
    int sum = m->guessed, squares = m->squares;
    text_addf(out, "!(exact%d * exact%d * %.9ef <= " FAR_SHARE " * exact%d) && fabsf(exact%d + r%d_%d) <= " FINITE, sum, sum,
              1 / (double)emit_visited(m), squares, sum, sum, phase);
}

/* From sums about a number near the mean to those about the mean. */
static void emit_exact(emitter *m, int phase) {
    int sum = m->guessed, squares = m->squares;
    emit_line(m, "exact%d -= exact%d * exact%d * %.9ef;", squares, sum, sum, 1 / (double)emit_visited(m));
    emit_line(m, "exact%d = exact%d < 0 ? 0 : exact%d;", squares, squares, squares);
    emit_line(m, "exact%d += r%d_%d;", sum, sum, phase);
}

void emit_open_far(emitter *m, int phase) {
    int sum = m->guessed, squares = m->squares;
    text far = {0};
    emit_root_result(m, sum);
    emit_root_result(m, squares);
    if (m->shares) {
        emit_team_sums(m, phase, false);
    }
    emit_line(m, "float exact%d = r%d, exact%d = r%d;", sum, sum, squares, squares);
    add_far(m, &far, phase);
    emit_line(m, "if (%s) {", text_get(&far));
    m->out.failed |= far.failed;
    text_clear(&far);
    m->depth++;
    emit_line(m, "r%d_%d += exact%d;", sum, phase, sum);
}

void emit_close_far(emitter *m, int phase) {
    int sum = m->guessed, squares = m->squares;
    emit_root_result(m, sum);
    emit_root_result(m, squares);
    if (m->shares) {
        emit_team_sums(m, phase, true);
    }
    emit_line(m, "exact%d = r%d;", sum, sum);
    emit_line(m, "exact%d = r%d;", squares, squares);
    m->depth--;
    emit_line(m, "}");
    emit_exact(m, phase);
}

void emit_open_nearing(emitter *m) {
    emit_line(m, "float exact%d, exact%d;", m->guessed, m->squares);
    emit_line(m, "for (_Bool again = 0;; again = 1) {");
    m->depth++;
}

void emit_close_nearing(emitter *m, int phase) {
    int sum = m->guessed, squares = m->squares;
    text far = {0};
    emit_root_result(m, sum);
    emit_root_result(m, squares);
    emit_line(m, "exact%d = r%d;", sum, sum);
    emit_line(m, "exact%d = r%d;", squares, squares);
    add_far(m, &far, phase);
    emit_line(m, "if (again || !(%s)) {", text_get(&far));
    emit_line(m, "    break;");
    emit_line(m, "}");
    emit_line(m, "r%d_%d += exact%d;", sum, phase, sum);
    m->depth--;
    emit_line(m, "}");
    emit_exact(m, phase);
    m->out.failed |= far.failed;
    text_clear(&far);
}

/* --- columns for lanes ---------------------------------------------------------------------------------------------------- */

static double count_of(const emitter *m) {
    return (double)(emit_visited(m) / m->k->lanes);
}

static void open_columns(emitter *m) {
    const kernel *k = m->k;
    bool whole = k->variables[k->vector].size % k->lanes == 0;
    emit_line(m, whole ? "for (int64_t l = 0; l < %lld; l++) {" : "for (int64_t l = 0; l < n_lanes; l++) {", (long long)k->lanes);
}

void emit_near_columns(emitter *m, int phase) {
    int i = m->guessed;
    emit_line(m, "INDEPENDENT");
    open_columns(m);
    emit_line(m, "    const float near = near_mean_f32(r%d_%d[l] * %.9ef, low%d[l], high%d[l]);", i, phase, 1.0 / NEAR_ROWS, i, i);
    emit_line(m, "    r%d_%d[l] = fabsf(near) <= " FINITE " ? near : 0;", i, phase);
    emit_line(m, "}");
}

void emit_open_nearing_columns(emitter *m) {
    emit_line(m, "for (_Bool again = 0;; again = 1) {");
    m->depth++;
}

void emit_close_nearing_columns(emitter *m, int phase) {
    int sum = m->guessed, squares = m->squares;
    double n = count_of(m);
    emit_line(m, "uint32_t far = 0;");
    open_columns(m);
    emit_line(m, "    const float mean = r%d_%d[l] + a%d[l] * %.9ef;", sum, phase, sum, 1 / n);
    emit_line(m, "    const float off = a%d[l] * a%d[l] * %.9ef;", sum, sum, 1 / n);
    emit_line(m, "    far |= !((off <= " FAR_SHARE " * a%d[l]) & (a%d[l] <= " FINITE ")) & (fabsf(mean) <= " FINITE ");", squares, squares);
    emit_line(m, "}");
    emit_line(m, "if (again || far == 0) {");
    emit_line(m, "    break;");
    emit_line(m, "}");
    open_columns(m);
    emit_line(m, "    const float mean = r%d_%d[l] + a%d[l] * %.9ef;", sum, phase, sum, 1 / n);
    emit_line(m, "    r%d_%d[l] = fabsf(mean) <= " FINITE " ? mean : r%d_%d[l];", sum, phase, sum, phase);
    emit_line(m, "}");
    emit_starts(m, phase);
    m->depth--;
    emit_line(m, "}");
    emit_line(m, "float *const exact%d = a%d, *const exact%d = a%d;", sum, sum, squares, squares);
    open_columns(m);
    emit_line(m, "    const float rest = exact%d[l] - exact%d[l] * exact%d[l] * %.9ef;", squares, sum, sum, 1 / n);
    emit_line(m, "    exact%d[l] = rest < 0 ? 0 : rest;", squares);
    emit_line(m, "    exact%d[l] += r%d_%d[l] * %.9ef;", sum, sum, phase, n);
    emit_line(m, "}");
}
