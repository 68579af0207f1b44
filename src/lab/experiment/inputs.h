/* SPDX-License-Identifier: Apache-2.0 */
/* The operator inputs that models sent, read from recorded files: which operators, with which arguments, how often.
   The format is that of PyTorch's operator_inp_logs; what its loader reads, this reads the same way. */
#ifndef LAB_EXPERIMENT_INPUTS_H
#define LAB_EXPERIMENT_INPUTS_H

#include "base/arena.h"
#include "base/status.h"
#include "base/text.h"
#include "engine/literal/literal.h"

#include <stddef.h>
#include <stdint.h>

/* A file that was read, one for each path. */
typedef struct inputs_file {
    const char *path; /* as given, "-" for standard input */
    const char *name; /* the model's: without "_training.txt", ".txt", ".gz", and without folders but for those that tell files of one name
                         apart ("hf/resnet", "timm/resnet") */
    uint64_t device, node; /* which file it is, by whatever name, once it was read; 0 of what is no regular file */
} inputs_file;

/* How often one file's model made a call. */
typedef struct inputs_use {
    const inputs_file *file;
    int64_t n_calls;
} inputs_use;

/* One distinct input of an operator. */
typedef struct input {
    const char *text;      /* "((ARGS...), {KWARGS...})" exactly as recorded, NUL-terminated; of a graph its canonical form */
    const literal *args;   /* a TUPLE; NULL for a graph */
    const literal *kwargs; /* a DICT; NULL for a graph */
    const char *graph;     /* a graph's text as it stands in its file, for positions in errors; NULL for a recorded call */
    int64_t n_calls;       /* summed over the uses */
    inputs_use *uses;      /* in the order of reading, each file once */
    size_t n_uses;
    size_t operator_position; /* whose input this is: operators[operator_position] of the set */
    const inputs_file *file;  /* where it came first, */
    int32_t line;             /* 1-based; the literals hold the columns */
    int32_t operator_line, operator_column; /* of its operator's name there; 0 of a graph */
} input;

typedef struct inputs_operator {
    const char *name;     /* "aten.add.Tensor"; "aten.sum.dim_IntList" for what was recorded as "aten.sum.SymInt"; a graph's name */
    const char *recorded; /* as recorded (first seen) */
    input **items;        /* in the order of first appearance, different from each other as text */
    size_t n_items;
    int64_t n_calls; /* summed over the items */
} inputs_operator;

/* A line, or a whole file of a directory, that was left out, and why. */
typedef struct inputs_diagnostic {
    const inputs_file *file;
    int32_t line, column; /* 1-based; 0 where no place of the file is meant */
    const char *message;  /* what was expected and what came */
    const char *excerpt;  /* the line around the column, unprintable bytes as '?'; NULL where the whole file is left out */
    size_t caret;         /* 0-based offset in excerpt that the column points to */
} inputs_diagnostic;

/* A hash table from keys that the reader compares to positions in an array; private to inputs.c. */
typedef struct inputs_index {
    struct inputs_slot {
        uint64_t hash;
        size_t position; /* + 1; 0 marks a free slot */
    } * slots;
    size_t n_slots, n_used;
} inputs_index;

/* What was read so far. `inputs set = {0}` is an empty one. Pointers to the arrays hold until the next read, pointers
   to single inputs, files and literals until inputs_clear. Read-only to all but this room's own functions; not for use
   by two threads at once while reading, by any number afterwards. */
typedef struct inputs {
    inputs_operator *operators; /* in the order of first appearance; each has at least one item */
    size_t n_operators;
    input **all; /* every input of every operator, in the order of first appearance */
    size_t n_all;
    inputs_file **files; /* every file that was begun, each path once */
    size_t n_files;
    inputs_diagnostic *diagnostics; /* in the order of reading */
    size_t n_diagnostics;
    size_t n_bad_lines; /* lines left out, those below a bad Operator line too */
    size_t n_bad_files; /* of a directory, left out as a whole */
    const struct op_table *table; /* borrowed; set before reading where graphs are to be read */
    arena memory;          /* all of the above lives here */
    inputs_index operator_index, input_index;
} inputs;

/* At most this many diagnostics are kept of one file; one more then says how many lines were left out besides. */
enum { INPUTS_MAX_FILE_DIAGNOSTICS = 100 };

/* Empties the set and gives its memory back. */
void inputs_clear(inputs *set);

/* Adds the file's inputs; "-" is standard input; gzip is unpacked. Inputs whose text is already there only add to its
   counts. A bad line becomes a diagnostic and reading goes on. What a line may be: "Operator: NAMESPACE.NAME.OVERLOAD",
   "cnt: CALLS, ((ARGS...), {KWARGS...})", blank, or a comment that begins with '#'. A byte-order mark, CR LF and a
   missing last newline are fine. Failures, whose message begins with the path (and position), and after which the set
   holds what it held before: NOT_FOUND or IO (cannot be read), PARSE (truncated or corrupt gzip; a NUL byte, so no
   text; no valid line at all, with the position of the first bad one), TOO_LARGE (more than 1 GiB unpacked). After
   OUT_OF_MEMORY it may hold a part of the file. */
status inputs_read_file(inputs *set, const char *path, error *err);

/* Adds the graph in a file *.graph or *.graph.gz as an input of an "operator" of the graph's name, called once. Failures as of
   inputs_read_file and graph_read, the message beginning with the path and position; the set is then as before. */
status inputs_read_graph(inputs *set, const char *path, error *err);
/* As inputs_read_graph, from the n bytes at data; name stands for the path. */
status inputs_read_graph_text(inputs *set, const char *name, const char *data, size_t n, error *err);

/* As inputs_read_file, from the n bytes at data, which are borrowed for the call; name stands for the path. */
status inputs_read_text(inputs *set, const char *name, const char *data, size_t n, error *err);

/* Reads every *.txt, *.txt.gz, *.graph and *.graph.gz right in the directory, sorted by name. A file that fails becomes a diagnostic.
   NOT_FOUND or IO: no such directory, not readable, or no such file in it (the message says what was looked for);
   PARSE: every file failed (the message is the first one's). */
status inputs_read_directory(inputs *set, const char *path, error *err);

/* A file that was read already, perhaps under another name, is left out with a diagnostic: its calls would count twice.
   inputs_read_directory where path is a directory, inputs_read_graph where its name ends as a graph's, else
   inputs_read_file. */
status inputs_read_path(inputs *set, const char *path, error *err);

/* The operator of that name (as recorded or not), or NULL. */
const inputs_operator *inputs_find(const inputs *set, const char *name);

/* Adds "PATH:LINE:COLUMN: MESSAGE\n", and, for a line, the excerpt and a caret below its column. */
void inputs_diagnostic_print(const inputs_diagnostic *diagnostic, text *out);

#endif
