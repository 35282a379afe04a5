/* The state of messages that are followed. For models/exchange_follow*.c only. */
#ifndef CC_MODELS_EXCHANGE_FOLLOW_IMPL_H
#define CC_MODELS_EXCHANGE_FOLLOW_IMPL_H

#include "models/exchange_follow.h"

enum {
    MOST_ROUNDS = 32768, /* that are followed, of all ranks and chunks: 20 ms on one core */
    LEAST_PARTS = 8,     /* chunks of these */
    MOST_PORTS = 3,      /* that a message crosses: out, in, and a link between sites */
    UNDER_WAY = 4,       /* messages of one chunk that a rank sends, or waits for, at a time */
    AT_ONCE = 32         /* the same where rounds do not wait for each other */
};

/* How far a rank's message is; one that is over is taken after those posted before it. */
enum { NOT_YET, POSTED, ENDED, OVER };

/* A round, as a rank of those followed does it for a chunk. */
struct cc_follow_hop {
    int to, from;  /* ranks followed; -1: none */
    size_t theirs; /* the receiver's round */
    double bytes;  /* sent, on the wire */
    double alpha;
    size_t way;
    size_t theirs_here; /* the sender's round of what it receives */
    double encode_s, add_s, decode_s;
};

struct cc_follow_rank {
    struct cc_schedule schedule;
    struct cc_follow_hop *hop;
    size_t first_rounds;          /* the first group of them */
    double owner_s, own_decode_s; /* encodes the whole sum of its own part, and decodes it */
    bool busy;
    size_t begun;   /* chunks */
    size_t pending; /* ends of messages that it has not noticed */
};

/* A rank's part in a chunk. */
struct cc_follow_side {
    unsigned char *sent, *got, *added; /* [rounds] */
    unsigned char *unnoticed;          /* [2 rounds]: received ones, sent ones */
    size_t current, begun;
    size_t out, in;             /* the next to be posted */
    size_t out_taken, in_taken; /* those before it are over */
    size_t out_last, in_last;   /* those before it have been added to the stream */
    size_t out_count, in_count; /* posted, and not over */
    size_t pending;             /* ends that it has not noticed */
    bool passed, over;
};

/* A message under way, in a list of these. */
#define CC_FOLLOW_NOBODY SIZE_MAX
struct cc_follow_flow {
    int rank; /* its sender */
    size_t part, round, number;
    double until; /* the way's bytes at its end */
    size_t before, after;
};

struct cc_follow_list {
    size_t first, last;
};

/* The flows over two ports, in the order in which they end. */
struct cc_follow_way {
    int port[MOST_PORTS], ports;
    size_t next;          /* way of the first port */
    size_t flows, shared; /* now, and when rates were set */
    struct cc_follow_list flow;
    double rate, served; /* bytes of each flow in a second, and in all */
};

struct cc_follow_event {
    double at;
    size_t number; /* events of one time are in the order in which they arose */
    enum { WAKES, SENDS, WAITS, FLOWS } is;
    int rank;
    size_t part, round;
};

struct cc_follow_port {
    double bytes_s;    /* its rate */
    double left, each; /* of it, and for each of the flows that get more */
    size_t open;       /* these */
    size_t way;        /* the latest of those that begin here */
};

struct cc_follow_state {
    const struct cc_exchange_case *k;
    bool sums;
    int ranks;
    size_t parts, rounds; /* the most of any rank */
    struct cc_follow_rank *rank;
    struct cc_follow_side *side; /* [ranks][parts] */
    unsigned char *states;
    struct cc_follow_port *port;
    int ports, wans; /* and of these the first of links between sites */
    struct cc_follow_way *way;
    size_t ways, way_capacity;
    size_t *active, actives; /* ways with flows */
    struct cc_follow_flow *flow;
    size_t flows, flow_capacity, begun;
    struct cc_follow_list unused, ended;
    bool emptied;                  /* a way, since rates were set */
    struct cc_follow_event *event; /* a heap */
    size_t events, event_capacity, numbered;
    bool changed;
    double now, since, ends, end; /* flows are as at `since`; the next ends, the last rank */
    int status;
    struct cc_error error;
};

/* Makes the schedules, rounds and ports of f->ranks ranks and f->parts chunks, of which the case's
 * message is one; close frees what there is, also after a failure. */
int cc_follow_open(struct cc_follow_state *f, struct cc_followed by, struct cc_error *e);
void cc_follow_close(struct cc_follow_state *f);

/* Begins the flow of a rank's message. */
int cc_follow_begin(struct cc_follow_state *f, int rank, size_t part, size_t round,
                    struct cc_error *e);
/* Shares ports anew, and finds out when the next flow ends. */
void cc_follow_share(struct cc_follow_state *f);
/* Ends those flows that are over now, which are then given back in the order in which they began;
 * false: there are no more. */
void cc_follow_end(struct cc_follow_state *f);
bool cc_follow_next_ended(struct cc_follow_state *f, struct cc_follow_flow *out);

#endif
