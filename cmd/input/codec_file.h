/* What encode and decode share: one scheme, one sender, and a codec without a history. */
#ifndef CC_CMD_INPUT_CODEC_FILE_H
#define CC_CMD_INPUT_CODEC_FILE_H

#include "cmd/cli/command.h"

/* clang-format off */
#define CC_SENDER_OPTIONS                                                                          \
    {.name = "seed", .value = "N", .def = "1", .help = "of the random numbers"},                   \
    {.name = "step", .value = "N", .help = "the step, from 0 (default: the tensor file's, else 0)"}, \
    {.name = "worker", .value = "RANK",                                                            \
     .help = "who sends: the rank of a worker, or -1 for the server (default: the tensor file's, " \
             "else 0 for a push and -1 for a pull)"},                                              \
    {.name = "direction", .value = "DIRECTION", .choices = cc_direction_names,                     \
     .help = "push (a worker's gradients) or pull (the server's model deltas) (default: the "      \
             "tensor file's, else push)"}
/* clang-format on */
extern const char *const cc_direction_names[];

/* The only scheme of --scheme; a usage error if there is none or are several. */
int cc_one_scheme(const struct cc_args *args, const struct cc_spec **out, struct cc_error *e);

/* Sets in *ctx what the sender options say; the rest keeps its values. */
int cc_sender(const struct cc_args *args, struct cc_context *ctx, struct cc_error *e);

/* Refuses to write over the file that is being read, by whatever name. */
int cc_refuse_same_file(const char *in, const char *out, struct cc_error *e);

/* A codec and the memory around it, for one tensor after another. Zero-initialized: empty. */
struct cc_workbench {
    struct cc_codec codec;
    float *values; /* room for shape.n */
    uint8_t *payload;
    size_t payload_cap;
    size_t size[4]; /* what is allocated for values, payload, state, scratch */
};

/* For encoding: all of it, the state at its beginning. For decoding: neither state nor payload. */
int cc_workbench_set(struct cc_workbench *w, const struct cc_spec *spec,
                     const struct cc_shape *shape, bool encoding, struct cc_error *e);
void cc_workbench_free(struct cc_workbench *w);

#endif
