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

/* How many rows, columns or inner steps a block has: `most`, and the last one what is left of all. */
static void emit_length(emitter *m, const char *name, const char *first, int64_t all, int64_t most) {
    if (all % most == 0 || all < most) {
        emit_line(m, "const int64_t %s = %lld;", name, (long long)(all < most ? all : most));
    } else {
        emit_line(m, "const int64_t %s = %lld - %s < %lld ? %lld - %s : %lld;", name, (long long)all, first, (long long)most,
                  (long long)all, first, (long long)most);
    }
}

/* Of columns as they lie, where they are brought side by side. */
enum { ALONG_APART = PRODUCT_ALONG_STRETCH + 16 };

/* Rows whose sums are near while what follows from them is computed: four times those that are multiplied together. */
enum { ROWS_AT_ONCE = 24 };

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

/* How far apart the left factor's rows lie in their panel. Those of columns as they lie are an odd number of lines of memory apart, as are
   the columns: the core's first cache finds room for them all. */
static int left_apart(const product_form *p) {
    return p->along ? ALONG_APART : p->stretch;
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
    char store[48];
    snprintf(store, sizeof store, "left[%d * i + l] = %%s;", left_apart(p));
    emit_product_lanes(m, p->inner, "first_inner", "n_inner", p->left, store);
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
    if (p->along) {
        return;
    }
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

/* What follows from the sums of rows `from` on up to row `to` of the block, which begin at `sums`. */
static void emit_following(emitter *m, const char *from, const char *to, const char *sums) {
    const product_form *p = &m->k->product;
    emit_line(m, "for (int64_t j = %s; j < %s; j++) {", from, to);
    m->depth++;
    emit_line(m, "const int64_t v%d = first_row + j;", p->row);
    emit_line(m, "const float *const r%d = %s + %d * (j - %s);", p->root, sums, p->columns, from);
    emit_product_results(m, p->column, "first_column", "n_columns");
    m->depth--;
    emit_line(m, "}");
}

/* Whether blocks are multiplied by multiply_add. */
static bool is_added(const product_form *p) {
    return p->stretch == PRODUCT_STRETCH && p->pairs == PAIRS_WIDENED;
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
    return is_added(p) && found != NULL && found->store_dtype == ASSAY_F32 && k->variables[p->column].size % 16 == 0 &&
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
    int64_t stride, n_sums = is_one_stretch(m->k) && is_added(p) && p->row_block > ROWS_AT_ONCE ? ROWS_AT_ONCE : p->row_block;
    if (stored_as_they_are(m->k, &stride) == NULL || !is_one_stretch(m->k)) {
        emit_line(m, "float sums[%lld] __attribute__((aligned(64)));", (long long)n_sums * p->columns);
    }
    if (p->keeps_rows) {
        return;
    }
    if (p->left_stride < 0) {
        emit_line(m, "%s left[%lld] __attribute__((aligned(64)));", pairs ? "uint16_t" : "float", (long long)p->row_block * left_apart(p));
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
    return is_added(p) && (p->right_rows >= 0 || p->right_stride >= 0);
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
    emit_line(m, "next_panel next = {first_inner + %d < %lld ? (const char *)(right_columns + %lld)", PRODUCT_STRETCH, inner,
              step * PRODUCT_STRETCH);
    emit_line(m, "                         : first_column + %d < %lld ? (const char *)(right_columns + %lld - %lld * first_inner) : %s,",
              PRODUCT_COLUMNS, columns, column * PRODUCT_COLUMNS, step, goes_on ? "(const char *)columns_behind" : "0");
    const int64_t behind = goes_on ? rows_behind(m) : 0;
    if (behind > 0) {
        emit_line(m, "                         %lld, %d, (const char *)(left_rows + %lld), first_column + %d < %lld ? 0 : %lld, 0};",
                  4 * (inward ? column : step), inward ? 2 : 1, (long long)(m->k->variables[p->row].size * inner), PRODUCT_COLUMNS, columns,
                  (long long)behind);
    } else {
        emit_line(m, "                         %lld, %d, 0, 0, 0};", 4 * (inward ? column : step), inward ? 2 : 1);
    }
}

/* By multiply_add: sums of one stretch, or with what those before have come to; `ends` tells the last one. What is not stored as it is goes
   on as soon as some rows have been added up, while they are near. */
static void emit_add(emitter *m, const char *begins, const char *ends) {
    const product_form *p = &m->k->product;
    const char *left = p->left_stride < 0 ? "left" : "left_rows", *behind = lies_there(p) ? "next.at != 0 ? &next : 0" : "0";
    const long long stride = p->left_stride < 0 ? p->stretch : p->left_stride, step = p->left_step;
    const bool one = is_one_stretch(m->k);
    int64_t result_stride;
    const bool stored = stored_as_they_are(m->k, &result_stride) != NULL;
    char source[64];
    snprintf(source, sizeof source, p->right_rows < 0 ? "0, 0" : stored ? "right_columns, %lld" : "i == 0 ? right_columns : 0, %lld",
             (long long)p->right_rows);
    emit_next(m);
    if (stored) {
        emit_line(m, "multiply_add(%s, %lld, %lld, %s, right, n_rows, n_inner, n_columns, %s, %s,", left, stride, step, source,
                  one ? "results" : "sums", begins);
        if (one) {
            emit_line(m, "             results, %lld, %s);", (long long)result_stride, behind);
        } else {
            emit_line(m, "             %s ? results : sums, %s ? %lld : 64, %s);", ends, ends, (long long)result_stride, behind);
        }
        return;
    }
    if (one) {
        emit_line(m, "const int64_t at_once = %d;", ROWS_AT_ONCE);
    } else {
        emit_line(m, "const int64_t at_once = %s ? %d : n_rows;", ends, ROWS_AT_ONCE);
    }
    emit_line(m, "for (int64_t i = 0; i < n_rows; i += at_once) {");
    m->depth++;
    emit_line(m, "const int64_t end = n_rows - i < at_once ? n_rows : i + at_once;");
    emit_line(m, "float *const some = %s;", one ? "sums" : "sums + 64 * i");
    emit_line(m, "multiply_add(%s + %lld * i, %lld, %lld, %s, right, end - i, n_inner, n_columns, some, %s,", left, stride, stride, step, source,
              begins);
    emit_line(m, "             some, 64, %s);", behind);
    if (!one) {
        emit_line(m, "if (%s) {", ends);
        m->depth++;
    }
    emit_following(m, "i", "end", "some");
    if (!one) {
        m->depth--;
        emit_line(m, "}");
    }
    m->depth--;
    emit_line(m, "}");
}

/* By columns as they lie, or as what is fused into them leaves a few of them side by side. */
static void emit_along(emitter *m, const char *begins) {
    const product_form *p = &m->k->product;
    const char *left = p->left_stride < 0 ? "left" : "left_rows";
    const long long left_stride = p->left_stride < 0 ? left_apart(p) : p->left_stride;
    if (p->right_stride >= 0) {
        emit_first(m, "right_columns", p->right, p->column, "first_column");
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
        emit_line(m, "float run[%d] __attribute__((aligned(64)));", PRODUCT_COLUMNS_ALONG * ALONG_APART);
        emit_line(m, "for (int64_t i = 0; i < %d; i++) { /* the last column stands in for those that are not there */", PRODUCT_COLUMNS_ALONG);
        m->depth++;
        emit_line(m, "const int64_t v%d = first_column + (c + i < n_columns ? c + i : n_columns - 1);", p->column);
        char store[48];
        snprintf(store, sizeof store, "run[%d * i + l] = %%s;", ALONG_APART);
        emit_product_lanes(m, p->inner, "first_inner", "n_inner", p->right, store);
        m->depth--;
        emit_line(m, "}");
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
    emit_left(m);
    emit_right(m);
    emit_padding(m);
    if (is_added(p)) {
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
    if (!is_added(p)) {
        emit_following(m, "0", "n_rows", "sums");
    }
}
