/* All ranks in one process: their exchanges are started one after the other, and then tested in
 * turn until all are done. Who takes whole payloads, the servers or in an allgather rank 0, is
 * tested after each worker's start, so that one buffer does for the payloads of all workers
 * (cc_room_alloc). */
#include "netsim/inprocess/inprocess.h"

#include <stdlib.h>

#include "core/clock.h"
#include "core/memory.h"
#include "netsim/exchange/data.h"
#include "netsim/exchange/exchange.h"
#include "netsim/transport/process.h"

struct rank {
    struct cc_rank_state s;
    struct cc_pack_list packs; /* s.packs */
    void **message;            /* the row's messages, as the exchange has opened them */
    bool done;
};

struct cc_inprocess {
    struct cc_inprocess_config config;
    struct cc_process process;
    struct cc_shared shared;
    struct cc_spec *dense; /* the scheme of a dense second stage; NULL: fp32 */
    struct rank *rank;
    size_t workers, ranks;
};

bool cc_inprocess_has(enum cc_exchange x)
{
    return !cc_exchange_has(x, CC_X_LIBRARY);
}

const struct cc_pack_list *cc_inprocess_packs(const struct cc_inprocess *x, int rank)
{
    return &x->rank[rank].packs;
}

/* --- opening --- */

static int check(const struct cc_inprocess_config *c, struct cc_error *e)
{
    const char *name = cc_exchange_info(c->job->exchange)->name;
    if (!cc_inprocess_has(c->job->exchange))
        return cc_usage(e, "the exchange %s cannot be played in one process", name);
    if (cc_exchange_has(c->job->exchange, CC_X_MERGES) && c->row->reduction == CC_REDUCE_DECODED)
        return cc_usage(e, "%s merges index-value pairs, which %s does not send", name,
                        c->spec->name);
    return CC_OK;
}

static int serve(void *arg, uint64_t step, uint64_t updates, size_t from, size_t to, float *mean,
                 struct cc_error *e)
{
    const struct cc_inprocess_config *c = arg;
    (void)step;
    (void)updates;
    return c->serve(c->arg, from, to, mean, e);
}

static int open_rank(struct cc_inprocess *x, size_t i, struct cc_error *e)
{
    struct cc_inprocess_config *c = &x->config;
    struct rank *r = &x->rank[i];
    r->s = (struct cc_rank_state){.transport = cc_process_end(&x->process, i),
                                  .rank = (int)i,
                                  .server = i >= x->workers,
                                  .job = c->job,
                                  .row = c->row,
                                  .spec = c->spec,
                                  .raw = c->raw,
                                  .pull = c->pull != NULL ? c->pull : c->spec,
                                  .dense = x->dense,
                                  .packs = &r->packs,
                                  .contributes = i > 0,
                                  .serve = c->serve != NULL ? serve : NULL,
                                  .serve_arg = c,
                                  .shared = &x->shared};
    r->message = cc_alloc0(c->row->messages * sizeof *r->message, e);
    if (r->message == NULL)
        return CC_FAIL;
    for (size_t k = 0; k < c->row->messages; k++)
        CC_TRY(cc_exchange_open(&r->s, &c->row->message[k], k, &r->message[k], e));
    return CC_OK;
}

int cc_inprocess_open(const struct cc_inprocess_config *config, struct cc_inprocess **out,
                      struct cc_error *e)
{
    int status = CC_OK;
    CC_TRY(check(config, e));
    struct cc_inprocess *x = cc_alloc0(sizeof *x, e);
    if (x == NULL)
        return CC_FAIL;
    x->config = *config;
    x->workers = (size_t)config->job->workers;
    x->ranks = x->workers + (size_t)config->job->servers;
    x->rank = cc_alloc0(x->ranks * sizeof *x->rank, e);
    if (x->rank == NULL) {
        status = CC_FAIL;
        goto out;
    }
    CC_TRY_OUT(cc_process_open(&x->process, x->ranks, e));
    CC_TRY_OUT(cc_dense_spec(config->job, &x->dense, e));
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
    cc_spec_free(x->dense);
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
