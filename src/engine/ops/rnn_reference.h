/* SPDX-License-Identifier: Apache-2.0 */
/* The references of _cudnn_rnn and _cudnn_rnn_backward, and the backward's arguments that its shapes depend on too. */
#ifndef ENGINE_OPS_RNN_REFERENCE_H
#define ENGINE_OPS_RNN_REFERENCE_H

#include "engine/schema/reference.h"

enum { RNN_GRAD_OUTPUT = 7, RNN_GRAD_HY, RNN_GRAD_CY, RNN_OUTPUT_MASK = 21 }; /* places in _cudnn_rnn_backward's schema */

/* Both fill ctx's outputs in double from the call's real arguments. Fail with the context's own failure (out of memory). */
status rnn_reference(ref_ctx *ctx, error *err);
status rnn_backward_reference(ref_ctx *ctx, error *err);

#endif
