/* mpi: the collectives of the transport's own library, for comparison with the exchanges here.
 * Their code is the transport's: over MPI, netsim/rank/exchange_mpi.c. */
#include "netsim/exchange/exchange_code.h"

static int open_library(struct cc_rank_state *s, const struct cc_message *m, size_t index,
                        void **out, struct cc_error *e)
{
    return s->library != NULL ? cc_exchange_make(s->library, s, m, index, NULL, out, e)
                              : cc_fail(e, "%s: there is no library here that has collectives",
                                        cc_exchange_names[s->job->exchange]);
}

const struct cc_exchange_code cc_exchange_code_mpi = {.open = open_library};
