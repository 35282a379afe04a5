#include "bench/config.h"

#include <pthread.h>

#include "core/interrupt.h"
#include "core/parallel.h"
#include "core/trace/trace_dtype.h"

const struct cc_spec *cc_bench_spec(const struct cc_bench_config *config, size_t scheme,
                                    size_t tensor)
{
    bool raw = cc_trace_tensor(config->trace, tensor)->shape.n < config->min_size ||
               (config->raw_tensor != NULL && config->raw_tensor[tensor]);
    return raw ? config->raw : config->schemes->item[scheme];
}

struct cc_codec_item cc_bench_codec(const struct cc_bench_config *config, size_t scheme,
                                    size_t tensor)
{
    struct cc_codec_item item = cc_codec_item(cc_bench_spec(config, scheme, tensor),
                                              &cc_trace_tensor(config->trace, tensor)->shape);
    item.codec.input = cc_trace_element(config->trace);
    return item;
}

int cc_bench_codecs(const struct cc_bench_config *config, size_t scheme,
                    const struct cc_codec_memory *memory, struct cc_codec_set *out,
                    struct cc_error *e)
{
    int status = CC_OK;
    CC_TRY_OUT(cc_codec_set_init(out, cc_trace_tensors(config->trace), e));
    for (size_t t = 0; t < out->count; t++)
        out->item[t] = cc_bench_codec(config, scheme, t);
    for (size_t t = 0; t < out->count; t++)
        out->item[t].codec.threads = config->threads; /* they share the states from the first on */
    CC_TRY_OUT(cc_codec_set_allocate(out, memory, e));
out:
    if (status != CC_OK) {
        cc_error_in(e, "the codecs of %s", config->schemes->item[scheme]->name);
        cc_codec_set_free(out);
    }
    return status;
}

size_t cc_bench_steps(const struct cc_bench_config *config, size_t scheme)
{
    const struct cc_spec *s = config->schemes->item[scheme];
    size_t period = cc_period(s->scheme, s->params);
    return config->steps >= period ? config->steps - config->steps % period : period;
}

bool cc_bench_failed(const struct cc_bench_config *config, size_t scheme)
{
    return config->failed[scheme].text[0] != '\0';
}

/* --- schemes in parallel --- */

struct queue {
    const struct cc_bench_config *config;
    const char *phase;
    void (*work)(void *arg, size_t scheme);
    void *arg;
    pthread_mutex_t lock; /* for `begun` and the progress */
    size_t begun;
};

/* The last of the list are first: the general compressors, which take longest, so that none of them
 * is left alone at the end. */
static bool work_off(void *arg, size_t i)
{
    struct queue *q = arg;
    const struct cc_bench_config *c = q->config;
    if (cc_interrupted())
        return false;
    (void)pthread_mutex_lock(&q->lock);
    if (c->progress != NULL)
        c->progress(c->progress_arg, q->phase, (double)q->begun / (double)c->schemes->count);
    q->begun++;
    (void)pthread_mutex_unlock(&q->lock);
    q->work(q->arg, c->schemes->count - 1 - i);
    return true;
}

void cc_bench_each_scheme(const struct cc_bench_config *config, int most, const char *phase,
                          void (*work)(void *arg, size_t scheme), void *arg)
{
    struct queue q = {.config = config,
                      .phase = phase,
                      .work = work,
                      .arg = arg,
                      .lock = PTHREAD_MUTEX_INITIALIZER};
    const int threads = config->threads < most ? config->threads : most;
    cc_parallel_items(threads, config->schemes->count, work_off, &q);
}

void cc_bench_error_in(const struct cc_bench_config *config, size_t step, const char *scheme,
                       struct cc_error *e)
{
    char stream[48];
    cc_trace_stream_name(config->trace, config->stream, stream, sizeof stream);
    cc_error_in(e, "%s, %s, step %llu, %s", cc_trace_name(config->trace), stream,
                (unsigned long long)cc_trace_step_number(config->trace, config->stream, step),
                scheme);
}

struct cc_context cc_bench_context(const struct cc_bench_config *config, size_t tensor,
                                   uint64_t step)
{
    struct cc_trace_sender stream = cc_trace_stream(config->trace, config->stream);
    return (struct cc_context){.seed = config->seed,
                               .rank = stream.rank,
                               .direction = stream.direction,
                               .step = step,
                               .tensor = tensor,
                               .name = cc_trace_tensor(config->trace, tensor)->name};
}
