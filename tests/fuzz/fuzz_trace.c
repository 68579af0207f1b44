/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as a trace: figures or an error, never a crash, and shares that are shares. The first byte says how large
   the pieces are in which the rest is read and how few records are sorted at a time, so that what crosses pieces and
   runs is met as well. */
#include "lab/trace/figures.h"
#include "lab/trace/figures_json.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static void check_share(double share) {
    if (!(share >= 0 && share <= 1)) {
        abort();
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) {
    if (n == 0) {
        return 0;
    }
    const trace_options options = {.by_operator = (data[0] & 1) != 0,
                                   .base = (data[0] & 2) != 0 ? TRACE_BASE_DEVICE : TRACE_BASE_TRACE,
                                   .sort_records = 64};
    size_t piece_bytes = (size_t)1 << (data[0] >> 4);
    trace_source *source = NULL;
    error err = {0};
    arena memory = {0};
    trace_figures f;
    if (trace_source_open_memory(data + 1, n - 1, piece_bytes, &source, &err) != ASSAY_OK) {
        return 0;
    }
    if (trace_figures_of_source(source, &options, &memory, &f, &err) == ASSAY_OK) {
        text out = {0};
        json_writer w = {.out = &out};
        check_share(f.strict.utilization);
        check_share(f.strict.mean_device_utilization);
        check_share(f.strict.by_name.mm_conv);
        check_share(f.strict.by_operator.mm_conv);
        check_share(f.strict.attributed);
        for (size_t i = 0; i < f.n_devices; i++) {
            check_share(f.devices[i].split.utilization);
        }
        trace_figures_json(&w, "fuzz", &f, 0);
        text_clear(&out);
    } else if (err.message[0] == '\0') {
        abort(); /* a failure says what failed */
    }
    trace_source_close(source);
    arena_clear(&memory);
    return 0;
}
