/* Writing files: whole or not at all, to regular files, pipes and devices. */
#ifndef CC_CORE_FILE_H
#define CC_CORE_FILE_H

#include <stdbool.h>
#include <stdio.h>

#include "core/error.h"

/* A file being written. Its contents appear at `path` when cc_file_commit returns CC_OK, and not
 * before: a regular file is replaced by renaming a temporary one; a pipe, a device or a descriptor
 * of this process (-, /dev/stdout, /dev/fd/N) is opened by commit and gets a copy of what was
 * written. */
struct cc_outfile {
    FILE *f;         /* write here; cc_file_check and cc_file_commit report failed writes */
    char *path;      /* the target, symbolic links resolved */
    char *temporary; /* the name to rename; NULL if the target is a pipe, device or descriptor */
};

/* Whether the path names a pipe, a device or a descriptor: data appended to a stream, not a file
 * that has a size and can be read again. */
bool cc_file_is_stream(const char *path);
/* Whether it names the standard output of this process: "-", "/dev/stdout", "/dev/fd/1". */
bool cc_file_is_stdout(const char *path);
/* Whether cc_file_create would succeed; for finding out before the work that the file is to hold.
 * Touches neither the file nor a pipe's reader. */
int cc_file_can_create(const char *path, struct cc_error *e);
/* An unnamed file in TMPDIR, or /tmp without it, to be read back; fclose ends it. NULL with a
 * message that says where and why not; `what` begins it. */
FILE *cc_file_temporary(const char *what, struct cc_error *e);

/* Begins a file. A symbolic link stays, and the file that it points to is replaced; a link to
 * nothing is an error. After success, call exactly one of commit and abort. */
int cc_file_create(struct cc_outfile *o, const char *path, struct cc_error *e);
/* CC_OK if all writes worked so far, else the system's reason. To be called directly after writing;
 * writers of small files may leave it to cc_file_commit. */
int cc_file_check(const struct cc_outfile *o, struct cc_error *e);
/* Flushes, syncs, closes and renames, or copies to the stream, which blocks until a pipe has a
 * reader. If it fails, a regular file is as it was before. Releases *o in any case. */
int cc_file_commit(struct cc_outfile *o, struct cc_error *e);
/* The end of writing whose status is given: commits after CC_OK, else aborts. Returns the status of
 * both. */
int cc_file_end(struct cc_outfile *o, int status, struct cc_error *e);
/* Drops what was written and releases *o; the target is as it was before. */
void cc_file_abort(struct cc_outfile *o);

#endif
