/* SPDX-License-Identifier: Apache-2.0 */
/* The cache's folder as others may leave it: entries that are no files, clocks that were ahead, what cannot be looked into, and somebody
   who removes what is just being written. rename is wrapped (cache.cmake): before it the test may do so. */
#include "base/file.h"
#include "engine/compile/cache.h"

#include "unit.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static int n_taken; /* how many files are removed before they get their names */

int __real_rename(const char *from, const char *to);
int __wrap_rename(const char *from, const char *to);
int __wrap_rename(const char *from, const char *to) {
    if (n_taken > 0) {
        n_taken--;
        unlink(from);
    }
    return __real_rename(from, to);
}

static char base[] = "/tmp/assay_cache_XXXXXX";
static cache_key key;
static char path[4096];

static int set_up(void **state) {
    (void)state;
    strcpy(base, "/tmp/assay_cache_XXXXXX");
    n_taken = 0;
    key = cache_key_of(&(cache_piece){"some", 4}, 1);
    return mkdtemp(base) == NULL || setenv("XDG_CACHE_HOME", base, 1) != 0;
}

static int tear_down(void **state) {
    (void)state;
    char command[128];
    snprintf(command, sizeof command, "rm -rf %s", base);
    return system(command);
}

static status store(const char *ending, const void *data, size_t n) {
    return cache_store(&key, ending, data, n, path, sizeof path, NULL);
}

static bool is_found(const char *ending) {
    char at[4096];
    return cache_find(&key, ending, at, sizeof at, NULL) == ASSAY_OK;
}

static void what_is_taken_away_is_written_again(void **state) {
    (void)state;
    n_taken = 1;
    assert_int_equal(store(".so", "abc", 3), ASSAY_OK);
    assert_true(is_found(".so"));
    n_taken = 2;
    assert_int_equal(store(".so", "abc", 3), ASSAY_IO);
}

/* A pipe is not waited for, neither to be read nor to be written; an empty folder goes as well. */
static void what_is_no_file_is_no_entry(void **state) {
    (void)state;
    for (int kind = 0; kind < 3; kind++) {
        assert_int_equal(store(".so", "abc", 3), ASSAY_OK);
        assert_int_equal(unlink(path), 0);
        assert_int_equal(kind < 2 ? mkfifo(path, 0600) : mkdir(path, 0700), 0);
        if (kind > 0) {
            assert_false(is_found(".so"));
            assert_int_equal(access(path, F_OK), -1);
        }
        assert_int_equal(store(".so", "abc", 3), ASSAY_OK);
        assert_true(is_found(".so"));
    }
}

static bool is_there(const char *ending) {
    char at[4200];
    int n = (int)(strrchr(path, '.') - path);
    snprintf(at, sizeof at, "%.*s%s", n, path, ending);
    return access(at, F_OK) == 0;
}

static void set_time(time_t at) {
    struct timespec both[2] = {{.tv_sec = at}, {.tv_sec = at}};
    assert_int_equal(utimensat(AT_FDCWD, path, both, 0), 0);
}

/* What was never used when it says is the first to go, and what was just stored never, whatever the others say. */
static void the_future_gives_way_first(void **state) {
    (void)state;
    static char half[512 * 1024];
    time_t now = time(NULL);
    assert_int_equal(store(".a", half, sizeof half), ASSAY_OK);
    set_time(now + 1000000);
    assert_int_equal(store(".b", half, 1000), ASSAY_OK);
    set_time(now - 1000000);
    assert_int_equal(store(".c", half, sizeof half), ASSAY_OK); /* both are more than the folder's share of 1 MiB */
    assert_false(is_there(".a"));
    assert_true(is_there(".b"));
    assert_true(is_there(".c"));
}

/* By its time of being stored it might be older than others: of the same moment, or by a clock that was put back. */
static void what_was_just_stored_stays(void **state) {
    (void)state;
    static char much[1100 * 1024];
    assert_int_equal(store(".a", much, 1000), ASSAY_OK);
    set_time(time(NULL) + 30); /* within what clocks may differ by */
    assert_int_equal(store(".b", much, sizeof much), ASSAY_OK);
    assert_true(is_there(".b"));
    assert_false(is_there(".a"));
}

static void what_cannot_be_looked_into_is_told(void **state) {
    (void)state;
    char at[256], folder[200];
    cache_facts facts = {.n_entries = 7};
    int64_t removed = 7;
    error err = {0};
    assert_int_equal(cache_info(&facts, &err), ASSAY_OK);
    assert_int_equal(facts.n_entries, 0);
    assert_int_equal(store(".so", "abc", 3), ASSAY_OK);
    snprintf(folder, sizeof folder, "%s/assay/compiled", base);
    snprintf(at, sizeof at, "%s/%s", folder, strncmp(key.text, "07", 2) == 0 ? "08" : "07");
    assert_int_equal(symlink(at, at), 0); /* leads to itself */
    assert_int_equal(cache_info(&facts, &err), ASSAY_IO);
    assert_non_null(strstr(err.message, at));
    assert_non_null(strstr(err.message, strerror(ELOOP)));
    assert_int_equal(cache_clear(&removed, &err), ASSAY_IO);
    assert_int_equal(removed, 7);
    assert_false(is_found(".so")); /* what could be removed is */
    assert_int_equal(unlink(at), 0);
    assert_int_equal(cache_clear(&removed, &err), ASSAY_OK);
    char aside[220];
    snprintf(aside, sizeof aside, "%s.aside", folder);
    assert_int_equal(rename(folder, aside), 0);
    assert_int_equal(symlink(folder, folder), 0);
    assert_int_equal(cache_info(&facts, &err), ASSAY_IO);
    assert_int_equal(cache_clear(&removed, &err), ASSAY_IO);
}

/* Pipes and links are removed with the rest. */
static void clearing_takes_what_is_no_file(void **state) {
    (void)state;
    int64_t removed = 0;
    assert_int_equal(store(".so", "abc", 3), ASSAY_OK);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(mkfifo(path, 0600), 0);
    assert_int_equal(cache_clear(&removed, NULL), ASSAY_OK);
    assert_int_equal(removed, 1);
    assert_int_equal(access(path, F_OK), -1);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(what_is_taken_away_is_written_again, set_up, tear_down),
        cmocka_unit_test_setup_teardown(what_is_no_file_is_no_entry, set_up, tear_down),
        cmocka_unit_test_setup_teardown(the_future_gives_way_first, set_up, tear_down),
        cmocka_unit_test_setup_teardown(what_was_just_stored_stays, set_up, tear_down),
        cmocka_unit_test_setup_teardown(what_cannot_be_looked_into_is_told, set_up, tear_down),
        cmocka_unit_test_setup_teardown(clearing_takes_what_is_no_file, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
