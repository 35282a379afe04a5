/* Running a net: layers forward, the cross entropy, layers backward. Families of nets are found by
 * the first word of their name. */
#include "train/model.h"

#include <stdlib.h>
#include <string.h>

#include "core/memory.h"
#include "core/random.h"
#include "train/build.h"
#include "train/gpt.h"
#include "train/share.h"

/* Tells the draws of initial weights from those of schemes, which count streams from 0. */
#define STREAM_INITIAL UINT64_C(0x696e6974)

const char cc_model_names[] =
    "mlp:WIDTH-WIDTH-..., resnet20 (any depth of 6 n + 2), convnet, "
    "lstm, transformer; all but mlp with a width: resnet8:width=32; on text gpt, as in "
    "gpt:layers=2,width=64,heads=2,context=64; or, on sparse rows, logreg or svm";

static const struct cc_family families[] = {{"mlp", cc_family_mlp},
                                            {"resnet", cc_family_resnet},
                                            {"convnet", cc_family_convnet},
                                            {"lstm", cc_family_lstm},
                                            {"transformer", cc_family_transformer},
                                            {"gpt", cc_family_gpt}};

static int build(struct cc_build *b, const char *name)
{
    for (size_t i = 0; i < sizeof families / sizeof families[0]; i++) {
        size_t length = strlen(families[i].name);
        if (strncmp(name, families[i].name, length) == 0) {
            families[i].build(b, name + length);
            return b->status != CC_OK ? b->status : cc_build_finish(b);
        }
    }
    return cc_usage(b->e, "no net that can be trained is called %s: expected %s", name,
                    cc_model_names);
}

size_t cc_model_labels(const char *net, size_t width)
{
    return cc_gpt_is(net) ? width : 1;
}

/* Columns in whole groups. Those of tokens are a power of two as a rule; then a group more, so that
 * rows do not compete for the same places of the cache. */
static size_t stride_of(size_t images, size_t labels)
{
    const size_t stride = cc_train_groups(images * labels) * CC_TRAIN_GROUP;
    return labels > 1 && stride % 128 == 0 ? stride + CC_TRAIN_GROUP : stride;
}

int cc_model_open(const struct cc_model_config *config, struct cc_model **out, struct cc_error *e)
{
    struct cc_model *m;
    CC_TRY(CC_NEW(m, 1, e));
    struct cc_build b = {.model = m, .e = e};
    m->config = *config;
    m->layout.labels = cc_model_labels(config->net, config->width);
    m->pass.stride = stride_of(config->batch, m->layout.labels);
    m->pass.threads = config->threads;
    m->pass.score = &m->score;
    int status = build(&b, config->net);
    m->config.net = NULL;
    if (status != CC_OK)
        cc_model_close(m);
    else
        *out = m;
    return status;
}

int cc_model_open_language(const char *net, struct cc_model **out, size_t *context,
                           struct cc_error *e)
{
    struct cc_gpt g;
    CC_TRY(cc_gpt_parse(net, &g, e));
    const struct cc_model_config config = {.net = net,
                                           .channels = 1,
                                           .height = 1,
                                           .width = g.context,
                                           .classes = CC_GPT_TOKENS,
                                           .batch = 1,
                                           .threads = 1};
    *context = g.context;
    return cc_model_open(&config, out, e);
}

void cc_model_close(struct cc_model *m)
{
    if (m == NULL)
        return;
    for (size_t i = 0; i < m->memory_count; i++)
        free(m->memory[i]);
    free(m->memory);
    free(m->layers);
    free(m->acts);
    free(m->tensors);
    free(m->offset);
    free(m->role);
    free(m->initial);
    free(m);
}

const struct cc_model_layout *cc_model_layout(const struct cc_model *m)
{
    return &m->layout;
}

size_t cc_model_bytes(const struct cc_model *m)
{
    return m->bytes;
}

void cc_model_init(const struct cc_model *m, uint64_t seed, float *weights, float *stats)
{
    for (size_t t = 0; t < m->layout.count; t++) {
        struct cc_random_id id = {.seed = seed, .rank = -1, .tensor = t, .stream = STREAM_INITIAL};
        const struct cc_initial *initial = &m->initial[t];
        float *w = weights + m->offset[t];
        for (size_t i = 0; i < m->tensors[t].shape.n; i++) {
            float unit = cc_unit(cc_random(cc_key(&id, i), (uint32_t)i));
            w[i] = initial->start + initial->bound * (2.0f * unit - 1.0f);
        }
    }
    for (size_t i = 0; i < m->layer_count; i++) {
        size_t begin = m->layers[i]->stats;
        size_t end = i + 1 < m->layer_count ? m->layers[i + 1]->stats : m->layout.stats;
        for (size_t k = begin; k < end; k++)
            stats[k] = k - begin < (end - begin) / 2 ? 0.0f : 1.0f;
    }
}

static void begin(struct cc_model *m, const float *images, const int32_t *labels, size_t count,
                  bool training)
{
    m->pass.images = images;
    m->pass.labels = labels;
    m->pass.count = count * m->layout.labels;
    m->pass.training = training;
    m->forward_next = 0;
    m->backward_next = m->layer_count;
}

void cc_model_begin(struct cc_model *m, const float *images, const int32_t *labels, size_t count)
{
    begin(m, images, labels, count, true);
}

static void share_images(struct cc_layer *l, const struct cc_pass *p,
                         void (*work)(struct cc_layer *l, const struct cc_pass *p, size_t from,
                                      size_t to))
{
    cc_share(l, p, p->count, cc_act_image(l->in != NULL ? l->in : l->out), 1, work);
}

static void forward(struct cc_model *m, size_t end)
{
    for (; m->forward_next < m->layer_count; m->forward_next++) {
        struct cc_layer *l = m->layers[m->forward_next];
        if (l->tensor + l->tensors > end)
            break;
        if (l->ops->forward_images != NULL)
            share_images(l, &m->pass, l->ops->forward_images);
        else
            l->ops->forward(l, &m->pass);
    }
}

void cc_model_forward(struct cc_model *m, const float *weights, float *stats, size_t end)
{
    m->pass.weights = weights;
    m->pass.stats = stats;
    forward(m, end);
}

struct cc_model_score cc_model_score(const struct cc_model *m)
{
    return m->score;
}

void cc_model_backward(struct cc_model *m, const float *weights, float *gradient, size_t first)
{
    m->pass.weights = weights;
    m->pass.gradient = gradient;
    for (; m->backward_next > 0; m->backward_next--) {
        struct cc_layer *l = m->layers[m->backward_next - 1];
        if (l->tensor + l->tensors <= first)
            break;
        if (l->ops->backward_images != NULL)
            share_images(l, &m->pass, l->ops->backward_images);
        else
            l->ops->backward(l, &m->pass);
    }
}

struct cc_model_score cc_model_evaluate(struct cc_model *m, const float *weights,
                                        const float *stats, const float *images,
                                        const int32_t *labels, size_t count)
{
    struct cc_model_score all = {0};
    size_t each = m->config.channels * m->config.height * m->config.width;
    m->pass.weights = weights;
    m->pass.running = stats;
    for (size_t i = 0; i < count; i += m->config.batch) {
        size_t some = count - i < m->config.batch ? count - i : m->config.batch;
        begin(m, images + i * each, labels + i * m->layout.labels, some, false);
        forward(m, m->layout.count);
        all.loss += m->score.loss * (double)some;
        all.correct += m->score.correct;
    }
    all.loss /= count > 0 ? (double)count : 1;
    return all;
}

/* The last layer reads the outputs, as columns. */
void cc_model_output(const struct cc_model *m, size_t label, float *out)
{
    const struct cc_act *a = m->layers[m->layer_count - 1]->in;
    for (size_t c = 0; c < a->channels; c++)
        out[c] = a->value[c * m->pass.stride + label];
}
