/* Overlapped steps through parameter servers: against timelines worked out by hand, and against a
 * simulation of every worker, server and flow, which follows no two hosts as one. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "core/random.h"
#include "models/step.h"
#include "tests/lib/number.h"

static double step_of(const struct cc_timing *t, const struct cc_step_message *message, size_t n,
                      const double *share, const struct cc_step_cluster *c, double burst_s)
{
    struct cc_overlap *memory = NULL;
    struct cc_error e;
    assert_int_equal(cc_overlap_reserve(&memory, c, 2 * n, &e), CC_OK);
    const double first = cc_step_overlap_servers(t, message, n, share, n, c, burst_s, memory, NULL);
    /* Nothing is left of the last call. */
    assert_true(first ==
                cc_step_overlap_servers(t, message, n, share, n, c, burst_s, memory, NULL));
    cc_overlap_free(memory);
    return first;
}

static struct cc_cost cost_of(double encode, double push, double server, double pull, double decode)
{
    return (struct cc_cost){.encode_s = encode,
                            .push_flow_s = push,
                            .server_codec_s = server,
                            .pull_flow_s = pull,
                            .decode_s = decode};
}

/* --- by hand --- */

static const double half[] = {0.5, 0.5};

/* Two tensors with equal shares of a compute time of 6 (forward 1 and 1, backward 2 and 2), a
 * server. Tensor 1's gradient is ready at 2, tensor 0's at 4. They are encoded at 3 and at 5.
 *   push: tensor 1 alone until 5, with 3 of 5 s left; then both at half the rate: tensor 1 is there
 *         at 11, tensor 0, which has 2 s left by then, at 13
 *   pull: tensor 1 from 12, tensor 0 from 14, likewise: there at 18 and at 20
 * Tensor 1 is decoded at 19, tensor 0 at 21; the forward pass computes them at 21-22 and 22-23. */
static void by_hand(void **state)
{
    (void)state;
    struct cc_timing t = {.mode = CC_OVERLAP, .compute_s = 6, .forward_share = 1. / 3};
    struct cc_step_message m[] = {{.cost = cost_of(1, 5, 1, 4, 1), .first = 1, .last = 1},
                                  {.cost = cost_of(1, 5, 1, 4, 1), .first = 0, .last = 0}};
    close_to(
        step_of(&t, m, 2, half, &(struct cc_step_cluster){1, 1, false, false, 0, 0, 1, 1, 1}, 0),
        23, 1e-12, "one worker");
    /* Four workers whose flows are a quarter as long fill the server's port as well. */
    for (int i = 0; i < 2; i++)
        m[i].cost = cost_of(1, 5. / 4, 1, 1, 1);
    close_to(
        step_of(&t, m, 2, half, &(struct cc_step_cluster){4, 1, false, false, 0, 0, 1, 1, 1}, 0),
        23, 1e-12, "four workers");
    /* Latencies of 1 s before each push and pull delay them without taking a port. */
    for (int i = 0; i < 2; i++)
        m[i].cost.push_latency_s = m[i].cost.pull_latency_s = 1;
    close_to(
        step_of(&t, m, 2, half, &(struct cc_step_cluster){4, 1, false, false, 0, 0, 1, 1, 1}, 0),
        25, 1e-12, "latency");
    /* Forward: both pulls begin at 14, at half the rate. Tensor 0 of 2 s is there at 18, decoded at
     * 19 and computed until 20; tensor 1 of 4 s is there at 20, decoded at 21, computed until 22.
     */
    t.pulls = CC_PULL_FORWARD;
    m[0].cost = cost_of(1, 5, 1, 4, 1);
    m[1].cost = cost_of(1, 5, 1, 2, 1);
    close_to(
        step_of(&t, m, 2, half, &(struct cc_step_cluster){1, 1, false, false, 0, 0, 1, 1, 1}, 0),
        22, 1e-12, "forward");
    /* Nothing to send: the compute time. */
    m[0].cost = m[1].cost = (struct cc_cost){.encode_s = 0};
    close_to(
        step_of(&t, m, 2, half, &(struct cc_step_cluster){1, 1, false, false, 0, 0, 1, 1, 1}, 0), 6,
        1e-12, "free");
}

/* Token buckets that save 2 s when they are full.
 *   push: tensor 1 at 3, 3 s of 5 left, 1 s left at 5; both at half the rate until 7; tensor 0,
 *         which found an empty bucket, at 11
 *   pull: tensor 1 at 8, 2 s of 4 left: there at 10; tensor 0 at 12, when the bucket is full again:
 *         there at 14, decoded at 15, and forward until 17. */
static void with_buckets(void **state)
{
    (void)state;
    const struct cc_timing t = {.mode = CC_OVERLAP, .compute_s = 6, .forward_share = 1. / 3};
    const struct cc_step_message m[] = {{.cost = cost_of(1, 5, 1, 4, 1), .first = 1, .last = 1},
                                        {.cost = cost_of(1, 5, 1, 4, 1), .first = 0, .last = 0}};
    close_to(
        step_of(&t, m, 2, half, &(struct cc_step_cluster){1, 1, false, false, 0, 0, 1, 1, 1}, 2),
        17, 1e-12, "buckets");
}

/* Two workers, each with a server that keeps half of the one message, whose other half takes 2 s:
 * encoded at 5, pushed until 7, pulled from 8 to 10, decoded at 11, forward until 13. On hosts of
 * their own the servers get both halves: pushed until 9, pulled from 10 to 14, and so on. */
static void on_workers_hosts(void **state)
{
    (void)state;
    const struct cc_timing t = {.mode = CC_OVERLAP, .compute_s = 6, .forward_share = 1. / 3};
    const struct cc_step_message m[] = {{.cost = cost_of(1, 2, 1, 2, 1), .first = 0, .last = 0}};
    const double all[] = {1};
    close_to(step_of(&t, m, 1, all, &(struct cc_step_cluster){2, 2, false, true, 0, 0, 1, 1, 1}, 0),
             13, 1e-12, "colocated");
    close_to(
        step_of(&t, m, 1, all, &(struct cc_step_cluster){2, 2, false, false, 0, 0, 1, 1, 1}, 0), 17,
        1e-12, "apart");
    /* A single worker beside its server needs no network: 5, 6, 7, 9. */
    close_to(step_of(&t, m, 1, all, &(struct cc_step_cluster){1, 1, false, true, 0, 0, 1, 1, 1}, 0),
             9, 1e-12, "alone");
}

/* --- against a simulation of every flow --- */

enum { TENSORS = 7, MOST_WORKERS = 5, MOST_SERVERS = 3, HOSTS = MOST_WORKERS + MOST_SERVERS };

struct one_flow {
    int worker, server, message; /* message: its index */
    bool pull, over, sent;       /* sent: not waiting behind others */
    double begins, length, left, rate;
};

struct all_flows {
    const struct cc_timing *t;
    const struct cc_step_message *message;
    const struct cc_step_cluster *c;
    struct one_flow flow[2 * TENSORS * MOST_WORKERS * MOST_SERVERS];
    int flows;
    int arrived[TENSORS][MOST_SERVERS], to_come[MOST_SERVERS];
    double codec[MOST_SERVERS], decoder[MOST_WORKERS];
    int missing[TENSORS][MOST_WORKERS];
    double available[TENSORS][MOST_WORKERS];
};

static int host_of(const struct all_flows *a, const struct one_flow *f, bool server)
{
    if (!server)
        return f->worker;
    return a->c->colocated ? f->server : a->c->workers + f->server;
}

/* The cost of a message at a server; NULL if that gets nothing of it. */
static const struct cc_cost *cost_at(const struct all_flows *a, int message, int server)
{
    const struct cc_step_message *m = &a->message[message];
    for (int i = 0; a->c->placed_whole && i < m->parts; i++)
        if (m->part[i].server == server)
            return &m->part[i].cost;
    return a->c->placed_whole ? NULL : &m->cost;
}

static void begin(struct all_flows *a, int message, int server, int worker, bool pull, double at)
{
    const struct cc_cost *c = cost_at(a, message, server);
    a->flow[a->flows++] = (struct one_flow){.worker = worker,
                                            .server = server,
                                            .message = message,
                                            .pull = pull,
                                            .begins = at,
                                            .length = pull ? c->pull_flow_s : c->push_flow_s,
                                            .left = pull ? c->pull_flow_s : c->push_flow_s};
}

static bool same_connection(const struct one_flow *f, const struct one_flow *g)
{
    return f->worker == g->worker && f->server == g->server && f->pull == g->pull;
}

/* Sends what has begun, in order: two of a connection at a time, or as many as are short. */
static void send_in_order(struct all_flows *a, double now)
{
    for (;;) {
        struct one_flow *next = NULL;
        for (int i = 0; i < a->flows; i++) {
            struct one_flow *f = &a->flow[i];
            int busy = 0;
            double together = f->length;
            bool first = !f->sent && f->begins <= now;
            for (int k = 0; k < a->flows && first; k++) {
                const struct one_flow *g = &a->flow[k];
                if (!same_connection(f, g) || g->over || g->begins > now)
                    continue;
                busy += g->sent;
                together += g->sent ? g->length : 0;
                if (!g->sent && (g->begins < f->begins || (g->begins == f->begins && k < i)))
                    first = false;
            }
            if (first && (busy < 2 || together <= a->c->window_s))
                next = f;
        }
        if (next == NULL)
            return;
        next->sent = true;
    }
}

static double serve(double *free_at, double there, double takes)
{
    return *free_at = fmax(*free_at, there) + takes;
}

static void pull_all(struct all_flows *a, int message, int server, double at)
{
    for (int w = 0; w < a->c->workers; w++)
        begin(a, message, server, w, true,
              at + fmax(0, cost_at(a, message, server)->pull_latency_s - a->c->message_s));
}

static void arrive(struct all_flows *a, const struct one_flow *f, double now)
{
    const int m = f->message, s = f->server;
    if (f->pull) {
        if (--a->missing[m][f->worker] == 0)
            a->available[m][f->worker] =
                serve(&a->decoder[f->worker], now, a->message[m].cost.decode_s);
        return;
    }
    if (++a->arrived[m][s] < a->c->workers)
        return;
    const double encoded =
        serve(&a->codec[s], now, cost_at(a, m, s)->server_codec_s + a->c->message_s);
    if (a->t->pulls == CC_PULL_READY)
        pull_all(a, m, s, encoded);
    else if (--a->to_come[s] == 0)
        for (int i = TENSORS; i-- > 0;)
            if (cost_at(a, i, s) != NULL)
                pull_all(a, i, s, encoded);
}

/* Raises all rates together, and stops those that cross a full port. */
static void share_ports(struct all_flows *a)
{
    double left[HOSTS][2];
    bool moved = true;
    for (int h = 0; h < HOSTS; h++)
        left[h][0] = left[h][1] = 1;
    for (int i = 0; i < a->flows; i++)
        a->flow[i].rate = -1;
    while (moved) {
        double least = INFINITY;
        int users[HOSTS][2] = {{0}};
        for (int i = 0; i < a->flows; i++) {
            const struct one_flow *f = &a->flow[i];
            if (f->over || !f->sent || f->rate >= 0)
                continue;
            users[host_of(a, f, f->pull)][0]++;
            users[host_of(a, f, !f->pull)][1]++;
        }
        for (int h = 0; h < HOSTS; h++)
            for (int k = 0; k < 2; k++)
                if (users[h][k] > 0)
                    least = fmin(least, left[h][k] / users[h][k]);
        moved = false;
        double fixed[HOSTS][2] = {{0}};
        for (int i = 0; i < a->flows; i++) {
            struct one_flow *f = &a->flow[i];
            if (f->over || !f->sent || f->rate >= 0)
                continue;
            const int from = host_of(a, f, f->pull), to = host_of(a, f, !f->pull);
            if (left[from][0] / users[from][0] > least * (1 + 1e-12) &&
                left[to][1] / users[to][1] > least * (1 + 1e-12))
                continue;
            f->rate = least;
            fixed[from][0] += least;
            fixed[to][1] += least;
            moved = true;
        }
        for (int h = 0; h < HOSTS; h++)
            for (int k = 0; k < 2; k++)
                left[h][k] -= fixed[h][k];
    }
}

static bool is_local(const struct all_flows *a, const struct one_flow *f)
{
    return host_of(a, f, false) == host_of(a, f, true);
}

static void run_flows(struct all_flows *a)
{
    double now = 0;
    for (;;) {
        for (int i = 0; i < a->flows; i++) {
            struct one_flow *f = &a->flow[i];
            if (f->over || f->begins > now || !(is_local(a, f) || (f->sent && f->left <= 1e-12)))
                continue;
            f->over = true;
            arrive(a, f, now);
        }
        send_in_order(a, now);
        share_ports(a);
        double next = INFINITY;
        for (int i = 0; i < a->flows; i++) {
            const struct one_flow *f = &a->flow[i];
            if (!f->over && (f->begins > now || f->sent || is_local(a, f)))
                next = fmin(next, f->begins > now  ? f->begins
                                  : is_local(a, f) ? now
                                                   : now + f->left / f->rate);
        }
        if (next == INFINITY)
            return;
        for (int i = 0; i < a->flows; i++)
            if (!a->flow[i].over && a->flow[i].sent)
                a->flow[i].left -= (next - now) * a->flow[i].rate;
        now = next;
    }
}

static double simulated(const struct cc_timing *t, const struct cc_step_message *message,
                        const double *share, const struct cc_step_cluster *c)
{
    static struct all_flows a;
    double now = 0, encoder = 0, last = 0;
    memset(&a, 0, sizeof a);
    a.t = t;
    a.message = message;
    a.c = c;
    for (int m = 0; m < TENSORS; m++)
        for (int s = 0; s < c->servers; s++)
            a.to_come[s] += cost_at(&a, m, s) != NULL;
    for (int m = 0; m < TENSORS; m++) {
        now += t->compute_s * (1 - t->forward_share) * share[TENSORS - 1 - m];
        encoder = fmax(encoder, now) + message[m].cost.encode_s + c->message_s;
        for (int s = 0; s < c->servers; s++)
            for (int w = 0; w < c->workers && cost_at(&a, m, s) != NULL; w++) {
                begin(&a, m, s, w, false,
                      encoder + fmax(0, message[m].cost.push_latency_s - c->message_s));
                a.missing[m][w]++;
            }
    }
    run_flows(&a);
    for (int w = 0; w < c->workers; w++) {
        double end = now;
        for (int i = 0; i < TENSORS; i++)
            end = fmax(end, a.available[TENSORS - 1 - i][w]) +
                  (t->compute_s * t->forward_share + t->update_s) * share[i];
        last = fmax(last, end);
    }
    return last;
}

static double random_unit(unsigned i)
{
    const struct cc_random_id id = {.seed = 6};
    return cc_unit(cc_random(cc_key(&id, 0), i));
}

/* Random messages, each to one server or two, or to all alike. */
static void fill(unsigned run, const struct cc_step_cluster *c, struct cc_step_message *message,
                 struct cc_part (*part)[2], double *share)
{
    double sum = 0;
    for (unsigned i = 0; i < TENSORS; i++) {
        const unsigned at = 1000 * run + 40 * i;
        message[i] = (struct cc_step_message){.first = TENSORS - 1 - i, .last = TENSORS - 1 - i};
        double *field[] = {&message[i].cost.encode_s,       &message[i].cost.push_latency_s,
                           &message[i].cost.push_flow_s,    &message[i].cost.server_codec_s,
                           &message[i].cost.pull_latency_s, &message[i].cost.pull_flow_s,
                           &message[i].cost.decode_s};
        for (unsigned k = 0; k < sizeof field / sizeof field[0]; k++)
            *field[k] = random_unit(at + k) * (run % 3 == k % 3 ? 2 : 0.3);
        message[i].parts = c->placed_whole ? 1 + (c->servers > 1 && random_unit(at + 10) < 0.5) : 0;
        message[i].part = part[i];
        for (int k = 0; k < message[i].parts; k++) {
            part[i][k] =
                (struct cc_part){.server = ((int)i + k) % c->servers, .cost = message[i].cost};
            part[i][k].cost.push_flow_s *= random_unit(at + 11);
        }
        share[i] = random_unit(at + 15);
        sum += share[i];
    }
    for (unsigned i = 0; i < TENSORS; i++)
        share[i] /= sum;
}

static void every_flow(void **state)
{
    (void)state;
    for (unsigned run = 0; run < 600; run++) {
        struct cc_step_message message[TENSORS];
        struct cc_part part[TENSORS][2];
        double share[TENSORS];
        struct cc_step_cluster c = {.workers = 1 + (int)(run % MOST_WORKERS),
                                    .servers = 1 + (int)(run / 5 % MOST_SERVERS),
                                    .placed_whole = run / 15 % 2 == 1,
                                    .colocated = run / 30 % 2 == 1,
                                    .window_s = run % 4 == 0 ? 0.5 : 0,
                                    .message_s = run % 7 == 0 ? 0.2 : 0};
        if (c.colocated && c.servers > c.workers)
            c.servers = c.workers;
        struct cc_timing t = {.mode = CC_OVERLAP,
                              .compute_s = 6 * random_unit(run),
                              .update_s = 0.5,
                              .forward_share = 0.3,
                              .pulls = run / 60 % 2 == 0 ? CC_PULL_READY : CC_PULL_FORWARD};
        fill(run, &c, message, part, share);
        const double is = step_of(&t, message, TENSORS, share, &c, 0);
        const double should = simulated(&t, message, share, &c);
        if (!(fabs(is - should) <= 1e-9 * should))
            fail_msg("run %u, %d workers, %d servers%s%s, %s: %.12g instead of %.12g", run,
                     c.workers, c.servers, c.placed_whole ? ", whole" : "",
                     c.colocated ? ", colocated" : "", cc_pull_names[t.pulls], is, should);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(by_hand), cmocka_unit_test(with_buckets),
                                       cmocka_unit_test(on_workers_hosts),
                                       cmocka_unit_test(every_flow)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
