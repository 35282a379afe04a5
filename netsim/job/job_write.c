/* Jobs as JSON. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/file.h"
#include "netsim/job/job_words.h"

/* Where texts have failed, memory has: all that follows is for nothing, and the end says so. */
struct writer {
    FILE *f;
    int status;
    struct cc_error *e;
};

static void put_text(struct writer *w, const char *key, const char *text)
{
    (void)fprintf(w->f, "\"%s\": ", key);
    if (w->status == CC_OK)
        w->status = cc_json_put_text(w->f, text, w->e);
}

static void put_number(struct writer *w, const char *key, double v)
{
    (void)fprintf(w->f, ", \"%s\": ", key);
    cc_json_put_number(w->f, v);
}

static void put_bool(struct writer *w, const char *key, bool v)
{
    (void)fprintf(w->f, ", \"%s\": %s", key, v ? "true" : "false");
}

static void next_text(struct writer *w, const char *key, const char *text)
{
    (void)fputs(",\n ", w->f);
    put_text(w, key, text);
}

static void put_tensor(struct writer *w, const struct cc_job_tensor *t)
{
    (void)fputs("\n  {", w->f);
    put_text(w, "name", t->name);
    (void)fputs(", \"shape\": [", w->f);
    for (int i = 0; i < t->shape.ndim; i++)
        (void)fprintf(w->f, "%s%zu", i > 0 ? ", " : "", t->shape.dim[i]);
    (void)fputs("]", w->f);
    put_number(w, "share", t->share);
    put_number(w, "server", t->server);
    put_bool(w, "raw", t->raw);
    (void)fputs("}", w->f);
}

static void put_cost(struct writer *w, const struct cc_job_cost *cost, size_t tensors)
{
    (void)fputs(",\n   \"cost\": [", w->f);
    for (size_t i = 0; i < tensors; i++) {
        const double v[CC_JOB_COSTS] = {cost[i].encode_s, cost[i].decode_s, cost[i].add_s,
                                        cost[i].pull_encode_s, cost[i].pull_decode_s};
        (void)fputs(i > 0 ? ", [" : "[", w->f);
        for (size_t k = 0; k < CC_JOB_COSTS; k++) {
            (void)fputs(k > 0 ? ", " : "", w->f);
            cc_json_put_number(w->f, v[k]);
        }
        (void)fputs("]", w->f);
    }
    (void)fputs("]", w->f);
}

static void put_table(struct writer *w, const char *key, const uint32_t *size, size_t n)
{
    (void)fprintf(w->f, ",\n    \"%s\": [", key);
    for (size_t i = 0; i < n; i++)
        (void)fprintf(w->f, i > 0 ? ", %lu" : "%lu", (unsigned long)size[i]);
    (void)fputs("]", w->f);
}

static void put_sizes(struct writer *w, const struct cc_job_sizes *s, size_t tensors)
{
    const size_t each = s->steps * tensors;
    (void)fprintf(w->f, ",\n   \"sizes\": {\"fixed\": %s", s->fixed ? "true" : "false");
    if (!s->fixed) {
        put_number(w, "workers", (double)s->workers);
        put_number(w, "steps", (double)s->steps);
        put_table(w, "push", s->push, s->workers * each);
        if (s->pull != NULL)
            put_table(w, "pull", s->pull, each);
        if (s->hop != NULL) {
            put_number(w, "sums", (double)s->sums);
            put_table(w, "hop", s->hop, s->sums * each);
        }
    }
    (void)fputs("}", w->f);
}

static void put_row(struct writer *w, const struct cc_job_row *r, size_t tensors, bool sized)
{
    (void)fputs("\n  {", w->f);
    put_text(w, "scheme", r->scheme);
    put_bool(w, "sums", r->sums);
    put_number(w, "period", (double)r->period);
    put_number(w, "warmup", (double)r->warmup);
    put_number(w, "steps", (double)r->steps);
    (void)fputs(",\n   \"messages\": [", w->f);
    for (size_t i = 0; i < r->messages; i++)
        (void)fprintf(w->f, "%s[%zu, %zu]", i > 0 ? ", " : "", r->message[i].first,
                      r->message[i].last);
    (void)fputs("]", w->f);
    if (r->cost != NULL)
        put_cost(w, r->cost, tensors);
    if (sized)
        put_sizes(w, &r->sizes, tensors);
    (void)fputs("}", w->f);
}

static void put_slow(struct writer *w, const struct cc_job *job)
{
    (void)fputs(",\n \"slow\": [", w->f);
    for (size_t i = 0; i < (size_t)job->workers * job->slow_steps; i++) {
        const bool first = i % job->slow_steps == 0;
        (void)fputs(i == 0 ? "\n  [" : first ? "],\n  [" : ", ", w->f);
        cc_json_put_number(w->f, job->slow[i]);
    }
    (void)fputs("]]", w->f);
}

static void put_simulation(struct writer *w, const struct cc_job *job)
{
    (void)fprintf(w->f, ",\n \"simulation\": {\"block_bytes\": %zu", job->block_bytes);
    put_bool(w, "asks", job->rendezvous);
    put_bool(w, "data", job->data);
    put_number(w, "reduce_byte_s", job->reduce_byte_s);
    (void)fputs("}", w->f);
}

static void put_replay(struct writer *w, const struct cc_job *job)
{
    next_text(w, "exchange", job->exchange);
    next_text(w, "via", cc_job_vias[job->via]);
    next_text(w, "mode", cc_job_modes[job->mode]);
    next_text(w, "pulls", cc_job_pull_orders[job->pulls]);
    put_number(w, "compute_s", job->compute_s);
    put_number(w, "update_s", job->update_s);
    put_number(w, "forward_share", job->forward_share);
    put_number(w, "hidden_share", job->hidden_share);
    put_number(w, "seed", (double)job->seed);
    if (job->trace != NULL)
        next_text(w, "trace", job->trace);
    else
        next_text(w, "distribution", cc_distribution_names[job->distribution]);
    put_number(w, "trace_steps", (double)job->trace_steps);
    if (job->block_bytes > 0 || !job->rendezvous || !job->data || job->reduce_byte_s > 0)
        put_simulation(w, job);
    if (job->events)
        put_bool(w, "moments", true);
    (void)fputs(",\n \"tensors\": [", w->f);
    for (size_t i = 0; i < job->tensors; i++) {
        (void)fputs(i > 0 ? "," : "", w->f);
        put_tensor(w, &job->tensor[i]);
    }
    (void)fputs("]", w->f);
    if (job->slow != NULL)
        put_slow(w, job);
    (void)fputs(",\n \"rows\": [", w->f);
    for (size_t i = 0; i < job->rows; i++) {
        (void)fputs(i > 0 ? "," : "", w->f);
        put_row(w, &job->row[i], job->tensors, !job->data);
    }
    (void)fputs("]", w->f);
}

static void put_pingpong(struct writer *w, const struct cc_job *job)
{
    (void)fputs(",\n \"sizes\": [", w->f);
    for (size_t i = 0; i < job->sizes; i++)
        (void)fprintf(w->f, "%s%zu", i > 0 ? ", " : "", job->size[i]);
    (void)fputs("]", w->f);
    put_number(w, "repeats", (double)job->repeats);
}

static void put_shaping(struct writer *w, const struct cc_job_shaping *s)
{
    (void)fputs(",\n \"shaping\": {\"bw_bps\": ", w->f);
    cc_json_put_number(w->f, s->bw_bps);
    put_number(w, "burst_bytes", (double)s->burst_bytes);
    put_number(w, "limit_bytes", (double)s->limit_bytes);
    (void)fputs("}", w->f);
}

static void put_job(struct writer *w, const struct cc_job *job)
{
    (void)fputs("{", w->f);
    put_text(w, "schema", CC_JOB_SCHEMA);
    next_text(w, "kind", cc_job_kinds[job->kind]);
    put_number(w, "workers", job->workers);
    put_number(w, "servers", job->servers);
    put_bool(w, "nap", job->yield_when_idle);
    if (job->device != NULL)
        next_text(w, "device", job->device);
    if (job->shaping.bw_bps > 0)
        put_shaping(w, &job->shaping);
    if (job->kind == CC_JOB_REPLAY)
        put_replay(w, job);
    else
        put_pingpong(w, job);
    (void)fputs("\n}\n", w->f);
}

char *cc_job_text(const struct cc_job *job, struct cc_error *e)
{
    char *text = NULL;
    size_t length;
    struct writer w = {.f = open_memstream(&text, &length), .e = e};
    if (w.f != NULL)
        put_job(&w, job);
    if (w.f == NULL || fclose(w.f) != 0)
        w.status = cc_fail(e, "out of memory: a job of %zu tensors", job->tensors);
    if (w.status == CC_OK)
        return text;
    free(text);
    return NULL;
}

int cc_job_write(const struct cc_job *job, const char *path, struct cc_error *e)
{
    struct cc_outfile o;
    char *text = cc_job_text(job, e);
    if (text == NULL)
        return CC_FAIL;
    int status = cc_file_create(&o, path, e);
    if (status == CC_OK) {
        (void)fputs(text, o.f);
        status = cc_file_commit(&o, e);
    }
    free(text);
    return status;
}
