/* SPDX-License-Identifier: Apache-2.0 */
/* Parameters of layer norm, widened and in the order of rows in flight, and the sums that their gradients are. */
#include "engine/kernels/cpu/norm_params.h"

#include "engine/kernels/cpu/norm.h"

#include <math.h>
#include <string.h>

/* --- parameters ------------------------------------------------------------------------------------------------------------ */

static const void *in_order(const norm_params *p, const tensor *t, char *room) {
    if (tensor_is_contiguous(t)) {
        return row_fetch(p->l, room, tensor_data(t), t->dtype, (int64_t)dtype_size(t->dtype), p->n);
    }
    for (int64_t i = 0; i < p->n; i++) {
        double value = norm_read(t, i);
        p->l->fill(room + i * (int64_t)p->l->size, value, 1);
    }
    return room;
}

/* Every step-th number, n of them; NaN with few digits, as rows in flight want it. */
static void take_floats(float *to, const float *from, int64_t step, int64_t n) {
    for (int64_t i = 0; i < n; i++) {
        float x = from[i * step];
        to[i] = x == x ? x : NAN;
    }
}

static void take_doubles(double *to, const double *from, int64_t n) {
    for (int64_t i = 0; i < n; i++) {
        to[i] = from[i] == from[i] ? from[i] : (double)NAN;
    }
}

const void *norm_params_in(const norm_params *p, const tensor *t, char *room, char *made) {
    if (t == NULL || !p->beside) {
        return t != NULL ? in_order(p, t, room) : NULL;
    }
    const void *x = in_order(p, t, made);
    if (p->l->type == ASSAY_F64) {
        take_doubles((void *)room, x, p->n);
    } else if (p->rows == ASSAY_BF16) {
        take_floats((void *)room, x, 2, (p->n + 1) / 2);
        take_floats((float *)(void *)room + row_beside_half(p->n), (const float *)x + 1, 2, p->n / 2);
    } else {
        take_floats((void *)room, x, 1, p->n);
    }
    return room;
}

/* --- their gradients ------------------------------------------------------------------------------------------------------- */

/* Adds n numbers to every step-th total. */
static void add_floats(double *totals, int64_t step, float *from, int64_t n) {
    for (int64_t i = 0; i < n; i++) {
        totals[i * step] += (double)from[i];
        from[i] = 0;
    }
}

static void flush(const norm_params *p, double *totals, char *sums) {
    if (p->l->type == ASSAY_F64) {
        double *from = (void *)sums;
        for (int64_t i = 0; i < p->n; i++) {
            totals[i] += from[i];
            from[i] = 0;
        }
    } else if (p->beside && p->rows == ASSAY_BF16) {
        add_floats(totals, 2, (void *)sums, (p->n + 1) / 2);
        add_floats(totals + 1, 2, (float *)(void *)sums + row_beside_half(p->n), p->n / 2);
    } else {
        add_floats(totals, 1, (void *)sums, p->n);
    }
}

void norm_params_flush(const norm_params *p, const param_sums *sums) {
    flush(p, sums->weight_total, sums->weight);
    flush(p, sums->bias_total, sums->bias);
}

void norm_params_add(const norm_params *p, const param_sums *sums, const param_sums *more) {
    for (int64_t i = 0; i < p->n; i++) {
        sums->weight_total[i] += more->weight_total[i];
        sums->bias_total[i] += more->bias_total[i];
    }
}

/* room: for n numbers in the computing type. */
static void store(const norm_params *p, const tensor *out, const double *totals, char *room) {
    if (!tensor_is_contiguous(out) || (p->l->type == ASSAY_F32 && out->dtype == ASSAY_F64)) {
        for (int64_t i = 0; i < p->n; i++) {
            norm_write(out, i, totals[i]);
        }
        return;
    }
    char *to = tensor_data(out);
    int64_t size = (int64_t)dtype_size(out->dtype);
    if (p->l->type == ASSAY_F64) {
        p->l->store(to, out->dtype, size, totals, p->n);
        return;
    }
    float *made = (void *)row_target(p->l, room, to, out->dtype, size);
    for (int64_t i = 0; i < p->n; i++) {
        made[i] = (float)totals[i];
    }
    row_put(p->l, to, out->dtype, size, made, p->n);
}

void norm_params_store(const norm_params *p, const param_sums *sums, const tensor *weight_out, const tensor *bias_out) {
    if (weight_out != NULL) {
        store(p, weight_out, sums->weight_total, sums->weight);
    }
    if (bias_out != NULL) {
        store(p, bias_out, sums->bias_total, sums->bias);
    }
}
