/* SPDX-License-Identifier: Apache-2.0 */
/* Matrix products as text. A task is a block of rows by PRODUCT_COLUMNS columns: both factors are brought into f32 panels a
   stretch of the inner dimension at a time, whatever their types, layouts and what was fused into reading them; blocks of
   rows and vectors of columns are multiplied from there (the prelude's multiply_add); what follows the product is computed
   from the sums. Letters: M rows, N columns, K inner. */
#include "engine/compile/emit/product.h"

#include "engine/compile/emit/factors.h"
#include "engine/compile/emit/reductions.h"
#include "engine/compile/emit/values.h"
#include "engine/compile/emit/wants.h"
#include "engine/compile/emit/writing.h"

#include <stdio.h>
#include <string.h>

/* How many rows, columns or inner steps a block has: `most`, and the last one what is left of all. */
static void emit_length(emitter *m, const char *name, const char *first, int64_t all, int64_t most) {
    if (all % most == 0 || all < most) {
        emit_line(m, "const int64_t %s = %lld;", name, (long long)(all < most ? all : most));
    } else {
        emit_line(m, "const int64_t %s = %lld - %s < %lld ? %lld - %s : %lld;", name, (long long)all, first, (long long)most,
                  (long long)all, first, (long long)most);
    }
}

/* Which task: the batch, the block of rows, the block of columns, from slow to fast: neighbours share rows, which are read again
   and again and so had better stay in the core's cache, where each task reads its columns once. */
static void emit_place(emitter *m) {
    const kernel *k = m->k;
    const product_form *p = &k->product;
    int64_t rows = k->variables[p->row].size, columns = k->variables[p->column].size;
    int64_t row_blocks = (rows + p->row_block - 1) / p->row_block;
    int64_t column_blocks = (columns + p->columns - 1) / p->columns;
    emit_line(m, "const int64_t first_row = task / %lld %% %lld * %lld;", (long long)column_blocks, (long long)row_blocks,
              (long long)p->row_block);
    emit_length(m, "n_rows", "first_row", rows, p->row_block);
    emit_line(m, "const int64_t first_column = task %% %lld * %d;", (long long)column_blocks, p->columns);
    emit_length(m, "n_columns", "first_column", columns, p->columns);
    int64_t below = row_blocks * column_blocks;
    for (int i = k->n_tasks - 1; i >= 0; i--) {
        int v = k->tasks[i];
        emit_line(m, "const int64_t v%d = task / %lld %% %lld;", v, (long long)below, (long long)k->variables[v].size);
        below *= k->variables[v].size;
    }
}
void emit_product_results(emitter *m, int v, const char *from, const char *n) {
    const kernel *k = m->k;
    const product_form *p = &k->product;
    memset(m->wanted, 0, (size_t)k->n_exprs);
    for (int i = 0; i < k->n_roots; i++) {
        if (i != p->root) {
            emit_want(m, k->roots[i].expr);
            emit_want_index(m, k->roots[i].at);
        }
    }
    emit_product_wanted(m, (uint64_t)1 << v);
    emit_line(m, "INDEPENDENT");
    emit_line(m, "for (int64_t l = 0; l < %s; l++) {", n);
    m->depth++;
    emit_line(m, "const int64_t v%d = %s + l;", v, from);
    emit_product_wanted(m, 0);
    for (int i = 0; i < k->n_roots; i++) {
        if (i != p->root) {
            emit_root(m, i);
        } else if (k->roots[i].buffer >= 0) {
            text at = {0};
            emit_index(m, &at, k->roots[i].at, -1);
            emit_line(m, "b%d[%s] = r%d[l];", k->roots[i].buffer, text_get(&at), i);
            m->out.failed |= at.failed;
            text_clear(&at);
        }
    }
    m->depth--;
    emit_line(m, "}");
}

/* What follows from the sums of rows `from` on up to row `to` of the block, which begin at `sums`. */
static void emit_following(emitter *m, const char *from, const char *to, const char *sums) {
    const product_form *p = &m->k->product;
    emit_line(m, "for (int64_t j = %s; j < %s; j++) {", from, to);
    m->depth++;
    emit_line(m, "const int64_t v%d = first_row + j;", p->row);
    emit_line(m, strcmp(from, "0") == 0 ? "const float *const r%d = %s + %d * j;" : "const float *const r%d = %s + %d * (j - %s);", p->root, sums,
              p->columns, from);
    emit_product_results(m, p->column, "first_column", "n_columns");
    m->depth--;
    emit_line(m, "}");
}

/* Whether one panel holds all that is summed over. */
static bool is_one_stretch(const kernel *k) {
    for (int v = 0; v < k->n_variables; v++) {
        if (k->variables[v].is_reduced && (v != k->product.inner || k->variables[v].size > k->product.stretch)) {
            return false;
        }
    }
    return true;
}

/* Where sums are stored and nothing else becomes of them, whole vectors at a time: they need no place of their own, which the core's
   first cache has little of. NULL: elsewhere. stride: between rows there. */
static const root *stored_as_they_are(const kernel *k, int64_t *stride) {
    const product_form *p = &k->product;
    const root *found = NULL;
    for (int i = 0; i < k->n_roots; i++) {
        const root *r = &k->roots[i];
        const expr *x = &k->exprs[r->expr];
        if (i == p->root && r->buffer < 0) {
            continue;
        }
        if (found != NULL || (i != p->root && (r->kind != ROOT_STORE || x->kind != EXPR_RESULT || x->root != p->root))) {
            return NULL;
        }
        found = r;
    }
    int64_t along;
    return emit_is_added(p) && found != NULL && found->store_dtype == ASSAY_F32 && k->variables[p->column].size % 16 == 0 &&
                   index_reads(k, found->at, -1, (int[EXPR_MAX_READS]){0}, 0) == 0 && index_stride(found->at, p->column, &along) &&
                   along == 1 && index_stride(found->at, p->row, stride) && *stride >= 0
               ? found
               : NULL;
}

/* The first sum's place, where sums are stored as they are. */
static void emit_results_place(emitter *m) {
    const product_form *p = &m->k->product;
    int64_t stride;
    const root *r = stored_as_they_are(m->k, &stride);
    if (r == NULL) {
        return;
    }
    text at = {0};
    emit_line(m, "float *results;");
    emit_line(m, "{");
    m->depth++;
    emit_line(m, "const int64_t v%d = first_row, v%d = first_column;", p->row, p->column);
    emit_index(m, &at, r->at, -1);
    emit_line(m, "results = b%d + %s;", r->buffer, text_get(&at));
    m->depth--;
    emit_line(m, "}");
    m->out.failed |= at.failed;
    text_clear(&at);
}

/* Room for sums and panels. */
static void emit_panels(emitter *m) {
    const product_form *p = &m->k->product;
    bool pairs = p->pairs != PAIRS_WIDENED;
    long long inner = m->k->variables[p->inner].size;
    int64_t stride, n_sums = is_one_stretch(m->k) && emit_is_added(p) && p->row_block > ROWS_AT_ONCE ? ROWS_AT_ONCE : p->row_block;
    if (stored_as_they_are(m->k, &stride) == NULL || !is_one_stretch(m->k)) {
        emit_line(m, "float sums[%lld] __attribute__((aligned(64)));", (long long)n_sums * p->columns);
    }
    if (p->keeps_rows) {
        return;
    }
    if (p->left_stride < 0) {
        emit_line(m, "%s left[%lld] __attribute__((aligned(64)));", pairs ? "uint16_t" : "float",
                  (long long)(emit_is_added(p) && p->row_block > ROWS_AT_ONCE ? ROWS_AT_ONCE : p->row_block) * emit_left_apart(p));
    }
    if (p->along) {
        return;
    }
    emit_line(m, "%s right[%d] __attribute__((aligned(64)));", pairs ? "uint32_t" : "float", p->stretch * p->columns / (pairs ? 2 : 1));
    if (m->k->variables[p->column].size % 16 != 0) {
        int rows = inner < p->stretch ? (int)inner : p->stretch;
        emit_line(m, "for (int64_t i = 0; i < %d; i++) { /* columns that are not there */", pairs ? (rows + 1) / 2 : rows);
        emit_line(m, "    for (int64_t l = n_columns; l %% 16 != 0; l++) {");
        emit_line(m, "        right[%d * i + l] = 0;", p->columns);
        emit_line(m, "    }");
        emit_line(m, "}");
    }
}
/* The words of multiply_add that tell where sums come from, whether there are none yet, and where they go. */
static void add_sums(text *to, const emitter *m, bool in_parts, const char *begins, const char *ends) {
    int64_t stride;
    const bool one = is_one_stretch(m->k), stored = stored_as_they_are(m->k, &stride) != NULL;
    text sums = {0}, results = {0};
    text_add(&sums, in_parts && !one ? "sums + 64 * i" : "sums");
    text_add(&results, "results");
    if (stored && in_parts) {
        text_addf(&results, " + %lld * i", (long long)stride);
    }
    if (!stored) {
        text_addf(to, "%s, %s, %s, 64", text_get(&sums), begins, text_get(&sums));
    } else if (one) {
        text_addf(to, "%s, %s, %s, %lld", text_get(&results), begins, text_get(&results), (long long)stride);
    } else {
        text_addf(to, "%s, %s, %s ? %s : %s, %s ? %lld : 64", text_get(&sums), begins, ends, text_get(&results), text_get(&sums), ends,
                  (long long)stride);
    }
    to->failed |= sums.failed || results.failed;
    text_clear(&sums);
    text_clear(&results);
}

/* By multiply_add: sums of one stretch, or with what those before have come to; `ends` tells the last one. Of some rows at a time, what is
   brought into a panel, and what follows from sums, is near. */
static void emit_add(emitter *m, const char *begins, const char *ends) {
    const product_form *p = &m->k->product;
    const bool one = is_one_stretch(m->k), has_panel = p->left_stride < 0;
    int64_t stride;
    const bool stored = stored_as_they_are(m->k, &stride) != NULL, in_parts = has_panel || !stored;
    emit_next_panel(m);
    if (in_parts) {
        if (one || has_panel) {
            emit_line(m, "const int64_t at_once = %d;", ROWS_AT_ONCE);
        } else {
            emit_line(m, "const int64_t at_once = %s ? %d : n_rows;", ends, ROWS_AT_ONCE);
        }
        emit_line(m, "for (int64_t i = 0; i < n_rows; i += at_once) {");
        m->depth++;
        emit_line(m, "const int64_t end = n_rows - i < at_once ? n_rows : i + at_once;");
    }
    text left = {0}, sums = {0};
    if (has_panel) {
        emit_left_panel(m, "i", "end");
        text_addf(&left, "left, %d, 1", emit_left_apart(p));
    } else {
        text_add(&left, "left_rows");
        if (in_parts) {
            text_addf(&left, " + %lld * i", (long long)p->left_stride);
        }
        text_addf(&left, ", %lld, %lld", (long long)p->left_stride, (long long)p->left_step);
    }
    add_sums(&sums, m, in_parts, begins, ends);
    const char *source = p->right_rows < 0 ? "0" : in_parts ? "i == 0 ? right_columns : 0" : "right_columns";
    emit_line(m, "multiply_add(%s, %s, %lld, right, %s, n_inner, n_columns,", text_get(&left), source,
              (long long)(p->right_rows < 0 ? 0 : p->right_rows), in_parts ? "end - i" : "n_rows");
    emit_line(m, "             %s, %s);", text_get(&sums), emit_right_lies_there(p) ? "next.at != 0 ? &next : 0" : "0");
    m->out.failed |= left.failed || sums.failed;
    text_clear(&left);
    text_clear(&sums);
    if (in_parts && !stored) {
        if (!one) { /* gcc takes the last stretch for rare, and makes no vectors of what is: 8% of a product that becomes bf16 */
            emit_line(m, "if (__builtin_expect(%s, 1)) {", ends);
            m->depth++;
        }
        emit_following(m, "i", "end", one ? "sums" : "(sums + 64 * i)");
        if (!one) {
            m->depth--;
            emit_line(m, "}");
        }
    }
    if (in_parts) {
        m->depth--;
        emit_line(m, "}");
    }
}

/* By columns as they lie, or as what is fused into them leaves a few of them side by side. */
static void emit_along(emitter *m, const char *begins) {
    const product_form *p = &m->k->product;
    const char *left = p->left_stride < 0 ? "left" : "left_rows";
    const long long left_stride = p->left_stride < 0 ? emit_left_apart(p) : p->left_stride;
    if (p->right_stride >= 0) {
        emit_factor_first(m, "right_columns", p->right, p->column, "first_column");
    }
    emit_line(m, "for (int64_t c = 0; c < n_columns; c += %d) {", PRODUCT_COLUMNS_ALONG);
    m->depth++;
    if (p->right_stride >= 0) {
        const long long columns = m->k->variables[p->column].size, inner = m->k->variables[p->inner].size, stride = p->right_stride;
        emit_line(m, "const float *const next = c + %d < n_columns ? right_columns + %lld * (c + %d)", PRODUCT_COLUMNS_ALONG, stride,
                  PRODUCT_COLUMNS_ALONG);
        emit_line(m, "                          : first_inner + %d < %lld ? right_columns + %d", p->stretch, inner, p->stretch);
        emit_line(m, "                          : first_column + %d < %lld ? right_columns + %lld - first_inner : 0;", p->columns, columns,
                  stride * p->columns);
        emit_line(m, "multiply_along(%s, %lld, right_columns + %lld * c, %lld, n_rows, n_inner, sums + c, %s, next);",
                  left, left_stride, stride, stride, begins);
    } else {
        emit_column_run(m, "float", PRODUCT_COLUMNS_ALONG, ALONG_APART, false);
        emit_line(m, "multiply_along(%s, %lld, run, %d, n_rows, n_inner, sums + c, %s, 0);", left, left_stride, ALONG_APART, begins);
    }
    m->depth--;
    emit_line(m, "}");
}

static void emit_multiply(emitter *m, const char *begins) {
    const product_form *p = &m->k->product;
    const char *left = p->left_stride < 0 ? "left" : "left_rows";
    long long stride = p->left_stride < 0 ? p->stretch : p->left_stride;
    if (p->pairs != PAIRS_WIDENED) {
        emit_line(m, "%s(%s, %lld, right, n_rows, n_inner, n_columns, sums, %s);",
                  p->pairs == PAIRS_BY_TILES ? "multiply_tiles" : "multiply_pairs", left, stride, begins);
    } else if (p->along) {
        emit_along(m, begins);
    } else {
        emit_line(m, "multiply_few(%s, %lld, %lld, right, n_rows, n_inner, n_columns, sums, %s);", left, stride, (long long)p->left_step,
                  begins);
    }
}

void emit_product_room(emitter *m) {
    const product_form *p = &m->k->product;
    int64_t rows = (p->row_block + 31) / 32 * 32;
    emit_line(m, "uint16_t *const kept = (uint16_t *)((char *)buffers[%d] + %lld);", m->k->n_buffers, (long long)m->room_bytes);
    m->room_bytes += rows * m->k->variables[p->inner].size * (int64_t)sizeof(uint16_t);
    emit_line(m, "int64_t tiled = -1; /* the batch and block of rows that are in tiles */");
}

/* Rows into the tiles of the thread, unless they are there, and what a task's columns come to with them. */
static void emit_kept(emitter *m) {
    const product_form *p = &m->k->product;
    long long inner = m->k->variables[p->inner].size, columns = (m->k->variables[p->column].size + p->columns - 1) / p->columns;
    emit_line(m, "if (tiled != task / %lld) {", columns);
    m->depth++;
    emit_line(m, "tiled = task / %lld;", columns);
    emit_line(m, "for (int64_t first_inner = 0; first_inner < %lld; first_inner += %d) {", inner, p->stretch);
    m->depth++;
    emit_length(m, "n_inner", "first_inner", inner, p->stretch);
    if (p->left_stride < 0) {
        emit_line(m, "uint16_t left[%lld];", (long long)p->row_block * p->stretch);
    }
    emit_left_factor(m);
    emit_line(m, "tile_rows(kept + TILES_OF_STEP * first_inner, %lld, %s, %lld, n_rows, n_inner);", inner,
              p->left_stride < 0 ? "left" : "left_rows", (long long)(p->left_stride < 0 ? p->stretch : p->left_stride));
    m->depth--;
    emit_line(m, "}");
    m->depth--;
    emit_line(m, "}");
    emit_line(m, "const int64_t first_inner = 0;");
    emit_factor_first(m, "right_columns", p->right, p->column, "first_column");
    emit_line(m, "multiply_kept_rows(right_columns, %lld, kept, n_rows, %lld, n_columns, sums);", 2 * (long long)p->right_stride, inner);
}

void emit_product(emitter *m) {
    const product_form *p = &m->k->product;
    long long inner = m->k->variables[p->inner].size;
    _Static_assert(PRODUCT_STRETCH == 128 && PRODUCT_PAIRS_STRETCH == 256 && PRODUCT_COLUMNS == 64 &&
                       PRODUCT_FLAT_STRETCH == 8 && PRODUCT_FLAT_COLUMNS == 512, "the text above says so");
    emit_place(m);
    emit_panels(m);
    if (p->keeps_rows) {
        emit_kept(m);
        emit_following(m, "0", "n_rows", "sums");
        return;
    }
    emit_results_place(m);
    /* Of what is summed over, panels run along one variable. */
    text begins = {0}, ends = {0};
    text_add(&begins, "first_inner == 0");
    text_addf(&ends, "first_inner + %d >= %lld", p->stretch, inner);
    int depth = m->depth;
    for (int v = 0; v < m->k->n_variables; v++) {
        if (m->k->variables[v].is_reduced && v != p->inner) {
            emit_line(m, "for (int64_t v%d = 0; v%d < %lld; v%d++) {", v, v, (long long)m->k->variables[v].size, v);
            text_addf(&begins, " && v%d == 0", v);
            text_addf(&ends, " && v%d == %lld", v, (long long)m->k->variables[v].size - 1);
            m->depth++;
        }
    }
    emit_line(m, "for (int64_t first_inner = 0; first_inner < %lld; first_inner += %d) {", inner, p->stretch);
    m->depth++;
    emit_length(m, "n_inner", "first_inner", inner, p->stretch);
    emit_left_factor(m);
    emit_right_factor(m);
    emit_factors_padding(m);
    if (emit_is_added(p)) {
        emit_add(m, text_get(&begins), text_get(&ends));
    } else {
        emit_multiply(m, text_get(&begins));
    }
    while (m->depth > depth) {
        m->depth--;
        emit_line(m, "}");
    }
    m->out.failed |= begins.failed || ends.failed;
    text_clear(&begins);
    text_clear(&ends);
    if (!emit_is_added(p)) {
        emit_following(m, "0", "n_rows", "sums");
    }
}
