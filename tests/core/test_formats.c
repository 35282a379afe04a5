/* Formats of tensor files: reading, writing, and the messages of refusals. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/bytes.h"
#include "core/file.h"
#include "core/format/contents.h"
#include "core/format/csv.h"
#include "core/format/npy.h"
#include "core/format/safetensors.h"
#include "core/format/tensorfile.h"
#include "tests/lib/scratch.h"
#include "tests/lib/text.h"

/* --- safetensors --- */

/* Parses and, if that works, loads all values of all tensors, in order, into out. */
static int parse(enum cc_file_format format, const void *bytes, size_t size, struct cc_contents *c,
                 float *out, struct cc_error *e)
{
    int status = cc_contents_parse(format, bytes, size, c, e);
    for (size_t i = 0; status == CC_OK && i < c->count; i++) {
        const struct cc_stored *t = &c->tensors[i];
        status = cc_stored_values((const uint8_t *)bytes + t->offset, size - t->offset, t->dtype,
                                  t->shape.n, out, e);
        out += t->shape.n;
    }
    return status;
}

static int parse_safetensors(const char *header, const void *data, size_t size,
                             struct cc_contents *c, float *out, struct cc_error *e)
{
    size_t length = strlen(header);
    uint8_t *bytes = malloc(8 + length + size);
    assert_non_null(bytes);
    cc_put_u64(bytes, length);
    memcpy(bytes + 8, header, length);
    memcpy(bytes + 8 + length, data, size);
    int status = parse(CC_SAFETENSORS, bytes, 8 + length + size, c, out, e);
    free(bytes);
    return status;
}

static const uint8_t sixteen[16] = {0, 0, 0x80, 0x3f, 0, 0, 0, 0xc0}; /* 1, -2, 0, 0 */

static void safetensors_reads(void **state)
{
    (void)state;
    struct cc_contents c;
    struct cc_error e;
    float x[8];
    /* Padding of every length puts the data at every alignment. Tensors are stored in another order
     * than listed. */
    for (int pad = 0; pad < 8; pad++) {
        char header[256];
        (void)snprintf(header, sizeof header,
                       "{\"b\":{\"dtype\":\"F32\",\"shape\":[1,1],\"data_offsets\":[4,8]},"
                       "\"__metadata__\":{\"step\":\"7\",\"\":\"\"},"
                       "\"a\":{\"dtype\":\"F32\",\"shape\":[],\"data_offsets\":[0,4]}}%*s",
                       pad, "");
        assert_int_equal(parse_safetensors(header, sixteen, 8, &c, x, &e), CC_OK);
        assert_int_equal(c.count, 2);
        assert_string_equal(c.tensors[0].name, "a");
        assert_int_equal(c.tensors[0].shape.ndim, 0);
        assert_int_equal(c.tensors[1].shape.ndim, 2);
        assert_string_equal(cc_contents_meta(&c, "step"), "7");
        assert_null(cc_contents_meta(&c, "rank"));
        assert_true(x[0] == 1 && x[1] == -2);
        cc_contents_free(&c);
    }
    assert_int_equal(parse_safetensors("{}", "", 0, &c, x, &e), CC_OK);
    assert_int_equal(c.count, 0);
    cc_contents_free(&c);
}

#define T(dtype, shape, offsets)                                                                   \
    "{\"dtype\":\"" dtype "\",\"shape\":" shape ",\"data_offsets\":" offsets "}"
#define F(offsets) T("F32", "[1]", offsets)

static void safetensors_refuses(void **state)
{
    (void)state;
    static const struct {
        const char *header;
        size_t data;
        const char *message;
    } bad[] = {
        {"[]", 0, "does not begin with {"},
        {" {}", 0, "does not begin with {"},
        {"{\"a\":" F("[0,4]") ",\"a\":" F("[4,8]") "}", 8, "\"a\" occurs twice"},
        {"{\"a\":{\"dtype\":\"F32\",\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4]}}", 4,
         "\"dtype\" occurs twice"},
        {"{\"__metadata__\":{\"k\":\"\",\"k\":\"\"}}", 0, "\"k\" occurs twice"},
        {"{\"__metadata__\":{\"step\":3}}", 0, "the value of \"step\" is not a string"},
        {"{\"__metadata__\":[]}", 0, "not an object"},
        {"{\"a\":[]}", 0, "tensor \"a\": is not described"},
        {"{\"a\":" T("I64", "[1]", "[0,8]") "}", 8, "tensor \"a\": its dtype is I64"},
        {"{\"a\":" T("f32", "[1]", "[0,4]") "}", 4, "tensor \"a\": unknown dtype \"f32\""},
        {"{\"a\":{\"dtype\":4,\"shape\":[1],\"data_offsets\":[0,4]}}", 4, "dtype is not a string"},
        {"{\"a\":{\"shape\":[1],\"data_offsets\":[0,4]}}", 4, "has no dtype"},
        {"{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offset\":[0,4]}}", 4, "unknown key"},
        {"{\"a\":" T("F32", "[-1]", "[0,4]") "}", 4, "whole numbers"},
        {"{\"a\":" T("F32", "[1.5]", "[0,4]") "}", 4, "whole numbers"},
        {"{\"a\":" T("F32", "1", "[0,4]") "}", 4, "its shape is not a list"},
        {"{\"a\":" T("F32", "[1,1,1,1,1,1,1,1,1]", "[0,4]") "}", 4, "more than 8 dimensions"},
        {"{\"a\":" T("F32", "[4294967296,4294967297]", "[0,4]") "}", 4, "overflows"},
        {"{\"a\":" T("F32", "[4294967296,1073741824]", "[0,0]") "}", 0, "overflows"},
        {"{\"a\":" F("[0,9007199254740993]") "}", 4, "data_offsets are not"},
        {"{\"a\":" F("[0,4,8]") "}", 4, "data_offsets are not"},
        {"{\"a\":" F("[4,0]") "}", 4, "do not lie within"},
        {"{\"a\":" F("[0,8]") "}", 4, "do not lie within the 4 bytes"},
        {"{\"a\":" F("[0,8]") "}", 8, "do not fit its dtype and shape"},
        {"{\"a\":" F("[4,8]") "}", 8, "\"a\" begins at byte 4 of the data, not at 0"},
        {"{\"a\":" F("[0,4]") ",\"b\":" F("[0,4]") "}", 4, "\"b\" begins at byte 0"},
        {"{\"a\":" F("[0,4]") "}", 5, "cover 4 of 5 bytes"},
        {"{\"a\\n\":" F("[0,4]") "}", 4, "control characters"},
        {"{\"\":" F("[0,4]") "}", 4, "name is empty"},
        {"{\"a\xff\":" F("[0,4]") "}", 4, "safetensors header: byte 3: invalid UTF-8"},
    };
    struct cc_contents c;
    struct cc_error e;
    float x[8];
    for (unsigned i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        if (parse_safetensors(bad[i].header, sixteen, bad[i].data, &c, x, &e) != CC_FAIL)
            fail_msg("accepted: %s", bad[i].header);
        assert_contains(e.text, bad[i].message);
    }
    uint8_t head[16] = {0};
    assert_int_equal(cc_contents_parse(CC_SAFETENSORS, head, 7, &c, &e), CC_FAIL);
    assert_contains(e.text, "7 bytes");
    assert_int_equal(cc_contents_parse(CC_SAFETENSORS, head, 16, &c, &e), CC_FAIL);
    cc_put_u64(head, 9);
    assert_int_equal(cc_contents_parse(CC_SAFETENSORS, head, 16, &c, &e), CC_FAIL);
    assert_contains(e.text, "cut short: its header should have 9 bytes, and 8 follow");
    cc_put_u64(head, UINT64_MAX);
    assert_int_equal(cc_contents_parse(CC_SAFETENSORS, head, 16, &c, &e), CC_FAIL);
    assert_contains(e.text, "more than 100000000");
}

static void conversions(void **state)
{
    (void)state;
    static uint16_t half[65536];
    static float x[65536];
    for (unsigned i = 0; i < 65536; i++)
        half[i] = (uint16_t)i;
    assert_int_equal(cc_stored_values((uint8_t *)half, sizeof half, CC_F16, 65536, x, NULL), CC_OK);
    for (unsigned i = 0; i < 65536; i++) {
        int e = (int)(i >> 10 & 31), f = (int)(i & 1023);
        double want = e == 0   ? ldexp(f, -24)
                      : e < 31 ? ldexp(1024 + f, e - 25)
                      : f == 0 ? (double)INFINITY
                               : (double)NAN;
        assert_true(isnan(want) ? isnan(x[i]) : (double)fabsf(x[i]) == want);
        assert_int_equal(signbit(x[i]) != 0, i >> 15);
    }
    static uint8_t back[sizeof half];
    assert_int_equal(cc_stored_narrow(CC_F16, x, 65536, back), 65536);
    assert_memory_equal(back, half, sizeof half);
    const float no_f16[] = {1, 65504, 65520, 0x1p-25f, 1 + 0x1p-11f};
    for (size_t i = 2; i < 5; i++)
        assert_int_equal(cc_stored_narrow(CC_F16, no_f16 + i, 1, back), 0);
    assert_int_equal(cc_stored_narrow(CC_F16, no_f16, 5, back), 2);
    assert_int_equal(cc_stored_values((uint8_t *)half, sizeof half, CC_BF16, 65536, x, NULL),
                     CC_OK);
    assert_int_equal(cc_stored_narrow(CC_BF16, x, 65536, back), 65536);
    assert_memory_equal(back, half, sizeof half);
    const float no_bf16[] = {-1, 0x1.01p0f};
    assert_int_equal(cc_stored_narrow(CC_BF16, no_bf16, 2, back), 1);
    assert_int_equal(
        cc_stored_values((uint8_t *)&half[0x3f80], sizeof half[0], CC_BF16, 1, x, NULL), CC_OK);
    assert_true(x[0] == 1);
    const double d[] = {0.1, 1e300, -1e300, 3.4028235677973366e38, 1e-46, 1 + 0x1p-24};
    assert_int_equal(cc_stored_values((const uint8_t *)d, sizeof d, CC_F64, 6, x, NULL), CC_OK);
    assert_true(x[0] == 0.1f && isinf(x[1]) && x[2] == -INFINITY && isinf(x[3]) && x[4] == 0 &&
                x[5] == 1);
}

/* Every word of 8 bits by its number, and back; values between two words are of none, and round to
 * the nearer one. */
static void float8(void **state)
{
    static const struct {
        enum cc_dtype dtype;
        int mantissa, bias, infinite;
    } types[] = {{CC_F8_E4M3, 3, 7, 128}, {CC_F8_E5M2, 2, 15, 0x7c}};
    (void)state;
    for (size_t t = 0; t < 2; t++) {
        const enum cc_dtype dtype = types[t].dtype;
        uint8_t word[256], back[256];
        float x[256];
        for (unsigned i = 0; i < 256; i++)
            word[i] = (uint8_t)i;
        assert_int_equal(cc_stored_values(word, 256, dtype, 256, x, NULL), CC_OK);
        for (unsigned i = 0; i < 256; i++) {
            const int m = types[t].mantissa, mag = (int)(i & 127), f = mag & ((1 << m) - 1);
            const double want = mag >> m == 0 ? ldexp(f, 1 - types[t].bias - m)
                                              : ldexp((1 << m) + f, (mag >> m) - types[t].bias - m);
            assert_int_equal(signbit(x[i]) != 0, i >> 7);
            if (mag == 127 || mag > types[t].infinite)
                assert_true(isnan(x[i]));
            else if (mag == types[t].infinite)
                assert_true(isinf(x[i]));
            else
                assert_true((double)fabsf(x[i]) == want);
        }
        assert_int_equal(cc_stored_narrow(dtype, x, 256, back), 256);
        assert_memory_equal(back, word, 256);
        const unsigned most = t == 0 ? 0x7e : 0x7b;
        for (unsigned i = 0; i < most; i++) {
            const float middle = (x[i] + x[i + 1]) / 2;
            float round[] = {nextafterf(middle, 0), middle, nextafterf(middle, 1e9f), -1e9f};
            assert_int_equal(cc_stored_narrow(dtype, round, 1, back), 0);
            cc_number_round(cc_dtype_number(dtype), round, 4);
            assert_true(round[0] == x[i] && round[2] == x[i + 1] && round[3] == -x[most]);
            assert_true(round[1] == x[i % 2 == 0 ? i : i + 1]);
        }
    }
}

static void safetensors_writes(void **state)
{
    const struct cc_tensor_info tensors[] = {{"b\"\\\x01", {.n = 2, .dim = {1, 2}, .ndim = 2}},
                                             {"a", {.n = 1, .ndim = 0}}};
    const struct cc_pair metadata[] = {{"k", "v\nw"}};
    static const char want[] =
        "{\"__metadata__\":{\"k\":\"v\\u000aw\"},"
        "\"b\\\"\\\\\\u0001\":{\"dtype\":\"F32\",\"shape\":[1,2],\"data_offsets\":[0,8]},"
        "\"a\":{\"dtype\":\"F32\",\"shape\":[],\"data_offsets\":[8,12]}}";
    const char *path = scratch_path(state, "x.safetensors");
    struct cc_safetensors_writer w;
    struct cc_error e;
    const float x[] = {1, 2, 3};
    assert_int_equal(cc_safetensors_begin(&w, path, tensors, NULL, 2, metadata, 1, &e), CC_OK);
    assert_int_equal(cc_safetensors_bytes(&w, x, 1 * sizeof *x, &e), CC_OK);
    assert_int_equal(cc_safetensors_bytes(&w, x + 1, 2 * sizeof *x, &e), CC_OK);
    assert_int_equal(cc_safetensors_commit(&w, &e), CC_OK);
    size_t size, length = (sizeof want - 1 + 7) / 8 * 8;
    uint8_t *bytes = scratch_read(path, &size);
    assert_int_equal(size, 8 + length + sizeof x);
    assert_int_equal(cc_get_u64(bytes), length);
    assert_memory_equal(bytes + 8, want, sizeof want - 1);
    assert_memory_equal(bytes + 8 + length, x, sizeof x);
    free(bytes);

    assert_int_equal(cc_safetensors_begin(&w, path, tensors, NULL, 2, NULL, 0, &e), CC_OK);
    assert_int_equal(cc_safetensors_bytes(&w, x, 2 * sizeof *x, &e), CC_OK);
    assert_int_equal(cc_safetensors_bytes(&w, x, 2 * sizeof *x, &e), CC_FAIL);
    assert_contains(e.text, "4 bytes more");
    assert_int_equal(cc_safetensors_commit(&w, &e), CC_FAIL);
    assert_contains(e.text, "4 bytes of values are missing");
    assert_int_equal(scratch_count(state), 1);
}

/* --- npy --- */

static size_t make_npy(uint8_t *out, int version, const char *dictionary, size_t data)
{
    size_t length = strlen(dictionary), at = version == 1 ? 10 : 12;
    memcpy(out, "\x93NUMPY", 6);
    out[6] = (uint8_t)version;
    out[7] = 0;
    cc_put_u32(out + 8, (uint32_t)length);
    memcpy(out + at, dictionary, length);
    memcpy(out + at + length, sixteen, data);
    return at + length + data;
}

static void npy_reads(void **state)
{
    (void)state;
    static const struct {
        int version;
        const char *dictionary;
        size_t data;
        int ndim;
        size_t n;
    } good[] = {
        {1, "{'descr': '<f4', 'fortran_order': False, 'shape': (2,), }   \n", 8, 1, 2},
        {2, "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 1), }\n", 8, 2, 2},
        {3, "{\"shape\":(1,2,1),\"descr\":\"<f4\",\"fortran_order\":False}", 8, 3, 2},
        {1, "{'descr': '<f4', 'fortran_order': False, 'shape': ()}\n", 4, 0, 1},
        {1, "{'descr': '<f8', 'fortran_order': False, 'shape': (2,)}\n", 16, 1, 2},
        {1, "{'descr': '<f2', 'fortran_order': False, 'shape': (0, 3)}\n", 0, 2, 0},
    };
    uint8_t bytes[256];
    struct cc_contents c;
    struct cc_error e;
    float x[8];
    for (unsigned i = 0; i < sizeof good / sizeof good[0]; i++) {
        size_t size = make_npy(bytes, good[i].version, good[i].dictionary, good[i].data);
        assert_int_equal(parse(CC_NPY, bytes, size, &c, x, &e), CC_OK);
        assert_int_equal(c.tensors[0].shape.ndim, good[i].ndim);
        assert_int_equal(c.tensors[0].shape.n, good[i].n);
        if (c.tensors[0].dtype == CC_F32 && good[i].n == 2)
            assert_true(x[0] == 1 && x[1] == -2);
        cc_contents_free(&c);
    }
}

static void npy_refuses(void **state)
{
    (void)state;
#define D(descr, order, shape)                                                                     \
    "{'descr': " descr ", 'fortran_order': " order ", 'shape': " shape ", }\n"
    static const struct {
        const char *dictionary;
        size_t data;
        const char *message;
    } bad[] = {
        {D("'>f4'", "False", "(2,)"), 8, "its dtype is '>f4'"},
        {D("'<i4'", "False", "(2,)"), 8, "x.astype('<f4')"},
        {D("[('a', '<f4')]", "False", "(2,)"), 8, "structured"},
        {D("'<f4'", "True", "(2,)"), 8, "numpy.ascontiguousarray(x)"},
        {D("'<f4'", "0", "(2,)"), 8, "neither True nor False"},
        {D("'<f4'", "False", "(2)"), 8, "not a tuple"},
        {D("'<f4'", "False", "[2]"), 8, "not a tuple"},
        {D("'<f4'", "False", "(-2,)"), 8, "a whole number is missing"},
        {D("'<f4'", "False", "(99999999999999999999,)"), 8, "too large"},
        {D("'<f4'", "False", "(4294967296, 4294967296)"), 8, "overflows"},
        {D("'<f4'", "False", "(1,1,1,1,1,1,1,1,1)"), 4, "more than 8"},
        {D("'<f4'", "False", "(3,)"), 8, "8 bytes of data do not make 3 values"},
        {D("'<f4'", "False", "(1,)"), 8, "or something was appended"},
        {"{'descr': '<f4', 'shape': (2,)}", 8, "fortran_order is missing"},
        {"{'descr': '<f4', 'descr': '<f4'}", 8, "occurs twice"},
        {"{'desc': '<f4'}", 8, "unknown key"},
        {"{'descr': '<f4' 'shape': (2,)}", 8, "a comma or } is missing"},
        {D("'<f4'", "False", "(2,)") "x", 8, "something follows"},
        {"{'descr", 8, "does not end"},
        {"", 0, "not a dictionary"},
    };
    uint8_t bytes[256];
    struct cc_contents c;
    struct cc_error e;
    for (unsigned i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        size_t size = make_npy(bytes, 1, bad[i].dictionary, bad[i].data);
        if (cc_contents_parse(CC_NPY, bytes, size, &c, &e) != CC_FAIL)
            fail_msg("accepted: %s", bad[i].dictionary);
        assert_contains(e.text, bad[i].message);
    }
    size_t size = make_npy(bytes, 4, "{}", 0);
    assert_int_equal(cc_contents_parse(CC_NPY, bytes, size, &c, &e), CC_FAIL);
    assert_contains(e.text, "version 4.0");
    size = make_npy(bytes, 1, "{}", 0);
    cc_put_u16(bytes + 8, 3);
    assert_int_equal(cc_contents_parse(CC_NPY, bytes, size, &c, &e), CC_FAIL);
    assert_contains(e.text, "more than the file has");
    assert_int_equal(cc_contents_parse(CC_NPY, bytes, 9, &c, &e), CC_FAIL);
    assert_contains(e.text, "not a .npy file");
}

static void npy_writes(void **state)
{
    /* The bytes that numpy.save writes for a (2, 3) array: 128 bytes, then the data. */
    char want[129];
    (void)snprintf(want, sizeof want, "%s%-117s\n", "\x93NUMPY\x01",
                   "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }");
    static const struct cc_shape shapes[] = {
        {.n = 6, .dim = {2, 3}, .ndim = 2}, {.n = 6, .dim = {6}, .ndim = 1}, {.n = 1, .ndim = 0}};
    const float x[6] = {1, 2, 3, 4, 5, 6};
    for (int i = 0; i < 3; i++) {
        struct cc_outfile o;
        struct cc_contents c;
        struct cc_error e;
        const char *path = scratch_path(state, "x.npy");
        float y[6];
        size_t size;
        assert_int_equal(cc_file_create(&o, path, &e), CC_OK);
        cc_npy_put_header(o.f, CC_F32, &shapes[i]);
        (void)fwrite(x, sizeof x[0], shapes[i].n, o.f);
        assert_int_equal(cc_file_commit(&o, &e), CC_OK);
        uint8_t *bytes = scratch_read(path, &size);
        assert_int_equal(size, 128 + shapes[i].n * sizeof x[0]);
        if (i == 0) {
            assert_memory_equal(bytes, want, 6);
            assert_int_equal(cc_get_u32(bytes + 6), 0x00760001);
            assert_memory_equal(bytes + 10, want + 7, 118);
        }
        assert_int_equal(parse(CC_NPY, bytes, size, &c, y, &e), CC_OK);
        assert_memory_equal(y, x, shapes[i].n * sizeof x[0]);
        assert_int_equal(c.tensors[0].shape.ndim, shapes[i].ndim);
        cc_contents_free(&c);
        free(bytes);
    }
}

/* --- CSV --- */

static void csv_reads(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        int ndim;
        size_t rows, columns;
        float first, last;
    } good[] = {
        {"1\n-2.5e-3\n", 1, 2, 0, 1, -2.5e-3f},
        {"1\n2", 1, 2, 0, 1, 2},
        {"grad\n.5\n5.\n+7", 1, 3, 0, 0.5f, 7},
        {"a,b,c\r\n1, 2 ,3\r\n4,\"5\",6e2\r\n", 2, 2, 3, 1, 600},
        {"1,2,3\n", 2, 1, 3, 1, 3},
        {"nan\n1e-46\n16777217\n", 1, 2, 0, 0, 16777216},
        {"\n\n1\n2\n\n", 1, 2, 0, 1, 2},
    };
    struct cc_contents c;
    struct cc_error e;
    float x[16];
    /* A locale with a decimal comma, where it is installed, must not matter. */
    (void)setlocale(LC_ALL, "de_DE.UTF-8");
    for (unsigned i = 0; i < sizeof good / sizeof good[0]; i++) {
        assert_int_equal(parse(CC_CSV, good[i].text, strlen(good[i].text), &c, x, &e), CC_OK);
        const struct cc_shape *s = &c.tensors[0].shape;
        assert_int_equal(s->ndim, good[i].ndim);
        assert_int_equal(s->dim[0], good[i].rows);
        assert_int_equal(s->dim[1], good[i].columns);
        assert_true(x[0] == good[i].first && x[s->n - 1] == good[i].last);
        cc_contents_free(&c);
    }
    (void)setlocale(LC_ALL, "C");
}

static void csv_refuses(void **state)
{
    (void)state;
    static const struct {
        const char *text, *message;
    } bad[] = {
        {"", "no numbers"},
        {"a,b\n", "no numbers"},
        {"1,2\n3\n", "line 2, field 2: the row ends, and is shorter"},
        {"1,2\n3,4,5\n", "longer than the first"},
        {"1,,3\n", "line 1, field 2: is empty"},
        {"1,2\n3,\n", "line 2, field 2: is empty"},
        {"1\n2x\n", "line 2, field 1: not a number: '2x'"},
        {"a,b\n1,2\nc,d\n", "line 3, field 1: not a number: 'c'"},
        {"a,1\n", "line 1, field 2: a number among names: '1'"},
        {"1,a\n", "line 1, field 2: not a number"},
        {"1\n0x10\n", "not a number"},
        {"1\ninf\n", "not a number"},
        {"1\n1e39\n", "beyond the range"},
        {"1\n1e\n", "not a number"},
        {"1\n--1\n", "not a number"},
        {"1\n1 2\n", "not a number"},
        {"1\n\"2\n", "line"},
        {"1;2\n3;4\n", "line 2, field 1: not a number"},
    };
    struct cc_contents c;
    struct cc_error e;
    for (unsigned i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        if (cc_contents_parse(CC_CSV, (const uint8_t *)bad[i].text, strlen(bad[i].text), &c, &e) !=
            CC_FAIL)
            fail_msg("accepted: %s", bad[i].text);
        assert_contains(e.text, bad[i].message);
    }
    /* A field that never ends does not fill the memory. */
    size_t size = 1 << 20;
    uint8_t *text = malloc(size);
    assert_non_null(text);
    memset(text, '1', size);
    assert_int_equal(cc_contents_parse(CC_CSV, text, size, &c, &e), CC_FAIL);
    assert_contains(e.text, "far too long");
    free(text);
}

static void csv_round_trip(void **state)
{
    const struct cc_shape shape = {.n = 6, .dim = {2, 3}, .ndim = 2};
    const float x[6] = {0.1f, -1e-45f, 3.4028235e38f, 16777215, -0.0f, 1.0f / 3};
    const char *path = scratch_path(state, "x.csv");
    struct cc_outfile o;
    struct cc_contents c;
    struct cc_error e;
    float y[6];
    size_t size;
    assert_int_equal(cc_file_create(&o, path, &e), CC_OK);
    cc_csv_put(o.f, &shape, x, 6);
    assert_int_equal(cc_file_commit(&o, &e), CC_OK);
    char *bytes = scratch_read(path, &size);
    assert_memory_equal(bytes, "0.100000001,-1.40129846e-45,3.40282347e+38\n16777215,-0,", 53);
    assert_int_equal(parse(CC_CSV, bytes, size, &c, y, &e), CC_OK);
    assert_memory_equal(x, y, sizeof x);
    assert_int_equal(c.tensors[0].shape.dim[1], 3);
    cc_contents_free(&c);
    free(bytes);
}

/* Values that the reader would refuse are not written, and a tensor of more than two dimensions is
 * written flat. */
static void csv_writes_what_it_reads(void **state)
{
    const float bad[][3] = {{1, NAN, 2}, {1, -INFINITY, 2}};
    static const char *const message[] = {"x.csv: tensor \"a\": the value at index 1 is NaN",
                                          "index 1 is infinite, which CSV cannot hold; write a "};
    const char *path = scratch_path(state, "x.csv");
    struct cc_tensor_info a = {.name = "a", .shape = cc_shape_flat(3)};
    struct cc_tensor_file *w;
    struct cc_error e;
    for (int i = 0; i < 2; i++) {
        assert_int_equal(cc_tensor_file_begin(path, &a, NULL, 1, NULL, 0, &w, &e), CC_OK);
        assert_int_equal(cc_tensor_file_put(w, bad[i], &e), CC_FAIL);
        assert_contains(e.text, message[i]);
        cc_tensor_file_abort(w);
    }
    a.shape = (struct cc_shape){.n = 0, .dim = {0, 3}, .ndim = 2};
    assert_int_equal(cc_tensor_file_begin(path, &a, NULL, 1, NULL, 0, &w, &e), CC_FAIL);
    assert_contains(e.text,
                    "x.csv: tensor \"a\" is empty, which CSV cannot hold; write a .safetensors");
    assert_int_equal(scratch_count(state), 0);
    const float x[] = {1, 2, 3, 4};
    a.shape = (struct cc_shape){.n = 4, .dim = {2, 1, 2}, .ndim = 3};
    assert_int_equal(cc_tensor_file_begin(path, &a, NULL, 1, NULL, 0, &w, &e), CC_OK);
    assert_int_equal(cc_tensor_file_put(w, x, &e), CC_OK);
    assert_int_equal(cc_tensor_file_commit(w, &e), CC_OK);
    size_t size;
    char *text = scratch_read(path, &size);
    assert_string_equal(text, "1\n2\n3\n4\n");
    free(text);
}

int main(void)
{
#define IN_SCRATCH(f) cmocka_unit_test_setup_teardown(f, scratch_setup, scratch_teardown)
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(safetensors_reads), cmocka_unit_test(safetensors_refuses),
        cmocka_unit_test(conversions),       cmocka_unit_test(float8),
        IN_SCRATCH(safetensors_writes),      cmocka_unit_test(npy_reads),
        cmocka_unit_test(npy_refuses),       IN_SCRATCH(npy_writes),
        cmocka_unit_test(csv_reads),         cmocka_unit_test(csv_refuses),
        IN_SCRATCH(csv_round_trip),          IN_SCRATCH(csv_writes_what_it_reads),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
