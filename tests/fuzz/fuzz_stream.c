/* Any bytes are either a stream by docs/wire.md's rules, and then have the values that a slow
 * reader finds, or refused, as it refuses them.
 *
 * Input: u16 the number of values, u16 the most pairs, then the stream. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/bytes.h"
#include "core/memory.h"
#include "netsim/exchange/pack/pair_keep.h"
#include "tests/lib/stream_reference.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { HEADER = 4 };

static void check(bool ok, const char *what)
{
    if (ok)
        return;
    fprintf(stderr, "%s\n", what);
    abort();
}

/* A worker that has sent every value: it gets back just those that the stream lacks. A pair of -0
 * is in the stream, though its value is that of absent ones. */
static void take(const struct cc_stream_view *v, struct cc_stream_range range, const float *want,
                 void *scratch)
{
    const size_t n = range.to - range.from;
    struct cc_stream_part part = {.view = v};
    struct cc_keep k = {.wanted = n / 2 + 1,
                        .threshold = 1,
                        .value = cc_alloc(n * sizeof *k.value, NULL),
                        .vain = cc_alloc((n + 1) * sizeof *k.vain, NULL)};
    struct cc_stream own = {.range = range, .pair = cc_alloc(n * sizeof *own.pair, NULL)};
    for (size_t i = 0; i < n; i++)
        own.pair[own.count++] = (struct cc_index_value){range.from + (uint32_t)i, 1};
    cc_keep_take(&k, &part, range, &own, scratch);
    for (size_t i = 0; i < k.vains; i++) {
        check(i == 0 || k.vain[i - 1].index < k.vain[i].index, "vain pairs in another order");
        check(stream_absent(want[k.vain[i].index - range.from]), "another in vain");
    }
    check(k.vains + k.kept == n, "others are kept");
    cc_keep_end_step(&k);
    free(own.pair);
    free(k.value);
    free(k.vain);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static void *scratch;
    if (size < HEADER)
        return 0;
    const size_t n = cc_get_u16(data), most = cc_get_u16(data + 2), len = size - HEADER;
    const struct cc_stream_range range = {5, 5 + (uint32_t)n};
    uint8_t *bytes = malloc(len + 1);
    float *want = cc_alloc((n + 1) * sizeof *want, NULL),
          *got = cc_alloc((n + 1) * sizeof *got, NULL);
    struct cc_stream_view view;
    struct cc_error e = {""};
    memcpy(bytes, data + HEADER, len);
    scratch = scratch != NULL ? scratch : cc_alloc0(cc_stream_scratch(), NULL);
    const bool good = stream_read(bytes, len, n, most, want);
    const bool opened = cc_stream_open(bytes, len, range, most, &view, &e) == CC_OK;
    if (opened && view.kind == CC_STREAM_PACK)
        check(view.pack_bytes == len - CC_STREAM_HEAD, "a pack of other bytes");
    else
        check(opened == good, opened ? "taken" : e.text);
    if (opened && good && n > 0) {
        struct cc_stream_part part = {.view = &view};
        struct cc_stream sum = {.pair = cc_alloc(cc_stream_memory(n, n), NULL)};
        sum.value = (float *)(void *)sum.pair;
        cc_stream_sum(&part, 1, range, scratch, &sum);
        cc_stream_expand(&sum, range, got);
        for (size_t i = 0; i < n; i++) /* additions may change the bits of NaN */
            check(memcmp(&got[i], &want[i], sizeof *got) == 0 || got[i] != got[i], "other values");
        free(sum.pair);
        take(&view, range, want, scratch);
    }
    free(bytes);
    free(want);
    free(got);
    return 0;
}
