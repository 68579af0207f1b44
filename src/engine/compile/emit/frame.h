/* SPDX-License-Identifier: Apache-2.0 */
/* Kernels that look at windows of an image, by way of a copy of it in a frame (frame_form.c). */
#ifndef ENGINE_COMPILE_EMIT_FRAME_H
#define ENGINE_COMPILE_EMIT_FRAME_H

#include "engine/compile/emit/emitter.h"

/* Before the tasks: room for the frame, with what is around the image. */
void emit_frame_room(emitter *m);
/* One task: its part of the image, then its rows of results. */
void emit_frame(emitter *m);

#endif
