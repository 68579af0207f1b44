/* SPDX-License-Identifier: Apache-2.0 */
/* What is being written: a kernel, how far its text has come, and what has been decided about it. */
#ifndef ENGINE_COMPILE_EMIT_EMITTER_H
#define ENGINE_COMPILE_EMIT_EMITTER_H

#include "engine/compile/dialect.h"
#include "engine/compile/passes.h"

/* Whether tasks go on side by side: all phases of as many tasks, or only the last phase of one and the first of the next. */
typedef enum flow_kind { FLOW_NONE, FLOW_ALL, FLOW_ENDS } flow_kind;

/* Of tasks in the order of memory: what is written of a task just now. All of it; its row within loops that are open; what it comes to. */
typedef enum row_order { ORDER_NONE, ORDER_ROWS, ORDER_TOTALS } row_order;

/* Lanes of a block, unless other numbers are better; pages of memory that are read and stored in turns. */
enum { EMIT_BLOCK_LANES = 64, EMIT_PAGES = 4, EMIT_ROWS_AHEAD_BYTES = 4096 };

/* Lanes from which a number near a root's result is guessed; expressions that this may add to a kernel. */
enum { EMIT_GUESS_LANES = 16, EMIT_MORE_EXPRS = 4 };

/* A load whose rows are turned round first, and the buffer that holds them then. */
enum { EMIT_MOST_ACROSS = 4 };

typedef struct across_load {
    const expr *from;
    int buffer;
} across_load;

/* Sets of expressions (by their numbers) and of roots are arrays of flags. */
typedef struct emitter {
    compiler *c;
    const kernel *k;
    text out;
    int depth;       /* of indentation */
    bool failed;     /* a function that the language lacks */
    int lacking;     /* the expression */

    /* Of the kernel as a whole. */
    bool rows;       /* the vector variable is one of the tasks': what rows hold are arrays of lanes */
    uint64_t reduced; /* the set of reduced variables */
    bool singly;     /* halves are converted one by one where no block is: some lie here and there */
    bool streams;    /* something goes past the caches */
    int lane_arrays; /* long ones so far (lane_arrays.c) */
    bool spares_stores; /* sums are kept in registers where they can be, and tasks go one by one */
    int *saved_in;   /* expressions of the innermost loops that a later phase reads back: the phase that saves them; -1 */

    /* Tasks side by side (flow_choose.c). */
    flow_kind flow;
    bool in_room;    /* what is saved lies in memory that each thread brings, not on the stack */
    int64_t room_bytes;
    int *versions;   /* of what is saved: for so many tasks in flight */
    bool by_groups;  /* they go down a group of rows a block of lanes at a time */
    int carried;     /* the root whose rows go on from task to task within a line of memory; -1 (row_ends.c) */
    bool joins;      /* what blocks store makes whole lines with that of the blocks before them */
    bool turns_rows; /* they take rows of the innermost loop in turns */
    int group_rows;  /* of either: so many rows at a time; 0: they do neither */
    bool shares;     /* all threads go through all of them, each a part of the rows (team.c) */
    int team_at;     /* the buffer that says where threads meet then */
    int64_t kept_rows; /* of a thread's rows so many are kept then, the others, if it has more, read twice */
    bool behind_kept;  /* such others are at hand */
    bool twins;      /* they go in pairs, whose texts are each other's but for the names of what is a task's own */
    int flow_lanes;  /* of a block of theirs; 0: as elsewhere */
    bool *quiet;     /* by root: a largest number that only keeps exponentials in range need not be NaN: their sum is */
    int guessed;     /* the root for whose result a number near it stands, so that its phase is that of what needs it; -1 */
    int squares;     /* the root of squares of deviations from what it is a mean of; -1 */
    int near_of;     /* the expression of which a number near it is made */
    bool guesses;    /* such a number is being looked for: what it reads is not what is to be kept */

    /* Rows that lie across memory (across.c). */
    int n_across; /* loads that find them turned round; 0: there are none */
    across_load across[EMIT_MOST_ACROSS];
    int64_t band_rows; /* so many tasks' at a time */

    /* Several pages at a time (together.c). */
    int page_tasks;  /* tasks are taken in groups, of pages of so many each; 0: one after the other */
    int together_lanes; /* of a block then */

    /* Rows of neighbours (ordered.c). */
    int ordered_tasks;  /* tasks whose rows are read in the order of memory; 0: each one's rows by themselves */
    row_order order;

    /* Short rows (abreast.c). */
    int n_abreast;      /* so many tasks go through each phase together; 1: one after the other */
    size_t *phase_ends; /* in the text, of each phase; NULL: nobody asks */

    /* The phase at hand. */
    int phase;
    bool *named;     /* expressions that have a variable by now, visible from here */
    bool *kept;      /* those that stay visible to the task's end: scalars of a row, or arrays of lanes */
    bool *wanted;    /* those that it needs */
    bool *turned;    /* loads that an array holds, turned round */
    uint8_t *looked; /* loads whose places were found before the lanes at hand, and how (indices.c); 0: others */
    int *places;     /* of those: the first that looks in the same */
    bool *tabled;    /* indices that were checked once for all tasks */

    int cut;         /* the variable whose loop is gone through in pieces, so that no sum is of too many terms (long_sums.c); -1 */
    int64_t cut_turns; /* of a piece */
    bool before;     /* rows before a task's own part are added up (scan_parts) */

    /* The block of lanes at hand. */
    const char *block; /* the lane that it begins with */
    const char *lane;  /* of the loop over lanes at hand: what counts them */
    bool *widened;   /* casts of halves, random bits and functions that it has made as a whole, before its lanes */
    bool *gathered;  /* casts among them of halves that lie here and there */
    bool *operands;  /* what functions among them take, where more than one reads it: it is computed once, and kept as they are */
    bool *follows;   /* what depends on such */
    int *into;       /* of functions among them: 1 + the root that is stored where it lies in memory, not in an array first; 0 */
    bool *staged;    /* roots whose elements are put together first */
    bool *narrowed;  /* those of them that are put together as f32 and become halves together */
    bool stores_later; /* what is put together has its room outside, and is stored after other tasks have read */
    pair_order pairs; /* it takes its lanes two by two (pairs.c) */
    int short_lanes; /* it has so many lanes only (short_blocks.c); 0: all of them */
    int again_lanes; /* its first few have been taken in before */

    /* The loop at hand. */
    bool quick;      /* quick forms hold in it */
    bool inside;     /* so do the conditions of emit_is_certain */
    bool splits;     /* diagonals count among those: lanes are parted where they go through (inside.c) */
    int never;       /* a condition that holds nowhere in it; -1 */
    uint64_t known;  /* variables whose values are numbers in the lines at hand: these */
    int64_t values[KERNEL_MAX_VARIABLES];
} emitter;

#endif
