/* SPDX-License-Identifier: Apache-2.0 */
/* Loops over one row of numbers, of which reductions, norms, softmax and losses are put together.

   They compute in one of three types: float (for f32, f16 and bf16 tensors), double, int64 (integers and booleans). A row of
   another type or stride is brought in by load, which a block of ROW_BLOCK elements at a time keeps in the L1 cache; one
   that already has the type and lies together is used where it lies (row_fetch).

   Sums: blocks of ROW_BLOCK in at least 16 partial sums of the computing type, blocks in double (in int64 for integers), so
   that the error grows with the block's length and not the row's. */
#ifndef ENGINE_KERNELS_CPU_ROW_LOOPS_H
#define ENGINE_KERNELS_CPU_ROW_LOOPS_H

#include "engine/kernels/cpu/isa.h"
#include "engine/kernels/cpu/row_edge.h"
#include "engine/tensor/dtype.h"

#include <stdbool.h>

enum { ROW_BLOCK = 2048, ROW_SHORT_PLACED = 256 };

/* What a fold does with each element. */
typedef enum row_kind {
    ROW_SUM,
    ROW_SQUARES,  /* adds x^2 */
    ROW_SIZES,    /* adds |x| */
    ROW_LARGEST,  /* NaN if there is one */
    ROW_SMALLEST, /* NaN if there is one */
    ROW_NONZERO,  /* 1 if an element is not 0 */
    ROW_ZERO,     /* 1 if an element is 0 */
    ROW_KINDS
} row_kind;

/* What a row folds into: f for float and double rows, i for integers. */
typedef union row_wide {
    double f;
    int64_t i;
} row_wide;

/* Rows of running sums side by side that are taken at once. */
enum { SCAN_ROWS = 4 };

/* The least length of rows that are taken two or three in turns. */
enum { STREAM_LEAST = 128 };

/* Steps of rows read and write rows of one type: the computing type or, for float, f16 or bf16. What goes
   with each of a row's n elements in the computing type lies in a room of row_beside_room(n) numbers, on a line of memory: that of
   element i at row_beside, by even and odd places for bf16. */
enum { ROW_BESIDE = 16 };

static inline int64_t row_beside_half(int64_t n) {
    return (n / 2 + 2 * ROW_BESIDE) / ROW_BESIDE * ROW_BESIDE;
}

static inline int64_t row_beside_room(int64_t n) {
    return 2 * row_beside_half(n);
}

static inline int64_t row_beside(dtype t, int64_t i, int64_t n) {
    return t == ASSAY_BF16 ? (i & 1) * row_beside_half(n) + i / 2 : i;
}

/* Rows of softmax_short up to so long are taken several together. */
enum { SOFTMAX_SHORT_BYTES = 1024 };

/* By how much numbers may exceed what is subtracted from them before the exponential: e^60 times any number of rows is in range. */
#define SOFTMAX_REACH 60
#define EXP_REACH ((value)1.142e26) /* e^60 */

/* Two lines of a softmax of n >= STREAM_LEAST elements, one after the other. */
typedef struct softmax_step {
    dtype type;
    bool logarithm;
    bool begins;       /* shift is not given: the largest of the line's first elements, if that is finite, is as good */
    const void *after; /* the line that is read next; NULL: none */
    double near;       /* answer: a shift for it, as good. Sought here, nothing waits for it */
    int64_t n;
    const void *x;     /* the line that is read; NULL: none. What lies behind it is asked for */
    void *made;        /* its exponentials go here, beside the line, unless only the logarithm is asked for: */
    double shift;      /* of x less this. Answer: what it was less by, about that */
    const void *from;  /* the line that is finished: its exponentials, beside it, or x for the logarithm */
    double sum;        /* answer: of the exponentials */
    void *to;          /* NULL: none */
    row_edge *edge;    /* of its first and last bytes; NULL: they are stored at once */
    bool past;         /* it goes past the caches, and what is read comes from behind them */
    double factor;     /* 1 over its sum, or its logarithm */
    double largest;    /* answer, for the logarithm: of x, NaN aside */
    double finish_largest; /* is taken off first, for the logarithm */
    double part;       /* answer, for the logarithm: exponential of the largest */
} softmax_step;

/* Two lines of its gradient of n >= STREAM_LEAST elements, one after the other. */
typedef struct softmax_back_step {
    dtype type;
    bool logarithm;
    int64_t n;
    const void *g, *y; /* the line that is read: the output's gradient and the output. What lies behind is asked for */
    double sum;        /* answer: of g y, for the logarithm of g */
    const void *from_g, *from_y; /* the line that is finished */
    void *to;
    row_edge *edge;    /* as above */
    bool past;         /* as above */
    double finish_sum;
} softmax_back_step;

typedef enum columns_kind { COLUMNS_SOFTMAX, COLUMNS_LOG_SOFTMAX, COLUMNS_SOFTMAX_BACK, COLUMNS_LOG_SOFTMAX_BACK } columns_kind;

/* Two blocks of columns of softmax or its gradient: one is finished and stored past the caches, and another is read into its
   place. Forward that takes it to its exponentials; the rows of a group share what is subtracted before, column by column.
   What follows in brackets is of gradients. What has one number a column stands in rows of `room` elements, each `margin`
   elements behind the row before it: rows of kept, kept_other, shift, and factor, finish_shift, sum and largest alone. Without a margin
   kept and kept_other are in an order of their own. */
enum { COLUMNS_GROUP = 32, /* rows, at most */
       COLUMNS_CHUNK_BYTES = 128 };

/* Rows of n elements of the computing type, strides in elements. `to` may be what is made, or x, or y. */
typedef struct softmax_box {
    void *to;
    void *made;    /* exponentials, or copies, of all rows, one behind the other; it may be x */
    const void *x; /* the input; backwards the output's gradient */
    const void *y; /* backwards: the forward's output */
    int64_t to_stride, x_stride, y_stride;
    int64_t rows, n;
    int64_t abreast; /* forward: rows that lie together and are taken for one; 1, or x and `to` have no more than n to a row */
    bool logarithm;
    void *work; /* 2 n elements, forward as many times that as are abreast */
} softmax_box;

typedef struct columns_step {
    dtype type;       /* of what is read and stored: the computing type or, for float, f16 or bf16 */
    columns_kind kind;
    int64_t rows;
    int64_t group;    /* rows: COLUMNS_GROUP or fewer */
    int64_t room;     /* a multiple of COLUMNS_CHUNK_BYTES of the computing type, at least n and out_n */
    int64_t margin;   /* COLUMNS_CHUNK_BYTES of it, where a row of the output may begin within a line; else 0, and all of them are on
                         lines. What has one number a column is in any order within chunks of so many columns then */
    void *kept;       /* exponentials, in the computing type, or for the logarithm what was read [the output's gradient] */
    void *kept_other; /* [the output, for the logarithm in the computing type its exponential]; not NULL */
    void *shift;      /* a row for each group: what was subtracted, not less than for the group before [not read] */
    int64_t out_n;    /* columns of the block that is finished; 0: none */
    bool out_lags;    /* whether exponentials of a group may be less by something else than finish_shift */
    bool out_begins, out_ends; /* whether nothing that was stored before, or is next, lies before, or behind, it in its rows. Only
                                  a block that ends them may be no multiple of chunks */
    void *heads;      /* NULL, or COLUMNS_CHUNK_BYTES a row: where rows of the output follow each other, for what they begin with within a line.
                         The blocks that begin and end them have the same */
    void *to;
    int64_t to_stride;
    bool past;        /* the caches; else lines of the output stay in them */
    const void *factor, *finish_shift; /* 1 over the sums of exponentials less finish_shift, or their logarithms [sums] */
    int64_t n;        /* columns of the block that is read; 0: none */
    const void *next, *next_other; /* [next_other: the output] */
    int64_t next_stride, other_stride;
    int64_t ahead;    /* as many rows further on, memory is asked for */
    int64_t ahead_bytes; /* or, unless it is 0, as many bytes further on in a group's rows and, behind their end, in the next group's */
    bool asks_far;    /* for L2 */
    double lowest;    /* the lowest number that is finite */
    void *largest;    /* answer, for the logarithm: NaN aside */
    bool *lags;       /* set where a group's shift is another than that of the group before */
    void *sum;        /* answer: of exponentials less the last group's shift [of gradients, times the output but for the logarithm] */
} columns_step;

/* n <= ROW_RING elements of rows of a norm with channels apart: one row is finished, and another is read, to be kept in a place that may
   be the first's own; or so for several rows, which come from memory side by side; or several are finished or read, each kept where it
   lies. All rows, what is kept included, are of one type:
   the computing type or, for float, f16 or bf16. */
enum { ROW_RING = 2 * ROW_BLOCK, RING_ROWS = 4 };
typedef struct ring_numbers {
    double factor, plus; /* to = x factor + plus */
    double mean, a, b, c; /* gradients: as channel_grad */
} ring_numbers;
typedef struct ring_step {
    dtype type;
    int64_t n;
    int64_t rows;                      /* RING_ROWS at most where something is kept */
    const void *from, *from_dy;        /* what is finished: x, and gradients' dy */
    void *to;                          /* NULL: nothing is finished */
    bool past;                         /* it goes past the caches */
    ring_numbers finish[RING_ROWS];    /* each row's; of rows that are finished where they lie, the first's are all rows' */
    const void *next, *next_dy;        /* NULL: nothing is read */
    int64_t x_step, dy_step, to_step;  /* bytes from row to row of what is read, or finished where it lies, and of where that goes */
    int64_t kept_step;                 /* of what is kept, and of what was and is finished; 0: nothing ever is */
    void *kept, *kept_dy;              /* where what is read is kept; NULL: nowhere */
    bool in_turn;                      /* a block of each row in turn; all rows are finished to where lines begin then */
    const void *after, *after_dy;      /* what is read after that: memory is asked for it, where next ends, and something is kept */
    double centre;                     /* near next's mean; gradients: the mean */
    double sum, products;              /* answers: sums of next - centre and its squares; gradients: of dy and dy (next - centre) */
} ring_step;

/* Two rows of layer norm of n >= STREAM_LEAST elements, one after the other. Answers stand apart from each other: two neighbours may
   be read as one, which waits for what wrote them apart to leave for memory. */
typedef struct layer_step {
    dtype type;
    double sum;     /* answer: of distances from the centre */
    int64_t n;
    const void *x;  /* the row that is read; NULL: none. While one is finished, what lies behind it is asked for */
    double centre;  /* near its mean, as the computing type has it */
    double squares; /* answer: of distances from the centre */
    const void *from; /* the row that is finished */
    void *to;         /* NULL: none */
    row_edge *edge;   /* of its first and last bytes; NULL: they are stored at once */
    bool past;        /* it goes past the caches, and what is read comes from behind them */
    double mean, rstd;
    const void *weight, *bias; /* NULL: none; beside the row. No NaN but of few digits, as NAN is */
} layer_step;

/* Two groups of a group norm, one after the other, whose n / row channels lie one behind the other, past the caches. The group that is
   finished is x factor + plus. Answers stand apart as above. */
typedef struct group_step {
    dtype type;
    double sum;     /* answer: of distances from the centre */
    int64_t n, row; /* elements of a group, n >= STREAM_LEAST, and of a channel */
    const void *x;  /* the group that is read; NULL: none. What lies behind it is asked for */
    double centre;  /* near its mean, as the computing type has it */
    double squares; /* answer: of distances from the centre */
    const void *from;            /* the group that is finished */
    void *to;                    /* NULL: none */
    row_edge *edge;              /* of its first and last bytes */
    const double *factor, *plus; /* by channel */
} group_step;

/* to = x factor + plus, row by row, of rows one behind the other. Of the computing type or, for float, f16 or bf16. */
typedef struct scaled_rows {
    dtype type;
    int64_t n, rows;
    const void *x;
    void *to;
    bool past;                   /* the caches, and what lies behind x is asked for */
    row_edge *edge;              /* of bytes that are no whole line; NULL: they are stored at once */
    const double *factor, *plus; /* a number a row */
} scaled_rows;

/* Rows of layer norm one behind the other. LAYER_LINES_STEP: n is a multiple. */
enum { LAYER_LINES_STEP = 32 };
typedef struct layer_lines {
    dtype type;
    int64_t n, lines, finished; /* so many are read, and finished */
    const void *x;              /* what is read */
    bool past;                  /* the caches, to whole lines of memory, and what lies behind x is asked for; if not, there are weights and biases */
    int64_t ahead;              /* bytes: so far, and rows go abreast, past the caches; 0: row by row, of 4096 elements at most */
    double centre;              /* near their means, as the computing type has it */
    double *sum, *squares;      /* answers: of distances from the centre, line by line */
    const void *from;           /* what is finished */
    void *to;
    const double *mean, *rstd;
    const void *weight, *bias;  /* as above */
} layer_lines;

/* Two rows of its gradient of n >= STREAM_LEAST elements, one after the other. g = dy * weight. */
typedef struct layer_back_step {
    dtype type;
    double g;           /* answer: sum of g */
    int64_t n;
    const void *dy, *x; /* the row that is read; NULL: none. What lies behind it is asked for */
    double mean, rstd;
    void *weight_sums, *bias_sums; /* NULL: none; beside the rows: += dy (x - mean) rstd and dy, of both rows */
    double gx;                     /* answer: sum of g (x - mean) rstd */
    const void *from_dy, *from_x;  /* the row that is finished */
    void *to;                      /* NULL: none */
    row_edge *edge;                /* as above */
    bool past;                     /* as above */
    double from_mean, from_rstd;
    double from_g, from_gx;        /* its sums, over n */
    const void *weight;            /* NULL: 1; beside the row. As above */
} layer_back_step;

/* Rows of its gradient one behind the other, of a multiple of LAYER_LINES_STEP elements, 4096 at most. */
typedef struct layer_back_lines {
    dtype type;
    int64_t n, lines, finished;      /* so many are read, and finished */
    const void *dy, *x;              /* what is read */
    const double *mean, *rstd;
    double *g, *gx;                  /* answers: as above, times share */
    double share;
    const void *from_dy, *from_x;    /* what is finished */
    void *to;
    const double *from_mean, *from_rstd, *from_g, *from_gx;
    void *weight_sums, *bias_sums;   /* as above, of what is finished */
    const void *weight;              /* as above, but none of the three is NULL */
    bool past;                       /* as above */
} layer_back_lines;

typedef struct row_loops {
    dtype type; /* ASSAY_F32, ASSAY_F64 or ASSAY_I64 */
    size_t size;

    void (*load)(void *to, const char *from, dtype t, int64_t stride_bytes, int64_t n);
    void (*store)(char *to, dtype t, int64_t stride_bytes, const void *from, int64_t n);
    void (*fill)(void *to, double value, int64_t n);
    /* As memcpy, past the caches; settle makes it visible to other threads. */
    void (*stream)(void *to, const void *from, size_t bytes);
    void (*settle)(void);

    row_wide start[ROW_KINDS];
    void (*fold[ROW_KINDS])(row_wide *total, const void *x, int64_t n);
    /* The sum of n numbers of a type narrower than i64, as they lie, where rows are integers; NULL elsewhere. */
    int64_t (*narrow_sum)(dtype t, const void *x, int64_t n);
    /* The largest or the smallest of n > 0 numbers of a narrower type, as they lie; of i64 too. */
    int64_t (*narrow_extreme)(dtype t, const void *x, int64_t n, bool smallest);
    /* As fold, of n bytes that are numbers or truth values; NULL where there is none. */
    void (*fold_bytes[ROW_KINDS])(row_wide *total, const void *x, int64_t n);
    /* Rows of n numbers of a narrower type, as they lie, row_stride bytes apart, into acc; NULL where rows are no integers. Sums, and of
       types of one byte whether there is a number that is not 0, or one that is. */
    void (*narrow_rows)(int64_t *acc, row_kind kind, dtype t, const char *at, int64_t rows, int64_t row_stride, int64_t n);
    /* Shorter rows are slower to take together than their columns are to add up: where memory cannot be read by parts of a register. */
    int64_t least_together;
    /* totals[r] is row r of n elements, row_stride elements apart, or goes on by it; NULL where there is none. */
    void (*fold_short[ROW_KINDS])(row_wide *totals, const void *x, int64_t rows, int64_t row_stride, int64_t n, bool goes_on);
    /* Runs of n <= ROW_BLOCK elements, run_stride elements apart, into one total; NULL where there is none. */
    void (*fold_runs[ROW_KINDS])(row_wide *total, const void *x, int64_t runs, int64_t run_stride, int64_t n);
    /* total[i] folds in x[i]; totals are of the computing type. */
    void (*into[ROW_KINDS])(void *total, const void *x, int64_t n);
    /* The first largest (smallest) or first NaN of a row of ROW_BLOCK elements at most. */
    int64_t (*place)(const void *x, int64_t n, bool smallest);
    /* The same of rows of ROW_SHORT_PLACED elements at most, row_stride elements apart. NULL where there is no such loop. */
    void (*place_short)(int32_t *places, const void *x, int64_t rows, int64_t row_stride, int64_t n, bool smallest);
    /* Of four times rows / 4 rows of n columns, 16 at least, `stride` elements apart, INT32_MAX at most: what beats best, which the first
       row is, and where (int32), which is 0. False: there is a NaN, and those mean nothing. NULL where there is no such loop. */
    bool (*place_rows)(void *best, void *where, const void *x, int64_t rows, int64_t stride, int64_t n, bool smallest);
    /* Keeps in best[i] and where[i] (int32 for float, int64 otherwise) what beats it: x[i] found at row `at`. */
    void (*place_into)(void *best, void *where, const void *x, int64_t at, int64_t n, bool smallest);
    /* sums[i] folds in column i of rows; strides in elements. NULL where there is none. */
    void (*add_rows[ROW_KINDS])(void *sums, const void *x, int64_t rows, int64_t row_stride, int64_t n);
    void (*sum_rows)(void *to, const void *x, int64_t rows, int64_t row_stride, int64_t n); /* of values, into no sums before; rows > 0 */
    /* Running sums from *total on. past: whole lines go past the caches, and `to` begins one. */
    void (*scan)(void *to, const void *x, row_wide *total, int64_t n, bool past);
    void (*scan_lines)(void *to, const void *x, int64_t n, int64_t lines); /* of lines of n that lie one behind the other; to may be x */
    void (*scan_columns)(void *to, const void *x, row_wide *totals, int64_t n); /* one row of n lines side by side */
    /* SCAN_ROWS such rows, strides in elements. far: rows that are read later on, asked for meanwhile; NULL: none. past: as in scan; each
       row of to begins a line. */
    void (*scan_four_rows)(void *to, int64_t to_stride, const void *x, int64_t x_stride, row_wide *totals, int64_t n, const void *far, bool past);

    /* Float and double only from here. */
    /* to[i] = sums[i] / divisor, or the root of that. */
    void (*finish)(float *to, const double *sums, double divisor, bool root, int64_t n);
    double (*dot)(const void *x, const void *y, int64_t n);
    double (*dot_centred)(const void *x, const void *y, double mean, int64_t n); /* sum of x (y - mean) */
    double (*distance)(const void *x, const void *y, int64_t n);                 /* sum of (x - y)^2 */
    void (*moments)(const void *x, int64_t n, double *mean, double *m2);
    /* Adds sums of x - centre and of its squares, n <= ROW_BLOCK. The centre is of the computing type. */
    void (*sums_about)(const void *x, int64_t n, double centre, double *sum, double *squares);
    /* Of n columns over rows: means and sums of squared distances from them. */
    void (*moments_columns)(const void *x, int64_t rows, int64_t row_stride, int64_t n, void *mean, void *m2);
    /* Merges another count's moments into what n_before elements gave, column by column (Chan, Golub and LeVeque). */
    void (*moments_merge)(double *mean, double *m2, const void *mean_new, const void *m2_new, double n_before,
                          double n_new, int64_t n);

    /* Many short rows (ROW_BLOCK elements at most) one behind the other, each with its own numbers. */
    void (*moments_short)(const void *x, int64_t rows, int64_t n, double *mean, double *m2);
    void (*scale_short)(void *to, const void *x, const double *factor, const double *plus, int64_t rows, int64_t n);
    /* row k: to = (x - mean[k]) * rstd[k] * weight + bias; NULL: 1 and 0 */
    void (*centre_short)(void *to, const void *x, const double *mean, const double *rstd, const void *weight, const void *bias,
                         int64_t rows, int64_t n);
    /* layer norm's gradient, row by row as layer_sums, layer_grad and layer_params have it; to and the sums may be NULL */
    void (*layer_back_short)(void *to, const void *dy, const void *x, const void *weight, const double *mean, const double *rstd,
                             void *weight_sums, void *bias_sums, int64_t rows, int64_t n);
    void (*channel_sums_short)(const void *dy, const void *x, const double *mean, int64_t rows, int64_t n, double *sums,
                               double *products); /* adds */
    void (*channel_grad_short)(void *to, const void *dy, const void *x, const double *mean, const double *a, const double *b,
                               const double *c, int64_t rows, int64_t n);
    void (*ring_forward)(ring_step *step);
    void (*ring_backward)(ring_step *step);
    void (*softmax_short)(void *to, const void *x, int64_t rows, int64_t n, bool logarithm); /* to may be x */
    /* The same past the caches, of rows of whole lines of memory, of SOFTMAX_SHORT_BYTES at most, to where a line begins. */
    void (*softmax_lines)(void *to, const void *x, int64_t rows, int64_t n, bool logarithm);
    /* The gradient, of rows of SOFTMAX_SHORT_BYTES at most; `to` touches neither operand. */
    void (*softmax_back_short)(void *to, const void *grad, const void *output, int64_t rows, int64_t n, bool logarithm);

    void (*softmax_stream)(softmax_step *step);
    void (*softmax_back_stream)(softmax_back_step *step);

    double (*exp_shifted)(void *to, const void *x, double shift, int64_t n); /* to = exp(x - shift); their sum */
    double (*sum_exp)(const void *x, double shift, int64_t n);
    void (*scale)(void *to, const void *x, double factor, double plus, int64_t n); /* x * factor + plus */
    void (*subtract)(void *to, const void *x, double less, double more, int64_t n);  /* (x - less) - more */
    void (*softmax_back)(void *to, const void *g, const void *y, double sum, int64_t n);     /* (g - sum) y */
    void (*log_softmax_back)(void *to, const void *g, const void *y, double sum, int64_t n); /* g - exp(y) sum */
    /* The same down the columns of a box. */
    void (*softmax_columns)(const softmax_box *box);
    void (*softmax_back_columns)(const softmax_box *box);

    void (*columns_stream)(const columns_step *step);
    /* to = x exp(a - b), column by column, in the computing type: by the exponentials that columns of type t have. */
    void (*columns_scale)(dtype t, void *to, const void *x, const void *a, const void *b, int64_t n);

    /* to = log(1 + x), x >= 0 or NaN: 4 ulp in float. */
    void (*log_beyond_1)(void *to, const void *x, int64_t n);

    void (*layer_stream)(layer_step *step);
    void (*group_stream)(group_step *step);
    void (*layer_lines)(const layer_lines *lines);
    void (*layer_back_lines)(const layer_back_lines *lines);
    void (*scale_rows)(const scaled_rows *rows);
    void (*layer_back_stream)(layer_back_step *step);
    void (*centre)(void *to, const void *x, double mean, double rstd, const void *weight, const void *bias, int64_t n);
    void (*affine)(void *to, const void *x, const void *factor, const void *plus, int64_t n);
    /* One row of layer norm's gradient: g = dy * weight (NULL: 1); sums of g and g (x - mean) rstd. */
    void (*layer_sums)(const void *dy, const void *x, const void *weight, double mean, double rstd, int64_t n, double *g,
                       double *gx);
    void (*layer_grad)(void *to, const void *dy, const void *x, const void *weight, double mean, double rstd, double g,
                       double gx, int64_t n);
    /* weight_sums += dy (x - mean) rstd, bias_sums += dy. */
    void (*layer_params)(void *weight_sums, void *bias_sums, const void *dy, const void *x, double mean, double rstd,
                         int64_t n);
    /* to = dy * a + (x - mean) * b + c, with one number for the row or one for each column. */
    void (*channel_grad)(void *to, const void *dy, const void *x, double mean, double a, double b, double c, int64_t n);
    void (*channel_grad_columns)(void *to, const void *dy, const void *x, const void *mean, const void *a, const void *b,
                                 const void *c, int64_t n);
    /* sums += dy, products += dy (x - mean), by columns. */
    void (*channel_sums_columns)(void *sums, void *products, const void *dy, const void *x, const void *mean, int64_t n);
    /* sums += x - centre, squares += (x - centre)^2, by columns. */
    void (*channel_squares_columns)(void *sums, void *squares, const void *x, const void *centre, int64_t n);
    void (*square_difference)(void *to, const void *x, const void *y, int64_t n);
    /* factor (x - y) g; g may be NULL for 1 */
    void (*scaled_difference)(void *to, const void *g, const void *x, const void *y, double factor, int64_t n);
    /* Of long rows of type t, the computing type or, where that is float, f16 or bf16: the sum of (x - y)^2, and factor (x - y), past the
       caches or not. */
    double (*distance_of)(dtype t, const void *x, const void *y, int64_t n);
    void (*difference_stream)(dtype t, void *to, const void *x, const void *y, double factor, int64_t n, bool past);
} row_loops;

/* The loops that serve tensors of a type (complex ones as their parts), for this CPU. Never NULL. */
const row_loops *row_loops_for(dtype t);

/* n elements from `from` in the computing type: where they lie, or loaded into buffer. */
static inline const void *row_fetch(const row_loops *l, void *buffer, const char *from, dtype t, int64_t stride_bytes,
                                    int64_t n) {
    if (t == l->type && stride_bytes == (int64_t)l->size) {
        return from;
    }
    l->load(buffer, from, t, stride_bytes, n);
    return buffer;
}

/* Where to compute n elements meant for `to`: there, or in buffer, from which row_put then stores them. */
static inline void *row_target(const row_loops *l, void *buffer, char *to, dtype t, int64_t stride_bytes) {
    return t == l->type && stride_bytes == (int64_t)l->size ? (void *)to : buffer;
}

static inline void row_put(const row_loops *l, char *to, dtype t, int64_t stride_bytes, const void *from, int64_t n) {
    if (from != to) {
        l->store(to, t, stride_bytes, from, n);
    }
}

#endif
