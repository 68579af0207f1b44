/* SPDX-License-Identifier: Apache-2.0 */
/* A point's text made a workload, and what is wrong with it where that cannot be. */
#ifndef LAB_EXPERIMENT_OPERATORS_CHECK_H
#define LAB_EXPERIMENT_OPERATORS_CHECK_H

#include "lab/experiment/operators.h"
#include "lab/experiment/workload.h"

/* Text to shapes. UNSUPPORTED: no such operator, with the nearest; else as workload_read. */
status point_read(arena *memory, const op_table *table, const operators_options *o, const operators_point *what, workload *out, error *err);

/* Why a point could not be read, checked or filled: `result`, but UNSUPPORTED and a message that names --channels-last where it is INVALID by
   that option's layout alone, which is no fault of the recording. */
status point_blame(arena *memory, const op_table *table, const operators_options *o, const operators_point *what, status result, error *err);

/* The error's message with the place in the file that it is about, where it has one. */
const char *point_reason(arena *memory, const operators_point *what, const error *err);

#endif
