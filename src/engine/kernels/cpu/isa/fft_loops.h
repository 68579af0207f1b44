/* SPDX-License-Identifier: Apache-2.0 */
/* Fourier transforms of several lines side by side, real and imaginary parts apart: lanes vectorise. */
#ifndef ENGINE_KERNELS_CPU_ISA_FFT_LOOPS_H
#define ENGINE_KERNELS_CPU_ISA_FFT_LOOPS_H

#include "engine/kernels/cpu/isa.h"

#include <stdint.h>

enum { FFT_MAX_PASSES = 64, FFT_MAX_RADIX = 31, FFT_LANES = 16 };

/* How a line of n elements is transformed: by Stockham's passes of small radices, or (Bluestein) as a convolution by a line
   of a power of 2. Tables hold the computing type, re and im in turn. */
typedef struct fft_line fft_line;
struct fft_line {
    int64_t n;
    int n_passes;
    int radix[FFT_MAX_PASSES];
    const void *twiddles[FFT_MAX_PASSES]; /* [m, radix - 1]: exp(-2 pi i j p / (m radix)), j from 1 */
    const void *roots[FFT_MAX_PASSES];    /* [radix]: exp(-2 pi i j / radix); NULL for radices 2 and 4 */
    const fft_line *inner;                /* Bluestein's, else NULL */
    const void *chirp;                    /* [n]: exp(-pi i k k / n) */
    const void *kernel;                   /* [inner n]: the transform of the conjugate chirp, over inner n */
};

/* Elements of a buffer lie as [element, pitch], w of them in use; lanes are `stride` complex elements apart in memory. */
typedef struct fft_lanes {
    int64_t w, pitch, stride;
} fft_lanes;

typedef struct fft_buffer {
    void *re, *im;
} fft_buffer;

typedef struct fft_loops_of {
    /* n elements of each lane; strides count complex elements. spare: room for n * w complex elements. */
    void (*load)(const void *src, int64_t n, int64_t stride, fft_lanes lanes, fft_buffer to, void *spare);
    void (*store)(void *dst, int64_t n, int64_t stride, fft_lanes lanes, fft_buffer from, double scale, void *spare);
    /* The forward transform of a, with b as work space; answers which of the two holds the result. w: the pitch. */
    fft_buffer (*transform)(const fft_line *line, int64_t w, fft_buffer a, fft_buffer b);
} fft_loops_of;

typedef struct fft_loops {
    fft_loops_of f32, f64;
} fft_loops;

extern const fft_loops fft_loops_baseline;
#if defined(__x86_64__)
extern const fft_loops fft_loops_avx2;
extern const fft_loops fft_loops_avx512;
#endif

static inline const fft_loops *fft_loops_best(void) {
#if defined(__x86_64__)
    isa best = isa_best();
    return best == ISA_AVX512 ? &fft_loops_avx512 : best == ISA_AVX2 ? &fft_loops_avx2 : &fft_loops_baseline;
#else
    return &fft_loops_baseline;
#endif
}

#endif
