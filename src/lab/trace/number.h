/* SPDX-License-Identifier: Apache-2.0 */
/* JSON's numbers as doubles, rounded as every correct reader rounds them. */
#ifndef LAB_TRACE_NUMBER_H
#define LAB_TRACE_NUMBER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* Reads the n bytes at `digits` as one JSON number (RFC 8259) into *out, correctly rounded; a number beyond the doubles
   gives an infinity. False, and *out untouched, where they are no number. */
bool number_parse(const char *digits, size_t n, double *out);

enum { NUMBER_MAX_DIGITS = 19 }; /* as many fit a word */

/* 10^0 and so on, all of them doubles without rounding. */
extern const double number_exact_tens[NUMBER_MAX_DIGITS + 1];

/* mantissa / 10^places to the nearest double, ties to even. mantissa is not 0, places is at most NUMBER_MAX_DIGITS. */
__attribute__((const)) double number_divide(uint64_t mantissa, unsigned places);

/* Up to eight digits at p at once: how many there are before another byte comes, and what they say (0 of them: any
   value). Reads eight bytes. Multiplies pairs, then fours, then eights: three steps in place of one for each digit. */
static inline unsigned number_eight(const char *p, uint64_t *value) {
    const uint64_t ones = 0x0101010101010101u, pairs = 0x000000ff000000ffu;
    uint64_t word;
    memcpy(&word, p, sizeof word);
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    word = __builtin_bswap64(word);
#endif
    word ^= ones * '0';
    /* The top bit of a byte is set iff that is above 9, up to the first such byte: what it carries goes behind it. */
    uint64_t others = ((word + ones * 0x76) | word) & ones * 0x80;
    unsigned n = others != 0 ? (unsigned)__builtin_ctzll(others) / 8 : 8;
    word <<= (64 - 8 * n) & 63; /* zeros in front */
    word = word * 10 + (word >> 8);
    *value = ((word & pairs) * (100 + (1000000ull << 32)) + (word >> 16 & pairs) * (1 + (10000ull << 32))) >> 32;
    return n;
}

/* Takes a number as traces mostly spell it, of at most 15 digits and 7 places without an exponent, and answers what is
   behind it; NULL when it begins otherwise. That it ends there is for the caller to see: an exponent may follow, or the
   bytes may be used up. Eight bytes must be readable from the first that is neither a digit nor the '.'. */
static inline const char *number_take(const char *p, double *out) {
    static const uint64_t tens[8] = {1, 10, 100, 1000, 10000, 100000, 1000000, 10000000};
    bool negative = *p == '-';
    p += negative;
    bool zero = *p == '0';
    uint64_t mantissa, more;
    unsigned n_whole = number_eight(p, &mantissa), n_places = 0;
    p += n_whole;
    if (n_whole == 8) {
        unsigned n = number_eight(p, &more);
        if (n == 8) {
            return NULL;
        }
        if (n > 0) {
            mantissa = mantissa * tens[n] + more;
        }
        n_whole += n;
        p += n;
    }
    if (n_whole == 0 || (zero && n_whole > 1)) {
        return NULL;
    }
    if (*p == '.') {
        n_places = number_eight(++p, &more);
        if (n_places == 0 || n_places == 8 || n_whole + n_places > NUMBER_MAX_DIGITS) {
            return NULL;
        }
        mantissa = mantissa * tens[n_places] + more;
        p += n_places;
    }
    double value = mantissa < (uint64_t)1 << 53 ? (double)(int64_t)mantissa / number_exact_tens[n_places]
                                                : number_divide(mantissa, n_places);
    *out = negative ? -value : value;
    return p;
}

#endif
