/* What the files of `commcomp advise` share. */
#ifndef CC_CMD_ADVISE_H
#define CC_CMD_ADVISE_H

#include "cmd/cluster.h"
#include "cmd/coders.h"
#include "cmd/command.h"
#include "models/advice.h"

/* How wrong a scheme is, and at which size; NaN where it could not be measured. */
struct cc_advise_error {
    double nmse, cumulative, bits_per_value;
};

struct advise {
    struct cc_args *args;
    struct cc_record *record;
    struct cc_cluster_args cluster;
    struct cc_coders coders;
    struct cc_predictor predictor;
    struct cc_parcels *parcels; /* one a scheme */
    struct cc_parcels raw;
    struct cc_advise_error *error; /* one a scheme */
    char *error_source;            /* what the errors were measured on */
    double max_nmse;
    bool lossless;
};

/* One scheme in one setting. */
struct candidate {
    size_t scheme; /* index in the list */
    struct cc_prediction p;
    struct cc_paying pays;
    int saturates, tried; /* workers: cc_advice_workers */
    char refused[128];    /* why it is out of the question, or empty */
};

/* Measures a->error and a->error_source: on --trace, or on a synthetic trace. */
int cc_advise_measure(struct advise *a, struct cc_error *e);

/* Fills *c but for pays and saturates. A scheme that the exchange cannot carry, or that --lossless
 * or --max-nmse rule out, is refused, which is no error. */
int cc_advise_candidate(struct advise *a, const struct cc_setting *s, size_t scheme,
                        struct candidate *c, struct cc_error *e);

/* The sentences under a setting's rows. The candidates are in the order of the rows, the first
 * `ranked` of them in question. */
int cc_advise_notes(struct advise *a, const struct cc_setting *s, const struct candidate *c,
                    size_t ranked, struct cc_error *e);

#endif
