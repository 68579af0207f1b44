/* SPDX-License-Identifier: Apache-2.0 */
/* Folders for what is needed for a moment, which nobody has to tidy up after: what a process leaves because it was killed is
   removed by whoever sweeps next. */
#ifndef BASE_SCRATCH_H
#define BASE_SCRATCH_H

#include "base/status.h"

enum { SCRATCH_PATH_BYTES = 4096 };

typedef struct scratch {
    char path[SCRATCH_PATH_BYTES];
    int fd; /* holds the folder: see scratch_sweep */
} scratch;

/* An empty folder NAME-XXXXXX of this user alone in $TMPDIR (or /tmp), after a sweep for others of that name. IO: none can be made
   there. Threads: any. */
status scratch_make(const char *name, scratch *out, error *err);

/* Removes the files in the folder and the folder. Folders in it stay, and then it stays too. */
void scratch_remove(scratch *s);

/* Removes folders NAME-XXXXXX in $TMPDIR (or /tmp) that a process left because it ended before scratch_remove, however it ended. A
   folder is held by a lock on it that ends with its maker, so that neither a process number that is used again nor a process that
   cannot be seen from here (in a container) takes one away that is in use. Only this user's folders that nobody else may enter
   are touched, and no symbolic link is followed. Threads and processes: any, at once. */
void scratch_sweep(const char *name);

#endif
