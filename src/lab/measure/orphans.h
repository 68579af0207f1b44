/* SPDX-License-Identifier: Apache-2.0 */
/* What a worker had started when it ended. */
#ifndef LAB_MEASURE_ORPHANS_H
#define LAB_MEASURE_ORPHANS_H

#include <stddef.h>

enum { ORPHANS_MOST_CHILDREN = 128 };

typedef struct orphans {
    long others[ORPHANS_MOST_CHILDREN]; /* children of this process that were there before */
    size_t n_others;
    int adopted_before;
} orphans;

/* From here on what descendants leave behind when they end are children of this process. */
void orphans_adopt(orphans *o);
/* Kills such children, and theirs, and waits for their end. Call it when no child of one's own is left but those from before: a shell
   that has become this program may have had some. */
void orphans_reap(const orphans *o);
void orphans_leave(const orphans *o);

#endif
