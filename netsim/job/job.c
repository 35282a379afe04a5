#include "netsim/job/job.h"

#include <limits.h>
#include <math.h>
#include <net/if.h>
#include <stdlib.h>
#include <string.h>

#include "core/memory.h"
#include "netsim/job/job_words.h"
#include "netsim/message/size_index.h"

/* What nobody needs, so that sums and counts of what is allowed fit wherever they go. */
enum {
    MOST_WORKERS = 1 << 16,
    MOST_SERVERS = 4096,
    MOST_TENSORS = 1 << 20,
    MOST_STEPS = 1000000000,
    MOST_SAMPLES = 1 << 24
};
#define MOST_VALUES  ((size_t)1 << 40)
#define MOST_SECONDS 1e6
#define MOST_BPS     1e15
#define MOST_QUEUE   ((size_t)1 << 31) /* tc reads 32 bits */
#define MOST_SEED    (((size_t)1 << 53) - 1)

const char *const cc_job_kinds[] = {"replay", "pingpong", NULL};
const char *const cc_job_vias[] = {"hops", "allgather", NULL};
const char *const cc_job_modes[] = {"sequential", "overlap", "pipe", NULL};
const char *const cc_job_pull_orders[] = {"ready", "forward", NULL};

void cc_job_sizes_free(struct cc_job_sizes *s)
{
    free(s->push);
    free(s->pull);
    free(s->hop);
    *s = (struct cc_job_sizes){0};
}

bool cc_job_row_hops(const struct cc_job *job, const struct cc_job_row *row)
{
    return job->servers == 0 && !row->sums && job->via == CC_JOB_HOPS &&
           strcmp(job->exchange, "allgather") != 0;
}

void cc_job_free(struct cc_job *job)
{
    for (size_t i = 0; i < job->tensors; i++)
        free(job->tensor[i].name);
    for (size_t i = 0; i < job->rows; i++) {
        free(job->row[i].scheme);
        free(job->row[i].message);
        free(job->row[i].cost);
        cc_job_sizes_free(&job->row[i].sizes);
        cc_size_index_free(job->row[i].size_index);
    }
    free(job->exchange);
    free(job->device);
    free(job->trace);
    free(job->tensor);
    free(job->offset);
    free(job->slow);
    free(job->row);
    free(job->size);
    *job = (struct cc_job){0};
}

int cc_job_lay_out(struct cc_job *job, struct cc_error *e)
{
    size_t *offset = cc_alloc((job->tensors + 1) * sizeof *offset, e);
    if (offset == NULL)
        return CC_FAIL;
    offset[0] = 0;
    for (size_t i = 0; i < job->tensors; i++) {
        size_t n = job->tensor[i].shape.n;
        if (n > MOST_VALUES - offset[i]) {
            free(offset);
            return cc_fail(e, "tensor '%.200s': a step of more than 2^40 values",
                           job->tensor[i].name);
        }
        offset[i + 1] = offset[i] + n;
    }
    free(job->offset);
    job->offset = offset;
    return CC_OK;
}

/* --- tensors --- */

static int parse_shape(const cJSON *item, struct cc_shape *out, struct cc_error *e)
{
    size_t dim[CC_MAX_DIMS];
    int ndim = 0;
    const cJSON *list = cJSON_GetObjectItemCaseSensitive(item, "shape");
    if (!cJSON_IsArray(list) || cJSON_GetArraySize(list) > CC_MAX_DIMS)
        return cc_fail(e, "\"shape\" must be a list of up to %d dimensions", CC_MAX_DIMS);
    for (const cJSON *d = list->child; d != NULL; d = d->next)
        if (!cc_json_size(d, &dim[ndim++]))
            return cc_fail(e, "\"shape\": a dimension that is not a whole number from 0 to 2^53");
    return cc_shape_make(dim, ndim, out, e);
}

/* 0 .. servers - 1, or -1 where there are servers. */
static int parse_server(const cJSON *item, int servers, int *out, struct cc_error *e)
{
    const cJSON *v = cJSON_GetObjectItemCaseSensitive(item, "server");
    double low = servers > 0 ? -1 : 0, high = servers > 0 ? servers - 1 : 0;
    if (!cJSON_IsNumber(v) || v->valuedouble != floor(v->valuedouble) || v->valuedouble < low ||
        v->valuedouble > high)
        return cc_fail(e, "\"server\" must be a whole number from %.0f to %.0f", low, high);
    *out = (int)v->valuedouble;
    return CC_OK;
}

static int parse_tensor(const cJSON *item, int servers, struct cc_job_tensor *t, struct cc_error *e)
{
    static const char *const keys[] = {"name", "shape", "share", "server", "raw", NULL};
    const char *name;
    if (!cJSON_IsObject(item))
        return cc_fail(e, "not an object");
    if (cc_json_keys(item, keys, e) != CC_OK ||
        cc_json_need_text(item, "name", &name, e) != CC_OK ||
        cc_tensor_name_check(name, e) != CC_OK || parse_shape(item, &t->shape, e) != CC_OK ||
        cc_json_need_number(item, "share", 0, 1, &t->share, e) != CC_OK ||
        parse_server(item, servers, &t->server, e) != CC_OK ||
        cc_json_need_bool(item, "raw", &t->raw, e) != CC_OK)
        return CC_FAIL;
    t->name = cc_strdup(name, e);
    return t->name != NULL ? CC_OK : CC_FAIL;
}

static int parse_tensors(const cJSON *root, struct cc_job *job, struct cc_error *e)
{
    const cJSON *list;
    size_t count;
    double share = 0;
    if (cc_json_need_list(root, "tensors", "tensor", &list, &count, e) != CC_OK)
        return CC_FAIL;
    if (count > MOST_TENSORS)
        return cc_fail(e, "\"tensors\": %zu of them; %d are the most", count, MOST_TENSORS);
    job->tensor = cc_alloc0(count * sizeof *job->tensor, e);
    if (job->tensor == NULL)
        return CC_FAIL;
    for (const cJSON *item = list->child; item != NULL; item = item->next) {
        struct cc_job_tensor *t = &job->tensor[job->tensors];
        if (parse_tensor(item, job->servers, t, e) != CC_OK) {
            cc_error_in(e, "tensor %zu", job->tensors);
            return CC_FAIL;
        }
        share += t->share;
        job->tensors++;
    }
    if (fabs(share - 1) > 1e-6)
        return cc_fail(e, "the tensors' \"share\" of the compute time sum to %.9g, not to 1",
                       share);
    if (cc_job_lay_out(job, e) != CC_OK)
        return CC_FAIL;
    if (cc_job_values(job) == 0)
        return cc_fail(e, "\"tensors\": a step without values");
    return CC_OK;
}

/* --- rows --- */

static int parse_message(const cJSON *item, struct cc_job_message *m, struct cc_error *e)
{
    if (!cJSON_IsArray(item) || cJSON_GetArraySize(item) != 2 ||
        !cc_json_size(item->child, &m->first) || !cc_json_size(item->child->next, &m->last))
        return cc_fail(e, "not the places of two tensors, [FIRST, LAST]");
    return CC_OK;
}

/* Every tensor once, from the end of the net to its beginning. */
static int parse_messages(const cJSON *item, size_t tensors, struct cc_job_row *row,
                          struct cc_error *e)
{
    const cJSON *list;
    size_t count, left = tensors;
    if (cc_json_need_list(item, "messages", "[FIRST, LAST]", &list, &count, e) != CC_OK)
        return CC_FAIL;
    row->message = cc_alloc0(count * sizeof *row->message, e);
    if (row->message == NULL)
        return CC_FAIL;
    for (const cJSON *m = list->child; m != NULL; m = m->next) {
        struct cc_job_message *to = &row->message[row->messages];
        int status = parse_message(m, to, e);
        if (status == CC_OK && (to->last + 1 != left || to->first > to->last))
            status = cc_fail(e,
                             "tensors %zu to %zu, where %zu is the last that is left: messages "
                             "must have each tensor once, from the last to the first",
                             to->first, to->last, left - 1);
        if (status != CC_OK) {
            cc_error_in(e, "message %zu", row->messages);
            return status;
        }
        left = to->first;
        row->messages++;
    }
    return left == 0 ? CC_OK : cc_fail(e, "\"messages\" leave out tensors 0 to %zu", left - 1);
}

/* What was allocated belongs to *row also after an error. */
static int parse_row(const cJSON *item, const struct cc_job *job, struct cc_job_row *row,
                     struct cc_error *e)
{
    static const char *const keys[] = {"scheme",   "sums", "period", "warmup", "steps",
                                       "messages", "cost", "sizes",  NULL};
    const char *scheme;
    if (!cJSON_IsObject(item))
        return cc_fail(e, "not an object");
    if (cc_json_keys(item, keys, e) != CC_OK ||
        cc_json_need_text(item, "scheme", &scheme, e) != CC_OK ||
        cc_json_need_bool(item, "sums", &row->sums, e) != CC_OK ||
        cc_json_need_size(item, "period", 1, MOST_STEPS, &row->period, e) != CC_OK ||
        cc_json_need_size(item, "warmup", 0, MOST_STEPS, &row->warmup, e) != CC_OK ||
        cc_json_need_size(item, "steps", 1, MOST_STEPS, &row->steps, e) != CC_OK)
        return CC_FAIL;
    if (row->warmup % row->period != 0 || row->steps % row->period != 0)
        return cc_fail(e, "\"warmup\" %zu and \"steps\" %zu must be multiples of the period, %zu",
                       row->warmup, row->steps, row->period);
    row->scheme = cc_strdup(scheme, e);
    if (row->scheme == NULL)
        return CC_FAIL;
    if (parse_messages(item, job->tensors, row, e) != CC_OK ||
        cc_job_parse_cost(item, job, row, e) != CC_OK)
        return CC_FAIL;
    if (cc_job_parse_sizes(item, job, row, e) != CC_OK)
        return CC_FAIL;
    return job->data ? CC_OK : cc_size_index_make(job, row, &row->size_index, e);
}

static int parse_rows(const cJSON *root, struct cc_job *job, struct cc_error *e)
{
    const cJSON *list;
    size_t count;
    if (cc_json_need_list(root, "rows", "row", &list, &count, e) != CC_OK)
        return CC_FAIL;
    job->row = cc_alloc0(count * sizeof *job->row, e);
    if (job->row == NULL)
        return CC_FAIL;
    for (const cJSON *item = list->child; item != NULL; item = item->next) {
        if (parse_row(item, job, &job->row[job->rows++], e) != CC_OK) {
            cc_error_in(e, "row %zu", job->rows - 1);
            return CC_FAIL;
        }
    }
    return CC_OK;
}

/* --- the rest of a replay --- */

/* "slow": a list of factors for each worker, all equally long; or none. */
static int parse_slow(const cJSON *root, struct cc_job *job, struct cc_error *e)
{
    const cJSON *list = cJSON_GetObjectItemCaseSensitive(root, "slow");
    size_t workers = (size_t)job->workers, done = 0;
    if (list == NULL)
        return CC_OK;
    if (!cJSON_IsArray(list) || (size_t)cJSON_GetArraySize(list) != workers)
        return cc_fail(e, "\"slow\" must have a list for each of %zu workers", workers);
    const int steps = cJSON_GetArraySize(list->child);
    job->slow_steps = (size_t)steps;
    job->slow = cc_alloc(workers * job->slow_steps * sizeof *job->slow, e);
    if (job->slow == NULL)
        return CC_FAIL;
    for (const cJSON *item = list->child; item != NULL; item = item->next) {
        if (!cJSON_IsArray(item) || steps == 0 || cJSON_GetArraySize(item) != steps)
            return cc_fail(e, "\"slow\": the workers' lists must be equally long, and not empty");
        for (const cJSON *f = item->child; f != NULL; f = f->next) {
            if (!cJSON_IsNumber(f) || !(f->valuedouble >= 0 && f->valuedouble <= MOST_SECONDS))
                return cc_fail(e, "\"slow\": a factor that is not a number from 0 to %.9g",
                               MOST_SECONDS);
            job->slow[done++] = f->valuedouble;
        }
    }
    return CC_OK;
}

static int copy_text(const cJSON *root, const char *key, char **out, struct cc_error *e)
{
    const char *text;
    if (cJSON_GetObjectItemCaseSensitive(root, key) == NULL)
        return CC_OK;
    if (cc_json_need_text(root, key, &text, e) != CC_OK)
        return CC_FAIL;
    *out = cc_strdup(text, e);
    return *out != NULL ? CC_OK : CC_FAIL;
}

static int parse_source(const cJSON *root, struct cc_job *job, struct cc_error *e)
{
    const bool drawn = cJSON_GetObjectItemCaseSensitive(root, "distribution") != NULL;
    if (copy_text(root, "trace", &job->trace, e) != CC_OK)
        return CC_FAIL;
    if (drawn == (job->trace != NULL))
        return cc_fail(e, "either \"trace\" or \"distribution\" must be there");
    if (drawn && cc_json_need_word(root, "distribution", cc_distribution_names, &job->distribution,
                                   e) != CC_OK)
        return CC_FAIL;
    return cc_json_need_size(root, "trace_steps", 1, MOST_STEPS, &job->trace_steps, e);
}

static int parse_exchange(const cJSON *root, struct cc_job *job, struct cc_error *e)
{
    int via, mode, pulls;
    const char *name;
    if (cc_json_need_text(root, "exchange", &name, e) != CC_OK ||
        cc_json_need_word(root, "via", cc_job_vias, &via, e) != CC_OK ||
        cc_json_need_word(root, "mode", cc_job_modes, &mode, e) != CC_OK ||
        cc_json_need_word(root, "pulls", cc_job_pull_orders, &pulls, e) != CC_OK)
        return CC_FAIL;
    job->via = (enum cc_job_via)via;
    job->mode = (enum cc_job_mode)mode;
    job->pulls = (enum cc_job_pulls)pulls;
    if (job->mode == CC_JOB_SEQUENTIAL && job->pulls == CC_JOB_PULL_FORWARD)
        return cc_fail(e, "\"pulls\" go \"forward\" when all messages are there, and a "
                          "\"sequential\" step sends none before the last one's pull is back");
    if ((strcmp(name, "ps") == 0) != (job->servers > 0))
        return cc_fail(e, "\"servers\" is %d: \"ps\" needs servers, and nothing else has any",
                       job->servers);
    return copy_text(root, "exchange", &job->exchange, e);
}

static int parse_moments(const cJSON *root, struct cc_job *job, struct cc_error *e)
{
    return cJSON_GetObjectItemCaseSensitive(root, "moments") == NULL
               ? CC_OK
               : cc_json_need_bool(root, "moments", &job->events, e);
}

static int parse_replay(const cJSON *root, struct cc_job *job, struct cc_error *e)
{
    static const char *const keys[] = {
        "schema",  "kind",      "workers",      "servers",       "device",
        "shaping", "nap",       "exchange",     "via",           "mode",
        "pulls",   "compute_s", "update_s",     "forward_share", "hidden_share",
        "seed",    "trace",     "distribution", "trace_steps",   "tensors",
        "slow",    "rows",      "simulation",   "moments",       NULL};
    size_t seed = 0;
    if (cc_json_keys(root, keys, e) != CC_OK || parse_exchange(root, job, e) != CC_OK ||
        cc_json_need_number(root, "compute_s", 0, MOST_SECONDS, &job->compute_s, e) != CC_OK ||
        cc_json_need_number(root, "update_s", 0, MOST_SECONDS, &job->update_s, e) != CC_OK ||
        cc_json_need_number(root, "forward_share", 0, 1, &job->forward_share, e) != CC_OK ||
        cc_json_need_number(root, "hidden_share", 0, 1, &job->hidden_share, e) != CC_OK ||
        cc_json_need_size(root, "seed", 0, MOST_SEED, &seed, e) != CC_OK ||
        parse_source(root, job, e) != CC_OK || parse_slow(root, job, e) != CC_OK ||
        cc_job_parse_simulation(root, job, e) != CC_OK || parse_moments(root, job, e) != CC_OK ||
        parse_tensors(root, job, e) != CC_OK)
        return CC_FAIL;
    job->seed = seed;
    return parse_rows(root, job, e);
}

/* --- ping-pong --- */

static int parse_pingpong(const cJSON *root, struct cc_job *job, struct cc_error *e)
{
    static const char *const keys[] = {"schema",  "kind", "workers", "servers", "device",
                                       "shaping", "nap",  "sizes",   "repeats", NULL};
    const cJSON *list;
    size_t count;
    if (cc_json_keys(root, keys, e) != CC_OK ||
        cc_json_need_list(root, "sizes", "number of bytes", &list, &count, e) != CC_OK ||
        cc_json_need_size(root, "repeats", 1, MOST_SAMPLES / count, &job->repeats, e) != CC_OK)
        return CC_FAIL;
    if (job->workers < 2)
        return cc_fail(e, "\"workers\" is 1: ping-pong needs two");
    job->size = cc_alloc(count * sizeof *job->size, e);
    if (job->size == NULL)
        return CC_FAIL;
    for (const cJSON *item = list->child; item != NULL; item = item->next) {
        size_t *size = &job->size[job->sizes++];
        if (!cc_json_size(item, size) || *size > INT_MAX)
            return cc_fail(e, "\"sizes\": a size that is not a whole number from 0 to %d", INT_MAX);
    }
    return CC_OK;
}

/* --- all --- */

static int parse_shaping(const cJSON *root, struct cc_job *job, struct cc_error *e)
{
    static const char *const keys[] = {"bw_bps", "burst_bytes", "limit_bytes", NULL};
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(root, "shaping");
    struct cc_job_shaping *s = &job->shaping;
    if (item == NULL)
        return CC_OK;
    if (!cJSON_IsObject(item))
        return cc_fail(e, "\"shaping\" must be an object");
    if (cc_json_keys(item, keys, e) != CC_OK ||
        cc_json_need_number(item, "bw_bps", 1, MOST_BPS, &s->bw_bps, e) != CC_OK ||
        cc_json_need_size(item, "burst_bytes", 1, MOST_QUEUE, &s->burst_bytes, e) != CC_OK ||
        cc_json_need_size(item, "limit_bytes", 1, MOST_QUEUE, &s->limit_bytes, e) != CC_OK) {
        cc_error_in(e, "\"shaping\"");
        return CC_FAIL;
    }
    return job->device != NULL ? CC_OK : cc_fail(e, "\"shaping\" needs a \"device\"");
}

static int parse_job(const cJSON *root, struct cc_job *job, struct cc_error *e)
{
    int kind;
    size_t workers, servers;
    if (cc_json_schema(root, CC_JOB_SCHEMA, "see docs/job.md", e) != CC_OK ||
        cc_json_need_word(root, "kind", cc_job_kinds, &kind, e) != CC_OK ||
        cc_json_need_size(root, "workers", 1, MOST_WORKERS, &workers, e) != CC_OK ||
        cc_json_need_size(root, "servers", 0, MOST_SERVERS, &servers, e) != CC_OK ||
        cc_json_need_bool(root, "nap", &job->yield_when_idle, e) != CC_OK ||
        copy_text(root, "device", &job->device, e) != CC_OK || parse_shaping(root, job, e) != CC_OK)
        return CC_FAIL;
    if (job->device != NULL && strlen(job->device) >= IFNAMSIZ)
        return cc_fail(e, "\"device\": an interface's name has at most %d bytes", IFNAMSIZ - 1);
    job->kind = (enum cc_job_kind)kind;
    job->workers = (int)workers;
    job->servers = (int)servers;
    return job->kind == CC_JOB_REPLAY ? parse_replay(root, job, e) : parse_pingpong(root, job, e);
}

static int parse_root(const cJSON *root, void *out, struct cc_error *e)
{
    struct cc_job job = {.rendezvous = true, .data = true};
    int status = parse_job(root, &job, e);
    if (status == CC_OK)
        *(struct cc_job *)out = job;
    else
        cc_job_free(&job);
    return status;
}

int cc_job_parse(const char *text, size_t length, struct cc_job *out, struct cc_error *e)
{
    return cc_json_parse_as(text, length, parse_root, out, e);
}
