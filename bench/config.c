#include "bench/config.h"

#include <stdio.h>
#include <stdlib.h>

#include "core/memory.h"

const struct cc_spec *cc_bench_spec(const struct cc_bench_config *p, size_t scheme, size_t tensor)
{
    bool raw = cc_trace_tensor(p->trace, tensor)->shape.n < p->min_size ||
               (p->raw_tensor != NULL && p->raw_tensor[tensor]);
    return raw ? p->raw : p->schemes->item[scheme];
}

struct cc_codec cc_bench_codec(const struct cc_bench_config *p, size_t scheme, size_t tensor)
{
    const struct cc_spec *s = cc_bench_spec(p, scheme, tensor);
    return (struct cc_codec){.scheme = s->scheme,
                             .params = s->params,
                             .shape = cc_trace_tensor(p->trace, tensor)->shape};
}

size_t cc_bench_steps(const struct cc_bench_config *p, size_t scheme)
{
    const struct cc_spec *s = p->schemes->item[scheme];
    size_t period = cc_period(s->scheme, s->params);
    return p->steps >= period ? p->steps - p->steps % period : period;
}

bool cc_bench_failed(const struct cc_bench_config *p, size_t scheme)
{
    return p->failed[scheme].text[0] != '\0';
}

void cc_bench_stream_name(const struct cc_bench_config *p, char *out, size_t cap)
{
    struct cc_trace_sender s = cc_trace_stream(p->trace, p->stream);
    if (s.direction == CC_PULL)
        (void)snprintf(out, cap, "pull");
    else
        (void)snprintf(out, cap, "push %lld", (long long)s.rank);
}

void cc_bench_error_in(const struct cc_bench_config *p, size_t step, const char *scheme,
                       struct cc_error *e)
{
    char stream[48];
    cc_bench_stream_name(p, stream, sizeof stream);
    cc_error_in(e, "%s, %s, step %llu, %s", cc_trace_name(p->trace), stream,
                (unsigned long long)cc_trace_step_number(p->trace, p->stream, step), scheme);
}

struct cc_context cc_bench_context(const struct cc_bench_config *p, size_t tensor, uint64_t step)
{
    struct cc_trace_sender stream = cc_trace_stream(p->trace, p->stream);
    return (struct cc_context){.seed = p->seed,
                               .rank = stream.rank,
                               .direction = stream.direction,
                               .step = step,
                               .tensor = tensor,
                               .name = cc_trace_tensor(p->trace, tensor)->name};
}

static size_t round_up(size_t bytes)
{
    return (bytes + CC_ALIGN - 1) / CC_ALIGN * CC_ALIGN;
}

int cc_codec_set_open(const struct cc_bench_config *p, size_t scheme, struct cc_codec_set *out,
                      struct cc_error *e)
{
    size_t count = cc_trace_tensors(p->trace);
    struct cc_codec_set b = {.plan = p, .scheme = scheme};
    b.codec = cc_alloc0(count * sizeof *b.codec, e);
    if (b.codec == NULL)
        return CC_FAIL;
    for (size_t t = 0; t < count; t++) {
        const struct cc_spec *s = cc_bench_spec(p, scheme, t);
        b.codec[t] = (struct cc_codec){
            .scheme = s->scheme, .params = s->params, .shape = cc_trace_tensor(p->trace, t)->shape};
        size_t scratch = cc_scratch_bytes(&b.codec[t]);
        b.scratch_bytes = scratch > b.scratch_bytes ? scratch : b.scratch_bytes;
        b.state_bytes += round_up(cc_state_bytes(&b.codec[t]));
    }
    b.states = cc_alloc(b.state_bytes, e);
    if (b.states == NULL) {
        cc_error_in(e, "the states of %s", p->schemes->item[scheme]->name);
        free(b.codec);
        return CC_FAIL;
    }
    uint8_t *at = b.states;
    for (size_t t = 0; t < count; t++) {
        b.codec[t].state = at;
        at += round_up(cc_state_bytes(&b.codec[t]));
        if (b.codec[t].shape.n > 0)
            cc_codec_reset(&b.codec[t]);
    }
    *out = b;
    return CC_OK;
}

void cc_codec_set_close(struct cc_codec_set *b)
{
    free(b->codec);
    free(b->states);
    *b = (struct cc_codec_set){0};
}
