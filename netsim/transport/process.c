/* A message is handed over when both sides have begun it: whichever comes second finds the other in
 * the receiver's list, which is in the order in which messages were begun.
 *
 * With links a message is an event twice: when it leaves, which is when the ports take it in, and
 * when it arrives, and the receiver must have begun. */
#include "netsim/transport/process.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/clock.h"
#include "core/memory.h"

/* A request. */
struct slot {
    struct process_requests *all;
    enum { FREE, UNDER_WAY, OVER } state;
    bool receives;
    struct cc_parcel parcel;
    int from;      /* the rank that sends */
    uint8_t *lent; /* received: where the bytes are, unless they were copied */
    size_t bytes;  /* received */
    size_t told;   /* as cc_transport_ops.bytes, by this place: of any request */
    struct slot *next;
};

struct process_requests {
    size_t over; /* those over and not yet reported */
    struct slot slot[];
};

enum { LISTS = 16 };

/* Messages to this rank that one side has begun, in order. */
struct cc_process_end {
    struct cc_transport of;
    int rank;
    struct cc_process *all;
    struct slot *first[LISTS]; /* by sender and tag */
    double out, in;            /* with links: when its ports are free */
    size_t on_way;
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

static double now(const struct cc_transport *t)
{
    (void)t;
    return cc_now();
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

/* --- links --- */

static double now_on_links(const struct cc_transport *t)
{
    return ((const struct cc_process_end *)t)->all->now;
}

static struct cc_work_timer begin_nothing(size_t values)
{
    (void)values;
    return (struct cc_work_timer){0, 0};
}

static double take_nothing(struct cc_work_timer since, double cost_s)
{
    (void)since;
    (void)cost_s;
    return 0;
}

enum { LEAVES, HAPPENS };

struct cc_process_message {
    struct cc_process_event of;
    uint8_t head[16]; /* a copy, of a message that is nothing else */
    struct cc_process_message *next;
};

/* A message, which those before have used. */
static struct cc_process_message *new_message(struct cc_process *p, struct cc_process_event of,
                                              struct cc_error *e)
{
    struct cc_process_message *m = p->spare;
    if (m != NULL)
        p->spare = m->next;
    else
        m = cc_alloc(sizeof *m, e);
    if (m != NULL)
        m->of = of;
    return m;
}

static bool carries(const struct cc_parcel *p)
{
    return p->bytes > p->head;
}

static int schedule(struct cc_process *p, double time, int what, struct cc_process_message *m,
                    struct cc_error *e)
{
    const int lower = m->of.from >= 0 && m->of.from < m->of.rank ? m->of.from : m->of.rank;
    const int status = cc_events_add(
        &p->events, (struct cc_event){.time = time, .who = (size_t)lower, .what = what, .of = m},
        e);
    if (status != CC_OK)
        free(m);
    return status;
}

static int leave_now(struct cc_process_end *me, const struct cc_parcel *p, struct cc_error *e)
{
    struct cc_process_message *m = new_message(
        me->all, (struct cc_process_event){.rank = p->peer, .from = me->rank, .parcel = *p}, e);
    if (m == NULL)
        return CC_FAIL;
    if (!carries(p) && p->bytes <= sizeof m->head)
        m->of.parcel.at = memcpy(m->head, p->at, p->bytes);
    me->on_way += carries(p);
    return schedule(me->all, me->all->now, LEAVES, m, e);
}

/* Passes the ports. */
static int leave(struct cc_process *p, struct cc_process_message *m, struct cc_error *e)
{
    const struct cc_process_links *k = p->links;
    const struct cc_parcel *parcel = &m->of.parcel;
    double *out = &p->end[m->of.from].out, *in = &p->end[m->of.rank].in;
    const double takes = ((double)(parcel->bytes - parcel->head) + k->message_bytes) * k->byte_s;
    *out = fmax(*out, p->now) + takes;
    *in = fmax(*in, p->now) + takes;
    return schedule(p, fmax(*out, *in) + k->latency_s, HAPPENS, m, e);
}

/* --- requests --- */

static int open_requests(struct cc_requests *r, struct cc_error *e)
{
    const struct process_requests *all;
    r->request = cc_alloc0(sizeof *all + r->count * sizeof all->slot[0], e);
    return r->request != NULL ? CC_OK : CC_FAIL;
}

static struct slot **list_of(struct cc_process_end *to, int from, int tag)
{
    return &to->first[(size_t)(from + 5 * tag) % LISTS];
}

static void unlink_slot(struct cc_process_end *to, const struct slot *s)
{
    struct slot **at = list_of(to, s->from, s->parcel.tag);
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
    free(all);
}

static void end_slot(struct slot *s)
{
    s->state = OVER;
    s->all->over++;
}

/* Hands a message over. */
static int deliver(struct cc_process *all, const struct cc_parcel *from, struct slot *to,
                   struct cc_error *e)
{
    const size_t n = from->bytes;
    end_slot(to); /* also after an error: it is not in a list */
    if (n > to->parcel.bytes)
        return cc_fail(e, "rank %d sends a message of %zu bytes where %zu are the most", to->from,
                       n, to->parcel.bytes);
    to->lent = NULL;
    if (to->parcel.at == NULL)
        to->lent = from->at;
    else if (n > 0)
        memcpy(to->parcel.at, from->at, n);
    to->bytes = n;
    all->arrived++;
    return CC_OK;
}

/* The place of the first message to a rank that one side has begun; behind the last: none. */
static struct slot **find(struct cc_process_end *to, bool receives, int from, int tag)
{
    struct slot **at = list_of(to, from, tag);
    while (*at != NULL &&
           ((*at)->receives != receives || (*at)->from != from || (*at)->parcel.tag != tag))
        at = &(*at)->next;
    return at;
}

/* Begins one side of a message: hands it over if the other side has begun, too. */
static int begin(struct cc_requests *r, size_t i, const struct cc_parcel *p, bool sends,
                 struct cc_error *e)
{
    const bool receives = !sends;
    struct cc_process_end *me = end_of(r), *to = receives ? me : &me->all->end[p->peer];
    struct slot *own = &requests_of(r)->slot[i];
    *own = (struct slot){.all = requests_of(r),
                         .state = UNDER_WAY,
                         .receives = receives,
                         .parcel = *p,
                         .from = receives ? p->peer : me->rank,
                         .told = own->told};
    if (me->all->links != NULL && !receives) {
        end_slot(own);
        return leave_now(me, p, e);
    }
    struct slot **at = find(to, !receives, own->from, p->tag), *other = *at;
    if (other == NULL) {
        *at = own;
        return CC_OK;
    }
    *at = other->next;
    end_slot(receives ? other : own);
    return deliver(me->all, receives ? &other->parcel : p, receives ? own : other, e);
}

static int test_request(struct cc_requests *r, size_t i, bool *over, struct cc_error *e)
{
    struct slot *s = &requests_of(r)->slot[i];
    (void)e;
    *over = s->state != UNDER_WAY;
    if (s->state == OVER) {
        s->state = FREE;
        s->all->over--;
        s->told = s->bytes;
    }
    return CC_OK;
}

static int some_requests(struct cc_requests *r, int *count, int *which, struct cc_error *e)
{
    struct process_requests *all = requests_of(r);
    (void)e;
    *count = 0;
    for (size_t i = 0; all->over > 0; i++)
        if (all->slot[i].state == OVER) {
            all->slot[i].state = FREE;
            all->over--;
            all->slot[*count].told = all->slot[i].bytes;
            which[(*count)++] = (int)i;
        }
    return CC_OK;
}

static size_t received_bytes(const struct cc_requests *r, size_t i)
{
    return requests_of(r)->slot[i].told;
}

static uint8_t *lent_bytes(const struct cc_requests *r, size_t i)
{
    return requests_of(r)->slot[i].lent;
}

/* --- ends --- */

int cc_process_open(struct cc_process *p, size_t ranks, const struct cc_process_links *links,
                    struct cc_error *e)
{
    *p = (struct cc_process){.ops = {.lends = true,
                                     .now = links != NULL ? now_on_links : now,
                                     .work_begin = begin_nothing,
                                     .work_end = links != NULL ? take_nothing : end_work,
                                     .work_took = links != NULL ? take_nothing : work_took,
                                     .open = open_requests,
                                     .close = close_requests,
                                     .begin = begin,
                                     .test = test_request,
                                     .some = some_requests,
                                     .bytes = received_bytes,
                                     .lent = lent_bytes},
                             .end = cc_alloc0(ranks * sizeof *p->end, e),
                             .ranks = ranks,
                             .links = links};
    if (p->end == NULL)
        return CC_FAIL;
    for (size_t i = 0; i < ranks; i++)
        p->end[i] = (struct cc_process_end){
            .of = {.ops = &p->ops, .latest = links == NULL ? &p->now : NULL},
            .rank = (int)i,
            .all = p};
    return CC_OK;
}

void cc_process_close(struct cc_process *p)
{
    for (size_t i = 0; i < p->events.count; i++)
        free(p->events.heap[i].of);
    for (struct cc_process_message *m = p->spare, *next; m != NULL; m = next) {
        next = m->next;
        free(m);
    }
    cc_events_free(&p->events);
    free(p->latest);
    free(p->end);
    *p = (struct cc_process){0};
}

struct cc_transport *cc_process_end(const struct cc_process *p, size_t rank)
{
    return &p->end[rank].of;
}

/* --- the clock of links --- */

int cc_process_wake(struct cc_process *p, double time, size_t rank, struct cc_error *e)
{
    struct cc_process_message *m =
        new_message(p, (struct cc_process_event){.rank = (int)rank, .from = -1}, e);
    return m != NULL ? schedule(p, time, HAPPENS, m, e) : CC_FAIL;
}

static int arrive(struct cc_process *p, const struct cc_process_event *m, struct cc_error *e)
{
    struct slot **at = find(&p->end[m->rank], true, m->from, m->parcel.tag), *to = *at;
    if (to == NULL)
        return cc_fail(e, "rank %d has sent what rank %d does not receive", m->from, m->rank);
    *at = to->next;
    p->end[m->from].on_way -= carries(&m->parcel);
    return deliver(p, &m->parcel, to, e);
}

int cc_process_next(struct cc_process *p, const struct cc_process_event **out, struct cc_error *e)
{
    if (p->latest != NULL) {
        p->latest->next = p->spare;
        p->spare = p->latest;
    }
    *out = NULL;
    p->latest = NULL;
    while (p->latest == NULL && p->events.count > 0) {
        const struct cc_event v = cc_events_take(&p->events);
        p->now = v.time;
        if (v.what == LEAVES) {
            CC_TRY(leave(p, v.of, e));
            continue;
        }
        p->latest = v.of;
        *out = &p->latest->of;
    }
    return *out != NULL && (*out)->from >= 0 ? arrive(p, *out, e) : CC_OK;
}

size_t cc_process_on_way(const struct cc_process *p, size_t rank)
{
    return p->end[rank].on_way;
}
