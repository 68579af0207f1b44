/* SPDX-License-Identifier: Apache-2.0 */
/* The one workload that a command line names. */
#include "lab/experiment/single.h"
#include "engine/literal/literal_parse.h"

#include <string.h>

static status find_op(const op_table *table, const char *name, const op **out, error *err) {
    *out = op_table_find(table, name);
    if (*out != NULL) {
        return ASSAY_OK;
    }
    const char *near = op_table_nearest(table, name);
    return fail(err, ASSAY_NOT_FOUND, "no operator is called '%s'%s%s%s `assay list operators` names them", name,
                near != NULL ? "; did you mean '" : "", near != NULL ? near : "", near != NULL ? "'?" : ";");
}

static status parse_input(arena *memory, const char *source, input *in, error *err) {
    const literal *call = NULL;
    TRY(literal_parse(memory, source, strlen(source), 1, 1, &call, err));
    const literal *parts = call->kind == LITERAL_TUPLE && call->list.n_items == 2 ? call->list.items : NULL;
    if (parts == NULL || parts[0].kind != LITERAL_TUPLE || parts[1].kind != LITERAL_DICT) {
        return fail_at(err, ASSAY_INVALID, call->line, call->column,
                       "expected the arguments as recorded, ((ARGS...), {KWARGS...}), got %s",
                       literal_kind_text(call->kind));
    }
    *in = (input){.text = source, .args = &parts[0], .kwargs = &parts[1]};
    return ASSAY_OK;
}

static status read_call(arena *memory, const single_name *name, single *one, error *err) {
    error why = {0};
    const op *o = NULL;
    input in;
    TRY(find_op(one->table, name->operator_name, &o, err));
    status result = parse_input(memory, name->input, &in, &why);
    if (result == ASSAY_OK) {
        result = workload_read(memory, one->table, o, &in, &name->bind, &one->work, &why);
    }
    if (result != ASSAY_OK && why.line > 0) {
        return fail_at(err, result, why.line, why.column, "input, column %d: %s", why.column, why.message);
    }
    return result == ASSAY_OK ? ASSAY_OK : fail(err, result, "%s", why.message);
}

static status read_graph(arena *memory, const single_name *name, single *one, error *err) {
    error why = {0};
    one->read.table = one->table;
    TRY(inputs_read_graph(&one->read, name->graph, err));
    status result = workload_read(memory, one->table, NULL, one->read.all[0], &name->bind, &one->work, &why);
    return result == ASSAY_OK ? ASSAY_OK
                              : fail_at(err, result, why.line, why.column, "%s:%d:%d: %s", name->graph, (int)why.line,
                                        (int)why.column, why.message);
}

status single_read(arena *memory, const single_name *name, single *out, error *err) {
    *out = (single){0};
    outputs_init(&out->work.inferred); /* in place: it points into itself */
    status result = op_table_new(&out->table, err);
    if (result == ASSAY_OK) {
        result = name->graph != NULL ? read_graph(memory, name, out, err) : read_call(memory, name, out, err);
    }
    if (result != ASSAY_OK) {
        single_clear(out);
    }
    return result;
}

void single_clear(single *one) {
    workload_clear(&one->work);
    inputs_clear(&one->read);
    op_table_free(one->table);
    *one = (single){0};
}
