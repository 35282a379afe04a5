/* How much of a link's line rate large collectives achieve: published shares by kind of link, as an
 * interval, with sources. The formulas take the whole rate less headers; a forecast's interval, and
 * tables of measured systems, take these. */
#ifndef CC_MODELS_ACHIEVED_H
#define CC_MODELS_ACHIEVED_H

#include <stdbool.h>

#include "models/link.h"

/* Payload of a large allreduce on the busiest port, as a share of the line rate: what a host that
 * is set up poorly, as usual, and well reaches. */
struct cc_achieved {
    const char *name; /* "tcp", "tcp-fast", "tcp-100", "rdma" */
    bool rdma;
    double above_bps; /* of rates above this, unless the next row of the kind begins below */
    double low, usual, high;
    const char *source;
};
extern const struct cc_achieved cc_achieved_shares[]; /* by kind and rate; ends without a name */

/* The row of a kind of link and a line rate. */
const struct cc_achieved *cc_achieved_of_rate(bool rdma, double bw_bps);
/* The row of a link; NULL if its rate is a measured one, of which all is achieved: that of a
 * calibration, or of a preset without headers. */
const struct cc_achieved *cc_achieved_of(const struct cc_link *l);
/* The link at which a byte of payload takes as long as with that share of its line rate. */
struct cc_link cc_achieved_link(const struct cc_link *l, double share);

#endif
