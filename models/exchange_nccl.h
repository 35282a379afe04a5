/* The cluster of an exchange as NCCL's model takes it. */
#ifndef CC_MODELS_EXCHANGE_NCCL_H
#define CC_MODELS_EXCHANGE_NCCL_H

#include "models/exchange.h"
#include "models/nccl.h"

struct cc_nccl_cluster cc_nccl_of_cluster(const struct cc_cluster *c, const struct cc_link *l);

#endif
