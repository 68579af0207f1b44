/* SPDX-License-Identifier: Apache-2.0 */
/* The program: finds the verb and hands over. */
#include "base/text.h"
#include "cli/cli.h"
#include "cli/utilization.h"
#include "device/instructions.h"
#include "device/threads.h"

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

static int run_help(int argc, char **argv);
static int run_version(int argc, char **argv);

static const verb_row verbs[] = {
    {"operators", cli_operators, "replay recorded inputs on every backend, check and time them"},
    {"utilization", cli_utilization, "how well a trace's devices were used; what got slower between two"},
    {"compile", cli_compile, "what the compiler makes of an operator's input, or of a graph"},
    {"cache", cli_cache, "the code kept between runs: how much and where, or remove it"},
    {"list", cli_list_verb, "the operators, backends, suites and devices there are"},
    {"doctor", cli_doctor, "what this machine is, what disturbs measuring, what is missing"},
    {"help", run_help, "this list, or what a verb's --help says"},
    {"version", run_version, "which version this is"},
};

static const verb_row *find_verb(const char *name) {
    for (size_t i = 0; i < countof(verbs); i++) {
        if (strcmp(name, verbs[i].name) == 0) {
            return &verbs[i];
        }
    }
    return NULL;
}

static int fail_unknown(const char *name) {
    const char *names[countof(verbs)];
    for (size_t i = 0; i < countof(verbs); i++) {
        names[i] = verbs[i].name;
    }
    const char *near = text_nearest(name, names, countof(names));
    fprintf(stderr, "assay: no verb is called '%s'%s%s%s `assay --help` lists them\n", name, near != NULL ? "; did you mean '" : "",
            near != NULL ? near : "", near != NULL ? "'?" : ";");
    return EXIT_USAGE;
}

static void print_usage(FILE *to) {
    fprintf(to, "assay %s: a laboratory for the performance of tensor operators\n\nusage: assay VERB [options]\n\nverbs:\n",
            ASSAY_VERSION);
    for (size_t i = 0; i < countof(verbs); i++) {
        fprintf(to, "  %-12s %s\n", verbs[i].name, verbs[i].summary);
    }
    fprintf(to, "\n`assay VERB --help` shows a verb's options and examples. Begin with:\n"
                "  assay doctor\n"
                "  assay operators --suite embedded --max-samples 1\n");
}

/* --- help and version, also as --help and --version ------------------------------------------------------------------------------- */

static status take_verb(void *to, const char *value, error *err) {
    const char **name = to;
    if (*name != NULL) {
        return fail(err, ASSAY_INVALID, "expected one verb, got '%s' besides %s", value, *name);
    }
    *name = value;
    return ASSAY_OK;
}

static int run_help(int argc, char **argv) {
    static const cli_verb verb = {.name = "help",
                                  .summary = "the verbs, or what a verb's --help says",
                                  .arguments = "[VERB]",
                                  .examples = "  assay help\n  assay help operators\n",
                                  .take_argument = take_verb};
    const char *name = NULL;
    int code;
    if (!cli_parse(&verb, argc, argv, &name, &code)) {
        return code;
    }
    if (name == NULL) {
        print_usage(stdout);
        return EXIT_OK;
    }
    const verb_row *row = find_verb(name);
    char help[] = "--help";
    return row != NULL ? row->run(2, (char *[]){(char *)row->name, help, NULL}) : fail_unknown(name);
}

static int run_version(int argc, char **argv) {
    static const cli_verb verb = {
        .name = "version", .summary = "which version this is", .arguments = "", .examples = "  assay version\n"};
    int code;
    if (!cli_parse(&verb, argc, argv, NULL, &code)) {
        return code;
    }
    printf("assay %s\n", ASSAY_VERSION);
    return EXIT_OK;
}

static int run(int argc, char **argv) {
    if (argc < 2) {
        print_usage(stderr);
        return EXIT_USAGE;
    }
    if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0) {
        return run_help(argc - 1, argv + 1);
    }
    if (strcmp(argv[1], "--version") == 0 || strcmp(argv[1], "-V") == 0) {
        return run_version(argc - 1, argv + 1);
    }
    const verb_row *row = find_verb(argv[1]);
    if (row == NULL) {
        return fail_unknown(argv[1]);
    }
    error err = {0};
    const bool runs = row->run != run_help && row->run != run_version;
    if (runs && (isa_check(&err) != ASSAY_OK || threads_check_stacks(&err) != ASSAY_OK)) {
        fprintf(stderr, "assay: %s\n", err.message);
        return EXIT_USAGE;
    }
    return row->run(argc - 1, argv + 1);
}

/* Streams that the caller has closed: the next file opened would get their numbers, and with them what is said. What stands in refuses
   what the stream is for, so that nothing is lost in silence. */
static void open_streams(void) {
    int fd;
    do {
        fd = open("/dev/null", fcntl(STDIN_FILENO, F_GETFD) < 0 ? O_WRONLY : O_RDONLY);
    } while (fd >= 0 && fd <= STDERR_FILENO);
    if (fd >= 0) {
        close(fd);
    }
}

int main(int argc, char **argv) {
    open_streams();
    signal(SIGXFSZ, SIG_IGN); /* a file that may not grow shows as an error of write */
    signal(SIGCHLD, SIG_DFL); /* ignored by who started this, it would take away what ended processes tell */
    int code = run(argc, argv);
    errno = 0;
    bool written = fflush(stdout) == 0 && ferror(stdout) == 0; /* else what was said is lost: a full disk */
    if (!written && code == EXIT_OK) {
        fprintf(stderr, "assay: standard output cannot be written%s%s\n", errno != 0 ? ": " : "", errno != 0 ? strerror(errno) : "");
        code = EXIT_FAILED;
    }
    return code;
}
