/* SPDX-License-Identifier: Apache-2.0 */
/* Between the files that write kernels as text: what is being written, and who writes which part of it. */
#ifndef ENGINE_COMPILE_EMIT_H
#define ENGINE_COMPILE_EMIT_H

#include "engine/compile/dialect.h"
#include "engine/compile/passes.h"

/* Whether tasks go on side by side: all phases of as many tasks, or only the last phase of one and the first of the next. */
typedef enum flow_kind { FLOW_NONE, FLOW_ALL, FLOW_ENDS } flow_kind;

/* Pages of memory that are read and stored in turns. */
enum { EMIT_BLOCK_LANES = 64, EMIT_PAGES = 4, EMIT_ROWS_AHEAD_BYTES = 4096 };

typedef struct emitter {
    compiler *c;
    const kernel *k;
    text out;
    int depth;       /* of indentation */
    bool rows;       /* the vector variable is one of the tasks': what rows hold are arrays of lanes */
    uint64_t reduced; /* the set of reduced variables */
    bool *named;     /* expressions that have a variable by now, visible from here */
    bool *kept;      /* those that stay visible to the task's end: scalars of a row, or arrays of lanes */
    bool *wanted;    /* in the phase at hand */
    int phase;       /* the phase at hand */
    int *saved_in;   /* expressions of the innermost loops that a later phase reads back: the phase that saves them; -1 */
    flow_kind flow;
    bool in_room;    /* what is saved lies in memory that each thread brings, not on the stack */
    int64_t room_bytes;
    int *versions;   /* of what is saved: for so many tasks in flight */
    bool *widened;   /* casts of halves, random bits and functions that the block at hand has made as a whole, before its lanes */
    bool *gathered;  /* casts among them of halves that lie here and there */
    bool *follows;   /* what depends on such */
    bool singly;     /* halves are converted one by one where no block is: some lie here and there */
    bool *staged;    /* roots whose elements of the block at hand are put together first */
    bool pairs;      /* the block at hand takes its lanes two by two (emit_pairs.c) */
    bool *narrowed;  /* those of them that are put together as f32 and become halves together */
    bool *turned;    /* loads that an array holds, turned round */
    const char *block; /* the lane that the block at hand begins with */
    bool by_groups;  /* tasks side by side go down a group of rows a block of lanes at a time */
    bool joins;      /* what blocks store makes whole lines with that of the blocks before them */
    bool streams;    /* something goes past the caches */
    bool turns_rows; /* tasks in flight take rows of the innermost loop in turns */
    bool twins;      /* tasks in flight go in pairs, whose texts are each other's but for the names of what is a task's own */
    int guessed;     /* the root for whose result a number near it stands, so that its phase is that of what needs it; -1 */
    bool guesses;    /* such a number is being looked for: what it reads is not what is to be kept */
    int flow_lanes;  /* of a block of theirs; 0: as elsewhere */
    int page_tasks;  /* tasks are taken in groups, of pages of so many each; 0: one after the other */
    int together_lanes; /* of a block then */
    bool quick;      /* quick forms hold in the loop at hand */
    bool inside;     /* so do the conditions of emit_is_certain */
    uint64_t known;  /* variables whose values are numbers in the lines at hand: these */
    int64_t values[KERNEL_MAX_VARIABLES];
    int never;       /* a condition that holds nowhere in the loop at hand; -1 */
    bool failed;     /* a function that the language lacks */
    int lacking;     /* the expression */
} emitter;

/* One line of text, indented. */
void emit_line(emitter *m, const char *format, ...) PRINTF_LIKE(2, 3);

/* A line that gives `name` to something. */
typedef struct definition {
    size_t from, to; /* its place in the text */
    char name[24];
} definition;

/* A name, the first word of what the format makes, and its value, as a line that begins with its type. */
void emit_define(emitter *m, definition *d, const char *type, const char *format, ...) PRINTF_LIKE(4, 5);
/* Takes the line out again when nothing behind it, up to the end of the text so far, says the name: C compilers warn of
   such. */
void emit_drop_unused(emitter *m, const definition *d);

/* An index expression, and the name or the literal that an expression goes by, as parts of a line. */
void emit_index(const emitter *m, text *out, index_sum a, int guard);
void emit_name(const emitter *m, text *out, int i);
/* The statement that gives expression i its name. */
void emit_expr(emitter *m, int i);
/* Whether expression i is a function with a quick form, which is written while m->quick holds; a statement that notes in `rare`
   where that fails. */
bool emit_has_quick(const emitter *m, int i);
void emit_quick_check(emitter *m, int i);
/* Whether it belongs to a whole row: no reduced variable decides it. */
bool emit_is_row(const emitter *m, const expr *e);
/* Marks what expression i, or an index, needs that has no name yet. */
void emit_want(emitter *m, int i);
void emit_want_index(emitter *m, index_sum a);
/* Decides what is saved between phases, up to so many bytes of a task, and declares room for it. */
enum { EMIT_SAVED_BYTES = 256 * 1024 };
void emit_choose_saved(emitter *m, int64_t most_bytes);
void emit_declare_saved(emitter *m);
/* Asks for what a phase reads back some rows further on. */
void emit_fetch_saved(emitter *m, int rows_ahead);
/* Where among a task's rows the one at hand stands, times `stride`. */
void emit_row_position(const emitter *m, text *out, int64_t stride);
/* Elements that one task's reduced loops visit. */
int64_t emit_visited(const emitter *m);

/* Whether a root belongs into the loops of its phase; else it is a row's. */
bool emit_in_loops(const emitter *m, const root *r);
/* Lanes of a block: a task's, where those are but a line or two of what is stored. */
int emit_block_lanes(const emitter *m);
/* Whether the kernel reads the memory of a buffer that it writes: an element is in the cache already then. */
bool emit_reads_memory_of(const emitter *m, int buffer);
/* A line that hands the address of an element to a function: before, the address, after. */
void emit_address_call(emitter *m, const char *before, int buffer, index_sum at, const char *after);
/* Whether what a root stores makes whole lines across blocks: its rows begin anywhere within one. */
bool emit_is_joined(const emitter *m, int root);
/* Room for what waits of such; an array `name` for what a root's block makes; the call that stores it. */
void emit_joined_room(emitter *m);
void emit_block_room(emitter *m, int root, const char *name, dtype t);
void emit_joined_store(emitter *m, int root);
/* Whether any of a phase's does. */
bool emit_has_loops(const emitter *m, int phase);
/* Marks what the loops of a phase need. */
void emit_want_phase(emitter *m, int phase);
/* The innermost statements of a phase, inside the loop over lanes or without one. `before`: only what does not depend on the
   vector variable. */
void emit_body(emitter *m, int phase, bool before);

/* Lanes l from `first` to before `last`, as words, or `block` of them from `first` on; the vector variable is `from` + l. */
typedef struct lane_range {
    const char *first, *last, *from;
    int block;
    bool singly; /* they are so few that vector code is not worth its beginning and its end */
} lane_range;

void emit_range(emitter *m, int phase, const lane_range *range);
/* The same as one loop. */
void emit_plain_range(emitter *m, int phase, const lane_range *range);
/* Lanes of what expression i, a function that is widened, is computed of, into its own array. */
void emit_operand(emitter *m, int i, const lane_range *range);
/* Lanes of any expression, into an array of that name. */
void emit_lanes_to(emitter *m, int i, const char *array, const lane_range *range);
/* Whether e reads a half that lies wherever an index says, a different one for each lane. */
bool emit_is_gathered_half(const emitter *m, const expr *e);
/* Decides which casts of such a block makes as a whole, before its lanes: what says where is none of them. */
void emit_choose_gathered(emitter *m);
/* Whether the last block of lanes begins where it ends with the last lane, where `rest` are left: of halves, each of which costs
   more by itself. */
bool emit_takes_lanes_twice(const emitter *m, int phase, int64_t rest);
/* Whether a root stores halves that blocks can be narrowed to; whether all that a phase does is to narrow what it reads, straight
   from where that lies; the call that stores root i's block of halves, of what `made` holds or of that. */
bool emit_can_narrow(const emitter *m, const root *r);
bool emit_passes_on(const emitter *m, int phase);
void emit_halves_store(emitter *m, const root *r, int i, bool passes);
/* Whether the phase at hand computes expression i, rather than read it back. */
bool emit_is_made(const emitter *m, int i);
/* A block of halves that lie here and there, side by side, and what they are in f32. */
void emit_gathered(emitter *m, const lane_range *range);
/* Where most lanes stay inside of what they look at: those in a loop without their conditions, the others beside it. Answers
   false, and writes nothing, where that is not so. */
bool emit_inside(emitter *m, int phase, const lane_range *range);
/* Whether expression i is a condition that holds for all lanes of such a loop, which is being written. */
bool emit_is_certain(const emitter *m, int i);
/* n lanes (0: as many as n_lanes says), in blocks where that pays. */
void emit_lanes(emitter *m, int phase, int64_t n, const char *from);
/* Whether a kernel stores something past the caches; whether a phase's loops do nothing but store, so. */
bool emit_streams_any(const emitter *m);
bool emit_streams(const emitter *m, int phase);
/* Lanes of a block. */
int emit_block_lanes(const emitter *m);
/* Whether an element of a phase may be computed twice: it is stored, and nothing that is stored is read. */
bool emit_may_repeat(const emitter *m, int phase);
/* Whether an expression reads neighbours in memory along the vector, whatever they are. */
bool emit_is_dense_load(const emitter *m, const expr *e);
/* A line that names the address of a buffer's element between `before` and `after`. */
void emit_address_call(emitter *m, const char *before, int buffer, index_sum at, const char *after);
/* Whether a phase asks for what is read soon; and it does so, for a block. */
bool emit_fetches_in(const emitter *m, int phase);
void emit_fetches(emitter *m, int phase);
/* The loop of a variable that is neither a task's nor the vector's. */
void emit_open_loop(emitter *m, int v);
/* Reads what runs across the vector into arrays that run along it. */
void emit_turned(emitter *m);
/* The type whose digits are all that comes of expression i: f16 or bf16 where it is only cast to that, itself or in a product or
   quotient, which keep its error what it is in proportion; else f32. */
dtype emit_digits_of(const emitter *m, int i);

/* A function of which a block of lanes is cheaper than each. */
bool emit_is_block_function(const emitter *m, int i);
/* Whether one takes expression i: what else reads that would widen it once more. */
bool emit_is_for_function(const emitter *m, int i);

/* Whether the phase's blocks, with functions of a block among them, make bf16 of bf16 in lanes of any order. */
bool emit_takes_pairs(const emitter *m, int phase);

/* Whether the root's element is a half that the block at hand is narrowed to as a whole: then it is its source that is staged. */
bool emit_is_narrowed(const emitter *m, int root);
/* Where in a block's arrays the lane at hand stands. */
const char *emit_block_lane(const emitter *m);

/* A phase's accumulators, what they begin with, what one element does to them, what they come to, one of them or all but the one
   that is guessed, and where that is written. */
void emit_accumulators(emitter *m, int phase);
void emit_starts(emitter *m, int phase);
void emit_root_result(emitter *m, int i);
void emit_root(emitter *m, int i);
void emit_results(emitter *m, int phase);

/* Which element, or which lanes, each of a task's variables stands for; answers how many definitions that makes. */
int emit_tasks(emitter *m, definition *made);
/* Takes conditions out that were given names, other than those, from that place in the text on, before lanes that ask none of them. */
void emit_drop_unasked(emitter *m, size_t from, const bool *named);
/* The loops of a phase, which emit_want_phase has marked. */
void emit_loops(emitter *m, int phase);

/* Decides whether tasks go on side by side, and what is saved for that. */
void emit_choose_flow(emitter *m);
/* So many tasks behind the one that is read is the one in this phase. */
int emit_flow_lag(const emitter *m, int phase);
/* Marks all that the roots of a phase need, which becomes the phase at hand; nothing has a name. */
void emit_want_all(emitter *m, int phase);
/* All tasks of such a kernel. */
void emit_flow(emitter *m);
/* Whether its rows of whole blocks lie apart, each from a line of memory on, so that they can be taken in turns. */
bool emit_turns_rows(emitter *m);
/* Sees whether a number near a root's result will do (emit_guess.c): m->guessed, and a kernel of a phase less. */
void emit_choose_guess(emitter *m);
/* Whether that is in this phase; such a number, for the task at hand; the root's result, and the beginning of what is done again where
   it lies far above that. */
bool emit_guesses_in(const emitter *m, int phase);
void emit_guess(emitter *m, int phase);
void emit_open_redo(emitter *m, int phase);
/* Decides whether tasks in flight go in pairs, where twice the room is there for that. */
void emit_choose_twins(emitter *m, bool has_room);
/* What has been written from that place in the text on, once more for the other task of a pair. */
void emit_twin(emitter *m, size_t from);
/* Of a phase of theirs: a block of lanes that begins with `from`; whether what it stores begins with lines of memory; how many
   lanes come before the first whole one, as `head`. */
void emit_flow_block(emitter *m, int phase, const char *from);
/* The block of a group of rows' lanes that begins with `block`; the same where it is not whole. */
void emit_group_block(emitter *m, int phase);
bool emit_is_aligned(emitter *m, int phase);
void emit_flow_head(emitter *m, int phase);

/* Decides whether tasks are taken in groups. */
void emit_choose_together(emitter *m);
/* All tasks of such a kernel. */
void emit_together(emitter *m);
/* How many elements on a load finds what the next group reads; 0: nowhere that is known. */
int64_t emit_ahead_together(const emitter *m, const expr *e);
/* Lanes that fill a line of whatever is stored past the caches; a whole block where halves are converted. */
int emit_line_lanes(const emitter *m);
/* The same of what is read as well. */
int emit_whole_lines(const emitter *m);
/* A phase's block of lanes: `block`, counted from `from`, is its first. */
void emit_block_at(emitter *m, int phase, const char *block, const char *from);

/* The loops of a kernel that is a matrix product, for one task. */
void emit_product(emitter *m);

#endif
