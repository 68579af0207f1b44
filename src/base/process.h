/* SPDX-License-Identifier: Apache-2.0 */
/* Runs another program to its end, without a shell, and keeps what it wrote. */
#ifndef BASE_PROCESS_H
#define BASE_PROCESS_H

#include "base/status.h"
#include "base/text.h"

#include <stdbool.h>
#include <stddef.h>

typedef struct process_result {
    int exit_code; /* 127 with signal 0 may also mean that the program could not be loaded */
    int signal;    /* that ended it, else 0 */
    text out;      /* the first limit_bytes of its standard output, ... */
    text errors;   /* ... and of its standard error */
} process_result;

/* Starts arguments[0] (searched in $PATH unless it has a '/'), which is followed by its arguments and NULL, with an empty
   standard input, and waits for its end. It leads a process group of its own; what is left of that is killed when it has
   ended or after timeout_s (TIMEOUT). temporary: a folder that it has as its $TMPDIR, whose owner removes what it leaves there
   when it is killed; NULL: this process's. NOT_FOUND: there is no such program or it cannot be run. IO, OUT_OF_MEMORY. A program
   that fails is no failure of this call: look at exit_code and signal. *out is written on success only and cleared with
   process_result_clear. Where $TMPDIR (or /tmp) is full it is IO; what a program says of that itself always has room there.
   Signals that would end this process while it waits are held (process_hold): INTERRUPTED, and then this process ends, or, where
   the caller holds them too, as soon as it lets go. Threads: any. */
status process_run(const char *const *arguments, const char *temporary, double timeout_s, size_t limit_bytes, process_result *out,
                   error *err);
void process_result_clear(process_result *result);

/* From here to process_let_go, SIGINT, SIGTERM and SIGHUP, where they would end this process, end the programs that it runs instead,
   which a terminal does not reach, so that what they were to make can be tidied up. The last of those who hold them to let go
   sends this process what came meanwhile. Who ignores or handles a signal goes on so. Threads: any. */
void process_hold(void);
void process_let_go(void);

#endif
