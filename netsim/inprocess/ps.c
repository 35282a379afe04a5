/* ps: a parameter server, as netsim/mpi/exchange/ps.c with one server. The pushes are added in the
 * order of the ranks; what the server makes of their mean is encoded once, with a state that all
 * workers share (3LC, section 3), and every worker decodes the same bytes. */
#include <stdlib.h>
#include <string.h>

#include "core/clock.h"
#include "core/memory.h"
#include "netsim/inprocess/reduction.h"

struct ps {
    const struct cc_inprocess_ops *ops;
    const struct cc_inprocess_message *message;
    struct cc_pack **push; /* of each worker */
    struct cc_pack *pull;
    uint8_t *bytes; /* of the pack that is under way */
    float *sum;     /* of the message's values */
};

static size_t workers_of(const struct ps *p)
{
    return (size_t)p->message->config->job->workers;
}

static int push(struct ps *p, const struct cc_inprocess_call *c, size_t worker, struct cc_error *e)
{
    const float scale = (float)(1.0 / (double)workers_of(p));
    const double since = cc_thread_now();
    size_t len;
    uint64_t payload;
    CC_TRY(cc_inprocess_encode(p->push[worker], c, c->gradient[worker] + p->message->values.from,
                               p->bytes, &len, &payload, e));
    const double encoded = cc_thread_now();
    c->out->encode_s += (encoded - since) / (double)workers_of(p);
    if (c->silent)
        return CC_OK;
    c->out->push_bytes += payload;
    CC_TRY(cc_pack_decode_add(p->push[worker], c->step, p->bytes, len, scale, p->sum, e));
    c->out->server_s += cc_thread_now() - encoded;
    return CC_OK;
}

static int ps_exchange(void *x, const struct cc_inprocess_call *c, struct cc_error *e)
{
    struct ps *p = x;
    const struct cc_values v = p->message->values;
    const struct cc_inprocess_config *config = p->message->config;
    size_t len;
    uint64_t payload;
    memset(p->sum, 0, (v.to - v.from) * sizeof *p->sum);
    for (size_t i = 0; i < workers_of(p); i++)
        CC_TRY(push(p, c, i, e));
    if (c->silent)
        return CC_OK;
    if (config->serve != NULL)
        CC_TRY(config->serve(config->arg, v.from, v.to, p->sum, e));
    const double since = cc_thread_now();
    CC_TRY(cc_inprocess_encode(p->pull, c, p->sum, p->bytes, &len, &payload, e));
    const double encoded = cc_thread_now();
    c->out->pull_bytes += payload;
    c->out->server_s += encoded - since;
    CC_TRY(cc_pack_decode_add(p->pull, c->step, p->bytes, len, 1, c->result + v.from, e));
    c->out->decode_s += cc_thread_now() - encoded;
    return CC_OK;
}

static void ps_close(void *x)
{
    struct ps *p = x;
    for (size_t i = 0; p->push != NULL && i < workers_of(p); i++)
        cc_pack_free(p->push[i]);
    cc_pack_free(p->pull);
    free(p->push);
    free(p->bytes);
    free(p->sum);
    free(p);
}

int cc_inprocess_ps_open(const struct cc_inprocess_message *m, void **out, struct cc_error *e)
{
    static const struct cc_inprocess_ops ops = {ps_exchange, ps_close};
    const uint64_t seed = m->config->job->seed;
    int status = CC_OK;
    struct ps *p = cc_alloc0(sizeof *p, e);
    if (p == NULL)
        return CC_FAIL;
    p->ops = &ops;
    p->message = m;
    p->push = cc_alloc0(workers_of(p) * sizeof(struct cc_pack *), e);
    p->sum = cc_alloc((m->values.to - m->values.from) * sizeof *p->sum, e);
    if (p->push == NULL || p->sum == NULL) {
        status = CC_FAIL;
        goto out;
    }
    for (size_t i = 0; i < workers_of(p); i++) {
        const struct cc_pack_config config = {
            .seed = seed, .rank = (int64_t)i, .direction = CC_PUSH};
        CC_TRY_OUT(cc_inprocess_pack(m, m->values, config, &p->push[i], e));
    }
    const struct cc_pack_config config = {
        .spec = m->config->pull, .seed = seed, .rank = -1, .direction = CC_PULL};
    CC_TRY_OUT(cc_inprocess_pack(m, m->values, config, &p->pull, e));
    const size_t push = cc_pack_bound(p->push[0]), pull = cc_pack_bound(p->pull);
    p->bytes = cc_alloc(push > pull ? push : pull, e);
    if (p->bytes == NULL)
        status = CC_FAIL;
    *out = p;
out:
    if (status != CC_OK)
        ps_close(p);
    return status;
}
