/* SPDX-License-Identifier: Apache-2.0 */
/* What ran on each backend, what did not and why, and what is doubtful. */
#include "lab/report/operators_account.h"

#include "base/c_locale.h"
#include "lab/report/table.h"
#include "lab/stats/summary.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { DEFAULT_REASONS = 5 };

typedef struct reason_count {
    const char *reason;
    size_t n;
    double least, most; /* bytes, where reasons that differ in those alone count as one */
    bool differs;       /* in how much memory was in use, which is left out then */
} reason_count;

static int by_count(const void *left, const void *right) {
    const reason_count *a = left, *b = right;
    return a->n != b->n ? (a->n < b->n ? 1 : -1) : strcmp(a->reason, b->reason);
}

/* Behind "needs about 123456 bytes (121 KiB)": what follows, and the bytes; NULL for another reason. */
static const char *after_bytes(const char *reason, double *bytes) {
    static const char before[] = "needs about ";
    char *end = NULL;
    if (!text_starts_with(reason, before)) {
        return NULL;
    }
    *bytes = c_strtod(reason + strlen(before), &end);
    end = text_starts_with(end, " bytes (") ? strchr(end, ')') : NULL;
    return end != NULL ? end + 1 : NULL;
}

/* Behind the memory in use in "killed by SIGSEGV with 4.59 MiB of memory in use while checking": what follows, and how much comes before;
   NULL where none is told. */
static const char *after_use(const char *reason, size_t *before) {
    static const char words[] = " in use";
    const char *end = strstr(reason, words), *from = NULL;
    for (const char *at = reason; end != NULL && (at = strstr(at, " with ")) != NULL && at < end; at++) {
        from = at;
    }
    if (from == NULL) {
        return NULL;
    }
    *before = (size_t)(from - reason) - (from > reason && from[-1] == ',');
    return end + strlen(words);
}

/* The same words, the bytes that are needed or in use left aside. */
static bool is_same_reason(const char *a, const char *b) {
    double bytes;
    size_t before_a = 0, before_b = 0;
    const char *rest = after_bytes(a, &bytes), *other = after_bytes(b, &bytes);
    const char *rest_used = after_use(a, &before_a), *other_used = after_use(b, &before_b);
    return strcmp(a, b) == 0 || (rest != NULL && other != NULL && strcmp(rest, other) == 0) ||
           (rest_used != NULL && other_used != NULL && before_a == before_b && strncmp(a, b, before_a) == 0 && strcmp(rest_used, other_used) == 0);
}

/* "needs about 1.2 GiB to 4 GiB of memory, the limit is 300 MB (--max-memory)" */
static void add_reason(const reason_count *r, text *out) {
    char least[32], most[32];
    double bytes;
    size_t before = 0;
    const char *rest = after_bytes(r->reason, &bytes);
    if (r->differs && after_use(r->reason, &before) != NULL) {
        text_add_shown(out, r->reason, before);
        rest = after_use(r->reason, &before);
    } else if (rest != NULL && r->least < r->most) {
        text_addf(out, "need about %s to %s", text_of_bytes(least, r->least), text_of_bytes(most, r->most));
    } else {
        rest = r->reason;
    }
    text_add_shown(out, rest, strlen(rest));
}

static size_t collect_reasons(const operators_group *g, size_t backend, record_status wanted, reason_count *reasons) {
    size_t n = 0;
    for (size_t i = 0; i < g->n_rows; i++) {
        for (size_t k = 0; k < g->rows[i].n_samples; k++) {
            const record *r = g->rows[i].samples[k].by_backend[backend];
            if (r == NULL || r->status != wanted) {
                continue;
            }
            const char *reason = r->reason != NULL ? r->reason : "no reason was recorded";
            size_t at = 0;
            while (at < n && !is_same_reason(reasons[at].reason, reason)) {
                at++;
            }
            double bytes = 0;
            after_bytes(reason, &bytes);
            if (at == n) {
                reasons[n++] = (reason_count){.reason = reason, .least = bytes, .most = bytes};
            }
            reasons[at].differs = reasons[at].differs || strcmp(reasons[at].reason, reason) != 0;
            reasons[at].least = bytes < reasons[at].least ? bytes : reasons[at].least;
            reasons[at].most = bytes > reasons[at].most ? bytes : reasons[at].most;
            reasons[at].n++;
        }
    }
    qsort(reasons, n, sizeof *reasons, by_count);
    return n;
}

static status add_reasons(arena *a, const operators_group *g, size_t backend, record_status s, size_t most, text *out,
                          error *err) {
    size_t count = g->counts[backend][s];
    reason_count *reasons = arena_make(a, count, sizeof *reasons);
    if (reasons == NULL) {
        return fail(err, ASSAY_OUT_OF_MEMORY, "no memory for the reasons");
    }
    size_t n = collect_reasons(g, backend, s, reasons), rest = 0;
    for (size_t i = 0; i < n; i++) {
        if (i < most) {
            text_addf(out, "    %s, %zu x: ", record_status_text(s), reasons[i].n);
            add_reason(&reasons[i], out);
            text_add_char(out, '\n');
        } else {
            rest += reasons[i].n;
        }
    }
    if (rest > 0) {
        text_addf(out, "    %s, %zu x: %zu other reason%s, in the records\n", record_status_text(s), rest, n - most, n - most == 1 ? "" : "s");
    }
    return ASSAY_OK;
}

static int by_size(const void *left, const void *right) {
    double a = *(const double *)left, b = *(const double *)right;
    return (a > b) - (a < b);
}

/* "1.2 ms": a duration in the unit that leaves one to three digits before the point. */
static void add_duration(text *out, double ns) {
    static const struct {
        const char *unit;
        double ns;
    } units[] = {{"s", 1e9}, {"ms", 1e6}, {"us", 1e3}, {"ns", 1}};
    char buffer[48];
    size_t i = 0;
    while (i + 1 < countof(units) && ns < units[i].ns) {
        i++;
    }
    text_addf(out, "%s %s", table_number(buffer, ns / units[i].ns, 2), units[i].unit);
}

/* What making ready to run took: compiling, for a compiler. */
static status add_preparation(arena *a, const operators_group *g, size_t backend, text *out, error *err) {
    size_t most = g->counts[backend][RECORD_OK], n = 0;
    double *times = arena_make(a, most, sizeof *times);
    if (times == NULL) {
        return fail(err, ASSAY_OUT_OF_MEMORY, "no memory for the report");
    }
    for (size_t i = 0; i < g->n_rows; i++) {
        for (size_t k = 0; k < g->rows[i].n_samples; k++) {
            const record *r = g->rows[i].samples[k].by_backend[backend];
            if (r != NULL && r->status == RECORD_OK && isfinite(r->prepare_ns) && n < most) {
                times[n++] = r->prepare_ns;
            }
        }
    }
    if (n > 0) {
        qsort(times, n, sizeof *times, by_size);
        text_add(out, "; prepared in ");
        add_duration(out, stats_quantile_sorted(times, n, 0.5));
        text_add(out, " (median), ");
        add_duration(out, times[n - 1]);
        text_add(out, " at most");
    }
    return ASSAY_OK;
}

/* The inputs that took longest to make ready, where that is told of each. */
static void add_slow_compiles(const operators_group *g, size_t backend, text *out) {
    enum { MOST = 3 };
    const record *slowest[MOST] = {NULL};
    size_t n = 0;
    for (size_t i = 0; i < g->n_rows; i++) {
        for (size_t k = 0; k < g->rows[i].n_samples; k++) {
            const record *r = g->rows[i].samples[k].by_backend[backend];
            if (r == NULL || !(r->prepare_ns > RECORD_SLOW_COMPILE_NS)) {
                continue;
            }
            n++;
            for (size_t at = 0; at < MOST && r != NULL; at++) {
                if (slowest[at] == NULL || r->prepare_ns > slowest[at]->prepare_ns) {
                    const record *next = slowest[at];
                    slowest[at] = r;
                    r = next;
                }
            }
        }
    }
    for (size_t i = 0; i < MOST && slowest[i] != NULL; i++) {
        if (i == 0) {
            text_addf(out, "    slow compile, %zu x: ", n);
        }
        text_addf(out, "%s%s[%lld] in %.3g s", i > 0 ? ", " : "", slowest[i]->operator_name, (long long)slowest[i]->sample_index,
                  slowest[i]->prepare_ns * 1e-9);
    }
    text_add(out, n > MOST ? ", others in the records\n" : n > 0 ? "\n" : "");
}

/* What a compiler cut the work into, beside the least there can be: a kernel for each input. */
static void add_traffic(const operators_group *g, size_t backend, text *out) {
    double moved = 0, least = 0;
    long long kernels = 0, calls = 0, n = 0;
    for (size_t i = 0; i < g->n_rows; i++) {
        for (size_t k = 0; k < g->rows[i].n_samples; k++) {
            const record *r = g->rows[i].samples[k].by_backend[backend];
            if (r != NULL && r->status == RECORD_OK && isfinite(r->bytes_moved) && isfinite(r->bytes)) {
                moved += r->bytes_moved;
                least += r->bytes;
                kernels += r->kernels;
                calls += r->library_calls;
                n++;
            }
        }
    }
    if (n > 0) {
        char all[32], needed[32];
        text_addf(out, "; %lld kernel%s and %lld library call%s, at least %lld, move about %s, at least %s", kernels, kernels == 1 ? "" : "s",
                  calls, calls == 1 ? "" : "s", n, text_of_bytes(all, moved), text_of_bytes(needed, least));
    }
}

/* How many operators are slower than on the baseline, chance set aside. */
static void add_verdicts(const operators_group *g, const operators_totals *t, text *out) {
    text_addf(out, "    of %zu operator%s %zu %s beyond doubt faster than %s, %zu slower, %zu of these by more than %.0f%%\n",
              t->n_operators, t->n_operators == 1 ? "" : "s", t->n_faster, t->n_faster == 1 ? "is" : "are", g->backends[0], t->n_slower,
              t->n_much_slower, 100 * (1 - OPERATORS_MUCH_SLOWER));
}

status operators_account(arena *a, const operators_group *g, const operators_totals *totals, int top_reasons, text *out, error *err) {
    size_t most = top_reasons > 0 ? (size_t)top_reasons : DEFAULT_REASONS;
    for (size_t b = 0; b < g->n_backends; b++) {
        const char *separator = ": ";
        text_add(out, g->backends[b]);
        for (int s = 0; s < RECORD_STATUS_COUNT; s++) {
            if (g->counts[b][s] > 0 || s == RECORD_OK) {
                text_addf(out, "%s%zu %s", separator, g->counts[b][s], record_status_text((record_status)s));
                separator = ", ";
            }
        }
        TRY(add_preparation(a, g, b, out, err));
        add_traffic(g, b, out);
        text_add_char(out, '\n');
        add_slow_compiles(g, b, out);
        for (int s = RECORD_OK + 1; s < RECORD_STATUS_COUNT; s++) {
            TRY(add_reasons(a, g, b, (record_status)s, most, out, err));
        }
        size_t n_apart = operators_count_apart(g, b);
        if (n_apart > 0) {
            text_addf(out, "    %zu input%s measured apart from %s and in no speed-up\n", n_apart, n_apart == 1 ? " was" : "s were", g->backends[0]);
        }
        if (b > 0 && totals[b].n_operators > 0) {
            add_verdicts(g, &totals[b], out);
        }
    }
    return ASSAY_OK;
}

/* ---- doubts ---- */

enum { MOST_WARNINGS = 16 };

/* A sample far from the others does not move their median, which the table has, nor does what preparing took. */
static bool is_doubt(const char *warning) {
    return !text_starts_with(warning, "outliers:") && !text_starts_with(warning, "slow_compile:");
}

/* A record's warning begins with its name: "spread: the middle 60% ...". */
static void count_warnings(const record *r, reason_count *warnings, size_t *n) {
    for (size_t i = 0; i < r->n_warnings; i++) {
        size_t length = strcspn(r->warnings[i], ":"), at = 0;
        if (!is_doubt(r->warnings[i])) {
            continue;
        }
        while (at < *n && (strncmp(warnings[at].reason, r->warnings[i], length) != 0 || warnings[at].reason[length] != ':')) {
            at++;
        }
        if (at == *n && *n < MOST_WARNINGS) {
            warnings[(*n)++] = (reason_count){.reason = r->warnings[i]};
        }
        if (at < *n) {
            warnings[at].n++;
        }
    }
}

static bool is_loaded(const machine_facts *m) {
    for (size_t i = 0; m != NULL && i < m->n_noise; i++) {
        if (m->noise[i].name != NULL && strcmp(m->noise[i].name, "load") == 0) {
            return isfinite(m->load_average);
        }
    }
    return false;
}

void operators_doubts(const operators_group *g, text *out) {
    reason_count warnings[MOST_WARNINGS];
    size_t n_warnings = 0, n_measured = 0, n_doubtful = 0;
    const machine_facts *loaded = NULL;
    for (size_t i = 0; i < g->n_rows; i++) {
        for (size_t k = 0; k < g->rows[i].n_samples * g->n_backends; k++) {
            const record *r = g->rows[i].samples[k / g->n_backends].by_backend[k % g->n_backends];
            if (r == NULL || r->status != RECORD_OK || r->n_samples == 0) {
                continue;
            }
            n_measured++;
            for (size_t w = 0, found = 0; w < r->n_warnings && found == 0; w++) {
                n_doubtful += found = is_doubt(r->warnings[w]);
            }
            count_warnings(r, warnings, &n_warnings);
            bool is_more = is_loaded(r->machine) && (loaded == NULL || r->machine->load_average > loaded->load_average);
            loaded = is_more ? r->machine : loaded;
        }
    }
    if (n_doubtful == 0 && loaded == NULL) {
        return;
    }
    if (n_doubtful > 0) {
        text_addf(out, "%zu of %zu measurement%s %s doubtful (", n_doubtful, n_measured, n_measured == 1 ? "" : "s", n_doubtful == 1 ? "is" : "are");
        qsort(warnings, n_warnings, sizeof *warnings, by_count);
        for (size_t i = 0; i < n_warnings; i++) {
            text_addf(out, "%s%.*s %zu", i > 0 ? ", " : "", (int)strcspn(warnings[i].reason, ":"), warnings[i].reason, warnings[i].n);
        }
        text_add(out, loaded != NULL ? "); " : ")");
    }
    if (loaded != NULL) {
        text_addf(out, "%s %.1f on %d CPU%s", n_doubtful > 0 ? "load" : "Load", loaded->load_average, loaded->usable_cpus,
                  loaded->usable_cpus == 1 ? "" : "s");
    }
    text_add(out, ": see assay doctor\n");
}
