/* SPDX-License-Identifier: Apache-2.0 */
/* Factors of matrix products as text: where they are multiplied from, and how they come there. */
#include "engine/compile/emit/factors.h"

#include "engine/compile/emit/lane_loops.h"
#include "engine/compile/emit/values.h"
#include "engine/compile/emit/wants.h"
#include "engine/compile/emit/writing.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Names what is wanted and has none yet; but for `without`, variables that have no name either (as sets). */
void emit_product_wanted(emitter *m, uint64_t without) {
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
    emit_product_wanted(m, (uint64_t)1 << v); /* once for all lanes: compilers cannot tell that no store changes what is loaded for it */
    emit_line(m, strspn(n, "0123456789") > 0 ? "INDEPENDENT FEW" : "INDEPENDENT");
    emit_line(m, "for (int64_t l = 0; l < %s; l++) {", n);
    m->depth++;
    lane_loop loop;
    emit_define(m, &loop.variable, "const int64_t ", "v%d = %s + l", v, from);
    emit_product_wanted(m, 0);
    text value = {0};
    emit_name(m, &value, e);
    const char *at = strstr(store, "%s");
    emit_line(m, "%.*s%s%s", (int)(at - store), store, text_get(&value), at + 2);
    m->out.failed |= value.failed;
    text_clear(&value);
    emit_close_lanes(m, &(lane_range){0}, &loop, named);
    free(named);
}

/* Where the first element of a factor's part lies that is read from where it is; v: its rows or its columns. */
void emit_factor_first(emitter *m, const char *name, int e, int v, const char *first) {
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
int emit_left_apart(const product_form *p) {
    return p->along ? ALONG_APART : p->stretch;
}

/* Rows from `from` on up to row `to` of the block, into their panel. */
void emit_left_panel(emitter *m, const char *from, const char *to) {
    const product_form *p = &m->k->product;
    emit_line(m, "for (int64_t j = %s; j < %s; j++) {", from, to);
    m->depth++;
    emit_line(m, "const int64_t v%d = first_row + j;", p->row);
    char store[48];
    snprintf(store, sizeof store, strcmp(from, "0") == 0 ? "left[%d * j + l] = %%s;" : "left[%d * (j - i) + l] = %%s;", emit_left_apart(p));
    emit_product_lanes(m, p->inner, "first_inner", "n_inner", p->left, store);
    m->depth--;
    emit_line(m, "}");
}

/* Whether blocks are multiplied by multiply_add. */
bool emit_is_added(const product_form *p) {
    return p->stretch == PRODUCT_STRETCH && p->pairs == PAIRS_WIDENED;
}

void emit_left_factor(emitter *m) {
    const product_form *p = &m->k->product;
    if (p->left_stride >= 0) {
        emit_factor_first(m, "left_rows", p->left, p->row, "first_row");
    } else if (!emit_is_added(p)) {
        emit_left_panel(m, "0", "n_rows");
    }
}

void emit_column_run(emitter *m, const char *type, int together, int apart, bool pads) {
    const product_form *p = &m->k->product;
    emit_line(m, "%s run[%d] __attribute__((aligned(64)));", type, together * apart);
    emit_line(m, "for (int64_t i = 0; i < %d; i++) { /* the last column stands in for those that are not there */", together);
    m->depth++;
    emit_line(m, "const int64_t v%d = first_column + (c + i < n_columns ? c + i : n_columns - 1);", p->column);
    char store[48];
    snprintf(store, sizeof store, "run[%d * i + l] = %%s;", apart);
    emit_product_lanes(m, p->inner, "first_inner", "n_inner", p->right, store);
    if (pads) {
        emit_line(m, "for (int64_t l = n_inner; l %% 2 != 0; l++) {");
        emit_line(m, "    run[%d * i + l] = 0;", apart);
        emit_line(m, "}");
    }
    m->depth--;
    emit_line(m, "}");
}

static void emit_right_pairs(emitter *m) {
    const product_form *p = &m->k->product;
    if (p->right_runs_inward) {
        emit_line(m, "for (int64_t c = 0; c < n_columns; c += 16) {");
        m->depth++;
        emit_column_run(m, "uint16_t", 16, PRODUCT_PAIRS_STRETCH, m->k->variables[p->inner].size % 2 != 0);
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

/* The right factor, or what it widens. */
static int right_as_it_lies(const kernel *k) {
    return k->product.widens_right ? k->exprs[k->product.right].sources[0] : k->product.right;
}

void emit_right_factor(emitter *m) {
    const product_form *p = &m->k->product;
    if (p->along) {
        return;
    }
    if (p->right_stride >= 0) {
        emit_factor_first(m, "right_columns", right_as_it_lies(m->k), p->column, "first_column");
        if (p->widens_right) {
            emit_line(m, "turn_pairs(right_columns, %lld, n_inner, n_columns, right);", (long long)p->right_stride);
            return;
        }
        if (p->pairs != PAIRS_WIDENED && !p->right_runs_inward) {
            emit_line(m, "pair_rows(right_columns, %lld, n_inner, n_columns, right);", (long long)p->right_stride);
            return;
        }
        emit_line(m, "turn_round(right, %d, right_columns, %lld, %s, n_columns, 4);", PRODUCT_COLUMNS,
                  (long long)p->right_stride, p->pairs != PAIRS_WIDENED ? "n_inner / 2" : "n_inner");
        return;
    }
    if (p->right_rows >= 0) { /* multiplied from where they lie */
        emit_factor_first(m, "right_columns", p->right, p->column, "first_column");
        return;
    }
    if (p->pairs != PAIRS_WIDENED) {
        emit_right_pairs(m);
        return;
    }
    if (p->right_runs_inward) {
        emit_line(m, "for (int64_t c = 0; c < n_columns; c += 8) {");
        m->depth++;
        emit_column_run(m, "float", 8, PRODUCT_STRETCH, false);
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
/* Zeros up to a whole step of tiles. */
void emit_factors_padding(emitter *m) {
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
bool emit_right_lies_there(const product_form *p) {
    return emit_is_added(p) && (p->right_rows >= 0 || p->right_stride >= 0);
}

/* Whether the task behind the one that has all columns is of the next batch. */
static bool has_batch_behind(const kernel *k) {
    return k->n_tasks > 0 && !k->product.has_windows && k->variables[k->product.row].size <= k->product.row_block;
}

/* Where the right factor's first panel lies in the next batch: behind the last one, outside, where it is only asked for. */
static void emit_behind(emitter *m) {
    const product_form *p = &m->k->product;
    const expr *x = &m->k->exprs[right_as_it_lies(m->k)];
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
void emit_next_panel(emitter *m) {
    const product_form *p = &m->k->product;
    if (!emit_right_lies_there(p)) {
        return;
    }
    const bool inward = p->right_stride >= 0, goes_on = has_batch_behind(m->k);
    const int runs = inward && !p->widens_right ? 2 : 1; /* of 256 bytes, in a panel's column or row */
    long long columns = m->k->variables[p->column].size, inner = m->k->variables[p->inner].size;
    long long step = inward ? 1 : p->right_rows, column = !inward ? 1 : p->right_stride * (p->widens_right ? 2 : 1);
    if (goes_on) {
        emit_behind(m);
    }
    emit_line(m, "next_panel next = {first_inner + %d < %lld ? (const char *)(right_columns + %lld)", PRODUCT_STRETCH, inner,
              step * PRODUCT_STRETCH);
    emit_line(m, "                         : first_column + %d < %lld ? (const char *)(right_columns + %lld - %lld * first_inner) : %s,",
              PRODUCT_COLUMNS, columns, column * PRODUCT_COLUMNS, step, goes_on ? "(const char *)columns_behind" : "0");
    const int64_t behind = goes_on ? rows_behind(m) : 0;
    emit_line(m, "                         %lld, %d, %d * ((n_inner + 3) / 4),", 4 * (inward ? (long long)p->right_stride : step), runs,
              p->widens_right ? 2 : 4);
    if (behind > 0) {
        emit_line(m, "                         (const char *)(left_rows + %lld), first_column + %d < %lld ? 0 : %lld, 0};",
                  (long long)(m->k->variables[p->row].size * inner), PRODUCT_COLUMNS, columns, (long long)behind);
    } else {
        emit_line(m, "                         0, 0, 0};");
    }
}
