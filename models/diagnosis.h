/* The judge: what a step takes by formula (model), simulated (sim) and measured (run), and which
 * assumption is suspect where they differ. It only compares numbers; docs/validate.md explains its
 * rules. */
#ifndef CC_MODELS_DIAGNOSIS_H
#define CC_MODELS_DIAGNOSIS_H

#include <stdbool.h>

#include "models/exchange.h"
#include "models/step.h"

enum cc_suspect {
    CC_CAUSE_NOTHING,
    CC_CAUSE_BYTES,          /* sim and run did not send the same */
    CC_CAUSE_SCATTER,        /* too few steps for how they vary */
    CC_CAUSE_PROTOCOL,       /* the MPI library's own exchange */
    CC_CAUSE_BURST,          /* what token buckets let pass at once */
    CC_CAUSE_REPEATS,        /* more bytes on the wire than were to be sent */
    CC_CAUSE_LATENCY,        /* shorter than assumed */
    CC_CAUSE_OVERSUBSCRIBED, /* more busy ranks than cores */
    CC_CAUSE_WAKING,         /* what a rank needs to notice that it can go on */
    CC_CAUSE_CORES,          /* they carry all links' bytes */
    CC_CAUSE_LINKS,          /* a cluster's: other traffic, or not what --bw says */
    CC_CAUSE_STRAGGLERS,     /* the formula has their mean, the others some draws */
    CC_CAUSE_CONTENTION,     /* flows or messages that wait for each other */
    CC_CAUSE_COMPOSITION,    /* what the formula has after one another goes on at once */
    CC_CAUSE_TOPOLOGY,       /* the formula has equal hosts on one switch */
    CC_CAUSE_FIDELITY,       /* the simulation's own assumptions about the network */
    CC_CAUSE_SIZES,          /* of a forecast: payloads are not as the profile has them; */
    CC_CAUSE_CODECS,         /* the codecs do not take the profile's times */
    CC_CAUSE_UNCLEAR
};
extern const char *const cc_suspect_names[]; /* "" is the first; ends with NULL */

/* What is known of a row; seconds, per step. Answers that were not to be had are NAN, and so is
 * whatever else nobody knows; without a formula, what its answer would be made of. Codec times and
 * bytes are of the run or the simulation: they are known where there is any answer of these. */
struct cc_comparison {
    double tolerance; /* of differences, relative */
    double model_s;   /* by formula, given the sizes and codec times of the run (or, without one,
                         of the simulation) */
    double sim_s, run_s;
    double forecast_s; /* by formula, from the profile */
    double resized_s;  /* by formula, given the sizes, but codec times from the profile */

    enum cc_exchange exchange;
    enum cc_step_mode mode;
    bool stragglers;
    bool elsewhere; /* the simulated hosts are not alike, or not on one switch */
    bool tcp;       /* the simulation knows more of the network than latency and bandwidth */

    /* Of the model's answer: how much of it is latencies and transfers; rounds; and how much longer
     * it would be without token buckets. */
    double latency_s, transfer_s, rounds, burst_s;

    /* Codec times and bytes of payload in a step: as forecast, measured in the run (or sim), and in
     * the simulation. */
    double codec_s, forecast_codec_s;
    double bytes, forecast_bytes, sim_bytes;

    /* The run. */
    double error_s;     /* standard error of run_s */
    double wire_bytes;  /* sent by the busiest host, as its interface counted them, and as they */
    double wire_should; /* should be */
    double all_bytes;   /* sent by all hosts together */
    bool lab;           /* on one machine: so many cores, and busy ranks / cores, at least 1 */
    double cores, ranks_per_core;
};

/* Differences of two answers: (second - first) / second. NAN without one of them. */
struct cc_differences {
    double model_run, sim_run, model_sim, forecast;
};

/* The reason that is suspected for a difference, and a sentence with the figures for it. */
struct cc_cause {
    enum cc_suspect suspect;
    char why[280];
};

struct cc_diagnosis {
    struct cc_differences off;
    int answers; /* of model, sim and run */
    bool agree;  /* no two of them differ by more than the tolerance */
    /* Where they do not: a reason; two where all three differ, the graver first. */
    struct cc_cause cause[2];
    /* Where the forecast differs from the run (without one, from the simulation). */
    struct cc_cause forecast;
};

void cc_diagnose(const struct cc_comparison *t, struct cc_diagnosis *out);

#endif
