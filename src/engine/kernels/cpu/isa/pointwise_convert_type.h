/* SPDX-License-Identifier: Apache-2.0 */
/* Template of pointwise_convert.h: LOAD makes `elem`s of a run of OTHERs, STORE makes OTHERs of `elem`s. Contiguous runs have
   loops of their own: those become vector code. */

static void LOAD(elem *to, const char *from, int64_t stride, int64_t n) {
    const OTHER *x = (const OTHER *)(const void *)from;
    if (stride == sizeof *x) {
#pragma omp simd
        for (int64_t i = 0; i < n; i++) {
            to[i] = (elem)x[i];
        }
        return;
    }
    for (int64_t i = 0; i < n; i++, from += stride) {
        to[i] = (elem) * (const OTHER *)(const void *)from;
    }
}

static void STORE(char *to, int64_t stride, const elem *from, int64_t n) {
    OTHER *x = (OTHER *)(void *)to;
    if (stride == sizeof *x) {
#pragma omp simd
        for (int64_t i = 0; i < n; i++) {
            x[i] = (OTHER)from[i];
        }
        return;
    }
    for (int64_t i = 0; i < n; i++, to += stride) {
        *(OTHER *)(void *)to = (OTHER)from[i];
    }
}

#undef OTHER
#undef LOAD
#undef STORE
