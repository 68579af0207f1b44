/* SPDX-License-Identifier: Apache-2.0 */
/* How near the eager kernels and the compiler's come to what this machine can do: each input of a file, in turns with plain
   read and copy loops over memory, their times against the least that its bytes would take at the loops' speeds. Told of the fastest
   runs of all of them, and as the median over turns of what each turn says by itself.

   usage: bench_ceilings INPUTS [THREADS] [DTYPE] */
#include "eager_call.h"
#include "lab/measure/ceilings.h"
#include "lab/measure/machine.h"
#include "lab/measure/sample.h"
#include "lab/measure/stack_place.h"
#include "lab/stats/summary.h"

#include <math.h>
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>

enum { LEAST_LOOP_BYTES = 256 << 20, REPEATS = 15 };

/* The loops and how much memory they go over. */
typedef struct ceiling_loops {
    bandwidth_loops *loops;
    double bytes;
} ceiling_loops;

typedef struct timed_plan {
    plan *plan;
    const pristine *kept;
    bandwidth_loops *loops;
} timed_plan;

static status run_plan(void *self, error *err) {
    plan *p = ((timed_plan *)self)->plan;
    return p->run(p, err);
}

/* Before each run: the inputs as they were, and other memory read: a plan would else find in L3 what the one before it has read of the
   same input. */
static void begin_anew(void *self) {
    timed_plan *p = self;
    pristine_restore(p->kept, NULL);
    bandwidth_loops_read(p->loops, 1);
}

static status run_read(void *self, error *err) {
    (void)err;
    bandwidth_loops_read(self, 1);
    return ASSAY_OK;
}

static status run_copy(void *self, error *err) {
    (void)err;
    bandwidth_loops_copy(self, 1);
    return ASSAY_OK;
}

static status run_stream(void *self, error *err) {
    (void)err;
    bandwidth_loops_stream(self, 1);
    return ASSAY_OK;
}

/* The least time for what is read and written: an output byte pairs with an input byte at the copy loop's speed, what is
   read beyond that at the read loop's. */
static double floor_ns(double read_bytes, double written_bytes, double read_rate, double copy_rate) {
    double paired = written_bytes < read_bytes ? written_bytes : read_bytes;
    double rest = read_bytes + written_bytes - 2 * paired;
    return 2 * paired / copy_rate + rest / read_rate;
}

static double fastest(const sample_series *s) {
    double best = INFINITY;
    for (size_t i = 0; i < s->n_samples; i++) {
        best = fmin(best, s->samples_ns[i]);
    }
    return best;
}

/* What a run reads and writes, in bytes. */
typedef struct traffic {
    double read, written;
} traffic;

/* What takes turns: two loops that copy, of which the faster counts, and the backends' plans. */
enum { READ, COPY, STREAM, LOOPS };

/* The median over turns of the least time by the loops of that turn over the plan's: what slows a turn slows both. */
static double share_of_turns(traffic t, double loop_bytes, const sample_series loops[LOOPS], const sample_series *runs) {
    double shares[REPEATS];
    for (size_t i = 0; i < REPEATS; i++) {
        double copy_ns = fmin(loops[COPY].samples_ns[i], loops[STREAM].samples_ns[i]);
        double least_ns = floor_ns(t.read, t.written, loop_bytes / loops[READ].samples_ns[i], loop_bytes / copy_ns);
        shares[i] = least_ns / runs->samples_ns[i];
    }
    stats_sort(shares, REPEATS);
    return stats_quantile_sorted(shares, REPEATS, 0.5);
}

/* What is measured of each input. */
enum { EAGER, COMPILED, BACKENDS };

typedef struct measured {
    eager_call call;         /* its plan is eager's */
    plan *plans[BACKENDS];   /* NULL: it cannot */
} measured;

/* The plans and the loops in turns. */
static status measure_plans(measured *m, const char *name, const ceiling_loops *l, error *err) {
    bandwidth_loops *loops = l->loops;
    sample_subject subjects[LOOPS + BACKENDS] = {[READ] = {.name = "read", .run = run_read, .arg = loops},
                                                 [COPY] = {.name = "copy", .run = run_copy, .arg = loops},
                                                 [STREAM] = {.name = "stream", .run = run_stream, .arg = loops}};
    timed_plan timed[BACKENDS];
    size_t n = LOOPS;
    for (int b = 0; b < BACKENDS; b++) {
        if (m->plans[b] != NULL) {
            timed[b] = (timed_plan){m->plans[b], &m->call.kept, loops};
            subjects[n++] = (sample_subject){.name = "plan", .run = run_plan, .before = begin_anew, .arg = &timed[b],
                                             .restores_each_run = true};
        }
    }
    sample_options options = {.repeats = REPEATS, .stopping = stop_at_once(), .clock = clock_monotonic()};
    sample_series series[LOOPS + BACKENDS];
    TRY(sample_all(&m->call.memory, subjects, n, &options, series, err));
    for (size_t i = 0; i < n; i++) {
        if (series[i].result != ASSAY_OK) {
            *err = series[i].err;
            return series[i].result;
        }
    }
    op_cost cost;
    op_cost_of(&m->call.bound.call, &m->call.out, &cost);
    traffic t = {.written = 0};
    for (int i = 0; i < m->call.out.n; i++) {
        t.written += tensor_bytes(&m->call.out.items[i]);
    }
    t.read = cost.bytes - t.written;
    double read_rate = l->bytes / fastest(&series[READ]);
    double copy_rate = l->bytes / fmin(fastest(&series[COPY]), fastest(&series[STREAM]));
    double least_ns = floor_ns(t.read, t.written, read_rate, copy_rate);
    printf("%-38.38s %7.1f %8.1f %8.1f", name, cost.bytes / 1048576, read_rate, copy_rate);
    n = LOOPS;
    for (int b = 0; b < BACKENDS; b++) {
        if (m->plans[b] != NULL) {
            const sample_series *runs = &series[n++];
            double best_ns = fastest(runs), median = share_of_turns(t, l->bytes, series, runs);
            printf(" %9.0f %6.0f%% %6.0f%%", best_ns / 1000, 100 * least_ns / best_ns, 100 * median);
        } else {
            printf(" %9s %7s %7s", "-", "-", "-");
        }
    }
    printf("\n");
    return ASSAY_OK;
}

static status measure(const op_table *table, backend *const *backends, const input *in, const char *name,
                      const ceiling_loops *loops, dtype_mode mode, error *err) {
    measured m = {.plans = {NULL}};
    status result = eager_call_open(&m.call, table, backends[EAGER], in, name, mode, err);
    m.plans[EAGER] = m.call.plan;
    if (result == ASSAY_OK) {
        result = backends[COMPILED]->prepare(backends[COMPILED], &m.call.graph, &m.plans[COMPILED], err);
        if (result != ASSAY_OK && result != ASSAY_UNSUPPORTED && result != ASSAY_OUT_OF_MEMORY) {
            static bool told = false; /* once: a missing compiler fails every row */
            if (!told) {
                fprintf(stderr, "bench_ceilings: compiled: %s\n", err->message);
            }
            told = true;
        }
        result = ASSAY_OK;
    }
    if (result == ASSAY_OK) {
        result = measure_plans(&m, name, loops, err);
    }
    if (m.plans[COMPILED] != NULL) {
        m.plans[COMPILED]->release(m.plans[COMPILED]);
    }
    eager_call_close(&m.call);
    return result;
}

/* What all rows are measured with. */
typedef struct rows {
    const op_table *table;
    backend *const *backends;
    const inputs *set;
    const ceiling_loops *loops;
    dtype_mode mode;
} rows;

static status measure_all(void *all, error *err) {
    const rows *r = all;
    for (size_t i = 0; i < r->set->n_all; i++) {
        const char *name = r->set->operators[r->set->all[i]->operator_position].name;
        if (measure(r->table, r->backends, r->set->all[i], name, r->loops, r->mode, err) != ASSAY_OK) {
            printf("%-38.38s %s\n", name, err->message);
        }
    }
    return ASSAY_OK;
}

static status open_loops(int threads, ceiling_loops *out, error *err) {
    arena memory = {0};
    machine_facts machine;
    int64_t bytes = LEAST_LOOP_BYTES;
    status result = machine_read(&memory, "", &machine, err);
    if (result == ASSAY_OK) {
        bytes = machine_beyond_caches_bytes(&machine, LEAST_LOOP_BYTES);
        result = bandwidth_loops_new((size_t)bytes, threads, &out->loops, err);
        out->bytes = (double)bytes;
    }
    arena_clear(&memory);
    return result;
}

int main(int argc, char **argv) {
    error err = {0};
    op_table *table = NULL;
    backend *backends[BACKENDS] = {NULL};
    inputs set = {0};
    ceiling_loops loops = {NULL, 0};
    int threads = argc > 2 ? atoi(argv[2]) : omp_get_max_threads();
    dtype_mode mode = DTYPE_F32;
    omp_set_num_threads(threads);
    if (argc < 2 || (argc > 3 && dtype_mode_find(argv[3], &mode, &err) != ASSAY_OK) ||
        inputs_read_path(&set, argv[1], &err) != ASSAY_OK || op_table_new(&table, &err) != ASSAY_OK ||
        backend_eager_open(table, &backends[EAGER], &err) != ASSAY_OK ||
        backend_compiled_open(table, "compiled", &backends[COMPILED], &err) != ASSAY_OK ||
        open_loops(threads, &loops, &err) != ASSAY_OK) {
        fprintf(stderr, "bench_ceilings: %s\n", argc < 2 ? "usage: bench_ceilings INPUTS [THREADS] [DTYPE]" : err.message);
        return 1;
    }
    if (set.n_bad_lines > 0) {
        fprintf(stderr, "bench_ceilings: left out %zu lines of %s; `assay operators --dry-run --inputs` says what is wrong with them\n",
                set.n_bad_lines, argv[1]);
    }
    printf("%-38s %7s %8s %8s %9s %7s %7s %9s %7s %7s\n", "", "", "read", "copy", "eager", "of", "", "compiled", "of", "");
    printf("%-38s %7s %8s %8s %9s %7s %7s %9s %7s %7s\n", "operator", "MiB", "GB/s", "GB/s", "us", "least", "median", "us", "least",
           "median");
    stack_placed(measure_all, &(rows){table, backends, &set, &loops, mode}, &err);
    bandwidth_loops_free(loops.loops);
    for (int b = 0; b < BACKENDS; b++) {
        backends[b]->close(backends[b]);
    }
    op_table_free(table);
    inputs_clear(&set);
    return 0;
}
