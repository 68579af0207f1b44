/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the user's PyTorch and builds the plug-in for it (plugins/torch), once. */
#ifndef LAB_EXPERIMENT_TORCH_PLUGIN_H
#define LAB_EXPERIMENT_TORCH_PLUGIN_H

#include "base/arena.h"
#include "base/status.h"

#include <stdbool.h>

typedef struct torch_options {
    const char *python;          /* whose PyTorch it is: a path, or a name in $PATH */
    const char *cache_directory; /* where plug-ins are kept, "~/.cache/assay"; NULL: nowhere, and nothing can be built */
    const char *cxx;             /* the C++ compiler: a path, or a name in $PATH */
    double patience_s;           /* how long the Python may take to answer; 0: 30 s */
} torch_options;

/* The two plug-ins, each a shared object of its own: what AOTInductor's packages need beside ATen takes long to load. */
typedef enum torch_peer { TORCH_EAGER, TORCH_INDUCTOR, TORCH_PEERS } torch_peer;

/* The column's name: "torch", "inductor". */
const char *torch_peer_name(torch_peer peer);

/* A PyTorch that a plug-in can be built for. All texts lie in the arena it was found with. */
typedef struct torch_found {
    const char *python;      /* as it calls itself */
    const char *version;     /* "2.15.0+cu132" */
    const char *directory;   /* the package: holds include/ and lib/ */
    const char *plugin_directory;          /* holds them and their source; NULL without a cache directory */
    const char *packages;                  /* the folder beside it that holds what Inductor compiled; NULL as well */
    const char *plugin_paths[TORCH_PEERS]; /* where they are, or will be */
    bool is_built[TORCH_PEERS];
} torch_found;

/* Asks the Python for its PyTorch; starts one short process. NOT_FOUND: no such Python, or none in it: the message says
   how to get one. UNSUPPORTED: too old, or installed without headers or libraries. TIMEOUT, IO, OUT_OF_MEMORY. */
status torch_find(arena *a, const torch_options *options, torch_found *out, error *err);

/* Builds a plug-in unless it is there already (about 20 s). The source is part of this program; the file's name holds
   PyTorch's version and a hash of everything it depends on, so that another version is another file; a hash of the file lies beside it,
   so that one that is damaged is built anew. Processes that need the
   same file wait for each other; a reader sees the whole file or none. NOT_FOUND: no compiler or no place. INVALID: it does
   not compile; the message has the compiler's first error and the log's path. IO, TIMEOUT, OUT_OF_MEMORY. */
status torch_build(arena *a, const torch_options *options, torch_found *found, torch_peer peer, error *err);

#endif
