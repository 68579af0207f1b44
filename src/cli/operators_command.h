/* SPDX-License-Identifier: Apache-2.0 */
/* What `assay operators` is asked for on its command line. */
#ifndef CLI_OPERATORS_COMMAND_H
#define CLI_OPERATORS_COMMAND_H

#include "cli/cli.h"
#include "lab/experiment/operators.h"
#include "lab/report/terminal.h"

/* Texts are borrowed from argv. */
typedef struct operators_command {
    const char *suite;
    const char *source; /* what the inputs turned out to be, for the report: "suite embedded"; the run fills it */
    cli_list inputs, ops, skips, backends;
    operators_options run;
    const char *csv, *jsonl;
    color_mode color;
    bool quiet, dry_run;
    const char *torch_python;
    const char *backend_files[countof(((cli_list *)0)->items)]; /* what each backend's name stands for; the run fills it */
} operators_command;

/* As cli_parse: true: go on. */
bool operators_command_parse(int argc, char **argv, operators_command *out, int *exit_code);
/* What was not given, from the defaults and the machine. m must outlive the command. INVALID: options that contradict each
   other. */
status operators_command_complete(operators_command *o, const machine_facts *m, error *err);

#endif
