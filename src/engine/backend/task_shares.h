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

/* Pieces of a thread's that have been taken, apart from the next one's. */
typedef struct task_share {
    atomic_int taken;
    char apart[SHARE_LINE - sizeof(atomic_int)];
} task_share;

/* Some tasks of a thread; whether all went well. */
typedef bool (*run_tasks)(void *context, int64_t from, int64_t to);

/* Before threads begin: nothing is taken. */
void task_shares_begin(task_share *shares, int threads);
/* What falls to one of the `threads` that share n tasks: run is called for each range of them. Answers whether all went well. */
bool task_shares_run(task_share *shares, int thread, int threads, int64_t n, run_tasks run, void *context);

#endif
