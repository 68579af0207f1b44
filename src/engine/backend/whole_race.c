/* SPDX-License-Identifier: Apache-2.0 */
/* Whole plans in a race. */
#include "engine/backend/whole_race.h"

#include "engine/kernels/cpu/parallel.h"

enum { ROUNDS_OF_WHOLE = 15 }; /* the last choice decides most, among few */

void whole_get_settings(const compiled_plan *p, step_setting *out) {
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

void whole_settle(whole_race *r, compiled_plan *p, const settled *who) {
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

status whole_race_all(whole_race *r, uint32_t library_products, const saved_inputs *saved, settled *wins, error *err) {
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

status whole_make_settings(whole_race *r, compiled_plan *p, computer as, error *err) {
    step_setting *settings = arena_make(&p->memory, 2 * (size_t)p->n_steps, sizeof *settings);
    if (settings == NULL) {
        return fail(err, ASSAY_OUT_OF_MEMORY, "no memory to tune");
    }
    r->untuned[as] = settings;
    r->tuned[as] = settings + p->n_steps;
    return ASSAY_OK;
}

/* Every step as the compiler would have it. */
status whole_use_untuned(compiled_plan *p, error *err) {
    for (int i = 0; i < p->n_steps; i++) {
        p->steps[i].threads = 0;
        TRY(p->steps[i].kernel != NULL ? compiled_use_variant(p, i, 0, err) : ASSAY_OK);
    }
    p->whole = false;
    return ASSAY_OK;
}

/* The last race of a choice that an earlier run found, against the untuned plan. A race that fails decides nothing. */
static void race_again(whole_race *r, compiled_plan *p, const saved_inputs *saved, settled *who) {
    int best = 1;
    r->n = 0;
    add_whole(r, (settled){.untuned = true});
    add_whole(r, *who);
    status result = whole_use_untuned(p, NULL);
    whole_get_settings(p, r->untuned[BY_PLAN]);
    race_restore(saved);
    result = result == ASSAY_OK ? run_whole(r, 0, NULL) : result; /* its memory is touched for the first time */
    if (result == ASSAY_OK && who->by != BY_PLAN) {
        race_restore(saved);
        result = run_whole(r, 1, NULL);
    }
    if (result == ASSAY_OK) {
        result = race_finals(run_whole, r, (int[]){0, 1}, (bool[]){false, true}, 2, 0, saved, &best, &r->is_open, NULL);
    }
    *who = r->of[result == ASSAY_OK ? best : 1];
    race_restore(saved);
}

void whole_ask_again(whole_race *r, compiled_plan *p, settled *who) {
    saved_inputs saved = {0};
    if (hangs_on_others(r, who) && race_save(&saved, p->g, NULL) == ASSAY_OK) {
        race_again(r, p, &saved, who);
    }
    race_forget(&saved);
}
