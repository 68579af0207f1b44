/* SPDX-License-Identifier: Apache-2.0 */
/* The verb `utilization`. */
#ifndef CLI_UTILIZATION_H
#define CLI_UTILIZATION_H

/* Runs `assay utilization ...`; argv[0] is "utilization". Returns the exit code: 0, 1 when it failed, 2 for a wrong
   command line. */
int cli_utilization(int argc, char **argv);

#endif
