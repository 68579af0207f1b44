/* SPDX-License-Identifier: Apache-2.0 */
/* Lets one allocation of the libraries fail, chosen by its number. A program that includes this is linked with
   -Wl,--wrap for the five functions below (tests/ROOM/NAME.cmake does so); what the C library allocates for itself is not
   affected. Include it in one file per program. */
#ifndef TESTS_ALLOC_FAULT_H
#define TESTS_ALLOC_FAULT_H

#include <stdbool.h>
#include <stddef.h>

void *__real_malloc(size_t n);
void *__real_calloc(size_t n, size_t size);
void *__real_realloc(void *old, size_t n);
void *__real_aligned_alloc(size_t align, size_t n);
char *__real_strdup(const char *s);
void *__wrap_malloc(size_t n);
void *__wrap_calloc(size_t n, size_t size);
void *__wrap_realloc(void *old, size_t n);
void *__wrap_aligned_alloc(size_t align, size_t n);
char *__wrap_strdup(const char *s);

static long alloc_fault_at;   /* the allocation that fails, counted from 1; 0: none */
static long alloc_fault_seen; /* allocations since it was armed */

static bool alloc_fault_strikes(void) {
    return ++alloc_fault_seen == alloc_fault_at;
}

void *__wrap_malloc(size_t n) {
    return alloc_fault_strikes() ? NULL : __real_malloc(n);
}

void *__wrap_calloc(size_t n, size_t size) {
    return alloc_fault_strikes() ? NULL : __real_calloc(n, size);
}

void *__wrap_realloc(void *old, size_t n) {
    return alloc_fault_strikes() ? NULL : __real_realloc(old, n);
}

void *__wrap_aligned_alloc(size_t align, size_t n) {
    return alloc_fault_strikes() ? NULL : __real_aligned_alloc(align, n);
}

char *__wrap_strdup(const char *s) {
    return alloc_fault_strikes() ? NULL : __real_strdup(s);
}

/* Runs `action` with its first allocation failing, then its second, and so on until it makes no more. It must answer
   OUT_OF_MEMORY each time, and OK in the last, untouched round; leaks are the address sanitizer's to find. Returns how
   many allocations there are. */
static long alloc_fault_everywhere(const char *name, status (*action)(void *arg, error *err), void *arg) {
    for (long at = 1;; at++) {
        error err = {0};
        alloc_fault_at = at;
        alloc_fault_seen = 0;
        status result = action(arg, &err);
        bool struck = alloc_fault_seen >= at;
        alloc_fault_at = 0;
        if (result != (struck ? ASSAY_OUT_OF_MEMORY : ASSAY_OK)) {
            print_error("%s: allocation %ld fails, answer %s: %s\n", name, at, assay_status_text(result), err.message);
        }
        assert_int_equal(result, struck ? ASSAY_OUT_OF_MEMORY : ASSAY_OK);
        if (!struck) {
            print_message("%s: %ld allocations\n", name, at - 1);
            return at - 1;
        }
    }
}

#endif
