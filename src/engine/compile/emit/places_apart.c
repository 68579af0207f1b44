/* SPDX-License-Identifier: Apache-2.0 */
/* Places that data say, taken apart. */
#include "engine/compile/emit/places_apart.h"

index_sum emit_part_of(emitter *m, index_sum a, bool by_lanes) {
    index_term *const terms = arena_make(m->c->memory, (size_t)a.n + 1, sizeof *terms);
    if (terms == NULL) {
        m->out.failed = true;
        return (index_sum){0};
    }
    int n = 0;
    for (int i = 0; i < a.n; i++) {
        int reads[EXPR_MAX_READS];
        const index_sum term = {0, 1, &a.terms[i]};
        const bool differs = (index_variables(term) >> m->k->vector & 1) != 0 || index_reads(m->k, term, -1, reads, 0) > 0;
        if (differs == by_lanes) {
            terms[n++] = a.terms[i];
        }
    }
    return (index_sum){by_lanes ? 0 : a.constant, n, terms};
}
