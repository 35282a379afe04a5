/* Diagnosis: compares a step's time by formula (model), by simulation (sim) and as measured (run),
 * and names the assumption that probably explains a difference. It sees numbers only;
 * docs/validate.md explains the rules. */
#ifndef CC_MODELS_DIAGNOSIS_H
#define CC_MODELS_DIAGNOSIS_H

#include <stdbool.h>

#include "core/error.h"
#include "models/exchange.h"
#include "models/step.h"

/* X(NAME, name): the causes. */
#define CC_CAUSES(X)                                                                               \
    X(NOTHING, "")                                                                                 \
    X(BUSY, "busy machine")               /* other programs had the cores that ranks wanted */     \
    X(BYTES, "different bytes")           /* sim and run did not send the same payloads */         \
    X(SCATTER, "scatter")                 /* too few steps for their variance */                   \
    X(PROTOCOL, "the library's exchange") /* the MPI library's own exchange */                     \
    X(BURST, "burst")                     /* token buckets let bytes pass at once */               \
    X(REPEATS, "repeated segments")       /* more bytes on the wire than expected */               \
    X(LATENCY, "latency")                 /* shorter than assumed */                               \
    X(OVERSUBSCRIBED, "oversubscribed")   /* more busy ranks than cores */                         \
    X(WAKING, "waking up") /* time for a waiting rank to notice that it can continue */            \
    X(CORES, "cores")      /* the lab's cores carry the bytes of all links */                      \
    X(LINKS, "links")      /* a real cluster's links: other traffic, or another rate than --bw */  \
    X(STRAGGLERS, "stragglers")   /* the formula has the mean over all draws, the others some */   \
    X(CONTENTION, "contention")   /* flows or messages wait for each other */                      \
    X(COMPOSITION, "composition") /* parts that the formula puts in sequence overlap */            \
    X(TOPOLOGY, "topology")       /* the formula assumes equal hosts on one switch */              \
    X(FIDELITY, "fidelity")       /* the simulation's own assumptions about the network */         \
    X(SIZES, "payload sizes")     /* a forecast's payload sizes differ from the profile's */       \
    X(CODECS, "codec times")      /* a forecast's codec times differ from the profile's */         \
    X(UNCLEAR, "unclear")
#define CC_CAUSE(name, text) CC_CAUSE_##name,
enum cc_cause_kind { CC_CAUSES(CC_CAUSE) };
#undef CC_CAUSE
extern const char *const cc_cause_names[]; /* "" is the first; ends with NULL */

/* Other programs that have fewer cores than this, as the launcher does, delay no rank much. */
#define CC_BUSY_CORES 0.2

/* The figures of one row; times are seconds per step. Unknown figures are NAN: answers that were
 * not obtained, and without a formula the parts of its answer. Codec times and bytes are those of
 * the run or the simulation, and known if there is either. */
struct cc_comparison {
    double tolerance; /* for relative differences of the whole step, and of what network and codecs
                         add to compute_s */
    double compute_s, sim_compute_s; /* for run and model; for the simulation */
    double model_s; /* by formula, given the sizes and codec times of the run (or, without one,
                       of the simulation) */
    double sim_s, run_s;
    double forecast_s; /* by formula, from the profile */
    double resized_s;  /* by formula, given the sizes, but codec times from the profile */

    enum cc_exchange exchange;
    enum cc_step_mode mode;
    bool stragglers;
    bool elsewhere; /* the simulated hosts are not alike, or not on one switch */
    bool tcp;       /* the simulation models more of the network than latency and bandwidth */

    /* Parts of the model's answer: latencies, transfers, the number of rounds, and the time that
     * token buckets save, which with a run is also subtracted in sim_s. */
    double latency_s, transfer_s, rounds, burst_s;

    /* Codec times and bytes of payload in a step: as forecast, measured in the run (or sim), and in
     * the simulation. */
    double codec_s, forecast_codec_s;
    double bytes, forecast_bytes, sim_bytes;

    /* The run. */
    double error_s;               /* standard error of run_s */
    double wire_bytes;            /* sent by the busiest host, as its interface counted them */
    double wire_should;           /* the same as expected without losses */
    double all_bytes;             /* sent by all hosts together */
    bool lab;                     /* all hosts are on one machine */
    double cores, ranks_per_core; /* the lab's; busy ranks / cores, at least 1 */
    double run_q25_s;             /* the lower quartile of its steps */
    /* How long a rank waited for a core in a step: the one that waited longest, and all together;
     * and how many cores other programs had meanwhile. */
    double core_wait_s, core_wait_all_s, other_cores;
};

/* Relative differences of two answers, (second - first) / second; NAN if one is unknown. */
struct cc_differences {
    double model_run, sim_run, model_sim, forecast;
};

/* The probable cause of a difference, and a sentence with the figures. */
struct cc_cause {
    enum cc_cause_kind kind;
    char why[400];
};

struct cc_diagnosis {
    struct cc_differences off;
    /* The same of what network and codecs add. Without a meaning (adds false) where that is less
     * than the tolerance of the step in every answer: then the step says nothing about them. */
    struct cc_differences added;
    bool adds;
    struct cc_differences quartile; /* with the lower quartile of the run's steps; no forecast */
    int answers;                    /* how many of model, sim and run answered */
    bool agree; /* no two of them differ by more than the tolerance, also in what is added */
    /* If they do not agree: the cause; if all three differ, two, the one of the larger gap first.
     */
    struct cc_cause cause[2];
    /* If the forecast differs from the run (without one, from the simulation). */
    struct cc_cause forecast;
};

/* Diagnoses a row. */
void cc_diagnose(const struct cc_comparison *t, struct cc_diagnosis *out);

#endif
