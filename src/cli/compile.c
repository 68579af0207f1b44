/* SPDX-License-Identifier: Apache-2.0 */
/* `assay compile`: shows what the compiler makes of an operator's input or of a graph. */
#include "base/text.h"
#include "cli/cli.h"
#include "engine/compile/compile.h"
#include "engine/compile/processor.h"
#include "engine/graph/graph_text.h"
#include "lab/experiment/single.h"

#include <omp.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

typedef enum dump { DUMP_TEXT, DUMP_GRAPH, DUMP_KERNELS, DUMP_C } dump;

typedef struct options {
    const char *operator_name;
    const char *arguments[2];
    int n_arguments;
    size_t dump;
    bind_options bind;
    compile_options compile;
} options;

static status take_op(void *to, const char *value, error *err) {
    (void)err;
    ((options *)to)->operator_name = value;
    return ASSAY_OK;
}

static status take_dump(void *to, const char *value, error *err) {
    static const char *const words[] = {[DUMP_TEXT] = "text", [DUMP_GRAPH] = "graph", [DUMP_KERNELS] = "kernels", [DUMP_C] = "c"};
    return cli_word("--dump", value, words, countof(words), &((options *)to)->dump, err);
}

static status take_dtype(void *to, const char *value, error *err) {
    status result = dtype_mode_find(value, &((options *)to)->bind.dtype, err);
    return result == ASSAY_OK ? ASSAY_OK : fail_within(err, result, "--dtype");
}

static status take_no_fusion(void *to, const char *value, error *err) {
    (void)value, (void)err;
    ((options *)to)->compile.no_fusion = true;
    return ASSAY_OK;
}

static status take_own_products(void *to, const char *value, error *err) {
    (void)value, (void)err;
    ((options *)to)->compile.own_products = true;
    return ASSAY_OK;
}

static status take_variants(void *to, const char *value, error *err) {
    (void)value, (void)err;
    ((options *)to)->compile.variants = true;
    return ASSAY_OK;
}

static status take_argument(void *to, const char *value, error *err) {
    options *o = to;
    if (o->n_arguments == 2) {
        return fail(err, ASSAY_INVALID, "expected OPERATOR INPUT or FILE.graph, got '%s' besides", value);
    }
    o->arguments[o->n_arguments++] = value;
    return ASSAY_OK;
}

static const cli_option rows[] = {
    {"--op", "NAME", "the operator, when only its input is an argument", take_op},
    {"--dump", "WHAT", "text: the graph as a file *.graph says it, which reads back;\ngraph: the program in primitives;\n"
                       "kernels: what is computed together, and the memory it moves;\nc: the emitted source (c)", take_dump},
    {"--dtype", "TYPE", "as-recorded, f16, bf16, f32 or f64 (as-recorded)", take_dtype},
    {"--no-fusion", NULL, "a kernel for each value that an operator answers, as compiled:nofuse has it", take_no_fusion},
    {"--own-products", NULL, "matrix products as kernels of the compiler's own, which compiled:autotune tries beside the library's",
     take_own_products},
    {"--variants", NULL, "with --dump c: all the kernels that compiled:autotune chooses from", take_variants},
};

static const cli_clash clashes[] = {
    {"--variants", "--dump=text --dump=graph --dump=kernels --no-fusion"},
    {"--no-fusion", "--dump=text"}, /* which is what the compiler is given */
    {"--own-products", "--dump=text"},
};

static const cli_verb verb = {
    .name = "compile",
    .summary = "show what the compiler makes of an operator's input, or of a graph",
    .arguments = "OPERATOR INPUT | FILE.graph",
    .examples = "  assay compile aten._softmax.default '((T([64, 1000], f32), -1, False), {})'\n"
                "  assay compile --dump kernels suites/graphs/attention.graph\n"
                "  assay compile --dump text mm '((T([8, 4], f32), T([4, 2], f32)), {})'\n",
    .options = rows,
    .n_options = countof(rows),
    .clashes = clashes,
    .n_clashes = countof(clashes),
    .take_argument = take_argument,
};

/* --- kernels ------------------------------------------------------------------------------------------------------------------ */

/* What lies in memory between steps, and how much memory that takes. */
static void print_memory(const compiled_program *p, text *out) {
    char all[32], own[32];
    double values = 0, memory = 0;
    int n = 0;
    for (int i = 0; i < p->n_buffers; i++) {
        const compile_buffer *b = &p->buffers[i];
        bool is_work = b->role == BUFFER_WORK && b->n_elems > 0;
        if (!is_work && (b->role != BUFFER_CALL || b->memory == 0)) {
            continue;
        }
        double bytes = (double)(is_work ? b->n_elems : tensor_span(b->tensor)) * (double)dtype_size(b->dtype);
        n++;
        values += bytes;
        memory += b->memory == 0 ? bytes : 0;
    }
    for (int m = 0; m < p->n_memories; m++) {
        memory += p->memories[m].output < 0 ? (double)p->memories[m].bytes : 0;
    }
    if (n > 0) {
        text_addf(out, "%d value%s between them, %s, in %s of memory besides that of the results\n", n, n == 1 ? "" : "s",
                  text_of_bytes(all, values), text_of_bytes(own, memory));
    }
}

static void print_kernels(const compiled_program *p, const graph *g, text *out) {
    char moved[32], least[32];
    program_traffic all = compile_traffic(p, g);
    for (int i = 0; i < p->n_steps; i++) {
        const compile_step *s = &p->steps[i];
        double of_step = compile_step_bytes(s);
        if (s->n_variants > 0) {
            long long n_tasks = (long long)s->variants[0].n_tasks;
            text_addf(out, "%s: %s\n    %lld task%s, about %s moved, %.3g flops\n", s->variants[0].symbol, s->title, n_tasks,
                      n_tasks == 1 ? "" : "s", text_of_bytes(moved, of_step), s->flops);
        } else {
            text_addf(out, "call %s%s%s\n    about %s moved\n", s->title, s->is_fallback ? ", fallback: " : " of the library",
                      s->is_fallback ? s->why : "", text_of_bytes(moved, of_step));
        }
    }
    for (int i = 0; i < p->n_chains; i++) {
        const chain *h = &p->chains[i];
        text_addf(out, "%s to %s are run in %lld parts, part after part\n", p->steps[h->first].variants[0].symbol,
                  p->steps[h->first + h->n_steps - 1].variants[0].symbol, (long long)h->parts);
    }
    text_addf(out, "%d kernel%s, %d call%s; about %s moved, at least %s\n", all.n_kernels, all.n_kernels == 1 ? "" : "s",
              all.n_calls, all.n_calls == 1 ? "" : "s", text_of_bytes(moved, all.bytes), text_of_bytes(least, all.least_bytes));
    print_memory(p, out);
}

/* --- text ----------------------------------------------------------------------------------------------------------------------- */

/* What runs where nothing is emitted, as C would say it. */
static void print_calls(const compiled_program *p, text *out) {
    text_add(out, p->n_steps > 0 ? "/* No kernel is emitted: all of it is calls.\n" : "/* Nothing is to be computed: the outputs lie in the inputs' memory.");
    for (int i = 0; i < p->n_steps; i++) {
        const compile_step *s = &p->steps[i];
        text_addf(out, "   %s%s%s%s", s->title, s->is_fallback ? ", the eager kernel (fallback): " : " of the library",
                  s->is_fallback ? s->why : "", i + 1 < p->n_steps ? "\n" : "");
    }
    text_add(out, " */\n");
}

/* The graph's canonical text; read back first, since an operator's input may be one that a graph cannot have. */
static status print_text(arena *memory, const single *one, text *out, error *err) {
    const bind_options as_written = {.dtype = DTYPE_AS_RECORDED};
    graph again = {0};
    text printed = {0};
    error why = {0};
    graph_print(&one->work.g, out);
    if (graph_read(memory, one->table, text_get(out), out->length, &as_written, &again, &why) != ASSAY_OK) {
        return fail(err, ASSAY_UNSUPPORTED, "a graph's text cannot say this: %s", why.message);
    }
    graph_print(&again, &printed);
    bool same = strcmp(text_get(&printed), text_get(out)) == 0;
    text_clear(&printed);
    graph_clear(&again);
    return same ? ASSAY_OK : fail(err, ASSAY_UNSUPPORTED, "a graph's text cannot say this: it would be read as something else");
}

static status compile_one(const options *o, const single_name *name, arena *memory, single *one, text *out, error *err) {
    compiled_program program;
    TRY(single_read(memory, name, one, err));
    TRY(workload_fill(memory, &one->work, 1, 1, false, memory_limit_of_machine(), err));
    if (o->dump == DUMP_TEXT) {
        return print_text(memory, one, out, err);
    }
    TRY(compile_graph(memory, &one->work.g, &o->compile, &program, err));
    if (o->dump == DUMP_GRAPH) {
        text_add(out, program.dag_text);
    } else if (o->dump == DUMP_KERNELS) {
        print_kernels(&program, &one->work.g, out);
    } else if (program.source[0] == '\0') {
        print_calls(&program, out);
    } else {
        text_add(out, program.source);
    }
    return out->failed ? fail(err, ASSAY_OUT_OF_MEMORY, "no memory for the text") : ASSAY_OK;
}

/* --- arguments ------------------------------------------------------------------------------------------------------------------ */

static bool is_graph(const char *argument) {
    return text_ends_with(argument, ".graph") || text_ends_with(argument, ".graph.gz");
}

/* A graph, or a file or folder where an input is expected: what to say about it; NULL: it is none. */
static const char *file_instead(const char *argument, bool is_operator) {
    struct stat info;
    bool is_there = !is_operator && stat(argument, &info) == 0;
    return is_there && S_ISDIR(info.st_mode) ? "a folder; name one of its files *.graph"
           : is_graph(argument)              ? "a graph, which stands alone"
           : is_there                        ? "a file; graphs are in files *.graph or *.graph.gz"
                                             : NULL;
}

/* What the arguments name: NULL fields where they do not say. */
static status name_of(const options *o, single_name *out, error *err) {
    *out = (single_name){.bind = o->bind};
    if (o->n_arguments == 1 && o->operator_name == NULL && is_graph(o->arguments[0])) {
        out->graph = o->arguments[0];
        return ASSAY_OK;
    }
    for (int i = 0; i < o->n_arguments; i++) {
        const char *instead = file_instead(o->arguments[i], i == 0 && o->n_arguments == 2);
        if (instead != NULL) {
            return fail(err, ASSAY_INVALID, "expected OPERATOR INPUT, --op NAME INPUT or FILE.graph alone, got '%s': %s", o->arguments[i],
                        instead);
        }
    }
    if (o->operator_name != NULL && o->n_arguments == 2) {
        return fail(err, ASSAY_INVALID, "expected --op NAME INPUT, got --op %s and '%s' besides", o->operator_name, o->arguments[0]);
    }
    if (o->n_arguments != (o->operator_name != NULL ? 1 : 2)) {
        return fail(err, ASSAY_INVALID, "expected OPERATOR INPUT, --op NAME INPUT or FILE.graph, got %d argument%s",
                    o->n_arguments, o->n_arguments == 1 ? "" : "s");
    }
    out->operator_name = o->operator_name != NULL ? o->operator_name : o->arguments[0];
    out->input = o->arguments[o->n_arguments - 1];
    return ASSAY_OK;
}

int cli_compile(int argc, char **argv) {
    options o = {.dump = DUMP_C, .compile.n_threads = omp_get_max_threads()};
    compile_options_of_cpu(&o.compile);
    int exit_code;
    if (!cli_parse(&verb, argc, argv, &o, &exit_code)) {
        return exit_code;
    }
    error err = {0};
    single_name name;
    if (name_of(&o, &name, &err) != ASSAY_OK) {
        return cli_fail("compile", &err, EXIT_USAGE);
    }
    arena memory = {0};
    single one = {0};
    text out = {0};
    status result = compile_one(&o, &name, &memory, &one, &out, &err);
    if (result == ASSAY_OK) {
        fputs(text_get(&out), stdout);
    }
    single_clear(&one);
    text_clear(&out);
    arena_clear(&memory);
    return result == ASSAY_OK ? EXIT_OK
                              : cli_fail("compile", &err, result == ASSAY_UNSUPPORTED || result == ASSAY_OUT_OF_MEMORY ? EXIT_FAILED : EXIT_USAGE);
}
