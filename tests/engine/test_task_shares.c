/* SPDX-License-Identifier: Apache-2.0 */
/* Tasks shared among threads: each is run once, whoever is late; where nobody is, all go through the same ones each time. */
#include "engine/backend/task_shares.h"

#include <omp.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include <string.h>
#include <time.h>

enum { MOST_TASKS = 300, MOST_TEAM = 7 };

typedef struct counted {
    atomic_int *times;
    int64_t fails_at;
    int delay_ms;
    int64_t n_run;
} counted;

static bool count(void *context, int64_t from, int64_t to) {
    counted *c = context;
    assert_true(from < to);
    for (int64_t i = from; i < to; i++) {
        atomic_fetch_add(&c->times[i], 1);
    }
    c->n_run += to - from;
    if (c->delay_ms > 0) {
        nanosleep(&(struct timespec){0, c->delay_ms * 1000000L}, NULL);
    }
    return c->fails_at < from || c->fails_at >= to;
}

/* Threads one after the other, as if each were late by all that the ones before take. Answers whether all went well. */
static bool run_in_turn(bool in_pieces, int first, int threads, int64_t n, int64_t fails_at, int64_t *n_run) {
    static atomic_int times[MOST_TASKS];
    task_share shares[MOST_TEAM];
    bool good = true;
    memset(times, 0, sizeof times);
    task_shares_begin(shares, threads);
    for (int i = 0; i < threads; i++) {
        counted c = {times, fails_at, 0, 0};
        good &= task_shares_run(shares, in_pieces, (first + i) % threads, threads, n, count, &c);
        n_run[i] = c.n_run;
    }
    for (int64_t i = 0; i < n; i++) {
        assert_int_equal(times[i], 1);
    }
    return good;
}

static void each_is_run_once(void **state) {
    (void)state;
    int64_t n_run[MOST_TEAM];
    for (int threads = 1; threads <= MOST_TEAM; threads++) {
        for (int64_t n = 0; n < MOST_TASKS; n += n < 40 ? 1 : 37) {
            assert_true(run_in_turn(true, (int)n % threads, threads, n, -1, n_run));
            assert_true(run_in_turn(false, (int)n % threads, threads, n, -1, n_run));
        }
    }
}

static void who_is_free_takes_from_the_late(void **state) {
    (void)state;
    int64_t n_run[MOST_TEAM];
    assert_true(run_in_turn(true, 0, 2, 256, -1, n_run));
    assert_int_equal(n_run[0], 128 + 32); /* a quarter of the other's */
    assert_int_equal(n_run[1], 128 - 32);
    assert_true(run_in_turn(false, 0, 2, 256, -1, n_run));
    assert_int_equal(n_run[0], 128);
}

static void a_failure_is_told(void **state) {
    (void)state;
    int64_t n_run[MOST_TEAM];
    for (int64_t at = 0; at < 64; at++) {
        assert_false(run_in_turn(at % 2 == 0, 1, 3, 64, at, n_run));
    }
}

static void a_team_shares(void **state) {
    (void)state;
    static atomic_int times[MOST_TASKS];
    task_share shares[4];
    int64_t n_run[4] = {0};
    task_shares_begin(shares, 4);
#pragma omp parallel num_threads(4)
    {
        const int thread = omp_get_thread_num(), threads = omp_get_num_threads();
        counted c = {times, -1, thread == 2 ? 20 : 0, 0};
        (void)task_shares_run(shares, true, thread, threads, 256, count, &c);
        n_run[thread] = c.n_run;
    }
    int64_t all = n_run[0] + n_run[1] + n_run[2] + n_run[3];
    assert_int_equal(all, 256);
    for (int i = 0; i < 256; i++) {
        assert_int_equal(times[i], 1);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_is_run_once),
        cmocka_unit_test(who_is_free_takes_from_the_late),
        cmocka_unit_test(a_failure_is_told),
        cmocka_unit_test(a_team_shares),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
