/* SPDX-License-Identifier: Apache-2.0 */
/* Reading one point, for measuring it or for saying that it could not be. */
#include "lab/experiment/operators_check.h"

#include "base/text.h"
#include "lab/experiment/repro.h"

#include <math.h>
#include <string.h>

/* The nearest name as a recording would have it. */
static status fail_unknown(const op_table *table, const operators_point *what, error *err) {
    const char *name = what->recorded->name, *near = op_table_nearest(table, name);
    bool is_short = near != NULL && text_starts_with(name, "aten.") && !text_starts_with(near, "aten.");
    return fail_at(err, ASSAY_UNSUPPORTED, what->in->operator_line, what->in->operator_column, "no operator is called %s%s%s%s%s", name,
                   near != NULL ? "; did you mean '" : "", is_short ? "aten." : "", near != NULL ? near : "", near != NULL ? "'?" : "");
}

status point_read(arena *memory, const op_table *table, const operators_options *o, const operators_point *what, workload *out, error *err) {
    if (what->o == NULL && what->in->graph == NULL) {
        return fail_unknown(table, what, err);
    }
    const bind_options bind = {.dtype = repro_dtype(o, what->in), .channels_last = o->bind.channels_last};
    return workload_read(memory, table, what->o, what->in, &bind, out, err);
}

/* Whether shapes go together with tensors laid out as they were recorded. */
static bool is_valid_as_recorded(arena *memory, const op_table *table, const operators_options *o, const operators_point *what) {
    operators_options plain = *o;
    workload work = {0};
    plain.bind.channels_last = false;
    outputs_init(&work.inferred);
    status result = point_read(memory, table, &plain, what, &work, NULL);
    result = result == ASSAY_OK ? workload_check(&work, 1, false, (memory_limit){INFINITY, ""}, NULL) : result;
    workload_clear(&work);
    return result == ASSAY_OK;
}

status point_blame(arena *memory, const op_table *table, const operators_options *o, const operators_point *what, status result, error *err) {
    if (result != ASSAY_INVALID || !o->bind.channels_last || !is_valid_as_recorded(memory, table, o, what)) {
        return result;
    }
    err->line = 0; /* what stands there is right */
    return fail_within(err, ASSAY_UNSUPPORTED, "laid out by --channels-last, not as recorded");
}

const char *point_reason(arena *memory, const operators_point *what, const error *err) {
    if (err->line == 0) {
        return err->message;
    }
    const char *placed = arena_format(memory, "%s:%d:%d: %s", what->in->file->path, err->line, err->column, err->message);
    return placed != NULL ? placed : err->message;
}

status operators_check(arena *memory, const op_table *table, const operators_options *o, const operators_point *what, const char **reason) {
    error err = {0};
    workload work = {0};
    outputs_init(&work.inferred);
    status result = point_read(memory, table, o, what, &work, &err);
    if (result == ASSAY_OK) {
        result = workload_check(&work, (int)o->n_backends, o->check_accuracy, (memory_limit){o->max_memory_bytes, o->max_memory_from}, &err);
    }
    workload_clear(&work);
    if (result != ASSAY_OK) {
        result = point_blame(memory, table, o, what, result, &err);
        const char *placed = point_reason(memory, what, &err);
        const char *kept = arena_text(memory, placed, strlen(placed));
        *reason = kept != NULL ? kept : "there is no memory to say why";
    }
    return result;
}
