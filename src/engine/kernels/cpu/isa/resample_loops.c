/* SPDX-License-Identifier: Apache-2.0 */
/* resample_template.h for its two types. */
#include "engine/kernels/cpu/isa/resample_loops.h"

#include "engine/kernels/cpu/isa/convert_loops.h"

#include <stdbool.h>
#include <string.h>

static const convert_loops *const converters = &ISA_SYMBOL(convert_loops);

#define TYPE      float
#define NAME(x)   x##_f32
#define WEIGHTS   weight_f32
#define OWN_DTYPE ASSAY_F32
#define INTO       to_f32
#define OUT_OF     from_f32
#define LOAD       element_load
#define STORE      element_store
#include "engine/kernels/cpu/isa/resample_template.h"
#define TYPE      double
#define NAME(x)   x##_f64
#define WEIGHTS   weight
#define OWN_DTYPE ASSAY_F64
#define INTO       to_f64
#define OUT_OF     from_f64
#define LOAD       element_load
#define STORE      element_store
#include "engine/kernels/cpu/isa/resample_template.h"

extern const resample_loops ISA_SYMBOL(resample_loops);
const resample_loops ISA_SYMBOL(resample_loops) = {.plane = {plane_f32, plane_f64},
                                                   .over_channels = {channels_f32, channels_f64},
                                                   .grid = {grid_f32, grid_f64},
                                                   .grid_back = {grid_back_f32, grid_back_f64}};
