/* allgather: every worker decodes every payload, in the order of the ranks. */
#include <stdlib.h>

#include "core/clock.h"
#include "core/memory.h"
#include "netsim/inprocess/reduction.h"

struct gather {
    const struct cc_inprocess_ops *ops;
    const struct cc_inprocess_message *message;
    struct cc_pack **pack; /* of each worker */
    uint8_t *bytes;
};

static size_t workers_of(const struct gather *g)
{
    return (size_t)g->message->config->job->workers;
}

static int gather_exchange(void *x, const struct cc_inprocess_call *c, struct cc_error *e)
{
    struct gather *g = x;
    const size_t from = g->message->values.from;
    const float scale = 1.0f / (float)workers_of(g);
    for (size_t i = 0; i < workers_of(g); i++) {
        const double since = cc_thread_now();
        size_t len;
        uint64_t payload;
        CC_TRY(
            cc_inprocess_encode(g->pack[i], c, c->gradient[i] + from, g->bytes, &len, &payload, e));
        const double encoded = cc_thread_now();
        c->out->encode_s += (encoded - since) / (double)workers_of(g);
        if (c->silent)
            continue;
        c->out->push_bytes += payload;
        CC_TRY(cc_pack_decode_add(g->pack[i], c->step, g->bytes, len, scale, c->result + from, e));
        c->out->decode_s += cc_thread_now() - encoded;
    }
    return CC_OK;
}

static void gather_close(void *x)
{
    struct gather *g = x;
    for (size_t i = 0; g->pack != NULL && i < workers_of(g); i++)
        cc_pack_free(g->pack[i]);
    free(g->pack);
    free(g->bytes);
    free(g);
}

int cc_inprocess_gather_open(const struct cc_inprocess_message *m, void **out, struct cc_error *e)
{
    static const struct cc_inprocess_ops ops = {gather_exchange, gather_close};
    int status = CC_OK;
    struct gather *g = cc_alloc0(sizeof *g, e);
    if (g == NULL)
        return CC_FAIL;
    g->ops = &ops;
    g->message = m;
    g->pack = cc_alloc0(workers_of(g) * sizeof(struct cc_pack *), e);
    if (g->pack == NULL) {
        status = CC_FAIL;
        goto out;
    }
    for (size_t i = 0; i < workers_of(g); i++) {
        const struct cc_pack_config config = {.seed = m->config->job->seed, .rank = (int64_t)i};
        CC_TRY_OUT(cc_inprocess_pack(m, (int)i, m->values, config, &g->pack[i], e));
    }
    g->bytes = cc_alloc(cc_pack_bound(g->pack[0]), e);
    if (g->bytes == NULL)
        status = CC_FAIL;
    *out = g;
out:
    if (status != CC_OK)
        gather_close(g);
    return status;
}
