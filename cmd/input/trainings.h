/* Findings of trainings: the accuracy of each scheme, or of language models the loss, in a result
 * of `commcomp train`. */
#ifndef CC_CMD_INPUT_TRAININGS_H
#define CC_CMD_INPUT_TRAININGS_H

#include <stddef.h>

#include "core/error.h"
#include "models/trial.h"

/* The measures by which trainings are judged. A language model of `train` has bits a byte and an
 * accuracy, and is judged by the bits. */
enum cc_trained_by {
    CC_TRAINED_NOTHING,
    CC_TRAINED_BITS,
    CC_TRAINED_ACCURACY,
    CC_TRAINED_LOSS,
    CC_TRAINED_WAYS
};

static inline bool cc_trained_by_loss(enum cc_trained_by by)
{
    return by == CC_TRAINED_BITS || by == CC_TRAINED_LOSS;
}

/* A scheme, of the longest trainings and at its best rate where there are several. Shares from 0 to
 * 1; intervals of 95%, NaN with one seed. */
struct cc_trained {
    char *scheme;
    enum cc_trained_by by;        /* CC_TRAINED_NOTHING: all trainings diverged, or a trial */
    double accuracy;              /* NaN: not known */
    double loss;                  /* by loss: bits a byte, or the loss as it is in the file */
    double difference, low, high; /* accuracy less fp32's, which is at its best rate, too; by loss:
                                     1 - loss / fp32's */
    double rate, steps;
    double seeds, diverged; /* trainings that were completed, and those that diverged */
    /* A trial (docs/trial.md): its verdict. One without test samples, or that ended a training
     * early, has no accuracy. */
    bool tried;
    enum cc_trial_verdict verdict;
    double lost; /* as a trial found it; NaN: its verdict alone decides */
};

struct cc_trainings {
    char *path;
    char *net, *exchange;  /* of the last row; the exchange may be "" */
    bool mixed;            /* rows have other nets or exchanges */
    enum cc_trained_by by; /* of all schemes */
    size_t judged_at;      /* the last place in the file that has it; 0: none */
    char *about;           /* "resnet20 on digits, 4 workers, 400 steps" */
    struct cc_trained *of;
    size_t count, capacity;
};

/* Reads a .csv or .json file. Fails if it is not such a result, fp32 is not in it, a figure cannot
 * be (an accuracy above 1), some trainings have accuracies and others losses, or two summaries are
 * of the same training. *out is empty at first; release it with cc_trainings_free also after an
 * error. */
int cc_trainings_read(const char *path, struct cc_trainings *out, struct cc_error *e);
void cc_trainings_free(struct cc_trainings *t);

/* The scheme of that canonical name, or NULL. */
const struct cc_trained *cc_trainings_find(const struct cc_trainings *t, const char *scheme);
/* How much accuracy it lost to fp32, or by which share of fp32's its loss is higher: NaN if it was
 * not trained (NULL), or in a trial that does not say; infinite if a training diverged. */
double cc_trained_lost(const struct cc_trained *t);
/* The verdict of a trial; NULL if it was not tried. t may be NULL. */
const enum cc_trial_verdict *cc_trained_verdict(const struct cc_trained *t);

#endif
