#include "netsim/mpi/exchange/exchange.h"

#include <string.h>

/* Each is defined in the file of its name. */
extern const struct cc_exchange_ops cc_exchange_ops_ps, cc_exchange_ops_ring,
    cc_exchange_ops_recdouble, cc_exchange_ops_rabenseifner, cc_exchange_ops_allgather,
    cc_exchange_ops_mpi;

static const struct cc_exchange_ops *const exchanges[] = {
    &cc_exchange_ops_ps,
    &cc_exchange_ops_ring,
    &cc_exchange_ops_recdouble,
    &cc_exchange_ops_rabenseifner,
    &cc_exchange_ops_allgather,
    &cc_exchange_ops_mpi,
    NULL,
};

const struct cc_exchange_ops *cc_exchange_ops_find(const char *name)
{
    for (size_t i = 0; exchanges[i] != NULL; i++)
        if (strcmp(exchanges[i]->name, name) == 0)
            return exchanges[i];
    return NULL;
}
