/* Schedules, and two ways to run one: each chunk as the set of contributions that it holds, where
 * an allreduce must leave all of them everywhere and once; and as phases of hosts with ports. */
#include "tests/lib/schedule.h"

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "tests/lib/ports.h"

/* --- writing schedules --- */

static void put(struct schedule *s, struct transfer t)
{
    s->transfer = realloc(s->transfer, (s->transfers + 1) * sizeof *s->transfer);
    assert_non_null(s->transfer);
    s->transfer[s->transfers++] = t;
    s->rounds = t.round + 1;
}

void schedule_free(struct schedule *s)
{
    free(s->transfer);
    *s = (struct schedule){0};
}

void schedule_ring(int p, struct schedule *out)
{
    *out = (struct schedule){.hosts = p, .chunks = p};
    for (int s = 0; s < 2 * (p - 1); s++)
        for (int i = 0; i < p; i++)
            put(out, (struct transfer){.round = s,
                                       .from = i,
                                       .to = (i + 1) % p,
                                       .first = (i - s + 2 * p) % p,
                                       .count = 1,
                                       .adds = s < p - 1});
}

/* The largest power of two up to p. */
static int power_up_to(int p)
{
    int power = 1;
    while (2 * power <= p)
        power *= 2;
    return power;
}

/* Among the first 2r workers, the even ones hand their vectors to others and pause. Returns the
 * worker that takes part as number j. */
static int member(int j, int r)
{
    return j < r ? 2 * j + 1 : j + r;
}

static void pair_up(struct schedule *s, int round, int r, bool back)
{
    for (int i = 0; i < r; i++)
        put(s, (struct transfer){.round = round,
                                 .from = back ? 2 * i + 1 : 2 * i,
                                 .to = back ? 2 * i : 2 * i + 1,
                                 .count = s->chunks,
                                 .adds = !back});
}

void schedule_recdouble(int p, struct schedule *out)
{
    int power = power_up_to(p), r = p - power, round = 0;
    *out = (struct schedule){.hosts = p, .chunks = 1};
    if (r > 0)
        pair_up(out, round++, r, false);
    for (int d = 1; d < power; d *= 2, round++)
        for (int j = 0; j < power; j++)
            put(out, (struct transfer){.round = round,
                                       .from = member(j, r),
                                       .to = member(j ^ d, r),
                                       .count = 1,
                                       .adds = true});
    if (r > 0)
        pair_up(out, round, r, true);
}

void schedule_rabenseifner(int p, struct schedule *out)
{
    int power = power_up_to(p), r = p - power, round = 0;
    *out = (struct schedule){.hosts = p, .chunks = power};
    if (r > 0)
        pair_up(out, round++, r, false);
    /* Member j keeps the half of its range that j lies in, and sends the other. */
    for (int d = power / 2; d >= 1; d /= 2, round++)
        for (int j = 0; j < power; j++)
            put(out, (struct transfer){.round = round,
                                       .from = member(j, r),
                                       .to = member(j ^ d, r),
                                       .first = (j ^ d) / d * d,
                                       .count = d,
                                       .adds = true});
    for (int d = 1; d < power; d *= 2, round++)
        for (int j = 0; j < power; j++)
            put(out, (struct transfer){.round = round,
                                       .from = member(j, r),
                                       .to = member(j ^ d, r),
                                       .first = j / d * d,
                                       .count = d});
    if (r > 0)
        pair_up(out, round, r, true);
}

static void bruck(struct schedule *s, int round)
{
    int p = s->hosts;
    for (int have = 1; have < p; have *= 2, round++)
        for (int i = 0; i < p; i++)
            put(s, (struct transfer){.round = round,
                                     .from = i,
                                     .to = (i - have + p) % p,
                                     .first = i,
                                     .count = have < p - have ? have : p - have});
}

void schedule_bruck(int p, struct schedule *out)
{
    *out = (struct schedule){.hosts = p, .chunks = p, .gathers = true};
    bruck(out, 0);
}

void schedule_split(int p, struct schedule *out)
{
    *out = (struct schedule){.hosts = p, .chunks = p};
    for (int stage = 0; stage < 2; stage++)
        for (int s = 1; s < p; s++)
            for (int i = 0; i < p; i++)
                put(out, (struct transfer){.round = stage,
                                           .from = i,
                                           .to = (i + s) % p,
                                           .first = stage == 0 ? (i + s) % p : i,
                                           .count = 1,
                                           .adds = stage == 0});
}

void schedule_hierarchical(int p, int per_host, struct schedule *out)
{
    const int n = p / per_host;
    *out = (struct schedule){.hosts = p, .chunks = p};
    for (int stage = 0; stage < 4; stage++)
        for (int from = 0; from < p; from++)
            for (int to = 0; to < p; to++) {
                const bool host = from / per_host == to / per_host, inside = stage % 3 == 0;
                const bool peers = inside ? host : from % per_host == to % per_host;
                const int slice = (stage == 0 ? to : from) % per_host * n;
                const int part = inside ? 0 : (stage == 1 ? to : from) / per_host;
                if (from != to && peers)
                    put(out, (struct transfer){.round = stage,
                                               .from = from,
                                               .to = to,
                                               .first = slice + part,
                                               .count = inside ? n : 1,
                                               .adds = stage < 2});
            }
}

void schedule_split_printed(int p, struct schedule *out)
{
    *out = (struct schedule){.hosts = p, .chunks = p};
    for (int s = 1; s < p; s++)
        for (int i = 0; i < p; i++)
            put(out, (struct transfer){.round = s - 1,
                                       .from = i,
                                       .to = (i + s) % p,
                                       .first = (i + s) % p,
                                       .count = 1,
                                       .adds = true});
    bruck(out, p - 1);
}

void schedule_servers(int p, int servers, struct schedule *out)
{
    *out = (struct schedule){.hosts = p + servers, .chunks = servers};
    for (int i = 0; i < p; i++)
        for (int s = 0; s < servers; s++)
            put(out, (struct transfer){
                         .round = 0, .from = i, .to = p + s, .first = s, .count = 1, .adds = true});
    for (int i = 0; i < p; i++)
        for (int s = 0; s < servers; s++)
            put(out, (struct transfer){.round = 1, .from = p + s, .to = i, .first = s, .count = 1});
}

void schedule_colocated(int p, int servers, struct schedule *out)
{
    *out = (struct schedule){.hosts = p, .chunks = servers};
    for (int round = 0; round < 2; round++)
        for (int i = 0; i < p; i++)
            for (int s = 0; s < servers; s++)
                if (i != s)
                    put(out, (struct transfer){.round = round,
                                               .from = round == 0 ? i : s,
                                               .to = round == 0 ? s : i,
                                               .first = s,
                                               .count = 1,
                                               .adds = round == 0});
}

/* --- running schedules --- */

/* A host's copy of a chunk: the workers whose contributions it holds, and whether it is unchanged
 * since it was encoded. */
struct part {
    uint32_t who;
    bool encoded;
    int added; /* the round that added to it last, counted from 1 */
};

struct execution {
    const struct schedule *schedule;
    const struct schedule_costs *costs;
    struct part *now, *next; /* by host and chunk */
    struct ports_host *host;
};

static struct part *part(const struct execution *x, struct part *of, int host, int chunk)
{
    return &of[host * x->schedule->chunks + chunk % x->schedule->chunks];
}

static struct ports_phase *new_phase(struct execution *x, int h)
{
    struct ports_host *host = &x->host[h];
    host->phase = realloc(host->phase, (host->phases + 1) * sizeof *host->phase);
    assert_non_null(host->phase);
    host->phase[host->phases] = (struct ports_phase){0};
    return &host->phase[host->phases++];
}

/* The sender's side of a transfer: encodes chunks that are not encoded yet. */
static void sends(struct execution *x, struct ports_phase *phase, const struct transfer *t)
{
    const struct schedule_costs *c = x->costs;
    double bytes = c->framing;
    for (int k = t->first; k < t->first + t->count; k++) {
        struct part *mine = part(x, x->next, t->from, k);
        bytes += c->bytes(c->arg, k % x->schedule->chunks, mine->who);
        const bool sum = (mine->who & (mine->who - 1)) != 0;
        if (!mine->encoded)
            phase->before += (c->encode_s + (sum ? c->sum_more_s : 0)) / x->schedule->chunks;
        mine->encoded = true;
    }
    phase->send = realloc(phase->send, (phase->sends + 1) * sizeof *phase->send);
    phase->send[phase->sends++] = (struct ports_send){.to = t->to, .bytes = bytes};
}

static void receives(struct execution *x, struct ports_phase *phase, const struct transfer *t)
{
    const struct schedule_costs *c = x->costs;
    phase->from = realloc(phase->from, (phase->receives + 1) * sizeof *phase->from);
    phase->from[phase->receives++] = t->from;
    for (int k = t->first; k < t->first + t->count; k++) {
        const struct part *theirs = part(x, x->now, t->from, k);
        struct part *mine = part(x, x->next, t->to, k);
        if (!t->adds) {
            *mine = (struct part){.who = theirs->who, .encoded = true};
            continue;
        }
        if ((mine->who & theirs->who) != 0)
            fail_msg("round %d: host %d gets twice what %d sends", t->round, t->to, t->from);
        if (mine->encoded && mine->who != 0)
            phase->after += c->decode_s / x->schedule->chunks;
        phase->after += c->add_s / x->schedule->chunks;
        const double bytes = c->bytes(c->arg, k % x->schedule->chunks, theirs->who);
        phase->after += (c->reduce_byte_s + c->merge_byte_s) * bytes;
        if (mine->added != t->round + 1)
            phase->after += c->merge_byte_s * c->bytes(c->arg, k % x->schedule->chunks, mine->who);
        mine->added = t->round + 1;
        mine->who |= theirs->who;
        mine->encoded = false;
    }
}

static void run_round(struct execution *x, int round)
{
    const struct schedule *s = x->schedule;
    struct ports_phase *phase[SCHEDULE_MOST_HOSTS] = {NULL};
    size_t bytes = (size_t)(s->hosts * s->chunks) * sizeof *x->now;
    memcpy(x->now, x->next, bytes);
    for (int pass = 0; pass < 2; pass++)
        for (size_t i = 0; i < s->transfers; i++) {
            const struct transfer *t = &s->transfer[i];
            int who = pass == 0 ? t->from : t->to;
            if (t->round != round)
                continue;
            if (phase[who] == NULL)
                phase[who] = new_phase(x, who);
            (pass == 0 ? sends : receives)(x, phase[who], t);
        }
}

/* Checks that every worker has all contributions, and decodes the chunks that it holds encoded. */
static void finish(struct execution *x, int workers)
{
    const struct schedule *s = x->schedule;
    for (int h = 0; h < workers; h++) {
        struct ports_phase *phase = new_phase(x, h);
        for (int k = 0; k < s->chunks; k++) {
            const struct part *p = part(x, x->next, h, k);
            uint32_t want = s->gathers ? 1u << k : (uint32_t)((UINT64_C(1) << workers) - 1);
            if (p->who != want)
                fail_msg("host %d ends with %x of chunk %d instead of %x", h, p->who, k, want);
            if (p->encoded)
                phase->before += x->costs->decode_s / s->chunks;
        }
    }
}

static void free_hosts(struct execution *x)
{
    for (int h = 0; h < x->schedule->hosts; h++) {
        for (size_t i = 0; i < x->host[h].phases; i++) {
            free(x->host[h].phase[i].send);
            free(x->host[h].phase[i].from);
        }
        free(x->host[h].phase);
    }
    free(x->host);
    free(x->now);
    free(x->next);
}

void schedule_run(const struct schedule *s, int workers, const struct schedule_costs *c,
                  struct schedule_result *out)
{
    struct execution x = {.schedule = s, .costs = c};
    double sent[SCHEDULE_MOST_HOSTS];
    size_t messages[SCHEDULE_MOST_HOSTS], parts = (size_t)(s->hosts * s->chunks);
    struct ports_result r = {.sent = sent, .messages = messages};
    assert_in_range(s->hosts, 1, SCHEDULE_MOST_HOSTS);
    x.now = calloc(parts, sizeof *x.now);
    x.next = calloc(parts, sizeof *x.next);
    x.host = calloc((size_t)s->hosts, sizeof *x.host);
    for (int h = 0; h < workers; h++)
        for (int k = 0; k < s->chunks; k++)
            if (!s->gathers || k == h)
                part(&x, x.next, h, k)->who = 1u << h;
    for (int round = 0; round < s->rounds; round++)
        run_round(&x, round);
    finish(&x, workers);
    ports_run_groups(x.host, (size_t)s->hosts, c->alpha, c->byte_s, c->groups, &r);
    *out = (struct schedule_result){.time = r.time};
    for (int h = 0; h < s->hosts; h++) {
        out->most_sent = sent[h] > out->most_sent ? sent[h] : out->most_sent;
        out->most_messages = messages[h] > out->most_messages ? messages[h] : out->most_messages;
    }
    free_hosts(&x);
}
