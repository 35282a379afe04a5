/* Building a model, for the files of train/ alone. A net's file calls these functions, layer by
 * layer from the input to the output; after the first one that fails the others do nothing, and
 * give an activation without values. */
#ifndef CC_TRAIN_BUILD_H
#define CC_TRAIN_BUILD_H

#include "train/layer.h"

struct cc_model {
    struct cc_model_config config; /* without the net's name */
    struct cc_model_layout layout;
    struct cc_layer **layers;
    size_t layer_count;
    struct cc_pass pass;
    struct cc_model_score score;
    size_t forward_next, backward_next; /* layers whose forward pass, or backward pass, is done end
                                           or begin here */
    /* The arrays that layout.tensors and so on point to, and the initial values of each tensor. */
    struct cc_tensor_info *tensors;
    size_t *offset;
    enum cc_tensor_role *role;
    struct cc_initial {
        float bound, start;
    } * initial;
    size_t tensor_count;
    struct cc_act **acts;
    size_t act_count;
    size_t scratch; /* floats */
    void **memory;  /* all that cc_build_memory gave */
    size_t memory_count, bytes;
    size_t capacity_tensors, capacity_offset, capacity_role, capacity_initial, capacity_acts,
        capacity_layers, capacity_memory;
};

struct cc_build {
    struct cc_model *model;
    struct cc_error *e;
    int status; /* the first call's that failed */
};

/* Memory of the model, all zeros. */
void *cc_build_memory(struct cc_build *b, size_t count, size_t bytes);

/* An activation and its values, which are none after an error. */
struct cc_act *cc_build_blocks(struct cc_build *b, size_t channels, size_t height, size_t width);
struct cc_act *cc_build_columns(struct cc_build *b, size_t features, size_t places);

/* Appends a layer of `bytes` bytes, which begin with a struct cc_layer; NULL after an error. The
 * tensors that are added next are its own. */
void *cc_build_layer(struct cc_build *b, size_t bytes, const struct cc_layer_ops *ops,
                     struct cc_act *in, struct cc_act *out);

/* Adds a tensor, with initial values uniform within `bound` of `start`. Its name is `layer`, then
 * `suffix`. */
void cc_build_tensor(struct cc_build *b, const char *layer, const char *suffix, const size_t *dim,
                     int ndim, enum cc_tensor_role role, double bound, double start);

/* Adds running means and variances of `channels` channels to the last layer. */
void cc_build_stats(struct cc_build *b, size_t channels);

/* Asks for `floats` floats of cc_pass.scratch. */
void cc_build_scratch(struct cc_build *b, size_t floats);

/* Reads "" or ":width=N" with N from 1 to 9999; the first leaves *width. False for anything else.
 */
bool cc_build_width(const char *rest, size_t *width);

/* After the last layer: finds each gradient's buffer, and completes the layout. */
int cc_build_finish(struct cc_build *b);

/* --- layers; each appends one and returns its output --- */

/* Images as columns, a feature for each value of an image. */
struct cc_act *cc_layer_input_columns(struct cc_build *b);

/* weight x in + bias; the weight has out x in values. `gain`: initial weights have the variance
 * gain / in; 2 keeps the variance of what goes through a relu. */
struct cc_act *cc_layer_dense(struct cc_build *b, const char *name, struct cc_act *in, size_t out,
                              double gain);

/* The same without bias. */
struct cc_act *cc_layer_product(struct cc_build *b, const char *name, struct cc_act *in, size_t out,
                                double gain);

/* Images as blocks. */
struct cc_act *cc_layer_input_blocks(struct cc_build *b);

/* A convolution of blocks with 3 x 3 taps, a border of zeros, and stride 1 or 2, without bias. */
struct cc_act *cc_layer_conv(struct cc_build *b, const char *name, struct cc_act *in, size_t out,
                             size_t stride);

/* Batch normalization, to which `side` is added unless it is NULL; then max(x, 0) if `relu`. The
 * side may have fewer channels and twice the height and width: then every second place counts. */
struct cc_act *cc_layer_norm(struct cc_build *b, const char *name, struct cc_act *in,
                             struct cc_act *side, bool relu);

/* max(x + bias, 0) of blocks, in place. */
struct cc_act *cc_layer_bias(struct cc_build *b, const char *name, struct cc_act *in);

/* The largest of each 2 x 2 places of blocks; an odd side's last is left out. */
struct cc_act *cc_layer_max_pool(struct cc_build *b, struct cc_act *in);

/* Blocks as columns: a feature for each channel and place. */
struct cc_act *cc_layer_flatten(struct cc_build *b, struct cc_act *in);

/* The mean over each channel of blocks, as columns. */
struct cc_act *cc_layer_mean(struct cc_build *b, struct cc_act *in);

/* Images as sequences: the places are their rows. */
struct cc_act *cc_layer_input_rows(struct cc_build *b);

/* A recurrent layer of `units` units; its outputs at all places. */
struct cc_act *cc_layer_lstm(struct cc_build *b, const char *name, struct cc_act *in, size_t units);

/* Adds a vector for each place, in place. */
struct cc_act *cc_layer_position(struct cc_build *b, const char *name, struct cc_act *in);

/* Normalizes each place over its features. */
struct cc_act *cc_layer_layer_norm(struct cc_build *b, const char *name, struct cc_act *in);

/* The same with scales alone. */
struct cc_act *cc_layer_scale_norm(struct cc_build *b, const char *name, struct cc_act *in);

/* Attention of all places to all; in: queries, keys and values, one below the other. */
struct cc_act *cc_layer_attention(struct cc_build *b, struct cc_act *in, size_t heads);

/* in + side, which nothing after this may read. */
struct cc_act *cc_layer_sum(struct cc_build *b, struct cc_act *in, struct cc_act *side);

/* The last place of a sequence, and the mean over its places. */
struct cc_act *cc_layer_last_place(struct cc_build *b, struct cc_act *in);
struct cc_act *cc_layer_mean_place(struct cc_build *b, struct cc_act *in);

/* max(x, 0), in place. */
struct cc_act *cc_layer_relu(struct cc_build *b, struct cc_act *in);

/* Softmax and cross entropy of columns: the last layer. */
void cc_layer_loss(struct cc_build *b, struct cc_act *in);

/* --- layers of language models, on columns of tokens; a context is whole groups of them --- */

/* Tokens, which are the samples' values: whole numbers below config.classes. */
struct cc_act *cc_layer_input_tokens(struct cc_build *b);

/* Each token's vector, and unless `context` is 0 that of its place, is added. The first tensor of
 * the net: initial values are within `bound` of 0. */
struct cc_act *cc_layer_embed(struct cc_build *b, struct cc_act *in, size_t width, size_t context,
                              double bound);

/* The product with the net's first tensor, the embedding; out: its rows. */
struct cc_act *cc_layer_tied(struct cc_build *b, struct cc_act *in, size_t out);

/* Attention of each token to itself and those before it in its sample; in: queries, keys and
 * values, one below the other. */
struct cc_act *cc_layer_causal(struct cc_build *b, struct cc_act *in, size_t heads, size_t context);

/* Turns queries and keys by their places, in place; in: as that of attention. */
struct cc_act *cc_layer_rotate(struct cc_build *b, struct cc_act *in, size_t heads, size_t context);

/* The units of train/kernels/tokens.h. swiglu: gates, and below them values. */
struct cc_act *cc_layer_gelu(struct cc_build *b, struct cc_act *in);
struct cc_act *cc_layer_swiglu(struct cc_build *b, struct cc_act *in);

/* Softmax and cross entropy of every token: the last layer. */
void cc_layer_token_loss(struct cc_build *b, struct cc_act *in);

/* --- nets --- */

/* A net's family: the text of its name behind the family's, such as ":500-500" of mlp, is `rest`.
 */
struct cc_family {
    const char *name;
    void (*build)(struct cc_build *b, const char *rest);
};
void cc_family_mlp(struct cc_build *b, const char *rest);
void cc_family_convnet(struct cc_build *b, const char *rest);
void cc_family_lstm(struct cc_build *b, const char *rest);
void cc_family_transformer(struct cc_build *b, const char *rest);
void cc_family_gpt(struct cc_build *b, const char *rest);
void cc_family_resnet(struct cc_build *b, const char *rest);

#endif
