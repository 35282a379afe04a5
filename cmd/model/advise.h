/* commcomp advise: the structures that its files share. advise_candidates.c lists and predicts the
 * candidates of a setting, advise_measured.c fits what is not known to steps of the user's,
 * advise.c ranks the candidates, advise_paste.c has what is to be pasted, advise_answer.c the
 * answer, and advise_notes.c and advise_changes.c the reasons, and what would change it. */
#ifndef CC_CMD_MODEL_ADVISE_H
#define CC_CMD_MODEL_ADVISE_H

#include "cmd/model/forecast.h"
#include "models/interval.h"
#include "models/plan.h"

/* A step of the user's job, of --measured. */
struct measured_step {
    char scheme[64]; /* canonical */
    double step_s;
};

/* The result of a fit to these steps. */
struct measured_fit {
    size_t count; /* of the steps; 0: nothing was measured */
    size_t constants;
    double share, unhidden, compute_s;        /* compute_s 0: given, and not fitted */
    double share_sd, unhidden_sd, compute_sd; /* 0: not known */
    double rms;                               /* of the steps, relative */
    double predicted[16];                     /* the steps again, by the fit */
};

struct advise {
    struct cc_forecast forecast;
    struct cc_trainings trainings; /* --accuracy */
    struct cc_record *record;
    bool deployed; /* candidates are what people can deploy, and not all schemes in the setting */
    bool system_given;
    bool chosen;               /* the schemes are those of --scheme */
    size_t settings, answered; /* of the lists of options, and those that are done */
    struct measured_step measured[16];
    size_t measured_count;
    enum cc_time_origin codec_origin, compute_origin;
    const struct cc_args *args;
    /* By scheme: its payloads as libraries sum them that have them as a type (bf16, fp16): encoded
     * once and decoded once. Their members belong to the forecast. */
    struct cc_step_payloads *summed;
    struct cc_forecast_weights weights[CC_DEPLOYMENTS]; /* of those whose systems encode parameters,
                                                           made when they are tried */
};

/* One scheme by one deployment. */
struct candidate {
    size_t scheme; /* index in the list */
    struct cc_advice_plan plan;
    struct cc_setting s; /* under the plan */
    const struct cc_step_payloads *payloads;
    struct cc_prediction p;
    struct cc_paying pays;
    struct cc_interval step, gain; /* over all corners; gain over what one runs today */
    double error;                  /* cc_accuracy_sum_error */
    double compared; /* the same, to be compared with others'; NaN for a scheme that sends in some
                        steps only, which changes what is computed */
    double lost;     /* accuracy, in the trainings that rule; 0: not known */
    enum cc_ruling ruling;
    bool uncertain;    /* cc_verdict_uncertain */
    char refused[128]; /* why the scheme is ruled out, or empty */
};

/* The candidates of a setting, ranked, and the baseline that they are held against. */
struct ranking {
    const struct cc_setting *s;
    struct candidate *c; /* the first `ranked` by step time, then the refused ones */
    size_t count, ranked;
    struct cc_best best;         /* the baseline at its best, */
    struct cc_setting best_at;   /* the setting in which it is, */
    struct candidate base;       /* and the same as a candidate; without `pays` */
    struct candidate today;      /* the baseline as it comes: what one runs without advice */
    struct cc_baseline baseline; /* at other bandwidths and speeds of the codecs */
    /* The candidate that is recommended; NULL: the baseline at its best. And the fastest of those
     * that could be. */
    const struct candidate *use, *fastest;
    struct cc_doubt doubt;
    struct measured_fit fit;
    double states_bytes; /* of a worker without sharding; 0: not known */
    bool fits;           /* states fit the device, or nobody knows */
};

/* Among steps at most this many times as long as the fastest one, the one with the least error is
 * recommended. */
#define CC_ADVISE_CLOSE      1.03
#define CC_ADVISE_CLOSE_TEXT "3%" /* the same */
#define CC_ADVISE_CLOSE_PLAN 1.02 /* of plans */

/* --- candidates --- */

/* Fills *c but for pays and intervals. A scheme that the exchange cannot carry, or that the limits
 * of verdicts rule out, gets a text in `refused`; that is not an error. */
int cc_advise_candidate(struct advise *a, const struct cc_setting *s,
                        const struct cc_deployment *by, size_t scheme, struct candidate *c,
                        struct cc_error *e);
/* The payloads of a scheme by a deployment. */
const struct cc_step_payloads *cc_advise_payloads(const struct advise *a,
                                                  const struct cc_deployment *by, size_t scheme);
/* Makes a->summed. */
int cc_advise_sum_payloads(struct advise *a, struct cc_error *e);
/* Lists all candidates of a setting, unranked, into r->c. */
int cc_advise_list(struct advise *a, struct ranking *r, struct cc_error *e);
/* Whether the candidate's scheme is the one that verdicts compare with. */
bool cc_advise_is_baseline(const struct advise *a, const struct candidate *c);

/* Whether there is a verdict: of what people deploy, none without the compute time, which nobody
 * gave, no preset has and no fit found, unless memory decides. */
bool cc_advise_decides(const struct advise *a, const struct ranking *r);
/* The states of a worker without sharding, and whether they fit --device. */
void cc_advise_memory(const struct advise *a, struct ranking *r);
/* The schemes that advise tries without --scheme: those of the catalogue and of our own trainings;
 * without `all`, those alone that might be recommended, as the others take their time to measure.
 */
int cc_advise_default_schemes(struct advise *a, bool all, struct cc_error *e);

/* --- steps of the user's --- */

int cc_advise_parse_measured(const char *text, struct advise *a, struct cc_error *e);
/* Fits the share of the line rate, what overlapping loses, and the compute time if it is not given,
 * and changes *s to what was found. */
int cc_advise_fit(struct advise *a, struct cc_setting *s, struct measured_fit *out,
                  struct cc_error *e);

/* --- sentences --- */

/* Adds the sentences of a setting: the answer, the verdict's reasons, what would change it. */
int cc_advise_answer(struct advise *a, const struct ranking *r, struct cc_error *e);
/* The fastest candidate that is admitted and not the baseline; NULL: all are ruled out. */
const struct candidate *cc_advise_fastest_other(const struct advise *a, const struct ranking *r);
int cc_advise_notes(struct advise *a, const struct ranking *r, struct cc_error *e);
int cc_advise_note_changes(struct advise *a, const struct ranking *r, struct cc_error *e);
/* Notes the command or code that deploys a candidate, and the command that checks it. */
int cc_advise_paste(struct advise *a, const struct ranking *r, const struct candidate *c,
                    struct cc_error *e);

/* Texts for sentences. "sum_error 0.11", with a remark if local steps add an error of their own: */
const char *cc_advise_error_text(const struct advise *a, const struct candidate *c, char text[96]);
/* "45.1 ms" */
const char *cc_advise_time(double seconds, char text[32]);

/* The bandwidths at which a scheme pays: "never", "always", "below 2 Gbit/s", "from ...",
 * "... to ...". */
void cc_advise_pays(const struct cc_paying *p, char text[80]);

/* Notes what the advice rests on: what is measured, and what is assumed. */
int cc_advise_note_basis(struct advise *a, struct cc_error *e);

#endif
