/* The network event by event. Messages flow at max-min fair rates, which change whenever one begins
 * or ends; time jumps to the next event (work or bytes are over, or a message arrives after alpha),
 * and all hosts that can proceed do. */
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
    double arrives; /* valid once nothing is left */
    double rate;
    bool begun, sent, arrived;
};

struct run {
    const struct ports_host *host;
    struct flow *flow;
    enum state *state;
    size_t *phase, *pending; /* for each host: its phase; its own messages on their way */
    double *until;           /* for each host: the end of its work */
    int *inbox;       /* [from * hosts + to]: messages that have arrived and are not yet received */
    double *capacity; /* of each port, as far as it is not yet assigned to flows */
    const struct ports_groups *groups; /* or NULL */
    size_t hosts, flows;
    double now, alpha, byte_s;
};

static bool flows(const struct flow *f)
{
    return f->begun && !f->sent;
}

/* The ports that a flow crosses: of hosts out and in, of machines out and in, of pairs of sites;
 * -1: none. */
enum { CROSSED = 3 };
static void crossed(const struct run *r, const struct flow *f, int port[CROSSED])
{
    const int hosts = (int)r->hosts, from = f->from, to = f->to;
    const struct ports_groups *g = r->groups;
    const int a = g != NULL ? from / g->group : 0, b = g != NULL ? to / g->group : 0;
    port[0] = 2 * from;
    port[1] = 2 * to + 1;
    port[2] = -1;
    if (g == NULL || a == b)
        return;
    if (g->wan_byte_s > 0) {
        port[2] = 2 * hosts + a * hosts + b;
        return;
    }
    port[0] = 2 * hosts + 2 * a;
    port[1] = 2 * hosts + 2 * b + 1;
}

static bool crosses(const struct run *r, const struct flow *f, int port)
{
    int all[CROSSED];
    crossed(r, f, all);
    return all[0] == port || all[1] == port || all[2] == port;
}

/* Assigns max-min fair rates: the port with the least capacity for each of its flows fixes the
 * rates of these, repeatedly until all have one. */
static void share_ports(struct run *r)
{
    const size_t hosts = r->hosts,
                 ports = 2 * hosts + (r->groups != NULL ? hosts * hosts + 2 * hosts : 0);
    const double wan_byte_s = r->groups != NULL ? r->groups->wan_byte_s : 0;
    size_t open = 0;
    for (size_t p = 0; p < ports; p++)
        r->capacity[p] = 1 / (p < 2 * hosts    ? r->byte_s
                              : wan_byte_s > 0 ? wan_byte_s
                                               : r->groups->byte_s);
    for (size_t i = 0; i < r->flows; i++) {
        r->flow[i].rate = -1;
        open += flows(&r->flow[i]);
    }
    while (open > 0) {
        double least = INFINITY;
        int port = 0;
        for (size_t p = 0; p < ports; p++) {
            size_t users = 0;
            for (size_t i = 0; i < r->flows; i++)
                users +=
                    flows(&r->flow[i]) && r->flow[i].rate < 0 && crosses(r, &r->flow[i], (int)p);
            const double each = r->capacity[p] / (double)users;
            if (users > 0 && each < least) {
                least = each;
                port = (int)p;
            }
        }
        for (size_t i = 0; i < r->flows; i++) {
            struct flow *f = &r->flow[i];
            int all[CROSSED];
            if (!flows(f) || f->rate >= 0 || !crosses(r, f, port))
                continue;
            f->rate = least;
            crossed(r, f, all);
            for (int k = 0; k < CROSSED; k++)
                if (all[k] >= 0)
                    r->capacity[all[k]] -= least;
            open--;
        }
    }
}

static void begin_phase(struct run *r, size_t h)
{
    if (r->phase[h] == r->host[h].phases) {
        r->state[h] = DONE;
        return;
    }
    r->state[h] = WORKS_BEFORE;
    r->until[h] = r->now + r->host[h].phase[r->phase[h]].before;
}

static void send_all(struct run *r, size_t h, struct ports_result *out)
{
    const struct ports_phase *t = &r->host[h].phase[r->phase[h]];
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

/* Whether everything that the phase waits for has arrived; receives it then. */
static bool complete(struct run *r, size_t h)
{
    const struct ports_phase *t = &r->host[h].phase[r->phase[h]];
    if (r->pending[h] > 0)
        return false;
    for (size_t i = 0; i < t->receives; i++)
        if (r->inbox[(size_t)t->from[i] * r->hosts + h] == 0)
            return false;
    for (size_t i = 0; i < t->receives; i++)
        r->inbox[(size_t)t->from[i] * r->hosts + h]--;
    return true;
}

/* Starts the messages whose receiver waits for them. */
static void start_flows(struct run *r)
{
    for (size_t i = 0; i < r->flows; i++) {
        struct flow *f = &r->flow[i];
        size_t to = (size_t)f->to;
        if (f->begun || r->state[to] != WAITS)
            continue;
        const struct ports_phase *t = &r->host[to].phase[r->phase[to]];
        for (size_t k = 0; k < t->receives; k++)
            f->begun = f->begun || t->from[k] == f->from;
    }
}

/* Advances all hosts that can proceed at this time. */
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
                r->until[h] = r->now + r->host[h].phase[r->phase[h]].after;
                r->state[h] = WORKS_AFTER;
            }
            if (r->state[h] == WORKS_AFTER && r->until[h] <= r->now) {
                r->phase[h]++;
                begin_phase(r, h);
                moved = true;
            }
        }
    }
}

/* The time of the next event; INFINITY if there is none. */
static double next_event(const struct run *r)
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

static double alpha_of(const struct run *r, const struct flow *f)
{
    const struct ports_groups *g = r->groups;
    return g != NULL && f->from / g->group != f->to / g->group ? g->alpha : r->alpha;
}

static void advance_to(struct run *r, double to)
{
    for (size_t i = 0; i < r->flows; i++) {
        struct flow *f = &r->flow[i];
        if (flows(f)) {
            double seconds = f->left / f->rate;
            f->sent = r->now + seconds <= to * (1 + 1e-15);
            f->left -= f->rate * (to - r->now);
            f->arrives = to + alpha_of(r, f);
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
    ports_run_groups(host, hosts, alpha, byte_s, NULL, out);
}

void ports_run_groups(const struct ports_host *host, size_t hosts, double alpha, double byte_s,
                      const struct ports_groups *groups, struct ports_result *out)
{
    struct run r = {
        .host = host, .hosts = hosts, .alpha = alpha, .byte_s = byte_s, .groups = groups};
    r.state = calloc(hosts, sizeof *r.state);
    r.phase = calloc(hosts, sizeof *r.phase);
    r.pending = calloc(hosts, sizeof *r.pending);
    r.until = calloc(hosts, sizeof *r.until);
    r.inbox = calloc(hosts * hosts, sizeof *r.inbox);
    r.capacity = calloc(hosts * hosts + 4 * hosts, sizeof *r.capacity);
    memset(out->sent, 0, hosts * sizeof *out->sent);
    memset(out->messages, 0, hosts * sizeof *out->messages);
    for (size_t h = 0; h < hosts; h++)
        begin_phase(&r, h);
    for (;;) {
        advance(&r, out);
        start_flows(&r);
        share_ports(&r);
        double next = next_event(&r);
        if (next == INFINITY)
            break;
        advance_to(&r, next);
    }
    for (size_t h = 0; h < hosts; h++)
        if (r.state[h] != DONE)
            fail_msg("host %zu waits forever in phase %zu", h, r.phase[h]);
    out->time = r.now;
    free(r.flow);
    free(r.state);
    free(r.phase);
    free(r.pending);
    free(r.until);
    free(r.inbox);
    free(r.capacity);
}
