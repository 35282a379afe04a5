#include "netsim/exchange/shards.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/memory.h"
#include "core/reduce.h"
#include "netsim/exchange/chunks.h"
#include "netsim/exchange/exchange_code.h"
#include "train/optimizer.h"

struct cc_shard_step {
    struct cc_rank_state *s;
    const struct cc_message *message;
    struct cc_range own;
    /* [workers], by rank; this one's are not used. NULL: gradients are not clipped. */
    struct cc_transfer *out, *in;
    double *squares; /* the same: sums of squares, this rank's in its place */
    bool posted;     /* `in`, in this step */
};

int cc_shards_workers(const struct cc_job *job)
{
    for (size_t i = 0; i < job->sharded.collectives; i++)
        if (job->sharded.collective[i].op == CC_REDUCE_SCATTER &&
            job->sharded.collective[i].among == CC_AMONG_HOST)
            return cc_job_per_host(job);
    return job->workers;
}

double cc_shards_square(const struct cc_shard_part *part, size_t parts, const float *mean)
{
    double sum = 0;
    for (size_t i = 0; i < parts; i++)
        if (part[i].to > part[i].from)
            sum += k_reduce()->sum_sq(mean + part[i].from, part[i].to - part[i].from);
    return sum;
}

float cc_shards_clip(const struct cc_job *job, const double *squares)
{
    double sum = 0;
    for (int i = 0; i < cc_shards_workers(job); i++)
        sum += squares[i];
    return (float)cc_clip_factor(sqrt(sum), job->training.clip);
}

int cc_shards_parts(const struct cc_job *job, const struct cc_job_row *row, int worker,
                    struct cc_shard_part **out, struct cc_error *e)
{
    const struct cc_schedule_hosts hosts = {.per_host = cc_job_per_host(job),
                                            .inner = job->inner_exchange,
                                            .outer = job->outer_exchange};
    const struct cc_exchange_code *code =
        job->exchange == CC_TWOSHOT ? &cc_exchange_code_twoshot : &cc_exchange_code_hierarchical;
    const int sharing = cc_shards_workers(job);
    struct cc_schedule p = {.chunks = 0};
    struct cc_shard_part *part = NULL;
    int status = CC_OK;
    CC_TRY_OUT(code->schedule(sharing, hosts, worker % sharing, &p, e));
    CC_TRY_OUT(CC_NEW(part, row->messages, e));
    for (size_t i = 0; i < row->messages; i++) {
        const struct cc_message *m = &row->message[i];
        const struct cc_range all = {job->offset[m->first], job->offset[m->last + 1]};
        const struct cc_range own = cc_chunks_range(all, p.chunks, p.own_chunk, 1);
        part[i] = (struct cc_shard_part){own.from, own.to};
    }
    *out = part;
out:
    free(p.round);
    return status;
}

static int open_norm(struct cc_shard_step *x, struct cc_error *e)
{
    const size_t ranks = (size_t)x->s->job->workers;
    if (x->s->job->training.clip <= 0)
        return CC_OK;
    CC_TRY(CC_NEW(x->squares, ranks, e));
    CC_TRY(CC_NEW(x->out, ranks, e));
    return CC_NEW(x->in, ranks, e);
}

int cc_shards_open(struct cc_rank_state *s, const struct cc_message *m, struct cc_range own,
                   struct cc_shard_step **out, struct cc_error *e)
{
    *out = NULL;
    if (s->job->training.shards == CC_SHARDS_NONE || s->job->sharded.collectives > 0)
        return CC_OK;
    if (s->row->period > 1)
        return cc_fail(e, "%s sends in some steps only, and shards take a gradient in every step",
                       s->row->scheme);
    if (s->serve == NULL)
        return cc_fail(e, "the job has shards, and its source updates none");
    CC_TRY(CC_NEW(*out, 1, e));
    **out = (struct cc_shard_step){.s = s, .message = m, .own = own};
    return open_norm(*out, e);
}

void cc_shards_close(struct cc_shard_step *x)
{
    if (x == NULL)
        return;
    free(x->squares);
    free(x->out);
    free(x->in);
    free(x);
}

/* Calls the stream for each other rank: `away` ranks on, or back. */
static void add_all(struct cc_shard_step *x, struct cc_transfer *t, bool sends,
                    struct cc_block_stream *stream)
{
    const int ranks = x->s->job->workers, own = x->s->rank;
    for (int away = 1; away < ranks; away++) {
        const int peer = (sends ? own + away : own + ranks - away) % ranks;
        t[peer] = (struct cc_transfer){.peer = peer,
                                       .at = (uint8_t *)&x->squares[sends ? own : peer],
                                       .bytes = sizeof(double),
                                       .ready = sizeof(double)};
        cc_block_stream_add(stream, &t[peer]);
    }
}

void cc_shards_post(struct cc_shard_step *x, struct cc_block_streams *streams)
{
    if (x->in != NULL && !x->posted)
        add_all(x, x->in, false, &streams->in);
    x->posted = true;
}

void cc_shards_begin(struct cc_shard_step *x, float *sum, struct cc_block_streams *streams)
{
    const float scale = cc_result_scale(x->s);
    const size_t n = x->own.to - x->own.from;
    const struct cc_work_timer since = cc_work_begin(x->s->transport);
    for (size_t i = 0; i < n; i++)
        sum[i] *= scale;
    if (x->in != NULL)
        x->squares[x->s->rank] = n > 0 ? k_reduce()->sum_sq(sum, n) : 0;
    cc_charge(x->s, CC_PHASE_DECODE, since, cc_row_cost(x->s, 0));
    cc_shards_post(x, streams);
    if (x->in != NULL)
        add_all(x, x->out, true, &streams->out);
    x->posted = false;
}

bool cc_shards_ready(const struct cc_shard_step *x)
{
    for (int i = 0; x->in != NULL && i < x->s->job->workers; i++)
        if (i != x->s->rank && !cc_transfer_complete(&x->in[i]))
            return false;
    return true;
}

/* The factor of clipping: sums are added in the order of the ranks. */
static float clip_factor(const struct cc_shard_step *x)
{
    double sum = 0;
    for (int i = 0; i < x->s->job->workers; i++) {
        double one = x->squares[i];
        if (i != x->s->rank) /* what is received may be lent */
            memcpy(&one, x->in[i].at, sizeof one);
        sum += one;
    }
    return (float)cc_clip_factor(sqrt(sum), x->s->job->training.clip);
}

int cc_shards_update(struct cc_shard_step *x, float *mean, struct cc_error *e)
{
    struct cc_rank_state *s = x->s;
    const float by = x->in != NULL ? clip_factor(x) : 1;
    const size_t n = x->own.to - x->own.from;
    const struct cc_work_timer since = cc_work_begin(s->transport);
    for (size_t i = 0; x->in != NULL && i < n; i++)
        mean[i] *= by;
    if (n > 0)
        CC_TRY(s->serve(s->serve_arg, s->step,
                        cc_job_row_updates(s->job, s->row, x->message, s->step), x->own.from,
                        x->own.to, mean, e));
    cc_charge_update(s, since, s->job->training.emulated ? 0 : (double)NAN);
    return CC_OK;
}

int cc_shards_encode(struct cc_shard_step *x, struct cc_pack *pack, const float *values,
                     uint8_t *out, size_t *len, struct cc_error *e)
{
    const struct cc_work_timer since = cc_work_begin(x->s->transport);
    size_t head = 0;
    CC_TRY(cc_pack_encode(pack, x->s->step, values, out, len, &head, e));
    x->s->counters.gathered_bytes += *len - head;
    cc_charge(x->s, CC_PHASE_HOP, since, cc_pack_cost(pack, CC_PACK_ENCODE));
    return CC_OK;
}
