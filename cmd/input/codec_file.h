/* Shared by `encode` and `decode`: their options, and a codec for one tensor after another. */
#ifndef CC_CMD_INPUT_CODEC_FILE_H
#define CC_CMD_INPUT_CODEC_FILE_H

#include "cmd/cli/command.h"
#include "schemes/codec_set.h"

/* clang-format off */
#define CC_SENDER_OPTIONS                                                                          \
    CC_PLUGIN_OPTION,                                                                              \
    {.name = "seed", .value = "N", .def = "1", .help = "seed of the random numbers"},              \
    {.name = "step", .value = "N", .help = "the step, from 0 (default: the tensor file's, else 0)"}, \
    {.name = "worker", .value = "RANK",                                                            \
     .help = "who sends: the rank of a worker, or -1 for the server (default: the tensor file's, " \
             "else 0 for a push and -1 for a pull)"},                                              \
    {.name = "direction", .value = "DIRECTION", .choices = cc_direction_names,                     \
     .help = "push (a worker's gradients) or pull (the server's model deltas) (default: the "      \
             "tensor file's, else push)"}
/* clang-format on */
extern const char *const cc_direction_names[];

/* The columns of the sender, which cc_sender_row fills in. */
/* clang-format off */
#define CC_SENDER_COLUMNS                                                                          \
    CC_COLUMN(seed, CC_SETTING), CC_COLUMN(step, CC_SETTING, .note = "that was encoded"),          \
    CC_COLUMN(worker, CC_SETTING), CC_COLUMN(direction, CC_SETTING)
/* clang-format on */
int cc_sender_row(struct cc_record *r, size_t row, const struct cc_context *ctx,
                  struct cc_error *e);

/* The scheme that --scheme names; a usage error unless it names exactly one. */
int cc_one_scheme(const struct cc_args *args, const struct cc_spec **out, struct cc_error *e);

/* Sets the fields of *ctx for which there are sender options; leaves the others. */
int cc_sender(const struct cc_args *args, struct cc_context *ctx, struct cc_error *e);

/* The codec of one tensor after another, with room for its values. Zero-initialized: empty. Memory
 * that is large enough for the next tensor is kept. */
struct cc_tensor_codec {
    struct cc_codec_set set; /* of one codec */
    float *values;           /* at least shape.n */
    size_t values_bytes;
};

int cc_tensor_codec_set(struct cc_tensor_codec *c, const struct cc_spec *spec,
                        const struct cc_shape *shape, const struct cc_codec_memory *memory,
                        struct cc_error *e);
void cc_tensor_codec_free(struct cc_tensor_codec *c);

#endif
