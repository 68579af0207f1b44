/* SPDX-License-Identifier: Apache-2.0 */
/* The dag that the compiler reads: views composed at random against the same views carried out one by one, and what the
   builder folds. */
#include "unit.h"

#include "base/rng.h"
#include "engine/graph/dag_build.h"

#include <string.h>

static const uint64_t seed = 20262;

static int64_t floor_of(int64_t a, int64_t b) {
    int64_t q = a / b;
    return q * b > a ? q - 1 : q;
}

/* The next coordinates in row-major order; false behind the last. */
static bool advance(int n, const int64_t *sizes, int64_t *at) {
    for (int d = n - 1; d >= 0; d--) {
        if (++at[d] < sizes[d]) {
            return true;
        }
        at[d] = 0;
    }
    return false;
}

/* --- views ------------------------------------------------------------------------------------------------------------ */

enum { MOST_DIMS = 5, MOST_ELEMENTS = 4096, INPUTS = 8 };

/* A tensor as plain numbers, row-major. */
typedef struct grid {
    int ndim;
    int64_t sizes[TENSOR_MAX_DIMS];
    double x[MOST_ELEMENTS];
} grid;

typedef struct view_case {
    arena memory;
    dag g;
    dag_capture capture;
    tensor inputs[INPUTS];
    grid *data[INPUTS]; /* what they hold */
    int n_inputs;
    rng r;
} view_case;

static val new_input(view_case *c, dtype t, const grid *data) {
    tensor *input = &c->inputs[c->n_inputs];
    assert_true(c->n_inputs < INPUTS);
    assert_int_equal(tensor_init(input, t, data->ndim, data->sizes, NULL), ASSAY_OK);
    c->data[c->n_inputs] = arena_make(&c->memory, 1, sizeof(grid));
    assert_non_null(c->data[c->n_inputs]);
    *c->data[c->n_inputs++] = *data;
    return v_tensor(&c->g, input);
}

/* DATA names what it reads by value, which the dag holds: so an expression of a dag is evaluated through it. */
static double element(const view_case *c, val v, const int64_t *at);

static int64_t coordinate(const view_case *c, index_sum a, const int64_t *variables) {
    int64_t sum = a.constant;
    for (int i = 0; i < a.n; i++) {
        const index_atom *atom = a.terms[i].atom;
        int64_t value, at[TENSOR_MAX_DIMS];
        if (atom->kind == ATOM_VARIABLE) {
            value = variables[atom->id];
        } else if (atom->kind == ATOM_DATA) {
            for (int k = 0; k < atom->n_at; k++) {
                at[k] = coordinate(c, atom->at[k], variables);
            }
            value = (int64_t)element(c, (val){atom->id}, at);
        } else {
            int64_t of = coordinate(c, atom->of, variables), whole = floor_of(of, atom->divisor);
            value = atom->kind == ATOM_QUOTIENT ? whole : of - whole * atom->divisor;
        }
        sum += a.terms[i].factor * value;
    }
    return sum;
}

static double element(const view_case *c, val v, const int64_t *at) {
    const dag_node *n = dag_at(&c->g, v);
    if (n->kind == PRIM_INPUT) {
        const grid *data = c->data[n->input.from - c->inputs];
        for (int d = 0; d < n->ndim; d++) {
            assert_true(at[d] >= 0 && at[d] < n->sizes[d]);
        }
        return data->x[sizes_ravel(n->ndim, n->sizes, at)];
    }
    assert_int_equal(n->kind, PRIM_VIEW);
    for (int i = 0; i < n->view.n_bounds; i++) {
        int64_t where = coordinate(c, n->view.bounds[i].at, at);
        if (where < n->view.bounds[i].low || where > n->view.bounds[i].high) {
            return n->view.fill.f;
        }
    }
    int64_t inner[TENSOR_MAX_DIMS];
    for (int i = 0; i < n->view.n_at; i++) {
        inner[i] = coordinate(c, n->view.at[i], at);
    }
    return element(c, n->sources[0], inner);
}

/* The views, carried out: `from` says where an element comes from (-1: the fill). */
typedef int64_t source_fn(const void *self, const grid *from, const int64_t *at);

static void carry_out(grid *x, int ndim, const int64_t *sizes, source_fn *source, const void *self, double fill) {
    grid from = *x;
    int64_t at[TENSOR_MAX_DIMS] = {0}, flat = 0;
    x->ndim = ndim;
    memcpy(x->sizes, sizes, (size_t)ndim * sizeof *sizes);
    if (sizes_numel(ndim, sizes) == 0) {
        return;
    }
    do {
        int64_t place = source(self, &from, at);
        x->x[flat++] = place < 0 ? fill : from.x[place];
    } while (advance(ndim, sizes, at));
}

/* Dimension `dim` of the result is looked up at start + step * i. */
typedef struct lookup {
    int dim;
    int64_t start, step;
    const int *order; /* a permutation instead */
    const grid *index; /* a gather instead */
} lookup;

static int64_t looked_up(const void *self, const grid *from, const int64_t *at) {
    const lookup *l = self;
    int64_t inner[TENSOR_MAX_DIMS];
    for (int d = 0; d < from->ndim; d++) {
        inner[l->order != NULL ? l->order[d] : d] = at[d];
    }
    if (l->index != NULL) {
        inner[l->dim] = (int64_t)l->index->x[sizes_ravel(l->index->ndim, l->index->sizes, at)];
    } else if (l->order == NULL) {
        inner[l->dim] = l->start + l->step * at[l->dim];
    }
    bool within = inner[l->dim] >= 0 && inner[l->dim] < from->sizes[l->dim];
    return within ? sizes_ravel(from->ndim, from->sizes, inner) : -1;
}

static int64_t repeated(const void *self, const grid *from, const int64_t *at) {
    int lead = *(const int *)self;
    int64_t inner[TENSOR_MAX_DIMS];
    for (int d = 0; d < from->ndim; d++) {
        inner[d] = from->sizes[d] == 1 ? 0 : at[lead + d];
    }
    return sizes_ravel(from->ndim, from->sizes, inner);
}

static int64_t strided(const void *self, const grid *from, const int64_t *at) {
    const tensor *t = self;
    (void)from;
    int64_t flat = t->offset;
    for (int d = 0; d < t->ndim; d++) {
        flat += at[d] * t->strides[d];
    }
    return flat;
}

static val draw_permute(view_case *c, val x, grid *now) {
    int order[TENSOR_MAX_DIMS];
    int64_t sizes[TENSOR_MAX_DIMS];
    for (int d = 0; d < now->ndim; d++) {
        order[d] = d;
    }
    for (int d = now->ndim - 1; d > 0; d--) {
        int other = (int)rng_range(&c->r, 0, d + 1), kept = order[d];
        order[d] = order[other];
        order[other] = kept;
    }
    for (int d = 0; d < now->ndim; d++) {
        sizes[d] = now->sizes[order[d]];
    }
    x = v_permute(&c->g, x, order);
    carry_out(now, now->ndim, sizes, looked_up, &(lookup){.order = order}, 0);
    return x;
}

/* Two neighbours joined, or one dimension split by a divisor of it. */
static val draw_reshape(view_case *c, val x, grid *now) {
    int64_t sizes[TENSOR_MAX_DIMS + 1];
    int dim = (int)rng_range(&c->r, 0, now->ndim), n = 0;
    bool joins = dim + 1 < now->ndim && rng_range(&c->r, 0, 2) == 0;
    for (int d = 0; d < now->ndim; d++) {
        int64_t size = now->sizes[d];
        if (d == dim && joins) {
            sizes[n++] = size * now->sizes[++d];
        } else if (d == dim && now->ndim < MOST_DIMS) {
            int64_t part = size % 3 == 0 ? 3 : size % 2 == 0 ? 2 : 1;
            sizes[n++] = size / part;
            sizes[n++] = part;
        } else {
            sizes[n++] = size;
        }
    }
    x = v_reshape(&c->g, x, n, sizes);
    now->ndim = n;
    memcpy(now->sizes, sizes, (size_t)n * sizeof *sizes);
    return x;
}

static val draw_slice(view_case *c, val x, grid *now) {
    int64_t sizes[TENSOR_MAX_DIMS];
    lookup l = {.dim = (int)rng_range(&c->r, 0, now->ndim), .step = rng_range(&c->r, 1, 3)};
    memcpy(sizes, now->sizes, sizeof sizes);
    l.start = rng_range(&c->r, 0, sizes[l.dim]);
    sizes[l.dim] = (sizes[l.dim] - l.start + l.step - 1) / l.step;
    x = v_slice(&c->g, x, l.dim, l.start, sizes[l.dim], l.step);
    carry_out(now, now->ndim, sizes, looked_up, &l, 0);
    return x;
}

static val draw_flip(view_case *c, val x, grid *now) {
    lookup l = {.dim = (int)rng_range(&c->r, 0, now->ndim), .step = -1};
    int64_t sizes[TENSOR_MAX_DIMS];
    memcpy(sizes, now->sizes, sizeof sizes);
    l.start = sizes[l.dim] - 1;
    x = v_flip(&c->g, x, l.dim);
    carry_out(now, now->ndim, sizes, looked_up, &l, 0);
    return x;
}

static val draw_pad(view_case *c, val x, grid *now) {
    lookup l = {.dim = (int)rng_range(&c->r, 0, now->ndim), .step = 1};
    int64_t sizes[TENSOR_MAX_DIMS], before = rng_range(&c->r, -1, 3), after = rng_range(&c->r, 0, 3);
    double fill = (double)rng_range(&c->r, -2, 0);
    memcpy(sizes, now->sizes, sizeof sizes);
    if (sizes[l.dim] + before + after < 1 || sizes_numel(now->ndim, sizes) * 4 > MOST_ELEMENTS) {
        return x;
    }
    l.start = -before;
    sizes[l.dim] += before + after;
    x = v_pad(&c->g, x, l.dim, before, after, number_of_double(fill));
    carry_out(now, now->ndim, sizes, looked_up, &l, fill);
    return x;
}

static val draw_expand(view_case *c, val x, grid *now) {
    int64_t sizes[TENSOR_MAX_DIMS];
    int lead = now->ndim < MOST_DIMS ? 1 : 0;
    sizes[0] = 2;
    for (int d = 0; d < now->ndim; d++) {
        sizes[lead + d] = now->sizes[d] == 1 ? rng_range(&c->r, 1, 4) : now->sizes[d];
    }
    if (sizes_numel(now->ndim + lead, sizes) > MOST_ELEMENTS) {
        return x;
    }
    x = v_expand(&c->g, x, now->ndim + lead, sizes);
    carry_out(now, now->ndim + lead, sizes, repeated, &lead, 0);
    return x;
}

static val draw_squeeze(view_case *c, val x, grid *now) {
    int dim = (int)rng_range(&c->r, 0, now->ndim);
    if (now->sizes[dim] == 1 && now->ndim > 1) {
        memmove(&now->sizes[dim], &now->sizes[dim + 1], (size_t)(now->ndim-- - dim - 1) * sizeof *now->sizes);
        return v_squeeze(&c->g, x, dim);
    }
    if (now->ndim == MOST_DIMS) {
        return x;
    }
    memmove(&now->sizes[dim + 1], &now->sizes[dim], (size_t)(now->ndim++ - dim) * sizeof *now->sizes);
    now->sizes[dim] = 1;
    return v_unsqueeze(&c->g, x, dim);
}

/* Rows picked by an index tensor, some of them twice. */
static val draw_gather(view_case *c, val x, grid *now) {
    if (c->n_inputs == INPUTS) {
        return x;
    }
    grid index = {.ndim = now->ndim};
    lookup l = {.dim = (int)rng_range(&c->r, 0, now->ndim), .index = &index};
    memcpy(index.sizes, now->sizes, sizeof index.sizes);
    index.sizes[l.dim] = rng_range(&c->r, 1, now->sizes[l.dim] + 1);
    for (int64_t i = 0; i < sizes_numel(index.ndim, index.sizes); i++) {
        index.x[i] = (double)rng_range(&c->r, 0, now->sizes[l.dim]);
    }
    x = v_gather(&c->g, x, l.dim, new_input(c, ASSAY_I64, &index));
    carry_out(now, now->ndim, index.sizes, looked_up, &l, 0);
    return x;
}

/* What a view operator makes of a tensor in memory: a diagonal and an offset, or a transposed part. */
static val draw_as_strided(view_case *c, val x, grid *now) {
    tensor base, t;
    assert_int_equal(tensor_init(&base, ASSAY_F32, now->ndim, now->sizes, NULL), ASSAY_OK);
    int64_t n = tensor_numel(&base), inner = rng_range(&c->r, 1, 4), outer = rng_range(&c->r, 1, 9);
    int64_t rows = 1 + (n - 1) / (2 * outer), columns = 1 + (n - 1) / (2 * inner);
    rows = rows > 16 ? 16 : rows;
    columns = columns > 16 ? 16 : columns;
    assert_int_equal(tensor_init_strided(&t, ASSAY_F32, 2, (int64_t[]){rows, columns}, (int64_t[]){outer, inner}, NULL), ASSAY_OK);
    t.offset = rng_range(&c->r, 0, n - (rows - 1) * outer - (columns - 1) * inner);
    x = v_as_strided(&c->g, x, &base, &t);
    carry_out(now, 2, t.sizes, strided, &t, 0);
    return x;
}

typedef val draw_fn(view_case *c, val x, grid *now);
static draw_fn *const plain_views[] = {draw_permute, draw_reshape, draw_slice, draw_flip, draw_expand, draw_squeeze,
                                       draw_as_strided};
static draw_fn *const more_views[] = {draw_pad, draw_gather};

static void compare(const view_case *c, val x, const grid *expected) {
    int64_t at[TENSOR_MAX_DIMS] = {0}, flat = 0;
    const dag_node *n = dag_at(&c->g, x);
    assert_int_equal(n->ndim, expected->ndim);
    for (int d = 0; d < n->ndim; d++) {
        assert_int_equal(n->sizes[d], expected->sizes[d]);
    }
    do {
        assert_true(element(c, x, at) == expected->x[flat++]);
    } while (advance(n->ndim, n->sizes, at));
}

static val open_case(view_case *c, uint64_t stream, grid *now) {
    *c = (view_case){.r = rng_make_stream(seed + 2, stream)};
    dag_init(&c->g, &c->memory);
    c->g.capture = &c->capture;
    now->ndim = (int)rng_range(&c->r, 1, 4);
    for (int d = 0; d < now->ndim; d++) {
        now->sizes[d] = rng_range(&c->r, 1, 7);
    }
    for (int64_t i = 0; i < sizes_numel(now->ndim, now->sizes); i++) {
        now->x[i] = (double)(i + 1);
    }
    return new_input(c, ASSAY_F32, now);
}

static void close_case(view_case *c) {
    assert_false(c->g.failed);
    assert_null(c->g.refused);
    dag_clear(&c->g);
    arena_clear(&c->memory);
}

static void chains_of_views_are_one_view(void **state) {
    (void)state;
    enum { CHAINS = 2000 };
    static view_case c;
    static grid now;
    for (uint64_t i = 0; i < CHAINS; i++) {
        val x = open_case(&c, i, &now);
        for (uint64_t k = 0; k < 1 + i % 6; k++) {
            x = plain_views[rng_range(&c.r, 0, countof(plain_views))](&c, x, &now);
        }
        compare(&c, x, &now);
        const dag_node *n = dag_at(&c.g, x);
        assert_true(n->kind == PRIM_INPUT || dag_at(&c.g, n->sources[0])->kind == PRIM_INPUT);
        close_case(&c);
    }
}

static void pads_and_gathers_go_together(void **state) {
    (void)state;
    enum { CHAINS = 2000 };
    static view_case c;
    static grid now;
    for (uint64_t i = 0; i < CHAINS; i++) {
        val x = open_case(&c, CHAINS + i, &now);
        for (uint64_t k = 0; k < 1 + i % 6; k++) {
            bool more = rng_range(&c.r, 0, 2) == 0;
            x = more ? more_views[rng_range(&c.r, 0, countof(more_views))](&c, x, &now)
                     : plain_views[rng_range(&c.r, 0, countof(plain_views))](&c, x, &now);
        }
        compare(&c, x, &now);
        close_case(&c);
    }
}

static void there_and_back_is_nothing(void **state) {
    (void)state;
    static view_case c;
    static grid now;
    val x = open_case(&c, 0, &now);
    now = (grid){.ndim = 3, .sizes = {2, 3, 4}};
    x = new_input(&c, ASSAY_F32, &now);
    assert_int_equal(v_transpose(&c.g, v_transpose(&c.g, x, 0, 2), 0, 2).id, x.id);
    assert_int_equal(v_reshape(&c.g, v_reshape(&c.g, x, 2, (int64_t[]){8, 3}), 3, now.sizes).id, x.id);
    assert_int_equal(v_flip(&c.g, v_flip(&c.g, x, 1), 1).id, x.id);
    assert_int_equal(v_squeeze(&c.g, v_unsqueeze(&c.g, x, 1), 1).id, x.id);
    assert_int_equal(v_expand(&c.g, x, 3, now.sizes).id, x.id);
    assert_int_equal(v_slice(&c.g, v_pad(&c.g, x, 1, 2, 1, number_of_int(0)), 1, 0, 6, 1).id,
                     v_pad(&c.g, x, 1, 2, 1, number_of_int(0)).id);
    close_case(&c);
}

/* --- the builder ------------------------------------------------------------------------------------------------------ */

static double constant_of(const dag *g, val v) {
    assert_int_equal(dag_at(g, v)->kind, PRIM_CONSTANT);
    return dag_at(g, v)->number.f;
}

static void equal_values_are_one(void **state) {
    (void)state;
    static view_case c;
    static grid now = {.ndim = 1, .sizes = {3}};
    dag *g = &c.g;
    open_case(&c, 1, &now);
    val x = new_input(&c, ASSAY_F32, &now), y = new_input(&c, ASSAY_F32, &now);
    assert_int_not_equal(x.id, y.id);
    assert_int_equal(v_add(g, x, y).id, v_add(g, x, y).id);
    assert_int_not_equal(v_add(g, x, y).id, v_sub(g, x, y).id);
    assert_int_equal(v_real(g, ASSAY_F32, 0.1).id, v_real(g, ASSAY_F32, (double)0.1f).id);
    assert_int_not_equal(v_real(g, ASSAY_F32, 0).id, v_real(g, ASSAY_F32, -0.0).id);
    assert_int_not_equal(v_real(g, ASSAY_F32, 0).id, v_undefined(g, ASSAY_F32).id);
    int before = g->n_nodes;
    for (int i = 0; i < 1000; i++) {
        v_add_real(g, x, i); /* the table grows, and finds the old ones still */
    }
    assert_true(g->n_nodes >= before + 1000);
    assert_int_equal(v_add(g, x, y).id, v_add(g, x, y).id);
    int after = g->n_nodes;
    for (int i = 0; i < 1000; i++) {
        v_add_real(g, x, i);
    }
    assert_int_equal(g->n_nodes, after);
    close_case(&c);
}

static void plain_answers_are_folded(void **state) {
    (void)state;
    static view_case c;
    static grid now = {.ndim = 1, .sizes = {3}};
    dag *g = &c.g;
    open_case(&c, 2, &now);
    now = (grid){.ndim = 1, .sizes = {3}};
    val x = new_input(&c, ASSAY_F32, &now), n = new_input(&c, ASSAY_I32, &now);
    assert_int_equal(v_mul_real(g, x, 1).id, x.id);
    assert_int_equal(v_div(g, x, v_real(g, ASSAY_F32, 1)).id, x.id);
    assert_int_equal(v_sub(g, x, v_int(g, ASSAY_F32, 0)).id, x.id);
    assert_int_not_equal(v_add_real(g, x, 0).id, x.id); /* -0 + 0 is 0 */
    assert_int_equal(v_add(g, n, v_int(g, ASSAY_I32, 0)).id, n.id);
    assert_int_equal(v_select(g, v_int(g, ASSAY_B8, 1), x, v_real(g, ASSAY_F32, 2)).id, x.id);
    assert_true(constant_of(g, v_add(g, v_real(g, ASSAY_F64, 2), v_real(g, ASSAY_F64, 3))) == 5);
    assert_true(constant_of(g, v_mul(g, v_real(g, ASSAY_F32, 0.1), v_real(g, ASSAY_F32, 3))) == (double)(0.1f * 3));
    val spread = v_mul(g, x, v_expand(g, v_real(g, ASSAY_F32, 1), 1, now.sizes));
    assert_int_equal(v_ndim(g, spread), 1);
    close_case(&c);
}

static void casts_that_lose_nothing_go(void **state) {
    (void)state;
    static view_case c;
    static grid now = {.ndim = 1, .sizes = {3}};
    dag *g = &c.g;
    open_case(&c, 3, &now);
    now = (grid){.ndim = 1, .sizes = {3}};
    val x = new_input(&c, ASSAY_F32, &now), h = new_input(&c, ASSAY_BF16, &now), b = new_input(&c, ASSAY_B8, &now);
    val i = new_input(&c, ASSAY_I64, &now);
    assert_int_equal(v_cast(g, v_cast(g, h, ASSAY_F32), ASSAY_BF16).id, h.id);
    assert_int_equal(v_cast(g, v_cast(g, x, ASSAY_BF16), ASSAY_F32).id, x.id); /* between operators: digits are kept */
    val rounded = v_rounded(g, x, ASSAY_BF16);
    assert_int_equal(v_dtype(g, rounded), ASSAY_F32);
    assert_int_not_equal(rounded.id, x.id);
    assert_int_equal(v_cast(g, rounded, ASSAY_BF16).id, v_cast(g, x, ASSAY_BF16).id);
    assert_true(constant_of(g, v_rounded(g, v_real(g, ASSAY_F32, 0.1), ASSAY_BF16)) == 0.10009765625);
    assert_true(constant_of(g, v_cast(g, v_real(g, ASSAY_F64, 0.1), ASSAY_F16)) == 0.0999755859375);
    assert_int_not_equal(v_cast(g, v_cast(g, i, ASSAY_I32), ASSAY_I64).id, i.id); /* it wraps */
    assert_int_equal(v_truth(g, v_cast(g, b, ASSAY_F32)).id, b.id);
    assert_int_equal(v_truth(g, b).id, b.id);
    val narrow = v_cast(g, v_select(g, b, v_cast(g, h, ASSAY_F32), v_real(g, ASSAY_F32, 0.1)), ASSAY_BF16);
    assert_int_equal(narrow.id, v_select(g, b, h, v_real(g, ASSAY_BF16, 0.1)).id); /* a choice of halves stays one */
    assert_int_equal(dag_at(g, v_cast(g, v_select(g, b, v_cast(g, h, ASSAY_F32), x), ASSAY_BF16))->kind, PRIM_CAST);
    assert_int_equal(v_dtype(g, v_truth(g, x)), ASSAY_B8);
    close_case(&c);
}

static void refusing_stops_the_builder(void **state) {
    (void)state;
    static view_case c;
    static grid now;
    val x = open_case(&c, 4, &now);
    v_refuse(&c.g, "first");
    v_refuse(&c.g, "second");
    int before = c.g.n_nodes;
    v_add(&c.g, x, v_transpose(&c.g, x, 0, 0));
    v_reduce(&c.g, RED_SUM, x, 1, true);
    assert_int_equal(c.g.n_nodes, before);
    assert_string_equal(c.g.refused, "first");
    c.g.refused = NULL;
    close_case(&c);
}

/* One result of many elements: parts of them are reduced first, none of which begins within a row where there is a way. */
static void parts_begin_with_rows(void **state) {
    (void)state;
    static const struct {
        int ndim;
        int64_t sizes[3], parts; /* 1: in one step */
    } cases[] = {{3, {64, 512, 1024}, 64}, {3, {127, 1001, 1001}, 127}, {2, {131, 784}, 131},  {3, {16, 7, 1000}, 112},
                 {2, {13, 9973}, 13},      {2, {7, 20011}, 1},          {2, {2047, 1000}, 89}, {1, {1000000}, 64}};
    for (size_t i = 0; i < countof(cases); i++) {
        static view_case c;
        static grid now;
        (void)open_case(&c, 5 + i, &now);
        tensor x;
        assert_int_equal(tensor_init(&x, ASSAY_F32, cases[i].ndim, cases[i].sizes, NULL), ASSAY_OK);
        val sum = v_reduce(&c.g, RED_SUM, v_tensor(&c.g, &x), (uint64_t)(1 << cases[i].ndim) - 1, false);
        const dag_node *whole = dag_at(&c.g, sum), *of = dag_at(&c.g, whole->sources[0]);
        assert_int_equal(whole->kind, PRIM_REDUCE);
        assert_int_equal(of->kind == PRIM_REDUCE ? of->sizes[0] : 1, cases[i].parts);
        tensor_clear(&x);
        close_case(&c);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(chains_of_views_are_one_view), cmocka_unit_test(pads_and_gathers_go_together),
        cmocka_unit_test(there_and_back_is_nothing),    cmocka_unit_test(equal_values_are_one),
        cmocka_unit_test(plain_answers_are_folded),     cmocka_unit_test(casts_that_lose_nothing_go),
        cmocka_unit_test(refusing_stops_the_builder),   cmocka_unit_test(parts_begin_with_rows),
    };
    print_message("seed %llu\n", (unsigned long long)seed);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
