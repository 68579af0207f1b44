/* SPDX-License-Identifier: Apache-2.0 */
/* Who hears of calls, kernels and the threads in them. The engine knows no clock: it says what happens, and whoever listens
   stamps the time. Nobody listening costs a comparison. */
#ifndef ENGINE_KERNELS_OBSERVER_H
#define ENGINE_KERNELS_OBSERVER_H

#include "engine/schema/op.h"

/* Plain data of whoever listens. Everything but enter and leave is called on the thread that makes the call. */
typedef struct observer {
    void (*call_begin)(void *self);
    /* call and out hold until the return; both NULL for a call that failed before its kernel. */
    void (*call_end)(void *self, const op_call *call, const outputs *out);
    void (*kernel_begin)(void *self, const op_call *call, const outputs *out);
    void (*kernel_end)(void *self);
    /* A thread of a kernel's team begins and ends its share; `thread` counts from 0, the calling thread. A kernel may have
       several such regions, one after the other, or none. Called on that thread. */
    void (*enter)(void *self, int thread);
    void (*leave)(void *self, int thread);
    void *self;
} observer;

/* The observer of kernels that this thread runs, NULL for none. It belongs to the thread, so that two sessions in two
   threads are watched each on its own, and it need not be handed through every function between a call and its parallel
   regions. */
extern _Thread_local const observer *observer_of_thread;

/* Sets it, and returns the one before, to be set again afterwards. */
static inline const observer *observer_swap(const observer *next) {
    const observer *before = observer_of_thread;
    observer_of_thread = next;
    return before;
}

/* Around a kernel; `watch` may be NULL. */
static inline void observer_kernel_begin(const observer *watch, const op_call *call, const outputs *out) {
    if (watch != NULL) {
        watch->kernel_begin(watch->self, call, out);
    }
}

static inline void observer_kernel_end(const observer *watch) {
    if (watch != NULL) {
        watch->kernel_end(watch->self);
    }
}

#endif
