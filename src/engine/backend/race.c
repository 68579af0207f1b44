/* SPDX-License-Identifier: Apache-2.0 */
/* Candidates in turns, and what their runs write as it was before. */
#include "engine/backend/race.h"

#include "device/instructions.h"

#include <assert.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

double race_now_s(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

/* --- inputs that a run writes ------------------------------------------------------------------------------------------------ */

status race_save_storage(saved_inputs *s, const storage *memory, error *err) {
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

status race_save(saved_inputs *s, const graph *g, error *err) {
    for (int i = 0; i < g->n_nodes; i++) {
        const op_call *call = &g->nodes[i].call;
        for (int a = 0; a < call->op->signature.n_params; a++) {
            if (call->args[a].kind == ARG_TENSOR && op_writes(call->op, a)) {
                TRY(race_save_storage(s, call->args[a].tensor->storage, err));
            }
        }
    }
    return ASSAY_OK;
}

void race_restore(const saved_inputs *s) {
    for (int i = 0; i < s->n; i++) {
        memcpy(s->items[i].at, s->items[i].copy, s->items[i].size_bytes);
    }
}

void race_forget(saved_inputs *s) {
    for (int i = 0; i < s->n; i++) {
        free(s->items[i].copy);
    }
    free(s->items);
}

/* --- candidates in turns ----------------------------------------------------------------------------------------------------- */

/* Of one candidate in one round. */
static const double ROUND_S = 0.0005;

/* So much slower than the fastest in its best run, a candidate is not asked again: noise does not make up for it. */
static const double OUT_OF_REACH = 1.5;

/* A product may take a second a run. Then the noise is little beside it, and a choice is to take seconds, not minutes: rounds end
   sooner, and what other candidates left in the caches does not matter. */
static const double LONG_CHOICE_S = 3, LONG_RUN_S = 0.02;

/* Whether a race that began then goes on to another round. */
static bool goes_on(double began_s, int round, int least, int least_if_long) {
    double spent = race_now_s() - began_s;
    return round < least_if_long || spent < RACE_CHOICE_S || (round < least && spent < LONG_CHOICE_S);
}

static double least_of(const double *best_s, int n) {
    double least = best_s[0];
    for (int i = 1; i < n; i++) {
        least = best_s[i] < least ? best_s[i] : least;
    }
    return least;
}

/* One candidate's turn of a round: as many runs as fit, of which the fastest counts. */
static status fastest_turn(candidate_fn *run, void *self, int candidate, const saved_inputs *saved, double *least_s, error *err) {
    double spent = 0;
    *least_s = 1e30;
    for (int k = 0; k < 100 && (k == 0 || spent < ROUND_S); k++) {
        double before = race_now_s();
        race_restore(saved);
        double start = race_now_s();
        TRY(run(self, candidate, err));
        double end = race_now_s(), took = end - start;
        spent += end - before;
        *least_s = took < *least_s ? took : *least_s;
    }
    return ASSAY_OK;
}

status race_all(candidate_fn *run, void *self, int n, int n_cold, int rounds, const saved_inputs *saved, double *best_s, error *err) {
    instructions_clear_upper_halves();
    for (int i = 0; i < n; i++) {
        best_s[i] = 1e30;
        race_restore(saved);
        TRY(i < n_cold ? run(self, i, err) : ASSAY_OK);
    }
    double began = race_now_s(), least = 0;
    for (int round = 0; round < rounds && goes_on(began, round, 2, 1); round++) {
        for (int i = 0; i < n; i++) {
            if (round > 1 && best_s[i] > OUT_OF_REACH * least) {
                continue;
            }
            double took;
            TRY(fastest_turn(run, self, i, saved, &took, err));
            best_s[i] = took < best_s[i] ? took : best_s[i];
        }
        least = least_of(best_s, n);
    }
    return ASSAY_OK;
}

int race_winner(const double *best_s, int n) {
    int best = 0;
    for (int i = 1; i < n; i++) {
        best = best_s[i] < 0.97 * best_s[best] ? i : best;
    }
    return best;
}

/* --- finals ------------------------------------------------------------------------------------------------------------------ */

static int compare_doubles(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* One round in so many took less: a quarter or an eighth of them are those in which nothing else had the cores. */
static double lower_part(const double *took_s, int rounds, int of) {
    double sorted[RACE_ROUNDS + RACE_LATER_ROUNDS];
    memcpy(sorted, took_s, (size_t)rounds * sizeof *sorted);
    qsort(sorted, (size_t)rounds, sizeof *sorted, compare_doubles);
    return sorted[rounds / of];
}

bool race_is_faster(const double *first_s, const double *second_s, int rounds) {
    static const double MUCH = 0.8, DEVIATIONS = 1.8; /* of rounds won by chance: a twenty-fifth of such races would end so */
    int wins = 0, ahead = 0;
    for (int i = 0; i < rounds; i++) {
        wins += second_s[i] < 0.98 * first_s[i];
        ahead += second_s[i] < first_s[i];
    }
    bool is_much = lower_part(second_s, rounds, 4) < MUCH * lower_part(first_s, rounds, 4);
    bool is_best = lower_part(second_s, rounds, 8) < lower_part(first_s, rounds, 8); /* what stretches most rounds may not be its rival's */
    bool no_chance = 2 * wins >= rounds && 2 * ahead - rounds >= DEVIATIONS * sqrt(rounds);
    return is_best && (no_chance || (is_much ? 8 * wins >= 5 * rounds : 4 * wins >= 3 * rounds));
}

bool race_is_faster_twice(const double *first_s, const double *second_s, int rounds, int later) {
    return race_is_faster(first_s, second_s, rounds) && race_is_faster(first_s + rounds, second_s + rounds, later) &&
           lower_part(second_s, rounds + later, 8) < lower_part(first_s, rounds + later, 8);
}

bool race_is_open(const double *best_s, const double *other_s, int rounds) {
    static const double CLEARLY = 0.95;
    return lower_part(other_s, rounds, 8) < CLEARLY * lower_part(best_s, rounds, 8);
}

/* The mean of the runs that fit into FINAL_S. One run before them is not counted unless it is long: the candidate before it has left
   its own data in the caches. */
static status mean_turn(candidate_fn *run, void *self, int candidate, const saved_inputs *saved, double *mean_s, error *err) {
    static const double FINAL_S = 0.00025;
    double spent = 0, sum = 0;
    int runs = 0;
    race_restore(saved);
    double began = race_now_s();
    TRY(run(self, candidate, err));
    *mean_s = race_now_s() - began;
    if (*mean_s > LONG_RUN_S) {
        return ASSAY_OK;
    }
    while (runs == 0 || spent < FINAL_S) {
        double before = race_now_s();
        race_restore(saved);
        double start = race_now_s();
        TRY(run(self, candidate, err));
        double end = race_now_s();
        spent += end - before;
        sum += end - start;
        runs++;
    }
    *mean_s = sum / runs;
    return ASSAY_OK;
}

static void rest(double seconds) {
    struct timespec left = {.tv_nsec = (long)(seconds * 1e9)};
    while (nanosleep(&left, &left) != 0 && errno == EINTR) {
    }
}

/* The first, unless a later one is faster beyond doubt: where that is doubted, in the later rounds as well, once there are some. */
static int best_of(double took_s[][RACE_ROUNDS + RACE_LATER_ROUNDS], const bool *doubted, int n, int rounds, int later) {
    int best = 0;
    for (int i = 1; i < n; i++) {
        bool is_faster = later > 0 && doubted[i] ? race_is_faster_twice(took_s[best], took_s[i], rounds, later)
                                               : race_is_faster(took_s[best], took_s[i], rounds + later);
        best = is_faster ? i : best;
    }
    return best;
}

status race_finals(candidate_fn *run, void *self, const int *chosen, const bool *doubted, int n, double rest_s, const saved_inputs *saved,
                   int *best, bool *open, error *err) {
    enum { LEAST_ROUNDS = 8, LEAST_LONG_ROUNDS = 4, TIMES = 4 };
    double took_s[RACE_FINALISTS][RACE_ROUNDS + RACE_LATER_ROUNDS];
    assert(n <= RACE_FINALISTS);
    instructions_clear_upper_halves();
    int rounds = 0, later = 0;
    for (int time = 0; time < TIMES; time++) {
        int most = time == 0 ? RACE_ROUNDS : rounds / 2, done = 0;
        double began = race_now_s();
        for (; done < most && goes_on(began, done, LEAST_ROUNDS, LEAST_LONG_ROUNDS); done++) {
            for (int k = 0; k < n; k++) {
                int i = done % 2 == 0 ? k : n - 1 - k;
                TRY(mean_turn(run, self, chosen[i], saved, &took_s[i][rounds + done], err));
            }
        }
        *(time == 0 ? &rounds : &later) = done;
        *best = best_of(took_s, doubted, n, rounds, later);
        if (!doubted[*best]) {
            break;
        }
        rest(time == TIMES - 1 ? 0 : rest_s);
        rest_s *= 2;
    }
    *open = false;
    for (int i = 0; i < n; i++) {
        *open |= race_is_open(took_s[*best], took_s[i], rounds + later);
    }
    return ASSAY_OK;
}
