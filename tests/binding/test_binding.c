/* The interface for other programs and languages: payloads by hand, states, containers and traces
 * through commcomp.h alone. tests/python compares every scheme with the command. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "binding/commcomp.h"
#include "schemes/codec_set.h"
#include "tests/lib/scratch.h"
#include "tests/lib/text.h"

static char error[COMMCOMP_ERROR_BYTES];

static struct commcomp_codec *codec_of(const char *scheme, size_t rows, size_t columns)
{
    struct commcomp_codec *c;
    const size_t dims[] = {rows, columns};
    assert_int_equal(commcomp_codec_new(scheme, dims, 2, &c, error), COMMCOMP_OK);
    return c;
}

/* The example of docs/container.md: its payload. */
static void encodes_the_example(void **state)
{
    (void)state;
    static const float x[] = {0.3f, -1.0f, 0.2f, 0.6f, 0.0f};
    static const uint8_t want[] = {0x00, 0x00, 0x80, 0x3f, 0x61};
    struct commcomp_codec *c = codec_of("3lc", 1, 5);
    const size_t bound = commcomp_codec_bound(c);
    uint8_t *payload = malloc(bound);
    size_t bytes;
    float y[5] = {1, 1, 1, 1, 1};
    assert_non_null(payload);
    assert_int_equal(commcomp_encode(c, 0, x, payload, bound, &bytes, error), COMMCOMP_OK);
    assert_int_equal(bytes, sizeof want);
    assert_memory_equal(payload, want, sizeof want);
    assert_int_equal(commcomp_decode_add(c, 0, payload, bytes, 0.5f, y, error), COMMCOMP_OK);
    static const float added[] = {1, 0.5f, 1, 1.5f, 1};
    assert_memory_equal(y, added, sizeof y);

    assert_int_equal(commcomp_encode(c, 0, x, payload, bound - 1, &bytes, error), COMMCOMP_FAIL);
    assert_contains(error, "the output has room for");
    assert_int_equal(commcomp_decode(c, 0, payload, 4, y, NULL), COMMCOMP_FAIL);
    free(payload);
    commcomp_codec_free(c);
    commcomp_codec_free(NULL);
}

/* Values of 16 bits: 1, -2, 0.5 in both types; a scheme that reads them, and one that gets them
 * widened, which costs memory at the first call alone. */
static void encodes_halves(void **state)
{
    (void)state;
    static const float x[] = {1, -2, 0.5f, 0, 1, 1};
    static const uint16_t half[2][6] = {{0x3f80, 0xc000, 0x3f00, 0, 0x3f80, 0x3f80},
                                        {0x3c00, 0xc000, 0x3800, 0, 0x3c00, 0x3c00}};
    static const int dtypes[] = {COMMCOMP_BF16, COMMCOMP_F16};
    static const char *const schemes[] = {"int8:ef=1", "powersgd:rank=1", "sparse:density=0.5"};
    for (size_t i = 0; i < sizeof schemes / sizeof *schemes; i++) {
        struct commcomp_codec *c = codec_of(schemes[i], 2, 3), *wide = codec_of(schemes[i], 2, 3);
        uint8_t want[256], got[256];
        size_t bytes, other;
        for (uint64_t step = 0; step < 6; step++) {
            const size_t type = step % 2;
            assert_int_equal(commcomp_encode(wide, step, x, want, sizeof want, &bytes, error),
                             COMMCOMP_OK);
            assert_int_equal(commcomp_encode_from(c, step, dtypes[type], half[type], got,
                                                  sizeof got, &other, error),
                             COMMCOMP_OK);
            assert_int_equal(other, bytes);
            assert_memory_equal(got, want, bytes);
        }
        assert_int_equal(
            commcomp_encode_from(c, 6, COMMCOMP_F32, x, got, sizeof got, &other, error),
            COMMCOMP_OK);
        assert_int_equal(
            commcomp_encode_from(c, 7, COMMCOMP_F64, x, got, sizeof got, &other, error),
            COMMCOMP_USAGE);
        assert_contains(error, "dtype 3 is none of float32, float16, bfloat16");
        commcomp_codec_free(c);
        commcomp_codec_free(wide);
    }
}

/* A random codec sends as schemes draws for the same seed, rank, direction, step and
 * tensor, and all five matter. */
static void who_sends_decides_what_is_drawn(void **state)
{
    (void)state;
    static const struct cc_context senders[] = {
        {.seed = 7, .rank = 2, .direction = CC_PUSH, .step = 3, .tensor = 4},
        {.seed = 8, .rank = 2, .direction = CC_PUSH, .step = 3, .tensor = 4},
        {.seed = 7, .rank = 1, .direction = CC_PUSH, .step = 3, .tensor = 4},
        {.seed = 7, .rank = 2, .direction = CC_PULL, .step = 3, .tensor = 4},
        {.seed = 7, .rank = 2, .direction = CC_PUSH, .step = 2, .tensor = 4},
        {.seed = 7, .rank = 2, .direction = CC_PUSH, .step = 3, .tensor = 5}};
    enum { SENDERS = sizeof senders / sizeof senders[0], BYTES = 1024 };
    float x[600];
    uint8_t payload[SENDERS][BYTES], want[BYTES];
    size_t bytes[SENDERS], length;
    static const struct cc_codec_memory memory = {.scratch = CC_SHARED};
    static const size_t dims[] = {20, 30};
    struct cc_spec *spec;
    struct cc_codec_set set = {0};
    struct cc_shape shape;
    for (size_t i = 0; i < 600; i++)
        x[i] = (float)(i % 31) / 31 - 0.4f;
    assert_int_equal(cc_spec_parse("ternary", &spec, NULL), CC_OK);
    assert_int_equal(cc_shape_make(dims, 2, &shape, NULL), CC_OK);
    assert_int_equal(cc_codec_set_single(&set, spec, &shape, &memory, NULL), CC_OK);
    for (size_t i = 0; i < SENDERS; i++) {
        const struct cc_context *s = &senders[i];
        struct commcomp_codec *c = codec_of("ternary", 20, 30);
        assert_int_equal(
            commcomp_codec_sender(c, s->seed, s->rank,
                                  s->direction == CC_PUSH ? COMMCOMP_PUSH : COMMCOMP_PULL, error),
            COMMCOMP_OK);
        assert_int_equal(commcomp_codec_tensor(c, s->tensor, "a", error), COMMCOMP_OK);
        assert_int_equal(commcomp_encode(c, s->step, x, payload[i], BYTES, &bytes[i], error),
                         COMMCOMP_OK);
        commcomp_codec_free(c);
        assert_int_equal(cc_encode(&set.item->codec, s, x, want, BYTES, &length, NULL), CC_OK);
        assert_int_equal(bytes[i], length);
        assert_memory_equal(payload[i], want, length);
        for (size_t k = 0; k < i; k++)
            assert_memory_not_equal(payload[i], payload[k], length);
    }
    cc_codec_set_free(&set);
    cc_spec_free(spec);
}

static void says_what_a_codec_is(void **state)
{
    (void)state;
    struct commcomp_codec *c = codec_of("local:every=3,inner=(3lc:s=1.75)", 2, 3);
    assert_string_equal(commcomp_codec_name(c), "local:every=3,inner=(3lc:s=1.75)");
    assert_int_equal(commcomp_codec_values(c), 6);
    assert_int_equal(commcomp_codec_period(c), 3);
    assert_int_equal(commcomp_codec_has_feedback(c), 1);
    assert_int_equal(commcomp_rounds(c), 0);
    commcomp_codec_free(c);
    c = codec_of("local:inner=(randk)", 2, 3);
    assert_true(commcomp_codec_flags(c) & COMMCOMP_STOCHASTIC);
    commcomp_codec_free(c);
    c = codec_of("3lc:ef=0", 2, 3);
    assert_false(commcomp_codec_flags(c) & COMMCOMP_STOCHASTIC);
    assert_int_equal(commcomp_codec_has_feedback(c), 0);
    assert_true(commcomp_codec_flags(c) & COMMCOMP_LOSSY);
    commcomp_codec_free(c);
    c = codec_of("fp32", 2, 3);
    assert_int_equal(commcomp_codec_kind(c), COMMCOMP_SUM_F32);
    assert_int_equal(commcomp_rounds(c), 1);
    assert_int_equal(commcomp_round_bytes(c, 0), 24);
    assert_int_equal(commcomp_round_bytes(c, 1), 0);
    commcomp_codec_free(c);

    size_t found = 0;
    char range[64];
    for (size_t s = 0; s < commcomp_schemes(); s++)
        for (size_t p = 0; p < commcomp_parameters(s); p++)
            if (strcmp(commcomp_scheme_id(s), "3lc") == 0 &&
                strcmp(commcomp_parameter_name(s, p), "s") == 0) {
                commcomp_parameter_range(s, p, range, sizeof range);
                assert_string_equal(range, "1 <= s < 2");
                found++;
            }
    assert_int_equal(found, 1);
}

static void refuses_what_is_wrong(void **state)
{
    (void)state;
    struct commcomp_codec *c = NULL;
    static const size_t dims[9] = {1, 1, 1, 1, 1, 1, 1, 1, 1};
    static const size_t huge[] = {(size_t)1 << 40, (size_t)1 << 40};
    assert_int_equal(commcomp_codec_new("3lb", dims, 1, &c, error), COMMCOMP_USAGE);
    assert_contains(error, "did you mean '3lc'");
    assert_int_equal(commcomp_codec_new("3lc", dims, 9, &c, error), COMMCOMP_FAIL);
    assert_int_equal(commcomp_codec_new("3lc", huge, 2, &c, error), COMMCOMP_FAIL);
    assert_int_equal(commcomp_codec_new("3lc", huge, 1, &c, error), COMMCOMP_FAIL);
    assert_null(c);

    c = codec_of("3lc", 1, 5);
    assert_int_equal(commcomp_codec_sender(c, 1, -2, COMMCOMP_PUSH, error), COMMCOMP_USAGE);
    assert_contains(error, "rank -2");
    assert_int_equal(commcomp_codec_sender(c, 1, 0, 2, error), COMMCOMP_USAGE);
    assert_int_equal(commcomp_codec_threads(c, 0, error), COMMCOMP_USAGE);
    assert_int_equal(commcomp_codec_threads(c, 2, error), COMMCOMP_OK);
    const float x[] = {1, 2, 3, 4, (float)1e300};
    uint8_t payload[64];
    size_t bytes;
    assert_int_equal(commcomp_codec_tensor(c, 0, "fc.weight", error), COMMCOMP_OK);
    assert_int_equal(commcomp_encode(c, 0, x, payload, sizeof payload, &bytes, error),
                     COMMCOMP_FAIL);
    assert_contains(error, "tensor 'fc.weight': the value at index 4 is infinite");
    commcomp_codec_free(c);
}

/* Encodes step after step; the last payload tells whether all states were alike. */
static size_t train(struct commcomp_codec *c, uint64_t from, uint64_t to, uint8_t *payload)
{
    size_t bytes = 0;
    float x[60];
    for (uint64_t step = from; step < to; step++) {
        for (size_t i = 0; i < 60; i++)
            x[i] = (float)((i * 7 + step * 13) % 31) - 15;
        assert_int_equal(commcomp_encode(c, step, x, payload, 4096, &bytes, error), COMMCOMP_OK);
    }
    return bytes;
}

static void states_continue(void **state)
{
    (void)state;
    static const char *const schemes[] = {"3lc:s=1.75", "dgc", "powersgd:rank=2", "fp32"};
    uint8_t want[4096], got[4096];
    for (size_t i = 0; i < sizeof schemes / sizeof schemes[0]; i++) {
        struct commcomp_codec *c = codec_of(schemes[i], 6, 10),
                              *other = codec_of(schemes[i], 6, 10);
        const size_t size = commcomp_state_bytes(c);
        uint8_t *saved = malloc(size);
        assert_non_null(saved);
        (void)train(c, 0, 4, want);
        assert_int_equal(commcomp_state_save(c, saved, size - 1, error), COMMCOMP_FAIL);
        assert_int_equal(commcomp_state_save(c, saved, size, error), COMMCOMP_OK);
        const size_t bytes = train(c, 4, 7, want);
        assert_int_equal(commcomp_state_restore(other, saved, size, error), COMMCOMP_OK);
        assert_int_equal(train(other, 4, 7, got), bytes);
        assert_memory_equal(got, want, bytes);

        commcomp_reset(other);
        (void)train(other, 0, 7, got);
        assert_memory_equal(got, want, bytes);
        free(saved);
        commcomp_codec_free(c);
        commcomp_codec_free(other);
    }
}

/* Every cut and every byte changed; copies have their exact size, so that tools see a read beyond
 * it. A state of another codec is refused although its checksum holds. */
static void damaged_states_are_refused(void **state)
{
    (void)state;
    struct commcomp_codec *c = codec_of("3lc", 2, 3), *turned = codec_of("3lc", 3, 2);
    struct commcomp_codec *other = codec_of("local:inner=3lc", 2, 3);
    const size_t size = commcomp_state_bytes(c), most = commcomp_state_bytes(other);
    uint8_t *good = malloc(size), *theirs = malloc(most);
    assert_non_null(good);
    assert_non_null(theirs);
    assert_int_equal(commcomp_state_save(c, good, size, error), COMMCOMP_OK);
    for (size_t cut = 0; cut < size; cut++) {
        uint8_t *copy = malloc(cut + 1);
        assert_non_null(copy);
        memcpy(copy + 1, good, cut);
        assert_int_equal(commcomp_state_restore(c, copy + 1, cut, error), COMMCOMP_FAIL);
        free(copy);
    }
    for (size_t i = 0; i < size; i++) {
        good[i] ^= 0x40;
        assert_int_equal(commcomp_state_restore(c, good, size, error), COMMCOMP_FAIL);
        good[i] ^= 0x40;
    }
    assert_int_equal(commcomp_state_save(other, theirs, most, error), COMMCOMP_OK);
    assert_int_equal(commcomp_state_restore(c, theirs, most, error), COMMCOMP_FAIL);
    assert_contains(error, "local:inner=3lc");
    assert_int_equal(commcomp_state_restore(turned, good, size, error), COMMCOMP_FAIL);
    assert_contains(error, "this codec is 3lc of shape 3x2");
    assert_int_equal(commcomp_state_restore(c, good, size, error), COMMCOMP_OK);
    free(good);
    free(theirs);
    commcomp_codec_free(c);
    commcomp_codec_free(turned);
    commcomp_codec_free(other);
}

/* The mean of two workers by rounds of floats; fp32's is exact. */
static void rounds_make_the_mean(void **state)
{
    (void)state;
    static const float x[2][6] = {{1, 2, 3, 4, 5, 6}, {3, 2, 1, 0, -1, -2}};
    static const float want[6] = {2, 2, 2, 2, 2, 2};
    float floats[2][6], mean[6] = {0};
    struct commcomp_codec *c = codec_of("fp32", 2, 3);
    size_t bytes;
    for (int i = 0; i < 2; i++)
        assert_int_equal(
            commcomp_encode_round(c, 0, 0, x[i], floats[i], sizeof floats[i], &bytes, error),
            COMMCOMP_OK);
    assert_int_equal(bytes, sizeof floats[0]);
    for (int i = 0; i < 6; i++)
        floats[0][i] += floats[1][i];
    assert_int_equal(commcomp_absorb(c, 0, 0, floats[0], bytes, 0.5f, mean, error), COMMCOMP_OK);
    assert_memory_equal(mean, want, sizeof want);
    commcomp_codec_free(c);
}

/* The status of a round's call; what it writes does not matter. */
static int encodes(struct commcomp_codec *c, uint64_t step, size_t round)
{
    static const float x[6] = {1, 2, 3, 4, 5, 6};
    float floats[6];
    size_t bytes;
    return commcomp_encode_round(c, step, round, x, floats, sizeof floats, &bytes, error);
}

static int absorbs(struct commcomp_codec *c, uint64_t step, size_t round)
{
    static const float sum[6] = {1, 2, 3, 4, 5, 6};
    float mean[6] = {0};
    return commcomp_absorb(c, step, round, sum, commcomp_round_bytes(c, round), 0.5f, mean, error);
}

static void rounds_come_in_order(void **state)
{
    (void)state;
    struct commcomp_codec *c = codec_of("powersgd:rank=1", 2, 3);
    static const char order[] = "is encoded and then absorbed before the next";
    assert_int_equal(encodes(c, 0, 1), COMMCOMP_USAGE);
    assert_contains(error, "round 1 of step 0 cannot be encoded now: ");
    assert_contains(error, order);
    assert_int_equal(absorbs(c, 0, 0), COMMCOMP_USAGE);
    assert_contains(error, "round 0 of step 0 cannot be absorbed now: ");
    for (uint64_t step = 4; step < 6; step++) {
        assert_int_equal(encodes(c, step, 99), COMMCOMP_USAGE);
        assert_contains(error, "round 99: a step of powersgd:rank=1 has 2, counted from 0");
        assert_int_equal(encodes(c, step, 0), COMMCOMP_OK);
        assert_int_equal(encodes(c, step, 0), COMMCOMP_OK); /* from the beginning */
        assert_int_equal(encodes(c, step, 1), COMMCOMP_USAGE);
        assert_int_equal(absorbs(c, step, 1), COMMCOMP_USAGE);
        assert_int_equal(absorbs(c, step + 1, 0), COMMCOMP_USAGE);
        assert_int_equal(absorbs(c, step, 99), COMMCOMP_USAGE);
        assert_contains(error, "round 99: ");
        assert_int_equal(absorbs(c, step, 0), COMMCOMP_OK);
        assert_int_equal(absorbs(c, step, 0), COMMCOMP_USAGE);
        assert_int_equal(absorbs(c, step, 1), COMMCOMP_USAGE);
        assert_int_equal(encodes(c, step + 1, 1), COMMCOMP_USAGE);
        assert_int_equal(encodes(c, step, 1), COMMCOMP_OK);
        assert_int_equal(encodes(c, step, 1), COMMCOMP_USAGE);
        assert_int_equal(absorbs(c, step, 1), COMMCOMP_OK);
        assert_int_equal(absorbs(c, step, 1), COMMCOMP_USAGE);
    }
    assert_int_equal(encodes(c, 7, 0), COMMCOMP_OK);
    assert_int_equal(commcomp_reset(c), COMMCOMP_OK);
    assert_int_equal(absorbs(c, 7, 0), COMMCOMP_USAGE);
    assert_int_equal(encodes(c, 7, 0), COMMCOMP_OK);
    assert_int_equal(absorbs(c, 7, 0), COMMCOMP_OK);
    assert_int_equal(commcomp_reset(c), COMMCOMP_OK);
    assert_int_equal(encodes(c, 7, 1), COMMCOMP_USAGE);
    const size_t size = commcomp_state_bytes(c);
    uint8_t *saved = malloc(size);
    assert_non_null(saved);
    assert_int_equal(encodes(c, 8, 0), COMMCOMP_OK);
    assert_int_equal(commcomp_state_save(c, saved, size, error), COMMCOMP_OK);
    assert_int_equal(commcomp_state_restore(c, saved, size, error), COMMCOMP_OK);
    assert_int_equal(absorbs(c, 8, 0), COMMCOMP_USAGE);
    assert_int_equal(encodes(c, 8, 0), COMMCOMP_OK);
    free(saved);
    commcomp_codec_free(c);

    c = codec_of("3lc", 2, 3); /* has no rounds, whatever the number */
    assert_int_equal(encodes(c, 0, 5), COMMCOMP_FAIL);
    assert_contains(error, "cannot be summed, but must be decoded");
    assert_int_equal(absorbs(c, 0, 5), COMMCOMP_FAIL);
    commcomp_codec_free(c);
}

static void containers_go_round(void **state)
{
    const char *path = scratch_path(state, "x.cc");
    static const float x[] = {0.3f, -1.0f, 0.2f, 0.6f, 0.0f};
    static const size_t five[] = {5}, shape[] = {2, 2};
    struct commcomp_container_writer *w;
    struct commcomp_container *c;
    size_t dims[COMMCOMP_MAX_DIMS], bytes;
    float y[5];
    assert_int_equal(commcomp_container_begin(path, "3lc", 4, 3, COMMCOMP_PUSH, 2, 2, &w, error),
                     COMMCOMP_OK);
    assert_int_equal(commcomp_container_add(w, "a", five, 1, x, error), COMMCOMP_OK);
    assert_int_equal(commcomp_container_add(w, "a", shape, 2, x, error), COMMCOMP_FAIL);
    assert_contains(error, "tensor 'a' is there twice");
    assert_int_equal(commcomp_container_add(w, "\xff", shape, 2, x, error), COMMCOMP_FAIL);
    assert_contains(error, "its name is not UTF-8");
    assert_int_equal(commcomp_container_add(w, "b", shape, 2, x, error), COMMCOMP_OK);
    assert_int_equal(commcomp_container_finish(w, error), COMMCOMP_OK);

    assert_int_equal(commcomp_container_open(path, 8, &c, error), COMMCOMP_FAIL);
    assert_contains(error, "claim to hold 9 values");
    assert_int_equal(commcomp_container_open(path, 0, &c, error), COMMCOMP_OK);
    assert_string_equal(commcomp_container_scheme(c), "3lc");
    assert_int_equal(commcomp_container_seed(c), 4);
    assert_int_equal(commcomp_container_rank(c), 3);
    assert_int_equal(commcomp_container_direction(c), COMMCOMP_PUSH);
    assert_int_equal(commcomp_container_step(c), 2);
    assert_int_equal(commcomp_container_tensors(c), 2);
    assert_string_equal(commcomp_container_name(c, 1), "b");
    assert_int_equal(commcomp_container_shape(c, 1, dims), 2);
    assert_int_equal(dims[1], 2);
    static const uint8_t want[] = {0x00, 0x00, 0x80, 0x3f, 0x61};
    assert_memory_equal(commcomp_container_payload(c, 0, &bytes), want, sizeof want);
    assert_int_equal(bytes, sizeof want);
    assert_int_equal(commcomp_container_decode(c, 0, y, error), COMMCOMP_OK);
    static const float decoded[] = {0, -1, 0, 1, 0};
    for (int i = 0; i < 5; i++)
        assert_true(y[i] == decoded[i]);
    commcomp_container_close(c);

    /* Too few tensors, and one that is abandoned: the file stays as it was. */
    assert_int_equal(commcomp_container_begin(path, "int8", 4, 3, COMMCOMP_PUSH, 2, 2, &w, error),
                     COMMCOMP_OK);
    assert_int_equal(commcomp_container_finish(w, error), COMMCOMP_FAIL);
    assert_contains(error, "0 of 2 tensors");
    assert_int_equal(commcomp_container_begin(path, "int8", 4, 3, COMMCOMP_PUSH, 2, 2, &w, error),
                     COMMCOMP_OK);
    commcomp_container_abandon(w);
    assert_int_equal(scratch_count(state), 1);
    assert_int_equal(commcomp_container_open(path, 0, &c, error), COMMCOMP_OK);
    assert_string_equal(commcomp_container_scheme(c), "3lc");
    commcomp_container_close(c);
}

/* Each tensor of a container is drawn for its own index. */
static void tensors_of_a_container_are_drawn_apart(void **state)
{
    const char *path = scratch_path(state, "x.cc");
    static const size_t dims[] = {20, 30};
    struct commcomp_container_writer *w;
    struct commcomp_container *c;
    float x[600];
    size_t bytes;
    uint8_t want[1024];
    for (size_t i = 0; i < 600; i++)
        x[i] = (float)(i % 31) / 31 - 0.4f;
    assert_int_equal(
        commcomp_container_begin(path, "ternary", 4, 3, COMMCOMP_PUSH, 2, 2, &w, error),
        COMMCOMP_OK);
    assert_int_equal(commcomp_container_add(w, "a", dims, 2, x, error), COMMCOMP_OK);
    assert_int_equal(commcomp_container_add(w, "b", dims, 2, x, error), COMMCOMP_OK);
    assert_int_equal(commcomp_container_finish(w, error), COMMCOMP_OK);
    assert_int_equal(commcomp_container_open(path, 0, &c, error), COMMCOMP_OK);
    struct commcomp_codec *codec = codec_of("ternary", 20, 30);
    assert_int_equal(commcomp_codec_sender(codec, 4, 3, COMMCOMP_PUSH, error), COMMCOMP_OK);
    for (size_t i = 0; i < 2; i++) {
        size_t length;
        assert_int_equal(commcomp_codec_tensor(codec, i, "a", error), COMMCOMP_OK);
        assert_int_equal(commcomp_encode(codec, 2, x, want, sizeof want, &length, error),
                         COMMCOMP_OK);
        const void *payload = commcomp_container_payload(c, i, &bytes);
        assert_int_equal(bytes, length);
        assert_memory_equal(payload, want, length);
    }
    commcomp_codec_free(codec);
    commcomp_container_close(c);
}

static void traces_go_round(void **state)
{
    const char *folder = scratch_path(state, ".");
    static const float x[] = {1, -2, 3, -4, 5};
    static const uint16_t half[] = {0x3f80, 0xc000}; /* bfloat16: 1, -2 */
    static const size_t five[] = {5}, two[] = {1, 2};
    struct commcomp_trace_writer *w;
    struct commcomp_trace *t;
    size_t dims[COMMCOMP_MAX_DIMS];
    float y[5];
    assert_int_equal(commcomp_trace_writer_new(folder, &w, error), COMMCOMP_OK);
    assert_int_equal(commcomp_trace_writer_tensor(w, "a", five, 1, COMMCOMP_F32, error),
                     COMMCOMP_OK);
    assert_int_equal(commcomp_trace_writer_tensor(w, "a", five, 1, COMMCOMP_F32, error),
                     COMMCOMP_FAIL);
    assert_int_equal(commcomp_trace_writer_tensor(w, "\xff", five, 1, COMMCOMP_F32, error),
                     COMMCOMP_FAIL);
    assert_int_equal(commcomp_trace_writer_tensor(w, "c", five, 1, 4, error), COMMCOMP_USAGE);
    assert_int_equal(commcomp_trace_writer_tensor(w, "b", two, 2, COMMCOMP_BF16, error),
                     COMMCOMP_OK);
    for (uint64_t step = 5; step < 7; step++) {
        assert_int_equal(commcomp_trace_writer_step(w, COMMCOMP_PUSH, 1, step, error), COMMCOMP_OK);
        assert_int_equal(commcomp_trace_writer_values(w, x, sizeof x - 1, error), COMMCOMP_USAGE);
        assert_int_equal(commcomp_trace_writer_values(w, x, sizeof x, error), COMMCOMP_OK);
        assert_int_equal(commcomp_trace_writer_values(w, half, sizeof half, error), COMMCOMP_OK);
        assert_int_equal(commcomp_trace_writer_values(w, half, 0, error), COMMCOMP_USAGE);
        assert_int_equal(commcomp_trace_writer_end_step(w, error), COMMCOMP_OK);
    }
    /* A step that is there, one without all values, one that never ends. */
    assert_int_equal(commcomp_trace_writer_step(w, COMMCOMP_PUSH, 1, 6, error), COMMCOMP_FAIL);
    assert_contains(error, "is there already");
    assert_int_equal(commcomp_trace_writer_step(w, COMMCOMP_PUSH, 1, 7, error), COMMCOMP_OK);
    assert_int_equal(commcomp_trace_writer_end_step(w, error), COMMCOMP_USAGE);
    assert_int_equal(commcomp_trace_writer_step(w, COMMCOMP_PUSH, 1, 8, error), COMMCOMP_OK);
    commcomp_trace_writer_free(w);
    assert_int_equal(scratch_count(state), 2);

    assert_int_equal(commcomp_trace_open(folder, &t, error), COMMCOMP_OK);
    assert_int_equal(commcomp_trace_streams(t), 1);
    assert_int_equal(commcomp_trace_direction(t, 0), COMMCOMP_PUSH);
    assert_int_equal(commcomp_trace_rank(t, 0), 1);
    assert_int_equal(commcomp_trace_steps(t, 0), 2);
    assert_int_equal(commcomp_trace_step_number(t, 0, 1), 6);
    assert_int_equal(commcomp_trace_tensors(t), 2);
    assert_string_equal(commcomp_trace_name(t, 1), "b");
    assert_int_equal(commcomp_trace_shape(t, 1, dims), 2);
    assert_int_equal(dims[1], 2);
    assert_int_equal(commcomp_trace_load(t, 0, 1, 0, y, error), COMMCOMP_OK);
    assert_memory_equal(y, x, sizeof x);
    assert_int_equal(commcomp_trace_load(t, 0, 1, 1, y, error), COMMCOMP_OK);
    assert_memory_equal(y, x, 2 * sizeof *x);
    commcomp_trace_close(t);
    assert_int_equal(commcomp_trace_open("/nothing.npy", &t, error), COMMCOMP_FAIL);
    assert_contains(error, "/nothing.npy");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(encodes_the_example),
        cmocka_unit_test(encodes_halves),
        cmocka_unit_test(who_sends_decides_what_is_drawn),
        cmocka_unit_test(says_what_a_codec_is),
        cmocka_unit_test(refuses_what_is_wrong),
        cmocka_unit_test(states_continue),
        cmocka_unit_test(damaged_states_are_refused),
        cmocka_unit_test(rounds_make_the_mean),
        cmocka_unit_test(rounds_come_in_order),
        cmocka_unit_test_setup_teardown(containers_go_round, scratch_setup, scratch_teardown),
        cmocka_unit_test_setup_teardown(tensors_of_a_container_are_drawn_apart, scratch_setup,
                                        scratch_teardown),
        cmocka_unit_test_setup_teardown(traces_go_round, scratch_setup, scratch_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
