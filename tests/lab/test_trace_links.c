/* SPDX-License-Identifier: Apache-2.0 */
/* The latest launch by its number, while it is remembered. */
#include "lab/trace/links.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <cmocka.h> /* last: its fail() is a macro */

enum { CAPACITY = 1024 };

/* Numbers in sequence, and numbers that differ only in their high bits. */
static void the_latest_of_a_number_is_found(void **state) {
    (void)state;
    for (int shift = 0; shift <= 20; shift += 10) {
        trace_links links;
        error err = {0};
        assert_int_equal(trace_links_init(&links, CAPACITY, &err), ASSAY_OK);
        for (uint32_t i = 1; i < 4 * CAPACITY; i++) {
            trace_links_put(&links, (trace_link){.key = i << shift, .operator_name = i});
            trace_links_put(&links, (trace_link){.key = i << shift, .operator_name = i + 7});
            /* Saying a number again may cost the oldest its place. */
            const uint32_t oldest = i < CAPACITY ? 1 : i - CAPACITY + 2;
            const trace_link *latest = trace_links_find(&links, i << shift);
            const trace_link *kept = trace_links_find(&links, oldest << shift);
            assert_true(latest != NULL && latest->operator_name == i + 7);
            assert_true(kept != NULL && kept->operator_name == oldest + 7);
        }
        assert_null(trace_links_find(&links, 1u << shift));
        trace_links_clear(&links);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_latest_of_a_number_is_found),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
