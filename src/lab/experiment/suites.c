/* SPDX-License-Identifier: Apache-2.0 */
/* Where the named collections of recorded inputs lie. */
#include "lab/experiment/suites.h"

#include "base/file.h"

#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* suites/embedded.txt, made into an array by cmake/embed.cmake. */
extern const char suites_embedded[];
extern const size_t suites_embedded_size;

static const suite suites[] = {
    {"huggingface", "hf_train", "One training step of each of PyTorch's Hugging Face benchmark models."},
    {"timm", "timm_train", "One training step of each of PyTorch's timm benchmark models (images)."},
    {"torchbench", "torchbench_train", "One training step of each of TorchBench's models."},
    {"graphs", "graphs", "Graphs of operators: patterns from real models, forward and backward."},
    {"embedded", NULL, "Built into the program: every operator at sizes that suit two cores."},
};

#define LOGS_OF_PYTORCH "benchmarks/dynamo/microbenchmarks/operator_inp_logs of a PyTorch checkout"
#define GRAPHS_OF_ASSAY "suites in assay's source"

const char suites_advice[] = "For those not found set ASSAY_SUITES to the folder that holds them: " LOGS_OF_PYTORCH
                             ", or, for graphs, " GRAPHS_OF_ASSAY ". `assay operators --suite NAME` says where one was looked for.";

const suite *suites_all(size_t *out_n) {
    *out_n = countof(suites);
    return suites;
}

status suites_find(const char *name, const suite **out, error *err) {
    const char *names[countof(suites)], *of_folder = NULL;
    text known = {0};
    for (size_t i = 0; i < countof(suites); i++) {
        if (strcmp(suites[i].name, name) == 0) {
            text_clear(&known);
            *out = &suites[i];
            return ASSAY_OK;
        }
        of_folder = suites[i].folder != NULL && strcmp(suites[i].folder, name) == 0 ? suites[i].name : of_folder;
        names[i] = suites[i].name;
        text_addf(&known, "%s%s", i > 0 ? ", " : "", names[i]);
    }
    const char *near = of_folder != NULL ? of_folder : text_nearest(name, names, countof(names));
    status result = fail(err, ASSAY_NOT_FOUND, "expected a suite (%s), got '%s'%s%s%s", text_get(&known), name,
                         near != NULL ? "; did you mean " : "", near != NULL ? near : "", near != NULL ? "?" : "");
    text_clear(&known);
    return result;
}

static bool is_directory(const char *path) {
    struct stat info;
    return stat(path, &info) == 0 && S_ISDIR(info.st_mode);
}

/* Where the suite lies if the place of n bytes, which is in `tried` from now on, has it. */
static bool look_in(const char *place, size_t n, const char *folder, text *found, text *tried) {
    text_addf(tried, "%s%.*s", tried->length > 0 ? ", " : "", (int)n, place);
    text_reset(found);
    text_add_bytes(found, place, n);
    while (found->length > 1 && found->data[found->length - 1] == '/') {
        found->data[--found->length] = '\0';
    }
    bool is_itself = strcmp(file_basename(text_get(found)), folder) == 0;
    if (!found->failed && is_itself && is_directory(found->data)) {
        return true;
    }
    text_addf(found, "/%s", folder);
    return !found->failed && is_directory(found->data);
}

/* What is installed is found wherever the whole was put: `cmake --install --prefix OTHER`, or a folder that was moved. `relative` is
   the way from the program's folder, "../share/assay". */
static bool add_beside_program(const char *relative, text *out) {
    char program[4096];
    ssize_t n = readlink("/proc/self/exe", program, sizeof program - 1);
    char *end = n > 0 ? memrchr(program, '/', (size_t)n) : NULL;
    while (end != NULL && strncmp(relative, "../", 3) == 0) {
        end = memrchr(program, '/', (size_t)(end - program));
        relative += 3;
    }
    if (end != NULL) {
        text_addf(out, "%.*s/%s/suites", (int)(end - program), program, relative);
    }
    return end != NULL;
}

static bool look_in_installed(const char *folder, text *found, text *tried) {
#ifdef ASSAY_DATADIR
    static const char built_for[] = ASSAY_DATADIR "/suites";
    text beside = {0};
    bool is_elsewhere = add_beside_program(ASSAY_DATADIR_FROM_PROGRAM, &beside) && strcmp(text_get(&beside), built_for) != 0;
    bool is_found = is_elsewhere && look_in(text_get(&beside), beside.length, folder, found, tried);
    text_clear(&beside);
    return is_found || look_in(built_for, strlen(built_for), folder, found, tried);
#else
    (void)folder, (void)found, (void)tried;
    return false;
#endif
}

static bool look_everywhere(const char *folder, const char *search_path, text *found, text *tried) {
    const char *at = search_path != NULL ? search_path : "";
    while (*at != '\0') {
        size_t n = strcspn(at, ":");
        if (n > 0 && look_in(at, n, folder, found, tried)) {
            return true;
        }
        at += n + (at[n] == ':');
    }
    return look_in_installed(folder, found, tried);
}

status suites_directory(const suite *which, const char *search_path, text *out, error *err) {
    if (which->folder == NULL) {
        return fail(err, ASSAY_NOT_FOUND, "the suite '%s' is built into the program and lies in no directory",
                    which->name);
    }
    text found = {0}, tried = {0};
    status result = ASSAY_OK;
    bool is_found = look_everywhere(which->folder, search_path, &found, &tried);
    if (is_found) {
        text_add(out, text_get(&found));
    } else if (!found.failed && !tried.failed) {
        result =
            fail(err, ASSAY_NOT_FOUND,
                 "the suite '%s' was not found: looked for a folder %s in %s; set ASSAY_SUITES to the folder that "
                 "holds it, such as %s, or take --suite embedded",
                 which->name, which->folder, tried.length > 0 ? tried.data : "no place (ASSAY_SUITES is not set)",
                 strcmp(which->folder, "graphs") == 0 ? GRAPHS_OF_ASSAY : LOGS_OF_PYTORCH);
    }
    if (found.failed || tried.failed || out->failed) {
        result = fail(err, ASSAY_OUT_OF_MEMORY, "no memory for the path of the suite '%s'", which->name);
    }
    text_clear(&found);
    text_clear(&tried);
    return result;
}

status suites_read(inputs *set, const suite *which, const char *search_path, error *err) {
    if (which->folder == NULL) {
        return inputs_read_text(set, which->name, suites_embedded, suites_embedded_size, err);
    }
    text path = {0};
    status result = suites_directory(which, search_path, &path, err);
    if (result == ASSAY_OK) {
        result = inputs_read_directory(set, text_get(&path), err);
    }
    text_clear(&path);
    return result;
}

const suite *suites_default(const char *search_path) {
    const suite *torchbench = NULL, *embedded = NULL;
    suites_find("torchbench", &torchbench, NULL);
    suites_find("embedded", &embedded, NULL);
    text path = {0};
    bool found = suites_directory(torchbench, search_path, &path, NULL) == ASSAY_OK;
    text_clear(&path);
    return found ? torchbench : embedded;
}
