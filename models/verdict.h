/* The baseline of every verdict: fp32, or another scheme, at its best among the exchanges and step
 * modes that the user could choose as well. A scheme that is faster than fp32 in a slow setting
 * gains nothing where fp32 has a faster one. docs/advise.md, "The baseline". */
#ifndef CC_MODELS_VERDICT_H
#define CC_MODELS_VERDICT_H

#include "models/predict.h"

/* A gain of less than 5% is not worth another scheme or another cluster. */
#define CC_VERDICT_WORTH 1.05

/* How a step is cut into messages. */
enum cc_cut {
    CC_CUT_OWN,        /* as the setting has it */
    CC_CUT_STEP,       /* one message */
    CC_CUT_TENSORS,    /* one for each tensor */
    CC_CUT_PARTITIONS, /* 4 MB of gradients, as BytePS has it */
    CC_CUT_BUCKETS     /* 25 MiB, as DDP has it */
};

/* The settings that may be chosen beside the scheme. */
struct cc_choice {
    enum cc_exchange exchange;
    enum cc_step_mode mode;
    enum cc_cut cut;
};

enum { CC_MOST_CHOICES = 64 };

/* Lists the choices of a setting and returns their number: its own first, then every exchange that
 * needs no more than the setting's servers, sequential and overlapped. A pipelined setting has
 * pipelined steps as well; others have not, as they make gradients late. */
size_t cc_choices(const struct cc_setting *s, struct cc_choice out[CC_MOST_CHOICES]);
/* Changes a setting to a choice. Stale and asynchronous steps become bulk synchronous unless the
 * choice is the setting's own. */
void cc_choice_apply(const struct cc_choice *c, struct cc_setting *s);
/* Whether a choice is the setting's own. */
bool cc_choice_is_own(const struct cc_choice *c);
/* Writes "ring, overlapped, buckets of 25 MiB". */
void cc_choice_print(const struct cc_choice *c, char *out, size_t cap);

/* A choice, and the step that it takes. */
struct cc_best {
    struct cc_choice choice;
    struct cc_prediction p;
};

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

#endif
