/* Evidence: what schemes lost in trainings of our own, which the program carries
 * (cmd/input/evidence.csv; tools/evidence.sh makes it). It is for users who have no training of
 * their own yet, and says nothing certain about it. */
#ifndef CC_CMD_INPUT_EVIDENCE_H
#define CC_CMD_INPUT_EVIDENCE_H

#include "core/exchange.h"
#include "models/net.h"
#include "results/sheet.h"

/* A scheme in one of the settings. */
struct cc_evidence {
    const char *about;      /* "resnet8 on digits, 4 workers, ps, rate 0.05, 400 steps, 3 seeds" */
    double lost, low, high; /* accuracy lost to fp32, from 0 to 1, with its 95% interval */
    double diverged;        /* trainings that did, which count as nothing else */
};

struct cc_evidence_list {
    struct cc_sheet sheet;
    bool known;     /* whether there is a setting with a net of this kind, */
    size_t setting; /* and the row of its first scheme */
};

/* Opens the list, and finds the setting that is nearest to a net and an exchange: one with the same
 * kind of net (convolutions, attention, or dense layers alone), if possible with the same answer to
 * whether servers reduce; the first of those that are alike. Recurrent nets have none. Release it
 * with cc_evidence_close, also after an error. */
int cc_evidence_open(const struct cc_net *net, enum cc_exchange exchange,
                     struct cc_evidence_list *out, struct cc_error *e);
void cc_evidence_close(struct cc_evidence_list *l);

/* The scheme of that canonical name in the nearest setting; false if it was not trained there: no
 * parameter is guessed from another. */
bool cc_evidence_find(const struct cc_evidence_list *l, const char *scheme,
                      struct cc_evidence *out);

/* Writes what a scheme lost there, in a sentence with `more` in it, or "". */
void cc_evidence_print(const struct cc_evidence_list *l, const char *scheme, const char *more,
                       char *out, size_t cap);

#endif
