/* SPDX-License-Identifier: Apache-2.0 */
/* The processor's own words, and the system's. */
#include "engine/compile/processor.h"

#include "device/caches.h"
#include "device/instructions.h"

void compile_options_of_cpu(compile_options *o) {
    o->pairs = isa_has_tiles() ? PAIRS_BY_TILES : PAIRS_WIDENED;
    o->other_pairs = o->pairs == PAIRS_WIDENED && isa_rounds_to_bf16() ? PAIRS_BY_VECTORS : o->pairs;
    /* Rows in pairs are by a tenth faster on Sapphire Rapids, by a third slower on Zen 4 (2026-11). */
    o->no_twins = !cpu_is_intel();
    /* Side by side they gain on Sapphire Rapids, which reads ahead within a page only (emit/flow_choose.c). */
    o->asks_far = !cpu_is_intel();
    /* As eager does (device/caches.h). */
    o->asks_along = cpu_asks_along();
    /* Zen 4 takes two cycles for a store of 64 bytes, Sapphire Rapids one (emit/held.c). */
    o->few_stores = !cpu_is_intel();
    /* Zen 4 divides while it multiplies; Sapphire Rapids has two units to multiply and takes half as long again to divide
       (vector_blocks.h). */
    o->divides = !cpu_is_intel();
    /* An Emerald Rapids takes 0.65 of the time for a loop that gathers so (emit/indices.c). Not measured on AMD's. */
    o->gathers = cpu_is_intel();
    /* Four pages at a time take three quarters of the time on Sapphire Rapids, up to twice as long on Zen 4 (emit/together.c). */
    o->no_together = !cpu_is_intel();
    /* What threads read ahead takes lines from each other on Granite Rapids (scan_parts.c). */
    o->scans_in_parts = cpu_is_intel();
    /* On a Zen 4 told to do without, sums of bf16 in pairs take 1.07 of the time with AVX-512, and 1.8 with AVX2. */
    o->rounds_pairs = isa_rounds_to_bf16();
    /* As eager's (device/caches.h). */
    o->keeps_cached = !cpu_is_intel();
    /* As what eager does there: batch norm's gradient (emit/team.c). */
    o->shares_tasks = cpu_is_intel();
    /* A Zen 5 has memory come to L1 for one row as for several (emit/flow_choose.c). */
    o->few_in_turn = cpu_asks_along() && !cpu_is_intel();
}
