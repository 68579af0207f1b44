/* SPDX-License-Identifier: Apache-2.0 */
/* pool_template.h for its three types. */
#include "engine/kernels/cpu/isa/pool_loops.h"

#include "engine/kernels/cpu/isa/convert_loops.h"
#include "engine/kernels/cpu/isa/gather.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

/* Converts with this file's own instruction set. */
static const convert_loops *const converters = &ISA_SYMBOL(convert_loops);

#define TYPE       float
#define INDEX      int32_t /* as wide as TYPE, so that both select by one mask; planes stay below 2^31 elements */
#define INDEX_LAST INT32_MAX
#define NAME(x)    x##_f32
#define LOWEST     (-INFINITY)
#define IS_REAL    1
#define GATHERS    1
#define OWN_DTYPE  ASSAY_F32
#define INTO       to_f32
#define OUT_OF     from_f32
#define LOAD       element_load
#define STORE      element_store
#include "engine/kernels/cpu/isa/pool_template.h"
#define TYPE       double
#define INDEX      int64_t
#define INDEX_LAST INT64_MAX
#define NAME(x)    x##_f64
#define LOWEST     (-INFINITY)
#define IS_REAL    1
#define GATHERS    0
#define OWN_DTYPE  ASSAY_F64
#define INTO       to_f64
#define OUT_OF     from_f64
#define LOAD       element_load
#define STORE      element_store
#include "engine/kernels/cpu/isa/pool_template.h"
#define TYPE       int64_t
#define INDEX      int64_t
#define INDEX_LAST INT64_MAX
#define NAME(x)    x##_i64
#define LOWEST     INT64_MIN
#define IS_REAL    0
#define GATHERS    0
#define OWN_DTYPE  ASSAY_I64
#define INTO       to_i64
#define OUT_OF     from_i64
#define LOAD       element_load_int
#define STORE      element_store_int
#include "engine/kernels/cpu/isa/pool_template.h"

extern const pool_loops ISA_SYMBOL(pool_loops);
const pool_loops ISA_SYMBOL(pool_loops) = {
    .max_plane = {max_plane_f32, max_plane_f64, max_plane_i64},
    .avg_plane = {avg_plane_f32, avg_plane_f64, avg_plane_i64},
    .avg_back_plane = {avg_back_plane_f32, avg_back_plane_f64, avg_back_plane_i64},
    .max_channels = {max_channels_f32, max_channels_f64, max_channels_i64},
    .avg_channels = {avg_channels_f32, avg_channels_f64, avg_channels_i64},
    .avg_back_channels = {avg_back_channels_f32, avg_back_channels_f64, avg_back_channels_i64},
};
