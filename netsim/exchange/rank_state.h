/* One rank's place in one row: what its exchanges read (job, gradient), write (model) and count.
 * Shared by all messages of the row. */
#ifndef CC_NETSIM_EXCHANGE_RANK_STATE_H
#define CC_NETSIM_EXCHANGE_RANK_STATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/error.h"
#include "netsim/job/job.h"
#include "netsim/exchange/pack/pack.h"
#include "netsim/exchange/event_log.h"
#include "netsim/transport/transport.h"

/* Values of the flat step, or bytes of a payload: [from, to). */
struct cc_range {
    size_t from, to;
};

/* Totals over the row's counted steps. */
struct cc_counters {
    double phase_s[CC_PHASES];
    double work_s[CC_PHASES]; /* codecs' processor time within phase_s (work_took) */
    double exchange_update_s; /* the part of CC_PHASE_UPDATE that exchanges have charged */
    uint64_t payload_bytes;   /* encoded by this rank: a worker's push, a server's pull (once, not
                                 once per worker); re-encoded partial sums are not counted */
    uint64_t gathered_bytes;  /* the same of what is gathered of its shard */
    uint64_t head_bytes;      /* heads of the packs around these payloads */
    uint64_t
        sent_bytes; /* handed to the transport for other hosts, heads and partial sums included */
    uint64_t messages;      /* likewise */
    uint64_t intra_bytes;   /* the same for ranks of the own host */
    double send_s;          /* for which this rank handed them to MPI */
    uint64_t *tensor_bytes; /* payload_bytes by tensor; NULL: not counted */
    uint64_t kept;          /* values in the sums of pairs, where these are re-sparsified */
    uint64_t chosen[CC_EXCHANGE_COUNT]; /* ssar-auto: messages by the exchange that it chose */
};

/* The workers that an exchange is among: `size` of them, of which the i-th is first + i * stride.
 * size 0: all. */
struct cc_rank_group {
    int size, first, stride;
};

struct cc_exchange_kind;
struct cc_send_queue;
struct cc_chunks;
struct cc_room;

/* The ranks that share one memory have these together. All zeros: nothing yet. */
struct cc_shared {
    struct cc_chunks *chunks; /* open ones (chunks.h) */
    struct cc_room *rooms;    /* (data.h) */
};

struct cc_rank_state {
    struct cc_transport *transport;
    /* That of the transport's own library (CC_X_LIBRARY); NULL: it has none. */
    const struct cc_exchange_kind *library;
    int rank; /* workers first, then servers */
    bool server;
    struct cc_rank_group group; /* a collective's, of a step with sharded states; */
    int collective;             /* its place in the list; */
    size_t part, parts; /* and of each message's values the part that it is of; parts 0: all */
    const struct cc_job *job;
    const struct cc_job_row *row;
    const struct cc_size_index *sizes; /* the row's, without data; else NULL */
    const struct cc_spec *spec, *raw;  /* the row's scheme, and fp32 */
    const struct cc_spec *pull;        /* the scheme of what servers send */
    const struct cc_spec *second;      /* the scheme of the second stage (cc_second_spec); NULL:
                                          fp32 if it is dense, otherwise the row's */
    const struct cc_spec *inner;       /* the scheme inside hosts (cc_inner_spec); or NULL */
    const struct cc_size_index *second_sizes, *inner_sizes; /* theirs, without data; else NULL */
    uint64_t step;              /* the step of the exchange; set before start */
    struct cc_pack_list *packs; /* the rank's encoders, as they are made; NULL: not listed */
    /* The flat step that this worker contributes, and the one that the mean over the workers is
     * added to, as they encoded it. Set before start and valid until done; NULL without data. */
    const float *gradient;
    float *model;
    bool contributes; /* and does no more: rank 0 of this process applies what all ranks receive */
    bool waits_its_turn; /* while an exchange begins: it encodes, and sends nothing before its next
                            test, as those before it are under way */
    bool hold_sums; /* an exchange that sums, and is done except for adding the mean to the model,
                       reports that it is done; its next test without this adds it */
    /* Servers: turns the mean of the pushes of values [from, to), which have had `updates` before,
     * into what the workers pull, in place; mean[0] is value `from`. NULL: they pull the mean.
     * Workers with shards: turns the mean of their own values into what is gathered. Where steps
     * are not bulk synchronous: applies a push to `model`. */
    int (*serve)(void *arg, uint64_t step, uint64_t updates, size_t from, size_t to, float *mean,
                 struct cc_error *e);
    void *serve_arg;
    struct cc_counters counters;
    struct cc_event_log *events; /* or NULL */
    struct {
        size_t arrived, pulled; /* messages of this step: whose pushes are complete; whose pull has
                                   been sent. Used by ps only */
    } round_state;
    uint64_t until; /* servers, where steps are not bulk synchronous: they take all pushes of steps
                       below this one */
    /* The same, since counting has begun; held_s, parts and pushes: in the latest counted steps. */
    struct {
        uint64_t *age;     /* a server's updates by their staleness: [CC_CLOCKS_AGES] (clocks.h) */
        double *held_s;    /* [messages]: for which the bound has held pulls back, of all workers */
        double *longest_s; /* or NULL: [workers]: the longest of each worker's since it was set to 0
                            */
        uint64_t parts, pushes; /* a worker's, of all steps and messages: those that its steps have,
                                   and those that it has pushed */
    } staleness;
    struct cc_shared *shared;    /* NULL: no other rank is in this process */
    struct cc_send_queue *queue; /* ps: one for each server or worker that this rank sends to */
    size_t queue_users;          /* messages that are open */
};

/* `seconds` of work in a row that has costs; NAN in one that measures them. */
double cc_row_cost(const struct cc_rank_state *s, double seconds);

/* The workers that the exchange is among, this rank's place among them, and the rank of one. */
static inline int cc_group_size(const struct cc_rank_state *s)
{
    return s->group.size > 0 ? s->group.size : s->job->workers;
}
static inline int cc_group_place(const struct cc_rank_state *s)
{
    return s->group.size > 0 ? (s->rank - s->group.first) / s->group.stride : s->rank;
}
static inline int cc_group_rank(const struct cc_rank_state *s, int place)
{
    return s->group.size > 0 && place >= 0 ? s->group.first + place * s->group.stride : place;
}

/* The factor on what the exchange has summed or gathered: a mean's, or 1. */
static inline float cc_result_scale(const struct cc_rank_state *s)
{
    return s->job->op == CC_ALL_GATHER ? 1.0f : 1.0f / (float)cc_group_size(s);
}

/* Ends work and charges its time to a phase. */
void cc_charge(struct cc_rank_state *s, enum cc_phase phase, struct cc_work_timer since,
               double cost_s);

/* The same for updates of the model within an exchange: CC_PHASE_UPDATE. */
void cc_charge_update(struct cc_rank_state *s, struct cc_work_timer since, double cost_s);

/* Logs one end of a transfer of message `index`: it begins to leave, or it has arrived. */
void cc_note_transfer(struct cc_rank_state *s, bool received, size_t index, int peer, size_t bytes);

/* Whether the row sends nothing of this message in s->step (cc_job_row_silent). */
bool cc_silent(const struct cc_rank_state *s, const struct cc_message *m);

/* Counts a message, or a block of one, that is handed to the transport. */
static inline void cc_count_sent(struct cc_rank_state *s, int peer, size_t bytes)
{
    struct cc_counters *c = &s->counters;
    if (cc_job_host(s->job, peer) == cc_job_host(s->job, s->rank)) {
        c->intra_bytes += bytes;
        return;
    }
    c->sent_bytes += bytes;
    c->messages++;
}

#endif
