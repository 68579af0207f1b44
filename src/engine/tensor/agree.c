/* SPDX-License-Identifier: Apache-2.0 */
/* The comparison behind every verdict. */
#include "engine/tensor/agree.h"

#include <float.h>
#include <math.h>
#include <string.h>

/* 8: a vectorised sum's few partial sums, a polynomial's last places and one reciprocal each cost a rounding or two;
   measured against exact sums the worst of our kernels stays below 3. */
static const double ACCUMULATION_FACTOR = 8;

/* agree.h derives it. Less than 8 because here it stands for roundings that are known to happen and are large: there is no
   room to spare. */
static const double NARROW_FACTOR = 2;

typedef struct comparison {
    double eps_out, eps_acc, least, largest;
    double flushed; /* what a sum may lack: instructions for products of bf16 take subnormals for 0, terms as well as sums */
    bool exact;
    double rms;
    double growth; /* 8 eps_acc (1 + sqrt K), or what steps in a narrow type make of it */
    double roundings;
    double difference_squares, expected_squares;
    bool has_no_distance; /* of an element outside the tolerance */
    agreement *out;
} comparison;

static double least_number(dtype t) {
    switch (dtype_real(t)) {
    case ASSAY_F16:
        return 0x1p-24;
    case ASSAY_BF16:
    case ASSAY_F32:
        return FLT_MIN; /* kernels may flush subnormals */
    case ASSAY_F64:
        return DBL_MIN;
    default:
        return 0;
    }
}

/* What the size of the terms is multiplied with. */
static double growth_of(const comparison *c, const agree_rule *rule) {
    double root = sqrt(rule->reduction >= 1 ? rule->reduction : 1);
    double wide = ACCUMULATION_FACTOR * c->eps_acc * (1 + root);
    double narrow = NARROW_FACTOR * c->eps_out * (1 + (rule->rounds_sums ? root : 1));
    bool is_narrow = c->eps_out > c->eps_acc && (rule->rounds_steps || rule->rounds_sums);
    return is_narrow ? fmax(wide, narrow) : wide;
}

static double root_mean_square(const double *values, int64_t n) {
    double sum = 0;
    int64_t finite = 0;
    for (int64_t i = 0; i < n; i++) {
        if (isfinite(values[i])) {
            sum += values[i] * values[i];
            finite++;
        }
    }
    return finite > 0 ? sqrt(sum / (double)finite) : 0;
}

static double unit_in_last_place(const comparison *c, double e) {
    double magnitude = fabs(e);
    if (magnitude < c->least) {
        magnitude = c->least;
    }
    int exponent;
    frexp(magnitude, &exponent);
    return ldexp(c->eps_out, exponent - 1);
}

static void note_bad(comparison *c, int64_t flat, double expected, double actual, double tolerance) {
    if (c->out->bad++ == 0) {
        c->out->worst = flat;
        c->out->expected_at_worst = expected;
        c->out->actual_at_worst = actual;
        c->out->tolerance_at_worst = tolerance;
    }
}

/* Outside the tolerance, by no number: what is not finite, or is no boolean. */
static void note_strange(comparison *c, int64_t flat, double expected, double actual, double tolerance) {
    c->has_no_distance = true;
    note_bad(c, flat, expected, actual, tolerance);
}

static void compare_exact(comparison *c, int64_t flat, double expected, double actual, double slack) {
    double difference = fabs(expected - actual);
    c->difference_squares += difference * difference;
    c->expected_squares += expected * expected;
    c->out->max_abs = fmax(c->out->max_abs, difference);
    if (!(difference <= slack)) {
        note_bad(c, flat, expected, actual, slack);
    }
}

static double tolerance_of(const comparison *c, double expected, double norm) {
    double magnitude = fabs(expected);
    double scale = fmax(magnitude, fmax(norm, c->rms));
    return c->roundings * c->eps_out * magnitude + c->growth * scale + 2 * c->least + c->flushed;
}

/* True when the non-finite cases settle the matter. Where the tolerance reaches beyond the range, infinity is as good as what it allows. */
static bool compare_special(comparison *c, int64_t flat, double expected, double actual, double tolerance) {
    if (isnan(expected) || isnan(actual)) {
        if (isnan(expected) != isnan(actual)) {
            note_strange(c, flat, expected, actual, 0);
        }
        return true;
    }
    const double reach = c->largest * (1 - c->eps_out), size = fabs(expected);
    const bool one_side = signbit(actual) == signbit(expected);
    if (size > reach) { /* at or beyond the range: infinity or nearly so */
        bool near = isinf(actual) || fabs(actual) >= c->largest * (1 - 4 * c->eps_out) || size - fabs(actual) <= tolerance;
        if (!near || !one_side || (isinf(expected) && !isinf(actual))) {
            note_strange(c, flat, expected, actual, tolerance);
        }
        return true;
    }
    if (isinf(actual)) {
        if (!one_side || size + tolerance <= reach) {
            note_strange(c, flat, expected, actual, tolerance);
        }
        return true;
    }
    return false;
}

static void compare_inexact(comparison *c, int64_t flat, double expected, double actual, double norm, double slack) {
    double tolerance = tolerance_of(c, isinf(expected) ? 0 : expected, norm) + slack;
    if (isinf(slack) || compare_special(c, flat, expected, actual, tolerance)) {
        return;
    }
    double difference = fabs(expected - actual);
    double ulps = difference / unit_in_last_place(c, expected);
    c->difference_squares += difference * difference;
    c->expected_squares += expected * expected;
    c->out->max_abs = fmax(c->out->max_abs, difference);
    if (ulps > c->out->worst_ulp) {
        c->out->worst_ulp = ulps;
        if (c->out->bad == 0) {
            c->out->worst = flat;
            c->out->expected_at_worst = expected;
            c->out->actual_at_worst = actual;
            c->out->tolerance_at_worst = tolerance;
        }
    }
    if (difference > tolerance) {
        note_bad(c, flat, expected, actual, tolerance);
    }
}

static void compare_element(comparison *c, dtype t, const char *at, int64_t flat, const double *expected, double norm,
                            const double *slack) {
    if (dtype_is_complex(t)) {
        double complex actual = element_load_complex(t, at);
        compare_inexact(c, flat, expected[0], creal(actual), norm, slack != NULL ? slack[0] : 0);
        compare_inexact(c, flat, expected[1], cimag(actual), norm, slack != NULL ? slack[1] : 0);
    } else if (!c->exact) {
        compare_inexact(c, flat, expected[0], element_load(t, at), norm, slack != NULL ? slack[0] : 0);
    } else if (t == ASSAY_B8 && *(const uint8_t *)at > 1) {
        note_strange(c, flat, expected[0], *(const uint8_t *)at, 0); /* no boolean: never written, or written wrongly */
    } else {
        compare_exact(c, flat, expected[0], element_load(t, at), slack != NULL ? slack[0] : 0);
    }
}

static comparison comparison_of(dtype t, int64_t n_parts, const double *expected, const agree_rule *rule) {
    comparison c = {.eps_out = dtype_epsilon(t),
                    .eps_acc = dtype_epsilon(dtype_accumulator(t)),
                    .least = least_number(t),
                    .largest = dtype_max(t),
                    .exact = dtype_category_of(t) < CATEGORY_FLOATING,
                    .rms = root_mean_square(expected, n_parts),
                    .roundings = rule->roundings >= 1 ? rule->roundings : 1};
    c.growth = growth_of(&c, rule);
    c.flushed = rule->reduction > 1 ? rule->reduction * least_number(dtype_accumulator(t)) : 0;
    return c;
}

double agree_norm_of_slack(dtype to, double terms, double by) {
    return by / (8 * dtype_epsilon(dtype_accumulator(to)) * (1 + sqrt(terms)));
}

double agree_cast_weight(dtype from, dtype to, double terms) {
    const bool has_more = dtype_category_of(from) < CATEGORY_FLOATING || dtype_epsilon(dtype_real(from)) < dtype_epsilon(dtype_real(to));
    if (dtype_size(dtype_real(to)) != 2 || !dtype_is_floating(dtype_real(to)) || from == ASSAY_B8 || !has_more) {
        return 1;
    }
    /* A rounded term is off by 0.2 epsilon of its size (a standard deviation): ten of these. */
    const double weight = agree_norm_of_slack(to, terms, 2 * dtype_epsilon(dtype_real(to)));
    return weight > 1 ? weight * weight : 1;
}

void agree_tolerances(dtype t, int64_t n, const double *expected, const double *norm, const agree_rule *rule, double *out) {
    int width = dtype_is_complex(t) ? 2 : 1;
    comparison c = comparison_of(t, n, expected, rule);
    for (int64_t i = 0; i < n; i++) {
        out[i] = c.exact ? 0 : tolerance_of(&c, expected[i], norm != NULL ? norm[i / width] : 0);
    }
}

/* Where element `flat` lies, asked for elements in ascending order: neighbours of a row are a stride apart. */
typedef struct cursor {
    int64_t flat, offset, left; /* the last one asked for, and how many follow it in its row */
} cursor;

static int64_t cursor_offset(cursor *c, const tensor *t, int64_t flat) {
    if (c->left > 0 && flat == c->flat + 1) {
        c->offset += t->strides[t->ndim - 1];
        c->left--;
    } else {
        int64_t row = t->ndim > 0 ? t->sizes[t->ndim - 1] : 1;
        c->offset = tensor_offset_of(t, flat);
        c->left = row - 1 - flat % row;
    }
    c->flat = flat;
    return c->offset;
}

void agree_compare(const tensor *actual, const int64_t *flat, int64_t n, const double *expected, const double *norm,
                   const agree_rule *rule, agreement *out) {
    *out = (agreement){.checked = n, .worst = -1};
    dtype t = actual->dtype;
    int width = dtype_is_complex(t) ? 2 : 1;
    comparison c = comparison_of(t, n * width, expected, rule);
    c.out = out;
    const char *data = tensor_data(actual);
    int64_t size = (int64_t)dtype_size(t);
    cursor here = {.left = 0};
    for (int64_t i = 0; i < n; i++) {
        int64_t index = flat != NULL ? flat[i] : i;
        const char *at = data + cursor_offset(&here, actual, index) * size;
        const int64_t bad = out->bad;
        compare_element(&c, t, at, index, expected + i * width, norm != NULL ? norm[i] : 0,
                        rule->slack != NULL ? rule->slack + i * width : NULL);
        out->bad = out->bad > bad ? bad + 1 : bad; /* once, though both parts of a complex number are off */
    }
    out->rel_l2 = c.difference_squares == 0 ? 0 : sqrt(c.difference_squares / c.expected_squares);
    if (!isfinite(out->rel_l2) || c.has_no_distance) {
        out->rel_l2 = NAN;
    }
    if (c.has_no_distance) {
        out->max_abs = NAN;
        out->worst_ulp = NAN;
    }
    out->agrees = out->bad == 0;
}

void agree_poison(tensor *t) {
    if (t->storage != NULL) {
        bool has_nan = dtype_is_floating(t->dtype) || dtype_is_complex(t->dtype);
        memset(t->storage->data, has_nan ? 0xff : 0xa5, t->storage->size_bytes);
    }
}
