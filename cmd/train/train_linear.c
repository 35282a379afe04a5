/* Linear models in `train`: their regularization, coordinate descent, and what is of nets alone. */
#include "cmd/input/cluster.h"
#include "cmd/train/train.h"
#include "train/linear/linear.h"

static int parse_scd(const struct cc_args *args, struct cc_train_options *o, struct cc_error *e)
{
    struct cc_training_config *c = &o->training;
    const struct cc_data *d = c->task.data;
    uint64_t coordinates = 100;
    CC_TRY(cc_arg_count(args, "coordinates", 1, UINT32_MAX, &coordinates, e));
    if (!cc_linear_is(c->task.net))
        return cc_usage(e,
                        "--optimizer scd: coordinate descent is of --net logreg; %s is no linear "
                        "model, every coordinate of which has a slope that is quick to compute",
                        c->task.net);
    if (coordinates > d->channels / c->task.workers)
        return cc_usage(e,
                        "--coordinates %llu: %zu features cut into slices for %zu workers give "
                        "each %zu of them",
                        (unsigned long long)coordinates, d->channels, c->task.workers,
                        d->channels / c->task.workers);
    if (cc_arg(args, "checkpoint") != NULL)
        return cc_usage(e, "--checkpoint: scd continues from the products of all rows with the "
                           "parameters, which a checkpoint does not have");
    if (!cc_train_is_bulk(o) || c->mode == CC_PIPE)
        return cc_usage(e, "--optimizer scd: workers take coordinates of the same, latest "
                           "parameters: --consistency bulk, and not --mode pipe");
    /* Each change has the regularization in it. */
    c->task.coordinates = (size_t)coordinates;
    c->optimizer.decay = 0;
    c->optimizer.momentum = 0;
    return CC_OK;
}

int cc_train_parse_linear(const struct cc_args *args, struct cc_train_options *o,
                          struct cc_error *e)
{
    static const char *const of_images[] = {"input", "flip", "shift"};
    struct cc_training_config *c = &o->training;
    if (cc_arg(args, "coordinates") != NULL && !o->scd)
        return cc_usage(e, "--coordinates goes with --optimizer scd");
    if (cc_linear_is(c->task.net))
        c->task.l2 = (double)c->optimizer.decay;
    for (size_t i = 0; i < sizeof of_images / sizeof *of_images; i++)
        if (cc_linear_is(c->task.net) && cc_arg(args, of_images[i]) != NULL)
            return cc_usage(e, "--%s is of images, and %s takes rows of features", of_images[i],
                            c->task.net);
    return o->scd ? parse_scd(args, o, e) : CC_OK;
}
