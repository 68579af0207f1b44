/* SPDX-License-Identifier: Apache-2.0 */
/* The lines below the operators' table: how each backend fared, and what to doubt. */
#ifndef LAB_REPORT_OPERATORS_ACCOUNT_H
#define LAB_REPORT_OPERATORS_ACCOUNT_H

#include "base/text.h"
#include "lab/report/operators_csv.h"

/* Appends, for each backend, how many inputs passed, failed or were skipped, at most top_reasons different reasons of each status (0: 5)
   with the rest counted, how long preparing took, what was moved, and how many operators are beyond doubt faster or slower than on the
   baseline. `totals` has one for each backend. OUT_OF_MEMORY; that of out shows there. */
status operators_account(arena *a, const operators_group *g, const operators_totals *totals, int top_reasons, text *out, error *err);

/* Appends one line when measurements carry warnings or the machine was at other work; nothing else. */
void operators_doubts(const operators_group *g, text *out);

#endif
