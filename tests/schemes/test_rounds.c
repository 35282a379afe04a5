/* Rounds: workers that share an allreduce, against the paper's algorithm, against local encoding,
 * and against properties that hold for any sums. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/bytes.h"
#include "core/memory.h"
#include "tests/lib/data.h"
#include "tests/lib/kit.h"
#include "tests/lib/paper_powersgd.h"
#include "tests/lib/text.h"

enum { MOST = 8 };

/* A few workers and the sum of their rounds. */
struct group {
    struct cc_spec *spec;
    size_t workers, values, round;
    struct cc_codec codec[MOST];
    struct cc_context ctx[MOST];
    float *x[MOST], *y[MOST]; /* y: decoded in the last step */
    float *sum;               /* the last round's */
    size_t bytes;
    void *scratch;
    struct cc_error e;
};

static struct group open_group(const char *scheme, size_t workers, struct cc_shape shape)
{
    struct group g = {.workers = workers, .values = shape.n};
    if (cc_spec_parse(scheme, &g.spec, &g.e) != CC_OK)
        fail_msg("%s", g.e.text);
    for (size_t w = 0; w < workers; w++) {
        struct cc_codec *c = &g.codec[w];
        *c = (struct cc_codec){.scheme = g.spec->scheme, .params = g.spec->params, .shape = shape};
        if (g.scratch == NULL)
            g.scratch = cc_alloc(cc_scratch_bytes(c) + 1, NULL);
        c->scratch = g.scratch;
        c->state = cc_alloc(cc_state_bytes(c) + 1, NULL);
        assert_non_null(c->state);
        cc_codec_reset(c);
        g.ctx[w] = (struct cc_context){.rank = (int64_t)w, .name = "w"};
        g.x[w] = calloc(shape.n + 1, sizeof(float));
        g.y[w] = calloc(shape.n + 1, sizeof(float));
        assert_true(g.x[w] != NULL && g.y[w] != NULL);
    }
    return g;
}

static void close_group(struct group *g)
{
    for (size_t w = 0; w < g->workers; w++) {
        free(g->codec[w].state);
        free(g->x[w]);
        free(g->y[w]);
    }
    free(g->scratch);
    free(g->sum);
    cc_spec_free(g->spec);
}

/* Overwrites the scratch memory: no call may rely on its contents. */
static void spoil_scratch(struct group *g)
{
    memset(g->scratch, 0xff, cc_scratch_bytes(&g->codec[0]));
}

/* Encodes at every worker, into memory of exactly the size, and adds up in order. */
static int encode_all(struct group *g)
{
    g->bytes = SIZE_MAX;
    free(g->sum);
    g->sum = calloc(cc_round_bytes(&g->codec[0], g->round) / sizeof(float) + 1, sizeof(float));
    assert_non_null(g->sum);
    for (size_t w = 0; w < g->workers; w++) {
        size_t room = cc_round_bytes(&g->codec[w], g->round), len = SIZE_MAX;
        assert_true(room <= cc_bound(&g->codec[w]));
        uint8_t *out = malloc(room > 0 ? room : 1);
        assert_non_null(out);
        spoil_scratch(g);
        int status =
            cc_encode_round(&g->codec[w], &g->ctx[w], g->round, g->x[w], out, room, &len, &g->e);
        if (status == CC_OK) {
            assert_true(len == room || len == 0);
            assert_true(w == 0 || len == g->bytes);
            g->bytes = len;
            for (size_t i = 0; i < len / sizeof(float); i++)
                g->sum[i] += cc_get_f32(out + sizeof(float) * i);
        }
        free(out);
        if (status != CC_OK)
            return status;
    }
    return CC_OK;
}

static int absorb_all(struct group *g)
{
    uint8_t *in = malloc(g->bytes + 1);
    int status = CC_OK;
    assert_non_null(in);
    memcpy(in + 1, g->sum, g->bytes);
    for (size_t w = 0; w < g->workers && status == CC_OK; w++) {
        spoil_scratch(g);
        status = cc_absorb(&g->codec[w], &g->ctx[w], g->round, in + 1, g->bytes,
                           1.0f / (float)g->workers, g->y[w], &g->e);
    }
    free(in);
    return status;
}

/* Runs a step from the gradients x; all workers must decode the same values to the last bit. */
static int run_step(struct group *g)
{
    size_t rounds = cc_sum_rounds(g->spec->scheme, g->spec->params);
    for (size_t w = 0; w < g->workers; w++)
        memset(g->y[w], 0, g->values * sizeof(float));
    for (g->round = 0; g->round < rounds; g->round++)
        if (encode_all(g) != CC_OK || absorb_all(g) != CC_OK)
            return CC_FAIL;
    for (size_t w = 0; w < g->workers; w++) {
        assert_memory_equal(g->y[0], g->y[w], g->values * sizeof(float));
        g->ctx[w].step++;
    }
    return CC_OK;
}

static void fill(struct group *g, uint64_t seed)
{
    for (size_t w = 0; w < g->workers; w++)
        data_fill(DATA_GAUSSIAN, seed * MOST + w, g->x[w], g->values);
}

static double norm(const float *x, size_t n)
{
    double sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += (double)x[i] * (double)x[i];
    return sqrt(sum);
}

static double distance(const float *x, const double *y, size_t n)
{
    double sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += ((double)x[i] - y[i]) * ((double)x[i] - y[i]);
    return sqrt(sum);
}

/* u = (1 2 2 0), |u| = 3. Worker 0 has u v with v = (3 6 0 -3), worker 1 has u w with w = (1 -2 4
 * 1). Both P are multiples of u, and so is their sum: P = u / 3 or -u / 3, and Q is 3 v and 3 w
 * with the same sign, 3 (v + w) / 2 on average. */
static void two_workers_by_hand(void **state)
{
    (void)state;
    const float u[] = {1, 2, 2, 0}, v[] = {3, 6, 0, -3}, w[] = {1, -2, 4, 1};
    struct group g = open_group("powersgd:rank=1", 2, kit_matrix(4, 4));
    for (size_t i = 0; i < 16; i++) {
        g.x[0][i] = u[i / 4] * v[i % 4];
        g.x[1][i] = u[i / 4] * w[i % 4];
    }
    assert_int_equal(run_step(&g), CC_OK);
    assert_int_equal(g.bytes, 16);
    float sign = g.sum[0] < 0 ? -1.0f : 1.0f;
    for (size_t j = 0; j < 4; j++)
        assert_true(fabsf(sign * g.sum[j] - 3 * (v[j] + w[j])) < 1e-5f);
    for (size_t i = 0; i < 16; i++)
        assert_true(fabsf(g.y[0][i] - u[i / 4] * (v[i % 4] + w[i % 4]) / 2) < 1e-5f);
    /* The workers' errors are opposite: with zero gradients at both they cancel in P. */
    memset(g.x[0], 0, 16 * sizeof(float));
    memset(g.x[1], 0, 16 * sizeof(float));
    assert_int_equal(run_step(&g), CC_OK);
    for (size_t i = 0; i < 16; i++)
        assert_true(fabsf(g.y[1][i]) < 1e-5f);
    close_group(&g);
}

static void like_the_paper(void **state)
{
    (void)state;
    const struct {
        const char *scheme;
        size_t workers, rank;
        struct cc_shape shape;
        size_t rows;
    } cases[] = {
        {"powersgd:rank=1", 1, 1, {.n = 600, .dim = {30, 20}, .ndim = 2}, 30},
        {"powersgd:rank=2", 2, 2, {.n = 600, .dim = {30, 20}, .ndim = 2}, 30},
        {"powersgd", 3, 4, {.n = 600, .dim = {20, 30}, .ndim = 2}, 20},
        {"powersgd", 8, 4, {.n = 1440, .dim = {16, 10, 3, 3}, .ndim = 4}, 16},
        {"powersgd:rank=2,ef=0", 5, 2, {.n = 9 * 4099, .dim = {9, 4099}, .ndim = 2}, 9},
    };
    for (size_t c = 0; c < sizeof cases / sizeof cases[0]; c++) {
        size_t n = cases[c].shape.n, rows = cases[c].rows;
        struct group g = open_group(cases[c].scheme, cases[c].workers, cases[c].shape);
        struct paper p = paper_open(cases[c].workers, rows, n / rows, cases[c].rank,
                                    strstr(cases[c].scheme, "ef=0") == NULL);
        double *want = calloc(n, sizeof *want);
        assert_non_null(want);
        for (uint64_t step = 0; step < 8; step++) {
            fill(&g, step);
            assert_int_equal(run_step(&g), CC_OK);
            paper_step(&p, (const float *const *)g.x, want);
            double off = distance(g.y[0], want, n) / norm(g.y[0], n);
            if (!(off < 1e-5))
                fail_msg("%s, %zu workers, step %d: %g away from the paper", cases[c].scheme,
                         cases[c].workers, (int)step, off);
        }
        free(want);
        paper_close(&p);
        close_group(&g);
    }
}

/* The same arithmetic, except that P is rounded to float before it is made orthonormal. That turns
 * the plane that M is projected on by 2^-24 times the condition of P, some hundreds at most
 * here. */
static void alone_like_encoding(void **state)
{
    (void)state;
    enum { N = 40 * 25 };
    struct group g = open_group("powersgd", 1, kit_matrix(40, 25));
    struct kit k = kit_open("powersgd", kit_matrix(40, 25));
    for (uint64_t step = 0; step < 6; step++) {
        /* Both start from the same state, so that differences do not accumulate. */
        memcpy(g.codec[0].state, k.codec.state, cc_state_bytes(&k.codec));
        fill(&g, step);
        assert_int_equal(run_step(&g), CC_OK);
        assert_int_equal(kit_encode(&k, g.x[0]), CC_OK);
        assert_int_equal(kit_decode(&k, k.payload, k.len), CC_OK);
        assert_int_equal(g.bytes + cc_round_bytes(&k.codec, 0), k.len);
        double want[N], all = norm(k.y, N);
        for (size_t i = 0; i < N; i++)
            want[i] = (double)k.y[i];
        assert_true(distance(g.y[0], want, N) < 1e-5 * all);
        /* A step of zeros decodes the residuals, which are as close to each other. */
        memset(g.x[0], 0, sizeof(float) * N);
        assert_int_equal(run_step(&g), CC_OK);
        struct kit rest = kit_open("powersgd", kit_matrix(40, 25));
        memcpy(rest.codec.state, k.codec.state, cc_state_bytes(&k.codec));
        assert_int_equal(kit_encode(&rest, g.x[0]), CC_OK);
        assert_int_equal(kit_decode(&rest, rest.payload, rest.len), CC_OK);
        for (size_t i = 0; i < N; i++)
            want[i] = (double)rest.y[i];
        assert_true(distance(g.y[0], want, N) < 1e-5 * all);
        kit_close(&rest);
    }
    kit_close(&k);
    close_group(&g);
}

/* A matrix whose rank is at most that of the factors is sent whole in one step, whatever the ranks
 * of the workers' own matrices: only that of the mean counts. */
static void recovers_low_rank(void **state)
{
    (void)state;
    enum { ROWS = 24, COLS = 36, N = ROWS * COLS };
    struct group g = open_group("powersgd:rank=3", 3, kit_matrix(ROWS, COLS));
    double mean[N] = {0}, all = 0;
    for (size_t w = 0; w < 3; w++) { /* rank 1 each, 3 for their mean */
        float u[ROWS], v[COLS];
        data_fill(DATA_GAUSSIAN, 100 + w, u, ROWS);
        data_fill(DATA_GAUSSIAN, 200 + w, v, COLS);
        for (size_t i = 0; i < N; i++) {
            g.x[w][i] = u[i / COLS] * v[i % COLS];
            mean[i] += (double)g.x[w][i] / 3;
        }
    }
    assert_int_equal(run_step(&g), CC_OK);
    for (size_t i = 0; i < N; i++)
        all += mean[i] * mean[i];
    assert_true(distance(g.y[0], mean, N) < 1e-5 * sqrt(all));
    close_group(&g);
}

/* The distance of the sum of the values decoded in `steps` steps of the same gradients from the sum
 * of their means, as a fraction of it. */
static double behind(const char *scheme, uint64_t steps)
{
    enum { N = 30 * 20, WORKERS = 4 };
    struct group g = open_group(scheme, WORKERS, kit_matrix(30, 20));
    float sent[N] = {0};
    double all[N] = {0}, length = 0;
    fill(&g, 7);
    for (uint64_t step = 0; step < steps; step++) {
        assert_int_equal(run_step(&g), CC_OK);
        for (size_t i = 0; i < N; i++)
            sent[i] += g.y[0][i];
    }
    for (size_t i = 0; i < N; i++) {
        for (size_t w = 0; w < WORKERS; w++)
            all[i] += (double)steps * (double)g.x[w][i] / WORKERS;
        length += all[i] * all[i];
    }
    close_group(&g);
    return distance(sent, all, N) / sqrt(length);
}

static void feedback_adds_up(void **state)
{
    (void)state;
    double first = behind("powersgd", 5), second = behind("powersgd", 40);
    double without = behind("powersgd:ef=0", 40);
    assert_true(second < 0.3 * first);
    assert_true(second < 0.15);
    assert_true(without > 0.5);
}

/* Schemes whose payload may be summed have one round, the payload. */
static void payloads_are_rounds(void **state)
{
    (void)state;
    const char *const schemes[] = {"fp32", "randk:density=0.1", "local:every=1"};
    for (size_t s = 0; s < 3; s++) {
        struct group g = open_group(schemes[s], 3, cc_shape_flat(500));
        struct kit k = kit_open(schemes[s], cc_shape_flat(500));
        float want[500] = {0};
        assert_int_equal(cc_sum_rounds(g.spec->scheme, g.spec->params), 1);
        for (uint64_t step = 0; step < 3; step++) {
            fill(&g, step);
            assert_int_equal(run_step(&g), CC_OK);
            if (s == 1)
                assert_int_equal(g.bytes, 50 * 4);
        }
        k.ctx.step = 2;
        assert_int_equal(kit_decode(&k, g.sum, g.bytes), CC_OK);
        for (size_t i = 0; i < 500; i++)
            want[i] += 1.0f / 3 * k.y[i];
        for (size_t i = 0; i < 500; i++)
            assert_true(g.y[2][i] == want[i]);
        /* No round after the last has bytes. */
        size_t len = 1;
        assert_int_equal(cc_round_bytes(&g.codec[0], 1), 0);
        assert_int_equal(cc_encode_round(&g.codec[0], &g.ctx[0], 1, g.x[0], NULL, 0, &len, &g.e),
                         CC_OK);
        assert_int_equal(len, 0);
        assert_int_equal(cc_absorb(&g.codec[0], &g.ctx[0], 1, NULL, 0, 1, g.y[0], &g.e), CC_OK);
        assert_int_equal(cc_absorb(&g.codec[0], &g.ctx[0], 1, (uint8_t *)g.sum, 4, 1, g.y[0], &g.e),
                         CC_FAIL);
        kit_close(&k);
        close_group(&g);
    }
}

/* Vectors, and matrices that would not become smaller, are summed as they are in the first
 * round. */
static void vectors_go_first(void **state)
{
    (void)state;
    const struct cc_shape shapes[] = {cc_shape_flat(100), kit_matrix(8, 8), {.n = 1, .ndim = 0}};
    for (size_t s = 0; s < 3; s++) {
        size_t n = shapes[s].n;
        struct group g = open_group("powersgd", 2, shapes[s]);
        assert_int_equal(cc_round_bytes(&g.codec[0], 0), 4 * n);
        assert_int_equal(cc_round_bytes(&g.codec[0], 1), 0);
        for (size_t i = 0; i < n; i++) {
            g.x[0][i] = (float)i;
            g.x[1][i] = 2.0f;
        }
        assert_int_equal(run_step(&g), CC_OK);
        for (size_t i = 0; i < n; i++)
            assert_true(g.y[0][i] == ((float)i + 2) / 2);
        close_group(&g);
    }
    struct group g = open_group("powersgd", 2, (struct cc_shape){.dim = {0, 5}, .ndim = 2});
    assert_int_equal(run_step(&g), CC_OK);
    assert_int_equal(g.bytes, 0);
    close_group(&g);
}

/* Schemes whose payloads must be decoded have no rounds, alone or as inner schemes. */
static void opaque_is_refused(void **state)
{
    (void)state;
    for (size_t i = 0; cc_schemes[i] != NULL; i++) {
        if (cc_schemes[i]->rounds != NULL)
            continue;
        struct kit k = kit_open(cc_schemes[i]->id, cc_shape_flat(4));
        bool sums = cc_schemes[i]->kind == CC_SUM_F32;
        assert_int_equal(cc_sum_rounds(k.codec.scheme, k.codec.params), sums ? 1 : 0);
        kit_close(&k);
    }
    const char *const schemes[] = {"3lc", "topk", "local:inner=int8",
                                   "local:inner=(local:inner=3lc)"};
    for (size_t s = 0; s < 4; s++) {
        struct kit k = kit_open(schemes[s], cc_shape_flat(4));
        float x[4] = {0};
        size_t len;
        assert_int_equal(cc_sum_rounds(k.codec.scheme, k.codec.params), 0);
        assert_int_equal(cc_round_bytes(&k.codec, 0), 0);
        assert_int_equal(cc_encode_round(&k.codec, &k.ctx, 0, x, k.payload, 4096, &len, &k.e),
                         CC_FAIL);
        assert_contains(k.e.text, "cannot be summed");
        assert_int_equal(cc_absorb(&k.codec, &k.ctx, 0, k.payload, 0, 1, x, &k.e), CC_FAIL);
        kit_close(&k);
    }
}

/* Local steps send nothing, then the rounds of the inner scheme about the sum. */
static void local_steps(void **state)
{
    (void)state;
    enum { N = 30 * 20 };
    const char *const schemes[] = {"local:every=3,inner=(powersgd:rank=2)",
                                   "local:every=3,inner=(local:every=1,inner=(powersgd:rank=2))"};
    for (size_t s = 0; s < 2; s++) {
        struct group g = open_group(schemes[s], 2, kit_matrix(30, 20));
        struct group inner = open_group("powersgd:rank=2", 2, kit_matrix(30, 20));
        assert_int_equal(cc_sum_rounds(g.spec->scheme, g.spec->params), 2);
        for (uint64_t step = 0; step < 9; step++) {
            fill(&g, step);
            for (size_t w = 0; w < 2; w++)
                for (size_t i = 0; i < N; i++)
                    inner.x[w][i] = (step % 3 == 0 ? 0 : inner.x[w][i]) + g.x[w][i];
            assert_int_equal(run_step(&g), CC_OK);
            if (step % 3 < 2) {
                assert_int_equal(g.bytes, 0);
                assert_true(norm(g.y[0], N) == 0);
                continue;
            }
            assert_int_equal(run_step(&inner), CC_OK);
            assert_int_equal(g.bytes, 2 * 20 * 4);
            assert_memory_equal(g.y[0], inner.y[0], N * sizeof(float));
        }
        g.round = 0;
        assert_int_equal(
            cc_absorb(&g.codec[0], &g.ctx[0], 0, (uint8_t *)g.x[0], 4, 1, g.y[0], &g.e), CC_FAIL);
        assert_contains(g.e.text, "nothing is sent in step 9");
        close_group(&g);
        close_group(&inner);
    }
}

/* Only the state carries a step from one call to the next, at any address, and the bytes do not
 * depend on the number of threads. */
static void state_is_all(void **state)
{
    (void)state;
    enum { ROWS = 600, COLS = 700 }; /* several parts */
    struct group g = open_group("powersgd", 2, kit_matrix(ROWS, COLS));
    struct group h = open_group("powersgd", 2, kit_matrix(ROWS, COLS));
    for (uint64_t step = 0; step < 2; step++) {
        fill(&g, step);
        fill(&h, step);
        h.codec[0].threads = h.codec[1].threads = 3;
        assert_int_equal(run_step(&g), CC_OK);
        memset(h.y[0], 0, ROWS * COLS * sizeof(float));
        for (h.round = 0; h.round < 2; h.round++) {
            for (size_t w = 0; w < 2; w++) {
                void *other = cc_alloc(cc_state_bytes(&h.codec[w]), NULL);
                assert_non_null(other);
                memcpy(other, h.codec[w].state, cc_state_bytes(&h.codec[w]));
                free(h.codec[w].state);
                h.codec[w].state = other;
            }
            assert_int_equal(encode_all(&h), CC_OK);
            assert_int_equal(absorb_all(&h), CC_OK);
        }
        assert_memory_equal(g.y[0], h.y[0], ROWS * COLS * sizeof(float));
        for (size_t w = 0; w < 2; w++)
            assert_memory_equal(g.codec[w].state, h.codec[w].state, cc_state_bytes(&g.codec[w]));
        memset(h.y[1], 0, ROWS * COLS * sizeof(float));
    }
    close_group(&g);
    close_group(&h);
}

/* Q of tiny matrices is tiny, that of huge ones huge, and M Q is the square: P must not underflow
 * or overflow in it. */
static void any_size(void **state)
{
    (void)state;
    enum { N = 12 * 12 };
    const float factors[] = {0x1p-110f, 0x1p-60f, 1, 0x1p60f, 0x1p115f};
    for (size_t f = 0; f < 5; f++) {
        struct group g = open_group("powersgd:rank=2,ef=0", 2, kit_matrix(12, 12));
        struct group one = open_group("powersgd:rank=2,ef=0", 2, kit_matrix(12, 12));
        for (uint64_t step = 0; step < 3; step++) {
            fill(&g, step);
            fill(&one, step);
            for (size_t w = 0; w < 2; w++)
                for (size_t i = 0; i < N; i++)
                    g.x[w][i] *= factors[f];
            assert_int_equal(run_step(&g), CC_OK);
            assert_int_equal(run_step(&one), CC_OK);
            for (size_t i = 0; i < N; i++)
                assert_true(g.y[0][i] == one.y[0][i] * factors[f]);
        }
        close_group(&g);
        close_group(&one);
    }
}

static void too_large(void **state)
{
    (void)state;
    struct group g = open_group("powersgd:rank=1", 2, kit_matrix(4, 4));
    for (size_t i = 0; i < 16; i++)
        g.x[0][i] = FLT_MAX;
    assert_int_equal(run_step(&g), CC_FAIL);
    assert_contains(g.e.text, "too large for powersgd");
    close_group(&g);
    /* Two gradients of which each is finite in Q, but not their sum. */
    g = open_group("powersgd:rank=1", 2, kit_matrix(4, 4));
    for (size_t w = 0; w < 2; w++)
        for (size_t i = 0; i < 16; i++)
            g.x[w][i] = i < 4 ? 0x1p125f : 0;
    assert_int_equal(run_step(&g), CC_FAIL);
    assert_contains(g.e.text, "the workers' sum is");
    close_group(&g);
    g = open_group("powersgd:rank=1", 2, kit_matrix(4, 4));
    g.x[1][13] = NAN;
    assert_int_equal(run_step(&g), CC_FAIL);
    assert_contains(g.e.text, "index 13 is NaN");
    close_group(&g);
}

/* Any bytes are absorbed, or refused with their place. */
static void hostile_sums(void **state)
{
    (void)state;
    struct group g = open_group("powersgd:rank=2", 1, kit_matrix(10, 8));
    const float bad[] = {INFINITY, -INFINITY, NAN};
    fill(&g, 1);
    for (size_t b = 0; b < 3; b++) {
        g.round = 0;
        cc_codec_reset(&g.codec[0]);
        assert_int_equal(encode_all(&g), CC_OK);
        float kept = g.sum[7];
        g.sum[7] = bad[b];
        assert_int_equal(absorb_all(&g), CC_FAIL);
        assert_contains(g.e.text, "byte 28");
        g.sum[7] = kept;
        g.bytes -= 4;
        assert_int_equal(absorb_all(&g), CC_FAIL);
        assert_contains(g.e.text, "byte 76");
        g.bytes += 4;
        assert_int_equal(absorb_all(&g), CC_OK);
        g.round = 1;
        assert_int_equal(encode_all(&g), CC_OK);
        g.sum[2] = bad[b];
        assert_int_equal(absorb_all(&g), CC_FAIL);
        assert_contains(g.e.text, "byte 8");
    }
    uint64_t random = 3;
    for (int i = 0; i < 3000; i++) {
        cc_codec_reset(&g.codec[0]);
        for (g.round = 0; g.round < 2; g.round++) {
            if (encode_all(&g) != CC_OK)
                break;
            for (size_t j = 0; j < g.bytes / 4; j++)
                if (data_random(&random) % 4 == 0)
                    g.sum[j] = cc_bits_f32((uint32_t)data_random(&random));
            (void)absorb_all(&g);
        }
    }
    close_group(&g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(two_workers_by_hand),
        cmocka_unit_test(like_the_paper),
        cmocka_unit_test(alone_like_encoding),
        cmocka_unit_test(recovers_low_rank),
        cmocka_unit_test(feedback_adds_up),
        cmocka_unit_test(payloads_are_rounds),
        cmocka_unit_test(vectors_go_first),
        cmocka_unit_test(opaque_is_refused),
        cmocka_unit_test(local_steps),
        cmocka_unit_test(state_is_all),
        cmocka_unit_test(any_size),
        cmocka_unit_test(too_large),
        cmocka_unit_test(hostile_sums),
    };
    return kit_run(tests);
}
