/* SPDX-License-Identifier: Apache-2.0 */
/* The interleaved measurer: warm-up, inner loop counts and rounds. */
#include "lab/measure/sample.h"

#include "device/instructions.h"
#include "device/process_state.h"
#include "lab/measure/sample_warnings.h"

#include <math.h>

/* A sample is wrong by up to one clock step at either end. A thousand steps make that 0.2%. */
static const double steps_wanted = 1000;
static const int64_t most_inner_loops = (int64_t)1 << 30;
static const double rewarm_below_ns = 10e6;
/* What an interruption touches is one sample: where their number is free, many short ones leave the median alone, and turns
   that change quickly meet the same neighbours. Shorter than this, changing turns would cost more than the samples. */
static const double short_sample_ns = 250e3;
/* How long runs go on untimed at the beginning of a turn, one at least and more until they settle: what the subject before has left
   in caches and predictors is gone by then. */
static const double rewarm_ns = 50e3;
/* Once the clock's cost is taken off, as well as that is known, a run may seem to take nothing at all: no less than this is said. */
static const double least_alone_ns = 1;
/* A run that takes at most so many times another's time is as fast. */
static const double settled = 1.05;
enum { MOST_WARM_UPS = 5, MOST_REWARMS = 8, MOST_FIRST_SAMPLES = 4 };

/* Each run is timed by itself. */
static bool timed_alone(const sample_subject *subject, const sample_options *options) {
    return subject->restores_each_run || options->cold != NULL;
}

/* More rounds than `repeats`, as many as the stopping rule asks for. */
static bool may_ask_for_more(const sample_options *options) {
    return options->max_repeats > options->repeats;
}

static bool past_deadline(const sample_options *options) {
    return options->deadline_ns != 0 && clock_now_ns(&options->clock) >= options->deadline_ns;
}

static void tell_begin(const sample_options *options, sample_part part, size_t index) {
    if (options->listener != NULL) {
        options->listener->begin(options->listener->self, part, index);
    }
}

static void tell_end(const sample_options *options, sample_part part, size_t index) {
    if (options->listener != NULL) {
        options->listener->end(options->listener->self, part, index);
    }
}

static void restore(const sample_subject *subject) {
    if (subject->before != NULL) {
        subject->before(subject->arg);
    }
}

/* `loops` runs and the wait for them; the time of it all in *elapsed_ns. */
static status time_runs(const sample_subject *subject, const lab_clock *clock, int64_t loops, double *elapsed_ns,
                        error *err) {
    status (*run)(void *, error *) = subject->run;
    void *arg = subject->arg;
    status result = ASSAY_OK;
    int64_t start_ns = clock_now_ns(clock);
    for (int64_t i = 0; i < loops && result == ASSAY_OK; i++) {
        result = run(arg, err);
    }
    if (result == ASSAY_OK && subject->wait != NULL) {
        result = subject->wait(arg, err);
    }
    *elapsed_ns = (double)(clock_now_ns(clock) - start_ns);
    return result;
}

/* What is not timed before a run, then the run; `loops` times where each is timed alone. */
static status take(const sample_subject *subject, const sample_options *options, int64_t loops, double *elapsed_ns,
                   error *err) {
    int64_t times = timed_alone(subject, options) ? loops : 1;
    double sum_ns = 0;
    status result = ASSAY_OK;
    instructions_clear_upper_halves(); /* what the subject before this one left there is not for this one to pay */
    const process_state ours = process_state_read();
    for (int64_t i = 0; i < times && result == ASSAY_OK; i++) {
        double one_ns = 0;
        restore(subject);
        if (options->cold != NULL) {
            cache_evict(options->cold, subject->ranges, subject->n_ranges);
        }
        result = time_runs(subject, &options->clock, loops / times, &one_ns, err);
        sum_ns += one_ns;
    }
    process_state_restore(&ours); /* nor what it has changed for everybody */
    *elapsed_ns = sum_ns;
    return result;
}

/* The same, with what is not timed in *spent_ns as well. */
static status take_all_told(const sample_subject *subject, const sample_options *options, int64_t loops, double *spent_ns,
                            error *err) {
    int64_t from_ns = clock_now_ns(&options->clock);
    TRY(take(subject, options, loops, spent_ns, err));
    *spent_ns = (double)(clock_now_ns(&options->clock) - from_ns);
    return ASSAY_OK;
}

static status warm_up(const sample_subject *subject, const sample_options *options, sample_series *series,
                      double *run_ns) {
    TRY(take(subject, options, 1, run_ns, &series->err));
    series->first_ns = *run_ns;
    for (int i = 0; i < MOST_WARM_UPS && !past_deadline(options); i++) {
        double last_ns = *run_ns;
        TRY(take(subject, options, 1, run_ns, &series->err));
        if (fabs(*run_ns - last_ns) <= 0.1 * last_ns) {
            break;
        }
    }
    return ASSAY_OK;
}

/* What a sample should last. Half of the most samples make up the least time: they may turn out shorter than this. */
static double wanted_ns(const sample_options *options) {
    double by_clock_ns = steps_wanted * sample_clock_step_ns(&options->clock), whole_ns = options->min_time_s * 1e9;
    return may_ask_for_more(options) ? fmax(by_clock_ns, fmax(short_sample_ns, whole_ns / fmax(options->repeats, options->max_repeats / 2)))
                                     : fmax(by_clock_ns, whole_ns / options->repeats);
}

/* Grows the inner loop, which took spent_ns, until a sample is as long as it should be, what is not timed included. Steps of at most
   tenfold: the first estimates are of single runs and may be of the clock alone. */
static status grow_inner_loops(const sample_subject *subject, const sample_options *options, double target_ns, double spent_ns,
                               sample_series *series) {
    bool alone = timed_alone(subject, options);
    int64_t loops = series->inner_loops;
    while (spent_ns < target_ns && loops < most_inner_loops && !past_deadline(options)) {
        double factor = spent_ns > 0 ? fmin(1.1 * target_ns / spent_ns, 10) : 10;
        double wanted = ceil((double)loops * fmax(factor, 1.01));
        loops = wanted >= (double)most_inner_loops ? most_inner_loops : (int64_t)wanted;
        TRY((alone ? take_all_told : take)(subject, options, loops, &spent_ns, &series->err));
    }
    series->inner_loops = loops;
    return ASSAY_OK;
}

static status find_inner_loops(const sample_subject *subject, const sample_options *options, double run_ns, sample_series *series) {
    double spent_ns = run_ns;
    if (timed_alone(subject, options)) {
        TRY(take_all_told(subject, options, 1, &spent_ns, &series->err));
    }
    return grow_inner_loops(subject, options, wanted_ns(options), spent_ns, series);
}

static status prepare_series(arena *a, const sample_subject *subject, const sample_options *options, size_t room,
                             sample_series *series, error *err) {
    *series = (sample_series){.inner_loops = 1};
    series->samples_ns = arena_make(a, room, sizeof(double));
    series->warnings = arena_make(a, SAMPLE_WARNING_COUNT, sizeof(char *));
    if (series->samples_ns == NULL || series->warnings == NULL) {
        return fail(err, ASSAY_OUT_OF_MEMORY, "no memory for %zu samples of %s", room, subject->name);
    }
    if (past_deadline(options)) {
        return ASSAY_OK;
    }
    double run_ns = 0;
    series->result = warm_up(subject, options, series, &run_ns);
    series->warm_ns = run_ns;
    if (timed_alone(subject, options)) {
        series->clock_cost_ns = options->clock.read_ns;
    }
    if (series->result == ASSAY_OK && options->cold == NULL) { /* emptying the caches takes longer than most runs */
        series->result = find_inner_loops(subject, options, run_ns, series);
    }
    return ASSAY_OK;
}

static double least_of(const double *samples, size_t n) {
    double found = n > 0 ? samples[0] : 0;
    for (size_t i = 1; i < n; i++) {
        found = fmin(found, samples[i]);
    }
    return found;
}

static int64_t loops_of_rewarming(const sample_series *series, double last_ns) {
    double loops = last_ns > 0 ? ceil(rewarm_ns / last_ns) : 1;
    return loops < (double)series->inner_loops ? (int64_t)loops : series->inner_loops;
}

/* Runs that are not timed, until one is as fast as the fastest sample so far, or gains little on the one before it. A last-level cache
   that does not replace what was used longest ago takes several runs to hold what it can of one subject's tensors: behind single warm
   runs a sample still showed who went before it (rotary_embedding, 27 MB, on a Zen 4: 384 us behind eager, 221 behind itself). */
static status rewarm(const sample_subject *subject, const sample_options *options, double last_ns, sample_series *series) {
    int64_t loops = loops_of_rewarming(series, last_ns);
    double least_ns = least_of(series->samples_ns, series->n_samples), before_ns = INFINITY;
    for (int i = 0; i < MOST_REWARMS; i++) {
        double elapsed_ns = 0;
        TRY(take(subject, options, loops, &elapsed_ns, &series->err));
        double one_ns = elapsed_ns / (double)loops;
        bool long_enough = elapsed_ns >= rewarm_below_ns || past_deadline(options);
        if (long_enough || one_ns <= settled * least_ns || before_ns <= settled * one_ns) {
            break;
        }
        before_ns = one_ns;
    }
    return ASSAY_OK;
}

static void take_sample(const sample_subject *subject, const sample_options *options, sample_series *series) {
    double last_ns = series->n_samples > 0 ? series->samples_ns[series->n_samples - 1] : 0;
    if (options->cold == NULL && last_ns * (double)series->inner_loops < rewarm_below_ns) {
        series->result = rewarm(subject, options, last_ns, series);
    }
    double elapsed_ns = 0;
    int64_t from_ns = clock_now_ns(&options->clock);
    if (series->result == ASSAY_OK) {
        series->result = take(subject, options, series->inner_loops, &elapsed_ns, &series->err);
    }
    if (series->result == ASSAY_OK) {
        double loops = (double)series->inner_loops;
        bool alone = timed_alone(subject, options);
        series->taken_ns += alone ? (double)(clock_now_ns(&options->clock) - from_ns) : elapsed_ns;
        series->samples_ns[series->n_samples++] =
            alone ? fmax(elapsed_ns / loops - series->clock_cost_ns, least_alone_ns) : elapsed_ns / loops;
    }
}

/* The first sample shows whether the search for its length was misled: one interruption of a single run is enough to make a loop seem long
   that is not. Where it is too short the search goes on and the sample is taken anew. */
static void take_first_sample(const sample_subject *subject, const sample_options *options, double target_ns, sample_series *series) {
    take_sample(subject, options, series);
    for (int i = 1; i < MOST_FIRST_SAMPLES; i++) {
        bool is_short = series->taken_ns < target_ns && series->inner_loops < most_inner_loops;
        if (series->result != ASSAY_OK || options->cold != NULL || !is_short || past_deadline(options)) {
            return;
        }
        series->result = grow_inner_loops(subject, options, target_ns, series->taken_ns, series);
        if (series->result == ASSAY_OK && !past_deadline(options)) {
            series->n_samples = 0;
            series->taken_ns = 0;
            take_sample(subject, options, series);
        }
    }
}

/* The rule judges what will be compared: a subject's samples over the baseline's of the same rounds. The baseline's own count
   where there is nothing else. */
static bool is_enough(const sample_series *series, const sample_series *baseline, const stop_rule *rule, double *scratch,
                      double *ratios) {
    size_t n = series->n_samples;
    if (baseline->result != ASSAY_OK || baseline == series) {
        return rule->enough(rule, series->samples_ns, n, scratch);
    }
    n = baseline->n_samples < n ? baseline->n_samples : n;
    for (size_t i = 0; i < n; i++) {
        ratios[i] = series->samples_ns[i] / baseline->samples_ns[i];
    }
    return rule->enough(rule, ratios, n, scratch);
}

static bool all_enough(const sample_series *series, size_t n, const sample_options *options, const stop_rule *rule,
                       double *scratch, double *ratios) {
    size_t compared = 0;
    for (size_t i = 0; i < n; i++) {
        compared += i != options->baseline && series[i].result == ASSAY_OK;
    }
    for (size_t i = 0; i < n; i++) {
        bool judged = series[i].result == ASSAY_OK && (i != options->baseline || compared == 0);
        if (judged && !is_enough(&series[i], &series[options->baseline], rule, scratch, ratios)) {
            return false;
        }
    }
    return true;
}

static bool all_last(const sample_series *series, size_t n, const sample_options *options) {
    for (size_t i = 0; i < n; i++) {
        if (series[i].result == ASSAY_OK && !sample_lasts(&series[i], options)) {
            return false;
        }
    }
    return true;
}

/* One sample of each subject, `first` of them first, or last where it goes backwards; false when the deadline ended it. */
static bool take_turns(const sample_subject *subjects, size_t n, const sample_options *options, size_t first, bool backwards,
                       sample_series *series) {
    for (size_t turn = 0; turn < n; turn++) {
        size_t i = (first + (backwards ? n - 1 - turn : turn)) % n;
        if (past_deadline(options)) {
            return false;
        }
        if (series[i].result == ASSAY_OK) {
            tell_begin(options, SAMPLE_TURN, i);
            take_sample(&subjects[i], options, &series[i]);
            tell_end(options, SAMPLE_TURN, i);
        }
    }
    return true;
}

/* Of each subject what its first sample will take, with the runs before it that are not timed; in which order they come; for how long
   one may go on behind the deadline; and what a sample should last. */
typedef struct first_round {
    double *length_ns;
    size_t *order;
    double grace_ns, target_ns;
} first_round;

/* The order is the subjects' own where all fit into what time is left, else the shortest come first, so that one that takes all the time
   there is does not take it from the others. */
static void choose_order(const sample_options *options, size_t n, first_round *first) {
    double sum_ns = 0;
    for (size_t i = 0; i < n; i++) {
        first->order[i] = i;
        sum_ns += first->length_ns[i];
    }
    if (options->deadline_ns == 0 || sum_ns < (double)(options->deadline_ns - clock_now_ns(&options->clock))) {
        return;
    }
    for (size_t i = 1; i < n; i++) {
        size_t k = i, moved = first->order[i];
        for (; k > 0 && first->length_ns[first->order[k - 1]] > first->length_ns[moved]; k--) {
            first->order[k] = first->order[k - 1];
        }
        first->order[k] = moved;
    }
}

/* True when all were on time. */
static bool take_first_turns(const sample_subject *subjects, size_t n, const sample_options *options, const first_round *first,
                             sample_series *series) {
    bool late = false;
    for (size_t turn = 0; turn < n; turn++) {
        size_t i = first->order[turn];
        late = late || past_deadline(options);
        if (series[i].result == ASSAY_OK && (!late || (series[i].warm_ns > 0 && first->length_ns[i] <= first->grace_ns))) {
            tell_begin(options, SAMPLE_TURN, i);
            take_first_sample(&subjects[i], options, first->target_ns, &series[i]);
            tell_end(options, SAMPLE_TURN, i);
        }
    }
    return !late;
}

/* Before the deadline a subject has this much for its samples: half of its part, as the search for their length takes the other. */
static double longest_s(const sample_options *options, size_t n) {
    double left_ns = (double)(options->deadline_ns - clock_now_ns(&options->clock));
    return options->deadline_ns != 0 ? fmax(left_ns, 0) * 1e-9 / (2 * (double)n) : INFINITY;
}

/* Warms all up, each for no longer than its share of the time that is left, of which the rounds have one too. */
static status prepare_all(arena *a, const sample_subject *subjects, size_t n, const sample_options *options, size_t room,
                          first_round *first, sample_series *series, error *err) {
    for (size_t i = 0; i < n; i++) {
        first->length_ns[i] = (MOST_WARM_UPS + 2) * subjects[i].expected_ns;
    }
    double least_s = fmin(options->min_time_s, longest_s(options, n));
    choose_order(options, n, first);
    for (size_t k = 0; k < n; k++) {
        size_t i = first->order[k];
        sample_options own = *options;
        own.min_time_s = least_s;
        first->target_ns = wanted_ns(&own);
        int64_t now_ns = clock_now_ns(&options->clock);
        if (options->deadline_ns > now_ns) {
            own.deadline_ns = now_ns + 1 + (options->deadline_ns - now_ns - 1) / (int64_t)(n - k + 1);
        }
        tell_begin(options, SAMPLE_WARM_UP, i);
        status prepared = prepare_series(a, &subjects[i], &own, room, &series[i], err);
        tell_end(options, SAMPLE_WARM_UP, i);
        TRY(prepared);
    }
    for (size_t i = 0; i < n; i++) {
        first->length_ns[i] = 2 * series[i].warm_ns * (double)series[i].inner_loops;
    }
    choose_order(options, n, first);
    return ASSAY_OK;
}

/* Odd rounds go backwards: A B C, C B A. What drifts linearly then falls on each subject alike. Who begins changes every two rounds (then
   B C A, A C B): where a round turns, a subject follows itself and finds its own in the caches, which one that always did took for 5% of
   speed, the same code under two names. True when the deadline ended it. scratch: room for twice as many numbers. */
static bool take_rounds(const sample_subject *subjects, size_t n, const sample_options *options, size_t room,
                        const first_round *first, double *scratch, sample_series *series) {
    stop_rule rule = options->stopping.enough != NULL ? options->stopping : stop_at_once();
    int64_t began_ns = clock_now_ns(&options->clock);
    bool has_looked = false;
    for (size_t round = 0; round < room; round++) {
        bool late = options->max_time_s > 0 && (double)(clock_now_ns(&options->clock) - began_ns) > options->max_time_s * 1e9;
        if (round >= (size_t)options->repeats && all_last(series, n, options)) {
            bool looks = !late && (!has_looked || stop_looks_at(round));
            has_looked = true;
            if (late || (looks && all_enough(series, n, options, &rule, scratch, scratch + room))) {
                return false;
            }
        }
        tell_begin(options, SAMPLE_ROUND, round);
        bool on_time = round == 0 ? take_first_turns(subjects, n, options, first, series)
                                  : take_turns(subjects, n, options, round / 2 % n, round % 2 == 1, series);
        tell_end(options, SAMPLE_ROUND, round);
        if (!on_time) {
            return true;
        }
    }
    return false;
}

static status check_options(const sample_options *options, size_t n, error *err) {
    if (n == 0) {
        return fail(err, ASSAY_INVALID, "expected something to measure, got no subjects");
    }
    if (options->baseline >= n) {
        return fail(err, ASSAY_INVALID, "expected the baseline among %zu subjects, got number %zu", n, options->baseline);
    }
    if (options->repeats < 1) {
        return fail(err, ASSAY_INVALID, "expected at least 1 repeat, got %d", options->repeats);
    }
    if (!(options->min_time_s >= 0 && options->min_time_s <= 1e6)) {
        return fail(err, ASSAY_INVALID, "expected a least time from 0 to 1e6 s, got %g", options->min_time_s);
    }
    if (options->clock.now_ns == NULL) {
        return fail(err, ASSAY_INVALID, "expected a clock");
    }
    return ASSAY_OK;
}

status sample_all(arena *a, const sample_subject *subjects, size_t n, const sample_options *options,
                  sample_series *series, error *err) {
    TRY(check_options(options, n, err));
    size_t room = (size_t)(options->max_repeats > options->repeats ? options->max_repeats : options->repeats);
    double *scratch = arena_make(a, room, 2 * sizeof *scratch);
    first_round first = {.length_ns = arena_make(a, n, sizeof(double)), .order = arena_make(a, n, sizeof(size_t))};
    if (scratch == NULL || first.length_ns == NULL || first.order == NULL) {
        return fail(err, ASSAY_OUT_OF_MEMORY, "no memory for %zu samples", room);
    }
    if (options->deadline_ns != 0) { /* an eighth of the time, for all of them together */
        first.grace_ns = (double)(options->deadline_ns - clock_now_ns(&options->clock)) / (8 * (double)n);
    }
    bool is_cut = options->min_time_s > longest_s(options, n); /* samples were made shorter for it, and end when they are as many as asked */
    TRY(prepare_all(a, subjects, n, options, room, &first, series, err));
    bool ended_by_deadline = take_rounds(subjects, n, options, room, &first, scratch, series) || is_cut;
    for (size_t i = 0; i < n; i++) {
        if (series[i].result == ASSAY_OK && series[i].n_samples == 0) {
            series[i].result = fail(&series[i].err, ASSAY_TIMEOUT, "time ran out before the first sample of %s",
                                    subjects[i].name);
        }
        TRY(sample_find_warnings(a, options, ended_by_deadline, scratch, &series[i], err));
    }
    return ASSAY_OK;
}
