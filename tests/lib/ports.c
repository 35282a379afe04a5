#include "tests/lib/ports.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum state { WORKS_BEFORE, WAITS, WORKS_AFTER, DONE };

struct flow {
    int from, to;
    double left;    /* bytes */
    double arrives; /* once nothing is left */
    double rate;
    bool begun, sent, arrived;
};

struct run {
    const struct ports_host *host;
    struct flow *flow;
    enum state *state;
    size_t *turn, *pending; /* of each host: its turn; own messages on their way */
    double *until;          /* end of its work */
    int *inbox;             /* [from * hosts + to]: arrived and not yet taken */
    double *out, *in;       /* capacity of the ports that is not given away yet */
    size_t hosts, flows;
    double now, alpha, byte_s;
};

static bool flows(const struct flow *f)
{
    return f->begun && !f->sent;
}

/* Max-min fair rates: the port that has least for each of its flows settles those, again and again.
 */
static void share_ports(struct run *r)
{
    size_t open = 0;
    for (size_t h = 0; h < r->hosts; h++)
        r->out[h] = r->in[h] = 1 / r->byte_s;
    for (size_t i = 0; i < r->flows; i++) {
        r->flow[i].rate = -1;
        open += flows(&r->flow[i]);
    }
    while (open > 0) {
        double least = INFINITY;
        size_t port = 0;
        for (size_t p = 0; p < 2 * r->hosts; p++) {
            size_t users = 0, h = p / 2;
            for (size_t i = 0; i < r->flows; i++) {
                const struct flow *f = &r->flow[i];
                users += flows(f) && f->rate < 0 && (size_t)(p % 2 == 0 ? f->from : f->to) == h;
            }
            double each = (p % 2 == 0 ? r->out[h] : r->in[h]) / (double)users;
            if (users > 0 && each < least) {
                least = each;
                port = p;
            }
        }
        for (size_t i = 0; i < r->flows; i++) {
            struct flow *f = &r->flow[i];
            if (!flows(f) || f->rate >= 0 || (size_t)(port % 2 == 0 ? f->from : f->to) != port / 2)
                continue;
            f->rate = least;
            r->out[f->from] -= least;
            r->in[f->to] -= least;
            open--;
        }
    }
}

static void begin_turn(struct run *r, size_t h)
{
    if (r->turn[h] == r->host[h].turns) {
        r->state[h] = DONE;
        return;
    }
    r->state[h] = WORKS_BEFORE;
    r->until[h] = r->now + r->host[h].turn[r->turn[h]].before;
}

static void send_all(struct run *r, size_t h, struct ports_result *out)
{
    const struct ports_turn *t = &r->host[h].turn[r->turn[h]];
    r->state[h] = WAITS;
    for (size_t i = 0; i < t->sends; i++) {
        r->flow = realloc(r->flow, (r->flows + 1) * sizeof *r->flow);
        assert_non_null(r->flow);
        r->flow[r->flows++] =
            (struct flow){.from = (int)h, .to = t->send[i].to, .left = t->send[i].bytes};
        out->sent[h] += t->send[i].bytes;
        out->messages[h]++;
        r->pending[h]++;
    }
}

/* Whether all that the turn waits for is there; takes it then. */
static bool complete(struct run *r, size_t h)
{
    const struct ports_turn *t = &r->host[h].turn[r->turn[h]];
    if (r->pending[h] > 0)
        return false;
    for (size_t i = 0; i < t->receives; i++)
        if (r->inbox[(size_t)t->from[i] * r->hosts + h] == 0)
            return false;
    for (size_t i = 0; i < t->receives; i++)
        r->inbox[(size_t)t->from[i] * r->hosts + h]--;
    return true;
}

/* Messages set out whose receiver waits for them by now. */
static void meet(struct run *r)
{
    for (size_t i = 0; i < r->flows; i++) {
        struct flow *f = &r->flow[i];
        size_t to = (size_t)f->to;
        if (f->begun || r->state[to] != WAITS)
            continue;
        const struct ports_turn *t = &r->host[to].turn[r->turn[to]];
        for (size_t k = 0; k < t->receives; k++)
            f->begun = f->begun || t->from[k] == f->from;
    }
}

/* Moves hosts on that can be moved on now. */
static void advance(struct run *r, struct ports_result *out)
{
    bool moved = true;
    while (moved) {
        moved = false;
        for (size_t h = 0; h < r->hosts; h++) {
            if (r->state[h] == WORKS_BEFORE && r->until[h] <= r->now) {
                send_all(r, h, out);
                moved = true;
            }
            if (r->state[h] == WAITS && complete(r, h)) {
                r->until[h] = r->now + r->host[h].turn[r->turn[h]].after;
                r->state[h] = WORKS_AFTER;
            }
            if (r->state[h] == WORKS_AFTER && r->until[h] <= r->now) {
                r->turn[h]++;
                begin_turn(r, h);
                moved = true;
            }
        }
    }
}

/* The next moment at which anything happens; INFINITY if nothing does. */
static double next_moment(const struct run *r)
{
    double next = INFINITY;
    for (size_t h = 0; h < r->hosts; h++)
        if (r->state[h] == WORKS_BEFORE || r->state[h] == WORKS_AFTER)
            next = fmin(next, r->until[h]);
    for (size_t i = 0; i < r->flows; i++) {
        const struct flow *f = &r->flow[i];
        if (f->sent && !f->arrived)
            next = fmin(next, f->arrives);
        else if (flows(f))
            next = fmin(next, r->now + f->left / f->rate);
    }
    return next;
}

static void pass_time(struct run *r, double to)
{
    for (size_t i = 0; i < r->flows; i++) {
        struct flow *f = &r->flow[i];
        if (flows(f)) {
            double seconds = f->left / f->rate;
            f->sent = r->now + seconds <= to * (1 + 1e-15);
            f->left -= f->rate * (to - r->now);
            f->arrives = to + r->alpha;
        }
        if (f->sent && !f->arrived && f->arrives <= to) {
            f->arrived = true;
            r->inbox[(size_t)f->from * r->hosts + (size_t)f->to]++;
            r->pending[f->from]--;
        }
    }
    r->now = to;
    size_t kept = 0;
    for (size_t i = 0; i < r->flows; i++)
        if (!r->flow[i].arrived)
            r->flow[kept++] = r->flow[i];
    r->flows = kept;
}

void ports_run(const struct ports_host *host, size_t hosts, double alpha, double byte_s,
               struct ports_result *out)
{
    struct run r = {.host = host, .hosts = hosts, .alpha = alpha, .byte_s = byte_s};
    r.state = calloc(hosts, sizeof *r.state);
    r.turn = calloc(hosts, sizeof *r.turn);
    r.pending = calloc(hosts, sizeof *r.pending);
    r.until = calloc(hosts, sizeof *r.until);
    r.inbox = calloc(hosts * hosts, sizeof *r.inbox);
    r.out = calloc(hosts, sizeof *r.out);
    r.in = calloc(hosts, sizeof *r.in);
    memset(out->sent, 0, hosts * sizeof *out->sent);
    memset(out->messages, 0, hosts * sizeof *out->messages);
    for (size_t h = 0; h < hosts; h++)
        begin_turn(&r, h);
    for (;;) {
        advance(&r, out);
        meet(&r);
        share_ports(&r);
        double next = next_moment(&r);
        if (next == INFINITY)
            break;
        pass_time(&r, next);
    }
    for (size_t h = 0; h < hosts; h++)
        if (r.state[h] != DONE)
            fail_msg("host %zu waits forever in turn %zu", h, r.turn[h]);
    out->time = r.now;
    free(r.flow);
    free(r.state);
    free(r.turn);
    free(r.pending);
    free(r.until);
    free(r.inbox);
    free(r.out);
    free(r.in);
}
