/* SPDX-License-Identifier: Apache-2.0 */
/* What OpenMP is told by the environment may leave a region with fewer threads than it asked for: results are the same. */
#include "unit.h"

#include "assay/assay.h"
#include "device/threads.h"

#include <omp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { N = 128, THREADS = 4, WRONG = 3 };

static assay_tensor *filled_with_ones(assay_dtype dtype, int ndim, const int64_t *sizes) {
    assay_tensor *t = NULL;
    assert_int_equal(assay_tensor_new(dtype, ndim, sizes, NULL, &t, NULL), ASSAY_OK);
    int64_t numel = 1;
    for (int d = 0; d < ndim; d++) {
        numel *= sizes[d];
    }
    for (int64_t i = 0; i < numel; i++) {
        if (dtype == ASSAY_F32) {
            ((float *)assay_tensor_data(t))[i] = 1;
        } else {
            ((uint16_t *)assay_tensor_data(t))[i] = 0x3f80; /* bf16 */
        }
    }
    return t;
}

/* Products of ones, by oneDNN. */
static bool is_right(assay_session *session, assay_dtype dtype) {
    const assay_op *op = NULL;
    assert_int_equal(assay_op_find(session, "mm.default", &op, NULL), ASSAY_OK);
    const int64_t sizes[] = {N, N};
    assay_tensor *a = filled_with_ones(dtype, 2, sizes), *b = filled_with_ones(dtype, 2, sizes), *out = NULL;
    const assay_value arguments[] = {{.kind = ASSAY_VALUE_TENSOR, .tensor = a}, {.kind = ASSAY_VALUE_TENSOR, .tensor = b}};
    assert_int_equal(assay_call(session, op, arguments, 2, &out, 1, NULL), ASSAY_OK);
    bool right = true;
    for (int64_t i = 0; i < N * N; i++) {
        right = right && (dtype == ASSAY_F32 ? ((float *)assay_tensor_data(out))[i] == N : ((uint16_t *)assay_tensor_data(out))[i] == 0x4300);
    }
    assay_tensor_free(a);
    assay_tensor_free(b);
    assay_tensor_free(out);
    return right;
}

static int compute(void) {
    assay_session *session = NULL;
    if (assay_session_new(&session, NULL) != ASSAY_OK) {
        return WRONG;
    }
    const bool was_dynamic = omp_get_dynamic() != 0;
    bool right = is_right(session, ASSAY_F32) && is_right(session, ASSAY_BF16);
    right = right && assay_session_set_threads(session, THREADS, NULL) == ASSAY_OK;
    const int own = omp_get_max_threads();
    right = right && is_right(session, ASSAY_F32) && is_right(session, ASSAY_BF16);
    right = right && omp_get_max_threads() == own && (omp_get_dynamic() != 0) == was_dynamic; /* the caller's stay */
    assay_session_free(session);
    return right ? 0 : WRONG;
}

/* Of a process of its own: OpenMP reads its variables when it is loaded. */
static int compute_told(const char *name, const char *value) {
    const pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        setenv("OMP_NUM_THREADS", "4", 1);
        setenv(name, value, 1);
        execl("/proc/self/exe", "test_thread_limits", "compute", (char *)NULL);
        _exit(WRONG + 1);
    }
    int how = 0;
    assert_int_equal(waitpid(child, &how, 0), child);
    return WIFEXITED(how) ? WEXITSTATUS(how) : -1;
}

static void results_are_the_same(void **state) {
    (void)state;
    static const char *const told[][2] = {{"OMP_THREAD_LIMIT", "1"},       {"OMP_THREAD_LIMIT", "3"}, {"OMP_DYNAMIC", "true"},
                                          {"OMP_MAX_ACTIVE_LEVELS", "0"}, {"OMP_NUM_THREADS", "1"}};
    for (size_t i = 0; i < sizeof told / sizeof *told; i++) {
        assert_int_equal(compute_told(told[i][0], told[i][1]), 0);
    }
}

static void a_hold_is_taken_back(void **state) {
    (void)state;
    const int threads = omp_get_max_threads(), levels = omp_get_max_active_levels();
    assert_true(threads_most() >= 1);
    omp_set_dynamic(1);
    omp_set_num_threads(3);
    omp_set_max_active_levels(0);
    assert_int_equal(threads_most(), 1);
    const threads_hold hold = threads_hold_begin();
    assert_int_equal(omp_get_max_threads(), 1);
    assert_int_equal(omp_get_dynamic(), 0);
    threads_hold_end(&hold);
    omp_set_max_active_levels(levels);
    assert_true(omp_get_dynamic() != 0);
    omp_set_dynamic(0);
    assert_int_equal(omp_get_max_threads(), 3);
    omp_set_num_threads(threads);
}

int main(int argc, char **argv) {
    if (argc == 2 && strcmp(argv[1], "compute") == 0) {
        return compute();
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(results_are_the_same),
        cmocka_unit_test(a_hold_is_taken_back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
