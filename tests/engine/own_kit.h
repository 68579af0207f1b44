/* SPDX-License-Identifier: Apache-2.0 */
/* Cases, and the compiler with products of its own, for a file's tests: open_all and close_all are a group's set-up and tear-down. */
#ifndef TESTS_ENGINE_OWN_KIT_H
#define TESTS_ENGINE_OWN_KIT_H

#include "engine/graph_cases.h"

static graph_cases cases;
static backend *own;

static inline int open_all(void **state) {
    (void)state;
    return op_table_new(&cases.table, NULL) != ASSAY_OK ||
           backend_compiled_open(cases.table, "compiled:own-products", &own, NULL) != ASSAY_OK;
}

static inline int close_all(void **state) {
    (void)state;
    own->close(own);
    op_table_free(cases.table);
    return 0;
}

#endif
