/* SPDX-License-Identifier: Apache-2.0 */
/* The gates of recurrent cells, built once for each instruction set. */
#include "engine/kernels/cpu/isa/rnn_loops.h"

#include "engine/kernels/cpu/isa/vector_math.h"

#include <math.h>
#include <stddef.h>

static inline double sigmoid_double(double x) {
    return 1 / (1 + exp(-x));
}

#define REAL        float
#define SIGMOID     sigmoid_f32
#define TANH        tanh_f32
#define NAMED(name) name##_f32
#include "engine/kernels/cpu/isa/rnn_template.h"
#undef REAL
#undef SIGMOID
#undef TANH
#undef NAMED

#define REAL        double
#define SIGMOID     sigmoid_double
#define TANH        tanh
#define NAMED(name) name##_f64
#include "engine/kernels/cpu/isa/rnn_template.h"
#undef REAL
#undef SIGMOID
#undef TANH
#undef NAMED

const rnn_loops ISA_SYMBOL(rnn_loops) = {
    .forward_f32 = {forward_relu_f32, forward_tanh_f32, forward_lstm_f32, forward_gru_f32},
    .forward_f64 = {forward_relu_f64, forward_tanh_f64, forward_lstm_f64, forward_gru_f64},
    .back_f32 = {back_relu_f32, back_tanh_f32, back_lstm_f32, back_gru_f32},
    .back_f64 = {back_relu_f64, back_tanh_f64, back_lstm_f64, back_gru_f64},
};
