/* The table of exchanges, made from the lines of core/exchange.h. */
#include "netsim/exchange/exchange.h"

#include "netsim/exchange/exchange_code.h"

/* mpi: the collectives of the transport's own library, for comparison with the exchanges here. */
static int open_library(struct cc_rank_state *s, const struct cc_message *m, size_t index,
                        void **out, struct cc_error *e)
{
    return s->library != NULL ? cc_exchange_make(s->library, s, m, index, NULL, out, e)
                              : cc_fail(e, "%s: there is no library here that has collectives",
                                        cc_exchange_names[s->job->exchange]);
}

const struct cc_exchange_code cc_exchange_code_mpi = {.open = open_library};

static int refuse_formula(struct cc_rank_state *s, const struct cc_message *m, size_t index,
                          void **out, struct cc_error *e)
{
    (void)m;
    (void)index;
    *out = NULL;
    return cc_fail(e, "%s is a formula without code", cc_exchange_names[s->job->exchange]);
}

const struct cc_exchange_code cc_exchange_code_nccl = {.open = refuse_formula};

#define CODE(id, symbol, ...) &cc_exchange_code_##symbol,
static const struct cc_exchange_code *const codes[] = {CC_EXCHANGES(CODE)};

/* Payloads that are floats other than the gradient itself, as the factors of whole tensors, are not
 * cut. Floats are summed; index-value pairs are merged, if the exchange merges; other payloads are
 * encoded again at every hop, or gathered where the job says so. */
static int open_reduction(struct cc_rank_state *s, const struct cc_message *m, size_t index,
                          cc_schedule_builder *build, void **out, struct cc_error *e)
{
    const enum cc_exchange x = s->job->exchange;
    const bool sums = s->row->reduction == CC_REDUCE_SUM;
    const struct cc_exchange_kind *reduction = &cc_reduce_recode;
    if (!cc_exchange_has(x, sums ? CC_X_SUMS : CC_X_RECODES | CC_X_MERGES))
        return cc_fail(e,
                       "%s: %s does not carry payloads of this kind (its flags in "
                       "core/exchange.h)",
                       s->row->scheme, cc_exchange_names[x]);
    if (s->job->training.shards != CC_SHARDS_NONE)
        reduction = &cc_reduce_recode; /* owners make something else of their sums */
    else if (sums)
        reduction = &cc_reduce_sum;
    else if (cc_exchange_has(x, CC_X_MERGES))
        reduction = &cc_reduce_merge;
    else if (s->job->via == CC_VIA_ALLGATHER)
        reduction = &cc_allgather_bruck;
    const bool cuts = cc_job_parts(s->job, s->row) > 1 && reduction != &cc_allgather_bruck &&
                      (!sums || (s->spec->scheme->flags & CC_VERBATIM) != 0);
    return (cuts ? cc_exchange_make_parts : cc_exchange_make)(reduction, s, m, index, build, out,
                                                              e);
}

int cc_exchange_open(struct cc_rank_state *s, const struct cc_message *m, size_t index, void **out,
                     struct cc_error *e)
{
    const enum cc_exchange x = s->job->exchange;
    const struct cc_exchange_code *code = codes[x];
    const bool bulk = cc_job_bulk(s->job);
    const struct cc_exchange_kind *kind = bulk ? code->kind : code->unsynced;
    if (bulk && code->open != NULL)
        return code->open(s, m, index, out, e);
    if (kind != NULL)
        return cc_exchange_make(kind, s, m, index, NULL, out, e);
    if (!bulk)
        return cc_fail(e, "%s has only bulk synchronous steps", cc_exchange_names[x]);
    return code->schedule != NULL
               ? open_reduction(s, m, index, code->schedule, out, e)
               : cc_fail(e, "%s has no code (struct cc_exchange_code)", cc_exchange_names[x]);
}

static const struct cc_exchange_ops *ops_of(const void *x)
{
    return *(const struct cc_exchange_ops *const *)x;
}

int cc_exchange_start(void *x, struct cc_error *e)
{
    return ops_of(x)->start(x, e);
}

int cc_exchange_test(void *x, bool *done, struct cc_error *e)
{
    return ops_of(x)->test(x, done, e);
}

void cc_exchange_close(void *x)
{
    if (x != NULL)
        ops_of(x)->close(x);
}
