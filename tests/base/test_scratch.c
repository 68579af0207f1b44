/* SPDX-License-Identifier: Apache-2.0 */
/* Folders for a moment: gone once removed, swept when their maker is gone, left alone while it lives and where they are not ours. */
#include "base/scratch.h"

#include "unit.h"

#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static char folder[] = "assay-scratch-XXXXXX";

static void write_in(const char *where, const char *name) {
    char path[SCRATCH_PATH_BYTES + 32];
    snprintf(path, sizeof path, "%s/%s", where, name);
    int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    assert_true(fd >= 0);
    close(fd);
}

static bool exists(const char *path) {
    struct stat s;
    return lstat(path, &s) == 0;
}

static void what_is_removed_is_gone(void **state) {
    (void)state;
    scratch a, b;
    assert_int_equal(scratch_make("one", &a, NULL), ASSAY_OK);
    assert_int_equal(scratch_make("one", &b, NULL), ASSAY_OK); /* its sweep passes over a */
    assert_true(exists(a.path) && exists(b.path));
    assert_string_not_equal(a.path, b.path);
    write_in(a.path, "file");
    write_in(a.path, ".hidden");
    scratch_sweep("one");
    assert_true(exists(a.path) && exists(b.path));
    scratch_remove(&a);
    assert_false(exists(a.path));
    assert_true(exists(b.path));
    scratch_remove(&b);
    assert_false(exists(b.path));
}

/* Makes a folder in another process, says its path, and waits to be killed. */
static pid_t make_elsewhere(char *path) {
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    pid_t pid = fork();
    if (pid == 0) {
        scratch s;
        if (scratch_make("two", &s, NULL) == ASSAY_OK) {
            write_in(s.path, "left");
            (void)!write(ends[1], s.path, sizeof s.path);
            pause();
        }
        _exit(1);
    }
    close(ends[1]);
    assert_int_equal(read(ends[0], path, SCRATCH_PATH_BYTES), SCRATCH_PATH_BYTES);
    close(ends[0]);
    return pid;
}

static void what_the_dead_left_is_swept(void **state) {
    (void)state;
    static char killed[SCRATCH_PATH_BYTES], living[SCRATCH_PATH_BYTES];
    pid_t first = make_elsewhere(killed), second = make_elsewhere(living);
    scratch_sweep("two");
    assert_true(exists(killed) && exists(living));
    kill(first, SIGKILL);
    assert_int_equal(waitpid(first, NULL, 0), first);
    scratch_sweep("tw"); /* another name */
    assert_true(exists(killed));
    scratch_sweep("two");
    assert_false(exists(killed));
    assert_true(exists(living));
    kill(second, SIGKILL);
    assert_int_equal(waitpid(second, NULL, 0), second);
    scratch s;
    assert_int_equal(scratch_make("two", &s, NULL), ASSAY_OK);
    assert_false(exists(living));
    scratch_remove(&s);
}

static void what_is_not_ours_is_left_alone(void **state) {
    (void)state;
    static const char *const names[] = {"three-abcdef", "three-abcdefg", "three-ABCDEF", "three-nested"};
    char path[4][64], inner[320];
    for (int i = 0; i < 4; i++) {
        snprintf(path[i], sizeof path[i], "%s/%s", folder, names[i]);
    }
    assert_int_equal(mkdir(path[0], 0755), 0); /* open to others */
    assert_int_equal(chmod(path[0], 0755), 0);
    assert_int_equal(mkdir(path[1], 0700), 0); /* another name */
    assert_int_equal(symlink(names[1], path[2]), 0);
    assert_int_equal(mkdir(path[3], 0700), 0); /* ours, but for the folder in it */
    snprintf(inner, sizeof inner, "%s/more", path[3]);
    assert_int_equal(mkdir(inner, 0700), 0);
    write_in(path[0], "mine");
    write_in(path[1], "mine");
    scratch_sweep("three");
    for (int i = 0; i < 4; i++) {
        assert_true(exists(path[i]));
    }
    for (int i = 0; i < 2; i++) {
        snprintf(inner, sizeof inner, "%s/mine", path[i]);
        assert_int_equal(unlink(inner), 0);
        assert_int_equal(rmdir(path[i]), 0);
    }
    assert_int_equal(unlink(path[2]), 0);
    snprintf(inner, sizeof inner, "%s/more", path[3]);
    assert_int_equal(rmdir(inner), 0);
    scratch_sweep("three");
    assert_false(exists(path[3]));
}

/* Several make, sweep and remove at once: each has its own until it removes it. */
static void makers_and_sweepers_do_not_meet(void **state) {
    (void)state;
    pid_t pids[4];
    for (int p = 0; p < 4; p++) {
        pids[p] = fork();
        if (pids[p] == 0) {
            for (int i = 0; i < 200; i++) {
                scratch s;
                if (scratch_make("four", &s, NULL) != ASSAY_OK) {
                    _exit(1);
                }
                write_in(s.path, "file");
                if (!exists(s.path)) {
                    _exit(2);
                }
                scratch_remove(&s);
            }
            _exit(0);
        }
    }
    for (int p = 0; p < 4; p++) {
        int how = 0;
        assert_int_equal(waitpid(pids[p], &how, 0), pids[p]);
        assert_int_equal(how, 0);
    }
}

static void failures_have_reasons(void **state) {
    (void)state;
    scratch s;
    error err = {0};
    setenv("TMPDIR", "/nonexistent", 1);
    assert_int_equal(scratch_make("five", &s, &err), ASSAY_IO);
    assert_non_null(strstr(err.message, "/nonexistent"));
    assert_non_null(strstr(err.message, "TMPDIR"));
    scratch_sweep("five");
    setenv("TMPDIR", folder, 1);
    mode_t mask = umask(0100); /* as file systems without owners and rights have it: a folder that is not its maker's alone */
    assert_int_equal(scratch_make("five", &s, &err), ASSAY_IO);
    umask(mask);
    assert_non_null(strstr(err.message, "0700")); /* and nothing is left, as the end of these tests sees */
}

static int make_folder(void **state) {
    (void)state;
    return mkdtemp(folder) == NULL || setenv("TMPDIR", folder, 1) != 0;
}

static int remove_folder(void **state) {
    (void)state;
    return rmdir(folder); /* fails when anything was left in it */
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_removed_is_gone),        cmocka_unit_test(what_the_dead_left_is_swept),
        cmocka_unit_test(what_is_not_ours_is_left_alone), cmocka_unit_test(makers_and_sweepers_do_not_meet),
        cmocka_unit_test(failures_have_reasons),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
