/* SPDX-License-Identifier: Apache-2.0 */
/* Characters to bytes and back. */
#include "base/utf8.h"

size_t utf8_length(const char *text, size_t left) {
    const unsigned char *p = (const unsigned char *)text;
    if (left == 0) {
        return 0;
    }
    unsigned char c = p[0];
    if (c < 0x80) {
        return 1;
    }
    size_t n = c >= 0xc2 && c <= 0xdf ? 2 : c >= 0xe0 && c <= 0xef ? 3 : c >= 0xf0 && c <= 0xf4 ? 4 : 0;
    if (n == 0 || n > left) {
        return 0;
    }
    /* The second byte's range is narrower behind these four: overlong forms, surrogates, beyond U+10FFFF. */
    unsigned char low = c == 0xe0 ? 0xa0 : c == 0xf0 ? 0x90 : 0x80;
    unsigned char high = c == 0xed ? 0x9f : c == 0xf4 ? 0x8f : 0xbf;
    if (p[1] < low || p[1] > high) {
        return 0;
    }
    for (size_t i = 2; i < n; i++) {
        if ((p[i] & 0xc0) != 0x80) {
            return 0;
        }
    }
    return n;
}

uint32_t utf8_decode(const char *text, size_t n) {
    static const unsigned char lead_bits[] = {0, 0x7f, 0x1f, 0x0f, 0x07};
    const unsigned char *p = (const unsigned char *)text;
    uint32_t code_point = p[0] & lead_bits[n];
    for (size_t i = 1; i < n; i++) {
        code_point = code_point << 6 | (p[i] & 0x3fu);
    }
    return code_point;
}

size_t utf8_encode(uint32_t c, char *out) {
    if (c > 0x10ffff || (c >= 0xd800 && c <= 0xdfff)) {
        c = 0xfffd;
    }
    if (c < 0x80) {
        out[0] = (char)c;
        return 1;
    }
    size_t n = c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;
    for (size_t i = n - 1; i > 0; i--) {
        out[i] = (char)(0x80 | (c & 0x3f));
        c >>= 6;
    }
    static const unsigned char lead[] = {0, 0, 0xc0, 0xe0, 0xf0};
    out[0] = (char)(lead[n] | c);
    return n;
}
