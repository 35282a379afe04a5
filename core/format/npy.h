/* NumPy's .npy files: one array. Versions 1 to 3 of the format, little-endian floats in C order;
 * version 1 is written. */
#ifndef CC_CORE_FORMAT_NPY_H
#define CC_CORE_FORMAT_NPY_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "core/error.h"
#include "core/format/contents.h"
#include "core/tensor.h"

/* For cc_contents_head. */
size_t cc_npy_head(const uint8_t *first, size_t file_size);

/* For cc_contents_parse. *out is empty at first; the caller frees it, also after a failure. */
int cc_npy_parse(const uint8_t *bytes, size_t size, struct cc_contents *out, struct cc_error *e);

/* The same for whole numbers and truth values besides floats: data sets have them. */
int cc_npy_parse_numbers(const uint8_t *bytes, size_t size, struct cc_contents *out,
                         struct cc_error *e);

/* Writes the header of a float32 array to an open file; the caller then writes the values. */
void cc_npy_put_header(FILE *f, enum cc_dtype dtype, const struct cc_shape *shape);

#endif
