/* The interface that the files of the reference share. */
#ifndef CC_TESTS_LIB_REFERENCE_ROWS_H
#define CC_TESTS_LIB_REFERENCE_ROWS_H

#include "tests/lib/reference.h"
#include "tests/lib/settings.h"

/* Bytes being written. */
struct ref_out {
    uint8_t *at;
    size_t len, capacity;
};

void put_bytes(struct ref_out *out, const void *bytes, size_t count);
void put_u8(struct ref_out *out, unsigned v);
void put_u16(struct ref_out *out, unsigned v);
void put_u32(struct ref_out *out, uint32_t v);
void put_f32(struct ref_out *out, float v);
/* An array of codes of w bits each, least significant bit first. */
void put_codes(struct ref_out *out, const uint32_t *code, size_t count, unsigned w);

/* Bytes being read. A read beyond the end gives zeros and sets `bad`. */
struct ref_in {
    const uint8_t *at;
    size_t len, pos;
    bool bad;
};

unsigned get_u8(struct ref_in *in);
unsigned get_u16(struct ref_in *in);
uint32_t get_u32(struct ref_in *in);
float get_f32(struct ref_in *in);
/* A scale, norm, threshold or magnitude: bad if it is negative or not finite. */
float get_scale(struct ref_in *in);
/* Codes of w bits; padding is skipped. */
void get_codes(struct ref_in *in, uint32_t *code, size_t count, unsigned w);
/* Whether all bytes were read and none was wrong. */
bool get_end(const struct ref_in *in);

uint32_t bits_of(float v);
float float_of(uint32_t bits);
/* The value of a word of a number format, by the format's number in payloads. */
float value_of_word(unsigned format, uint32_t word);
bool is_finite(float v);
float largest_magnitude(const float *x, size_t n);
size_t smaller(size_t a, size_t b);
/* Memory for count elements, all zero; ends the program when there is none. */
void *ref_room(size_t count, size_t bytes);
/* The random number u(i) for element i of the encoded values. */
float unit_at(const struct cc_context *ctx, size_t i);

/* The sum of term(x[i]) over the fixed tree. */
double tree_sum(const float *x, size_t n, double (*term)(float));
double term_self(float v);
double term_magnitude(float v);
double term_square(float v);

enum ref_feedback { NEVER, ALWAYS, IF_EF };

struct ref_row {
    const char *id;
    enum ref_feedback feedback;
    /* `encode` writes payloads that the page determines; `check` tests those of an encoder with a
     * choice (NULL if x and payload agree). */
    void (*encode)(struct ref *r, const struct cc_context *ctx, const float *x,
                   struct ref_out *out);
    const char *(*check)(struct ref *r, const struct cc_context *ctx, const float *x,
                         const uint8_t *payload, size_t len);
    bool (*decode)(const struct ref *r, const struct cc_context *ctx, struct ref_in *in, float *y);
    /* For schemes whose state is not a residual, instead of gradient + residual and x - decoded. */
    bool (*begin)(struct ref *r, const struct cc_context *ctx, const float *gradient);
    const char *(*finish)(struct ref *r, const struct cc_context *ctx, const uint8_t *payload,
                          size_t len);
    /* Tensors that are sent without loss, so that they have no residual; NULL: none. */
    bool (*sends_all)(const struct ref *r);
    /* Whether encoding x overflows, though all values are finite. */
    bool (*overflows)(const struct ref *r, const struct cc_context *ctx, const float *x);
};

struct ref {
    const struct ref_row *row;
    const struct cc_spec *spec;
    struct cc_shape shape;
    bool feedback;
    float *residual;
    float *x;     /* the values that this step encodes */
    float *u, *v; /* dgc: momentum, velocity; powersgd: u is the Q of the step before */
    struct ref *inner;
};

extern const struct ref_row ref_rows_plain[], ref_rows_ternary[], ref_rows_qsgd[],
    ref_rows_sparse[], ref_rows_chunks[], ref_rows_blocks[], ref_rows_exponent[],
    ref_rows_other[]; /* each ends with a row without an id */

/* The default `finish`, for schemes that only begin differently. */
const char *ref_verify(struct ref *r, const struct cc_context *ctx, const uint8_t *payload,
                       size_t len, float *decoded);

#endif
