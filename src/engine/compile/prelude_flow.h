/* SPDX-License-Identifier: Apache-2.0 */
/* A template, like prelude.h: what tasks that go on side by side call. */

/* Comes back when all threads have come. */
VECTOR_INLINE void meet(void *where) {
    void (*all)(void);
    memcpy(&all, &where, sizeof all);
    all();
}

/* Of what threads have left, a line of memory each. */
VECTOR_INLINE double sum_of_parts(const double *sums, int64_t parts) {
    double sum = 0;
    for (int64_t p = 0; p < parts; p++) {
        sum += sums[8 * p];
    }
    return sum;
}

/* Lines past the caches of what may begin within a line: with what was kept of the bytes before it, it makes whole lines, and what is left is
   kept. Where nothing lies before or behind, what makes no whole line is stored as it is. Before `made` is room for a line. The lines are
   put together in registers where words of two bytes can be chosen from two of them: from memory they would be read before they are there. */
VECTOR_INLINE void stream_joined(void *to, void *made, int64_t bytes, char *kept, _Bool begins, _Bool ends) {
    int64_t lag = (int64_t)((__UINTPTR_TYPE__)to & 63), first = begins && lag > 0 ? 64 : 0;
    char *const from = (char *)made;
    if (first > 0) {
        memcpy(to, made, 64 - lag);
    }
#if defined(__AVX512BW__)
    if (lag % 2 == 0) {
        typedef uint16_t words __attribute__((vector_size(64), aligned(1), may_alias));
        static const uint16_t places[32] = {32, 33, 34, 35, 36, 37, 38, 39, 40, 41, 42, 43, 44, 45, 46, 47,
                                            48, 49, 50, 51, 52, 53, 54, 55, 56, 57, 58, 59, 60, 61, 62, 63};
        const words chosen = *(const words *)places - (uint16_t)(lag / 2);
        words before = *(const words *)kept;
        for (int64_t i = 0; i < bytes; i += 64) {
            const words now = *(const words *)(from + i);
            __asm__("vpermt2w %2, %1, %0" : "+v"(before) : "v"(chosen), "v"(now));
            if (i >= first) {
                __asm__("vmovntdq %1, %0" : "=m"(*(words *)((char *)to - lag + i)) : "v"(before));
            }
            before = now;
        }
        *(words *)kept = before;
    } else
#endif
    {
        memcpy(from - 64, kept, 64);
        stream_lines((char *)to - lag + first, from - lag + first, bytes - first);
        memcpy(kept, from + bytes - 64, 64);
    }
    if (ends) {
        memcpy((char *)to + bytes - lag, from + bytes - lag, lag);
    }
}

/* A row's first bytes up to a whole line, which lie at the end of `edge`: with what the row before it has left there they are a line. Alone:
   nothing lies before them that is this thread's. */
VECTOR_INLINE void stream_edge(void *to, const void *edge, int64_t bytes, _Bool alone) {
    if (alone) {
        memcpy(to, (const char *)edge + 64 - bytes, bytes);
    } else if (bytes > 0) {
        stream_lines((char *)to + bytes - 64, edge, 64);
    }
}

/* Of so many bytes, those of whole lines: gcc 12 does not know, without optimisation, that there are not fewer than none. */
#define WHOLE_LINES(bytes) ((bytes) & 0x7fffffffffffffc0)

/* A row's last bytes, which begin with a line: what makes no line of its own is left in `edge`, or, alone, stored as it is. Behind them is
   room for a line. */
VECTOR_INLINE void stream_to_edge(void *to, const void *made, int64_t bytes, void *edge, _Bool alone) {
    const int64_t whole = WHOLE_LINES(bytes);
    stream_lines(to, made, whole);
    if (alone) {
        memcpy((char *)to + whole, (const char *)made + whole, bytes & 63);
    } else {
        memcpy(edge, (const char *)made + whole, 64);
    }
}

/* The same of rows that others lie between. */
VECTOR_INLINE void stream_rest(void *to, const void *made, int64_t bytes) {
    const int64_t whole = WHOLE_LINES(bytes);
    stream_lines(to, made, whole);
    memcpy((char *)to + whole, (const char *)made + whole, bytes & 63);
}
