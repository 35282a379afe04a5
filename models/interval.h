/* How far a predicted step may be off: the interval of what the formulas take for given. Links
 * reach a share of their line rate, codecs and accelerators have times that were assumed, or
 * measured elsewhere. A comparison of two steps takes both at the same corner of these intervals,
 * as what makes one longer makes the other longer. docs/advise.md, "Intervals". */
#ifndef CC_MODELS_INTERVAL_H
#define CC_MODELS_INTERVAL_H

#include "models/achieved.h"
#include "models/predict.h"

/* Where a time is from. */
enum cc_time_origin {
    CC_TIME_EXACT,     /* the user's */
    CC_TIME_MEASURED,  /* on some machine, or by a fit */
    CC_TIME_PUBLISHED, /* of another machine of the same kind */
    CC_TIME_ASSUMED    /* by constants */
};

/* The factors of the formulas' figures: at best and at worst. */
struct cc_factors {
    double best, worst;
};

struct cc_doubt {
    struct cc_factors link;         /* on the share of the line rate that links reach */
    struct cc_factors codec;        /* on the speed of codecs */
    struct cc_factors compute;      /* on the time of computing */
    const struct cc_achieved *kind; /* the kind of link whose shares these are; NULL: none */
    bool measured; /* they are around a share that was measured, or fitted to what was */
};

/* The doubt in a setting; `fitted`: the share of the line rate was fitted to steps of the user's.
 */
struct cc_doubt cc_doubt_of(const struct cc_setting *s, enum cc_time_origin codec,
                            enum cc_time_origin compute, bool measured);

/* Corner 0 has the best of everything, corner CC_CORNERS - 1 the worst. */
enum { CC_CORNERS = 8 };
void cc_doubt_corner(const struct cc_doubt *d, int corner, const struct cc_setting *s,
                     struct cc_setting *out);

/* The shortest and the longest step over all corners and the setting itself. Errors are those of
 * cc_predict. */
struct cc_interval {
    double low, high;
};
int cc_interval_step(struct cc_predictor *p, const struct cc_doubt *d, const struct cc_setting *s,
                     const struct cc_step_payloads *payloads, struct cc_interval *out,
                     struct cc_error *e);

/* A step, and one that it is compared with: the least and the most times as fast. */
struct cc_step_of {
    const struct cc_setting *s;
    const struct cc_step_payloads *payloads;
};
int cc_interval_gain(struct cc_predictor *p, const struct cc_doubt *d,
                     const struct cc_step_of *with, const struct cc_step_of *without,
                     struct cc_interval *out, struct cc_error *e);

/* The share of the line rate, from the best on down, below which the comparison turns: which of
 * the two is faster by CC_VERDICT_WORTH differs from what it is at the best. NAN: it does not,
 * down to the worst. The rest stays. */
int cc_interval_turn(struct cc_predictor *p, const struct cc_doubt *d, double worth,
                     const struct cc_step_of *with, const struct cc_step_of *without, double *out,
                     struct cc_error *e);

#endif
