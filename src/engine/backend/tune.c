/* SPDX-License-Identifier: Apache-2.0 */
/* The auto-tuner. Candidates run in turns and each is judged by its fastest run: what disturbs a run only ever adds time. */
#include "engine/backend/tune.h"

#include "base/file.h"
#include "engine/compile/cache.h"

#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static double now_s(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

/* --- inputs that a run writes ------------------------------------------------------------------------------------------------ */

typedef struct saved_input {
    void *at;
    void *copy;
    size_t size_bytes;
} saved_input;

typedef struct saved_inputs {
    int n, capacity;
    saved_input *items;
} saved_inputs;

static status save_storage(saved_inputs *s, const storage *memory, error *err) {
    for (int i = 0; memory != NULL && i < s->n; i++) {
        if (s->items[i].at == memory->data) {
            return ASSAY_OK;
        }
    }
    if (memory == NULL || memory->size_bytes == 0) {
        return ASSAY_OK;
    }
    void *copy = malloc(memory->size_bytes);
    saved_input *grown = copy != NULL ? realloc(s->items, ((size_t)s->n + 1) * sizeof *grown) : NULL;
    if (grown == NULL) {
        free(copy);
        return fail(err, ASSAY_OUT_OF_MEMORY, "no memory to tune");
    }
    s->items = grown;
    memcpy(copy, memory->data, memory->size_bytes);
    s->items[s->n++] = (saved_input){memory->data, copy, memory->size_bytes};
    return ASSAY_OK;
}

static status save_written(saved_inputs *s, const graph *g, error *err) {
    for (int i = 0; i < g->n_nodes; i++) {
        const op_call *call = &g->nodes[i].call;
        for (int a = 0; a < call->op->signature.n_params; a++) {
            if (call->args[a].kind == ARG_TENSOR && op_writes(call->op, a)) {
                TRY(save_storage(s, call->args[a].tensor->storage, err));
            }
        }
    }
    return ASSAY_OK;
}

static void restore(const saved_inputs *s) {
    for (int i = 0; i < s->n; i++) {
        memcpy(s->items[i].at, s->items[i].copy, s->items[i].size_bytes);
    }
}

static void forget(saved_inputs *s) {
    for (int i = 0; i < s->n; i++) {
        free(s->items[i].copy);
    }
    free(s->items);
}

/* --- candidates in turns ----------------------------------------------------------------------------------------------------- */

enum { MAX_CANDIDATES = 16, ROUNDS = 5 };
/* Of one candidate in one round, and the most that all rounds of one choice may take. */
static const double ROUND_S = 0.0005, CHOICE_S = 0.25;

typedef status candidate_fn(void *self, int candidate, error *err);

/* Seconds of each candidate's fastest run. */
static status race(candidate_fn *run, void *self, int n, double *best_s, error *err) {
    double began = now_s();
    for (int i = 0; i < n; i++) {
        best_s[i] = 1e30;
    }
    for (int round = 0; round < ROUNDS && (round < 2 || now_s() - began < CHOICE_S); round++) {
        for (int i = 0; i < n; i++) {
            double spent = 0;
            for (int k = 0; k < 100 && (k == 0 || spent < ROUND_S); k++) {
                double start = now_s();
                TRY(run(self, i, err));
                double took = now_s() - start;
                spent += took;
                best_s[i] = took < best_s[i] ? took : best_s[i];
            }
        }
    }
    return ASSAY_OK;
}

/* The first, unless another is faster by more than clocks wander. */
static int winner(const double *best_s, int n) {
    int best = 0;
    for (int i = 1; i < n; i++) {
        best = best_s[i] < 0.97 * best_s[best] ? i : best;
    }
    return best;
}

typedef struct step_race {
    compiled_plan *p;
    int step;
    int n_variants;
} step_race;

/* Candidates: each variant with the threads that its work suggests, then each with one thread, then with all. */
static int threads_of(int candidate, int n_variants) {
    int mode = candidate / n_variants;
    return mode == 0 ? 0 : mode == 1 ? 1 : omp_get_max_threads();
}

static status run_candidate(void *self, int candidate, error *err) {
    step_race *r = self;
    compiled_step *s = &r->p->steps[r->step];
    TRY(compiled_use_variant(r->p, r->step, candidate % r->n_variants, err));
    s->threads = threads_of(candidate, r->n_variants);
    return compiled_run_step(r->p, r->step, err);
}

static status tune_step(compiled_plan *p, int step, error *err) {
    const compile_step *described = p->steps[step].described;
    step_race r = {p, step, described->n_variants};
    int modes = omp_get_max_threads() > 1 ? 3 : 1, n = described->n_variants * modes;
    double best_s[MAX_CANDIDATES];
    n = n < MAX_CANDIDATES ? n : MAX_CANDIDATES;
    TRY(race(run_candidate, &r, n, best_s, err));
    int best = winner(best_s, n);
    p->steps[step].threads = threads_of(best, r.n_variants);
    return compiled_use_variant(p, step, best % r.n_variants, err);
}

/* --- the choice, kept -------------------------------------------------------------------------------------------------------- */

/* A file of these, one for each step, and one more whose variant says whether eager was faster. */
typedef struct choice {
    int32_t variant;
    int32_t threads;
} choice;

static cache_key key_of(const compiled_plan *p) {
    static const char version[] = "tune 1";
    int threads = omp_get_max_threads();
    cache_piece pieces[] = {{version, sizeof version},
                            {p->program.source, strlen(p->program.source)},
                            {p->program.dag_text, strlen(p->program.dag_text)},
                            {module_identity(p->code), strlen(module_identity(p->code))},
                            {&threads, sizeof threads}};
    return cache_key_of(pieces, countof(pieces));
}

/* Choices of an earlier run; false when there are none that fit. */
static bool recall(compiled_plan *p, const cache_key *key, bool *eager_wins) {
    char path[4096];
    text bytes = {0};
    bool good = cache_find(key, ".tune", path, sizeof path, NULL) == ASSAY_OK &&
                file_read(path, 1 << 20, &bytes, NULL) == ASSAY_OK &&
                bytes.length >= ((size_t)p->n_steps + 1) * sizeof(choice);
    for (int i = 0; good && i <= p->n_steps; i++) {
        choice c;
        memcpy(&c, bytes.data + (size_t)i * sizeof c, sizeof c);
        if (i == p->n_steps) {
            *eager_wins = c.variant != 0;
        } else if (p->steps[i].kernel != NULL) {
            good = c.variant >= 0 && c.variant < p->steps[i].described->n_variants && c.threads >= 0 &&
                   compiled_use_variant(p, i, c.variant, NULL) == ASSAY_OK;
            p->steps[i].threads = good ? c.threads : 0;
        }
    }
    text_clear(&bytes);
    return good;
}

static void keep(const compiled_plan *p, const cache_key *key, bool eager_wins) {
    choice *all = calloc((size_t)p->n_steps + 1, sizeof *all);
    char path[4096];
    for (int i = 0; all != NULL && i < p->n_steps; i++) {
        all[i] = (choice){p->steps[i].variant, p->steps[i].threads};
    }
    if (all != NULL) {
        all[p->n_steps].variant = eager_wins;
        (void)cache_store(key, ".tune", all, ((size_t)p->n_steps + 1) * sizeof *all, path, sizeof path, NULL);
    }
    free(all);
}

/* --- all of it ---------------------------------------------------------------------------------------------------------------- */

typedef struct whole_race {
    compiled_plan *p;
    plan *eager;
} whole_race;

static status run_whole(void *self, int candidate, error *err) {
    whole_race *r = self;
    return candidate == 0 ? r->p->base.run(&r->p->base, err) : r->eager->run(r->eager, err);
}

static bool has_kernels(const compiled_plan *p) {
    for (int i = 0; i < p->n_steps; i++) {
        if (p->steps[i].kernel != NULL) {
            return true;
        }
    }
    return false;
}

static status tune_fresh(compiled_plan *p, backend *eager, plan **eager_plan, error *err) {
    for (int i = 0; i < p->n_steps; i++) {
        if (p->steps[i].kernel != NULL) {
            TRY(tune_step(p, i, err));
        } else {
            TRY(compiled_run_step(p, i, err)); /* later steps read what it makes */
        }
    }
    plan *other;
    if (eager->prepare(eager, p->g, &other, NULL) != ASSAY_OK) {
        return ASSAY_OK; /* nothing to compare with */
    }
    whole_race r = {p, other};
    double best_s[2];
    status raced = race(run_whole, &r, 2, best_s, err);
    if (raced == ASSAY_OK && winner(best_s, 2) == 1) {
        *eager_plan = other;
    } else {
        other->release(other);
    }
    return raced;
}

static void describe_choice(compiled_plan *p) {
    size_t n = 0;
    for (int i = 0; i < p->n_steps && n < sizeof p->note; i++) {
        const compiled_step *s = &p->steps[i];
        if (s->kernel != NULL) {
            n += (size_t)snprintf(p->note + n, sizeof p->note - n, "%s%s", n > 0 ? ", " : "tuned: ",
                                  s->described->variants[s->variant].name);
            if (s->threads > 0 && n < sizeof p->note) {
                n += (size_t)snprintf(p->note + n, sizeof p->note - n, " on %d", s->threads);
            }
        }
    }
    if (p->eager != NULL) {
        snprintf(p->note, sizeof p->note, "tuned: the eager kernel was faster");
        p->base.is_fallback = true;
    }
    p->base.note = p->note[0] != '\0' ? p->note : p->base.note;
}

status tune_plan(compiled_plan *p, backend *eager, error *err) {
    if (!has_kernels(p)) {
        return ASSAY_OK; /* library calls alone: they are what eager runs */
    }
    cache_key key = key_of(p);
    bool eager_wins = false;
    plan *eager_plan = NULL;
    if (recall(p, &key, &eager_wins)) {
        if (eager_wins) {
            TRY(eager->prepare(eager, p->g, &eager_plan, err));
        }
    } else {
        saved_inputs saved = {0};
        status tuned = save_written(&saved, p->g, err);
        tuned = tuned == ASSAY_OK ? tune_fresh(p, eager, &eager_plan, err) : tuned;
        restore(&saved);
        forget(&saved);
        TRY(tuned);
        keep(p, &key, eager_plan != NULL);
    }
    p->eager = eager_plan;
    describe_choice(p);
    return ASSAY_OK;
}
