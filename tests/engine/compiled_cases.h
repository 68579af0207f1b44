/* SPDX-License-Identifier: Apache-2.0 */
/* The compiler, untuned, and graphs that are compiled by it: open_all and close_all are a group's set-up and tear-down. */
#ifndef TESTS_ENGINE_COMPILED_CASES_H
#define TESTS_ENGINE_COMPILED_CASES_H

#include "engine/graph_cases.h"

static graph_cases cases;
static backend *compiled;

static inline int open_all(void **state) {
    (void)state;
    return op_table_new(&cases.table, NULL) != ASSAY_OK || backend_compiled_open(cases.table, "compiled", &compiled, NULL) != ASSAY_OK;
}

static inline int close_all(void **state) {
    (void)state;
    compiled->close(compiled);
    op_table_free(cases.table);
    return 0;
}

#endif
