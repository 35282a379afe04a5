/* The parts that `commcomp encode` and `commcomp decode` share: the sender, and codecs for one
 * tensor after another. */
#ifndef CC_CMD_CODEC_SENDER_H
#define CC_CMD_CODEC_SENDER_H

#include "cmd/cli/command.h"
#include "schemes/codec_set.h"

/* The sender of a tensor: for --payload, and where a file does not name it. */
struct cc_sender_options {
    struct cc_given given;
    uint64_t seed, step;
    int64_t worker;
    enum cc_direction direction;
};
extern const struct cc_option cc_sender_rows[];

/* Sets the fields of *ctx for which sender options were given; leaves the others. */
void cc_sender_set(const struct cc_sender_options *o, struct cc_context *ctx);

/* The columns of the sender. */
/* clang-format off */
#define CC_SENDER_COLUMNS                                                                          \
    CC_COLUMN(seed, CC_SETTING), CC_COLUMN(step, CC_SETTING, .note = "that was encoded"),          \
    CC_COLUMN(worker, CC_SETTING), CC_COLUMN(direction, CC_SETTING)
/* clang-format on */

/* Adds a row with these, scheme, values, payload_bytes, bits_per_value and ratio. */
int cc_sender_row(struct cc_record *r, const struct cc_spec *spec, double values,
                  double payload_bytes, const struct cc_context *ctx, size_t *row,
                  struct cc_error *e);

/* The scheme that --scheme names; a usage error unless it names exactly one. */
int cc_one_scheme(const struct cc_args *args, const struct cc_spec **out, struct cc_error *e);

/* The codec of one tensor after another, with room for its values. Zero-initialized: empty. Memory
 * that is large enough for the next tensor is kept. */
struct cc_tensor_codec {
    struct cc_codec_set set; /* one codec */
    float *values;           /* at least shape.n */
    size_t values_bytes;
};
int cc_tensor_codec_set(struct cc_tensor_codec *c, const struct cc_spec *spec,
                        const struct cc_shape *shape, const struct cc_codec_memory *memory,
                        struct cc_error *e);
void cc_tensor_codec_free(struct cc_tensor_codec *c);

#endif
