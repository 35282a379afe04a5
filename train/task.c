/* A task computes by a net (model.h) or by a linear model (linear/linear.h), whichever its config
 * names; the order of samples and the score on test samples are common to both. */
#include "train/task.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/memory.h"
#include "train/data/batch.h"
#include "train/data/order.h"
#include "train/gpt.h"
#include "train/linear/linear.h"

struct cc_task {
    struct cc_task_config config;
    struct cc_model *model; /* NULL: a linear model, which has none of the buffers below */
    struct cc_linear *linear;
    struct cc_order *order;
    float *images, *room; /* a batch; a sample */
    int32_t *labels;
    uint32_t *index; /* a batch of test samples */
};

int cc_task_data(const char *net, const char *text, struct cc_data **out, struct cc_error *e)
{
    struct cc_gpt gpt;
    if (cc_linear_is(net))
        return cc_data_open_rows(text, out, e);
    if (!cc_gpt_is(net))
        return cc_data_open(text, out, e);
    CC_TRY(cc_gpt_parse(net, &gpt, e));
    return cc_data_open_text(text, gpt.context, out, e);
}

static int open_net(struct cc_task *t, struct cc_error *e)
{
    const struct cc_task_config *c = &t->config;
    const struct cc_data *d = c->data;
    const struct cc_model_config model = {.net = c->net,
                                          .channels = d->channels,
                                          .height = c->height,
                                          .width = c->width,
                                          .classes = d->classes,
                                          .batch = c->batch,
                                          .threads = c->threads};
    size_t bytes;
    CC_TRY(cc_model_open(&model, &t->model, e));
    if (!cc_mul(c->batch * sizeof *t->images, d->channels * c->height * c->width, &bytes))
        return cc_fail(e, "a batch of %zu images is too large", c->batch);
    CC_TRY(CC_NEW(t->images, bytes / sizeof *t->images, e));
    CC_TRY(CC_NEW(t->room, cc_data_values(d), e));
    CC_TRY(CC_NEW(t->labels, c->batch * cc_model_layout(t->model)->labels, e));
    return CC_NEW(t->index, c->batch, e);
}

static int open_linear(struct cc_task *t, struct cc_error *e)
{
    const struct cc_task_config *c = &t->config;
    const struct cc_linear_config linear = {.net = c->net,
                                            .data = c->data,
                                            .workers = c->workers,
                                            .batch = c->batch,
                                            .coordinates = c->coordinates,
                                            .l2 = c->l2,
                                            .seed = c->seed,
                                            .threads = c->threads};
    return cc_linear_open(&linear, &t->linear, e);
}

/* The options that images alone can have. */
static int check_text(const struct cc_task_config *c, struct cc_error *e)
{
    if (c->data->context == 0)
        return CC_OK;
    if (c->by_class > 0 || c->flip || c->shift > 0)
        return cc_usage(e,
                        "%s is text, which has neither classes to be shared out by nor images to "
                        "be mirrored or shifted",
                        c->data->name);
    return CC_OK;
}

int cc_task_open(const struct cc_task_config *config, struct cc_task **out, struct cc_error *e)
{
    const struct cc_order_config order = {.workers = config->workers,
                                          .batch = config->batch,
                                          .by_class = config->by_class,
                                          .seed = config->seed};
    int status = CC_OK;
    struct cc_task *t;
    CC_TRY(check_text(config, e));
    CC_TRY(CC_NEW(t, 1, e));
    t->config = *config;
    CC_TRY_OUT(cc_order_open(&config->data->train, &order, &t->order, e));
    status = cc_linear_is(config->net) ? open_linear(t, e) : open_net(t, e);
out:
    if (status == CC_OK)
        *out = t;
    else
        cc_task_close(t);
    return status;
}

void cc_task_close(struct cc_task *t)
{
    if (t == NULL)
        return;
    cc_model_close(t->model);
    cc_linear_close(t->linear);
    cc_order_close(t->order);
    free(t->images);
    free(t->room);
    free(t->labels);
    free(t->index);
    free(t);
}

const struct cc_model_layout *cc_task_layout(const struct cc_task *t)
{
    return t->model != NULL ? cc_model_layout(t->model) : cc_linear_layout(t->linear);
}

size_t cc_task_epoch(const struct cc_task *t)
{
    return t->config.coordinates > 0 ? cc_linear_pass(t->linear) : cc_order_steps(t->order);
}

void cc_task_init(const struct cc_task *t, float *weights, float *stats)
{
    if (t->model != NULL)
        cc_model_init(t->model, t->config.seed, weights, stats);
    else
        memset(weights, 0, cc_task_layout(t)->values * sizeof *weights);
}

void cc_task_begin(struct cc_task *t, size_t step, size_t worker)
{
    const struct cc_task_config *c = &t->config;
    const struct cc_augment augment = {.flip = c->flip,
                                       .shift = c->shift,
                                       .seed = c->seed,
                                       .epoch = step / cc_order_steps(t->order)};
    const uint32_t *index = cc_order_batch(t->order, step, worker);
    if (t->model == NULL) {
        cc_linear_begin(t->linear, step, worker, index);
        return;
    }
    if (c->data->context > 0)
        cc_batch_text(c->data, &c->data->train, index, c->batch,
                      cc_text_shift(c->data, c->seed, augment.epoch), t->images, t->labels);
    else
        cc_batch(c->data, &c->data->train, index, c->batch,
                 c->flip || c->shift > 0 ? &augment : NULL, c->height, c->width, t->room, t->images,
                 t->labels);
    cc_model_begin(t->model, t->images, t->labels, c->batch);
}

void cc_task_forward(struct cc_task *t, const float *weights, float *stats, size_t end)
{
    if (t->model != NULL)
        cc_model_forward(t->model, weights, stats, end);
    else
        cc_linear_forward(t->linear, weights);
}

struct cc_model_score cc_task_score(const struct cc_task *t)
{
    return t->model != NULL ? cc_model_score(t->model) : cc_linear_score(t->linear);
}

void cc_task_backward(struct cc_task *t, const float *weights, float *gradient, size_t first)
{
    if (t->model != NULL)
        cc_model_backward(t->model, weights, gradient, first);
    else
        cc_linear_backward(t->linear, weights, gradient);
}

struct cc_model_score cc_task_gradient(struct cc_task *t, size_t step, size_t worker,
                                       const float *weights, float *stats, float *gradient)
{
    cc_task_begin(t, step, worker);
    cc_task_forward(t, weights, stats, cc_task_layout(t)->count);
    const struct cc_model_score score = cc_task_score(t);
    cc_task_backward(t, weights, gradient, 0);
    return score;
}

void cc_mean_stats(const float *all, size_t count, size_t stats, float *out)
{
    for (size_t k = 0; k < stats; k++) {
        double sum = 0;
        for (size_t i = 0; i < count; i++)
            sum += (double)all[i * stats + k];
        out[k] = (float)(sum / (double)count);
    }
}

bool cc_loss_diverged(double loss, size_t worker, char reason[CC_DIVERGED_TEXT])
{
    if (loss <= CC_DIVERGED_LOSS)
        return false;
    (void)snprintf(reason, CC_DIVERGED_TEXT, "a loss of %g in worker %zu", loss, worker);
    return true;
}

struct cc_model_score cc_task_test(struct cc_task *t, const float *weights, const float *stats)
{
    const struct cc_task_config *c = &t->config;
    const struct cc_samples *test = &c->data->test;
    struct cc_model_score all = {0};
    if (t->model == NULL)
        return cc_linear_test(t->linear, weights);
    for (size_t i = 0; i < test->count; i += c->batch) {
        const size_t n = test->count - i < c->batch ? test->count - i : c->batch;
        for (size_t k = 0; k < n; k++)
            t->index[k] = (uint32_t)(i + k);
        if (c->data->context > 0)
            cc_batch_text(c->data, test, t->index, n, 0, t->images, t->labels);
        else
            cc_batch(c->data, test, t->index, n, NULL, c->height, c->width, t->room, t->images,
                     t->labels);
        const struct cc_model_score some =
            cc_model_evaluate(t->model, weights, stats, t->images, t->labels, n);
        all.loss += some.loss * (double)n;
        all.correct += some.correct;
    }
    all.loss /= (double)test->count;
    return all;
}

struct cc_task_result cc_task_evaluate(struct cc_task *t, const float *weights, const float *stats)
{
    const struct cc_model_score got = cc_task_test(t, weights, stats);
    return (struct cc_task_result){
        .loss = got.loss,
        .accuracy =
            (double)got.correct / (double)(t->config.data->test.count * cc_task_layout(t)->labels),
        .objective = t->linear != NULL ? cc_linear_train_value(t->linear, weights) : 0};
}
