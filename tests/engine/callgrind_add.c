/* SPDX-License-Identifier: Apache-2.0 */
/* Calls add.Tensor on two 4 x 4 f32 tensors as often as told; with a second argument in turns with a 4 x 3 pair, so
   that no call has the forms of the one before. Run under callgrind with two counts, the difference over the difference of
   counts is what one call costs, outputs made and freed (callgrind_add.py). */
#include "assay/assay.h"

#include <stdio.h>
#include <stdlib.h>

static int call_often(assay_session *session, const assay_op *add, assay_tensor **pairs, int n_pairs, long n) {
    for (long i = 0; i < n; i++) {
        assay_tensor **pair = pairs + 2 * (i % n_pairs), *out = NULL;
        const assay_value values[] = {{.kind = ASSAY_VALUE_TENSOR, .tensor = pair[0]},
                                      {.kind = ASSAY_VALUE_TENSOR, .tensor = pair[1]}};
        if (assay_call(session, add, values, 2, &out, 1, NULL) != ASSAY_OK) {
            return 1;
        }
        assay_tensor_free(out);
    }
    return 0;
}

int main(int argc, char **argv) {
    long n = argc > 1 ? strtol(argv[1], NULL, 10) : 1;
    int n_pairs = argc > 2 ? 2 : 1;
    assay_session *session = NULL;
    assay_tensor *tensors[4] = {NULL};
    const assay_op *add = NULL;
    assay_error err = {0};
    bool ready = assay_session_new(&session, &err) == ASSAY_OK && assay_op_find(session, "add.Tensor", &add, &err) == ASSAY_OK;
    for (int k = 0; ready && k < 4; k++) {
        const int64_t sizes[] = {4, k < 2 ? 4 : 3};
        ready = assay_tensor_new(ASSAY_F32, 2, sizes, NULL, &tensors[k], &err) == ASSAY_OK;
        for (int i = 0; ready && i < 4 * sizes[1]; i++) {
            ((float *)assay_tensor_data(tensors[k]))[i] = (float)i;
        }
    }
    int code = ready ? call_often(session, add, tensors, n_pairs, n) : 1;
    if (code != 0) {
        fprintf(stderr, "add.Tensor: %s\n", err.message);
    }
    for (int k = 0; k < 4; k++) {
        assay_tensor_free(tensors[k]);
    }
    assay_session_free(session);
    return code;
}
