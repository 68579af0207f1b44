/* SPDX-License-Identifier: Apache-2.0 */
/* Nodes of a dag: made once each (common subexpressions are one node from the start), folded where they are constant. */
#include "engine/graph/dag_build.h"

#include "base/hash.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

void dag_init(dag *g, arena *memory) {
    *g = (dag){.memory = memory, .indices = {.memory = memory}};
}

void dag_clear(dag *g) {
    free(g->nodes);
    free(g->buckets);
    g->nodes = NULL;
    g->buckets = NULL;
    g->n_nodes = g->capacity = g->n_buckets = 0;
}

const dag_node *dag_at(const dag *g, val v) {
    assert(v.id >= 0 && v.id < g->n_nodes);
    return &g->nodes[v.id];
}

int64_t dag_numel(const dag_node *n) {
    return sizes_numel(n->ndim, n->sizes);
}

void dag_keep(dag *g, val x) {
    if (g->n_kept == g->kept_capacity) { /* the arena keeps the old lists: no more than the new ones */
        int capacity = 2 * g->kept_capacity + 16;
        val *kept = arena_make(g->memory, (size_t)capacity, sizeof *kept);
        if (kept == NULL) {
            g->failed = true;
            return;
        }
        if (g->n_kept > 0) {
            memcpy(kept, g->kept, (size_t)g->n_kept * sizeof *kept);
        }
        g->kept = kept;
        g->kept_capacity = capacity;
    }
    g->kept[g->n_kept++] = x;
}

/* --- equality ------------------------------------------------------------------------------------------------------- */

bool dag_same_fill(number a, number b) {
    return a.i == b.i && memcmp(&a.f, &b.f, sizeof a.f) == 0 && memcmp(&a.im, &b.im, sizeof a.im) == 0;
}

static bool same_maps(const view_map *a, const view_map *b) {
    if (a->n_at != b->n_at || a->n_bounds != b->n_bounds ||
        (a->n_bounds > 0 && !dag_same_fill(a->fill, b->fill))) {
        return false;
    }
    for (int i = 0; i < a->n_at; i++) {
        if (!index_equal(a->at[i], b->at[i])) {
            return false;
        }
    }
    for (int i = 0; i < a->n_bounds; i++) {
        const view_bound *x = &a->bounds[i], *y = &b->bounds[i];
        if (x->low != y->low || x->high != y->high || !index_equal(x->at, y->at)) {
            return false;
        }
    }
    return true;
}

static bool same_number(number a, number b) {
    return a.category == b.category && a.i == b.i && memcmp(&a.f, &b.f, sizeof a.f) == 0 &&
           memcmp(&a.im, &b.im, sizeof a.im) == 0;
}

static bool same_details(const dag_node *a, const dag_node *b) {
    switch (a->kind) {
    case PRIM_INPUT:
        return a->input.from == b->input.from && a->input.is_seed == b->input.is_seed && a->input.seed == b->input.seed;
    case PRIM_CONSTANT:
        return a->is_any == b->is_any && same_number(a->number, b->number);
    case PRIM_IOTA:
    case PRIM_JOIN:
    case PRIM_RANDOM:
        return a->dim == b->dim;
    case PRIM_MAP:
        return a->fn == b->fn;
    case PRIM_CAST:
        return true;
    case PRIM_VIEW:
        return a->writer == b->writer && a->written_as == b->written_as && same_maps(&a->view, &b->view);
    case PRIM_REDUCE:
    case PRIM_SCAN:
        return a->reduce.how == b->reduce.how && a->reduce.dims == b->reduce.dims && a->reduce.of_factors == b->reduce.of_factors;
    case PRIM_SCATTER:
        return a->scatter.adds == b->scatter.adds && same_maps(&a->scatter.where, &b->scatter.where);
    case PRIM_CALL:
        return a->call.call == b->call.call && a->call.output == b->call.output;
    }
    return false;
}

static bool same_nodes(const dag_node *a, const dag_node *b) {
    return a->kind == b->kind && a->dtype == b->dtype && a->ndim == b->ndim && a->n_sources == b->n_sources &&
           (a->ndim == 0 || memcmp(a->sizes, b->sizes, (size_t)a->ndim * sizeof *a->sizes) == 0) &&
           (a->n_sources == 0 || memcmp(a->sources, b->sources, (size_t)a->n_sources * sizeof *a->sources) == 0) &&
           same_details(a, b);
}

/* Of what is cheap to hash; the comparison does the rest. */
static uint64_t hash_of_node(const dag_node *n) {
    uint64_t h = hash_bytes(&n->kind, sizeof n->kind, (uint64_t)n->dtype);
    h = hash_bytes(n->sizes, (size_t)n->ndim * sizeof *n->sizes, h);
    h = hash_bytes(n->sources, (size_t)n->n_sources * sizeof *n->sources, h);
    if (n->kind == PRIM_MAP) {
        h = hash_bytes(&n->fn, sizeof n->fn, h);
    } else if (n->kind == PRIM_CONSTANT) {
        h = hash_bytes(&n->number.f, sizeof n->number.f, h);
    } else if (n->kind == PRIM_VIEW) {
        for (int i = 0; i < n->view.n_at; i++) {
            h = hash_bytes(&n->view.at[i].constant, sizeof n->view.at[i].constant, h + (uint64_t)n->view.at[i].n);
        }
    }
    return h;
}

/* --- the table ------------------------------------------------------------------------------------------------------ */

static bool grow(dag *g) {
    int capacity = g->capacity > 0 ? 2 * g->capacity : 64;
    dag_node *nodes = realloc(g->nodes, (size_t)capacity * sizeof *nodes);
    if (nodes == NULL) {
        return false;
    }
    g->nodes = nodes;
    g->capacity = capacity;
    int32_t *buckets = calloc((size_t)capacity * 2, sizeof *buckets);
    if (buckets == NULL) {
        return false;
    }
    free(g->buckets);
    g->buckets = buckets;
    g->n_buckets = capacity * 2;
    for (int i = 0; i < g->n_nodes; i++) {
        uint64_t at = hash_of_node(&g->nodes[i]) % (uint64_t)g->n_buckets;
        while (g->buckets[at] != 0) {
            at = (at + 1) % (uint64_t)g->n_buckets;
        }
        g->buckets[at] = i + 1;
    }
    return true;
}

static void *copied(dag *g, const void *from, size_t count, size_t size_bytes) {
    void *to = arena_make(g->memory, count, size_bytes);
    if (to == NULL) {
        g->failed = true;
    } else if (count > 0) {
        memcpy(to, from, count * size_bytes);
    }
    return to;
}

/* The node, or the equal one that is there already. Copies sizes and sources. */
val dag_intern(dag *g, const dag_node *n) {
    g->failed = g->failed || g->indices.failed;
    if (g->failed || (g->n_nodes >= g->capacity && !grow(g))) {
        g->failed = true;
        return (val){0};
    }
    uint64_t at = hash_of_node(n) % (uint64_t)g->n_buckets;
    for (; g->buckets[at] != 0; at = (at + 1) % (uint64_t)g->n_buckets) {
        if (same_nodes(&g->nodes[g->buckets[at] - 1], n)) {
            return (val){g->buckets[at] - 1};
        }
    }
    dag_node copy = *n;
    copy.sizes = copied(g, n->sizes, (size_t)n->ndim, sizeof *n->sizes);
    copy.sources = copied(g, n->sources, (size_t)n->n_sources, sizeof *n->sources);
    if (n->kind == PRIM_VIEW || n->kind == PRIM_SCATTER) {
        view_map *map = n->kind == PRIM_VIEW ? &copy.view : &copy.scatter.where;
        map->at = copied(g, map->at, (size_t)map->n_at, sizeof *map->at);
        map->bounds = copied(g, map->bounds, (size_t)map->n_bounds, sizeof *map->bounds);
    }
    if (g->failed) {
        return (val){0};
    }
    g->nodes[g->n_nodes] = copy;
    g->buckets[at] = g->n_nodes + 1;
    return (val){g->n_nodes++};
}
