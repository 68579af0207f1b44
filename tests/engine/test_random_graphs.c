/* SPDX-License-Identifier: Apache-2.0 */
/* Random programs of operators, compiled and by the eager kernels, against the reference in double. Many graphs make one module, as compiling is what
   takes the time. Each batch runs in a process of its own, so that a kernel that crashes is a failure like another; a graph
   that fails is told by its seed and number, then made as small as it still fails.

     test_random_graphs [--count N] [--seed S] [--first N]      the test: N programs from that number on
     test_random_graphs --show [--count N] [--first N]          the programs themselves
     test_random_graphs --check FILE.graph                      one graph from a file
     --optimised                                                with any of them: as users have them compiled, which takes longer */
#include "base/file.h"
#include "base/process.h"
#include "engine/backend/compiled_plan.h"
#include "engine/graph/exact.h"

#include "engine/kept_inputs.h"
#include "random_lines.h"
#include "shrink_graph.h"

#include <inttypes.h>
#include <stdlib.h>
#include <unistd.h>

enum { BATCH = 100, COUNT = 1000, SEED = 2024, SHOWN = 5, EXIT_DIFFERS = 3, LIMIT = 1 << 20, TIMEOUT_S = 300 };

/* How a batch is compiled; by its number in turns. */
typedef struct manner {
    const char *backend;
    bool variants; /* all kernels that a tuner would choose from */
    int threads;   /* 0: by the work that there is */
    bool streams;  /* all results, as if they were large */
    bool blocks;   /* all products, as if they were large */
    bool cuts;     /* all sums, as if they were of very many terms */
} manner;
static const manner manners[] = {
    {"compiled", false, 0, false, false, false},
    {"compiled", false, 2, false, false, false},
    {"compiled", false, 2, true, false, false},
    {"compiled:nofuse", false, 0, false, false, false},
    {"compiled", true, 2, false, false, false},
    {"compiled", true, 0, true, false, false},
    {"compiled:own-products", false, 2, false, false, false},
    {"compiled:own-products", false, 2, false, true, false},
    {"compiled", false, 2, false, false, true},
    {"compiled", true, 2, true, false, true}};

typedef struct subject {
    arena memory;
    text source;
    graph g;
    exact expected;
    bool is_expected_well;
    plan *p;
    text inputs; /* as filled */
} subject;

static build_purpose purpose = BUILD_TO_TEST;

typedef struct runner {
    op_table *table;
    backend *backends[countof(manners)];
    backend *eager;
} runner;

/* --- one graph ---------------------------------------------------------------------------------------------------------- */

/* Reads the text, fills the inputs, computes what is expected. UNSUPPORTED where the reference cannot. */
static status subject_init(const runner *r, subject *s, uint64_t seed, error *err) {
    TRY(graph_read(&s->memory, r->table, text_get(&s->source), s->source.length, &(bind_options){0}, &s->g, err));
    TRY(graph_allocate(&s->g, &device_cpu, err));
    graph_seed(&s->g, seed);
    TRY(graph_fill(&s->g, seed, err));
    keep_inputs(&s->g, &s->inputs, false);
    return exact_make(&s->memory, &s->g, NULL, 1, &s->expected, err);
}

static void subject_clear(subject *s) {
    if (s->p != NULL) {
        s->p->release(s->p);
    }
    graph_clear(&s->g);
    text_clear(&s->inputs);
    text_clear(&s->source);
    arena_clear(&s->memory);
    *s = (subject){0};
}

static bool is_an_input(const subject *s, const tensor *t) {
    for (int i = 0; i < s->g.n_inputs; i++) {
        if (s->g.inputs[i].value->storage == t->storage) {
            return true;
        }
    }
    return false;
}

static void poison(subject *s) {
    for (int i = 0; i < s->g.n_outputs; i++) {
        tensor t;
        if (s->p->output(s->p, i, &t, NULL) == ASSAY_OK) {
            if (t.storage != NULL && !is_an_input(s, &t)) {
                agree_poison(&t);
            }
            tensor_clear(&t);
        }
    }
}

static status gather(subject *s, outputs *actual, error *err) {
    for (int i = 0; i < s->g.n_outputs; i++) {
        tensor *t = NULL;
        TRY(outputs_next(actual, &t, err));
        TRY(s->p->output(s->p, i, t, err));
    }
    return ASSAY_OK;
}

static status compare_with(const subject *s, const exact *expected, const outputs *actual, const char *by, error *err) {
    for (int i = 0; i < s->g.n_outputs; i++) {
        const tensor *t = &actual->items[i];
        char is[TENSOR_TEXT_BYTES], was[TENSOR_TEXT_BYTES];
        agreement a;
        if (!tensor_same_sizes(t, s->g.outputs[i]) || !tensor_same_strides(t, s->g.outputs[i])) {
            return fail(err, ASSAY_INTERNAL, "%s: output %d is %s, expected %s", by, i, tensor_describe(is, t),
                        tensor_describe(was, s->g.outputs[i]));
        }
        exact_compare(expected, i, t, &a);
        if (!a.agrees) {
            return fail(err, ASSAY_INTERNAL, "%s: output %d is %.9g at %lld, expected %.9g (tolerance %.3g)", by, i, a.actual_at_worst,
                        (long long)a.worst, a.expected_at_worst, a.tolerance_at_worst);
        }
    }
    return ASSAY_OK;
}

/* With what was drawn, and with the choices that calls leave open, as these outputs show them. Inputs stand as they were filled. */
static status compare_as_taken(const subject *s, const outputs *taken, bool well, const char *by, error *err) {
    arena memory = {0};
    exact expected;
    status result = (well ? exact_make_well : exact_make)(&memory, &s->g, taken->items, 1, &expected, err);
    result = result == ASSAY_OK ? compare_with(s, &expected, taken, by, err) : result;
    arena_clear(&memory);
    return result;
}

static status compare_taken(subject *s, const outputs *actual, const char *by, error *err) {
    outputs copies;
    outputs_init(&copies);
    status result = graph_copy_outputs(&s->g, actual->items, &copies, err);
    if (result == ASSAY_OK) {
        keep_inputs(&s->g, &s->inputs, true);
        result = compare_as_taken(s, &copies, false, by, err);
        result = result == ASSAY_INTERNAL ? compare_as_taken(s, &copies, true, by, err) : result;
    }
    outputs_clear(&copies);
    return result;
}

/* A few samples may miss what rounding does: many are drawn before it is called a difference. */
static status compare_well(subject *s, const outputs *actual, const char *by, error *err) {
    if (!s->is_expected_well) {
        text written = {0};
        keep_inputs(&s->g, &written, false);
        keep_inputs(&s->g, &s->inputs, true);
        status result = exact_make_well(&s->memory, &s->g, NULL, 1, &s->expected, err);
        keep_inputs(&s->g, &written, true);
        text_clear(&written);
        s->is_expected_well = true;
        TRY(result);
    }
    return compare_with(s, &s->expected, actual, by, err);
}

/* The inputs are restored after. */
static status compare(subject *s, const char *by, error *err) {
    outputs actual;
    outputs_init(&actual);
    status result = gather(s, &actual, err);
    result = result == ASSAY_OK ? compare_with(s, &s->expected, &actual, by, err) : result;
    result = result == ASSAY_INTERNAL ? compare_well(s, &actual, by, err) : result;
    if (graph_is_random(&s->g) ? result == ASSAY_OK : result == ASSAY_INTERNAL && graph_is_open(&s->g)) {
        result = compare_taken(s, &actual, by, err);
    }
    keep_inputs(&s->g, &s->inputs, true);
    outputs_clear(&actual);
    return result;
}

/* The backend and what is unlike what users run. */
static void describe_manner(const manner *how, int run, char *out, size_t size_bytes) {
    char threads[24] = "";
    if (how->threads > 0) {
        snprintf(threads, sizeof threads, ", on %d threads", how->threads);
    }
    snprintf(out, size_bytes, "%s, run %d%s%s%s%s%s", how->backend, run, how->variants ? " of other kernels" : "", threads,
             how->streams ? ", all past the caches" : "", how->blocks ? ", all products by blocks" : "", how->cuts ? ", all sums cut" : "");
}

/* Runs the plan, with each step's kernels in turn. */
static status run_plan(subject *s, const manner *how, error *err) {
    compiled_plan *p = (compiled_plan *)s->p;
    int runs = how->variants ? 4 : 2; /* a second run says the same */
    for (int run = 0; run < runs; run++) {
        for (int i = 0; i < p->n_steps; i++) {
            p->steps[i].threads = how->threads;
            if (p->steps[i].described->n_variants > 0) {
                TRY(compiled_use_variant(p, i, run % p->steps[i].described->n_variants, err));
            }
        }
        poison(s);
        TRY(s->p->run(s->p, err));
        char by[160];
        describe_manner(how, run, by, sizeof by);
        TRY(compare(s, by, err));
    }
    return ASSAY_OK;
}

/* Prepares it alone and runs it, in one manner. */
static status check_alone(const runner *r, subject *s, size_t how, error *err) {
    const graph *g = &s->g;
    TRY(compiled_prepare_many(r->backends[how], &g, 1, purpose, &s->p, err));
    status result = run_plan(s, &manners[how], err);
    s->p->release(s->p);
    s->p = NULL;
    return result;
}

/* The hand-written kernels: twice as well. */
static status check_eager(const runner *r, subject *s, error *err) {
    status result = r->eager->prepare(r->eager, &s->g, &s->p, err);
    for (int run = 0; run < 2 && result == ASSAY_OK; run++) {
        poison(s);
        result = s->p->run(s->p, err);
        result = result == ASSAY_OK ? compare(s, "eager", err) : result;
    }
    if (s->p != NULL) {
        s->p->release(s->p);
        s->p = NULL;
    }
    return result;
}

static void open_runner(runner *r) {
    error err = {0};
    status result = op_table_new(&r->table, &err);
    result = result == ASSAY_OK ? backend_eager_open(r->table, &r->eager, &err) : result;
    for (size_t i = 0; result == ASSAY_OK && i < countof(manners); i++) {
        result = backend_compiled_open(r->table, manners[i].backend, &r->backends[i], &err);
        if (result == ASSAY_OK) {
            ((compiled_backend *)r->backends[i])->options.variants = manners[i].variants;
            ((compiled_backend *)r->backends[i])->options.streams_all = manners[i].streams;
            ((compiled_backend *)r->backends[i])->options.blocks_all = manners[i].blocks;
            ((compiled_backend *)r->backends[i])->options.pieces_all = manners[i].streams;
            ((compiled_backend *)r->backends[i])->options.cuts_sums = manners[i].cuts;
        }
    }
    if (result != ASSAY_OK) {
        fprintf(stderr, "%s\n", err.message);
        exit(1);
    }
}

static void close_runner(runner *r) {
    for (size_t i = 0; i < countof(manners); i++) {
        r->backends[i]->close(r->backends[i]);
    }
    r->eager->close(r->eager);
    op_table_free(r->table);
}

/* --- in a process of its own -------------------------------------------------------------------------------------------- */

/* A graph from a file in every manner. 0, or EXIT_DIFFERS when one is wrong. */
static int check_file(const runner *r, const char *path) {
    subject s = {0};
    error err = {0};
    int code = 0;
    status result = file_read(path, LIMIT, &s.source, &err);
    result = result == ASSAY_OK ? subject_init(r, &s, 7, &err) : result;
    if (result != ASSAY_OK) {
        fprintf(stderr, "%s\n", err.message);
        subject_clear(&s);
        return result == ASSAY_UNSUPPORTED ? 0 : 1;
    }
    for (size_t how = 0; how < countof(manners) && code == 0; how++) {
        if (check_alone(r, &s, how, &err) != ASSAY_OK) {
            fprintf(stderr, "%s\n", err.message);
            code = EXIT_DIFFERS;
        }
    }
    result = check_eager(r, &s, &err);
    if (code != 0 || result != ASSAY_OK) {
        fprintf(stderr, "%s\n", result == ASSAY_OK ? "eager agrees" : err.message);
        code = result == ASSAY_UNSUPPORTED ? code : EXIT_DIFFERS;
    }
    subject_clear(&s);
    return code;
}

/* The programs from `first` on, one module of them all. 0 when all agree. */
static int check_batch(const runner *r, uint64_t seed, int64_t first, int64_t count) {
    subject *subjects = calloc((size_t)count, sizeof *subjects);
    const graph **graphs = calloc((size_t)count, sizeof *graphs);
    plan **plans = calloc((size_t)count, sizeof *plans);
    int64_t n = 0;
    int code = 0;
    error err = {0};
    const size_t how = (size_t)(first / BATCH) % countof(manners);
    for (int64_t i = 0; i < count; i++) {
        subject *s = &subjects[n];
        random_graph(r->table, seed, (uint64_t)(first + i), &s->source);
        status result = subject_init(r, s, 7, &err);
        graphs[n] = &s->g;
        if (result == ASSAY_OK) {
            n++;
        } else {
            code = result == ASSAY_UNSUPPORTED ? code : EXIT_DIFFERS;
            fprintf(stderr, "%" PRId64 ": %s\n%s", first + i, err.message, text_get(&s->source));
            subject_clear(s);
        }
    }
    if (code == 0 && compiled_prepare_many(r->backends[how], graphs, (int)n, purpose, plans, &err) != ASSAY_OK) {
        fprintf(stderr, "%s\n", err.message);
        code = EXIT_DIFFERS;
    }
    for (int64_t i = 0; code == 0 && i < n; i++) {
        subjects[i].p = plans[i];
        status result = run_plan(&subjects[i], &manners[how], &err);
        plans[i]->release(plans[i]);
        subjects[i].p = NULL;
        result = result == ASSAY_OK ? check_eager(r, &subjects[i], &err) : result;
        if (result != ASSAY_OK && result != ASSAY_UNSUPPORTED) {
            fprintf(stderr, "%s\n%s", err.message, text_get(&subjects[i].source));
            code = EXIT_DIFFERS;
        }
    }
    for (int64_t i = 0; i < n; i++) {
        subject_clear(&subjects[i]);
    }
    printf("%" PRId64 " compared\n", n);
    free(subjects);
    free(graphs);
    free(plans);
    return code;
}

/* --- over them ---------------------------------------------------------------------------------------------------------- */

/* This program with these arguments: how it ended, and what it said. */
static int run_self(const char *const *arguments, text *said) {
    process_result result;
    error err = {0};
    const char *all[12] = {"/proc/self/exe"};
    int n = 1;
    for (int i = 0; arguments[i] != NULL; i++) {
        all[n++] = arguments[i];
    }
    all[n] = purpose == BUILD_TO_TRY ? "--optimised" : NULL;
    status ran = process_run(all, NULL, TIMEOUT_S, LIMIT, &result, &err);
    if (ran != ASSAY_OK) {
        text_addf(said, "%s\n", err.message);
        return EXIT_DIFFERS;
    }
    text_add(said, text_get(&result.errors));
    if (result.signal != 0) {
        text_addf(said, "ended by signal %d\n", result.signal);
    }
    int code = result.signal != 0 ? EXIT_DIFFERS : result.exit_code;
    process_result_clear(&result);
    return code;
}

typedef struct candidate_file {
    char path[256];
    text said; /* about the last one that failed */
} candidate_file;

static bool file_fails(void *self, const char *source) {
    candidate_file *f = self;
    text said = {0};
    error err = {0};
    if (file_write(f->path, source, strlen(source), &err) != ASSAY_OK) {
        fprintf(stderr, "%s\n", err.message);
        return false;
    }
    bool fails = run_self((const char *const[]){"--check", f->path, NULL}, &said) == EXIT_DIFFERS;
    if (fails) {
        text_reset(&f->said);
        text_add(&f->said, text_get(&said));
    }
    text_clear(&said);
    return fails;
}

/* Tells of program `index`, and shrinks it; false when it is well on its own. */
static bool report(const op_table *table, uint64_t seed, int64_t index) {
    const char *base = getenv("TMPDIR");
    candidate_file f = {0};
    text source = {0};
    snprintf(f.path, sizeof f.path, "%s/assay-random-%d.graph", base != NULL && base[0] != '\0' ? base : "/tmp", (int)getpid());
    random_graph(table, seed, (uint64_t)index, &source);
    bool fails = file_fails(&f, text_get(&source));
    if (fails) {
        shrinker s = {.table = table, .fails = file_fails, .self = &f};
        fprintf(stderr, "--- seed %" PRIu64 ", program %" PRId64 " fails: --seed %" PRIu64 " --first %" PRId64 " --count 1\n%s%s", seed,
                index, seed, index, text_get(&f.said), text_get(&source));
        shrink_graph(&s, text_get(&source));
        fprintf(stderr, "--- made smaller:\n%s%s", text_get(&s.best), text_get(&f.said));
        text_clear(&s.best);
    }
    unlink(f.path);
    text_clear(&f.said);
    text_clear(&source);
    return fails;
}

/* The programs of a batch that failed, one by one; how many fail. */
static int find_failures(const op_table *table, uint64_t seed, int64_t first, int64_t count, const char *said, int shown) {
    int failures = 0;
    for (int64_t i = first; i < first + count && shown + failures < SHOWN; i++) {
        failures += report(table, seed, i);
    }
    if (failures == 0) {
        fprintf(stderr, "--- seed %" PRIu64 ", programs %" PRId64 " to %" PRId64 " fail, though none does alone:\n%s", seed, first,
                first + count - 1, said);
    }
    return failures > 0 ? failures : 1;
}

static int run_all(const op_table *table, uint64_t seed, int64_t first, int64_t count) {
    int failures = 0;
    for (int64_t done = 0; done < count && failures < SHOWN;) {
        char texts[3][32];
        text said = {0};
        int64_t at = first + done, n = BATCH - at % BATCH; /* a program is always in the same batch */
        n = n < count - done ? n : count - done;
        snprintf(texts[0], sizeof texts[0], "%" PRIu64, seed);
        snprintf(texts[1], sizeof texts[1], "%" PRId64, at);
        snprintf(texts[2], sizeof texts[2], "%" PRId64, n);
        const char *const arguments[] = {"--batch", "--seed", texts[0], "--first", texts[1], "--count", texts[2], NULL};
        if (run_self(arguments, &said) != 0) {
            failures += find_failures(table, seed, at, n, text_get(&said), failures);
        }
        text_clear(&said);
        done += n;
    }
    fprintf(stderr, "seed %" PRIu64 ", programs %" PRId64 " to %" PRId64 ": %s\n", seed, first, first + count - 1,
            failures == 0 ? "all agree with the reference" : failures < SHOWN ? "some fail" : "stopped after these failures");
    return failures == 0 ? 0 : 1;
}

int main(int argc, char **argv) {
    int64_t numbers[] = {SEED, 0, COUNT};
    static const char *const names[] = {"--seed", "--first", "--count"};
    const char *file = NULL;
    bool batch = false, show = false, good = true;
    for (int i = 1; i < argc; i++) {
        bool known = false;
        for (size_t k = 0; k < countof(names) && i + 1 < argc && !known; k++) {
            if (strcmp(argv[i], names[k]) == 0) {
                char *end;
                numbers[k] = strtoll(argv[++i], &end, 10);
                known = *end == '\0' && numbers[k] >= 0;
            }
        }
        if (!known && (strcmp(argv[i], "--batch") == 0 || strcmp(argv[i], "--show") == 0)) {
            *(argv[i][2] == 'b' ? &batch : &show) = true;
            known = true;
        }
        if (!known && strcmp(argv[i], "--optimised") == 0) {
            purpose = BUILD_TO_TRY;
            known = true;
        }
        if (!known && strcmp(argv[i], "--check") == 0 && i + 1 < argc) {
            file = argv[++i];
            known = true;
        }
        good &= known;
    }
    if (!good) {
        fprintf(stderr, "usage: %s [--optimised] [--count N] [--seed S] [--first N] [--show] | --check FILE.graph\n", argv[0]);
        return 2;
    }
    runner r = {0};
    open_runner(&r);
    int code = 0;
    for (int64_t i = 0; show && i < numbers[2]; i++) {
        text source = {0};
        random_graph(r.table, (uint64_t)numbers[0], (uint64_t)(numbers[1] + i), &source);
        fputs(text_get(&source), stdout);
        text_clear(&source);
    }
    if (!show) {
        code = file != NULL ? check_file(&r, file)
               : batch      ? check_batch(&r, (uint64_t)numbers[0], numbers[1], numbers[2])
                            : run_all(r.table, (uint64_t)numbers[0], numbers[1], numbers[2]);
    }
    close_runner(&r);
    return code;
}
