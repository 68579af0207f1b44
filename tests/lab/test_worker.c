/* SPDX-License-Identifier: Apache-2.0 */
/* Workers that die in every way, and a supervisor that always knows how. */
#include "base/text.h"
#include "lab/measure/worker.h"

#include "unit.h"

#include <dirent.h>
#include <fcntl.h>
#include <math.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

typedef struct inbox {
    text all;            /* messages, each with its point before and a comma behind */
    int64_t last_begin;
    int idle;
    int refuse_at;       /* fail at this message, 1-based */
    int n;
    pid_t interrupt_pid; /* sent a SIGINT, or the signal below, at the first message */
    int interrupt;
} inbox;

static status on_message(void *arg, const worker_message *message, error *err) {
    inbox *in = arg;
    in->n++;
    if (message->kind == WORKER_BEGIN) {
        in->last_begin = message->point;
    } else {
        assert_int_equal(message->data[message->n], '\0');
        text_addf(&in->all, "%ld:%s,", (long)message->point, message->n < 100 ? message->data : "long");
    }
    if (in->interrupt_pid != 0) {
        kill(in->interrupt_pid, in->interrupt != 0 ? in->interrupt : SIGINT);
        in->interrupt_pid = 0;
    }
    return in->refuse_at == in->n ? fail(err, ASSAY_IO, "the disk is full") : ASSAY_OK;
}

static void on_idle(void *arg) {
    ((inbox *)arg)->idle++;
}

static worker_options options_for(inbox *in) {
    return (worker_options){.timeout_s = 30, .on_message = on_message, .on_idle = on_idle, .callback_arg = in};
}

static int open_fds(void) {
    int n = 0;
    DIR *dir = opendir("/proc/self/fd");
    for (struct dirent *entry = readdir(dir); entry != NULL; entry = readdir(dir)) {
        n++;
    }
    closedir(dir);
    return n;
}

/* Around each test: no file descriptor more, no child left. */
static int fds_before(void **state) {
    int *n = malloc(sizeof *n);
    *n = open_fds();
    *state = n;
    return 0;
}

static int nothing_is_left(void **state) {
    int *n = *state;
    int now = open_fds();
    int before = *n;
    free(n);
    int status_of_none = 0;
    return now != before || waitpid(-1, &status_of_none, WNOHANG) != -1;
}

static worker_outcome run(worker_body body, inbox *in, const worker_options *options, void *arg) {
    worker_options plain = options_for(in);
    worker_outcome out = {0};
    error err = {0};
    status result = worker_run(options != NULL ? options : &plain, body, arg, &out, &err);
    if (result != ASSAY_OK) {
        print_error("%s\n", err.message);
    }
    assert_int_equal(result, ASSAY_OK);
    return out;
}

static status three_points(worker_link *link, void *arg, error *err) {
    (void)arg;
    for (int i = 0; i < 3; i++) {
        char line[32];
        snprintf(line, sizeof line, "r%d", i);
        TRY(worker_begin(link, i, err));
        TRY(worker_send(link, line, strlen(line), err));
        TRY(worker_send(link, "", 0, err));
    }
    return ASSAY_OK;
}

static void messages_come_in_order(void **state) {
    (void)state;
    inbox in = {0};
    worker_outcome out = run(three_points, &in, NULL, NULL);
    assert_int_equal(out.end, WORKER_END_OK);
    assert_string_equal(text_get(&in.all), "0:r0,0:,1:r1,1:,2:r2,2:,");
    assert_int_equal(out.n_messages, 9);
    assert_int_equal(out.last_point, 2);
    assert_int_equal(out.exit_code, 0);
    assert_false(out.cut_message);
    assert_true(out.peak_bytes > 0);
    text_clear(&in.all);
}

/* More than any pipe holds, and more than is read at once. */
static status long_messages(worker_link *link, void *arg, error *err) {
    size_t n = 5000000;
    char *data = malloc(n);
    if (data == NULL) {
        return ASSAY_OUT_OF_MEMORY;
    }
    memset(data, 'x', n);
    for (int i = 0; i < 4; i++) {
        TRY(worker_send(link, data, n, err));
    }
    free(data);
    error too_large = {0};
    if (worker_send(link, arg, (size_t)WORKER_MESSAGE_LIMIT_BYTES + 1, &too_large) != ASSAY_TOO_LARGE) {
        return fail(err, ASSAY_INTERNAL, "no limit");
    }
    return worker_send(link, "end", 3, err);
}

static void long_messages_come_whole(void **state) {
    (void)state;
    inbox in = {0};
    worker_outcome out = run(long_messages, &in, NULL, NULL);
    assert_int_equal(out.end, WORKER_END_OK);
    assert_string_equal(text_get(&in.all), "-1:long,-1:long,-1:long,-1:long,-1:end,");
    text_clear(&in.all);
}

static status die_by_signal(worker_link *link, void *arg, error *err) {
    TRY(worker_begin(link, 7, err));
    TRY(worker_send(link, "before", 6, err));
    signal(*(int *)arg, SIG_DFL); /* sanitizers catch some */
    raise(*(int *)arg);
    return ASSAY_OK;
}

static void signals_are_named(void **state) {
    (void)state;
    static const struct {
        int number;
        const char *name;
    } cases[] = {{SIGSEGV, "SIGSEGV"}, {SIGABRT, "SIGABRT"}, {SIGFPE, "SIGFPE"}, {SIGKILL, "SIGKILL"}, {SIGILL, "SIGILL"}};
    for (size_t i = 0; i < countof(cases); i++) {
        inbox in = {0};
        int number = cases[i].number;
        worker_outcome out = run(die_by_signal, &in, NULL, &number);
        assert_int_equal(out.end, WORKER_END_SIGNALLED);
        assert_int_equal(out.signal, number);
        assert_int_equal(out.last_point, 7);
        assert_int_equal(out.err.code, ASSAY_CRASHED);
        assert_non_null(strstr(out.err.message, cases[i].name));
        assert_true(text_ends_with(out.err.message, " of memory in use")); /* "while running the reference" comes behind it */
        assert_string_equal(text_get(&in.all), "7:before,");
        text_clear(&in.all);
    }
}

static status leave(worker_link *link, void *arg, error *err) {
    (void)link;
    (void)arg;
    (void)err;
    _exit(3);
}

static status answer_error(worker_link *link, void *arg, error *err) {
    (void)link;
    (void)arg;
    return fail_at(err, ASSAY_PARSE, 12, 34, "expected a tensor");
}

static void exits_and_errors_are_told(void **state) {
    (void)state;
    inbox in = {0};
    worker_outcome out = run(leave, &in, NULL, NULL);
    assert_int_equal(out.end, WORKER_END_FAILED);
    assert_int_equal(out.exit_code, 3);
    assert_non_null(strstr(out.err.message, "exit code 3"));
    out = run(answer_error, &in, NULL, NULL);
    assert_int_equal(out.end, WORKER_END_FAILED);
    assert_int_equal(out.err.code, ASSAY_PARSE);
    assert_int_equal(out.err.line, 12);
    assert_int_equal(out.err.column, 34);
    assert_string_equal(out.err.message, "expected a tensor");
}

static status hang(worker_link *link, void *arg, error *err) {
    bool deaf = *(bool *)arg;
    if (deaf) {
        signal(SIGTERM, SIG_IGN);
        signal(SIGINT, SIG_IGN);
    }
    TRY(worker_begin(link, 4, err));
    for (;;) {
        pause();
    }
}

static void a_hang_is_killed(void **state) {
    (void)state;
    inbox in = {0};
    bool deaf = true;
    worker_options options = options_for(&in);
    options.timeout_s = 0.3;
    worker_outcome out = run(hang, &in, &options, &deaf);
    assert_int_equal(out.end, WORKER_END_HUNG);
    assert_int_equal(out.signal, SIGKILL);
    assert_int_equal(out.last_point, 4);
    assert_int_equal(out.err.code, ASSAY_TIMEOUT);
    assert_true(out.elapsed_s >= 0.3);
    assert_true(in.idle >= 1);
}

/* Many points, together longer than the deadline, each within it. */
static status slow_but_moving(worker_link *link, void *arg, error *err) {
    (void)arg;
    for (int i = 0; i < 6; i++) {
        TRY(worker_begin(link, i, err));
        usleep(250000);
    }
    return ASSAY_OK;
}

static void each_begin_moves_the_deadline(void **state) {
    (void)state;
    inbox in = {0};
    worker_options options = options_for(&in);
    options.timeout_s = 1.2;
    worker_outcome out = run(slow_but_moving, &in, &options, NULL);
    assert_int_equal(out.end, WORKER_END_OK);
    assert_int_equal(out.last_point, 5);
}

/* The worker's end of the pipe: the one pipe that it holds. */
static int pipe_of_worker(void) {
    for (int fd = 3; fd < 256; fd++) {
        char path[64], target[64];
        snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
        ssize_t n = readlink(path, target, sizeof target - 1);
        if (n > 5 && strncmp(target, "pipe:", 5) == 0 && (fcntl(fd, F_GETFL) & O_ACCMODE) == O_WRONLY) {
            return fd;
        }
    }
    return -1;
}

static status write_junk(worker_link *link, void *arg, error *err) {
    (void)arg;
    TRY(worker_send(link, "good", 4, err));
    char junk[4096];
    memset(junk, 'j', sizeof junk);
    ssize_t written = write(pipe_of_worker(), junk, sizeof junk);
    (void)written;
    for (;;) {
        pause();
    }
}

static status die_inside_a_message(worker_link *link, void *arg, error *err) {
    TRY(worker_send(link, "whole", 5, err));
    size_t cut = *(size_t *)arg;
    /* A frame as worker_send would begin it, cut short. */
    struct {
        uint32_t magic, kind;
        int64_t point;
        uint64_t n;
        char data[8];
    } frame = {0x31795341, 2, -1, 100, "partial"};
    ssize_t written = write(pipe_of_worker(), &frame, cut);
    (void)written;
    _exit(9);
}

static status close_the_pipe(worker_link *link, void *arg, error *err) {
    TRY(worker_send(link, "last words", 10, err));
    close(pipe_of_worker());
    usleep(100000);
    if (arg != NULL) {
        for (;;) {
            pause();
        }
    }
    return ASSAY_OK;
}

static void the_pipe_may_hold_anything(void **state) {
    (void)state;
    inbox in = {0};
    worker_outcome out = run(write_junk, &in, NULL, NULL);
    assert_int_equal(out.end, WORKER_END_BROKEN);
    assert_string_equal(text_get(&in.all), "-1:good,");
    for (size_t cut = 1; cut <= 32; cut++) {
        text_reset(&in.all);
        out = run(die_inside_a_message, &in, NULL, &cut);
        assert_int_equal(out.end, WORKER_END_FAILED);
        assert_int_equal(out.exit_code, 9);
        assert_true(out.cut_message);
        assert_string_equal(text_get(&in.all), "-1:whole,");
    }
    text_reset(&in.all);
    out = run(close_the_pipe, &in, NULL, NULL);
    assert_int_equal(out.end, WORKER_END_FAILED); /* it cannot say that it is done */
    worker_options options = options_for(&in);
    options.timeout_s = 0.3;
    out = run(close_the_pipe, &in, &options, &in);
    assert_int_equal(out.end, WORKER_END_HUNG);
    assert_string_equal(text_get(&in.all), "-1:last words,-1:last words,");
    text_clear(&in.all);
}

static status flood(worker_link *link, void *arg, error *err) {
    (void)arg;
    for (;;) {
        TRY(worker_send(link, "more", 4, err));
    }
}

static void a_flood_hides_no_deadline(void **state) {
    (void)state;
    inbox in = {0};
    worker_options options = {.timeout_s = 0.3};
    worker_outcome out = run(flood, &in, &options, NULL);
    assert_int_equal(out.end, WORKER_END_HUNG);
}

static status eat_memory(worker_link *link, void *arg, error *err) {
    (void)link;
    (void)arg;
    for (;;) {
        static char *volatile more; /* a compiler that sees it unused may take malloc to succeed */
        more = malloc(1 << 24);
        if (more == NULL) {
            return fail(err, ASSAY_OUT_OF_MEMORY, "no memory for the output");
        }
        more[0] = 1;
    }
}

static void memory_has_a_limit(void **state) {
    (void)state;
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    print_message("skipped: the limit has no effect under sanitizers with shadow memory\n");
    skip();
#endif
    inbox in = {0};
    worker_options options = options_for(&in);
    options.memory_bytes = (size_t)256 << 20;
    worker_outcome out = run(eat_memory, &in, &options, NULL);
    assert_int_equal(out.end, WORKER_END_MEMORY);
    assert_int_equal(out.err.code, ASSAY_OUT_OF_MEMORY);
    assert_string_equal(out.err.message, "no memory for the output");
}

static void a_refused_message_ends_it(void **state) {
    (void)state;
    inbox in = {.refuse_at = 2};
    worker_options options = options_for(&in);
    worker_outcome out = {.exit_code = 99};
    error err = {0};
    assert_int_equal(worker_run(&options, three_points, NULL, &out, &err), ASSAY_IO);
    assert_string_equal(err.message, "the disk is full");
    assert_int_equal(out.exit_code, 99);
    assert_int_equal(in.n, 2);
    text_clear(&in.all);
}

static void an_interrupt_ends_it(void **state) {
    (void)state;
    for (int deaf = 0; deaf <= 1; deaf++) {
        inbox in = {.interrupt_pid = getpid()};
        bool ignores = deaf != 0;
        worker_options options = options_for(&in);
        options.grace_s = 0.2;
        worker_outcome out = run(hang, &in, &options, &ignores);
        assert_int_equal(out.end, WORKER_END_INTERRUPTED);
        assert_int_equal(out.err.code, ASSAY_INTERRUPTED);
        assert_int_equal(out.signal, deaf ? SIGKILL : SIGTERM);
    }
    /* One that was pending before the call, blocked, counts too; and the caller's mask comes back. */
    sigset_t blocked, before, after;
    sigemptyset(&blocked);
    sigaddset(&blocked, SIGINT);
    sigprocmask(SIG_BLOCK, &blocked, &before);
    raise(SIGINT);
    inbox in = {0};
    bool deaf = false;
    worker_outcome out = run(hang, &in, NULL, &deaf);
    assert_int_equal(out.end, WORKER_END_INTERRUPTED);
    sigprocmask(SIG_SETMASK, &before, &after);
    assert_true(sigismember(&after, SIGINT) && !sigismember(&after, SIGTERM) && !sigismember(&after, SIGCHLD));
}

static status two_points(worker_link *link, void *arg, error *err) {
    (void)arg;
    TRY(worker_begin(link, 1, err));
    return worker_begin(link, 2, err);
}

/* A terminal that goes away is an interrupt, but not to what was started to outlive it. */
static void a_hangup_ends_it_unless_it_is_ignored(void **state) {
    (void)state;
    inbox in = {.interrupt_pid = getpid(), .interrupt = SIGHUP};
    bool deaf = false;
    void (*before)(int) = signal(SIGHUP, SIG_DFL);
    worker_outcome out = run(hang, &in, NULL, &deaf);
    assert_int_equal(out.end, WORKER_END_INTERRUPTED);
    signal(SIGHUP, SIG_IGN);
    in = (inbox){.interrupt_pid = getpid(), .interrupt = SIGHUP};
    out = run(two_points, &in, NULL, NULL);
    signal(SIGHUP, before);
    assert_int_equal(out.end, WORKER_END_OK);
    assert_int_equal(out.last_point, 2);
}

/* A child of the worker that outlives it holds the pipe; it dies with the group. */
static status leave_a_child(worker_link *link, void *arg, error *err) {
    pid_t child = fork();
    if (child == 0) {
        for (;;) {
            pause();
        }
    }
    (void)arg;
    char line[32];
    int n = snprintf(line, sizeof line, "%ld", (long)child);
    return worker_send(link, line, (size_t)n, err);
}

static void its_children_go_with_it(void **state) {
    (void)state;
    inbox in = {0};
    worker_outcome out = run(leave_a_child, &in, NULL, NULL);
    assert_int_equal(out.end, WORKER_END_OK);
    assert_true(out.elapsed_s < 20);
    long child = strtol(strchr(text_get(&in.all), ':') + 1, NULL, 10);
    bool alive = true;
    for (int i = 0; i < 200 && alive; i++) { /* whoever adopts it reaps it in a moment */
        char path[64], line[256] = "";
        snprintf(path, sizeof path, "/proc/%ld/stat", child);
        FILE *file = fopen(path, "r");
        alive = file != NULL && fgets(line, sizeof line, file) != NULL && strstr(line, ") Z") == NULL;
        if (file != NULL) {
            fclose(file);
        }
        usleep(10000);
    }
    assert_false(alive);
    text_clear(&in.all);
}

static status look_around(worker_link *link, void *arg, error *err) {
    (void)arg;
    char byte;
    bool empty_input = read(STDIN_FILENO, &byte, 1) == 0;
    bool own_group = getpgrp() == getpid();
    return worker_send(link, empty_input && own_group ? "yes" : "no", empty_input && own_group ? 3 : 2, err);
}

static void the_worker_is_by_itself(void **state) {
    (void)state;
    inbox in = {0};
    worker_outcome out = run(look_around, &in, NULL, NULL);
    assert_int_equal(out.end, WORKER_END_OK);
    assert_string_equal(text_get(&in.all), "-1:yes,");
    text_clear(&in.all);
}

static status tell_stack(worker_link *link, void *arg, error *err) {
    (void)arg;
    char place[32];
    snprintf(place, sizeof place, "%zu", (size_t)((uintptr_t)__builtin_frame_address(0) % 4096));
    return worker_send(link, place, strlen(place), err);
}

/* However deep the stack is that a worker begins on, as with a longer environment. */
static void the_stack_has_its_place(void **state) {
    (void)state;
    inbox in = {0};
    worker_options options = options_for(&in);
    char first[64] = "";
    for (size_t deeper = 1; deeper < 3000; deeper += 700) {
        volatile char *aside = __builtin_alloca(deeper);
        aside[0] = 0;
        text_clear(&in.all);
        in.all = (text){0};
        worker_outcome out;
        assert_int_equal(worker_run(&options, tell_stack, NULL, &out, NULL), ASSAY_OK);
        if (deeper == 1) {
            snprintf(first, sizeof first, "%s", text_get(&in.all));
        }
        assert_string_equal(text_get(&in.all), first);
    }
    text_clear(&in.all);
}

#define WATCHED(test) cmocka_unit_test_setup_teardown(test, fds_before, nothing_is_left)

int main(void) {
    const struct CMUnitTest tests[] = {
        WATCHED(messages_come_in_order),   WATCHED(long_messages_come_whole),
        WATCHED(signals_are_named),        WATCHED(exits_and_errors_are_told),
        WATCHED(a_hang_is_killed),         WATCHED(each_begin_moves_the_deadline),
        WATCHED(the_pipe_may_hold_anything), WATCHED(a_flood_hides_no_deadline),
        WATCHED(memory_has_a_limit),       WATCHED(a_refused_message_ends_it),
        WATCHED(a_hangup_ends_it_unless_it_is_ignored),
        WATCHED(an_interrupt_ends_it),     WATCHED(its_children_go_with_it),
        WATCHED(the_worker_is_by_itself),  WATCHED(the_stack_has_its_place),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
