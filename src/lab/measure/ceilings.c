/* SPDX-License-Identifier: Apache-2.0 */
/* Plain loops over memory and a chain of additions, timed. */
#include "lab/measure/ceilings.h"

#include "device/device.h"
#include "lab/measure/machine.h"

#include <math.h>
#include <omp.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

/* STRIDE_WORDS: what the widest loop takes in one step. */
enum { LEAST_BYTES = 4096, LEAST_PASSES = 3, STRIDE_WORDS = 64 };

/* Eight sums that do not wait for each other, each in one register of the CPU, so that the loop waits for memory and not for
   additions. A vector wider than a register would not do: gcc 12 keeps such sums in memory, and the loop waits for its own
   stores (16 GB/s a core of a Zen 3, whatever the caches give). Words beyond the last whole 512 bytes are left out. */
typedef uint64_t lanes_2 __attribute__((vector_size(16), aligned(8), may_alias));
typedef uint64_t lanes_4 __attribute__((vector_size(32), aligned(8), may_alias));
typedef uint64_t lanes_8 __attribute__((vector_size(64), aligned(8), may_alias));

static uint64_t sum_plain(const uint64_t *words, size_t n) {
    lanes_2 s0 = {0}, s1 = {0}, s2 = {0}, s3 = {0}, s4 = {0}, s5 = {0}, s6 = {0}, s7 = {0};
    const lanes_2 *at = (const lanes_2 *)words;
    for (size_t i = 0; i + 16 <= n; i += 16, at += 8) {
        s0 += at[0], s1 += at[1], s2 += at[2], s3 += at[3];
        s4 += at[4], s5 += at[5], s6 += at[6], s7 += at[7];
    }
    lanes_2 sum = ((s0 + s1) + (s2 + s3)) + ((s4 + s5) + (s6 + s7));
    return sum[0] + sum[1];
}

#if defined(__x86_64__)
__attribute__((target("avx2"))) static uint64_t sum_avx2(const uint64_t *words, size_t n) {
    lanes_4 s0 = {0}, s1 = {0}, s2 = {0}, s3 = {0}, s4 = {0}, s5 = {0}, s6 = {0}, s7 = {0};
    const lanes_4 *at = (const lanes_4 *)words;
    for (size_t i = 0; i + 32 <= n; i += 32, at += 8) {
        s0 += at[0], s1 += at[1], s2 += at[2], s3 += at[3];
        s4 += at[4], s5 += at[5], s6 += at[6], s7 += at[7];
    }
    lanes_4 sum = ((s0 + s1) + (s2 + s3)) + ((s4 + s5) + (s6 + s7));
    return sum[0] + sum[1] + sum[2] + sum[3];
}

__attribute__((target("avx512f"))) static uint64_t sum_avx512(const uint64_t *words, size_t n) {
    lanes_8 s0 = {0}, s1 = {0}, s2 = {0}, s3 = {0}, s4 = {0}, s5 = {0}, s6 = {0}, s7 = {0};
    const lanes_8 *at = (const lanes_8 *)words;
    for (size_t i = 0; i + 64 <= n; i += 64, at += 8) {
        s0 += at[0], s1 += at[1], s2 += at[2], s3 += at[3];
        s4 += at[4], s5 += at[5], s6 += at[6], s7 += at[7];
    }
    lanes_8 sum = ((s0 + s1) + (s2 + s3)) + ((s4 + s5) + (s6 + s7));
    return sum[0] + sum[1] + sum[2] + sum[3] + sum[4] + sum[5] + sum[6] + sum[7];
}
#endif

typedef uint64_t (*sum_function)(const uint64_t *words, size_t n);

static sum_function widest_sum(void) {
#if defined(__x86_64__)
    if (__builtin_cpu_supports("avx512f")) {
        return sum_avx512;
    }
    if (__builtin_cpu_supports("avx2")) {
        return sum_avx2;
    }
#endif
    return sum_plain;
}

struct bandwidth_loops {
    char *memory;
    size_t size_bytes;
    int threads;
    sum_function sum_words;
    uint64_t sum; /* of all that was read: asking for it keeps the loop that made it */
};

status bandwidth_loops_new(size_t size_bytes, int threads, bandwidth_loops **out, error *err) {
    if (size_bytes < LEAST_BYTES || size_bytes > SIZE_MAX / 2 || threads < 1) {
        return fail(err, ASSAY_INVALID, "expected at least %d bytes and 1 thread, got %zu and %d", LEAST_BYTES, size_bytes,
                    threads);
    }
    size_bytes -= size_bytes % (2 * STRIDE_WORDS * sizeof(uint64_t)); /* whole strides of the loops, in both halves */
    bandwidth_loops *b = calloc(1, sizeof *b);
    char *memory = device_cpu.alloc(&device_cpu, size_bytes, 0); /* as tensors lie, large pages and all */
    if (b == NULL || memory == NULL) {
        free(b);
        device_cpu.free(&device_cpu, memory, size_bytes);
        return fail(err, ASSAY_OUT_OF_MEMORY, "no memory for the %zu bytes that are read", size_bytes);
    }
    /* Each thread touches its own part first, so that on machines with several nodes it lies near it. */
#pragma omp parallel num_threads(threads)
    {
        size_t n = (size_t)omp_get_num_threads(), me = (size_t)omp_get_thread_num();
        size_t first = size_bytes * me / n, last = size_bytes * (me + 1) / n;
        memset(memory + first, 1, last - first);
    }
    *b = (bandwidth_loops){.memory = memory, .size_bytes = size_bytes, .threads = threads, .sum_words = widest_sum()};
    *out = b;
    return ASSAY_OK;
}

void bandwidth_loops_free(bandwidth_loops *b) {
    if (b != NULL) {
        volatile uint64_t seen = b->sum;
        (void)seen;
        device_cpu.free(&device_cpu, b->memory, b->size_bytes);
        free(b);
    }
}

/* Whole strides of the loops for each thread. */
static void share_words(size_t words, size_t *first, size_t *last) {
    size_t threads = (size_t)omp_get_num_threads(), me = (size_t)omp_get_thread_num();
    *first = words / STRIDE_WORDS * me / threads * STRIDE_WORDS;
    *last = words / STRIDE_WORDS * (me + 1) / threads * STRIDE_WORDS;
}

void bandwidth_loops_read(bandwidth_loops *b, int rounds) {
    uint64_t sum = 0;
#pragma omp parallel num_threads(b->threads) reduction(+ : sum)
    {
        size_t first, last;
        share_words(b->size_bytes / sizeof(uint64_t), &first, &last);
        for (int round = 0; round < rounds; round++) {
            sum += b->sum_words((const uint64_t *)(const void *)b->memory + first, last - first);
            __asm__ volatile("" : : : "memory"); /* each round reads anew */
        }
    }
    b->sum += sum;
}

/* 64 bytes at a time past the caches; memcpy where there are no such stores. */
static void stream_bytes(char *to, const char *from, size_t n) {
#if defined(__SSE2__)
    enum { LINE = 64, PIECE = sizeof(__m128i) };
    if (((uintptr_t)to | (uintptr_t)from | n) % LINE == 0) {
        for (size_t i = 0; i < n; i += LINE) {
            for (size_t k = 0; k < LINE; k += PIECE) {
                _mm_stream_si128((__m128i *)(void *)(to + i + k), _mm_load_si128((const __m128i *)(const void *)(from + i + k)));
            }
        }
        _mm_sfence();
        return;
    }
#endif
    memcpy(to, from, n);
}

static void copy_bytes(char *to, const char *from, size_t n) {
    memcpy(to, from, n);
}

static void copy_by(bandwidth_loops *b, int rounds, void (*copy)(char *to, const char *from, size_t n)) {
    char *to = b->memory + b->size_bytes / 2;
#pragma omp parallel num_threads(b->threads)
    {
        size_t first, last;
        share_words(b->size_bytes / 2 / sizeof(uint64_t), &first, &last);
        for (int round = 0; round < rounds; round++) {
            copy(to + first * 8, b->memory + first * 8, (last - first) * 8);
            __asm__ volatile("" : : : "memory");
        }
    }
}

void bandwidth_loops_copy(bandwidth_loops *b, int rounds) {
    copy_by(b, rounds, copy_bytes);
}

void bandwidth_loops_stream(bandwidth_loops *b, int rounds) {
    copy_by(b, rounds, stream_bytes);
}

static double time_ns(bandwidth_loops *b, void (*loop)(bandwidth_loops *b, int rounds), int rounds, const lab_clock *clock) {
    int64_t start_ns = clock_now_ns(clock);
    loop(b, rounds);
    return (double)(clock_now_ns(clock) - start_ns) / rounds;
}

/* What a pass should last to outlast the clock and what it takes threads to meet. */
static double wanted_pass_ns(const lab_clock *clock) {
    return fmax(10e3 * fmax(clock->resolution_ns, clock->read_ns), 500e3);
}

enum { MOST_ROUNDS = 1 << 22 };

/* Rounds of such a pass: as many as a pass with the threads awake shows that it takes. */
static int enough_rounds(bandwidth_loops *b, void (*loop)(bandwidth_loops *b, int rounds), const lab_clock *clock) {
    double wanted_ns = wanted_pass_ns(clock);
    int rounds = 1;
    (void)time_ns(b, loop, 1, clock); /* makes the pages and starts the threads */
    for (double pass_ns = 0; rounds < MOST_ROUNDS && pass_ns < wanted_ns; rounds *= pass_ns < wanted_ns ? 2 : 1) {
        pass_ns = INFINITY;
        for (int i = 0; i < LEAST_PASSES; i++) { /* one that was interrupted tells nothing */
            pass_ns = fmin(pass_ns, time_ns(b, loop, rounds, clock) * rounds);
        }
    }
    return rounds;
}

/* GB/s of the fastest pass. Threads that share their CPUs with others are rarely all at work for the whole of one: passes go on, up to
   four times as long, until two of the fastest agree. Where all that enough_rounds saw were interrupted, a pass proves too short here. */
static double best_rate(bandwidth_loops *b, void (*loop)(bandwidth_loops *b, int rounds), double min_time_s,
                        const lab_clock *clock) {
    const double patience = 4, alike = 1.1;
    double wanted_ns = wanted_pass_ns(clock), best_ns = INFINITY, second_ns = INFINITY, total_ns = 0;
    int rounds = enough_rounds(b, loop, clock);
    for (int i = 0; i < LEAST_PASSES || total_ns < min_time_s * 1e9 || (second_ns > alike * best_ns && total_ns < patience * min_time_s * 1e9); i++) {
        double pass_ns = fmax(time_ns(b, loop, rounds, clock), 1e-3);
        second_ns = fmin(second_ns, fmax(pass_ns, best_ns));
        best_ns = fmin(best_ns, pass_ns);
        total_ns += fmax(pass_ns * rounds, 1);
        rounds *= best_ns * rounds < wanted_ns && rounds < MOST_ROUNDS ? 2 : 1;
    }
    return (double)b->size_bytes / best_ns;
}

bool ceilings_is_disturbed(double nearer_gbytes_per_s, double further_gbytes_per_s) {
    const double nothing = 0.05, by_far = 1.5;
    return !(nearer_gbytes_per_s >= nothing) || nearer_gbytes_per_s * by_far < further_gbytes_per_s;
}

status ceilings_bandwidth(size_t size_bytes, int threads, double min_time_s, const lab_clock *clock, bandwidth *out,
                          error *err) {
    bandwidth_loops *b = NULL;
    TRY(bandwidth_loops_new(size_bytes, threads, &b, err));
    *out = (bandwidth){.size_bytes = b->size_bytes,
                       .threads = threads,
                       .read_gbytes_per_s = best_rate(b, bandwidth_loops_read, min_time_s, clock),
                       .copy_gbytes_per_s = fmax(best_rate(b, bandwidth_loops_copy, min_time_s / 2, clock),
                                                 best_rate(b, bandwidth_loops_stream, min_time_s / 2, clock))};
    bandwidth_loops_free(b);
    return ASSAY_OK;
}

#if defined(__x86_64__)
/* Registers, not constants: Golden Cove and Zen 5 merge additions of constants when they are renamed. */
#define ADD_4 "add %1, %0\n\tadd %1, %0\n\tadd %1, %0\n\tadd %1, %0\n\t"
#elif defined(__aarch64__)
#define ADD_4 "add %0, %0, %1\n\tadd %0, %0, %1\n\tadd %0, %0, %1\n\tadd %0, %0, %1\n\t"
#endif

double machine_measure_clock_mhz(void) {
#ifdef ADD_4
    enum { ADDS = 64, LOOPS = 2000, CHUNKS = 200 };
    lab_clock clock = clock_monotonic();
    uint64_t value = 0, one = 1;
    double best_mhz = 0;
    int64_t start_ns = clock_now_ns(&clock);
    for (int chunk = 0; chunk < CHUNKS && clock_now_ns(&clock) - start_ns < 10000000; chunk++) {
        int64_t before_ns = clock_now_ns(&clock);
        for (int i = 0; i < LOOPS; i++) {
            __asm__ volatile(ADD_4 ADD_4 ADD_4 ADD_4 ADD_4 ADD_4 ADD_4 ADD_4 ADD_4 ADD_4 ADD_4 ADD_4 ADD_4 ADD_4 ADD_4
                                 ADD_4
                             : "+r"(value)
                             : "r"(one));
        }
        double elapsed_ns = (double)(clock_now_ns(&clock) - before_ns);
        best_mhz = fmax(best_mhz, 1e3 * ADDS * LOOPS / fmax(elapsed_ns, 1)); /* the chunk that nobody interrupted */
    }
    return best_mhz;
#else
    return NAN; /* no instruction is known here that takes one cycle for sure */
#endif
}
