/* SPDX-License-Identifier: Apache-2.0 */
/* Which values get memory, and which kernel computes each: a value joins a kernel that has its loops and shares what it
   reads. */
#include "engine/compile/schedule.h"

#include <assert.h>
#include <string.h>

/* --- the loops that a value needs ------------------------------------------------------------------------------------- */

/* Of a root: the sizes of its loops (size 1 left out) and which of them are reduced. */
typedef struct domain {
    val over;  /* the value whose elements the loops visit */
    int n;
    int dims[TENSOR_MAX_DIMS]; /* of `over` */
    bool reduced[TENSOR_MAX_DIMS];
    bool has_classes;
} domain;

/* Of a scatter's updates: a dimension that is one of the base's own coordinates, one for one, runs in parallel, whatever the
   others are: its steps touch different elements. The rest goes in order. */
static bool moves_along(const dag_node *n, int dim) {
    for (int i = 0; i < n->scatter.where.n_at; i++) {
        int id;
        if (index_is_variable(n->scatter.where.at[i], &id) && id == dim) {
            return true;
        }
    }
    return false;
}

/* v lies in memory, but not there: it is copied, not computed. */
static bool is_copied(const compiler *c, val v, const place *to) {
    const place *p = &c->places[v.id];
    return p->buffer >= 0 && (p->buffer != to->buffer || p->offset != to->offset);
}

static void domain_of(const compiler *c, val v, const place *to, domain *d) {
    const dag_node *n = dag_at(&c->g, v);
    *d = (domain){.over = v};
    bool copied = is_copied(c, v, to);
    bool loops = !copied && (n->kind == PRIM_REDUCE || n->kind == PRIM_SCAN || n->kind == PRIM_SCATTER);
    if (loops && n->kind == PRIM_REDUCE) {
        d->over = n->sources[0];
    } else if (loops && n->kind == PRIM_SCATTER) {
        d->over = n->sources[1];
    }
    d->has_classes = loops;
    const dag_node *over = dag_at(&c->g, d->over);
    for (int i = 0; i < over->ndim; i++) {
        if (over->sizes[i] == 1) {
            continue;
        }
        d->dims[d->n] = i;
        d->reduced[d->n++] = loops && (n->kind == PRIM_SCATTER ? !moves_along(n, i) : (n->reduce.dims >> i & 1) != 0);
    }
}

/* The kernel's variable for each dimension of the domain; false when the loops are others. A value without reductions fits
   all of a kernel's variables or its parallel ones. */
static bool fit(const compiler *c, const kernel *k, const domain *d, int *variables) {
    const dag_node *over = dag_at(&c->g, d->over);
    for (int parallel = k->sums_products; parallel < 2; parallel++) {
        int n = 0;
        bool fits = !(parallel && d->has_classes);
        for (int v = 0; fits && v < k->n_variables; v++) {
            if (parallel && k->variables[v].is_reduced) {
                continue;
            }
            fits = n < d->n && k->variables[v].size == over->sizes[d->dims[n]] &&
                   (!d->has_classes || !k->has_classes || k->variables[v].is_reduced == d->reduced[n]);
            if (fits) {
                variables[n++] = v;
            }
        }
        if (fits && n == d->n) {
            return true;
        }
    }
    return false;
}

/* --- matrix products -------------------------------------------------------------------------------------------------- */

/* The dimensions of its own that a view's elements depend on. */
static uint64_t depends_on(const compiler *c, val v) {
    const dag_node *n = dag_at(&c->g, v);
    uint64_t set = 0;
    for (int i = 0; i < n->view.n_at; i++) {
        set |= index_variables(n->view.at[i]);
    }
    for (int i = 0; i < n->view.n_bounds; i++) {
        set |= index_variables(n->view.bounds[i].at);
    }
    return set;
}

/* The elements along the dimensions of a set. */
static int64_t elements_along(const dag_node *n, uint64_t set) {
    int64_t elements = 1;
    for (int d = 0; d < n->ndim; d++) {
        elements *= (set >> d & 1) != 0 ? n->sizes[d] : 1;
    }
    return elements;
}

bool product_factors(const compiler *c, val v, product_factor factors[2]) {
    const dag_node *n = dag_at(&c->g, v);
    if (n->kind != PRIM_REDUCE || n->reduce.how != RED_SUM || n->dtype != ASSAY_F32) {
        return false;
    }
    const dag_node *product = dag_at(&c->g, n->sources[0]);
    if (product->kind != PRIM_MAP || product->fn != FN_MUL || dag_at(&c->g, product->sources[0])->kind != PRIM_VIEW ||
        dag_at(&c->g, product->sources[1])->kind != PRIM_VIEW) {
        return false;
    }
    uint64_t of_left = depends_on(c, product->sources[0]), of_right = depends_on(c, product->sources[1]);
    uint64_t inner = n->reduce.dims & of_left & of_right;
    int64_t rows = elements_along(product, of_left & ~of_right & ~n->reduce.dims);
    int64_t columns = elements_along(product, of_right & ~of_left & ~n->reduce.dims);
    for (int i = 0; i < 2; i++) {
        factors[i] = (product_factor){dag_at(&c->g, product->sources[i])->sources[0], i == 0 ? columns : rows};
    }
    return rows > 1 && columns > 1 && (rows >= PRODUCT_LEAST || columns >= PRODUCT_LEAST) &&
           elements_along(product, inner) >= PRODUCT_LEAST;
}

/* --- joining ---------------------------------------------------------------------------------------------------------- */

static bool add_root(compiler *c, kernel *k, const root *r) {
    if (k->n_roots == k->root_capacity) {
        int capacity = 2 * k->root_capacity + 8;
        root *grown = arena_make(c->memory, (size_t)capacity, sizeof *grown);
        if (grown == NULL) {
            c->failed = true;
            return false;
        }
        if (k->n_roots > 0) {
            memcpy(grown, k->roots, (size_t)k->n_roots * sizeof *grown);
        }
        k->roots = grown;
        k->root_capacity = capacity;
    }
    k->roots[k->n_roots++] = *r;
    return true;
}

/* The last step that writes a buffer which the kernel's expressions from `first` on load; -1: only inputs. */
static int last_producer(const compiler *c, const kernel *k, int first) {
    int last = -1;
    for (int i = first; i < k->n_exprs; i++) {
        if (k->exprs[i].kind == EXPR_LOAD) {
            int step = c->buffers[k->exprs[i].buffer].step;
            last = step > last ? step : last;
        }
    }
    return last;
}

/* Whether expressions from `first` on, and `top`, read anything that those before have read from memory or computed. */
static bool shares(const kernel *k, int first, int top) {
    if (top < first) {
        return true;
    }
    for (int i = first; i < k->n_exprs; i++) {
        int reads[EXPR_MAX_READS], n = expr_reads(k, &k->exprs[i], reads);
        for (int r = 0; r < n; r++) {
            if (reads[r] < first && k->exprs[reads[r]].kind != EXPR_NUMBER) {
                return true;
            }
        }
    }
    return false;
}

static index_sum place_offset(compiler *c, const place *p, int n, const index_sum *at) {
    if (p->at != NULL) {
        return index_replace(&c->g.indices, *p->at, n, at);
    }
    index_sum offset = index_constant(p->offset);
    for (int d = 0; d < n; d++) {
        offset = index_add(&c->g.indices, offset, index_scale(&c->g.indices, at[d], p->strides[d]));
    }
    return offset;
}

/* Coordinates of the domain's value as the kernel's variables. */
static void coordinates_of(compiler *c, const kernel *k, const domain *d, const int *variables, index_sum *at) {
    const dag_node *over = dag_at(&c->g, d->over);
    for (int i = 0; i < over->ndim; i++) {
        at[i] = index_constant(0);
    }
    for (int i = 0; i < d->n; i++) {
        at[d->dims[i]] = index_variable(&c->g.indices, variables[i], k->variables[variables[i]].size);
    }
}

/* What a reduction answers, for whoever reads it in this kernel. */
static bool add_result(compiler *c, kernel *k, const root *r, int n_at, const index_sum *at) {
    expr e = {.kind = EXPR_RESULT, .dtype = dag_at(&c->g, r->value)->dtype, .root = k->n_roots - 1, .guard = -1,
              .phase = r->phase + 1};
    for (int d = 0; d < n_at; d++) {
        e.variables |= index_variables(at[d]);
    }
    return expr_append(c, k, &e, r->value, at, n_at) >= 0;
}

/* The root of v in kernel k with these variables; false when k cannot have it (k's expressions may have grown). columns: of a sum of
   those, its elements' coordinates; NULL: it is none. */
static bool make_root(compiler *c, kernel *k, val v, const place *to, const domain *d, const int *variables, const index_sum *columns) {
    const dag_node *n = dag_at(&c->g, v);
    index_sum at[TENSOR_MAX_DIMS], own[TENSOR_MAX_DIMS];
    if (columns != NULL) {
        memcpy(at, columns, (size_t)dag_at(&c->g, d->over)->ndim * sizeof *at);
    } else {
        coordinates_of(c, k, d, variables, at);
    }
    root r = {.kind = ROOT_STORE, .value = v, .buffer = to->buffer, .store_dtype = n->dtype, .dtype = n->dtype};
    int n_own = 0;
    const index_sum *where = at;
    primitive kind = is_copied(c, v, to) ? PRIM_VIEW : n->kind; /* a copy is a store like any other */
    if (kind == PRIM_REDUCE) {
        const dag_node *over = dag_at(&c->g, d->over);
        int64_t inner = 1;
        for (int i = over->ndim - 1; i >= 0; i--) {
            if ((n->reduce.dims >> i & 1) != 0) {
                r.place = index_add(&c->g.indices, r.place, index_scale(&c->g.indices, at[i], inner));
                inner *= over->sizes[i];
            }
        }
        for (int i = 0; i < over->ndim; i++) {
            if ((n->reduce.dims >> i & 1) == 0) {
                own[n_own++] = at[i];
            }
        }
        where = own;
        r.kind = columns != NULL ? ROOT_COLUMNS : ROOT_REDUCE;
        r.limit = columns != NULL ? dag_numel(n) / n->sizes[0] : 0;
        r.how = n->reduce.how;
        r.of_factors = n->reduce.of_factors;
        r.dtype = dag_at(&c->g, d->over)->dtype;
        r.expr = expr_of(c, k, n->sources[0], at, -1);
    } else if (kind == PRIM_SCAN) {
        r.kind = ROOT_SCAN;
        r.how = n->reduce.how;
        r.expr = expr_of(c, k, n->sources[0], at, -1);
    } else if (kind == PRIM_SCATTER) {
        const view_map *map = &n->scatter.where;
        r.kind = ROOT_SCATTER;
        r.adds = n->scatter.adds;
        r.limit = dag_numel(n);
        r.expr = expr_of(c, k, n->sources[1], at, -1);
        for (int i = 0; i < map->n_at && r.expr >= 0; i++) {
            own[i] = index_replace(&c->g.indices, map->at[i], dag_at(&c->g, d->over)->ndim, at);
            if (!expr_make_data(c, k, own[i], -1)) {
                return false;
            }
        }
        where = own;
        n_own = map->n_at;
    } else {
        place there = c->places[v.id];
        if (!is_copied(c, v, to)) {
            c->places[v.id].buffer = -1; /* it is about to be computed, not read */
        }
        r.expr = expr_of(c, k, v, at, -1);
        c->places[v.id] = there;
    }
    if (r.expr < 0) {
        return false;
    }
    n_own = kind == PRIM_REDUCE || kind == PRIM_SCATTER ? n_own : n->ndim;
    r.at = to->buffer >= 0 ? place_offset(c, to, n_own, where) : index_constant(0);
    r.phase = k->exprs[r.expr].phase;
    r.variables = index_variables(r.at) | k->exprs[r.expr].variables;
    if (kind == PRIM_REDUCE || kind == PRIM_SCAN || kind == PRIM_SCATTER) {
        for (int i = 0; i < (columns != NULL ? k->n_variables : d->n); i++) {
            r.variables |= (uint64_t)1 << (columns != NULL ? i : variables[i]);
        }
    }
    if (!add_root(c, k, &r)) {
        return false;
    }
    k->n_phases = r.phase + 1 > k->n_phases ? r.phase + 1 : k->n_phases;
    return kind != PRIM_REDUCE || columns != NULL || add_result(c, k, &r, n_own, where);
}

/* Whether it would reduce what a kernel's parts of rows are made of. */
static bool reduces_rows(const kernel *k, const domain *d, const int *variables) {
    for (int i = 0; i < d->n; i++) {
        if (d->reduced[i] && !is_of_columns(k, variables[i])) {
            return true;
        }
    }
    return false;
}

/* Whether the last root stores between neighbours that another one stores: pieces that are stacked along the last dimension. Together they
   fill lines of memory. */
static bool fills_gaps(const kernel *k) {
    const root *last = &k->roots[k->n_roots - 1];
    for (int i = 0; i < k->n_roots - 1; i++) {
        if (roots_interleave(k, &k->roots[i], last) > 1) {
            return true;
        }
    }
    return false;
}

/* What an attempt to join a kernel may leave behind if it comes to nothing, which many do where there are many kernels. */
typedef struct attempt_mark {
    arena_mark memory;
    kernel before;
    int n_nodes, n_buffers;
} attempt_mark;

static attempt_mark before_joining(const compiler *c, const kernel *k) {
    return (attempt_mark){arena_here(c->memory), *k, c->g.n_nodes, c->n_buffers};
}

static void give_up(compiler *c, kernel *k, const attempt_mark *m) {
    *k = m->before;
    if (!c->failed && !c->g.failed && c->g.n_nodes == m->n_nodes && c->n_buffers == m->n_buffers) {
        arena_return(c->memory, m->memory);
    }
}

/* Adds v to the step's kernel, if it goes with it; *after: the last step, of those before, that makes what v reads, once it is known. */
static bool join(compiler *c, int step, val v, const place *to, const domain *d, int *after) {
    enum { MOST_EXPRESSIONS = 512 }; /* compilers take more than twice as long for twice as many: some seconds for so many sines (gcc 12) */
    kernel *k = c->steps[step].kernel;
    int variables[TENSOR_MAX_DIMS];
    index_sum at[TENSOR_MAX_DIMS];
    if (k == NULL || k->is_closed || k->n_exprs >= MOST_EXPRESSIONS) {
        return false;
    }
    const attempt_mark mark = before_joining(c, k);
    const int n_exprs = k->n_exprs, n_roots = k->n_roots;
    bool fits = fit(c, k, d, variables), columns = !fits && !k->sums_products && columns_fit(c, k, v, to, at);
    bool may = (fits && !reduces_rows(k, d, variables)) || columns;
    bool made = may && make_root(c, k, v, to, d, variables, columns ? at : NULL);
    int last = made ? last_producer(c, k, n_exprs) : -1;
    *after = last > *after ? last : *after;
    made = made && columns_suit(k) && !(columns && columns_pass_on(c, k));
    const root *r = &k->roots[n_roots];
    bool follows = !k->sums_products || (made && r->phase > 0); /* what a block of sums comes to, and nothing else */
    if (made && follows && last < step && (shares(k, n_exprs, r->expr) || fills_gaps(k))) {
        k->column_parts = columns ? dag_at(&c->g, v)->sizes[0] : k->column_parts;
        for (int i = 0; d->has_classes && fits && i < d->n; i++) {
            k->variables[variables[i]].is_reduced = d->reduced[i];
        }
        k->has_classes |= d->has_classes && fits;
        return true;
    }
    give_up(c, k, &mark);
    return false;
}

static int add_step(compiler *c, const compiler_step *s) {
    if (c->n_steps == c->step_capacity) {
        int capacity = 2 * c->step_capacity + 8;
        compiler_step *grown = arena_make(c->memory, (size_t)capacity, sizeof *grown);
        if (grown == NULL) {
            c->failed = true;
            return -1;
        }
        if (c->n_steps > 0) {
            memcpy(grown, c->steps, (size_t)c->n_steps * sizeof *grown);
        }
        c->steps = grown;
        c->step_capacity = capacity;
    }
    c->steps[c->n_steps] = *s;
    return c->n_steps++;
}

static int schedule_into(compiler *c, val v, const place *to, bool may_join) {
    domain d;
    domain_of(c, v, to, &d);
    primitive kind = dag_at(&c->g, v)->kind;
    product_factor factors[2];
    bool product = !is_copied(c, v, to) && product_factors(c, v, factors);
    bool alone = (kind == PRIM_SCAN || kind == PRIM_SCATTER) && !is_copied(c, v, to);
    int after = -1;
    for (int s = c->n_steps - 1; s > after && may_join && !alone && !product && !c->options->no_fusion; s--) {
        if (join(c, s, v, to, &d, &after)) {
            return s;
        }
        if (c->failed) {
            return -1;
        }
    }
    kernel *k = arena_make(c->memory, 1, sizeof *k);
    if (k == NULL || d.n > KERNEL_MAX_VARIABLES) {
        c->failed = true;
        return -1;
    }
    int variables[TENSOR_MAX_DIMS];
    const dag_node *over = dag_at(&c->g, d.over);
    for (int i = 0; i < d.n; i++) {
        k->variables[i] = (loop_variable){.size = over->sizes[d.dims[i]], .is_reduced = d.reduced[i]};
        variables[i] = i;
    }
    k->n_variables = d.n;
    k->has_classes = d.has_classes;
    k->is_closed = alone;
    k->sums_products = product;
    if (!make_root(c, k, v, to, &d, variables, NULL)) {
        c->failed = true; /* on its own nothing can be in its way */
        return -1;
    }
    return add_step(c, &(compiler_step){.kernel = k});
}

int schedule_value(compiler *c, val v, const place *to) {
    return schedule_into(c, v, to, true);
}

int schedule_last(compiler *c, val v, const place *to) {
    return schedule_into(c, v, to, false);
}

int schedule_call(compiler *c, val v) {
    for (int s = 0; s < c->n_steps; s++) {
        if (c->steps[s].kernel == NULL && dag_at(&c->g, c->steps[s].call)->call.call == dag_at(&c->g, v)->call.call) {
            return s;
        }
    }
    return add_step(c, &(compiler_step){.call = v});
}
