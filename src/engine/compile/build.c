/* SPDX-License-Identifier: Apache-2.0 */
/* Runs the compiler on a program's text in a folder of its own and loads what comes out. */
#include "engine/compile/build.h"

#include "base/file.h"
#include "base/process.h"
#include "base/scratch.h"
#include "device/instructions.h"
#include "engine/compile/cache.h"

#include <dlfcn.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct module {
    atomic_int holders;
    void *handle;
    cache_key key;
    char note[600];
};

enum { COMPILER_TIMEOUT_S = 120, COMPILER_OUTPUT_LIMIT = 1 << 16, PATH_BYTES = 4096, OBJECT_LIMIT = 64 << 20, SHOWN_BYTES = 300 };

static const char FOLDER_NAME[] = "assay-build";

/* No -ffast-math: sums may only be reordered where the emitter says so, by its lanes. errno and floating-point traps are
   nobody's business here, and integers wrap. */
static const char *const flags[] = {
    "-fno-math-errno", "-fno-trapping-math", "-fwrapv",
#if defined(__x86_64__)
    "-mprefer-vector-width=512", "-falign-loops=32", /* as cmake/isa.cmake */
#endif
    "-fPIC", "-shared",
};

/* What only one purpose asks for. */
enum { PURPOSE_FLAGS = 4 };
#define FAST_FLAGS "-O3", "-w", "-Werror=implicit-function-declaration", "-std=gnu17"
static const char *const purpose_flags[][PURPOSE_FLAGS] = {
    [BUILD_TO_LAST] = {FAST_FLAGS},
    [BUILD_TO_TEST] = {"-O0", "-Wall", "-Werror", "-Wno-tautological-compare"},
    [BUILD_TO_TRY] = {FAST_FLAGS},
};

/* What emitted code may use: all that this processor has, unless less is asked for. */
static const char *instructions_flag(void) {
    static const char *const limited[ISA_COUNT] = {"-march=x86-64", "-march=x86-64-v3", "-march=x86-64-v4"};
    return isa_is_limited() ? limited[isa_best()] : "-march=native";
}

static const char *compiler_name(void) {
    const char *named = getenv("ASSAY_CC");
    return named != NULL && named[0] != '\0' ? named : "cc";
}

static status compile_file(const char *source, const char *object, build_purpose purpose, error *err) {
    const char *arguments[countof(flags) + PURPOSE_FLAGS + 6] = {compiler_name(), instructions_flag()};
    size_t n = 2;
    for (size_t i = 0; i < PURPOSE_FLAGS; i++) {
        arguments[n++] = purpose_flags[purpose][i];
    }
    for (size_t i = 0; i < countof(flags); i++) {
        arguments[n++] = flags[i];
    }
    arguments[n++] = "-o";
    arguments[n++] = object;
    arguments[n++] = source;
    process_result result;
    status ran = process_run(arguments, COMPILER_TIMEOUT_S, COMPILER_OUTPUT_LIMIT, &result, err);
    if (ran == ASSAY_NOT_FOUND) {
        return fail(err, ASSAY_NOT_FOUND, "expected a C compiler, found no '%s': install one (Debian: gcc) or name it in ASSAY_CC",
                    compiler_name());
    }
    TRY(ran);
    if (result.exit_code != 0 || result.signal != 0) {
        const char *said = text_get(&result.errors);
        int length = (int)result.errors.length; /* less the line breaks at its end, which a table would show */
        while (length > 0 && strchr(" \t\r\n", said[length - 1]) != NULL) {
            length--;
        }
        ran = fail(err, ASSAY_IO,
                   "'%s' failed on emitted code (%s %d): see that it builds other programs, or name another one in ASSAY_CC; "
                   "it said%s%.*s",
                   compiler_name(), result.signal != 0 ? "signal" : "exit",
                   result.signal != 0 ? result.signal : result.exit_code, length > 0 ? ": " : " nothing",
                   length < SHOWN_BYTES ? length : SHOWN_BYTES, said);
    }
    process_result_clear(&result);
    return ran;
}

static status load(const char *object, module **out, error *err) {
    module *m = calloc(1, sizeof *m);
    if (m == NULL) {
        return fail(err, ASSAY_OUT_OF_MEMORY, "no memory to load compiled code");
    }
    m->holders = 1;
    m->handle = dlopen(object, RTLD_NOW | RTLD_LOCAL);
    if (m->handle == NULL) {
        free(m);
        return fail(err, ASSAY_IO, "cannot load compiled code: %s", dlerror());
    }
    *out = m;
    return ASSAY_OK;
}

/* --- the key --------------------------------------------------------------------------------------------------------------- */

/* Which compiler: its file as it is now, so that an update makes new code. */
static void compiler_identity(char *out, size_t size_bytes) {
    const char *name = compiler_name(), *folders = getenv("PATH");
    char path[PATH_BYTES] = "";
    struct stat s = {0};
    if (strchr(name, '/') != NULL) {
        snprintf(path, sizeof path, "%s", name);
    }
    while (path[0] == '\0' && folders != NULL && *folders != '\0') {
        size_t n = strcspn(folders, ":");
        snprintf(path, sizeof path, "%.*s/%s", (int)n, folders, name);
        path[access(path, X_OK) == 0 ? sizeof path - 1 : 0] = '\0';
        folders += n + (folders[n] == ':');
    }
    if (path[0] != '\0') {
        (void)stat(path, &s);
    }
    snprintf(out, size_bytes, "%s %lld %lld.%09ld", path, (long long)s.st_size, (long long)s.st_mtim.tv_sec,
             s.st_mtim.tv_nsec);
}

static cache_key key_of(const char *source) {
    char compiler[PATH_BYTES + 64];
    uint32_t cpu[CPU_IDENTITY_WORDS];
    compiler_identity(compiler, sizeof compiler);
    cpu_identity(cpu);
    const char *instructions = instructions_flag();
    cache_piece pieces[5 + countof(flags) + PURPOSE_FLAGS] = {{source, strlen(source)}, {compiler, strlen(compiler)}, {cpu, sizeof cpu},
                                                              {instructions, strlen(instructions)}};
    size_t n = 4;
    for (size_t i = 0; i < PURPOSE_FLAGS; i++) {
        const char *flag = purpose_flags[BUILD_TO_LAST][i]; /* what is built for another purpose is not kept */
        pieces[n++] = (cache_piece){flag, strlen(flag)};
    }
    for (size_t i = 0; i < countof(flags); i++) {
        pieces[n++] = (cache_piece){flags[i], strlen(flags[i])};
    }
    return cache_key_of(pieces, n);
}

/* --- building ---------------------------------------------------------------------------------------------------------------- */

static status store_and_load(const cache_key *key, const char *object, module **out, error *err) {
    text bytes = {0};
    char kept[PATH_BYTES];
    error why = {0};
    status stored = file_read(object, OBJECT_LIMIT, &bytes, &why);
    stored = stored == ASSAY_OK ? cache_store(key, ".so", bytes.data, bytes.length, kept, sizeof kept, &why) : stored;
    text_clear(&bytes);
    /* Nothing may be run from there, or another process has just taken it away: it is still here. */
    if (stored == ASSAY_OK && load(kept, out, &why) == ASSAY_OK) {
        return ASSAY_OK;
    }
    TRY(load(object, out, err));
    snprintf((*out)->note, sizeof (*out)->note, MODULE_NOT_KEPT ": %s", why.message);
    return ASSAY_OK;
}

/* key NULL: not to be kept. */
static status build_anew(const char *source, build_purpose purpose, const cache_key *key, module **out, error *err) {
    scratch folder;
    char path[PATH_BYTES + 32], object[PATH_BYTES + 32];
    TRY(scratch_make(FOLDER_NAME, &folder, err));
    snprintf(path, sizeof path, "%s/program.c", folder.path);
    snprintf(object, sizeof object, "%s/program.so", folder.path);
    status result = file_write(path, source, strlen(source), err);
    result = result == ASSAY_OK ? compile_file(path, object, purpose, err) : result;
    result = result == ASSAY_OK ? (key != NULL ? store_and_load(key, object, out, err) : load(object, out, err)) : result;
    scratch_remove(&folder); /* what is loaded stays mapped */
    return result;
}

void module_sweep(void) {
    scratch_sweep(FOLDER_NAME);
}

status module_build(const char *source, build_purpose purpose, module **out, error *err) {
    if (purpose != BUILD_TO_LAST) {
        return build_anew(source, purpose, NULL, out, err);
    }
    cache_key key = key_of(source);
    char kept[PATH_BYTES];
    if (cache_find(&key, ".so", kept, sizeof kept, NULL) == ASSAY_OK && load(kept, out, NULL) == ASSAY_OK) {
        (*out)->key = key;
        return ASSAY_OK;
    }
    TRY(build_anew(source, purpose, &key, out, err));
    (*out)->key = key;
    return ASSAY_OK;
}

const char *module_identity(const module *m) {
    return m->key.text;
}

const char *module_note(const module *m) {
    return m->note[0] != '\0' ? m->note : NULL;
}

compiled_kernel_fn *module_find(const module *m, const char *symbol) {
    compiled_kernel_fn *function = NULL;
    void *found = dlsym(m->handle, symbol);
    memcpy(&function, &found, sizeof function); /* ISO C has no cast from data to code */
    return function;
}

module *module_share(module *m) {
    atomic_fetch_add(&m->holders, 1);
    return m;
}

void module_free(module *m) {
    if (m != NULL && atomic_fetch_sub(&m->holders, 1) == 1) {
        dlclose(m->handle);
        free(m);
    }
}
