/* The cluster of an exchange as NCCL's model takes it. */
#ifndef CC_MODELS_EXCHANGE_NCCL_H
#define CC_MODELS_EXCHANGE_NCCL_H

#include "models/exchange.h"
#include "models/nccl.h"

/* Whether a link inside hosts is NVLink: a bare rate is, and names of PCIe and of memory are not.
 */
bool cc_nccl_is_nvlink(const struct cc_link *intra);

struct cc_nccl_cluster cc_nccl_of_cluster(const struct cc_cluster *c, const struct cc_link *l);

#endif
