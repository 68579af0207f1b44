/* SPDX-License-Identifier: Apache-2.0 */
/* A compiler leads a process group of its own, so that what it leaves behind can be found. So a signal to its worker's group passes it by,
   and it would work on beside the next measurement. */
#include "lab/measure/orphans.h"

#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

/* The parent of a process, as /proc tells; 0: it is gone, or the kernel does not. */
static long parent_of(long pid) {
    char path[64], line[512];
    long parent = 0;
    snprintf(path, sizeof path, "/proc/%ld/stat", pid);
    FILE *file = fopen(path, "re");
    if (file == NULL) {
        return 0;
    }
    /* "PID (NAME) STATE PARENT ...": a name may hold anything, brackets, too. */
    const char *behind = fgets(line, sizeof line, file) != NULL ? strrchr(line, ')') : NULL;
    if (behind == NULL || sscanf(behind, ") %*c %ld", &parent) != 1) {
        parent = 0;
    }
    fclose(file);
    return parent;
}

/* This process's children, at most so many. */
static size_t list_children(long *pids, size_t most) {
    const long self = (long)getpid();
    DIR *all = opendir("/proc");
    size_t n = 0;
    for (struct dirent *e = all != NULL ? readdir(all) : NULL; e != NULL && n < most; e = readdir(all)) {
        char *end;
        long pid = strtol(e->d_name, &end, 10);
        if (end != e->d_name && *end == '\0' && parent_of(pid) == self) {
            pids[n++] = pid;
        }
    }
    if (all != NULL) {
        closedir(all);
    }
    return n;
}

static bool is_other(const orphans *o, long pid) {
    for (size_t i = 0; i < o->n_others; i++) {
        if (o->others[i] == pid) {
            return true;
        }
    }
    return false;
}

void orphans_adopt(orphans *o) {
    o->n_others = list_children(o->others, ORPHANS_MOST_CHILDREN);
    o->adopted_before = 0;
    prctl(PR_GET_CHILD_SUBREAPER, &o->adopted_before);
    prctl(PR_SET_CHILD_SUBREAPER, 1);
}

void orphans_reap(const orphans *o) {
    enum { ROUNDS = 100 };
    bool any = o->n_others < ORPHANS_MOST_CHILDREN; /* else they cannot be told apart */
    for (int i = 0; any && i < ROUNDS; i++) {       /* each takes those that a killed one was the parent of */
        long pids[ORPHANS_MOST_CHILDREN];
        size_t n = list_children(pids, ORPHANS_MOST_CHILDREN);
        any = false;
        for (size_t k = 0; k < n; k++) {
            if (is_other(o, pids[k])) {
                continue;
            }
            kill((pid_t)-pids[k], SIGKILL);
            if (kill((pid_t)pids[k], SIGKILL) != 0) {
                continue; /* another user's by now: nothing to wait for */
            }
            any = true;
            while (waitpid((pid_t)pids[k], NULL, 0) < 0 && errno == EINTR) {
            }
        }
    }
}

void orphans_leave(const orphans *o) {
    prctl(PR_SET_CHILD_SUBREAPER, o->adopted_before);
}
