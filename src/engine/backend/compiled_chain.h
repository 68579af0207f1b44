/* SPDX-License-Identifier: Apache-2.0 */
/* Steps of a compiled plan that are run part by part, so that what they hand each other stays near. */
#ifndef ENGINE_BACKEND_COMPILED_CHAIN_H
#define ENGINE_BACKEND_COMPILED_CHAIN_H

#include "engine/backend/compiled_state.h"

/* Each thread's own memory for the program's chains. OUT_OF_MEMORY. */
status compiled_prepare_chains(compiled_plan *p, error *err);
/* All steps of a chain, part after part. INVALID when an index is out of range. */
status compiled_run_chain(compiled_plan *p, int chain, error *err);

#endif
