/* SPDX-License-Identifier: Apache-2.0 */
/* How near the eager kernels come to what this machine can do: each input of a file, in turns with plain read and copy
   loops over memory, its time against the least that its bytes would take at their speeds.

   usage: bench_ceilings INPUTS [THREADS] [DTYPE] */
#include "engine/backend/backend.h"
#include "engine/literal/bind.h"
#include "lab/experiment/inputs.h"
#include "lab/measure/ceilings.h"
#include "lab/measure/sample.h"
#include "lab/stats/summary.h"

#include <omp.h>
#include <stdio.h>
#include <stdlib.h>

typedef struct subject {
    plan *plan;
} subject;

static status run_plan(void *self, error *err) {
    subject *s = self;
    return s->plan->run(s->plan, err);
}

/* The least time for what is read and written: an output byte pairs with an input byte at the copy loop's speed, what is
   read beyond that at the read loop's. */
static double floor_ns(double read_bytes, double written_bytes, const bandwidth *b) {
    double paired = written_bytes < read_bytes ? written_bytes : read_bytes;
    double rest = read_bytes + written_bytes - 2 * paired;
    return 2 * paired / b->copy_gbytes_per_s + rest / b->read_gbytes_per_s;
}

static status measure(const op_table *table, backend *eager, const input *in, const inputs_operator *recorded, int threads,
                      dtype_mode mode, error *err) {
    arena memory = {0};
    bound_call bound = {0};
    outputs out;
    graph g;
    plan *p = NULL;
    op_cost cost;
    sample_series series;
    bandwidth b;
    lab_clock clock = clock_monotonic();
    outputs_init(&out);
    const op *o = op_table_find(table, recorded->name);
    status result = o != NULL ? ASSAY_OK : fail(err, ASSAY_NOT_FOUND, "no operator is called %s", recorded->name);
    if (result == ASSAY_OK) {
        result = bind_call(&memory, o, in->args, in->kwargs, &(bind_options){.dtype = mode}, &bound, err);
    }
    if (result == ASSAY_OK) {
        result = bound_allocate(&bound, &device_cpu, err);
    }
    result = result == ASSAY_OK ? op_fill_inputs(&bound.call, 0, err) : result;
    result = result == ASSAY_OK ? op_infer(&bound.call, &out, err) : result;
    result = result == ASSAY_OK ? graph_of_call(&memory, &bound.call, &out, &g, err) : result;
    result = result == ASSAY_OK ? eager->prepare(eager, &g, &p, err) : result;
    if (result == ASSAY_OK) {
        subject s = {.plan = p};
        sample_subject subjects[] = {{.name = "eager", .run = run_plan, .arg = &s}};
        sample_options options = {.repeats = 7, .min_time_s = 0.2, .stopping = stop_at_once(), .clock = clock};
        result = sample_all(&memory, subjects, 1, &options, &series, err);
        result = result == ASSAY_OK ? series.result : result;
    }
    result = result == ASSAY_OK ? ceilings_bandwidth((size_t)256 << 20, threads, 0.15, &clock, &b, err) : result;
    if (result == ASSAY_OK) {
        op_cost_of(&bound.call, &out, &cost);
        double written = 0;
        for (int i = 0; i < out.n; i++) {
            written += tensor_bytes(&out.items[i]);
        }
        double least = floor_ns(cost.bytes - written, written, &b);
        stats_summary times;
        result = stats_summarise(series.samples_ns, series.n_samples, &times, err);
        double median = result == ASSAY_OK ? times.median : 0;
        printf("%-42.42s %9.1f %9.0f %9.1f %9.1f %9.1f %8.0f%%\n", recorded->name, cost.bytes / 1048576, median / 1000,
               cost.bytes / median, b.read_gbytes_per_s, b.copy_gbytes_per_s, 100 * least / median);
    }
    if (p != NULL) {
        p->release(p);
    }
    outputs_clear(&out);
    bound_clear(&bound);
    arena_clear(&memory);
    return result;
}

int main(int argc, char **argv) {
    error err = {0};
    op_table *table = NULL;
    backend *eager = NULL;
    inputs set = {0};
    int threads = argc > 2 ? atoi(argv[2]) : omp_get_max_threads();
    dtype_mode mode = DTYPE_F32;
    omp_set_num_threads(threads);
    if (argc < 2 || (argc > 3 && dtype_mode_find(argv[3], &mode, &err) != ASSAY_OK) ||
        inputs_read_path(&set, argv[1], &err) != ASSAY_OK || op_table_new(&table, &err) != ASSAY_OK ||
        backend_eager_open(table, &eager, &err) != ASSAY_OK) {
        fprintf(stderr, "bench_ceilings: %s\n", argc < 2 ? "usage: bench_ceilings INPUTS [THREADS] [DTYPE]" : err.message);
        return 1;
    }
    printf("%-42s %9s %9s %9s %9s %9s %9s\n", "operator", "MiB", "us", "GB/s", "read GB/s", "copy GB/s", "of least");
    for (size_t i = 0; i < set.n_all; i++) {
        const inputs_operator *recorded = &set.operators[set.all[i]->operator_position];
        if (measure(table, eager, set.all[i], recorded, threads, mode, &err) != ASSAY_OK) {
            printf("%-42.42s %s\n", recorded->name, err.message);
        }
    }
    eager->close(eager);
    op_table_free(table);
    inputs_clear(&set);
    return 0;
}
