/* SPDX-License-Identifier: Apache-2.0 */
/* What rows of lanes are added up in. */
#include "engine/compile/emit/lane_arrays.h"

#include "base/pages.h"

#include <string.h>

/* Lines of which a row's place in its page says the set in the nearest cache, and nearly all of what a load and a store before it are
   compared by. Arrays that lie alike in their pages meet in it, lane by lane: with two sums and their mean so on a Zen 4, a standard
   deviation down [512, 1024] took five times as long at one place of the stack in fourteen, for the pages that lay there; and where the
   input's rows lay a line before them 1.6 times as long (2026-11). So long arrays begin at places of their own within a page, of which none is
   soon behind the first three of device/cpu.c. */
static const int PLACES[] = {3072, 3328, 3584, 3840, 1344, 1600, 1856, 2112};
enum { N_PLACES = (int)(sizeof PLACES / sizeof *PLACES), LONG_BYTES = 1024 };

static int bytes_of(const char *type) {
    static const struct {
        const char *type;
        int bytes;
    } sizes[] = {{"double", 8}, {"int64_t", 8}, {"float", 4}, {"int32_t", 4}, {"uint32_t", 4}, {"int16_t", 2}, {"uint16_t", 2}};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        if (strcmp(type, sizes[i].type) == 0) {
            return sizes[i].bytes;
        }
    }
    return 1;
}

void emit_lane_array(emitter *m, const char *type, const char *name, const char *start) {
    const int bytes = bytes_of(type), lanes = (int)m->k->lanes;
    if (bytes * lanes < LONG_BYTES) {
        emit_line(m, "%s %s[%d]%s;", type, name, lanes, start);
        return;
    }
    const int before = PLACES[m->lane_arrays++ % N_PLACES] / bytes;
    emit_line(m, "%s %s_room[%d] __attribute__((aligned(%d)))%s, *const %s = %s_room + %d;", type, name, before + lanes, PAGE_BYTES, start, name,
              name, before);
}
