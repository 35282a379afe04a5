/* Files: read by mapping, written whole or not at all. */
#ifndef CC_CORE_FILE_H
#define CC_CORE_FILE_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "core/error.h"

/* A file mapped read-only; data is never NULL while it is open, also when size is 0. Whoever
 * shortens the file meanwhile makes reading it fatal (SIGBUS), as with every mapping. */
struct cc_map {
    const uint8_t *data;
    size_t size;
};

/* Messages name the file. Only regular files can be mapped. */
int cc_map_open(const char *path, struct cc_map *out, struct cc_error *e);
/* Does nothing when it is not open. */
void cc_map_close(struct cc_map *m);

/* A file being written: under a temporary name beside it, until cc_file_commit renames it. */
struct cc_outfile {
    FILE *f;    /* write here; cc_file_check and cc_file_commit see what fails */
    char *path; /* what it will be */
    char
        *temporary; /* NULL for what cannot be renamed to, as /dev/null: that is written directly */
};

/* Whether a file can be made there, before the work that it is to hold. */
int cc_file_can_create(const char *path, struct cc_error *e);
/* Exactly one of commit and abort follows a successful create. */
int cc_file_create(struct cc_outfile *o, const char *path, struct cc_error *e);
/* Directly after writing: whether all writes worked so far, or the system's reason why not. Small
 * files may leave it to cc_file_commit. */
int cc_file_check(const struct cc_outfile *o, struct cc_error *e);
/* Flushes, syncs, closes and renames; on failure nothing is left but what was there before. */
int cc_file_commit(struct cc_outfile *o, struct cc_error *e);
/* Closes and removes the temporary. */
void cc_file_abort(struct cc_outfile *o);

#endif
