/* Packs: the payloads that the codecs alone make, behind the head of docs/wire.md. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/memory.h"
#include "netsim/exchange/pack/pack.h"
#include "tests/lib/data.h"
#include "tests/lib/guard.h"
#include "tests/lib/jobs.h"
#include "tests/lib/rig.h"
#include "tests/lib/settings.h"
#include "tests/lib/text.h"

enum { STEPS = 6, MOST_SLICES = 16, SEED = 42, RANK = 3 };

/* --- parts and slices --- */

static void parts_tile_the_range(void **state)
{
    (void)state;
    const size_t sizes[] = {0, 1, 511, 512, 513, 5000, 1000003};
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++)
        for (size_t parts = 1; parts < 12; parts++) {
            const size_t from = 77, to = from + sizes[i];
            assert_int_equal(cc_part_at(from, to, 0, parts), from);
            assert_int_equal(cc_part_at(from, to, parts, parts), to);
            for (size_t k = 1; k < parts; k++) {
                size_t at = cc_part_at(from, to, k, parts);
                assert_int_equal((at - from) % 512, 0);
                assert_true(at >= cc_part_at(from, to, k - 1, parts) && at <= to);
                /* as even as whole units allow */
                assert_true((double)(at - from) <=
                            (double)sizes[i] * (double)k / (double)parts + 1);
                assert_true((double)(at - from) >
                            (double)sizes[i] * (double)k / (double)parts - 512);
            }
        }
}

static void expect_slices(const struct cc_job *job, size_t from, size_t to,
                          const struct cc_slice *want, size_t n)
{
    struct cc_slice *slice;
    size_t count;
    struct cc_error e = {""};
    assert_int_equal(cc_slices(job, from, to, &slice, &count, &e), CC_OK);
    assert_int_equal(count, n);
    for (size_t i = 0; i < n; i++) {
        assert_int_equal(slice[i].tensor, want[i].tensor);
        assert_int_equal(slice[i].begin, want[i].begin);
        assert_int_equal(slice[i].count, want[i].count);
    }
    free(slice);
}

static void slices_of_a_range(void **state)
{
    (void)state;
    struct cc_job job = {0};
    struct cc_slice *slice;
    size_t count;
    struct cc_error e = {""};
    jobs_add_flat(&job, 10, false);
    jobs_add_flat(&job, 0, false);
    jobs_add_flat(&job, 5, true);
    jobs_add_flat(&job, 7, false);
    expect_slices(&job, 0, 22, (struct cc_slice[]){{0, 0, 10}, {2, 0, 5}, {3, 0, 7}}, 3);
    expect_slices(&job, 3, 16, (struct cc_slice[]){{0, 3, 7}, {2, 0, 5}, {3, 0, 1}}, 3);
    expect_slices(&job, 10, 15, (struct cc_slice[]){{2, 0, 5}}, 1);
    expect_slices(&job, 11, 13, (struct cc_slice[]){{2, 1, 2}}, 1);
    expect_slices(&job, 10, 10, NULL, 0);
    expect_slices(&job, 22, 22, NULL, 0);
    assert_int_equal(cc_slices(&job, 3, 23, &slice, &count, &e), CC_FAIL);
    jobs_free(&job);
}

/* --- a pack and the codecs that it should equal --- */

struct bench {
    struct cc_job job;
    struct cc_spec *spec, *raw;
    struct cc_slice slice[MOST_SLICES];
    size_t slices;
    struct cc_codec codec[MOST_SLICES];
    struct cc_context ctx[MOST_SLICES];
    uint8_t *payload[MOST_SLICES];
    size_t len[MOST_SLICES];
    struct cc_pack *pack, *reader;
    struct guard x, y, out, in;
    struct cc_error e;
};

static struct cc_spec *spec_of(const char *text)
{
    struct cc_spec *s = setting_open(text);
    assert_non_null(s);
    return s;
}

static void open_codec(struct bench *b, size_t i)
{
    const struct cc_slice *p = &b->slice[i];
    const struct cc_job_tensor *t = &b->job.tensor[p->tensor];
    const struct cc_spec *s = t->raw ? b->raw : b->spec;
    struct cc_codec *c = &b->codec[i];
    *c = (struct cc_codec){.scheme = s->scheme, .params = s->params};
    c->shape = p->begin == 0 && p->count == t->shape.n ? t->shape : cc_shape_flat(p->count);
    c->state = cc_alloc(cc_state_bytes(c), NULL);
    c->scratch = cc_alloc(cc_scratch_bytes(c), NULL);
    cc_codec_reset(c);
    b->payload[i] = cc_alloc(cc_bound(c), NULL);
    b->ctx[i] = (struct cc_context){.seed = SEED,
                                    .rank = RANK,
                                    .direction = CC_PULL,
                                    .tensor = p->tensor,
                                    .offset = p->begin,
                                    .name = t->name};
}

/* Tensors of several sizes: one is a matrix, one raw, one packed in part, one not packed. */
static void open_bench(struct bench *b, const char *setting, bool raw)
{
    const struct cc_shape matrix = {.n = 12 * 15, .dim = {12, 15}, .ndim = 2};
    *b = (struct bench){.spec = spec_of(setting), .raw = spec_of("fp32")};
    jobs_add_flat(&b->job, 1300, false);
    jobs_add(&b->job, &matrix, false);
    jobs_add_flat(&b->job, 9, raw);
    jobs_add_flat(&b->job, 0, false);
    jobs_add_flat(&b->job, 700, false);
    jobs_add_flat(&b->job, 1, false);
    const struct cc_slice slice[] = {{0, 512, 600}, {1, 0, 180}, {2, 0, 9}, {3, 0, 0},
                                     {4, 0, 700},   {5, 0, 1},   {0, 0, 5}};
    b->slices = sizeof slice / sizeof slice[0];
    memcpy(b->slice, slice, sizeof slice);
    for (size_t i = 0; i < b->slices; i++)
        open_codec(b, i);
    struct cc_pack_config config = {.job = &b->job,
                                    .spec = b->spec,
                                    .raw = b->raw,
                                    .seed = SEED,
                                    .rank = RANK,
                                    .direction = CC_PULL};
    assert_int_equal(cc_pack_make(&config, b->slice, b->slices, &b->pack, &b->e), CC_OK);
    config.decodes_only = true;
    assert_int_equal(cc_pack_make(&config, b->slice, b->slices, &b->reader, &b->e), CC_OK);
}

static void close_bench(struct bench *b)
{
    cc_pack_free(b->pack);
    cc_pack_free(b->reader);
    for (size_t i = 0; i < b->slices; i++) {
        free(b->codec[i].state);
        free(b->codec[i].scratch);
        free(b->payload[i]);
    }
    guard_close(&b->x);
    guard_close(&b->y);
    guard_close(&b->out);
    guard_close(&b->in);
    jobs_free(&b->job);
    cc_spec_free(b->spec);
    cc_spec_free(b->raw);
}

static void encode_alone(struct bench *b, uint64_t step, const float *x)
{
    for (size_t i = 0; i < b->slices; i++) {
        struct cc_context ctx = b->ctx[i];
        ctx.step = step;
        assert_int_equal(cc_encode(&b->codec[i], &ctx,
                                   x + b->job.offset[b->slice[i].tensor] + b->slice[i].begin,
                                   b->payload[i], cc_bound(&b->codec[i]), &b->len[i], &b->e),
                         CC_OK);
    }
}

/* Builds the bytes that docs/wire.md describes from the payloads of the codecs alone; returns their
 * number. */
static size_t write_down(const struct bench *b, uint8_t *out, size_t *head)
{
    size_t at = 0;
    bool full = true;
    for (size_t i = 0; i < b->slices; i++)
        full = full && b->len[i] == cc_bound(&b->codec[i]);
    out[at++] = full ? 0 : 1;
    for (size_t i = 0; i < b->slices && !full; i++)
        if (b->len[i] < 128) {
            out[at++] = (uint8_t)b->len[i];
        } else {
            assert_true(b->len[i] < 128 * 128);
            out[at++] = (uint8_t)(b->len[i] % 128 + 128);
            out[at++] = (uint8_t)(b->len[i] / 128);
        }
    *head = at;
    for (size_t i = 0; i < b->slices; at += b->len[i++])
        memcpy(out + at, b->payload[i], b->len[i]);
    return at;
}

/* A copy of the bytes between guard pages. */
static const uint8_t *copy_in(struct bench *b, const uint8_t *bytes, size_t len)
{
    guard_reserve(&b->in, len + 1);
    uint8_t *in = guard_back(&b->in, len, 1);
    if (len > 0)
        memcpy(in, bytes, len);
    return in;
}

static int decode(struct bench *b, uint64_t step, const uint8_t *bytes, size_t len, float *y)
{
    const uint8_t *in = copy_in(b, bytes, len);
    const size_t n = cc_job_values(&b->job);
    for (size_t i = 0; i < n; i++)
        y[i] = rig_before_add(i);
    return cc_pack_decode(b->reader, step, in, len, y, &b->e);
}

static void expect_decoded(struct bench *b, uint64_t step, const uint8_t *bytes, size_t len)
{
    const size_t n = cc_job_values(&b->job);
    float *want = malloc(2 * n * sizeof *want), *sum = want + n;
    float *y = guard_back(&b->y, n * sizeof *y, sizeof *y);
    assert_non_null(want);
    for (size_t i = 0; i < n; i++)
        want[i] = sum[i] = rig_before_add(i);
    for (size_t i = 0; i < b->slices; i++) {
        struct cc_context ctx = b->ctx[i];
        struct cc_codec c = b->codec[i];
        size_t at = b->job.offset[b->slice[i].tensor] + b->slice[i].begin;
        ctx.step = step;
        c.state = NULL;
        assert_int_equal(cc_decode(&c, &ctx, b->payload[i], b->len[i], want + at, &b->e), CC_OK);
        assert_int_equal(cc_decode_add(&c, &ctx, b->payload[i], b->len[i], 0.25f, sum + at, &b->e),
                         CC_OK);
    }
    assert_int_equal(decode(b, step, bytes, len, y), CC_OK);
    assert_memory_equal(y, want, n * sizeof *y);
    for (size_t i = 0; i < n; i++)
        y[i] = rig_before_add(i);
    assert_int_equal(
        cc_pack_decode_add(b->reader, step, copy_in(b, bytes, len), len, 0.25f, y, &b->e), CC_OK);
    assert_memory_equal(y, sum, n * sizeof *y);
    free(want);
}

/* A pack cut short, or longer by a byte, is refused with a reason. */
static void expect_refused(struct bench *b, uint64_t step, const uint8_t *bytes, size_t len)
{
    const size_t n = cc_job_values(&b->job);
    float *y = guard_back(&b->y, n * sizeof *y, sizeof *y);
    uint8_t *longer = calloc(len + 1, 1);
    assert_non_null(longer);
    memcpy(longer, bytes, len);
    for (size_t cut = 0; cut < len; cut += 1 + len / 40) {
        b->e.text[0] = '\0';
        assert_int_equal(decode(b, step, bytes, cut, y), CC_FAIL);
        assert_int_equal(strncmp(b->e.text, "pack, byte ", 11) == 0 ||
                             strncmp(b->e.text, "tensor 't", 9) == 0,
                         1);
    }
    assert_int_equal(decode(b, step, longer, len + 1, y), CC_FAIL);
    free(longer);
}

/* With one bit flipped, a pack is decoded or refused; guard pages catch any access outside it. */
static void turn_bits(struct bench *b, uint64_t step, const uint8_t *bytes, size_t len)
{
    const size_t n = cc_job_values(&b->job);
    float *y = guard_back(&b->y, n * sizeof *y, sizeof *y);
    uint8_t *bad = malloc(len);
    uint64_t random = step;
    assert_non_null(bad);
    for (int i = 0; i < 200 && len > 0; i++) {
        uint64_t bit = data_random(&random) % (8 * (i < 100 && len > 20 ? 20 : len));
        memcpy(bad, bytes, len);
        bad[bit / 8] ^= (uint8_t)(1u << bit % 8);
        b->e.text[0] = '\0';
        int status = decode(b, step, bad, len, y);
        assert_true(status == CC_OK || (status == CC_FAIL && b->e.text[0] != '\0'));
    }
    free(bad);
}

static void encode_step(struct bench *b, uint64_t step)
{
    const size_t n = cc_job_values(&b->job), bound = cc_pack_bound(b->pack);
    guard_reserve(&b->x, n * sizeof(float));
    guard_reserve(&b->y, n * sizeof(float));
    guard_reserve(&b->out, bound);
    float *x = guard_back(&b->x, n * sizeof *x, sizeof *x);
    uint8_t *out = guard_back(&b->out, bound, 1), *want = malloc(bound + 8192);
    size_t len, head, want_head;
    assert_non_null(want);
    data_fill(DATA_LAPLACE, 100 + step, x, n);
    encode_alone(b, step, x);
    assert_int_equal(cc_pack_encode(b->pack, step, x, out, &len, &head, &b->e), CC_OK);
    assert_true(len <= bound);
    assert_int_equal(len, write_down(b, want, &want_head));
    assert_int_equal(head, want_head);
    assert_memory_equal(out, want, len);
    expect_decoded(b, step, out, len);
    expect_refused(b, step, out, len);
    turn_bits(b, step, out, len);
    free(want);
}

static void every_scheme(void **state)
{
    (void)state;
    for (size_t i = 0; settings[i] != NULL; i++) {
        struct bench b;
        open_bench(&b, settings[i], i % 2 == 0);
        for (uint64_t step = 0; step < STEPS; step++)
            encode_step(&b, step);
        close_bench(&b);
    }
}

/* --- rounds --- */

/* Runs one round with the codecs alone: their bytes one after the other in `out`; y receives the
 * values that they absorb. */
static size_t round_alone(struct bench *b, uint64_t step, size_t round, const float *x,
                          uint8_t *out, float *y)
{
    size_t at = 0;
    for (size_t i = 0; i < b->slices; i++) {
        struct cc_context ctx = b->ctx[i];
        size_t begin = b->job.offset[b->slice[i].tensor] + b->slice[i].begin, len;
        ctx.step = step;
        assert_int_equal(cc_encode_round(&b->codec[i], &ctx, round, x + begin, out + at,
                                         cc_bound(&b->codec[i]), &len, &b->e),
                         CC_OK);
        assert_int_equal(
            cc_absorb(&b->codec[i], &ctx, round, out + at, len, 0.25f, y + begin, &b->e), CC_OK);
        at += len;
    }
    return at;
}

static void expect_rounds(struct bench *b, size_t rounds, uint64_t step)
{
    const size_t n = cc_job_values(&b->job), bound = cc_pack_bound(b->pack);
    guard_reserve(&b->y, n * sizeof(float));
    guard_reserve(&b->out, bound);
    float *y = guard_back(&b->y, n * sizeof *y, sizeof *y);
    float *x = malloc(n * sizeof *x), *want = calloc(n, sizeof *want);
    uint8_t *out = guard_back(&b->out, bound, sizeof(float)), *bytes = malloc(bound);
    assert_true(x != NULL && want != NULL && bytes != NULL);
    data_fill(DATA_LAPLACE, 100 + step, x, n);
    memset(y, 0, n * sizeof *y);
    for (size_t round = 0; round <= rounds; round++) {
        size_t len = 1, alone = round_alone(b, step, round, x, bytes, want);
        assert_int_equal(cc_pack_encode_round(b->pack, step, round, x, out, &len, &b->e), CC_OK);
        assert_int_equal(len, alone);
        assert_memory_equal(out, bytes, len);
        assert_true(round < rounds || len == 0);
        const uint8_t *in = copy_in(b, bytes, len);
        assert_int_equal(cc_pack_absorb(b->pack, step, round, in, len + 4, 0.25f, y, &b->e),
                         CC_FAIL);
        assert_contains(b->e.text, "bytes of payload, not ");
        assert_int_equal(cc_pack_absorb(b->pack, step, round, in, len, 0.25f, y, &b->e), CC_OK);
        assert_memory_equal(y, want, n * sizeof *y);
    }
    free(x);
    free(want);
    free(bytes);
}

static void rounds(void **state)
{
    (void)state;
    const struct {
        const char *scheme;
        size_t rounds;
    } rows[] = {{"fp32", 1},
                {"randk:density=0.3", 1},
                {"local:every=3", 1},
                {"powersgd:rank=2", 2},
                {"local:every=2,inner=(powersgd:rank=2)", 2}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        for (int raw = 0; raw < 2; raw++) {
            struct bench b;
            size_t len;
            open_bench(&b, rows[i].scheme, raw);
            assert_int_equal(cc_pack_rounds(b.pack), rows[i].rounds);
            for (uint64_t step = 0; step < STEPS; step++)
                expect_rounds(&b, rows[i].rounds, step);
            assert_int_equal(cc_pack_encode_round(b.reader, 0, 0, NULL, NULL, &len, &b.e), CC_FAIL);
            assert_contains(b.e.text, "only decodes");
            close_bench(&b);
        }
    struct bench b;
    float x[2190] = {0};
    uint8_t out[1];
    size_t len;
    open_bench(&b, "local:every=1,inner=3lc", true);
    assert_int_equal(cc_pack_rounds(b.pack), 0);
    assert_int_equal(cc_pack_encode_round(b.pack, 0, 0, x, out, &len, &b.e), CC_FAIL);
    assert_contains(b.e.text, "cannot be summed");
    close_bench(&b);
}

/* --- heads by hand --- */

/* Two tensors of 2 and 1 values; their payloads are as long as the scheme's bounds, 8 and 4
 * bytes. */
static void heads_by_hand(void **state)
{
    (void)state;
    static const struct {
        uint8_t bytes[24];
        size_t len;
        const char *refusal; /* NULL: decodes */
    } rows[] = {
        {{0, 0, 0, 128, 63, 0, 0, 0, 64, 0, 0, 64, 64}, 13, NULL},
        {{1, 8, 4, 0, 0, 128, 63, 0, 0, 0, 64, 0, 0, 64, 64}, 15, NULL},
        {{0}, 0, "pack, byte 0: it is empty"},
        {{2}, 1, "pack, byte 0: 2"},
        {{0, 0, 0}, 3, "pack, byte 1: 2 bytes of payload, not 12"},
        {{1}, 1, "tensor 't0' from value 0: pack, byte 1: the table of lengths is cut off"},
        {{1, 8, 0x84}, 3, "tensor 't1' from value 0: pack, byte 2: the table of lengths is cut"},
        {{1, 9, 3}, 3, "pack, byte 1: a payload of 9 bytes where 8 are the most"},
        {{1, 0x88, 0}, 3, "pack, byte 1: a length that is longer than it needs to be"},
        {{1, 255, 255, 255, 255, 255, 255, 255, 255, 255, 1}, 11, "where 8 are the most"},
        {{1, 255, 255, 255, 255, 255, 255, 255, 255, 255, 2}, 11, "beyond 64 bits"},
        {{1, 255, 255, 255, 255, 255, 255, 255, 255, 255, 129, 0}, 12, "beyond 64 bits"},
        {{1, 8, 4, 0, 0}, 5, "pack, byte 3: 2 bytes of payload, not 12"},
        {{1, 8, 0, 0, 0, 128, 63, 0, 0, 0, 64}, 11, "tensor 't1' from value 0: payload, byte 0"},
    };
    struct cc_job job = {0};
    struct cc_pack *pack;
    struct cc_spec *spec = spec_of("fp32");
    const struct cc_pack_config config = {
        .job = &job, .spec = spec, .raw = spec, .decodes_only = true};
    const float want[] = {1, 2, 3};
    jobs_add_flat(&job, 2, false);
    jobs_add_flat(&job, 1, false);
    assert_int_equal(
        cc_pack_make(&config, (struct cc_slice[]){{0, 0, 2}, {1, 0, 1}}, 2, &pack, NULL), CC_OK);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        float y[3] = {0}, sum[3] = {0};
        struct cc_error e = {""};
        uint8_t *in = malloc(rows[i].len + 1);
        assert_non_null(in);
        memcpy(in + 1, rows[i].bytes, rows[i].len);
        int status = cc_pack_decode(pack, 0, in + 1, rows[i].len, y, &e);
        assert_int_equal(status, rows[i].refusal == NULL ? CC_OK : CC_FAIL);
        assert_int_equal(cc_pack_decode_add(pack, 0, in + 1, rows[i].len, 1, sum, NULL), status);
        if (status == CC_OK) {
            assert_memory_equal(y, want, sizeof y);
            assert_memory_equal(sum, want, sizeof sum);
        } else {
            assert_contains(e.text, rows[i].refusal);
        }
        free(in);
    }
    cc_pack_free(pack);
    cc_spec_free(spec);
    jobs_free(&job);
}

static void mistakes_are_named(void **state)
{
    (void)state;
    struct bench b;
    struct cc_pack *pack;
    size_t len, head;
    float x[2190] = {0};
    open_bench(&b, "fp32", false);
    const struct cc_pack_config config = {.job = &b.job, .spec = b.spec, .raw = b.raw};
    assert_int_equal(cc_pack_make(&config, &(struct cc_slice){6, 0, 1}, 1, &pack, &b.e), CC_FAIL);
    assert_int_equal(cc_pack_make(&config, &(struct cc_slice){4, 1, 700}, 1, &pack, &b.e), CC_FAIL);
    assert_contains(b.e.text, "t4");
    assert_int_equal(cc_pack_encode(b.reader, 0, x, NULL, &len, &head, &b.e), CC_FAIL);
    uint8_t *out = malloc(cc_pack_bound(b.pack));
    assert_true(cc_job_values(&b.job) == sizeof x / sizeof x[0]);
    x[512] = 1.0f / 0.0f;
    assert_int_equal(cc_pack_encode(b.pack, 0, x, out, &len, &head, &b.e), CC_DIVERGED);
    assert_contains(b.e.text, "tensor 't0': the value at index 512 is infinite");
    free(out);
    close_bench(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(parts_tile_the_range), cmocka_unit_test(slices_of_a_range),
        cmocka_unit_test(every_scheme),         cmocka_unit_test(rounds),
        cmocka_unit_test(heads_by_hand),        cmocka_unit_test(mistakes_are_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
