/* SPDX-License-Identifier: Apache-2.0 */
/* Reductions, in one step or in two. */
#include "engine/graph/dag_build.h"

#include <string.h>

/* So few results from so many elements leave threads idle: then parts are reduced first, and their results after that. */
enum { SPLIT_MAX_RESULTS = 8, SPLIT_MIN_ELEMENTS = 65536, SPLIT_MOST_PARTS = 64, SPLIT_MANY_PARTS = 1024, SPLIT_LEAST_PARTS = 8 };

/* Into how many parts of one length n elements are cut, at most; 1: not at all. */
static int64_t parts_of(int64_t n, int64_t most) {
    for (int64_t parts = most; parts >= SPLIT_LEAST_PARTS; parts--) {
        if (n % parts == 0) {
            return parts;
        }
    }
    return 1;
}

/* The same of n dimensions' elements, no part of which begins within a row of a dimension further in: where an element of such a part
   lies would take divisions (127 x 1001 x 1001 bytes in 49 parts: 146 ms; in 127: 4). As near to SPLIT_MOST_PARTS as there are, more
   rather than less than half as many; where there are none, parts of one length. */
static int64_t whole_parts(const int64_t *sizes, int n, int64_t numel) {
    int64_t few = 1, many = SPLIT_MANY_PARTS + 1, before = 1;
    for (int d = 0; d < n && before <= SPLIT_MANY_PARTS; before *= sizes[d++]) {
        for (int64_t q = 1; q <= sizes[d] && before * q <= SPLIT_MANY_PARTS; q++) {
            int64_t parts = before * q;
            bool divides = sizes[d] % q == 0 && parts >= SPLIT_LEAST_PARTS;
            few = divides && parts <= SPLIT_MOST_PARTS && parts > few ? parts : few;
            many = divides && parts > SPLIT_MOST_PARTS && parts < many ? parts : many;
        }
    }
    if (2 * few < SPLIT_MOST_PARTS && many <= SPLIT_MANY_PARTS) {
        return many;
    }
    return few > 1 ? few : parts_of(numel, SPLIT_MOST_PARTS);
}

/* Along the dimensions of the set, in one step. */
static val reduce_by(dag *g, reduction how, val x, uint64_t dims, bool of_factors) {
    const dag_node n = *dag_at(g, x);
    int64_t sizes[TENSOR_MAX_DIMS];
    int ndim = 0;
    for (int d = 0; d < n.ndim; d++) {
        if ((dims >> d & 1) == 0) {
            sizes[ndim++] = n.sizes[d];
        }
    }
    return dag_intern(g, &(dag_node){.kind = PRIM_REDUCE,
                                     .dtype = how == RED_ARGMAX || how == RED_ARGMIN ? ASSAY_I64 : n.dtype,
                                     .ndim = ndim,
                                     .sizes = sizes,
                                     .n_sources = 1,
                                     .sources = &x,
                                     .reduce = {how, dims, of_factors}});
}

static val reduce_whole(dag *g, reduction how, val x, uint64_t dims) {
    return reduce_by(g, how, x, dims, false);
}

/* Whether x is what memory holds from outside, as it is, in another order or of another type. */
static bool is_given(const dag *g, val x) {
    const dag_node *n = dag_at(g, x);
    const int64_t numel = dag_numel(n);
    while (n->kind == PRIM_CAST || (n->kind == PRIM_VIEW && n->n_sources == 1 && n->view.n_bounds == 0)) {
        n = dag_at(g, n->sources[0]);
        if (dag_numel(n) != numel) {
            return false;
        }
    }
    return n->kind == PRIM_INPUT;
}

/* The type of the memory that x's elements are read from; x's own where they are computed. */
static dtype given_dtype(const dag *g, val x) {
    const dag_node *n = dag_at(g, x), *from = n;
    while (from->kind == PRIM_CAST || from->kind == PRIM_MAP) {
        from = dag_at(g, from->sources[0]);
    }
    return from->kind == PRIM_INPUT ? from->dtype : n->dtype;
}

/* Rows to one row, in parts of rows: whoever makes a part's rows can have them reduced while they are near, and threads share
   the parts. False when that is not the case, or not worth it. alone: nobody else is expected to go over the rows; of what is given, and
   no cache holds, parts are only to go round then (of 128 KiB, 64 MiB of bf16 took a sixth longer: two cores of a Zen 4, 2026-11). */
static bool split_rows(dag *g, reduction how, val x, uint64_t dims, bool alone, val *out) {
    enum { ROW_PARTS = 16, LEAST_ROWS = 4, LEAST_LONG_ROWS = 32 };
    enum { PART_BYTES = 192 << 10, GIVEN_BYTES = 6 << 20, GIVEN_LEAST = 64 << 20, NEAR_BYTES = 4 << 20 };
    const dag_node n = *dag_at(g, x);
    int64_t sizes[TENSOR_MAX_DIMS], results = 1, reduced = 1;
    int first = 0, ndim = 2;
    for (; first < n.ndim && (dims >> first & 1) != 0; first++) {
        reduced *= n.sizes[first];
    }
    for (int d = first; d < n.ndim; d++) {
        results *= n.sizes[d];
        sizes[ndim < TENSOR_MAX_DIMS ? ndim++ : 0] = n.sizes[d];
    }
    /* As many parts as stay in a core's cache, if that leaves many rows to each: their results are written and read again. */
    double bytes = (double)reduced * (double)results * (double)dtype_size(n.dtype);
    const bool goes_round = alone && bytes >= GIVEN_LEAST && is_given(g, x);
    double fit = bytes / (goes_round ? GIVEN_BYTES : PART_BYTES);
    int64_t most = fit < (double)reduced / LEAST_LONG_ROWS ? (int64_t)fit : reduced / LEAST_LONG_ROWS;
    most = most > ROW_PARTS ? most : ROW_PARTS;
    int64_t parts = parts_of(reduced, most), rest = 0;
    if (parts == 1 && goes_round && how == RED_SUM) {
        parts = most;
        rest = reduced % parts;
    }
    /* What parts leave goes to memory and back where it is much: of 64 rows of 2 MiB in 16 parts as much as half of what is read (44 to 50% of
       a loop that only reads, and 92 to 100% in one step: two cores of a Zen 5, 2026-11). */
    const bool leaves_much = goes_round && (double)parts * (double)results * (double)dtype_size(n.dtype) > NEAR_BYTES;
    if (how == RED_ARGMAX || how == RED_ARGMIN || dims >> first != 0 || results <= SPLIT_MAX_RESULTS || parts == 1 ||
        reduced < (leaves_much ? LEAST_LONG_ROWS : LEAST_ROWS) * parts || reduced * results < 2 * SPLIT_MIN_ELEMENTS || first == n.ndim ||
        n.ndim - first + 2 > TENSOR_MAX_DIMS) {
        return false;
    }
    val rows = x, left = x;
    if (rest > 0) { /* 33001 x 1001 floats, two cores of a Zen 4: 3.9 ms, and 10 by threads that each have columns */
        sizes[1] = reduced;
        rows = v_reshape(g, x, ndim - 1, sizes + 1);
        left = reduce_whole(g, how, v_slice(g, rows, 0, reduced - rest, rest, 1), 1);
        rows = v_slice(g, rows, 0, 0, reduced - rest, 1);
    }
    sizes[0] = parts;
    sizes[1] = reduced / parts;
    *out = reduce_whole(g, how, reduce_whole(g, how, v_reshape(g, rows, ndim, sizes), 2), 1);
    *out = rest > 0 ? v_2(g, FN_ADD, *out, left) : *out;
    return true;
}

/* Into how many parts n rows are cut of which each column's numbers are added up about one near their mean: whose error grows with the rows
   of a part. Where none divide them, a few rows are left. */
static int64_t parts_of_rows(int64_t n) {
    enum { LEAST_ROWS = 128, MOST_ROWS = 640, FAIR_ROWS = 512 };
    for (int64_t parts = (n + MOST_ROWS - 1) / MOST_ROWS; parts <= n / LEAST_ROWS; parts++) {
        if (n % parts == 0) {
            return parts;
        }
    }
    return (n + FAIR_ROWS - 1) / FAIR_ROWS;
}

/* Where the reduced dimensions lie: from `first` to before `end`, but for `kept` elements of dimensions among them, and whether others come
   behind them. */
typedef struct reduced_run {
    int first, end;
    int64_t samples; /* of those before the first that is kept among them */
    int64_t kept;
    bool has_more;
} reduced_run;

static reduced_run run_of(const dag_node *n, uint64_t dims) {
    reduced_run r = {.end = n->ndim, .samples = 1, .kept = 1};
    while (r.first < n->ndim && (dims >> r.first & 1) == 0) {
        r.first++;
    }
    while (r.end > r.first && (dims >> (r.end - 1) & 1) == 0) {
        r.end--;
    }
    bool is_run = true;
    for (int d = r.first; d < r.end; d++) {
        is_run &= (dims >> d & 1) != 0;
        r.samples *= is_run ? n->sizes[d] : 1;
        r.kept *= (dims >> d & 1) == 0 ? n->sizes[d] : 1;
    }
    r.has_more = r.end < n->ndim;
    return r;
}

/* Dimension d as two, of which the first has so many elements. */
static val unflatten(dag *g, val x, int d, int64_t n) {
    if (dag_stopped(g)) {
        return (val){0};
    }
    const dag_node of = *dag_at(g, x);
    int64_t sizes[TENSOR_MAX_DIMS];
    for (int i = 0; i < of.ndim; i++) {
        sizes[i < d ? i : i + 1] = of.sizes[i];
    }
    sizes[d] = n;
    sizes[d + 1] = of.sizes[d] / n;
    return v_reshape(g, x, of.ndim + 1, sizes);
}

int64_t v_by_samples(dag *g, val x, uint64_t dims, sample_parts *out) {
    enum { PARTS = 16, CHANNELS_BYTES = 64 << 20, LEAST_SAMPLES = 2, ROWS_BYTES = 1 << 20, LONG_BYTES = 4 << 20, LEAST_ROWS = 128 };
    if (dag_stopped(g) || dims == 0) {
        return 0;
    }
    const dag_node n = *dag_at(g, x);
    const reduced_run run = run_of(&n, dims);
    const bool by_columns = run.kept == 1 && run.has_more, by_channels = run.first == 0 && run.kept > SPLIT_MAX_RESULTS && !run.has_more;
    const double bytes = (double)dag_numel(&n) * (double)dtype_size(n.dtype);
    const double least = by_columns ? (run.first > 0 ? LONG_BYTES : ROWS_BYTES) : CHANNELS_BYTES;
    int64_t parts = 0, sizes[TENSOR_MAX_DIMS];
    if (by_columns && run.samples >= LEAST_ROWS) {
        parts = parts_of_rows(run.samples);
        parts = parts == 1 && run.first > 0 ? 0 : parts; /* one step does */
    } else if (by_channels) {
        parts = parts_of(run.samples, run.samples / LEAST_SAMPLES < PARTS ? run.samples / LEAST_SAMPLES : PARTS);
        parts = parts == 1 ? 0 : parts;
    }
    int at = run.first, behind = run.first, ndim = run.first;
    while (behind < n.ndim && (dims >> behind & 1) != 0) {
        behind++;
    }
    if (parts == 0 || bytes < least || !is_given(g, x) || at + 2 + n.ndim - behind > TENSOR_MAX_DIMS) {
        return 0;
    }
    const int64_t rest = run.samples % parts;
    memcpy(sizes, n.sizes, (size_t)at * sizeof *sizes);
    sizes[ndim++] = run.samples;
    for (int d = behind; d < n.ndim; d++) {
        sizes[ndim++] = n.sizes[d];
    }
    const val samples = v_reshape(g, x, ndim, sizes), whole = rest == 0 ? samples : v_slice(g, samples, at, 0, run.samples - rest, 1);
    *out = (sample_parts){.in_parts = unflatten(g, whole, at, parts),
                          .outer = (uint64_t)1 << at,
                          .inner = dims >> behind << (at + 2) | (uint64_t)2 << at,
                          .n_rest = rest};
    if (rest > 0) {
        out->rest = unflatten(g, v_slice(g, samples, at, run.samples - rest, rest, 1), at, 1);
    }
    return parts;
}

/* Sums alone, by channels: first of the parts. Rows are in parts already, where that pays. */
static bool split_samples(dag *g, reduction how, val x, uint64_t dims, bool alone, val *out) {
    sample_parts by;
    const bool has_rows = run_of(dag_at(g, x), dims).kept == 1;
    if (!alone || has_rows || how != RED_SUM || v_by_samples(g, x, dims, &by) == 0) { /* of which none are left */
        return false;
    }
    *out = reduce_whole(g, how, reduce_whole(g, how, by.in_parts, by.inner), 1);
    return true;
}

/* The reduced dimensions last, as parts and what is in a part; false when one step does. */
static bool split(dag *g, reduction how, val x, uint64_t dims, val *out) {
    const dag_node n = *dag_at(g, x);
    int order[TENSOR_MAX_DIMS], at = 0;
    int64_t sizes[TENSOR_MAX_DIMS], gone[TENSOR_MAX_DIMS], results = 1, reduced = 1;
    for (int d = 0; d < n.ndim; d++) {
        if ((dims >> d & 1) == 0) {
            order[at] = d;
            sizes[at++] = n.sizes[d];
            results *= n.sizes[d];
        }
    }
    int kept = at;
    for (int d = 0; d < n.ndim; d++) {
        if ((dims >> d & 1) != 0) {
            gone[at - kept] = n.sizes[d];
            order[at++] = d;
            reduced *= n.sizes[d];
        }
    }
    int64_t parts = whole_parts(gone, at - kept, reduced);
    if (how == RED_ARGMAX || how == RED_ARGMIN || results > SPLIT_MAX_RESULTS || reduced < SPLIT_MIN_ELEMENTS ||
        parts == 1 || kept + 2 > TENSOR_MAX_DIMS) {
        return false;
    }
    sizes[kept] = parts;
    sizes[kept + 1] = reduced / parts;
    val rows = v_reshape(g, v_permute(g, x, order), kept + 2, sizes);
    *out = v_reduce(g, how, v_reduce(g, how, rows, (uint64_t)1 << (kept + 1), false), (uint64_t)1 << kept, false);
    return true;
}

/* --- sums of one place ------------------------------------------------------------------------------------------------ */

/* Whether v is the coordinate along dimension d, of whatever type. */
static bool is_coordinate(const dag *g, val v, int d) {
    const dag_node *n = dag_at(g, v);
    while (n->kind == PRIM_CAST) {
        n = dag_at(g, n->sources[0]);
    }
    return n->kind == PRIM_IOTA && n->dim == d;
}

/* Whether v is the same all along dimension d. */
static bool is_same_along(const dag *g, val v, int d) {
    const dag_node *n = dag_at(g, v);
    bool same = n->kind == PRIM_CONSTANT || n->kind == PRIM_VIEW;
    for (int i = 0; n->kind == PRIM_VIEW && i < n->view.n_at; i++) {
        same &= (index_variables(n->view.at[i]) >> d & 1) == 0;
    }
    for (int i = 0; n->kind == PRIM_VIEW && i < n->view.n_bounds; i++) {
        same &= (index_variables(n->view.bounds[i].at) >> d & 1) == 0;
    }
    return same;
}

/* v where coordinate d is 0, without that dimension. */
static val first_along(dag *g, val v, int d) {
    return dag_at(g, v)->kind == PRIM_CONSTANT ? v : v_squeeze(g, v_slice(g, v, d, 0, 1, 1), d);
}

/* The sum of what is 0 but where the coordinate is one of the row's own (the gradient of a loss: all but the target's) is what stands
   there: no loop looks for it. */
static bool sum_of_one_place(dag *g, reduction how, val x, uint64_t dims, val *out) {
    const dag_node n = *dag_at(g, x);
    int d = 0;
    while (d < n.ndim && (dims >> d & 1) == 0) {
        d++;
    }
    if (how != RED_SUM || d == n.ndim || dims >> d != 1 || n.kind != PRIM_MAP || n.fn != FN_SELECT) {
        return false;
    }
    const dag_node condition = *dag_at(g, n.sources[0]), *otherwise = dag_at(g, n.sources[2]);
    if (condition.kind != PRIM_MAP || condition.fn != FN_EQ || otherwise->kind != PRIM_CONSTANT || otherwise->number.f != 0 ||
        otherwise->number.im != 0 || !is_same_along(g, n.sources[1], d)) {
        return false;
    }
    int other = is_coordinate(g, condition.sources[0], d) ? 1 : 0;
    val place = condition.sources[other];
    if (!is_coordinate(g, condition.sources[1 - other], d) || !is_same_along(g, place, d)) {
        return false;
    }
    dtype t = v_dtype(g, place);
    val at = first_along(g, place, d);
    val inside = v_2(g, FN_AND, v_2(g, FN_GE, at, v_int(g, t, 0)), v_2(g, FN_LT, at, v_int(g, t, n.sizes[d])));
    int64_t sizes[TENSOR_MAX_DIMS];
    int ndim = 0;
    for (int i = 0; i < n.ndim; i++) {
        if (i != d) {
            sizes[ndim++] = n.sizes[i];
        }
    }
    *out = v_expand(g, v_select(g, inside, first_along(g, n.sources[1], d), n.sources[2]), ndim, sizes);
    return true;
}

enum { MOST_PIECES = 8 };

/* So many to one, in halves, as lanes are. */
static val pieces_to_one(dag *g, reduction how, val *pieces, int n) {
    static const scalar_function functions[] = {
        [RED_SUM] = FN_ADD, [RED_PROD] = FN_MUL, [RED_MAX] = FN_MAXIMUM, [RED_MIN] = FN_MINIMUM};
    for (int left = n; left > 1; left = (left + 1) / 2) {
        const int half = (left + 1) / 2;
        for (int i = 0; i + half < left; i++) {
            pieces[i] = v_2(g, functions[how], pieces[i], pieces[i + half]);
        }
    }
    return pieces[0];
}

/* A few rows of what is given are added up element by element, which keeps nothing between them: of [16, 2, 256, 8, 8] the sum over the
   second takes 19 us so, and 33 (two cores of a Zen 4, 2026-11). */
static bool sum_few_rows(dag *g, val x, uint64_t dims, int64_t reduced, int ndim, const int64_t *sizes, val *out) {
    enum { LEAST_ROW = 64 };
    const dag_node n = *dag_at(g, x);
    int64_t row = 1;
    for (int d = n.ndim - 1; d >= 0 && (dims >> d & 1) == 0; d--) {
        row *= n.sizes[d];
    }
    if (reduced > MOST_PIECES || row < LEAST_ROW || n.dtype == ASSAY_B8 || !is_given(g, x)) {
        return false;
    }
    val pieces[MOST_PIECES];
    for (int i = 0; i < reduced; i++) {
        val piece = x;
        int64_t rest = i;
        for (int d = n.ndim - 1; d >= 0; d--) {
            if ((dims >> d & 1) != 0) {
                piece = v_slice(g, piece, d, rest % n.sizes[d], 1, 1);
                rest /= n.sizes[d];
            }
        }
        pieces[i] = v_reshape(g, piece, ndim, sizes);
    }
    *out = pieces_to_one(g, RED_SUM, pieces, (int)reduced);
    return true;
}

/* A few pieces of one element each, side by side (the largest of a row, which topk finds one by one), are put together as they are: what
   made them is then not written to be read again. */
static bool reduce_pieces(dag *g, reduction how, val x, uint64_t dims, int ndim, const int64_t *sizes, val *out) {
    const dag_node n = *dag_at(g, x), join = n.kind == PRIM_CAST ? *dag_at(g, n.sources[0]) : n;
    if (join.kind != PRIM_JOIN || dims != (uint64_t)1 << join.dim || how == RED_ARGMAX || how == RED_ARGMIN ||
        join.n_sources > MOST_PIECES || join.sizes[join.dim] != join.n_sources) {
        return false;
    }
    val pieces[MOST_PIECES];
    for (int i = 0; i < join.n_sources; i++) {
        pieces[i] = v_cast(g, join.sources[i], n.dtype);
    }
    *out = v_reshape(g, pieces_to_one(g, how, pieces, join.n_sources), ndim, sizes);
    return true;
}

/* Over one element each nothing is left to reduce: the element itself, or 0 and it, so that no sum is -0. What is computed from both is
   then computed from one value. */
static val only_element(dag *g, reduction how, val x, int ndim, const int64_t *sizes) {
    val element = v_reshape(g, x, ndim, sizes);
    dtype t = v_dtype(g, x);
    return how == RED_SUM && t != ASSAY_B8 ? v_2(g, FN_ADD, element, v_int(g, t, 0)) : element;
}

/* Who else goes over the elements: anyone may; nobody is expected to; someone who does it in one step, so that this does too. */
typedef enum beside { BESIDE_ANY, BESIDE_NONE, BESIDE_WHOLE } beside;

static val reduce(dag *g, reduction how, val x, uint64_t dims, bool keepdim, bool of_factors, beside others) {
    if (dag_stopped(g)) {
        return (val){0};
    }
    dag_node n = *dag_at(g, x);
    int64_t sizes[TENSOR_MAX_DIMS], kept[TENSOR_MAX_DIMS];
    int ndim = 0;
    int64_t reduced = 1;
    for (int d = 0; d < n.ndim; d++) {
        bool goes = (dims >> d & 1) != 0;
        reduced *= goes ? n.sizes[d] : 1;
        kept[d] = goes ? 1 : n.sizes[d];
        if (!goes) {
            sizes[ndim++] = n.sizes[d];
        }
    }
    bool places = how == RED_ARGMAX || how == RED_ARGMIN;
    if (dag_numel(&n) == 0 && (how == RED_SUM || how == RED_PROD)) { /* loops over nothing have nothing to be named by */
        val none = v_int(g, n.dtype, how == RED_PROD);
        return v_expand(g, none, keepdim ? n.ndim : ndim, keepdim ? kept : sizes);
    }
    val result = x;
    if (reduced == 1 && dims != 0 && !places && !of_factors) {
        result = only_element(g, how, x, ndim, sizes);
    } else if ((!of_factors && reduce_pieces(g, how, x, dims, ndim, sizes, &result)) ||
               (others == BESIDE_NONE && sum_few_rows(g, x, dims, reduced, ndim, sizes, &result))) {
        /* done */
    } else if ((dims != 0 || places) && (others == BESIDE_WHOLE ||
               (!sum_of_one_place(g, how, x, dims, &result) && !split(g, how, x, dims, &result) &&
                !split_rows(g, how, x, dims, others == BESIDE_NONE, &result) && !split_samples(g, how, x, dims, others == BESIDE_NONE, &result)))) {
        result = reduce_by(g, how, x, dims, of_factors);
    }
    return keepdim ? v_reshape(g, result, n.ndim, kept) : result;
}

val v_reduce(dag *g, reduction how, val x, uint64_t dims, bool keepdim) {
    return reduce(g, how, x, dims, keepdim, false, BESIDE_ANY);
}

/* Whether columns are so many, and so short, that threads had better take blocks of them, each gone over several times while a core's own
   cache holds it: softmax over the first of [4096, 8192] floats takes 5.7 ms so, and 15 in parts of rows (two cores of a Zen 4, 2026-11).
   Of several numbers that are read for each element none may have to come twice from past all caches. */
static bool columns_stay(const dag *g, val x, uint64_t dims, int kept) {
    enum { BLOCK_BYTES = 128, LEAST_BLOCKS = 16, NEAR_BYTES = 5 << 18, FAR_BYTES = 32 << 20 };
    const dag_node *n = dag_at(g, x);
    int64_t reduced = 1, columns = 1, lanes = BLOCK_BYTES / (int64_t)dtype_size(given_dtype(g, x));
    int first = 0;
    for (; first < n->ndim && (dims >> first & 1) != 0; first++) {
        reduced *= n->sizes[first];
    }
    for (int d = first; d < n->ndim; d++) {
        columns *= n->sizes[d];
    }
    return dims >> first == 0 && columns >= LEAST_BLOCKS * lanes && reduced <= NEAR_BYTES / (lanes * kept * (int64_t)sizeof(float)) &&
           (kept == 1 || reduced * columns * (int64_t)sizeof(float) >= FAR_BYTES);
}

val v_reduce_again(dag *g, reduction how, val x, uint64_t dims, bool keepdim, int kept) {
    bool whole = !dag_stopped(g) && columns_stay(g, x, dims, kept);
    return reduce(g, how, x, dims, keepdim, false, whole ? BESIDE_WHOLE : BESIDE_ANY);
}

val v_sum_alone(dag *g, val x, uint64_t dims, bool keepdim) {
    return reduce(g, RED_SUM, x, dims, keepdim, false, BESIDE_NONE);
}

val v_beside_places(dag *g, reduction how, val x, uint64_t dims, bool keepdim) {
    return reduce(g, how, x, dims, keepdim, false, BESIDE_WHOLE);
}

val v_sum_of_factors(dag *g, val x, uint64_t dims) {
    return reduce(g, RED_SUM, x, dims, false, true, BESIDE_ANY);
}

val v_scan(dag *g, reduction how, val x, int dim) {
    if (dag_stopped(g)) {
        return (val){0};
    }
    dag_node n = *dag_at(g, x);
    if (dag_numel(&n) == 0) {
        return x;
    }
    return dag_intern(g, &(dag_node){.kind = PRIM_SCAN,
                                     .dtype = n.dtype,
                                     .ndim = n.ndim,
                                     .sizes = n.sizes,
                                     .n_sources = 1,
                                     .sources = &x,
                                     .reduce = {.how = how, .dims = (uint64_t)1 << dim}});
}
