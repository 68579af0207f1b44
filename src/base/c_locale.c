/* SPDX-License-Identifier: Apache-2.0 */
/* The standard library's functions with the calling thread in the locale "C". */
#include "base/c_locale.h"

#include <locale.h>
#include <stdio.h>
#include <stdlib.h>

typedef struct visit {
    locale_t c, before;
} visit;

/* glibc and musl hand out a constant for "C": neither this nor leave costs an allocation. Without memory elsewhere c is 0, and
   uselocale changes nothing. */
static visit enter(void) {
    locale_t c = newlocale(LC_ALL_MASK, "C", (locale_t)0);
    return (visit){.c = c, .before = uselocale(c)};
}

static void leave(visit v) {
    uselocale(v.before);
    if (v.c != (locale_t)0) {
        freelocale(v.c);
    }
}

double c_strtod(const char *text, char **end) {
    visit v = enter();
    double value = strtod(text, end);
    leave(v);
    return value;
}

int c_vsnprintf(char *buffer, size_t size, const char *format, va_list args) {
    visit v = enter();
    int length = vsnprintf(buffer, size, format, args);
    leave(v);
    return length;
}

int c_snprintf(char *buffer, size_t size, const char *format, ...) {
    va_list args;
    va_start(args, format);
    int length = c_vsnprintf(buffer, size, format, args);
    va_end(args);
    return length;
}
