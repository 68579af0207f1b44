/* SPDX-License-Identifier: Apache-2.0 */
/* Plug-ins that go wrong, one per FAULT_ definition, for the tests of what a bad plug-in costs: one row, never the run.
   Where `prepare` and `run` are not the fault themselves they serve relu.default on contiguous f32 tensors. */
#include "assay/backend.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum fault {
    FAULT_WRONG_ABI,
    FAULT_REFUSES,
    FAULT_CRASHES_LOADING,
    FAULT_HANGS_LOADING,
    FAULT_PREPARE_CRASHES,
    FAULT_RUN_CRASHES,
    FAULT_HANGS,
    FAULT_EATS_MEMORY,
    FAULT_WRONG_RESULT,
    FAULT_UNWRITTEN,
    FAULT_EXITS,
    FAULT_UNSUPPORTED,
    FAULT_SHORT_TABLE,
    FAULT_BAD_NAME,
    FAULT_PRINTS,
    FAULT_NO_ROOM,
    FAULT_OUTPUT_FAILS,
    FAULT_KEEPS_PROGRAM, /* no fault: a program outlives its plan */
    FAULT_CLOSE_CRASHES,
    FAULT_CRASHES_LATER,   /* after the checked run */
    FAULT_DOES_NOTHING,    /* whatever the operator */
    FAULT_MASK_UNWRITTEN,  /* of native_dropout outside training */
    FAULT_RELEASE_CRASHES,
    FAULT_NO_STATUS,
    FAULT_NO_MESSAGE,
    FAULT_BAD_MESSAGE,
    FAULT_OUTPUT_BREAKS,
    FAULT_OUTPUT_OF_NOTHING,
    FAULT_OUTPUT_WITHOUT_SIZES,
    FAULT_ODD_PRECISION,
    FAULT_WRITES_BEHIND,
    FAULT_WRITES_BEFORE,
    FAULT_WRITES_INPUT,
    FAULT_WRONG_LATER,
    FAULT_SKIPS_LATER,
    FAULT_KEEPS_RESULT,
    FAULT_HARMS_OTHERS, /* whoever starts a process in this one after it has been prepared crashes */
};

/* FAULT and NAME come from the build, one plug-in for each. */
static const enum fault fault = FAULT;

struct assay_plan {
    const assay_program *program;
    const float *input;
    float *output;
    int64_t n;
    float *kept; /* NULL until the first run */
    int runs;
    bool has_run;
};

static assay_status answer(assay_error *error, assay_status code, const char *message) {
    if (error != NULL) {
        error->code = code;
        snprintf(error->message, sizeof error->message, "%s", message);
    }
    return code;
}

/* Both volatile: a compiler may leave out a store that nobody reads. */
static void crash(void) {
    volatile int *volatile nowhere = NULL;
    signal(SIGSEGV, SIG_DFL); /* a sanitizer would turn the signal into an exit */
    *nowhere = 1;
}

static void crash_on_signal(int number) {
    (void)number;
    crash();
}

static assay_status prepare(void *state, const assay_program *program, assay_plan **out, assay_plan_facts *facts,
                            assay_error *error) {
    (void)state;
    const char *served = fault == FAULT_MASK_UNWRITTEN ? "native_dropout.default" : "relu.default";
    if (fault == FAULT_NO_STATUS) {
        return (assay_status)77;
    }
    if (fault == FAULT_NO_MESSAGE) {
        return ASSAY_UNSUPPORTED;
    }
    if (fault == FAULT_BAD_MESSAGE) {
        memset(error->message, 'x', sizeof error->message); /* without an end */
        memcpy(error->message, "two\nlines \033[31m", 15);
        return ASSAY_UNSUPPORTED;
    }
    facts->precision = fault == FAULT_ODD_PRECISION ? 200 : ASSAY_WIDE;
    if (fault == FAULT_DOES_NOTHING) { /* whatever the operator */
        *out = calloc(1, sizeof **out);
        return *out != NULL ? ASSAY_OK : ASSAY_OUT_OF_MEMORY;
    }
    if (fault == FAULT_UNSUPPORTED || strcmp(program->nodes[0].op, served) != 0) {
        return answer(error, ASSAY_UNSUPPORTED, "not today");
    }
    if (fault == FAULT_NO_ROOM) {
        return answer(error, ASSAY_OUT_OF_MEMORY, "no memory for 123 bytes of work space");
    }
    if (fault == FAULT_PREPARE_CRASHES) {
        crash();
    }
    if (fault == FAULT_HARMS_OTHERS) {
        signal(SIGCHLD, crash_on_signal);
    }
    const assay_tensor_view *output = &program->tensors[program->outputs[0]];
    assay_plan *plan = malloc(sizeof *plan);
    if (plan == NULL) {
        return answer(error, ASSAY_OUT_OF_MEMORY, "no memory for a plan");
    }
    *plan = (assay_plan){.program = program,
                         .input = program->tensors[program->nodes[0].arguments[0].tensors[0]].data,
                         .output = output->data,
                         .n = 1};
    for (int32_t i = 0; i < output->ndim; i++) {
        plan->n *= output->sizes[i];
    }
    *out = plan;
    return ASSAY_OK;
}

/* Memory is touched, or the system would never hand it out. The limit is assay's to hold. */
static assay_status eat(assay_error *error) {
    enum { PIECE_BYTES = 256 << 20 };
    for (;;) {
        char *volatile piece = malloc(PIECE_BYTES);
        if (piece == NULL) {
            return answer(error, ASSAY_OUT_OF_MEMORY, "ate all there was");
        }
        memset(piece, 1, PIECE_BYTES);
    }
}

static bool has_run;
static int runs;
enum { CHECKED_RUNS = 2 }; /* the one on other values, and the one whose outputs are looked at */

static assay_status run(assay_plan *plan, assay_error *error) {
    plan->has_run = true;
    if (plan->output == NULL) {
        return ASSAY_OK; /* into memory of its own, it would say */
    }
    switch (fault) {
    case FAULT_RUN_CRASHES:
        crash();
        break;
    case FAULT_HANGS:
        for (;;) {
            pause();
        }
    case FAULT_EATS_MEMORY:
        return eat(error);
    case FAULT_EXITS:
        exit(0);
    case FAULT_MASK_UNWRITTEN:
        memcpy(plan->output, plan->input, (size_t)plan->n * sizeof *plan->output);
        return ASSAY_OK;
    case FAULT_CRASHES_LATER:
        if (++runs > CHECKED_RUNS) {
            crash();
        }
        break;
    case FAULT_CLOSE_CRASHES:
        has_run = true;
        break;
    case FAULT_PRINTS:
        printf("a plug-in says hello\n");
        fflush(stdout);
        break;
    default:
        break;
    }
    if (fault == FAULT_KEEPS_PROGRAM) {
        const assay_program *p = plan->program;
        plan->input = p->tensors[p->nodes[0].arguments[0].tensors[0]].data;
        plan->output = p->tensors[p->outputs[0]].data;
    }
    plan->runs++;
    if (fault == FAULT_WRITES_INPUT && plan->n > 0) {
        *(float *)plan->input = 100;
    }
    if (fault == FAULT_SKIPS_LATER && plan->runs > 3) {
        return ASSAY_OK;
    }
    if (fault == FAULT_KEEPS_RESULT && plan->kept != NULL) {
        memcpy(plan->output, plan->kept, (size_t)plan->n * sizeof *plan->kept);
        return ASSAY_OK;
    }
    int64_t n = fault == FAULT_UNWRITTEN && plan->n > 0 ? plan->n - 1 : plan->n;
    for (int64_t i = 0; i < n; i++) {
        plan->output[i] = plan->input[i] <= 0 ? 0 : plan->input[i];
    }
    for (int64_t i = 0; fault == FAULT_WRITES_BEHIND && i < 600; i++) {
        plan->output[plan->n + i] = 7;
    }
    if (fault == FAULT_WRITES_BEFORE) {
        plan->output[-1] = 7;
    }
    if (fault == FAULT_KEEPS_RESULT) {
        plan->kept = malloc((size_t)n * sizeof *plan->kept);
        memcpy(plan->kept, plan->output, (size_t)n * sizeof *plan->kept);
    }
    bool is_wrong = fault == FAULT_WRONG_RESULT || (fault == FAULT_WRONG_LATER && plan->runs > 3);
    if (is_wrong && n > 0) {
        plan->output[n / 2] += 1;
    }
    return ASSAY_OK;
}

static void release(assay_plan *plan) {
    free(plan->kept);
    free(plan);
    if (fault == FAULT_RELEASE_CRASHES) {
        crash();
    }
}

static assay_status output(assay_plan *plan, int32_t i, assay_tensor_view *out, assay_error *error) {
    if (!plan->has_run) {
        crash(); /* nobody may ask before */
    }
    if (fault == FAULT_OUTPUT_FAILS) {
        return answer(error, ASSAY_UNSUPPORTED, "its results cannot be shown");
    }
    if (fault == FAULT_OUTPUT_BREAKS) {
        return answer(error, ASSAY_INTERNAL, "device lost");
    }
    *out = plan->program->tensors[plan->program->outputs[i]]; /* which has no memory */
    out->sizes = fault == FAULT_OUTPUT_WITHOUT_SIZES ? NULL : out->sizes;
    return ASSAY_OK;
}

/* What makes its outputs itself, and says so. */
#define SHOWS_OUTPUT \
    (FAULT == FAULT_OUTPUT_FAILS || FAULT == FAULT_OUTPUT_BREAKS || FAULT == FAULT_OUTPUT_OF_NOTHING || FAULT == FAULT_OUTPUT_WITHOUT_SIZES)

static void close_state(void *state) {
    (void)state;
    if (fault == FAULT_CLOSE_CRASHES && has_run) {
        crash();
    }
}

static const assay_backend table = {
    .abi = FAULT == FAULT_WRONG_ABI ? ASSAY_BACKEND_ABI + 1 : ASSAY_BACKEND_ABI,
    .size_bytes = FAULT == FAULT_SHORT_TABLE ? 16 : sizeof(assay_backend),
    .name = FAULT == FAULT_BAD_NAME ? "two words" : NAME,
    .doc = "wrong\x1b[31m on purpose",
    .prepare = prepare,
    .run = run,
    .release = release,
    .output = SHOWS_OUTPUT ? output : NULL,
    .close = close_state,
};

__attribute__((visibility("default"))) const assay_backend *assay_backend_entry(uint32_t abi, assay_error *error);

const assay_backend *assay_backend_entry(uint32_t abi, assay_error *error) {
    (void)abi;
    if (fault == FAULT_CRASHES_LOADING) {
        crash();
    }
    while (fault == FAULT_HANGS_LOADING) {
        pause();
    }
    if (fault == FAULT_REFUSES) {
        answer(error, ASSAY_NO_DEVICE, "no such device in this machine");
        return NULL;
    }
    return &table;
}
