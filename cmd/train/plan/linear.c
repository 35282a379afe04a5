/* Linear models in `train`: their regularization, coordinate descent, and what is of nets alone. */
#include "cmd/train/plan/plan.h"
#include "train/linear/linear.h"

int cc_train_check_coordinates(size_t coordinates, size_t features, size_t workers,
                               struct cc_error *e)
{
    if (coordinates <= features / workers)
        return CC_OK;
    return cc_usage(e,
                    "--coordinates %zu: %zu features cut into slices for %zu workers give each %zu "
                    "of them",
                    coordinates, features, workers, features / workers);
}

static int check_scd(struct cc_train_options *o, struct cc_error *e)
{
    struct cc_training_config *c = &o->training;
    if (!cc_linear_is(c->task.net))
        return cc_usage(
            e,
            "--optimizer scd: coordinate descent is of --net logreg; %s is not a linear "
            "model, every coordinate of which has a slope that is quick to compute",
            c->task.net);
    CC_TRY(cc_train_check_coordinates(o->coordinates, c->task.data->channels, c->task.workers, e));
    if (o->checkpoint != NULL)
        return cc_usage(e, "--checkpoint: scd continues from the products of all rows with the "
                           "parameters, which a checkpoint does not have");
    if (!cc_train_is_bulk(o) || c->mode == CC_PIPE)
        return cc_usage(e, "--optimizer scd: workers take coordinates of the same, latest "
                           "parameters: --consistency bulk, and not --mode pipe");
    /* Each change has the regularization in it. */
    c->task.coordinates = o->coordinates;
    c->optimizer.decay = 0;
    c->optimizer.momentum = 0;
    return CC_OK;
}

int cc_train_parse_linear(struct cc_train_options *o, struct cc_error *e)
{
    struct cc_training_config *c = &o->training;
    const void *const of_images[] = {&o->input, &c->task.flip, &c->task.shift, NULL};
    const char *of_image = cc_given_of(o, of_images);
    if (CC_TRAIN_GIVEN(o, coordinates) != NULL && !o->scd)
        return cc_usage(e, "--coordinates goes with --optimizer scd");
    if (cc_linear_is(c->task.net)) {
        c->task.l2 = (double)c->optimizer.decay;
        if (of_image != NULL)
            return cc_usage(e, "--%s is of images, and %s takes rows of features", of_image,
                            c->task.net);
    }
    return o->scd ? check_scd(o, e) : CC_OK;
}
