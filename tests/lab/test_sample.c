/* SPDX-License-Identifier: Apache-2.0 */
/* The measurer against a fake clock: every figure is known beforehand. */
#include "lab/measure/sample.h"

#include "unit.h"

#include <fenv.h>
#include <math.h>
#include <omp.h>
#include <stdlib.h>
#include <string.h>
#if defined(__x86_64__)
#include <cpuid.h>
#endif

/* A subject that takes cost_ns of fake time, drifts, and fails when told; all subjects write one common log. */
typedef struct toy {
    fake_clock *clock;
    char *log;
    char letter;
    int64_t cost_ns, growth_ns;
    int runs, restores, fail_at;
    int stalls_at;      /* this run is interrupted ... */
    int64_t stall_ns;   /* ... for so long */
    int halves_at;      /* from this run on each costs half */
    int64_t wait_ns;
    bool dirty; /* written by a run, put right by restore */
    int dirty_runs;
} toy;

static status toy_run(void *arg, error *err) {
    toy *t = arg;
    t->runs++;
    t->dirty_runs += t->dirty;
    t->dirty = true;
    if (t->fail_at > 0 && t->runs >= t->fail_at) {
        return fail(err, ASSAY_UNSUPPORTED, "run %d of %c", t->runs, t->letter);
    }
    t->cost_ns /= t->halves_at > 0 && t->runs == t->halves_at ? 2 : 1;
    clock_fake_advance(t->clock, t->cost_ns + (t->runs == t->stalls_at ? t->stall_ns : 0));
    t->cost_ns += t->growth_ns;
    if (t->log != NULL) {
        size_t n = strlen(t->log);
        t->log[n] = t->letter;
        t->log[n + 1] = '\0';
    }
    return ASSAY_OK;
}

static status toy_wait(void *arg, error *err) {
    (void)err;
    toy *t = arg;
    clock_fake_advance(t->clock, t->wait_ns);
    return ASSAY_OK;
}

static void toy_restore(void *arg) {
    toy *t = arg;
    t->restores++;
    t->dirty = false;
    clock_fake_advance(t->clock, 77777); /* must never show in a sample */
}

static sample_subject subject_of(toy *t) {
    return (sample_subject){.name = "toy", .run = toy_run, .arg = t};
}

static void one_subject_is_timed_exactly(void **state) {
    (void)state;
    fake_clock clock = {.step_ns = 0};
    toy t = {.clock = &clock, .cost_ns = 1500};
    sample_options options = {.repeats = 7, .clock = clock_fake(&clock)};
    sample_subject subject = subject_of(&t);
    sample_series series;
    arena a = {0};
    assert_int_equal(sample_all(&a, &subject, 1, &options, &series, NULL), ASSAY_OK);
    assert_int_equal(series.result, ASSAY_OK);
    assert_int_equal(series.n_samples, 7);
    assert_int_equal(series.inner_loops, 1);
    for (size_t i = 0; i < 7; i++) {
        assert_true(series.samples_ns[i] == 1500);
    }
    assert_true(series.first_ns == 1500);
    assert_int_equal(series.n_warnings, 0);
    arena_clear(&a);
}

static void the_inner_loop_outlasts_the_clock(void **state) {
    (void)state;
    fake_clock clock = {.step_ns = 40};
    toy t = {.clock = &clock, .cost_ns = 10};
    sample_options options = {.repeats = 6, .clock = clock_fake(&clock)};
    sample_subject subject = subject_of(&t);
    sample_series series;
    arena a = {0};
    assert_int_equal(sample_all(&a, &subject, 1, &options, &series, NULL), ASSAY_OK);
    assert_true((double)series.inner_loops * 10 + 40 >= 1000 * 40);
    assert_true((double)series.inner_loops * 10 < 10 * 1000 * 40);
    for (size_t i = 0; i < series.n_samples; i++) {
        assert_true(fabs(series.samples_ns[i] - 10) < 0.02);
    }
    assert_int_equal(series.warning_bits, 0);
    arena_clear(&a);
}

static void least_time_is_spread_over_the_samples(void **state) {
    (void)state;
    fake_clock clock = {.step_ns = 1};
    toy t = {.clock = &clock, .cost_ns = 1000};
    sample_options options = {.repeats = 10, .min_time_s = 0.02, .clock = clock_fake(&clock)};
    sample_subject subject = subject_of(&t);
    sample_series series;
    arena a = {0};
    assert_int_equal(sample_all(&a, &subject, 1, &options, &series, NULL), ASSAY_OK);
    double total_ns = 0;
    for (size_t i = 0; i < series.n_samples; i++) {
        total_ns += series.samples_ns[i] * (double)series.inner_loops;
    }
    assert_true(total_ns >= 0.02e9 && total_ns < 0.03e9);
    arena_clear(&a);
}

/* One run is interrupted for longer than a sample lasts, whichever it is: samples are not shorter for it, whether their number is fixed or
   not. */
static void an_interruption_shortens_no_sample(void **state) {
    (void)state;
    for (int most = 10; most <= 100; most += 90) {
        for (int stalls_at = 1; stalls_at < 3000; stalls_at += 1 + stalls_at / 20) {
            fake_clock clock = {.step_ns = 1};
            toy t = {.clock = &clock, .cost_ns = 1000, .stalls_at = stalls_at, .stall_ns = 30000000};
            sample_options options = {.repeats = 10, .max_repeats = most, .min_time_s = 0.02, .clock = clock_fake(&clock)};
            sample_subject subject = subject_of(&t);
            sample_series series;
            arena a = {0};
            assert_int_equal(sample_all(&a, &subject, 1, &options, &series, NULL), ASSAY_OK);
            assert_true(series.inner_loops >= 20000 / (most / 2 > 10 ? most / 2 : 10));
            assert_true(series.taken_ns >= 0.02e9);
            assert_false(series.warning_bits & 1u << SAMPLE_MIN_TIME);
            arena_clear(&a);
        }
    }
}

/* Runs become faster behind the first sample: where their number is fixed they cannot last as long as they have to, and that is told. */
static void samples_that_turn_out_short_are_told(void **state) {
    (void)state;
    for (int most = 10; most <= 100; most += 90) {
        fake_clock clock = {.step_ns = 1};
        toy t = {.clock = &clock, .cost_ns = 1000, .halves_at = 8000};
        sample_options options = {.repeats = 10, .max_repeats = most, .min_time_s = 0.02, .clock = clock_fake(&clock)};
        sample_subject subject = subject_of(&t);
        sample_series series;
        arena a = {0};
        assert_int_equal(sample_all(&a, &subject, 1, &options, &series, NULL), ASSAY_OK);
        bool is_short = most == 10;
        assert_true((series.taken_ns < 0.02e9) == is_short);
        assert_true(((series.warning_bits & 1u << SAMPLE_MIN_TIME) != 0) == is_short);
        assert_true(!is_short || strstr(series.warnings[0], "min_time: all samples together lasted ") == series.warnings[0]);
        arena_clear(&a);
    }
}

/* A B C, C B A, B C A, A C B, C A B: with all long enough that no sample begins with an extra run, the log's end shows the order. */
static void subjects_take_turns(void **state) {
    (void)state;
    fake_clock clock = {.step_ns = 0};
    char log[256] = "";
    toy a_toy = {.clock = &clock, .cost_ns = 20000000, .log = log, .letter = 'A'};
    toy b_toy = {.clock = &clock, .cost_ns = 30000000, .log = log, .letter = 'B'};
    toy c_toy = {.clock = &clock, .cost_ns = 25000000, .log = log, .letter = 'C'};
    sample_subject subjects[] = {subject_of(&a_toy), subject_of(&b_toy), subject_of(&c_toy)};
    sample_options options = {.repeats = 5, .clock = clock_fake(&clock)};
    sample_series series[3];
    arena a = {0};
    assert_int_equal(sample_all(&a, subjects, 3, &options, series, NULL), ASSAY_OK);
    /* The first sample of each begins with a warm run, because its length is not known before. */
    assert_string_equal(log + strlen(log) - 18, "AABBCC" "CBA" "BCA" "ACB" "CAB");
    arena_clear(&a);
}

static void warm_samples_begin_with_a_run_not_timed(void **state) {
    (void)state;
    fake_clock clock = {.step_ns = 0};
    char log[256] = "";
    toy a_toy = {.clock = &clock, .cost_ns = 2000, .log = log, .letter = 'A'};
    toy b_toy = {.clock = &clock, .cost_ns = 3000, .log = log, .letter = 'B'};
    sample_subject subjects[] = {subject_of(&a_toy), subject_of(&b_toy)};
    sample_options options = {.repeats = 3, .clock = clock_fake(&clock)};
    sample_series series[2];
    arena a = {0};
    assert_int_equal(sample_all(&a, subjects, 2, &options, series, NULL), ASSAY_OK);
    /* Before the first sample of each it takes two to know that they settled. */
    assert_string_equal(log + strlen(log) - 14, "AAABBBBBAABBAA");
    arena_clear(&a);
}

/* A cache two subjects share: a run brings a part of what is its own and drives out as much of the other's. */
enum { CACHE_PARTS = 6 };

typedef struct sharer {
    fake_clock *clock;
    int *parts; /* that are this one's; the rest are the other's */
    bool second;
} sharer;

static status share_run(void *arg, error *err) {
    (void)err;
    sharer *s = arg;
    int wanted = s->second ? 0 : CACHE_PARTS, missing = abs(wanted - *s->parts);
    clock_fake_advance(s->clock, 1000000 + 200000 * missing);
    *s->parts += missing == 0 ? 0 : s->second ? -1 : 1;
    return ASSAY_OK;
}

static void warm_samples_do_not_show_who_went_before(void **state) {
    (void)state;
    fake_clock clock = {.step_ns = 0};
    int parts = 0;
    sharer one = {.clock = &clock, .parts = &parts}, other = {.clock = &clock, .parts = &parts, .second = true};
    sample_subject subjects[] = {{.name = "one", .run = share_run, .arg = &one}, {.name = "other", .run = share_run, .arg = &other}};
    sample_options options = {.repeats = 8, .clock = clock_fake(&clock)};
    sample_series series[2];
    arena a = {0};
    assert_int_equal(sample_all(&a, subjects, 2, &options, series, NULL), ASSAY_OK);
    for (size_t i = 0; i < 16; i++) {
        assert_true(series[i % 2].samples_ns[i / 2] == 1000000);
    }
    arena_clear(&a);
}

#if defined(__x86_64__)
enum { UPPER_HALVES_IN_USE = 1 << 2 };

static unsigned states_in_use(void) {
    unsigned low, high;
    __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(1));
    return low;
}

/* Whether the processor has AVX and says which register states are in use (XGETBV with 1), also that upper halves no longer are. */
static bool state_can_be_asked(void) {
    unsigned a = 0, b = 0, c = 0, d = 0;
    if (!__builtin_cpu_supports("avx") || __get_cpuid_count(0xd, 1, &a, &b, &c, &d) == 0 || (a & 1 << 2) == 0) {
        return false;
    }
    __asm__ volatile("vcmptrueps %%ymm5, %%ymm5, %%ymm5\n\tvzeroupper" ::: "xmm5");
    return (states_in_use() & UPPER_HALVES_IN_USE) == 0;
}

typedef struct halves {
    fake_clock *clock;
    int runs, in_use;
} halves;

static status leave_upper_halves(void *arg, error *err) {
    (void)err;
    halves *h = arg;
#pragma omp parallel
    __asm__ volatile("vcmptrueps %%ymm5, %%ymm5, %%ymm5" ::: "xmm5");
    h->runs++;
    clock_fake_advance(h->clock, 1000);
    h->in_use += (states_in_use() & UPPER_HALVES_IN_USE) != 0;
    return ASSAY_OK;
}

static status find_upper_halves(void *arg, error *err) {
    (void)err;
    halves *h = arg;
    int in_use = 0;
#pragma omp parallel reduction(+ : in_use)
    in_use += (states_in_use() & UPPER_HALVES_IN_USE) != 0;
    h->runs++;
    h->in_use += in_use;
    clock_fake_advance(h->clock, 1000);
    return ASSAY_OK;
}

static void nobody_pays_for_upper_halves_of_others(void **state) {
    (void)state;
    if (!state_can_be_asked()) {
        print_message("skipped: this processor does not say which register states are in use\n");
        skip();
    }
    fake_clock clock = {.step_ns = 0};
    halves leaver = {.clock = &clock}, finder = {.clock = &clock};
    sample_subject subjects[] = {{.name = "leaver", .run = leave_upper_halves, .arg = &leaver},
                                 {.name = "finder", .run = find_upper_halves, .arg = &finder}};
    sample_options options = {.repeats = 5, .clock = clock_fake(&clock)};
    sample_series series[2];
    arena a = {0};
    assert_int_equal(sample_all(&a, subjects, 2, &options, series, NULL), ASSAY_OK);
    assert_true(leaver.in_use > 0 && finder.runs > 0);
    assert_int_equal(finder.in_use, 0);
    arena_clear(&a);
}
#endif

typedef struct meddler {
    fake_clock *clock;
    bool meddles;
    int runs, wrong;
} meddler;

static status meddle(void *arg, error *err) {
    (void)err;
    meddler *m = arg;
    int wrong = omp_get_max_threads() != 2;
#pragma omp parallel reduction(+ : wrong)
    wrong += fegetround() != FE_TONEAREST;
    m->wrong += wrong > 0;
    m->runs++;
    if (m->meddles) {
#pragma omp parallel
        fesetround(FE_UPWARD);
        omp_set_num_threads(1);
    }
    clock_fake_advance(m->clock, 20000000);
    return ASSAY_OK;
}

static void what_one_changes_for_all_is_put_back(void **state) {
    (void)state;
    int threads = omp_get_max_threads();
    omp_set_num_threads(2);
    fake_clock clock = {.step_ns = 0};
    meddler one = {.clock = &clock, .meddles = true}, other = {.clock = &clock};
    sample_subject subjects[] = {{.name = "one", .run = meddle, .arg = &one}, {.name = "other", .run = meddle, .arg = &other}};
    sample_options options = {.repeats = 4, .clock = clock_fake(&clock)};
    sample_series series[2];
    arena a = {0};
    assert_int_equal(sample_all(&a, subjects, 2, &options, series, NULL), ASSAY_OK);
    assert_true(other.runs > 4);
    assert_int_equal(other.wrong, 0);
    assert_int_equal(fegetround(), FE_TONEAREST);
    omp_set_num_threads(threads);
    arena_clear(&a);
}

/* One takes a quarter of the time, or more than all of it: the other has samples all the same. */
static void a_slow_subject_leaves_time_for_the_others(void **state) {
    (void)state;
    static const int64_t slow_ns[] = {220000000, 900000000};
    for (size_t i = 0; i < countof(slow_ns); i++) {
        fake_clock clock = {.step_ns = 0};
        toy toys[] = {{.clock = &clock, .cost_ns = slow_ns[i]}, {.clock = &clock, .cost_ns = 5000}};
        sample_subject subjects[] = {subject_of(&toys[0]), subject_of(&toys[1])};
        subjects[0].expected_ns = (double)slow_ns[i];
        subjects[1].expected_ns = 5000;
        sample_options options = {.repeats = 3, .clock = clock_fake(&clock)};
        options.deadline_ns = clock.now_ns + 800000000;
        sample_series series[2];
        arena a = {0};
        assert_int_equal(sample_all(&a, subjects, 2, &options, series, NULL), ASSAY_OK);
        assert_int_equal(series[1].result, ASSAY_OK);
        assert_true(series[1].n_samples >= 1);
        assert_int_equal(series[0].result, i == 0 ? ASSAY_OK : ASSAY_TIMEOUT);
        arena_clear(&a);
    }
}

static void inputs_are_restored_before_every_run(void **state) {
    (void)state;
    fake_clock clock = {.step_ns = 25};
    toy t = {.clock = &clock, .cost_ns = 400};
    sample_subject subject = subject_of(&t);
    subject.before = toy_restore;
    subject.restores_each_run = true;
    sample_options options = {.repeats = 9, .clock = clock_fake(&clock)};
    sample_series series;
    arena a = {0};
    assert_int_equal(sample_all(&a, &subject, 1, &options, &series, NULL), ASSAY_OK);
    assert_int_equal(series.inner_loops, 1);
    assert_int_equal(t.dirty_runs, 0);
    assert_int_equal(t.restores, t.runs);
    assert_true(series.clock_cost_ns == 25);
    for (size_t i = 0; i < 9; i++) {
        assert_true(series.samples_ns[i] == 400);
    }
    assert_true(series.warning_bits & 1u << SAMPLE_SHORT);
    assert_non_null(strstr(series.warnings[0], "short: "));
    arena_clear(&a);
}

/* An operator that writes its input, and takes 400 ns: a sample is the mean of several runs, each timed alone. */
static void restored_runs_are_looped_too(void **state) {
    (void)state;
    fake_clock clock = {.step_ns = 25};
    toy t = {.clock = &clock, .cost_ns = 400};
    sample_subject subject = subject_of(&t);
    subject.before = toy_restore;
    subject.restores_each_run = true;
    sample_options options = {.repeats = 10, .min_time_s = 0.01, .clock = clock_fake(&clock)};
    sample_series series;
    arena a = {0};
    assert_int_equal(sample_all(&a, &subject, 1, &options, &series, NULL), ASSAY_OK);
    assert_true(series.inner_loops >= 12 && series.inner_loops <= 16); /* a millisecond, restoring included */
    assert_int_equal(t.dirty_runs, 0);
    for (size_t i = 0; i < 10; i++) {
        assert_true(fabs(series.samples_ns[i] - 400) < 1e-9);
    }
    assert_true(series.warning_bits & 1u << SAMPLE_SHORT); /* of one run: the loop does not mend what each is off by */
    arena_clear(&a);
}

static void a_failing_subject_leaves_the_others_alone(void **state) {
    (void)state;
    fake_clock clock = {.step_ns = 0};
    toy toys[] = {{.clock = &clock, .cost_ns = 20000000, .letter = 'A', .fail_at = 6},
                  {.clock = &clock, .cost_ns = 20000000, .letter = 'B', .fail_at = 1},
                  {.clock = &clock, .cost_ns = 20000000, .letter = 'C'}};
    sample_subject subjects[] = {subject_of(&toys[0]), subject_of(&toys[1]), subject_of(&toys[2])};
    sample_options options = {.repeats = 6, .clock = clock_fake(&clock)};
    sample_series series[3];
    arena a = {0};
    assert_int_equal(sample_all(&a, subjects, 3, &options, series, NULL), ASSAY_OK);
    assert_int_equal(series[0].result, ASSAY_UNSUPPORTED);
    assert_string_equal(series[0].err.message, "run 6 of A");
    assert_int_equal(series[0].n_samples, 2); /* two warm-ups, one warm run and two samples went well */
    assert_int_equal(series[1].result, ASSAY_UNSUPPORTED);
    assert_int_equal(series[1].n_samples, 0);
    assert_int_equal(series[2].result, ASSAY_OK);
    assert_int_equal(series[2].n_samples, 6);
    assert_int_equal(toys[1].runs, 1);
    arena_clear(&a);
}

static void the_wait_is_inside(void **state) {
    (void)state;
    fake_clock clock = {.step_ns = 0};
    toy t = {.clock = &clock, .cost_ns = 10, .wait_ns = 5000};
    sample_subject subject = subject_of(&t);
    subject.wait = toy_wait;
    sample_options options = {.repeats = 6, .clock = clock_fake(&clock)};
    sample_series series;
    arena a = {0};
    assert_int_equal(sample_all(&a, &subject, 1, &options, &series, NULL), ASSAY_OK);
    assert_true(series.samples_ns[0] == 5010);
    arena_clear(&a);
}

static void the_deadline_ends_it(void **state) {
    (void)state;
    fake_clock clock = {.step_ns = 0};
    toy t = {.clock = &clock, .cost_ns = 20000000};
    sample_subject subject = subject_of(&t);
    sample_options options = {.repeats = 10, .clock = clock_fake(&clock), .deadline_ns = 130000000};
    sample_series series;
    arena a = {0};
    assert_int_equal(sample_all(&a, &subject, 1, &options, &series, NULL), ASSAY_OK);
    assert_int_equal(series.result, ASSAY_OK);
    assert_int_equal(series.n_samples, 4); /* 2 warm-ups, 1 warm run, 4 samples: 140 ms, the last begun before 130 */
    assert_true(series.warning_bits & 1u << SAMPLE_DEADLINE);
    options.deadline_ns = clock.now_ns + 1;
    assert_int_equal(sample_all(&a, &subject, 1, &options, &series, NULL), ASSAY_OK);
    assert_int_equal(series.result, ASSAY_TIMEOUT);
    assert_int_equal(series.n_samples, 0);
    arena_clear(&a);
}

static void drift_and_spread_are_told(void **state) {
    (void)state;
    fake_clock clock = {.step_ns = 0};
    toy t = {.clock = &clock, .cost_ns = 1000000, .growth_ns = 50000};
    sample_subject subject = subject_of(&t);
    sample_options options = {.repeats = 12, .clock = clock_fake(&clock)};
    sample_series series;
    arena a = {0};
    assert_int_equal(sample_all(&a, &subject, 1, &options, &series, NULL), ASSAY_OK);
    assert_true(series.warning_bits & 1u << SAMPLE_DRIFT);
    assert_true(series.warning_bits & 1u << SAMPLE_SPREAD);
    options.repeats = 3;
    t = (toy){.clock = &clock, .cost_ns = 1000000};
    assert_int_equal(sample_all(&a, &subject, 1, &options, &series, NULL), ASSAY_OK);
    assert_int_equal(series.warning_bits, 1u << SAMPLE_FEW_SAMPLES);
    arena_clear(&a);
}

static void a_stopping_rule_asks_for_more(void **state) {
    (void)state;
    fake_clock clock = {.step_ns = 0};
    toy steady = {.clock = &clock, .cost_ns = 1000000};
    toy restless = {.clock = &clock, .cost_ns = 1000000, .growth_ns = 100000};
    sample_subject subject = subject_of(&steady);
    sample_options options = {
        .repeats = 3, .max_repeats = 50, .stopping = stop_when_narrow(0.95, 0.01), .clock = clock_fake(&clock)};
    sample_series series;
    arena a = {0};
    assert_int_equal(sample_all(&a, &subject, 1, &options, &series, NULL), ASSAY_OK);
    assert_int_equal(series.n_samples, 9); /* three were too few for an interval, and then the rule was asked */
    subject = subject_of(&restless);
    assert_int_equal(sample_all(&a, &subject, 1, &options, &series, NULL), ASSAY_OK);
    assert_int_equal(series.n_samples, 50);
    arena_clear(&a);
}

/* The whole machine is slower by the round, and all subjects with it: their ratio is known at once. */
static void the_rule_judges_ratios(void **state) {
    (void)state;
    fake_clock clock = {.step_ns = 0};
    toy toys[] = {{.clock = &clock, .cost_ns = 20000000, .growth_ns = 2000000},
                  {.clock = &clock, .cost_ns = 20000000, .growth_ns = 2000000},
                  {.clock = &clock, .cost_ns = 20000000}};
    sample_subject subjects[] = {subject_of(&toys[0]), subject_of(&toys[1]), subject_of(&toys[2])};
    sample_options options = {
        .repeats = 3, .max_repeats = 20, .stopping = stop_when_narrow(0.95, 0.03), .clock = clock_fake(&clock)};
    sample_series series[3];
    arena a = {0};
    assert_int_equal(sample_all(&a, subjects, 2, &options, series, NULL), ASSAY_OK);
    assert_int_equal(series[0].n_samples, 9);
    toys[0] = toys[1] = (toy){.clock = &clock, .cost_ns = 20000000, .growth_ns = 2000000};
    assert_int_equal(sample_all(&a, subjects, 3, &options, series, NULL), ASSAY_OK); /* the steady one stands out */
    assert_int_equal(series[2].n_samples, 20);
    toys[0] = (toy){.clock = &clock, .cost_ns = 20000000, .fail_at = 1};
    toys[1] = (toy){.clock = &clock, .cost_ns = 20000000};
    assert_int_equal(sample_all(&a, subjects, 3, &options, series, NULL), ASSAY_OK); /* no baseline: each by itself */
    assert_int_equal(series[1].n_samples, 9);
    options.baseline = 3;
    assert_int_equal(sample_all(&a, subjects, 3, &options, series, NULL), ASSAY_INVALID);
    arena_clear(&a);
}

/* Samples that may be many are short; together they last as long as was asked for, and never longer than they may. */
static void many_samples_are_short(void **state) {
    (void)state;
    fake_clock clock = {.step_ns = 0};
    toy toys[] = {{.clock = &clock, .cost_ns = 1000}, {.clock = &clock, .cost_ns = 1000}};
    sample_subject subjects[] = {subject_of(&toys[0]), subject_of(&toys[1])};
    sample_options options = {.repeats = 9,
                              .max_repeats = 100,
                              .min_time_s = 0.01,
                              .stopping = stop_when_narrow(0.95, 0.01),
                              .clock = clock_fake(&clock)};
    sample_series series[2];
    arena a = {0};
    assert_int_equal(sample_all(&a, subjects, 2, &options, series, NULL), ASSAY_OK);
    assert_true(series[0].inner_loops >= 250 && series[0].inner_loops <= 300);
    double whole_ns = (double)series[0].n_samples * (double)series[0].inner_loops * 1000;
    assert_true(whole_ns >= 10e6 && whole_ns < 10.5e6);
    toys[0] = (toy){.clock = &clock, .cost_ns = 1000000, .growth_ns = 50000};
    toys[1] = (toy){.clock = &clock, .cost_ns = 1000000};
    options.max_time_s = 0.05;
    assert_int_equal(sample_all(&a, subjects, 2, &options, series, NULL), ASSAY_OK);
    assert_true(series[0].n_samples >= 9 && series[0].n_samples < 25);
    arena_clear(&a);
}

static double taken_by(const sample_series *series) {
    double whole_ns = 0;
    for (size_t i = 0; i < series->n_samples; i++) {
        whole_ns += series->samples_ns[i] * (double)series->inner_loops;
    }
    return whole_ns;
}

/* The limit of what the precision may cost does not end the least time. */
static void least_time_goes_before_the_limit_of_the_rule(void **state) {
    (void)state;
    for (int restless = 0; restless < 2; restless++) {
        fake_clock clock = {.step_ns = 0};
        toy toys[] = {{.clock = &clock, .cost_ns = 1000, .growth_ns = 0}, {.clock = &clock, .cost_ns = 20000000, .growth_ns = restless * 1000000}};
        sample_subject subjects[] = {subject_of(&toys[0]), subject_of(&toys[1])};
        sample_options options = {.repeats = 9,
                                  .max_repeats = 100,
                                  .min_time_s = 1,
                                  .max_time_s = 0.25,
                                  .stopping = stop_when_narrow(0.95, 0.02),
                                  .clock = clock_fake(&clock)};
        sample_series series[2];
        arena a = {0};
        assert_int_equal(sample_all(&a, subjects, 2, &options, series, NULL), ASSAY_OK);
        for (size_t i = 0; i < 2; i++) {
            assert_true(taken_by(&series[i]) >= 1e9);
            assert_true(series[i].n_samples < 60); /* and the rule asks for none when it is over */
            assert_false(series[i].warning_bits & 1u << SAMPLE_DEADLINE);
        }
        arena_clear(&a);
    }
}

/* What is put back between runs is a part of the samples' time, in which such an operator seldom runs. */
static void least_time_has_in_it_what_is_put_back(void **state) {
    (void)state;
    fake_clock clock = {.step_ns = 0};
    toy t = {.clock = &clock, .cost_ns = 400};
    sample_subject subject = subject_of(&t);
    subject.before = toy_restore;
    subject.restores_each_run = true;
    sample_options options = {.repeats = 9,
                              .max_repeats = 100,
                              .min_time_s = 0.5,
                              .max_time_s = 0.25,
                              .stopping = stop_when_narrow(0.95, 0.02),
                              .clock = clock_fake(&clock)};
    sample_series series;
    arena a = {0};
    assert_int_equal(sample_all(&a, &subject, 1, &options, &series, NULL), ASSAY_OK);
    assert_true(series.taken_ns >= 0.5e9 && series.taken_ns < 0.6e9);
    assert_true(series.n_samples < 60);
    arena_clear(&a);
}

/* A least time that there is no time for: the deadline holds, with samples all the same, and the record says that it did. */
static void the_deadline_bounds_the_least_time(void **state) {
    (void)state;
    static const int most[] = {9, 100};
    for (size_t i = 0; i < countof(most); i++) {
        fake_clock clock = {.step_ns = 0};
        toy toys[] = {{.clock = &clock, .cost_ns = 1000}, {.clock = &clock, .cost_ns = 300000}};
        sample_subject subjects[] = {subject_of(&toys[0]), subject_of(&toys[1])};
        sample_options options = {.repeats = 9, .max_repeats = most[i], .min_time_s = 3600, .max_time_s = 0.25, .clock = clock_fake(&clock)};
        options.deadline_ns = clock.now_ns + 2000000000;
        sample_series series[2];
        arena a = {0};
        assert_int_equal(sample_all(&a, subjects, 2, &options, series, NULL), ASSAY_OK);
        assert_true(clock.now_ns < options.deadline_ns + 100000000);
        for (size_t k = 0; k < 2; k++) {
            assert_true(series[k].n_samples >= 9);
            assert_true(series[k].warning_bits & 1u << SAMPLE_DEADLINE);
            assert_non_null(strstr(series[k].warnings[0], " of 3600 s"));
        }
        arena_clear(&a);
    }
}

static void cold_runs_are_timed_alone(void **state) {
    (void)state;
    fake_clock clock = {.step_ns = 20};
    toy t = {.clock = &clock, .cost_ns = 100};
    char data[1000] = {0};
    memory_range ranges[] = {{data + 3, sizeof data - 3}, {NULL, 0}};
    sample_subject subject = subject_of(&t);
    subject.ranges = ranges;
    subject.n_ranges = 2;
    cache_evictor evictor = {0};
    assert_int_equal(cache_evictor_init(&evictor, 1 << 20, 0, NULL), ASSAY_OK);
    sample_options options = {.repeats = 4, .min_time_s = 1, .clock = clock_fake(&clock), .cold = &evictor};
    sample_series series;
    arena a = {0};
    assert_int_equal(sample_all(&a, &subject, 1, &options, &series, NULL), ASSAY_OK);
    assert_int_equal(series.inner_loops, 1);
    assert_int_equal(series.n_samples, 4);
    assert_true(series.samples_ns[3] == 100);
    assert_int_equal(t.runs, 2 + 4); /* no warm runs between */
    cache_evictor_clear(&evictor);
    arena_clear(&a);
}

static void bad_options_are_refused(void **state) {
    (void)state;
    fake_clock clock = {0};
    toy t = {.clock = &clock};
    sample_subject subject = subject_of(&t);
    sample_series series;
    arena a = {0};
    error err = {0};
    sample_options good = {.repeats = 1, .clock = clock_fake(&clock)};
    sample_options bad = good;
    assert_int_equal(sample_all(&a, &subject, 0, &good, &series, &err), ASSAY_INVALID);
    bad.repeats = 0;
    assert_int_equal(sample_all(&a, &subject, 1, &bad, &series, &err), ASSAY_INVALID);
    assert_non_null(strstr(err.message, "got 0"));
    bad = good;
    bad.min_time_s = NAN;
    assert_int_equal(sample_all(&a, &subject, 1, &bad, &series, &err), ASSAY_INVALID);
    bad = good;
    bad.clock.now_ns = NULL;
    assert_int_equal(sample_all(&a, &subject, 1, &bad, &series, &err), ASSAY_INVALID);
    arena_clear(&a);
}

static void the_real_clock_goes_forward(void **state) {
    (void)state;
    lab_clock clock = clock_monotonic();
    int64_t before = clock_now_ns(&clock);
    for (int i = 0; i < 1000; i++) {
        int64_t now = clock_now_ns(&clock);
        assert_true(now >= before);
        before = now;
    }
    assert_true(clock.resolution_ns > 0 && clock.read_ns >= 0);
    print_message("%s: step %g ns, a reading %g ns\n", clock.name, clock.resolution_ns, clock.read_ns);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_subject_is_timed_exactly),
        cmocka_unit_test(the_inner_loop_outlasts_the_clock),
        cmocka_unit_test(least_time_is_spread_over_the_samples),
        cmocka_unit_test(an_interruption_shortens_no_sample),
        cmocka_unit_test(samples_that_turn_out_short_are_told),
        cmocka_unit_test(subjects_take_turns),
        cmocka_unit_test(warm_samples_begin_with_a_run_not_timed),
        cmocka_unit_test(warm_samples_do_not_show_who_went_before),
#if defined(__x86_64__)
        cmocka_unit_test(nobody_pays_for_upper_halves_of_others),
#endif
        cmocka_unit_test(what_one_changes_for_all_is_put_back),
        cmocka_unit_test(a_slow_subject_leaves_time_for_the_others),
        cmocka_unit_test(inputs_are_restored_before_every_run),
        cmocka_unit_test(restored_runs_are_looped_too),
        cmocka_unit_test(a_failing_subject_leaves_the_others_alone),
        cmocka_unit_test(the_wait_is_inside),
        cmocka_unit_test(the_deadline_ends_it),
        cmocka_unit_test(drift_and_spread_are_told),
        cmocka_unit_test(a_stopping_rule_asks_for_more),
        cmocka_unit_test(the_rule_judges_ratios),
        cmocka_unit_test(many_samples_are_short),
        cmocka_unit_test(least_time_goes_before_the_limit_of_the_rule),
        cmocka_unit_test(least_time_has_in_it_what_is_put_back),
        cmocka_unit_test(the_deadline_bounds_the_least_time),
        cmocka_unit_test(cold_runs_are_timed_alone),
        cmocka_unit_test(bad_options_are_refused),
        cmocka_unit_test(the_real_clock_goes_forward),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
