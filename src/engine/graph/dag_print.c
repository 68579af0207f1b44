/* SPDX-License-Identifier: Apache-2.0 */
/* A dag as text: a value a line, for people and for golden files. */
#include "base/text.h"
#include "engine/graph/dag.h"

static void print_index(text *t, index_sum a) {
    for (int i = 0; i < a.n; i++) {
        const index_atom *atom = a.terms[i].atom;
        int64_t factor = a.terms[i].factor;
        text_add(t, i > 0 ? (factor < 0 ? " - " : " + ") : factor < 0 ? "-" : "");
        factor = factor < 0 ? -factor : factor;
        if (factor != 1) {
            text_addf(t, "%lld ", (long long)factor);
        }
        if (atom->kind == ATOM_VARIABLE) {
            text_addf(t, "d%d", atom->id);
        } else if (atom->kind == ATOM_DATA) {
            text_addf(t, "%%%d(", atom->id);
            for (int k = 0; k < atom->n_at; k++) {
                text_add(t, k > 0 ? ", " : "");
                print_index(t, atom->at[k]);
            }
            text_add(t, ")");
        } else {
            text_add(t, "(");
            print_index(t, atom->of);
            text_addf(t, atom->kind == ATOM_QUOTIENT ? ") / %lld" : ") %% %lld", (long long)atom->divisor);
        }
    }
    if (a.n == 0 || a.constant != 0) {
        text_addf(t, a.n == 0 ? "%lld" : a.constant < 0 ? " - %lld" : " + %lld",
                  (long long)(a.n > 0 && a.constant < 0 ? -a.constant : a.constant));
    }
}

static void print_map(text *t, const view_map *map) {
    text_add(t, " at (");
    for (int i = 0; i < map->n_at; i++) {
        text_add(t, i > 0 ? ", " : "");
        print_index(t, map->at[i]);
    }
    text_add(t, ")");
    for (int i = 0; i < map->n_bounds; i++) {
        text_addf(t, "%s %lld <= ", i == 0 ? " where" : " and", (long long)map->bounds[i].low);
        print_index(t, map->bounds[i].at);
        text_addf(t, " <= %lld", (long long)map->bounds[i].high);
    }
    if (map->n_bounds > 0) {
        text_add(t, " else ");
        text_add_double(t, map->fill.f);
    }
}

static void print_details(text *t, const dag_node *n) {
    switch (n->kind) {
    case PRIM_INPUT:
        text_add(t, n->input.is_seed ? " seed" : "");
        break;
    case PRIM_CONSTANT:
        text_add(t, n->is_any ? " any " : " ");
        text_add_double(t, n->number.f);
        break;
    case PRIM_IOTA:
        text_addf(t, " d%d", n->dim);
        break;
    case PRIM_JOIN:
        text_addf(t, " along d%d", n->dim);
        break;
    case PRIM_VIEW:
        print_map(t, &n->view);
        text_add(t, n->writer != NULL ? " to be written" : "");
        break;
    case PRIM_REDUCE:
    case PRIM_SCAN:
        text_addf(t, " %s over", reduction_name(n->reduce.how));
        for (int d = 0; d < 64; d++) {
            if ((n->reduce.dims >> d & 1) != 0) {
                text_addf(t, " d%d", d);
            }
        }
        break;
    case PRIM_SCATTER:
        text_add(t, n->scatter.adds ? " add" : " set");
        print_map(t, &n->scatter.where);
        break;
    case PRIM_CALL:
        text_addf(t, " %s output %d%s%s", n->call.call->op->signature.full, n->call.output,
                  n->call.is_fallback ? ", fallback: " : "", n->call.is_fallback ? n->call.why : "");
        break;
    default:
        break;
    }
}

char *dag_print(const dag *g, arena *memory) {
    text t = {0};
    for (int i = 0; i < g->n_nodes; i++) {
        const dag_node *n = &g->nodes[i];
        text_addf(&t, "%%%d: %s[", i, assay_dtype_name(n->dtype));
        for (int d = 0; d < n->ndim; d++) {
            text_addf(&t, d > 0 ? ", %lld" : "%lld", (long long)n->sizes[d]);
        }
        text_addf(&t, "] = %s", n->kind == PRIM_MAP ? scalar_function_name(n->fn) : primitive_name(n->kind));
        for (int s = 0; s < n->n_sources; s++) {
            text_addf(&t, " %%%d", n->sources[s].id);
        }
        print_details(&t, n);
        text_add(&t, "\n");
    }
    for (int i = 0; i < g->n_outputs; i++) {
        text_addf(&t, "output %%%d\n", g->outputs[i].value.id);
    }
    char *copy = t.failed ? NULL : arena_text(memory, text_get(&t), t.length);
    text_clear(&t);
    return copy;
}
