/* SPDX-License-Identifier: Apache-2.0 */
/* What OpenMP gives, and holding it to that. */
#include "device/threads.h"

#include <ctype.h>
#include <errno.h>
#include <omp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

enum { LEAST_STACK_BYTES = 256 << 10 };

/* What $OMP_STACKSIZE asks for in bytes: a number, of KiB where no unit follows. 0: nothing that OpenMP takes notice of. */
static unsigned long long asked_stack_bytes(const char *word) {
    static const char units[] = "BKMG";
    char *end;
    while (word != NULL && isspace((unsigned char)*word)) {
        word++;
    }
    if (word == NULL || !isdigit((unsigned char)*word)) {
        return 0;
    }
    errno = 0;
    const unsigned long long number = strtoull(word, &end, 10);
    while (isspace((unsigned char)*end)) {
        end++;
    }
    const char *unit = *end == '\0' ? units + 1 : strchr(units, toupper((unsigned char)*end++));
    while (unit != NULL && *end != '\0' && isspace((unsigned char)*end)) {
        end++;
    }
    const int shift = unit != NULL ? 10 * (int)(unit - units) : 0;
    return unit == NULL || *end != '\0' || errno != 0 || number > ~0ull >> shift ? 0 : number << shift;
}

status threads_check_stacks(error *err) {
    struct rlimit limit;
    if (getrlimit(RLIMIT_STACK, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY && limit.rlim_cur < LEAST_STACK_BYTES) {
        return fail(err, ASSAY_INVALID, "a stack of at least %d KiB is needed, but the system allows this process %llu KiB: "
                    "run `ulimit -s 8192` before, or ask whoever limits it", LEAST_STACK_BYTES >> 10,
                    (unsigned long long)limit.rlim_cur >> 10);
    }
    const char *const word = getenv("OMP_STACKSIZE");
    const unsigned long long asked = asked_stack_bytes(word);
    if (asked != 0 && asked < LEAST_STACK_BYTES) {
        return fail(err, ASSAY_INVALID, "OMP_STACKSIZE=%.40s leaves threads less than the %d KiB of stack that kernels need: unset it, or "
                    "ask for more", word, LEAST_STACK_BYTES >> 10);
    }
    return ASSAY_OK;
}

int threads_most(void) {
    const int limit = omp_get_thread_limit();
    return omp_get_active_level() >= omp_get_max_active_levels() || limit < 1 ? 1 : limit;
}

threads_hold threads_hold_begin(void) {
    const threads_hold hold = {.before = omp_get_max_threads(), .was_dynamic = omp_get_dynamic() != 0};
    const int most = threads_most();
    if (hold.was_dynamic) {
        omp_set_dynamic(0);
    }
    if (hold.before > most) {
        omp_set_num_threads(most);
    }
    return hold;
}

void threads_hold_end(const threads_hold *hold) {
    if (hold->was_dynamic) {
        omp_set_dynamic(1);
    }
    if (omp_get_max_threads() != hold->before) {
        omp_set_num_threads(hold->before);
    }
}
