/* SPDX-License-Identifier: Apache-2.0 */
/* Operators' names as recordings have them: NAMESPACE.NAME.OVERLOAD. */
#ifndef LAB_EXPERIMENT_RECORDED_NAME_H
#define LAB_EXPERIMENT_RECORDED_NAME_H

#include "base/text.h"

#include <stddef.h>

struct op_table;

/* Where the name from `name` to `end` goes wrong; `end` where parts are missing; NULL: it is well. */
const char *recorded_name_wrong(const char *name, const char *end);

/* Of a name of n bytes that ends too early: what it lacks, and which is likely meant, where the table (NULL: there is none) knows one:
   "'relu', which lacks its namespace and its overload; did you mean aten.relu.default?". OUT_OF_MEMORY shows in out. */
void recorded_name_add_missing(const struct op_table *table, const char *name, size_t n, text *out);

#endif
