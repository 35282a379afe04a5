/* The rules of every verdict: which schemes it may name, what it holds them against, and from which
 * gain on a scheme pays.
 *
 * The baseline is fp32, or another scheme, at its best among the exchanges and step modes that the
 * user could choose as well. A scheme that is faster than fp32 in a slow setting gains nothing
 * where fp32 has a faster one. docs/advise.md, "The baseline". */
#ifndef CC_MODELS_VERDICT_H
#define CC_MODELS_VERDICT_H

#include "models/plan.h"
#include "models/trial.h"

/* A scheme pays if it is this many times as fast as the baseline at its best; with a smaller gain,
 * neither another scheme nor another cluster is worth the trouble. */
#define CC_VERDICT_WORTH      1.05
#define CC_VERDICT_WORTH_TEXT "5%" /* the same */

/* --- which schemes a verdict may name --- */

/* Sending nothing has this error: a scheme with a larger one is further off than without sending.
 */
#define CC_VERDICT_MAX_ERROR 1.0

/* Rules on lossy schemes. */
enum cc_ruled_by {
    CC_BY_ERRORS,
    CC_BY_EVIDENCE, /* accuracy lost in trainings that the program carries; where an exchange
                       encodes sums more often than those did, the error as well */
    CC_BY_TRAININGS /* accuracy lost in the user's own */
};

/* Encodings of the workers' sum in the trainings that the program carries: a push and a pull. */
#define CC_EVIDENCE_ENCODINGS 2.0

struct cc_verdict_limits {
    double sum_error; /* largest error of the workers' sum; usually CC_VERDICT_MAX_ERROR */
    bool lossless;    /* only schemes that change no value */
    enum cc_ruled_by by;
    double lost;  /* most accuracy, 0 to 1, that a scheme may have lost to fp32 in trainings */
    bool of_loss; /* CC_BY_TRAININGS: `lost` is the rise of the test loss over fp32's instead, as a
                     share of it */
};

/* Everything about a scheme in a setting that decides whether a verdict may name it. */
struct cc_accuracy {
    double error, low,
        high; /* one encoding's, with its 95% interval (docs/errors.md); NaN: not known */
    /* The encodings of the workers' sum: cc_exchange_encodings. NaN: the sum is not kept whole, and
     * its error follows from no encoding's. */
    double encodings;
    bool lossy;
    double lost; /* accuracy in the trainings that rule; NaN: not trained; infinite: it diverged */
    double lost_low, lost_high; /* its 95% interval; NaN: not known */
    /* A trial's verdict (models/trial.h), which decides where the trial has no `lost`; NULL: no
     * trial. */
    const enum cc_trial_verdict *trial;
    /* A parameter whose meaning depends on gradients that are not at hand, as "tau"; or NULL. */
    const char *absolute;
    bool by_shape; /* its error depends on the singular values of such gradients */
};

enum cc_ruling {
    CC_ADMITTED,
    CC_OUT_LOSSY,
    CC_OUT_UNKNOWN,     /* its error could not be measured */
    CC_OUT_BY_SHAPE,    /* nor can it be without a trace: `by_shape` */
    CC_OUT_UNPREDICTED, /* its error was measured, but `encodings` is not known */
    CC_OUT_ABSOLUTE,    /* it has a parameter `absolute` */
    CC_OUT_ERROR,       /* its error is above the limit */
    CC_OUT_UNTRIED,     /* the program carries no training with it */
    CC_OUT_UNTRAINED,
    CC_OUT_DIVERGED,
    CC_OUT_LOST, /* it lost more accuracy than the limit */
    CC_OUT_COSTS /* by a trial */
};

/* The error of the workers' sum: that of one encoding times the number of encodings. */
double cc_accuracy_sum_error(const struct cc_accuracy *a);
/* Whether a verdict may name the scheme, and if not, why. */
enum cc_ruling cc_verdict_rule(const struct cc_verdict_limits *l, const struct cc_accuracy *a);
/* Writes why: "sum_error above 1", in the words of the columns; empty if it may be named. */
void cc_ruling_print(enum cc_ruling ruling, const struct cc_verdict_limits *l,
                     const struct cc_accuracy *a, char *out, size_t cap);
/* Whether the limit on the error, or on what was lost, lies within its interval, so that the ruling
 * might be another on a longer trace or after more trainings; or a trial has left it open. */
bool cc_verdict_uncertain(const struct cc_verdict_limits *l, const struct cc_accuracy *a);

/* --- the baseline --- */

/* How a step is cut into messages. */
enum cc_cut {
    CC_CUT_OWN,        /* as the setting has it */
    CC_CUT_STEP,       /* one message */
    CC_CUT_TENSORS,    /* one for each tensor */
    CC_CUT_PARTITIONS, /* partitions of gradients, as BytePS has them (system.h) */
    CC_CUT_BUCKETS,    /* as DDP has them */
    CC_CUT_SIZED       /* as the setting has it, in messages of another size */
};

/* The settings that may be chosen beside the scheme. */
struct cc_choice {
    enum cc_exchange exchange;
    enum cc_step_mode mode;
    enum cc_cut cut;
    double fuse_bytes; /* CC_CUT_SIZED */
};

enum { CC_MOST_CHOICES = 64 };

/* Lists the choices of a setting and returns their number: its own first; then, of a deployment,
 * the other sizes of its messages, and else every exchange that needs no more than the setting's
 * servers, sequential and overlapped, but of those that sum floats by their ranks only NCCL's where
 * workers are accelerators. A pipelined setting has pipelined steps as well; others have not, as
 * they make gradients late. Local steps have every exchange with their own mode. */
size_t cc_choices(const struct cc_setting *s, struct cc_choice out[CC_MOST_CHOICES]);
/* Changes a setting to a choice. Stale and asynchronous steps become bulk synchronous unless the
 * choice is the setting's own. */
void cc_choice_apply(const struct cc_choice *c, struct cc_setting *s);
/* Writes "ring, overlapped, buckets of 25 MiB". */
void cc_choice_print(const struct cc_choice *c, char *out, size_t cap);

/* A choice, and the step that it takes. */
struct cc_best {
    struct cc_choice choice;
    size_t local_steps; /* between two exchanges of a value; 0: gradients are exchanged */
    struct cc_prediction p;
};

/* The setting without local steps, whose choices are those of gradients: what verdicts on local
 * steps name besides. */
struct cc_setting cc_data_parallel(const struct cc_setting *s);

/* Finds the choice with the shortest step. With stragglers, the choice is made without them. Errors
 * are those of cc_predict for the setting itself; other choices that the payloads cannot take are
 * left out. */
int cc_verdict_best(struct cc_predictor *p, const struct cc_setting *s,
                    const struct cc_step_payloads *payloads, struct cc_best *out,
                    struct cc_error *e);

/* Bandwidths are tried between these, bits per second. */
#define CC_VERDICT_LEAST_BPS 1e4
#define CC_VERDICT_MOST_BPS  1e14

/* The best of the baseline at any bandwidth: the choices that are best at some bandwidth. */
struct cc_baseline {
    struct cc_predictor *predictor; /* borrowed, as payloads */
    const struct cc_step_payloads *payloads;
    struct cc_setting setting;
    struct cc_choice choice[CC_MOST_CHOICES];
    size_t choices;
    double worth; /* a scheme pays if it is so many times as fast: CC_VERDICT_WORTH, or, against a
                     deployment, CC_PLAN_WORTH */
};

/* The setting's own choice alone: the baseline on the same everything else. */
void cc_baseline_own(struct cc_predictor *p, const struct cc_setting *s,
                     const struct cc_step_payloads *payloads, struct cc_baseline *out);
/* All choices. Errors are those of cc_verdict_best. */
int cc_baseline_open(struct cc_predictor *p, const struct cc_setting *s,
                     const struct cc_step_payloads *payloads, struct cc_baseline *out,
                     struct cc_error *e);
/* The step of the best choice in the setting with this bandwidth and this speed of the codecs
 * (struct cc_setting). */
int cc_baseline_step(const struct cc_baseline *b, double bw_bps, double codec_speed, double *out,
                     struct cc_error *e);

/* --- advice: at which bandwidths and with which codecs a scheme pays --- */

/* The bandwidths at which a scheme pays, being `worth` times as fast as the baseline: from
 * from_bps up to below_bps, to a millionth. 0 and INFINITY stand for the ends of the range that is
 * tried (CC_VERDICT_LEAST_BPS to CC_VERDICT_MOST_BPS). */
struct cc_paying {
    bool ever;
    double from_bps, below_bps;
    int ranges; /* usually 1 */
};

/* Finds these bandwidths; everything but the bandwidth is as in the scheme's setting, and in the
 * baseline's. Of several ranges, the one that has the setting's own bandwidth counts, or the first.
 * Errors are those of cc_predict. */
int cc_advice_paying(const struct cc_baseline *baseline, const struct cc_setting *s,
                     const struct cc_step_payloads *payloads, struct cc_paying *out,
                     struct cc_error *e);

/* Factors on the speed of codecs are tried between 1 / CC_ADVICE_MOST_SPEED and it. */
#define CC_ADVICE_MOST_SPEED 1e4

/* Finds the factor on the speed of codecs above which a scheme pays, to a thousandth. 0 if it does
 * at any speed, INFINITY if at none. Errors are those of cc_predict. */
int cc_advice_codec_speed(const struct cc_baseline *baseline, const struct cc_setting *s,
                          const struct cc_step_payloads *payloads, double *out, struct cc_error *e);

#endif
