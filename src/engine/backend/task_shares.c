/* SPDX-License-Identifier: Apache-2.0 */
/* Shares of tasks, the end of each in pieces that other threads may take. */
#include "engine/backend/task_shares.h"

#include "engine/kernels/cpu/parallel.h"

typedef struct range {
    int64_t from, to;
} range;

static range share_of(int thread, int threads, int64_t n) {
    range r;
    parallel_share_of(n, 1, thread, threads, &r.from, &r.to);
    return r;
}

/* Where the pieces of a share begin. */
static int64_t pieces_from(range share) {
    return share.to - (share.to - share.from) / 4;
}

static range piece_of(range share, int piece) {
    const int64_t from = pieces_from(share), n = share.to - from;
    return (range){from + n * piece / SHARE_PIECES, from + n * (piece + 1) / SHARE_PIECES};
}

static bool take_pieces(task_share *share, range all, run_tasks run, void *context) {
    bool good = true;
    while (atomic_load_explicit(&share->taken, memory_order_relaxed) < SHARE_PIECES) {
        const int piece = atomic_fetch_add_explicit(&share->taken, 1, memory_order_relaxed);
        const range r = piece < SHARE_PIECES ? piece_of(all, piece) : (range){0, 0}; /* another was quicker */
        good &= r.from == r.to || run(context, r.from, r.to);
    }
    return good;
}

void task_shares_begin(task_share *shares, int threads) {
    for (int i = 0; i < threads; i++) {
        atomic_store_explicit(&shares[i].taken, 0, memory_order_relaxed);
    }
}

bool task_shares_run(task_share *shares, bool in_pieces, int thread, int threads, int64_t n, run_tasks run, void *context) {
    const range own = share_of(thread, threads, n);
    if (!in_pieces) {
        return own.from == own.to || run(context, own.from, own.to);
    }
    bool good = own.from == pieces_from(own) || run(context, own.from, pieces_from(own));
    for (int i = 0; i < threads; i++) {
        const int other = (thread + i) % threads;
        good &= take_pieces(&shares[other], share_of(other, threads, n), run, context);
    }
    return good;
}
