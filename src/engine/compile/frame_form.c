/* SPDX-License-Identifier: Apache-2.0 */
/* Sees that a kernel's lanes look at windows of an image with something around it (padding), and gives them a copy of it within a frame:
   what is around it lies there, so that nobody asks, and what was fused into reading it is computed once. */
#include "engine/compile/passes.h"

/* The first cache holds a frame beside what is read and stored. Fewer looks at each element are not worth its copy: 3 x 3 windows two
   apart (2.25 looks) took 1.08 of the time with a frame, 5 x 5 (6.25 looks) 0.4. Nor are lanes at the edges, which else go one by one,
   among very many others: 3 x 3 windows over rows of 28 took 0.48 of the time, of 56 0.86, of 112 all of it, of 256 1.2, 5 x 5 over 112
   0.6 (two cores of a Zen 4, 2026-11). */
enum { FRAME_BYTES = 8 << 10, LEAST_LOOKS = 3, LANES_OF_LOOK = 7, LEAST_FRAME_LANES = 4, TASKS_OF_THREAD = 4 };

/* How an expression looks at the image: row and column are those of result (0, 0). */
typedef struct look {
    int select;         /* the choice between element and padding */
    bool has_row, has_column; /* whether a condition has told them */
    int64_t row, column;
} look;

/* Of all looks: rows and columns of the image by result, those that there are, and the first one, of which the others are copies. */
typedef struct image {
    compiler *c;
    kernel *k;
    int down, across;   /* variables; down is -1 where the image is a row */
    int64_t row_step, column_step;
    view_bound rows, columns;
    look first;
} image;

static bool is_bounded(const view_bound *b) {
    return b->low > INT64_MIN && b->high < INT64_MAX && b->low <= b->high;
}

/* Whether a bound is one of `factor` times a variable and a number; any factor where it is 0. */
static bool is_line(const view_bound *b, int variable, int64_t factor) {
    const index_term *term = b->at.terms;
    return is_bounded(b) && b->at.n == 1 && term->atom->kind == ATOM_VARIABLE && term->atom->id == variable && term->factor > 0 &&
           (factor == 0 || term->factor == factor);
}

/* A choice between what lies within bounds and a number. */
static const expr *bounds_of_choice(const kernel *k, int i) {
    const expr *e = &k->exprs[i];
    if (e->kind != EXPR_MAP || e->fn != FN_SELECT || k->exprs[e->sources[2]].kind != EXPR_NUMBER) {
        return NULL;
    }
    const expr *within = &k->exprs[e->sources[0]];
    return within->kind == EXPR_WITHIN && !within->asks && within->n_bounds > 0 && within->n_bounds <= 2 ? within : NULL;
}

/* Reads a look off its bounds, which are to be like the image's. */
static bool find_look(const image *m, int i, look *out) {
    const expr *within = bounds_of_choice(m->k, i);
    *out = (look){.select = i};
    for (int b = 0; within != NULL && b < within->n_bounds; b++) {
        const view_bound *bound = &within->bounds[b];
        bool row = m->down >= 0 && is_line(bound, m->down, m->row_step), column = is_line(bound, m->across, m->column_step);
        const view_bound *like = row ? &m->rows : &m->columns;
        if ((!row && !column) || bound->low != like->low || bound->high != like->high) {
            return false;
        }
        out->row = row ? bound->at.constant : out->row;
        out->column = column ? bound->at.constant : out->column;
        out->has_row |= row;
        out->has_column |= column;
    }
    return within != NULL;
}

/* The image that expression i looks at, where that tells rows and columns both. */
static bool find_image(compiler *c, kernel *k, int i, image *out) {
    const expr *within = bounds_of_choice(k, i);
    int down = k->n_tasks > 1 ? k->tasks[k->n_tasks - 2] : -1;
    *out = (image){.c = c, .k = k, .down = -1, .across = k->vector};
    for (int b = 0; within != NULL && b < within->n_bounds; b++) {
        const view_bound *bound = &within->bounds[b];
        if (is_line(bound, k->vector, 0)) {
            out->columns = *bound;
            out->column_step = bound->at.terms[0].factor;
        } else if (down >= 0 && is_line(bound, down, 0)) {
            out->down = down;
            out->rows = *bound;
            out->row_step = bound->at.terms[0].factor;
        } else {
            return false;
        }
    }
    return within != NULL && out->column_step > 0 && find_look(out, i, &out->first);
}

/* An index of a look, as one of the row and the column of the image that an element lies at. False where these do not tell it. */
static bool by_place(const image *m, const look *l, index_sum at, index_sum row, index_sum column, index_sum *out) {
    index_pool *p = &m->c->g.indices;
    index_sum by[KERNEL_MAX_VARIABLES];
    int64_t down = 0, across;
    for (int v = 0; v < m->k->n_variables; v++) {
        by[v] = v == m->down || v == m->across ? index_constant(0) : index_variable(p, v, m->k->variables[v].size);
    }
    if (!index_stride(at, m->across, &across) || across % m->column_step != 0 ||
        (m->down >= 0 && (!index_stride(at, m->down, &down) || down % m->row_step != 0))) {
        return false;
    }
    across /= m->column_step;
    down = m->down >= 0 ? down / m->row_step : 0;
    index_sum sum = index_replace(p, at, m->k->n_variables, by);
    sum = index_add(p, sum, index_constant(-across * l->column - down * l->row));
    sum = index_add(p, sum, index_scale(p, column, across));
    *out = index_add(p, sum, index_scale(p, row, down));
    return true;
}

static bool moves(const image *m, const expr *e) {
    return (e->variables >> m->across & 1) != 0 || (m->down >= 0 && (e->variables >> m->down & 1) != 0);
}

static bool is_same_number(const expr *x, const expr *y) {
    return x->kind == EXPR_NUMBER && y->kind == EXPR_NUMBER && x->dtype == y->dtype && x->number.i == y->number.i &&
           x->number.f == y->number.f && x->number.im == y->number.im;
}

/* Whether two indices, of the first look and of another, are one at each place of the image. */
static bool is_one_index(const image *m, const look *l, index_sum a, index_sum b) {
    index_sum of_first, of_other, zero = index_constant(0);
    return by_place(m, &m->first, a, zero, zero, &of_first) && by_place(m, l, b, zero, zero, &of_other) && index_equal(of_first, of_other);
}

/* The same of what is computed: expression a of the first look, b of the other. */
static bool is_one(const image *m, const look *l, int a, int b) {
    const kernel *k = m->k;
    const expr *x = &k->exprs[a], *y = &k->exprs[b];
    bool alike = x->kind == y->kind && x->dtype == y->dtype && x->n_sources == y->n_sources && x->n_bounds == y->n_bounds;
    if ((a == b && !moves(m, x)) || is_same_number(x, y)) {
        return true;
    }
    if (!alike || x->kind == EXPR_RANDOM || x->kind == EXPR_RESULT || x->kind == EXPR_NUMBER ||
        (x->kind == EXPR_MAP && x->fn != y->fn) ||
        (x->kind == EXPR_LOAD && x->buffer != y->buffer) || !is_one_index(m, l, x->at, y->at)) {
        return false;
    }
    for (int i = 0; i < x->n_bounds; i++) {
        if (x->bounds[i].low != y->bounds[i].low || x->bounds[i].high != y->bounds[i].high ||
            !is_one_index(m, l, x->bounds[i].at, y->bounds[i].at)) {
            return false;
        }
    }
    for (int s = 0; s < x->n_sources; s++) {
        if (!is_one(m, l, x->sources[s], y->sources[s])) {
            return false;
        }
    }
    if (x->kind != EXPR_LOAD || (x->guard < 0 && y->guard < 0)) {
        return !x->asks && !y->asks;
    }
    const int own = k->exprs[m->first.select].sources[0], other = k->exprs[l->select].sources[0];
    return x->guard == own ? y->guard == other : x->guard >= 0 && y->guard >= 0 && is_one(m, l, x->guard, y->guard);
}

/* The first element in memory that expression e reads there and that moves with the image; -1. */
static int first_load(const image *m, int e) {
    const expr *x = &m->k->exprs[e];
    if (x->kind == EXPR_LOAD && moves(m, x)) {
        return e;
    }
    for (int s = 0; s < x->n_sources; s++) {
        int found = first_load(m, x->sources[s]);
        if (found >= 0) {
            return found;
        }
    }
    return -1;
}

/* Whether all that a look sees from `first` on is image, as it is where nobody asks. What lies farther off is another image: in col2im each
   look sees one of its own. */
static bool is_inside(const image *m, int variable, int64_t step, const view_bound *bounds, int64_t first) {
    return first >= bounds->low && first + step * (m->k->variables[variable].size - 1) <= bounds->high;
}

/* Rows that cannot lie outside have no condition: how far apart elements lie in memory tells how far apart they are in the image. */
static bool find_untold(const image *m, look *l) {
    bool row_told = l->has_row || m->down < 0;
    if (row_told && l->has_column) {
        return true;
    }
    const kernel *k = m->k;
    int a = first_load(m, k->exprs[m->first.select].sources[1]), b = first_load(m, k->exprs[l->select].sources[1]);
    int64_t across, down = 0;
    if (a < 0 || b < 0 || (!row_told && !l->has_column) || !index_stride(k->exprs[a].at, m->across, &across) ||
        (m->down >= 0 && !index_stride(k->exprs[a].at, m->down, &down))) {
        return false;
    }
    across /= m->column_step;
    down = m->down >= 0 ? down / m->row_step : 0;
    int64_t apart = k->exprs[b].at.constant - k->exprs[a].at.constant, *to = row_told ? &l->column : &l->row;
    apart -= row_told ? down * (l->row - m->first.row) : across * (l->column - m->first.column);
    int64_t unit = row_told ? across : down;
    if (unit == 0 || apart % unit != 0) {
        return false;
    }
    *to = (row_told ? m->first.column : m->first.row) + apart / unit;
    return row_told ? is_inside(m, m->across, m->column_step, &m->columns, *to) : is_inside(m, m->down, m->row_step, &m->rows, *to);
}

/* All looks at the image; how many there are. */
static int find_looks(const image *m, look *looks) {
    const kernel *k = m->k;
    const expr *first = &k->exprs[m->first.select];
    int n = 0;
    for (int i = 0; i < k->n_exprs; i++) {
        const expr *e = &k->exprs[i];
        look l;
        if (find_look(m, i, &l) && e->dtype == first->dtype && is_same_number(&k->exprs[first->sources[2]], &k->exprs[e->sources[2]]) &&
            find_untold(m, &l) && is_one(m, &l, first->sources[1], e->sources[1])) {
            looks[n++] = l;
        }
    }
    return n;
}

/* What expression e of the first look is at a place of the image, which two new variables count; made: by expression, -1. */
static int at_place(const image *m, int e, const frame_form *f, int *made) {
    kernel *k = m->k;
    expr x = k->exprs[e];
    if (!moves(m, &x) || made[e] >= 0) {
        return made[e] >= 0 ? made[e] : e;
    }
    for (int s = 0; s < x.n_sources; s++) {
        x.sources[s] = at_place(m, x.sources[s], f, made);
        if (x.sources[s] < 0) {
            return -1;
        }
    }
    if (x.kind == EXPR_LOAD && x.guard >= 0) {
        x.guard = x.guard == k->exprs[m->first.select].sources[0] ? -1 : at_place(m, x.guard, f, made);
    }
    index_pool *p = &m->c->g.indices;
    index_sum row = index_constant(0), column = index_add(p, index_variable(p, f->column, f->n_columns), index_constant(f->first_column));
    if (m->down >= 0) {
        row = index_add(p, index_variable(p, f->row, f->n_rows), index_constant(f->first_row));
    }
    view_bound *bounds = arena_make(m->c->memory, (size_t)x.n_bounds + 1, sizeof *bounds);
    if (bounds == NULL || !by_place(m, &m->first, x.at, row, column, &x.at)) {
        m->c->failed |= bounds == NULL;
        return -1;
    }
    for (int b = 0; b < x.n_bounds; b++) {
        bounds[b] = x.bounds[b];
        if (!by_place(m, &m->first, x.bounds[b].at, row, column, &bounds[b].at)) {
            return -1;
        }
    }
    x.bounds = bounds;
    x.variables = 0;
    return made[e] = expr_append(m->c, k, &x, (val){-1}, NULL, 0);
}

static int64_t least(int64_t a, int64_t b) {
    return a < b ? a : b;
}

static int64_t most(int64_t a, int64_t b) {
    return a > b ? a : b;
}

/* Rows of results of one task: of as many as the frame has room for, and so few that threads have several tasks each. */
static bool choose_rows(const image *m, frame_form *f, int64_t outer, int64_t size) {
    int64_t height = m->down >= 0 ? m->k->variables[m->down].size : 1, threads = most(1, m->c->options->n_threads);
    int64_t room = FRAME_BYTES / (f->width * size);
    int64_t fit = m->down < 0 ? room >= 1 : room < f->rows_seen ? 0 : (room - f->rows_seen) / m->row_step + 1;
    int64_t few = least(most(f->rows_seen / most(m->row_step, 1), 1), height); /* of fewer most of a frame would be another one's as well */
    int64_t fair = threads > 1 ? most(outer * height / (threads * TASKS_OF_THREAD), few) : height;
    int64_t rows = least(least(fit, fair), height);
    if (rows < few) {
        return false;
    }
    f->blocks = (height + rows - 1) / rows;
    f->rows = (height + f->blocks - 1) / f->blocks;
    f->height = m->row_step * (f->rows - 1) + f->rows_seen;
    return true;
}

/* Whether a copy costs less than what looks beside the image take, of lanes that see it and others. */
static bool pays(const image *m, int64_t n_looks, int64_t left, int64_t right) {
    int64_t size = m->k->variables[m->across].size, edge = 0;
    for (int64_t v = 0; v < size; v++) {
        edge += left + m->column_step * v < m->columns.low || right + m->column_step * v > m->columns.high;
    }
    return n_looks >= LEAST_LOOKS * m->column_step * (m->down >= 0 ? m->row_step : 1) && size <= LANES_OF_LOOK * edge * n_looks;
}

/* The frame's sizes: what all results' looks see, and which of that is image. */
static bool measure(const image *m, const look *looks, int n, int64_t outer, frame_form *f) {
    const kernel *k = m->k;
    int64_t top = looks[0].row, bottom = top, left = looks[0].column, right = left;
    for (int i = 1; i < n; i++) {
        top = least(top, looks[i].row);
        bottom = most(bottom, looks[i].row);
        left = least(left, looks[i].column);
        right = most(right, looks[i].column);
    }
    int64_t last_row = bottom + (m->down >= 0 ? m->row_step * (k->variables[m->down].size - 1) : 0);
    int64_t last_column = right + m->column_step * (k->variables[m->across].size - 1);
    f->top = top;
    f->left = left;
    f->rows_seen = bottom - top + 1;
    f->row_step = m->row_step;
    f->column_step = m->column_step;
    f->part = (last_column - left) / m->column_step + 1;
    f->width = f->part * m->column_step;
    f->first_row = m->down >= 0 ? most(top, m->rows.low) : 0;
    f->n_rows = m->down >= 0 ? least(last_row, m->rows.high) - f->first_row + 1 : 1;
    f->first_column = most(left, m->columns.low);
    f->n_columns = least(last_column, m->columns.high) - f->first_column + 1;
    return f->n_rows > 0 && f->n_columns > 0 && pays(m, n, left, right) &&
           choose_rows(m, f, outer, (int64_t)dtype_size(k->exprs[m->first.select].dtype));
}

/* Looks read the frame from here on. */
static void look_at_frame(const image *m, const look *looks, int n, const frame_form *f) {
    index_pool *p = &m->c->g.indices;
    for (int i = 0; i < n; i++) {
        expr *e = &m->k->exprs[looks[i].select];
        int64_t column = looks[i].column - f->left;
        index_sum at = index_constant((looks[i].row - f->top) * f->width + column % f->column_step * f->part + column / f->column_step);
        at = index_add(p, at, index_variable(p, m->across, m->k->variables[m->across].size));
        if (m->down >= 0) {
            at = index_add(p, at, index_scale(p, index_variable(p, m->down, m->k->variables[m->down].size), m->row_step * f->width));
        }
        *e = (expr){.kind = EXPR_FRAMED, .dtype = e->dtype, .at = at, .guard = -1, .variables = index_variables(at), .value = e->value,
                    .n_coordinates = e->n_coordinates, .coordinates = e->coordinates};
    }
}

/* Whether tasks are rows of lanes which are stored and nothing else. */
static bool is_plain(const compiler *c, const kernel *k) {
    bool plain = !k->is_product && !k->has_classes && k->n_phases == 1 && k->n_loops == 0 && k->beside == 0 && k->vector >= 0 &&
                 !k->turns_lines && !k->checks && !c->options->streams_all && k->n_tasks > 0 && k->tasks[k->n_tasks - 1] == k->vector &&
                 k->variables[k->vector].size >= LEAST_FRAME_LANES && k->n_variables + 2 <= KERNEL_MAX_VARIABLES;
    for (int i = 0; plain && i < k->n_roots; i++) {
        plain = k->roots[i].kind == ROOT_STORE && !k->roots[i].streams;
    }
    return plain;
}

/* parts: of the chain that it is in. */
static void arrange_frame(compiler *c, kernel *k, int64_t parts) {
    look *looks = is_plain(c, k) ? arena_make(c->memory, (size_t)k->n_exprs, sizeof *looks) : NULL;
    int *made = looks != NULL ? arena_make(c->memory, (size_t)k->n_exprs, sizeof *made) : NULL;
    image m;
    int n = 0;
    for (int i = 0; made != NULL && i < k->n_exprs && n < LEAST_LOOKS; i++) {
        n = find_image(c, k, i, &m) ? find_looks(&m, looks) : 0;
    }
    if (n < LEAST_LOOKS) {
        return;
    }
    frame_form f = {.down = m.down, .fill = k->exprs[m.first.select].sources[2], .row = m.down >= 0 ? k->n_variables : -1};
    f.column = k->n_variables + (m.down >= 0);
    int n_tasks = k->n_tasks - 1 - (m.down >= 0);
    int64_t outer = 1;
    for (int t = 0; t < n_tasks; t++) {
        outer *= k->variables[k->tasks[t]].size;
    }
    if (outer % parts != 0 || !measure(&m, looks, n, outer, &f)) {
        return;
    }
    for (int e = 0; e < k->n_exprs; e++) {
        made[e] = -1;
    }
    f.element = at_place(&m, k->exprs[m.first.select].sources[1], &f, made);
    if (f.element < 0) {
        return;
    }
    if (m.down >= 0) {
        k->variables[f.row] = (loop_variable){.size = f.n_rows};
    }
    k->variables[f.column] = (loop_variable){.size = f.n_columns};
    k->n_variables = f.column + 1;
    look_at_frame(&m, looks, n, &f);
    k->n_tasks = n_tasks;
    k->n_task_items = outer * f.blocks;
    k->has_frame = true;
    k->frame = f;
}

void arrange_frames(compiler *c, int n_chains, const chain *chains) {
    for (int s = 0, next = 0; s < c->n_steps; s++) {
        next += next < n_chains && s >= chains[next].first + chains[next].n_steps;
        int64_t parts = next < n_chains && s >= chains[next].first ? chains[next].parts : 1;
        for (int v = 0; v < c->steps[s].n_variants; v++) {
            kernel *k = c->steps[s].variants[v];
            if (k->choice == LOOPS_PLAIN) {
                arrange_frame(c, k, k->in_parts ? parts : 1);
            }
        }
    }
}
