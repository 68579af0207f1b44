/* SPDX-License-Identifier: Apache-2.0 */
/* Kernels that follow each other and can be run part by part: part p of each reads, of what the others write, only what their
   parts p wrote. Such a chain is one parallel region, and what lies between its kernels stays in the caches of the core that
   works on the part. */
#include "engine/compile/passes.h"

#include <string.h>

enum { MOST_PARTS_TRIED = 64 };
/* What a part may touch, so that it stays in a core's own cache; below that other it is too little for the calls that it takes. */
static const double PART_BYTES = 768 * 1024, LEAST_PART_BYTES = 32 * 1024;

/* How a kernel's tasks fall into parts: whole variables, from the slowest on, then runs of `run` of one more. */
typedef struct partition {
    int64_t parts;
    int n;
    int variables[KERNEL_MAX_VARIABLES];
    int64_t radix[KERNEL_MAX_VARIABLES]; /* of the part's number, by variable */
    int64_t run;                         /* of the last variable; 1: all of them are whole */
    int64_t lanes;                       /* of a kernel that is one row of lanes, for the parts to be whole tasks; 0: as they are */
} partition;

/* Lanes of blocks that make up a run: whole lines of memory, of floats, where there are such. 0: there are none. */
static int64_t lanes_of_run(int64_t run) {
    enum { MOST_LANES = 4096, LANES = 1024, LEAST_LANES = 256, LINE_LANES = 16 };
    if (run <= MOST_LANES || run % LANES == 0) {
        return run <= MOST_LANES ? run : LANES;
    }
    int64_t odd = 0;
    for (int64_t lanes = MOST_LANES; lanes >= LEAST_LANES; lanes--) {
        if (run % lanes == 0 && lanes % LINE_LANES == 0) {
            return lanes;
        }
        odd = odd == 0 && run % lanes == 0 ? lanes : odd;
    }
    return odd;
}

/* A row of lanes without more, of which parts are pieces: it is taken in blocks that make these up. */
static bool partition_of_row(const kernel *k, int64_t parts, partition *out) {
    int v = k->vector;
    bool is_row = k->n_tasks == 1 && k->tasks[0] == v && k->n_loops == 0 && !k->has_classes && !k->is_product;
    if (!is_row || k->variables[v].size % parts != 0) {
        return false;
    }
    int64_t run = k->variables[v].size / parts;
    *out = (partition){.parts = parts, .n = 1, .variables = {v}, .run = run, .lanes = lanes_of_run(run)};
    out->radix[0] = parts;
    return run > 1 && out->lanes > 0;
}

static bool partition_of(const kernel *k, int64_t parts, bool of_row, partition *out) {
    if (of_row && partition_of_row(k, parts, out)) {
        return true;
    }
    partition p = {.parts = parts, .run = 1};
    int64_t rest = parts;
    for (int i = 0; i < k->n_tasks && rest > 1; i++) {
        int v = k->tasks[i];
        int64_t size = k->variables[v].size;
        bool in_blocks = v == k->vector && !k->is_product;
        if (in_blocks || p.run > 1 || (rest % size != 0 && size % rest != 0)) {
            return false;
        }
        p.radix[p.n] = rest % size == 0 ? size : rest;
        p.run = size / p.radix[p.n];
        rest /= p.radix[p.n];
        p.variables[p.n++] = v;
    }
    *out = p;
    return rest == 1 && k->n_task_items % parts == 0;
}

/* The kernel's tasks become such that each part has as many. */
static void take_parts(kernel *k, int64_t parts, bool of_row) {
    partition p;
    if (partition_of(k, parts, of_row, &p) && p.lanes > 0) {
        k->lanes = p.lanes;
        k->n_task_items = k->variables[k->vector].size / p.lanes;
    }
}

/* The least and the greatest that expression e's offset comes to in part 0, whose variables are replaced by `by`. Where it has
   a guard, the coordinates lie within the value's sizes whenever it looks. One that goes with the part's number lies there in
   every part, not in part 0 alone, so that it tells nothing about part 0: what looks one row back must not pass for what
   stays within its part. */
static void offset_range(compiler *c, const kernel *k, const partition *p, const expr *e, index_sum at, const index_sum *by,
                         int64_t *low, int64_t *high) {
    if (e == NULL || e->guard < 0) {
        index_range(index_replace(&c->g.indices, at, k->n_variables, by), low, high);
        return;
    }
    uint64_t of_parts = 0;
    for (int i = 0; i < p->n; i++) {
        of_parts |= (uint64_t)1 << p->variables[i];
    }
    const place *there = &c->places[e->value];
    *low = *high = there->offset;
    for (int d = 0; d < e->n_coordinates; d++) {
        int64_t from, to, last = dag_at(&c->g, (val){e->value})->sizes[d] - 1;
        bool goes_with_part = (index_variables(e->coordinates[d]) & of_parts) != 0;
        index_range(index_replace(&c->g.indices, e->coordinates[d], k->n_variables, by), &from, &to);
        *low += (from < 0 && !goes_with_part ? 0 : from) * there->strides[d];
        *high += (to > last && !goes_with_part ? last : to) * there->strides[d];
    }
}

/* What a scatter's place comes to besides indices that are read, whose bounds it is seen to that they keep. */
static index_sum without_data(compiler *c, index_sum at, int64_t *low, int64_t *high) {
    index_sum rest = index_constant(at.constant);
    *low = *high = 0;
    for (int i = 0; i < at.n; i++) {
        index_sum term = {.n = 1, .terms = &at.terms[i]};
        int64_t from, to;
        if (at.terms[i].atom->kind == ATOM_DATA) {
            index_range(term, &from, &to);
            *low += from;
            *high += to;
        } else {
            rest = index_add(&c->g.indices, rest, term);
        }
    }
    return rest;
}

/* Whether what part p touches of a buffer (by expression e, NULL: by a store) are the elements p * extent to
   (p + 1) * extent - 1, or some of them. */
static bool is_of_part(compiler *c, const kernel *k, const partition *p, const expr *e, index_sum at, int64_t extent) {
    index_sum by[KERNEL_MAX_VARIABLES];
    int64_t data_low = 0, data_high = 0;
    if (e == NULL) {
        at = without_data(c, at, &data_low, &data_high);
    }
    for (int v = 0; v < k->n_variables; v++) {
        by[v] = index_variable(&c->g.indices, v, k->variables[v].size);
    }
    int64_t weight = extent, stride;
    for (int i = p->n - 1; i >= 0; i--) {
        int v = p->variables[i];
        int64_t run = i == p->n - 1 ? p->run : 1;
        if (!index_stride(at, v, &stride) || stride * run != weight) {
            return false;
        }
        weight *= p->radix[i];
        by[v] = run > 1 ? index_variable(&c->g.indices, v, run) : index_constant(0);
    }
    int64_t low, high;
    offset_range(c, k, p, e, at, by, &low, &high);
    return low + data_low >= 0 && high + data_high < extent && !c->g.indices.failed;
}

/* Elements of a buffer without gaps; -1: it has some. */
static int64_t elements_of(const compile_buffer *b) {
    if (b->role == BUFFER_WORK) {
        return b->n_elems;
    }
    const tensor *t = b->tensor;
    int64_t strides[TENSOR_MAX_DIMS];
    if (b->role != BUFFER_OUTPUT) {
        return -1;
    }
    sizes_contiguous_strides(t->ndim, t->sizes, strides);
    for (int d = 0; d < t->ndim; d++) {
        if (t->sizes[d] != 1 && t->strides[d] != strides[d]) {
            return -1;
        }
    }
    return tensor_numel(t);
}

static bool is_written(const kernel *k, int buffer) {
    for (int i = 0; i < k->n_roots; i++) {
        if (k->roots[i].buffer == buffer) {
            return true;
        }
    }
    return false;
}

/* A scatter finds what it adds to, or leaves as it is. */
static bool is_loaded(const kernel *k, int buffer) {
    for (int i = 0; i < k->n_roots; i++) {
        if (k->roots[i].kind == ROOT_SCATTER && k->roots[i].buffer == buffer) {
            return true;
        }
    }
    for (int i = 0; i < k->n_exprs; i++) {
        if (k->exprs[i].kind == EXPR_LOAD && k->exprs[i].buffer == buffer) {
            return true;
        }
    }
    return false;
}

/* A kernel whose tasks are independent of what others' tasks read and write but through buffers of this program. */
static bool may_chain(const compiler *c, const kernel *k) {
    for (int i = 0; i < k->n_roots; i++) {
        const root *r = &k->roots[i];
        bool elsewhere = r->buffer >= 0 && c->buffers[r->buffer].role == BUFFER_OUTPUT &&
                         c->buffers[r->buffer].tensor->storage != NULL; /* an input lies there as well */
        if (r->kind == ROOT_SCAN || r->kind == ROOT_COLUMNS || elsewhere) {
            return false;
        }
    }
    return k->n_task_items > 0;
}

/* Whether all that k makes is what scatters begin with. Others are not cut for a chain's sake: they would take the
   first kernels of another one into theirs. */
static bool is_base(const compiler *c, const kernel *k) {
    bool all = k->n_roots > 0;
    for (int i = 0; i < k->n_roots; i++) {
        bool scattered = false;
        for (int s = 0; s < c->n_steps; s++) {
            const root *r = c->steps[s].kernel != NULL ? &c->steps[s].kernel->roots[0] : NULL;
            scattered |= r != NULL && r->kind == ROOT_SCATTER && r->buffer == k->roots[i].buffer;
        }
        all &= scattered;
    }
    return all;
}

/* Whether kernel k touches what is passed on within the chain (first to last, k among them) by parts alone; *shares becomes
   true when it touches something that another kernel of the chain does. */
static bool keeps_to_parts(compiler *c, const kernel *k, int64_t parts, int first, int last, bool *shares) {
    partition p;
    if (!partition_of(k, parts, is_base(c, k), &p)) {
        return false;
    }
    for (int i = 0; i < k->n_buffers; i++) {
        int b = k->buffers[i];
        bool written = false, read = false;
        int touching = 0;
        for (int s = first; s <= last; s++) {
            bool writes = is_written(c->steps[s].kernel, b), reads = is_loaded(c->steps[s].kernel, b);
            written |= writes;
            read |= reads;
            touching += writes || reads;
        }
        *shares |= touching > 1 && c->buffers[b].role != BUFFER_SEED;
        if (!written || !read) {
            continue;
        }
        int64_t n = elements_of(&c->buffers[b]);
        if (n < 0 || n % parts != 0) {
            return false;
        }
        for (int e = 0; e < k->n_exprs; e++) {
            const expr *x = &k->exprs[e];
            if (x->kind == EXPR_LOAD && x->buffer == b && !is_of_part(c, k, &p, x, x->at, n / parts)) {
                return false;
            }
        }
        for (int r = 0; r < k->n_roots; r++) {
            if (k->roots[r].buffer == b && !is_of_part(c, k, &p, NULL, k->roots[r].at, n / parts)) {
                return false;
            }
        }
    }
    return true;
}

/* The last step of the longest chain from `first` on in so many parts. */
static int chain_end(compiler *c, int first, int64_t parts) {
    int last = first;
    for (int end = first; end < c->n_steps && c->steps[end].kernel != NULL && may_chain(c, c->steps[end].variants[0]); end++) {
        bool shares = false, keeps = true;
        for (int s = first; s <= end && keeps; s++) {
            keeps = keeps_to_parts(c, c->steps[s].variants[0], parts, first, end, &shares);
        }
        if (!keeps) {
            break;
        }
        last = shares ? end : last;
    }
    return last;
}

static int add_parts(int64_t *list, int n, int64_t parts) {
    for (int i = 0; i < n; i++) {
        if (list[i] == parts) {
            return n;
        }
    }
    if (n < MOST_PARTS_TRIED) {
        list[n++] = parts;
    }
    return n;
}

/* Numbers of parts that a kernel suggests: its slowest variable, the slowest two, and so on. */
static int parts_of(const kernel *k, int64_t *list, int n) {
    int64_t parts = 1;
    for (int i = 0; i < k->n_tasks && (k->tasks[i] != k->vector || k->is_product); i++) {
        parts *= k->variables[k->tasks[i]].size;
        n = add_parts(list, n, parts);
    }
    return n;
}

static double bytes_of_part(const compiler *c, int first, int last, int64_t parts) {
    double sum = 0;
    for (int s = first; s <= last; s++) {
        sum += c->steps[s].variants[0]->bytes;
    }
    return sum / (double)parts;
}

/* Two parts made one, as long as they are small. */
static void make_larger(compiler *c, chain *h) {
    int last = h->first + h->n_steps - 1;
    while (h->parts % 2 == 0 && h->parts / 2 >= 8 * c->options->n_threads &&
           bytes_of_part(c, h->first, last, h->parts / 2) <= LEAST_PART_BYTES && chain_end(c, h->first, h->parts / 2) == last) {
        h->parts /= 2;
    }
}

bool threads_share(const compiler *c, int64_t n) {
    int64_t threads = c->options->n_threads;
    return n >= threads && (n % threads == 0 || n >= 8 * threads);
}

/* The longest chain from a step on; of equally long ones that of the fewest parts that stay in a cache. */
static chain best_chain(compiler *c, int first) {
    int64_t list[MOST_PARTS_TRIED];
    int n = 0;
    for (int s = first; s < c->n_steps && s < first + 8 && c->steps[s].kernel != NULL; s++) {
        n = parts_of(c->steps[s].variants[0], list, n);
    }
    chain best = {first, 1, 1};
    for (int i = 0; i < n; i++) {
        if (!threads_share(c, list[i])) {
            continue;
        }
        int steps = chain_end(c, first, list[i]) - first + 1;
        if (steps < 2 || steps < best.n_steps) {
            continue;
        }
        bool fits = bytes_of_part(c, first, first + steps - 1, list[i]) <= PART_BYTES;
        bool fitted = best.n_steps > 1 && bytes_of_part(c, first, first + best.n_steps - 1, best.parts) <= PART_BYTES;
        bool fewer = list[i] < best.parts;
        if (steps > best.n_steps || (fits && !fitted) || (fits == fitted && fits == fewer)) {
            best = (chain){first, steps, list[i]};
        }
    }
    if (best.n_steps > 1) {
        make_larger(c, &best);
    }
    return best;
}

/* What only the chain's steps touch, and hand on to each other part by part, is as large as a part. */
static void localise(compiler *c, const chain *h) {
    for (int b = 0; b < c->n_buffers; b++) {
        bool written = false, read = false, outside = c->buffers[b].role != BUFFER_WORK || c->buffers[b].n_elems == 0;
        for (int s = 0; s < c->n_steps && !outside; s++) {
            const kernel *k = c->steps[s].kernel;
            bool in_chain = s >= h->first && s < h->first + h->n_steps;
            bool touches = k != NULL && (is_written(k, b) || is_loaded(k, b));
            for (int i = 0; k == NULL && i < dag_at(&c->g, c->steps[s].call)->n_sources; i++) {
                place p;
                touches |= place_of_operand(c, dag_at(&c->g, c->steps[s].call), i, &p) && p.buffer == b;
            }
            written |= k != NULL && in_chain && is_written(k, b);
            read |= k != NULL && in_chain && is_loaded(k, b);
            outside |= touches && !in_chain;
        }
        if (written && read && !outside && c->buffers[b].n_elems % h->parts == 0) {
            c->buffers[b].part_elems = c->buffers[b].n_elems / h->parts;
        }
    }
}

/* From one part to the next, in elements, of what is at `at` in part p; 0: that differs from part to part, or it is not of parts. */
static int64_t step_of_part(const partition *p, index_sum at) {
    int64_t weight = 0, first = 0, stride;
    for (int i = p->n - 1; i >= 0; i--) {
        int64_t run = i == p->n - 1 ? p->run : 1;
        if (!index_stride(at, p->variables[i], &stride) || (i < p->n - 1 && stride * run != weight)) {
            return 0;
        }
        first = i == p->n - 1 ? stride * run : first;
        weight = stride * run * p->radix[i];
    }
    return first;
}

/* Whether the kernel reads what lies between the same two ends of a buffer. */
static bool reads_range_of(const kernel *k, const expr *load) {
    int64_t low, high, other_low, other_high;
    bool reads = false;
    index_range(load->at, &low, &high);
    for (int e = 0; e < k->n_exprs && !reads; e++) {
        if (k->exprs[e].kind == EXPR_LOAD && k->exprs[e].buffer == load->buffer) {
            index_range(k->exprs[e].at, &other_low, &other_high);
            reads = low == other_low && high == other_high;
        }
    }
    return reads;
}

/* What an input's elements are read for once more within a part is near by then, and memory idle: the next part's are asked for instead. */
static void mark_next_parts(compiler *c, const chain *h) {
    for (int s = h->first + 1; s < h->first + h->n_steps; s++) {
        for (int v = 0; v < c->steps[s].n_variants; v++) {
            kernel *k = c->steps[s].variants[v];
            partition p;
            bool is_of_parts = k->in_parts && partition_of(k, h->parts, is_base(c, k), &p);
            for (int e = 0; is_of_parts && e < k->n_exprs; e++) {
                expr *x = &k->exprs[e];
                bool again = false;
                for (int before = h->first; before < s && x->kind == EXPR_LOAD; before++) {
                    again |= reads_range_of(c->steps[before].variants[0], x);
                }
                x->next_part = again && c->buffers[x->buffer].role == BUFFER_INPUT ? step_of_part(&p, x->at) : 0;
            }
        }
    }
}

/* What a later step of the chain reads is not stored past the caches. */
static void keep_near(compiler *c, const chain *h) {
    for (int s = h->first; s < h->first + h->n_steps; s++) {
        for (int v = 0; v < c->steps[s].n_variants; v++) {
            kernel *k = c->steps[s].variants[v];
            for (int i = 0; i < k->n_roots; i++) {
                for (int later = s + 1; later < h->first + h->n_steps && k->in_parts; later++) {
                    k->roots[i].streams &= !is_loaded(c->steps[later].kernel, k->roots[i].buffer);
                }
            }
        }
    }
}

status find_chains(compiler *c, int *n_chains, const chain **out, error *err) {
    chain *chains = arena_make(c->memory, (size_t)c->n_steps + 1, sizeof *chains);
    if (chains == NULL) {
        return fail(err, ASSAY_OUT_OF_MEMORY, "no memory to compile");
    }
    int n = 0;
    for (int s = 0; s < c->n_steps && !c->options->no_fusion;) {
        chain h = {s, 1, 1};
        if (c->steps[s].kernel != NULL && c->steps[s].n_variants > 0) {
            h = best_chain(c, s);
        }
        if (h.n_steps > 1) {
            for (int i = h.first; i < h.first + h.n_steps; i++) { /* other arrangements of a kernel may have other tasks */
                for (int v = 0; v < c->steps[i].n_variants; v++) {
                    bool shares = false;
                    c->steps[i].variants[v]->in_parts =
                        keeps_to_parts(c, c->steps[i].variants[v], h.parts, h.first, h.first + h.n_steps - 1, &shares);
                }
            }
            for (int i = h.first; i < h.first + h.n_steps; i++) {
                for (int v = 0; v < c->steps[i].n_variants; v++) {
                    if (c->steps[i].variants[v]->in_parts) {
                        kernel *k = c->steps[i].variants[v];
                        take_parts(k, h.parts, is_base(c, k));
                    }
                }
            }
            localise(c, &h);
            choose_streams_in_chain(c, &h);
            keep_near(c, &h);
            mark_next_parts(c, &h);
            chains[n++] = h;
        }
        s += h.n_steps;
    }
    *n_chains = n;
    *out = chains;
    return ASSAY_OK;
}
