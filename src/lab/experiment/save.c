/* SPDX-License-Identifier: Apache-2.0 */
/* Saves what a point read and what each backend made of it. */
#include "lab/experiment/save.h"

#include "base/file.h"
#include "base/hash.h"
#include "base/json.h"
#include "lab/experiment/npy.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

status save_check(const char *directory, error *err) {
    struct stat info;
    text path = {0};
    text_addf(&path, "%s/manifest.jsonl", directory);
    bool is_used = !path.failed && stat(path.data, &info) == 0 && (!S_ISREG(info.st_mode) || info.st_size > 0);
    status result = is_used ? fail(err, ASSAY_IO, "%s: there are saved tensors already; name another folder, or remove this one first", path.data)
                            : ASSAY_OK;
    text_clear(&path);
    return result;
}

status save_begin(const char *directory, error *err) {
    TRY(save_check(directory, err));
    TRY(file_make_directories(directory, err));
    text path = {0};
    text_addf(&path, "%s/manifest.jsonl", directory);
    status result = path.failed ? fail(err, ASSAY_OUT_OF_MEMORY, "no memory for a path") : file_write(path.data, "", 0, err);
    text_clear(&path);
    return result;
}

static void note_failure(save_log *log, const char *message) {
    if (log->n_failures++ == 0) {
        snprintf(log->first, sizeof log->first, "%s", message);
    }
}

/* One write call a line, on a file opened for appending: workers that die leave whole lines. */
static void append_line(const char *directory, text *line, save_log *log) {
    text path = {0};
    error err = {0};
    text_addf(&path, "%s/manifest.jsonl", directory);
    text_add_char(line, '\n');
    if (path.failed || line->failed) {
        fail(&err, ASSAY_OUT_OF_MEMORY, "no memory for a line of the manifest");
    } else {
        int fd = open(path.data, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0666);
        errno = fd >= 0 ? ENOSPC : errno; /* what a write that is cut short does not set */
        bool written = fd >= 0 && write(fd, line->data, line->length) == (ssize_t)line->length;
        int reason = errno;
        bool closed = fd < 0 || close(fd) == 0;
        if (!written || !closed) {
            fail(&err, ASSAY_IO, "%s: cannot be written: %s", path.data, strerror(written ? errno : reason));
        }
    }
    if (err.code != ASSAY_OK) {
        note_failure(log, err.message);
    }
    text_clear(&path);
}

/* Whether the manifest has the lines of this point's inputs (whose: "") or of a backend's outputs; from now on it does. */
static bool was_listed(save_log *log, const operators_point *point, const char *whose) {
    const uint64_t hash = hash_text(whose);
    if (log->point != point) {
        log->point = point;
        log->n_listed = 0;
    }
    for (uint32_t i = 0; i < log->n_listed && i < SAVE_MOST_LISTED; i++) {
        if (log->listed[i] == hash) {
            return true;
        }
    }
    if (log->n_listed < SAVE_MOST_LISTED) {
        log->listed[log->n_listed++] = hash;
    }
    return false;
}

static void put_common(json_writer *w, const char *kind, const operators_point *point) {
    json_put_string(w, "record", kind);
    json_put_string(w, "operator", point->recorded->name);
    json_put_string(w, "schema", point->o != NULL ? point->o->signature.text : NULL);
    json_put_string(w, "input", point->in->text);
    json_put_int(w, "sample_index", point->sample_index);
}

static void put_ints(json_writer *w, const char *key, int n, const int64_t *items) {
    json_key(w, key);
    json_begin_array(w);
    for (int i = 0; i < n; i++) {
        json_int(w, items[i]);
    }
    json_end_array(w);
}

/* "DIR/aten.add.Tensor-3-NAME.npy": the file, and what the manifest says of the tensor in it. */
static void put_tensor(json_writer *w, const char *directory, const operators_point *point, const char *name,
                       const tensor *t, save_log *log) {
    text path = {0};
    error err = {0};
    const char *file_dtype = NULL;
    text_addf(&path, "%s/%s-%" PRId64 "-%s.npy", directory, point->recorded->name, point->sample_index, name);
    status written = path.failed ? ASSAY_OUT_OF_MEMORY : npy_write(path.data, t, &file_dtype, &err);
    json_put_string(w, "file", written == ASSAY_OK ? file_basename(path.data) : NULL);
    if (written != ASSAY_OK) {
        json_put_string(w, "warning", path.failed ? "no memory for a path" : err.message);
        note_failure(log, path.failed ? "no memory for a path" : err.message);
    }
    json_put_string(w, "dtype", assay_dtype_name(t->dtype));
    json_put_string(w, "file_dtype", file_dtype);
    put_ints(w, "shape", t->ndim, t->sizes);
    put_ints(w, "strides", t->ndim, t->strides);
    json_put_bool(w, "is_number", t->is_wrapped_number);
    text_clear(&path);
}

static void put_number(json_writer *w, number n) {
    if (n.category == CATEGORY_BOOLEAN) {
        json_bool(w, n.i != 0);
    } else if (n.category == CATEGORY_INTEGRAL) {
        json_int(w, n.i);
    } else if (n.category == CATEGORY_COMPLEX) {
        json_begin_array(w);
        json_double(w, n.f);
        json_double(w, n.im);
        json_end_array(w);
    } else if (n.f != n.f || n.f - n.f != 0) {
        json_string(w, n.f != n.f ? "nan" : n.f > 0 ? "inf" : "-inf"); /* JSON has no such numbers */
    } else {
        /* A float keeps its point, so that a reader knows it from an integer. */
        size_t from = w->out->length;
        json_double(w, n.f);
        if (!w->out->failed && strpbrk(w->out->data + from, ".e") == NULL) {
            text_add(w->out, ".0");
        }
    }
}

static void put_value(json_writer *w, const arg *a) {
    json_key(w, "value");
    switch (a->kind) {
    case ARG_NUMBER:
        put_number(w, a->number);
        return;
    case ARG_INT:
        json_int(w, a->i);
        return;
    case ARG_FLOAT:
        put_number(w, number_of_double(a->f));
        return;
    case ARG_BOOL:
        json_bool(w, a->b);
        return;
    case ARG_DTYPE:
        json_string(w, assay_dtype_name(a->dtype));
        return;
    case ARG_INTS:
    case ARG_FLOATS:
    case ARG_BOOLS:
        json_begin_array(w);
        for (int i = 0; i < a->n; i++) {
            if (a->kind == ARG_INTS) {
                json_int(w, a->ints[i]);
            } else if (a->kind == ARG_FLOATS) {
                json_double(w, a->floats[i]);
            } else {
                json_bool(w, a->bools[i]);
            }
        }
        json_end_array(w);
        return;
    case ARG_STR:
    case ARG_LAYOUT:
    case ARG_DEVICE:
    case ARG_MEMORY_FORMAT:
        json_string(w, a->str);
        return;
    default:
        json_null(w);
    }
}

static const char *kind_text(arg_kind kind) {
    static const char *const texts[] = {"none", "tensor", "tensors", "number", "int",   "float",  "bool",   "str",
                                        "ints", "floats", "bools",   "dtype",  "layout", "device", "memory_format", "generator"};
    return texts[kind];
}

static void save_argument(const char *directory, const operators_point *point, int i, const arg *a, int item, uint64_t seed, save_log *log) {
    text line = {0};
    char name[96];
    const param *p = &point->o->signature.params[i];
    json_writer w = {.out = &line};
    json_begin_object(&w);
    put_common(&w, "input", point);
    json_put_string(&w, "argument", p->name);
    json_put_int(&w, "position", i);
    json_put_string(&w, "kind", kind_text(a->kind));
    json_put_bool(&w, "keyword", p->is_keyword);
    if (a->kind == ARG_TENSORS) {
        json_put_int(&w, "item", item);
        json_put_int(&w, "items", a->n);
    }
    const tensor *t = a->kind == ARG_TENSOR ? a->tensor : a->kind == ARG_TENSORS && item >= 0 ? a->tensors[item] : NULL;
    if (t != NULL) {
        snprintf(name, sizeof name, item >= 0 ? "in-%.60s-%d" : "in-%.60s", p->name, item);
        put_tensor(&w, directory, point, name, t, log);
    } else if (a->kind != ARG_TENSORS) {
        put_value(&w, a);
    }
    json_key(&w, "seed");
    json_uint(&w, seed);
    json_end_object(&w);
    append_line(directory, &line, log);
    text_clear(&line);
}

static void save_graph_input(const char *directory, const operators_point *point, int i, const graph_input *in, uint64_t seed, save_log *log) {
    text line = {0};
    char name[96];
    json_writer w = {.out = &line};
    json_begin_object(&w);
    put_common(&w, "input", point);
    json_put_string(&w, "argument", in->name);
    json_put_int(&w, "position", i);
    json_put_string(&w, "kind", kind_text(ARG_TENSOR));
    json_put_bool(&w, "keyword", false);
    snprintf(name, sizeof name, "in-%.70s", in->name);
    put_tensor(&w, directory, point, name, in->value, log);
    json_key(&w, "seed");
    json_uint(&w, seed);
    json_end_object(&w);
    append_line(directory, &line, log);
    text_clear(&line);
}

void save_inputs(const char *directory, const operators_point *point, const workload *w, uint64_t seed, save_log *log) {
    if (directory == NULL || was_listed(log, point, "")) {
        return;
    }
    for (int i = 0; w->is_graph && i < w->g.n_inputs; i++) {
        save_graph_input(directory, point, i, &w->g.inputs[i], seed, log);
    }
    for (int i = 0; !w->is_graph && i < point->o->signature.n_params; i++) {
        const arg *a = &w->bound.call.args[i];
        if (a->kind == ARG_TENSORS && a->n > 0) {
            for (int k = 0; k < a->n; k++) {
                save_argument(directory, point, i, a, k, seed, log);
            }
        } else {
            save_argument(directory, point, i, a, -1, seed, log);
        }
    }
}

/* A plan that ran, and where its outputs go. */
typedef struct output_place {
    const char *directory;
    const operators_point *point;
    const char *backend;
    char short_name[80]; /* the backend's in the names of files, which have not room for every one */
    double reduction;
    bool is_listed;
} output_place;

static void shorten(const char *name, char *out, size_t size) {
    enum { MOST_CHARS = 64 };
    if (strlen(name) <= MOST_CHARS) {
        snprintf(out, size, "%s", name);
    } else {
        snprintf(out, size, "%.47s-%016" PRIx64, name, hash_text(name));
    }
}

static void save_output(const output_place *p, int i, const char *part, const tensor *t, save_log *log) {
    text line = {0};
    char name[160];
    json_writer w = {.out = &line};
    json_begin_object(&w);
    put_common(&w, "output", p->point);
    json_put_string(&w, "backend", p->backend);
    json_put_int(&w, "output", i);
    json_put_string(&w, "part", part);
    json_put_double(&w, "reduction", p->reduction);
    snprintf(name, sizeof name, "out-%s-%d%s%s", p->short_name, i, part != NULL ? "-" : "", part != NULL ? part : "");
    put_tensor(&w, p->directory, p->point, name, t, log);
    json_end_object(&w);
    if (!p->is_listed) {
        append_line(p->directory, &line, log);
    }
    text_clear(&line);
}

void save_outputs(const char *directory, const operators_point *point, const char *name_of_backend, plan *p, int n,
                  double reduction, save_log *log) {
    if (directory == NULL) {
        return;
    }
    output_place at = {.directory = directory, .point = point, .backend = name_of_backend, .reduction = reduction};
    at.is_listed = was_listed(log, point, name_of_backend);
    shorten(name_of_backend, at.short_name, sizeof at.short_name);
    for (int i = 0; i < n; i++) {
        tensor t = {0};
        error err = {0};
        if (p->output(p, i, &t, &err) != ASSAY_OK) {
            note_failure(log, err.message);
            continue;
        }
        if (t.sparse != NULL) {
            save_output(&at, i, "indices", &t.sparse->indices, log);
            save_output(&at, i, "values", &t.sparse->values, log);
        } else {
            save_output(&at, i, NULL, &t, log);
        }
        tensor_clear(&t);
    }
}
