/* SPDX-License-Identifier: Apache-2.0 */
/* Whether two elements of one tensor lie in one place. */
#include "engine/tensor/tensor.h"

/* A dimension of more than one element: how far apart they lie, and from the first to the last of this and all shorter strides. */
typedef struct reach {
    int64_t stride, last, whole;
} reach;

/* Steps of a search for two elements in one place; what takes more is not found. */
enum { MOST_OVERLAP_STEPS = 1 << 14 };

/* Whether `distance` is a sum of x strides of each of n dimensions with |x| <= last. */
static bool can_go(const reach *r, int n, int64_t distance, int *steps) {
    if (distance == 0) {
        return true;
    }
    if (n == 0 || (*steps)++ >= MOST_OVERLAP_STEPS) {
        return false;
    }
    int64_t below = n > 1 ? r[n - 2].whole : 0, far = distance < 0 ? -distance : distance;
    if (far > r[n - 1].whole) {
        return false;
    }
    /* |distance - x stride| <= below */
    int64_t first = far > below ? (far - below - 1) / r[n - 1].stride + 1 : -((below - far) / r[n - 1].stride);
    int64_t last = (far + below) / r[n - 1].stride;
    first = first < -r[n - 1].last ? -r[n - 1].last : first;
    last = last > r[n - 1].last ? r[n - 1].last : last;
    for (int64_t x = first; x <= last; x++) {
        if (can_go(r, n - 1, far - x * r[n - 1].stride, steps)) {
            return true;
        }
    }
    return false;
}

/* Two elements lie in one place where a sum of strides, not all of them taken 0 times, is 0: so many of the longest of these is what the
   shorter ones make up for. Where each stride is longer than all shorter ones reach, there is nothing to look for. */
bool tensor_overlaps_itself(const tensor *t) {
    reach r[TENSOR_MAX_DIMS];
    int n = 0, steps = 0;
    for (int d = 0; d < t->ndim; d++) {
        if (t->sizes[d] == 0) {
            return false;
        }
    }
    for (int d = 0; d < t->ndim; d++) {
        if (t->sizes[d] == 1) {
            continue;
        }
        reach one = {t->strides[d] < 0 ? -t->strides[d] : t->strides[d], t->sizes[d] - 1, 0};
        if (one.stride == 0) {
            return true;
        }
        int at = n++;
        for (; at > 0 && r[at - 1].stride > one.stride; at--) {
            r[at] = r[at - 1];
        }
        r[at] = one;
    }
    for (int k = 0; k < n; k++) {
        int64_t below = k > 0 ? r[k - 1].whole : 0;
        for (int64_t x = 1; x <= r[k].last && x <= below / r[k].stride; x++) {
            if (can_go(r, k, x * r[k].stride, &steps)) {
                return true;
            }
        }
        r[k].whole = below + r[k].last * r[k].stride;
    }
    return false;
}
