/* SPDX-License-Identifier: Apache-2.0 */
/* The auto-tuner: races candidates, first of each step, then of the whole. */
#include "engine/backend/tune.h"

#include "engine/backend/compiled_plan.h"
#include "engine/backend/race.h"
#include "engine/backend/tune_kept.h"
#include "engine/kernels/cpu/parallel.h"

#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_CANDIDATES = 16, ROUNDS = 5, ROUNDS_OF_WHOLE = 15 }; /* the last choice decides most, among few */

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

static status tune_step(compiled_plan *p, int step, const saved_inputs *saved, error *err) {
    const compile_step *described = p->steps[step].described;
    step_race r = {p, step, described->n_variants};
    int modes = omp_get_max_threads() > 1 ? 3 : 1, n = described->n_variants * modes;
    double best_s[MAX_CANDIDATES];
    n = n < MAX_CANDIDATES ? n : MAX_CANDIDATES;
    TRY(race_all(run_candidate, &r, n, 1, ROUNDS, saved, best_s, err));
    int best = race_winner(best_s, n);
    p->steps[step].threads = threads_of(best, r.n_variants);
    p->steps[step].best_s = best_s[best];
    return compiled_use_variant(p, step, best % r.n_variants, err);
}

/* --- all of it ---------------------------------------------------------------------------------------------------------------- */

/* What runs a step. */
typedef struct step_setting {
    compiled_kernel_fn *kernel;
    int64_t n_tasks;
    int variant, threads;
} step_setting;

enum { MOST_WHOLE = 3 * COMPUTERS };

typedef struct whole_race {
    plan *plans[COMPUTERS]; /* NULL: not in the race */
    settled of[MOST_WHOLE];
    int n;
    step_setting *tuned[COMPUTERS], *untuned[COMPUTERS]; /* of their steps; NULL for eager's */
    double began_s;
    bool is_open; /* as race_finals says */
} whole_race;

static void get_settings(const compiled_plan *p, step_setting *out) {
    for (int i = 0; i < p->n_steps; i++) {
        const compiled_step *s = &p->steps[i];
        out[i] = (step_setting){s->kernel, s->n_tasks, s->variant, s->threads};
    }
}

static void use_settings(compiled_plan *p, const step_setting *of) {
    for (int i = 0; i < p->n_steps; i++) {
        compiled_step *s = &p->steps[i];
        s->kernel = of[i].kernel;
        s->n_tasks = of[i].n_tasks;
        s->variant = of[i].variant;
        s->threads = of[i].threads;
    }
}

static void use_settled(const whole_race *r, const settled *who) {
    if (who->by == BY_EAGER) {
        return;
    }
    compiled_plan *p = (compiled_plan *)r->plans[who->by];
    p->whole = who->whole;
    use_settings(p, who->untuned ? r->untuned[who->by] : r->tuned[who->by]);
}

static status run_whole(void *self, int candidate, error *err) {
    whole_race *r = self;
    const settled *who = &r->of[candidate];
    use_settled(r, who);
    return r->plans[who->by]->run(r->plans[who->by], err);
}

static bool has_kernels(const compiled_plan *p) {
    for (int i = 0; i < p->n_steps; i++) {
        if (p->steps[i].kernel != NULL) {
            return true;
        }
    }
    return false;
}

/* A library call is run a few times: later steps read what it makes, and its time is compared. */
static status time_call(compiled_plan *p, int step, const saved_inputs *saved, error *err) {
    enum { RUNS = 4 };
    p->steps[step].best_s = 1e30;
    for (int i = 0; i < RUNS; i++) {
        race_restore(saved);
        double start = race_now_s();
        TRY(compiled_run_step(p, step, err));
        double took = race_now_s() - start;
        p->steps[step].best_s = took < p->steps[step].best_s ? took : p->steps[step].best_s;
    }
    return ASSAY_OK;
}

/* What a step changes by running, as it is now: another run of it finds the same. */
static status save_rewritten(saved_inputs *s, const compiled_plan *p, int step, error *err) {
    const compile_step *described = p->steps[step].described;
    for (int i = 0; i < described->n_rewritten; i++) {
        TRY(race_save_storage(s, p->tensors[described->rewritten[i]].storage, err));
    }
    return ASSAY_OK;
}

/* Every step's kernel and threads. Each step finds what those before it have left, run once each, and leaves what one run of its
   own does. */
static status tune_steps(compiled_plan *p, const saved_inputs *saved, error *err) {
    status result = ASSAY_OK;
    race_restore(saved);
    for (int i = 0; i < p->n_steps && result == ASSAY_OK; i++) {
        saved_inputs own = {0};
        result = save_rewritten(&own, p, i, err);
        if (result == ASSAY_OK) {
            result = p->steps[i].kernel != NULL ? tune_step(p, i, &own, err) : time_call(p, i, &own, err);
        }
        if (result == ASSAY_OK && own.n > 0) {
            race_restore(&own);
            result = compiled_run_step(p, i, err);
        }
        race_forget(&own);
    }
    return result;
}

/* The same graph with its matrix products as kernels but for some; NULL when there are none. */
static status with_own_products(compiled_backend *b, const compiled_plan *p, uint32_t library_products, compiled_plan **out,
                                error *err) {
    *out = NULL;
    if (p->program.n_products == 0) {
        return ASSAY_OK;
    }
    compile_options options = b->options;
    options.own_products = true;
    options.library_products = library_products;
    compiled_plan *own;
    TRY(compiled_prepare(b, p->g, &options, &own, err));
    if (strcmp(own->program.dag_text, p->program.dag_text) == 0) {
        own->base.release(&own->base);
        return ASSAY_OK;
    }
    *out = own;
    return ASSAY_OK;
}

static double seconds_of_product(const compiled_plan *p, int product) {
    double sum = 0;
    for (int i = 0; i < p->n_steps; i++) {
        sum += p->steps[i].described->product == product ? p->steps[i].best_s : 0;
    }
    return sum;
}

/* The products that the library computes much faster, although kernels of one's own do more than the product. */
static uint32_t better_by_library(const compiled_plan *library, const compiled_plan *own) {
    static const double MUCH = 1.2;
    uint32_t set = 0;
    int n = 0;
    for (int i = 0; i < own->program.n_products; i++) {
        bool better = seconds_of_product(own, i) > MUCH * seconds_of_product(library, i);
        set |= better ? (uint32_t)1 << i : 0;
        n += better;
    }
    return n < own->program.n_products ? set : 0;
}

/* The plan that wins stays; the others go. */
static void settle(compiled_plan *p, whole_race *r, const settled *who) {
    for (int i = 1; i < COMPUTERS; i++) {
        if (r->plans[i] != NULL && i != (int)who->by) {
            r->plans[i]->release(r->plans[i]);
        }
    }
    use_settled(r, who);
    p->instead = who->by == BY_PLAN ? NULL : r->plans[who->by];
}

static void add_whole(whole_race *r, settled who) {
    r->of[r->n++] = who;
}

/* Whether what it is faster by may be another program's doing, which keeps a core busy, or the cache that processors share: one of its
   steps runs on fewer threads than its work suggests, or sends its results past the caches where the compiler would not, or the other
   way round. */
static bool hangs_on_others(const whole_race *r, const settled *who) {
    const compiled_plan *p = (const compiled_plan *)r->plans[who->by];
    for (int i = 0; who->by != BY_EAGER && !who->untuned && i < p->n_steps; i++) {
        const step_setting *chosen = &r->tuned[who->by][i];
        const compile_step *described = p->steps[i].described;
        if (p->steps[i].kernel != NULL && (described->variants[chosen->variant].other_stores ||
                                           (chosen->threads > 0 && chosen->threads < parallel_threads(compiled_work(described))))) {
            return true;
        }
    }
    return false;
}

/* Before such a one is asked again, of what tuning has taken so far: a core that another program or virtual machine has taken is mostly
   back after some 40 ms. */
static const double REST = 0.15, MOST_REST_S = 0.2;

/* What a race of few runs found is one run's luck where others keep a core busy. So eager's kernels, what the compiler would
   have run untuned and the fastest of each other who computes run once more; in this order, since each stays unless a later one
   is faster beyond doubt. */
static status confirm(whole_race *r, const double *best_s, const saved_inputs *saved, int *best, error *err) {
    _Static_assert((int)RACE_FINALISTS > (int)COMPUTERS, "each of them and the untuned plan");
    int who[RACE_FINALISTS], n = 0, first = 0;
    bool doubted[RACE_FINALISTS];
    for (int rank = 0; rank < 3; rank++) {
        for (int i = 0; i < r->n; i++) {
            bool fastest = true, untuned = r->of[i].untuned && r->of[i].by == BY_PLAN;
            for (int k = 0; k < r->n; k++) {
                fastest &= r->of[k].by != r->of[i].by || best_s[i] < best_s[k] || (best_s[i] == best_s[k] && i <= k);
            }
            int its = r->of[i].by == BY_EAGER ? 0 : untuned ? 1 : 2;
            if (its == rank && (fastest || untuned)) {
                doubted[n] = hangs_on_others(r, &r->of[i]);
                who[n++] = i;
            }
        }
    }
    double spent = race_now_s() - r->began_s;
    TRY(race_finals(run_whole, r, who, doubted, n, spent < MOST_REST_S / REST ? REST * spent : MOST_REST_S, saved, &first, &r->is_open, err));
    *best = who[first];
    return ASSAY_OK;
}

/* A plan whose tuned steps are the compiler's own choice is not in the race twice. */
static bool is_as_untuned(const whole_race *r, computer by) {
    const compiled_plan *p = (const compiled_plan *)r->plans[by];
    for (int i = 0; i < p->n_steps; i++) {
        const step_setting *a = &r->tuned[by][i], *b = &r->untuned[by][i];
        if (a->kernel != b->kernel || a->threads != b->threads) {
            return false;
        }
    }
    return true;
}

static status race_whole(whole_race *r, uint32_t library_products, const saved_inputs *saved, settled *wins, error *err) {
    double best_s[MOST_WHOLE];
    for (int i = COMPUTERS - 1; i >= 0; i--) { /* eager's first: a tie is not worth a second way of computing the same */
        bool has_chains = r->plans[i] != NULL && i != BY_EAGER && ((compiled_plan *)r->plans[i])->program.n_chains > 0;
        for (int whole = 0; r->plans[i] != NULL && whole <= has_chains; whole++) {
            add_whole(r, (settled){.by = (computer)i, .whole = whole == 1, .library_products = i == BY_SOME_OWN ? library_products : 0});
        }
    }
    for (int i = BY_EAGER - 1; i >= 0; i--) {
        if (r->plans[i] != NULL && (i == BY_PLAN || !is_as_untuned(r, (computer)i))) {
            add_whole(r, (settled){.by = (computer)i, .untuned = true, .library_products = i == BY_SOME_OWN ? library_products : 0});
        }
    }
    TRY(race_all(run_whole, r, r->n, r->n, ROUNDS_OF_WHOLE, saved, best_s, err));
    int best = race_winner(best_s, r->n);
    TRY(confirm(r, best_s, saved, &best, err));
    *wins = r->of[best];
    wins->is_open = r->is_open;
    return ASSAY_OK;
}

/* Room for the settings of a plan's steps, tuned and untuned. */
static status make_settings(compiled_plan *p, whole_race *r, computer as, error *err) {
    step_setting *settings = arena_make(&p->memory, 2 * (size_t)p->n_steps, sizeof *settings);
    if (settings == NULL) {
        return fail(err, ASSAY_OUT_OF_MEMORY, "no memory to tune");
    }
    r->untuned[as] = settings;
    r->tuned[as] = settings + p->n_steps;
    return ASSAY_OK;
}

/* The steps' settings, as they are and as tuning makes them. */
static status tune_with_settings(compiled_plan *p, const saved_inputs *saved, whole_race *r, computer as, error *err) {
    TRY(make_settings(p, r, as, err));
    get_settings(p, r->untuned[as]);
    status result = tune_steps(p, saved, err);
    get_settings(p, r->tuned[as]);
    return result;
}

/* A plan with products of its own but for some, tuned, into the race. One that cannot be built, or does not run, is not in it:
   the plan at hand is as good as it was. */
static compiled_plan *add_own(compiled_backend *b, const compiled_plan *p, whole_race *r, computer as, uint32_t library_products,
                              const saved_inputs *saved) {
    compiled_plan *own = NULL;
    if (with_own_products(b, p, library_products, &own, NULL) != ASSAY_OK || own == NULL) {
        return NULL;
    }
    if (tune_with_settings(own, saved, r, as, NULL) != ASSAY_OK) {
        own->base.release(&own->base);
        return NULL;
    }
    r->plans[as] = &own->base;
    return own;
}

static status tune_into(compiled_backend *b, compiled_plan *p, const saved_inputs *saved, whole_race *r, settled *wins, error *err) {
    status result = tune_with_settings(p, saved, r, BY_PLAN, err);
    if (result == ASSAY_OK) {
        const compiled_plan *own = add_own(b, p, r, BY_OWN_PRODUCTS, 0, saved);
        uint32_t library_products = own != NULL ? better_by_library(p, own) : 0;
        if (library_products != 0) {
            (void)add_own(b, p, r, BY_SOME_OWN, library_products, saved);
        }
        (void)compiled_prepare_eager(b, p->g, &r->plans[BY_EAGER], NULL); /* without one there is less to compare with */
        result = race_whole(r, library_products, saved, wins, err);
    }
    if (r->untuned[BY_PLAN] == NULL) {
        return result; /* nothing has been changed */
    }
    settle(p, r, result == ASSAY_OK ? wins : &(settled){.untuned = true});
    if (result == ASSAY_OK && (wins->by == BY_OWN_PRODUCTS || wins->by == BY_SOME_OWN)) {
        compiled_plan *own = (compiled_plan *)p->instead;
        tune_keep(own, &(settled){0});
    }
    return result;
}

/* p's outputs, for the plans it is compared with: where results lie is then the same for all. Not where two outputs share one
   memory, which another plan may need twice. */
static status share_outputs(output_memory *m, const compiled_plan *p, error *err) {
    TRY(output_memory_init(m, p->g, err));
    for (int i = 0; i < p->g->n_outputs; i++) {
        const tensor *made = p->g->outputs[i];
        int at = p->program.output_buffers[i];
        if (at >= 0 && made->storage == NULL && made->sparse == NULL) {
            output_memory_adopt(m, i, &p->tensors[at]);
        }
    }
    return ASSAY_OK;
}

static status tune_in_shared_memory(compiled_backend *b, compiled_plan *p, const saved_inputs *saved, whole_race *r, settled *wins,
                                    error *err) {
    if (b->base.outputs != NULL) {
        return tune_into(b, p, saved, r, wins, err);
    }
    output_memory shared = {0};
    status result = share_outputs(&shared, p, err);
    if (result == ASSAY_OK) {
        b->base.outputs = &shared;
        result = tune_into(b, p, saved, r, wins, err);
        b->base.outputs = NULL;
    }
    output_memory_clear(&shared);
    return result;
}

static status tune_fresh(compiled_backend *b, compiled_plan *p, const saved_inputs *saved, settled *wins, error *err) {
    whole_race r = {.plans = {[BY_PLAN] = &p->base}, .began_s = race_now_s()};
    return tune_in_shared_memory(b, p, saved, &r, wins, err);
}

/* What an earlier run found: the plans are made, nothing is run. The plan at hand stays where another cannot be made. */
static status settle_as_before(compiled_backend *b, compiled_plan *p, const settled *who, error *err) {
    p->whole = who->by == BY_PLAN && who->whole;
    if (who->by == BY_EAGER) {
        return compiled_prepare_eager(b, p->g, &p->instead, err);
    }
    if (who->by != BY_PLAN) {
        compiled_plan *own = NULL;
        settled itself;
        if (with_own_products(b, p, who->library_products, &own, NULL) == ASSAY_OK && own != NULL) {
            (void)tune_recall(own, &itself);
            own->whole = who->whole;
            p->instead = &own->base;
        }
    }
    return ASSAY_OK;
}

/* Every step as the compiler would have it. */
static status use_untuned(compiled_plan *p, error *err) {
    for (int i = 0; i < p->n_steps; i++) {
        p->steps[i].threads = 0;
        TRY(p->steps[i].kernel != NULL ? compiled_use_variant(p, i, 0, err) : ASSAY_OK);
    }
    return ASSAY_OK;
}

/* The last race of a choice that an earlier run found, against the untuned plan. A race that fails decides nothing. */
static void race_again(compiled_plan *p, whole_race *r, const saved_inputs *saved, settled *who) {
    int best = 1;
    add_whole(r, (settled){.untuned = true});
    add_whole(r, *who);
    status result = use_untuned(p, NULL);
    get_settings(p, r->untuned[BY_PLAN]);
    race_restore(saved);
    result = result == ASSAY_OK ? run_whole(r, 0, NULL) : result; /* its memory is touched for the first time */
    result = result == ASSAY_OK ? race_finals(run_whole, r, (int[]){0, 1}, (bool[]){false, true}, 2, 0, saved, &best, &r->is_open, NULL) : result;
    *who = r->of[result == ASSAY_OK ? best : 1];
    use_settled(r, who);
    race_restore(saved);
}

/* What an earlier run found and others may have decided then is asked again: they may be gone. */
static status ask_again(compiled_plan *p, settled *who, error *err) {
    whole_race r = {.plans = {[BY_PLAN] = &p->base}};
    TRY(make_settings(p, &r, BY_PLAN, err));
    get_settings(p, r.tuned[BY_PLAN]);
    saved_inputs saved = {0};
    if (hangs_on_others(&r, who) && race_save(&saved, p->g, NULL) == ASSAY_OK) {
        race_again(p, &r, &saved, who);
    }
    race_forget(&saved);
    return ASSAY_OK;
}

/* Tuning has failed: the plan as the compiler made it, if that runs. */
static status stay_untuned(compiled_plan *p, const saved_inputs *saved, status failed) {
    if (use_untuned(p, NULL) != ASSAY_OK) {
        return failed;
    }
    race_restore(saved);
    return p->base.run(&p->base, NULL) == ASSAY_OK ? ASSAY_OK : failed;
}

/* The note lies in the plan that runs. */
static void describe_choice(compiled_plan *p, const settled *who) {
    static const char *const by_whom[BY_EAGER] = {"", "products of its own; ", "some products of its own; "};
    if (who->by == BY_EAGER) {
        p->base.is_fallback = true;
        p->base.note = "tuned: the eager kernels were faster";
        return;
    }
    compiled_plan *by = p->instead != NULL ? (compiled_plan *)p->instead : p;
    size_t n = (size_t)snprintf(by->note, sizeof by->note, "tuned: %s%s", by_whom[p->instead != NULL ? who->by : BY_PLAN], who->whole ? "step by step; " : "");
    bool any = false;
    for (int i = 0; i < by->n_steps && n < sizeof by->note; i++) {
        const compiled_step *s = &by->steps[i];
        if (s->kernel != NULL) {
            n += (size_t)snprintf(by->note + n, sizeof by->note - n, "%s%s", any ? ", " : "",
                                  s->described->variants[s->variant].name);
            any = true;
            if (s->threads > 0 && n < sizeof by->note) {
                n += (size_t)snprintf(by->note + n, sizeof by->note - n, " on %d", s->threads);
            }
        }
    }
    p->base.note = by->note;
}

status tune_plan(compiled_backend *b, compiled_plan *p, error *err) {
    if (p->n_steps == 0 || (!has_kernels(p) && p->program.is_fallback)) {
        return ASSAY_OK; /* nothing to choose from */
    }
    settled wins = {0};
    if (tune_recall(p, &wins)) {
        TRY(settle_as_before(b, p, &wins, err));
        TRY(wins.by == BY_PLAN ? ask_again(p, &wins, err) : ASSAY_OK);
    } else {
        saved_inputs saved = {0};
        status tuned = race_save(&saved, p->g, err);
        tuned = tuned == ASSAY_OK ? tune_fresh(b, p, &saved, &wins, err) : tuned;
        bool is_found = tuned == ASSAY_OK;
        if (!is_found) {
            wins = (settled){0};
            tuned = stay_untuned(p, &saved, tuned);
        }
        race_restore(&saved);
        race_forget(&saved);
        TRY(tuned);
        if (!is_found) {
            p->base.note = "not tuned: a kernel that was tried failed";
            return ASSAY_OK;
        }
        tune_keep(p, &wins);
    }
    describe_choice(p, &wins);
    return ASSAY_OK;
}
