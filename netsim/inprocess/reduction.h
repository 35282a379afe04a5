/* The reductions of exchanges in one process, each for one message. */
#ifndef CC_NETSIM_INPROCESS_REDUCTION_H
#define CC_NETSIM_INPROCESS_REDUCTION_H

#include "netsim/inprocess/inprocess.h"
#include "netsim/exchange/pack/pack.h"

/* Values of the flat step: [from, to). */
struct cc_values {
    size_t from, to;
};

/* A message of the row. */
struct cc_inprocess_message {
    const struct cc_inprocess_config *config;
    struct cc_pack_list *packs;  /* of each rank: those with which it encodes, of all messages */
    const struct cc_spec *dense; /* of a dense second stage; NULL: fp32 */
    size_t index;                /* in the row */
    struct cc_values values;
};

/* One step of it. The flat steps begin at the first value of all; `silent`: payloads are encoded,
 * so that residuals add up, and not sent. */
struct cc_inprocess_call {
    uint64_t step;
    bool silent;
    const float *const *gradient;
    float *result;
    struct cc_inprocess_step *out;
};

/* A reduction's object begins with a pointer to its operations. */
struct cc_inprocess_ops {
    int (*exchange)(void *x, const struct cc_inprocess_call *c, struct cc_error *e);
    void (*close)(void *x);
};

int cc_inprocess_ps_open(const struct cc_inprocess_message *m, void **out, struct cc_error *e);
int cc_inprocess_gather_open(const struct cc_inprocess_message *m, void **out, struct cc_error *e);
int cc_inprocess_sum_open(const struct cc_inprocess_message *m, void **out, struct cc_error *e);
int cc_inprocess_recode_open(const struct cc_inprocess_message *m, void **out, struct cc_error *e);
int cc_inprocess_merge_open(const struct cc_inprocess_message *m, void **out, struct cc_error *e);

/* A pack of the rank `keeper` for some of the message's values, whose x and y begin at the
 * message's first one. The caller sets rank, seed, direction and decodes_only of `from`, and spec
 * where it is not the row's. */
int cc_inprocess_pack(const struct cc_inprocess_message *m, int keeper, struct cc_values values,
                      struct cc_pack_config from, struct cc_pack **out, struct cc_error *e);
/* The same for slices of them. */
int cc_inprocess_pack_slices(const struct cc_inprocess_message *m, int keeper,
                             const struct cc_slice *slice, size_t slices,
                             struct cc_pack_config from, struct cc_pack **out, struct cc_error *e);
/* Encodes; *payload: bytes without the pack's head. */
int cc_inprocess_encode(struct cc_pack *p, const struct cc_inprocess_call *c, const float *x,
                        uint8_t *out, size_t *len, uint64_t *payload, struct cc_error *e);

#endif
