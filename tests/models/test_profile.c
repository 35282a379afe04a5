/* Codec profiles: interpolation against values by hand, files written and read back, and the
 * reader's refusals. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "models/profile.h"
#include "tests/lib/scratch.h"
#include "tests/lib/text.h"

static void assert_near(double value, double want)
{
    if (!(fabs(value - want) <= 1e-12 * fabs(want)))
        fail_msg("%.17g is not %.17g", value, want);
}

static void assert_point(const struct cc_profile_codec *c, double values, double bits,
                         double encode, double decode, double decode_add)
{
    struct cc_profile_point p = cc_profile_at(c, values);
    assert_true(p.values == values);
    assert_near(p.bits_per_value, bits);
    assert_near(p.encode_ns, encode);
    assert_near(p.decode_ns, decode);
    assert_near(p.decode_add_ns, decode_add);
}

/* --- interpolation --- */

static void by_hand(void **state)
{
    (void)state;
    /* Whole times: 400, 200 and 100 ns, then 6400, 800 and 100 ns. */
    struct cc_profile_point points[] = {{100, 8, 4, 2, 1, 0, 0}, {1600, 2, 4, 0.5, 0.0625, 0, 0}};
    const struct cc_profile_codec c = {.scheme = NULL, .point = points, .points = 2};
    assert_point(&c, 100, 8, 4, 2, 1);
    assert_point(&c, 1600, 2, 4, 0.5, 0.0625);
    /* Half way on the logarithmic scale: sqrt(8 * 2) bits; for 400 values sqrt(400 * 6400) = 1600,
     * sqrt(200 * 800) = 400 and 100 ns. */
    assert_point(&c, 400, 4, 4, 1, 0.25);
    /* A quarter of the way: 8 * (1/4)^(1/4); 400 * 16^(1/4), 200 * 4^(1/4). */
    assert_point(&c, 200, 8 / sqrt(2), 4, sqrt(2), 0.5);
    /* Outside the points: the whole time is kept below, the time per value above. */
    assert_point(&c, 10, 8, 40, 20, 10);
    assert_point(&c, 1, 8, 400, 200, 100);
    assert_point(&c, 3200, 2, 4, 0.5, 0.0625);
}

static void several_points(void **state)
{
    (void)state;
    struct cc_profile_point points[] = {
        {1, 32, 64, 64, 64, 0, 0}, {4, 16, 16, 16, 16, 0, 0}, {16, 16, 16, 16, 16, 0, 0}};
    const struct cc_profile_codec c = {.scheme = NULL, .point = points, .points = 3},
                                  one = {.scheme = NULL, .point = points, .points = 1};
    assert_point(&c, 2, sqrt(32 * 16), 32, 32, 32);
    assert_point(&c, 4, 16, 16, 16, 16);
    assert_point(&c, 8, 16, 16, 16, 16);
    assert_point(&one, 1, 32, 64, 64, 64);
    assert_point(&one, 1000, 32, 64, 64, 64);
}

/* A codec that costs or sends nothing has no logarithm: linear instead. */
static void zeros(void **state)
{
    (void)state;
    struct cc_profile_point points[] = {{100, 0, 0, 0, 4, 0, 0}, {10000, 3, 0, 1, 0, 0, 0}};
    const struct cc_profile_codec c = {.scheme = NULL, .point = points, .points = 2};
    /* Half way: (0 + 10000) / 2 ns and (400 + 0) / 2 ns for 1000 values. */
    assert_point(&c, 1000, 1.5, 0, 5, 0.2);
}

/* --- schemes of other programs --- */

#define MINE(MORE)                                                                                 \
    "{\"schema\": \"commcomp-profile/1\", \"codecs\": [{\"scheme\": \"mine\", " MORE               \
    "\"points\": [{\"values\": 10, \"bits_per_value\": 2, \"encode_ns\": 1, \"decode_ns\": 1, "    \
    "\"decode_add_ns\": 1}]}]}"

static void errors(void **state)
{
    const char *text = MINE("\"lossy\": true, \"errors\": {\"error\": 0.25, \"error_low\": 0.125, "
                            "\"error_high\": 0.5, \"nmse\": 2, \"nmse_cumulative\": 0.75, "
                            "\"cosine\": -0.5, \"max_abs_error\": 3}, ");
    const char *exact = MINE("\"lossy\": false, "), *bare = MINE("");
    struct cc_profile p, again;
    struct cc_error e = {""};
    const char *path = scratch_path(state, "p.json");
    assert_int_equal(cc_profile_parse(text, strlen(text), &p, &e), CC_OK);
    assert_int_equal(cc_profile_write(&p, path, &e), CC_OK);
    assert_int_equal(cc_profile_read(path, &again, &e), CC_OK);
    for (int i = 0; i < 2; i++) {
        const struct cc_profile_codec *c = i == 0 ? p.codec : again.codec;
        assert_false(c->lossless);
        assert_true(c->errors.error == 0.25 && c->errors.error_low == 0.125 &&
                    c->errors.error_high == 0.5);
        assert_true(c->errors.nmse == 2 && c->errors.nmse_cumulative == 0.75);
        assert_true(c->errors.cosine == -0.5 && c->errors.max_abs_error == 3);
    }
    cc_profile_free(&again);
    cc_profile_free(&p);
    assert_int_equal(cc_profile_parse(exact, strlen(exact), &p, &e), CC_OK);
    assert_true(p.codec[0].lossless && p.codec[0].errors.error == 0);
    assert_int_equal(p.dtype, CC_ELEMENT_FP32); /* of the schema before */
    cc_profile_free(&p);
    assert_int_equal(cc_profile_parse(bare, strlen(bare), &p, &e), CC_OK);
    assert_true(!p.codec[0].lossless && isnan(p.codec[0].errors.error));
    assert_true(isnan(p.codec[0].errors.cosine));
    cc_profile_free(&p);
}

static void refuses_errors(void **state)
{
    (void)state;
    const struct {
        const char *text, *message;
    } list[] = {
        {MINE("\"lossy\": 1, "), "codec 0: \"mine\": \"lossy\" must be true or false"},
        {MINE("\"errors\": 1, "), "\"errors\" must be an object"},
        {MINE("\"errors\": {\"eror\": 1}, "), "unknown key \"eror\""},
        {MINE("\"errors\": {\"error\": -1}, "), "\"error\" is not a number from 0"},
        {MINE("\"errors\": {\"cosine\": 1.5}, "), "\"cosine\" is not a number from -1 to 1"},
        {MINE("\"errors\": {\"error\": 1, \"error_low\": 2, \"error_high\": 3}, "),
         "\"error\" is not between"},
        {MINE("\"errors\": {\"error_low\": 0.5}, "), "\"error\" is not between"},
    };
    for (size_t i = 0; i < sizeof list / sizeof list[0]; i++) {
        struct cc_profile p;
        struct cc_error e = {""};
        assert_int_equal(cc_profile_parse(list[i].text, strlen(list[i].text), &p, &e), CC_FAIL);
        if (strstr(e.text, list[i].message) == NULL)
            fail_msg("\"%s\" does not contain \"%s\"", e.text, list[i].message);
    }
}

/* --- points that are added --- */

static void put_and_merge(void **state)
{
    (void)state;
    struct cc_profile a = {0}, b = {0};
    const struct cc_profile_point ten = {10, 1, 2, 3, 4, 0.1, 0}, hundred = {100, 5, 6, 7, 8, 0, 0},
                                  other = {10, 9, 9, 9, 9, 0.9, 0.9};
    assert_int_equal(cc_profile_put(&a, "x", &hundred, NULL), CC_OK);
    assert_int_equal(cc_profile_put(&a, "x", &other, NULL), CC_OK);
    assert_int_equal(cc_profile_put(&a, "x", &ten, NULL), CC_OK); /* replaces it */
    assert_int_equal(a.codecs, 1);
    assert_int_equal(a.codec[0].points, 2);
    assert_memory_equal(&a.codec[0].point[0], &ten, sizeof ten);
    assert_memory_equal(&a.codec[0].point[1], &hundred, sizeof hundred);
    /* Points that are there stay; missing ones come. */
    assert_int_equal(cc_profile_put(&b, "y", &other, NULL), CC_OK);
    assert_int_equal(cc_profile_put(&b, "x", &other, NULL), CC_OK);
    const struct cc_profile_point large = {1000, 1, 1, 1, 1, 0, 0};
    assert_int_equal(cc_profile_put(&b, "x", &large, NULL), CC_OK);
    assert_int_equal(cc_profile_merge(&a, &b, NULL), CC_OK);
    assert_int_equal(a.codecs, 2);
    assert_int_equal(a.codec[0].points, 3);
    assert_true(cc_profile_point(&a, "x", 10)->encode_ns == 2);
    assert_true(cc_profile_point(&a, "x", 1000)->encode_ns == 1);
    assert_true(cc_profile_point(&a, "y", 10)->load == 0.9);
    assert_null(cc_profile_point(&a, "y", 100));
    assert_null(cc_profile_point(&a, "z", 10));
    cc_profile_free(&a);
    cc_profile_free(&b);
}

/* --- files --- */

#define POINT                                                                                      \
    "{\"values\":1,\"bits_per_value\":8,\"encode_ns\":2,\"decode_ns\":1,\"decode_add_ns\":0}"
#define CODEC(points)   "{\"scheme\":\"a\",\"points\":" points "}"
#define PROFILE(codecs) "{\"schema\":\"commcomp-profile/1\",\"codecs\":" codecs "}"

static void reads(void **state)
{
    (void)state;
    static const char text[] = PROFILE("[" CODEC("[" POINT "]") "]");
    struct cc_profile p;
    assert_int_equal(cc_profile_parse(text, sizeof text - 1, &p, NULL), CC_OK);
    assert_int_equal(p.codecs, 1);
    assert_int_equal(p.threads, 1);
    assert_string_equal(p.cpu, "");
    assert_string_equal(p.trace, "");
    const struct cc_profile_codec *c = cc_profile_find(&p, "a");
    assert_ptr_equal(c, &p.codec[0]);
    assert_null(cc_profile_find(&p, "b"));
    assert_int_equal(c->points, 1);
    assert_point(c, 1, 8, 2, 1, 0);
    cc_profile_free(&p);
    assert_null(p.codec);
}

static void there_and_back(void **state)
{
    struct cc_profile_point three[] = {{1000, 0.5, 1.25, 0.75, 0.3, 0.025, 0.5},
                                       {1e8, 0.123456789, 2, 1, 0, 0, 0}};
    struct cc_profile_point raw[] = {{7, 32, 1e-3, 12345.6789, 0, 0, 0}};
    struct cc_profile_codec codecs[] = {
        {.scheme = (char[]){"3lc:s=1.75"}, .point = three, .points = 2},
        {.scheme = (char[]){"local:inner=(3lc:zre=0)"}, .point = raw, .points = 1}};
    const struct cc_profile p = {.trace = (char[]){"a \"b\"\\\n\xff\xc3\xa4"},
                                 .cpu = (char[]){"some cpu"},
                                 .isa = (char[]){"avx2"},
                                 .threads = 3,
                                 .dtype = CC_ELEMENT_BF16,
                                 .copy_gb_per_s = 47.5,
                                 .codec = codecs,
                                 .codecs = 2};
    const char *path = scratch_path(state, "p.json");
    struct cc_profile q;
    struct cc_error e = {""};
    assert_int_equal(cc_profile_write(&p, path, &e), CC_OK);
    if (cc_profile_read(path, &q, &e) != CC_OK)
        fail_msg("%s", e.text);
    assert_string_equal(q.trace, "a \"b\"\\\n?\xc3\xa4");
    assert_string_equal(q.cpu, "some cpu");
    assert_string_equal(q.isa, "avx2");
    assert_string_equal(q.time, "");
    assert_int_equal(q.threads, 3);
    assert_int_equal(q.dtype, CC_ELEMENT_BF16);
    assert_true(q.copy_gb_per_s == 47.5);
    assert_int_equal(q.codecs, 2);
    for (size_t i = 0; i < 2; i++) {
        assert_string_equal(q.codec[i].scheme, codecs[i].scheme);
        assert_int_equal(q.codec[i].points, codecs[i].points);
        assert_memory_equal(q.codec[i].point, codecs[i].point,
                            codecs[i].points * sizeof(struct cc_profile_point));
    }
    cc_profile_free(&q);
}

static void refuses(void **state)
{
    (void)state;
    static const struct {
        const char *text, *message;
    } bad[] = {
        {"", "byte 0: "},
        {"[]", "not a JSON object"},
        {"{}", "\"schema\" must be \"commcomp-profile/2\""},
        {"{\"schema\":\"commcomp-profile/3\"}", "--profile-out"},
        {"{\"schema\":\"commcomp-profile/1\",\"dtype\":\"fp32\"}",
         "\"dtype\" is of \"schema\": \"commcomp-profile/2\""},
        {"{\"schema\":\"commcomp-profile/2\",\"dtype\":\"f32\"}",
         "\"dtype\" is \"f32\", not fp32, bf16 or fp16"},
        {"{\"schema\":\"commcomp-profile/2\",\"dtype\":16}", "\"dtype\" is not a string"},
        {"{\"schema\":1}", "\"schema\" is not a string"},
        {"{\"schema\":\"commcomp-profile/1\",\"codec\":[]}", "did you mean \"codecs\"?"},
        {"{\"schema\":\"commcomp-profile/1\",\"cpu\":3}", "\"cpu\" is not a string"},
        {"{\"schema\":\"commcomp-profile/1\",\"threads\":0}", "\"threads\" is not a whole number"},
        {"{\"schema\":\"commcomp-profile/1\"}", "\"codecs\" must be a list of at least one"},
        {PROFILE("[]"), "\"codecs\" must be a list of at least one"},
        {PROFILE("{}"), "\"codecs\" must be a list"},
        {PROFILE("[1]"), "codec 0: not an object"},
        {PROFILE("[{\"points\":[]}]"), "codec 0: \"scheme\" is missing or empty"},
        {PROFILE("[{\"scheme\":\"\"}]"), "codec 0: \"scheme\" is missing or empty"},
        {PROFILE("[{\"scheme\":\"a\",\"point\":[]}]"), "did you mean \"points\"?"},
        {PROFILE("[{\"scheme\":\"a\"}]"), "codec 0: \"a\": \"points\" must be a list"},
        {PROFILE("[" CODEC("[]") "]"), "codec 0: \"a\": \"points\" must be a list"},
        {PROFILE("[" CODEC("[" POINT "]") "," CODEC("[" POINT "]") "]"),
         "codec 1: \"a\" for the second time"},
        {PROFILE("[" CODEC("[1]") "]"), "codec 0: \"a\": point 0: not an object"},
        {PROFILE("[" CODEC("[{\"values\":1}]") "]"), "point 0: \"bits_per_value\" is missing"},
        {PROFILE("[" CODEC("[{\"value\":1}]") "]"), "did you mean \"values\"?"},
        {PROFILE("[" CODEC("[{\"values\":-1}]") "]"), "\"values\" is not a number from 0"},
        {PROFILE("[" CODEC("[{\"values\":1,\"bits_per_value\":\"8\"}]") "]"),
         "\"bits_per_value\" is not a number"},
        {PROFILE("[" CODEC("[{\"values\":1.5,\"bits_per_value\":8,\"encode_ns\":2,"
                           "\"decode_ns\":1,\"decode_add_ns\":0}]") "]"),
         "point 0: \"values\" is not a whole number from 1"},
        {PROFILE("[" CODEC("[{\"values\":0,\"bits_per_value\":8,\"encode_ns\":2,\"decode_ns\":1,"
                           "\"decode_add_ns\":0}]") "]"),
         "point 0: \"values\" is not a whole number from 1"},
        {PROFILE("[" CODEC("[" POINT "," POINT "]") "]"),
         "codec 0: \"a\": point 1: 1 values after 1: points must be in ascending order"},
    };
    struct cc_profile p;
    for (unsigned i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        struct cc_error e = {""};
        if (cc_profile_parse(bad[i].text, strlen(bad[i].text), &p, &e) != CC_FAIL)
            fail_msg("accepted: %s", bad[i].text);
        assert_contains(e.text, bad[i].message);
    }
}

static void files_that_fail(void **state)
{
    struct cc_profile p;
    struct cc_error e = {""};
    const char *path = scratch_path(state, "none.json");
    assert_int_equal(cc_profile_read(path, &p, &e), CC_FAIL);
    assert_contains(e.text, path);
    path = scratch_write(state, "bad.json", "{", 1);
    assert_int_equal(cc_profile_read(path, &p, &e), CC_FAIL);
    assert_contains(e.text, path);
    path = scratch_path(state, "no/such/folder.json");
    const struct cc_profile none = {.threads = 1};
    assert_int_equal(cc_profile_write(&none, path, &e), CC_FAIL);
    assert_contains(e.text, "folder.json");
}

int main(void)
{
#define IN_SCRATCH(f) cmocka_unit_test_setup_teardown(f, scratch_setup, scratch_teardown)
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(by_hand),  cmocka_unit_test(several_points),
        cmocka_unit_test(zeros),    cmocka_unit_test(put_and_merge),
        cmocka_unit_test(reads),    cmocka_unit_test(refuses),
        IN_SCRATCH(errors),         cmocka_unit_test(refuses_errors),
        IN_SCRATCH(there_and_back), IN_SCRATCH(files_that_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
