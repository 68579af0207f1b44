/* SPDX-License-Identifier: Apache-2.0 */
/* How near the eager kernels come to what this machine can do: each input of a file, in turns with plain read and copy
   loops over memory, its time against the least that its bytes would take at their speeds.

   usage: bench_ceilings INPUTS [THREADS] [DTYPE] */
#include "eager_call.h"
#include "lab/measure/ceilings.h"
#include "lab/measure/sample.h"

#include <math.h>
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>

enum { LOOP_BYTES = 256 << 20, REPEATS = 15 };

static status run_plan(void *self, error *err) {
    plan *p = self;
    return p->run(p, err);
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

/* The plan and the two loops in turns. Of each the fastest run counts: what disturbs a run only ever adds time. */
static status measure_plan(eager_call *c, const char *name, bandwidth_loops *loops, error *err) {
    sample_subject subjects[] = {{.name = "eager", .run = run_plan, .arg = c->plan},
                                 {.name = "read", .run = run_read, .arg = loops},
                                 {.name = "copy", .run = run_copy, .arg = loops}};
    sample_options options = {.repeats = REPEATS, .stopping = stop_at_once(), .clock = clock_monotonic()};
    sample_series series[countof(subjects)];
    TRY(sample_all(&c->memory, subjects, countof(subjects), &options, series, err));
    for (size_t i = 0; i < countof(subjects); i++) {
        if (series[i].result != ASSAY_OK) {
            *err = series[i].err;
            return series[i].result;
        }
    }
    op_cost cost;
    op_cost_of(&c->bound.call, &c->out, &cost);
    double written = 0;
    for (int i = 0; i < c->out.n; i++) {
        written += tensor_bytes(&c->out.items[i]);
    }
    double best_ns = fastest(&series[0]);
    double read_rate = LOOP_BYTES / fastest(&series[1]), copy_rate = LOOP_BYTES / fastest(&series[2]);
    printf("%-42.42s %9.1f %9.0f %9.1f %9.1f %9.1f %8.0f%%\n", name, cost.bytes / 1048576, best_ns / 1000,
           cost.bytes / best_ns, read_rate, copy_rate,
           100 * floor_ns(cost.bytes - written, written, read_rate, copy_rate) / best_ns);
    return ASSAY_OK;
}

static status measure(const op_table *table, backend *eager, const input *in, const char *name, bandwidth_loops *loops,
                      dtype_mode mode, error *err) {
    eager_call c;
    status result = eager_call_open(&c, table, eager, in, name, mode, err);
    if (result == ASSAY_OK) {
        result = measure_plan(&c, name, loops, err);
    }
    eager_call_close(&c);
    return result;
}

int main(int argc, char **argv) {
    error err = {0};
    op_table *table = NULL;
    backend *eager = NULL;
    inputs set = {0};
    bandwidth_loops *loops = NULL;
    int threads = argc > 2 ? atoi(argv[2]) : omp_get_max_threads();
    dtype_mode mode = DTYPE_F32;
    omp_set_num_threads(threads);
    if (argc < 2 || (argc > 3 && dtype_mode_find(argv[3], &mode, &err) != ASSAY_OK) ||
        inputs_read_path(&set, argv[1], &err) != ASSAY_OK || op_table_new(&table, &err) != ASSAY_OK ||
        backend_eager_open(table, &eager, &err) != ASSAY_OK ||
        bandwidth_loops_new(LOOP_BYTES, threads, &loops, &err) != ASSAY_OK) {
        fprintf(stderr, "bench_ceilings: %s\n", argc < 2 ? "usage: bench_ceilings INPUTS [THREADS] [DTYPE]" : err.message);
        return 1;
    }
    printf("%-42s %9s %9s %9s %9s %9s %9s\n", "operator", "MiB", "us", "GB/s", "read GB/s", "copy GB/s", "of least");
    for (size_t i = 0; i < set.n_all; i++) {
        const inputs_operator *recorded = &set.operators[set.all[i]->operator_position];
        if (measure(table, eager, set.all[i], recorded->name, loops, mode, &err) != ASSAY_OK) {
            printf("%-42.42s %s\n", recorded->name, err.message);
        }
    }
    bandwidth_loops_free(loops);
    eager->close(eager);
    op_table_free(table);
    inputs_clear(&set);
    return 0;
}
