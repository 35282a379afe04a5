/* All ranks in one process.
 *
 * In bulk synchronous steps their exchanges are started one after the other, and then tested in
 * turn until all are done. Who takes whole payloads, the servers or in an allgather rank 0, is
 * tested after each worker's start, so that one buffer does for the payloads of all workers
 * (cc_room_alloc).
 *
 * In others, ranks are tested when a message arrives at them, which the transport's clock decides.
 * A worker encodes all its messages when it begins to compute, so that one gradient does for all
 * workers. */
#include "netsim/inprocess/inprocess.h"

#include <stdlib.h>

#include "core/clock.h"
#include "core/interrupt.h"
#include "core/memory.h"
#include "netsim/exchange/data.h"
#include "netsim/exchange/exchange.h"
#include "netsim/exchange/pack/clocks.h"

struct rank {
    struct cc_rank_state s;
    struct cc_pack_list packs; /* s.packs */
    void **message;            /* the row's messages, as the exchange has opened them */
    bool done;
    /* Workers, not bulk synchronous: */
    size_t pending; /* messages that wait for pulls, and computing, before the next step */
    bool pushes;    /* in this step */
};

struct cc_inprocess {
    struct cc_inprocess_config config;
    struct cc_process process;
    struct cc_shared shared;
    struct cc_spec *second; /* the scheme of the second stage (cc_second_spec); or NULL */
    struct cc_spec *inner;  /* that inside hosts (cc_inner_spec); or NULL */
    struct rank *rank;
    size_t workers, ranks;
    /* Not bulk synchronous: */
    size_t parts;      /* parts of messages on servers */
    uint64_t *age;     /* all servers' */
    double *held_s;    /* [messages]: likewise */
    double *longest_s; /* [workers]: of this step */
    struct cc_inprocess_figures figures;
};

const struct cc_pack_list *cc_inprocess_packs(const struct cc_inprocess *x, int rank)
{
    return &x->rank[rank].packs;
}

/* --- opening --- */

static int check(const struct cc_inprocess_config *c, struct cc_error *e)
{
    const char *name = cc_exchange_info(c->job->exchange)->name;
    if (cc_exchange_has(c->job->exchange, CC_X_LIBRARY))
        return cc_usage(e, "the exchange %s cannot be played in one process", name);
    if (cc_exchange_has(c->job->exchange, CC_X_MERGES) && c->row->reduction == CC_REDUCE_DECODED)
        return cc_usage(e, "%s merges index-value pairs, which %s does not send", name,
                        c->spec->name);
    return CC_OK;
}

static int open_clocks(struct cc_inprocess *x, struct cc_error *e)
{
    const struct cc_job *job = x->config.job;
    const struct cc_job_row *row = x->config.row;
    if (cc_job_bulk(job))
        return CC_OK;
    CC_TRY(CC_NEW(x->age, CC_CLOCKS_AGES, e));
    CC_TRY(CC_NEW(x->held_s, row->messages, e));
    CC_TRY(CC_NEW(x->longest_s, x->workers, e));
    for (size_t i = 0; i < row->messages; i++)
        for (int server = 0; server < job->servers; server++) {
            struct cc_slice *slice;
            size_t slices;
            CC_TRY(cc_kept_slices(job, &row->message[i], server, &slice, &slices, e));
            x->parts += slices > 0;
            free(slice);
        }
    return CC_OK;
}

static int open_rank(struct cc_inprocess *x, size_t i, struct cc_error *e)
{
    struct cc_inprocess_config *c = &x->config;
    struct rank *r = &x->rank[i];
    r->s = (struct cc_rank_state){
        .transport = cc_process_end(&x->process, i),
        .rank = (int)i,
        .server = i >= x->workers,
        .job = c->job,
        .row = c->row,
        .spec = c->spec,
        .raw = c->raw,
        .pull = c->pull != NULL ? c->pull : c->spec,
        .second = x->second,
        .inner = x->inner,
        .packs = &r->packs,
        .contributes = i > 0,
        .serve = c->serve,
        .serve_arg = c->arg,
        .until = c->row->steps,
        .staleness = {.age = x->age, .held_s = x->held_s, .longest_s = x->longest_s},
        .shared = &x->shared};
    if (c->clocks != NULL) {
        r->s.gradient = c->clocks->gradient;
        r->s.model = r->s.server ? c->clocks->model : c->clocks->copy + i * cc_job_values(c->job);
    }
    CC_TRY(CC_NEW(r->message, c->row->messages, e));
    for (size_t k = 0; k < c->row->messages; k++)
        CC_TRY(cc_exchange_open(&r->s, &c->row->message[k], k, &r->message[k], e));
    return CC_OK;
}

int cc_inprocess_open(const struct cc_inprocess_config *config, struct cc_inprocess **out,
                      struct cc_error *e)
{
    int status = CC_OK;
    CC_TRY(check(config, e));
    struct cc_inprocess *x;
    CC_TRY(CC_NEW(x, 1, e));
    x->config = *config;
    x->workers = (size_t)config->job->workers;
    x->ranks = x->workers + (size_t)config->job->servers;
    CC_TRY_OUT(CC_NEW(x->rank, x->ranks, e));
    CC_TRY_OUT(cc_process_open(&x->process, x->ranks,
                               config->clocks != NULL ? &config->clocks->links : NULL, e));
    CC_TRY_OUT(open_clocks(x, e));
    CC_TRY_OUT(cc_second_spec(config->job, config->row, &x->second, e));
    CC_TRY_OUT(cc_inner_spec(config->job, config->row, &x->inner, e));
    for (size_t i = 0; i < x->ranks; i++)
        CC_TRY_OUT(open_rank(x, i, e));
    *out = x;
out:
    if (status != CC_OK)
        cc_inprocess_close(x);
    return status;
}

void cc_inprocess_close(struct cc_inprocess *x)
{
    if (x == NULL)
        return;
    for (size_t i = 0; i < x->ranks && x->rank != NULL; i++) {
        struct rank *r = &x->rank[i];
        for (size_t k = 0; k < x->config.row->messages && r->message != NULL; k++)
            cc_exchange_close(r->message[k]);
        cc_pack_list_free(&r->packs);
        free(r->message);
    }
    cc_process_close(&x->process);
    cc_rooms_free(&x->shared);
    cc_spec_free(x->second);
    cc_spec_free(x->inner);
    free(x->age);
    free(x->held_s);
    free(x->longest_s);
    free(x->rank);
    free(x);
}

/* --- steps --- */

/* Continues rank i; sets *moved if it did anything that others, or itself, can go on with. */
static int test(struct cc_inprocess *x, size_t i, size_t message, bool *moved, struct cc_error *e)
{
    struct rank *r = &x->rank[i];
    const uint64_t arrived = x->process.arrived;
    if (r->done)
        return CC_OK;
    r->s.transport->more = false;
    CC_TRY(cc_exchange_test(r->message[message], &r->done, e));
    *moved |= r->done || r->s.transport->more || x->process.arrived > arrived;
    return CC_OK;
}

static int start(struct cc_inprocess *x, size_t i, size_t message, struct cc_error *e)
{
    x->rank[i].done = false;
    return cc_exchange_start(x->rank[i].message[message], e);
}

static int exchange_message(struct cc_inprocess *x, size_t message, struct cc_error *e)
{
    bool moved = true, done = false;
    for (size_t i = x->workers; i < x->ranks; i++)
        CC_TRY(start(x, i, message, e));
    for (size_t i = 0; i < x->workers; i++) {
        CC_TRY(start(x, i, message, e));
        CC_TRY(test(x, 0, message, &moved, e));
        for (size_t k = x->workers; k < x->ranks; k++)
            CC_TRY(test(x, k, message, &moved, e));
    }
    while (moved && !done) {
        moved = false;
        done = true;
        for (size_t i = 0; i < x->ranks; i++) {
            CC_TRY(test(x, i, message, &moved, e));
            done = done && x->rank[i].done;
        }
    }
    return done ? CC_OK
                : cc_fail(e, "%s: a rank waits for what nobody sends",
                          cc_exchange_names[x->config.job->exchange]);
}

/* Sums up what the ranks have counted in the step. `share`: of the wall clock's time, which they
 * have measured, this thread had a processor for as much. */
static void count(const struct cc_inprocess *x, double share, struct cc_inprocess_step *out)
{
    const double workers = (double)x->workers, servers = (double)(x->ranks - x->workers);
    for (size_t i = 0; i < x->ranks; i++) {
        const struct cc_counters *t = &x->rank[i].s.counters;
        *(i < x->workers ? &out->push_bytes : &out->pull_bytes) += t->payload_bytes;
        out->pull_bytes += t->gathered_bytes;
        out->encode_s += t->work_s[CC_PHASE_ENCODE] / workers;
        out->hop_s += t->work_s[CC_PHASE_HOP] / workers;
        out->server_s += i < x->workers ? 0 : t->work_s[CC_PHASE_SERVER] / servers;
    }
    out->encode_s *= share;
    out->hop_s *= share;
    out->server_s *= share;
    out->decode_s = share * x->rank[0].s.counters.work_s[CC_PHASE_DECODE];
}

int cc_inprocess_exchange(struct cc_inprocess *x, uint64_t step, const float *const *gradient,
                          float *result, struct cc_inprocess_step *out, struct cc_error *e)
{
    const struct cc_job *job = x->config.job;
    const struct cc_job_row *row = x->config.row;
    const double since = cc_now(), had = cc_thread_now();
    *out = (struct cc_inprocess_step){0};
    x->process.now = since;
    for (size_t i = 0; i < x->ranks; i++) {
        struct cc_rank_state *s = &x->rank[i].s;
        s->step = step;
        s->gradient = i < x->workers ? gradient[i] : NULL;
        s->model = i == 0 ? result : NULL;
        s->counters = (struct cc_counters){0};
    }
    for (size_t i = 0; i < row->messages; i++) {
        if (cc_job_row_skips(job, i, step))
            continue;
        out->sent = out->sent || !cc_job_row_silent(job, row, &row->message[i], step);
        CC_TRY(exchange_message(x, i, e));
    }
    const double took = cc_now() - since;
    count(x, took > 0 ? (cc_thread_now() - had) / took : 1, out);
    return CC_OK;
}

/* --- steps that are not bulk synchronous --- */

static int begin_step(struct cc_inprocess *x, size_t w, struct cc_error *e)
{
    const struct cc_inprocess_clocks *k = x->config.clocks;
    const struct cc_job_row *row = x->config.row;
    struct rank *me = &x->rank[w];
    const size_t step = (size_t)me->s.step;
    const double began = x->process.now,
                 takes = k->compute_s * (k->slow != NULL ? k->slow[w * row->steps + step] : 1);
    CC_TRY(k->compute(x->config.arg, w, step, e));
    x->longest_s[w] = 0;
    me->pending = 1;
    for (size_t i = 0; i < row->messages; i++) {
        bool done;
        x->process.now = began + takes * k->ready[i];
        CC_TRY(cc_exchange_start(me->message[i], e));
        CC_TRY(cc_exchange_test(me->message[i], &done, e));
        me->pending += !done;
    }
    x->process.now = began;
    me->pushes = cc_process_on_way(&x->process, w) > 0;
    return cc_process_wake(&x->process, began + takes, w, e);
}

/* Goes on if nothing of the step is left to do. */
static int continue_step(struct cc_inprocess *x, size_t w, struct cc_error *e)
{
    struct rank *me = &x->rank[w];
    if (--me->pending > 0)
        return CC_OK;
    x->figures.wait_s += x->longest_s[w];
    return ++me->s.step < x->config.row->steps ? begin_step(x, w, e) : CC_OK;
}

/* A server takes a push, and sends all pulls that may leave then. */
static int take_push(struct cc_inprocess *x, const struct cc_process_event *v, struct cc_error *e)
{
    struct cc_rank_state *s = &x->rank[v->rank].s;
    bool over;
    do {
        s->transport->more = false;
        s->counters.payload_bytes = 0;
        CC_TRY(cc_exchange_test(x->rank[v->rank].message[v->parcel.tag], &over, e));
        x->figures.pull_bytes += s->counters.payload_bytes;
    } while (s->transport->more);
    if (v->parcel.bytes == v->parcel.head) /* a step that is withheld */
        return CC_OK;
    x->figures.push_bytes += v->parcel.payload;
    x->figures.ended += cc_process_on_way(&x->process, (size_t)v->from) == 0;
    return CC_OK;
}

static int handle(struct cc_inprocess *x, const struct cc_process_event *v, struct cc_error *e)
{
    const size_t rank = (size_t)v->rank;
    bool done = true;
    if (rank >= x->workers)
        return take_push(x, v, e);
    if (v->from < 0)
        x->figures.ended += !x->rank[rank].pushes;
    else
        CC_TRY(cc_exchange_test(x->rank[rank].message[v->parcel.tag], &done, e));
    return done ? continue_step(x, rank, e) : CC_OK;
}

static int begin_all(struct cc_inprocess *x, struct cc_error *e)
{
    for (size_t i = x->workers; i < x->ranks; i++)
        for (size_t k = 0; k < x->config.row->messages; k++)
            CC_TRY(cc_exchange_start(x->rank[i].message[k], e));
    for (size_t i = 0; i < x->workers; i++)
        CC_TRY(begin_step(x, i, e));
    return CC_OK;
}

int cc_inprocess_run(struct cc_inprocess *x, uint64_t ended, struct cc_error *e)
{
    const struct cc_process_event *v;
    if (x->process.events.added == 0)
        CC_TRY(begin_all(x, e));
    while (x->figures.ended < ended && !cc_interrupted()) {
        CC_TRY(cc_process_next(&x->process, &v, e));
        if (v == NULL)
            return CC_OK;
        CC_TRY(handle(x, v, e));
    }
    return CC_OK;
}

const uint64_t *cc_inprocess_ages(const struct cc_inprocess *x)
{
    return x->age;
}

struct cc_inprocess_figures cc_inprocess_figures(const struct cc_inprocess *x)
{
    struct cc_inprocess_figures f = x->figures;
    uint64_t updates = 0;
    for (size_t i = 0; i < CC_CLOCKS_AGES; i++)
        updates += x->age[i];
    f.time_s = x->process.now;
    f.updates = x->parts > 0 ? (double)updates / (double)x->parts : 0;
    f.staleness = cc_ages_mean(x->age);
    f.staleness_p95 = cc_ages_quantile(x->age, 0.95);
    return f;
}
