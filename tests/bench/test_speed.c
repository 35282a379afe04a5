/* Speed measurements: the samples and their totals, threads, schemes that fail; the loops of the
 * limits against the memory that they should leave; profiles. Times are compared only with each
 * other, with wide tolerances. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "bench/limits.h"
#include "bench/roofline.h"
#include "bench/profile.h"
#include "bench/speed.h"
#include "core/cache.h"
#include "core/clock.h"
#include "core/isa.h"
#include "core/memory.h"
#include "core/parallel.h"
#include "core/trace/synth.h"
#include "tests/lib/bench_config.h"
#include "tests/lib/scratch.h"

static void speed_of(const struct fixture *f, const struct cc_speed_limits *limits,
                     struct cc_speed *out)
{
    struct cc_error e = {""};
    if (cc_speed_measure(&f->config, limits, out, &e) != CC_OK)
        fail_msg("%s", e.text);
}

/* --- samples --- */

/* Every sample is a time, and that of a step is the sum of its tensors'. */
static void assert_samples(const struct cc_speed *s, size_t schemes)
{
    for (int c = 0; c < CC_CALLS; c++)
        for (size_t i = 0; i < schemes; i++)
            for (size_t k = 0; k < s->samples; k++) {
                double step = s->seconds[c][i * s->most + k], sum = 0;
                assert_true(step > 0);
                for (size_t t = 0; s->tensor_bytes != NULL && t < s->tensors; t++) {
                    double each = s->tensor_seconds[c][(i * s->tensors + t) * s->most + k];
                    assert_true(each > 0);
                    sum += each;
                }
                if (s->tensor_bytes != NULL)
                    assert_true(fabs(sum / step - 1) < 1e-9);
            }
}

static void speeds(void **state)
{
    static const struct {
        struct cc_speed_limits limits;
        int threads;
        size_t from, to; /* number of samples */
    } runs[] = {
        {{.discard = 1, .least = 3, .most = 5, .seconds = 0}, 1, 3, 3},
        {{.discard = 0, .least = 2, .most = 4, .seconds = 600}, 1, 4, 4},
        {{.discard = 2, .least = 3, .most = 100000, .seconds = 0.05}, 1, 3, 100000},
        {{.discard = 1, .least = 3, .most = 3, .per_tensor = true}, 1, 3, 3},
        {{.discard = 1, .least = 3, .most = 3, .roofline = true}, 2, 3, 3},
        {{.least = 3, .most = 9, .seconds = 600, .precision = 1e9}, 1, 3, 3},
        {{.least = 3, .most = 9, .seconds = 600, .precision = 1e-12}, 1, 9, 9},
        {{.discard = 1, .least = 2, .most = 2, .per_tensor = true}, 2, 2, 2},
    };
    struct fixture f;
    open_gradients(&f, state, "fp32,3lc,local:every=2");
    for (size_t i = 0; i < sizeof runs / sizeof runs[0]; i++) {
        struct cc_speed s;
        f.config.threads = runs[i].threads;
        speed_of(&f, &runs[i].limits, &s);
        assert_in_range(s.samples, runs[i].from, runs[i].to);
        assert_int_equal(s.most, runs[i].limits.most);
        assert_int_equal(s.tensors, 2);
        assert_true((s.tensor_bytes != NULL) == runs[i].limits.per_tensor);
        assert_samples(&s, f.schemes.count);
        for (size_t k = 0; k < f.schemes.count; k++) {
            assert_false(cc_bench_failed(&f.config, k));
            assert_int_equal(s.taken[k], s.samples);
            for (int c = 0; c < CC_CALLS; c++)
                assert_true(s.limit[k].call[c].memory == 0); /* all in cache */
        }
        cc_speed_free(&s);
        assert_null(s.bytes);
    }
    close_config(&f);
}

/* Payload bytes of a step: fp32's four a value; half of them when every other step sends; int8's
 * scale and a byte a value. They depend neither on the number of steps timed at once nor on the
 * threads. */
static void bytes(void **state)
{
    (void)state;
    enum { LARGE = 2 * CC_PART_VALUES + 7, SMALL = 1000 };
    const struct cc_tensor_info tensors[] = {{"large", cc_shape_flat(LARGE)},
                                             {"small", cc_shape_flat(SMALL)},
                                             {"one", cc_shape_flat(1)}};
    for (int threads = 1; threads <= 3; threads++)
        for (int each = 0; each < 2; each++) {
            struct fixture f;
            struct cc_speed s;
            const struct cc_speed_limits limits = {.least = 2, .most = 2, .per_tensor = each};
            open_config(&f, make_trace(tensors, 3, 5), "fp32,local:every=2,int8");
            f.config.threads = threads;
            speed_of(&f, &limits, &s);
            const double all = LARGE + SMALL + 1;
            assert_true(s.bytes[0] == 4 * all && s.bytes[1] == 2 * all);
            assert_true(s.bytes[2] == 3 * 4 + all);
            for (size_t t = 0; each && t < 3; t++) {
                double n = (double)tensors[t].shape.n;
                assert_true(s.tensor_bytes[t] == 4 * n && s.tensor_bytes[3 + t] == 2 * n);
                assert_true(s.tensor_bytes[6 + t] == 4 + n);
            }
            assert_samples(&s, 3);
            cc_speed_free(&s);
            close_config(&f);
        }
}

/* --- schemes that fail --- */

static void one_fails(void **state)
{
    struct cc_speed s;
    const struct cc_speed_limits limits = {.least = 2, .most = 3};
    for (int threads = 1; threads <= 2; threads++) {
        struct fixture f;
        open_huge(&f, state, "int8,local,fp32");
        f.config.threads = threads;
        speed_of(&f, &limits, &s);
        assert_gave_up(&f, *state, 1);
        assert_true(s.samples >= 2);
        for (int c = 0; c < CC_CALLS; c++)
            assert_true(s.seconds[c][0] > 0 && s.seconds[c][2 * s.most + 1] > 0);
        cc_speed_free(&s);
        close_config(&f);
    }
}

/* --- the loops of the limits --- */

enum { LINE = 64, WORDS = 3 * LINE, BYTES = WORDS * 4, PAYLOAD = 5 * LINE };

struct arena {
    uint32_t *stream[CC_STREAMS];
    uint8_t *payload;
    struct cc_moves moves;
};

static void arena_open(struct arena *a, struct cc_moves moves)
{
    a->moves = moves;
    a->moves.stream_bytes = BYTES;
    a->moves.payload_bytes = PAYLOAD;
    for (int s = 0; s < CC_STREAMS; s++) {
        a->stream[s] = cc_alloc0(BYTES, NULL);
        a->moves.stream[s] = (unsigned char *)a->stream[s];
    }
    a->payload = cc_alloc0(PAYLOAD, NULL);
    a->moves.payload = a->payload;
}

static void arena_close(struct arena *a)
{
    for (int s = 0; s < CC_STREAMS; s++)
        free(a->stream[s]);
    free(a->payload);
}

/* Whether all of the first `words` words have this value. */
static bool all_are(const void *from, size_t words, uint32_t value)
{
    const uint32_t *p = from;
    for (size_t i = 0; i < words; i++)
        if (p[i] != value)
            return false;
    return true;
}

/* The loop copies every byte once, and no byte beside them. */
static void moves_all(const struct k_memory *k, const struct cc_copy_loop *config)
{
    const uint32_t written = 0x3f800000;
    struct arena a;
    arena_open(&a, (struct cc_moves){.reads = 1, .updates = 2});
    a.stream[0][WORDS - 1] = 1;
    assert_true(k->move(&a.moves, config) != 0);
    a.stream[0][WORDS - 1] = 0;
    assert_true(k->move(&a.moves, config) == 0);
    assert_true(all_are(a.stream[0], WORDS, 0) && all_are(a.stream[1], WORDS, 2));
    assert_true(all_are(a.stream[2], WORDS, 2) && all_are(a.stream[3], WORDS, 0));
    assert_true(all_are(a.payload, PAYLOAD / 4, written));
    arena_close(&a);
    arena_open(&a, (struct cc_moves){.writes = 1, .payload_in = true});
    a.payload[PAYLOAD - 1] = 1;
    assert_true(k->move(&a.moves, config) != 0);
    a.payload[PAYLOAD - 1] = 0;
    assert_true(k->move(&a.moves, config) == 0);
    assert_true(all_are(a.stream[0], WORDS, written) && all_are(a.stream[1], WORDS, 0));
    arena_close(&a);
}

/* Among the lines from bit 3 on, lines 1 and 9 are not zero. Earlier contents do not matter. */
static void fills_lines(const struct k_memory *k, const struct cc_copy_loop *config)
{
    static const uint8_t filled[] = {1 << (3 + 1), 1 << (3 + 9 - 8), 0};
    struct arena a;
    arena_open(
        &a, (struct cc_moves){.writes = 1, .payload_in = true, .filled = filled, .first_bit = 3});
    memset(a.stream[0], 0xff, BYTES);
    (void)k->move(&a.moves, config);
    for (size_t i = 0; i < WORDS; i++)
        assert_int_equal(a.stream[0][i], i == 16 * 1 || i == 16 * 9 ? 0x3f800000 : 0);
    arena_close(&a);
}

static void moves_lines(const struct k_memory *k, size_t ahead)
{
    static const uint32_t line[] = {0, 2, 3, 11};
    const struct cc_copy_loop config = {.ahead = ahead};
    struct arena a;
    arena_open(&a, (struct cc_moves){.updates = 1,
                                     .payload_in = true,
                                     .line = line,
                                     .line_count = sizeof line / sizeof line[0]});
    a.payload[PAYLOAD - LINE] = 1;
    assert_true(k->move(&a.moves, &config) != 0);
    for (uint32_t i = 0; i < WORDS / 16; i++) {
        bool listed = i == 0 || i == 2 || i == 3 || i == 11;
        assert_true(all_are(a.stream[0] + (size_t)16 * i, 16, listed));
    }
    arena_close(&a);
}

static void loops(void **state)
{
    (void)state;
    static const struct k_memory *const kernels[CC_ISAS] = {
        [CC_SCALAR] = &k_memory_scalar,
#if defined(__x86_64__)
        [CC_AVX2] = &k_memory_avx2,
        [CC_AVX512] = &k_memory_avx512,
#elif defined(__aarch64__)
        [CC_NEON] = &k_memory_neon,
#endif
    };
    for (size_t i = 0; i < sizeof kernels / sizeof kernels[0]; i++) {
        if (!cc_isa_has((enum cc_isa)i))
            continue;
        for (size_t block = 256; block <= 4096; block *= 2)
            for (int nontemporal = 0; nontemporal < 2; nontemporal++)
                for (size_t ahead = 0; ahead <= 4096; ahead += 2048) {
                    const struct cc_copy_loop config = {block, ahead, nontemporal, ahead == 2048};
                    moves_all(kernels[i], &config);
                    fills_lines(kernels[i], &config);
                }
        for (size_t ahead = 0; ahead < 8; ahead++)
            moves_lines(kernels[i], ahead);
        moves_lines(kernels[i], CC_LINES_FAR);
    }
}

/* --- limits --- */

enum { MEGA = 1 << 20 };

static double limit_of(struct cc_roofline *r, const struct cc_pattern *p, size_t *index)
{
    struct cc_error e = {""};
    if (cc_roofline_add(r, p, index, &e) != CC_OK)
        fail_msg("%s", e.text);
    for (size_t i = 0; i < 5; i++) {
        cc_roofline_sample(r, *index, i);
    }
    return cc_roofline_limit(r, *index, 5);
}

/* GB/s of memcpy out of cache, which moves the same bytes as fp32. */
static double memcpy_speed(void)
{
    struct cc_cache_flush flush;
    assert_int_equal(cc_cache_flush_open(&flush, NULL), CC_OK);
    char *from = cc_alloc0(4 * MEGA * 4, NULL), *to = cc_alloc0(4 * MEGA * 4, NULL);
    double best = INFINITY;
    for (int i = 0; i < 5; i++) {
        cc_cache_flush_run(&flush);
        double begin = cc_now();
        memcpy(to, from, 4 * MEGA * 4);
        best = fmin(best, cc_now() - begin);
        assert_int_equal(to[i], 0);
    }
    free(from);
    free(to);
    cc_cache_flush_close(&flush);
    return 4e-9 * 4 * MEGA / best;
}

/* Speeds are compared on one thread, with several attempts, as the machine may be busy. */
enum { TRIES = 10 };

static void limits(void **state)
{
    (void)state;
    const struct cc_traffic one = cc_traffic_one(0), three = cc_traffic_one(2);
    const struct cc_pattern copy = cc_pattern_encode(&one, CC_ELEMENT_FP32, 4),
                            more = cc_pattern_encode(&three, CC_ELEMENT_FP32, 4);
    bool fast = false, slower = false;
    for (int i = 0; i < TRIES && !(fast && slower); i++) {
        struct cc_roofline *r = cc_roofline_new(4 * MEGA, 1, 0, 5, NULL);
        size_t first, other;
        assert_non_null(r);
        double limit = limit_of(r, &copy, &first);
        fast |= limit > 0.5 * memcpy_speed();
        slower |= limit_of(r, &more, &other) < limit;
        assert_int_not_equal(first, other);
        cc_roofline_free(r);
    }
    assert_true(fast && slower);
}

/* A gradient of 16 bits has 2 bytes less in each pass that reads it, and a limit of its own, which
 * is faster where little else is moved. */
static void half_limits(void **state)
{
    (void)state;
    const struct cc_traffic one = cc_traffic_one(0), two = cc_traffic_two(1);
    const struct cc_pattern whole = cc_pattern_encode(&one, CC_ELEMENT_FP32, 0),
                            half = cc_pattern_encode(&one, CC_ELEMENT_BF16, 0),
                            passes = cc_pattern_encode(&two, CC_ELEMENT_FP16, 1);
    bool faster = false;
    for (int i = 0; i < TRIES && !faster; i++) {
        struct cc_roofline *r = cc_roofline_new(4 * MEGA, 1, 0, 5, NULL);
        size_t index, other;
        assert_non_null(r);
        const double limit = limit_of(r, &whole, &index);
        assert_true(cc_roofline_bytes(r, index) == 4);
        faster = limit_of(r, &half, &other) > 1.3 * limit;
        assert_int_not_equal(index, other);
        assert_true(cc_roofline_bytes(r, other) == 2);
        assert_true(limit_of(r, &passes, &index) > 0);
        assert_true(cc_roofline_bytes(r, index) == 2 + 4 + 2 + 2 * 4 + 1);
        cc_roofline_free(r);
    }
    assert_true(faster);
}

/* 0.13 and 0.14 bytes a value are one pattern, 0.2 are another; limits of lists are not
 * compared. */
static void shared_limits(void **state)
{
    (void)state;
    static const uint32_t line[] = {1, 5, 1000};
    struct cc_roofline *r = cc_roofline_new(MEGA, 2, 0, 5, NULL);
    struct cc_pattern p = {.passes = 1, .pass = {{.reads = 1}}, .payload = 0.13};
    size_t first, second;
    assert_non_null(r);
    assert_true(limit_of(r, &p, &first) > 0);
    p.payload = 0.14;
    assert_true(limit_of(r, &p, &second) > 0);
    assert_int_equal(first, second);
    p.payload = 0.2;
    (void)limit_of(r, &p, &second);
    assert_int_not_equal(first, second);
    p = cc_pattern_decode(true, 1);
    p.line = line;
    p.lines = 3;
    assert_true(limit_of(r, &p, &first) > 0);
    (void)limit_of(r, &p, &second);
    assert_int_not_equal(first, second);
    cc_roofline_free(r);
}

/* A list of few lines takes less than all of them. */
static void limits_of_lists(void **state)
{
    (void)state;
    uint32_t line[1000];
    struct cc_pattern dense = cc_pattern_decode(true, 0.01), sparse = dense;
    bool faster = false;
    for (uint32_t i = 0; i < 1000; i++)
        line[i] = 200 * i;
    sparse.line = line;
    sparse.lines = 1000;
    for (int i = 0; i < TRIES && !faster; i++) {
        struct cc_roofline *r = cc_roofline_new(4 * MEGA, 1, 0, 5, NULL);
        size_t a, b;
        assert_non_null(r);
        faster = limit_of(r, &sparse, &a) > 2 * limit_of(r, &dense, &b);
        cc_roofline_free(r);
    }
    assert_true(faster);
}

/* On a tensor out of cache: limits for those schemes that have one. */
static void limits_of_schemes(void **state)
{
    (void)state;
    if (cc_cache_bytes() > (size_t)64 << 20)
        skip();
    const struct cc_tensor_info tensor = {"large", cc_shape_flat(cc_cache_bytes() / 2)};
    const struct cc_speed_limits config = {.least = 1, .most = 1, .roofline = true};
    struct fixture f;
    struct cc_speed s;
    open_config(&f, make_trace(&tensor, 1, 1), "fp32,dgc,lz4");
    speed_of(&f, &config, &s);
    for (int c = 0; c < CC_CALLS; c++)
        assert_true(s.limit[0].call[c].memory > 0 && s.limit[1].call[c].memory > 0 &&
                    s.limit[2].call[c].memory == 0);
    cc_speed_free(&s);
    close_config(&f);
}

/* On a tensor that stays in the second-level cache, and on a much smaller one. */
static void limits_in_l2(void **state)
{
    (void)state;
    const struct cc_speed_limits config = {.least = 2, .most = 2, .roofline = true};
    for (size_t part = 1; part <= 16; part *= 16) {
        const struct cc_tensor_info tensor = {"one", cc_shape_flat(cc_l2_values() / part)};
        const bool known = part == 1;
        struct fixture f;
        struct cc_speed s;
        open_config(&f, make_trace(&tensor, 1, 4), "fp32,int8,lz4");
        assert_int_equal(cc_limits_place(f.config.trace), known ? CC_IN_L2 : CC_IN_CACHE);
        speed_of(&f, &config, &s);
        for (int c = 0; c < CC_CALLS; c++)
            assert_true((s.limit[0].call[c].memory > 0) == known &&
                        s.limit[2].call[c].memory == 0 && isnan(s.limit[2].call[c].moved));
        if (known) /* by hand: gradient and payload; int8 reads the gradient twice */
            assert_true(s.limit[0].call[CC_ENCODE].moved == 4 + 4 &&
                        s.limit[1].call[CC_ENCODE].moved == 4 + 4 + 1 &&
                        s.limit[1].call[CC_DECODE].moved == 1 + 4 &&
                        s.limit[1].call[CC_DECODE_ADD].moved == 1 + 8);
        cc_speed_free(&s);
        close_config(&f);
    }
}

/* The limit of the codec's own instructions: of schemes that send in every step, with one thread.
 * zstd takes so long for a value that no disturbance hides the difference of the sizes. */
static void limits_in_l1(void **state)
{
    (void)state;
    const struct cc_speed_limits config = {.least = 3, .most = 3, .roofline = true};
    const struct cc_tensor_info tensor = {"one", cc_shape_flat(cc_l2_values())};
    for (int threads = 1; threads <= 2; threads++) {
        const bool known = threads == 1;
        struct fixture f;
        struct cc_speed s;
        open_config(&f, make_trace(&tensor, 1, 4), "zstd,local");
        f.config.threads = threads;
        speed_of(&f, &config, &s);
        for (int c = 0; c < CC_CALLS; c++)
            assert_true((s.limit[0].call[c].l1 > 0) == known && s.limit[1].call[c].l1 == 0);
        assert_true((s.limit[0].clock > 0.1 && s.limit[0].clock < 10) == known);
        cc_speed_free(&s);
        close_config(&f);
    }
}

/* --- profiles --- */

/* Points are grouped by the tensors' sizes: 100 and 105 values are one size, 1,000 another. */
static void profile_of_tensors(void **state)
{
    (void)state;
    const struct cc_tensor_info tensors[] = {{"c", cc_shape_flat(1000)},
                                             {"a", cc_shape_flat(100)},
                                             {"b", cc_shape_flat(105)},
                                             {"tiny", cc_shape_flat(3)}};
    struct fixture f;
    struct cc_speed s;
    struct cc_profile p = {0};
    struct cc_speed_limits config = cc_profile_limits(0);
    open_config(&f, make_trace(tensors, 4, 3), "fp32,int8");
    f.config.min_size = 10;
    speed_of(&f, &config, &s);
    assert_int_equal(cc_profile_add(&p, &f.config, &s, false, NULL), CC_OK);
    assert_int_equal(p.codecs, 2);
    const struct cc_profile_codec *c = cc_profile_find(&p, "int8");
    assert_int_equal(c->points, 2);
    assert_true(c->point[0].values == 103 && c->point[1].values == 1000); /* 102.5 */
    assert_true(fabs(c->point[0].bits_per_value - 8 * (205 + 2 * 4) / 205.) < 1e-9);
    assert_true(fabs(c->point[1].bits_per_value - 8.032) < 1e-9);
    for (size_t i = 0; i < 2; i++)
        assert_true(c->point[i].encode_ns > 0 && c->point[i].decode_ns > 0 &&
                    c->point[i].decode_add_ns > 0);
    const double before = c->point[1].encode_ns;
    c->point[1].encode_ns = 0;
    assert_int_equal(cc_profile_add(&p, &f.config, &s, false, NULL),
                     CC_OK); /* the same once more */
    assert_true(c->points == 2 && c->point[1].encode_ns == before);
    cc_profile_free(&p);
    cc_speed_free(&s);
    close_config(&f);
}

static void profile(void **state)
{
    (void)state;
    struct cc_spec_list schemes = {0};
    struct cc_error e = {""};
    struct cc_profile p = {0};
    const struct cc_profile_config config = {
        .distribution = CC_LAPLACE, .seed = 3, .threads = 2, .cpu = "c", .time = "t"};
    assert_int_equal(cc_spec_list_parse("fp32,local", &schemes, &e), CC_OK);
    assert_int_equal(cc_profile_begin(&p, &config, &e), CC_OK);
    for (size_t i = CC_PROFILE_SIZES; i-- > 0;)
        if (cc_profile_measure(&p, &schemes, cc_profile_sizes[i], &config, &e) != CC_OK)
            fail_msg("%s", e.text);
    assert_string_equal(p.trace, "synthetic:laplace");
    assert_string_equal(p.cpu, "c");
    assert_string_equal(p.isa, cc_isa_name(cc_isa()));
    assert_int_equal(p.threads, 2);
    assert_int_equal(p.codecs, 2);
    for (size_t i = 0; i < CC_PROFILE_SIZES; i++) {
        assert_true(p.codec[0].point[i].values == (double)cc_profile_sizes[i]);
        assert_true(p.codec[0].point[i].bits_per_value == 32);
        assert_true(p.codec[0].point[i].load >= 0 && p.codec[0].point[i].load <= 1);
        assert_true(p.codec[1].point[i].bits_per_value == 16);
    }
    assert_true(p.copy_gb_per_s > 0);
    cc_profile_free(&p);
    cc_spec_list_free(&schemes);
}

/* Measured again: the faster of two points stays if asked for, else the last. */
static void keep_faster(void **state)
{
    (void)state;
    struct cc_spec_list schemes = {0};
    struct cc_error e = {""};
    struct cc_profile p = {0};
    struct cc_profile_config config = {
        .distribution = CC_LAPLACE, .seed = 3, .threads = 1, .cpu = "c", .time = "t"};
    const struct cc_profile_point never = {.values = 100, .bits_per_value = 32, .encode_ns = 1e9};
    const struct cc_profile_point at_once = {.values = 100, .bits_per_value = 32};
    assert_int_equal(cc_spec_list_parse("fp32", &schemes, &e), CC_OK);
    assert_int_equal(cc_profile_begin(&p, &config, &e), CC_OK);
    config.keep_faster = true;
    for (int i = 0; i < 4; i++) {
        const struct cc_profile_point *kept;
        assert_int_equal(cc_profile_put(&p, "fp32", i % 2 == 0 ? &never : &at_once, &e), CC_OK);
        assert_int_equal(cc_profile_measure(&p, &schemes, 100, &config, &e), CC_OK);
        kept = cc_profile_point(&p, "fp32", 100);
        assert_true((kept->encode_ns == 0) == (i == 1) && kept->encode_ns < 1e9);
        config.keep_faster = i < 1;
    }
    cc_profile_free(&p);
    cc_spec_list_free(&schemes);
}

int main(void)
{
#define IN_SCRATCH(f) cmocka_unit_test_setup_teardown(f, scratch_setup, scratch_teardown)
    const struct CMUnitTest tests[] = {
        IN_SCRATCH(speeds),
        cmocka_unit_test(bytes),
        IN_SCRATCH(one_fails),
        cmocka_unit_test(loops),
        cmocka_unit_test(limits),
        cmocka_unit_test(half_limits),
        cmocka_unit_test(shared_limits),
        cmocka_unit_test(limits_of_lists),
        cmocka_unit_test(limits_of_schemes),
        cmocka_unit_test(limits_in_l2),
        cmocka_unit_test(limits_in_l1),
        cmocka_unit_test(profile_of_tensors),
        cmocka_unit_test(profile),
        cmocka_unit_test(keep_faster),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
