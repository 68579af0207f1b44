/* SPDX-License-Identifier: Apache-2.0 */
/* Whole files: read plain or gzip'd, written so that a reader sees the old file or the new one, never half of one. */
#ifndef BASE_FILE_H
#define BASE_FILE_H

#include "base/status.h"
#include "base/text.h"

#include <stdint.h>

/* Reads the whole of path ("-": standard input) into out, unpacking gzip by its magic bytes, whatever the name says.
   More than limit_bytes unpacked is TOO_LARGE; a truncated or corrupt gzip stream is PARSE. out is untouched on
   failure. */
status file_read(const char *path, size_t limit_bytes, text *out, error *err);

/* What is behind the name of a file that is not whole yet; a process that is killed leaves it. */
#define FILE_UNFINISHED ".unfinished-"

/* Replaces path, or what it links to, by the n bytes at data: written to a file beside it, flushed, then renamed. A failure leaves the
   old file as it was and nothing else behind. Devices and pipes are written to as they are. Threads and processes: any. */
status file_write(const char *path, const void *data, size_t n, error *err);

/* Whether path names something that is there and is neither a file nor a directory: a device, a pipe. Renaming onto one
   would put a file in its place. */
bool file_is_stream(const char *path);

/* The file that a rename has to replace for path to have new content: what path links to, else path. The caller frees *target. */
status file_target(const char *path, char **target, error *err);

/* Makes the directory and its parents; one that exists already is fine. */
status file_make_directories(const char *path, error *err);

/* Adds the folder for what is kept between runs: $XDG_CACHE_HOME/assay, where that is an absolute path, or $HOME/.cache/assay. False:
   neither is set. */
bool file_add_cache_folder(text *out);

/* $TMPDIR, or /tmp: borrowed from the environment. */
const char *file_temporary_folder(void);

/* Opens a file to read and write in $TMPDIR (or /tmp) that has no name, so that it is gone once closed, however the
   program ends. The caller closes *fd. */
status file_open_temporary(int *fd, error *err);

/* Writes all of the n bytes at data at an offset of fd: more than one call where the system takes fewer. */
status file_write_at(int fd, uint64_t offset, const void *data, size_t n, error *err);

/* The part of path behind its last '/'. */
const char *file_basename(const char *path);

#endif
