/* NumPy's .npz files (numpy.savez, savez_compressed): zip archives of .npy files, each of which is
 * a tensor under its name without the suffix. Members are stored or deflated. They are only read.
 *
 * The offset of such a tensor (struct cc_stored) is the index of its member in the archive. */
#ifndef CC_CORE_FORMAT_NPZ_H
#define CC_CORE_FORMAT_NPZ_H

#include <stddef.h>
#include <stdint.h>

#include "core/error.h"
#include "core/format/contents.h"
#include "core/infile.h"

/* Reads the headers of all members. Refuses archives that say to hold more than deflate can make of
 * their bytes, members of another kind, encrypted ones and names that occur twice. *out is empty at
 * first; the caller frees it, also after a failure. */
int cc_npz_read(const struct cc_infile *f, struct cc_contents *out, struct cc_error *e);
/* The same for the bytes of a whole file. */
int cc_npz_parse(const uint8_t *bytes, size_t size, struct cc_contents *out, struct cc_error *e);

/* An archive whose directory has been read, for loading one member after the other. The file may be
 * closed; the bytes must stay. */
struct zip;
int cc_npz_open(const struct cc_infile *f, struct zip **out, struct cc_error *e);
int cc_npz_open_bytes(const uint8_t *bytes, size_t size, struct zip **out, struct cc_error *e);
void cc_npz_close(struct zip *z); /* NULL is allowed */

/* Sets x[0, n) to the first values of a member, which must still have this type and `all` values.
 * Reading all of them also compares the checksum. */
int cc_npz_load(struct zip *z, size_t member, enum cc_dtype dtype, size_t all, size_t n, float *x,
                struct cc_error *e);

/* Reads a member of an archive in memory as a whole, a .npy file, by its name without the suffix.
 * *out, to be freed, is NULL if there is none of that name. */
int cc_npz_member(const uint8_t *bytes, size_t size, const char *name, uint8_t **out,
                  size_t *out_size, struct cc_error *e);

#endif
