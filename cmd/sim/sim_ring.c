/* Rings of many workers, by simulations of few.
 *
 * In a ring of P equal hosts on equal links, all ranks do the same at the same time: 2 (P - 1)
 * rounds, each with a chunk of N / P values. What happens in a round depends on the chunk alone. So
 * a job of A workers with N A / P values has the same rounds, fewer of them, and every quantity of
 * a row (the step's time, codecs, bytes of a rank) is a constant and a part for each worker. Two
 * simulations with A and 2 A workers give both; the whole one would have P / A times the messages
 * of each of P / A times the ranks. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/sim/sim.h"
#include "core/interrupt.h"
#include "core/memory.h"

/* Workers of the smaller simulation. More of them cut tensors into fewer pieces, which are as
 * large. */
enum { LEAST = 16, MOST = 64 };

static int few_workers(int workers)
{
    const int few = workers / 8;
    return few < LEAST ? LEAST : few > MOST ? MOST : few;
}

bool cc_sim_extrapolates(const struct sim *s, const struct cc_experiment_setting *setting)
{
    const struct sim_options *o = &s->options;
    const struct cc_setting *of = &setting->setting;
    const struct cc_cluster *c = &of->cluster;
    const struct cc_timing *t = &of->timing;
    const bool alike = o->platform == NULL && o->config.topology == CC_TOPOLOGY_SWITCH &&
                       o->config.slow_links == 0 && o->config.slow_hosts == 0 &&
                       cc_cluster_per_host(c) == 1 && c->sites <= 1;
    const bool in_step = t->mode == CC_SEQUENTIAL && t->consistency == CC_BULK &&
                         t->straggler == CC_STEADY && o->codec_time != CC_CODEC_MEASURED;
    return of->sharded.collectives.count == 0 && of->exchange == CC_RING && c->via == CC_VIA_HOPS &&
           o->full > 0 && c->workers > o->full && c->workers > 2 * few_workers(c->workers) &&
           of->net->values >= (size_t)c->workers && alike && in_step && !setting->data &&
           o->paje == NULL && s->experiment.timeline == NULL;
}

double cc_sim_share(const struct sim *s, const struct cc_experiment_setting *setting)
{
    const double workers = setting->setting.cluster.workers;
    const double few = few_workers(setting->setting.cluster.workers);
    return cc_sim_extrapolates(s, setting) ? 5 * few * few / (workers * workers) : 1;
}

/* --- the smaller job --- */

/* Scales a list of payload sizes, of all tensors again and again. */
static int scale_list(uint64_t **list, size_t count, size_t tensors, const double *by,
                      struct cc_error *e)
{
    uint64_t *scaled;
    if (*list == NULL)
        return CC_OK;
    CC_TRY(CC_NEW(scaled, count, e));
    for (size_t i = 0; i < count; i++)
        scaled[i] = (uint64_t)ceil((double)(*list)[i] * by[i % tensors] - 1e-6);
    *list = scaled;
    return CC_OK;
}

/* Scales a row, whose lists become the caller's own. */
static int scale_row(struct cc_job_row *row, size_t tensors, const double *by, struct cc_error *e)
{
    struct cc_job_sizes *z = &row->sizes;
    const size_t steps = z->steps * tensors, pushes = z->workers * steps, sums = z->sums * steps;
    const struct cc_job_cost *cost = row->cost;
    struct cc_job_cost *scaled = NULL;
    uint64_t *const hop = z->hop, *const pairs = z->pairs, *const pull = z->pull;
    z->hop = z->pairs = z->pull = NULL;
    row->cost = NULL;
    CC_TRY(scale_list(&z->push, pushes, tensors, by, e));
    z->pull = pull;
    CC_TRY(scale_list(&z->pull, steps, tensors, by, e));
    z->hop = hop;
    CC_TRY(scale_list(&z->hop, sums, tensors, by, e));
    z->pairs = pairs;
    CC_TRY(scale_list(&z->pairs, sums, tensors, by, e));
    if (cost == NULL)
        return CC_OK;
    CC_TRY(CC_NEW(scaled, tensors, e));
    for (size_t i = 0; i < tensors; i++)
        scaled[i] = (struct cc_job_cost){.encode_s = by[i] * cost[i].encode_s,
                                         .decode_s = by[i] * cost[i].decode_s,
                                         .add_s = by[i] * cost[i].add_s,
                                         .pull_encode_s = by[i] * cost[i].pull_encode_s,
                                         .pull_decode_s = by[i] * cost[i].pull_decode_s};
    row->cost = scaled;
    return CC_OK;
}

static void free_rows(struct cc_job *j, size_t rows)
{
    for (size_t i = 0; i < rows; i++) {
        struct cc_job_sizes *z = &j->row[i].sizes;
        free(z->push);
        free(z->pull);
        free(z->hop);
        free(z->pairs);
        free(j->row[i].cost);
    }
    free(j->row);
    free(j->tensor);
    free(j->offset);
}

/* Makes the job of fewer workers, of which other members are those of the whole one, and calls
 * run(). Tensors keep their share of the values, at least one. */
static int with_few(const struct cc_job *whole, int workers, cc_sim_runner *run, void *arg,
                    int (*on_row)(void *to, const struct cc_report_row *row, struct cc_error *e),
                    void *to, struct cc_error *e)
{
    struct cc_job j = *whole;
    const double part = (double)workers / whole->workers;
    double *by = NULL;
    size_t rows = 0;
    int status = CC_OK;
    j.workers = workers;
    j.tensor = NULL;
    j.offset = NULL;
    j.row = NULL;
    CC_TRY(CC_NEW(by, whole->tensors, e));
    CC_TRY_OUT(CC_NEW(j.tensor, whole->tensors, e));
    for (size_t i = 0; i < whole->tensors; i++) {
        const double from = round((double)whole->offset[i] * part);
        const double values = round((double)whole->offset[i + 1] * part) - from;
        j.tensor[i] = whole->tensor[i];
        j.tensor[i].shape = cc_shape_flat((size_t)fmax(1, values));
        by[i] = fmax(1, values) / (double)whole->tensor[i].shape.n;
    }
    CC_TRY_OUT(cc_job_lay_out(&j, e));
    CC_TRY_OUT(CC_NEW(j.row, whole->rows, e));
    for (; rows < whole->rows; rows++) {
        j.row[rows] = whole->row[rows];
        if (scale_row(&j.row[rows], whole->tensors, by, e) != CC_OK) {
            /* what is not scaled yet is not ours */
            if (j.row[rows].sizes.push == whole->row[rows].sizes.push)
                j.row[rows].sizes.push = NULL;
            if (j.row[rows].sizes.pull == whole->row[rows].sizes.pull)
                j.row[rows].sizes.pull = NULL;
            if (j.row[rows].sizes.hop == whole->row[rows].sizes.hop)
                j.row[rows].sizes.hop = NULL;
            if (j.row[rows].sizes.pairs == whole->row[rows].sizes.pairs)
                j.row[rows].sizes.pairs = NULL;
            rows++;
            status = CC_FAIL;
            goto out;
        }
    }
    status = run(arg, &j, on_row, to, e);
out:
    free_rows(&j, j.row != NULL ? rows : 0);
    free(by);
    return status;
}

/* --- extrapolating --- */

#define AT(member) offsetof(struct cc_report_row, member)
static const size_t numbers[] = {
    AT(compute_s),    AT(update_s),    AT(encode_s),    AT(hop_s),           AT(server_s),
    AT(decode_s),     AT(wait_s),      AT(exposed_s),   AT(busy_s),          AT(waking_s),
    AT(message_s),    AT(push_bytes),  AT(pull_bytes),  AT(push_head_bytes), AT(pull_head_bytes),
    AT(messages),     AT(given_bytes), AT(intra_bytes), AT(kept_values),     AT(updates),
    AT(updates_per_s)};

/* The results of the smaller simulation, kept until those of the larger one come. */
struct kept {
    struct cc_report_row *row; /* [rows]; lists are owned */
    size_t rows;
};

static int copy_list(const double *from, size_t count, double **out, struct cc_error *e)
{
    *out = NULL;
    if (count == 0 || from == NULL)
        return CC_OK;
    CC_TRY(CC_NEW(*out, count, e));
    memcpy(*out, from, count * sizeof *from);
    return CC_OK;
}

static int copy_row(const struct cc_report_row *from, struct cc_report_row *to, struct cc_error *e)
{
    *to = *from;
    to->age = to->applied_error = NULL;
    to->ages = to->applied_errors = 0;
    to->chose = NULL;
    to->step_s = to->tensor_bytes = to->tensor_pull_bytes = NULL;
    CC_TRY(copy_list(from->step_s, from->steps, &to->step_s, e));
    CC_TRY(copy_list(from->tensor_bytes, from->tensors, &to->tensor_bytes, e));
    return copy_list(from->tensor_pull_bytes, from->tensors, &to->tensor_pull_bytes, e);
}

static void free_row(struct cc_report_row *r)
{
    free(r->step_s);
    free(r->tensor_bytes);
    free(r->tensor_pull_bytes);
}

static int keep(void *to, const struct cc_report_row *row, struct cc_error *e)
{
    struct kept *k = to;
    if (row->row >= k->rows)
        return cc_fail(e, "commcomp-rank-sim reports row %zu of %zu", row->row, k->rows);
    free_row(&k->row[row->row]);
    return copy_row(row, &k->row[row->row], e);
}

/* A line through (1, a) and (2, b), at x. */
static double line(double a, double b, double x)
{
    return a + (b - a) * (x - 1);
}

static void extend_list(double *out, const double *a, size_t count, double x)
{
    for (size_t i = 0; i < count && out != NULL && a != NULL; i++)
        out[i] = line(a[i], out[i], x);
}

struct extrapolation {
    struct kept few;
    double at; /* workers by those of the smaller simulation */
    int (*on_row)(void *to, const struct cc_report_row *row, struct cc_error *e);
    void *to;
};

static int extend(void *to, const struct cc_report_row *row, struct cc_error *e)
{
    const struct extrapolation *x = to;
    struct cc_report_row out;
    if (row->row >= x->few.rows || x->few.row[row->row].steps != row->steps)
        return cc_fail(e, "commcomp-rank-sim reports row %zu of %zu", row->row, x->few.rows);
    const struct cc_report_row *a = &x->few.row[row->row];
    int status = copy_row(row, &out, e);
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++) {
        double *at = (double *)((char *)&out + numbers[i]);
        *at = line(*(const double *)((const char *)a + numbers[i]), *at, x->at);
    }
    extend_list(out.step_s, a->step_s, row->steps, x->at);
    extend_list(out.tensor_bytes, a->tensor_bytes, row->tensors, x->at);
    extend_list(out.tensor_pull_bytes, a->tensor_pull_bytes, row->tensors, x->at);
    if (status == CC_OK)
        status = x->on_row(x->to, &out, e);
    free_row(&out);
    return status;
}

int cc_sim_extrapolate(const struct cc_job *job, cc_sim_runner *run, void *arg,
                       int (*on_row)(void *to, const struct cc_report_row *row, struct cc_error *e),
                       void *to, struct cc_error *e)
{
    const int few = few_workers(job->workers);
    struct extrapolation x = {
        .few = {.rows = job->rows}, .at = (double)job->workers / few, .on_row = on_row, .to = to};
    CC_TRY(CC_NEW(x.few.row, job->rows, e));
    int status = with_few(job, few, run, arg, keep, &x.few, e);
    if (status == CC_OK && !cc_interrupted())
        status = with_few(job, 2 * few, run, arg, extend, &x, e);
    for (size_t i = 0; i < job->rows; i++)
        free_row(&x.few.row[i]);
    free(x.few.row);
    return status;
}
