/* The MPI library's own collectives as an exchange: struct cc_rank_state.library over MPI. */
#ifndef CC_NETSIM_RANK_EXCHANGE_MPI_H
#define CC_NETSIM_RANK_EXCHANGE_MPI_H

#include "netsim/exchange/exchange_code.h"

extern const struct cc_exchange_kind cc_exchange_mpi;

#endif
