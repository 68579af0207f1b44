/* SPDX-License-Identifier: Apache-2.0 */
/* Files: whole or not at all, plain or gzip'd, with a reason when they cannot be. */
#include "base/file.h"

#include "unit.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

static char folder[] = "assay-file-XXXXXX";

static const char *in_folder(char *path, const char *name) {
    snprintf(path, 128, "%s/%s", folder, name);
    return path;
}

static void what_is_written_is_read(void **state) {
    (void)state;
    char path[128];
    text t = {0};
    in_folder(path, "plain");
    assert_int_equal(file_write(path, "one\0two", 7, NULL), ASSAY_OK);
    assert_int_equal(file_write(path, "second", 6, NULL), ASSAY_OK); /* replaces */
    assert_int_equal(file_read(path, 6, &t, NULL), ASSAY_OK);
    assert_string_equal(t.data, "second");
    error err = {0};
    assert_int_equal(file_read(path, 5, &t, &err), ASSAY_TOO_LARGE);
    assert_string_equal(t.data, "second"); /* untouched */
    assert_int_equal(file_write(path, NULL, 0, NULL), ASSAY_OK);
    assert_int_equal(file_read(path, 5, &t, &err), ASSAY_OK);
    assert_int_equal(t.length, 0);
    unlink(path);
    text_clear(&t);
}

/* A gzip file, and each of its prefixes: whole, empty (which is an empty plain file), or refused. */
static void gzip_is_unpacked_or_refused(void **state) {
    (void)state;
    char path[128], cut_path[128];
    text t = {0}, packed = {0};
    in_folder(path, "x.gz");
    gzFile file = gzopen(path, "wb9");
    char content[3000];
    for (size_t i = 0; i < sizeof content; i++) {
        content[i] = (char)('a' + i * i % 23);
    }
    assert_int_equal(gzwrite(file, content, sizeof content), (int)sizeof content);
    gzclose(file);
    assert_int_equal(file_read(path, 3000, &t, NULL), ASSAY_OK);
    assert_int_equal(t.length, sizeof content);
    assert_memory_equal(t.data, content, sizeof content);
    assert_int_equal(file_read(path, 2999, &t, NULL), ASSAY_TOO_LARGE);
    FILE *raw = fopen(path, "rb");
    for (int c = fgetc(raw); c != EOF; c = fgetc(raw)) {
        text_add_char(&packed, (char)c);
    }
    fclose(raw);
    in_folder(cut_path, "cut.gz");
    for (size_t n = 4; n < packed.length; n++) {
        error err = {0};
        assert_int_equal(file_write(cut_path, packed.data, n, NULL), ASSAY_OK);
        status result = file_read(cut_path, 10000, &t, &err);
        if (result != ASSAY_PARSE) {
            print_error("%zu of %zu bytes: %s\n", n, packed.length, assay_status_text(result));
        }
        assert_int_equal(result, ASSAY_PARSE);
    }
    packed.data[packed.length / 2] ^= 0x55;
    assert_int_equal(file_write(cut_path, packed.data, packed.length, NULL), ASSAY_OK);
    assert_int_equal(file_read(cut_path, 10000, &t, NULL), ASSAY_PARSE);
    unlink(path);
    unlink(cut_path);
    text_clear(&t);
    text_clear(&packed);
}

static void failures_have_reasons(void **state) {
    (void)state;
    char path[128];
    text t = {0};
    error err = {0};
    assert_int_equal(file_read(in_folder(path, "none"), 10, &t, &err), ASSAY_NOT_FOUND);
    assert_non_null(strstr(err.message, "/none: No such file"));
    assert_int_equal(file_read(folder, 10, &t, &err), ASSAY_INVALID);
    assert_non_null(strstr(err.message, "directory"));
    assert_int_equal(file_write(in_folder(path, "no/such"), "x", 1, &err), ASSAY_IO);
    assert_int_equal(mkdir(in_folder(path, "taken"), 0777), 0);
    assert_int_equal(file_write(path, "x", 1, &err), ASSAY_IO); /* a directory cannot be replaced; nothing is left behind */
    assert_int_equal(rmdir(path), 0);
    assert_null(t.data);
}

static void rights_follow_the_mask_and_links_stay(void **state) {
    (void)state;
    char path[128], target[128];
    struct stat info;
    text t = {0};
    mode_t mask = umask(027);
    assert_int_equal(file_write(in_folder(target, "target"), "old", 3, NULL), ASSAY_OK);
    umask(mask);
    assert_int_equal(stat(target, &info), 0);
    assert_int_equal(info.st_mode & 0777, 0640);
    assert_int_equal(symlink("target", in_folder(path, "link")), 0);
    assert_int_equal(file_write(path, "new", 3, NULL), ASSAY_OK);
    assert_true(lstat(path, &info) == 0 && S_ISLNK(info.st_mode));
    assert_int_equal(file_read(target, 10, &t, NULL), ASSAY_OK);
    assert_string_equal(t.data, "new");
    unlink(target);
    assert_int_equal(file_write(path, "now a file", 10, NULL), ASSAY_OK); /* a link to nothing gives way */
    assert_true(lstat(path, &info) == 0 && S_ISREG(info.st_mode));
    unlink(path);
    text_clear(&t);
}

static void directories_are_made_with_parents(void **state) {
    (void)state;
    char path[128];
    error err = {0};
    assert_int_equal(file_make_directories(in_folder(path, "a/b//c/"), NULL), ASSAY_OK);
    assert_int_equal(file_make_directories(path, NULL), ASSAY_OK);
    assert_int_equal(access(path, W_OK), 0);
    assert_int_equal(file_write(in_folder(path, "a/file"), "x", 1, NULL), ASSAY_OK);
    assert_int_equal(file_make_directories(path, &err), ASSAY_IO);
    assert_int_equal(file_make_directories(in_folder(path, "a/file/b"), &err), ASSAY_IO);
    unlink(in_folder(path, "a/file"));
    rmdir(in_folder(path, "a/b/c"));
    rmdir(in_folder(path, "a/b"));
    assert_int_equal(rmdir(in_folder(path, "a")), 0);
    assert_int_equal(file_make_directories("/", NULL), ASSAY_OK);
    assert_int_not_equal(file_make_directories("", &err), ASSAY_OK);
    assert_string_equal(file_basename("a/b/c"), "c");
    assert_string_equal(file_basename("c"), "c");
    assert_string_equal(file_basename("a/"), "");
}

static void standard_input_is_a_file(void **state) {
    (void)state;
    char path[128];
    text t = {0};
    assert_int_equal(file_write(in_folder(path, "in"), "given", 5, NULL), ASSAY_OK);
    int kept = dup(STDIN_FILENO), fd = open(path, O_RDONLY);
    dup2(fd, STDIN_FILENO);
    close(fd);
    status result = file_read("-", 100, &t, NULL);
    dup2(kept, STDIN_FILENO);
    close(kept);
    assert_int_equal(result, ASSAY_OK);
    assert_string_equal(t.data, "given");
    unlink(path);
    text_clear(&t);
}

static int make_folder(void **state) {
    (void)state;
    return mkdtemp(folder) == NULL;
}

static int remove_folder(void **state) {
    (void)state;
    return rmdir(folder); /* fails when anything was left in it */
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_written_is_read), cmocka_unit_test(gzip_is_unpacked_or_refused),
        cmocka_unit_test(failures_have_reasons),   cmocka_unit_test(rights_follow_the_mask_and_links_stay), cmocka_unit_test(directories_are_made_with_parents),
        cmocka_unit_test(standard_input_is_a_file),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
