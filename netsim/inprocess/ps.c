/* ps: parameter servers, as netsim/exchange/ps.c. Each server keeps some slices of the message.
 * Pushes are added in the order of the ranks; what a server makes of their mean is encoded once,
 * with a state that all workers share (3LC, section 3), and every worker decodes the same bytes. */
#include <stdlib.h>
#include <string.h>

#include "core/clock.h"
#include "core/memory.h"
#include "netsim/inprocess/reduction.h"

struct server {
    struct cc_slice *slice;
    size_t slices;         /* 0: it keeps nothing of the message */
    struct cc_pack **push; /* of each worker */
    struct cc_pack *pull;
};

struct ps {
    const struct cc_inprocess_ops *ops;
    const struct cc_inprocess_message *message;
    struct server *server;
    size_t servers;
    uint8_t *bytes; /* of the pack that is under way */
    size_t bound;
    float *sum; /* of the message's values */
};

static size_t workers_of(const struct ps *p)
{
    return (size_t)p->message->config->job->workers;
}

static int push(struct ps *p, const struct server *s, const struct cc_inprocess_call *c,
                size_t worker, struct cc_error *e)
{
    const float scale = (float)(1.0 / (double)workers_of(p));
    const double since = cc_thread_now();
    size_t len;
    uint64_t payload;
    CC_TRY(cc_inprocess_encode(s->push[worker], c, c->gradient[worker] + p->message->values.from,
                               p->bytes, &len, &payload, e));
    const double encoded = cc_thread_now();
    c->out->encode_s += (encoded - since) / (double)workers_of(p);
    if (c->silent)
        return CC_OK;
    c->out->push_bytes += payload;
    CC_TRY(cc_pack_decode_add(s->push[worker], c->step, p->bytes, len, scale, p->sum, e));
    c->out->server_s += (cc_thread_now() - encoded) / (double)p->servers;
    return CC_OK;
}

/* Has the mean turned into what the workers pull, one range of values after the other. */
static int serve(const struct ps *p, const struct server *s, struct cc_error *e)
{
    const struct cc_inprocess_config *config = p->message->config;
    const size_t *offset = config->job->offset;
    for (size_t i = 0, next; i < s->slices; i = next) {
        const size_t from = offset[s->slice[i].tensor] + s->slice[i].begin;
        size_t to = from + s->slice[i].count;
        for (next = i + 1; next < s->slices; next++) {
            if (offset[s->slice[next].tensor] + s->slice[next].begin != to)
                break;
            to += s->slice[next].count;
        }
        CC_TRY(config->serve(config->arg, from, to, p->sum + (from - p->message->values.from), e));
    }
    return CC_OK;
}

static int exchange_with(struct ps *p, const struct server *s, const struct cc_inprocess_call *c,
                         struct cc_error *e)
{
    size_t len;
    uint64_t payload;
    for (size_t i = 0; i < workers_of(p); i++)
        CC_TRY(push(p, s, c, i, e));
    if (c->silent)
        return CC_OK;
    if (p->message->config->serve != NULL)
        CC_TRY(serve(p, s, e));
    const double since = cc_thread_now();
    CC_TRY(cc_inprocess_encode(s->pull, c, p->sum, p->bytes, &len, &payload, e));
    const double encoded = cc_thread_now();
    c->out->pull_bytes += payload;
    c->out->server_s += (encoded - since) / (double)p->servers;
    CC_TRY(cc_pack_decode_add(s->pull, c->step, p->bytes, len, 1,
                              c->result + p->message->values.from, e));
    c->out->decode_s += cc_thread_now() - encoded;
    return CC_OK;
}

static int ps_exchange(void *x, const struct cc_inprocess_call *c, struct cc_error *e)
{
    struct ps *p = x;
    const struct cc_values v = p->message->values;
    memset(p->sum, 0, (v.to - v.from) * sizeof *p->sum);
    for (size_t i = 0; i < p->servers; i++)
        if (p->server[i].slices > 0)
            CC_TRY(exchange_with(p, &p->server[i], c, e));
    return CC_OK;
}

static void ps_close(void *x)
{
    struct ps *p = x;
    for (size_t k = 0; p->server != NULL && k < p->servers; k++) {
        struct server *s = &p->server[k];
        for (size_t i = 0; s->push != NULL && i < workers_of(p); i++)
            cc_pack_free(s->push[i]);
        cc_pack_free(s->pull);
        free(s->push);
        free(s->slice);
    }
    free(p->server);
    free(p->bytes);
    free(p->sum);
    free(p);
}

static int open_server(struct ps *p, int server, struct cc_error *e)
{
    const struct cc_inprocess_message *m = p->message;
    const struct cc_inprocess_config *config = m->config;
    struct server *s = &p->server[server];
    struct cc_pack_config pack = {.seed = config->job->seed, .direction = CC_PUSH};
    CC_TRY(cc_kept_slices(config->job, &config->row->message[m->index], server, &s->slice,
                          &s->slices, e));
    s->push = cc_alloc0(workers_of(p) * sizeof(struct cc_pack *), e);
    if (s->push == NULL)
        return CC_FAIL;
    for (size_t i = 0; i < workers_of(p) && s->slices > 0; i++) {
        pack.rank = (int64_t)i;
        CC_TRY(cc_inprocess_pack_slices(m, (int)i, s->slice, s->slices, pack, &s->push[i], e));
    }
    if (s->slices == 0)
        return CC_OK;
    pack.rank = -1;
    pack.direction = CC_PULL;
    pack.spec = config->pull;
    CC_TRY(cc_inprocess_pack_slices(m, config->job->workers + server, s->slice, s->slices, pack,
                                    &s->pull, e));
    const size_t most[] = {cc_pack_bound(s->push[0]), cc_pack_bound(s->pull)};
    for (size_t i = 0; i < 2; i++)
        p->bound = most[i] > p->bound ? most[i] : p->bound;
    return CC_OK;
}

int cc_inprocess_ps_open(const struct cc_inprocess_message *m, void **out, struct cc_error *e)
{
    static const struct cc_inprocess_ops ops = {ps_exchange, ps_close};
    int status = CC_OK;
    struct ps *p = cc_alloc0(sizeof *p, e);
    if (p == NULL)
        return CC_FAIL;
    p->ops = &ops;
    p->message = m;
    p->servers = (size_t)m->config->job->servers;
    p->server = cc_alloc0(p->servers * sizeof *p->server, e);
    p->sum = cc_alloc((m->values.to - m->values.from) * sizeof *p->sum, e);
    if (p->server == NULL || p->sum == NULL) {
        status = CC_FAIL;
        goto out;
    }
    for (size_t i = 0; i < p->servers; i++)
        CC_TRY_OUT(open_server(p, (int)i, e));
    p->bytes = cc_alloc(p->bound, e);
    if (p->bytes == NULL)
        status = CC_FAIL;
    *out = p;
out:
    if (status != CC_OK)
        ps_close(p);
    return status;
}
