/* SPDX-License-Identifier: Apache-2.0 */
/* A backend: prepares a graph once, runs it as often as asked. The engine's own ones and plug-ins look alike from here. */
#ifndef ENGINE_BACKEND_BACKEND_H
#define ENGINE_BACKEND_BACKEND_H

#include "assay/backend.h"
#include "engine/backend/output_memory.h"
#include "engine/graph/graph.h"

/* What a plan says of what was made for it and could not be kept for other runs. */
#define PLAN_CODE_NOT_KEPT "compiled code is not kept"
#define PLAN_CHOICE_NOT_KEPT "the tuner's choice is not kept"

typedef struct backend backend;
typedef struct plan plan;

/* A graph made ready. Backends put this first in a struct of their own. Released by its own `release`. One thread at a time. */
struct plan {
    /* Computes every output from the inputs' present values; allocates nothing where the backend says so. */
    status (*run)(plan *p, error *err);
    /* Output i as of the last run, shared into *out (to be cleared by the caller); before the first run its memory may be
       written to (poisoned) where the plan owns it already. */
    status (*output)(plan *p, int i, tensor *out, error *err);
    void (*release)(plan *p);
    /* Of code that is not trusted: whether it has left alone what is around its outputs. INVALID: it has not, and the process's memory may
       be damaged. NULL: of the engine's own code, and a plug-in's that makes its outputs. */
    status (*is_whole)(plan *p, error *err);
    const char *note;  /* something a reader of the number should know, or NULL */
    char *not_kept;    /* PLAN_CODE_NOT_KEPT or PLAN_CHOICE_NOT_KEPT and why, on the heap: the next run does it all again; NULL: it is kept */
    bool makes_outputs; /* in memory that is not ours to write to */
    bool is_fallback;  /* the work is somebody else's kernel called back */
    /* How a compiler cut the work up: its kernels, its calls of a kernel library, and the bytes that all of them read and write,
       roughly. bytes_moved 0: not known. */
    int n_kernels, n_calls;
    double bytes_moved;
    assay_precision precision; /* of what is computed on the way (agree.h) */
};

struct backend {
    const char *name; /* as in --backend; plug-ins: the name they give themselves */
    const char *doc;  /* one sentence */
    bool is_plugin;   /* somebody else's code, which is watched */
    status (*prepare)(backend *b, const graph *g, plan **out, error *err);
    /* Where plans that are prepared from now on have their outputs, if the backend makes them itself and they fit; they keep
       hold of it. NULL: each in memory of its own. Borrowed, for the calls of prepare. */
    const output_memory *outputs;
    /* OK when the backend has code for the operator at all, else UNSUPPORTED with the reason; NULL: not known. */
    status (*covers)(backend *b, const op *o, error *err);
    void (*close)(backend *b);
};

/* The rows' own references over every element. Slow; for comparison only. */
status backend_reference_open(const op_table *table, backend **out, error *err);
/* Hand-written kernels, views as views. */
status backend_eager_open(const op_table *table, backend **out, error *err);
/* The compiler's code. "compiled"; "compiled:nofuse": a kernel for each value that an operator answers; "compiled:autotune":
   of several kernels for each step, and of the eager kernels, the fastest, by trying them in prepare. NOT_FOUND for others. */
status backend_compiled_open(const op_table *table, const char *name, backend **out, error *err);
/* A plug-in, "PATH" or "PATH.so:OPTIONS": a shared object that exports assay_backend_entry (include/assay/backend.h). The error names the file and what
   is wrong with it: not there, no such symbol, another ABI version, a refusal in its own words. */
status backend_plugin_open(const char *path, backend **out, error *err);

/* "NAME:again": the built-in backend NAME once more, for comparing it with itself. Takes `of` over, also when it fails.
   OUT_OF_MEMORY. */
#define BACKEND_AGAIN ":again"
status backend_again_open(backend *of, backend **out, error *err);

/* By name, or a path with a '/' in it. NOT_FOUND names the nearest. */
status backend_open(const op_table *table, const char *name, backend **out, error *err);
/* The built-in names, for listings. */
const char *const *backend_names(size_t *n);

#endif
