/* SPDX-License-Identifier: Apache-2.0 */
/* Reads what this machine is. Measured rates lie in ceilings.h. */
#ifndef LAB_MEASURE_MACHINE_H
#define LAB_MEASURE_MACHINE_H

#include "base/arena.h"
#include "base/status.h"
#include "lab/measure/machine_facts.h"

/* A compiler found on $PATH. */
typedef struct machine_compiler {
    const char *name;    /* "cc"; "cc, gcc" where these are one */
    const char *path;    /* the file that it is, links followed; NULL: it is not there */
    bool is_used;        /* for emitted code */
    const char *version; /* first line of --version, run without a shell; NULL when it did not answer within 5 s */
} machine_compiler;

/* Reads the facts from /proc, /sys and the CPU itself. root is put before "/proc" and "/sys" so that tests can show
   other machines; "" for this one (what the CPU is asked directly is not affected). What cannot be read stays unknown.
   Fails with OUT_OF_MEMORY only; out untouched then. About a millisecond. */
status machine_read(arena *a, const char *root, machine_facts *out, error *err);

/* Times a chain of additions that each need the one before, for about 10 ms, and says how many were done in a
   microsecond: the core's clock while it works. */
double machine_measure_clock_mhz(void);

/* cc, gcc, clang and $ASSAY_CC's compiler, those that exist, in that order, each once; and the one that is used ($ASSAY_CC's, else cc) in
   any case. Starts one short process for each. */
status machine_find_compilers(arena *a, const machine_compiler **out, size_t *n, error *err);
/* One of them by its name or path: path NULL, there is none; version NULL, it does not say. OUT_OF_MEMORY. */
status machine_ask_compiler(arena *a, const char *name, machine_compiler *out, error *err);

#endif
