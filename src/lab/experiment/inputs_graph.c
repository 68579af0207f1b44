/* SPDX-License-Identifier: Apache-2.0 */
/* Graphs among the inputs: read once for errors and a canonical text, which tells two of one name apart. */
#include "lab/experiment/inputs_set.h"

#include "base/file.h"
#include "engine/graph/graph_text.h"

#include <string.h>

enum { MAX_FILE_BYTES = 1 << 26 };

bool inputs_is_graph(const char *path) {
    return text_ends_with(path, ".graph") || text_ends_with(path, ".graph.gz");
}

static status add_graph(inputs *set, const char *path, const graph *g, const char *data, size_t n, error *err) {
    text canonical = {0};
    graph_print(g, &canonical);
    input in = {.file = inputs_add_file(set, path),
                .line = 1,
                .text = canonical.failed ? NULL : arena_text(&set->memory, text_get(&canonical), canonical.length),
                .graph = arena_text(&set->memory, data, n)};
    text_clear(&canonical);
    if (in.file == NULL || in.text == NULL || in.graph == NULL) {
        return fail(err, ASSAY_OUT_OF_MEMORY, "no memory for the graph %s", path);
    }
    return inputs_add(set, g->name, &in, 1, err);
}

status inputs_read_graph_text(inputs *set, const char *name, const char *data, size_t n, error *err) {
    const bind_options as_written = {.dtype = DTYPE_AS_RECORDED};
    arena memory = {0};
    graph g = {0};
    error why = {0};
    if (set->table == NULL) {
        return fail(err, ASSAY_UNSUPPORTED, "%s: graphs are not read here", name);
    }
    TRY(inputs_reject_binary(name, data, n, err));
    status result = graph_read(&memory, set->table, data, n, &as_written, &g, &why);
    if (result == ASSAY_OK) {
        result = add_graph(set, name, &g, data, n, err);
    } else if (why.line > 0) {
        fail_at(err, result, why.line, why.column, "%s:%d:%d: %s", name, (int)why.line, (int)why.column, why.message);
    } else {
        fail(err, result, "%s: %s", name, why.message);
    }
    graph_clear(&g);
    arena_clear(&memory);
    return result;
}

status inputs_read_graph(inputs *set, const char *path, error *err) {
    text content = {0};
    TRY(file_read(path, MAX_FILE_BYTES, &content, err));
    status result = inputs_read_graph_text(set, path, text_get(&content), content.length, err);
    text_clear(&content);
    return result;
}
