/* What only simulations have in their jobs: how transfers are cut, what codecs take, and payload
 * sizes in the place of payloads. */
#include <string.h>

#include "core/memory.h"
#include "netsim/job/job_words.h"

#define MOST_BLOCK   ((size_t)1 << 30) /* MPI counts bytes as ints */
#define MOST_COST    1e6               /* seconds */
#define MOST_STREAMS ((size_t)1 << 16) /* of sizes, and steps */

int cc_job_parse_simulation(const cJSON *root, struct cc_job *job, struct cc_error *e)
{
    static const char *const keys[] = {"block_bytes", "asks", "data", "reduce_byte_s", NULL};
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(root, "simulation");
    if (item == NULL)
        return CC_OK;
    if (!cJSON_IsObject(item))
        return cc_fail(e, "\"simulation\" must be an object");
    if (cc_json_keys(item, keys, e) != CC_OK ||
        cc_json_need_size(item, "block_bytes", 0, MOST_BLOCK, &job->block_bytes, e) != CC_OK ||
        cc_json_need_bool(item, "asks", &job->rendezvous, e) != CC_OK ||
        cc_json_need_bool(item, "data", &job->data, e) != CC_OK ||
        cc_json_need_number(item, "reduce_byte_s", 0, MOST_COST, &job->reduce_byte_s, e) != CC_OK) {
        cc_error_in(e, "\"simulation\"");
        return CC_FAIL;
    }
    /* Blocks of floats are whole floats; a first block tells how long the transfer is. */
    if (job->block_bytes % 4 != 0 || job->block_bytes == 4)
        return cc_fail(e,
                       "\"simulation\": \"block_bytes\" must be 0, or a multiple of 4 from 8 on");
    if (!job->data && strcmp(job->exchange, "mpi") == 0)
        return cc_fail(e, "the sums of \"mpi\" are the MPI library's own, which needs their bytes: "
                          "simulate it with data, or take another exchange");
    return CC_OK;
}

/* --- costs --- */

static int parse_costs(const cJSON *item, struct cc_job_cost *out, struct cc_error *e)
{
    double v[CC_JOB_COSTS];
    int n = 0;
    if (!cJSON_IsArray(item) || cJSON_GetArraySize(item) != CC_JOB_COSTS)
        return cc_fail(e, "not a list of %d numbers", CC_JOB_COSTS);
    for (const cJSON *i = item->child; i != NULL; i = i->next) {
        if (!cJSON_IsNumber(i) || !(i->valuedouble >= 0 && i->valuedouble <= MOST_COST))
            return cc_fail(e, "seconds that are not a number from 0 to %.9g", MOST_COST);
        v[n++] = i->valuedouble;
    }
    *out = (struct cc_job_cost){v[0], v[1], v[2], v[3], v[4]};
    return CC_OK;
}

int cc_job_parse_cost(const cJSON *item, const struct cc_job *job, struct cc_job_row *row,
                      struct cc_error *e)
{
    const cJSON *list = cJSON_GetObjectItemCaseSensitive(item, "cost");
    size_t i = 0;
    if (list == NULL)
        return job->data ? CC_OK
                         : cc_fail(e, "\"cost\" must be there: without data no codec is timed");
    if (!cJSON_IsArray(list) || (size_t)cJSON_GetArraySize(list) != job->tensors)
        return cc_fail(e, "\"cost\" must have a list for each of %zu tensors", job->tensors);
    row->cost = cc_alloc0(job->tensors * sizeof *row->cost, e);
    if (row->cost == NULL)
        return CC_FAIL;
    for (const cJSON *c = list->child; c != NULL; c = c->next, i++)
        if (parse_costs(c, &row->cost[i], e) != CC_OK) {
            cc_error_in(e, "\"cost\" of tensor %zu", i);
            return CC_FAIL;
        }
    return CC_OK;
}

/* --- sizes --- */

/* `of` lists of `steps` steps, one after the other. */
static int parse_table(const cJSON *item, const char *key, size_t of, size_t steps, size_t tensors,
                       uint32_t **out, struct cc_error *e)
{
    const cJSON *list = cJSON_GetObjectItemCaseSensitive(item, key);
    const size_t n = of * steps * tensors; /* at most 2^52 */
    size_t i = 0, v;
    if (!cJSON_IsArray(list) || (size_t)cJSON_GetArraySize(list) != n)
        return cc_fail(e, "\"%s\" must be a list of %zu x %zu steps x %zu tensors", key, of, steps,
                       tensors);
    *out = cc_alloc(n * sizeof **out, e);
    if (*out == NULL)
        return CC_FAIL;
    for (const cJSON *s = list->child; s != NULL; s = s->next) {
        if (!cc_json_size(s, &v) || v > UINT32_MAX)
            return cc_fail(e, "\"%s\", number %zu: not a whole number from 0 to %llu", key, i,
                           (unsigned long long)UINT32_MAX);
        (*out)[i++] = (uint32_t)v;
    }
    return CC_OK;
}

static int parse_tables(const cJSON *item, const struct cc_job *job, struct cc_job_row *row,
                        struct cc_error *e)
{
    static const char *const all[] = {"fixed", "workers", "sums", "steps",
                                      "push",  "pull",    "hop",  NULL};
    const bool pulls = job->servers > 0, hops = cc_job_row_hops(job, row);
    const char *keys[8] = {"fixed", "workers", "steps", "push"};
    struct cc_job_sizes *s = &row->sizes;
    size_t n = 4;
    if (pulls)
        keys[n++] = "pull";
    if (hops) {
        keys[n++] = "sums";
        keys[n++] = "hop";
    }
    if (cc_json_keys(item, all, e) != CC_OK || cc_json_keys(item, keys, e) != CC_OK ||
        cc_json_need_size(item, "workers", 1, MOST_STREAMS, &s->workers, e) != CC_OK ||
        cc_json_need_size(item, "steps", 1, MOST_STREAMS, &s->steps, e) != CC_OK)
        return CC_FAIL;
    if (s->steps % row->period != 0)
        return cc_fail(e, "\"steps\" %zu must be a multiple of the period, %zu", s->steps,
                       row->period);
    if (hops && cc_json_need_size(item, "sums", 1, 64, &s->sums, e) != CC_OK)
        return CC_FAIL;
    int status = parse_table(item, "push", s->workers, s->steps, job->tensors, &s->push, e);
    if (pulls && status == CC_OK)
        status = parse_table(item, "pull", 1, s->steps, job->tensors, &s->pull, e);
    if (hops && status == CC_OK)
        status = parse_table(item, "hop", s->sums, s->steps, job->tensors, &s->hop, e);
    return status;
}

int cc_job_parse_sizes(const cJSON *item, const struct cc_job *job, struct cc_job_row *row,
                       struct cc_error *e)
{
    static const char *const fixed[] = {"fixed", NULL};
    const cJSON *sizes = cJSON_GetObjectItemCaseSensitive(item, "sizes");
    int status;
    if (sizes == NULL)
        return job->data ? CC_OK
                         : cc_fail(e, "\"sizes\" must be there: without data nothing else tells "
                                      "how long payloads are");
    if (job->data)
        return cc_fail(e, "\"sizes\" without \"simulation\" \"data\" false: payloads have their "
                          "own sizes");
    if (!cJSON_IsObject(sizes)) {
        status = cc_fail(e, "not an object");
    } else {
        status = cc_json_need_bool(sizes, "fixed", &row->sizes.fixed, e);
        if (status == CC_OK)
            status =
                row->sizes.fixed ? cc_json_keys(sizes, fixed, e) : parse_tables(sizes, job, row, e);
    }
    if (status != CC_OK)
        cc_error_in(e, "\"sizes\"");
    return status;
}
