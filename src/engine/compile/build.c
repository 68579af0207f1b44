/* SPDX-License-Identifier: Apache-2.0 */
/* Runs the compiler on a program's text in a folder of its own and loads what comes out. */
#include "engine/compile/build.h"

#include "base/file.h"
#include "base/process.h"
#include "base/scratch.h"
#include "device/instructions.h"
#include "engine/compile/build_compiler.h"
#include "engine/compile/cache.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>
#include <unistd.h>

struct module {
    atomic_int holders;
    void *handle;
    cache_key key;
    char not_kept[ASSAY_ERROR_MESSAGE_BYTES];
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

/* Whether what failed did so for want of room: the compiler has said so, or there is none now either. */
static bool is_disk_full(const char *said) {
    static const char page[1 << 16] = {0};
    bool full = strstr(said, strerror(ENOSPC)) != NULL || strstr(said, strerror(EDQUOT)) != NULL;
    int fd = -1;
    if (!full && file_open_temporary(&fd, NULL) == ASSAY_OK) {
        size_t left = sizeof page;
        for (ssize_t n; left > 0 && (n = write(fd, page, left)) > 0;) {
            left -= (size_t)n;
        }
        full = left > 0 && (errno == ENOSPC || errno == EDQUOT);
        close(fd);
    }
    return full;
}

/* The compiler has ended badly. */
static status explain(const process_result *result, error *err) {
    const char *said = text_get(&result->errors);
    int length = (int)result->errors.length; /* less the line breaks at its end, which a table would show */
    while (length > 0 && strchr(" \t\r\n", said[length - 1]) != NULL) {
        length--;
    }
    bool full = is_disk_full(said);
    return fail(err, ASSAY_IO, "'%s' failed on emitted code (%s %d): %s%s%s; it said%s%.*s", build_compiler(),
                result->signal != 0 ? "signal" : "exit", result->signal != 0 ? result->signal : result->exit_code,
                full ? "the disk is full: make room in " : "",
                full ? file_temporary_folder() : "see that it builds other programs, or name another one in ASSAY_CC",
                full ? ", or name another place in TMPDIR" : "", length > 0 ? ": " : " nothing",
                length < SHOWN_BYTES ? length : SHOWN_BYTES, said);
}

static status compile_file(const char *source, const char *object, const char *temporary, build_purpose purpose, error *err) {
    const char *arguments[countof(flags) + PURPOSE_FLAGS + 6] = {build_compiler(), instructions_flag()};
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
    status ran = process_run(arguments, temporary, COMPILER_TIMEOUT_S, COMPILER_OUTPUT_LIMIT, &result, err);
    if (ran == ASSAY_NOT_FOUND) {
        bool has_arguments = strpbrk(build_compiler(), " \t") != NULL;
        return fail(err, ASSAY_NOT_FOUND, "expected a C compiler, found no '%s': %s", build_compiler(),
                    has_arguments ? "ASSAY_CC names one program, without arguments; a script may add them"
                                  : "install one (Debian: gcc) or name it in ASSAY_CC");
    }
    TRY(ran);
    if (result.exit_code != 0 || result.signal != 0) {
        ran = explain(&result, err);
    } else if (access(object, F_OK) != 0) {
        ran = fail(err, ASSAY_IO, "'%s' ended well but wrote no file: name another compiler in ASSAY_CC", build_compiler());
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

static cache_key key_of(const char *source) {
    char compiler[BUILD_COMPILER_BYTES];
    uint32_t cpu[CPU_IDENTITY_WORDS];
    build_compiler_identity(compiler, sizeof compiler);
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

/* Whether nothing that lies there may be run. */
static bool is_noexec(const char *path) {
    struct statvfs s;
    return statvfs(path, &s) == 0 && (s.f_flag & ST_NOEXEC) != 0;
}

static status load_here(const char *object, module **out, error *err) {
    if (is_noexec(object)) {
        return fail(err, ASSAY_IO, "nothing may be run from %s (it is mounted noexec): name another place in TMPDIR", file_temporary_folder());
    }
    return load(object, out, err);
}

/* What cannot be loaded is not kept, and neither is what ends this process as it is loaded: that comes first, where it can. */
static status store_and_load(const cache_key *key, const char *object, module **out, error *err) {
    text bytes = {0};
    char kept[PATH_BYTES];
    module *here = NULL;
    error why = {0}, not_here = {0};
    status loaded = load_here(object, &here, &not_here);
    if (loaded != ASSAY_OK && !is_noexec(object)) {
        return fail(err, loaded, "'%s' ended well, but not so what it made: %s; name another compiler in ASSAY_CC", build_compiler(),
                    not_here.message);
    }
    status stored = file_read(object, OBJECT_LIMIT, &bytes, &why);
    stored = stored == ASSAY_OK ? cache_store(key, ".so", bytes.data, bytes.length, kept, sizeof kept, &why) : stored;
    text_clear(&bytes);
    /* Nothing may be run from there, or another process has just taken it away: it is still here. */
    if (stored == ASSAY_OK && load(kept, out, &why) == ASSAY_OK) {
        module_free(here);
        return ASSAY_OK;
    }
    if (here == NULL) {
        if (stored == ASSAY_OK) {
            unlink(kept);
        }
        return fail(err, loaded, "%s; it is not kept either: %s", not_here.message, why.message);
    }
    memcpy(here->not_kept, why.message, sizeof here->not_kept);
    *out = here;
    return ASSAY_OK;
}

/* key NULL: not to be kept. */
static status build_anew(const char *source, build_purpose purpose, const cache_key *key, module **out, error *err) {
    scratch folder;
    char path[PATH_BYTES + 32], object[PATH_BYTES + 32];
    process_hold(); /* a signal that ends this process leaves nothing there */
    status result = scratch_make(FOLDER_NAME, &folder, err);
    if (result != ASSAY_OK) {
        process_let_go();
        return result;
    }
    snprintf(path, sizeof path, "%s/program.c", folder.path);
    snprintf(object, sizeof object, "%s/program.so", folder.path);
    result = file_write(path, source, strlen(source), err);
    result = result == ASSAY_OK ? compile_file(path, object, folder.path, purpose, err) : result;
    result = result == ASSAY_OK ? (key != NULL ? store_and_load(key, object, out, err) : load_here(object, out, err)) : result;
    scratch_remove(&folder); /* what is loaded stays mapped */
    process_let_go();
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

const char *module_why_not_kept(const module *m) {
    return m->not_kept[0] != '\0' ? m->not_kept : NULL;
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
