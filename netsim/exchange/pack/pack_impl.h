/* The two kinds of packs behind pack.h, and what tells them apart: real packs hold codecs and make
 * payloads (pack.c); virtual packs of jobs without data only know how long payloads would be
 * (pack_virtual.c). For pack*.c only. */
#ifndef CC_NETSIM_EXCHANGE_PACK_PACK_IMPL_H
#define CC_NETSIM_EXCHANGE_PACK_PACK_IMPL_H

#include "netsim/exchange/pack/pack.h"

/* The beginning of both kinds. cc_pack_make sets the costs and `verbatim`. */
struct cc_pack {
    bool is_virtual, verbatim;
    double cost[CC_PACK_OPS];
};

int cc_real_pack_make(const struct cc_pack_config *config, const struct cc_slice *slice,
                      size_t slices, struct cc_pack **out, struct cc_error *e);
int cc_virtual_pack_make(const struct cc_pack_config *config, const struct cc_slice *slice,
                         size_t slices, struct cc_pack **out, struct cc_error *e);

/* As the functions of pack.h of the same names, of virtual packs. */
size_t cc_virtual_pack_bound(const struct cc_pack *p);
size_t cc_virtual_pack_size(const struct cc_pack *p, int64_t rank, uint64_t step);
void cc_virtual_pack_encode(struct cc_pack *p, uint64_t step, size_t *len, size_t *head);
void cc_virtual_pack_count(const struct cc_pack *p, uint64_t *tensor_bytes);
size_t cc_virtual_pack_rounds(const struct cc_pack *p);
void cc_virtual_pack_encode_round(struct cc_pack *p, uint64_t step, size_t round, size_t *len);

#endif
