/* SPDX-License-Identifier: Apache-2.0 */
/* The passes in order, and their result as plain data. */
#include "base/text.h"
#include "engine/compile/dialect.h"
#include "engine/compile/emit/program.h"
#include "engine/compile/passes.h"
#include "engine/compile/schedule.h"
#include "engine/compile/verify.h"
#include "engine/graph/dag_build.h"

#include <string.h>

/* Without fusion every result of an operator has memory, so that no kernel computes two operators. */
static status keep_results(compiler *c, error *err) {
    const dag_capture *known = c->g.capture;
    for (int i = 0; i < known->n; i++) {
        v_keep(&c->g, known->values[i]);
    }
    return c->g.failed ? fail(err, ASSAY_OUT_OF_MEMORY, "no memory to compile") : ASSAY_OK;
}

static const char *title_of(compiler *c, const kernel *k) {
    text t = {0};
    for (int i = 0; i < k->n_roots; i++) {
        const root *r = &k->roots[i];
        const dag_node *n = dag_at(&c->g, r->value);
        text_addf(&t, "%s%%%d = %s", i > 0 ? ", " : "", r->value.id,
                  n->kind == PRIM_MAP      ? scalar_function_name(n->fn)
                  : n->kind == PRIM_REDUCE ? reduction_name(n->reduce.how)
                                           : primitive_name(n->kind));
        text_addf(&t, " %s[", assay_dtype_name(n->dtype));
        for (int d = 0; d < n->ndim; d++) {
            text_addf(&t, d > 0 ? ", %lld" : "%lld", (long long)n->sizes[d]);
        }
        text_add(&t, "]");
    }
    const char *title = t.failed ? NULL : arena_text(c->memory, text_get(&t), t.length);
    c->failed |= title == NULL;
    text_clear(&t);
    return title;
}

/* The buffers that a kernel names. */
static void list_buffers(compiler *c, kernel *k) {
    int *list = arena_make(c->memory, (size_t)c->n_buffers, sizeof *list);
    if (list == NULL) {
        c->failed = true;
        return;
    }
    for (int b = 0; b < c->n_buffers; b++) {
        bool named = false;
        for (int e = 0; e < k->n_exprs && !named; e++) {
            named = k->exprs[e].kind == EXPR_LOAD && k->exprs[e].buffer == b;
        }
        for (int r = 0; r < k->n_roots && !named; r++) {
            named = k->roots[r].buffer == b;
        }
        if (named) {
            list[k->n_buffers++] = b;
        }
    }
    k->buffers = list;
}

static const char *choice_name(loop_choice choice) {
    static const char *const names[LOOPS_CHOICES] = {"plain", "wide", "narrow", "other vector", "other stores"};
    return names[choice];
}

/* Whether two arrangements of a kernel that is no product are one: they differ in what goes past the caches, if that lies so that
   it can. */
static bool is_same(const kernel *a, const kernel *b) {
    bool same = a->vector == b->vector && a->lanes == b->lanes;
    for (int i = 0; same && i < a->n_roots && a->vector >= 0; i++) {
        int64_t stride;
        same = a->roots[i].streams == b->roots[i].streams || !index_stride(a->roots[i].at, a->vector, &stride) || stride != 1;
    }
    return same;
}

/* The step's kernel in every way that differs from those before. */
static void arrange_variants(compiler *c, int step) {
    compiler_step *s = &c->steps[step];
    int choices = c->options->variants ? LOOPS_CHOICES : 1;
    for (int choice = 0; choice < choices; choice++) {
        kernel *k = copy_kernel(c, s->kernel);
        if (k == NULL) {
            return;
        }
        if (!choose_streams(c, k, (loop_choice)choice)) {
            continue;
        }
        if (!arrange_loops(c, k, (loop_choice)choice) || !join_ranks(c, k)) {
            return;
        }
        spare_ragged(k, (loop_choice)choice);
        if (k->lists_rows && !list_rows(c, k)) {
            continue;
        }
        bool known = false;
        for (int v = 0; v < s->n_variants; v++) {
            const kernel *other = s->variants[v];
            known |= k->is_product ? other->product.pairs == k->product.pairs
                                   : is_same(k, other);
        }
        if (known) {
            continue;
        }
        k->choice = (loop_choice)choice;
        const char *prefix = c->options->prefix != NULL ? c->options->prefix : "";
        k->symbol = choice == 0 ? arena_format(c->memory, "%skernel_%d", prefix, step)
                                : arena_format(c->memory, "%skernel_%d_%d", prefix, step, choice);
        c->failed |= k->symbol == NULL;
        s->variants[s->n_variants++] = k;
    }
}

/* Which of the products the step computes; -1: none. */
static int product_of(const compiler *c, const compiler_step *s) {
    const kernel *k = s->kernel;
    for (int i = 0; i < c->g.n_products; i++) {
        const dag_product *p = &c->g.products[i];
        const op_call *call = k == NULL ? dag_at(&c->g, s->call)->call.call : NULL;
        if (call != NULL && (call == p->call || call == p->rest)) {
            return i;
        }
        for (int e = 0; k != NULL && p->value.id >= 0 && e < k->n_exprs; e++) {
            if (k->exprs[e].value == p->value.id && k->exprs[e].kind != EXPR_LOAD) {
                return i;
            }
        }
    }
    return -1;
}

/* Whether kernel k finds in this buffer, which it writes, what it has left there. */
static bool rewrites(const compiler *c, const kernel *k, const root *r) {
    return r->kind == ROOT_SCATTER || reads_memory_of(c, k, r->buffer);
}

static void list_rewritten(compiler *c, const compiler_step *s, compile_step *out) {
    const dag_node *call = s->kernel == NULL ? dag_at(&c->g, s->call) : NULL;
    int *list = arena_make(c->memory, (size_t)(call != NULL ? call->n_sources : s->kernel->n_roots), sizeof *list);
    if (list == NULL) {
        c->failed = true;
        return;
    }
    for (int i = 0; call != NULL && i < call->n_sources; i++) {
        place p;
        if (dag_at(&c->g, call->sources[i])->writer != NULL && place_through(c, call->sources[i], &p)) {
            list[out->n_rewritten++] = p.buffer;
        }
    }
    for (int i = 0; call == NULL && i < s->kernel->n_roots; i++) {
        const root *r = &s->kernel->roots[i];
        if (r->buffer >= 0 && rewrites(c, s->kernel, r)) {
            list[out->n_rewritten++] = r->buffer;
        }
    }
    out->rewritten = list;
}

static void describe_kernel(compiler *c, const compiler_step *s, compile_step *out) {
    const kernel *k = s->variants[0];
    compile_variant *variants = arena_make(c->memory, (size_t)s->n_variants, sizeof *variants);
    if (variants == NULL) {
        c->failed = true;
        return;
    }
    for (int v = 0; v < s->n_variants; v++) {
        const kernel *own = s->variants[v];
        variants[v] = (compile_variant){.symbol = own->symbol,
                                        .n_tasks = own->column_parts > 0 ? own->column_parts : own->n_task_items,
                                        .name = choice_name(own->choice),
                                        .other_stores = own->choice == LOOPS_OTHER_STORES,
                                        .in_parts = own->in_parts,
                                        .room_bytes = own->room_bytes,
                                        .shared = own->shared};
    }
    *out = (compile_step){.n_variants = s->n_variants,
                          .variants = variants,
                          .n_buffers = k->n_buffers,
                          .buffers = k->buffers,
                          .bytes = k->bytes,
                          .flops = k->flops,
                          .checks = k->checks,
                          .product = product_of(c, s),
                          .title = k->title};
}

static void describe_call(compiler *c, val v, compile_step *out) {
    const dag_node *n = dag_at(&c->g, v);
    compile_operand *operands = arena_make(c->memory, (size_t)n->n_sources, sizeof *operands);
    tensor **originals = arena_make(c->memory, (size_t)n->n_sources, sizeof *originals);
    *out = (compile_step){.n_operands = n->n_sources,
                          .operands = operands,
                          .call = n->call.call,
                          .out = n->call.out,
                          .is_fallback = n->call.is_fallback,
                          .why = n->call.why,
                          .title = n->call.call->op->signature.full};
    if (operands == NULL || originals == NULL) {
        c->failed = true;
        return;
    }
    call_all_tensors(n->call.call, originals, n->n_sources);
    for (int i = 0; i < n->n_sources; i++) {
        place p;
        bool placed = call_operand(c, n, i, originals[i], &p);
        c->failed |= !placed;
        operands[i] = placed ? (compile_operand){p.buffer, p.offset, p.strides} : (compile_operand){0};
    }
}

/* Results by the graph's outputs: the compiler has none that is an input's own memory, and inputs that are written besides. */
static void number_outputs(compiler *c, const graph *g, const int *outputs_at) {
    for (int b = 0; b < c->n_buffers; b++) {
        c->buffers[b].output = c->buffers[b].role == BUFFER_OUTPUT ? -1 : c->buffers[b].output;
    }
    for (int k = 0; k < g->n_outputs; k++) {
        compile_buffer *b = outputs_at[k] >= 0 ? &c->buffers[outputs_at[k]] : NULL;
        if (b != NULL && b->role == BUFFER_OUTPUT) {
            b->output = k;
        }
    }
}

static status describe(compiler *c, const graph *g, compiled_program *out, error *err) {
    compile_step *steps = arena_make(c->memory, (size_t)c->n_steps, sizeof *steps);
    int *outputs_at = arena_make(c->memory, (size_t)g->n_outputs, sizeof *outputs_at);
    if (steps == NULL || outputs_at == NULL) {
        return fail(err, ASSAY_OUT_OF_MEMORY, "no memory to compile");
    }
    *out = (compiled_program){.n_buffers = c->n_buffers,
                              .buffers = c->buffers,
                              .n_memories = c->n_memories,
                              .memories = c->memories,
                              .n_steps = c->n_steps,
                              .steps = steps,
                              .output_buffers = outputs_at};
    for (int s = 0; s < c->n_steps; s++) {
        if (c->steps[s].n_variants > 0) {
            describe_kernel(c, &c->steps[s], &steps[s]);
            list_rewritten(c, &c->steps[s], &steps[s]);
        } else if (c->steps[s].kernel == NULL) {
            describe_call(c, c->steps[s].call, &steps[s]);
            list_rewritten(c, &c->steps[s], &steps[s]);
            steps[s].product = product_of(c, &c->steps[s]);
            out->is_fallback |= steps[s].is_fallback;
            out->why = steps[s].is_fallback && out->why == NULL ? steps[s].why : out->why;
        }
    }
    for (int k = 0; k < g->n_outputs; k++) {
        outputs_at[k] = -1;
        for (int i = 0; i < c->g.n_outputs; i++) {
            if (c->g.outputs[i].to == g->outputs[k]) {
                outputs_at[k] = c->output_buffers[i];
            }
        }
    }
    number_outputs(c, g, outputs_at);
    return ASSAY_OK;
}

/* Steps with their loops, and chains of them. */
static status arrange(compiler *c, int *n_chains, const chain **chains, error *err) {
    TRY(schedule(c, err));
    TRY(verify_steps(c, "scheduling", err));
    drop_unread(c);
    if (!c->options->no_fusion) {
        narrow_scans(c);
        narrow_scatters(c);
    }
    for (int s = 0; s < c->n_steps && !c->failed; s++) {
        kernel *k = c->steps[s].kernel;
        if (k != NULL) {
            k->title = title_of(c, k);
            list_buffers(c, k);
            arrange_variants(c, s);
        }
    }
    if (c->failed) {
        return fail(err, ASSAY_OUT_OF_MEMORY, "no memory to compile");
    }
    TRY(verify_loops(c, "arranging loops", err));
    return find_chains(c, n_chains, chains, err);
}

/* The same, until no chain computes twice what a part of it had better keep. A value that does not stay within a chain's parts when it
   has memory loses that again. */
static status arrange_all(compiler *c, int *n_chains, const chain **chains, error *err) {
    enum { MOST_ROUNDS = 8 };
    TRY(arrange(c, n_chains, chains, err));
    for (int round = 0; round < MOST_ROUNDS; round++) {
        val v = dear_in_chains(c, *n_chains, *chains);
        if (v.id < 0) {
            break;
        }
        int n_kept = c->g.n_kept;
        v_keep(&c->g, v);
        TRY(arrange(c, n_chains, chains, err));
        const place *p = &c->places[v.id];
        if (p->buffer < 0 || c->buffers[p->buffer].part_elems == 0) {
            c->g.n_kept = n_kept;
            return arrange(c, n_chains, chains, err);
        }
    }
    return ASSAY_OK;
}

static status compile(compiler *c, const graph *g, compiled_program *out, error *err) {
    TRY(capture(c, g, err));
    if (c->options->no_fusion) {
        TRY(keep_results(c, err));
    }
    TRY(verify_values(&c->g, "taking operators apart", err));
    if (!cut_by_joins(c)) {
        return fail(err, ASSAY_OUT_OF_MEMORY, "no memory to compile");
    }
    TRY(verify_values(&c->g, "cutting joins", err));
    int n_chains = 0;
    const chain *chains = NULL;
    TRY(arrange_all(c, &n_chains, &chains, err));
    arrange_frames(c, n_chains, chains);
    TRY(verify_loops(c, "framing windows", err));
    if (!share_memory(c, n_chains, chains)) {
        return fail(err, ASSAY_OUT_OF_MEMORY, "no memory to compile");
    }
    TRY(verify_memory(c, n_chains, chains, "sharing memory", err));
    share_scans(c);
    share_scatters(c);
    TRY(verify_loops(c, "sharing out rows", err));
    bool any = false;
    for (int s = 0; s < c->n_steps; s++) {
        any |= c->steps[s].kernel != NULL;
    }
    const char *lacking = NULL, *body = "";
    char *source = c->failed ? NULL : any ? emit_program(c, &body, &lacking) : arena_text(c->memory, "", 0);
    TRY(describe(c, g, out, err));
    out->n_products = c->g.n_products;
    out->n_chains = n_chains;
    out->chains = chains;
    out->body = body;
    out->source = source;
    if (lacking != NULL) {
        return fail(err, ASSAY_UNSUPPORTED, "the compiler has no %s", lacking);
    }
    return out->source == NULL || c->failed ? fail(err, ASSAY_OUT_OF_MEMORY, "no memory to compile") : ASSAY_OK;
}

status compile_graph(arena *memory, const graph *g, const compile_options *options, compiled_program *out, error *err) {
    compile_options own = *options;
    own.n_threads = own.n_threads > 0 ? own.n_threads : 1;
    compiler c = {.memory = memory, .options = &own};
    compiled_program made;
    dag_init(&c.g, memory);
    c.g.own_products = options->own_products;
    c.g.library_products = options->library_products;
    c.g.rounds_factors = options->pairs != PAIRS_WIDENED || (options->variants && options->other_pairs != PAIRS_WIDENED);
    status result = compile(&c, g, &made, err);
    if (result == ASSAY_OK) {
        made.dag_text = dag_print(&c.g, memory);
        *out = made;
    }
    dag_clear(&c.g);
    return result;
}

double compile_step_bytes(const compile_step *s) {
    op_cost cost = {0};
    if (s->n_variants > 0) {
        return s->bytes;
    }
    op_cost_of(s->call, s->out, &cost);
    return cost.bytes;
}

program_traffic compile_traffic(const compiled_program *p, const graph *g) {
    program_traffic t = {0};
    op_cost cost = {0};
    graph_cost(g, &cost);
    t.least_bytes = cost.bytes;
    for (int i = 0; i < p->n_steps; i++) {
        t.n_kernels += p->steps[i].n_variants > 0;
        t.n_calls += p->steps[i].n_variants == 0;
        t.bytes += compile_step_bytes(&p->steps[i]);
    }
    return t;
}

status compile_join(arena *memory, const compiled_program *const *programs, int n, char **source, error *err) {
    text all = {0}, bodies = {0};
    for (int i = 0; i < n; i++) {
        text_add(&bodies, programs[i]->body);
    }
    if (bodies.length > 0) {
        dialect_prelude(&all, text_get(&bodies));
        text_add(&all, "\n");
        text_add(&all, text_get(&bodies));
    }
    char *copy = all.failed || bodies.failed ? NULL : arena_text(memory, text_get(&all), all.length);
    text_clear(&all);
    text_clear(&bodies);
    if (copy == NULL) {
        return fail(err, ASSAY_OUT_OF_MEMORY, "no memory to compile");
    }
    *source = copy;
    return ASSAY_OK;
}
