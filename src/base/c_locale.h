/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers as C spells them, "0.5", in whatever locale the process is: a program that uses the library, or a plug-in, may have called
   setlocale, and signatures, records and emitted code would be read and written with commas. All that prints or reads fractions goes
   through these; the test architecture/plan holds it to that. Threads: all of them touch the calling thread's locale alone, which is
   what it was when they return. */
#ifndef BASE_C_LOCALE_H
#define BASE_C_LOCALE_H

#include "base/status.h"

#include <stdarg.h>
#include <stddef.h>

/* As the functions of the standard library that they are named after. */
double c_strtod(const char *text, char **end);
int c_snprintf(char *buffer, size_t size, const char *format, ...) PRINTF_LIKE(3, 4);
int c_vsnprintf(char *buffer, size_t size, const char *format, va_list args) PRINTF_LIKE(3, 0);

#endif
