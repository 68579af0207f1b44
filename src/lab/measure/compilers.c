/* SPDX-License-Identifier: Apache-2.0 */
/* Finds compilers on $PATH and asks each for its version, without a shell. */
#include "lab/measure/machine.h"

#include "base/text.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

extern char **environ;

enum { ANSWER_BYTES = 512, PATIENCE_MS = 5000 };

static bool is_program(const char *path) {
    struct stat info;
    return stat(path, &info) == 0 && S_ISREG(info.st_mode) && access(path, X_OK) == 0;
}

/* The program's file, links followed; NULL when there is none. A name with a slash is a path already. */
static char *find_program(arena *a, const char *name) {
    char found[PATH_MAX];
    if (strchr(name, '/') != NULL) {
        return is_program(name) && realpath(name, found) != NULL ? arena_text(a, found, strlen(found)) : NULL;
    }
    const char *folders = getenv("PATH");
    for (const char *at = folders; at != NULL && *at != '\0'; at += *at == ':') {
        size_t n = strcspn(at, ":");
        char *path = arena_format(a, "%.*s/%s", (int)n, at, name);
        if (path != NULL && n > 0 && is_program(path) && realpath(path, found) != NULL) {
            return arena_text(a, found, strlen(found));
        }
        at += n;
    }
    return NULL;
}

static int64_t now_ms(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* Reads until a line is there, the pipe ends or patience does. False: no answer. */
static bool read_answer(int fd, char *answer) {
    size_t n = 0;
    int64_t until_ms = now_ms() + PATIENCE_MS;
    answer[0] = '\0';
    while (n + 1 < ANSWER_BYTES && strchr(answer, '\n') == NULL) {
        int64_t left_ms = until_ms - now_ms();
        struct pollfd ready = {.fd = fd, .events = POLLIN};
        if (left_ms <= 0 || (poll(&ready, 1, (int)left_ms) <= 0 && errno != EINTR)) {
            return false;
        }
        ssize_t got = read(fd, answer + n, ANSWER_BYTES - 1 - n);
        if (got < 0 && errno == EINTR) {
            continue;
        }
        if (got <= 0) {
            break;
        }
        n += (size_t)got;
        answer[n] = '\0';
    }
    answer[strcspn(answer, "\r\n")] = '\0';
    return answer[0] != '\0';
}

static bool start(const char *path, int out_fd, pid_t *pid) {
    posix_spawn_file_actions_t actions;
    char *arguments[] = {(char *)path, "--version", NULL};
    if (posix_spawn_file_actions_init(&actions) != 0) {
        return false;
    }
    bool started = posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0) == 0 &&
                   posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0) == 0 &&
                   posix_spawn_file_actions_adddup2(&actions, out_fd, STDOUT_FILENO) == 0 &&
                   posix_spawn(pid, path, &actions, NULL, arguments, environ) == 0;
    posix_spawn_file_actions_destroy(&actions);
    return started;
}

static char *ask_version(arena *a, const char *path) {
    int ends[2];
    pid_t pid = 0;
    char answer[ANSWER_BYTES];
    if (pipe2(ends, O_CLOEXEC) != 0) {
        return NULL;
    }
    bool started = start(path, ends[1], &pid);
    close(ends[1]);
    bool answered = started && read_answer(ends[0], answer);
    close(ends[0]);
    if (started) {
        kill(pid, SIGKILL); /* it has said what was wanted, or never will */
        while (waitpid(pid, NULL, 0) < 0 && errno == EINTR) {
        }
    }
    return answered ? arena_text(a, answer, strlen(answer)) : NULL;
}

status machine_find_compilers(arena *a, const machine_compiler **out, size_t *n, error *err) {
    const char *chosen = getenv("ASSAY_CC");
    const char *names[] = {"cc", "gcc", "clang", chosen};
    machine_compiler *found = arena_make(a, countof(names), sizeof *found);
    if (found == NULL) {
        return fail(err, ASSAY_OUT_OF_MEMORY, "no memory for the compilers' names");
    }
    size_t count = 0;
    for (size_t i = 0; i < countof(names); i++) {
        char *path = names[i] != NULL && names[i][0] != '\0' ? find_program(a, names[i]) : NULL;
        char *name = path != NULL ? arena_text(a, names[i], strlen(names[i])) : NULL;
        if (name != NULL) {
            found[count++] = (machine_compiler){.name = name, .path = path, .version = ask_version(a, path)};
        }
    }
    *out = found;
    *n = count;
    return ASSAY_OK;
}
