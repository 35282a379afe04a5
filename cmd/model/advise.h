/* commcomp advise: the structures that its files share. advise_candidates.c predicts a candidate,
 * advise.c ranks the candidates of each setting, and advise_notes.c and advise_changes.c put the
 * verdict, and what would change it, into sentences. */
#ifndef CC_CMD_MODEL_ADVISE_H
#define CC_CMD_MODEL_ADVISE_H

#include "cmd/model/forecast.h"

struct advise {
    struct cc_forecast forecast;
    struct cc_trainings trainings; /* --accuracy */
    struct cc_record *record;
};

/* One scheme in one setting. */
struct candidate {
    size_t scheme; /* index in the list */
    struct cc_prediction p;
    struct cc_paying pays;
    double error;    /* cc_accuracy_sum_error */
    double compared; /* the same, to be compared with others'; NaN for a scheme that sends in some
                        steps only, which changes what is computed */
    double lost;     /* accuracy, in the trainings that rule; 0: not known */
    enum cc_ruling ruling;
    bool uncertain;       /* cc_verdict_uncertain */
    int saturates, tried; /* workers: cc_advice_workers; 0 without compute time */
    char refused[128];    /* why the scheme is ruled out, or empty */
};

/* The candidates of a setting, ranked, and the baseline that they are held against. */
struct ranking {
    const struct cc_setting *s;
    struct candidate
        *c; /* one per scheme: the first `ranked` by step time, then the refused ones */
    size_t ranked;
    struct cc_best best;         /* the baseline at its best, */
    struct cc_setting best_at;   /* the setting in which it is, */
    struct candidate base;       /* and the same as a candidate; without `pays` */
    struct cc_baseline baseline; /* at other bandwidths and speeds of the codecs */
    /* The candidate that is recommended; NULL: the baseline at its best. And the fastest of those
     * that could be. */
    const struct candidate *use, *fastest;
};

/* Among steps at most this many times as long as the fastest one, the one with the least error is
 * recommended. */
#define CC_ADVISE_CLOSE      1.03
#define CC_ADVISE_CLOSE_TEXT "3%" /* the same */

/* Fills *c but for pays and saturates. A scheme that the exchange cannot carry, or that the limits
 * of verdicts rule out, gets a text in `refused`; that is not an error. */
int cc_advise_candidate(struct advise *a, const struct cc_setting *s, size_t scheme,
                        struct candidate *c, struct cc_error *e);

/* Whether the candidate's scheme is the one that verdicts compare with. */
bool cc_advise_is_baseline(const struct advise *a, const struct candidate *c);

/* Adds the sentences under a setting's rows: the verdict, and what would change it. */
int cc_advise_notes(struct advise *a, const struct ranking *r, struct cc_error *e);
int cc_advise_note_changes(struct advise *a, const struct ranking *r, struct cc_error *e);

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
