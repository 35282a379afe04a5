/* --paper sparcml-table2: the time of a pass over the samples as in SparCML's Table 2, dense
 * against sparse, with the paper's numbers beside.
 *
 * Rows are drawn in the shape of the paper's data sets (synthetic-sparse), a batch for each of 16
 * workers. This machine measures the time of a worker's gradient and of the codec; the gradients'
 * non-zeros are counted, and how many of them workers have in common. From these the formulas of
 * `model` give the time of a step over the links of the paper's clusters, and a pass is as many
 * steps as the paper's has. For coordinate descent, whose columns grow with the number of samples,
 * the time of a worker is scaled to all of them. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/train/papers/papers.h"
#include "cmd/train/rows/rows.h"
#include "core/clock.h"
#include "core/memory.h"
#include "models/paper/paper.h"
#include "schemes/codec_set.h"

enum { DRAWN = CC_UNION_WORKERS, SCD_WORKERS = 8, COORDINATES = 100, TIMES = 3 };

/* The shape of a data set, as the paper's Table 1 and LIBSVM's page have it. */
struct shape {
    const char *name;
    size_t features, nonzeros; /* the mean of a row */
    double samples;
};
static const struct shape shapes[] = {{"Webspam", 16609143, 3728, 350000},
                                      {"URL", 3231961, 115, 2396130}};

/* The networks by the number that the table's rows have. */
static const char *const networks[] = {"sparcml-daint", "sparcml-daint", "sparcml-greina-ib",
                                       "sparcml-greina-ge"};

/* The paper's text on coordinate descent: seconds of a pass, and of its communication. */
static const double scd_printed[2][2] = {{49, 24}, {26, 4.5}};

/* A data set as drawn, and this machine's times with it. */
struct measured {
    struct cc_data *data;
    double compute_s[2]; /* time of a gradient, by net: logreg, svm */
    double scd_s;        /* time of a worker's coordinates, with all samples; 0: not measured */
    double update_s;
    double encode_s, decode_s, add_s; /* times of a gradient's pairs; add: onto a sum */
    double reduce_byte_s;             /* adding floats */
    double pairs;
    struct cc_unions unions;
};

struct table {
    struct cc_args *args;
    struct cc_spec *pairs, *raw;
    struct cc_paper *paper;
    size_t batch;
    uint64_t seed;
    struct measured of[2]; /* by shape */
};

/* --- measuring --- */

static struct cc_task_config task_of(const struct table *t, const struct measured *m,
                                     const char *net, size_t workers, size_t coordinates)
{
    return (struct cc_task_config){.net = net,
                                   .data = m->data,
                                   .workers = workers,
                                   .batch = t->batch,
                                   .seed = t->seed,
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
    uint64_t *set = cc_alloc0((n + 63) / 64 * sizeof *set, e);
    if (set == NULL)
        return CC_FAIL;
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

/* Encodes, decodes and adds a gradient; the least times. */
static int measure_codec(const struct table *t, struct measured *m, const float *gradient,
                         float *sum, struct cc_error *e)
{
    const struct cc_shape shape = cc_shape_flat(m->data->channels);
    const struct cc_context ctx = {.seed = t->seed};
    struct cc_codec_set set = {0};
    int status = CC_OK;
    CC_TRY_OUT(cc_codec_set_init(&set, 1, e));
    set.item[0] = cc_codec_item(t->pairs, &shape);
    CC_TRY_OUT(cc_codec_set_allocate(&set, &cc_memory_in_turn, e));
    m->encode_s = m->decode_s = m->add_s = INFINITY;
    for (int i = 0; i < TIMES; i++) {
        const struct cc_codec_item *c = &set.item[0];
        size_t bytes;
        const double begin = cc_thread_now();
        CC_TRY_OUT(cc_encode(&c->codec, &ctx, gradient, c->payload, c->bound, &bytes, e));
        const double encoded = cc_thread_now();
        CC_TRY_OUT(cc_decode(&c->codec, &ctx, c->payload, bytes, sum, e));
        const double decoded = cc_thread_now();
        CC_TRY_OUT(cc_decode_add(&c->codec, &ctx, c->payload, bytes, 1, sum, e));
        m->encode_s = fmin(m->encode_s, encoded - begin);
        m->decode_s = fmin(m->decode_s, decoded - encoded);
        m->add_s = fmin(m->add_s, cc_thread_now() - decoded);
        m->pairs = 8 * (double)bytes / cc_pair_cost(t->pairs->scheme, t->pairs->params).pair_bits;
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

/* A worker's step of coordinate descent: the least time after the first step, in which all rows
 * are multiplied. But for clearing the gradient, it is in proportion to the samples. */
static int measure_scd(const struct table *t, struct measured *m, double samples, float *gradient,
                       float *weights, struct cc_error *e)
{
    const struct cc_task_config config = task_of(t, m, "logreg", SCD_WORKERS, COORDINATES);
    const size_t n = m->data->channels;
    struct cc_task *task;
    float *mean;
    double least = INFINITY;
    CC_TRY(cc_alloc_floats(n, &mean, e));
    int status = cc_task_open(&config, &task, e);
    memset(weights, 0, n * sizeof *weights);
    for (size_t step = 0; step <= TIMES && status == CC_OK; step++) {
        memset(mean, 0, n * sizeof *mean);
        for (size_t i = 0; i < SCD_WORKERS; i++) {
            const double since = cc_thread_now();
            (void)cc_task_gradient(task, step, i, weights, NULL, gradient);
            if (step > 0 && i == 0)
                least = fmin(least, cc_thread_now() - since);
            for (size_t k = 0; k < n; k++)
                mean[k] += gradient[k] / SCD_WORKERS;
        }
        for (size_t k = 0; k < n; k++)
            weights[k] -= mean[k];
    }
    const double since = cc_thread_now();
    memset(gradient, 0, n * sizeof *gradient);
    const double clear_s = fmin(least, cc_thread_now() - since);
    m->scd_s = clear_s + (least - clear_s) * samples / (double)m->data->train.count;
    if (status == CC_OK)
        cc_task_close(task);
    free(mean);
    return status;
}

static int measure(struct table *t, const struct shape *s, struct measured *m, struct cc_error *e)
{
    char text[160];
    float *gradient = NULL, *weights = NULL;
    struct cc_net *net = NULL;
    int status = CC_OK;
    (void)snprintf(text, sizeof text,
                   "synthetic-sparse:train=%zu,test=1,features=%zu,nonzeros=%zu,seed=%llu",
                   DRAWN * t->batch, s->features, s->nonzeros, (unsigned long long)t->seed);
    CC_TRY_OUT(cc_data_open_rows(text, &m->data, e));
    CC_TRY_OUT(cc_net_flat("logreg", s->features, &net, e));
    CC_TRY_OUT(cc_alloc_floats(s->features, &gradient, e));
    CC_TRY_OUT(cc_alloc_floats(s->features, &weights, e));
    CC_TRY_OUT(measure_gradients(t, m, 1, weights, gradient, e));
    CC_TRY_OUT(measure_gradients(t, m, 0, weights, gradient, e));
    CC_TRY_OUT(measure_codec(t, m, gradient, weights, e));
    CC_TRY_OUT(measure_update(m, net, gradient, weights, e));
    if (s == &shapes[1])
        CC_TRY_OUT(measure_scd(t, m, s->samples, gradient, weights, e));
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
    const struct shape *shape;
    const struct measured *m;
    const struct cc_spec *spec;
    enum cc_exchange exchange;
    int workers, network;
    double compute_s, bits, steps;                     /* bits: of a payload, per value */
    double printed_s, printed_comm_s, printed_speedup; /* NaN: none */
};

struct predicted {
    struct cc_prediction step;
    double pass_s, comm_s;
    struct cc_link link;
};

static int predict(const struct line *l, struct predicted *out, struct cc_error *e)
{
    const double n = (double)l->shape->features;
    const bool dense = cc_spec_is_raw(l->spec);
    const struct measured *m = l->m;
    struct cc_codec_model model =
        cc_codec_model_given(l->spec->name, cc_reduction(l->spec->scheme, l->spec->params), l->bits,
                             dense ? 0 : 1e9 * m->encode_s / n, dense ? 0 : 1e9 * m->decode_s / n,
                             dense ? 0 : 1e9 * m->add_s / n);
    const struct cc_codec_model floats = model;
    struct cc_step_payloads payloads = {0};
    struct cc_predictor predictor = {0};
    struct cc_setting setting;
    struct cc_net *net = NULL;
    int status = CC_OK;
    model.verbatim = dense;
    CC_TRY_OUT(cc_net_flat(l->net, l->shape->features, &net, e));
    cc_setting_defaults(net, &setting);
    CC_TRY_OUT(cc_link_parse(networks[l->network], &setting.link, e));
    setting.exchange = l->exchange;
    setting.cluster.workers = l->workers;
    setting.cluster.overlap = CC_UNION_MEASURED;
    setting.cluster.reduce_byte_s = m->reduce_byte_s;
    setting.timing.compute_s = l->compute_s;
    setting.timing.update_s = m->update_s;
    CC_TRY_OUT(cc_step_payloads_make(net, &model, &floats, NULL, &payloads, e));
    payloads.unions = m->unions;
    CC_TRY_OUT(cc_predict(&predictor, &setting, &payloads, &out->step, e));
    out->link = setting.link;
    out->pass_s = l->steps * out->step.step_s;
    out->comm_s = l->steps * (out->step.codec_s + out->step.comm_s);
out:
    cc_step_payloads_free(&payloads);
    cc_predictor_free(&predictor);
    cc_net_free(net);
    return status;
}

/* --- rows --- */

static int add_line(const struct table *t, const struct line *l, const struct predicted *p,
                    const struct predicted *dense, double batch, struct cc_error *e)
{
    struct cc_record *r = &t->args->record;
    const struct cc_prediction *s = &p->step;
    const struct cc_number_column all[] = {{CC_KEY(values), (double)l->shape->features},
                                           {CC_KEY(workers), l->workers},
                                           {CC_KEY(batch), batch},
                                           {CC_KEY(bw_bps), p->link.bw_bps},
                                           {CC_KEY(latency_s), p->link.latency_s},
                                           {CC_KEY(payload_bytes), s->payload_bytes},
                                           {CC_KEY(bits_per_value), s->bits_push},
                                           {CC_KEY(ratio), 32 / s->bits_push},
                                           {CC_KEY(bits_push), s->bits_push},
                                           {CC_KEY(compute_s), s->compute_s},
                                           {CC_KEY(codec_s), s->codec_s},
                                           {CC_KEY(comm_s), s->comm_s},
                                           {CC_KEY(step_s), s->step_s},
                                           {CC_KEY(pass_s), p->pass_s},
                                           {CC_KEY(pass_paper_s), l->printed_s},
                                           {CC_KEY(pass_comm_s), p->comm_s},
                                           {CC_KEY(pass_comm_paper_s), l->printed_comm_s},
                                           {CC_KEY(speedup), dense->pass_s / p->pass_s},
                                           {CC_KEY(speedup_paper), l->printed_speedup},
                                           {CC_KEY(time_s), p->pass_s}};
    const size_t row = cc_record_add(r, e);
    if (row == SIZE_MAX)
        return CC_FAIL;
    cc_record_numbers(r, row, all, sizeof all / sizeof all[0]);
    CC_TRY(cc_record_text(r, row, CC_KEY(row_paper), l->name, e));
    CC_TRY(cc_record_text(r, row, CC_KEY(scheme), l->spec->name, e));
    CC_TRY(cc_record_text(r, row, CC_KEY(net), l->net, e));
    CC_TRY(cc_record_text(r, row, CC_KEY(data), l->m->data->name, e));
    CC_TRY(cc_record_text(r, row, CC_KEY(exchange), cc_exchange_names[l->exchange], e));
    CC_TRY(cc_record_text(r, row, CC_KEY(kind), "pass", e));
    return cc_train_put_clock(r, row, "model", e);
}

/* The dense and the sparse line of a row. */
static int add_pair(const struct table *t, struct line *l, struct line *sparse, double batch,
                    struct cc_error *e)
{
    struct predicted dense, pairs;
    CC_TRY(predict(l, &dense, e));
    CC_TRY(predict(sparse, &pairs, e));
    CC_TRY(add_line(t, l, &dense, &dense, batch, e));
    return add_line(t, sparse, &pairs, &dense, batch, e);
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
    const size_t which = (size_t)input_of(row, "dataset");
    const struct measured *m = &t->of[which];
    const double compute_s = input_of(row, "compute_s"), workers = input_of(row, "workers");
    struct line dense = {.name = row->name,
                         .net = svm ? "svm" : "logreg",
                         .shape = &shapes[which],
                         .m = m,
                         .spec = t->raw,
                         .exchange = CC_RABENSEIFNER,
                         .workers = (int)workers,
                         .network = (int)input_of(row, "network"),
                         .compute_s = m->compute_s[svm],
                         .bits = 32,
                         .steps = shapes[which].samples / ((double)t->batch * workers),
                         .printed_s = compute_s + row->figure[0],
                         .printed_comm_s = row->figure[0],
                         .printed_speedup = 1};
    struct line sparse = dense;
    sparse.spec = t->pairs;
    sparse.exchange = input_of(row, "split") > 0 ? CC_SSAR_SPLIT : CC_SSAR_RECDOUBLE;
    sparse.bits = 64 * m->pairs / (double)sparse.shape->features;
    sparse.printed_s = dense.printed_s / row->figure[3];
    sparse.printed_comm_s = row->figure[1];
    sparse.printed_speedup = row->figure[3];
    return add_pair(t, &dense, &sparse, (double)t->batch, e);
}

/* Coordinate descent: an allgather of the workers' slices of the parameters, against one of the
 * coordinates that changed. */
static int add_scd(const struct table *t, struct cc_error *e)
{
    const struct shape *s = &shapes[1];
    const size_t steps = s->features / SCD_WORKERS / COORDINATES;
    struct line dense = {.name = "Piz Daint, URL, LR, 8 nodes, SCD",
                         .net = "logreg",
                         .shape = s,
                         .m = &t->of[1],
                         .spec = t->raw,
                         .exchange = CC_ALLGATHER,
                         .workers = SCD_WORKERS,
                         .compute_s = t->of[1].scd_s,
                         .bits = 32.0 / SCD_WORKERS,
                         .steps = (double)steps,
                         .printed_s = scd_printed[0][0],
                         .printed_comm_s = scd_printed[0][1],
                         .printed_speedup = 1};
    struct line sparse = dense;
    sparse.spec = t->pairs;
    sparse.bits = 64.0 * COORDINATES / (double)s->features;
    sparse.printed_s = scd_printed[1][0];
    sparse.printed_comm_s = scd_printed[1][1];
    sparse.printed_speedup = scd_printed[0][0] / scd_printed[1][0];
    return add_pair(t, &dense, &sparse, NAN, e);
}

static int add_notes(const struct table *t, struct cc_error *e)
{
    struct cc_record *r = &t->args->record;
    for (size_t i = 0; i < 2; i++)
        CC_TRY(cc_record_note(r, e,
                              "%s: a gradient of %zu rows has %.4g non-zeros, those of %d workers "
                              "together %.4g; computing it takes %.3g s on this machine",
                              shapes[i].name, t->batch, t->of[i].unions.size[0], DRAWN,
                              t->of[i].unions.size[t->of[i].unions.points - 1],
                              t->of[i].compute_s[0]));
    return cc_record_note(
        r, e,
        "gradients are of data drawn in the shape of the paper's, computed by one thread of this "
        "machine; times of steps follow by the formulas of `model` over the paper's links "
        "(docs/linear.md)");
}

/* --- all of it --- */

static int parse(struct table *t, struct cc_error *e)
{
    static const char *const open[] = {"paper", "batch", "seed"};
    struct cc_args *args = t->args;
    struct cc_train_options own = {.batch = 0};
    enum { MOST_BATCH = 1 << 16 };
    if (args->schemes.count > 0)
        return cc_usage(e, "--paper sparcml-table2 and --scheme exclude each other: the table has "
                           "fp32 and pairs");
    for (size_t k = 0; k < args->options.own; k++) {
        const struct cc_option *o = &args->options.option[k];
        bool allowed = cc_arg(args, o->name) == NULL || o->group == CC_GROUP_OUTPUT;
        for (size_t i = 0; i < sizeof open / sizeof *open; i++)
            allowed = allowed || strcmp(o->name, open[i]) == 0;
        if (!allowed)
            return cc_usage(e,
                            "--paper sparcml-table2 and --%s exclude each other: the table has "
                            "settings of its own, but --batch and --seed",
                            o->name);
    }
    CC_TRY(cc_options_read(args, cc_train_own_options, &own, e));
    CC_TRY(cc_source_read(args, &own.cluster.source, e));
    t->batch = CC_TRAIN_GIVEN(&own, batch) != NULL ? own.batch : 1000;
    t->seed = own.cluster.source.seed;
    return t->batch <= MOST_BATCH
               ? CC_OK
               : cc_usage(e, "--batch: %zu is not between 1 and %d", t->batch, MOST_BATCH);
}

int cc_train_table(struct cc_args *args, struct cc_error *e)
{
    struct table t = {.args = args};
    int status = CC_OK;
    CC_TRY_OUT(parse(&t, e));
    CC_TRY_OUT(cc_paper_open(CC_TRAIN_TABLE, &t.paper, e));
    CC_TRY_OUT(cc_spec_parse(CC_RAW_SCHEME, &t.raw, e));
    CC_TRY_OUT(cc_spec_parse("pairs", &t.pairs, e));
    for (size_t i = 0; i < 2; i++)
        CC_TRY_OUT(measure(&t, &shapes[i], &t.of[i], e));
    cc_record_title(&args->record, "SparCML, Table 2: the time of a pass, dense against sparse");
    CC_TRY_OUT(cc_record_choose_usual(
        &args->record,
        "row_paper,scheme,exchange,workers,pass_s,pass_paper_s,pass_comm_s,pass_comm_paper_s,"
        "speedup,speedup_paper",
        e));
    for (size_t i = 0; i < t.paper->rows; i++)
        CC_TRY_OUT(add_row(&t, &t.paper->row[i], e));
    CC_TRY_OUT(add_scd(&t, e));
    status = add_notes(&t, e);
out:
    for (size_t i = 0; i < 2; i++)
        cc_data_free(t.of[i].data);
    cc_paper_free(t.paper);
    cc_spec_free(t.raw);
    cc_spec_free(t.pairs);
    return status;
}
