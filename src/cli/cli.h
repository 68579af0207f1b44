/* SPDX-License-Identifier: Apache-2.0 */
/* What the verbs of the command line share: exit codes, option rows, values read from text. Only cli/ prints or exits. */
#ifndef CLI_CLI_H
#define CLI_CLI_H

#include "base/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { EXIT_OK = 0, EXIT_FAILED = 1, EXIT_USAGE = 2, EXIT_MISMATCH = 4, EXIT_INTERRUPTED = 130 };

/* One option of a verb. `take` stores the value (NULL for a flag) and answers INVALID with what it expected. */
typedef struct cli_option {
    const char *name;  /* "--op" */
    const char *value; /* placeholder of its value in --help, "GLOB"; NULL: a flag */
    const char *help; /* --help wraps it; a line's end stays one */
    status (*take)(void *options, const char *value, error *err);
} cli_option;

/* Options that make no sense together. */
typedef struct cli_clash {
    const char *option;
    const char *others; /* that it contradicts, or beside which it has no effect, with blanks between: "--csv"; "--dump=kernels" with
                           that value alone; "suites" as an argument */
} cli_clash;

typedef struct cli_verb {
    const char *name;
    const char *summary;   /* one line for `assay --help` */
    const char *arguments; /* "TRACE", "operators|backends", or "" */
    const char *examples;  /* lines of two-space-indented commands */
    const cli_option *options;
    size_t n_options;
    const char *repeated; /* options that may be given several times, with blanks between; of others a second value is refused */
    const cli_clash *clashes;
    size_t n_clashes;
    /* A positional argument; NULL where the verb takes none. */
    status (*take_argument)(void *options, const char *value, error *err);
} cli_verb;

/* Reads argv[1..argc) into options. True: go on. False: *exit_code says how to leave (help was printed, or the mistake, with
   the nearest name for a typo, on stderr). `--name value` and `--name=value` both work; "--" ends the options. An option that is given
   twice with two values, or beside one that it clashes with, is a mistake. */
bool cli_parse(const cli_verb *verb, int argc, char **argv, void *options, int *exit_code);
void cli_print_help(const cli_verb *verb);

/* Values from text, in decimal; INVALID says what was expected and what came. Sizes take K, M, G, T, kB, MB, ..., KiB, MiB, ..., in
   large or small letters. */
status cli_int(const char *name, const char *value, int64_t low, int64_t high, int64_t *out, error *err);
/* --threads: no more than OpenMP gives. */
status cli_threads(const char *value, int64_t *out, error *err);
status cli_double(const char *name, const char *value, double low, double high, double *out, error *err);
status cli_bytes(const char *name, const char *value, double *out, error *err);
/* A file to write to, or '-': INVALID for no name at all. */
status cli_file(const char *name, const char *value, error *err);
/* A folder to write to: INVALID for '-', which cannot be standard output here, and for no name at all. */
status cli_folder(const char *name, const char *value, error *err);
/* Index of value in the n words; INVALID names them all and the nearest. name NULL: an argument of the verb. */
status cli_word(const char *name, const char *value, const char *const *words, size_t n, size_t *out, error *err);

/* A growing list of borrowed texts, for options given several times. */
typedef struct cli_list {
    const char *items[64];
    size_t n;
} cli_list;
status cli_list_add(cli_list *list, const char *name, const char *value, error *err);

/* Prints "assay VERB: message" to stderr, with file position where the error has one, and returns code. */
int cli_fail(const char *verb, const error *err, int code);
/* How to leave when a verb's work ended so: by a mistake of whoever asked, an interrupt, or a failure. */
int cli_exit_code(status result);

int cli_operators(int argc, char **argv);
int cli_list_verb(int argc, char **argv);
int cli_doctor(int argc, char **argv);
int cli_compile(int argc, char **argv);
int cli_cache(int argc, char **argv);

#ifndef ASSAY_VERSION
#define ASSAY_VERSION "unknown"
#endif

#endif
