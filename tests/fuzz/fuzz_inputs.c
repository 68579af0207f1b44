/* SPDX-License-Identifier: Apache-2.0 */
/* libFuzzer's entry to the reader of recorded inputs: whatever the bytes are, it answers, and what it read prints and
   reads again as the same value. */
#include "lab/experiment/inputs.h"
#include "engine/literal/literal_parse.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

/* abort() is how a fuzz target tells of a broken promise. */
static void check_value(const literal *value) {
    arena memory = {0};
    text printed = {0};
    const literal *again = NULL;
    literal_print(value, &printed);
    if (literal_parse(&memory, text_get(&printed), printed.length, 1, 1, &again, NULL) != ASSAY_OK ||
        !literal_equal(value, again)) {
        abort();
    }
    for (size_t i = 0; value->kind == LITERAL_TUPLE && i < value->list.n_items; i++) {
        int64_t n_elems = 0;
        literal_tensor_elements(&value->list.items[i], &n_elems, NULL);
    }
    text_clear(&printed);
    arena_clear(&memory);
}

static void check_diagnostic(const inputs_diagnostic *diagnostic) {
    text printed = {0};
    inputs_diagnostic_print(diagnostic, &printed);
    text_clear(&printed);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) {
    inputs set = {0};
    error err = {0};
    if (inputs_read_text(&set, "fuzz", (const char *)data, n, &err) == ASSAY_OK) {
        for (size_t i = 0; i < set.n_all; i++) {
            check_value(set.all[i]->args);
            check_value(set.all[i]->kwargs);
        }
        for (size_t i = 0; i < set.n_diagnostics; i++) {
            check_diagnostic(&set.diagnostics[i]);
        }
    }
    inputs_clear(&set);
    return 0;
}
