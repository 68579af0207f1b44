/* SPDX-License-Identifier: Apache-2.0 */
/* A file of records, one JSON line each: written line by line while a run goes on, and read whole. */
#ifndef LAB_RECORD_STORE_H
#define LAB_RECORD_STORE_H

#include "lab/record/record.h"

/* Caller's storage; `record_store s = {0}` is a closed one. One thread. */
typedef struct record_store {
    char *path;    /* NULL for standard output */
    char *partial; /* where lines go until the end: path with ".partial" behind; a stream's is path */
    int fd;        /* -1 when closed and when zeroed storage was never opened: see `open` */
    bool open;
    text line;     /* memory reused from record to record */
} record_store;

/* Begins PATH.partial beside path; "-" is standard output; devices and pipes are written to as they are. IO (also where another run is
   writing PATH.partial, which is left alone), OUT_OF_MEMORY: s is untouched. */
status store_open(record_store *s, const char *path, error *err);

/* Writes one line and hands it to the system at once: a run that dies later loses nothing. IO, OUT_OF_MEMORY: a line may
   be cut on the disk, which store_read tells. */
status store_append(record_store *s, const record *r, error *err);
/* The same for a line that was written by record_write before, as a worker sends it. */
status store_append_line(record_store *s, const char *line, size_t n, error *err);

/* All is there: flushes it to the disk and renames PATH.partial to PATH, at once. Closes s in every case. */
status store_finish(record_store *s, error *err);
/* Closes s and leaves PATH.partial with what it has. A closed store is fine. */
void store_abandon(record_store *s);

/* Reads all records of a file ("-": standard input; gzip'd is fine) into the arena. PARSE says the line and column;
   `partial` files with a cut last line: the records before it are returned when allow_cut, with *cut true (cut may be
   NULL). Blank lines and summary lines are passed over. */
status store_read(arena *a, const char *path, bool allow_cut, const record **records, size_t *n, bool *cut, error *err);

#endif
