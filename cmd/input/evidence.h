/* Evidence: what schemes lost in trainings of our own, which the program carries
 * (cmd/input/evidence.csv, of recipes/evidence.json). It rules on schemes for users who have no
 * training of their own yet, and says nothing certain about it. */
#ifndef CC_CMD_INPUT_EVIDENCE_H
#define CC_CMD_INPUT_EVIDENCE_H

#include "core/exchange.h"
#include "models/net.h"
#include "results/sheet.h"

/* A scheme in one of the settings. */
struct cc_evidence {
    const char *scheme;     /* canonical name */
    const char *about;      /* "resnet8 on digits, 4 workers, ps, rate 0.05, 400 steps, 3 seeds" */
    double lost, low, high; /* accuracy lost to fp32, from 0 to 1, with its 95% interval; infinite
                               and NaN if a training diverged */
};

/* All settings, and those that are nearest to a net. */
struct cc_evidence_list {
    struct cc_sheet sheet;   /* which owns the texts */
    struct cc_evidence *row; /* one for each row of the sheet */
    const char *setting[2];  /* without and with servers, as in `about`; NULL: any */
};

/* Whether a net has attention, as language models do. */
bool cc_evidence_attends(const struct cc_net *net);

/* Opens the list for a net. The nearest settings have the same kind of net (convolutions,
 * attention, or dense layers alone) and, if possible, the same answer to whether servers reduce; of
 * those that are alike, the first in the list. For a kind that was not trained, as recurrent nets,
 * all settings count. Release it with cc_evidence_close, also after an error. */
int cc_evidence_open(const struct cc_net *net, struct cc_evidence_list *out, struct cc_error *e);
void cc_evidence_close(struct cc_evidence_list *l);

/* The scheme of that canonical name in the nearest setting, or where it lost most of several: those
 * with and without servers for an exchange that encodes sums on their way, and all if all count.
 * False if it was not trained there: no parameter is guessed from another. */
bool cc_evidence_find(const struct cc_evidence_list *l, enum cc_exchange exchange,
                      const char *scheme, struct cc_evidence *out);

/* Writes what a scheme lost there, in a sentence, or that it is untried. */
void cc_evidence_print(const struct cc_evidence_list *l, enum cc_exchange exchange,
                       const char *scheme, char *out, size_t cap);

#endif
