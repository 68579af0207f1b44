/* SPDX-License-Identifier: Apache-2.0 */
/* include/assay/assay.h as a C program uses it: calls, views, in-place operators, lists, numbers, and every refusal. Run
   under the address sanitizer this also proves that nothing leaks, above all not on the ways that fail. */
#include "unit.h"

#include "assay/assay.h"

#include <dirent.h>
#include <omp.h>
#include <pthread.h>
#include <string.h>
#include <time.h>

typedef struct fixture {
    assay_session *session;
} fixture;

static int open_session(void **state) {
    static fixture f;
    assay_error err = {0};
    *state = &f;
    return assay_session_new(&f.session, &err) == ASSAY_OK ? 0 : 1;
}

static int close_session(void **state) {
    assay_session_free(((fixture *)*state)->session);
    return 0;
}

static const assay_op *find(void **state, const char *name) {
    const assay_op *o = NULL;
    assay_error err = {0};
    if (assay_op_find(((fixture *)*state)->session, name, &o, &err) != ASSAY_OK) {
        print_error("%s\n", err.message);
    }
    assert_non_null(o);
    return o;
}

static assay_tensor *make(assay_dtype dtype, int ndim, const int64_t *sizes, const int64_t *strides) {
    assay_tensor *t = NULL;
    assert_int_equal(assay_tensor_new(dtype, ndim, sizes, strides, &t, NULL), ASSAY_OK);
    return t;
}

/* A contiguous f32 matrix holding 0, 1, 2, ... */
static assay_tensor *counting(int64_t rows, int64_t columns) {
    assay_tensor *t = make(ASSAY_F32, 2, (int64_t[]){rows, columns}, NULL);
    for (int64_t i = 0; i < rows * columns; i++) {
        ((float *)assay_tensor_data(t))[i] = (float)i;
    }
    return t;
}

static assay_value of_tensor(assay_tensor *t) {
    return (assay_value){.kind = ASSAY_VALUE_TENSOR, .tensor = t};
}

static assay_value of_int(int64_t i) {
    return (assay_value){.kind = ASSAY_VALUE_INT, .i = i};
}

static assay_value of_float(double f) {
    return (assay_value){.kind = ASSAY_VALUE_FLOAT, .f = f};
}

static assay_tensor *call1(void **state, const char *name, const assay_value *values, int n) {
    assay_tensor *out = NULL;
    assay_error err = {0};
    if (assay_call(((fixture *)*state)->session, find(state, name), values, n, &out, 1, &err) != ASSAY_OK) {
        print_error("%s: %s\n", name, err.message);
    }
    assert_non_null(out);
    return out;
}

/* The call must fail with that code and a message that holds the word; nothing is handed out. */
static void refuse(void **state, const char *name, const assay_value *values, int n, int n_outputs, assay_status code,
                   const char *word) {
    assay_tensor *out[4] = {NULL};
    assay_error err = {0};
    assert_int_equal(assay_call(((fixture *)*state)->session, find(state, name), values, n, out, n_outputs, &err), code);
    assert_int_equal(err.code, code);
    if (strstr(err.message, word) == NULL) {
        print_error("%s: expected '%s' in: %s\n", name, word, err.message);
        assert_true(false);
    }
    assert_null(out[0]);
    assert_int_equal(assay_call(((fixture *)*state)->session, find(state, name), values, n, out, n_outputs, NULL), code);
}

static float at(const assay_tensor *t, int64_t i) {
    return ((const float *)assay_tensor_data(t))[i];
}

static void add_with_defaults_and_without(void **state) {
    assay_tensor *a = counting(2, 3), *b = counting(2, 3);
    assay_value values[] = {of_tensor(a), of_tensor(b), of_float(0.5)};
    assay_tensor *sum = call1(state, "add.Tensor", values, 2);
    assay_tensor *scaled = call1(state, "aten.add.Tensor", values, 3);
    assert_int_equal(assay_tensor_dtype(sum), ASSAY_F32);
    assert_int_equal(assay_tensor_ndim(sum), 2);
    assert_int_equal(assay_tensor_sizes(sum)[0], 2);
    assert_int_equal(assay_tensor_strides(sum)[0], 3);
    for (int i = 0; i < 6; i++) {
        assert_true(at(sum, i) == 2.0f * (float)i && at(scaled, i) == 1.5f * (float)i);
    }
    assay_tensor_free(sum);
    assay_tensor_free(scaled);
    assay_tensor_free(a);
    assay_tensor_free(b);
}

static void numbers_stand_for_tensors(void **state) {
    assay_tensor *a = counting(2, 2);
    assay_value values[] = {of_tensor(a), of_int(3)};
    assay_tensor *product = call1(state, "mul.Tensor", values, 2);
    assert_int_equal(assay_tensor_dtype(product), ASSAY_F32);
    assert_true(at(product, 3) == 9);
    assay_tensor_free(product);
    assay_tensor *whole = make(ASSAY_I64, 1, (int64_t[]){2}, NULL);
    int64_t *data = assay_tensor_data(whole);
    data[0] = 7;
    data[1] = -7;
    values[0] = of_tensor(whole);
    values[1] = of_float(0.5);
    assay_tensor *half = call1(state, "mul.Tensor", values, 2); /* a float against integers: f32, as in ATen */
    assert_int_equal(assay_tensor_dtype(half), ASSAY_F32);
    assert_true(at(half, 1) == -3.5f);
    assay_tensor_free(half);
    assay_tensor_free(whole);
    assay_tensor_free(a);
}

static void in_place_writes_through(void **state) {
    assay_tensor *a = counting(2, 2);
    assay_tensor *same = call1(state, "mul_.Tensor", (assay_value[]){of_tensor(a), of_tensor(a)}, 2);
    assert_ptr_equal(assay_tensor_data(same), assay_tensor_data(a));
    assert_true(at(a, 3) == 9);
    assay_tensor_free(a);
    assert_true(at(same, 2) == 4); /* it holds the memory alone now */
    assay_tensor_free(same);
}

static void views_share_memory(void **state) {
    assay_tensor *a = counting(2, 3);
    assay_tensor *column = call1(state, "unsqueeze", (assay_value[]){of_tensor(a), of_int(-1)}, 2);
    assert_int_equal(assay_tensor_ndim(column), 3);
    assert_ptr_equal(assay_tensor_data(column), assay_tensor_data(a));
    ((float *)assay_tensor_data(a))[5] = 50;
    assay_tensor_free(a);
    assert_true(at(column, 5) == 50);
    assay_tensor_free(column);
}

static void strided_inputs(void **state) {
    /* b is a's memory read by columns: a 3 x 2 tensor with strides (1, 3) of its own. */
    assay_tensor *a = counting(3, 2), *turned = make(ASSAY_F32, 2, (int64_t[]){3, 2}, (int64_t[]){1, 3});
    for (int i = 0; i < 6; i++) {
        ((float *)assay_tensor_data(turned))[i] = (float)i;
    }
    assay_tensor *sum = call1(state, "add.Tensor", (assay_value[]){of_tensor(a), of_tensor(turned)}, 2);
    for (int i = 0; i < 3; i++) {
        for (int j = 0; j < 2; j++) {
            const int64_t *s = assay_tensor_strides(sum);
            assert_true(at(sum, i * s[0] + j * s[1]) == (float)(2 * i + j + i + 3 * j));
        }
    }
    assay_tensor_free(sum);
    assay_tensor_free(turned);
    assay_tensor_free(a);
}

static void lists_of_tensors(void **state) {
    assay_tensor *a = counting(2, 3), *b = counting(1, 3);
    assay_tensor *items[] = {a, b, a};
    assay_value values[] = {{.kind = ASSAY_VALUE_TENSORS, .n = 3, .tensors = items}, of_int(0)};
    assay_tensor *joined = call1(state, "cat", values, 2);
    assert_int_equal(assay_tensor_sizes(joined)[0], 5);
    assert_true(at(joined, 8) == 2 && at(joined, 14) == 5);
    assay_tensor_free(joined);
    assay_tensor *missing[] = {a, NULL};
    values[0] = (assay_value){.kind = ASSAY_VALUE_TENSORS, .n = 2, .tensors = missing};
    refuse(state, "cat", values, 2, 1, ASSAY_INVALID, "tensors");
    values[0] = (assay_value){.kind = ASSAY_VALUE_TENSORS, .n = -1, .tensors = items};
    refuse(state, "cat", values, 2, 1, ASSAY_INVALID, "-1");
    values[0] = (assay_value){.kind = ASSAY_VALUE_TENSORS, .n = 1};
    refuse(state, "cat", values, 2, 1, ASSAY_INVALID, "NULL");
    assay_tensor_free(a);
    assay_tensor_free(b);
}

static void several_outputs(void **state) {
    assay_tensor *a = counting(4, 3);
    assay_value values[] = {of_tensor(a), of_int(0)};
    assay_tensor *out[2] = {NULL};
    assay_error err = {0};
    fixture *f = *state;
    assert_int_equal(assay_call(f->session, find(state, "max.dim"), values, 2, out, 2, &err), ASSAY_OK);
    assert_true(at(out[0], 2) == 11);
    assert_int_equal(assay_tensor_dtype(out[1]), ASSAY_I64);
    assert_int_equal(((const int64_t *)assay_tensor_data(out[1]))[2], 3);
    assay_tensor_free(out[0]);
    assay_tensor_free(out[1]);
    refuse(state, "max.dim", values, 2, 1, ASSAY_INVALID, "2 outputs");
    assay_tensor_free(a);
}

/* Not even an in-place operator writes when its outputs cannot be handed out. */
static void another_number_of_outputs_computes_nothing(void **state) {
    assay_tensor *a = counting(2, 2);
    refuse(state, "mul_.Tensor", (assay_value[]){of_tensor(a), of_int(2)}, 2, 2, ASSAY_INVALID, "1 outputs");
    refuse(state, "mul_.Tensor", (assay_value[]){of_tensor(a), of_int(2)}, 2, 0, ASSAY_INVALID, "1 outputs");
    assert_true(at(a, 3) == 3);
    assay_tensor_free(a);
}

static void many_outputs(void **state) {
    assay_tensor *a = counting(6, 2), *rows[6] = {NULL};
    assay_value values[] = {of_tensor(a), of_int(0)};
    assert_int_equal(assay_call(((fixture *)*state)->session, find(state, "unbind.int"), values, 2, rows, 6, NULL), ASSAY_OK);
    for (int i = 0; i < 6; i++) {
        assert_true(at(rows[i], 1) == (float)(2 * i + 1));
        assay_tensor_free(rows[i]);
    }
    assay_tensor_free(a);
}

static void lists_and_texts_are_checked(void **state) {
    assay_tensor *image = make(ASSAY_F32, 4, (int64_t[]){1, 1, 4, 4}, NULL);
    memset(assay_tensor_data(image), 0, 16 * sizeof(float));
    const int64_t two[] = {2, 2};
    assay_value values[] = {of_tensor(image), {.kind = ASSAY_VALUE_INTS, .n = 2, .ints = two}};
    assay_tensor_free(call1(state, "avg_pool2d", values, 2));
    values[1].n = -1;
    refuse(state, "avg_pool2d", values, 2, 1, ASSAY_INVALID, "'kernel_size' is a list of -1 values");
    values[1] = (assay_value){.kind = ASSAY_VALUE_INTS, .n = 2};
    refuse(state, "avg_pool2d", values, 2, 1, ASSAY_INVALID, "at NULL");
    values[1] = (assay_value){.kind = ASSAY_VALUE_STR};
    refuse(state, "gelu", values, 2, 1, ASSAY_INVALID, "'approximate' is NULL");
    assay_tensor_free(image);
}

static void wrong_calls_are_refused(void **state) {
    assay_tensor *a = counting(2, 3), *b = counting(4, 5);
    assay_value values[] = {of_tensor(a), of_tensor(b), of_int(1), of_int(1)};
    refuse(state, "add.Tensor", values, 2, 1, ASSAY_INVALID, "add.Tensor");
    refuse(state, "mm", values, 2, 1, ASSAY_INVALID, "mm");
    refuse(state, "add.Tensor", values, 1, 1, ASSAY_INVALID, "'other' is missing");
    refuse(state, "add.Tensor", values, 4, 1, ASSAY_INVALID, "at most 3");
    refuse(state, "add.Tensor", values, -1, 1, ASSAY_INVALID, "-1");
    values[1] = (assay_value){.kind = ASSAY_VALUE_STR, .str = "b"};
    refuse(state, "add.Tensor", values, 2, 1, ASSAY_INVALID, "'other'");
    values[1] = (assay_value){.kind = ASSAY_VALUE_TENSOR}; /* a NULL tensor */
    refuse(state, "add.Tensor", values, 2, 1, ASSAY_INVALID, "'other'");
    values[1] = (assay_value){.kind = ASSAY_VALUE_NONE};
    refuse(state, "add.Tensor", values, 2, 1, ASSAY_INVALID, "'other'");
    values[1] = (assay_value){.kind = ASSAY_VALUE_DEFAULT};
    refuse(state, "add.Tensor", values, 2, 1, ASSAY_INVALID, "'other'");
    values[1] = (assay_value){.kind = (assay_value_kind)99};
    refuse(state, "add.Tensor", values, 2, 1, ASSAY_INVALID, "'other'");
    values[1] = of_int(5); /* no such dimension */
    refuse(state, "_softmax", (assay_value[]){of_tensor(a), of_int(5), {.kind = ASSAY_VALUE_BOOL}}, 3, 1, ASSAY_INVALID, "5");
    assay_tensor_free(a);
    assay_tensor_free(b);
}

/* A small call's forms are kept for the next one: whatever changes between two calls must be seen. */
static void repeated_calls_see_every_change(void **state) {
    assay_tensor *a = counting(2, 3), *b = counting(2, 3), *wide = counting(3, 2);
    assay_tensor *turned = make(ASSAY_F32, 2, (int64_t[]){2, 3}, (int64_t[]){1, 2});
    assay_tensor *whole = make(ASSAY_I32, 2, (int64_t[]){2, 3}, NULL);
    for (int i = 0; i < 6; i++) {
        ((float *)assay_tensor_data(turned))[i] = (float)(10 * i);
        ((int32_t *)assay_tensor_data(whole))[i] = 100 * i;
    }
    for (int round = 0; round < 3; round++) {
        ((float *)assay_tensor_data(b))[4] = (float)round; /* values change, forms do not */
        const struct {
            assay_tensor *x, *y;
            int n;
            double alpha;
            float expected; /* element [1, 1] */
        } cases[] = {{a, b, 2, 0, 4.0f + (float)round},        {a, b, 2, 0, 4.0f + (float)round},
                     {b, a, 2, 0, 4.0f + (float)round},        {a, b, 3, 2, 4.0f + 2.0f * (float)round},
                     {a, b, 3, 2, 4.0f + 2.0f * (float)round}, {a, b, 3, -1, 4.0f - (float)round},
                     {a, turned, 2, 0, 34},                    {a, turned, 2, 0, 34},
                     {a, whole, 2, 0, 404},                    {a, whole, 2, 0, 404},
                     {a, a, 2, 0, 8},                          {a, b, 2, 0, 4.0f + (float)round}};
        for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
            assay_value values[] = {of_tensor(cases[i].x), of_tensor(cases[i].y), of_float(cases[i].alpha)};
            assay_tensor *sum = call1(state, "add.Tensor", values, cases[i].n);
            const int64_t *s = assay_tensor_strides(sum);
            assert_int_equal(assay_tensor_ndim(sum), 2);
            assert_int_equal(assay_tensor_sizes(sum)[0], 2);
            assert_true(at(sum, s[0] + s[1]) == cases[i].expected);
            assert_int_equal((intptr_t)assay_tensor_data(sum) % 64, 0);
            assay_tensor_free(sum);
        }
        refuse(state, "add.Tensor", (assay_value[]){of_tensor(a), of_tensor(wide)}, 2, 1, ASSAY_INVALID, "add.Tensor");
        refuse(state, "add.Tensor", (assay_value[]){of_tensor(a), of_tensor(b)}, 2, 2, ASSAY_INVALID, "1 outputs");
    }
    /* An output whose handle lies in its own memory: views and in-place results of it hold that memory alone. */
    assay_tensor *sum = call1(state, "add.Tensor", (assay_value[]){of_tensor(a), of_tensor(a)}, 2);
    assay_tensor *view = call1(state, "unsqueeze", (assay_value[]){of_tensor(sum), of_int(0)}, 2);
    assay_tensor *same = call1(state, "relu_", (assay_value[]){of_tensor(sum)}, 1);
    assay_tensor_free(sum);
    assert_true(at(view, 5) == 10 && at(same, 5) == 10);
    assay_tensor_free(same);
    assert_true(at(view, 4) == 8);
    assay_tensor_free(view);
    assay_tensor_free(a);
    assay_tensor_free(b);
    assay_tensor_free(wide);
    assay_tensor_free(turned);
    assay_tensor_free(whole);
}

/* An integer division by zero fails on the short way as on the long one, and leaves nothing behind. */
static void a_kept_call_may_fail(void **state) {
    assay_tensor *a = make(ASSAY_I64, 1, (int64_t[]){2}, NULL), *b = make(ASSAY_I64, 1, (int64_t[]){2}, NULL);
    for (int i = 0; i < 2; i++) {
        ((int64_t *)assay_tensor_data(a))[i] = 7;
        ((int64_t *)assay_tensor_data(b))[i] = 2;
    }
    assay_value values[] = {of_tensor(a), of_tensor(b)};
    for (int round = 0; round < 3; round++) {
        ((int64_t *)assay_tensor_data(b))[1] = 2;
        assay_tensor *r = call1(state, "remainder.Tensor", values, 2);
        assert_int_equal(((int64_t *)assay_tensor_data(r))[1], 1);
        assay_tensor_free(r);
        ((int64_t *)assay_tensor_data(b))[1] = 0;
        refuse(state, "remainder.Tensor", values, 2, 1, ASSAY_INVALID, "zero");
    }
    assay_tensor_free(a);
    assay_tensor_free(b);
}

static void names_are_found_or_guessed(void **state) {
    fixture *f = *state;
    const assay_op *o = NULL;
    assay_error err = {0};
    assert_ptr_equal(find(state, "relu"), find(state, "aten::relu.default"));
    find(state, "_softmax");
    assert_string_equal(assay_op_signature(find(state, "add.Tensor")),
                        "add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor");
    assert_int_equal(assay_op_find(f->session, "ad.Tensor", &o, &err), ASSAY_NOT_FOUND);
    assert_non_null(strstr(err.message, "add.Tensor"));
    assert_null(o);
    assert_int_equal(assay_op_find(f->session, "", &o, NULL), ASSAY_NOT_FOUND);
}

static void tensors_are_checked(void **state) {
    (void)state;
    assay_tensor *t = NULL;
    assay_error err = {0};
    const int64_t negative[] = {2, -1}, huge[] = {INT64_MAX, 2}, two[] = {2, 2}, backwards[] = {1, -2};
    int64_t many[17] = {0};
    assert_int_equal(assay_tensor_new(ASSAY_F32, 2, negative, NULL, &t, &err), ASSAY_INVALID);
    assert_int_equal(assay_tensor_new(ASSAY_F32, 2, huge, NULL, &t, &err), ASSAY_TOO_LARGE);
    assert_int_equal(assay_tensor_new(ASSAY_F32, 2, two, backwards, &t, &err), ASSAY_INVALID);
    assert_int_equal(assay_tensor_new(ASSAY_F32, 17, many, NULL, &t, &err), ASSAY_TOO_LARGE);
    assert_int_equal(assay_tensor_new((assay_dtype)77, 2, two, NULL, &t, &err), ASSAY_INVALID);
    assert_int_equal(assay_tensor_new(ASSAY_F32, -1, two, NULL, &t, NULL), ASSAY_TOO_LARGE);
    assert_null(t);
    assay_tensor_free(NULL);
    assay_session_free(NULL);
}

static void tensors_outlive_their_session(void **state) {
    (void)state;
    fixture mine = {0};
    void *own = &mine;
    assert_int_equal(assay_session_new(&mine.session, NULL), ASSAY_OK);
    assert_int_equal(assay_session_set_threads(mine.session, 0, NULL), ASSAY_INVALID);
    assert_int_equal(assay_session_set_threads(mine.session, 1, NULL), ASSAY_OK);
    assay_tensor *a = counting(2, 2);
    assay_tensor *r = call1(&own, "relu", (assay_value[]){of_tensor(a)}, 1);
    assay_session_free(mine.session);
    assert_true(at(r, 3) == 3);
    assay_tensor_free(r);
    assay_tensor_free(a);
}

static int n_threads_of_process(void) {
    int n = 0;
    DIR *tasks = opendir("/proc/self/task");
    assert_non_null(tasks);
    for (const struct dirent *d = readdir(tasks); d != NULL; d = readdir(tasks)) {
        n += d->d_name[0] != '.';
    }
    closedir(tasks);
    return n;
}

typedef struct caller {
    void **state;
    int n_threads, own_threads; /* that the call woke; of the caller's OpenMP behind it */
} caller;

/* Threads that OpenMP wakes for a caller stay until the caller ends. */
static void *call_with_three_threads_of_my_own(void *context) {
    caller *c = context;
    omp_set_num_threads(3);
    assay_tensor *large = make(ASSAY_F32, 1, (int64_t[]){1 << 20}, NULL);
    memset(assay_tensor_data(large), 0, sizeof(float) << 20);
    int before = n_threads_of_process();
    assay_tensor_free(call1(c->state, "add.Tensor", (assay_value[]){of_tensor(large), of_tensor(large)}, 2));
    c->n_threads = 1 + n_threads_of_process() - before;
    c->own_threads = omp_get_max_threads();
    assay_tensor_free(large);
    return NULL;
}

/* The number belongs to the session, whichever thread calls; the caller's own number stays. */
static void threads_are_the_sessions(void **state) {
    (void)state;
    fixture mine = {0};
    void *own = &mine;
    assert_int_equal(assay_session_new(&mine.session, NULL), ASSAY_OK);
    int idle = n_threads_of_process();
    const int expected[] = {3, 1, 2};
    for (int i = 0; i < 3; i++) {
        if (i > 0) {
            assert_int_equal(assay_session_set_threads(mine.session, expected[i], NULL), ASSAY_OK);
        }
        caller c = {.state = &own};
        pthread_t thread;
        assert_int_equal(pthread_create(&thread, NULL, call_with_three_threads_of_my_own, &c), 0);
        assert_int_equal(pthread_join(thread, NULL), 0);
        assert_int_equal(c.n_threads, expected[i]);
        assert_int_equal(c.own_threads, 3);
        while (n_threads_of_process() > idle) { /* those it woke end after it, in their own time */
            nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
        }
    }
    assay_session_free(mine.session);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(add_with_defaults_and_without), cmocka_unit_test(numbers_stand_for_tensors),
        cmocka_unit_test(in_place_writes_through),       cmocka_unit_test(views_share_memory),
        cmocka_unit_test(strided_inputs),                cmocka_unit_test(lists_of_tensors),
        cmocka_unit_test(several_outputs),               cmocka_unit_test(wrong_calls_are_refused),
        cmocka_unit_test(repeated_calls_see_every_change), cmocka_unit_test(a_kept_call_may_fail),
        cmocka_unit_test(names_are_found_or_guessed),    cmocka_unit_test(tensors_are_checked),
        cmocka_unit_test(tensors_outlive_their_session), cmocka_unit_test(another_number_of_outputs_computes_nothing),
        cmocka_unit_test(many_outputs),                  cmocka_unit_test(lists_and_texts_are_checked),
        cmocka_unit_test(threads_are_the_sessions),
    };
    return cmocka_run_group_tests(tests, open_session, close_session);
}
