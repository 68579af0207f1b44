/* SPDX-License-Identifier: Apache-2.0 */
/* Supervisor and worker: fork, frames over a pipe, deadlines, and a clean end whatever the worker does. */
#include "lab/measure/worker.h"

#include "base/text.h"
#include "lab/measure/orphans.h"
#include "lab/measure/stack_place.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* ---- frames: a header, then its bytes ---- */

enum { FRAME_MAGIC = 0x31795341 }; /* "ASy1": junk is told from frames by its first bytes */
typedef enum frame_kind { FRAME_BEGIN = 1, FRAME_DATA = 2, FRAME_ERROR = 3, FRAME_DONE = 4 } frame_kind;

typedef struct frame_header {
    uint32_t magic;
    uint32_t kind;
    int64_t point;
    uint64_t n;
} frame_header;

struct worker_link {
    int fd;
    int64_t point;
};

static status write_all(int fd, const void *data, size_t n, error *err) {
    const char *at = data;
    while (n > 0) {
        ssize_t written = write(fd, at, n);
        if (written < 0 && errno == EINTR) {
            continue;
        }
        if (written < 0) {
            return fail(err, ASSAY_IO, "the supervisor does not listen: %s", strerror(errno));
        }
        at += written;
        n -= (size_t)written;
    }
    return ASSAY_OK;
}

static status send_frame(worker_link *link, frame_kind kind, const void *data, size_t n, error *err) {
    frame_header header = {.magic = FRAME_MAGIC, .kind = kind, .point = link->point, .n = n};
    TRY(write_all(link->fd, &header, sizeof header, err));
    return write_all(link->fd, data, n, err);
}

status worker_begin(worker_link *link, int64_t point, error *err) {
    link->point = point;
    return send_frame(link, FRAME_BEGIN, NULL, 0, err);
}

status worker_send(worker_link *link, const void *data, size_t n, error *err) {
    if (n > WORKER_MESSAGE_LIMIT_BYTES) {
        return fail(err, ASSAY_TOO_LARGE, "expected a message of at most %d bytes, got %zu", WORKER_MESSAGE_LIMIT_BYTES,
                    n);
    }
    return send_frame(link, FRAME_DATA, data, n, err);
}

/* ---- the worker's process ---- */

/* The shadow memory of the address and thread sanitizers is data too, and far over any limit. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define HAS_SHADOW 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define HAS_SHADOW 1
#endif
#endif

static void limit_memory(size_t memory_bytes) {
#ifdef HAS_SHADOW
    (void)memory_bytes;
#else
    struct rlimit limit;
    if (memory_bytes > 0 && getrlimit(RLIMIT_DATA, &limit) == 0 && memory_bytes < limit.rlim_cur) { /* no limit is the largest number */
        limit.rlim_cur = memory_bytes;
        setrlimit(RLIMIT_DATA, &limit);
    }
#endif
}

static void default_signals(void) {
    for (int signal_number = 1; signal_number < NSIG; signal_number++) {
        signal(signal_number, SIG_DFL); /* fails for SIGKILL and SIGSTOP, as it should */
    }
    signal(SIGPIPE, SIG_IGN); /* a supervisor that is gone shows as an error of write */
    signal(SIGXFSZ, SIG_IGN); /* so does a file that may not grow */
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
}

static void quiet_streams(void) {
    int null_fd = open("/dev/null", O_RDONLY);
    if (null_fd >= 0) {
        dup2(null_fd, STDIN_FILENO);
        if (null_fd > STDERR_FILENO) {
            close(null_fd);
        }
    }
    dup2(STDERR_FILENO, STDOUT_FILENO);
}

/* A body with what it is given. */
typedef struct body_call {
    worker_body body;
    worker_link *link;
    void *arg;
} body_call;

static status run_body(void *call, error *err) {
    const body_call *c = call;
    return c->body(c->link, c->arg, err);
}

/* Never returns. */
static void work(int fd, pid_t supervisor, const worker_options *options, worker_body body, void *arg) {
    setpgid(0, 0);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != supervisor) {
        _exit(EXIT_FAILURE); /* it died before the line above */
    }
    default_signals();
    quiet_streams();
    limit_memory(options->memory_bytes);
    worker_link link = {.fd = fd, .point = -1};
    error err = {0};
    status result = stack_placed(run_body, &(body_call){body, &link, arg}, &err);
    if (result == ASSAY_OK) {
        /* Said, not only left: somebody's code below the body may call exit(0). */
        _exit(send_frame(&link, FRAME_DONE, NULL, 0, NULL) == ASSAY_OK ? EXIT_SUCCESS : EXIT_FAILURE);
    }
    if (err.message[0] == '\0') { /* a body may have passed NULL down */
        fail(&err, result, "%s", assay_status_text(result));
    }
    err.code = result;
    send_frame(&link, FRAME_ERROR, &err, sizeof err, NULL);
    _exit(EXIT_FAILURE);
}

/* ---- the supervisor's side ---- */

typedef struct supervisor {
    const worker_options *options;
    pid_t pid;
    int pipe_fd;   /* -1 once it has ended */
    int signal_fd;
    text buffer;   /* bytes that are not yet a whole frame */
    double start_s, begin_s;
    double asked_s; /* when SIGTERM was sent for an interrupt; 0: not */
    long oom_kills; /* of the whole system before the worker began; -1: unknown */
    bool decided;   /* outcome.end is known already, whatever the wait status will say */
    bool worker_error;
    bool worker_done; /* the body returned OK */
    bool gone;
    status callback_result;
    error *callback_err;
    worker_outcome outcome;
    orphans orphans;
} supervisor;

static double now_s(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* How often the kernel has killed for memory, or -1. /proc/vmstat counts it for the whole system. */
static long count_oom_kills(void) {
    FILE *file = fopen("/proc/vmstat", "re");
    char line[128];
    long count = -1;
    while (file != NULL && fgets(line, sizeof line, file) != NULL) {
        if (sscanf(line, "oom_kill %ld", &count) == 1) {
            break;
        }
    }
    if (file != NULL) {
        fclose(file);
    }
    return count;
}

static void kill_group(supervisor *s, int signal_number) {
    /* The group may not be there yet when the child has not come to setpgid; the child itself always is until reaped. */
    if (kill(-s->pid, signal_number) != 0) {
        kill(s->pid, signal_number);
    }
}

/* The first verdict stands: what follows from killing it says nothing new. */
static void decide(supervisor *s, worker_end end) {
    if (!s->decided) {
        s->outcome.end = end;
        s->decided = true;
    }
}

static void break_off(supervisor *s, worker_end end) {
    decide(s, end);
    kill_group(s, SIGKILL);
}

static void close_pipe(supervisor *s) {
    if (s->pipe_fd >= 0) {
        close(s->pipe_fd);
        s->pipe_fd = -1;
    }
}

static void take_frame(supervisor *s, const frame_header *header, const char *data) {
    if (header->kind == FRAME_DONE) {
        s->worker_done = true;
        return;
    }
    if (header->kind == FRAME_ERROR) {
        if (header->n == sizeof(error)) {
            memcpy(&s->outcome.err, data, sizeof(error));
            s->outcome.err.message[sizeof s->outcome.err.message - 1] = '\0';
            s->worker_error = true;
        }
        return;
    }
    s->outcome.n_messages++;
    if (header->kind == FRAME_BEGIN) {
        s->begin_s = now_s();
        s->outcome.last_point = header->point;
    }
    if (s->options->on_message == NULL || s->callback_result != ASSAY_OK) {
        return;
    }
    worker_message message = {.kind = header->kind == FRAME_BEGIN ? WORKER_BEGIN : WORKER_DATA,
                              .point = header->point,
                              .data = data,
                              .n = (size_t)header->n};
    s->callback_result = s->options->on_message(s->options->callback_arg, &message, s->callback_err);
    if (s->callback_result != ASSAY_OK) {
        break_off(s, WORKER_END_FAILED);
    }
}

static bool header_is_sound(const frame_header *header) {
    return header->magic == FRAME_MAGIC && header->kind >= FRAME_BEGIN && header->kind <= FRAME_DONE &&
           header->n <= WORKER_MESSAGE_LIMIT_BYTES;
}

/* Serves each whole frame in the buffer and keeps the rest. */
static void take_frames(supervisor *s) {
    size_t at = 0;
    frame_header header;
    while (s->buffer.length - at >= sizeof header) {
        memcpy(&header, s->buffer.data + at, sizeof header);
        if (!header_is_sound(&header)) {
            break_off(s, WORKER_END_BROKEN);
            close_pipe(s);
            text_reset(&s->buffer);
            return;
        }
        if (s->buffer.length - at - sizeof header < header.n) {
            break;
        }
        /* The caller is promised a NUL behind the message: lent for the call, over the next frame's first byte. */
        char *data = s->buffer.data + at + sizeof header;
        char kept = data[header.n];
        data[header.n] = '\0';
        take_frame(s, &header, data);
        data[header.n] = kept;
        at += sizeof header + (size_t)header.n;
    }
    if (at > 0) {
        memmove(s->buffer.data, s->buffer.data + at, s->buffer.length - at + 1);
        s->buffer.length -= at;
    }
}

/* Reads what is there now. The pipe's end closes it; that the process is gone is known from waitid alone, because it may
   close its pipe and live on, and its children may hold the pipe and outlive it. A megabyte at most, which is more than a
   pipe holds: one that floods must not keep the deadline and a SIGINT from being seen. */
static void read_pipe(supervisor *s) {
    char chunk[64 * 1024];
    for (int reads = 0; reads < 16 && s->pipe_fd >= 0; reads++) {
        ssize_t n = read(s->pipe_fd, chunk, sizeof chunk);
        if (n > 0) {
            text_add_bytes(&s->buffer, chunk, (size_t)n);
            if (s->buffer.failed && s->callback_result == ASSAY_OK) {
                s->callback_result = fail(s->callback_err, ASSAY_OUT_OF_MEMORY, "no memory for a worker's message");
                break_off(s, WORKER_END_FAILED);
            }
            take_frames(s);
        } else if (n == 0) {
            close_pipe(s);
        } else if (errno != EINTR) {
            if (errno != EAGAIN) {
                close_pipe(s);
            }
            return;
        }
    }
}

static void read_signals(supervisor *s) {
    struct signalfd_siginfo info;
    while (read(s->signal_fd, &info, sizeof info) == (ssize_t)sizeof info) {
        if (info.ssi_signo == SIGCHLD) {
            continue;
        }
        decide(s, WORKER_END_INTERRUPTED);
        if (s->asked_s > 0) {
            kill_group(s, SIGKILL);
        } else {
            kill_group(s, SIGTERM);
            s->asked_s = now_s();
        }
    }
}

/* Has the process ended? It is left unreaped, so that its number, and its group's, cannot be given to another yet. One that somebody else
   has reaped is gone as well. */
static bool has_ended(supervisor *s) {
    siginfo_t info = {0};
    int got = waitid(P_PID, (id_t)s->pid, &info, WEXITED | WNOHANG | WNOWAIT);
    return got == 0 ? info.si_pid == s->pid : errno == ECHILD;
}

/* How long poll may sleep, in ms, given the deadlines; acts on those that have passed. */
static int check_deadlines(supervisor *s) {
    double now = now_s(), left_s = 0.1;
    double grace_s = s->options->grace_s > 0 ? s->options->grace_s : 2;
    if (s->asked_s > 0 && now - s->asked_s >= grace_s) {
        kill_group(s, SIGKILL);
    } else if (s->options->timeout_s > 0 && s->asked_s == 0) {
        double until_s = s->begin_s + s->options->timeout_s - now;
        if (until_s <= 0) {
            break_off(s, WORKER_END_HUNG);
        } else {
            left_s = fmin(left_s, until_s);
        }
    }
    return (int)ceil(left_s * 1000);
}

static void serve(supervisor *s) {
    while (!s->gone) {
        int sleep_ms = check_deadlines(s);
        struct pollfd fds[] = {{.fd = s->signal_fd, .events = POLLIN}, {.fd = s->pipe_fd, .events = POLLIN}};
        int ready = poll(fds, countof(fds), sleep_ms); /* a pipe_fd of -1 is passed over */
        s->gone = has_ended(s); /* asked before the pipe is read: then all that it wrote is in there */
        read_signals(s);
        read_pipe(s);
        if (ready == 0 && !s->gone && s->options->on_idle != NULL) {
            s->options->on_idle(s->options->callback_arg);
        }
    }
}

/* ---- what happened ---- */

const char *worker_signal_name(int signal_number, char *buffer) {
    static const struct {
        int number;
        const char *name;
    } names[] = {{SIGSEGV, "SIGSEGV"}, {SIGABRT, "SIGABRT"}, {SIGBUS, "SIGBUS"}, {SIGFPE, "SIGFPE"},
                 {SIGILL, "SIGILL"},   {SIGKILL, "SIGKILL"}, {SIGTERM, "SIGTERM"}, {SIGINT, "SIGINT"},
                 {SIGPIPE, "SIGPIPE"}, {SIGHUP, "SIGHUP"},   {SIGQUIT, "SIGQUIT"}, {SIGTRAP, "SIGTRAP"},
                 {SIGSYS, "SIGSYS"},   {SIGXCPU, "SIGXCPU"}, {SIGALRM, "SIGALRM"}, {SIGXFSZ, "SIGXFSZ"}};
    for (size_t i = 0; i < countof(names); i++) {
        if (names[i].number == signal_number) {
            return names[i].name;
        }
    }
    snprintf(buffer, 32, "signal %d", signal_number);
    return buffer;
}

static void judge_exit(supervisor *s, int wait_status) {
    worker_outcome *out = &s->outcome;
    if (WIFEXITED(wait_status)) {
        out->exit_code = WEXITSTATUS(wait_status);
        bool memory = s->worker_error && out->err.code == ASSAY_OUT_OF_MEMORY;
        bool finished = s->worker_done && out->exit_code == 0;
        decide(s, memory ? WORKER_END_MEMORY : finished ? WORKER_END_OK : WORKER_END_FAILED);
        return;
    }
    out->signal = WTERMSIG(wait_status);
    bool struck = out->signal == SIGKILL && s->oom_kills >= 0 && count_oom_kills() > s->oom_kills;
    decide(s, struck ? WORKER_END_MEMORY : WORKER_END_SIGNALLED);
}

static void describe(supervisor *s) {
    worker_outcome *out = &s->outcome;
    char name[32], memory[32];
    text_of_bytes(memory, (double)out->peak_bytes);
    switch (out->end) {
    case WORKER_END_OK:
        return;
    case WORKER_END_FAILED:
        if (!s->worker_error) {
            fail(&out->err, ASSAY_CRASHED, "the process left with exit code %d without a word", out->exit_code);
        }
        return;
    case WORKER_END_SIGNALLED:
        fail(&out->err, ASSAY_CRASHED, "killed by %s%s with %s of memory in use", worker_signal_name(out->signal, name),
             out->signal == SIGKILL ? " (not by assay: perhaps by an out-of-memory killer or a batch system)" : "", memory);
        return;
    case WORKER_END_HUNG:
        fail(&out->err, ASSAY_TIMEOUT, "no progress within %g s; killed", s->options->timeout_s);
        return;
    case WORKER_END_MEMORY:
        if (!s->worker_error) {
            fail(&out->err, ASSAY_OUT_OF_MEMORY, "killed by the kernel for want of memory, with %s in use", memory);
        }
        return;
    case WORKER_END_BROKEN:
        fail(&out->err, ASSAY_CRASHED, "wrote bytes into the message pipe that are no message; killed");
        return;
    case WORKER_END_INTERRUPTED:
        fail(&out->err, ASSAY_INTERRUPTED, "interrupted");
        return;
    }
}

/* What is killed with the worker may end after it, and lets go of its files and locks only then. Where nobody reaps orphans the group stays
   for good: not waited for longer than they take to end. */
static void await_group(pid_t group) {
    enum { MOST_MS = 200 };
    const struct timespec moment = {.tv_nsec = 1000000};
    for (int i = 0; i < MOST_MS && kill(-group, 0) == 0; i++) {
        nanosleep(&moment, NULL);
    }
}

static void reap(supervisor *s) {
    kill_group(s, SIGKILL); /* children it left behind; itself is a zombie by now */
    struct rusage usage = {0};
    int wait_status = 0;
    pid_t reaped;
    while ((reaped = wait4(s->pid, &wait_status, 0, &usage)) < 0 && errno == EINTR) {
    }
    if (reaped != s->pid) {
        wait_status = s->worker_done ? 0 : W_EXITCODE(EXIT_FAILURE, 0); /* how it ended nobody can tell */
    }
    await_group(s->pid);
    orphans_reap(&s->orphans);
    s->outcome.cut_message = s->buffer.length > 0;
    s->outcome.peak_bytes = (size_t)usage.ru_maxrss * 1024;
    s->outcome.elapsed_s = now_s() - s->start_s;
    judge_exit(s, wait_status);
    describe(s);
}

static void supervise(supervisor *s) {
    serve(s);
    reap(s);
    close_pipe(s);
    text_clear(&s->buffer);
}

/* A terminal that goes away ends a run as one that asks for it, unless the run was started to outlive it (nohup): what is blocked would
   be read although it is ignored. */
static void waited_signals(sigset_t *set) {
    struct sigaction hangup;
    sigemptyset(set);
    sigaddset(set, SIGINT);
    sigaddset(set, SIGTERM);
    sigaddset(set, SIGCHLD);
    if (sigaction(SIGHUP, NULL, &hangup) == 0 && hangup.sa_handler != SIG_IGN) {
        sigaddset(set, SIGHUP);
    }
}

/* Forks; in the supervisor, s->pid and s->pipe_fd are set. */
static status start(supervisor *s, worker_body body, void *arg, error *err) {
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) {
        return fail(err, ASSAY_IO, "no pipe to a worker: %s", strerror(errno));
    }
    pid_t supervisor_pid = getpid();
    s->pid = fork();
    if (s->pid == 0) {
        close(ends[0]);
        close(s->signal_fd);
        work(ends[1], supervisor_pid, s->options, body, arg);
    }
    close(ends[1]);
    if (s->pid < 0) {
        int reason = errno;
        close(ends[0]);
        return fail(err, ASSAY_IO, "no process for a worker: %s", strerror(reason));
    }
    setpgid(s->pid, s->pid); /* both sides do it: whoever is first, the group is there before it is signalled */
    fcntl(ends[0], F_SETFL, O_NONBLOCK);
    s->pipe_fd = ends[0];
    return ASSAY_OK;
}

status worker_run(const worker_options *options, worker_body body, void *arg, worker_outcome *out, error *err) {
    sigset_t waited, before;
    struct sigaction told = {.sa_handler = SIG_DFL}, told_before; /* ignored, it would have the system reap the worker */
    waited_signals(&waited);
    if (sigprocmask(SIG_BLOCK, &waited, &before) != 0) {
        return fail(err, ASSAY_IO, "signals cannot be blocked: %s", strerror(errno));
    }
    sigaction(SIGCHLD, &told, &told_before);
    supervisor s = {.options = options,
                    .pipe_fd = -1,
                    .oom_kills = count_oom_kills(),
                    .start_s = now_s(),
                    .callback_err = err,
                    .outcome = {.last_point = -1}};
    s.begin_s = s.start_s;
    orphans_adopt(&s.orphans);
    status result = ASSAY_OK;
    s.signal_fd = signalfd(-1, &waited, SFD_NONBLOCK | SFD_CLOEXEC);
    if (s.signal_fd < 0) {
        result = fail(err, ASSAY_IO, "signals cannot be read: %s", strerror(errno));
        goto done;
    }
    result = start(&s, body, arg, err);
    if (result != ASSAY_OK) {
        goto done;
    }
    supervise(&s);
    result = s.callback_result;
    if (result == ASSAY_OK) {
        *out = s.outcome;
    }
done:
    if (s.signal_fd >= 0) {
        close(s.signal_fd);
    }
    orphans_leave(&s.orphans);
    sigaction(SIGCHLD, &told_before, NULL);
    sigprocmask(SIG_SETMASK, &before, NULL);
    return result;
}
