/* SPDX-License-Identifier: Apache-2.0 */
/* Comparisons of numbers of any class, a template: the including file defines `elem`. */

ALWAYS_INLINE bool equal(elem x, elem y) {
    return x == y;
}

ALWAYS_INLINE bool differ(elem x, elem y) {
    return x != y;
}

ALWAYS_INLINE bool less(elem x, elem y) {
    return x < y;
}

ALWAYS_INLINE bool at_most(elem x, elem y) {
    return x <= y;
}

ALWAYS_INLINE bool logical_and(elem x, elem y) {
    return (x != 0) & (y != 0);
}

ALWAYS_INLINE bool logical_or(elem x, elem y) {
    return (x != 0) | (y != 0);
}

ALWAYS_INLINE bool logical_xor(elem x, elem y) {
    return (x != 0) ^ (y != 0);
}
