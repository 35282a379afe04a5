/* Crates of jobs without data: they know how long everything is and touch no payload. For crate*.c
 * only. */
#ifndef CC_NETSIM_MESSAGE_PACK_VIRTUAL_H
#define CC_NETSIM_MESSAGE_PACK_VIRTUAL_H

#include "netsim/message/pack.h"

/* What every crate begins with. */
struct cc_pack {
    bool sized; /* without data */
    double cost[CC_PACK_OPS];
};

/* As the functions of crate.h; free it with free. */
int cc_virtual_pack_make(const struct cc_pack_config *config, const struct cc_slice *slice,
                         size_t slices, struct cc_pack **out, struct cc_error *e);
size_t cc_virtual_pack_bound(const struct cc_pack *of);
size_t cc_virtual_pack_bytes(const struct cc_pack *of, int64_t rank, uint64_t step);
void cc_virtual_pack_encode(struct cc_pack *of, uint64_t step, size_t *len, size_t *head);
void cc_virtual_pack_count(const struct cc_pack *of, uint64_t *tensor_bytes);
size_t cc_virtual_pack_rounds(const struct cc_pack *of);
void cc_virtual_pack_encode_round(struct cc_pack *of, uint64_t step, size_t round, size_t *len);

#endif
