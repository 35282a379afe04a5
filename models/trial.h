/* A trial: a short training with each scheme, in pairs with fp32: the same start, samples, rates
 * and seeds. It finds how much accuracy a scheme loses and whether that is within a limit.
 * docs/trial.md gives the definitions and the measurements behind the constants. */
#ifndef CC_MODELS_TRIAL_H
#define CC_MODELS_TRIAL_H

#include <stdbool.h>
#include <stddef.h>

/* A mean, with its 95% interval; NaN: not known. */
struct cc_trial_mean {
    double mean, low, high;
};

/* The accuracy that a scheme loses to fp32: lost[seed] is fp32's at the end less the scheme's. With
 * three seeds or more the interval is Student's t, and at least that of chance. With fewer, a seed
 * has the variance that was measured between seeds of trainings (docs/trial.md): chance decides
 * CC_TRIAL_OTHER of fp32's wrong answers among the test samples, and a loss varies by
 * CC_TRIAL_VARIES of itself. */
struct cc_trial_mean cc_trial_lost(const double *lost, size_t seeds, double fp32_accuracy,
                                   double test_samples);
#define CC_TRIAL_OTHER  0.5
#define CC_TRIAL_VARIES 0.4

/* The relative change of the mean training loss over the steps from `from` to before `to`: 0.05 is
 * 5% more than fp32's. loss[seed] and base[seed] are the losses of each step, the scheme's and
 * fp32's. The interval is as above, with blocks of steps in place of evaluations. NaN if fp32's
 * mean loss is not above 0. */
struct cc_trial_mean cc_trial_change(const double *const *loss, const double *const *base,
                                     size_t seeds, size_t from, size_t to);
#define CC_TRIAL_WIDER 2.5

/* The mean loss of the steps from `from` to before `to`. */
double cc_trial_loss(const double *loss, size_t from, size_t to);

/* The first step of those whose training loss counts: the last third. */
size_t cc_trial_tail(size_t steps);

/* Whether a training is so far behind after some of its steps that it can be ended. It certainly
 * misses CC_TRIAL_QUARTER of the progress that fp32 has made after a quarter of the steps, or
 * CC_TRIAL_HALF after half. Progress is how far the loss has come down from fp32's first, in the
 * mean of the last half of what was trained. False after any other number of steps. */
bool cc_trial_behind(const double *loss, const double *base, size_t done, size_t steps);
#define CC_TRIAL_QUARTER 0.6
#define CC_TRIAL_HALF    0.3

/* Whether fp32 itself has learned something: its mean loss over the last third of the steps is
 * below this share of its first. Otherwise nothing can be lost. */
bool cc_trial_learns(const double *base, size_t steps);
#define CC_TRIAL_LEARNS 0.9

/* --- verdicts --- */

/* The accuracy that a scheme may lose, unless the user says otherwise. */
#define CC_TRIAL_MAX_LOSS      0.01
#define CC_TRIAL_MAX_LOSS_TEXT "1%" /* the same */

/* By which share of fp32's the test loss of a language model may be higher, unless the user says
 * otherwise: three times what seeds differ by, and what a tenth more steps make up for
 * (docs/local-steps.md). */
#define CC_TRIAL_MAX_RISE_TEXT "1%"

enum cc_trial_verdict {
    CC_TRIAL_KEEPS, /* certainly within the limit */
    CC_TRIAL_COSTS, /* certainly beyond it */
    CC_TRIAL_OPEN   /* the interval includes the limit, or the trial is too short to tell */
};
extern const char *const cc_trial_verdicts[]; /* ends with NULL */

/* A scheme that leaves something out for good, step by step, looks better in a short trial than it
 * is: with fewer steps than this its verdict is at best open. */
#define CC_TRIAL_BIASED_STEPS 400
/* Only schemes below so many bits for a value leave out enough for that. */
#define CC_TRIAL_BIASED_BITS 8

struct cc_trial_end {
    struct cc_trial_mean lost;
    bool ended;  /* early, or it diverged */
    bool biased; /* lossy, without feedback, not unbiased, with less than CC_TRIAL_BIASED_BITS */
    size_t steps;
};
enum cc_trial_verdict cc_trial_rule(const struct cc_trial_end *end, double limit);

#endif
