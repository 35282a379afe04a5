/* Checkpoints of trainings. The arrays are the workers' parameters, the server's, the optimizer's
 * state, running statistics, the residual that is measured, and the states of all codecs; the texts
 * are the settings, a line each, the step, the evaluations until then, a line each, and the sums
 * since the last one. Numbers are in hexadecimal, so that none of their bits is lost. The order of
 * the samples and random numbers follow from seed and step, and need no state. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "core/format/crc32.h"
#include "core/format/json.h"
#include "core/memory.h"
#include "core/memory_text.h"
#include "netsim/inprocess/checkpoint.h"
#include "netsim/inprocess/training_impl.h"

/* --- texts --- */

enum { MOST_NUMBERS = 24 };

/* The numbers of an evaluation, without its step. */
static size_t members(struct cc_evaluation *v, double *out[MOST_NUMBERS])
{
    double *const all[] = {&v->train_loss,      &v->loss,       &v->accuracy,      &v->worker_loss,
                           &v->worker_accuracy, &v->push_bytes, &v->pull_bytes,    &v->encode_s,
                           &v->hop_s,           &v->server_s,   &v->decode_s,      &v->compute_s,
                           &v->update_s,        &v->residual,   &v->pull_residual, &v->wall_s};
    memcpy(out, all, sizeof all);
    return sizeof all / sizeof *all;
}

/* The numbers of a training since its last evaluation: its sums, and the evaluation's members. */
static size_t running(struct cc_training *s, double *out[MOST_NUMBERS])
{
    double *const all[] = {&s->wall_s, &s->unsent.total_sq, &s->unsent.gradient_sq, &s->behind_sq,
                           &s->delta_sq};
    const size_t n = members(&s->sum, out);
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
    const size_t values = s->count * cc_data_values(d);
    const uint32_t crc = cc_crc32(0, s->label, s->count * sizeof *s->label);
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

static void put_learner_settings(FILE *f, const struct cc_optimizer *o,
                                 const struct cc_rate_schedule *r)
{
    (void)fprintf(f, "optimizer %s\n", o->nesterov ? "nesterov" : cc_optimizer_names[o->kind]);
    put_float(f, "momentum", o->momentum);
    put_float(f, "weight decay", o->decay);
    put_float(f, "beta 1", o->beta[0]);
    put_float(f, "beta 2", o->beta[1]);
    put_float(f, "epsilon", o->small);
    put_double(f, "rate", r->rate);
    (void)fprintf(f, "schedule %s\n", cc_rate_names[r->kind]);
    put_double(f, "last rate of cosine", r->last);
    put_double(f, "factor of step", r->factor);
    (void)fprintf(f, "steps of the schedule %" PRIu64 "\nwarmup %" PRIu64 "\n", r->steps,
                  r->warmup);
}

/* All that decides the weights, a line each, which check_settings shows. */
static void put_settings(FILE *f, const struct cc_training *s)
{
    const struct cc_training_config *c = s->config;
    const struct cc_task_config *t = &c->task;
    (void)fprintf(f,
                  "scheme %s\npull scheme %s\nexchange %s\nmode %s\nservers %d\ndense-bits %d\nvia "
                  "%s\npull %s\n",
                  c->spec->name, c->pull->name, cc_exchange_names[c->exchange],
                  cc_step_names[c->mode], c->servers, c->dense_bits, cc_via_names[c->via],
                  c->deltas ? "delta" : "mean");
    (void)fprintf(f, "net %s\ninput %zux%zu\nmin-size %zu\nseed %" PRIu64 "\n", t->net, t->height,
                  t->width, c->min_size, t->seed);
    (void)fprintf(f, "workers %zu\nbatch %zu\nflip %s\nshift %zu\n", t->workers, t->batch,
                  t->flip ? "yes" : "no", t->shift);
    if (t->by_class > 0)
        (void)fprintf(f, "shards by-class:%zu\n", t->by_class);
    else
        (void)fprintf(f, "shards iid\n");
    (void)fprintf(f, "steps %zu\nevaluations every %zu steps\n", c->steps, c->eval_every);
    put_learner_settings(f, &c->optimizer, &c->rate);
    (void)fprintf(f, "training samples crc32:%08" PRIx32 "\ntest samples crc32:%08" PRIx32 "\n",
                  crc_of(t->data, &t->data->train), crc_of(t->data, &t->data->test));
}

static int print_settings(const struct cc_training *s, char **out, struct cc_error *e)
{
    static const char what[] = "a training's settings";
    struct cc_memory_text t;
    CC_TRY(cc_memory_text_begin(&t, what, e));
    put_settings(t.f, s);
    CC_TRY(cc_memory_text_end(&t, what, e));
    *out = t.text;
    return CC_OK;
}

static int print_evaluations(struct cc_training *s, char **out, struct cc_error *e)
{
    static const char what[] = "a training's evaluations";
    struct cc_memory_text t;
    double *number[MOST_NUMBERS];
    CC_TRY(cc_memory_text_begin(&t, what, e));
    for (size_t i = 0; i < s->out->evals; i++)
        put_numbers(t.f, s->out->eval[i].step, number, members(&s->out->eval[i], number));
    CC_TRY(cc_memory_text_end(&t, what, e));
    *out = t.text;
    return CC_OK;
}

static int print_running(struct cc_training *s, char **out, struct cc_error *e)
{
    static const char what[] = "a training's sums";
    struct cc_memory_text t;
    double *number[MOST_NUMBERS];
    CC_TRY(cc_memory_text_begin(&t, what, e));
    put_numbers(t.f, s->since, number, running(s, number));
    CC_TRY(cc_memory_text_end(&t, what, e));
    *out = t.text;
    return CC_OK;
}

/* --- arrays --- */

/* The parameters of a copy, tensor by tensor. */
static int add_parameters(const struct cc_training *s, const char *copy, float *values,
                          struct cc_checkpoint *c, struct cc_error *e)
{
    const struct cc_model_layout *l = s->layout;
    for (size_t i = 0; i < l->count; i++)
        CC_TRY(cc_checkpoint_add(c, l->tensors[i].shape, values + l->offset[i], e, "%s.%s", copy,
                                 l->tensors[i].name));
    return CC_OK;
}

static int add_states(const struct cc_training *s, struct cc_checkpoint *c, struct cc_error *e)
{
    struct cc_pack_state state;
    for (size_t k = 0; k < cc_inprocess_packs(s->exchange); k++)
        for (size_t i = 0; cc_pack_state(cc_inprocess_pack_at(s->exchange, k), i, &state); i++)
            CC_TRY(cc_checkpoint_add(c, cc_shape_flat(state.count), state.value, e,
                                     "codec.%zu.%s.%zu", k, s->job.tensor[state.slice.tensor].name,
                                     state.slice.begin));
    return CC_OK;
}

static int list_arrays(const struct cc_training *s, struct cc_checkpoint *c, struct cc_error *e)
{
    const size_t stats = s->config->task.workers * s->layout->stats;
    const size_t optimizer = cc_optimizer_state(&s->config->optimizer, s->values);
    CC_TRY(add_parameters(s, "weights", s->weights, c, e));
    if (s->server != NULL)
        CC_TRY(add_parameters(s, "server", s->server, c, e));
    CC_TRY(cc_checkpoint_add(c, cc_shape_flat(optimizer), s->learner.state, e, "optimizer"));
    CC_TRY(cc_checkpoint_add(c, cc_shape_flat(stats), s->worker_stats, e, "statistics"));
    if (s->measures_push)
        CC_TRY(cc_checkpoint_add(c, cc_shape_flat(s->values), s->unsent.total, e, "unsent"));
    return add_states(s, c, e);
}

/* --- saving and loading --- */

int cc_training_save(struct cc_training *s, struct cc_error *e)
{
    struct cc_checkpoint c = {0};
    char *settings = NULL, *evaluations = NULL, *sums = NULL, step[24];
    int status = CC_OK;
    CC_TRY_OUT(list_arrays(s, &c, e));
    CC_TRY_OUT(print_settings(s, &settings, e));
    CC_TRY_OUT(print_evaluations(s, &evaluations, e));
    CC_TRY_OUT(print_running(s, &sums, e));
    (void)snprintf(step, sizeof step, "%" PRIu64, s->step);
    const struct cc_pair texts[] = {
        {"settings", settings}, {"step", step}, {"evaluations", evaluations}, {"sums", sums}};
    CC_TRY_OUT(
        cc_checkpoint_write(&c, s->config->checkpoint, texts, sizeof texts / sizeof *texts, e));
    s->saved = s->step;
out:
    free(settings);
    free(evaluations);
    free(sums);
    cc_checkpoint_free(&c);
    return status;
}

/* Compares line by line. */
static int check_settings(const struct cc_training *s, const struct cc_checkpoint_file *f,
                          struct cc_error *e)
{
    const char *there = cc_checkpoint_text(f, "settings", e);
    char *here = NULL;
    int status = CC_OK;
    if (there == NULL)
        return CC_FAIL;
    CC_TRY(print_settings(s, &here, e));
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
    free(here);
    return status;
}

static int read_texts(struct cc_training *s, const struct cc_checkpoint_file *f, struct cc_error *e)
{
    struct cc_training_result *t = s->out;
    const char *step = cc_checkpoint_text(f, "step", e);
    const char *evaluations = step != NULL ? cc_checkpoint_text(f, "evaluations", e) : NULL;
    const char *sums = evaluations != NULL ? cc_checkpoint_text(f, "sums", e) : NULL;
    double *number[MOST_NUMBERS];
    if (sums == NULL)
        return CC_FAIL;
    s->step = strtoull(step, NULL, 10);
    while (*evaluations != '\0') {
        struct cc_evaluation v = {0};
        if (!get_numbers(&evaluations, &v.step, number, members(&v, number)))
            return cc_fail(e, "%s: its evaluation %zu cannot be read", f->path, t->evals + 1);
        CC_TRY(cc_grow((void **)&t->eval, &t->capacity, t->evals + 1, sizeof *t->eval, e));
        t->eval[t->evals++] = v;
    }
    if (s->step > s->config->steps || !get_numbers(&sums, &s->since, number, running(s, number)))
        return cc_fail(e, "%s: its step or its sums cannot be read", f->path);
    return CC_OK;
}

static int load(struct cc_training *s, const struct cc_checkpoint_file *f, struct cc_error *e)
{
    struct cc_checkpoint c = {0};
    int status = CC_OK;
    CC_TRY(check_settings(s, f, e));
    CC_TRY_OUT(list_arrays(s, &c, e));
    CC_TRY_OUT(cc_checkpoint_load(f, &c, e));
    CC_TRY_OUT(read_texts(s, f, e));
    s->saved = s->step;
out:
    cc_checkpoint_free(&c);
    return status;
}

int cc_training_load(struct cc_training *s, struct cc_error *e)
{
    struct cc_checkpoint_file f;
    struct stat st;
    if (stat(s->config->checkpoint, &st) != 0 && errno == ENOENT)
        return CC_OK;
    CC_TRY(cc_checkpoint_open(s->config->checkpoint, &f, e));
    const int status = load(s, &f, e);
    cc_checkpoint_close(&f);
    return status;
}
