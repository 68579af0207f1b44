/* SPDX-License-Identifier: Apache-2.0 */
/* Factors of matrix products as text. */
#ifndef ENGINE_COMPILE_EMIT_FACTORS_H
#define ENGINE_COMPILE_EMIT_FACTORS_H

#include "engine/compile/emit/emitter.h"

/* Of columns as they lie, where they are brought side by side. */
enum { ALONG_APART = PRODUCT_ALONG_STRETCH + 16 };

/* Rows whose sums are near while what follows from them is computed: four times those that are multiplied together. */
enum { ROWS_AT_ONCE = 24 };

/* Names what is wanted and has none yet; but for `without`, variables that have no name either (as sets). */
void emit_product_wanted(emitter *m, uint64_t without);
/* A loop over the lanes l of variable v from `from` on, whose body stores expression e: by `store`, in which %s stands for it. */
void emit_product_lanes(emitter *m, int v, const char *from, const char *n, int e, const char *store);
/* Where the first element of a factor's part lies that is read from where it is; v: its rows or its columns. */
void emit_factor_first(emitter *m, const char *name, int e, int v, const char *first);
/* How far apart the left factor's rows lie in their panel. */
int emit_left_apart(const product_form *p);
/* Rows from `from` on up to row `to` of the block, into their panel. */
void emit_left_panel(emitter *m, const char *from, const char *to);
/* Whether blocks are multiplied by multiply_add: then the left factor's panel is of some rows at a time, and the caller's to write. */
bool emit_is_added(const product_form *p);
void emit_left_factor(emitter *m);
void emit_right_factor(emitter *m);
/* `together` columns from `c` on, side by side in `run`, whose rows lie so far apart; `pads`: up to a whole pair. */
void emit_column_run(emitter *m, const char *type, int together, int apart, bool pads);
/* Zeros up to a whole step of tiles. */
void emit_factors_padding(emitter *m);
/* Whether the right factor is read from where it lies, so that the place of its next panel is known; names that. */
bool emit_right_lies_there(const product_form *p);
void emit_next_panel(emitter *m);

#endif
