/* SPDX-License-Identifier: Apache-2.0 */
/* Running sums in float of many elements in registers, with AVX-512. Of each 64 the four that lie together come to one place of four
   vectors, turned: sums of these go on from vector to vector, without instructions that move numbers between places, of which the CPU
   starts one a cycle. Several times 64 go side by side, since each step waits for the one before. */
#ifndef ENGINE_KERNELS_CPU_ISA_SCAN_LINES_H
#define ENGINE_KERNELS_CPU_ISA_SCAN_LINES_H

#if defined(__AVX512F__) && defined(__AVX512BW__)
#include <immintrin.h>

enum { SCAN_GROUPS = 4, SCAN_GROUP = 64, SCAN_MANY = SCAN_GROUPS * SCAN_GROUP };

/* SCAN_MANY elements: place 4 l + v of vector k of a group has what lies in place 16 v + 4 l + k of its 64. */
typedef struct scan_many {
    __m512 p[SCAN_GROUPS][4];
} scan_many;

#define SCAN_EACH(g) for (int g = 0; g < SCAN_GROUPS; g++)

/* x with its places of all 128 bits moved up by n, of four each by n (scan_up), and zeros below. n: a constant. */
#define scan_lanes_up(x, n) \
    _mm512_castsi512_ps(_mm512_alignr_epi32(_mm512_castps_si512(x), _mm512_setzero_si512(), 16 - 4 * (n)))
#define scan_up(x, n) _mm512_castsi512_ps(_mm512_bslli_epi128(_mm512_castps_si512(x), 4 * (n)))

/* a + b by a fused multiplication, which other parts of the CPU do than those that add and turn. */
static inline __attribute__((always_inline)) __m512 scan_plus(__m512 a, __m512 b) {
    return _mm512_fmadd_ps(a, _mm512_set1_ps(1), b);
}

/* Of elements that are turned, sums of fours; before: what each group's fours come behind, in the group; sum: all of a group, in every place. */
static inline __attribute__((always_inline)) void scan_fours(scan_many *m, __m512 *before, __m512 *sum) {
    __m512 own[SCAN_GROUPS], rows[SCAN_GROUPS], part[SCAN_GROUPS];
    SCAN_EACH(g) {
        m->p[g][1] = scan_plus(m->p[g][1], m->p[g][0]);
        part[g] = scan_plus(m->p[g][3], m->p[g][2]);
    }
    SCAN_EACH(g) {
        m->p[g][2] = _mm512_add_ps(m->p[g][2], m->p[g][1]);
        m->p[g][3] = _mm512_add_ps(part[g], m->p[g][1]);
    }
    /* Sums over l first, then over v. */
    SCAN_EACH(g) {
        own[g] = _mm512_add_ps(m->p[g][3], scan_lanes_up(m->p[g][3], 1));
    }
    SCAN_EACH(g) {
        own[g] = _mm512_add_ps(own[g], scan_lanes_up(own[g], 2));
    }
    SCAN_EACH(g) {
        rows[g] = _mm512_shuffle_f32x4(own[g], own[g], 0xff);
        part[g] = scan_up(rows[g], 1);
    }
    SCAN_EACH(g) {
        part[g] = _mm512_add_ps(part[g], scan_up(part[g], 1));
    }
    SCAN_EACH(g) {
        part[g] = _mm512_add_ps(part[g], scan_up(part[g], 2));
    }
    SCAN_EACH(g) {
        sum[g] = _mm512_permute_ps(_mm512_add_ps(part[g], rows[g]), 0xff);
        before[g] = _mm512_add_ps(scan_lanes_up(own[g], 1), part[g]);
    }
}
#endif

#endif
