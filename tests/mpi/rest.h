/* Lets a rank wait until it can go on. */
#ifndef CC_TESTS_MPI_REST_H
#define CC_TESTS_MPI_REST_H

#include "netsim/exchange/exchange.h"

/* The others get their turn; where ranks are simulated, until something comes to this one, or until
 * `until` on its clock. */
void rest(struct cc_rank_state *s, double until);

#endif
