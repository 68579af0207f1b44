/* SPDX-License-Identifier: Apache-2.0 */
/* What a run of `assay operators` leaves: records, CSV and the table, each on its own. */
#ifndef CLI_OPERATORS_RESULTS_H
#define CLI_OPERATORS_RESULTS_H

#include "cli/operators_command.h"
#include "lab/record/store.h"

/* What would be seen at the end only. IO: an output cannot be made: a directory is there, or its folder is missing or not to be
   written. INVALID: two outputs are one file, however they are spelled. */
status results_check(const operators_command *o, error *err);
/* INVALID: an output is one of the files that were read. */
status results_check_inputs(const operators_command *o, const inputs *set, error *err);

typedef struct results {
    const operators_command *o;
    record_store store;
    bool is_lost; /* some output could not be written */
    bool is_jsonl_lost;
} results;

/* Whether the table goes to standard output: it does not when that holds other output, or with --quiet. */
bool results_show_table(const operators_command *o);
/* Begins the records. As store_open. When they go to standard output and are not all that there will be, SIGPIPE is ignored from here on:
   it would end the others as well. */
status results_open(results *r, const operators_command *o, error *err);
/* One record's line, once results_open was called. IO: it could not be written, and no later one will be tried. */
status results_add(results *r, const char *line, size_t n, error *err);
/* Whether there is anything to go on for when the records cannot be written. */
bool results_has_others(const results *r);
/* Says on stderr that an output could not be written. */
void results_say_lost(results *r, const error *err);
/* All records are there: the summary lines, the CSV and the table. What cannot be written is said on stderr and costs no other. */
status results_finish(results *r, arena *memory, const record *records, size_t n, error *err);
void results_abandon(results *r);

#endif
