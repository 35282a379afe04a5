/* Reading files: always into private memory, so that a file which another process overwrites or
 * shortens meanwhile can neither change what was checked nor end the program by SIGBUS, and a
 * change is found. */
#ifndef CC_CORE_INFILE_H
#define CC_CORE_INFILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <time.h>

#include "core/error.h"

/* All that tells whether a file has changed. The time of the last change of status cannot be set
 * back, as that of the contents can. */
struct cc_file_state {
    dev_t device;
    ino_t inode;
    size_t size;
    struct timespec modified, status_changed;
};

/* A regular file that is read piece by piece. */
struct cc_infile {
    int fd;
    struct cc_file_state state; /* when it was opened */
};

/* Whether the path is "-", which names the standard input wherever a file is read. */
bool cc_infile_is_stdin(const char *path);
/* Opens a regular file; anything else is an error. If the file was changed within the last 20 ms,
 * waits until that is longer ago, as times of a file system have steps of some milliseconds; a file
 * that goes on changing for a second is an error. "-" is the standard input: all of it is first
 * copied to a temporary file, which every opening of "-" gives. Messages begin with the path. */
int cc_infile_open(const char *path, struct cc_infile *out, struct cc_error *e);
/* Reads exactly `bytes` bytes from `offset`; a file that has become shorter is an error. */
int cc_infile_read(const struct cc_infile *f, const char *path, size_t offset, void *to,
                   size_t bytes, struct cc_error *e);
/* Fails if the file's identity, size or times are not those of `state`: to be called after reading,
 * and with the state of an earlier opening to find changes in between. A
 * single write is missed that began more than 20 ms before the opening and is still under way: the
 * time of a file is set when a write begins. */
int cc_infile_check(const struct cc_infile *f, const char *path, const struct cc_file_state *state,
                    struct cc_error *e);
void cc_infile_close(struct cc_infile *f);

/* The bytes of a whole file. A zero byte, which size does not count, follows them, so data is not
 * NULL for an empty file, and a text is a string. */
struct cc_bytes {
    uint8_t *data;
    size_t size;
};

/* Reads a regular file as a whole; fails if memory is short or the file changes meanwhile. */
int cc_file_read(const char *path, struct cc_bytes *out, struct cc_error *e);
/* Frees and zeroes *b; does nothing to a zeroed one. */
void cc_bytes_free(struct cc_bytes *b);

#endif
