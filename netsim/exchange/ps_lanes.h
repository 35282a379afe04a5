/* Lanes: what ps.c and ps_stale.c have in common. A lane is the path of one message to one peer: a
 * worker has one for each server that keeps a part of the message, a server has one for each
 * worker. One message of the transport each way: a push or a pull is not cut into blocks.
 *
 * All that goes from one rank to another, of all messages of the row, leaves in order: at most two
 * are under way at a time, or more while they are CC_QUEUE_BYTES together at most; the others wait.
 * Overlapped steps hand many messages to MPI at once. If all were under way, they would share the
 * connection, and the first would arrive hardly before the last: a simulated network shares links
 * among all flows, and MPI's rendezvous protocol sends the ends of large messages after all that
 * was posted later. Two, so that the next one is on its way while the end of one is noticed. */
#ifndef CC_NETSIM_EXCHANGE_PS_LANES_H
#define CC_NETSIM_EXCHANGE_PS_LANES_H

#include "netsim/exchange/exchange_code.h"
#include "netsim/exchange/message_pack.h"

struct cc_lane {
    int peer;
    uint8_t *in, *out;                 /* a message's head and pack; NULL without data */
    uint8_t *room;                     /* for `in`; NULL where the transport lends it */
    size_t in_len;                     /* bytes of the message that has arrived */
    bool here;                         /* it has, since the lane began to receive */
    struct cc_pack *encoder, *decoder; /* a worker's: of pushes, of pulls; a server's: of pulls, of
                                          pushes */
    bool sends;
    struct cc_parcel parcel; /* under way, or waiting, if it `sends` */
    struct cc_lanes *of;
    struct cc_lane *next; /* waits for the same peer */
};

/* A message and its lanes. */
struct cc_lanes {
    struct cc_exchange_head head;
    size_t in_head, out_head; /* bytes before the packs that come, and that leave */
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
int cc_lanes_open_worker(struct cc_lanes *p, struct cc_error *e);
/* Opens a server's lanes without packs and buffers, if it keeps any of the message: lanes is 0
 * otherwise. */
int cc_lanes_open_server(struct cc_lanes *p, struct cc_error *e);
/* Frees all that lanes have; a server's lanes may share packs, which the last lane frees. */
void cc_lanes_close(struct cc_lanes *p);

/* A server's pack of the slices that it keeps: it decodes pushes, and encodes pulls. `rank` as in
 * struct cc_pack_config. */
int cc_lanes_pack(const struct cc_lanes *p, enum cc_direction direction, int64_t rank,
                  struct cc_pack **out, struct cc_error *e);
/* A zeroed buffer for what a lane receives, where it has to be received into one. */
int cc_lanes_inbox(struct cc_lanes *p, struct cc_lane *l, struct cc_error *e);
/* The same for what a lane sends; in one process all workers, and then the server, have the same
 * one. */
int cc_lanes_outbox(const struct cc_lanes *p, struct cc_lane *l, struct cc_error *e);
/* Checks that a server has memory for that many bytes. */
int cc_lanes_check_memory(const struct cc_lanes *p, size_t bytes, struct cc_error *e);
/* The first value of a slice, in the flat step. */
size_t cc_lanes_value(const struct cc_lanes *p, const struct cc_slice *slice);

/* Begins to receive a message. */
int cc_lanes_receive(struct cc_lanes *p, size_t lane, struct cc_error *e);
/* Sends `len` bytes, which stay as they are until the lane no longer `sends`. */
int cc_lanes_send(struct cc_lanes *p, size_t lane, uint8_t *bytes, size_t len, struct cc_error *e);
/* Takes note of completed requests; *received: how many lanes, which stand at the front of
 * p->finished, have received a message. */
int cc_lanes_take(struct cc_lanes *p, int *received, struct cc_error *e);

/* Encodes behind the head of the lane's `out`, and counts unless the step is silent: then only the
 * residual grows. *len: of head and pack. */
int cc_lanes_encode(struct cc_lanes *p, const struct cc_lane *l, const float *x, size_t *len,
                    struct cc_error *e);
/* y += scale * what has arrived in the lane, behind the head. */
int cc_lanes_decode_add(struct cc_lanes *p, const struct cc_lane *l, float scale, float *y,
                        struct cc_error *e);

/* Servers: has `mean`, whose first value is p->origin, turned into what the workers pull, one range
 * of values after the other. `updates`: that these values have had before. */
int cc_lanes_serve(struct cc_lanes *p, uint64_t updates, float *mean, struct cc_error *e);

/* ps where steps are not bulk synchronous (ps_stale.c). */
extern const struct cc_exchange_kind cc_ps_stale;

#endif
