/* SPDX-License-Identifier: Apache-2.0 */
/* Runs a job in a child process that may crash, hang or eat memory without taking its supervisor along, and that
   streams messages while it lives. */
#ifndef LAB_MEASURE_WORKER_H
#define LAB_MEASURE_WORKER_H

#include "base/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* ---- the worker's side ---- */

/* The worker's end of the pipe; only inside a worker_body. One thread at a time. */
typedef struct worker_link worker_link;

/* Tells the supervisor that `point` (the caller's number of it, at least 0) begins now; the deadline starts anew.
   IO: the supervisor is gone; the body should return. */
status worker_begin(worker_link *link, int64_t point, error *err);

/* Sends n bytes, at most WORKER_MESSAGE_LIMIT_BYTES (TOO_LARGE). Does not move the deadline. IO: the supervisor is
   gone. */
status worker_send(worker_link *link, const void *data, size_t n, error *err);

enum { WORKER_MESSAGE_LIMIT_BYTES = 64 * 1024 * 1024 };

/* The job. A status other than OK ends the worker with WORKER_FAILED (OUT_OF_MEMORY: WORKER_MEMORY) and its error is
   carried over to the supervisor. In the worker: standard input is empty (/dev/null), standard output goes where
   standard error goes (so that a plug-in that prints cannot spoil a table or a CSV on the supervisor's output), signals
   have their default actions, it leads its own process group, and it dies with its supervisor. It leaves by _exit: no
   atexit functions run and no stdio buffer is flushed. */
typedef status (*worker_body)(worker_link *link, void *arg, error *err);

/* ---- the supervisor's side ---- */

typedef enum worker_message_kind {
    WORKER_BEGIN, /* `point` begins; no data */
    WORKER_DATA,  /* what worker_send sent */
} worker_message_kind;

typedef struct worker_message {
    worker_message_kind kind;
    int64_t point;    /* of the last worker_begin; -1 before the first */
    const char *data; /* borrowed for the call, NUL behind its end */
    size_t n;
} worker_message;

typedef struct worker_options {
    double timeout_s;      /* from the start and from each worker_begin: how long may pass until the next one or the end;
                              0: for ever */
    double grace_s;        /* between asking (SIGTERM) and killing (SIGKILL) on an interrupt; 0: 2 s */
    size_t memory_bytes;   /* most data memory (RLIMIT_DATA: heap, mappings and thread stacks together) of the worker;
                              0: no limit. Without effect under the address and thread sanitizers, whose shadow
                              memory would not fit */
    /* Called for each message, in order, on the supervisor's thread. A failure kills the worker and is what worker_run
       returns. NULL: messages are dropped. */
    status (*on_message)(void *arg, const worker_message *message, error *err);
    /* Called when nothing came for about 100 ms, so that a progress bar can move; NULL: not. */
    void (*on_idle)(void *arg);
    void *callback_arg;
} worker_options;

typedef enum worker_end {
    WORKER_END_OK,          /* the body returned OK */
    WORKER_END_FAILED,      /* the body returned an error (outcome.err) or the process left by itself */
    WORKER_END_SIGNALLED,
    WORKER_END_HUNG,        /* the deadline passed; its process group was killed */
    WORKER_END_MEMORY,      /* an allocation failed under the limit, or the kernel's OOM killer struck */
    WORKER_END_BROKEN,      /* wrote what is no message into the pipe; killed */
    WORKER_END_INTERRUPTED, /* SIGINT or SIGTERM came to the supervisor */
} worker_end;

typedef struct worker_outcome {
    worker_end end;
    int exit_code;         /* of a process that left by itself, else 0 */
    int signal;            /* that ended it (also ours: SIGKILL for HUNG and BROKEN), else 0 */
    int64_t last_point;    /* the point that was begun last: where it died; -1 when none was */
    bool cut_message;      /* it died in the middle of a message, which was dropped */
    size_t n_messages;     /* complete ones, begins included */
    size_t peak_bytes;     /* its largest resident set */
    double elapsed_s;
    error err;             /* a sentence for a reader in every case but OK; code CRASHED, TIMEOUT, OUT_OF_MEMORY, ... */
} worker_outcome;

/* Forks, runs body(link, arg) in the child and serves its messages until it is gone and reaped; then kills what is left
   of its process group. OK however the worker ended: `out` tells. Fails (out untouched) with IO when no process or pipe
   can be made, OUT_OF_MEMORY, or what on_message answered; no process or file descriptor is left behind then either.
   The caller must have one thread only: a child of a threaded process may use nothing but async-signal-safe calls, and
   GNU OpenMP's pool does not survive a fork. So a supervisor measures nothing itself. SIGINT, SIGTERM and SIGCHLD are
   blocked in the caller while it waits and restored after; a SIGINT or SIGTERM that was blocked and pending at the call
   interrupts at once. A second interrupt kills without grace. */
status worker_run(const worker_options *options, worker_body body, void *arg, worker_outcome *out, error *err);

/* "SIGSEGV" and the like; "signal 77" for one without a name. Static or in buffer, which has at least 32 bytes. */
const char *worker_signal_name(int signal, char *buffer);

#endif
