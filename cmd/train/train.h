/* A training of `commcomp train`, and its variants. The rooms, each of which calls those before it:
 * options/ (the table and its struct), plan/ (what follows from the options, checked), times/ (of
 * steps, by formulas), places/ (trainings in this process, or by ranks), papers/ (set-ups and
 * numbers of published figures), rows/ (rows and notes). open.c opens all that a training needs;
 * train.c has the command. papers/ also calls open.c and rows/, which have its numbers. */
#ifndef CC_CMD_TRAIN_TRAIN_H
#define CC_CMD_TRAIN_TRAIN_H

#include "cmd/input/codec_models.h"
#include "cmd/train/options/options.h"
#include "models/predict.h"
#include "train/linear/optimum.h"

struct cc_train {
    struct cc_args *args;
    struct cc_record *record;
    struct cc_train_options options;
    struct cc_data *data;
    struct cc_spec *raw;   /* fp32 */
    struct cc_spec *plain; /* gradients as they are (--dtype) */
    /* [cc_train_links][variant][seed]. Weights and accuracies are the same over each link. */
    struct cc_training_result *training;
    struct cc_error *failed;      /* the error of each training; an empty text: none */
    char **checkpoint, **capture; /* [variant][seed]: the file, or folder, of each; or NULL */
    struct cc_net *net;           /* the model's tensors, for predictions */
    bool *is_raw;                 /* whether each tensor travels as fp32 */
    /* --codec-time profile: the schemes that it has times of, which others own; else none. */
    struct cc_spec_list timed;
    struct cc_codec_models codecs;
    struct cc_message *message; /* --fuse; and --placement; or NULL */
    int *server;
    struct cc_linear_optimum optimum;  /* --optimum; else all zeros */
    size_t epoch;                      /* steps */
    struct cc_paper *paper;            /* has the computing time of a recipe; or NULL */
    const struct cc_train *frameworks; /* [CC_TRAIN_FRAMEWORKS], of which this is one; or NULL */
    size_t framework;
    const char *framework_name; /* NULL: none */
};

/* A variant is a scheme with a learning rate, a length and a consistency: the schemes of one rate,
 * then those of the next, and all of one length, then those of the next, and so on. */
static inline size_t cc_train_variants(const struct cc_train *t)
{
    const struct cc_train_options *o = &t->options;
    return o->consistency.how.count * o->lengths * o->rates.count * t->args->schemes.count;
}

/* Ranks train over each link by themselves, one process for all of them: bulk synchronous steps
 * compute the same over each. */
static inline size_t cc_train_links(const struct cc_train *t)
{
    const bool same = t->options.on == CC_TRAIN_LOCAL && cc_train_is_bulk(&t->options);
    return same || t->options.links == 0 ? 1 : t->options.links;
}

static inline const struct cc_spec *cc_train_spec(const struct cc_train *t, size_t variant)
{
    return t->args->schemes.item[variant % t->args->schemes.count];
}

static inline double cc_train_rate(const struct cc_train *t, size_t variant)
{
    return t->options.rates.item[variant / t->args->schemes.count % t->options.rates.count];
}

static inline const struct cc_train_length *cc_train_length(const struct cc_train *t,
                                                            size_t variant)
{
    const size_t at = variant / (t->args->schemes.count * t->options.rates.count);
    return &t->options.length[at % t->options.lengths];
}

static inline enum cc_consistency cc_train_consistency(const struct cc_train *t, size_t variant)
{
    const struct cc_train_options *o = &t->options;
    return o->consistency.how
        .item[variant / (t->args->schemes.count * o->rates.count * o->lengths)];
}

/* The training that a variant did with a seed over a link, one of the options' or NULL. */
static inline const struct cc_training_result *
cc_train_training(const struct cc_train *t, size_t variant, size_t seed, const struct cc_link *link)
{
    const size_t by_link =
        cc_train_links(t) > 1 && link != NULL ? (size_t)(link - t->options.link) : 0;
    return &t->training[(by_link * cc_train_variants(t) + variant) * t->options.seeds + seed];
}

/* The scheme of what the server sends for a scheme of the pushes: that of --pull-scheme; otherwise
 * the same, or fp32 where it has momentum of its own, which would be applied twice. */
static inline const struct cc_spec *cc_train_pull(const struct cc_train *t,
                                                  const struct cc_spec *push)
{
    if (t->options.pull.count > 0)
        return t->options.pull.item[0];
    return cc_own_momentum(push->scheme, push->params) > 0 ? t->raw : push;
}

/* Opens all that a training needs by the options, before it is done. Close it also after an error.
 */
int cc_train_open(struct cc_train *t, struct cc_error *e);
void cc_train_close(struct cc_train *t);

#endif
