/* Lanes: what ps.c and ps_stale.c have in common. A lane is the path of one message to one peer: a
 * worker has one for each server that keeps a part of the message, a server has one for each
 * worker. One message of the transport each way: a push or a pull is not cut into blocks. All that
 * go to one peer leave in order (send_queue.h). */
#ifndef CC_NETSIM_EXCHANGE_PS_LANES_H
#define CC_NETSIM_EXCHANGE_PS_LANES_H

#include "netsim/exchange/exchange_code.h"
#include "netsim/exchange/message_pack.h"
#include "netsim/exchange/send_queue.h"

struct cc_lane {
    int peer;
    uint8_t *in, *out; /* a message's head and pack; NULL without data */
    uint8_t *room;     /* for `in`; NULL where the transport lends it */
    size_t in_len;     /* bytes of the message that has arrived */
    bool here;         /* it has, since the lane began to receive */
    struct cc_pack *push, *pull;
    struct cc_send send; /* under way, if `sends` */
    bool sends;
};

/* A message and its lanes. */
struct cc_lanes {
    struct cc_rank_state *s;
    const struct cc_message *m;
    int tag;
    size_t push_head, pull_head; /* bytes before the packs */
    struct cc_lane *lane;
    size_t lanes;
    struct cc_requests requests; /* the receives of lane 0, 1, ..., then the sends */
    int *finished;               /* indices of complete requests: room for 2 * lanes */
    size_t pending;              /* requests that are not complete */
    bool silent;                 /* the step under way sends nothing */
    size_t payload;              /* bytes of the payload that was encoded last */
    bool shares;                 /* what is sent lies in buffers that ranks share (data.h) */

    /* Servers only: */
    struct cc_slice *slice;
    size_t slices, origin; /* origin: the first value of the first slice */
    size_t values;         /* from there to the end of the last slice */
};

/* Opens a worker's lanes, with packs and buffers of their own. Sets of *p only what is not zero;
 * the heads are set before. Close it also after an error. */
int cc_lanes_open_worker(struct cc_lanes *p, struct cc_rank_state *s, const struct cc_message *m,
                         size_t index, struct cc_error *e);
/* Opens a server's lanes without packs and buffers, if it keeps any of the message: lanes is 0
 * otherwise. */
int cc_lanes_open_server(struct cc_lanes *p, struct cc_rank_state *s, const struct cc_message *m,
                         size_t index, struct cc_error *e);
/* Frees all that lanes have; a server's lanes may share packs, which the last lane frees. */
void cc_lanes_close(struct cc_lanes *p);

/* A server's pack of the slices that it keeps. `rank` as in struct cc_pack_config. */
int cc_lanes_pack(const struct cc_lanes *p, enum cc_direction direction, int64_t rank,
                  bool decodes_only, struct cc_pack **out, struct cc_error *e);
/* A zeroed buffer for a message with a head; NULL without data. */
int cc_lanes_buffer(const struct cc_lanes *p, const struct cc_pack *c, size_t head, uint8_t **out,
                    struct cc_error *e);
/* The same for what a lane receives, where it has to be received into a buffer. */
int cc_lanes_inbox(struct cc_lanes *p, size_t lane, const struct cc_pack *c, size_t head,
                   struct cc_error *e);
/* A buffer for what a lane sends, to or from this server; in one process all workers, and then the
 * server, have the same one. */
int cc_lanes_outbox(const struct cc_lanes *p, const struct cc_pack *c, size_t head, int server,
                    uint8_t **out, struct cc_error *e);
/* Checks that a server has memory for that many bytes. */
int cc_lanes_check_memory(const struct cc_lanes *p, size_t bytes, struct cc_error *e);
/* The first value of a slice, in the flat step. */
size_t cc_lanes_value(const struct cc_lanes *p, const struct cc_slice *slice);

/* Begins to receive a message whose pack is encoded as `c`. */
int cc_lanes_receive(struct cc_lanes *p, size_t lane, const struct cc_pack *c, size_t head,
                     struct cc_error *e);
/* Sends `len` bytes, which stay as they are until the lane no longer `sends`. */
int cc_lanes_send(struct cc_lanes *p, size_t lane, const uint8_t *bytes, size_t len,
                  struct cc_error *e);
/* Takes note of completed requests; *received: how many lanes, which stand at the front of
 * p->finished, have received a message. */
int cc_lanes_take(struct cc_lanes *p, int *received, struct cc_error *e);

/* Encodes behind the head, and counts unless the step is silent: then only the residual grows.
 * *len: of head and pack. */
int cc_lanes_encode(struct cc_lanes *p, struct cc_pack *c, const float *x, enum cc_phase phase,
                    size_t head, uint8_t *out, size_t *len, struct cc_error *e);
/* y += scale * what has arrived in the lane, behind the head. */
int cc_lanes_decode_add(struct cc_lanes *p, const struct cc_pack *c, const struct cc_lane *from,
                        size_t head, float scale, float *y, enum cc_phase phase,
                        struct cc_error *e);

/* Servers: has `mean`, whose first value is p->origin, turned into what the workers pull, one range
 * of values after the other. `updates`: that these values have had before. */
int cc_lanes_serve(struct cc_lanes *p, uint64_t updates, float *mean, struct cc_error *e);

/* Opens ps where steps are not bulk synchronous (ps_stale.c). */
cc_exchange_opener cc_ps_stale_open;

#endif
