/* Slices of a step, and the making of packs of either kind, with their costs. */
#include "netsim/exchange/pack/pack.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/memory.h"
#include "netsim/exchange/pack/pack_impl.h"
#include "netsim/exchange/pack/size_index.h"

/* --- slices --- */

size_t cc_part_at(size_t from, size_t to, size_t part, size_t parts)
{
    const size_t unit = 512, n = to - from;
    if (part >= parts)
        return to;
    /* The first n mod parts parts are one value longer; then rounded down to whole units. */
    const size_t each = n / parts, longer = n % parts;
    const size_t begin = each * part + (part < longer ? part : longer);
    return from + begin / unit * unit;
}

int cc_slices(const struct cc_job *job, size_t from, size_t to, struct cc_slice **out,
              size_t *count, struct cc_error *e)
{
    size_t k = 0;
    if (from > to || to > cc_job_values(job))
        return cc_fail(e, "values %zu to %zu of a step of %zu", from, to, cc_job_values(job));
    const size_t first = cc_tensor_at(job->offset, job->tensors, from);
    size_t end = first;
    while (end < job->tensors && job->offset[end] < to)
        end++;
    struct cc_slice *slice;
    CC_TRY(CC_NEW(slice, end - first, e));
    for (size_t i = first; i < end; i++) {
        const size_t begin = job->offset[i], stop = job->offset[i + 1];
        const size_t low = begin > from ? begin : from, high = stop < to ? stop : to;
        if (high > low)
            slice[k++] = (struct cc_slice){.tensor = i, .begin = low - begin, .count = high - low};
    }
    *out = slice;
    *count = k;
    return CC_OK;
}

int cc_kept_slices(const struct cc_job *job, const struct cc_message *m, int server,
                   struct cc_slice **out, size_t *count, struct cc_error *e)
{
    const size_t parts = (size_t)job->servers, mine = (size_t)server;
    int status = CC_OK;
    size_t n = 0;
    /* No more slices than tensors: a tensor is in one range, of which a server has one part. */
    struct cc_slice *all, *some;
    CC_TRY(CC_NEW(all, m->last - m->first + 1, e));
    for (size_t i = m->first, next; i <= m->last; i = next) {
        const int keeper = job->tensor[i].server;
        for (next = i + 1; next <= m->last && job->tensor[next].server == keeper;)
            next++;
        if (keeper >= 0 && keeper != server)
            continue;
        size_t from = job->offset[i], to = job->offset[next], added;
        if (keeper < 0) {
            const size_t whole = from, part = (mine + i) % parts;
            from = cc_part_at(whole, to, part, parts);
            to = cc_part_at(whole, to, part + 1, parts);
        }
        CC_TRY_OUT(cc_slices(job, from, to, &some, &added, e));
        memcpy(all + n, some, added * sizeof *all);
        n += added;
        free(some);
    }
    *out = all;
    *count = n;
out:
    if (status != CC_OK)
        free(all);
    return status;
}

int cc_second_spec(const struct cc_job *job, const struct cc_job_row *row, struct cc_spec **out,
                   struct cc_error *e)
{
    char text[32];
    *out = NULL;
    if (cc_exchange_has(job->exchange, CC_X_STAGES) && job->gather != NULL &&
        (!cc_job_row_plain(job, row) || job->training.shards != CC_SHARDS_NONE))
        return cc_spec_parse(job->gather, out, e);
    if (!cc_exchange_has(job->exchange, CC_X_DENSE_STAGE) || job->dense_bits >= 32)
        return CC_OK;
    (void)snprintf(text, sizeof text, "qsgd:bits=%d", job->dense_bits);
    return cc_spec_parse(text, out, e);
}

int cc_inner_spec(const struct cc_job *job, const struct cc_job_row *row, struct cc_spec **out,
                  struct cc_error *e)
{
    *out = NULL;
    const bool inside = cc_exchange_has(job->exchange, CC_X_INSIDE) || job->sharded.collectives > 0;
    return inside && job->intra_scheme != NULL && !cc_job_row_plain(job, row)
               ? cc_spec_parse(job->intra_scheme, out, e)
               : CC_OK;
}

/* --- making --- */

/* Adds up the row's costs in proportion to the values. Pulls are only ever decoded onto the model,
 * which has one cost; what stays inside a host is only added. */
static void set_costs(const struct cc_pack_config *config, const struct cc_slice *slice,
                      size_t slices, double *cost)
{
    const bool pull = config->direction == CC_PULL,
               known = config->row != NULL && config->row->cost != NULL,
               sum = known && config->workers > 1 && config->row->sum_encode_s != NULL;
    for (int op = 0; op < CC_PACK_OPS; op++)
        cost[op] = known ? 0 : (double)NAN;
    for (size_t i = 0; i < slices && known; i++) {
        const struct cc_job_cost *whole = &config->row->cost[slice[i].tensor];
        const size_t n = config->job->tensor[slice[i].tensor].shape.n;
        const double part = n > 0 ? (double)slice[i].count / (double)n : 0;
        if (config->inner && config->row->inner_cost != NULL) {
            const struct cc_job_inner_cost *inner = &config->row->inner_cost[slice[i].tensor];
            cost[CC_PACK_ENCODE] += part * inner->encode_s;
            cost[CC_PACK_ADD] += part * inner->add_s;
            continue;
        }
        cost[CC_PACK_ENCODE] += part * (pull  ? whole->pull_encode_s
                                        : sum ? config->row->sum_encode_s[slice[i].tensor]
                                              : whole->encode_s);
        cost[CC_PACK_DECODE] += part * (pull ? whole->pull_decode_s : whole->decode_s);
        cost[CC_PACK_ADD] += part * (pull ? whole->pull_decode_s : whole->add_s);
    }
}

static bool is_verbatim(const struct cc_pack_config *config, const struct cc_slice *slice,
                        size_t slices)
{
    const struct cc_job *job = config->job;
    size_t end = 0;
    for (size_t i = 0; i < slices; i++) {
        const bool raw = job->tensor[slice[i].tensor].raw;
        const size_t at = job->offset[slice[i].tensor] + slice[i].begin;
        if (((raw ? config->raw : config->spec)->scheme->flags & CC_VERBATIM) == 0 ||
            (i > 0 && at != end))
            return false;
        end = at + slice[i].count;
    }
    return true;
}

int cc_pack_make(const struct cc_pack_config *config, const struct cc_slice *slice, size_t slices,
                 struct cc_pack **out, struct cc_error *e)
{
    CC_TRY(config->job->data ? cc_real_pack_make(config, slice, slices, out, e)
                             : cc_virtual_pack_make(config, slice, slices, out, e));
    set_costs(config, slice, slices, (*out)->cost);
    (*out)->verbatim = is_verbatim(config, slice, slices);
    return CC_OK;
}

bool cc_pack_verbatim(const struct cc_pack *p)
{
    return p->verbatim;
}

double cc_pack_cost(const struct cc_pack *p, enum cc_pack_op op)
{
    return p->cost[op];
}

int cc_pack_list_add(struct cc_pack_list *l, struct cc_pack *p, struct cc_error *e)
{
    CC_TRY(CC_GROW(l->pack, &l->capacity, l->count + 1, e));
    l->pack[l->count++] = p;
    return CC_OK;
}

void cc_pack_list_free(struct cc_pack_list *l)
{
    free(l->pack);
    *l = (struct cc_pack_list){0};
}
