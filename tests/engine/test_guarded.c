/* SPDX-License-Identifier: Apache-2.0 */
/* Memory with margins: it lies as other memory does, and what is written around it shows. */
#include "device/device.h"

#include "base/pages.h"
#include "unit.h"

#include <stdint.h>
#include <string.h>

static const size_t sizes[] = {0, 1, 60, 4095, 4096, 70000, LARGE_PAGE_BYTES / 2 - 1, LARGE_PAGE_BYTES / 2, (6 << 20) + 4, 9 << 20};

static void test_it_lies_as_other_memory(void **state) {
    (void)state;
    for (size_t i = 0; i < countof(sizes); i++) {
        size_t page = sizes[i] >= LARGE_PAGE_BYTES / 2 ? LARGE_PAGE_BYTES : sizes[i] >= PAGE_BYTES ? PAGE_BYTES : 64;
        for (int place = 0; place < 3; place++) {
            char *other = device_cpu.alloc(&device_cpu, sizes[i], place), *memory = device_guarded.alloc(&device_guarded, sizes[i], place);
            assert_int_equal((uintptr_t)other % page, (uintptr_t)memory % page);
            device_cpu.free(&device_cpu, other, sizes[i]);
            device_guarded.free(&device_guarded, memory, sizes[i]);
        }
    }
}

static void expect_changes(const char *memory, size_t size_bytes, int64_t wants_before, int64_t wants_behind) {
    int64_t before, behind;
    device_guarded_changes(memory, size_bytes, &before, &behind);
    assert_int_equal(before, wants_before);
    assert_int_equal(behind, wants_behind);
}

static void test_what_is_written_around_it_shows(void **state) {
    (void)state;
    for (size_t i = 0; i < countof(sizes); i++) {
        char *memory = device_guarded.alloc(&device_guarded, sizes[i], 1);
        memset(memory, 0, sizes[i]);
        expect_changes(memory, sizes[i], 0, 0);
        memory[sizes[i]] = 0;
        expect_changes(memory, sizes[i], 0, 1);
        memset(memory - 8, 0, 8);
        expect_changes(memory, sizes[i], 8, 1);
        memory[sizes[i] + (64 << 10) - 1] = 0;
        memory[-(64 << 10)] = 0;
        expect_changes(memory, sizes[i], 9, 2);
        device_guarded.free(&device_guarded, memory, sizes[i]);
    }
}

int main(void) {
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_it_lies_as_other_memory),
        cmocka_unit_test(test_what_is_written_around_it_shows),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
