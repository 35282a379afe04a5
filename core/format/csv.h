/* Numbers in comma-separated columns: one tensor, the fields of all rows in order. Decimal numbers
 * with a point, whatever the locale; an optional first line of names; no empty fields. */
#ifndef CC_CORE_FORMAT_CSV_H
#define CC_CORE_FORMAT_CSV_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "core/error.h"
#include "core/format/contents.h"
#include "core/tensor.h"

/* For cc_contents_parse. The shape is rows x columns, or flat for one column. Reads the whole text
 * to count and check the values, and keeps none of them. */
int cc_csv_parse(const uint8_t *bytes, size_t size, struct cc_contents *out, struct cc_error *e);

/* Reads the n values of a text that cc_csv_parse accepted. */
int cc_csv_values(const uint8_t *bytes, size_t size, float *out, size_t n, struct cc_error *e);

/* An error of libcsv, in words about the text. */
const char *cc_csv_fault(int error);

/* Writes n finite values as text to an open file, with nine digits, from which the same values are
 * read back. A line for each row if they are all values of a matrix, else for each value. */
void cc_csv_put(FILE *f, const struct cc_shape *shape, const float *x, size_t n);

#endif
