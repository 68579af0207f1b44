/* SPDX-License-Identifier: Apache-2.0 */
/* Sees a matrix product in a kernel, and chooses its blocks and where its factors are multiplied from. */
#include "engine/compile/passes.h"

#include <stdlib.h>

/* Rows that are multiplied together. Of tiles: the same, and the most rows of a task. */
enum { ROWS_TOGETHER = 6, TILE_ROWS_TOGETHER = 32, TILE_ROWS = 512 };

/* So few terms are done in less time than a second thread takes to wake up: as a sum like any other, whose tasks are not blocks but
   rows, it can go with the kernels around it, part by part. */
enum { FEW_TERMS = 32768 };

/* Rows that a thread keeps in tiles at most, and bytes of them: then columns that lie along the inner dimension need no turning round.
   1024 columns of 1024 by 8 rows take 20 us so instead of 48, by 64 rows 61 instead of 92, by 128 rows 123 instead of 143, and by 256 as
   long; 192 rows of 4096, which are more bytes than that, took 1.06 of the time (two cores of a Granite Rapids, 2026-11). */
enum { KEPT_ROWS = 192, KEPT_BYTES = 1 << 20 };

/* Rows up to which columns along the inner dimension are multiplied as they lie, if they are so long, and so many times that number: turning
   them round takes as long as some ten rows of multiplications, adding up lanes as some of their terms. Of 1024 terms by 512 columns of
   floats, 4 rows take half the time so, 16 0.55 of it and 32 0.9, and 16 rows of 2048 by 2048 columns of bytes 0.75 (one core of an Emerald
   Rapids, 2026-11). */
enum { ALONG_ROWS = 32, ALONG_LEAST = 64, ALONG_TIMES = 8 };

/* A product of few rows waits for memory, which is fast where long pieces are read: its panels are flat. */
enum { FEW_ROWS = 8 };

/* The largest of a set of variables. */
static int largest(const kernel *k, uint64_t set) {
    int found = -1;
    for (int v = 0; v < k->n_variables; v++) {
        if ((set >> v & 1) != 0 && (found < 0 || k->variables[v].size > k->variables[found].size)) {
            found = v;
        }
    }
    return found;
}

static uint64_t reduced_set(const kernel *k) {
    uint64_t set = 0;
    for (int v = 0; v < k->n_variables; v++) {
        set |= k->variables[v].is_reduced ? (uint64_t)1 << v : 0;
    }
    return set;
}

/* The kernel's one reduction, when what follows it is only a row's own. */
static int only_sum(const kernel *k, uint64_t reduced) {
    int found = -1;
    for (int i = 0; i < k->n_roots; i++) {
        const root *r = &k->roots[i];
        if (r->kind == ROOT_REDUCE && r->how == RED_SUM && r->dtype == ASSAY_F32 && r->phase == 0 && found < 0) {
            found = i;
        } else if (r->kind != ROOT_STORE || (r->variables & reduced) != 0) {
            return -1;
        }
    }
    return found;
}

/* Whether the loads behind an expression run along variable a rather than b. One that does not go with b at all is for many
   elements, and tells nothing. */
static bool runs_along(const kernel *k, int e, int a, int b) {
    bool found = false, *behind = calloc((size_t)e + 1, sizeof *behind);
    if (behind == NULL) {
        return false; /* the other way round is as good */
    }
    behind[e] = true;
    for (int i = e; i >= 0 && !found; i--) { /* what is read comes before */
        int64_t of_a, of_b;
        int reads[EXPR_MAX_READS], n = behind[i] ? expr_reads(k, &k->exprs[i], reads) : 0;
        found = behind[i] && k->exprs[i].kind == EXPR_LOAD && index_stride(k->exprs[i].at, a, &of_a) &&
                index_stride(k->exprs[i].at, b, &of_b) && of_a == 1 && of_b != 1 && of_b != 0;
        for (int r = 0; r < n; r++) {
            behind[reads[r]] = true;
        }
    }
    free(behind);
    return found;
}

/* The variable whose neighbours are neighbours where the first value that is kept lies; -1: there is none. */
static int dense_variable(const kernel *k, uint64_t set) {
    for (int i = 0; i < k->n_roots; i++) {
        for (int v = 0; v < k->n_variables && k->roots[i].buffer >= 0; v++) {
            int64_t stride;
            if ((set >> v & 1) != 0 && index_stride(k->roots[i].at, v, &stride) && stride == 1) {
                return v;
            }
        }
    }
    return -1;
}

/* What lies densely along rows or along the inner variable, in the type that is multiplied, is multiplied from where it is. */
static bool lies_ready(const kernel *k, int e, dtype t, int row, int inner, int64_t *stride, int64_t *along) {
    const expr *x = &k->exprs[e];
    int reads[EXPR_MAX_READS];
    return x->kind == EXPR_LOAD && x->dtype == t && x->guard < 0 && index_reads(k, x->at, -1, reads, 0) == 0 &&
           index_stride(x->at, inner, along) && index_stride(x->at, row, stride) && *stride >= 0 && *along >= 0 &&
           (*stride == 1 || *along == 1);
}

/* Blocks of equal size, so that threads get equal shares, and of whole groups of rows. Tiles multiply so fast that panels had better
   serve many rows. */
static int64_t row_block_of(int64_t n_rows, pairs_way pairs) {
    int64_t most = pairs == PAIRS_BY_TILES ? TILE_ROWS : PRODUCT_ROWS;
    int64_t together = pairs == PAIRS_BY_TILES ? TILE_ROWS_TOGETHER : ROWS_TOGETHER;
    int64_t blocks = (n_rows + most - 1) / most, each = (n_rows + blocks - 1) / blocks;
    return blocks == 1 ? n_rows : (each + together - 1) / together * together;
}

/* The bf16 that e widens; -1: it widens none. */
static int half_of(const kernel *k, int e) {
    const expr *x = &k->exprs[e];
    return x->kind == EXPR_CAST && k->exprs[x->sources[0]].dtype == ASSAY_BF16 ? x->sources[0] : -1;
}

/* A factor that is not rounded to bf16, where it is so only because pairs of such were to be multiplied. */
static int unrounded(const kernel *k, int e) {
    const int half = half_of(k, e), wide = half >= 0 && k->exprs[half].kind == EXPR_CAST ? k->exprs[half].sources[0] : -1;
    return wide >= 0 && k->exprs[wide].dtype == ASSAY_F32 ? wide : e;
}

/* Whether nothing else is summed over. */
static bool sums_along(const kernel *k, int inner) {
    for (int v = 0; v < k->n_variables; v++) {
        if (k->variables[v].is_reduced && v != inner) {
            return false;
        }
    }
    return true;
}

/* Where the factors lie, and whether they are multiplied in pairs of bf16. Columns that run along the inner variable are turned
   round pair by pair where they lie, so each begins with a whole pair. */
static void place_factors(kernel *k, pairs_way pairs) {
    product_form *p = &k->product;
    int left = half_of(k, p->left), right = half_of(k, p->right);
    int64_t stride, along, size = k->variables[p->inner].size;
    const int64_t n_rows = k->variables[p->row].size;
    bool flat = n_rows <= FEW_ROWS && k->variables[p->column].size >= PRODUCT_FLAT_COLUMNS && !p->right_runs_inward;
    p->columns = flat ? PRODUCT_FLAT_COLUMNS : PRODUCT_COLUMNS;
    p->stretch = flat ? PRODUCT_FLAT_STRETCH : PRODUCT_STRETCH;
    pairs = flat ? PAIRS_WIDENED : pairs;
    if (pairs != PAIRS_WIDENED && left >= 0 && right >= 0) {
        p->stretch = PRODUCT_PAIRS_STRETCH;
        bool turned = lies_ready(k, right, ASSAY_BF16, p->column, p->inner, &stride, &along) && along == 1 && stride % 2 == 0 &&
                      size % 2 == 0;
        p->pairs = pairs;
        p->left = left;
        p->right = right;
        bool paired = !turned && lies_ready(k, right, ASSAY_BF16, p->column, p->inner, &along, &stride) && along == 1;
        p->right_stride = turned ? stride / 2 : paired ? stride : -1;
        p->right_runs_inward = turned || (!paired && p->right_runs_inward);
        bool ready = lies_ready(k, left, ASSAY_BF16, p->row, p->inner, &stride, &along) && along == 1 && size % PRODUCT_PAIRS_STEP == 0;
        p->left_stride = ready ? stride : -1;
        int64_t kept_bytes = (n_rows + 31) / 32 * 32 * size * (int64_t)sizeof(uint16_t);
        p->keeps_rows = pairs == PAIRS_BY_TILES && turned && n_rows <= KEPT_ROWS && kept_bytes <= KEPT_BYTES &&
                        size % PRODUCT_PAIRS_STEP == 0 && sums_along(k, p->inner);
        if (p->keeps_rows && stride % 2 != 0) {
            p->left_stride = -1; /* its pairs are words */
        }
        return;
    }
    p->left = unrounded(k, p->left);
    p->right = unrounded(k, p->right);
    if (lies_ready(k, p->left, ASSAY_F32, p->row, p->inner, &stride, &along)) {
        p->left_stride = stride;
        p->left_step = along;
    }
    p->along = p->right_runs_inward && n_rows <= ALONG_ROWS && size >= ALONG_LEAST && size >= ALONG_TIMES * n_rows;
    p->left_stride = p->along && p->left_step != 1 ? -1 : p->left_stride;
    p->stretch = p->along ? PRODUCT_ALONG_STRETCH : p->stretch;
    if (lies_ready(k, p->right, ASSAY_F32, p->column, p->inner, &stride, &along)) {
        const bool whole = !p->along || k->variables[p->column].size % PRODUCT_COLUMNS_ALONG == 0; /* none beside all columns is looked at */
        p->right_stride = along == 1 && p->right_runs_inward && whole ? stride : -1;
        p->right_rows = stride == 1 && !p->right_runs_inward && !flat ? along : -1;
    }
    const int widened = half_of(k, p->right);
    if (widened >= 0 && p->right_runs_inward && !p->along && lies_ready(k, widened, ASSAY_BF16, p->column, p->inner, &stride, &along)) {
        p->widens_right = along == 1 && stride % 2 == 0 && size % 2 == 0;
        p->right_stride = p->widens_right ? stride / 2 : -1;
    }
}

/* As many as there are terms in all sums. */
static double multiplications(const kernel *k) {
    double n = 1;
    for (int v = 0; v < k->n_variables; v++) {
        n *= (double)k->variables[v].size;
    }
    return n;
}

bool arrange_product(compiler *c, kernel *k, pairs_way pairs) {
    uint64_t reduced = reduced_set(k);
    int sum = k->has_classes ? only_sum(k, reduced) : -1;
    if (sum < 0) {
        return false;
    }
    const expr *e = &k->exprs[k->roots[sum].expr];
    if (e->kind != EXPR_MAP || e->fn != FN_MUL) {
        return false;
    }
    if (arrange_windows(c, k, sum, dense_variable(k, ~reduced))) {
        return true;
    }
    int left = e->sources[0], right = e->sources[1];
    uint64_t of_left = k->exprs[left].variables & ~reduced, of_right = k->exprs[right].variables & ~reduced;
    uint64_t only_left = of_left & ~of_right, only_right = of_right & ~of_left;
    int inner = largest(k, k->exprs[left].variables & k->exprs[right].variables & reduced);
    if (only_left == 0 || only_right == 0 || inner < 0) {
        return false;
    }
    /* Columns are the ones to lie in vectors: what the output has nearest to each other. What else only one side depends on
       is told apart by tasks. */
    int column = dense_variable(k, only_left | only_right);
    if (column >= 0 && (only_left >> column & 1) != 0) {
        int other = left;
        left = right;
        right = other;
        uint64_t set = only_left;
        only_left = only_right;
        only_right = set;
    }
    column = column >= 0 && k->variables[column].size >= PRODUCT_LEAST ? column : largest(k, only_right);
    int row = largest(k, only_left);
    int64_t n_rows = k->variables[row].size, n_columns = k->variables[column].size;
    if (n_rows < 2 || n_columns < PRODUCT_LEAST || k->variables[inner].size < PRODUCT_LEAST ||
        (multiplications(k) <= FEW_TERMS && !c->options->blocks_all)) {
        return false;
    }
    k->is_product = true;
    k->vector = column;
    k->product = (product_form){.root = sum, .left = left, .right = right, .row = row, .column = column, .inner = inner,
                                .right_runs_inward = runs_along(k, right, inner, column),
                                .left_stride = -1, .left_step = 1, .right_stride = -1, .right_rows = -1};
    place_factors(k, k->roots[sum].of_factors ? pairs : PAIRS_WIDENED);
    int64_t row_block = k->product.row_block = row_block_of(n_rows, k->product.pairs);
    k->lanes = k->product.columns;
    k->n_task_items = ((n_rows + row_block - 1) / row_block) * ((n_columns + k->lanes - 1) / k->lanes);
    for (int v = 0; v < k->n_variables; v++) {
        if (!k->variables[v].is_reduced && v != row && v != column) {
            k->tasks[k->n_tasks++] = v;
            k->n_task_items *= k->variables[v].size;
        }
    }
    return true;
}
