/* Linear models in steps: begin takes a batch of rows, forward computes the slopes of the loss,
 * backward adds rows by their slopes, or takes the changes of coordinate descent. */
#include "train/linear/linear.h"

#include <stdlib.h>
#include <string.h>

#include "core/memory.h"
#include "train/linear/coordinates.h"

const char *const cc_linear_names[] = {"logreg", "svm", NULL};

struct cc_linear {
    struct cc_linear_config config;
    struct cc_linear_objective train, test;
    struct cc_coordinates *coordinates; /* or NULL */
    struct cc_model_layout layout;
    struct cc_tensor_info tensor;
    size_t offset[2];
    float *slope; /* [batch] */
    size_t step, worker;
    const uint32_t *row; /* [batch] */
    struct cc_model_score score;
};

static int find(const char *net)
{
    int i = 0;
    while (cc_linear_names[i] != NULL && strcmp(cc_linear_names[i], net) != 0)
        i++;
    return cc_linear_names[i] != NULL ? i : -1;
}

bool cc_linear_is(const char *net)
{
    return find(net) >= 0;
}

static int open_model(struct cc_linear *l, struct cc_error *e)
{
    static const enum cc_tensor_role weight = CC_TENSOR_WEIGHT;
    const struct cc_linear_config *c = &l->config;
    const struct cc_data *d = c->data;
    const enum cc_linear_loss loss = (enum cc_linear_loss)find(c->net);
    const size_t features = d->channels;
    if (d->classes != 2)
        return cc_fail(e, "%s tells two classes apart, and %s has %zu", c->net, d->name,
                       d->classes);
    if (c->coordinates > 0 && loss != CC_LOGISTIC)
        return cc_usage(e, "coordinate descent (scd) takes steps by the second derivative, which "
                           "the hinge loss of svm does not have: take --net logreg");
    l->train = l->test = (struct cc_linear_objective){
        .loss = loss, .samples = &d->train, .features = features, .l2 = c->l2};
    l->test.samples = &d->test;
    l->tensor = (struct cc_tensor_info){.name = "weight", .shape = cc_shape_flat(features)};
    l->offset[1] = features;
    l->layout = (struct cc_model_layout){.labels = 1,
                                         .tensors = &l->tensor,
                                         .offset = l->offset,
                                         .role = &weight,
                                         .count = 1,
                                         .values = features};
    CC_TRY(cc_alloc_floats(c->batch, &l->slope, e));
    return c->coordinates > 0 ? cc_coordinates_open(&l->train, c->workers, c->coordinates, c->seed,
                                                    &l->coordinates, e)
                              : CC_OK;
}

int cc_linear_open(const struct cc_linear_config *config, struct cc_linear **out,
                   struct cc_error *e)
{
    struct cc_linear *l;
    CC_TRY(CC_NEW(l, 1, e));
    l->config = *config;
    const int status = open_model(l, e);
    if (status == CC_OK)
        *out = l;
    else
        cc_linear_close(l);
    return status;
}

void cc_linear_close(struct cc_linear *l)
{
    if (l == NULL)
        return;
    cc_coordinates_close(l->coordinates);
    free(l->slope);
    free(l);
}

const struct cc_model_layout *cc_linear_layout(const struct cc_linear *l)
{
    return &l->layout;
}

size_t cc_linear_pass(const struct cc_linear *l)
{
    return l->coordinates != NULL ? cc_coordinates_steps(l->coordinates) : 0;
}

void cc_linear_begin(struct cc_linear *l, size_t step, size_t worker, const uint32_t *row)
{
    l->step = step;
    l->worker = worker;
    l->row = row;
}

void cc_linear_forward(struct cc_linear *l, const float *weights)
{
    const size_t count = l->config.batch;
    if (l->coordinates == NULL) {
        l->score = cc_linear_slopes(&l->train, l->row, count, weights, l->slope);
        return;
    }
    cc_coordinates_update(l->coordinates, l->step, weights);
    l->score = cc_coordinates_score(l->coordinates, l->row, count);
}

struct cc_model_score cc_linear_score(const struct cc_linear *l)
{
    return l->score;
}

void cc_linear_backward(struct cc_linear *l, const float *weights, float *gradient)
{
    const size_t count = l->config.batch;
    if (l->coordinates != NULL) {
        cc_coordinates_gradient(l->coordinates, l->step, l->worker, weights, gradient);
        return;
    }
    memset(gradient, 0, l->layout.values * sizeof *gradient);
    cc_linear_add(&l->train, l->row, count, 1 / (float)count, l->slope, gradient);
}

struct cc_model_score cc_linear_test(const struct cc_linear *l, const float *weights)
{
    return cc_linear_score_all(&l->test, weights, l->config.threads);
}

double cc_linear_train_value(const struct cc_linear *l, const float *weights)
{
    return cc_linear_value(&l->train, weights, l->config.threads);
}
