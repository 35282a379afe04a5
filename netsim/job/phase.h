/* The phases of a rank's time, as ranks, reports and timelines distinguish them. */
#ifndef CC_NETSIM_JOB_PHASE_H
#define CC_NETSIM_JOB_PHASE_H

enum cc_phase {
    CC_PHASE_COMPUTE,
    CC_PHASE_ENCODE, /* a worker, before the first byte leaves, or before each of several sums */
    CC_PHASE_HOP,    /* decoding, adding and encoding on the way; adding floats */
    CC_PHASE_SERVER, /* a server: decoding pushes, encoding the pull */
    CC_PHASE_DECODE, /* a worker, onto its model, or each of several sums */
    CC_PHASE_UPDATE,
    CC_PHASE_WAIT, /* the rest: for the network, and for other ranks */
    CC_PHASES
};

#endif
