/* Transports: how the ranks of an exchange send messages to each other, and the clock by which they
 * work. Exchanges are written once against this interface. There are three transports: Open MPI and
 * SimGrid's SMPI (mpi.h, one in each rank program), and all ranks in one process (process.h).
 *
 * Nothing blocks: `begin` begins to send or to receive, which occupies a request until it is
 * reported complete. Between two ranks, messages of one tag arrive in the order in which they were
 * sent. */
#ifndef CC_NETSIM_TRANSPORT_TRANSPORT_H
#define CC_NETSIM_TRANSPORT_TRANSPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/error.h"

struct cc_transport;

/* An array of requests with one owner, for instance a message's blocks. It is linked into its
 * transport, so it must stay in place until it is closed. */
struct cc_requests {
    struct cc_transport *transport; /* NULL: not open */
    void *request;                  /* the transport's own, of each */
    size_t count;
    struct cc_requests *next;
};

/* A message to or from a rank. */
struct cc_parcel {
    uint8_t *at; /* NULL: in jobs without data, no bytes; to receive, where the transport lends: the
                    sender's bytes are used where they are (cc_requests_lent) */
    size_t bytes; /* to receive: the most */
    int peer, tag;
    /* To send: bytes before the pack, and those of its payload; only simulated links of process.h
     * tell them apart. */
    size_t head, payload;
};

/* Times codec work, or the adding of floats. */
struct cc_work_timer {
    double began; /* on the rank's clock */
    double real;  /* on the processor's clock; NAN: not read, as there is little to do */
};

struct cc_transport_ops {
    /* Ranks share one process, and a receiver without a buffer is lent the sender's bytes: they
     * stay as they are until the step ends on all ranks. */
    bool lends;

    /* Seconds on the rank's clock, of which only differences have a meaning. */
    double (*now)(const struct cc_transport *t);
    /* Work on so many float32 values; SIZE_MAX: not known. */
    struct cc_work_timer (*work_begin)(size_t values);
    /* Ends the work and returns the time on the rank's clock. On a real machine the clock has
     * advanced by itself. A simulation advances it now, by `cost_s` seconds of the fastest host,
     * or, if that is NAN (the cost is not known), by the processor time that the work really took;
     * by nothing where every row of the job gives its costs. */
    double (*work_end)(struct cc_work_timer since, double cost_s);
    /* The seconds of work that ended at `now`, as work_end returned it. On a real machine they are
     * the processor time of this thread: ranks or programs that share the core do not lengthen
     * them. */
    double (*work_took)(struct cc_work_timer since, double now);

    /* Allocates r->request for r->count requests, none of them under way. */
    int (*open)(struct cc_requests *r, struct cc_error *e);
    /* Cancels what is under way, which is only the case after an error, and frees. */
    void (*close)(struct cc_requests *r);
    int (*begin)(struct cc_requests *r, size_t i, const struct cc_parcel *p, bool sends,
                 struct cc_error *e);
    /* Whether request i is complete or not under way. */
    int (*test)(struct cc_requests *r, size_t i, bool *over, struct cc_error *e);
    /* Reports each completed request once: *count indices in which[], which has room for all. */
    int (*some)(struct cc_requests *r, int *count, int *which, struct cc_error *e);
    /* The bytes that came: by request i of `test`, by which[i] of the latest `some`. */
    size_t (*bytes)(const struct cc_requests *r, size_t i);
    /* Where they are, if they are lent: by request i; otherwise NULL. */
    uint8_t *(*lent)(const struct cc_requests *r, size_t i);
};

/* One rank's end of a transport. */
struct cc_transport {
    const struct cc_transport_ops *ops;
    struct cc_requests *first; /* all requests that are open */
    double *latest; /* where ranks are driven in turn: when the latest work ended, where the next
                       is taken to begin, so that the clock is read once for each; NULL: each
                       begins where it does */
    bool more; /* an owner can go on without waiting: the next wait for this rank returns at once */
};

static inline double cc_transport_now(const struct cc_transport *t)
{
    return t->ops->now(t);
}

/* Begins work on so many values. */
static inline struct cc_work_timer cc_work_begin_on(const struct cc_transport *t, size_t values)
{
    if (t->latest != NULL)
        return (struct cc_work_timer){.began = *t->latest, .real = *t->latest};
    return t->ops->work_begin(values);
}

static inline struct cc_work_timer cc_work_begin(const struct cc_transport *t)
{
    return cc_work_begin_on(t, SIZE_MAX);
}

/* Opens `count` requests. Close them with cc_requests_close; all zeros are nothing to close. */
int cc_requests_open(struct cc_transport *t, size_t count, struct cc_requests *out,
                     struct cc_error *e);
void cc_requests_close(struct cc_requests *r);

static inline int cc_requests_begin(struct cc_requests *r, size_t i, const struct cc_parcel *p,
                                    bool sends, struct cc_error *e)
{
    return r->transport->ops->begin(r, i, p, sends, e);
}

static inline int cc_requests_test(struct cc_requests *r, size_t i, bool *over, struct cc_error *e)
{
    return r->transport->ops->test(r, i, over, e);
}

static inline int cc_requests_some(struct cc_requests *r, int *count, int *which,
                                   struct cc_error *e)
{
    return r->transport->ops->some(r, count, which, e);
}

static inline size_t cc_requests_bytes(const struct cc_requests *r, size_t i)
{
    return r->transport->ops->bytes(r, i);
}

static inline uint8_t *cc_requests_lent(const struct cc_requests *r, size_t i)
{
    return r->transport->ops->lends ? r->transport->ops->lent(r, i) : NULL;
}

#endif
