/* The contents of a file of tensors: the headers of safetensors, .npy, .npz and CSV files in one
 * form, and the conversion of stored values to float32. */
#ifndef CC_CORE_FORMAT_CONTENTS_H
#define CC_CORE_FORMAT_CONTENTS_H

#include <stddef.h>
#include <stdint.h>

#include "core/element.h"
#include "core/error.h"
#include "core/infile.h"
#include "core/tensor.h"
#include "core/number.h"

enum cc_file_format { CC_SAFETENSORS, CC_NPY, CC_NPZ, CC_CSV, CC_COMPRESSED };
/* Their suffixes, for messages and help; CC_NPZ is only read. CC_COMPRESSED, .cc, is what `commcomp
 * encode` writes, and only read as well. */
#define CC_TENSOR_FILES ".safetensors, .npy, .npz or .csv"

/* How values are stored: little-endian binary, or as decimal text. Tensors of the types after
 * CC_DECIMAL cannot be loaded: only cc_safetensors_shapes accepts them. */
enum cc_dtype {
    CC_F32,
    CC_F16,
    CC_BF16,
    CC_F64,
    CC_F8_E4M3, /* floats of 8 bits (core/float8.h) */
    CC_F8_E5M2,
    CC_DECIMAL,
    CC_FLOAT8, /* others of 8 bits */
    /* whole numbers with and without sign, also truth values: */
    CC_I8,
    CC_U8,
    CC_I16,
    CC_U16,
    CC_I32,
    CC_U32,
    CC_I64,
    CC_U64
};

/* The type of gradients that are stored so; float32 for types that gradients have not. */
static inline enum cc_element cc_dtype_element(enum cc_dtype stored)
{
    return stored == CC_BF16  ? CC_ELEMENT_BF16
           : stored == CC_F16 ? CC_ELEMENT_FP16
                              : CC_ELEMENT_FP32;
}

/* The format of values that are stored so; float32 for types without one. */
static inline enum cc_number cc_dtype_number(enum cc_dtype stored)
{
    return stored == CC_BF16      ? CC_NUMBER_BF16
           : stored == CC_F16     ? CC_NUMBER_FP16
           : stored == CC_F8_E4M3 ? CC_NUMBER_E4M3
           : stored == CC_F8_E5M2 ? CC_NUMBER_E5M2
                                  : CC_NUMBER_FP32;
}

/* How files store gradients of a type. */
static inline enum cc_dtype cc_element_dtype(enum cc_element type)
{
    return type == CC_ELEMENT_BF16 ? CC_BF16 : type == CC_ELEMENT_FP16 ? CC_F16 : CC_F32;
}

struct cc_stored {
    char *name;
    struct cc_shape shape;
    enum cc_dtype dtype;
    size_t offset; /* where its first byte lies in the file; .npz: its member's; .cc: its index */
};

/* A pair of a file's metadata. */
struct cc_pair {
    const char *key, *value;
};

/* Zero-initialized: empty. Tensors are in the order of their offsets. */
struct cc_contents {
    struct cc_stored *tensors;
    size_t count, capacity;
    struct cc_pair *metadata;
    size_t metadata_count, metadata_capacity;
};

/* The format by the suffix of the path; an error that lists the suffixes if it has none of them. */
int cc_file_format_of(const char *path, enum cc_file_format *out, struct cc_error *e);
/* The format of a file that is read: the same, and of the standard input that of its first bytes,
 * where CSV is what looks like none of the others. */
int cc_file_format_find(const char *path, enum cc_file_format *out, struct cc_error *e);

/* The size of a file's header, from its beginning on (for CSV and .npz, of the whole file). `first`
 * has the first CC_HEAD_FIRST bytes, or the whole of a smaller file. */
enum { CC_HEAD_FIRST = 12 };
size_t cc_contents_head(enum cc_file_format format, const uint8_t *first, size_t file_size);

/* Parses a header, which lies at `bytes`, and checks it against the size of the file; reads
 * cc_contents_head bytes and no more. Any bytes either parse or give an error. *out is set on
 * success only; release it with cc_contents_free. Messages name the fault and its place; the caller
 * adds the path. */
int cc_contents_parse(enum cc_file_format format, const uint8_t *bytes, size_t file_size,
                      struct cc_contents *out, struct cc_error *e);

/* Reads the header of a file, as cc_contents_head has it, to be parsed; fails if the file has
 * changed since it was opened, as cc_contents_read does. */
int cc_contents_read_head(const struct cc_infile *f, const char *path, enum cc_file_format format,
                          struct cc_bytes *out, struct cc_error *e);
/* Reads and parses the header of a file. Messages begin with the path. */
int cc_contents_read(const struct cc_infile *f, const char *path, enum cc_file_format format,
                     struct cc_contents *out, struct cc_error *e);
void cc_contents_free(struct cc_contents *c);
/* Frees an array of pairs and their texts. */
void cc_pairs_free(struct cc_pair *pairs, size_t count);

/* The value of a metadata key, or NULL. */
const char *cc_contents_meta(const struct cc_contents *c, const char *key);

/* Sets *out, to be freed, to the index in c of the i-th tensor, by the metadata key `order`, whose
 * lines must name each tensor exactly once; without the key the order is that of the file. */
int cc_contents_order(const struct cc_contents *c, size_t **out, struct cc_error *e);

/* Sets x[0, n) to the values that `size` bytes hold in the form `dtype`: all are exact but F64,
 * which is rounded to the nearest float, to infinity beyond the largest. Fails for CC_DECIMAL only.
 */
int cc_stored_values(const uint8_t *bytes, size_t size, enum cc_dtype dtype, size_t n, float *x,
                     struct cc_error *e);
/* The same for the n values at `offset` of a file. Messages begin with the path. */
int cc_stored_read(const struct cc_infile *f, const char *path, enum cc_dtype dtype, size_t offset,
                   size_t n, float *x, struct cc_error *e);
/* The reverse of cc_stored_values, for types shorter than F32: writes cc_dtype_bytes for each
 * value, and returns how many values come before the first that is not one of that type; n: all
 * are. */
size_t cc_stored_narrow(enum cc_dtype dtype, const float *x, size_t n, uint8_t *bytes);

/* --- for the readers of formats --- */

/* Appends a tensor, or a metadata pair; texts are copied. */
int cc_contents_add(struct cc_contents *c, const char *name, const struct cc_shape *shape,
                    enum cc_dtype dtype, size_t offset, struct cc_error *e);
int cc_contents_add_meta(struct cc_contents *c, const char *key, const char *value,
                         struct cc_error *e);

/* Bytes of one value; 0 for CC_DECIMAL. */
size_t cc_dtype_bytes(enum cc_dtype dtype);

/* The name of the only tensor of a .npy or CSV file. */
#define CC_ONLY_TENSOR "values"

#endif
