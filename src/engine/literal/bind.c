/* SPDX-License-Identifier: Apache-2.0 */
/* Binds literals to parameters. Every refusal names the argument, what it expected and what came. */
#include "engine/literal/bind.h"

#include "base/text.h"

#include <inttypes.h>
#include <string.h>

static const char *const mode_names[] = {"as-recorded", "f16", "bf16", "f32", "f64"};

status dtype_mode_find(const char *name, dtype_mode *out, error *err) {
    for (size_t i = 0; i < countof(mode_names); i++) {
        if (strcmp(name, mode_names[i]) == 0) {
            *out = (dtype_mode)i;
            return ASSAY_OK;
        }
    }
    static const char *const torch_names[] = {"", "float16", "bfloat16", "float32", "float64"};
    for (size_t i = 1; i < countof(torch_names); i++) {
        if (strcmp(name, torch_names[i]) == 0) {
            *out = (dtype_mode)i;
            return ASSAY_OK;
        }
    }
    static const char *const spelt[] = {"half", "fp16", "brain", "bfloat", "single", "float", "fp32", "double", "fp64"};
    static const dtype_mode meant[] = {DTYPE_F16, DTYPE_F16, DTYPE_BF16, DTYPE_BF16, DTYPE_F32, DTYPE_F32, DTYPE_F32, DTYPE_F64, DTYPE_F64};
    const char *near = NULL;
    for (size_t i = 0; i < countof(spelt) && near == NULL; i++) {
        near = strcmp(name, spelt[i]) == 0 ? mode_names[meant[i]] : NULL;
    }
    near = near != NULL ? near : text_nearest(name, mode_names, countof(mode_names));
    near = near != NULL ? near : text_nearest(name, torch_names + 1, countof(torch_names) - 1);
    return fail(err, ASSAY_INVALID, "expected as-recorded, f16, bf16, f32 or f64, got '%s'%s%s%s", name,
                near != NULL ? " (did you mean '" : "", near != NULL ? near : "", near != NULL ? "'?)" : "");
}

const char *dtype_mode_name(dtype_mode mode) {
    return mode_names[mode];
}

static dtype map_dtype(const bind_options *options, dtype t) {
    const dtype_mode mode = options->dtype;
    static const dtype targets[] = {ASSAY_F32, ASSAY_F16, ASSAY_BF16, ASSAY_F32, ASSAY_F64};
    if (mode == DTYPE_AS_RECORDED || !dtype_is_floating(t)) {
        return t;
    }
    bool narrow_mode = mode == DTYPE_F16 || mode == DTYPE_BF16, stays = options->narrows_f32 ? t == ASSAY_F64 : dtype_size(t) > 2;
    return narrow_mode && stays ? t : targets[mode];
}

typedef struct binder {
    arena *memory;
    const op *o;
    const bind_options *options;
    const bind_names *names; /* NULL: names are no values */
    bound_call *out;
    int capacity;
    error *err;
} binder;

static status no_memory(const binder *b) {
    return fail(b->err, ASSAY_OUT_OF_MEMORY, "no memory for the arguments of %s", b->o->signature.full);
}

static status wrong_kind(const binder *b, const param *p, const literal *value) {
    char type[32];
    return fail_at(b->err, ASSAY_INVALID, value->line, value->column, "%s: argument '%s' is %s: expected that, got %s",
                   b->o->signature.full, p->name, param_type_text(type, p), literal_kind_text(value->kind));
}

static status keep_tensor(binder *b, tensor *t) {
    if (b->out->n_tensors == b->capacity) {
        int capacity = b->capacity == 0 ? 8 : 2 * b->capacity;
        tensor **grown = arena_make(b->memory, (size_t)capacity, sizeof(tensor *));
        if (grown == NULL) {
            return no_memory(b);
        }
        if (b->out->n_tensors > 0) {
            memcpy(grown, b->out->tensors, (size_t)b->out->n_tensors * sizeof(tensor *));
        }
        b->out->tensors = grown;
        b->capacity = capacity;
    }
    b->out->tensors[b->out->n_tensors++] = t;
    return ASSAY_OK;
}

status bind_tensor_form(const literal *value, const bind_options *options, tensor *out, error *err) {
    const literal_tensor *from = value->tensor;
    dtype t = map_dtype(options, from->dtype);
    int ndim = (int)from->n_dims;
    if (from->n_dims > TENSOR_MAX_DIMS) {
        return fail(err, ASSAY_UNSUPPORTED, "expected at most %d dimensions, got %zu", TENSOR_MAX_DIMS, from->n_dims);
    }
    if (options->channels_last && ndim == 4) {
        return tensor_init_permuted(out, t, ndim, from->shape, (const int[]){0, 2, 3, 1}, err);
    }
    return from->has_stride ? tensor_init_strided(out, t, ndim, from->shape, from->stride, err)
                            : tensor_init(out, t, ndim, from->shape, err);
}

static status find_named(const binder *b, const param *p, const literal *value, tensor **out) {
    tensor *found = value->kind == LITERAL_NAME ? b->names->find(b->names->self, value->name) : NULL;
    if (found != NULL) {
        *out = found;
        return ASSAY_OK;
    }
    if (value->kind != LITERAL_NAME) {
        return fail_at(b->err, ASSAY_INVALID, value->line, value->column,
                       "%s: argument '%s': expected a value's name such as %%x, got %s; tensors are inputs: %%x = input(T(...))",
                       b->o->signature.full, p->name, literal_kind_text(value->kind));
    }
    const char *near = b->names->nearest(b->names->self, value->name);
    return fail_at(b->err, ASSAY_INVALID, value->line, value->column,
                   "%s: argument '%s': expected a value from a line above, got %%%s%s%s%s", b->o->signature.full, p->name,
                   value->name, near != NULL ? "; did you mean %" : "", near != NULL ? near : "", near != NULL ? "?" : "");
}

static status make_tensor(binder *b, const param *p, const literal *value, tensor **out) {
    if (b->names != NULL && (value->kind == LITERAL_NAME || value->kind == LITERAL_TENSOR)) {
        return find_named(b, p, value, out);
    }
    tensor *t = arena_make(b->memory, 1, sizeof *t);
    if (t == NULL) {
        return no_memory(b);
    }
    status result;
    number n;
    switch (value->kind) {
    case LITERAL_TENSOR:
        result = bind_tensor_form(value, b->options, t, b->err);
        if (result == ASSAY_OK) {
            b->out->input_bytes += (double)tensor_span(t) * (double)dtype_size(t->dtype);
        }
        break;
    case LITERAL_BOOL:
    case LITERAL_INT:
    case LITERAL_FLOAT:
    case LITERAL_COMPLEX:
        n = value->kind == LITERAL_BOOL      ? number_of_bool(value->boolean)
            : value->kind == LITERAL_INT     ? number_of_int(value->integer)
            : value->kind == LITERAL_COMPLEX ? number_of_complex(value->complex_number.real, value->complex_number.imaginary)
                                             : number_of_double(value->real);
        result = tensor_init_number(t, n, b->err);
        break;
    case LITERAL_SPARSE:
        result = fail(b->err, ASSAY_UNSUPPORTED, "sparse tensors as arguments are not served yet");
        break;
    default:
        return wrong_kind(b, p, value);
    }
    if (result != ASSAY_OK) {
        if (b->err != NULL) {
            fail_within(b->err, result, "%s: argument '%s'", b->o->signature.full, p->name);
            b->err->line = value->line;
            b->err->column = value->column;
        }
        return result;
    }
    *out = t;
    status kept = keep_tensor(b, t);
    if (kept != ASSAY_OK) {
        tensor_clear(t);
    }
    return kept;
}

static bool is_list(const literal *value) {
    return value->kind == LITERAL_LIST || value->kind == LITERAL_TUPLE;
}

static status bind_tensors(binder *b, const param *p, const literal *value, arg *out) {
    if (!is_list(value)) {
        return wrong_kind(b, p, value);
    }
    tensor **items = arena_make(b->memory, value->list.n_items, sizeof(tensor *));
    if (items == NULL) {
        return no_memory(b);
    }
    for (size_t k = 0; k < value->list.n_items; k++) {
        const literal *item = &value->list.items[k];
        if (item->kind == LITERAL_NONE && p->items_optional) {
            continue;
        }
        TRY(make_tensor(b, p, item, &items[k]));
    }
    *out = (arg){.kind = ARG_TENSORS, .n = (int32_t)value->list.n_items, .tensors = items};
    return ASSAY_OK;
}

/* False where the value is of another kind; only the member that its kind names is read. */
static bool as_int(const literal *value, int64_t *out) {
    switch (value->kind) {
    case LITERAL_BOOL:
        *out = value->boolean;
        return true;
    case LITERAL_INT:
        *out = value->integer;
        return true;
    default:
        return false;
    }
}

static bool as_double(const literal *value, double *out) {
    int64_t whole = 0;
    if (value->kind == LITERAL_FLOAT) {
        *out = value->real;
        return true;
    }
    bool fits = as_int(value, &whole);
    *out = (double)whole;
    return fits;
}

/* A list of ints, floats or bools; a single item stands for p->list_size equal ones. */
static status bind_list(binder *b, const param *p, const literal *value, arg *out) {
    bool single = !is_list(value);
    size_t n = single ? (size_t)(p->list_size > 0 ? p->list_size : 1) : value->list.n_items;
    size_t size = p->kind == ARG_INTS ? sizeof(int64_t) : p->kind == ARG_FLOATS ? sizeof(double) : sizeof(bool);
    void *items = arena_make(b->memory, n, size);
    if (items == NULL) {
        return no_memory(b);
    }
    for (size_t k = 0; k < n; k++) {
        const literal *item = single ? value : &value->list.items[k];
        int64_t i = 0;
        double f = 0;
        bool fits = p->kind == ARG_INTS     ? as_int(item, &i)
                    : p->kind == ARG_FLOATS ? as_double(item, &f)
                                            : item->kind == LITERAL_BOOL;
        if (!fits) {
            return wrong_kind(b, p, item);
        }
        if (p->kind == ARG_INTS) {
            ((int64_t *)items)[k] = i;
        } else if (p->kind == ARG_FLOATS) {
            ((double *)items)[k] = f;
        } else {
            ((bool *)items)[k] = item->boolean;
        }
    }
    *out = (arg){.kind = p->kind, .n = (int32_t)n, .ints = items};
    return ASSAY_OK;
}

static status bind_number(binder *b, const param *p, const literal *value, arg *out) {
    number n;
    switch (value->kind) {
    case LITERAL_BOOL:
        n = number_of_bool(value->boolean);
        break;
    case LITERAL_INT:
        n = number_of_int(value->integer);
        break;
    case LITERAL_FLOAT:
        n = number_of_double(value->real);
        break;
    case LITERAL_COMPLEX:
        n = number_of_complex(value->complex_number.real, value->complex_number.imaginary);
        break;
    default:
        return wrong_kind(b, p, value);
    }
    *out = (arg){.kind = ARG_NUMBER, .number = n};
    return ASSAY_OK;
}

/* Symbols keep their last word: "torch.strided" is "strided", "device(type='cuda')" stays as it is. */
static status bind_word(binder *b, const param *p, const literal *value, arg *out) {
    const char *word = value->kind == LITERAL_STRING ? value->string.data
                       : value->kind == LITERAL_SYMBOL ? value->symbol
                                                       : NULL;
    if (word == NULL) {
        return wrong_kind(b, p, value);
    }
    if (value->kind == LITERAL_SYMBOL && text_starts_with(word, "torch.")) {
        word += strlen("torch.");
    }
    *out = (arg){.kind = p->kind, .str = word};
    return ASSAY_OK;
}

static status bind_value(binder *b, const param *p, const literal *value, arg *out) {
    if (value->kind == LITERAL_NONE) {
        /* Recorders write None for keywords left alone, also where the schema has no '?' but a default. */
        if (!p->is_optional && !p->has_default && p->kind != ARG_GENERATOR) {
            return wrong_kind(b, p, value);
        }
        *out = p->is_optional ? (arg){.kind = ARG_NONE} : p->preset;
        return ASSAY_OK;
    }
    switch (p->kind) {
    case ARG_TENSOR:
        *out = (arg){.kind = ARG_TENSOR};
        return make_tensor(b, p, value, &out->tensor);
    case ARG_TENSORS:
        return bind_tensors(b, p, value, out);
    case ARG_INTS:
    case ARG_FLOATS:
    case ARG_BOOLS:
        return bind_list(b, p, value, out);
    case ARG_NUMBER:
        return bind_number(b, p, value, out);
    case ARG_INT:
        *out = (arg){.kind = ARG_INT};
        return as_int(value, &out->i) ? ASSAY_OK : wrong_kind(b, p, value);
    case ARG_FLOAT:
        *out = (arg){.kind = ARG_FLOAT};
        return as_double(value, &out->f) ? ASSAY_OK : wrong_kind(b, p, value);
    case ARG_BOOL:
        if (value->kind != LITERAL_BOOL) {
            return wrong_kind(b, p, value);
        }
        *out = (arg){.kind = ARG_BOOL, .b = value->boolean};
        return ASSAY_OK;
    case ARG_DTYPE:
        if (value->kind != LITERAL_DTYPE) {
            return wrong_kind(b, p, value);
        }
        *out = (arg){.kind = ARG_DTYPE, .dtype = map_dtype(b->options, value->dtype.value)};
        return ASSAY_OK;
    default:
        return bind_word(b, p, value, out);
    }
}

static status bind_keyword(binder *b, const literal_pair *pair, arg *args, bool *given) {
    const signature *s = &b->o->signature;
    int i = signature_find_param(s, pair->key);
    if (i < 0) {
        const char *names[SIGNATURE_MAX_PARAMS];
        for (int k = 0; k < s->n_params; k++) {
            names[k] = s->params[k].name;
        }
        const char *near = text_nearest(pair->key, names, (size_t)s->n_params);
        return fail_at(b->err, ASSAY_INVALID, pair->value->line, pair->value->column,
                       "%s has no argument '%.60s'%s%s%s; it is %s", s->full, pair->key,
                       near != NULL ? " (did you mean '" : "", near != NULL ? near : "", near != NULL ? "'?)" : "", s->text);
    }
    if (given[i]) {
        return fail_at(b->err, ASSAY_INVALID, pair->value->line, pair->value->column, "%s: argument '%s' is given twice",
                       s->full, pair->key);
    }
    given[i] = true;
    return bind_value(b, &s->params[i], pair->value, &args[i]);
}

static status bind_all(binder *b, const literal *args, const literal *kwargs, arg *bound) {
    const signature *s = &b->o->signature;
    bool given[SIGNATURE_MAX_PARAMS] = {false};
    size_t most = 0;
    for (int i = 0; i < s->n_params; i++) {
        most += s->params[i].is_keyword ? 0 : 1;
    }
    if (args->list.n_items > most) {
        const literal *extra = &args->list.items[most];
        return fail_at(b->err, ASSAY_INVALID, extra->line, extra->column,
                       "%s: expected at most %zu positional argument%s, got %zu; it is %s", s->full, most, most == 1 ? "" : "s",
                       args->list.n_items, s->text);
    }
    for (size_t i = 0; i < args->list.n_items; i++) {
        given[i] = true;
        TRY(bind_value(b, &s->params[i], &args->list.items[i], &bound[i]));
    }
    for (size_t i = 0; kwargs != NULL && i < kwargs->dict.n_pairs; i++) {
        TRY(bind_keyword(b, &kwargs->dict.pairs[i], bound, given));
    }
    for (int i = 0; i < s->n_params; i++) {
        if (given[i]) {
            continue;
        }
        if (!s->params[i].has_default) {
            return fail_at(b->err, ASSAY_INVALID, args->line, args->column, "%s: argument '%s' is missing; it is %s",
                           s->full, s->params[i].name, s->text);
        }
        bound[i] = s->params[i].preset;
    }
    return ASSAY_OK;
}

status bind_call(arena *memory, const op *o, const literal *args, const literal *kwargs, const bind_options *options,
                 bound_call *out, error *err) {
    return bind_call_names(memory, o, args, kwargs, options, NULL, out, err);
}

status bind_call_names(arena *memory, const op *o, const literal *args, const literal *kwargs, const bind_options *options,
                       const bind_names *names, bound_call *out, error *err) {
    bound_call made = {.call = {.op = o}};
    binder b = {.memory = memory, .o = o, .options = options, .names = names, .out = &made, .err = err};
    arg *bound = arena_make(memory, (size_t)o->signature.n_params, sizeof *bound);
    if (bound == NULL) {
        return no_memory(&b);
    }
    status result = bind_all(&b, args, kwargs, bound);
    if (result != ASSAY_OK) {
        bound_clear(&made);
        return result;
    }
    made.call.args = bound;
    *out = made;
    return ASSAY_OK;
}

status bound_allocate(bound_call *b, const device *d, error *err) {
    for (int i = 0; i < b->n_tensors; i++) {
        if (b->tensors[i]->storage == NULL) {
            TRY(tensor_allocate(b->tensors[i], d, err));
        }
    }
    return ASSAY_OK;
}

void bound_clear(bound_call *b) {
    for (int i = 0; i < b->n_tensors; i++) {
        tensor_clear(b->tensors[i]);
    }
}
