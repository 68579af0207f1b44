/* SPDX-License-Identifier: Apache-2.0 */
/* Questions to the terminal and the environment, and the width of text. */
#include "lab/report/terminal.h"

#include "base/status.h"
#include "base/utf8.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

bool color_mode_parse(const char *name, color_mode *out) {
    static const char *const names[] = {"auto", "always", "never"};
    for (size_t i = 0; i < countof(names); i++) {
        if (strcmp(name, names[i]) == 0) {
            *out = (color_mode)i;
            return true;
        }
    }
    return false;
}

bool terminal_is_live(int fd) {
    const char *term = getenv("TERM");
    return isatty(fd) && term != NULL && term[0] != '\0' && strcmp(term, "dumb") != 0;
}

bool terminal_color(color_mode mode, int fd) {
    if (mode != COLOR_AUTO) {
        return mode == COLOR_ALWAYS;
    }
    const char *no_color = getenv("NO_COLOR");
    return terminal_is_live(fd) && (no_color == NULL || no_color[0] == '\0');
}

int terminal_width(int fd) {
    struct winsize size;
    if (ioctl(fd, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) {
        return size.ws_col;
    }
    const char *columns = getenv("COLUMNS");
    char *end = NULL;
    long width = columns != NULL ? strtol(columns, &end, 10) : 0;
    return columns != NULL && end != columns && *end == '\0' && width > 0 && width < 100000 ? (int)width : 0;
}

/* Own tables instead of wcwidth, which hangs on the locale: blocks as Unicode 15's EastAsianWidth.txt (W and F) and
   general categories Mn, Me, Cf give them, merged where nothing else lies between. */
typedef struct code_range {
    uint32_t first, last;
} code_range;

static const code_range zero_wide[] = {
    {0x0300, 0x036f}, {0x0483, 0x0489}, {0x0591, 0x05bd}, {0x0610, 0x061a}, {0x064b, 0x065f}, {0x0900, 0x0902},
    {0x093c, 0x093c}, {0x0941, 0x0948}, {0x0e31, 0x0e31}, {0x0e34, 0x0e3a}, {0x0e47, 0x0e4e}, {0x1ab0, 0x1ace},
    {0x1dc0, 0x1dff}, {0x200b, 0x200f}, {0x202a, 0x202e}, {0x2060, 0x2064}, {0x20d0, 0x20f0}, {0x302a, 0x302d},
    {0xfe00, 0xfe0f}, {0xfe20, 0xfe2f}, {0xfeff, 0xfeff}, {0xe0100, 0xe01ef}};

static const code_range two_wide[] = {
    {0x1100, 0x115f},   {0x231a, 0x231b},   {0x23e9, 0x23ec},   {0x2614, 0x2615},   {0x26a1, 0x26a1},
    {0x2705, 0x2705},   {0x270a, 0x270b},   {0x2728, 0x2728},   {0x274c, 0x274c},   {0x2753, 0x2755},
    {0x2757, 0x2757},   {0x2795, 0x2797},   {0x2e80, 0x303e},   {0x3041, 0x33ff},   {0x3400, 0x4dbf},
    {0x4e00, 0x9fff},   {0xa000, 0xa4cf},   {0xa960, 0xa97c},   {0xac00, 0xd7a3},   {0xf900, 0xfaff},
    {0xfe30, 0xfe6b},   {0xff01, 0xff60},   {0xffe0, 0xffe6},   {0x16fe0, 0x18cff}, {0x1b000, 0x1b2fb},
    {0x1f300, 0x1f64f}, {0x1f680, 0x1f6ff}, {0x1f900, 0x1faff}, {0x20000, 0x3fffd}};

static bool lies_in(uint32_t c, const code_range *ranges, size_t n) {
    size_t low = 0;
    while (low < n && ranges[low].last < c) {
        low++;
    }
    return low < n && c >= ranges[low].first;
}

/* The bytes of an escape sequence that sets colours, ESC [ ... m, at s; 0 when there is none. */
static size_t escape_length(const char *s, size_t n) {
    if (n < 3 || s[0] != '\033' || s[1] != '[') {
        return 0;
    }
    size_t i = 2;
    while (i < n && ((s[i] >= '0' && s[i] <= '9') || s[i] == ';')) {
        i++;
    }
    return i < n && s[i] == 'm' ? i + 1 : 0;
}

/* The bytes and columns of what stands at s. */
static size_t next_character(const char *s, size_t n, size_t *columns) {
    size_t length = escape_length(s, n);
    if (length > 0) {
        *columns = 0;
        return length;
    }
    length = utf8_length(s, n);
    *columns = 1;
    if (length < 2) {
        return 1; /* ASCII, or a byte that is no UTF-8 */
    }
    uint32_t c = utf8_decode(s, length);
    *columns = lies_in(c, zero_wide, countof(zero_wide)) ? 0 : lies_in(c, two_wide, countof(two_wide)) ? 2 : 1;
    return length;
}

size_t text_columns(const char *s, size_t n) {
    size_t total = 0, columns = 0;
    for (size_t i = 0; i < n; i += next_character(s + i, n - i, &columns), total += columns) {
    }
    return total;
}

size_t text_prefix_of_columns(const char *s, size_t n, size_t columns) {
    size_t total = 0, i = 0;
    while (i < n) {
        size_t wide = 0;
        size_t length = next_character(s + i, n - i, &wide);
        if (total + wide > columns) {
            break;
        }
        total += wide;
        i += length;
    }
    return i;
}
