/* The two kinds of packs behind pack.h, and what tells them apart: real packs hold codecs and make
 * payloads (pack_real.c); virtual packs of jobs without data only know how long payloads would be
 * (pack_virtual.c). For pack*.c only. */
#ifndef CC_NETSIM_EXCHANGE_PACK_PACK_IMPL_H
#define CC_NETSIM_EXCHANGE_PACK_PACK_IMPL_H

#include "netsim/exchange/pack/pack.h"

/* As the functions of pack.h of the same names. */
struct cc_pack_vtable {
    void (*free)(struct cc_pack *p);
    size_t (*bound)(const struct cc_pack *p);
    size_t (*size)(const struct cc_pack *p, int64_t rank, uint64_t step);
    int (*encode)(struct cc_pack *p, uint64_t step, const float *x, uint8_t *out, size_t *len,
                  size_t *head, struct cc_error *e);
    void (*count)(const struct cc_pack *p, uint64_t *tensor_bytes);
    /* scale: NULL to decode, else to add. */
    int (*decode)(const struct cc_pack *p, uint64_t step, const uint8_t *in, size_t len,
                  const float *scale, float *y, struct cc_error *e);
    int (*to_pairs)(const struct cc_pack *p, uint64_t step, const uint8_t *in, size_t len,
                    struct cc_index_value *out, size_t *count, struct cc_error *e);
    void (*give_back)(struct cc_pack *p, const struct cc_index_value *pair, size_t count);
    size_t (*pairs_bound)(const struct cc_pack *p);
    bool (*state)(const struct cc_pack *p, size_t i, struct cc_pack_state *out); /* or NULL */
    size_t (*rounds)(const struct cc_pack *p);
    int (*encode_round)(struct cc_pack *p, uint64_t step, size_t round, const float *x,
                        uint8_t *out, size_t *len, struct cc_error *e);
    int (*absorb)(struct cc_pack *p, uint64_t step, size_t round, const uint8_t *in, size_t len,
                  float scale, float *y, struct cc_error *e);
};

/* The beginning of both kinds. cc_pack_make fills in all but the table. */
struct cc_pack {
    const struct cc_pack_vtable *vtable;
    double cost[CC_PACK_OPS];
    bool verbatim;
};

int cc_real_pack_make(const struct cc_pack_config *config, const struct cc_slice *slice,
                      size_t slices, struct cc_pack **out, struct cc_error *e);
int cc_virtual_pack_make(const struct cc_pack_config *config, const struct cc_slice *slice,
                         size_t slices, struct cc_pack **out, struct cc_error *e);

#endif
