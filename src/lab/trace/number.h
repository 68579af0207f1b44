/* SPDX-License-Identifier: Apache-2.0 */
/* JSON's numbers as doubles, rounded as every correct reader rounds them. */
#ifndef LAB_TRACE_NUMBER_H
#define LAB_TRACE_NUMBER_H

#include <stdbool.h>
#include <stddef.h>

/* Reads the n bytes at `digits` as one JSON number (RFC 8259) into *out, correctly rounded; a number beyond the doubles
   gives an infinity. False, and *out untouched, where they are no number. */
bool number_parse(const char *digits, size_t n, double *out);

#endif
