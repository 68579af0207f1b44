/* SPDX-License-Identifier: Apache-2.0 */
/* Graphs as text. */
#include "engine/graph/graph_text.h"

#include <stdlib.h>
#include <string.h>

static void add_name(const graph *g, const tensor *value, text *out) {
    int input = graph_find_input(g, value), node = 0, k = 0;
    if (input >= 0) {
        text_addf(out, "%%%s", g->inputs[input].name);
    } else if (graph_find_maker(g, value, &node, &k)) {
        const char *const *names = g->nodes[node].names;
        if (names != NULL && names[k] != NULL) {
            text_addf(out, "%%%s", names[k]);
        } else {
            text_addf(out, "%%_%d_%d", node, k);
        }
    } else {
        text_add(out, "%?");
    }
}

static void add_number(number n, text *out) {
    literal value = {.kind = LITERAL_FLOAT, .real = n.f};
    if (n.category == CATEGORY_BOOLEAN) {
        value = (literal){.kind = LITERAL_BOOL, .boolean = n.i != 0};
    } else if (n.category == CATEGORY_INTEGRAL) {
        value = (literal){.kind = LITERAL_INT, .integer = n.i};
    } else if (n.category == CATEGORY_COMPLEX) {
        value.kind = LITERAL_COMPLEX;
        value.complex_number.real = n.f;
        value.complex_number.imaginary = n.im;
    }
    literal_print(&value, out);
}

static void add_wrapped(const tensor *t, text *out) {
    const char *at = tensor_data(t);
    if (dtype_is_complex(t->dtype)) {
        double complex z = element_load_complex(t->dtype, at);
        add_number(number_of_complex(creal(z), cimag(z)), out);
    } else if (dtype_is_floating(t->dtype)) {
        add_number(number_of_double(element_load(t->dtype, at)), out);
    } else {
        int64_t i = element_load_int(t->dtype, at);
        add_number(t->dtype == ASSAY_B8 ? number_of_bool(i != 0) : number_of_int(i), out);
    }
}

static void add_tensor(const graph *g, const tensor *t, text *out) {
    if (t == NULL) {
        text_add(out, "None");
    } else if (t->is_wrapped_number) {
        add_wrapped(t, out);
    } else {
        add_name(g, t, out);
    }
}

static void add_string(const char *str, text *out) {
    literal value = {.kind = LITERAL_STRING};
    value.string.data = str;
    value.string.length = strlen(str);
    literal_print(&value, out);
}

/* torch.strided where that reads back, else a string, which does always. */
static void add_symbol(const char *str, text *out) {
    static const char word[] = "abcdefghijklmnopqrstuvwxyz_0123456789";
    if (str[0] != '\0' && strspn(str, word) == strlen(str)) {
        text_addf(out, "torch.%s", str);
    } else {
        add_string(str, out);
    }
}

static void add_item(const graph *g, const arg *a, int k, text *out) {
    switch (a->kind) {
    case ARG_TENSORS:
        add_tensor(g, a->tensors[k], out);
        break;
    case ARG_INTS:
        add_number(number_of_int(a->ints[k]), out);
        break;
    case ARG_FLOATS:
        add_number(number_of_double(a->floats[k]), out);
        break;
    default:
        add_number(number_of_bool(a->bools[k]), out);
        break;
    }
}

static void add_argument(const graph *g, const arg *a, text *out) {
    switch (a->kind) {
    case ARG_NONE:
    case ARG_GENERATOR:
        text_add(out, "None");
        break;
    case ARG_TENSOR:
        add_tensor(g, a->tensor, out);
        break;
    case ARG_NUMBER:
        add_number(a->number, out);
        break;
    case ARG_INT:
        add_number(number_of_int(a->i), out);
        break;
    case ARG_FLOAT:
        add_number(number_of_double(a->f), out);
        break;
    case ARG_BOOL:
        add_number(number_of_bool(a->b), out);
        break;
    case ARG_DTYPE:
        text_add(out, assay_dtype_name(a->dtype));
        break;
    case ARG_STR:
    case ARG_DEVICE:
        add_string(a->str, out);
        break;
    case ARG_LAYOUT:
    case ARG_MEMORY_FORMAT:
        add_symbol(a->str, out);
        break;
    case ARG_TENSORS:
    case ARG_INTS:
    case ARG_FLOATS:
    case ARG_BOOLS:
        text_add_char(out, '[');
        for (int k = 0; k < a->n; k++) {
            text_add(out, k > 0 ? ", " : "");
            add_item(g, a, k, out);
        }
        text_add_char(out, ']');
        break;
    }
}

/* Compared as text: what prints the same is the same argument. */
static bool is_default(const graph *g, const param *p, const arg *a) {
    if (!p->has_default) {
        return false;
    }
    text given = {0}, preset = {0};
    add_argument(g, a, &given);
    add_argument(g, &p->preset, &preset);
    bool same = !given.failed && !preset.failed && strcmp(given.data, preset.data) == 0;
    text_clear(&given);
    text_clear(&preset);
    return same;
}

/* Positional arguments up to the last that is no default, keywords where they are none. */
static void add_arguments(const graph *g, const op_call *call, text *out) {
    const signature *s = &call->op->signature;
    int n_positional = 0;
    for (int i = 0; i < s->n_params; i++) {
        if (!s->params[i].is_keyword && !is_default(g, &s->params[i], &call->args[i])) {
            n_positional = i + 1;
        }
    }
    const char *between = "";
    for (int i = 0; i < s->n_params; i++) {
        const param *p = &s->params[i];
        if (p->is_keyword ? is_default(g, p, &call->args[i]) : i >= n_positional) {
            continue;
        }
        text_add(out, between);
        if (p->is_keyword) {
            text_addf(out, "%s=", p->name);
        }
        add_argument(g, &call->args[i], out);
        between = ", ";
    }
}

void graph_print_node(const graph *g, int node, text *out) {
    const graph_node *n = &g->nodes[node];
    const signature *s = &n->call.op->signature;
    for (int k = 0; k < n->out->n; k++) {
        bool unnamed = n->names != NULL && n->names[k] == NULL;
        text_add(out, k > 0 ? ", " : "");
        if (unnamed) {
            text_add_char(out, '_');
        } else {
            add_name(g, &n->out->items[k], out);
        }
    }
    text_addf(out, " = %s%s%s(", s->name, strcmp(s->overload, "default") == 0 ? "" : ".",
              strcmp(s->overload, "default") == 0 ? "" : s->overload);
    add_arguments(g, &n->call, out);
    text_add_char(out, ')');
}

static void add_form(const tensor *t, text *out) {
    text_add(out, "T([");
    for (int d = 0; d < t->ndim; d++) {
        text_addf(out, "%s%lld", d > 0 ? ", " : "", (long long)t->sizes[d]);
    }
    text_addf(out, "], %s", assay_dtype_name(t->dtype));
    int64_t dense[TENSOR_MAX_DIMS];
    sizes_contiguous_strides(t->ndim, t->sizes, dense);
    if (t->ndim > 0 && memcmp(dense, t->strides, (size_t)t->ndim * sizeof *dense) != 0) {
        text_add(out, ", stride=(");
        for (int d = 0; d < t->ndim; d++) {
            text_addf(out, "%s%lld", d > 0 ? ", " : "", (long long)t->strides[d]);
        }
        text_add(out, t->ndim == 1 ? ",)" : ")");
    }
    text_add_char(out, ')');
}

static void add_bound(const char *key, const tensor *t, double bound, text *out) {
    text_addf(out, ", %s=", key);
    add_number(dtype_is_floating(t->dtype) ? number_of_double(bound) : number_of_int((int64_t)bound), out);
}

void graph_print(const graph *g, text *out) {
    text_addf(out, "graph %s%s%s\n", g->name != NULL ? g->name : g->nodes[0].call.op->signature.name,
              g->doc != NULL ? ": " : "", g->doc != NULL ? g->doc : "");
    for (int i = 0; i < g->n_inputs; i++) {
        const graph_input *in = &g->inputs[i];
        text_addf(out, "%%%s = input(", in->name);
        add_form(in->value, out);
        if (in->has_range) {
            add_bound("low", in->value, in->range.low, out);
            add_bound("high", in->value, in->range.high, out);
        }
        text_add(out, ")\n");
    }
    for (int i = 0; i < g->n_nodes; i++) {
        graph_print_node(g, i, out);
        text_add_char(out, '\n');
    }
    text_add(out, "return ");
    for (int i = 0; i < g->n_outputs; i++) {
        text_add(out, i > 0 ? ", " : "");
        add_name(g, g->outputs[i], out);
    }
    text_add_char(out, '\n');
}
