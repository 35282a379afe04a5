/* Tensors large enough for several threads and for writing past the cache: for every scheme the
 * same bytes, and the same errors, as from one thread of scalar code that writes through the cache.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/cache.h"
#include "core/isa.h"
#include "core/parallel.h"
#include "tests/lib/data.h"
#include "tests/lib/rig.h"

/* Four whole parts and some values more. */
#define N (4 * CC_PART_VALUES + 4099)

enum { STEPS = 2 };

static float values[STEPS][N], wrong[N];

struct manner {
    enum cc_isa isa;
    int threads;
    bool nontemporal, front;
};

/* All output bytes of a run, one after the other. The memory serves every run: new pages for each
 * take longer than the codecs. */
struct outcome {
    uint8_t *bytes;
    size_t len, room;
};

static struct outcome plain, other;

static void record(struct outcome *o, const void *bytes, size_t count)
{
    if (o->len + count >= o->room) {
        o->room = 2 * (o->len + count + 1);
        o->bytes = realloc(o->bytes, o->room);
        assert_non_null(o->bytes);
    }
    if (count > 0)
        memcpy(o->bytes + o->len, bytes, count);
    o->len += count;
}

static void record_status(struct outcome *o, int status, const struct rig *rig)
{
    record(o, &status, sizeof status);
    record(o, rig->e.text, strlen(rig->e.text));
}

/* Decodes a payload that is damaged in several places: the message must name the first. */
static void spoiled(struct rig *rig, const struct cc_context *ctx, const uint8_t *payload,
                    size_t len, uint8_t by, struct outcome *o)
{
    const float *y;
    uint8_t *bad = malloc(len + 1);
    assert_non_null(bad);
    if (len > 0)
        memcpy(bad, payload, len);
    for (size_t i = 2; i < 6; i++)
        for (size_t at = len / 7 * i; at < len && at < len / 7 * i + 8; at++)
            bad[at] = by;
    record_status(o, rig_decode(rig, ctx, bad, len, &y), rig);
    record_status(o, rig_decode_add(rig, ctx, bad, len, 2, &y), rig);
    free(bad);
}

static void work(struct rig *rig, const struct manner *config, struct outcome *o)
{
    const struct cc_shape shape = cc_shape_flat(N);
    const uint8_t *payload;
    const float *y;
    size_t len;
    cc_isa_force(config->isa);
    cc_cache_force(config->nontemporal ? 1 : SIZE_MAX);
    rig->front = config->front;
    rig->codec.threads = config->threads;
    rig_shape(rig, &shape);
    for (uint64_t step = 0; step < STEPS; step++) {
        const struct cc_context ctx = rig_context(step);
        assert_int_equal(rig_encode(rig, &ctx, values[step], &payload, &len), CC_OK);
        record(o, &len, sizeof len);
        record(o, payload, len);
        record(o, rig->codec.state, cc_state_bytes(&rig->codec));
        assert_int_equal(rig_decode(rig, &ctx, payload, len, &y), CC_OK);
        record(o, y, N * sizeof *y);
        assert_int_equal(rig_decode_add(rig, &ctx, payload, len, -1.5f, &y), CC_OK);
        record(o, y, N * sizeof *y);
        spoiled(rig, &ctx, payload, len, 0x80, o);
        spoiled(rig, &ctx, payload, len, 0xff, o);
    }
    const struct cc_context ctx = rig_context(STEPS);
    assert_int_equal(rig_encode(rig, &ctx, wrong, &payload, &len), CC_FAIL);
    record_status(o, CC_FAIL, rig);
}

static void same_bytes(void **state)
{
    static const struct manner manners[] = {
        {CC_SCALAR, 3, true, true}, {CC_AVX2, 1, true, true},    {CC_AVX2, 4, false, false},
        {CC_AVX512, 1, true, true}, {CC_AVX512, 4, true, false}, {CC_AVX512, 2, false, true},
    };
    const enum cc_isa best = cc_isa();
    struct rig rig;
    assert_true(rig_open(&rig, *state));
    plain.len = 0;
    work(&rig, &(struct manner){.isa = CC_SCALAR, .threads = 1}, &plain);
    for (size_t i = 0; i < sizeof manners / sizeof manners[0]; i++) {
        const struct manner *config = &manners[i];
        if (!cc_isa_has(config->isa))
            continue;
        other.len = 0;
        work(&rig, config, &other);
        if (other.len == plain.len && memcmp(plain.bytes, other.bytes, plain.len) == 0)
            continue;
        size_t same = 0;
        while (same < plain.len && same < other.len && plain.bytes[same] == other.bytes[same])
            same++;
        fail_msg("%s, %s, %d threads%s%s: byte %zu of the outcome (of %zu, %zu) differs",
                 rig.spec->name, cc_isa_name(config->isa), config->threads,
                 config->nontemporal ? ", past the cache" : "", config->front ? ", front" : "",
                 same, plain.len, other.len);
    }
    cc_isa_force(best);
    cc_cache_force(0);
    rig_close(&rig);
}

int main(int argc, char **argv)
{
    const struct rig_test tests[] = {{"same_bytes", same_bytes, ""}};
    data_fill(DATA_LAPLACE, 1, values[0], N);
    data_fill(DATA_GAUSSIAN, 2, values[1], N);
    memcpy(wrong, values[0], sizeof wrong);
    wrong[N / 3] = NAN;
    wrong[N / 2] = -INFINITY;
    wrong[N - 1] = INFINITY;
    const int failures =
        rig_run("large tensors", tests, sizeof tests / sizeof tests[0], argc, argv);
    free(plain.bytes);
    free(other.bytes);
    return failures;
}
