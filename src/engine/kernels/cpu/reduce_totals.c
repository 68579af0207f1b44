/* SPDX-License-Identifier: Apache-2.0 */
/* Totals of one kind of fold: how others join, and what becomes of them. */
#include "engine/kernels/cpu/reduce_totals.h"

#include <math.h>

static void combine_integers(row_kind kind, int64_t *total, int64_t more) {
    if (kind == ROW_LARGEST || kind == ROW_SMALLEST) {
        *total = (kind == ROW_LARGEST) == (more > *total) ? more : *total;
    } else if (kind == ROW_NONZERO || kind == ROW_ZERO) {
        *total |= more;
    } else {
        *total = (int64_t)((uint64_t)*total + (uint64_t)more);
    }
}

static void combine_reals(row_kind kind, double *total, double more) {
    if (kind == ROW_LARGEST || kind == ROW_SMALLEST) {
        bool beats = kind == ROW_LARGEST ? more > *total : more < *total;
        *total = (beats || isnan(more)) && !isnan(*total) ? more : *total;
    } else if (kind == ROW_NONZERO || kind == ROW_ZERO) {
        *total = fmax(*total, more);
    } else {
        *total += more;
    }
}

void reduction_combine(const reduction *r, row_wide *total, row_wide more) {
    if (r->s.l->type == ASSAY_I64) {
        combine_integers(r->kind, &total->i, more.i);
    } else {
        combine_reals(r->kind, &total->f, more.f);
    }
}

void reduction_combine_all(const reduction *r, row_wide *totals, const row_wide *more, int64_t n) {
    bool adds_reals = r->s.l->type != ASSAY_I64 && row_kind_adds(r->kind);
    for (int64_t i = 0; adds_reals && i < n; i++) {
        totals[i].f += more[i].f;
    }
    for (int64_t i = 0; !adds_reals && i < n; i++) {
        reduction_combine(r, &totals[i], more[i]);
    }
}

void reduction_put(const reduction *r, char *to, row_wide total) {
    bool is_integer = r->s.l->type == ASSAY_I64;
    if (r->finish == FINISH_NOT) {
        element_store_int(r->out, to, is_integer ? total.i == 0 : total.f == 0);
    } else if (is_integer) {
        element_store_int(r->out, to, total.i);
    } else {
        double value = r->finish == FINISH_DIVIDE ? total.f / r->divisor : r->finish == FINISH_ROOT ? sqrt(total.f) : total.f;
        if (r->out == ASSAY_F32) {
            *(float *)(void *)to = (float)value;
        } else {
            element_store(r->out, to, value);
        }
    }
}

/* n totals as floats: beside the folding of short rows a call for each would show. */
static void finish_floats(const reduction *r, float *to, const row_wide *totals, int64_t n) {
    r->s.l->finish(to, &totals->f, r->finish == FINISH_DIVIDE ? r->divisor : 1, r->finish == FINISH_ROOT, n);
}

void reduction_put_run(const reduction *r, char *to, int64_t stride, const row_wide *totals, int64_t n) {
    enum { BLOCK = 256 };
    bool is_plain = r->s.l->type != ASSAY_I64 && r->finish != FINISH_NOT;
    if (is_plain && r->out == ASSAY_F32 && stride == (int64_t)sizeof(float)) {
        finish_floats(r, (float *)(void *)to, totals, n);
        return;
    }
    if (r->s.l->type == ASSAY_I64 && r->finish == FINISH_AS_IS) {
        r->s.l->store(to, r->out, stride, totals, n);
        return;
    }
    bool is_half = is_plain && r->s.l->type == ASSAY_F32 && r->out == r->s.in && r->out != ASSAY_F32;
    for (int64_t i = 0; is_half && i < n; i += BLOCK) {
        float floats[BLOCK];
        int64_t m = n - i < BLOCK ? n - i : BLOCK;
        finish_floats(r, floats, totals + i, m);
        r->s.l->store(to + i * stride, r->out, stride, floats, m);
    }
    for (int64_t i = 0; !is_half && i < n; i++) {
        reduction_put(r, to + i * stride, totals[i]);
    }
}
