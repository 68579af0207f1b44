/* SPDX-License-Identifier: Apache-2.0 */
/* The compiler, untuned, for a file's tests: a group's set-up calls open_compiled and says what its processor is like; close_all is the
   tear-down. */
#ifndef TESTS_ENGINE_COMPILED_KIT_H
#define TESTS_ENGINE_COMPILED_KIT_H

#include "engine/backend/compiled_plan.h"

#include "unit.h"

static op_table *table;
static backend *compiled;

/* NULL: it cannot be opened. */
static inline compile_options *open_compiled(void) {
    bool is_open = op_table_new(&table, NULL) == ASSAY_OK && backend_compiled_open(table, "compiled", &compiled, NULL) == ASSAY_OK;
    return is_open ? &((compiled_backend *)compiled)->options : NULL;
}

static inline int close_all(void **state) {
    (void)state;
    compiled->close(compiled);
    op_table_free(table);
    return 0;
}

#endif
