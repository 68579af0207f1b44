/* SPDX-License-Identifier: Apache-2.0 */
/* Operands of layers: what stands for each letter behind '@' in a pattern. Images have four dimensions [N, C, H, W]. A gradient
   needs what its layer made: that line goes before, among what the line at hand needs. */
#ifndef TESTS_ENGINE_RANDOM_LAYERS_H
#define TESTS_ENGINE_RANDOM_LAYERS_H

#include "random_parts.h"

/* How a window goes over an image. */
typedef struct window {
    int n; /* dimensions */
    int64_t kernel[2], stride[2], padding[2], dilation[2];
} window;

/* Windows that fit, mostly; padding up to half of them. */
static inline window maker_window(maker *m, int n) {
    window w = {.n = n};
    for (int d = 0; d < n; d++) {
        int64_t size = m->x->ndim >= n ? m->x->sizes[m->x->ndim - n + d] : 1;
        w.kernel[d] = 1 + maker_draw(m, 4);
        w.kernel[d] = w.kernel[d] > size && size > 0 ? size : w.kernel[d];
        w.stride[d] = 1 + maker_draw(m, 3);
        w.padding[d] = maker_draw(m, (int)(w.kernel[d] / 2) + 1);
        w.dilation[d] = size > 1 && maker_draw(m, 4) == 0 ? 2 : 1; /* else a window may see nothing */
        if (d > 0 && maker_draw(m, 2) == 0) { /* square, as most are */
            w.kernel[d] = w.kernel[0];
            w.stride[d] = w.stride[0];
            w.padding[d] = w.padding[0];
            w.dilation[d] = size > 1 ? w.dilation[0] : 1;
        }
    }
    return w;
}

/* A name for a line that goes before; the line's text follows. */
static inline int maker_before(maker *m) {
    int name = m->next_name++;
    text_addf(&m->pending, "%%x%d", name);
    return name;
}

static inline made_value *maker_row(maker *m, int64_t n, int64_t low, int64_t high) {
    return maker_input(m, m->x->dtype, 1, &n, low, high);
}

/* --- convolutions ------------------------------------------------------------------------------------------------------- */

typedef struct layer {
    made_value *weight;
    text rest; /* stride and what follows it */
} layer;

static inline layer maker_convolution(maker *m, int64_t *out_channels) {
    layer l = {0};
    const int64_t channels = m->x->sizes[1];
    const window w = maker_window(m, m->x->ndim - 2);
    const bool transposed = maker_draw(m, 4) == 0;
    const int64_t groups = maker_draw(m, 2) == 0 || channels == 0 ? 1 : maker_draw(m, 2) == 0 ? channels : channels % 2 == 0 ? 2 : 1;
    int64_t sizes[4], more[2] = {0};
    *out_channels = groups * (1 + maker_draw(m, groups == channels ? 2 : 9));
    sizes[0] = transposed ? channels : *out_channels;
    sizes[1] = (transposed ? *out_channels : channels) / groups;
    memcpy(&sizes[2], w.kernel, sizeof w.kernel);
    l.weight = maker_input(m, m->x->dtype, m->x->ndim, sizes, 0, 0);
    text_add_sizes(&l.rest, w.n, w.stride);
    text_add(&l.rest, ", ");
    text_add_sizes(&l.rest, w.n, w.padding);
    text_add(&l.rest, ", ");
    text_add_sizes(&l.rest, w.n, w.dilation);
    for (int d = 0; d < w.n; d++) {
        more[d] = transposed ? maker_draw(m, (int)w.stride[d]) : 0;
    }
    text_addf(&l.rest, ", %s, ", transposed ? "True" : "False");
    text_add_sizes(&l.rest, w.n, more);
    text_addf(&l.rest, ", %lld", (long long)groups);
    return l;
}

/* Behind the image: weights, bias and the rest. */
static inline void maker_add_convolution(maker *m) {
    int64_t out_channels;
    layer l = maker_convolution(m, &out_channels);
    text_addf(&m->call, "%%%s, ", l.weight->name);
    if (maker_draw(m, 2) == 0) {
        text_add(&m->call, "None");
    } else {
        text_addf(&m->call, "%%%s", maker_row(m, out_channels, 0, 0)->name);
    }
    text_addf(&m->call, ", %s", text_get(&l.rest));
    text_clear(&l.rest);
}

/* The gradient's operands: of its own result, as that has the form. */
static inline void maker_add_convolution_back(maker *m) {
    int64_t out_channels;
    layer l = maker_convolution(m, &out_channels);
    int made = maker_before(m);
    text_addf(&m->pending, " = convolution(%%%s, %%%s, None, %s)\n", m->x->name, l.weight->name, text_get(&l.rest));
    text_addf(&m->call, "%%x%d, %%%s, %%%s, [%lld], %s, [True, True, True]", made, m->x->name, l.weight->name, (long long)out_channels,
              text_get(&l.rest));
    text_clear(&l.rest);
}

/* --- windows ------------------------------------------------------------------------------------------------------------ */

/* Kernel, stride and padding of a pool. */
static inline void maker_pool(maker *m, text *out, bool dilates) {
    const window w = maker_window(m, 2);
    text_add_sizes(out, 2, w.kernel);
    text_add(out, ", ");
    text_add_sizes(out, 2, w.stride);
    text_add(out, ", ");
    text_add_sizes(out, 2, w.padding);
    if (dilates) {
        text_add(out, ", ");
        text_add_sizes(out, 2, w.dilation);
    }
    text_add(out, maker_draw(m, 3) == 0 ? ", True" : ", False");
    if (!dilates) {
        text_add(out, maker_draw(m, 2) == 0 ? ", True" : ", False");
        text_add(out, maker_draw(m, 4) == 0 ? ", 3" : ", None");
    }
}

static inline void maker_add_max_pool_back(maker *m) {
    text pool = {0};
    maker_pool(m, &pool, true);
    int made = maker_before(m), places = m->next_name++;
    text_addf(&m->pending, ", %%x%d = max_pool2d_with_indices(%%%s, %s)\n", places, m->x->name, text_get(&pool));
    text_addf(&m->call, "%%x%d, %%%s, %s, %%x%d", made, m->x->name, text_get(&pool), places);
    text_clear(&pool);
}

static inline void maker_add_mean_pool_back(maker *m) {
    text pool = {0};
    maker_pool(m, &pool, false);
    text_addf(&m->pending, "%%x%d = avg_pool2d(%%%s, %s)\n", m->next_name, m->x->name, text_get(&pool));
    text_addf(&m->call, "%%x%d, %%%s, %s", m->next_name++, m->x->name, text_get(&pool));
    text_clear(&pool);
}

/* Kernel, dilation, padding and stride of patches. */
static inline void maker_patches(maker *m, text *out) {
    const window w = maker_window(m, 2);
    text_add_sizes(out, 2, w.kernel);
    text_add(out, ", ");
    text_add_sizes(out, 2, w.dilation);
    text_add(out, ", ");
    text_add_sizes(out, 2, w.padding);
    text_add(out, ", ");
    text_add_sizes(out, 2, w.stride);
}

static inline void maker_add_patches_back(maker *m) {
    text patches = {0};
    maker_patches(m, &patches);
    int made = maker_before(m);
    text_addf(&m->pending, " = im2col(%%%s, %s)\n", m->x->name, text_get(&patches));
    text_addf(&m->call, "%%x%d, ", made);
    text_add_sizes(&m->call, 2, &m->x->sizes[2]);
    text_addf(&m->call, ", %s", text_get(&patches));
    text_clear(&patches);
}

/* What the image at hand is a gradient of by grid_sampler_2d, the grid, and how it looks. */
static inline void maker_add_sampled_back(maker *m) {
    const int64_t *sizes = m->x->sizes;
    const made_value *image = maker_input(m, m->x->dtype, 4, (const int64_t[]){sizes[0], sizes[1], 1 + maker_draw(m, 9), 1 + maker_draw(m, 9)}, 0, 0);
    const made_value *grid = maker_input(m, m->x->dtype, 4, (const int64_t[]){sizes[0], sizes[2], sizes[3], 2}, -1, 1);
    text_addf(&m->call, "%%%s, %%%s, %d, %d, %s, [True, True]", image->name, grid->name, 0, maker_draw(m, 3),
              maker_draw(m, 2) == 0 ? "True" : "False");
}

/* The sizes of an image of which the one at hand is a gradient, resampled. */
static inline void maker_add_resampled_back(maker *m) {
    int64_t sizes[4] = {m->x->sizes[0], m->x->sizes[1], maker_size(m), maker_size(m)};
    text_add_sizes(&m->call, 2, &m->x->sizes[2]);
    text_add(&m->call, ", ");
    text_add_sizes(&m->call, 4, sizes);
}

static inline void maker_add_resampled(maker *m) {
    int64_t sizes[2] = {maker_size(m), maker_size(m)};
    text_add_sizes(&m->call, 2, sizes);
}

/* Pads of an image's edges, and what has them as its gradient. */
static inline void maker_add_reflected_back(maker *m) {
    int64_t sizes[4], pads[4];
    memcpy(sizes, m->x->sizes, sizeof sizes);
    for (int i = 0; i < 4; i++) {
        pads[i] = maker_draw(m, 3);
        sizes[3 - i / 2] -= pads[i];
    }
    if (sizes[2] <= 0 || sizes[3] <= 0) {
        m->failed = true;
        return;
    }
    text_addf(&m->call, "%%%s, ", maker_input(m, m->x->dtype, 4, sizes, 0, 0)->name);
    text_add_sizes(&m->call, 4, pads);
}

/* --- norms and losses --------------------------------------------------------------------------------------------------- */

/* Numbers of the last dimension's rows: their means, or what they are divided by. */
static inline void maker_add_row_numbers(maker *m, int64_t low, int64_t high) {
    int64_t sizes[TENSOR_MAX_DIMS];
    memcpy(sizes, m->x->sizes, sizeof sizes);
    if (m->x->ndim == 0) {
        m->failed = true;
        return;
    }
    sizes[m->x->ndim - 1] = 1;
    text_addf(&m->call, "%%%s", maker_input(m, m->x->dtype, m->x->ndim, sizes, low, high)->name);
}

static inline void maker_add_group_numbers(maker *m, int64_t low, int64_t high) {
    const int64_t channels = m->x->sizes[1];
    m->groups = m->groups > 0 ? m->groups : channels % 4 == 0 && maker_draw(m, 2) == 0 ? 4 : maker_draw(m, 2) == 0 ? 1 : channels;
    m->failed |= m->groups == 0;
    text_addf(&m->call, "%%%s", maker_input(m, m->x->dtype, 2, (const int64_t[]){m->x->sizes[0], m->groups}, low, high)->name);
}

static inline void maker_add_group_sizes(maker *m) {
    const int64_t *sizes = m->x->sizes;
    m->groups = m->groups > 0 ? m->groups : sizes[1] % 3 == 0 && maker_draw(m, 2) == 0 ? 3 : maker_draw(m, 2) == 0 ? 1 : sizes[1];
    m->failed |= m->groups == 0 || sizes[1] == 0;
    text_addf(&m->call, "%lld, %lld, %lld, %lld", (long long)sizes[0], (long long)sizes[1], (long long)(sizes[2] * sizes[3]),
              (long long)m->groups);
}

/* A matrix and a row that multiply to the first one's form. */
static inline void maker_add_matrix_and_row(maker *m) {
    const int64_t inner = maker_size(m);
    const made_value *matrix = maker_input(m, m->x->dtype, 2, (const int64_t[]){m->x->sizes[0], inner}, 0, 0);
    text_addf(&m->call, "%%%s, %%%s", matrix->name, maker_row(m, inner, 0, 0)->name);
}

/* Each row's class. */
static inline const made_value *maker_classes(maker *m) {
    m->failed |= m->x->sizes[1] == 0;
    return maker_input(m, ASSAY_I64, 1, m->x->sizes, 0, m->x->sizes[1] > 0 ? m->x->sizes[1] : 1);
}

static inline void maker_add_loss_back(maker *m) {
    const made_value *classes = maker_classes(m), *weight = maker_row(m, m->x->sizes[1], 1, 3);
    int made = maker_before(m), total = m->next_name++, way = maker_draw(m, 3);
    text_addf(&m->pending, ", %%x%d = nll_loss_forward(%%%s, %%%s, %%%s, %d, -100)\n", total, m->x->name, classes->name, weight->name, way);
    text_addf(&m->call, "%%x%d, %%%s, %%%s, %%%s, %d, -100, %%x%d", made, m->x->name, classes->name, weight->name, way, total);
}

/* --- layers in time ----------------------------------------------------------------------------------------------------- */

typedef struct recurrent {
    text weights; /* the list */
    text rest;    /* mode and what follows it */
    int64_t elements; /* of all weights */
    made_value *hidden, *cell; /* NULL: it has no cell */
} recurrent;

/* One or two layers, in one direction or both, of an input [T, N, C] or [N, T, C]: modes are relu, tanh, lstm, gru. */
static inline recurrent maker_recurrent(maker *m) {
    recurrent r = {0};
    const int layers = 1 + maker_draw(m, 2), ways = 1 + maker_draw(m, 2), mode = maker_draw(m, 4), first = maker_draw(m, 2);
    const bool has_bias = maker_draw(m, 3) > 0;
    const int64_t hidden = 1 + maker_draw(m, 9), gates = mode == 2 ? 4 : mode == 3 ? 3 : 1;
    const int64_t state[3] = {layers * ways, m->x->sizes[first ? 0 : 1], hidden};
    text_add(&r.weights, "[");
    for (int i = 0; i < layers * ways; i++) {
        const int64_t from = i < ways ? m->x->sizes[2] : ways * hidden, rows = gates * hidden;
        const int64_t forms[4][2] = {{rows, from}, {rows, hidden}, {rows}, {rows}};
        for (int k = 0; k < (has_bias ? 4 : 2); k++) {
            const made_value *w = maker_input(m, m->x->dtype, k < 2 ? 2 : 1, forms[k], -1, 1);
            text_addf(&r.weights, i + k > 0 ? ", %%%s" : "%%%s", w->name);
            r.elements += made_elements(k < 2 ? 2 : 1, forms[k]);
        }
    }
    text_addf(&r.weights, "], %d", has_bias ? 4 : 2);
    r.hidden = maker_input(m, m->x->dtype, 3, state, 0, 0);
    r.cell = mode == 2 ? maker_input(m, m->x->dtype, 3, state, 0, 0) : NULL;
    text_addf(&r.rest, "%d, %lld, 0, %d, %s, 0.0, True, %s, [], None", mode, (long long)hidden, layers, first ? "True" : "False",
              ways == 2 ? "True" : "False");
    return r;
}

static inline void recurrent_clear(recurrent *r) {
    text_clear(&r->weights);
    text_clear(&r->rest);
}

static inline void text_add_states(text *t, const recurrent *r) {
    text_addf(t, "%%%s, ", r->hidden->name);
    text_addf(t, r->cell != NULL ? "%%%s, " : "None, ", r->cell != NULL ? r->cell->name : "");
}

static inline void maker_add_recurrent(maker *m) {
    recurrent r = maker_recurrent(m);
    text_addf(&m->call, "%s, None, ", text_get(&r.weights));
    text_add_states(&m->call, &r);
    text_add(&m->call, text_get(&r.rest));
    recurrent_clear(&r);
}

/* Its gradient: of its own output, which has the form. */
static inline void maker_add_recurrent_back(maker *m) {
    recurrent r = maker_recurrent(m);
    const int out = m->next_name, reserve = out + 3;
    m->next_name += 5;
    text_addf(&m->pending, "%%x%d, %%x%d, %%x%d, %%x%d, %%x%d = _cudnn_rnn(%%%s, %s, None, ", out, out + 1, out + 2, reserve, out + 4,
              m->x->name, text_get(&r.weights));
    text_add_states(&m->pending, &r);
    text_addf(&m->pending, "%s)\n", text_get(&r.rest));
    text_addf(&m->call, ", %s, ", text_get(&r.weights));
    text_addf(&m->call, "%%%s, ", maker_row(m, r.elements, 0, 0)->name);
    text_add_states(&m->call, &r);
    text_addf(&m->call, "%%x%d, %%x%d, None, None, %s, %%x%d, [True, True, True, True]", out, out, text_get(&r.rest), reserve);
    recurrent_clear(&r);
}

/* --- letters ------------------------------------------------------------------------------------------------------------ */

/* Puts the first operand before what stands behind it. */
static inline made_value *maker_hidden(maker *m, maker_wants_fn *wants, int ndim) {
    made_value *v = maker_draw(m, 4) > 0 ? maker_find(m, wants) : NULL;
    v = v != NULL ? v : maker_any_input(m, maker_floating(m), ndim);
    v->used = true;
    m->exact &= v->exact;
    m->overlaps |= v->overlaps;
    return m->x = v;
}

static inline bool maker_images(const maker *m, const made_value *v) {
    return maker_floats(m, v) && v->ndim == 4;
}

static inline bool maker_rows(const maker *m, const made_value *v) {
    return maker_floats(m, v) && v->ndim == 1;
}

static inline bool maker_exact_images(const maker *m, const made_value *v) {
    return maker_images(m, v) && v->exact;
}

static inline bool maker_complexes(const maker *m, const made_value *v) {
    (void)m;
    return dtype_is_complex(v->dtype);
}

static inline void maker_complex(maker *m) {
    made_value *v = maker_draw(m, 4) > 0 ? maker_find(m, maker_complexes) : NULL;
    v = v != NULL ? v : maker_any_input(m, maker_draw(m, 3) == 0 ? ASSAY_C128 : ASSAY_C64, 1 + maker_draw(m, 3));
    v->used = true;
    m->exact &= v->exact;
    m->overlaps |= v->overlaps;
    text_addf(&m->call, "%%%s", (m->x = v)->name);
}

static inline void maker_image(maker *m, bool untouched) {
    made_value *v = maker_hidden(m, untouched ? maker_exact_images : maker_images, 4);
    text_addf(&m->call, "%%%s", v->name);
}

/* @4 an image, @5 an exact one, @x complex, @1 of one dimension, @0 probabilities. Gradients with all their operands: @B of a convolution, @M of max_pool2d (exact), @A of
   avg_pool2d, @F of im2col, @L of nll_loss; @y of _cudnn_rnn its
   operands behind the first. Behind the first operand: @w a convolution's, @p a max_pool2d's, @a an
   avg_pool2d's, @i im2col's, @o sizes of an image, @s and @r what was resampled, reflected, @b sliced, @e selected, @u
   unfolded, @E embedded, @I pooled to these sizes, @K sampled; @P where it is put, @U once, @q scattered; @O bags, @W their weights;
   @S parts, @2 @3 a dimension of that size, @Z sizes and strides, @j indices; @Y a layer in time, @V a matrix and what it multiplies; @c a row of channels, @C one above 0, @m @d numbers of rows, @g @h of
   groups, above 0 the second of each, @n how groups lie; @t classes, @l whole numbers above 0, @z a number's tensor, @G a
   grid. */
static inline void maker_layer(maker *m, char letter) {
    const made_value *x = m->x;
    text add = {0};
    switch (letter) {
    case '4':
    case '5':
        maker_image(m, letter == '5');
        return;
    case 'x':
        maker_complex(m);
        return;
    case '1':
        text_addf(&m->call, "%%%s", maker_hidden(m, maker_rows, 1)->name);
        return;
    case '0':
        m->x = maker_input(m, maker_floating(m), 2, (const int64_t[]){maker_size(m), maker_size(m)}, 0, 1);
        text_addf(&m->call, "%%%s", m->x->name);
        return;
    case 'B':
        maker_hidden(m, maker_draw(m, 4) == 0 ? maker_grids : maker_images, maker_draw(m, 4) == 0 ? 3 : 4);
        maker_add_convolution_back(m);
        return;
    case 'M':
        maker_hidden(m, maker_exact_images, 4);
        maker_add_max_pool_back(m);
        return;
    case 'A':
        maker_hidden(m, maker_images, 4);
        maker_add_mean_pool_back(m);
        return;
    case 'F':
        maker_hidden(m, maker_images, 4);
        maker_add_patches_back(m);
        return;
    case 'L':
        maker_hidden(m, maker_matrices, 2);
        maker_add_loss_back(m);
        return;
    default:
        break;
    }
    if (x == NULL || (strchr("cChgn", letter) != NULL && x->ndim < 2)) {
        m->failed = true;
        return;
    }
    switch (letter) {
    case 'w':
        maker_add_convolution(m);
        break;
    case 'p':
    case 'a':
        maker_pool(m, &add, letter == 'p');
        break;
    case 'i':
        maker_patches(m, &add);
        break;
    case 'o':
        maker_add_resampled(m);
        break;
    case 's':
        maker_add_resampled_back(m);
        break;
    case 'r':
        maker_add_reflected_back(m);
        break;
    case 'b':
        x->ndim > 0 ? maker_add_slice_back(m) : (void)(m->failed = true);
        break;
    case 'e':
        maker_add_select_back(m);
        break;
    case 'u':
        maker_add_unfold_back(m);
        break;
    case 'E':
        maker_add_embedding_back(m);
        break;
    case 'P':
        maker_add_put(m);
        break;
    case 'U':
        maker_add_put_once(m);
        break;
    case 'q':
        maker_add_scattered(m);
        break;
    case 'W':
        maker_add_bag_weights_back(m);
        break;
    case 'S':
        maker_add_parts(m);
        break;
    case '2':
    case '3':
        maker_add_dim_of(m, letter - '0');
        break;
    case 'Z':
        maker_add_strided(m);
        break;
    case 'j':
        maker_add_index_list(m);
        break;
    case 'Y':
        maker_add_recurrent(m);
        break;
    case 'y':
        maker_add_recurrent_back(m);
        break;
    case 'I':
        text_addf(&add, "%%%s", maker_input(m, x->dtype, 4, (const int64_t[]){x->sizes[0], x->sizes[1], maker_size(m), maker_size(m)},
                                            0, 0)->name);
        break;
    case 'K':
        maker_add_sampled_back(m);
        break;
    case 'V':
        maker_add_matrix_and_row(m);
        break;
    case 'O':
        maker_add_bags(m);
        break;
    case 'c':
        text_addf(&add, "%%%s", maker_row(m, x->sizes[1], 0, 0)->name);
        break;
    case 'C':
        text_addf(&add, "%%%s", maker_row(m, x->sizes[1], 1, 3)->name);
        break;
    case 'm':
    case 'd':
        maker_add_row_numbers(m, letter == 'm' ? 0 : 1, letter == 'm' ? 0 : 3);
        break;
    case 'g':
    case 'h':
        maker_add_group_numbers(m, letter == 'g' ? 0 : 1, letter == 'g' ? 0 : 3);
        break;
    case 'n':
        maker_add_group_sizes(m);
        break;
    case 't':
        text_addf(&add, "%%%s", maker_classes(m)->name);
        break;
    case 'l':
        text_addf(&add, "%%%s", maker_input(m, x->dtype, x->ndim, x->sizes, 1, 6)->name);
        break;
    case 'z':
        text_addf(&add, "%%%s", maker_input(m, x->dtype, 0, NULL, 0, 0)->name);
        break;
    case 'G':
        text_addf(&add, "%%%s", maker_input(m, x->dtype, 4, (const int64_t[]){x->sizes[0], 1 + maker_draw(m, 8), 1 + maker_draw(m, 8), 2},
                                            -1, 1)->name);
        break;
    default:
        m->failed = true;
    }
    text_add(&m->call, text_get(&add));
    text_clear(&add);
}

#endif
