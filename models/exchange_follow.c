/* Discrete events: messages that begin and end, and ranks that work.
 *
 * Ranks do what netsim/exchange/reduce_recode.c and reduce_sum.c do with the same schedule
 * (core/schedule.h). A rank's processor does one thing after the other: it looks at the chunks in
 * order whenever a message has come or left, adds, encodes and decodes. A message is under way once
 * its sender has sent it and its receiver waits for it: alpha later it flows, and flows share the
 * ports that they cross, as SimGrid's do. Of payloads that are encoded again, a rank waits for one
 * at a time, unless rounds do not wait for each other, since only the payload tells its length; of
 * floats, for those whose place is free.
 *
 * Only some of many chunks are followed: each further one takes as long as one of these did, on the
 * mean over their second half. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/interrupt.h"
#include "core/memory.h"
#include "models/exchange_follow_impl.h"

/* --- events --- */

static bool sooner(const struct cc_follow_event *a, const struct cc_follow_event *b)
{
    return a->at < b->at || (a->at == b->at && a->number < b->number);
}

static void push(struct cc_follow_state *f, struct cc_follow_event e)
{
    if (CC_GROW(f->event, &f->event_capacity, f->events + 1, &f->error) != CC_OK) {
        f->status = CC_FAIL;
        return;
    }
    size_t i = f->events++;
    e.number = f->numbered++;
    for (; i > 0 && sooner(&e, &f->event[(i - 1) / 2]); i = (i - 1) / 2)
        f->event[i] = f->event[(i - 1) / 2];
    f->event[i] = e;
}

static struct cc_follow_event pop(struct cc_follow_state *f)
{
    const struct cc_follow_event first = f->event[0], last = f->event[--f->events];
    size_t i = 0;
    for (size_t child; (child = 2 * i + 1) < f->events; i = child) {
        if (child + 1 < f->events && sooner(&f->event[child + 1], &f->event[child]))
            child++;
        if (!sooner(&f->event[child], &last))
            break;
        f->event[i] = f->event[child];
    }
    f->event[i] = last;
    return first;
}

static struct cc_follow_side *side_of(struct cc_follow_state *f, int rank, size_t part)
{
    return &f->side[(size_t)rank * f->parts + part];
}

/* --- messages --- */

/* A message is on its way once it is sent and waited for. */
static void meet(struct cc_follow_state *f, int from, size_t round, size_t part)
{
    const struct cc_follow_hop *h = &f->rank[from].hop[round];
    if (side_of(f, from, part)->sent[round] == POSTED &&
        side_of(f, h->to, part)->got[h->theirs] == POSTED)
        push(f,
             (struct cc_follow_event){
                 .at = f->now + h->alpha, .is = FLOWS, .rank = from, .part = part, .round = round});
}

/* --- what a rank does; t: its own time, as it works --- */

static void wake(struct cc_follow_state *f, int rank)
{
    if (f->rank[rank].busy)
        return;
    f->rank[rank].busy = true;
    push(f, (struct cc_follow_event){.at = f->now, .is = WAKES, .rank = rank});
}

static void notify(struct cc_follow_state *f, int rank, size_t part, size_t round, bool sent)
{
    side_of(f, rank, part)->unnoticed[sent ? f->rounds + round : round] = 1;
    side_of(f, rank, part)->pending++;
    f->rank[rank].pending++;
    wake(f, rank);
}

static size_t most_under_way(const struct cc_follow_rank *r)
{
    return cc_larger(2 * cc_smaller(r->schedule.at_once, AT_ONCE), UNDER_WAY);
}

static bool overlaps(size_t a, size_t a_count, size_t b, size_t b_count)
{
    return a < b + b_count && b < a + a_count;
}

/* Floats: whether chunks are as round k finds them (reduce_sum.c, prepared). */
static bool prepared(const struct cc_follow_rank *r, const struct cc_follow_side *s, size_t k,
                     size_t first, size_t count, bool sent)
{
    const struct cc_round *c = r->schedule.round;
    if (sent && s->sent[k] != OVER && overlaps(c[k].send_first, c[k].send_count, first, count))
        return false;
    for (size_t j = k; j > s->current;) {
        j--;
        if (s->added[j] == 0 && overlaps(c[j].recv_first, c[j].recv_count, first, count))
            return false;
        if (c[j].recv_count > 0 && c[j].recv_first <= first &&
            c[j].recv_first + c[j].recv_count >= first + count)
            break;
        if (sent && s->sent[j] != OVER && overlaps(c[j].send_first, c[j].send_count, first, count))
            return false;
    }
    return true;
}

static bool may_send(const struct cc_follow_state *f, const struct cc_follow_rank *r,
                     const struct cc_follow_side *s, size_t k)
{
    const struct cc_round *c = &r->schedule.round[k];
    size_t group = k;
    if (!f->sums)
        return true;
    while (r->schedule.at_once > 0 && group > 0 && !r->schedule.round[group].begins &&
           group != r->schedule.reduce_rounds)
        group--;
    return prepared(r, s, group, c->send_first, c->send_count, false);
}

static bool may_receive(const struct cc_follow_state *f, const struct cc_follow_rank *r,
                        const struct cc_follow_side *s, size_t k)
{
    const struct cc_round *c = &r->schedule.round[k];
    const bool adds = k < r->schedule.reduce_rounds;
    if (!f->sums)
        return r->schedule.at_once > 1 || s->in_count == 0;
    return (adds && r->schedule.at_once > 0) ||
           prepared(r, s, k, c->recv_first, c->recv_count, !adds);
}

/* Takes what has ended, in order. */
static void take(const unsigned char *posted_end, unsigned char *state, size_t *taken,
                 size_t *count)
{
    for (; state + *taken < posted_end && state[*taken] >= ENDED; ++*taken)
        if (state[*taken] == ENDED) {
            state[*taken] = OVER;
            --*count;
        }
}

/* Takes what has ended, and posts what is next in the streams. */
static void post(struct cc_follow_state *f, int rank, size_t part, double t)
{
    struct cc_follow_rank *r = &f->rank[rank];
    struct cc_follow_side *s = side_of(f, rank, part);
    const size_t most = most_under_way(r);
    take(s->got + s->in, s->got, &s->in_taken, &s->in_count);
    take(s->sent + s->out, s->sent, &s->out_taken, &s->out_count);
    for (; s->in < s->in_last; s->in++) {
        if (r->hop[s->in].from < 0) {
            s->got[s->in] = OVER;
            continue;
        }
        if (s->in_count == most || !may_receive(f, r, s, s->in))
            break;
        s->in_count++;
        push(f, (struct cc_follow_event){
                    .at = t, .is = WAITS, .rank = rank, .part = part, .round = s->in});
    }
    for (; s->out < s->out_last; s->out++) {
        if (r->hop[s->out].to < 0) {
            s->sent[s->out] = OVER;
            continue;
        }
        if (s->out_count == most || !may_send(f, r, s, s->out))
            break;
        s->out_count++;
        push(f, (struct cc_follow_event){
                    .at = t, .is = SENDS, .rank = rank, .part = part, .round = s->out});
    }
}

static void post_receives(const struct cc_follow_rank *r, struct cc_follow_side *s, size_t from)
{
    s->in_last = cc_larger(s->in_last, cc_schedule_group_end(&r->schedule, from));
}

/* reduce_recode.c, begin_group */
static void begin_group(struct cc_follow_state *f, int rank, size_t part, double *t)
{
    struct cc_follow_rank *r = &f->rank[rank];
    struct cc_follow_side *s = side_of(f, rank, part);
    const size_t end = cc_schedule_group_end(&r->schedule, s->current);
    if (s->current == r->schedule.reduce_rounds)
        *t += r->owner_s;
    for (; s->begun < end; s->begun++) {
        *t += r->hop[s->begun].encode_s;
        s->out_last = s->begun + 1;
        if (s->begun + 1 < end)
            post(f, rank, part, *t);
    }
    post_receives(r, s, end);
}

static void begin_gathering(struct cc_follow_state *f, int rank, size_t part, double *t)
{
    begin_group(f, rank, part, t);
    post(f, rank, part, *t);
    *t += f->rank[rank].own_decode_s;
}

static void end_round(struct cc_follow_state *f, int rank, size_t part, double *t)
{
    struct cc_follow_rank *r = &f->rank[rank];
    struct cc_follow_side *s = side_of(f, rank, part);
    const size_t k = s->current++;
    if (k < r->schedule.reduce_rounds)
        *t += r->hop[k].add_s;
    if (s->current == r->schedule.reduce_rounds) {
        begin_gathering(f, rank, part, t);
        return;
    }
    if (s->current >= s->begun)
        begin_group(f, rank, part, t);
    post(f, rank, part, *t);
    *t += r->hop[k].decode_s;
}

static void start(struct cc_follow_state *f, int rank, size_t part, double *t)
{
    struct cc_follow_rank *r = &f->rank[rank];
    struct cc_follow_side *s = side_of(f, rank, part);
    if (f->sums) {
        s->in_last = s->out_last = r->schedule.rounds;
        return;
    }
    post_receives(r, s, 0);
    if (r->schedule.reduce_rounds == 0) {
        begin_gathering(f, rank, part, t);
        return;
    }
    begin_group(f, rank, part, t);
    post(f, rank, part, *t);
}

static void look_on(struct cc_follow_state *f, int rank, size_t part, double *t)
{
    struct cc_follow_rank *r = &f->rank[rank];
    struct cc_follow_side *s = side_of(f, rank, part);
    const struct cc_schedule *c = &r->schedule;
    bool moved = true;
    post(f, rank, part, *t);
    while (moved && !f->sums) {
        moved = s->current < c->rounds && s->got[s->current] == OVER;
        if (moved)
            end_round(f, rank, part, t);
        post(f, rank, part, *t);
    }
    while (moved) {
        moved = false;
        for (size_t k = s->current; k < c->rounds; k++) {
            const struct cc_round *round = &c->round[k];
            const bool adds = k < c->reduce_rounds && round->recv_count > 0;
            if (s->added[k] == 0 && s->got[k] == OVER &&
                (!adds || prepared(r, s, k, round->recv_first, round->recv_count, true))) {
                s->added[k] = 1;
                *t += r->hop[k].add_s;
                moved = true;
            }
            if (k == s->current && s->sent[k] == OVER && s->added[k] == 1) {
                s->current++;
                moved = true;
            }
        }
        post(f, rank, part, *t);
    }
    if (f->sums)
        s->passed = s->current >= r->first_rounds;
    else
        s->passed = s->current >= r->first_rounds && (r->hop[0].from >= 0 || s->sent[0] == OVER);
    if (!s->over && s->current == c->rounds && s->out == c->rounds && s->out_count == 0) {
        s->over = s->passed = true;
        f->end = fmax(f->end, *t);
    }
}

/* Takes note of the end of one message, of the latest chunk first; returns the chunk, or the first
 * if nothing has ended. */
static size_t notice(struct cc_follow_state *f, int rank)
{
    struct cc_follow_rank *r = &f->rank[rank];
    for (size_t part = r->begun; part-- > 0 && r->pending > 0;) {
        struct cc_follow_side *s = side_of(f, rank, part);
        if (s->pending == 0)
            continue;
        unsigned char *at = memchr(s->unnoticed, 1, 2 * f->rounds);
        const size_t i = (size_t)(at - s->unnoticed);
        *at = 0;
        s->pending--;
        r->pending--;
        *(i < f->rounds ? &s->got[i] : &s->sent[i - f->rounds]) = ENDED;
        return part;
    }
    return 0;
}

/* A rank goes on with a chunk of which it has noticed something, and begins the next ones when it
 * is time. */
static void work(struct cc_follow_state *f, int rank)
{
    struct cc_follow_rank *r = &f->rank[rank];
    double t = f->now;
    for (size_t part = notice(f, rank); part < f->parts; part++) {
        if (part == r->begun) {
            r->begun++;
            start(f, rank, part, &t);
        }
        if (!side_of(f, rank, part)->over)
            look_on(f, rank, part, &t);
        if (part + 1 != r->begun || !side_of(f, rank, part)->passed)
            break;
    }
    if (t > f->now || r->pending > 0)
        push(f, (struct cc_follow_event){.at = t, .is = WAKES, .rank = rank});
    else
        r->busy = false;
}

/* --- time --- */

static void happen(struct cc_follow_state *f, const struct cc_follow_event *e)
{
    const struct cc_follow_hop *h = e->is == WAKES ? NULL : &f->rank[e->rank].hop[e->round];
    struct cc_follow_side *s = side_of(f, e->rank, e->part);
    switch (e->is) {
    case WAKES:
        work(f, e->rank);
        break;
    case SENDS:
        s->sent[e->round] = POSTED;
        meet(f, e->rank, e->round, e->part);
        break;
    case WAITS:
        s->got[e->round] = POSTED;
        meet(f, h->from, h->theirs_here, e->part);
        break;
    case FLOWS:
        if (f->status == CC_OK)
            f->status = cc_follow_begin(f, e->rank, e->part, e->round, &f->error);
        break;
    }
}

/* Takes those that have ended. */
static void end_flows(struct cc_follow_state *f)
{
    struct cc_follow_flow w;
    cc_follow_end(f);
    while (cc_follow_next_ended(f, &w)) {
        const struct cc_follow_hop *h = &f->rank[w.rank].hop[w.round];
        notify(f, h->to, w.part, h->theirs, false);
        notify(f, w.rank, w.part, w.round, true);
    }
}

static void run(struct cc_follow_state *f)
{
    f->ends = (double)INFINITY;
    for (int i = 0; i < f->ranks; i++)
        wake(f, i);
    while (f->status == CC_OK && (f->events > 0 || f->actives > 0) && !cc_interrupted()) {
        const double next = f->events > 0 ? f->event[0].at : (double)INFINITY;
        if (f->changed && next > f->now)
            cc_follow_share(f);
        if (next <= f->ends || next <= f->now) {
            f->now = next;
            const struct cc_follow_event e = pop(f);
            happen(f, &e);
        } else {
            f->now = f->ends;
            end_flows(f);
        }
    }
}

/* The chunks of a message that are followed; 0 if they are too many. */
static size_t parts_of(const struct cc_exchange_case *k, struct cc_followed by)
{
    const struct cc_cluster *c = k->cluster;
    const size_t chunks = c->chunks > 1 ? (size_t)c->chunks : 1;
    const size_t least = cc_smaller(chunks, LEAST_PARTS);
    struct cc_schedule s = {0};
    struct cc_error e;
    const struct cc_schedule_hosts hosts = {
        .per_host = cc_cluster_per_host(c), .inner = c->inner_exchange, .outer = c->outer_exchange};
    const int any = c->workers / 2;
    const int status = by.build(c->workers, hosts, any, &s, &e);
    const size_t rounds = cc_larger(1, s.rounds) * (size_t)by.alike;
    free(s.round);
    return status != CC_OK || rounds * least > MOST_ROUNDS
               ? 0
               : cc_smaller(chunks, MOST_ROUNDS / rounds);
}

bool cc_can_follow(const struct cc_exchange_case *k, struct cc_followed by)
{
    return !k->cluster->by_formula && k->link->burst_bytes == 0 && k->link->message_s == 0 &&
           parts_of(k, by) > 0;
}

/* Follows so many chunks, of which the case's message is one. */
static double follow(const struct cc_exchange_case *k, struct cc_followed by, size_t parts)
{
    struct cc_follow_state f = {
        .k = k, .sums = k->reduction == CC_REDUCE_SUM, .ranks = by.alike, .parts = parts};
    f.status = cc_follow_open(&f, by, &f.error);
    if (f.status == CC_OK)
        run(&f);
    const double takes = f.status == CC_OK ? f.end : (double)NAN;
    cc_follow_close(&f);
    return takes;
}

double cc_follow(const struct cc_exchange_case *k, struct cc_followed by)
{
    const double chunks = k->cluster->chunks > 1 ? k->cluster->chunks : 1;
    const size_t parts = parts_of(k, by);
    struct cc_payload_cost part = *k->message;
    cc_payload_cost_scale(&part, 1 / chunks);
    struct cc_exchange_case of = *k;
    of.message = &part;
    const double takes = follow(&of, by, parts);
    if (chunks == (double)parts)
        return takes;
    const size_t half = parts / 2, others = parts - half;
    const double each = (takes - follow(&of, by, half)) / (double)others;
    return takes + (chunks - (double)parts) * each;
}
