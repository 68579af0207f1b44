/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the environment for torch_plugin, and tells the user when something takes a while. */
#include "cli/torch.h"

#include "base/file.h"
#include "lab/measure/machine.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *set_variable(const char *name) {
    const char *value = getenv(name);
    return value != NULL && value[0] != '\0' ? value : NULL;
}

status cli_torch_options(arena *a, const char *python, torch_options *out, error *err) {
    const char *from_environment = set_variable("ASSAY_TORCH_PYTHON"), *cxx = set_variable("ASSAY_CXX");
    torch_options made = {.python = python != NULL              ? python
                                    : from_environment != NULL ? from_environment
                                                               : "python3",
                          .cxx = cxx != NULL ? cxx : "c++"};
    text cache = {0};
    if (file_add_cache_folder(&cache)) {
        made.cache_directory = cache.failed ? NULL : arena_text(a, text_get(&cache), cache.length);
        text_clear(&cache);
        if (made.cache_directory == NULL) {
            return fail(err, ASSAY_OUT_OF_MEMORY, "no memory for a path");
        }
    }
    *out = made;
    return ASSAY_OK;
}

status cli_torch_file(arena *a, const torch_options *options, const char *name, const char **file, error *err) {
    size_t length = strcspn(name, ":");
    int peer = 0;
    while (peer < TORCH_PEERS && (strncmp(name, torch_peer_name((torch_peer)peer), length) != 0 ||
                                  torch_peer_name((torch_peer)peer)[length] != '\0')) {
        peer++;
    }
    if (peer == TORCH_PEERS) {
        *file = name;
        return ASSAY_OK;
    }
    torch_found found;
    status result = torch_find(a, options, &found, err);
    if (result == ASSAY_OK && !found.is_built[peer]) {
        fprintf(stderr, "assay: building the plug-in '%s' for PyTorch %s, once; this takes about 20 s\n",
                torch_peer_name((torch_peer)peer), found.version);
        result = torch_build(a, options, &found, (torch_peer)peer, err);
    }
    if (result != ASSAY_OK) {
        return fail_within(err, result, "backend '%s'", name);
    }
    const char *path = arena_format(a, "%s%s", found.plugin_paths[peer], name + length);
    if (path == NULL) {
        return fail(err, ASSAY_OUT_OF_MEMORY, "no memory for a path");
    }
    *file = path;
    return ASSAY_OK;
}

/* Answers take a tenth of a second. A Python that has none after two of them is asked anew, with a word about it. */
static status find_soon(arena *a, const torch_options *options, torch_found *out, error *err) {
    static const double at_once_s = 2, at_most_s = 10;
    torch_options hurried = *options;
    hurried.patience_s = at_once_s;
    status result = torch_find(a, &hurried, out, err);
    if (result != ASSAY_TIMEOUT) {
        return result;
    }
    fprintf(stderr, "assay: waiting for '%s' to say whether it has a PyTorch, for %d s at most\n", options->python, (int)at_most_s);
    hurried.patience_s = at_most_s;
    return torch_find(a, &hurried, out, err);
}

bool cli_torch_sentences(arena *a, const torch_options *options, const char *said[TORCH_PEERS]) {
    torch_found found;
    error reason = {0};
    bool found_it = find_soon(a, options, &found, &reason) == ASSAY_OK;
    machine_compiler cxx = {0};
    bool can_build = machine_ask_compiler(a, options->cxx, &cxx, NULL) == ASSAY_OK && cxx.path != NULL, all = found_it;
    for (int i = 0; i < TORCH_PEERS; i++) {
        bool is_built = found_it && found.is_built[i];
        const char *state = is_built    ? "is built"
                            : can_build ? "will be built on first use"
                                        : arena_format(a, "cannot be built, there is no C++ compiler '%s': " CLI_TORCH_NO_CXX, options->cxx);
        said[i] = found_it ? arena_format(a, "PyTorch %s in %s; its plug-in %s", found.version, found.directory, state != NULL ? state : "")
                           : arena_text(a, reason.message, strlen(reason.message));
        said[i] = said[i] != NULL ? said[i] : "";
        all = all && (is_built || can_build);
    }
    return all;
}
