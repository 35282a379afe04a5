/* NumPy's arrays as data sets: one of samples, one of their classes. */
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/bytes.h"
#include "core/format/npy.h"
#include "core/format/npz.h"
#include "core/memory.h"
#include "train/data/sources.h"

/* A .npy file that has been checked. */
struct array {
    struct cc_shape shape;
    enum cc_dtype dtype;
    const uint8_t *values;
};

static int parse(const uint8_t *bytes, size_t size, struct array *out, struct cc_error *e)
{
    struct cc_contents c = {0};
    int status = cc_npy_parse_numbers(bytes, size, &c, e);
    if (status == CC_OK)
        *out = (struct array){c.tensors[0].shape, c.tensors[0].dtype, bytes + c.tensors[0].offset};
    cc_contents_free(&c);
    return status;
}

static double number_at(const struct array *a, size_t i)
{
    const uint8_t *at = a->values + i * cc_dtype_bytes(a->dtype);
    uint64_t bits;
    double wide;
    float x;
    switch (a->dtype) {
    case CC_I8:
        return (int8_t)*at;
    case CC_U8:
        return *at;
    case CC_I16:
        return (int16_t)cc_get_u16(at);
    case CC_U16:
        return cc_get_u16(at);
    case CC_I32:
        return (int32_t)cc_get_u32(at);
    case CC_U32:
        return cc_get_u32(at);
    case CC_I64:
        return (double)(int64_t)cc_get_u64(at);
    case CC_U64:
        return (double)cc_get_u64(at);
    case CC_F64:
        bits = cc_get_u64(at);
        memcpy(&wide, &bits, sizeof wide);
        return wide;
    default:
        (void)cc_stored_values(at, cc_dtype_bytes(a->dtype), a->dtype, 1, &x, NULL);
        return (double)x;
    }
}

/* --- samples --- */

/* The shape of a sample: features; height and width; or channels, height and width. */
static int set_shape(const struct array *x, struct cc_data *d, bool first, struct cc_error *e)
{
    const size_t *dim = x->shape.dim;
    const int n = x->shape.ndim;
    if (n < 2 || n > 4 || x->shape.n == 0)
        return cc_fail(e,
                       "%d dimension%s, %zu value%s; samples are an array of samples x features, "
                       "samples x height x width, or samples x channels x height x width",
                       n, n == 1 ? "" : "s", x->shape.n, x->shape.n == 1 ? "" : "s");
    const size_t channels = n == 3 ? 1 : dim[1], height = n == 2 ? 1 : dim[n - 2],
                 width = n == 2 ? 1 : dim[n - 1];
    if (n == 4 && (dim[3] == 1 || dim[3] == 3) && dim[1] > 4)
        return cc_fail(e, "%zux%zux%zu: channels seem to be last; save x.transpose(0, 3, 1, 2)",
                       dim[1], dim[2], dim[3]);
    if (!first && (d->channels != channels || d->height != height || d->width != width))
        return cc_fail(e, "samples of %zux%zux%zu; those for training have %zux%zux%zu", channels,
                       height, width, d->channels, d->height, d->width);
    d->channels = channels;
    d->height = height;
    d->width = width;
    return CC_OK;
}

static int take_samples(const struct array *x, struct cc_samples *out, struct cc_error *e)
{
    const size_t n = x->shape.n;
    out->count = x->shape.dim[0];
    if (x->dtype == CC_U8) {
        CC_TRY(CC_NEW(out->byte, n, e));
        memcpy(out->byte, x->values, n);
        return CC_OK;
    }
    CC_TRY(CC_NEW(out->value, n, e));
    for (size_t i = 0; i < n; i++) {
        const double value = number_at(x, i);
        if (!(fabs(value) <= FLT_MAX))
            return cc_fail(
                e, "sample %zu, value %zu: %g%s", i / (n / out->count), i % (n / out->count), value,
                isfinite(value) ? ", beyond the range of a float" : "; samples are finite numbers");
        out->value[i] = (float)value;
    }
    return CC_OK;
}

static int take_labels(const struct array *y, struct cc_data *d, struct cc_samples *out,
                       struct cc_error *e)
{
    const bool column = y->shape.ndim == 2 && y->shape.dim[1] == 1;
    if ((y->shape.ndim != 1 && !column) || y->shape.dim[0] != out->count)
        return cc_fail(e,
                       "%d dimension%s, %zu value%s; classes are one number for each of %zu "
                       "sample%s",
                       y->shape.ndim, y->shape.ndim == 1 ? "" : "s", y->shape.n,
                       y->shape.n == 1 ? "" : "s", out->count, out->count == 1 ? "" : "s");
    CC_TRY(CC_NEW(out->label, out->count, e));
    for (size_t i = 0; i < out->count; i++) {
        const double class = number_at(y, i);
        if (!(class >= 0 && class < CC_MOST_CLASSES) || class != floor(class))
            return cc_fail(e, "sample %zu: %.15g is not a class: 0, 1, ... up to %d", i, class,
                           CC_MOST_CLASSES - 1);
        out->label[i] = (uint16_t) class;
        if (out->label[i] < d->classes)
            continue;
        if (out == &d->test)
            return cc_fail(e, "sample %zu: class %g, and training has %zu classes", i, class,
                           d->classes);
        d->classes = (size_t)out->label[i] + 1;
    }
    return CC_OK;
}

int cc_npy_pair(const struct cc_npy_file *x, const struct cc_npy_file *y, struct cc_data *d,
                struct cc_samples *out, struct cc_error *e)
{
    struct array samples, labels;
    int status = parse(x->bytes, x->size, &samples, e);
    if (status == CC_OK)
        status = set_shape(&samples, d, out == &d->train, e);
    if (status == CC_OK)
        status = take_samples(&samples, out, e);
    if (status != CC_OK) {
        cc_error_in(e, "%s", x->name);
        return status;
    }
    status = parse(y->bytes, y->size, &labels, e);
    if (status == CC_OK)
        status = take_labels(&labels, d, out, e);
    if (status != CC_OK)
        cc_error_in(e, "%s", y->name);
    return status;
}

/* --- .npz --- */

int cc_npz_pair(const uint8_t *file, size_t size, bool test, bool *found, struct cc_data *d,
                struct cc_error *e)
{
    enum { NAMES = 4 };
    static const char *const names[2][NAMES][2] = {
        {{"X", "y"}, {"x", "y"}, {"X_train", "y_train"}, {"x_train", "y_train"}},
        {{"X_test", "y_test"}, {"x_test", "y_test"}, {"X_val", "y_val"}, {"x_val", "y_val"}}};
    *found = false;
    for (size_t i = 0; i < NAMES && !*found; i++) {
        const char *const *name = names[test][i];
        struct cc_npy_file x = {.name = name[0]}, y = {.name = name[1]};
        int status = cc_npz_member(file, size, name[0], &x.bytes, &x.size, e);
        *found = x.bytes != NULL;
        if (status == CC_OK && *found)
            status = cc_npz_member(file, size, name[1], &y.bytes, &y.size, e);
        if (status == CC_OK && *found && y.bytes == NULL)
            status = cc_fail(e, "it has an array %s and no %s", name[0], name[1]);
        if (status == CC_OK && *found)
            status = cc_npy_pair(&x, &y, d, test ? &d->test : &d->train, e);
        free(x.bytes);
        free(y.bytes);
        CC_TRY(status);
    }
    return CC_OK;
}

int cc_data_npz(const char *path, const char *keys, struct cc_data *d, struct cc_error *e)
{
    struct cc_bytes file;
    bool train = false, test = false;
    if (keys != NULL)
        return cc_usage(e, "%s: an .npz file has no keys: '%s'", path, keys);
    CC_TRY(cc_file_read(path, &file, e));
    int status = CC_OK;
    CC_TRY_OUT(cc_npz_pair(file.data, file.size, false, &train, d, e));
    if (!train)
        CC_TRY_OUT(
            cc_fail(e, "it has no array of samples to train with: X, x, X_train or x_train"));
    CC_TRY_OUT(cc_npz_pair(file.data, file.size, true, &test, d, e));
    status = test ? CC_OK : cc_data_split(d, e);
out:
    cc_bytes_free(&file);
    if (status != CC_OK)
        cc_error_in(e, "%s", path);
    return status;
}

/* --- .npy --- */

struct config {
    char *labels, *test, *test_labels;
};

static const struct cc_data_key npy_keys[] = {
    {"labels", CC_KEY_PATH, .at = offsetof(struct config, labels)},
    {"test", CC_KEY_PATH, .at = offsetof(struct config, test)},
    {"test-labels", CC_KEY_PATH, .at = offsetof(struct config, test_labels)},
    {.name = NULL}};

static int read_pair(const char *samples, const char *labels, struct cc_data *d,
                     struct cc_samples *out, struct cc_error *e)
{
    struct cc_bytes x = {.data = NULL}, y = {.data = NULL};
    int status = CC_OK;
    CC_TRY_OUT(cc_file_read(samples, &x, e));
    CC_TRY_OUT(cc_file_read(labels, &y, e));
    status = cc_npy_pair(&(struct cc_npy_file){samples, x.data, x.size},
                         &(struct cc_npy_file){labels, y.data, y.size}, d, out, e);
out:
    cc_bytes_free(&x);
    cc_bytes_free(&y);
    return status;
}

int cc_data_npy(const char *path, const char *keys, struct cc_data *d, struct cc_error *e)
{
    struct config c = {0};
    int status = CC_OK;
    CC_TRY_OUT(cc_data_keys(keys, npy_keys, &c, e));
    if (c.labels == NULL || (c.test != NULL) != (c.test_labels != NULL))
        CC_TRY_OUT(cc_usage(e,
                            "%s: an .npy file has samples alone; name their classes, as in "
                            "%s:labels=FILE.npy, and with test=FILE also test-labels=FILE",
                            path, path));
    CC_TRY_OUT(read_pair(path, c.labels, d, &d->train, e));
    status =
        c.test != NULL ? read_pair(c.test, c.test_labels, d, &d->test, e) : cc_data_split(d, e);
out:
    free(c.labels);
    free(c.test);
    free(c.test_labels);
    return status;
}
