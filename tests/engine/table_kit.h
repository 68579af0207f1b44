/* SPDX-License-Identifier: Apache-2.0 */
/* The table of operators for a file's tests: open_all and close_all are a group's set-up and tear-down. */
#ifndef TESTS_ENGINE_TABLE_KIT_H
#define TESTS_ENGINE_TABLE_KIT_H

#include "engine/schema/op.h"

#include "unit.h"

static op_table *table;

static inline int open_all(void **state) {
    (void)state;
    return op_table_new(&table, NULL) != ASSAY_OK;
}

static inline int close_all(void **state) {
    (void)state;
    op_table_free(table);
    return 0;
}

#endif
