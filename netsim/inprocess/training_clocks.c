/* Trainings whose steps are not bulk synchronous, by the simulated clocks
 * of unsynced.h.
 *
 * The server applies the optimizer to each push as it arrives, and keeps for each worker the
 * parameters that it has sent to it; a pull is what they lack, encoded by a codec of this worker's
 * own, whose residual keeps what it has not sent. A worker computes with its own copy.
 *
 * A worker that does not communicate in each step pushes the sum of its gradients since its last
 * push. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/clock.h"
#include "core/format/crc32.h"
#include "core/interrupt.h"
#include "core/memory.h"
#include "netsim/exchange/pack/clocks.h"
#include "netsim/inprocess/training_impl.h"
#include "netsim/inprocess/unsynced.h"

/* A worker's part one way: the pack, and its bytes under way. */
struct traffic {
    struct cc_pack *pack;
    uint8_t *bytes; /* [cc_pack_bound] */
    size_t length, payload;
    size_t step; /* the worker's */
};

/* One server's part of one message. */
struct part {
    struct cc_slice *slice;
    size_t slices, message;
    uint64_t updates;
    struct traffic *push, *pull; /* [workers] */
};

struct state {
    struct cc_training *s;
    struct part *part;
    size_t parts;
    size_t *server;
    double *ready;
    float *copy;   /* [workers][values]: the workers' parameters, */
    float *base;   /* and the server's at the last pull of each */
    float *change; /* that is under way */
    /* Not CC_EVERY_STEP: what is withheld; otherwise NULL. */
    float *sum;                   /* [workers][values]: of the gradients */
    struct cc_withheld *withheld; /* [workers][messages]: of it */
    struct cc_learner learner;
    struct cc_unsynced *clocks;
    struct cc_job_consistency consistency;
    size_t step; /* that was computed last */
    double loss; /* the steps' since the last progress */
    uint64_t computed;
};

static float *of_worker(const struct state *x, float *all, size_t worker)
{
    return all + worker * x->s->values;
}

/* The values [*from, *to) of the part's slices from i on that follow one another; returns the slice
 * behind them. */
static size_t range_of(const struct state *x, const struct part *p, size_t i, size_t *from,
                       size_t *to)
{
    const size_t *offset = x->s->job.offset;
    *from = *to = offset[p->slice[i].tensor] + p->slice[i].begin;
    for (; i < p->slices && offset[p->slice[i].tensor] + p->slice[i].begin == *to; i++)
        *to += p->slice[i].count;
    return i;
}

/* --- workers --- */

static int encode(struct traffic *t, size_t step, const float *values, struct cc_error *e)
{
    size_t head = 0;
    t->step = step;
    CC_TRY(cc_pack_encode(t->pack, step, values, t->bytes, &t->length, &head, e));
    t->payload = t->length - head;
    return CC_OK;
}

/* Encodes the parts [first, last) of a message if the worker sends it. In silent steps codecs take
 * the values in, and nothing leaves. */
static int push(const struct state *x, size_t w, size_t step, size_t first, size_t last,
                struct cc_unsynced_part *out, struct cc_error *e)
{
    const struct cc_training *s = x->s;
    const size_t message = x->part[first].message;
    const struct cc_job_row *row = s->job.row;
    const struct cc_message *m = &row->message[message];
    const bool silent = cc_job_row_silent(&s->job, row, m, step);
    const size_t from = s->job.offset[m->first], n = s->job.offset[m->last + 1] - from;
    struct cc_withheld *h = x->sum != NULL ? &x->withheld[w * row->messages + message] : NULL;
    if (h != NULL)
        cc_withheld_add(h, s->gradients + from, n);
    bool sends = h == NULL || cc_withheld_has_grown(h, &x->consistency, n);
    for (size_t i = first; i < last; i++)
        sends = sends || out[i].due;
    for (size_t i = first; i < last; i++) {
        struct traffic *t = &x->part[i].push[w];
        if (sends)
            CC_TRY(encode(t, step, x->sum != NULL ? of_worker(x, x->sum, w) : s->gradients, e));
        out[i].silent = silent;
        out[i].sends = sends && !silent;
        out[i].bytes = out[i].sends ? t->length : 0;
    }
    if (h != NULL && sends)
        cc_withheld_forget(h, n);
    return CC_OK;
}

static void show(struct state *x)
{
    const size_t workers = x->s->config->task.workers;
    if (++x->computed % workers != 0)
        return;
    cc_training_show(x->s, 1, x->loss / (double)workers);
    x->loss = 0;
}

static int compute(void *arg, size_t w, size_t step, struct cc_unsynced_part *part,
                   struct cc_error *e)
{
    struct state *x = arg;
    struct cc_training *s = x->s;
    const struct cc_training_config *c = s->config;
    const double workers = (double)c->task.workers;
    char reason[CC_DIVERGED_TEXT];
    const struct cc_model_score score =
        cc_task_gradient(s->task, step, w, of_worker(x, x->copy, w),
                         s->worker_stats + w * s->layout->stats, s->gradients);
    s->log.sum.train_loss += score.loss / workers;
    s->log.sum.train_accuracy += (double)score.correct / (workers * (double)c->task.batch);
    x->loss += score.loss;
    x->step = step;
    show(x);
    if (cc_loss_diverged(score.loss, w, reason))
        return cc_diverged(e, "%s", reason);
    for (size_t i = 0, last; i < x->parts; i = last) {
        for (last = i + 1; last < x->parts && x->part[last].message == x->part[i].message;)
            last++;
        CC_TRY(push(x, w, step, i, last, part, e));
    }
    return CC_OK;
}

static int receive(void *arg, size_t w, size_t part, struct cc_error *e)
{
    struct state *x = arg;
    const struct traffic *t = &x->part[part].pull[w];
    return cc_pack_decode_add(t->pack, t->step, t->bytes, t->length, 1, of_worker(x, x->copy, w),
                              e);
}

/* --- the server --- */

static int update(void *arg, size_t w, size_t part, struct cc_error *e)
{
    struct state *x = arg;
    struct cc_training *s = x->s;
    struct part *p = &x->part[part];
    const struct traffic *t = &p->push[w];
    for (size_t i = 0, from, to; i < p->slices;) {
        i = range_of(x, p, i, &from, &to);
        memset(x->change + from, 0, (to - from) * sizeof *x->change);
    }
    CC_TRY(cc_pack_decode_add(t->pack, t->step, t->bytes, t->length, 1, x->change, e));
    for (size_t i = 0, from, to; i < p->slices;) {
        i = range_of(x, p, i, &from, &to);
        cc_learner_update(&x->learner, from, to, t->step, p->updates, x->change + from, s->server);
    }
    p->updates++;
    s->log.sum.push_bytes += (double)t->payload;
    return CC_OK;
}

static int pull(void *arg, size_t w, size_t part, size_t *bytes, struct cc_error *e)
{
    struct state *x = arg;
    struct cc_training *s = x->s;
    struct part *p = &x->part[part];
    struct traffic *t = &p->pull[w];
    float *base = of_worker(x, x->base, w);
    for (size_t i = 0, from, to; i < p->slices;) {
        i = range_of(x, p, i, &from, &to);
        for (size_t v = from; v < to; v++) {
            x->change[v] = s->server[v] - base[v];
            base[v] = s->server[v];
        }
    }
    CC_TRY(encode(t, p->push[w].step, x->change, e));
    *bytes = t->length;
    s->log.sum.pull_bytes += (double)t->payload / (double)s->config->task.workers;
    return CC_OK;
}

/* --- opening --- */

static int open_traffic(struct traffic *t, const struct part *p, struct cc_pack_config from,
                        struct cc_error *e)
{
    CC_TRY(cc_pack_make(&from, p->slice, p->slices, &t->pack, e));
    t->bytes = cc_alloc(cc_pack_bound(t->pack), e);
    return t->bytes != NULL ? CC_OK : CC_FAIL;
}

static int open_packs(const struct state *x, struct part *p, struct cc_error *e)
{
    const struct cc_training_config *c = x->s->config;
    const size_t workers = c->task.workers;
    struct cc_pack_config from = {
        .job = &x->s->job, .raw = c->raw, .seed = x->s->job.seed, .direction = CC_PUSH};
    p->push = cc_alloc0(workers * sizeof *p->push, e);
    p->pull = cc_alloc0(workers * sizeof *p->pull, e);
    if (p->push == NULL || p->pull == NULL)
        return CC_FAIL;
    for (size_t w = 0; w < workers; w++) {
        from.rank = (int64_t)w;
        from.direction = CC_PUSH;
        from.spec = c->spec;
        CC_TRY(open_traffic(&p->push[w], p, from, e));
        from.direction = CC_PULL;
        from.spec = c->pull;
        CC_TRY(open_traffic(&p->pull[w], p, from, e));
    }
    return CC_OK;
}

/* When a message is computed, as a share of the step. */
static double ready_at(const struct cc_training *s, const struct cc_message *m)
{
    const struct cc_training_clocks *k = &s->config->clocks;
    double backward = 0;
    if (s->config->mode == CC_SEQUENTIAL || m->first == 0)
        return 1;
    for (size_t i = m->first; i < s->job.tensors; i++)
        backward += k->share[i];
    return fmin(1, k->forward_share + (1 - k->forward_share) * backward);
}

static int open_parts(struct state *x, struct cc_error *e)
{
    const struct cc_job *job = &x->s->job;
    const struct cc_job_row *row = job->row;
    const size_t most = row->messages * (size_t)job->servers;
    x->part = cc_alloc0(most * sizeof *x->part, e);
    x->server = cc_alloc(most * sizeof *x->server, e);
    x->ready = cc_alloc(most * sizeof *x->ready, e);
    if (x->part == NULL || x->server == NULL || x->ready == NULL)
        return CC_FAIL;
    for (size_t i = 0; i < most; i++) {
        const size_t message = i / (size_t)job->servers, server = i % (size_t)job->servers;
        struct part *p = &x->part[x->parts];
        CC_TRY(cc_kept_slices(job, &row->message[message], (int)server, &p->slice, &p->slices, e));
        if (p->slices == 0) {
            free(p->slice);
            p->slice = NULL;
            continue;
        }
        p->message = message;
        x->server[x->parts] = server;
        x->ready[x->parts] = ready_at(x->s, &row->message[message]);
        x->parts++;
        CC_TRY(open_packs(x, p, e));
    }
    return CC_OK;
}

static int open_values(struct state *x, struct cc_error *e)
{
    const struct cc_training *s = x->s;
    const struct cc_training_config *c = s->config;
    const size_t workers = c->task.workers;
    struct cc_learner_config learner = s->learner.config;
    learner.rate.rate /= (double)workers;
    learner.rate.last /= (double)workers;
    CC_TRY(cc_learner_open(&x->learner, &learner, false, e));
    CC_TRY(cc_alloc_floats(workers * s->values, &x->copy, e));
    CC_TRY(cc_alloc_floats(workers * s->values, &x->base, e));
    CC_TRY(cc_alloc_floats(s->values, &x->change, e));
    for (size_t w = 0; w < workers; w++) {
        memcpy(of_worker(x, x->copy, w), s->server, s->values * sizeof *s->server);
        memcpy(of_worker(x, x->base, w), s->server, s->values * sizeof *s->server);
    }
    if (c->communicate == CC_EVERY_STEP)
        return CC_OK;
    CC_TRY(cc_alloc_floats(workers * s->values, &x->sum, e));
    const struct cc_job_row *row = s->job.row;
    x->withheld = cc_alloc0(workers * row->messages * sizeof *x->withheld, e);
    for (size_t i = 0; x->withheld != NULL && i < workers * row->messages; i++)
        x->withheld[i].sum = of_worker(x, x->sum, i / row->messages) +
                             s->job.offset[row->message[i % row->messages].first];
    return x->withheld != NULL ? CC_OK : CC_FAIL;
}

static int open_clocks(struct state *x, struct cc_error *e)
{
    static const struct cc_unsynced_ops ops = {compute, update, pull, receive};
    const struct cc_training_config *c = x->s->config;
    const struct cc_unsynced_config config = {.workers = c->task.workers,
                                              .servers = (size_t)x->s->job.servers,
                                              .parts = x->parts,
                                              .server = x->server,
                                              .ready = x->ready,
                                              .consistency = x->consistency,
                                              .steps = c->steps,
                                              .compute_s = c->clocks.compute_s,
                                              .slow = c->clocks.slow,
                                              .byte_s = c->clocks.byte_s,
                                              .message_bytes = c->clocks.message_bytes,
                                              .latency_s = c->clocks.latency_s,
                                              .ops = &ops,
                                              .arg = x};
    return cc_unsynced_open(&config, &x->clocks, e);
}

static void close_traffic(struct traffic *t, size_t workers)
{
    for (size_t w = 0; t != NULL && w < workers; w++) {
        cc_pack_free(t[w].pack);
        free(t[w].bytes);
    }
    free(t);
}

static void close_all(struct state *x)
{
    const size_t workers = x->s->config->task.workers;
    const size_t most = x->s->job.row->messages * (size_t)x->s->job.servers;
    cc_unsynced_close(x->clocks);
    for (size_t i = 0; x->part != NULL && i < most; i++) {
        close_traffic(x->part[i].push, workers);
        close_traffic(x->part[i].pull, workers);
        free(x->part[i].slice);
    }
    free(x->part);
    free(x->server);
    free(x->ready);
    free(x->copy);
    free(x->base);
    free(x->change);
    free(x->sum);
    free(x->withheld);
    cc_learner_close(&x->learner);
}

/* --- steps --- */

/* The figures since the evaluation before, of `steps` steps. */
static void sum_up(struct state *x, const struct cc_unsynced_figures *before, size_t steps)
{
    struct cc_training_log *l = &x->s->log;
    const double workers = (double)x->s->config->task.workers;
    struct cc_unsynced_figures now;
    cc_unsynced_figures(x->clocks, &now);
    l->since = steps;
    l->sum.staleness = now.staleness;
    l->sum.staleness_p95 = now.staleness_p95;
    l->sum.wait_s = (now.wait_s - before->wait_s) / workers;
    l->sum.updates = now.updates - before->updates;
    l->sum.clock_s = now.time_s;
}

/* Continues to the next evaluation. Values that are refused are divergence, as a loss is. */
static int run_to_evaluation(struct state *x, struct cc_error *e)
{
    struct cc_training *s = x->s;
    const struct cc_training_config *c = s->config;
    const size_t workers = c->task.workers, begun = (size_t)s->log.step;
    const size_t next = begun - begun % c->eval_every + c->eval_every;
    const size_t end = next < c->steps ? next : c->steps;
    const double since = cc_now();
    struct cc_unsynced_figures before, now;
    struct cc_error why = {""};
    cc_unsynced_figures(x->clocks, &before);
    const int status = cc_unsynced_run(x->clocks, (uint64_t)end * workers, &why);
    cc_unsynced_figures(x->clocks, &now);
    s->log.wall_s += cc_now() - since;
    s->log.step = now.ended / workers;
    if (status == CC_DIVERGED) {
        cc_training_diverge(s, why.text);
        s->out->diverged_step = x->step + 1;
        return CC_OK;
    }
    if (status != CC_OK)
        return cc_fail(e, "%s", why.text);
    if (s->log.step < end) /* interrupted */
        return CC_OK;
    sum_up(x, &before, end - begun);
    memcpy(s->weights, x->copy, s->values * sizeof *s->weights);
    return cc_training_evaluate(s, e);
}

int cc_training_by_clocks(struct cc_training *s, struct cc_error *e)
{
    const struct cc_training_config *c = s->config;
    struct state x = {.s = s,
                      .consistency = {.how = c->consistency,
                                      .staleness = c->staleness,
                                      .communicate = c->communicate,
                                      .growth = c->growth}};
    int status = CC_OK;
    CC_TRY_OUT(open_parts(&x, e));
    CC_TRY_OUT(open_values(&x, e));
    CC_TRY_OUT(open_clocks(&x, e));
    while (s->log.step < c->steps && !s->out->diverged && !cc_interrupted())
        CC_TRY_OUT(run_to_evaluation(&x, e));
    s->out->complete = !s->out->diverged && s->log.step == c->steps;
    s->out->weights_crc = cc_crc32(0, s->server, s->values * sizeof(float));
out:
    close_all(&x);
    return status;
}
