/* SPDX-License-Identifier: Apache-2.0 */
/* The auto-tuner: races candidates, first of each step, then of the whole. */
#include "engine/backend/tune.h"

#include "base/text.h"
#include "engine/backend/compiled_plan.h"
#include "engine/backend/whole_race.h"

#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_CANDIDATES = 16, ROUNDS = 5 };

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

/* The steps' settings, as they are and as tuning makes them. */
static status tune_with_settings(compiled_plan *p, const saved_inputs *saved, whole_race *r, computer as, error *err) {
    TRY(whole_make_settings(r, p, as, err));
    whole_get_settings(p, r->untuned[as]);
    status result = tune_steps(p, saved, err);
    whole_get_settings(p, r->tuned[as]);
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

static status tune_fresh(compiled_backend *b, compiled_plan *p, const saved_inputs *saved, settled *wins, error *err) {
    whole_race race = {.plans = {[BY_PLAN] = &p->base}, .began_s = race_now_s()}, *r = &race;
    status result = tune_with_settings(p, saved, r, BY_PLAN, err);
    if (result == ASSAY_OK) {
        const compiled_plan *own = add_own(b, p, r, BY_OWN_PRODUCTS, 0, saved);
        uint32_t library_products = own != NULL ? better_by_library(p, own) : 0;
        if (library_products != 0) {
            (void)add_own(b, p, r, BY_SOME_OWN, library_products, saved);
        }
        (void)compiled_prepare_eager(b, p->g, &r->plans[BY_EAGER], NULL); /* without one there is less to compare with */
        result = whole_race_all(r, library_products, saved, wins, err);
    }
    if (r->untuned[BY_PLAN] == NULL) {
        return result; /* nothing has been changed */
    }
    whole_settle(r, p, result == ASSAY_OK ? wins : &(settled){.untuned = true});
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

/* --- as before ---------------------------------------------------------------------------------------------------------------- */

/* The plan that an earlier run settled on, into the race, as it was then. False: it cannot be had so. */
static bool add_as_before(compiled_backend *b, compiled_plan *p, whole_race *r, const settled *who) {
    if (who->by == BY_PLAN) {
        return true;
    }
    if (who->by == BY_EAGER) {
        return compiled_prepare_eager(b, p->g, &r->plans[BY_EAGER], NULL) == ASSAY_OK;
    }
    compiled_plan *own = NULL;
    settled itself;
    if (with_own_products(b, p, who->library_products, &own, NULL) != ASSAY_OK || own == NULL) {
        return false;
    }
    r->plans[who->by] = &own->base;
    if (!tune_recall(own, &itself) || itself.by != BY_PLAN || whole_make_settings(r, own, who->by, NULL) != ASSAY_OK) {
        return false;
    }
    whole_get_settings(own, r->tuned[who->by]);
    return true;
}

/* What an earlier run found, all of it or nothing: *is_known says which. Of nothing p is untuned again. */
static status settle_as_before(compiled_backend *b, compiled_plan *p, settled *who, bool *is_known, error *err) {
    whole_race r = {.plans = {[BY_PLAN] = &p->base}};
    TRY(whole_make_settings(&r, p, BY_PLAN, err));
    whole_get_settings(p, r.untuned[BY_PLAN]);
    *is_known = tune_recall(p, who);
    if (*is_known) {
        whole_get_settings(p, r.tuned[BY_PLAN]);
        *is_known = add_as_before(b, p, &r, who);
    }
    if (*is_known) {
        whole_ask_again(&r, p, who);
    } else {
        *who = (settled){.untuned = true};
    }
    whole_settle(&r, p, who);
    return ASSAY_OK;
}

/* --- the choice --------------------------------------------------------------------------------------------------------------- */

/* Tuning has failed: the plan as the compiler made it, if that runs. */
static status stay_untuned(compiled_plan *p, const saved_inputs *saved, status failed) {
    if (whole_use_untuned(p, NULL) != ASSAY_OK) {
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
    size_t n = (size_t)snprintf(by->note, sizeof by->note, "tuned: %s%s", by_whom[p->instead != NULL ? who->by : BY_PLAN],
                                who->whole ? "step by step; " : "");
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
    if (!any && n < sizeof by->note) {
        snprintf(by->note + n, sizeof by->note - n, "calls of the library alone");
    }
    p->base.note = by->note;
}

/* The steps of a plan with products of its own first: without them the choice of it is none. */
static status keep_choice(const compiled_plan *p, const settled *who, error *err) {
    if (who->by == BY_OWN_PRODUCTS || who->by == BY_SOME_OWN) {
        TRY(tune_keep((const compiled_plan *)p->instead, &(settled){0}, err));
    }
    return tune_keep(p, who, err);
}

/* Beside what is said of the code of the plan that runs. A word less where there is no memory for it. */
static void tell_not_kept(compiled_plan *p, const char *why) {
    plan *runs = p->instead != NULL && p->instead->not_kept != NULL ? p->instead : &p->base;
    text said = {0};
    if (runs->not_kept != NULL) {
        text_addf(&said, "%s; nor is the tuner's choice", runs->not_kept);
    } else {
        text_addf(&said, PLAN_CHOICE_NOT_KEPT ": %s", why);
    }
    if (said.failed) {
        text_clear(&said);
        return;
    }
    free(p->base.not_kept);
    p->base.not_kept = said.data;
}

/* Tries what there is and keeps what it finds. *is_found: a kernel that was tried has not failed. */
static status tune_anew(compiled_backend *b, compiled_plan *p, settled *wins, bool *is_found, error *err) {
    saved_inputs saved = {0};
    status tuned = race_save(&saved, p->g, err);
    tuned = tuned == ASSAY_OK ? tune_fresh(b, p, &saved, wins, err) : tuned;
    *is_found = tuned == ASSAY_OK;
    if (!*is_found) {
        tuned = stay_untuned(p, &saved, tuned);
    }
    race_restore(&saved);
    race_forget(&saved);
    error why = {0};
    if (*is_found && keep_choice(p, wins, &why) != ASSAY_OK) {
        tell_not_kept(p, why.message);
    }
    return tuned;
}

static status choose(compiled_backend *b, compiled_plan *p, error *err) {
    settled wins = {0};
    bool is_found;
    TRY(settle_as_before(b, p, &wins, &is_found, err));
    if (!is_found) {
        TRY(tune_anew(b, p, &wins, &is_found, err));
    }
    if (is_found) {
        describe_choice(p, &wins);
    } else {
        p->base.note = "not tuned: a kernel that was tried failed";
    }
    return ASSAY_OK;
}

status tune_plan(compiled_backend *b, compiled_plan *p, error *err) {
    if (p->n_steps == 0 || (!has_kernels(p) && p->program.is_fallback)) {
        return ASSAY_OK; /* nothing to choose from */
    }
    if (b->base.outputs != NULL) {
        return choose(b, p, err);
    }
    output_memory shared = {0};
    status result = share_outputs(&shared, p, err);
    if (result == ASSAY_OK) {
        b->base.outputs = &shared;
        result = choose(b, p, err);
        b->base.outputs = NULL;
    }
    output_memory_clear(&shared);
    return result;
}
