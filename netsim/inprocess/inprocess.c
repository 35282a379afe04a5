#include "netsim/inprocess/inprocess.h"

#include <stdlib.h>

#include "core/memory.h"
#include "netsim/inprocess/reduction.h"
#include "netsim/exchange/schedule/schedule.h"

struct cc_inprocess {
    struct cc_inprocess_config config;
    struct cc_inprocess_message *message;
    struct cc_pack_list *packs; /* of each rank */
    struct cc_spec *dense;      /* of a dense second stage; NULL: fp32 */
    void **reduction;           /* of each message; NULL: not open */
};

bool cc_inprocess_has(enum cc_exchange x)
{
    return !cc_exchange_has(x, CC_X_LIBRARY);
}

int cc_inprocess_pack_slices(const struct cc_inprocess_message *m, int keeper,
                             const struct cc_slice *slice, size_t slices,
                             struct cc_pack_config from, struct cc_pack **out, struct cc_error *e)
{
    const struct cc_inprocess_config *c = m->config;
    from.job = c->job;
    from.spec = from.spec != NULL ? from.spec : c->spec;
    from.raw = c->raw;
    from.origin = m->values.from;
    CC_TRY(cc_pack_make(&from, slice, slices, out, e));
    return from.decodes_only ? CC_OK : cc_pack_list_add(&m->packs[keeper], *out, e);
}

int cc_inprocess_pack(const struct cc_inprocess_message *m, int keeper, struct cc_values values,
                      struct cc_pack_config from, struct cc_pack **out, struct cc_error *e)
{
    struct cc_slice *slice;
    size_t slices;
    CC_TRY(cc_slices(m->config->job, values.from, values.to, &slice, &slices, e));
    const int status = cc_inprocess_pack_slices(m, keeper, slice, slices, from, out, e);
    free(slice);
    return status;
}

static size_t ranks_of(const struct cc_inprocess *x)
{
    return (size_t)(x->config.job->workers + x->config.job->servers);
}

const struct cc_pack_list *cc_inprocess_packs(const struct cc_inprocess *x, int rank)
{
    return &x->packs[rank];
}

int cc_inprocess_encode(struct cc_pack *p, const struct cc_inprocess_call *c, const float *x,
                        uint8_t *out, size_t *len, uint64_t *payload, struct cc_error *e)
{
    size_t head = 0;
    CC_TRY(cc_pack_encode(p, c->step, x, out, len, &head, e));
    *payload = *len - head;
    return CC_OK;
}

static int open_reduction(const struct cc_inprocess_message *m, void **out, struct cc_error *e)
{
    const struct cc_job *job = m->config->job;
    if (job->exchange == CC_PS)
        return cc_inprocess_ps_open(m, out, e);
    if (cc_job_row_merges(job, m->config->row))
        return cc_inprocess_merge_open(m, out, e);
    if (cc_job_row_hops(job, m->config->row))
        return cc_inprocess_recode_open(m, out, e);
    if (m->config->row->reduction == CC_REDUCE_SUM && job->exchange != CC_ALLGATHER)
        return cc_inprocess_sum_open(m, out, e);
    return cc_inprocess_gather_open(m, out, e);
}

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

int cc_inprocess_open(const struct cc_inprocess_config *config, struct cc_inprocess **out,
                      struct cc_error *e)
{
    const struct cc_job_row *row = config->row;
    int status = CC_OK;
    CC_TRY(check(config, e));
    struct cc_inprocess *x = cc_alloc0(sizeof *x, e);
    if (x == NULL)
        return CC_FAIL;
    x->config = *config;
    x->message = cc_alloc0(row->messages * sizeof *x->message, e);
    x->reduction = cc_alloc0(row->messages * sizeof *x->reduction, e);
    x->packs = cc_alloc0(ranks_of(x) * sizeof *x->packs, e);
    if (x->message == NULL || x->reduction == NULL || x->packs == NULL) {
        status = CC_FAIL;
        goto out;
    }
    CC_TRY_OUT(cc_dense_spec(config->job, &x->dense, e));
    for (size_t i = 0; i < row->messages; i++) {
        const struct cc_message *m = &row->message[i];
        x->message[i] = (struct cc_inprocess_message){
            .config = &x->config,
            .packs = x->packs,
            .dense = x->dense,
            .index = i,
            .values = {config->job->offset[m->first], config->job->offset[m->last + 1]}};
        CC_TRY_OUT(open_reduction(&x->message[i], &x->reduction[i], e));
    }
    *out = x;
out:
    if (status != CC_OK)
        cc_inprocess_close(x);
    return status;
}

static const struct cc_inprocess_ops *ops_of(const void *reduction)
{
    return *(const struct cc_inprocess_ops *const *)reduction;
}

void cc_inprocess_close(struct cc_inprocess *x)
{
    if (x == NULL)
        return;
    for (size_t i = 0; x->reduction != NULL && i < x->config.row->messages; i++)
        if (x->reduction[i] != NULL)
            ops_of(x->reduction[i])->close(x->reduction[i]);
    cc_spec_free(x->dense);
    free(x->message);
    for (size_t i = 0; x->packs != NULL && i < ranks_of(x); i++)
        cc_pack_list_free(&x->packs[i]);
    free(x->packs);
    free(x->reduction);
    free(x);
}

int cc_inprocess_exchange(struct cc_inprocess *x, uint64_t step, const float *const *gradient,
                          float *result, struct cc_inprocess_step *out, struct cc_error *e)
{
    struct cc_inprocess_call call = {
        .step = step, .gradient = gradient, .result = result, .out = out};
    *out = (struct cc_inprocess_step){0};
    for (size_t i = 0; i < x->config.row->messages; i++) {
        if (cc_job_row_skips(x->config.job, i, step))
            continue;
        call.silent =
            cc_job_row_silent(x->config.job, x->config.row, &x->config.row->message[i], step);
        out->sent = out->sent || !call.silent;
        CC_TRY(ops_of(x->reduction[i])->exchange(x->reduction[i], &call, e));
    }
    return CC_OK;
}
