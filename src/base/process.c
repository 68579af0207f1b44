/* SPDX-License-Identifier: Apache-2.0 */
/* Programs started with posix_spawn; their output goes to files without a name, so that no pipe can fill up or be held open
   by a grandchild. */
#include "base/process.h"

#include "base/arena.h"
#include "base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

extern char **environ;

/* --- signals that are held ------------------------------------------------------------------------------------------------------ */

static const int ending[] = {SIGINT, SIGTERM, SIGHUP};

/* Of the process, as its signals are. */
static pthread_mutex_t holding = PTHREAD_MUTEX_INITIALIZER;
static int n_holders;
static bool is_taken[countof(ending)]; /* the signal has our handler */
static struct sigaction before[countof(ending)];
static volatile sig_atomic_t arrived; /* the first that came; 0: none */

static void note_signal(int number) {
    arrived = arrived == 0 ? number : arrived;
}

void process_hold(void) {
    pthread_mutex_lock(&holding);
    if (n_holders++ == 0) {
        struct sigaction noted = {.sa_handler = note_signal, .sa_flags = SA_RESTART};
        sigemptyset(&noted.sa_mask);
        arrived = 0;
        for (size_t i = 0; i < countof(ending); i++) {
            bool is_known = sigaction(ending[i], NULL, &before[i]) == 0;
            bool ends = is_known && (before[i].sa_flags & SA_SIGINFO) == 0 && before[i].sa_handler == SIG_DFL;
            is_taken[i] = ends && sigaction(ending[i], &noted, NULL) == 0;
        }
    }
    pthread_mutex_unlock(&holding);
}

void process_let_go(void) {
    pthread_mutex_lock(&holding);
    int number = 0;
    if (--n_holders == 0) {
        for (size_t i = 0; i < countof(ending); i++) {
            if (is_taken[i]) {
                sigaction(ending[i], &before[i], NULL);
            }
        }
        number = arrived;
    }
    pthread_mutex_unlock(&holding);
    if (number != 0) {
        kill(getpid(), number); /* not raise: this thread may have it blocked */
    }
}

/* --- running -------------------------------------------------------------------------------------------------------------------- */

void process_result_clear(process_result *result) {
    text_clear(&result->out);
    text_clear(&result->errors);
}

/* This process's environment with another TMPDIR: of a with what it points to; NULL: no memory. */
static char **environment_with(arena *a, const char *temporary) {
    static const char NAME[] = "TMPDIR=";
    size_t n = 0;
    while (environ[n] != NULL) {
        n++;
    }
    char **all = arena_make(a, n + 2, sizeof *all);
    char *own = arena_format(a, "%s%s", NAME, temporary);
    if (all == NULL || own == NULL) {
        return NULL;
    }
    size_t kept = 0;
    for (size_t i = 0; i < n; i++) {
        if (strncmp(environ[i], NAME, strlen(NAME)) != 0) {
            all[kept++] = environ[i];
        }
    }
    all[kept++] = own;
    all[kept] = NULL;
    return all;
}

static int start(const char *const *arguments, char **environment, int out_fd, int errors_fd, pid_t *pid) {
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    int failed = posix_spawn_file_actions_init(&actions);
    if (failed != 0) {
        return failed;
    }
    failed = posix_spawnattr_init(&attributes);
    if (failed == 0) {
        sigset_t none;
        sigemptyset(&none);
        short flags = POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK;
        bool ready = posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0) == 0 &&
                     posix_spawn_file_actions_adddup2(&actions, out_fd, STDOUT_FILENO) == 0 &&
                     posix_spawn_file_actions_adddup2(&actions, errors_fd, STDERR_FILENO) == 0 &&
                     posix_spawnattr_setpgroup(&attributes, 0) == 0 &&
                     posix_spawnattr_setsigmask(&attributes, &none) == 0 &&
                     posix_spawnattr_setflags(&attributes, flags) == 0;
        /* posix_spawnp takes char *const[] for history's sake and writes nothing. */
        failed = ready ? posix_spawnp(pid, arguments[0], &actions, &attributes, (char *const *)(uintptr_t)arguments, environment)
                       : ENOMEM;
        posix_spawnattr_destroy(&attributes);
    }
    posix_spawn_file_actions_destroy(&actions);
    return failed;
}

static double now_s(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

/* True: it ended within its time, and nobody wanted it to end before. It is left unreaped, so that its number, which is its group's, is
   nobody else's yet. */
static bool wait_for(pid_t pid, double timeout_s) {
    double until_s = now_s() + timeout_s;
    struct timespec pause = {.tv_nsec = 1000 * 1000};
    for (;;) {
        siginfo_t info = {0};
        int got = waitid(P_PID, (id_t)pid, &info, WEXITED | WNOHANG | WNOWAIT);
        if ((got == 0 && info.si_pid == pid) || (got < 0 && errno != EINTR)) {
            return true;
        }
        if (now_s() >= until_s || arrived != 0) {
            return false;
        }
        nanosleep(&pause, NULL);
        if (pause.tv_nsec < 20 * 1000 * 1000) {
            pause.tv_nsec *= 2; /* short programs are seen to end soon, long ones are not asked often */
        }
    }
}

static status read_back(int fd, size_t limit_bytes, text *out, error *err) {
    char chunk[4096];
    off_t at = 0;
    while (out->length < limit_bytes) {
        size_t wanted = limit_bytes - out->length < sizeof chunk ? limit_bytes - out->length : sizeof chunk;
        ssize_t n = pread(fd, chunk, wanted, at);
        if (n < 0 && errno == EINTR) {
            continue;
        }
        if (n < 0) {
            return fail(err, ASSAY_IO, "a program's output cannot be read back: %s", strerror(errno));
        }
        if (n == 0) {
            break;
        }
        text_add_bytes(out, chunk, (size_t)n);
        at += n;
    }
    return out->failed ? fail(err, ASSAY_OUT_OF_MEMORY, "no memory for a program's output") : ASSAY_OK;
}

static status run_with_files(const char *const *arguments, char **environment, double timeout_s, size_t limit_bytes, int out_fd, int errors_fd,
                             process_result *out, error *err) {
    pid_t pid = 0;
    int how = 0;
    int failed = start(arguments, environment, out_fd, errors_fd, &pid);
    if (failed != 0) {
        return fail(err, failed == ENOMEM || failed == EAGAIN ? ASSAY_OUT_OF_MEMORY : ASSAY_NOT_FOUND,
                    "%.200s cannot be started: %s", arguments[0], strerror(failed));
    }
    bool ended = wait_for(pid, timeout_s);
    kill(-pid, SIGKILL); /* it, when it is late, and whatever it left behind */
    pid_t reaped;
    while ((reaped = waitpid(pid, &how, 0)) < 0 && errno == EINTR) {
    }
    if (ended && reaped != pid) {
        return fail(err, ASSAY_IO, "how %.200s ended is not known: %s", arguments[0], strerror(errno));
    }
    if (!ended && arrived != 0) {
        return fail(err, ASSAY_INTERRUPTED, "%.200s was ended: this process was to end (signal %d)", arguments[0], (int)arrived);
    }
    if (!ended) {
        return fail(err, ASSAY_TIMEOUT, "%.200s did not end within %g s", arguments[0], timeout_s);
    }
    process_result made = {.exit_code = WIFEXITED(how) ? WEXITSTATUS(how) : 0, .signal = WIFSIGNALED(how) ? WTERMSIG(how) : 0};
    status result = read_back(out_fd, limit_bytes, &made.out, err);
    if (result == ASSAY_OK) {
        result = read_back(errors_fd, limit_bytes, &made.errors, err);
    }
    if (result != ASSAY_OK) {
        process_result_clear(&made);
        return result;
    }
    *out = made;
    return ASSAY_OK;
}

/* Room for what a program says of a full disk, which it could not write there otherwise. A file system that cannot promise any has
   none. */
static status promise_room(int fd, error *err) {
    enum { ROOM_BYTES = 4096 };
#ifdef FALLOC_FL_KEEP_SIZE
    while (fallocate(fd, FALLOC_FL_KEEP_SIZE, 0, ROOM_BYTES) != 0) {
        if (errno == ENOSPC || errno == EDQUOT) {
            return fail(err, ASSAY_IO, "no room for what a program says: %s: make some in %s, or name another place in TMPDIR", strerror(errno),
                        file_temporary_folder());
        }
        if (errno != EINTR) {
            break;
        }
    }
#else
    (void)fd, (void)err, (void)ROOM_BYTES;
#endif
    return ASSAY_OK;
}

static status run_in(const char *const *arguments, char **environment, double timeout_s, size_t limit_bytes, process_result *out,
                     error *err) {
    int out_fd, errors_fd;
    TRY(file_open_temporary(&out_fd, err));
    status result = file_open_temporary(&errors_fd, err);
    if (result == ASSAY_OK) {
        result = promise_room(errors_fd, err);
        if (result == ASSAY_OK) {
            process_hold();
            result = run_with_files(arguments, environment, timeout_s, limit_bytes, out_fd, errors_fd, out, err);
            process_let_go();
        }
        close(errors_fd);
    }
    close(out_fd);
    return result;
}

status process_run(const char *const *arguments, const char *temporary, double timeout_s, size_t limit_bytes, process_result *out,
                   error *err) {
    arena a = {0};
    char **environment = temporary == NULL ? environ : environment_with(&a, temporary);
    status result = environment != NULL ? run_in(arguments, environment, timeout_s, limit_bytes, out, err)
                                        : fail(err, ASSAY_OUT_OF_MEMORY, "no memory to start %.200s", arguments[0]);
    arena_clear(&a);
    return result;
}
