/* SPDX-License-Identifier: Apache-2.0 */
/* Candidates run in turns, each judged by its fastest runs: what disturbs a run only ever adds time. */
#ifndef ENGINE_BACKEND_RACE_H
#define ENGINE_BACKEND_RACE_H

#include "engine/graph/graph.h"

typedef struct saved_input {
    void *at;
    void *copy;
    size_t size_bytes;
} saved_input;

/* What runs write in place, as it was. Begins as {0}. */
typedef struct saved_inputs {
    int n, capacity;
    saved_input *items;
} saved_inputs;

/* Copies every input that a node of g writes, or one memory (NULL is fine, twice is once). OUT_OF_MEMORY; race_forget is due
   either way. */
status race_save(saved_inputs *s, const graph *g, error *err);
status race_save_storage(saved_inputs *s, const storage *memory, error *err);
void race_restore(const saved_inputs *s);
void race_forget(saved_inputs *s);

/* The most seconds that all rounds of one choice may take, unless the least number of rounds takes longer. */
#define RACE_CHOICE_S 0.25
/* Of a clock that only goes forward. */
double race_now_s(void);

typedef status candidate_fn(void *self, int candidate, error *err);

/* Seconds of each of n candidates' fastest run into best_s. The first n_cold run once before: what touches its memory for the first
   time waits for the system, and would be out of reach at once. What runs write in place is as it was before each, so that indices
   stay in range and numbers do not drift to where arithmetic is slow; that takes time as well, and there is so much of it. Errors
   are a candidate's. */
status race_all(candidate_fn *run, void *self, int n, int n_cold, int rounds, const saved_inputs *saved, double *best_s, error *err);
/* The first, unless another is faster by more than clocks wander. */
int race_winner(const double *best_s, int n);

/* The chosen few of the same candidates once more, as a caller will run them: many times on end, in turns that change their
   order. *best is an index into chosen: the first, unless a later one is faster beyond doubt. doubted: which of them may be faster only
   while something else keeps a core or the caches busy. Such a one has to be so three times more, in half as many rounds each, after
   rests of rest_s (below 0.25), of twice and of four times that: a neighbour may keep a core for half a second. *open: whether another
   one took clearly less in its best rounds, so that a quieter race may end otherwise. */
enum { RACE_FINALISTS = 5, RACE_ROUNDS = 32, RACE_LATER_ROUNDS = RACE_ROUNDS / 2 };
status race_finals(candidate_fn *run, void *self, const int *chosen, const bool *doubted, int n, double rest_s, const saved_inputs *saved,
                   int *best, bool *open, error *err);

/* Whether the second of two is faster beyond doubt, in at most RACE_ROUNDS + RACE_LATER_ROUNDS rounds: by more than 2% in at least three
   rounds of four, or in five of eight where its lower quartile is a fifth less, or in half of them where it is ahead in more than chance
   gives; and in the eighth of either's rounds that took least. What else keeps a core busy stretches any of the rounds, to many times
   their length; it once left a plan in use that took 2.5 times as long. */
bool race_is_faster(const double *first_s, const double *second_s, int rounds);
/* Whether it is so in the first rounds and in those that came later, and in the best of all. */
bool race_is_faster_twice(const double *first_s, const double *second_s, int rounds, int later);

/* Whether one that did not win took clearly less than the best where nothing stretched a round: a quieter race may end otherwise. */
bool race_is_open(const double *best_s, const double *other_s, int rounds);

#endif
