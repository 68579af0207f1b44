/* SPDX-License-Identifier: Apache-2.0 */
/* The program: finds the verb and hands over. */
#include "base/text.h"
#include "cli/cli.h"
#include "cli/utilization.h"
#include "device/instructions.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

typedef struct verb_row {
    const char *name;
    int (*run)(int argc, char **argv);
    const char *summary;
} verb_row;

static const verb_row verbs[] = {
    {"operators", cli_operators, "replay recorded operator inputs on every backend, check and time them"},
    {"utilization", cli_utilization, "how well a trace's devices were used, and what got slower between two traces"},
    {"compile", cli_compile, "what the compiler makes of an operator's input, or of a graph"},
    {"cache", cli_cache, "the compiled code that is kept between runs: how much and where, or remove it"},
    {"list", cli_list_verb, "the operators, backends, suites and devices there are"},
    {"doctor", cli_doctor, "what this machine is, what disturbs measuring on it, what is missing"},
};

static void print_usage(FILE *to) {
    fprintf(to, "assay %s: a laboratory for the performance of tensor operators\n\nusage: assay VERB [options]\n\nverbs:\n",
            ASSAY_VERSION);
    for (size_t i = 0; i < countof(verbs); i++) {
        fprintf(to, "  %-12s %s\n", verbs[i].name, verbs[i].summary);
    }
    fprintf(to, "\n`assay VERB --help` shows a verb's options and examples, `assay version` which one this is. Begin with:\n"
                "  assay doctor\n"
                "  assay operators --suite embedded --max-samples 1\n");
}

static int run(int argc, char **argv) {
    if (argc < 2) {
        print_usage(stderr);
        return EXIT_USAGE;
    }
    if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0 || strcmp(argv[1], "help") == 0) {
        print_usage(stdout);
        return EXIT_OK;
    }
    if (strcmp(argv[1], "--version") == 0 || strcmp(argv[1], "-V") == 0 || strcmp(argv[1], "version") == 0) {
        printf("assay %s\n", ASSAY_VERSION);
        return EXIT_OK;
    }
    error err = {0};
    if (isa_check(&err) != ASSAY_OK) {
        fprintf(stderr, "assay: %s\n", err.message);
        return EXIT_USAGE;
    }
    const char *names[countof(verbs) + 2];
    for (size_t i = 0; i < countof(verbs); i++) {
        names[i] = verbs[i].name;
        if (strcmp(argv[1], verbs[i].name) == 0) {
            return verbs[i].run(argc - 1, argv + 1);
        }
    }
    names[countof(verbs)] = "version";
    names[countof(verbs) + 1] = "help";
    const char *near = text_nearest(argv[1], names, countof(names));
    fprintf(stderr, "assay: no verb is called '%s'%s%s%s `assay --help` lists them\n", argv[1],
            near != NULL ? "; did you mean '" : "", near != NULL ? near : "", near != NULL ? "'?" : ";");
    return EXIT_USAGE;
}

/* Streams that the caller has closed: the next file opened would get their numbers, and with them what is said. */
static void open_streams(void) {
    int fd;
    while ((fd = open("/dev/null", O_RDWR)) >= 0 && fd <= STDERR_FILENO) {
    }
    if (fd >= 0) {
        close(fd);
    }
}

int main(int argc, char **argv) {
    open_streams();
    signal(SIGXFSZ, SIG_IGN); /* a file that may not grow shows as an error of write */
    signal(SIGCHLD, SIG_DFL); /* ignored by who started this, it would take away what ended processes tell */
    int code = run(argc, argv);
    bool written = fflush(stdout) == 0 && ferror(stdout) == 0; /* else what was said is lost: a full disk */
    if (!written && code == EXIT_OK) {
        fprintf(stderr, "assay: standard output cannot be written: %s\n", strerror(errno));
        code = EXIT_FAILED;
    }
    return code;
}
