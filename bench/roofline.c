#include "bench/roofline.h"

#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

#include "core/cache.h"
#include "core/clock.h"
#include "core/memory.h"

enum { MAX_STREAMS = 4, REPEATS = 5 };

/* One pass over n values: streams of float32 read, streams of float32 read and written in place,
 * and bytes of payload written (encode) or read while n float32 are written (decode). */
struct cc_pattern {
    size_t values, reads, updates;
    size_t payload_bytes;
    size_t outputs; /* streams of float32 written: 1 for decode */
};

/* Buffers for the patterns of one scheme. */
struct streams {
    float *stream[MAX_STREAMS];
    unsigned char *payload;
};

static void streams_free(struct streams *r)
{
    for (int i = 0; i < MAX_STREAMS; i++)
        free(r->stream[i]);
    free(r->payload);
}

static int streams_alloc(size_t count, size_t values, size_t payload_bytes, struct streams *r,
                         struct cc_error *e)
{
    *r = (struct streams){.payload = cc_alloc0(payload_bytes + CC_ALIGN, e)};
    bool ok = r->payload != NULL;
    for (size_t i = 0; i < count && ok; i++) {
        r->stream[i] = cc_alloc0(values * sizeof(float), e);
        ok = r->stream[i] != NULL;
    }
    if (!ok)
        streams_free(r);
    return ok ? CC_OK : CC_FAIL;
}

static size_t aligned(size_t bytes)
{
    return bytes / CC_ALIGN * CC_ALIGN;
}

/* One pass, block by block, every stream in turn. What it returns depends on all that is read. */
static unsigned one_pass(struct streams *r, const struct cc_pattern *p, size_t block, bool past)
{
    const struct k_memory *k = k_memory();
    void (*write)(void *, size_t) = past ? k->write_past : k->write;
    double bytes_per_value = (double)p->payload_bytes / (double)p->values;
    unsigned all = 0;
    for (size_t i = 0; i < p->values; i += block) {
        size_t n = p->values - i < block ? p->values - i : block;
        size_t begin = aligned((size_t)((double)i * bytes_per_value));
        size_t end = aligned((size_t)((double)(i + n) * bytes_per_value));
        for (size_t s = 0; s < p->reads; s++)
            all |= k->read(r->stream[s] + i, n);
        for (size_t s = p->reads; s < p->reads + p->updates; s++)
            k->update(r->stream[s] + i, n);
        if (p->outputs > 0) {
            all |= k->read((const float *)(const void *)(r->payload + begin), (end - begin) / 4);
            write(r->stream[0] + i, aligned(n * sizeof(float)));
        } else {
            write(r->payload + begin, end - begin);
        }
    }
    return all;
}

/* The best time of the passes, in seconds. */
static double best_seconds(struct streams *r, const struct cc_pattern *passes, size_t count)
{
    static const size_t blocks[] = {256, 1024, 8192, 1 << 18};
    double best = INFINITY;
    volatile unsigned sink = 0;
    for (int i = 0; i < REPEATS; i++) {
        for (size_t b = 0; b < 2 * sizeof blocks / sizeof blocks[0]; b++) {
            double begin = cc_now();
            for (size_t p = 0; p < count; p++)
                sink = one_pass(r, &passes[p], blocks[b / 2], b % 2 == 1);
            best = fmin(best, cc_now() - begin);
        }
    }
    (void)sink;
    return best;
}

int cc_roofline_measure(const struct cc_spec *s, size_t values, double payload_bytes,
                        struct cc_limits *out, struct cc_error *e)
{
    size_t least = 2 * cc_cache_bytes() / sizeof(float);
    *out = (struct cc_limits){0};
    if (s->scheme->traffic == NULL || values < least)
        return CC_OK;
    struct cc_traffic t = s->scheme->traffic(s->params);
    if (t.passes == 0)
        return CC_OK;
    struct cc_pattern encode[2];
    size_t payload = (size_t)(payload_bytes * ((double)least / (double)values)), most = 1;
    for (unsigned i = 0; i < t.passes; i++) {
        bool last = i + 1 == t.passes;
        encode[i] = (struct cc_pattern){.values = least,
                                        .reads = t.pass[i].reads,
                                        .updates = t.pass[i].updates,
                                        .payload_bytes = last ? payload : 0};
        size_t streams = t.pass[i].reads + t.pass[i].updates;
        most = streams > most ? streams : most;
    }
    const struct cc_pattern decode = {.values = least, .payload_bytes = payload, .outputs = 1};
    struct streams r;
    int status = streams_alloc(most, least, payload, &r, e);
    if (status != CC_OK)
        return status;
    double bytes = 1e-9 * (double)least * sizeof(float);
    out->encode = bytes / best_seconds(&r, encode, t.passes);
    out->decode = bytes / best_seconds(&r, &decode, 1);
    streams_free(&r);
    return CC_OK;
}
