/* Crates of jobs without data: they know how long everything is and touch no payload. For crate*.c
 * only. */
#ifndef CC_NETSIM_CRATE_SIZES_H
#define CC_NETSIM_CRATE_SIZES_H

#include "netsim/crate.h"

/* What every crate begins with. */
struct cc_crate {
    bool sized; /* without data */
    double cost[CC_CRATE_OPS];
};

/* As the functions of crate.h; free it with free. */
int cc_sized_make(const struct cc_crate_how *how, const struct cc_piece *piece, size_t pieces,
                  struct cc_crate **out, struct cc_error *e);
size_t cc_sized_bound(const struct cc_crate *of);
size_t cc_sized_bytes(const struct cc_crate *of, int64_t rank, uint64_t step);
void cc_sized_encode(struct cc_crate *of, uint64_t step, size_t *len, size_t *head);
void cc_sized_count(const struct cc_crate *of, uint64_t *tensor_bytes);
size_t cc_sized_rounds(const struct cc_crate *of);
void cc_sized_encode_round(struct cc_crate *of, uint64_t step, size_t round, size_t *len);

#endif
