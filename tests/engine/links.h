/* SPDX-License-Identifier: Apache-2.0 */
/* Programs of many links, each of which is made of the one before. */
#ifndef TESTS_ENGINE_LINKS_H
#define TESTS_ENGINE_LINKS_H

#include "base/text.h"

/* Adds the program: its inputs, links 1 to `links`, in whose text N is each one's number and P the number before, and what follows them. */
static inline void links_add(text *source, const char *inputs, const char *link, int links, const char *end) {
    text_addf(source, "graph links\n%s", inputs);
    for (int i = 1; i <= links; i++) {
        for (const char *at = link; *at != 0; at++) {
            if (*at == 'N' || *at == 'P') {
                text_addf(source, "%d", *at == 'N' ? i : i - 1);
            } else {
                text_addf(source, "%c", *at);
            }
        }
    }
    text_addf(source, "%s", end);
}

#endif
