/* SPDX-License-Identifier: Apache-2.0 */
/* Figures as one JSON object; docs/utilization.schema.json is its schema. */
#ifndef LAB_TRACE_FIGURES_JSON_H
#define LAB_TRACE_FIGURES_JSON_H

#include "base/json.h"
#include "lab/trace/figures.h"

/* Writes the object. At most n_top kernels and operators each (0: all); how many there are altogether is said beside.
 */
void trace_figures_json(json_writer *w, const char *path, const trace_figures *f, size_t n_top);

/* "warnings" and its array, into an open object. */
void trace_warnings_json(json_writer *w, const trace_warnings *warnings);

#endif
