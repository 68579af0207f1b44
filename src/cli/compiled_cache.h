/* SPDX-License-Identifier: Apache-2.0 */
/* What `assay cache info` and `assay doctor` say of the compiled code that is kept. */
#ifndef CLI_COMPILED_CACHE_H
#define CLI_COMPILED_CACHE_H

#include "base/text.h"

#include <stdbool.h>

/* Adds "N entries, SIZE of at most SIZE, in FOLDER", and behind that, where nothing can be kept there or run from there, why and what to
   do. False: so, or there is no such place or it cannot be looked into, which is said instead. */
bool cli_cache_state(text *out);

#endif
