/* gzip files (RFC 1952), decompressed in memory by zlib. The caller says how many bytes it wants,
 * so that a small file cannot become a large one unasked. */
#ifndef CC_CORE_FORMAT_GZIP_H
#define CC_CORE_FORMAT_GZIP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/error.h"

/* Whether the bytes begin as a gzip file does. */
bool cc_is_gzip(const uint8_t *in, size_t size);

/* Fails unless the file ends with the length of n bytes (modulo 2^32), as it does if these are all
 * of its contents: known without decompressing anything. */
int cc_gunzip_check(const uint8_t *in, size_t size, size_t n, struct cc_error *e);

/* Decompresses the first n bytes of a gzip file's contents to out. With `whole`, fails unless these
 * are all of them, the checksum is theirs and nothing follows. Messages name the offset in the
 * compressed file. */
int cc_gunzip(const uint8_t *in, size_t size, uint8_t *out, size_t n, bool whole,
              struct cc_error *e);

#endif
