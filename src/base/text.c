/* SPDX-License-Identifier: Apache-2.0 */
/* Growing text and the small string questions that every room asks. */
#include "base/text.h"

#include "base/c_locale.h"
#include "base/utf8.h"

#include <fnmatch.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

void text_clear(text *t) {
    free(t->data);
    *t = (text){0};
}

void text_reset(text *t) {
    t->length = 0;
    t->failed = false;
    if (t->data != NULL) {
        t->data[0] = '\0';
    }
}

static bool reserve(text *t, size_t more) {
    if (t->failed || more > SIZE_MAX / 2 - t->length - 1) {
        t->failed = true;
        return false;
    }
    size_t needed = t->length + more + 1;
    if (needed <= t->capacity) {
        return true;
    }
    size_t capacity = t->capacity < 64 ? 64 : t->capacity * 2;
    if (capacity < needed) {
        capacity = needed;
    }
    char *data = realloc(t->data, capacity);
    if (data == NULL) {
        t->failed = true;
        return false;
    }
    t->data = data;
    t->capacity = capacity;
    return true;
}

void text_add_bytes(text *t, const char *more, size_t n) {
    if (reserve(t, n)) {
        if (n > 0) {
            memcpy(t->data + t->length, more, n);
        }
        t->length += n;
        t->data[t->length] = '\0';
    }
}

void text_add(text *t, const char *more) {
    text_add_bytes(t, more, strlen(more));
}

void text_add_char(text *t, char c) {
    text_add_bytes(t, &c, 1);
}

void text_addv(text *t, const char *format, va_list args) {
    va_list again;
    va_copy(again, args);
    int length = c_vsnprintf(NULL, 0, format, again);
    va_end(again);
    if (length < 0 || !reserve(t, (size_t)length)) {
        t->failed = true;
        return;
    }
    c_vsnprintf(t->data + t->length, (size_t)length + 1, format, args);
    t->length += (size_t)length;
}

void text_addf(text *t, const char *format, ...) {
    va_list args;
    va_start(args, format);
    text_addv(t, format, args);
    va_end(args);
}

const char *text_get(const text *t) {
    return t->data != NULL ? t->data : "";
}

/* The shortest text that reads back to the same double; how many digits it has in *digits. */
static void print_shortest(double value, char *buffer, size_t size, int *digits) {
    for (*digits = 1; *digits <= 17; ++*digits) {
        c_snprintf(buffer, size, "%.*g", *digits, value);
        if (c_strtod(buffer, NULL) == value) {
            return;
        }
    }
}

static bool add_special(text *t, double value) {
    if (isfinite(value)) {
        return false;
    }
    text_add(t, isnan(value) ? "nan" : value < 0 ? "-inf" : "inf");
    return true;
}

void text_add_double(text *t, double value) {
    char buffer[40];
    int digits;
    if (!add_special(t, value)) {
        print_shortest(value, buffer, sizeof buffer, &digits);
        text_add(t, buffer);
    }
}

void text_add_plain_double(text *t, double value) {
    const double most = 1e17;
    char buffer[40];
    int digits;
    if (add_special(t, value)) {
        return;
    }
    print_shortest(value, buffer, sizeof buffer, &digits);
    const char *exponent = strchr(buffer, 'e');
    if (exponent != NULL && exponent[1] == '+' && fabs(value) < most) {
        c_snprintf(buffer, sizeof buffer, "%.0f", value);
    }
    text_add(t, buffer);
}

/* Three significant digits, which is more than the noise of any one measurement here allows. */
static char *with_unit(char *buffer, double value, const char *unit) {
    const int decimals = value >= 99.95 ? 0 : value >= 9.995 ? 1 : 2;
    c_snprintf(buffer, 32, "%.*f %s", decimals, value, unit);
    return buffer;
}

void text_add_shell_word(text *t, const char *word) {
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_=+:,./@%";
    if (word[0] != '\0' && strspn(word, plain) == strlen(word)) {
        text_add(t, word);
        return;
    }
    text_add_char(t, '\'');
    for (size_t left = strlen(word), n; left > 0; word += n, left -= n) {
        n = utf8_length(word, left);
        if (*word == '\'') {
            text_add(t, "'\\''");
        } else if (n > 0) {
            text_add_bytes(t, word, n);
        } else {
            text_addf(t, "'$'\\x%02x''", (unsigned)(unsigned char)*word);
            n = 1;
        }
    }
    text_add_char(t, '\'');
}

void text_add_shown(text *t, const char *words, size_t n) {
    const unsigned char *p = (const unsigned char *)words;
    for (size_t i = 0; i < n; i++) {
        const bool is_c1 = p[i] == 0xc2 && i + 1 < n && p[i + 1] >= 0x80 && p[i + 1] < 0xa0;
        const bool is_control = p[i] < 0x20 || p[i] == 0x7f || is_c1;
        text_add_char(t, p[i] == '\n' || p[i] == '\t' ? ' ' : is_control ? '?' : (char)p[i]);
        i += is_c1 ? 1 : 0;
    }
}

char *text_of_bytes(char *buffer, double size_bytes) {
    static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB", "ZiB", "YiB"};
    size_t unit = 0;
    while (fabs(size_bytes) >= 1024 && unit + 1 < countof(units)) {
        size_bytes /= 1024;
        unit++;
    }
    if (unit == 0) {
        c_snprintf(buffer, 32, "%.0f B", size_bytes);
        return buffer;
    }
    return with_unit(buffer, size_bytes, units[unit]);
}

char *text_of_ns(char *buffer, double time_ns) {
    static const char *const units[] = {"ns", "us", "ms", "s"};
    size_t unit = 0;
    while (fabs(time_ns) >= 999.5 && unit + 1 < countof(units)) {
        time_ns /= 1000;
        unit++;
    }
    return with_unit(buffer, time_ns, units[unit]);
}

enum { MAX_NAME = 96 };

static int least(int a, int b) {
    return a < b ? a : b;
}

int text_distance(const char *a, const char *b, int limit) {
    size_t n = strlen(a), m = strlen(b);
    size_t gap = n > m ? n - m : m - n;
    if (n >= MAX_NAME || m >= MAX_NAME || gap > (size_t)limit) {
        return limit + 1;
    }
    int rows[3][MAX_NAME + 1];
    int *before = rows[0], *previous = rows[1], *current = rows[2];
    for (size_t j = 0; j <= m; j++) {
        previous[j] = (int)j;
    }
    for (size_t i = 1; i <= n; i++) {
        current[0] = (int)i;
        for (size_t j = 1; j <= m; j++) {
            int change = previous[j - 1] + (a[i - 1] != b[j - 1]);
            current[j] = least(change, 1 + least(previous[j], current[j - 1]));
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
                current[j] = least(current[j], before[j - 2] + 1);
            }
        }
        int *oldest = before;
        before = previous;
        previous = current;
        current = oldest;
    }
    return least(previous[m], limit + 1);
}

/* The name in small letters; false: it is too long for one that people type. */
static bool lower(const char *name, char *out, size_t size) {
    size_t n = strlen(name);
    for (size_t i = 0; i < n && n < size; i++) {
        out[i] = (char)(name[i] >= 'A' && name[i] <= 'Z' ? name[i] - 'A' + 'a' : name[i]);
    }
    out[n < size ? n : 0] = '\0';
    return n < size;
}

static bool is_separator(char c) {
    return c == '\0' || strchr("_-.:", c) != NULL;
}

bool text_has_part(const char *name, const char *part) {
    size_t n = strlen(part);
    for (const char *at = name; n > 0 && (at = strstr(at, part)) != NULL; at++) {
        if ((at == name || is_separator(at[-1])) && is_separator(at[n])) {
            return true;
        }
    }
    return false;
}

/* The shortest of the names with `typed`, in small letters, as a part. */
static const char *shortest_with_part(const char *typed, const char *const *names, size_t n) {
    char known[MAX_NAME];
    const char *found = NULL;
    for (size_t i = 0; i < n; i++) {
        bool is_shorter = found == NULL || strlen(names[i]) < strlen(found);
        if (is_shorter && lower(names[i], known, sizeof known) && text_has_part(known, typed)) {
            found = names[i];
        }
    }
    return found;
}

const char *text_nearest(const char *name, const char *const *names, size_t n) {
    char typed[MAX_NAME], known[MAX_NAME];
    if (!lower(name, typed, sizeof typed)) {
        return NULL;
    }
    enum { SHORT = 5, LEAST_PART = 3 };
    int length = (int)strlen(typed), limit = length < SHORT ? 1 : length / 3 < 2 ? 2 : length / 3;
    limit = least(limit, length - 1); /* else nothing of what was typed need be in the name */
    const char *nearest = length >= LEAST_PART ? shortest_with_part(typed, names, n) : NULL;
    limit = nearest != NULL ? -1 : limit;
    for (size_t i = 0; i < n && limit >= 0; i++) {
        if (!lower(names[i], known, sizeof known)) {
            continue;
        }
        int distance = text_distance(typed, known, limit);
        if (distance <= limit && distance < (int)strlen(known)) {
            nearest = names[i];
            limit = distance - 1;
        }
    }
    return nearest;
}

bool text_matches(const char *pattern, const char *subject) {
    return fnmatch(pattern, subject, 0) == 0;
}

bool text_starts_with(const char *subject, const char *prefix) {
    return strncmp(subject, prefix, strlen(prefix)) == 0;
}

bool text_ends_with(const char *subject, const char *suffix) {
    size_t n = strlen(subject), m = strlen(suffix);
    return n >= m && strcmp(subject + n - m, suffix) == 0;
}
