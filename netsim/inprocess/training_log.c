/* The texts of a checkpoint: the settings, a line each, the step, the evaluations until then, a
 * line each, and the sums since the last one. Numbers are in hexadecimal, so that none of their
 * bits is lost. */
#include "netsim/inprocess/training_log.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/format/crc32.h"
#include "core/format/json.h"
#include "core/memory.h"
#include "core/memory_text.h"
#include "core/version.h"
#include "schemes/plugin_load.h"

/* --- figures --- */

struct cc_evaluation cc_training_log_end(struct cc_training_log *l, size_t workers)
{
    struct cc_evaluation v = l->sum;
    double *const mean[] = {&v.train_loss, &v.train_accuracy, &v.pull_bytes, &v.encode_s,
                            &v.hop_s,      &v.server_s,       &v.decode_s,   &v.compute_s,
                            &v.update_s,   &v.wait_s,         &v.updates};
    for (size_t i = 0; i < sizeof mean / sizeof *mean; i++)
        *mean[i] /= (double)l->since;
    v.push_bytes /= (double)l->since * (double)workers;
    v.step = (size_t)l->step;
    v.wall_s = l->wall_s;
    l->sum = (struct cc_evaluation){0};
    l->since = 0;
    l->unsent_sq = l->gradient_sq = l->behind_sq = l->delta_sq = 0;
    return v;
}

int cc_training_log_add(struct cc_training_log *l, const struct cc_evaluation *v,
                        struct cc_error *e)
{
    CC_TRY(CC_GROW(l->eval, &l->capacity, l->evals + 1, e));
    l->eval[l->evals++] = *v;
    return CC_OK;
}

void cc_training_log_free(struct cc_training_log *l)
{
    free(l->eval);
    *l = (struct cc_training_log){0};
}

/* --- texts --- */

enum { MOST_NUMBERS = 24 };

/* The numbers of an evaluation, without its step. */
static size_t members(struct cc_evaluation *v, double *out[MOST_NUMBERS])
{
    double *const all[] = {&v->train_loss,  &v->train_accuracy,  &v->loss,       &v->accuracy,
                           &v->worker_loss, &v->worker_accuracy, &v->push_bytes, &v->pull_bytes,
                           &v->encode_s,    &v->hop_s,           &v->server_s,   &v->decode_s,
                           &v->compute_s,   &v->update_s,        &v->residual,   &v->pull_residual,
                           &v->wall_s,      &v->objective,       &v->distance};
    memcpy(out, all, sizeof all);
    return sizeof all / sizeof *all;
}

/* The numbers since the last evaluation: its members, and the other sums. */
static size_t running(struct cc_training_log *l, double *out[MOST_NUMBERS])
{
    double *const all[] = {&l->wall_s, &l->unsent_sq, &l->gradient_sq, &l->behind_sq, &l->delta_sq};
    const size_t n = members(&l->sum, out);
    memcpy(out + n, all, sizeof all);
    return n + sizeof all / sizeof *all;
}

static void put_numbers(FILE *f, size_t whole, double *const *number, size_t count)
{
    (void)fprintf(f, "%zu", whole);
    for (size_t i = 0; i < count; i++)
        (void)fprintf(f, " %a", *number[i]);
    (void)fputc('\n', f);
}

/* Reads such a line, and moves *text behind it. */
static bool get_numbers(const char **text, size_t *whole, double *const *number, size_t count)
{
    char *end;
    errno = 0;
    *whole = strtoul(*text, &end, 10);
    bool read = end > *text && errno == 0;
    for (size_t i = 0; i < count && read; i++) {
        const char *from = end;
        read = *from == ' ';
        *number[i] = strtod(from, &end);
        read = read && end > from + 1;
    }
    read = read && *end == '\n';
    *text = end + read;
    return read;
}

/* The checksum of a part of the data set. */
static uint32_t crc_of(const struct cc_data *d, const struct cc_samples *s)
{
    const size_t values = s->count * cc_data_values(d), nonzeros = cc_rows_nonzeros(&s->rows);
    if (d->context > 0)
        return cc_crc32(0, s->byte, s->bytes);
    uint32_t crc = cc_crc32(0, s->label, s->count * sizeof *s->label);
    if (s->rows.count > 0) {
        crc = cc_crc32(crc, s->rows.begin, (s->rows.count + 1) * sizeof *s->rows.begin);
        crc = cc_crc32(crc, s->rows.index, nonzeros * sizeof *s->rows.index);
        return cc_crc32(crc, s->rows.value, nonzeros * sizeof *s->rows.value);
    }
    return s->byte != NULL ? cc_crc32(crc, s->byte, values)
                           : cc_crc32(crc, s->value, values * sizeof *s->value);
}

/* A float as the shortest number that reads back as it, so that 0.9 stays 0.9. */
static void put_float(FILE *f, const char *name, float v)
{
    char text[32];
    int digits = 0;
    do
        (void)snprintf(text, sizeof text, "%.*g", ++digits, (double)v);
    while (digits < 9 && strtof(text, NULL) != v);
    (void)fprintf(f, "%s %s\n", name, text);
}

static void put_double(FILE *f, const char *name, double v)
{
    char text[CC_NUMBER_CAP];
    cc_number_print(v, text);
    (void)fprintf(f, "%s %s\n", name, text);
}

static void put_learner_settings(FILE *f, const struct cc_training_config *c)
{
    const struct cc_optimizer *o = &c->optimizer;
    const struct cc_rate_schedule *r = &c->rate;
    (void)fprintf(f, "optimizer %s\n", o->nesterov ? "nesterov" : cc_optimizer_names[o->kind]);
    put_float(f, "momentum", o->momentum);
    put_float(f, "weight decay", o->decay);
    put_float(f, "beta 1", o->beta[0]);
    put_float(f, "beta 2", o->beta[1]);
    put_float(f, "epsilon", o->small);
    if (c->clip > 0)
        put_double(f, "norm of clipped gradients", c->clip);
    put_double(f, "rate", r->rate);
    (void)fprintf(f, "schedule %s\n", cc_rate_names[r->kind]);
    put_double(f, "last rate of cosine", r->last);
    put_double(f, "factor of step", r->factor);
    (void)fprintf(f, "steps of the schedule %" PRIu64 "\nwarmup %" PRIu64 "\n", r->steps,
                  r->warmup);
}

static void put_local_settings(FILE *f, const struct cc_local_config *l)
{
    if (l->steps == 0)
        return;
    (void)fprintf(f, "local steps %zu\nparts %zu\nlocal steps beside an exchange %zu\n", l->steps,
                  l->parts, l->delay);
    put_double(f, "share of own parameters", l->mix);
    put_double(f, "outer rate", l->outer_rate);
    if (l->quorum > 0) {
        (void)fprintf(f, "workers that send %zu\n", l->quorum);
        put_double(f, "factor of kept differences", l->beta);
    }
    if (l->median)
        (void)fprintf(f, "scaled to the median norm\n");
    put_float(f, "outer momentum", l->outer.momentum);
    (void)fprintf(f, "outer optimizer %s\n",
                  l->outer.nesterov ? "nesterov" : cc_optimizer_names[l->outer.kind]);
}

/* The build of the plugins that a scheme is from, if any. */
static void put_plugin(FILE *f, const struct cc_spec *s)
{
    const uint32_t sum = cc_plugin_checksum(s);
    if (sum != 0)
        (void)fprintf(f, "plugin of %s crc32:%08" PRIx32 "\n", s->name, sum);
}

/* All that decides the weights, a line each, as messages show them. */
static void put_settings(FILE *f, const struct cc_training_config *c)
{
    const struct cc_task_config *t = &c->task;
    (void)fprintf(f,
                  "scheme %s\npull scheme %s\nexchange %s\nmode %s\nservers %d\ndense-bits %d\nvia "
                  "%s\npull %s\n",
                  c->spec->name, c->pull->name, cc_exchange_names[c->exchange],
                  cc_step_names[c->mode], c->servers, c->dense_bits, cc_via_names[c->via],
                  c->deltas ? "delta" : "mean");
    if (c->dtype != CC_ELEMENT_FP32)
        (void)fprintf(f, "dtype %s\n", cc_element_names[c->dtype]);
    if (c->per_host > 1)
        (void)fprintf(f, "per-host %d\n", c->per_host);
    if (c->shards != CC_SHARDS_NONE)
        (void)fprintf(f, "shards %s\n", cc_shards_names[c->shards]);
    for (int i = 0; i < c->collectives.count; i++) {
        char text[96];
        cc_collective_print(&c->collectives.item[i], text, sizeof text);
        (void)fprintf(f, "%s\n", text);
    }
    if (c->gather != NULL)
        (void)fprintf(f, "gather scheme %s\n", c->gather);
    if (c->intra_scheme != NULL)
        (void)fprintf(f, "intra scheme %s\n", c->intra_scheme);
    if (c->inner_exchange != CC_STAGE_DIRECT || c->outer_exchange != CC_STAGE_DIRECT)
        (void)fprintf(f, "exchange inside hosts %s, between %s\n",
                      cc_stage_exchange_names[c->inner_exchange],
                      cc_stage_exchange_names[c->outer_exchange]);
    if (c->parts > 1)
        (void)fprintf(f, "chunks %d\n", c->parts);
    put_plugin(f, c->spec);
    if (c->pull != c->spec)
        put_plugin(f, c->pull);
    if (c->mode == CC_PIPE)
        (void)fprintf(f, "depth %zu\nsync-steps %zu\n", c->depth, c->sync_steps);
    (void)fprintf(f, "net %s\ninput %zux%zu\nmin-size %zu\nseed %" PRIu64 "\n", t->net, t->height,
                  t->width, c->min_size, t->seed);
    if (c->raw_names != NULL)
        (void)fprintf(f, "raw %s\n", c->raw_names);
    (void)fprintf(f, "workers %zu\nbatch %zu\nflip %s\nshift %zu\n", t->workers, t->batch,
                  t->flip ? "yes" : "no", t->shift);
    (void)fprintf(f, "messages from tensors");
    for (size_t i = 0; i < c->messages; i++)
        (void)fprintf(f, " %zu", c->message[i].first);
    (void)fprintf(f, "%s\ntensors on servers", c->messages == 0 ? " of the mode" : "");
    for (size_t i = 0; i < c->tensors && c->server != NULL; i++)
        (void)fprintf(f, " %d", c->server[i]);
    (void)fprintf(f, "%s\n", c->server == NULL ? " all" : "");
    if (t->by_class > 0)
        (void)fprintf(f, "shards by-class:%zu\n", t->by_class);
    else
        (void)fprintf(f, "shards iid\n");
    (void)fprintf(f, "steps %zu\nevaluations every %zu steps\n", c->steps, c->eval_every);
    put_learner_settings(f, c);
    put_local_settings(f, &c->local);
    (void)fprintf(f, "training samples crc32:%08" PRIx32 "\ntest samples crc32:%08" PRIx32 "\n",
                  crc_of(t->data, &t->data->train), crc_of(t->data, &t->data->test));
}

int cc_training_settings(const struct cc_training_config *c, char **out, struct cc_error *e)
{
    struct cc_memory_text t;
    CC_TRY(cc_memory_text_begin(&t, "a training's settings", e));
    put_settings(t.f, c);
    CC_TRY(cc_memory_text_end(&t, CC_OK, e));
    *out = t.text;
    return CC_OK;
}

static int print_evaluations(const struct cc_training_log *l, char **out, struct cc_error *e)
{
    struct cc_memory_text t;
    double *number[MOST_NUMBERS];
    CC_TRY(cc_memory_text_begin(&t, "a training's evaluations", e));
    for (size_t i = 0; i < l->evals; i++)
        put_numbers(t.f, l->eval[i].step, number, members(&l->eval[i], number));
    CC_TRY(cc_memory_text_end(&t, CC_OK, e));
    *out = t.text;
    return CC_OK;
}

static int print_running(const struct cc_training_log *l, char **out, struct cc_error *e)
{
    struct cc_memory_text t;
    struct cc_training_log copy = *l;
    double *number[MOST_NUMBERS];
    CC_TRY(cc_memory_text_begin(&t, "a training's sums", e));
    put_numbers(t.f, copy.since, number, running(&copy, number));
    CC_TRY(cc_memory_text_end(&t, CC_OK, e));
    *out = t.text;
    return CC_OK;
}

/* --- files --- */

int cc_training_log_save(const struct cc_training_log *l, const char *settings,
                         const struct cc_checkpoint *arrays, const char *path, struct cc_error *e)
{
    char *evaluations = NULL, *sums = NULL, step[24];
    int status = CC_OK;
    CC_TRY_OUT(print_evaluations(l, &evaluations, e));
    CC_TRY_OUT(print_running(l, &sums, e));
    (void)snprintf(step, sizeof step, "%" PRIu64, l->step);
    const struct cc_pair texts[] = {{"settings", settings},
                                    {"step", step},
                                    {"evaluations", evaluations},
                                    {"sums", sums},
                                    {"version", l->version[0] != '\0' ? l->version : cc_version()}};
    status = cc_checkpoint_write(arrays, path, texts, sizeof texts / sizeof *texts, e);
out:
    free(evaluations);
    free(sums);
    return status;
}

/* Compares line by line. */
static int check_settings(const struct cc_checkpoint_file *f, const char *here, struct cc_error *e)
{
    const char *there = cc_checkpoint_text(f, "settings", e);
    int status = CC_OK;
    if (there == NULL)
        return CC_FAIL;
    const char *a = there, *b = here;
    while (status == CC_OK && (*a != '\0' || *b != '\0')) {
        const size_t m = strcspn(a, "\n"), n = strcspn(b, "\n");
        if (m != n || memcmp(a, b, n) != 0)
            status = cc_fail(e,
                             "%s: it is the checkpoint of another training, with '%.*s' and not "
                             "'%.*s'; give the same options, or another --checkpoint folder",
                             f->path, (int)(m < 200 ? m : 200), a, (int)(n < 200 ? n : 200), b);
        a += m + (a[m] == '\n');
        b += n + (b[n] == '\n');
    }
    return status;
}

/* Adds this program's version to those of a checkpoint, separated by commas; "" if it is alone. */
static void add_version(const char *there, char *out, size_t size)
{
    const char *own = cc_version();
    const size_t n = strlen(own);
    if (there == NULL || strcmp(there, own) == 0)
        return;
    for (const char *p = there; p != NULL; p = strchr(p, ',')) {
        p += strspn(p, ", ");
        if (strcspn(p, ",") == n && memcmp(p, own, n) == 0) {
            (void)snprintf(out, size, "%s", there);
            return;
        }
    }
    (void)snprintf(out, size, "%s, %s", there, own);
}

int cc_training_log_read(const struct cc_checkpoint_file *f, const char *settings, size_t steps,
                         struct cc_training_log *out, struct cc_error *e)
{
    CC_TRY(check_settings(f, settings, e));
    const char *step = cc_checkpoint_text(f, "step", e);
    const char *evaluations = step != NULL ? cc_checkpoint_text(f, "evaluations", e) : NULL;
    const char *sums = evaluations != NULL ? cc_checkpoint_text(f, "sums", e) : NULL;
    double *number[MOST_NUMBERS];
    if (sums == NULL)
        return CC_FAIL;
    out->step = strtoull(step, NULL, 10);
    add_version(cc_contents_meta(&f->contents, "version"), out->version, sizeof out->version);
    while (*evaluations != '\0') {
        struct cc_evaluation v = {0};
        if (!get_numbers(&evaluations, &v.step, number, members(&v, number)))
            return cc_fail(e, "%s: its evaluation %zu cannot be read", f->path, out->evals + 1);
        CC_TRY(cc_training_log_add(out, &v, e));
    }
    if (out->step > steps || !get_numbers(&sums, &out->since, number, running(out, number)))
        return cc_fail(e, "%s: its step or its sums cannot be read", f->path);
    return CC_OK;
}
