/* SPDX-License-Identifier: Apache-2.0 */
/* cmocka with what it wants included before it, and without its macro `fail`, which is a function's name here. */
#ifndef TESTS_UNIT_H
#define TESTS_UNIT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#undef fail

#endif
