/* One message's packs: making, encoding and applying them, with the time charged and the bytes
 * counted in the rank's state. */
#ifndef CC_NETSIM_EXCHANGE_MESSAGE_PACK_H
#define CC_NETSIM_EXCHANGE_MESSAGE_PACK_H

#include "netsim/exchange/pack/pack.h"
#include "netsim/exchange/rank_state.h"

/* The values of a message. */
struct cc_range cc_message_range(const struct cc_rank_state *s, const struct cc_message *m);

/* cc_pack_make, and lists the pack if it encodes. Job, row and raw are the rank's; spec and sizes,
 * too, where the caller leaves them out. */
int cc_rank_pack_make(const struct cc_rank_state *s, struct cc_pack_config config,
                      const struct cc_slice *slice, size_t slices, struct cc_pack **out,
                      struct cc_error *e);

/* A worker's pack for the values of `part`, whose x and y begin at value `origin`. The
 * caller sets seed, rank, workers and decodes_only of `config`, and spec, sizes and direction if
 * they are not the row's and CC_PUSH. */
int cc_message_pack_make(const struct cc_rank_state *s, struct cc_range part, size_t origin,
                         struct cc_pack_config config, struct cc_pack **out, struct cc_error *e);

/* Encodes and charges `phase`. Counts the payload if `first`: the rank has not encoded these values
 * in this step before. */
int cc_message_encode(struct cc_rank_state *s, struct cc_pack *c, const float *x,
                      enum cc_phase phase, bool first, uint8_t *out, size_t *len,
                      struct cc_error *e);

/* Counts the payload that was encoded last. */
void cc_message_count(struct cc_rank_state *s, const struct cc_pack *c, size_t payload,
                      size_t head);

/* y += scale * decoded; charges what `op` costs to `phase`. */
int cc_message_decode_add(struct cc_rank_state *s, const struct cc_pack *c, enum cc_pack_op op,
                          enum cc_phase phase, const uint8_t *in, size_t len, float scale, float *y,
                          struct cc_error *e);

/* model += sum / workers for the values of `range`, of which sum[0] is the first. Refuses values
 * that are not finite. */
int cc_message_add_sum(struct cc_rank_state *s, struct cc_range range, const float *sum,
                       struct cc_error *e);

#endif
