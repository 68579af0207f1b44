/* SPDX-License-Identifier: Apache-2.0 */
/* PyTorch's plug-in: found through the user's Python, built from the source inside this program, kept by what it depends on. */
#include "lab/experiment/torch_plugin.h"

#include "base/file.h"
#include "base/hash.h"
#include "base/json_tree.h"
#include "base/process.h"
#include "base/scratch.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

/* The oldest PyTorch whose headers the source is meant for. */
enum { OLDEST_MAJOR = 2, OLDEST_MINOR = 11 };
enum { PROBE_TIMEOUT_S = 30, BUILD_TIMEOUT_S = 600, OUTPUT_LIMIT_BYTES = 1 << 20 };

static const char how_to_get[] = "get one with `python3 -m venv DIR && DIR/bin/pip install torch` and name it with "
                                 "--torch-python DIR/bin/python or $ASSAY_TORCH_PYTHON";

/* --- the source, made into arrays by cmake/embed.cmake ------------------------------------------------------------------------ */

extern const char torch_probe_py[], torch_convert_h[], torch_convert_cpp[], torch_substitute_h[], torch_substitute_cpp[],
    torch_precision_h[], torch_precision_cpp[], torch_torch_cpp[], torch_helper_h[], torch_helper_cpp[], torch_circumstances_h[],
    torch_circumstances_cpp[], torch_inductor_cpp[],
    torch_aot_py[], torch_abi_backend_h[], torch_abi_dtype_h[], torch_abi_status_h[];

static const struct {
    const char *path;
    const char *text;
} sources[] = {
    {"convert.h", torch_convert_h},
    {"convert.cpp", torch_convert_cpp},
    {"substitute.h", torch_substitute_h},
    {"substitute.cpp", torch_substitute_cpp},
    {"precision.h", torch_precision_h},
    {"precision.cpp", torch_precision_cpp},
    {"torch.cpp", torch_torch_cpp},
    {"helper.h", torch_helper_h},
    {"helper.cpp", torch_helper_cpp},
    {"circumstances.h", torch_circumstances_h},
    {"circumstances.cpp", torch_circumstances_cpp},
    {"inductor.cpp", torch_inductor_cpp},
    {"aot.py", torch_aot_py},
    {"assay/backend.h", torch_abi_backend_h},
    {"assay/dtype.h", torch_abi_dtype_h},
    {"assay/status.h", torch_abi_status_h},
};

/* One translation unit each: ATen's headers take longer than all of the plug-in. Of libtorch, eager operators need the CPU's
   part only (CUDA's is half a gigabyte); the packages that AOTInductor makes ask for libtorch.so by name. */
static const struct {
    const char *name;
    const char *main;
    const char *library;
} peers[TORCH_PEERS] = {
    [TORCH_EAGER] = {"torch", "torch.cpp", "-ltorch_cpu"},
    [TORCH_INDUCTOR] = {"inductor", "inductor.cpp", "-ltorch"},
};

const char *torch_peer_name(torch_peer peer) {
    return peers[peer].name;
}

/* --- finding -------------------------------------------------------------------------------------------------------------------- */

enum { PLUGIN_LIMIT_BYTES = 256 << 20, SUM_BYTES = 64 };

/* What the file beside a plug-in says of it: how long it is, and a hash. False: it cannot be read. */
static bool sum_of(const char *path, char sum[SUM_BYTES]) {
    text bytes = {0};
    bool is_read = file_read(path, PLUGIN_LIMIT_BYTES, &bytes, NULL) == ASSAY_OK;
    snprintf(sum, SUM_BYTES, "%zu %016" PRIx64 "\n", bytes.length, hash_words(text_get(&bytes), bytes.length));
    text_clear(&bytes);
    return is_read;
}

static bool add_sum_path(text *out, const char *path) {
    text_addf(out, "%s.sum", path);
    return !out->failed;
}

/* Whether a plug-in is there as it was built: one that was cut short by a full disk or a crash would not load, and never be replaced. */
static bool is_whole(const char *path) {
    text sum_path = {0}, kept = {0};
    char sum[SUM_BYTES];
    bool whole = access(path, R_OK) == 0 && add_sum_path(&sum_path, path) &&
                 file_read(text_get(&sum_path), SUM_BYTES, &kept, NULL) == ASSAY_OK && sum_of(path, sum) && strcmp(sum, text_get(&kept)) == 0;
    text_clear(&sum_path);
    text_clear(&kept);
    return whole;
}

static status place_plugins(arena *a, torch_found *found, error *err) {
    for (int i = 0; i < TORCH_PEERS; i++) {
        found->plugin_paths[i] = arena_format(a, "%s/assay-%s.so", found->plugin_directory, peers[i].name);
        if (found->plugin_paths[i] == NULL) {
            return fail(err, ASSAY_OUT_OF_MEMORY, "no memory for the plug-in's path");
        }
        found->is_built[i] = is_whole(found->plugin_paths[i]);
    }
    return ASSAY_OK;
}

static const char *text_of(const json_value *object, const char *key) {
    const json_value *found = json_find(object, key);
    return found != NULL && found->kind == JSON_STRING ? found->text : NULL;
}

/* The last line with anything on it: what an interpreter or a compiler says at the end. */
static void last_line(const text *from, char *buffer, size_t size_bytes) {
    const char *all = text_get(from);
    size_t end = strlen(all);
    while (end > 0 && strchr(" \r\n\t", all[end - 1]) != NULL) {
        end--;
    }
    size_t begin = end;
    while (begin > 0 && all[begin - 1] != '\n') {
        begin--;
    }
    snprintf(buffer, size_bytes, "%.*s", (int)(end - begin), all + begin);
}

static status ask_python(arena *a, const torch_options *options, const json_value **answer, error *err) {
    const char *arguments[] = {options->python, "-c", torch_probe_py, NULL};
    process_result r = {0};
    double patience_s = options->patience_s > 0 ? options->patience_s : PROBE_TIMEOUT_S;
    status started = process_run(arguments, NULL, patience_s, OUTPUT_LIMIT_BYTES, &r, err);
    if (started == ASSAY_NOT_FOUND) {
        return fail(err, ASSAY_NOT_FOUND, "no Python at '%.150s', so no PyTorch; %s", options->python, how_to_get);
    }
    if (started == ASSAY_TIMEOUT) {
        return fail_within(err, started, "asking for a PyTorch");
    }
    TRY(started);
    status result = ASSAY_OK;
    if (r.exit_code != 0 || r.signal != 0) {
        char said[200];
        last_line(&r.errors, said, sizeof said);
        result = fail(err, ASSAY_INVALID, "'%.150s' was asked for its PyTorch and failed (%s %d)%s%s", options->python,
                      r.signal != 0 ? "signal" : "exit", r.signal != 0 ? r.signal : r.exit_code,
                      said[0] != '\0' ? ": " : " without a word; see that it is a Python", said);
    } else if (json_parse(a, text_get(&r.out), r.out.length, answer, NULL) != ASSAY_OK) {
        char said[100];
        last_line(&r.out, said, sizeof said);
        result = fail(err, ASSAY_INVALID, "'%.150s' is no Python: asked for its PyTorch it answered '%s'", options->python, said);
    }
    process_result_clear(&r);
    return result;
}

static bool is_there(const char *directory, const char *below) {
    text path = {0};
    struct stat info;
    text_addf(&path, "%s/%s", directory, below);
    bool found = !path.failed && stat(text_get(&path), &info) == 0;
    text_clear(&path);
    return found;
}

static status check_version(const torch_found *found, error *err) {
    char *end = NULL;
    long major = strtol(found->version, &end, 10);
    long minor = *end == '.' ? strtol(end + 1, NULL, 10) : 0;
    bool recent = major > OLDEST_MAJOR || (major == OLDEST_MAJOR && minor >= OLDEST_MINOR);
    return recent ? ASSAY_OK
                  : fail(err, ASSAY_UNSUPPORTED, "PyTorch %.40s (%.200s) is too old: %d.%d is the first that works", found->version,
                         found->directory, OLDEST_MAJOR, OLDEST_MINOR);
}

static status check_files(const torch_found *found, error *err) {
    static const struct {
        const char *below, *what;
    } needed[] = {{"include/ATen/ATen.h", "headers"}, {"lib/libtorch_cpu.so", "library"}, {"lib/libc10.so", "library"}};
    for (size_t i = 0; i < countof(needed); i++) {
        if (!is_there(found->directory, needed[i].below)) {
            return fail(err, ASSAY_UNSUPPORTED, "PyTorch %.40s lacks its %s: there is no %s in %.200s; take the package from PyPI",
                        found->version, needed[i].what, needed[i].below, found->directory);
        }
    }
    return ASSAY_OK;
}

/* Where the plug-in is made, and the name of the folder beside it with what Inductor compiles. The one is named by everything that
   makes another file of the plug-in: its source, the compiler, the PyTorch; the other by the PyTorch and the helper alone, as
   compiled operators take long to make and need not go with each change of the plug-in. A library that was replaced in its place
   has another size or time. */
static void name_directories(arena *a, const torch_options *options, torch_found *found, const char *git) {
    text parts = {0};
    struct stat library = {0};
    text_addf(&parts, "%s/lib/libtorch_cpu.so", found->directory);
    stat(text_get(&parts), &library);
    text_addf(&parts, "\n%s\n%s\n%s\n%jd %jd\n", found->version, git, found->python, (intmax_t)library.st_size,
              (intmax_t)library.st_mtime);
    uint64_t of_torch = hash_bytes(text_get(&parts), parts.length, 0);
    uint64_t of_packages = hash_bytes(torch_aot_py, strlen(torch_aot_py), of_torch);
    uint64_t of_plugin = hash_bytes(options->cxx, strlen(options->cxx), of_torch);
    for (size_t i = 0; i < countof(sources); i++) {
        of_plugin = hash_bytes(sources[i].text, strlen(sources[i].text), of_plugin);
    }
    text_clear(&parts);
    found->plugin_directory = arena_format(a, "%s/torch-%s-%016" PRIx64, options->cache_directory, found->version, of_plugin);
    found->packages = arena_format(a, "torch-%s-packages-%016" PRIx64, found->version, of_packages);
}

status torch_find(arena *a, const torch_options *options, torch_found *out, error *err) {
    const json_value *answer = NULL;
    TRY(ask_python(a, options, &answer, err));
    torch_found found = {.python = text_of(answer, "python"),
                         .version = text_of(answer, "version"),
                         .directory = text_of(answer, "directory")};
    const char *git = text_of(answer, "git");
    if (found.version == NULL || found.directory == NULL || found.python == NULL) {
        return fail(err, ASSAY_NOT_FOUND, "'%.150s' has no PyTorch; %s", options->python, how_to_get);
    }
    TRY(check_version(&found, err));
    TRY(check_files(&found, err));
    if (options->cache_directory != NULL) {
        name_directories(a, options, &found, git != NULL ? git : "");
        if (found.plugin_directory == NULL || found.packages == NULL) {
            return fail(err, ASSAY_OUT_OF_MEMORY, "no memory for the plug-in's path");
        }
        TRY(place_plugins(a, &found, err));
    }
    *out = found;
    return ASSAY_OK;
}

/* --- building ------------------------------------------------------------------------------------------------------------------- */

static status write_sources(const char *directory, error *err) {
    status result = ASSAY_OK;
    text path = {0};
    text_addf(&path, "%s/assay", directory);
    result = file_make_directories(text_get(&path), err);
    for (size_t i = 0; result == ASSAY_OK && i < countof(sources); i++) {
        text_reset(&path);
        text_addf(&path, "%s/%s", directory, sources[i].path);
        result = path.failed ? fail(err, ASSAY_OUT_OF_MEMORY, "no memory for a path")
                             : file_write(text_get(&path), sources[i].text, strlen(sources[i].text), err);
    }
    text_clear(&path);
    return result;
}

/* The first line with "error" in it: the rest follows from it. */
static void first_error(const text *log, char *buffer, size_t size_bytes) {
    const char *all = text_get(log), *found = strstr(all, "error");
    const char *cannot = strstr(all, "cannot find");
    found = found != NULL ? found : cannot;
    if (found == NULL) {
        last_line(log, buffer, size_bytes);
        return;
    }
    while (found > all && found[-1] != '\n') {
        found--;
    }
    snprintf(buffer, size_bytes, "%.*s", (int)strcspn(found, "\n"), found);
}

static status compile(arena *a, const torch_options *options, const torch_found *found, torch_peer peer, const char *made,
                      error *err) {
    const char *d = found->plugin_directory, *t = found->directory;
    if (strpbrk(found->python, "\"\\\n") != NULL) {
        return fail(err, ASSAY_INVALID, "the path of the Python, '%.200s', has a quote, a backslash or a line end in it",
                    found->python);
    }
    /* Hidden symbols, and a runtime path so that the libraries find each other. --no-as-needed: operators register themselves
       as the library is loaded, no symbol asks for them. */
    const char *arguments[] = {
        options->cxx, "-std=c++20", "-O2", "-fPIC", "-shared", "-fvisibility=hidden", "-w",
        arena_format(a, "-DASSAY_TORCH_PYTHON=\"%s\"", found->python),
        arena_format(a, "-DASSAY_TORCH_PACKAGES=\"%s\"", found->packages), arena_format(a, "-I%s", d),
        "-isystem", arena_format(a, "%s/include", t), "-isystem", arena_format(a, "%s/include/torch/csrc/api/include", t),
        "-include", arena_format(a, "%s/convert.cpp", d),
        "-include", arena_format(a, "%s/substitute.cpp", d),
        "-include", arena_format(a, "%s/precision.cpp", d),
        "-include", arena_format(a, "%s/helper.cpp", d),
        "-include", arena_format(a, "%s/circumstances.cpp", d),
        arena_format(a, "%s/%s", d, peers[peer].main), "-o", made,
        arena_format(a, "-L%s/lib", t), arena_format(a, "-Wl,-rpath,%s/lib", t),
        "-Wl,--no-as-needed", peers[peer].library, "-ltorch_cpu", "-lc10", NULL};
    for (size_t i = 0; i + 1 < countof(arguments); i++) {
        if (arguments[i] == NULL) {
            return fail(err, ASSAY_OUT_OF_MEMORY, "no memory for the compiler's arguments");
        }
    }
    process_result r = {0};
    scratch temporary; /* what a compiler that is killed leaves lies there; as emitted code's builds name theirs, which sweep it */
    status started = scratch_make("assay-build", &temporary, err);
    if (started == ASSAY_OK) {
        started = process_run(arguments, temporary.path, BUILD_TIMEOUT_S, OUTPUT_LIMIT_BYTES, &r, err);
        scratch_remove(&temporary);
    }
    if (started == ASSAY_NOT_FOUND) {
        return fail(err, ASSAY_NOT_FOUND, "the plug-in for PyTorch needs a C++ compiler, and '%.100s' cannot be started; "
                                          "install one (apt-get install g++) or name it with $ASSAY_CXX", options->cxx);
    }
    TRY(started);
    status result = ASSAY_OK;
    if (r.exit_code != 0 || r.signal != 0) {
        char said[220];
        const char *log = arena_format(a, "%s/build.log", d);
        first_error(&r.errors, said, sizeof said);
        bool kept = log != NULL && file_write(log, text_get(&r.errors), r.errors.length, NULL) == ASSAY_OK;
        result = fail(err, ASSAY_INVALID, "the plug-in for PyTorch %.40s does not build: %s%s%.150s", found->version,
                      said[0] != '\0' ? said : r.signal != 0 ? "the compiler was killed" : "the compiler failed without a word",
                      kept ? "; all of it: " : "", kept ? log : "");
    }
    process_result_clear(&r);
    return result;
}

/* What was built, once it is on the disk, under its name; what is to be beside it goes first, so that the two never seem to fit before
   both are there. */
static status put_in_place(const char *made, const char *path, error *err) {
    text sum_path = {0};
    char sum[SUM_BYTES];
    int fd = open(made, O_RDONLY | O_CLOEXEC);
    bool flushed = fd >= 0 && fsync(fd) == 0;
    int reason = errno;
    if (fd >= 0) {
        close(fd);
    }
    status result = ASSAY_OK;
    if (!flushed) {
        result = fail(err, ASSAY_IO, "%.200s cannot be made: %s", path,
                      reason == ENOENT ? "the compiler ended well but wrote no file" : strerror(reason));
    } else if (!sum_of(made, sum) || !add_sum_path(&sum_path, path)) {
        result = fail(err, ASSAY_IO, "%.200s cannot be read back", path);
    }
    result = result == ASSAY_OK ? file_write(text_get(&sum_path), sum, strlen(sum), err) : result;
    if (result == ASSAY_OK && rename(made, path) != 0) {
        result = fail(err, ASSAY_IO, "%.200s cannot be made: %s", path, strerror(errno));
    }
    text_clear(&sum_path);
    return result;
}

static status build_here(arena *a, const torch_options *options, const torch_found *found, torch_peer peer, error *err) {
    const char *path = found->plugin_paths[peer];
    uint64_t random = 0; /* where a file system has no locks another may be at it too */
    if (getrandom(&random, sizeof random, GRND_NONBLOCK) != (ssize_t)sizeof random) {
        random = (uint64_t)getpid();
    }
    const char *beside = arena_format(a, "%s" FILE_UNFINISHED "%016" PRIx64, path, random);
    if (beside == NULL) {
        return fail(err, ASSAY_OUT_OF_MEMORY, "no memory for a path");
    }
    process_hold(); /* a signal that ends this process leaves nothing half made there */
    status result = write_sources(found->plugin_directory, err);
    result = result == ASSAY_OK ? compile(a, options, found, peer, beside, err) : result;
    result = result == ASSAY_OK ? put_in_place(beside, path, err) : result;
    unlink(beside);
    process_let_go();
    return result;
}

status torch_build(arena *a, const torch_options *options, torch_found *found, torch_peer peer, error *err) {
    if (found->is_built[peer]) {
        return ASSAY_OK;
    }
    if (found->plugin_directory == NULL) {
        return fail(err, ASSAY_NOT_FOUND, "there is no place to keep the plug-in for PyTorch: set XDG_CACHE_HOME or HOME");
    }
    const char *lock_path = arena_format(a, "%s/lock", found->plugin_directory);
    if (lock_path == NULL) {
        return fail(err, ASSAY_OUT_OF_MEMORY, "no memory for a path");
    }
    TRY(file_make_directories(found->plugin_directory, err));
    int lock = open(lock_path, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
    if (lock < 0) {
        return fail(err, ASSAY_IO, "%.200s cannot be made: %s", lock_path, strerror(errno));
    }
    while (flock(lock, LOCK_EX) != 0 && errno == EINTR) { /* another process may be building this very file */
    }
    bool made_meanwhile = is_whole(found->plugin_paths[peer]);
    status result = made_meanwhile ? ASSAY_OK : build_here(a, options, found, peer, err);
    close(lock);
    found->is_built[peer] = result == ASSAY_OK;
    return result;
}
