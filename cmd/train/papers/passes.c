/* A recipe with "passes", as --paper sparcml-table2: the time of a pass over the samples, dense
 * against sparse, with the paper's numbers beside.
 *
 * Rows are drawn in the shape of the paper's data sets, a batch for each of 16 workers. This
 * machine measures the time of a worker's gradient and of the codec; the gradients' non-zeros are
 * counted, and how many of them workers have in common. From these the formulas of `model` give the
 * time of a step over the links of the paper's clusters, and a pass is as many steps as the paper's
 * has. For coordinate descent, whose columns grow with the number of samples, the time of a worker
 * is measured with two numbers of samples, and the line through both followed to all of them.
 *
 * A recipe changes one thing at a time:
 *
 *   "dense"      the rates that dense exchanges reach over each link, by the table's fit
 *   "computing"  the times are the paper's; in descent that many seconds a pass
 *   "codec"      over each link, nanoseconds for each value of the vector, or a constant of the
 *                table, in place of this machine's codec, which 0 keeps; not in descent */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/train/papers/papers.h"
#include "cmd/train/plan/plan.h"
#include "cmd/train/rows/rows.h"
#include "core/clock.h"
#include "core/memory.h"
#include "models/paper/paper.h"
#include "schemes/codec_set.h"

/* SCD_DATA: the data set of coordinate descent, which is drawn once more with SCD_TIMES the
 * samples.
 */
enum {
    DRAWN = CC_UNION_WORKERS,
    TIMES = 3,
    SCD_DATA = 1,
    SCD_TIMES = 20,
    SCD_STEPS = 20,
    MOST_BATCH = 1 << 16
};

/* Times of a payload's pairs; add: onto a sum. */
struct codec_times {
    double encode_s, decode_s, add_s;
};

/* A data set as drawn, and this machine's times with it. */
struct measured {
    const char *name;
    double samples; /* the paper's */
    struct cc_data *data;
    double compute_s[2]; /* time of a gradient, by net: logreg, svm */
    double scd_s;        /* time of a worker's coordinates, with all samples; 0: not measured */
    double update_s;
    struct codec_times codec, scd_codec; /* of a gradient, and of a step of descent */
    double reduce_byte_s;                /* adding floats */
    double pairs;
    struct cc_unions unions;
};

struct table {
    struct cc_train train; /* its options, and fp32 */
    struct cc_spec *pairs;
    struct cc_paper *paper;
    /* By the numbers that the table's rows have: */
    struct cc_link link[CC_RECIPE_LINKS], dense[CC_RECIPE_LINKS]; /* dense: of dense exchanges */
    struct measured of[CC_RECIPE_DATA];
    double codec_ns[CC_RECIPE_LINKS]; /* NaN: as measured */
    bool dense_fitted;                /* adding is part of rates that are fitted */
    double computing_s; /* of a pass of descent, where the paper's times hold; else NaN */
};

/* --- measuring --- */

static struct cc_task_config task_of(const struct table *t, const struct measured *m,
                                     const char *net, size_t workers, size_t coordinates)
{
    return (struct cc_task_config){.net = net,
                                   .data = m->data,
                                   .workers = workers,
                                   .batch = t->train.options.training.task.batch,
                                   .seed = t->train.options.seed,
                                   .threads = 1,
                                   .coordinates = coordinates};
}

/* The gradients of all workers, the last one in `gradient`; the least time that one took. */
static int measure_gradients(const struct table *t, struct measured *m, int net, const float *zeros,
                             float *gradient, struct cc_error *e)
{
    const struct cc_task_config config = task_of(t, m, net == 0 ? "logreg" : "svm", DRAWN, 0);
    const size_t n = m->data->channels;
    struct cc_task *task;
    uint64_t *set;
    CC_TRY(CC_NEW(set, (n + 63) / 64, e));
    int status = cc_task_open(&config, &task, e);
    for (size_t i = 0; i < DRAWN && status == CC_OK; i++) {
        const double since = cc_thread_now();
        (void)cc_task_gradient(task, 0, i, zeros, NULL, gradient);
        const double seconds = cc_thread_now() - since;
        m->compute_s[net] = i == 0 ? seconds : fmin(m->compute_s[net], seconds);
        if (net == 0)
            cc_unions_take(set, gradient, n, i + 1, &m->unions);
    }
    if (status == CC_OK)
        cc_task_close(task);
    free(set);
    return status;
}

/* Encodes, decodes and adds a gradient of n values; the least times, and the number of pairs. */
static int measure_codec(const struct table *t, size_t n, const float *gradient, float *sum,
                         struct codec_times *out, double *pairs, struct cc_error *e)
{
    const struct cc_shape shape = cc_shape_flat(n);
    const struct cc_context ctx = {.seed = t->train.options.seed};
    struct cc_codec_set set = {0};
    int status = CC_OK;
    CC_TRY_OUT(cc_codec_set_init(&set, 1, e));
    set.item[0] = cc_codec_item(t->pairs, &shape);
    CC_TRY_OUT(cc_codec_set_allocate(&set, &cc_memory_in_turn, e));
    *out = (struct codec_times){INFINITY, INFINITY, INFINITY};
    for (int i = 0; i < TIMES; i++) {
        const struct cc_codec_item *c = &set.item[0];
        size_t bytes;
        const double begin = cc_thread_now();
        CC_TRY_OUT(cc_encode(&c->codec, &ctx, gradient, c->payload, c->bound, &bytes, e));
        const double encoded = cc_thread_now();
        CC_TRY_OUT(cc_decode(&c->codec, &ctx, c->payload, bytes, sum, e));
        const double decoded = cc_thread_now();
        CC_TRY_OUT(cc_decode_add(&c->codec, &ctx, c->payload, bytes, 1, sum, e));
        out->encode_s = fmin(out->encode_s, encoded - begin);
        out->decode_s = fmin(out->decode_s, decoded - encoded);
        out->add_s = fmin(out->add_s, cc_thread_now() - decoded);
        *pairs = 8 * (double)bytes / cc_pair_cost(t->pairs->scheme, t->pairs->params).pair_bits;
    }
out:
    cc_codec_set_free(&set);
    return status;
}

/* The update of all parameters, and adding floats; the least times. */
static int measure_update(struct measured *m, const struct cc_net *net, const float *gradient,
                          float *weights, struct cc_error *e)
{
    static const enum cc_tensor_role weight = CC_TENSOR_WEIGHT;
    const size_t n = m->data->channels, offset[] = {0, n};
    const struct cc_model_layout layout = {
        .tensors = net->tensors, .offset = offset, .role = &weight, .count = 1, .values = n};
    const struct cc_optimizer sgd = {.kind = CC_SGD};
    (void)e;
    m->update_s = m->reduce_byte_s = INFINITY;
    for (int i = 0; i < TIMES; i++) {
        const double begin = cc_thread_now();
        cc_optimizer_apply(&sgd, &layout, 0, n, 0.1, 0, gradient, weights, NULL, 1);
        const double updated = cc_thread_now();
        for (size_t k = 0; k < n; k++)
            weights[k] += gradient[k];
        m->update_s = fmin(m->update_s, updated - begin);
        m->reduce_byte_s = fmin(m->reduce_byte_s, (cc_thread_now() - updated) / (4 * (double)n));
    }
    return CC_OK;
}

/* Draws rows in the shape of a data set, `times` those of the workers' batches. */
static int draw(const struct table *t, const char *shape, const char *name, size_t times,
                struct cc_data **out, struct cc_error *e)
{
    char *text;
    CC_TRY(cc_text(&text, e, "synthetic-sparse:train=%zu,test=1,%s,seed=%llu",
                   times * DRAWN * t->train.options.training.task.batch, shape,
                   (unsigned long long)t->train.options.seed));
    int status = cc_data_open_rows(text, out, e);
    if (status != CC_OK) /* a mistake of the recipe's, not CC_USAGE */
        status = cc_status_in(CC_FAIL, e, "\"passes\": \"data\": \"%.60s\"", name);
    free(text);
    return status;
}

/* The mean time of a worker's step of coordinate descent after the first one, in which all rows are
 * multiplied; its last changes are in `gradient`. */
static int measure_scd_steps(const struct table *t, const struct measured *m, float *gradient,
                             float *weights, double *out, struct cc_error *e)
{
    const struct cc_train_options *o = &t->train.options;
    const size_t n = m->data->channels, workers = (size_t)o->cluster.workers[0];
    const struct cc_task_config config = task_of(t, m, "logreg", workers, o->coordinates);
    struct cc_task *task;
    float *mean;
    CC_TRY(cc_alloc_floats(n, &mean, e));
    const int status = cc_task_open(&config, &task, e);
    memset(weights, 0, n * sizeof *weights);
    *out = 0;
    for (size_t step = 0; step <= SCD_STEPS && status == CC_OK; step++) {
        memset(mean, 0, n * sizeof *mean);
        for (size_t i = 0; i < workers; i++) {
            const double since = cc_thread_now();
            (void)cc_task_gradient(task, step, i, weights, NULL, gradient);
            if (step > 0 && i == 0)
                *out += (cc_thread_now() - since) / SCD_STEPS;
            for (size_t k = 0; k < n; k++)
                mean[k] += gradient[k] / (float)workers;
        }
        for (size_t k = 0; k < n; k++)
            weights[k] -= mean[k];
    }
    if (status == CC_OK)
        cc_task_close(task);
    free(mean);
    return status;
}

/* A worker's step of coordinate descent with all samples, and the codec of its changes. Clearing
 * the gradient and reaching the coordinates take as long whatever the number of samples. */
static int measure_scd(const struct table *t, const char *shape, struct measured *m,
                       float *gradient, float *weights, struct cc_error *e)
{
    const size_t workers = (size_t)t->train.options.cluster.workers[0];
    struct measured more = {.name = m->name};
    double few_s, more_s, pairs;
    CC_TRY(cc_train_check_coordinates(t->train.options.coordinates, m->data->channels, workers, e));
    CC_TRY(measure_scd_steps(t, m, gradient, weights, &few_s, e));
    CC_TRY(measure_codec(t, m->data->channels, gradient, weights, &m->scd_codec, &pairs, e));
    CC_TRY(draw(t, shape, m->name, SCD_TIMES, &more.data, e));
    const int status = measure_scd_steps(t, &more, gradient, weights, &more_s, e);
    const double few = (double)m->data->train.count, many = (double)more.data->train.count;
    if (status == CC_OK)
        m->scd_s = few_s + fmax(0, more_s - few_s) / (many - few) * (m->samples - few);
    cc_data_free(more.data);
    return status;
}

static int measure(const struct table *t, const char *shape, struct measured *m, struct cc_error *e)
{
    float *gradient = NULL, *weights = NULL;
    struct cc_net *net = NULL;
    int status = CC_OK;
    CC_TRY(draw(t, shape, m->name, 1, &m->data, e));
    CC_TRY_OUT(cc_net_flat("logreg", m->data->channels, &net, e));
    CC_TRY_OUT(cc_alloc_floats(m->data->channels, &gradient, e));
    CC_TRY_OUT(cc_alloc_floats(m->data->channels, &weights, e));
    CC_TRY_OUT(measure_gradients(t, m, 1, weights, gradient, e));
    CC_TRY_OUT(measure_gradients(t, m, 0, weights, gradient, e));
    CC_TRY_OUT(measure_codec(t, m->data->channels, gradient, weights, &m->codec, &m->pairs, e));
    CC_TRY_OUT(measure_update(m, net, gradient, weights, e));
    if (m == &t->of[SCD_DATA])
        CC_TRY_OUT(measure_scd(t, shape, m, gradient, weights, e));
out:
    cc_net_free(net);
    free(gradient);
    free(weights);
    return status;
}

/* --- predicting --- */

/* A line of the table: how a pass is exchanged. */
struct line {
    const char *name, *net;
    const struct measured *m;
    const struct codec_times *codec;
    const struct cc_spec *spec;
    const struct cc_link *link;
    enum cc_exchange exchange;
    int workers;
    double batch, compute_s, update_s, bits, steps; /* bits: of a payload, per value */
    double reduce_byte_s;
    double printed_s, printed_comm_s, printed_speedup; /* NaN: none here */
};

static int predict(const struct line *l, struct cc_prediction *out, struct cc_error *e)
{
    const struct measured *m = l->m;
    const double n = (double)m->data->channels;
    const bool dense = cc_spec_is_raw(l->spec);
    struct cc_codec_model model = cc_codec_model_given(
        l->spec->name, cc_reduction(l->spec->scheme, l->spec->params), l->bits,
        dense ? 0 : 1e9 * l->codec->encode_s / n, dense ? 0 : 1e9 * l->codec->decode_s / n,
        dense ? 0 : 1e9 * l->codec->add_s / n);
    const struct cc_codec_model floats = model;
    struct cc_step_payloads payloads = {0};
    struct cc_predictor predictor = {0};
    struct cc_setting setting;
    struct cc_net *net = NULL;
    int status = CC_OK;
    model.verbatim = dense;
    CC_TRY_OUT(cc_net_flat(l->net, m->data->channels, &net, e));
    cc_setting_defaults(net, &setting);
    setting.link = *l->link;
    setting.exchange = l->exchange;
    setting.cluster.workers = l->workers;
    setting.cluster.overlap = CC_UNION_MEASURED;
    setting.cluster.reduce_byte_s = l->reduce_byte_s;
    setting.timing.compute_s = l->compute_s;
    setting.timing.update_s = l->update_s;
    CC_TRY_OUT(cc_step_payloads_make(net, &model, &floats, NULL, &payloads, e));
    payloads.unions = m->unions;
    CC_TRY_OUT(cc_predict(&predictor, &setting, &payloads, out, e));
out:
    cc_step_payloads_free(&payloads);
    cc_predictor_free(&predictor);
    cc_net_free(net);
    return status;
}

/* --- rows --- */

static int add_line(struct cc_record *r, const struct line *l, const struct cc_prediction *s,
                    double dense_s, struct cc_error *e)
{
    const double pass_s = l->steps * s->step_s;
    const struct cc_number_column all[] = {
        {CC_KEY(values), (double)l->m->data->channels},
        {CC_KEY(workers), l->workers},
        {CC_KEY(batch), l->batch},
        {CC_KEY(bw_bps), l->link->bw_bps},
        {CC_KEY(latency_s), l->link->latency_s},
        {CC_KEY(payload_bytes), s->payload_bytes},
        {CC_KEY(bits_per_value), s->bits_push},
        {CC_KEY(ratio), 32 / s->bits_push},
        {CC_KEY(bits_push), s->bits_push},
        {CC_KEY(compute_s), s->compute_s},
        {CC_KEY(codec_s), s->codec_s},
        {CC_KEY(comm_s), s->comm_s},
        {CC_KEY(step_s), s->step_s},
        {CC_KEY(pass_s), pass_s},
        {CC_KEY(pass_paper_s), l->printed_s},
        {CC_KEY(pass_comm_s), l->steps * (s->codec_s + s->comm_s)},
        {CC_KEY(pass_comm_paper_s), l->printed_comm_s},
        {CC_KEY(speedup), l->steps * dense_s / pass_s},
        {CC_KEY(speedup_paper), l->printed_speedup},
        {CC_KEY(time_s), pass_s}};
    const struct cc_text_column texts[] = {{CC_KEY(row_paper), l->name},
                                           {CC_KEY(scheme), l->spec->name},
                                           {CC_KEY(net), l->net},
                                           {CC_KEY(data), l->m->data->name},
                                           {CC_KEY(exchange), cc_exchange_names[l->exchange]},
                                           {CC_KEY(kind), "pass"}};
    size_t row;
    CC_TRY(cc_record_add(r, &row, e));
    cc_record_numbers(r, row, all, sizeof all / sizeof all[0]);
    CC_TRY(cc_record_texts(r, row, texts, sizeof texts / sizeof texts[0], e));
    return cc_train_put_clock(r, row, "model", e);
}

/* The dense and the sparse line of a row. */
static int add_pair(const struct table *t, const struct line *dense, const struct line *sparse,
                    struct cc_error *e)
{
    struct cc_prediction of_dense, of_sparse;
    CC_TRY(predict(dense, &of_dense, e));
    CC_TRY(predict(sparse, &of_sparse, e));
    CC_TRY(add_line(t->train.record, dense, &of_dense, of_dense.step_s, e));
    return add_line(t->train.record, sparse, &of_sparse, of_dense.step_s, e);
}

static double input_of(const struct cc_paper_row *row, const char *name)
{
    for (size_t i = 0; i < row->inputs.count; i++)
        if (strcmp(row->inputs.item[i].name, name) == 0)
            return row->inputs.item[i].value;
    return NAN;
}

/* A row of the paper's table: Rabenseifner's allreduce against the sparse one that it names. */
static int add_row(const struct table *t, const struct cc_paper_row *row, struct cc_error *e)
{
    const int svm = strstr(row->name, "SVM") != NULL;
    const struct measured *m = &t->of[(size_t)input_of(row, "dataset")];
    const double compute_s = input_of(row, "compute_s"), workers = input_of(row, "workers");
    const double batch = (double)t->train.options.training.task.batch;
    const double steps = m->samples / (batch * workers);
    const size_t network = (size_t)input_of(row, "network");
    const bool paper_computes = !isnan(t->computing_s);
    const struct line dense = {.name = row->name,
                               .net = svm ? "svm" : "logreg",
                               .m = m,
                               .codec = &m->codec,
                               .spec = t->train.raw,
                               .link = &t->dense[network],
                               .exchange = CC_RABENSEIFNER,
                               .workers = (int)workers,
                               .batch = batch,
                               .compute_s = paper_computes ? compute_s / steps : m->compute_s[svm],
                               .update_s = paper_computes ? 0 : m->update_s,
                               .bits = 32,
                               .steps = steps,
                               .reduce_byte_s = t->dense_fitted ? 0 : m->reduce_byte_s,
                               .printed_s = compute_s + row->figure[0],
                               .printed_comm_s = row->figure[0],
                               .printed_speedup = 1};
    const struct codec_times fitted = {.encode_s =
                                           1e-9 * t->codec_ns[network] * (double)m->data->channels};
    struct line sparse = dense;
    sparse.spec = t->pairs;
    sparse.codec = isnan(fitted.encode_s) ? &m->codec : &fitted;
    sparse.link = &t->link[network];
    sparse.reduce_byte_s = m->reduce_byte_s;
    sparse.exchange = input_of(row, "split") > 0 ? CC_SSAR_SPLIT : CC_SSAR_RECDOUBLE;
    sparse.bits = 64 * m->pairs / (double)m->data->channels;
    sparse.printed_s = dense.printed_s / row->figure[3];
    sparse.printed_comm_s = row->figure[1];
    sparse.printed_speedup = row->figure[3];
    return add_pair(t, &dense, &sparse, e);
}

/* Coordinate descent: an allgather of the workers' slices of the parameters, against one of the
 * coordinates that changed. */
static int add_scd(const struct table *t, const char *name, struct cc_error *e)
{
    const struct cc_train_options *o = &t->train.options;
    const struct measured *m = &t->of[SCD_DATA];
    const size_t n = m->data->channels, workers = (size_t)o->cluster.workers[0];
    const size_t steps = n / workers / o->coordinates;
    const bool paper_computes = !isnan(t->computing_s);
    const struct line dense = {.name = name,
                               .net = "logreg",
                               .m = m,
                               .codec = &m->scd_codec,
                               .spec = t->train.raw,
                               .link = &t->dense[0],
                               .exchange = CC_ALLGATHER,
                               .workers = (int)workers,
                               .batch = NAN,
                               .compute_s =
                                   paper_computes ? t->computing_s / (double)steps : m->scd_s,
                               .update_s = paper_computes ? 0 : m->update_s,
                               .reduce_byte_s = m->reduce_byte_s,
                               .bits = 32.0 / (double)workers,
                               .steps = (double)steps,
                               .printed_s = NAN,
                               .printed_comm_s = NAN,
                               .printed_speedup = NAN};
    struct line sparse = dense;
    sparse.spec = t->pairs;
    sparse.link = &t->link[0];
    sparse.bits = 64.0 * (double)o->coordinates / (double)n;
    return add_pair(t, &dense, &sparse, e);
}

/* --- all of it --- */

static int read_options(struct table *t, const cJSON *passes, struct cc_error *e)
{
    struct cc_train_options *o = &t->train.options;
    struct cc_link *link = t->link;
    CC_TRY(cc_train_read_options(t->train.args, o, e));
    for (const cJSON *l = cc_recipe_get(passes, "links")->child; l != NULL; l = l->next)
        CC_TRY(cc_link_parse(l->valuestring, link++, e));
    memcpy(t->dense, t->link, sizeof t->dense);
    o->seed = o->cluster.source.seed;
    return o->training.task.batch <= MOST_BATCH
               ? CC_OK
               : cc_usage(e, "--batch: %zu is not between 1 and %d", o->training.task.batch,
                          MOST_BATCH);
}

/* Measures with the data sets; a set's samples are those that the table's rows on it have. */
static int measure_all(struct table *t, const cJSON *passes, struct cc_error *e)
{
    struct measured *m = t->of;
    for (size_t i = 0; i < t->paper->rows; i++)
        t->of[(size_t)input_of(&t->paper->row[i], "dataset")].samples =
            input_of(&t->paper->row[i], "samples");
    for (const cJSON *d = cc_recipe_get(passes, "data")->child; d != NULL; d = d->next, m++) {
        m->name = d->string;
        CC_TRY(measure(t, d->valuestring, m, e));
    }
    return CC_OK;
}

/* A constant of the paper's table, after its fit. */
static int constant_of(const struct table *t, const char *member, const char *name, double *out,
                       struct cc_error *e)
{
    *out = cc_paper_constant_value(t->paper, name);
    return *out > 0 ? CC_OK
                    : cc_fail(e, "\"passes\": \"%s\": the table %s has no constant \"%.60s\"",
                              member, t->paper->id, name);
}

/* The changes that the recipe makes. */
static int change(struct table *t, const cJSON *passes, struct cc_error *e)
{
    struct cc_link *link = t->dense;
    double *ns = t->codec_ns;
    const cJSON *computing = cc_recipe_get(passes, "computing");
    t->computing_s = computing != NULL ? computing->valuedouble : NAN;
    t->dense_fitted = cc_recipe_get(passes, "dense") != NULL;
    for (size_t i = 0; i < CC_RECIPE_LINKS; i++)
        t->codec_ns[i] = NAN;
    if (t->dense_fitted || cc_recipe_get(passes, "codec") != NULL)
        CC_TRY(cc_paper_solve(t->paper, e));
    for (const cJSON *d = cc_recipe_first(cc_recipe_get(passes, "dense")); d != NULL; d = d->next) {
        CC_TRY(constant_of(t, "dense", d->valuestring, &link->bw_bps, e));
        link++->bw_bps *= 1e9;
    }
    for (const cJSON *c = cc_recipe_first(cc_recipe_get(passes, "codec")); c != NULL; c = c->next) {
        if (cJSON_IsString(c))
            CC_TRY(constant_of(t, "codec", c->valuestring, ns, e));
        else if (c->valuedouble > 0)
            *ns = c->valuedouble;
        ns++;
    }
    return CC_OK;
}

static int add_notes(const struct table *t, struct cc_error *e)
{
    for (const struct measured *m = t->of; m < t->of + CC_RECIPE_DATA; m++)
        CC_TRY(cc_record_note(t->train.record, e,
                              "%s: a gradient of %zu rows has %.4g non-zeros, those of %d workers "
                              "together %.4g; computing it takes %.3g s on this machine",
                              m->name, t->train.options.training.task.batch, m->unions.size[0],
                              DRAWN, m->unions.size[m->unions.points - 1], m->compute_s[0]));
    return CC_OK;
}

int cc_train_passes(struct cc_args *args, struct cc_error *e)
{
    const cJSON *passes = args->recipe->passes;
    struct table t = {.train = {.args = args, .record = &args->record}};
    int status = CC_OK;
    CC_TRY_OUT(read_options(&t, passes, e));
    CC_TRY_OUT(cc_paper_open("sparcml-table2", &t.paper, e));
    CC_TRY_OUT(change(&t, passes, e));
    CC_TRY_OUT(cc_spec_parse(CC_RAW_SCHEME, &t.train.raw, e));
    CC_TRY_OUT(cc_spec_parse("pairs", &t.pairs, e));
    CC_TRY_OUT(measure_all(&t, passes, e));
    for (size_t i = 0; i < t.paper->rows; i++)
        CC_TRY_OUT(add_row(&t, &t.paper->row[i], e));
    CC_TRY_OUT(add_scd(&t, cc_recipe_text(passes, "descent"), e));
    status = add_notes(&t, e);
out:
    for (size_t i = 0; i < CC_RECIPE_DATA; i++)
        cc_data_free(t.of[i].data);
    cc_paper_free(t.paper);
    cc_spec_free(t.pairs);
    cc_train_close(&t.train);
    return status;
}
