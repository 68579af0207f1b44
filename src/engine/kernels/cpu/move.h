/* SPDX-License-Identifier: Apache-2.0 */
/* The copy engine: boxes of elements brought from one strided layout and type to another, or filled with one value.
   Prepared once; a list of moves runs as one parallel region. Everything that copies, pads, joins, rolls or cuts is
   made of these. */
#ifndef ENGINE_KERNELS_CPU_MOVE_H
#define ENGINE_KERNELS_CPU_MOVE_H

#include "base/arena.h"
#include "engine/kernels/cpu/isa/convert_loops.h"
#include "engine/kernels/cpu/isa/copy_loops.h"
#include "engine/tensor/tensor.h"

#include <stdalign.h>

/* MOVE_TURN_EDGE: tiles turned round are at most this many elements long: 64 rows of the source in L1, no page twice in the
   TLB. MOVE_STREAM_ROW: the shortest rows stored past the caches.
   MOVE_REST_COLUMNS: whose ends of lines wait beside what is read next in L2. */
enum { MOVE_BUFFER_BYTES = 4096, MOVE_STREAM_ROW = 128, MOVE_TURN_EDGE = 64, MOVE_TURN_BYTES = 2 * TURN_BYTES,
       MOVE_REST_COLUMNS = 1024 };

/* From one type to another by one or two loops. */
typedef struct converter {
    convert_fn *first;
    convert_fn *second;                     /* NULL: first does it all */
    convert_fn *stream;                     /* first and second, past the caches; NULL: there is no such loop */
    int from_bytes, middle_bytes, to_bytes; /* of a number, at each stage */
    int parts;                              /* numbers an element has: 2 where both types are complex */
} converter;

typedef enum move_kind {
    MOVE_NOTHING,
    MOVE_FILL,
    MOVE_ROWS,
    MOVE_STRIDED,
    MOVE_TURN,
    MOVE_CONVERT,
    MOVE_CONVERT_TURN,
    MOVE_COMPLEX
} move_kind;

/* Plain data. Dimension 0 is the innermost; strides count bytes. The source's may be 0 or negative, and where rows are read upwards
   for that dst's are negative. */
typedef struct move {
    move_kind kind;
    dtype dst_type, src_type;
    int dst_log2, src_log2; /* element sizes */
    int ndim;
    bool stream; /* past the caches */
    bool turns_in_steps; /* MOVE_TURN past the caches, tile by tile through buffers: */
    char *turn_buffers;  /* turn_bytes for each of turn_threads */
    size_t turn_bytes;
    int turn_threads;
    bool turns_in_place; /* MOVE_TURN past the caches, without buffers */
    bool turns_across;   /* MOVE_TURN past the caches where rows of dst begin within lines; ends of lines wait in the buffers */
    char *dst;
    const char *src;
    int64_t sizes[TENSOR_MAX_DIMS];
    ptrdiff_t dst_strides[TENSOR_MAX_DIMS], src_strides[TENSOR_MAX_DIMS];
    int64_t block[2]; /* elements of dimensions 0 and 1 that one unit of work covers */
    int64_t units;
    double bytes; /* of traffic */
    converter convert;
    alignas(16) char value[16]; /* MOVE_FILL: the element, repeated */
} move;

/* A box: its sizes, and where its first element lies in each tensor's memory. Strides and offsets count elements; none
   of dst's is negative, and (fills apart) no two elements of dst share memory. */
typedef struct box {
    int ndim;
    int64_t sizes[TENSOR_MAX_DIMS];
    int64_t dst_strides[TENSOR_MAX_DIMS], src_strides[TENSOR_MAX_DIMS];
    int64_t dst_offset, src_offset;
} box;

/* The box that covers all of dst (no source). */
void box_of(box *b, const tensor *dst);
/* ... with src broadcast to it. */
void box_of_pair(box *b, const tensor *dst, const tensor *src);
/* Cuts dimension d to [from, from + n) of what the box covers, in both tensors. */
void box_cut(box *b, int d, int64_t from, int64_t n);

void move_copy(move *m, const box *b, const tensor *dst, const tensor *src);
void move_fill(move *m, const box *b, const tensor *dst, number value);

/* For a move that turns large tensors round: room in memory, which must live as long, to do it tile by tile, for as many
   threads as there are now. Without it, or where there is no room, the move goes the slower way. */
void move_take_buffers(move *m, arena *memory);

/* A small move in smaller units, so that threads can share it where it runs beside others. */
void move_share(move *m, int threads);

/* Runs all of them, threads and all. `together`: the moves' units run side by side rather than move after move, so that
   moves which write neighbouring bytes do it while the lines are in cache. */
void moves_run(const move *moves, int64_t n, bool together);

/* A converter between two types, neither of them complex unless both are; false when there is none. */
bool converter_make(converter *c, dtype to, dtype from);
void converter_run(const converter *c, void *dst, const void *src, int64_t n);

#endif
