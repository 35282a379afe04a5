/* A scratch directory for the files of a test. */
#ifndef CC_TESTS_LIB_SCRATCH_H
#define CC_TESTS_LIB_SCRATCH_H

#include <stddef.h>

/* cmocka fixtures: *state becomes the directory's path; the directory and its files are removed at
 * the end. */
int scratch_setup(void **state);
int scratch_teardown(void **state);

/* DIRECTORY/NAME, in one of a few static buffers. */
const char *scratch_path(void **state, const char *name);

/* Writes bytes to a file of the directory and returns its path. */
const char *scratch_write(void **state, const char *name, const void *bytes, size_t size);

/* A safetensors file: the header's text, its length before it, and data after it. */
const char *scratch_safetensors(void **state, const char *name, const char *header,
                                const void *data, size_t size);

/* Reads the whole file; the caller frees it. */
void *scratch_read(const char *path, size_t *size);

/* The number of entries of the directory. */
size_t scratch_count(void **state);

#endif
