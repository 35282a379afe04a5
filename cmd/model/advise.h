/* What the files of `commcomp advise` share. */
#ifndef CC_CMD_MODEL_ADVISE_H
#define CC_CMD_MODEL_ADVISE_H

#include "cmd/model/forecast.h"
#include "models/advice.h"

/* How wrong a scheme is, and at which size; NaN where it could not be measured. */
struct cc_advise_error {
    double nmse, cumulative, bits_per_value;
};

struct advise {
    struct cc_forecast forecast;
    struct cc_record *record;
    struct cc_advise_error *error; /* one a scheme */
    char *error_source;            /* what the errors were measured on, */
    size_t error_steps;            /* and over how many steps */
    double max_nmse;
    bool lossless, own_trace; /* --lossless, --trace */
};

/* One scheme in one setting. */
struct candidate {
    size_t scheme; /* index in the list */
    struct cc_prediction p;
    struct cc_paying pays;
    double encodings;     /* cc_advice_encodings */
    double error;         /* of one encoding's cumulative one, times those; NaN: not known */
    int saturates, tried; /* workers: cc_advice_workers; 0 without compute time */
    char refused[128];    /* why it is out of the question, or empty */
};

/* Measures a->error, and says on what: on --trace, or on a synthetic trace. */
int cc_advise_measure(struct advise *a, struct cc_error *e);

/* Fills *c but for pays and saturates. A scheme that the exchange cannot carry, or that --lossless
 * or --max-nmse rule out, is refused, which is no error. */
int cc_advise_candidate(struct advise *a, const struct cc_setting *s, size_t scheme,
                        struct candidate *c, struct cc_error *e);

/* The sentences under a setting's rows. The candidates are in the order of the rows, the first
 * `ranked` of them in question. */
int cc_advise_notes(struct advise *a, const struct cc_setting *s, const struct candidate *c,
                    size_t ranked, struct cc_error *e);

/* At which bandwidths: "never", "always", "below 2 Gbit/s", "from ...", "... to ...". */
void cc_advise_pays(const struct cc_paying *p, char text[80]);

/* Notes on how far to trust it: what is measured, and what assumed. */
int cc_advise_trust(struct advise *a, struct cc_error *e);

#endif
