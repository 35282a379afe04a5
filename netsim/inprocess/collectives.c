/* Each worker has a rank state for each collective, and all of a worker's messages are open: as on
 * ranks, number i * units + unit is that of a unit. Here one is played after the other. */
#include "netsim/inprocess/collectives.h"

#include <stdlib.h>
#include <string.h>

#include "core/clock.h"
#include "core/memory.h"
#include "netsim/exchange/collectives.h"
#include "netsim/exchange/exchange.h"

struct worker {
    struct cc_rank_state s;
    struct cc_pack_list packs;
    struct cc_rank_collective of[CC_MOST_COLLECTIVES];
    void **message; /* [collectives * units] */
    bool done;
};

struct cc_inprocess_collectives {
    struct cc_process process;
    struct cc_collectives list;
    struct worker *worker;
    size_t workers, units;
    struct cc_job_cost *no_cost;
};

/* --- opening --- */

static int open_worker(struct cc_inprocess_collectives *x, size_t i, const struct cc_rank_state *of,
                       struct cc_error *e)
{
    const struct cc_collective_sizes sizes = {.weights = NULL};
    const struct cc_job_row *row = of->row;
    struct worker *w = &x->worker[i];
    w->s = *of;
    w->s.rank = (int)i;
    w->s.transport = cc_process_end(&x->process, i);
    w->s.packs = &w->packs;
    CC_TRY(CC_NEW(w->s.counters.tensor_bytes, of->job->tensors, e));
    CC_TRY(CC_NEW(w->message, (size_t)x->list.count * x->units, e));
    for (int c = 0; c < x->list.count; c++)
        CC_TRY(
            cc_rank_collective_open(&w->of[c], &x->list.item[c], c, &w->s, &sizes, x->no_cost, e));
    for (size_t k = 0; k < (size_t)x->list.count * x->units; k++)
        CC_TRY(cc_exchange_open(&w->of[k / x->units].s, &row->message[x->units - 1 - k % x->units],
                                k, &w->message[k], e));
    return CC_OK;
}

int cc_inprocess_collectives_open(const struct cc_job *job, const struct cc_job_row *row,
                                  const struct cc_spec *spec, const struct cc_spec *raw,
                                  struct cc_inprocess_collectives **out, struct cc_error *e)
{
    const struct cc_rank_state of = {
        .job = job, .row = row, .spec = spec, .raw = raw, .pull = spec, .until = row->steps};
    struct cc_inprocess_collectives *x;
    int status = CC_OK;
    CC_TRY(CC_NEW(x, 1, e));
    x->list = cc_job_collectives(job);
    x->workers = (size_t)job->workers;
    x->units = row->messages;
    CC_TRY_OUT(CC_NEW(x->no_cost, job->tensors, e));
    CC_TRY_OUT(CC_NEW(x->worker, x->workers, e));
    CC_TRY_OUT(cc_process_open(&x->process, x->workers, NULL, e));
    for (size_t i = 0; i < x->workers; i++)
        CC_TRY_OUT(open_worker(x, i, &of, e));
    *out = x;
out:
    if (status != CC_OK)
        cc_inprocess_collectives_close(x);
    return status;
}

void cc_inprocess_collectives_close(struct cc_inprocess_collectives *x)
{
    if (x == NULL)
        return;
    for (size_t i = 0; i < x->workers && x->worker != NULL; i++) {
        struct worker *w = &x->worker[i];
        for (size_t k = 0; k < (size_t)x->list.count * x->units && w->message != NULL; k++)
            cc_exchange_close(w->message[k]);
        for (int c = 0; c < x->list.count; c++)
            cc_rank_collective_close(&w->of[c]);
        cc_pack_list_free(&w->packs);
        free(w->message);
        free(w->s.counters.tensor_bytes);
    }
    cc_process_close(&x->process);
    free(x->worker);
    free(x->no_cost);
    free(x);
}

const struct cc_pack_list *cc_inprocess_collectives_packs(const struct cc_inprocess_collectives *x,
                                                          int worker)
{
    return &x->worker[worker].packs;
}

/* --- playing --- */

/* Starts a message on all workers, and tests them in turn until all are done. */
static int play(struct cc_inprocess_collectives *x, size_t message, struct cc_error *e)
{
    bool moved = true, done = false;
    for (size_t i = 0; i < x->workers; i++) {
        x->worker[i].done = false;
        CC_TRY(cc_exchange_start(x->worker[i].message[message], e));
    }
    while (moved && !done) {
        moved = false;
        done = true;
        for (size_t i = 0; i < x->workers; i++) {
            struct worker *w = &x->worker[i];
            const uint64_t arrived = x->process.arrived;
            if (w->done)
                continue;
            w->s.transport->more = false;
            CC_TRY(cc_exchange_test(w->message[message], &w->done, e));
            moved |= w->done || w->s.transport->more || x->process.arrived > arrived;
            done = done && w->done;
        }
    }
    return done ? CC_OK : cc_fail(e, "a worker waits for what nobody sends");
}

/* Adds what the workers have counted; `share` as in inprocess.c. */
static void count(const struct cc_inprocess_collectives *x, int i, double share,
                  struct cc_inprocess_step *sent)
{
    const double each = share / (double)x->workers;
    for (size_t k = 0; k < x->workers; k++) {
        struct cc_counters t = {.payload_bytes = 0};
        cc_rank_collective_collect(&x->worker[k].of[i], &t);
        sent->push_bytes += t.payload_bytes;
        sent->pull_bytes += t.gathered_bytes;
        sent->encode_s += each * t.work_s[CC_PHASE_ENCODE];
        sent->hop_s += each * t.work_s[CC_PHASE_HOP];
        sent->decode_s += k == 0 ? share * t.work_s[CC_PHASE_DECODE] : 0;
    }
}

int cc_inprocess_collective(struct cc_inprocess_collectives *x, int i, uint64_t step,
                            const float *const *in, float *const *out,
                            struct cc_inprocess_step *sent, struct cc_error *e)
{
    const double since = cc_now(), had = cc_thread_now();
    struct cc_inprocess_step uncounted = {0};
    x->process.now = since;
    for (size_t k = 0; k < x->workers; k++) {
        struct cc_rank_state *s = &x->worker[k].of[i].s;
        s->step = step;
        s->gradient = in[k];
        s->model = out[k];
        s->contributes = out[k] == NULL;
    }
    for (size_t u = 0; u < x->units; u++)
        CC_TRY(play(x, (size_t)i * x->units + u, e));
    const double took = cc_now() - since;
    count(x, i, took > 0 ? (cc_thread_now() - had) / took : 1, sent != NULL ? sent : &uncounted);
    return CC_OK;
}
