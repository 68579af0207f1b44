/* SPDX-License-Identifier: Apache-2.0 */
/* Files of code, by what the system tells of them. */
#include "engine/kernels/identity.h"

#include "engine/kernels/cpu/onednn.h"

#include <dlfcn.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

/* By a variable: ISO C has no way from a function to an address of data. */
static const char here = 0;

void kernel_identity(char *out, size_t size_bytes) {
    Dl_info where = {0};
    struct stat s = {0};
    const char *path = dladdr(&here, &where) != 0 && where.dli_fname != NULL ? where.dli_fname : "";
    /* A program's own name may be relative to a folder that is no longer the current one. */
    path = path[0] == '/' ? path : "/proc/self/exe";
    bool known = stat(path, &s) == 0;
    snprintf(out, size_bytes, "%s %lld %lld %lld.%09ld", path, known ? (long long)s.st_ino : 0LL, (long long)s.st_size,
             (long long)s.st_mtim.tv_sec, s.st_mtim.tv_nsec);
    size_t n = strlen(out);
    if (n + 1 < size_bytes) {
        out[n++] = '\n';
        onednn_identity(out + n, size_bytes - n);
    }
}
