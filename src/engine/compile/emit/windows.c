/* SPDX-License-Identifier: Apache-2.0 */
/* Convolutions by windows of 3 x 3 as text, by Winograd's algorithm. A task is some tiles, each of 4 x 4 results, by 64 columns. The
   6 x 6 elements that a tile sees, and what was fused into reading them, are brought beside each other, channels as lanes, and
   become 36 numbers for each channel; so do weights, once for all tasks of a thread that have the same columns. For each of the 36, tiles
   by channels times channels by columns is a matrix product. Its sums become results, in the order in which they are stored. */
#include "engine/compile/emit/windows.h"

#include "engine/compile/emit/factors.h"
#include "engine/compile/emit/inside.h"
#include "engine/compile/emit/product.h"
#include "engine/compile/emit/wants.h"
#include "engine/compile/emit/writing.h"

#include <string.h>

enum { PLACES = 36, CHANNELS = 16, MOST_RUN = 16 };

/* Strides, in elements: between places of weights, elements and sums, whose lines of memory are not to be in one set of the cache; and
   between tiles. A run is of tiles beside each other. */
typedef struct layout {
    int64_t weights, elements, sums, tile, run, line;
} layout;

static int64_t odd_lines(int64_t elems) {
    return ((elems + CHANNELS - 1) / CHANNELS | 1) * CHANNELS;
}

static layout layout_of(const kernel *k) {
    const product_form *p = &k->product;
    int64_t channels = k->variables[p->inner].size, run = p->windows.tiles_across < MOST_RUN ? p->windows.tiles_across : MOST_RUN;
    int64_t tile = odd_lines(channels);
    return (layout){.weights = odd_lines(channels * PRODUCT_COLUMNS), .elements = odd_lines(p->windows.tiles * tile),
                    .sums = odd_lines(p->windows.tiles * PRODUCT_COLUMNS), .tile = tile, .run = run,
                    .line = (4 * run + 2 + CHANNELS - 1) / CHANNELS * CHANNELS};
}

static void emit_room(emitter *m, const char *name, int64_t stride) {
    emit_line(m, "float *const %s = (float *)((char *)buffers[%d] + %lld);", name, m->k->n_buffers, (long long)m->room_bytes);
    m->room_bytes += PLACES * stride * (int64_t)sizeof(float);
}

void emit_windows_room(emitter *m) {
    layout at = layout_of(m->k);
    emit_room(m, "weights", at.weights);
    emit_room(m, "elements", at.elements);
    emit_room(m, "sums", at.sums);
    emit_line(m, "int64_t made = -1; /* the first of the columns whose weights have been made */");
}

static void open(emitter *m, const char *line) {
    emit_line(m, "%s", line);
    m->depth++;
}

static void close(emitter *m) {
    m->depth--;
    emit_line(m, "}");
}

static void emit_weights(emitter *m) {
    const product_form *p = &m->k->product;
    int down = p->windows.tap_down, across = p->windows.tap_across;
    open(m, "if (made != first_column) {");
    emit_line(m, "made = first_column;");
    emit_line(m, "for (int64_t v%d = 0; v%d < %lld; v%d++) {", p->inner, p->inner, (long long)m->k->variables[p->inner].size, p->inner);
    m->depth++;
    emit_line(m, "float taps[576] __attribute__((aligned(64)))%s;", m->k->variables[p->column].size % PRODUCT_COLUMNS != 0 ? " = {0}" : "");
    open(m, "for (int64_t i = 0; i < 9; i++) {");
    emit_line(m, "const int64_t v%d = i / 3, v%d = i %% 3;", down, across);
    emit_product_lanes(m, p->column, "first_column", "n_columns", p->right, "taps[64 * i + l] = %s;");
    close(m);
    emit_line(m, "winograd_weights(taps, weights + 64 * v%d, %lld);", p->inner, (long long)layout_of(m->k).weights);
    close(m);
    close(m);
}

/* Opens a loop over the task's tiles, as many at a time as lie beside each other. */
static void emit_runs(emitter *m) {
    const kernel *k = m->k;
    const windows_form *w = &k->product.windows;
    open(m, "for (int64_t tile = first_tile, n_run; tile < end_tile; tile += n_run) {");
    emit_line(m, "const int64_t down = tile / %lld %% %lld, across = tile %% %lld;", (long long)w->tiles_across, (long long)w->tiles_down,
              (long long)w->tiles_across);
    emit_line(m, "const int64_t left_across = %lld - across, left = end_tile - tile < left_across ? end_tile - tile : left_across;",
              (long long)w->tiles_across);
    emit_line(m, "n_run = left < %lld ? left : %lld;", (long long)layout_of(k).run, (long long)layout_of(k).run);
    int64_t below = w->tiles_down * w->tiles_across;
    for (int v = k->n_variables - 1; v >= 0; v--) {
        if (!k->variables[v].is_reduced && v != k->product.column && v != w->down && v != w->across) {
            emit_line(m, "const int64_t v%d = tile / %lld %% %lld;", v, (long long)below, (long long)k->variables[v].size);
            below *= k->variables[v].size;
        }
    }
}

/* So many lanes of a line of elements from one on; `line`: what their loop's body begins with. */
static void emit_part_of_line(emitter *m, const char *first, const char *n, const char *line) {
    const product_form *p = &m->k->product;
    const char *store = arena_format(m->c->memory, "%sline[%lld * i + %s + l] = %%s;", line, (long long)layout_of(m->k).line, first);
    const char *from = arena_format(m->c->memory, "first_across + %s", first);
    if (store == NULL || from == NULL) {
        m->out.failed = true;
        return;
    }
    emit_product_lanes(m, p->windows.across, from, n, p->left, store);
}

/* Lanes inside of the image: whole vectors, the last one so that none is left over. */
static void emit_inner_part(emitter *m) {
    m->inside = true;
    open(m, "if (inner_end - inner_first >= 16) {");
    open(m, "for (int64_t block = inner_first; block < inner_end; block += 16) {");
    emit_line(m, "const int64_t block_first = block + 16 <= inner_end ? block : inner_end - 16;");
    emit_part_of_line(m, "block_first", "16", "");
    close(m);
    m->depth--;
    open(m, "} else {");
    emit_part_of_line(m, "inner_first", "inner_end - inner_first", "");
    close(m);
    m->inside = false;
}

/* One channel's line of elements: most of them are inside of the image, and are a loop of their own. */
static void emit_line_of_elements(emitter *m) {
    const kernel *k = m->k;
    const product_form *p = &k->product;
    int64_t first, last;
    int only;
    text condition = {0};
    memset(m->wanted, 0, (size_t)k->n_exprs);
    emit_want(m, p->left);
    if (!emit_find_inside(m, k->variables[p->windows.across].size + 2, &first, &last, &condition, &only)) {
        emit_part_of_line(m, "0", "n_there", "");
        text_clear(&condition);
        return;
    }
    emit_line(m, "const int64_t inner_first = first_across < %lld ? %lld - first_across : 0;", (long long)first, (long long)first);
    emit_line(m, "const int64_t inner_end = %lld - first_across < n_there ? %lld - first_across : n_there;", (long long)last + 1,
              (long long)last + 1);
    emit_line(m, "if (inner_first < inner_end%s%s) {", condition.length > 0 ? " && " : "", text_get(&condition));
    m->depth++;
    emit_inner_part(m);
    m->never = only;
    open(m, "for (int side = 0; side < 2; side++) {");
    emit_line(m, "const int64_t side_first = side == 0 ? 0 : inner_end, n_side = side == 0 ? inner_first : n_there - inner_end;");
    emit_part_of_line(m, "side_first", "n_side", "ONE_BY_ONE(l); ");
    close(m);
    m->depth--;
    open(m, "} else {");
    emit_part_of_line(m, "0", "n_there", "");
    close(m);
    m->never = -1;
    m->out.failed |= condition.failed;
    text_clear(&condition);
}

static void emit_elements(emitter *m) {
    const kernel *k = m->k;
    const product_form *p = &k->product;
    const windows_form *w = &p->windows;
    const layout at = layout_of(k);
    long long line = at.line, height = k->variables[w->down].size + 2, width = k->variables[w->across].size + 2;
    emit_runs(m);
    emit_line(m, "const int64_t n_line = 4 * n_run + 2, first_across = 4 * across;");
    emit_line(m, "const int64_t n_across = %lld - first_across < n_line ? %lld - first_across : n_line;", width, width);
    emit_line(m, "for (int64_t c = 0; c < %lld; c += %d) {", (long long)k->variables[p->inner].size, CHANNELS);
    m->depth++;
    emit_line(m, "float lines[%lld] __attribute__((aligned(64)));", 6 * CHANNELS * line);
    open(m, "for (int64_t r = 0; r < 6; r++) {");
    emit_line(m, "float line[%lld] __attribute__((aligned(64)));", CHANNELS * line);
    emit_line(m, "const int64_t v%d = 4 * down + r;", w->down);
    emit_line(m, "for (int64_t i = 0; i < %d; i++) {", CHANNELS);
    m->depth++;
    emit_line(m, "const int64_t v%d = c + i, n_there = v%d < %lld ? n_across : 0;", p->inner, w->down, height);
    emit_line_of_elements(m);
    emit_line(m, "for (int64_t l = n_there; l < n_line; l++) { /* beside all windows */");
    emit_line(m, "    line[%lld * i + l] = 0;", line);
    emit_line(m, "}");
    close(m);
    emit_line(m, "turn_round(lines + %lld * r, %d, line, %lld, (n_line + 15) / 16 * 16, %d, 4);", CHANNELS * line, CHANNELS, line, CHANNELS);
    close(m);
    open(m, "for (int64_t t = 0; t < n_run; t++) {");
    emit_line(m, "winograd_elements(lines + %d * t, %lld, elements + %lld * (tile - first_tile + t) + c, %lld);", 4 * CHANNELS,
              CHANNELS * line, (long long)at.tile, (long long)at.elements);
    close(m);
    close(m);
    close(m);
}

static void emit_sums(emitter *m) {
    const product_form *p = &m->k->product;
    const layout at = layout_of(m->k);
    long long channels = m->k->variables[p->inner].size;
    emit_line(m, "for (int64_t place = 0; place < %d; place++) {", PLACES);
    m->depth++;
    emit_line(m, "for (int64_t c = 0; c < %lld; c += %d) {", channels, PRODUCT_STRETCH);
    m->depth++;
    emit_line(m, "multiply_add(elements + %lld * place + c, %lld, 1, 0, 0, weights + %lld * place + %d * c, end_tile - first_tile,",
              (long long)at.elements, (long long)at.tile, (long long)at.weights, PRODUCT_COLUMNS);
    emit_line(m, "             %lld - c < %d ? %lld - c : %d, n_columns, sums + %lld * place, c == 0, sums + %lld * place, 64, 0);", channels, PRODUCT_STRETCH,
              channels, PRODUCT_STRETCH, (long long)at.sums, (long long)at.sums);
    close(m);
    close(m);
}

static void emit_results(emitter *m) {
    const kernel *k = m->k;
    const product_form *p = &k->product;
    const windows_form *w = &p->windows;
    const layout at = layout_of(k);
    long long height = k->variables[w->down].size, width = k->variables[w->across].size;
    long long line = 4 * at.run * PRODUCT_COLUMNS, turned = (4 * at.run + CHANNELS - 1) / CHANNELS * CHANNELS;
    emit_runs(m);
    emit_line(m, "float lines[%lld] __attribute__((aligned(64)));", 4 * line + (turned - 4 * at.run) * PRODUCT_COLUMNS);
    open(m, "for (int64_t t = 0; t < n_run; t++) {");
    emit_line(m, "winograd_results(sums + 64 * (tile - first_tile + t), %lld, lines + 256 * t, %lld);", (long long)at.sums, line);
    close(m);
    emit_line(m, "const int64_t first_across = 4 * across, n_across = %lld - first_across < 4 * n_run ? %lld - first_across : 4 * n_run;",
              width, width);
    emit_line(m, "for (int64_t r = 0; r < 4 && 4 * down + r < %lld; r++) {", height);
    m->depth++;
    emit_line(m, "float results[%lld] __attribute__((aligned(64)));", PRODUCT_COLUMNS * turned);
    emit_line(m, "const int64_t v%d = 4 * down + r;", w->down);
    emit_line(m, "turn_round(results, %lld, lines + %lld * r, 64, 64, (4 * n_run + 15) / 16 * 16, 4);", turned, line);
    open(m, "for (int64_t i = 0; i < n_columns; i++) {");
    emit_line(m, "const int64_t v%d = first_column + i;", p->column);
    emit_line(m, "const float *const r%d = results + %lld * i;", p->root, turned);
    emit_product_results(m, w->across, "first_across", "n_across");
    close(m);
    close(m);
    close(m);
}

void emit_windows(emitter *m) {
    const product_form *p = &m->k->product;
    const windows_form *w = &p->windows;
    long long columns = m->k->variables[p->column].size, tasks = (w->n_tiles + w->tiles - 1) / w->tiles;
    emit_line(m, "const int64_t first_column = task / %lld * %d;", tasks, PRODUCT_COLUMNS);
    emit_line(m, "const int64_t n_columns = %lld - first_column < %d ? %lld - first_column : %d;", columns, PRODUCT_COLUMNS, columns,
              PRODUCT_COLUMNS);
    emit_line(m, "const int64_t first_tile = task %% %lld * %lld;", tasks, (long long)w->tiles);
    emit_line(m, "const int64_t end_tile = %lld - first_tile < %lld ? %lld : first_tile + %lld;", (long long)w->n_tiles, (long long)w->tiles,
              (long long)w->n_tiles, (long long)w->tiles);
    emit_weights(m);
    emit_elements(m);
    emit_sums(m);
    emit_results(m);
}
