/* SPDX-License-Identifier: Apache-2.0 */
/* Matrix products as text. A task is a block of rows by PRODUCT_COLUMNS columns: both factors are brought into f32 panels a
   stretch of the inner dimension at a time, whatever their types, layouts and what was fused into reading them; blocks of
   rows and vectors of columns are multiplied from there (the prelude's multiply_add); what follows the product is computed
   from the sums. Letters: M rows, N columns, K inner. */
#include "engine/compile/emit/product.h"

#include "engine/compile/emit/reductions.h"
#include "engine/compile/emit/values.h"
#include "engine/compile/emit/wants.h"
#include "engine/compile/emit/writing.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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
    emit_line(m, "const int64_t n_rows = %lld - first_row < %lld ? %lld - first_row : %lld;", (long long)rows,
              (long long)p->row_block, (long long)rows, (long long)p->row_block);
    emit_line(m, "const int64_t first_column = task %% %lld * %d;", (long long)column_blocks, p->columns);
    emit_line(m, "const int64_t n_columns = %lld - first_column < %d ? %lld - first_column : %d;", (long long)columns,
              p->columns, (long long)columns, p->columns);
    int64_t below = row_blocks * column_blocks;
    for (int i = k->n_tasks - 1; i >= 0; i--) {
        int v = k->tasks[i];
        emit_line(m, "const int64_t v%d = task / %lld %% %lld;", v, (long long)below, (long long)k->variables[v].size);
        below *= k->variables[v].size;
    }
}

/* Names what is wanted and has none yet; but for `without`, variables that have no name either (as sets). */
static void emit_wanted(emitter *m, uint64_t without) {
    for (int i = 0; i < m->k->n_exprs; i++) {
        if (m->wanted[i] && !m->named[i] && (m->k->exprs[i].variables & without) == 0) {
            emit_expr(m, i);
        }
    }
}

void emit_product_lanes(emitter *m, int v, const char *from, const char *n, int e, const char *store) {
    bool *named = malloc((size_t)m->k->n_exprs + 1);
    if (named == NULL) {
        m->out.failed = true;
        return;
    }
    memcpy(named, m->named, (size_t)m->k->n_exprs);
    memset(m->wanted, 0, (size_t)m->k->n_exprs);
    emit_want(m, e);
    emit_wanted(m, (uint64_t)1 << v); /* once for all lanes: compilers cannot tell that no store changes what is loaded for it */
    emit_line(m, strspn(n, "0123456789") > 0 ? "INDEPENDENT FEW" : "INDEPENDENT");
    emit_line(m, "for (int64_t l = 0; l < %s; l++) {", n);
    m->depth++;
    definition made;
    emit_define(m, &made, "const int64_t ", "v%d = %s + l", v, from);
    emit_wanted(m, 0);
    text value = {0};
    emit_name(m, &value, e);
    const char *at = strstr(store, "%s");
    emit_line(m, "%.*s%s%s", (int)(at - store), store, text_get(&value), at + 2);
    m->out.failed |= value.failed;
    text_clear(&value);
    emit_drop_unused(m, &made);
    m->depth--;
    emit_line(m, "}");
    memcpy(m->named, named, (size_t)m->k->n_exprs);
    free(named);
}

/* Where the first element of a factor's part lies that is read from where it is; v: its rows or its columns. */
static void emit_first(emitter *m, const char *name, int e, int v, const char *first) {
    const expr *x = &m->k->exprs[e];
    text at = {0};
    emit_line(m, "const %s *%s;", dialect_type(x->dtype), name);
    emit_line(m, "{");
    m->depth++;
    emit_line(m, "const int64_t v%d = %s, v%d = first_inner;", v, first, m->k->product.inner);
    emit_index(m, &at, x->at, -1);
    emit_line(m, "%s = b%d + %s;", name, x->buffer, text_get(&at));
    m->depth--;
    emit_line(m, "}");
    m->out.failed |= at.failed;
    text_clear(&at);
}

static void emit_left(emitter *m) {
    const product_form *p = &m->k->product;
    if (p->left_stride >= 0) {
        emit_first(m, "left_rows", p->left, p->row, "first_row");
        return;
    }
    emit_line(m, "for (int64_t i = 0; i < n_rows; i++) {");
    m->depth++;
    emit_line(m, "const int64_t v%d = first_row + i;", p->row);
    emit_product_lanes(m, p->inner, "first_inner", "n_inner", p->left,
                     p->stretch == PRODUCT_STRETCH         ? "left[128 * i + l] = %s;"
                     : p->stretch == PRODUCT_PAIRS_STRETCH ? "left[256 * i + l] = %s;"
                                                   : "left[8 * i + l] = %s;");
    m->depth--;
    emit_line(m, "}");
}

static void emit_right_pairs(emitter *m) {
    const product_form *p = &m->k->product;
    if (p->right_runs_inward) {
        emit_line(m, "for (int64_t c = 0; c < n_columns; c += 16) {");
        m->depth++;
        emit_line(m, "uint16_t run[4096] __attribute__((aligned(64)));");
        emit_line(m, "for (int64_t i = 0; i < 16; i++) { /* the last column stands in for those that are not there */");
        m->depth++;
        emit_line(m, "const int64_t v%d = first_column + (c + i < n_columns ? c + i : n_columns - 1);", p->column);
        emit_product_lanes(m, p->inner, "first_inner", "n_inner", p->right, "run[256 * i + l] = %s;");
        if (m->k->variables[p->inner].size % 2 != 0) {
            emit_line(m, "for (int64_t l = n_inner; l %% 2 != 0; l++) {");
            emit_line(m, "    run[256 * i + l] = 0;");
            emit_line(m, "}");
        }
        m->depth--;
        emit_line(m, "}");
        emit_line(m, "turn_round(right + c, %d, run, 128, (n_inner + 1) / 2, 16, 4);", PRODUCT_COLUMNS);
    } else {
        emit_line(m, "for (int64_t i = 0; i < n_inner; i++) { /* the second of a pair joins the first */");
        m->depth++;
        emit_line(m, "const int64_t v%d = first_inner + i;", p->inner);
        emit_line(m, "const uint32_t kept = i %% 2 == 0 ? 0 : 0xFFFFu, places = i %% 2 == 0 ? 0 : 16;");
        emit_product_lanes(m, p->column, "first_column", "n_columns", p->right,
                         "right[64 * (i / 2) + l] = (right[64 * (i / 2) + l] & kept) | (uint32_t)%s << places;");
    }
    m->depth--;
    emit_line(m, "}");
}

static void emit_right(emitter *m) {
    const product_form *p = &m->k->product;
    if (p->right_stride >= 0) {
        emit_first(m, "right_columns", p->right, p->column, "first_column");
        if (p->pairs != PAIRS_WIDENED && !p->right_runs_inward) {
            emit_line(m, "pair_rows(right_columns, %lld, n_inner, n_columns, right);", (long long)p->right_stride);
            return;
        }
        emit_line(m, "turn_round(right, %d, right_columns, %lld, %s, n_columns, 4);", PRODUCT_COLUMNS,
                  (long long)p->right_stride, p->pairs != PAIRS_WIDENED ? "n_inner / 2" : "n_inner");
        return;
    }
    if (p->right_rows >= 0) { /* multiplied from where they lie */
        emit_first(m, "right_columns", p->right, p->column, "first_column");
        return;
    }
    if (p->pairs != PAIRS_WIDENED) {
        emit_right_pairs(m);
        return;
    }
    if (p->right_runs_inward) {
        emit_line(m, "for (int64_t c = 0; c < n_columns; c += 8) {");
        m->depth++;
        emit_line(m, "float run[1024];");
        emit_line(m, "for (int64_t i = 0; i < 8; i++) { /* the last column stands in for those that are not there */");
        m->depth++;
        emit_line(m, "const int64_t v%d = first_column + (c + i < n_columns ? c + i : n_columns - 1);", p->column);
        emit_product_lanes(m, p->inner, "first_inner", "n_inner", p->right, "run[128 * i + l] = %s;");
        m->depth--;
        emit_line(m, "}");
        emit_line(m, "turn_columns(run, n_inner, right + c);");
    } else {
        emit_line(m, "for (int64_t i = 0; i < n_inner; i++) {");
        m->depth++;
        emit_line(m, "const int64_t v%d = first_inner + i;", p->inner);
        emit_product_lanes(m, p->column, "first_column", "n_columns", p->right,
                         p->stretch == PRODUCT_STRETCH ? "right[64 * i + l] = %s;" : "right[512 * i + l] = %s;");
    }
    m->depth--;
    emit_line(m, "}");
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
    emit_wanted(m, (uint64_t)1 << v);
    emit_line(m, "INDEPENDENT");
    emit_line(m, "for (int64_t l = 0; l < %s; l++) {", n);
    m->depth++;
    emit_line(m, "const int64_t v%d = %s + l;", v, from);
    emit_wanted(m, 0);
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

static void emit_following(emitter *m) {
    const product_form *p = &m->k->product;
    emit_line(m, "for (int64_t i = 0; i < n_rows; i++) {");
    m->depth++;
    emit_line(m, "const int64_t v%d = first_row + i;", p->row);
    emit_line(m, "const float *const r%d = sums + %d * i;", p->root, p->columns);
    emit_product_results(m, p->column, "first_column", "n_columns");
    m->depth--;
    emit_line(m, "}");
}

/* Room for sums and panels. */
static void emit_panels(emitter *m) {
    const product_form *p = &m->k->product;
    bool pairs = p->pairs != PAIRS_WIDENED;
    long long inner = m->k->variables[p->inner].size;
    emit_line(m, "float sums[%lld] __attribute__((aligned(64)));", (long long)p->row_block * p->columns);
    if (p->keeps_rows) {
        return;
    }
    if (p->left_stride < 0) {
        emit_line(m, "%s left[%lld];", pairs ? "uint16_t" : "float", (long long)p->row_block * p->stretch);
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

/* Zeros up to a whole step of tiles. */
static void emit_padding(emitter *m) {
    const product_form *p = &m->k->product;
    if (p->pairs == PAIRS_WIDENED || m->k->variables[p->inner].size % PRODUCT_PAIRS_STEP == 0) {
        return;
    }
    emit_line(m, "for (int64_t i = (n_inner + 1) / 2; i %% 16 != 0; i++) {");
    emit_line(m, "    for (int64_t l = 0; l < 64; l++) {");
    emit_line(m, "        right[64 * i + l] = 0;");
    emit_line(m, "    }");
    emit_line(m, "}");
    emit_line(m, "for (int64_t i = 0; i < n_rows; i++) {");
    emit_line(m, "    for (int64_t l = n_inner; l %% 32 != 0; l++) {");
    emit_line(m, "        left[256 * i + l] = 0;");
    emit_line(m, "    }");
    emit_line(m, "}");
}

/* Whether the right factor is read from where it lies, so that the place of its next panel is known. */
static bool lies_there(const product_form *p) {
    return p->stretch == PRODUCT_STRETCH && p->pairs == PAIRS_WIDENED && (p->right_rows >= 0 || p->right_stride >= 0);
}

/* Whether the task behind the one that has all columns is of the next batch. */
static bool has_batch_behind(const kernel *k) {
    return k->n_tasks > 0 && !k->product.has_windows && k->variables[k->product.row].size <= k->product.row_block;
}

/* Where the right factor's first panel lies in the next batch: behind the last one, outside, where it is only asked for. */
static void emit_behind(emitter *m) {
    const product_form *p = &m->k->product;
    const expr *x = &m->k->exprs[p->right];
    const int batch = m->k->tasks[m->k->n_tasks - 1];
    text at = {0};
    definition behind;
    emit_define(m, &behind, "const int64_t ", "batch_behind = v%d + 1", batch);
    emit_line(m, "const %s *columns_behind;", dialect_type(x->dtype));
    emit_line(m, "{");
    m->depth++;
    definition made[3];
    emit_define(m, &made[0], "const int64_t ", "v%d = batch_behind", batch);
    emit_define(m, &made[1], "const int64_t ", "v%d = 0", p->column);
    emit_define(m, &made[2], "const int64_t ", "v%d = 0", p->inner);
    emit_index(m, &at, x->at, -1);
    emit_line(m, "columns_behind = b%d + %s;", x->buffer, text_get(&at));
    for (int i = countof(made) - 1; i >= 0; i--) {
        emit_drop_unused(m, &made[i]);
    }
    m->depth--;
    emit_line(m, "}");
    emit_drop_unused(m, &behind);
    m->out.failed |= at.failed;
    text_clear(&at);
}

/* Pieces of 256 bytes that the left factor of a batch is, where it is multiplied column by column, which the CPU does not read ahead, the
   pieces lie one behind the other in memory that no other kernel of a chain has just filled, and one panel multiplies them all; 0. The
   first product of attention's gradient takes 22 us a head so, and 24.5 otherwise (Zen 4, 2026-11). */
static int64_t rows_behind(const emitter *m) {
    const kernel *k = m->k;
    const product_form *p = &k->product;
    const int64_t rows = k->variables[p->row].size, inner = k->variables[p->inner].size;
    int64_t stride;
    const bool dense = p->left_stride == 1 && p->left_step == rows;
    const expr *x = &k->exprs[p->left];
    return dense && inner <= PRODUCT_STRETCH && m->c->buffers[x->buffer].part_elems == 0 &&
                   index_stride(x->at, k->tasks[k->n_tasks - 1], &stride) && stride == rows * inner
               ? rows * inner * (int64_t)sizeof(float) / 256
               : 0;
}

/* The next panel: of the next inner steps, or else the first one of the columns that the next task computes. */
static void emit_next(emitter *m) {
    const product_form *p = &m->k->product;
    if (!lies_there(p)) {
        return;
    }
    const bool inward = p->right_stride >= 0, goes_on = has_batch_behind(m->k);
    long long columns = m->k->variables[p->column].size, inner = m->k->variables[p->inner].size;
    long long step = inward ? 1 : p->right_rows, column = inward ? p->right_stride : 1;
    if (goes_on) {
        emit_behind(m);
    }
    emit_line(m, "const next_panel next = {first_inner + %d < %lld ? (const char *)(right_columns + %lld)", PRODUCT_STRETCH, inner,
              step * PRODUCT_STRETCH);
    emit_line(m, "                         : first_column + %d < %lld ? (const char *)(right_columns + %lld - %lld * first_inner) : %s,",
              PRODUCT_COLUMNS, columns, column * PRODUCT_COLUMNS, step, goes_on ? "(const char *)columns_behind" : "0");
    const int64_t behind = goes_on ? rows_behind(m) : 0;
    if (behind > 0) {
        emit_line(m, "                         %lld, %d, (const char *)(left_rows + %lld), first_column + %d < %lld ? 0 : %lld};",
                  4 * (inward ? column : step), inward ? 2 : 1, (long long)(m->k->variables[p->row].size * inner), PRODUCT_COLUMNS, columns,
                  (long long)behind);
    } else {
        emit_line(m, "                         %lld, %d, 0, 0};", 4 * (inward ? column : step), inward ? 2 : 1);
    }
}

static void emit_multiply(emitter *m, const char *begins) {
    const product_form *p = &m->k->product;
    const char *left = p->left_stride < 0 ? "left" : "left_rows";
    long long stride = p->left_stride < 0 ? p->stretch : p->left_stride;
    if (p->pairs != PAIRS_WIDENED) {
        emit_line(m, "%s(%s, %lld, right, n_rows, n_inner, n_columns, sums, %s);",
                  p->pairs == PAIRS_BY_TILES ? "multiply_tiles" : "multiply_pairs", left, stride, begins);
    } else {
        bool few = p->stretch == PRODUCT_FLAT_STRETCH;
        emit_next(m);
        char source[48] = "";
        if (!few) {
            snprintf(source, sizeof source, "%s, %lld, ", p->right_rows >= 0 ? "right_columns" : "0",
                     (long long)(p->right_rows >= 0 ? p->right_rows : 0));
        }
        emit_line(m, "%s(%s, %lld, %lld, %sright, n_rows, n_inner, n_columns, sums, %s%s);", few ? "multiply_few" : "multiply_add",
                  left, stride, (long long)p->left_step, source, begins,
                  few ? "" : lies_there(p) ? ", next.at != 0 ? &next : 0" : ", 0");
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
    emit_line(m, "const int64_t n_inner = %lld - first_inner < %d ? %lld - first_inner : %d;", inner, p->stretch, inner, p->stretch);
    if (p->left_stride < 0) {
        emit_line(m, "uint16_t left[%lld];", (long long)p->row_block * p->stretch);
    }
    emit_left(m);
    emit_line(m, "tile_rows(kept + TILES_OF_STEP * first_inner, %lld, %s, %lld, n_rows, n_inner);", inner,
              p->left_stride < 0 ? "left" : "left_rows", (long long)(p->left_stride < 0 ? p->stretch : p->left_stride));
    m->depth--;
    emit_line(m, "}");
    m->depth--;
    emit_line(m, "}");
    emit_line(m, "const int64_t first_inner = 0;");
    emit_first(m, "right_columns", p->right, p->column, "first_column");
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
        emit_following(m);
        return;
    }
    /* Of what is summed over, panels run along one variable. */
    text begins = {0};
    text_add(&begins, "first_inner == 0");
    int depth = m->depth;
    for (int v = 0; v < m->k->n_variables; v++) {
        if (m->k->variables[v].is_reduced && v != p->inner) {
            emit_line(m, "for (int64_t v%d = 0; v%d < %lld; v%d++) {", v, v, (long long)m->k->variables[v].size, v);
            text_addf(&begins, " && v%d == 0", v);
            m->depth++;
        }
    }
    emit_line(m, "for (int64_t first_inner = 0; first_inner < %lld; first_inner += %d) {", inner, p->stretch);
    m->depth++;
    emit_line(m, "const int64_t n_inner = %lld - first_inner < %d ? %lld - first_inner : %d;", inner, p->stretch, inner, p->stretch);
    emit_left(m);
    emit_right(m);
    emit_padding(m);
    emit_multiply(m, text_get(&begins));
    while (m->depth > depth) {
        m->depth--;
        emit_line(m, "}");
    }
    m->out.failed |= begins.failed;
    text_clear(&begins);
    emit_following(m);
}
