/* For a net with many values, sizes are measured on a sample of its tensors (bench/sample.h), and a
 * tensor that is not among them has the bits per value of the one that is nearest in size, among
 * matrices or vectors. */
#include "cmd/input/figures.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/settle.h"
#include "bench/sum_sizes.h"
#include "cmd/input/source.h"
#include "core/interrupt.h"
#include "core/memory.h"
#include "core/parallel.h"
#include "core/trace/trace_dtype.h"
#include "netsim/exchange/pack/sizes.h"
#include "results/machine_info.h"

/* Two Mi values settle within a second or two; captured ones are measured whole where possible. */
enum { MOST_DRAWN = 1 << 21, MOST_CAPTURED = 1 << 25, MOST_OF_TENSOR = 1 << 20 };
static const struct cc_settle_limits settle_limits = {.passes = 100, .seconds = 10};

/* Sums take the gradients of many workers. All tensors of a net with at most WHOLE values are
 * measured, so that the sizes are those that ranks send; and of schemes without a state, STATELESS
 * steps. */
enum { WHOLE = 300000, MOST_SUMMED = 1 << 18, MOST_SUMMED_OF_TENSOR = 1 << 14, STATELESS = 2 };

/* --- sizes --- */

/* The piece that stands for a tensor of this shape: the tensor itself, or the nearest in size. */
static size_t nearest(const struct cc_trace *t, const struct cc_sample *s, size_t tensor)
{
    const struct cc_shape *shape = &cc_trace_tensor(t, tensor)->shape;
    double least = INFINITY;
    size_t found = 0;
    for (size_t i = 0; i < s->count; i++) {
        const struct cc_sample_piece *p = &s->piece[i];
        const bool alike = (p->shape.ndim > 1) == (shape->ndim > 1);
        const double far = fabs(log((double)p->shape.n / (double)shape->n)) + (alike ? 0 : 1e3);
        if (p->tensor == tensor)
            return i;
        if (far < least) {
            least = far;
            found = i;
        }
    }
    return found;
}

static int find_sizes(const struct cc_bench_config *config, size_t scheme, struct cc_sample *sample,
                      struct cc_figure_set *out, struct cc_error *e)
{
    const size_t tensors = cc_trace_tensors(config->trace);
    struct cc_codec_set set = {0};
    struct cc_settled settled = {.passes = 0};
    double *bytes;
    int status = CC_OK;
    CC_TRY(CC_NEW(out->bits, tensors, e));
    CC_TRY(CC_NEW(bytes, sample->count, e));
    CC_TRY_OUT(cc_settle_sizes(config, scheme, sample, &settle_limits, &set, bytes, &settled, e));
    for (size_t t = 0; t < tensors && sample->count > 0; t++) {
        const size_t at = nearest(config->trace, sample, t);
        out->bits[t] = 8 * bytes[at] / (double)sample->piece[at].shape.n;
    }
    out->settled = settled.settled;
    out->steps = settled.steps;
out:
    cc_codec_set_free(&set);
    free(bytes);
    return status;
}

/* --- sizes of sums --- */

/* The gradients of the workers whose sums are measured. */
struct streams {
    struct cc_sample sample[CC_SUM_WORKERS];
    size_t count;
};

static void close_streams(struct streams *s)
{
    for (size_t i = 0; i < s->count; i++)
        cc_sample_free(&s->sample[i]);
}

static bool is_whole(const struct cc_trace *t)
{
    return cc_trace_values(t) <= WHOLE;
}

static int open_streams(const struct cc_bench_config *bench, struct streams *out,
                        struct cc_error *e)
{
    const size_t streams = cc_trace_streams(bench->trace);
    const bool whole = is_whole(bench->trace);
    struct cc_bench_config config = *bench;
    struct cc_sample_limits limits = {.values = whole ? WHOLE : MOST_SUMMED,
                                      .largest = whole ? WHOLE : MOST_SUMMED_OF_TENSOR,
                                      .kept = cc_memory_available() / 4 / CC_SUM_WORKERS};
    for (size_t i = 0; i < streams && i < CC_SUM_WORKERS; i++) {
        if (cc_trace_stream(bench->trace, i).direction != CC_PUSH)
            break; /* pushes come first */
        config.stream = i;
        limits.steps = cc_trace_steps(bench->trace, i);
        out->count++;
        CC_TRY(cc_sample_open(&config, &limits, &out->sample[i], e));
    }
    return out->count > 0
               ? CC_OK
               : cc_fail(e,
                         "%s has pulls only, and sizes are those of workers' gradients: give a "
                         "trace with pushes",
                         cc_trace_name(bench->trace));
}

/* Sizes of sums in units of a worker's payload, of matrices or of vectors: of all that were
 * measured together, as a single tensor's vary by chance. Where every tensor is measured, the unit
 * is the first worker's, whose sizes the tensors' are, so that sums are exact; otherwise the mean
 * over the workers. */
static struct cc_sum_sizes in_proportion(const struct cc_sample *sample,
                                         const struct cc_piece_sums *piece, bool whole,
                                         bool matrices)
{
    struct cc_sum_sizes sum = {.pull = {0}};
    double unit = 0;
    for (size_t i = 0; i < sample->count; i++) {
        const struct cc_sample_piece *p = &sample->piece[i];
        if ((p->shape.ndim > 1) != matrices)
            continue;
        unit += whole ? piece[i].first : piece[i].push;
        for (size_t k = 0; k < CC_SUM_POINTS; k++) {
            sum.pull[k] += piece[i].sums.pull[k];
            sum.hop[k] += piece[i].sums.hop[k];
        }
    }
    for (size_t k = 0; k < CC_SUM_POINTS; k++) {
        sum.pull[k] = unit > 0 ? sum.pull[k] / unit : 1;
        sum.hop[k] = unit > 0 ? sum.hop[k] / unit : 1;
    }
    return sum;
}

/* Bits per value of a tensor's sums. */
static struct cc_sum_sizes sums_of(const struct cc_sum_sizes *in_units, double bits)
{
    struct cc_sum_sizes out;
    for (size_t k = 0; k < CC_SUM_POINTS; k++) {
        out.pull[k] = bits * in_units->pull[k];
        out.hop[k] = bits * in_units->hop[k];
    }
    return out;
}

/* Over the steps after which the tensors' own sizes have settled. */
static int find_sums(const struct cc_bench_config *bench, size_t scheme, struct streams *streams,
                     struct cc_figure_set *out, struct cc_error *e)
{
    const size_t tensors = cc_trace_tensors(bench->trace), pass = cc_bench_steps(bench, scheme);
    const size_t window = (CC_SETTLE_STEPS + pass - 1) / pass * pass;
    const struct cc_sample *sample = &streams->sample[0];
    struct cc_sum_sizes_config config = {.bench = bench,
                                         .sample = streams->sample,
                                         .streams = streams->count,
                                         .steps = out->steps,
                                         .counted = window < out->steps ? window : out->steps};
    struct cc_piece_sums *piece;
    int status = CC_OK;
    CC_TRY(CC_NEW(piece, sample->count, e));
    CC_TRY_OUT(CC_NEW(out->sums, tensors, e));
    if (!cc_sample_has_state(bench, scheme, sample) && config.steps > STATELESS)
        config.steps = config.counted = STATELESS;
    CC_TRY_OUT(cc_sum_sizes_measure(&config, scheme, piece, &out->sums_settled, e));
    const bool whole = is_whole(bench->trace);
    const struct cc_sum_sizes in_units[] = {in_proportion(sample, piece, whole, false),
                                            in_proportion(sample, piece, whole, true)};
    for (size_t t = 0; t < tensors; t++)
        out->sums[t] =
            sums_of(&in_units[cc_trace_tensor(bench->trace, t)->shape.ndim > 1], out->bits[t]);
out:
    free(piece);
    return status;
}

/* --- measuring --- */

static void show(void *arg, const char *phase, double done)
{
    cc_progress_show(arg, phase, done);
}

/* The errors of the schemes, in out[]. */
static int find_errors(const struct cc_bench_config *config, const size_t *at,
                       struct cc_figures *out, struct cc_error *e)
{
    const size_t count = config->schemes->count;
    struct cc_update_error *error;
    CC_TRY(CC_NEW(error, count, e));
    const int status = cc_update_errors(config, error, e);
    for (size_t i = 0; i < count && status == CC_OK; i++) {
        out->of[at[i]].error = error[i];
        out->of[at[i]].has_error = true;
    }
    free(error);
    return status;
}

struct finding {
    const struct cc_bench_config *bench;
    struct cc_sample *sample;
    struct streams *streams; /* for sums */
    const size_t *at;
    struct cc_figures *out;
};

/* Finds the sizes of a scheme, unless they are known. */
static void find_scheme(void *arg, size_t scheme)
{
    const struct finding *f = arg;
    struct cc_figure_set *of = &f->out->of[f->at[scheme]];
    if (of->bits == NULL &&
        find_sizes(f->bench, scheme, f->sample, of, &f->bench->failed[scheme]) != CC_OK) {
        free(of->bits);
        of->bits = NULL;
    }
}

/* Finds the sizes of a scheme's sums, unless they are known. */
static void find_scheme_sums(void *arg, size_t scheme)
{
    const struct finding *f = arg;
    struct cc_figure_set *of = &f->out->of[f->at[scheme]];
    struct cc_error *failed = &f->bench->failed[scheme];
    bool fixed;
    if (of->has_sums || of->bits == NULL ||
        cc_sizes_fixed(f->bench->schemes->item[scheme], &fixed, failed) != CC_OK)
        return;
    if (!fixed && find_sums(f->bench, scheme, f->streams, of, failed) != CC_OK) {
        free(of->sums);
        of->sums = NULL;
        return;
    }
    of->has_sums = true;
}

/* The number of schemes that may be measured at a time: one where gradients are not kept, as they
 * are loaded into one buffer; otherwise as many as have room for their states and payloads. */
static int schemes_at_once(const struct cc_sample *sample)
{
    const size_t each = 4 * sizeof(float) * sample->values + 1;
    const size_t room = cc_memory_available() / 4 / each;
    if (sample->buffer != NULL || room < 1)
        return 1;
    return room < CC_PARTS_MAX ? (int)room : CC_PARTS_MAX;
}

/* Measures config->schemes, whose figures are out->of[at[i]]. */
static int measure(const struct cc_figures_config *config, struct cc_bench_config *bench,
                   const size_t *at, struct cc_figures *out, struct cc_error *e)
{
    const struct cc_sample_limits limits = {
        .values = config->trace != NULL ? MOST_CAPTURED : MOST_DRAWN,
        .largest = config->trace != NULL ? MOST_CAPTURED : MOST_OF_TENSOR,
        .steps = SIZE_MAX,
        .kept = cc_memory_available() / 4};
    const size_t count = bench->schemes->count;
    struct cc_sample sample = {.count = 0};
    struct streams streams = {.count = 0};
    const struct finding finding = {bench, &sample, &streams, at, out};
    int status = CC_OK;
    CC_TRY(CC_NEW(bench->failed, count, e));
    if (!config->quiet)
        fprintf(stderr, "commcomp: measuring sizes and errors of %zu scheme%s on %s%s\n", count,
                count == 1 ? "" : "s", cc_trace_name(bench->trace),
                config->trace == NULL ? ", which happens once" : "");
    const int parts = 1 + config->sums + config->errors;
    cc_progress_part(config->progress, 1.0 / parts);
    bench->progress = show;
    bench->progress_arg = config->progress;
    CC_TRY_OUT(cc_sample_open(bench, &limits, &sample, e));
    cc_bench_each_scheme(bench, schemes_at_once(&sample), "sizes", find_scheme, (void *)&finding);
    if (config->sums && !cc_interrupted()) {
        cc_progress_part(config->progress, config->errors ? 0.5 : 1);
        CC_TRY_OUT(open_streams(bench, &streams, e));
        cc_bench_each_scheme(bench, schemes_at_once(&streams.sample[0]), "sizes of sums",
                             find_scheme_sums, (void *)&finding);
    }
    if (config->errors && !cc_interrupted()) {
        cc_progress_part(config->progress, 1);
        CC_TRY_OUT(find_errors(bench, at, out, e));
    }
    if (cc_interrupted())
        status = cc_fail(e, "interrupted");
    /* Drawn gradients suit every scheme that can be measured; captured ones may not be finite. */
    for (size_t i = 0; i < count && config->trace != NULL && status == CC_OK; i++)
        if (bench->failed[i].text[0] != '\0')
            status = cc_fail(e, "%s", bench->failed[i].text);
out:
    cc_progress_clear(config->progress);
    cc_sample_free(&sample);
    close_streams(&streams);
    free(bench->failed);
    bench->failed = NULL;
    return status;
}

/* Keeps the figures of the schemes at[]; tells once on stderr if that does not work. */
static void keep(const struct cc_figures_config *config, const size_t *at, size_t count,
                 const struct cc_figures *f)
{
    struct cc_error why = {""};
    for (size_t i = 0; i < count; i++) {
        if (f->of[at[i]].bits == NULL ||
            cc_figures_save(config, at[i], &f->of[at[i]], &why) == CC_OK)
            continue;
        if (!config->quiet)
            fprintf(stderr, "commcomp: sizes and errors could not be saved: %s\n", why.text);
        return;
    }
}

static void free_set(struct cc_figure_set *s)
{
    free(s->bits);
    free(s->sums);
}

/* Whether the figures of a scheme say all that is asked for; nothing can be measured without code.
 */
static bool is_complete(const struct cc_figures_config *config, size_t scheme,
                        const struct cc_figure_set *of)
{
    if (!cc_scheme_runs(config->schemes->item[scheme]->scheme))
        return true;
    return of->bits != NULL && (of->has_error || !config->errors) &&
           (of->has_sums || !config->sums);
}

bool cc_figures_kept(const struct cc_figures_config *config)
{
    bool kept = config->trace == NULL && !config->remeasure;
    for (size_t i = 0; i < config->schemes->count && kept; i++) {
        struct cc_figure_set of = {.bits = NULL};
        cc_figures_load(config, i, &of);
        kept = is_complete(config, i, &of);
        free_set(&of);
    }
    return kept;
}

/* Draws a trace of the net's tensors. */
static int draw(const struct cc_figures_config *config, struct cc_trace **out, struct cc_error *e)
{
    struct cc_synth synth = config->drawn;
    synth.steps = CC_FIGURES_STEPS;
    synth.ranks = CC_SUM_WORKERS;
    return cc_trace_synth(&synth, config->net->tensors, config->net->count, config->net->name, out,
                          e);
}

/* Lists the schemes that lack something, and their places. */
static int find_missing(const struct cc_figures_config *config, const struct cc_figures *f,
                        struct cc_spec_list *out, size_t *at, struct cc_error *e)
{
    CC_TRY(CC_NEW(out->item, f->count, e));
    for (size_t i = 0; i < f->count; i++) {
        if (is_complete(config, i, &f->of[i]))
            continue;
        at[out->count] = i;
        out->item[out->count++] = config->schemes->item[i];
    }
    return CC_OK;
}

int cc_figures_open(const struct cc_figures_config *config, struct cc_figures *out,
                    struct cc_error *e)
{
    struct cc_machine_info host;
    struct cc_spec_list missing = {.item = NULL}; /* whose items belong to config->schemes */
    struct cc_spec *raw = NULL;
    struct cc_trace *drawn = NULL;
    size_t *at = NULL;
    int status = CC_OK;
    cc_machine_info_read(&host);
    *out = (struct cc_figures){.count = config->schemes->count};
    CC_TRY_OUT(CC_NEW(at, out->count, e));
    CC_TRY_OUT(CC_NEW(out->of, out->count, e));
    for (size_t i = 0; i < out->count; i++)
        out->of[i].error = cc_update_error_unknown();
    CC_TRY_OUT(cc_spec_parse(CC_RAW_SCHEME, &raw, e));
    CC_TRY_OUT(config->trace != NULL ? cc_input_check_trace(config->trace, config->net, e)
                                     : draw(config, &drawn, e));
    cc_trace_set_element(drawn != NULL ? drawn : config->trace, config->dtype);
    struct cc_bench_config bench = {.trace = drawn != NULL ? drawn : config->trace,
                                    .schemes = &missing,
                                    .raw = raw,
                                    .raw_tensor = config->raw,
                                    .seed = config->drawn.seed,
                                    .threads = host.cores};
    bench.steps = out->steps = cc_trace_steps(bench.trace, 0);
    out->part = drawn != NULL ? MOST_DRAWN : MOST_CAPTURED;
    if (cc_trace_values(bench.trace) <= out->part)
        out->part = 0;
    CC_TRY_OUT(cc_text(&out->trace, e, "%s", cc_trace_name(bench.trace)));
    for (size_t i = 0; i < out->count && drawn != NULL && !config->remeasure; i++)
        cc_figures_load(config, i, &out->of[i]);
    CC_TRY_OUT(find_missing(config, out, &missing, at, e));
    if (missing.count > 0) {
        CC_TRY_OUT(measure(config, &bench, at, out, e));
        if (drawn != NULL)
            keep(config, at, missing.count, out);
    }
out:
    cc_trace_close(drawn);
    cc_spec_free(raw);
    free(missing.item);
    free(at);
    return status;
}

void cc_figures_free(struct cc_figures *f)
{
    for (size_t i = 0; f->of != NULL && i < f->count; i++)
        free_set(&f->of[i]);
    free(f->of);
    free(f->trace);
    *f = (struct cc_figures){0};
}
