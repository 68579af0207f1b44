/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers: exact in one division where the digits fit a double (Clinger, 1990), in divisions of whole numbers where
   they fit 64 bits (nanoseconds since 1970 do), and by strtod otherwise. */
#include "lab/trace/number.h"

#include "base/c_locale.h"

#include <math.h>
#include <stdint.h>
#include <string.h>

__extension__ typedef unsigned __int128 u128;

const double number_exact_tens[NUMBER_MAX_DIGITS + 1] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,
                                                         1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19};
enum { MAX_DIGITS_KEPT = 800 };

static bool is_digit(char c) {
    return c >= '0' && c <= '9';
}

/* kept * 2^exponent, kept's lowest bit and `sticky`, which stands for all the bits below it, rounded away. */
static double round_off(uint64_t kept, bool sticky, int exponent) {
    uint64_t rounded = (kept >> 1) + ((kept & 1) & (uint64_t)(sticky || (kept & 2) != 0));
    return ldexp((double)(int64_t)rounded, exponent + 1);
}

double number_divide(uint64_t mantissa, unsigned places) {
    uint64_t ten = 1;
    for (unsigned i = 0; i < places; i++) {
        ten *= 10;
    }
    /* A time of 17 digits has few places: its whole part and a shifted remainder are divided in words. */
    uint64_t whole = mantissa / ten, rest = mantissa % ten;
    int missing = whole != 0 ? __builtin_clzll(whole) - 10 : 0; /* of 53 bits and the one that decides the rounding */
    if (missing > 0 && rest >> (64 - missing) == 0) {
        uint64_t part = (rest << missing) / ten;
        return round_off(whole << missing | part, part * ten != rest << missing, -missing);
    }
    int shift = __builtin_clzll(mantissa) + 63;
    u128 numerator = (u128)mantissa << shift; /* its highest bit is bit 126, so the quotient has at least 62 bits */
    u128 quotient = numerator / ten;
    bool sticky = numerator % ten != 0;
    uint64_t high = (uint64_t)(quotient >> 64);
    int length = high != 0 ? 128 - __builtin_clzll(high) : 64 - __builtin_clzll((uint64_t)quotient);
    int dropped = length - 54; /* keep 53 bits and the one that decides the rounding */
    sticky = sticky || (quotient & (((u128)1 << dropped) - 1)) != 0;
    return round_off((uint64_t)(quotient >> dropped), sticky, dropped - shift);
}

/* Any other number. The copy is NUL-terminated for strtod; digits beyond MAX_DIGITS_KEPT cannot change the double
   (767 can), so that a longer fraction is cut; a longer whole part is beyond every double. */
static bool parse_slowly(const char *digits, size_t n, size_t n_whole, bool has_exponent, double *out) {
    char copy[MAX_DIGITS_KEPT + 1];
    if (n > MAX_DIGITS_KEPT && (has_exponent || n_whole > MAX_DIGITS_KEPT)) {
        *out = digits[0] == '-' ? -INFINITY : INFINITY;
        return true;
    }
    size_t kept = n > MAX_DIGITS_KEPT ? MAX_DIGITS_KEPT : n;
    memcpy(copy, digits, kept);
    copy[kept] = '\0';
    *out = c_strtod(copy, NULL);
    return true;
}

bool number_parse(const char *digits, size_t n, double *out) {
    const char *p = digits, *end = digits + n;
    bool negative = p < end && *p == '-';
    p += negative;
    const char *whole = p;
    uint64_t mantissa = 0;
    while (p < end && is_digit(*p)) {
        mantissa = mantissa * 10 + (uint64_t)(*p++ - '0'); /* may wrap: then n_digits says so */
    }
    size_t n_whole = (size_t)(p - whole), n_places = 0;
    if (n_whole == 0 || (n_whole > 1 && *whole == '0')) {
        return false;
    }
    if (p < end && *p == '.') {
        const char *fraction = ++p;
        while (p < end && is_digit(*p)) {
            mantissa = mantissa * 10 + (uint64_t)(*p++ - '0');
        }
        n_places = (size_t)(p - fraction);
        if (n_places == 0) {
            return false;
        }
    }
    bool has_exponent = p < end && (*p == 'e' || *p == 'E');
    if (has_exponent) {
        p++;
        p += p < end && (*p == '+' || *p == '-');
        const char *exponent = p;
        while (p < end && is_digit(*p)) {
            p++;
        }
        if (p == exponent) {
            return false;
        }
    }
    if (p != end) {
        return false;
    }
    if (has_exponent || n_whole + n_places > NUMBER_MAX_DIGITS) {
        return parse_slowly(digits, n, n_whole, has_exponent, out);
    }
    double value = 0;
    if (mantissa < (uint64_t)1 << 53) {
        value = (double)mantissa / number_exact_tens[n_places]; /* at most 19 places: both exact, one rounding */
    } else {
        value = number_divide(mantissa, (unsigned)n_places);
    }
    *out = negative ? -value : value;
    return true;
}
