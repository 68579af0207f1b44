/* SPDX-License-Identifier: Apache-2.0 */
/* One measurement as one plain struct, and as one line of JSON. The worker sends it to its supervisor so, files keep it
   so, and reports read it so: a record holds all that a report says, and needs neither the engine nor this machine. */
#ifndef LAB_RECORD_RECORD_H
#define LAB_RECORD_RECORD_H

#include "base/arena.h"
#include "base/status.h"
#include "base/text.h"
#include "lab/measure/machine.h"
#include "lab/stats/interval.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { RECORD_SCHEMA_VERSION = 1 };

/* How a point ended. The one list of names; docs/record.schema.json repeats them, and a test compares. */
#define RECORD_STATUS_LIST(X)                                        \
    X(OK, "ok")                                                      \
    X(SKIPPED, "skipped")         /* on purpose: reason says why */  \
    X(UNSUPPORTED, "unsupported") /* the backend has no such thing */ \
    X(MISMATCH, "mismatch")       /* ran, and the result is wrong */ \
    X(FAILED, "failed")           /* an error or a crash */          \
    X(TIMEOUT, "timeout")

typedef enum record_status {
#define RECORD_STATUS_ENUM(name, text) RECORD_##name,
    RECORD_STATUS_LIST(RECORD_STATUS_ENUM)
#undef RECORD_STATUS_ENUM
    RECORD_STATUS_COUNT
} record_status;

const char *record_status_text(record_status s);

/* How far a result is from the reference. */
typedef struct record_error_stats {
    double max_abs, rel_l2, worst_ulp; /* NaN: not known */
    int64_t checked_elements;          /* -1: nothing was checked */
    int64_t total_elements;            /* -1: not known */
} record_error_stats;

/* How fast a backend is, the baseline being 1: the median over the rounds of the baseline's sample over the backend's of the
   same round, and that median's interval. */
typedef struct record_speedup {
    double ratio, low, high; /* NaN: not known */
    double confidence;       /* of the interval: 0.95 or more, less where there are too few samples */
} record_speedup;

/* A condition of the run: an option as it was set, a flag that was used. */
typedef struct record_pair {
    const char *key;
    const char *value; /* NULL is written as null */
} record_pair;

/* A text that is missing is NULL, a double NaN, an integer negative; all are written as null. RECORD_EMPTY has
   everything missing. All pointers are borrowed by a writer; a reader makes them in its arena. */
typedef struct record {
    int schema_version;
    const char *kind;              /* "operator"; other experiments get other kinds */
    const char *operator_name;     /* "aten.add.Tensor" */
    const char *input;             /* the arguments exactly as recorded, "((T([2], f32), ...), {})" */
    const char *const *models;     /* files whose recorded step makes this call, and ... */
    const int64_t *model_calls;    /* ... how often each makes it; may be NULL (then only `calls` is known) */
    size_t n_models;
    int64_t calls;                 /* over all models */
    int64_t sample_index;          /* which of its operator's inputs, from 0 */
    const char *backend;
    bool baseline;                 /* this backend is what the others are compared with */
    const char *device;
    const char *dtype;             /* as asked for: "f32", "as-recorded" */
    int threads;
    const char *cache;             /* "warm", "cold" */
    bool channels_last;
    int64_t seed;
    double precision;              /* more samples were taken until ratios were known to +- this, if there was time; NaN: their number was fixed */
    record_status status;
    const char *reason;            /* NULL when ok */
    const double *samples_ns;      /* per run, in the order taken */
    size_t n_samples;
    int64_t inner_loops;           /* runs that each sample is the mean of */
    int worker;                    /* the process that measured it, or died over it, counted from 0 in its run: records of one input that have the same
                                      one were sampled in turns */
    double median_ns, q20_ns, q80_ns;
    record_speedup speedup;        /* over the baseline's record of the same run; missing for the baseline */
    double prepare_ns;
    double elapsed_s;              /* what its worker took for this point, on all backends: making inputs, preparing, checking, sampling */
    double flops, bytes;           /* of one run: the least that must be computed and moved */
    double gflops_per_s, gbytes_per_s;
    record_error_stats error;
    int kernels, library_calls;    /* what a compiler made of it: one kernel is the least */
    double bytes_moved;            /* what these read and write, roughly: `bytes` is the least */
    bool fallback;                 /* the backend handed the work to somebody else's kernel */
    const char *note;              /* what a reader of the number should know of how the backend came by it, or NULL */
    bool is_view;                  /* moves no data by its definition */
    const char *const *warnings;   /* conditions that make the number doubtful */
    size_t n_warnings;
    const record_pair *conditions;
    size_t n_conditions;
    const machine_facts *machine;  /* NULL: not known */
    const char *assay_version;
    const char *repro;             /* the command that measures exactly this point again */
} record;

extern const record RECORD_EMPTY;

/* Sets median_ns, q20_ns, q80_ns from samples_ns, and the two rates from flops, bytes and the median (NaN where there is
   no sample, or no time to divide by). OUT_OF_MEMORY; INVALID when a sample is not finite. */
status record_summarise(record *r, error *err);

/* Whether the two of one input were sampled in turns, so that what slows a round slows both; also where that is not known. */
bool record_took_turns(const record *a, const record *b);

/* The ratio of `other` to r from the samples of both, which were taken in turns, and its interval of 95% or more: where r's samples ended
   when the ratio was known well enough, what is left of an interval of more (lab/stats/stopping.h), told as 95%. NaN where there are none
   to compare, or a sample is 0. scratch: room for the samples of the one that has fewer. */
stats_ratio record_ratio(const record *r, const record *other, double *scratch);

/* The speed-up of r over `baseline`, from the samples of both, which were taken in turns; all NaN where there are none to
   compare, or a sample is 0. OUT_OF_MEMORY. */
status record_compare(const record *r, const record *baseline, record_speedup *out, error *err);

/* Preparing that takes longer than this is told: what prepares so long is a compiler, and times leave it out. */
#define RECORD_SLOW_COMPILE_NS 10e9

/* Adds a warning, "slow_compile: preparing took 11.2 s", where prepare_ns is above that. OUT_OF_MEMORY: r is untouched. */
status record_warn_of_compile(arena *a, record *r, error *err);

/* Appends r as one line of JSON with its newline. NaN and infinities are written as null. Out of memory shows in
   out->failed. Rates and medians are written as they are in r. */
void record_write(const record *r, text *out);

/* Remembers the machine of the line before, so that a thousand lines share one machine_facts. `{0}` to begin with. */
typedef struct record_reader {
    arena *memory;                /* the records' texts and arrays; borrowed */
    const machine_facts *machine; /* the last one made, and its text */
    const char *machine_text;
} record_reader;

/* Reads one line (n bytes, newline or not) into *out. Unknown keys are passed over, so that newer records can be read;
   a newer schema_version is UNSUPPORTED. A line that is no JSON object, a missing `operator`, `backend` or `status`, or a
   value of the wrong type is PARSE with the column; a summary line (`kind` ends in "_summary": a report's figures, which
   follow from the measurements) is NOT_FOUND. OUT_OF_MEMORY. *out is untouched on failure. */
status record_read(record_reader *reader, const char *line, size_t n, record *out, error *err);

#endif
