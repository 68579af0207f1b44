/* SPDX-License-Identifier: Apache-2.0 */
/* Whether a kernel's tasks go on side by side (flow.c), and what is kept between their phases for that. */
#include "engine/compile/emit/flow_choose.h"

#include "device/caches.h"
#include "engine/compile/emit/blocks.h"
#include "engine/compile/emit/deviations.h"
#include "engine/compile/emit/facts.h"
#include "engine/compile/emit/fetching.h"
#include "engine/compile/emit/guess.h"
#include "engine/compile/emit/held.h"
#include "engine/compile/emit/long_sums.h"
#include "engine/compile/emit/ordered.h"
#include "engine/compile/emit/row_ends.h"
#include "engine/compile/emit/saved.h"
#include "engine/compile/emit/team.h"
#include "engine/compile/emit/twins.h"
#include "engine/compile/emit/wants.h"

#include <string.h>

/* Of all tasks in flight: half of a core's own cache; most of one where nothing else is near; what threads had better share: all of that
   goes through the cache beside it. More than a little is no matter for the stack. */
enum { FLIGHT_BYTES = 1 << 20, KEPT_BYTES = 7 << 18, SHARED_BYTES = 5 << 17, STACK_BYTES = 256 << 10, LEAST_TASKS = 8 };

static bool may_flow(const emitter *m) {
    const kernel *k = m->k;
    bool few = k->n_task_items < LEAST_TASKS && !m->c->options->streams_all;
    if (few || m->n_across > 0 || !m->streams || !k->has_classes || k->is_product || k->n_phases < 2 || k->vector < 0 ||
        !emit_streams(m, k->n_phases - 1) || (!m->rows && k->lanes != EMIT_BLOCK_LANES)) {
        return false;
    }
    for (int i = 0; i < k->n_roots; i++) {
        if (k->roots[i].kind == ROOT_SCAN || k->roots[i].kind == ROOT_SCATTER || k->roots[i].ranks > 0) {
            return false;
        }
    }
    for (int p = 0; p < k->n_phases; p++) {
        if (!emit_has_loops(m, p)) {
            return false;
        }
    }
    return true;
}

/* The last phase that needs expression i, and the first, of those that compute it or read it back; -1: none. */
static int last_use(emitter *m, int i, int *first) {
    int last = -1;
    *first = -1;
    for (int p = 0; p < m->k->n_phases; p++) {
        emit_want_all(m, p);
        if (m->wanted[i]) {
            *first = *first < 0 ? p : *first;
            last = p;
        }
    }
    return last;
}

/* Whether each task reads elements of its own by expression i. */
static bool is_of_task(const emitter *m, int i) {
    const expr *e = &m->k->exprs[i];
    uint64_t tasks = 0;
    for (int t = 0; t < m->k->n_tasks; t++) {
        tasks |= (uint64_t)1 << m->k->tasks[t];
    }
    return e->kind == EXPR_LOAD && (e->variables & tasks) != 0 && (e->variables & m->reduced) != 0;
}

/* The cast that a half which expression i loads is computed in; i itself when there is none, or others as well. Where stores are dear
   bf16 are kept as they are, which takes half the room as well: batch norm's gradient takes 0.84 of the time so (Zen 4, 2026-11). */
static int kept_form(const emitter *m, int i) {
    int found = i;
    if (m->spares_stores && m->k->exprs[i].dtype == ASSAY_BF16) {
        return i;
    }
    for (int e = 0; e < m->k->n_exprs; e++) {
        int reads[EXPR_MAX_READS], n = expr_reads(m->k, &m->k->exprs[e], reads);
        for (int r = 0; r < n; r++) {
            if (reads[r] == i) {
                bool is_only = found == i && m->k->exprs[e].kind == EXPR_CAST && dtype_is_floating(m->k->exprs[e].dtype);
                found = is_only ? e : -1;
            }
        }
        if (found < 0) {
            return i;
        }
    }
    for (int r = 0; r < m->k->n_roots; r++) {
        found = m->k->roots[r].expr == i ? i : found; /* it is stored as it is */
    }
    return found;
}

/* What only led to something that is kept as well, such as an index to an element, is not. */
static void forget_unread(emitter *m) {
    for (int i = 0; i < m->k->n_exprs; i++) {
        bool is_read = m->saved_in[i] < 0;
        for (int phase = m->saved_in[i] + 1; phase < m->k->n_phases && !is_read; phase++) {
            emit_want_all(m, phase);
            is_read = m->wanted[i];
        }
        m->saved_in[i] = is_read ? m->saved_in[i] : -1;
    }
}

/* What the first phase reads and a later one reads again is kept. */
static void keep_loads(emitter *m) {
    for (int i = 0; i < m->k->n_exprs; i++) {
        int first;
        bool by_lanes = (m->k->exprs[i].variables >> m->k->vector & 1) != 0; /* others are read before them */
        if (!by_lanes || !is_of_task(m, i) || last_use(m, i, &first) <= first) {
            continue;
        }
        int kept = kept_form(m, i);
        if (m->saved_in[kept] < 0) {
            m->saved_in[kept] = first;
        }
    }
    forget_unread(m);
}

/* Bytes that are kept, all versions of them; counts the versions. */
static int64_t count_kept(emitter *m) {
    int64_t bytes = 0;
    for (int i = 0; i < m->k->n_exprs; i++) {
        m->versions[i] = 1;
        if (m->saved_in[i] >= 0) {
            int first, lags = emit_flow_lag(m, last_use(m, i, &first)) - emit_flow_lag(m, m->saved_in[i]);
            m->versions[i] = lags > 1 ? lags : 1;
            bytes += m->versions[i] * emit_visited(m) * (int64_t)dtype_size(m->k->exprs[i].dtype);
        }
    }
    return bytes;
}

/* Bytes that a task reads for itself alone. */
static int64_t read_bytes(const emitter *m) {
    int64_t bytes = 0;
    for (int i = 0; i < m->k->n_exprs; i++) {
        bytes += is_of_task(m, i) ? emit_visited(m) * (int64_t)dtype_size(m->k->exprs[i].dtype) : 0;
    }
    return bytes;
}

/* Whether what all tasks in flight keep, and what they read, has room enough for all of them to go on side by side. Rows in lanes
   read nothing twice, and choose_vector has seen to it that what they keep fits. */
static bool has_room(emitter *m) {
    if (m->rows && m->k->n_loops > 0) {
        return count_kept(m) <= ROWS_KEPT_BYTES;
    }
    return m->k->n_phases * read_bytes(m) <= FLIGHT_BYTES && count_kept(m) <= FLIGHT_BYTES;
}

/* Whether each lane has too many terms. Where something is kept of rows in lanes, what it has room for sees to it that they are not many. */
static bool has_long_sums(emitter *m) {
    return m->rows && emit_chain(m) > EMIT_LONG_SUM && count_kept(m) == 0;
}

/* Of 4, 8, 16 and 32 rows, 1, 2, 4 and 16 lines of each at a time, these move what softmax keeps fastest (Sapphire Rapids, 2026-11). Where a
   group is asked for ahead, to come to L2, more rows of it do (Zen 4, 2026-11). */
enum { GROUP_ROWS = 8, FAR_GROUP_ROWS = 16, GROUP_LINES = 2 };

/* Rows a page apart are gone down in groups: a block of lanes of each, then the next block. The CPU reads ahead in each row's page
   by itself then, while what lanes sum stays in registers. Alone, moving what softmax moves over the second of [64, 512, 1024] takes
   9.7 ms so, and 12 ms row by row (Sapphire Rapids, 2026-11). */
static void choose_groups(emitter *m) {
    const kernel *k = m->k;
    const loop_variable *inner = k->n_loops > 0 ? &k->variables[k->loops[k->n_loops - 1]] : NULL;
    int lines = GROUP_LINES * emit_whole_lines(m), lanes = lines < EMIT_BLOCK_LANES ? lines : EMIT_BLOCK_LANES;
    m->by_groups = m->flow != FLOW_NONE && m->rows && inner != NULL && inner->tile == 0 && k->lanes % lanes == 0 &&
                   k->variables[k->vector].tile == 0;
    if (!m->by_groups) {
        return;
    }
    int last = k->n_phases - 1;
    m->phase = last;
    bool aligned = emit_is_aligned(m, last);
    bool next_to_each_other = k->n_tasks > 0 && k->tasks[k->n_tasks - 1] == k->vector;
    m->joins = !aligned && next_to_each_other;
    m->by_groups = aligned || m->joins;
    if (m->by_groups) {
        m->flow_lanes = lanes;
    }
}

/* Whether its rows lie apart, each from a line of memory on, so that they can be taken in turns; without a whole block they are few lines. */
static bool turns_rows(emitter *m) {
    const kernel *k = m->k;
    if (m->rows || k->n_loops == 0 || k->variables[k->vector].size < EMIT_BLOCK_LANES) {
        return false;
    }
    const loop_variable *inner = &k->variables[k->loops[k->n_loops - 1]];
    return inner->tile == 0 && inner->size >= EMIT_PAGES && emit_is_aligned(m, k->n_phases - 1);
}

/* How many of them at a time; 0: they go one by one. Of 1, 2 and 4 the fastest on two cores of a Zen 5 whose memory is read at 75 to 80 GB/s,
   [64, 256, 56, 56]: batch norm takes 5.3, 5.5 and 5.9 ms, group norm 4.8, 5.2 and 5.3, batch norm's gradient 10.9, 10.2 and 10.9, of bf16
   4.1, 4.1 and 4.7 (2026-11). */
static int rows_in_turn(emitter *m) {
    int streams = 0;
    for (int i = 0; i < m->k->n_exprs; i++) {
        streams += is_of_task(m, i) && (m->k->exprs[i].variables >> m->k->vector & 1) != 0;
    }
    if (!turns_rows(m)) {
        return 0;
    }
    return !m->c->options->few_in_turn || m->shares ? EMIT_PAGES : streams > 1 ? 2 : 0;
}

/* Of rows that threads share: as many as each has, or those that can be kept, in whole groups. */
static int64_t rows_that_fit(emitter *m) {
    const int64_t rows = m->k->variables[m->k->loops[0]].size, groups = (rows + EMIT_PAGES - 1) / EMIT_PAGES;
    const int64_t own = (groups + m->c->options->n_threads - 1) / m->c->options->n_threads;
    const int64_t fit = KEPT_BYTES / (count_kept(m) / rows) / EMIT_PAGES;
    return EMIT_PAGES * (own < fit ? own : fit);
}

/* A single pass in which each lane takes an element in more than once has more to do with what lanes come to than with memory, unless
   that stays in registers: sums of deviations and of their squares, over the second of [64, 512, 1024] in bf16, take 1.5 ms by four
   rows, and 2.2 row by row (two cores of a Zen 4, 2026-11). What waits for memory goes down it as it lies, unless lanes are so many that what
   they come to takes up much of the nearest cache: sums over the first of [4096, 8192] have 65% of what memory gives row by row, and 83%
   by four rows. */
enum { WIDE_PASS_LANES = 2048 };

/* Whether rows that lanes go down are floats, which wait for memory before they wait for stores anywhere: deviations over the second of
   [64, 512, 1024] take 0.9 of the time by four rows whose sums are in registers (Emerald Rapids), and those of bf16 a third longer (Granite
   Rapids, 2026-11). */
static bool goes_down_floats(const emitter *m) {
    bool any = false;
    for (int i = 0; i < m->k->n_exprs; i++) {
        const expr *e = &m->k->exprs[i];
        if (m->rows && emit_is_dense_load(m, e) && dtype_size(e->dtype) < 4) {
            return false;
        }
        any |= emit_is_dense_load(m, e);
    }
    return any;
}

/* Whether rows that lanes go down come from memory, each about as long as a page, to a CPU that reads ahead in several pages at once, and is
   faster so whatever is done with them: the largest of each column of [64, 512, 1024] and its place take 5.1 ms by four rows, and 6.0 row by
   row; of bf16, sums 2.3 and 3.2, deviations 2.7 and 3.8 (two cores of an Emerald Rapids, 2026-11). */
static bool goes_down_pages(const emitter *m) {
    enum { PAGE = 4096 };
    const kernel *k = m->k;
    bool much = false;
    for (int i = 0; i < k->n_exprs; i++) {
        const expr *e = &k->exprs[i];
        int64_t stride;
        bool is_large = emit_is_dense_load(m, e) && (buffer_bytes(m->c, e->buffer) >= STREAM_MIN_BYTES || m->c->options->streams_all);
        much |= is_large && index_stride(e->at, k->loops[k->n_loops - 1], &stride) && stride * (int64_t)dtype_size(e->dtype) >= PAGE / 2;
    }
    return much && !m->c->options->asks_far && !m->c->options->few_stores;
}

static void choose_pass_groups(emitter *m) {
    const kernel *k = m->k;
    const loop_variable *inner = &k->variables[k->loops[k->n_loops - 1]];
    m->by_groups = inner->tile == 0 && k->lanes % EMIT_BLOCK_LANES == 0 && !emit_passes_rows(m);
    for (int i = 0; i < k->n_roots; i++) {
        const bool may_wait = k->roots[i].kind == ROOT_REDUCE && goes_down_pages(m);
        m->by_groups = m->by_groups && (!emit_in_loops(m, &k->roots[i]) || may_wait || emit_is_held(m, i));
    }
    m->group_rows = m->by_groups ? EMIT_PAGES : 0;
}

/* Where squares of deviations wait for the mean of more than a small part of the nearest cache, a task reads its row twice, from further
   off mostly; and where tasks' rows could be read in the order of memory (ordered.c), it does not go in that order. Both sums are found
   together then: 196 MiB of [256, 64, 56, 56] by channels take 4.3 ms instead of 9.4, deviations of 64 rows of 32768 48 us instead of 89,
   of 512 rows of 4096 52 instead of 72 (two cores of a Zen 4, 2026-11). Intel's processors, on which memory is idle while a row is read again,
   do better so by rows of a page as well where they come from afar: variances of [32768, 1024] take 4.4 ms instead of 5.2, of [4096, 1024]
   0.32 instead of 0.39; of [512, 1024], which L2 has, 28 us instead of 24 (two cores of an Emerald Rapids, 2026-11). */
enum { NEAR_BYTES = 12 << 10, NEAR_BYTES_OF_FAR = 1 << 10, FAR_BYTES = 8 << 20 };

static bool waits_for_mean_dearly(const emitter *m) {
    bool is_far = false;
    for (int i = 0; i < m->k->n_exprs; i++) {
        const expr *e = &m->k->exprs[i];
        is_far |= emit_is_dense_load(m, e) && buffer_bytes(m->c, e->buffer) >= FAR_BYTES && !m->c->options->asks_far;
    }
    return read_bytes(m) > (is_far ? NEAR_BYTES_OF_FAR : NEAR_BYTES);
}

/* Whether all that a kernel goes down row by row is whole rows, one behind the other. Running sums down them are none the faster by groups on a
   Zen 5: of [64, 512, 1024] 3.0 ms, and 3.8 by four rows, of [64, 256, 56, 56] 4.7 and 5.4, of bf16 1.6 and 2.1; of two halves of
   [32768, 1024], which lie apart, 4.4 and 4.1 (two cores, 2026-11). */
static bool reads_straight_on(const emitter *m) {
    const kernel *k = m->k;
    bool all = true;
    for (int i = 0; i < k->n_exprs; i++) {
        int64_t stride;
        all &= !emit_is_dense_load(m, &k->exprs[i]) ||
               (index_stride(k->exprs[i].at, k->loops[k->n_loops - 1], &stride) && stride == k->lanes);
    }
    return all;
}

/* Whether an exponential waits for a later phase. */
static bool keeps_exponentials(const emitter *m) {
    bool any = false;
    for (int i = 0; i < m->k->n_exprs; i++) {
        any |= m->saved_in[i] >= 0 && m->k->exprs[i].kind == EXPR_MAP && m->k->exprs[i].fn == FN_EXP;
    }
    return any;
}

/* Of rows that are long enough exponentials need not wait for the largest number either: softmax of 64 rows of 4096 takes 27 us instead of
   36 (two cores of a Zen 4, 2026-11). Shorter ones do better side by side (abreast.c), those that keep none of them longer. */
enum { LEAST_GUESSED = 192, LEAST_GUESSED_ANEW = 384 };

static void choose_guess_of_row(emitter *m) {
    const kernel *k = m->k;
    for (int i = 0; i < k->n_roots; i++) {
        if (k->roots[i].kind == ROOT_SCAN || k->roots[i].kind == ROOT_SCATTER || k->roots[i].ranks > 0) {
            return;
        }
    }
    if (k->n_phases < 2 || emit_visited(m) < LEAST_GUESSED) {
        return;
    }
    emit_choose_guess_of_row(m);
    emit_choose_saved(m, EMIT_SAVED_BYTES);
    if (m->guessed >= 0 && emit_visited(m) < LEAST_GUESSED_ANEW && !keeps_exponentials(m)) {
        m->guessed = -1;
        m->k = k;
        emit_choose_saved(m, EMIT_SAVED_BYTES);
    }
}

/* Whether only the first phase goes down rows: what follows is of lanes, such as sums that are rounded. */
static bool has_one_pass(const emitter *m) {
    bool one = true;
    for (int p = 1; p < m->k->n_phases; p++) {
        one &= !emit_has_loops(m, p);
    }
    return one;
}

static void choose_one_reading(emitter *m) {
    const kernel *k = m->k;
    bool is_plain = !m->rows && !k->is_product && k->has_classes && k->vector >= 0 && k->lanes == EMIT_BLOCK_LANES &&
                    k->variables[k->vector].tile == 0;
    deviation_form form;
    bool is_large = waits_for_mean_dearly(m) || m->c->options->streams_all || emit_rows_follow(m);
    if (m->rows && find_column_deviations(m->c, k, &form)) {
        emit_choose_near_mean(m, true);
        emit_choose_saved(m, EMIT_SAVED_BYTES);
        choose_pass_groups(m);
        return;
    }
    const bool is_wide = k->n_phases == 1 && (k->lanes >= WIDE_PASS_LANES || emit_scans_held(m));
    if (m->rows && k->n_loops > 0 && (is_wide || (has_one_pass(m) && goes_down_pages(m)))) {
        if (!m->c->options->few_in_turn || !emit_scans_held(m) || !reads_straight_on(m)) {
            choose_pass_groups(m);
        }
        return;
    }
    if (is_plain && !find_deviations(k, &form)) {
        choose_guess_of_row(m);
        return;
    }
    if (!is_plain || !is_large) {
        return;
    }
    for (int i = 0; i < k->n_roots; i++) {
        if (k->roots[i].phase == 0 && i != form.sum) {
            return;
        }
    }
    emit_choose_near_mean(m, true);
    emit_choose_saved(m, EMIT_SAVED_BYTES);
}

void emit_choose_flow(emitter *m) {
    const kernel *k = m->k, *unguessed = k;
    m->flow = FLOW_NONE;
    m->in_room = m->by_groups = m->joins = m->turns_rows = m->shares = m->behind_kept = false;
    m->group_rows = 0;
    m->kept_rows = 0;
    m->carried = -1;
    for (int i = 0; i < k->n_exprs; i++) {
        m->versions[i] = 1;
    }
    if (may_flow(m)) {
        emit_choose_guess(m);
        k = m->k;
        emit_choose_saved(m, m->rows ? ROWS_KEPT_BYTES : EMIT_SAVED_BYTES);
        /* A row that lies in one piece is read again from the cache, others would meet in a few places of it. */
        m->flow = FLOW_ALL;
        if (k->n_loops > 0) {
            keep_loads(m);
        }
        if (!has_room(m)) {
            m->flow = FLOW_ENDS;
            keep_loads(m);
            m->kept_rows = count_kept(m) > SHARED_BYTES && emit_may_share(m) && turns_rows(m) ? rows_that_fit(m) : 0;
            m->shares = m->kept_rows > 0;
            m->flow = m->shares || count_kept(m) <= KEPT_BYTES ? FLOW_ENDS : FLOW_NONE;
        }
        m->flow = has_long_sums(m) ? FLOW_NONE : m->flow;
        choose_groups(m);
        m->in_room = m->flow != FLOW_NONE && (m->joins || count_kept(m) > STACK_BYTES);
        if (m->flow == FLOW_NONE) {
            m->guessed = m->squares = -1;
            m->k = unguessed;
            emit_choose_saved(m, EMIT_SAVED_BYTES);
        } else {
            m->turns_rows = rows_in_turn(m) > 0;
            m->group_rows = m->by_groups ? (m->c->options->asks_far ? FAR_GROUP_ROWS : GROUP_ROWS) : rows_in_turn(m);
            emit_choose_carried(m, emit_unaligned_root(m, k->n_phases - 1));
            emit_choose_twins(m, m->carried < 0 && 2 * k->n_phases * read_bytes(m) <= FLIGHT_BYTES && 2 * count_kept(m) <= STACK_BYTES);
        }
    }
    if (m->flow == FLOW_NONE) {
        m->spares_stores &= m->c->options->few_stores || !m->rows || goes_down_floats(m);
        choose_one_reading(m);
        k = m->k;
    }
    m->phase = 0;
    memset(m->wanted, 0, (size_t)k->n_exprs);
    memset(m->named, 0, (size_t)k->n_exprs);
}
