/* Buffers that exist only in jobs with data. A simulation without data has no gradients, no model,
 * no sums and no payloads: NULL stands in their place. */
#ifndef CC_NETSIM_EXCHANGE_DATA_H
#define CC_NETSIM_EXCHANGE_DATA_H

#include <stddef.h>
#include <stdint.h>

#include "core/error.h"
#include "netsim/exchange/rank_state.h"

/* &list[i], or NULL without data. */
#define CC_OFFSET_OR_NULL(list, i) ((list) != NULL ? (list) + (i) : NULL)

/* *out: a buffer of that many bytes, to be freed; NULL without data. */
int cc_data_alloc(const struct cc_job *job, size_t bytes, uint8_t **out, struct cc_error *e);

/* The same for what a rank receives; NULL also where the transport lends the sender's bytes. */
int cc_inbox_alloc(const struct cc_rank_state *s, size_t bytes, uint8_t **out, struct cc_error *e);

/* A buffer of which nothing is needed any more when another rank of the process begins its step, or
 * of which each rank has a part. Such ranks share it: one for each message (SIZE_MAX: all of them)
 * and purpose `what`. Zeros when it is new; otherwise as cc_data_alloc. Free it with cc_room_free.
 */
int cc_room_alloc(const struct cc_rank_state *s, size_t index, int what, size_t bytes,
                  uint8_t **out, struct cc_error *e);
void cc_room_free(const struct cc_rank_state *s, uint8_t *room);
/* Frees those that ranks have shared, after all of them have closed their messages. */
void cc_rooms_free(struct cc_shared *shared);

#endif
