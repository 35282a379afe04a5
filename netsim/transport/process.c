/* A message is handed over when both sides have begun it: whichever comes second finds the other in
 * the receiver's list, which is in the order in which messages were begun. */
#include "netsim/transport/process.h"

#include <stdlib.h>
#include <string.h>

#include "core/clock.h"
#include "core/memory.h"

/* A request. */
struct slot {
    enum { FREE, UNDER_WAY, OVER } state;
    bool receives;
    struct cc_parcel parcel;
    int from;      /* the rank that sends */
    uint8_t *lent; /* received: where the bytes are, unless they were copied */
    size_t bytes;  /* received */
    struct slot *next;
};

struct process_requests {
    struct slot *slot;
    size_t *bytes; /* as cc_transport_ops.bytes */
};

/* Messages to this rank that one side has begun, in order. */
struct cc_process_end {
    struct cc_transport of;
    int rank;
    struct cc_process *all;
    struct slot *first;
};

static struct cc_process_end *end_of(const struct cc_requests *r)
{
    return (struct cc_process_end *)r->transport;
}

static struct process_requests *requests_of(const struct cc_requests *r)
{
    return r->request;
}

/* --- clock --- */

static struct cc_work_timer begin_work(void)
{
    const double now = cc_now();
    return (struct cc_work_timer){.began = now, .real = now};
}

static double end_work(struct cc_work_timer since, double cost_s)
{
    (void)since;
    (void)cost_s;
    return cc_now();
}

static double work_took(struct cc_work_timer since, double now)
{
    return now - since.began;
}

/* --- requests --- */

static int open_requests(struct cc_requests *r, struct cc_error *e)
{
    struct process_requests *all = cc_alloc0(sizeof *all, e);
    if (all == NULL)
        return CC_FAIL;
    all->slot = cc_alloc0(r->count * sizeof *all->slot, e);
    all->bytes = cc_alloc0(r->count * sizeof *all->bytes, e);
    r->request = all;
    if (all->slot != NULL && all->bytes != NULL)
        return CC_OK;
    free(all->slot);
    free(all->bytes);
    free(all);
    return CC_FAIL;
}

static void unlink_slot(struct cc_process_end *to, const struct slot *s)
{
    struct slot **at = &to->first;
    while (*at != s)
        at = &(*at)->next;
    *at = s->next;
}

static void close_requests(struct cc_requests *r)
{
    struct process_requests *all = requests_of(r);
    struct cc_process_end *me = end_of(r);
    for (size_t i = 0; i < r->count; i++) {
        const struct slot *s = &all->slot[i];
        if (s->state == UNDER_WAY)
            unlink_slot(s->receives ? me : &me->all->end[s->parcel.peer], s);
    }
    free(all->slot);
    free(all->bytes);
    free(all);
}

/* Hands a message over. */
static int deliver(struct cc_process *all, struct slot *from, struct slot *to, struct cc_error *e)
{
    const size_t n = from->parcel.bytes;
    from->state = to->state = OVER; /* also after an error: neither is in a list */
    if (n > to->parcel.bytes)
        return cc_fail(e, "rank %d sends a message of %zu bytes where %zu are the most", from->from,
                       n, to->parcel.bytes);
    to->lent = NULL;
    if (to->parcel.at == NULL)
        to->lent = from->parcel.at;
    else if (n > 0)
        memcpy(to->parcel.at, from->parcel.at, n);
    to->bytes = n;
    all->arrived++;
    return CC_OK;
}

/* Begins one side of a message: hands it over if the other side has begun, too. */
static int begin(struct cc_requests *r, size_t i, const struct cc_parcel *p, bool receives,
                 struct cc_error *e)
{
    struct cc_process_end *me = end_of(r), *to = receives ? me : &me->all->end[p->peer];
    struct slot *own = &requests_of(r)->slot[i], **at = &to->first;
    *own = (struct slot){.state = UNDER_WAY,
                         .receives = receives,
                         .parcel = *p,
                         .from = receives ? p->peer : me->rank};
    for (; *at != NULL; at = &(*at)->next) {
        struct slot *other = *at;
        if (other->receives == receives || other->from != own->from || other->parcel.tag != p->tag)
            continue;
        *at = other->next;
        return deliver(me->all, receives ? other : own, receives ? own : other, e);
    }
    *at = own;
    return CC_OK;
}

static int begin_send(struct cc_requests *r, size_t i, const struct cc_parcel *p,
                      struct cc_error *e)
{
    return begin(r, i, p, false, e);
}

static int begin_receive(struct cc_requests *r, size_t i, const struct cc_parcel *p,
                         struct cc_error *e)
{
    return begin(r, i, p, true, e);
}

static int test_request(struct cc_requests *r, size_t i, bool *over, struct cc_error *e)
{
    struct slot *s = &requests_of(r)->slot[i];
    (void)e;
    *over = s->state != UNDER_WAY;
    if (s->state == OVER) {
        s->state = FREE;
        requests_of(r)->bytes[i] = s->bytes;
    }
    return CC_OK;
}

static int some_requests(struct cc_requests *r, int *count, int *which, struct cc_error *e)
{
    struct process_requests *all = requests_of(r);
    (void)e;
    *count = 0;
    for (size_t i = 0; i < r->count; i++)
        if (all->slot[i].state == OVER) {
            all->slot[i].state = FREE;
            all->bytes[*count] = all->slot[i].bytes;
            which[(*count)++] = (int)i;
        }
    return CC_OK;
}

static size_t received_bytes(const struct cc_requests *r, size_t i)
{
    return requests_of(r)->bytes[i];
}

static uint8_t *lent_bytes(const struct cc_requests *r, size_t i)
{
    return requests_of(r)->slot[i].lent;
}

/* --- ends --- */

int cc_process_open(struct cc_process *p, size_t ranks, struct cc_error *e)
{
    static const struct cc_transport_ops ops = {.lends = true,
                                                .now = cc_now,
                                                .work_begin = begin_work,
                                                .work_end = end_work,
                                                .work_took = work_took,
                                                .open = open_requests,
                                                .close = close_requests,
                                                .send = begin_send,
                                                .receive = begin_receive,
                                                .test = test_request,
                                                .some = some_requests,
                                                .bytes = received_bytes,
                                                .lent = lent_bytes};
    *p = (struct cc_process){.end = cc_alloc0(ranks * sizeof *p->end, e), .ranks = ranks};
    if (p->end == NULL)
        return CC_FAIL;
    for (size_t i = 0; i < ranks; i++)
        p->end[i] = (struct cc_process_end){.of = {.ops = &ops}, .rank = (int)i, .all = p};
    return CC_OK;
}

void cc_process_close(struct cc_process *p)
{
    free(p->end);
    *p = (struct cc_process){0};
}

struct cc_transport *cc_process_end(const struct cc_process *p, size_t rank)
{
    return &p->end[rank].of;
}
