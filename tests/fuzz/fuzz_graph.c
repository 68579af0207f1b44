/* SPDX-License-Identifier: Apache-2.0 */
/* libFuzzer's entry to the reader of graphs: whatever the bytes are, it answers; what it read is sound, prints, and reads
   again as what prints the same. */
#include "engine/graph/graph_text.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static const bind_options as_written = {.dtype = DTYPE_AS_RECORDED};

/* abort() is how a fuzz target tells of a broken promise. */
static void check_graph(const op_table *table, const graph *g) {
    arena memory = {0};
    graph again;
    text once = {0}, twice = {0};
    graph_print(g, &once);
    if (graph_verify(g, NULL) != ASSAY_OK ||
        graph_read(&memory, table, text_get(&once), once.length, &as_written, &again, NULL) != ASSAY_OK) {
        abort();
    }
    graph_print(&again, &twice);
    if (strcmp(text_get(&once), text_get(&twice)) != 0) {
        abort();
    }
    graph_clear(&again);
    text_clear(&once);
    text_clear(&twice);
    arena_clear(&memory);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) {
    static op_table *table; /* made once: reading never changes it */
    arena memory = {0};
    graph g;
    error err = {0};
    if (table == NULL && op_table_new(&table, &err) != ASSAY_OK) {
        abort();
    }
    if (graph_read(&memory, table, (const char *)data, n, &as_written, &g, &err) == ASSAY_OK) {
        check_graph(table, &g);
        graph_clear(&g);
    }
    arena_clear(&memory);
    return 0;
}
