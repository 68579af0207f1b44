/* SPDX-License-Identifier: Apache-2.0 */
/* Tasks of one kernel among threads. Each goes through most of its share at once; the last quarter lies in a few pieces, which a thread
   that is done with its own takes from those that are not: cores differ, and are now and then taken away. Where nothing holds a thread up
   its tasks are the same, in the same order, each time. */
#ifndef ENGINE_BACKEND_TASK_SHARES_H
#define ENGINE_BACKEND_TASK_SHARES_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

enum { SHARE_PIECES = 4, SHARE_LINE = 64 };

/* Work from which that pays, in bytes that take as long to move: sums of [512, 512] floats, 3 MiB, take two cores of a Zen 4 19 us, and half a
   microsecond more in pieces (2026-11). */
enum { SHARE_LEAST_WORK = 4 << 20 };

/* Pieces of a thread's that have been taken, apart from the next one's. */
typedef struct task_share {
    atomic_int taken;
    char apart[SHARE_LINE - sizeof(atomic_int)];
} task_share;

/* Some tasks of a thread; whether all went well. */
typedef bool (*run_tasks)(void *context, int64_t from, int64_t to);

/* Before threads begin: nothing is taken. */
void task_shares_begin(task_share *shares, int threads);
/* What falls to one of the `threads` that share n tasks: run is called for each range of them, or for one where nothing is to be taken over.
   Answers whether all went well. */
bool task_shares_run(task_share *shares, bool in_pieces, int thread, int threads, int64_t n, run_tasks run, void *context);

#endif
