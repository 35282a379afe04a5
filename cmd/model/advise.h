/* commcomp advise: the structures that its files share. advise_error.c measures the
 * schemes' errors, advise_candidates.c predicts a candidate, advise_notes.c puts the advice into
 * sentences, and advise.c ranks the candidates of each setting. */
#ifndef CC_CMD_MODEL_ADVISE_H
#define CC_CMD_MODEL_ADVISE_H

#include "cmd/model/forecast.h"
#include "models/advice.h"

/* The error of a scheme, and the size at which it was measured; NaN where that was not possible. */
struct cc_advise_error {
    double nmse, cumulative, bits_per_value;
};

struct advise {
    struct cc_forecast forecast;
    struct cc_record *record;
    struct cc_advise_error *error; /* one per scheme */
    char *error_source;            /* name of the trace that errors were measured on, */
    size_t error_steps;            /* and its steps */
    double max_nmse;
    bool lossless; /* --lossless */
};

/* One scheme in one setting. */
struct candidate {
    size_t scheme; /* index in the list */
    struct cc_prediction p;
    struct cc_paying pays;
    double encodings;     /* cc_exchange_encodings */
    double error;         /* the cumulative error of one encoding, times encodings; NaN: unknown */
    int saturates, tried; /* workers: cc_advice_workers; 0 without compute time */
    char refused[128];    /* why the scheme is ruled out, or empty */
};

/* Measures a->error on --trace, or else on a synthetic trace. */
int cc_advise_measure(struct advise *a, struct cc_error *e);

/* Fills *c but for pays and saturates. A scheme that the exchange cannot carry, or that --lossless
 * or --max-nmse rule out, gets a text in `refused`, which is no error. */
int cc_advise_candidate(struct advise *a, const struct cc_setting *s, size_t scheme,
                        struct candidate *c, struct cc_error *e);

/* Adds the sentences under a setting's rows. The candidates are in the order of the rows; the first
 * `ranked` of them are not ruled out. */
int cc_advise_notes(struct advise *a, const struct cc_setting *s, const struct candidate *c,
                    size_t ranked, struct cc_error *e);

/* The bandwidths at which a scheme pays: "never", "always", "below 2 Gbit/s", "from ...",
 * "... to ...". */
void cc_advise_pays(const struct cc_paying *p, char text[80]);

/* Notes what the advice rests on: what is measured, and what is assumed. */
int cc_advise_note_basis(struct advise *a, struct cc_error *e);

#endif
