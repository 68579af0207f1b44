/* SPDX-License-Identifier: Apache-2.0 */
/* What verbs share about PyTorch: where to look for it, and the files that `--backend torch` and `--backend inductor` mean. */
#ifndef CLI_TORCH_H
#define CLI_TORCH_H

#include "base/arena.h"
#include "lab/experiment/torch_plugin.h"

/* From --torch-python (NULL: not given), then $ASSAY_TORCH_PYTHON, then python3; $XDG_CACHE_HOME or $HOME; $ASSAY_CXX or c++.
   OUT_OF_MEMORY. */
status cli_torch_options(arena *a, const char *python, torch_options *out, error *err);

/* What backend_open is to be given for a backend's name: the plug-in's path for "torch", "inductor" and
   "inductor:OPTIONS", which is built first where it has to be (a line on stderr says so), the name itself otherwise. Errors of torch_find and torch_build. */
status cli_torch_file(arena *a, const torch_options *options, const char *name, const char **file, error *err);

/* What to do where the C++ compiler that plug-ins are built by is missing. */
#define CLI_TORCH_NO_CXX "apt-get install g++, or name another one in ASSAY_CXX"

/* A sentence for each of the two, for listings: what was found and whether its plug-in is built or can be, or why there is none. Whether
   a PyTorch was found, and each plug-in is there or can be built.
   The Python is asked once; one that does not answer at once is told of on stderr and not waited for long. */
bool cli_torch_sentences(arena *a, const torch_options *options, const char *said[TORCH_PEERS]);

#endif
