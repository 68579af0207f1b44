/* SPDX-License-Identifier: Apache-2.0 */
/* Runs the compiler on a program's text in a folder of its own and loads what comes out. */
#include "engine/compile/build.h"

#include "base/file.h"
#include "base/process.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct module {
    void *handle;
};

enum { COMPILER_TIMEOUT_S = 120, COMPILER_OUTPUT_LIMIT = 1 << 16 };

static const char *compiler_name(void) {
    const char *named = getenv("ASSAY_CC");
    return named != NULL && named[0] != '\0' ? named : "cc";
}

/* No -ffast-math: sums may only be reordered where the emitter says so, by its lanes. errno and floating-point traps are
   nobody's business here, and integers wrap. */
static status compile_file(const char *source, const char *object, error *err) {
    const char *arguments[] = {compiler_name(), "-O3", "-march=native", "-fno-math-errno", "-fno-trapping-math", "-fwrapv",
#if defined(__x86_64__)
                               "-mprefer-vector-width=512",
#endif
                               "-w", "-fPIC", "-shared", "-o", object, source, NULL};
    process_result result;
    status ran = process_run(arguments, COMPILER_TIMEOUT_S, COMPILER_OUTPUT_LIMIT, &result, err);
    if (ran == ASSAY_NOT_FOUND) {
        return fail(err, ASSAY_NOT_FOUND, "expected a C compiler, found no '%s': install one (Debian: gcc) or name it in ASSAY_CC",
                    compiler_name());
    }
    TRY(ran);
    if (result.exit_code != 0 || result.signal != 0) {
        ran = fail(err, ASSAY_UNSUPPORTED, "'%s' failed on emitted code (%s %d): %.300s", compiler_name(),
                   result.signal != 0 ? "signal" : "exit", result.signal != 0 ? result.signal : result.exit_code,
                   text_get(&result.errors));
    }
    process_result_clear(&result);
    return ran;
}

static status load(const char *object, module **out, error *err) {
    module *m = calloc(1, sizeof *m);
    if (m == NULL) {
        return fail(err, ASSAY_OUT_OF_MEMORY, "no memory to load compiled code");
    }
    m->handle = dlopen(object, RTLD_NOW | RTLD_LOCAL);
    if (m->handle == NULL) {
        free(m);
        return fail(err, ASSAY_IO, "cannot load compiled code: %s", dlerror());
    }
    *out = m;
    return ASSAY_OK;
}

status module_build(const char *source, module **out, error *err) {
    const char *base = getenv("TMPDIR");
    char folder[4096], path[4200], object[4200];
    snprintf(folder, sizeof folder, "%s/assay-XXXXXX", base != NULL && base[0] != '\0' ? base : "/tmp");
    if (mkdtemp(folder) == NULL) {
        return fail(err, ASSAY_IO, "cannot make a folder for compiled code in %s: set TMPDIR", folder);
    }
    snprintf(path, sizeof path, "%s/program.c", folder);
    snprintf(object, sizeof object, "%s/program.so", folder);
    status result = file_write(path, source, strlen(source), err);
    result = result == ASSAY_OK ? compile_file(path, object, err) : result;
    result = result == ASSAY_OK ? load(object, out, err) : result;
    unlink(path); /* what is loaded stays mapped */
    unlink(object);
    rmdir(folder);
    return result;
}

compiled_kernel_fn *module_find(const module *m, const char *symbol) {
    compiled_kernel_fn *function = NULL;
    void *found = dlsym(m->handle, symbol);
    memcpy(&function, &found, sizeof function); /* ISO C has no cast from data to code */
    return function;
}

void module_free(module *m) {
    if (m != NULL) {
        dlclose(m->handle);
        free(m);
    }
}
