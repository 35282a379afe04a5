/* Data sets: files made here byte by byte, the digits against published figures of them, and files
 * that are damaged in every place that matters. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "core/format/gzip.h"
#include "tests/lib/data_set.h"
#include "tests/lib/scratch.h"
#include "tests/lib/text.h"
#include "train/data/data.h"
#include "train/data/sources.h"

/* --- the digits --- */

/* The test part is scikit-learn's load_digits: its first image, number of samples of each class,
 * and sum of all pixels are in its documentation and in everyone's reach. */
static void digits(void **state)
{
    static const uint8_t first[] = {0, 0, 5, 13, 9, 1, 0, 0, 0, 0, 13, 15, 10, 15, 5, 0};
    static const size_t classes[] = {178, 182, 177, 183, 181, 182, 181, 179, 174, 180};
    (void)state;
    struct cc_data *d = data_set_open("digits");
    size_t count[10] = {0}, sum = 0;
    assert_int_equal(d->train.count, 2999);
    assert_int_equal(d->test.count, 1797);
    assert_int_equal(d->classes, 10);
    assert_int_equal(cc_data_values(d), 64);
    assert_memory_equal(d->test.byte, first, sizeof first);
    for (size_t i = 0; i < d->test.count; i++)
        count[d->test.label[i]]++;
    for (size_t i = 0; i < 64 * d->test.count; i++)
        sum += d->test.byte[i];
    assert_memory_equal(count, classes, sizeof count);
    assert_int_equal(sum, 561718);
    cc_data_free(d);
}

/* --- IDX --- */

/* Three images of 2x2 and their labels. */
static const uint8_t images[] = {0, 0, 8, 3, 0, 0, 0, 3, 0, 0, 0, 2, 0,   0,
                                 0, 2, 1, 2, 3, 4, 5, 6, 7, 8, 9, 9, 255, 0};
static const uint8_t labels[] = {0, 0, 8, 1, 0, 0, 0, 3, 0, 2, 1};

static void write_gzip(void **state, const char *name, const uint8_t *bytes, size_t size)
{
    gzFile f = gzopen(scratch_path(state, name), "wb9");
    assert_non_null(f);
    assert_int_equal(gzwrite(f, bytes, (unsigned)size), (int)size);
    assert_int_equal(gzclose(f), Z_OK);
}

static void write_mnist(void **state)
{
    scratch_write(state, "train-images-idx3-ubyte", images, sizeof images);
    scratch_write(state, "train-labels-idx1-ubyte", labels, sizeof labels);
    write_gzip(state, "t10k-images-idx3-ubyte.gz", images, sizeof images);
    write_gzip(state, "t10k-labels-idx1-ubyte.gz", labels, sizeof labels);
}

static void idx(void **state)
{
    write_mnist(state);
    struct cc_data *d = data_set_open(*state);
    for (int part = 0; part < 2; part++) {
        const struct cc_samples *s = part == 0 ? &d->train : &d->test;
        assert_int_equal(s->count, 3);
        assert_memory_equal(s->byte, images + 16, 12);
        assert_int_equal(s->label[1], 2);
    }
    assert_int_equal(d->classes, 3);
    assert_int_equal(d->height, 2);
    /* mean and standard deviation of 1 .. 9, 9, 255, 0 */
    assert_float_equal(d->mean[0], 309.0f / 12, 1e-5);
    assert_float_equal(1 / d->scale[0], 69.1823f, 1e-3);
    cc_data_free(d);
}

struct damage {
    const char *file;
    size_t at;     /* the byte that is changed, or SIZE_MAX: none */
    uint8_t value; /* to what */
    size_t
        size; /* the file is cut, or filled up with zeros, to this number of bytes; 0: as it is */
    const char *message;
};

static void damaged_idx(void **state)
{
    static const char *const image = "train-images-idx3-ubyte", *const label =
                                                                    "train-labels-idx1-ubyte";
    const struct damage all[] = {
        {image, 0, 1, 0, "byte 0: not an IDX file"},
        {image, 2, 13, 0, "byte 2: values of type 0x0d"},
        {image, 3, 2, 0, "byte 3: 2 dimensions"},
        {image, 3, 255, 0, "byte 3: 255 dimensions"},
        {image, 7, 0, 0, "byte 4: a dimension of 0"},
        {image, 4, 255, 0, "more than a file of 28 bytes can hold"},
        {image, 7, 4, 0, "the file ends, and should have 32 bytes"},
        {image, 7, 2, 24, "labels-idx1-ubyte: byte 4: 3 labels, and "},
        {image, SIZE_MAX, 0, 27, "byte 27: the file ends"},
        {image, SIZE_MAX, 0, 29, "byte 28: the file goes on"},
        {image, SIZE_MAX, 0, 3, "byte 3: the file ends"},
        {image, SIZE_MAX, 0, 10, "byte 10: the file ends"},
        {image, 3, 1, 0, "byte 3: 1 dimension: it is a file of labels, not of images"},
        {label, 3, 3, 0,
         "labels-idx1-ubyte: byte 3: 3 dimensions: it is a file of images, not of labels"},
        {label, 7, 2, 10, "labels-idx1-ubyte: byte 4: 2 labels, and "},
        {label, SIZE_MAX, 0, 10, "labels-idx1-ubyte: byte 10"},
    };
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
        uint8_t copy[64] = {0};
        const struct damage *d = &all[i];
        const bool of_images = strcmp(d->file, image) == 0;
        size_t size = of_images ? sizeof images : sizeof labels;
        write_mnist(state);
        memcpy(copy, of_images ? images : labels, size);
        if (d->at != SIZE_MAX)
            copy[d->at] = d->value;
        scratch_write(state, d->file, copy, d->size != 0 ? d->size : size);
        data_set_refuse(*state, CC_FAIL, d->message);
    }
    /* A class that training does not have. */
    uint8_t copy[sizeof labels];
    memcpy(copy, labels, sizeof copy);
    copy[9] = 7;
    write_mnist(state);
    write_gzip(state, "t10k-labels-idx1-ubyte.gz", copy, sizeof copy);
    data_set_refuse(
        *state, CC_FAIL,
        "t10k-labels-idx1-ubyte.gz: byte 9: class 7; the labels for training are 0 to 2");
}

/* Every byte of a gzip file changed, one after the other, and every length: refused, or the same
 * contents (some bytes of the head, such as the time, mean nothing). */
static void damaged_gzip(void **state)
{
    size_t size;
    uint8_t out[sizeof images];
    write_gzip(state, "x.gz", images, sizeof images);
    uint8_t *file = scratch_read(scratch_path(state, "x.gz"), &size);
    assert_int_equal(cc_gunzip(file, size, out, sizeof out, true, NULL), CC_OK);
    assert_memory_equal(out, images, sizeof out);
    for (size_t n = 0; n < size; n++) {
        struct cc_error e = {""};
        assert_int_equal(cc_gunzip(file, n, out, sizeof out, true, &e), CC_FAIL);
        assert_contains(e.text, "gzip");
    }
    for (size_t i = 0; i < size; i++) {
        struct cc_error e = {""};
        file[i] ^= 0x10;
        if (cc_gunzip(file, size, out, sizeof out, true, &e) == CC_OK)
            assert_memory_equal(out, images, sizeof out);
        else
            assert_contains(e.text, "gzip");
        file[i] ^= 0x10;
    }
    struct cc_error e = {""};
    assert_int_equal(cc_gunzip(file, size, out, sizeof out - 1, true, &e), CC_FAIL);
    assert_contains(e.text, "28 bytes of contents by the length here, and they should be 27");
    assert_int_equal(cc_gunzip(file, size, out, 4, false, &e), CC_OK);
    uint8_t *more = malloc(size + 4);
    assert_non_null(more);
    memcpy(more, file, size);
    more[size] = 0;
    assert_int_equal(cc_gunzip(more, size + 1, out, sizeof out, true, &e), CC_FAIL);
    assert_contains(e.text, "or something follows");
    /* Lengths that are not true: shorter, and of what follows. */
    memcpy(more + size, file + size - 4, 4);
    assert_int_equal(cc_gunzip(more, size + 4, out, sizeof out, true, &e), CC_FAIL);
    assert_contains(e.text, "something follows the compressed contents");
    more[size - 4]--;
    assert_int_equal(cc_gunzip(more, size, out, sizeof out - 1, true, &e), CC_FAIL);
    assert_contains(e.text, "go on after the last value");
    free(more);
    free(file);
}

/* --- CIFAR --- */

static void cifar(void **state)
{
    enum { RECORD = 1 + 3072 };
    static uint8_t file[2 * RECORD + 1];
    for (size_t i = 0; i < 2 * RECORD; i++)
        file[i] = (uint8_t)(i * 7);
    file[0] = 9;
    file[RECORD] = 3;
    for (int i = 1; i <= 5; i++) {
        char name[32];
        (void)snprintf(name, sizeof name, "data_batch_%d.bin", i);
        scratch_write(state, name, file, 2 * RECORD);
    }
    scratch_write(state, "test_batch.bin", file, RECORD);
    struct cc_data *d = data_set_open(*state);
    assert_int_equal(d->train.count, 10);
    assert_int_equal(d->test.count, 1);
    assert_int_equal(d->classes, 10);
    assert_int_equal(d->train.label[8], 9);
    assert_int_equal(d->train.label[9], 3);
    assert_memory_equal(d->train.byte + 9 * 3072, file + RECORD + 1, 3072);
    cc_data_free(d);
    file[RECORD] = 10;
    scratch_write(state, "data_batch_3.bin", file, 2 * RECORD);
    data_set_refuse(*state, CC_FAIL, "data_batch_3.bin: byte 3073: class 10; the set has 0 to 9");
    scratch_write(state, "data_batch_3.bin", file, 2 * RECORD - 1);
    data_set_refuse(*state, CC_FAIL, "data_batch_3.bin: byte 6145: the file ends within image 1");
    /* The second label counts in CIFAR-100. */
    struct cc_samples s = {0};
    static uint8_t fine[2 + 3072];
    fine[0] = 99;
    fine[1] = 42;
    assert_int_equal(cc_cifar_parse(fine, sizeof fine, 2, 100, &s, NULL), CC_OK);
    assert_int_equal(s.label[0], 42);
    free(s.byte);
    free(s.label);
}

/* --- CSV --- */

static void csv(void **state)
{
    static const char text[] = "a,b,class\n1,2,0\n3,4,1\n5,6,2\n7,8,0\n9,10,1\n11,12,2\n";
    char set[512];
    const char *path = scratch_write(state, "x.csv", text, sizeof text - 1);
    (void)snprintf(set, sizeof set, "%s:test=%s", path, path);
    struct cc_data *d = data_set_open(set);
    assert_int_equal(d->train.count, 6);
    assert_int_equal(d->classes, 3);
    assert_int_equal(cc_data_values(d), 2);
    assert_float_equal(d->train.value[3], 4, 0);
    assert_int_equal(d->test.label[5], 2);
    cc_data_free(d);
    /* The class first, and one sample of five set apart. */
    (void)snprintf(
        set, sizeof set, "%s:label=first,dims=2x1x1",
        scratch_write(state, "y.csv", "0,5,1\n1,6,2\n0,7,3\n1,8,4\n1,9,5\n0,10,6\n", 36));
    d = data_set_open(set);
    assert_int_equal(d->train.count, 5);
    assert_int_equal(d->test.count, 1);
    double sum = 0;
    for (size_t i = 0; i < 5; i++)
        sum += (double)d->train.value[2 * i + 1];
    assert_float_equal((float)sum + d->test.value[1], 21, 0);
    cc_data_free(d);
    (void)snprintf(set, sizeof set, "%s:dims=3x1x1", path);
    data_set_refuse(set, CC_FAIL, "2 numbers beside the class, and a sample has 3x1x1");
    (void)snprintf(set, sizeof set, "%s:lable=first", path);
    data_set_refuse(set, CC_USAGE, "no key 'lable'");
    data_set_refuse(scratch_write(state, "z.csv", "1,2,0.5\n1,2,1\n", 14), CC_FAIL,
                    "row 1, field 3: 0.5 is not a class");
    data_set_refuse(scratch_write(state, "z.csv", "1,2,0\n1,2\n", 10), CC_FAIL, "line 2");
    data_set_refuse(scratch_write(state, "z.csv", "1\n2\n", 4), CC_FAIL, "one column");
}

/* --- LIBSVM --- */

static void libsvm(void **state)
{
    static const char text[] = "-1 1:0.5 3:2 # a remark\n+1 2:-1e1\n\n-1\n3.5 1:1 2:2 3:3\r\n";
    char set[512];
    const char *path = scratch_write(state, "x.libsvm", text, sizeof text - 1);
    (void)snprintf(set, sizeof set, "%s:test=%s", path, path);
    struct cc_data *d = data_set_open(set);
    static const float want[] = {0.5f, 0, 2, 0, -10, 0, 0, 0, 0, 1, 2, 3};
    static const uint16_t label[] = {0, 1, 0, 2};
    assert_int_equal(d->train.count, 4);
    assert_int_equal(d->classes, 3);
    assert_int_equal(d->channels, 3);
    assert_memory_equal(d->train.value, want, sizeof want);
    assert_memory_equal(d->test.label, label, sizeof label);
    cc_data_free(d);
    (void)snprintf(set, sizeof set, "%s:features=4,test=%s", path, path);
    d = data_set_open(set);
    assert_int_equal(cc_data_values(d), 4);
    cc_data_free(d);
    (void)snprintf(set, sizeof set, "%s:dims=1x2x2,test=%s", path,
                   scratch_write(state, "y.svm", "1 4:1\n", 6));
    d = data_set_open(set);
    assert_int_equal(d->height, 2);
    assert_float_equal(d->test.value[3], 1, 0);
    cc_data_free(d);
}

static void damaged_libsvm(void **state)
{
    static const struct {
        const char *text, *message;
    } all[] = {
        {"", "it has no samples"},
        {"x 1:1\n", "line 1, byte 0: not a number: 'x'"},
        {"1 1:1\n1 1\n", "line 2, byte 9: a colon should follow the index"},
        {"1 0:1\n", "line 1, byte 3: an index should be a whole number"},
        {"1 2:1 2:1\n", "indices should ascend"},
        {"1 2:1 1:1\n", "indices should ascend"},
        {"1 1.5:1\n", "an index should be a whole number"},
        {"1 1048577:1\n", "from 1 to 1048576"},
        {"1 1:\n", "line 1, byte 4: a number is missing"},
        {"1 1:nan\n", "line 1, byte 4: not a number: 'nan'"},
        {"1 1:0x10\n", "not a number: '0x10'"},
        {"1 1:1e99\n", "a number beyond those of a float"},
        {"1,2 1:1\n", "not a number: '1,2'"},
        {"1 1:11111111111111111111111111111111111111111111111111111111111111111\n",
         "more than 63 characters"},
        {"1 qid:3 1:1\n", "not a number: 'qid'"},
        {"1\n2\n", "no label is followed by a pair index:value"},
    };
    char set[512];
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        data_set_refuse(scratch_write(state, "x.libsvm", all[i].text, strlen(all[i].text)), CC_FAIL,
                        all[i].message);
    const char *path = scratch_write(state, "x.libsvm", "1 3:1\n2 1:1\n", 12);
    (void)snprintf(set, sizeof set, "%s:features=2", path);
    data_set_refuse(set, CC_FAIL, "line 1, byte 3: index 3, and samples have 2 features");
    (void)snprintf(set, sizeof set, "%s:test=%s", path,
                   scratch_write(state, "y.libsvm", "3 1:1\n", 6));
    data_set_refuse(set, CC_FAIL, "sample 1: the label 3 is none of the 2 in training");
    (void)snprintf(set, sizeof set, "%s:features=0", path);
    data_set_refuse(set, CC_USAGE, "from 1 to 1048576 features");
    (void)snprintf(set, sizeof set, "%s:features=100,dims=1x1x8", path);
    data_set_refuse(set, CC_USAGE, "features=100, and a sample of dims=1x1x8 has 8 values");
    (void)snprintf(set, sizeof set, "%s:dims=1x1x2,features=2", path);
    data_set_refuse(set, CC_FAIL, "line 1, byte 3: index 3, and samples have 2 features");
}

/* --- NumPy's arrays --- */

/* A .npy file in a static buffer. */
static size_t npy(const char *descr, const char *shape, const void *values, size_t bytes,
                  uint8_t out[512])
{
    char *head = (char *)out;
    const int n = snprintf(
        head + 10, 300, "{'descr': '%s', 'fortran_order': False, 'shape': (%s), }\n", descr, shape);
    memcpy(out, "\x93NUMPY\x01\x00", 8);
    out[8] = (uint8_t)n;
    out[9] = 0;
    memcpy(out + 10 + n, values, bytes);
    return 10 + (size_t)n + bytes;
}

static const uint8_t pixels[] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 255, 11};
static const int64_t classes[] = {1, 0, 2};

static void arrays(void **state)
{
    uint8_t x[512], y[512];
    const size_t y_size = npy("<i8", "3,", classes, sizeof classes, y);
    const float numbers[] = {1, 2, 3, 4, 5, -6.5f};
    char set[768], class_file[256];
    (void)snprintf(class_file, sizeof class_file, "%s", scratch_write(state, "y.npy", y, y_size));
    const char *path =
        scratch_write(state, "x.npy", x, npy("|u1", "3, 2, 2", pixels, sizeof pixels, x));
    (void)snprintf(set, sizeof set, "%s:labels=%s,test=%s,test-labels=%s", path, class_file, path,
                   class_file);
    struct cc_data *d = data_set_open(set);
    assert_true(d->channels == 1 && d->height == 2 && d->width == 2 && d->classes == 3);
    assert_memory_equal(d->train.byte, pixels, sizeof pixels);
    assert_true(d->test.label[0] == 1 && d->test.label[1] == 0 && d->test.label[2] == 2);
    cc_data_free(d);
    path = scratch_write(state, "x.npy", x, npy("<f4", "3, 2", numbers, sizeof numbers, x));
    (void)snprintf(set, sizeof set, "%s:labels=%s,test=%s,test-labels=%s", path, class_file, path,
                   class_file);
    d = data_set_open(set);
    assert_true(d->channels == 2 && d->height == 1 && d->train.value[5] == -6.5f);
    cc_data_free(d);
    data_set_refuse(path, CC_USAGE, "an .npy file has samples alone; name their classes");
    (void)snprintf(set, sizeof set, "%s:labels=%s,test=%s", path, class_file, path);
    data_set_refuse(set, CC_USAGE, "name their classes");
}

static void damaged_arrays(void **state)
{
    static const int64_t negative[] = {1, -1, 2};
    static const double halves[] = {1, 0.5, 2};
    static const double wide[] = {1, -3e38, 7e299};
    static const int32_t many[] = {1, 65535, 65536};
    static const float infinite[] = {1, 2, INFINITY, 4, 5, 6};
    const struct {
        const char *x_descr, *x_shape;
        const void *x;
        size_t x_bytes;
        const char *y_descr, *y_shape;
        const void *y;
        size_t y_bytes;
        const char *message;
    } all[] = {
        {"|u1", "12,", pixels, 12, "<i8", "3,", classes, 24,
         "x.npy: 1 dimension, 12 values; samples are"},
        {"|u1", "3, 4", pixels, 11, "<i8", "3,", classes, 24, "x.npy: "},
        {"|u1", "3, 4", pixels, 12, "<i8", "3,", classes, 23, "y.npy: "},
        {"|u1", "4, 3", pixels, 12, "<i8", "3,", classes, 24,
         "y.npy: 1 dimension, 3 values; classes are one number for each of 4 samples"},
        {"|u1", "3, 4", pixels, 12, "<i8", "3, 1, 1", classes, 24, "3 dimensions, 3 values"},
        {"|u1", "3, 4", pixels, 12, "<i8", "3,", negative, 24, "sample 1: -1 is not a class"},
        {"|u1", "3, 4", pixels, 12, "<f8", "3,", halves, 24, "sample 1: 0.5 is not a class"},
        {"|u1", "3, 4", pixels, 12, "<i4", "3,", many, 12,
         "y.npy: sample 2: 65536 is not a class: 0, 1, ... up to 65535"},
        {"<f8", "3, 1", wide, 24, "<i8", "3,", classes, 24,
         "x.npy: sample 2, value 0: 7e+299, beyond the range of a float"},
        {"|S4", "3, 4", pixels, 12, "<i8", "3,", classes, 24, "its dtype is '|S4'"},
        {">f4", "3, 1", pixels, 12, "<i8", "3,", classes, 24, "its dtype is '>f4'"},
        {"<f4", "3, 2", infinite, 24, "<i8", "3,", classes, 24, "sample 1, value 0: inf"},
        {"|u1", "3, 0", pixels, 0, "<i8", "3,", classes, 24, "2 dimensions, 0 values"},
        {"|u1", "1, 1, 1, 3, 4", pixels, 12, "<i8", "1,", classes, 8, "5 dimensions"},
    };
    uint8_t x[512], y[512];
    char set[768];
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        const size_t size = npy(all[i].x_descr, all[i].x_shape, all[i].x, all[i].x_bytes, x);
        const char *path = scratch_write(state, "x.npy", x, size);
        (void)snprintf(
            set, sizeof set, "%s:labels=%s", path,
            scratch_write(state, "y.npy", y,
                          npy(all[i].y_descr, all[i].y_shape, all[i].y, all[i].y_bytes, y)));
        data_set_refuse(set, CC_FAIL, all[i].message);
    }
    data_set_refuse(scratch_write(state, "x.npz", "PK", 2), CC_FAIL, "x.npz: ");
}

/* --- synthetic sets --- */

static void synthetic(void **state)
{
    (void)state;
    struct cc_data *d =
        data_set_open("synthetic:classes=4,dims=2x12x10,train=4000,test=50,noise=0.5");
    struct cc_data *again =
        data_set_open("synthetic:classes=4,dims=2x12x10,train=4000,test=50,noise=0.5");
    const size_t n = 240;
    assert_int_equal(cc_data_values(d), n);
    assert_memory_equal(d->train.value, again->train.value, 4000 * n * sizeof(float));
    /* The mean of a class's samples is its pattern; what is left is the noise, 0.5 wide. */
    double *mean = calloc(4 * n, sizeof *mean), left = 0;
    size_t count[4] = {0};
    assert_non_null(mean);
    for (size_t i = 0; i < 4000; i++) {
        count[d->train.label[i]]++;
        for (size_t k = 0; k < n; k++)
            mean[d->train.label[i] * n + k] += (double)d->train.value[i * n + k];
    }
    for (size_t i = 0; i < 4000; i++)
        for (size_t k = 0; k < n; k++) {
            const size_t c = d->train.label[i];
            left += pow((double)d->train.value[i * n + k] - mean[c * n + k] / (double)count[c], 2);
        }
    assert_float_equal(sqrt(left / 4000 / (double)n), 0.5, 0.005);
    for (size_t c = 0; c < 4; c++)
        assert_in_range(count[c], 850, 1150);
    free(mean);
    cc_data_free(d);
    cc_data_free(again);
    data_set_refuse("synthetic:classes=1", CC_USAGE, "classes=1: 1 is not between 2 and 65536");
    data_set_refuse("synthetic:size=3", CC_USAGE, "no key 'size'");
    data_set_refuse("synthetic:dims=3x4", CC_USAGE, "channels, height and width");
    data_set_refuse("synthetic:noise=loud", CC_USAGE, "'loud' is not a number");
    data_set_refuse("digit", CC_USAGE, "did you mean 'digits'?");
    data_set_refuse("/nonexistent-folder", CC_USAGE, "is not a data set");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(digits),
        cmocka_unit_test_setup_teardown(idx, scratch_setup, scratch_teardown),
        cmocka_unit_test_setup_teardown(damaged_idx, scratch_setup, scratch_teardown),
        cmocka_unit_test_setup_teardown(damaged_gzip, scratch_setup, scratch_teardown),
        cmocka_unit_test_setup_teardown(cifar, scratch_setup, scratch_teardown),
        cmocka_unit_test_setup_teardown(csv, scratch_setup, scratch_teardown),
        cmocka_unit_test_setup_teardown(libsvm, scratch_setup, scratch_teardown),
        cmocka_unit_test_setup_teardown(damaged_libsvm, scratch_setup, scratch_teardown),
        cmocka_unit_test_setup_teardown(arrays, scratch_setup, scratch_teardown),
        cmocka_unit_test_setup_teardown(damaged_arrays, scratch_setup, scratch_teardown),
        cmocka_unit_test(synthetic),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
