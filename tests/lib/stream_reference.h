/* Streams of index-value pairs, written and read value by value straight from docs/wire.md. */
#ifndef CC_TESTS_LIB_STREAM_REFERENCE_H
#define CC_TESTS_LIB_STREAM_REFERENCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A value that is not in the stream: -0. */
bool stream_absent(float v);

/* Writes the shortest form of the values of v[0, n) that are not -0, or the form `kind`, unless
 * that is negative; `plain`: of pairs and all values only. Returns the bytes; out has room for
 * 64 + 8 n. */
size_t stream_write(const float *v, size_t n, int kind, bool plain, uint32_t tag, uint64_t sent,
                    uint8_t *out);
/* Reads it to v[0, n), -0 where it has no value; false if it breaks any rule. */
bool stream_read(const uint8_t *in, size_t len, size_t n, size_t most, float *v);

#endif
