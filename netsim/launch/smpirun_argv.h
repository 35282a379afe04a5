/* smpirun's command line: SimGrid's settings for a simulation. */
#ifndef CC_NETSIM_LAUNCH_SMPIRUN_ARGV_H
#define CC_NETSIM_LAUNCH_SMPIRUN_ARGV_H

#include <stdbool.h>

#include "core/error.h"
#include "netsim/job/job.h"

/* How closely the network is simulated. */
enum cc_fidelity {
    CC_FIDELITY_ALPHA_BETA, /* the formulas' assumptions: a transfer is one message that takes
                               latency plus bytes / bandwidth, and flows share links equally */
    CC_FIDELITY_TC, /* as the lab: the same, with the messages of a real run and tc's frames */
    CC_FIDELITY_TCP /* SMPI's own model: factors by message size, TCP's window, and
                       acknowledgements that share the links */
};
extern const char *const cc_fidelity_names[]; /* "alpha-beta", "tc", "tcp"; ends with NULL */

struct cc_smpirun_command {
    const char *smpirun; /* NULL: "smpirun", looked up in PATH */
    const char *rank_program;
    char platform[64], hosts[64]; /* paths of the platform and of the list of hosts */
    char paje[64];                /* path of SimGrid's trace; "": none is written */
    enum cc_fidelity fidelity;
    double overhead;    /* bytes of headers per byte of payload; not for CC_FIDELITY_TCP */
    double message_s;   /* for which a sender is busy with each message */
    bool uneven_routes; /* the platform's routes differ in latency */
};

/* *out ends with NULL; the caller frees it with cc_argv_free. */
int cc_smpirun_argv(const struct cc_smpirun_command *command, const struct cc_job *job, char ***out,
                    struct cc_error *e);

#endif
