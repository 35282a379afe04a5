/* Readers of data sets. The first byte says which: an IDX file (also as gzip), a pair of IDX files
 * whose second begins at the offset in the next two bytes, one of CIFAR's files, a LIBSVM text, a
 * pair of .npy files, an .npz file, or dimensions. Below 128 it is one of the first three,
 * modulo 3. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "core/bytes.h"
#include "train/data/sources.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(int status, const struct cc_error *e)
{
    if (status != CC_OK && e->text[0] == '\0')
        abort(); /* a refusal without a reason */
}

/* Every label must be below the classes, every byte readable. */
static void read_all(const struct cc_samples *s, size_t values, size_t classes)
{
    volatile uint8_t sum = 0;
    for (size_t i = 0; i < s->count; i++)
        if (s->label[i] >= classes)
            abort();
    for (size_t i = 0; i < s->count * values && s->byte != NULL; i++)
        sum = (uint8_t)(sum + s->byte[i]);
    for (size_t i = 0; i < s->count * values && s->value != NULL; i++)
        sum = (uint8_t)(sum + (s->value[i] > 0));
}

static void idx(const uint8_t *data, size_t size)
{
    struct cc_idx x = {.byte = NULL};
    struct cc_error e = {""};
    const int status = cc_idx_parse(data, size, &x, &e);
    check(status, &e);
    if (status == CC_OK) {
        volatile uint8_t sum = 0;
        size_t bytes = 1;
        for (int i = 0; i < x.ndim; i++)
            bytes *= x.dim[i];
        for (size_t i = 0; i < bytes; i++)
            sum = (uint8_t)(sum + x.byte[i]);
    }
    free(x.byte);
}

/* The two files of an input: u16 the bytes of the first, then both. */
struct two {
    const uint8_t *first, *second;
    size_t first_size, second_size;
};

static bool split(const uint8_t *data, size_t size, struct two *out)
{
    if (size < 2)
        return false;
    const size_t rest = size - 2, asked = cc_get_u16(data), first = asked < rest ? asked : rest;
    *out = (struct two){data + 2, data + 2 + first, first, rest - first};
    return true;
}

static void pair(const uint8_t *data, size_t size)
{
    struct cc_error e = {""};
    struct two in;
    if (!split(data, size, &in))
        return;
    struct cc_data *d = calloc(1, sizeof *d);
    if (d == NULL)
        return;
    const int status = cc_data_idx_pair(&(struct cc_idx_file){"images", in.first, in.first_size},
                                        &(struct cc_idx_file){"labels", in.second, in.second_size},
                                        d, &d->train, &e);
    check(status, &e);
    if (status == CC_OK)
        read_all(&d->train, cc_data_values(d), d->classes);
    cc_data_free(d);
}

static void cifar(const uint8_t *data, size_t size)
{
    struct cc_data *d = calloc(1, sizeof *d);
    struct cc_error e = {""};
    if (d == NULL)
        return;
    const size_t labels = size > 0 ? 1 + (data[0] & 1) : 1;
    const int status = cc_cifar_parse(data + (size > 0), size - (size > 0), labels,
                                      labels == 1 ? 10 : 100, &d->train, &e);
    check(status, &e);
    if (status == CC_OK)
        read_all(&d->train, (size_t)3 * 32 * 32, labels == 1 ? 10 : 100);
    cc_data_free(d);
}

/* Rows must be whole: columns that ascend, below the features. */
static void read_rows(const struct cc_sparse_rows *r, size_t features)
{
    struct cc_sparse_rows columns = {.count = 0};
    for (size_t i = 0; i < r->count; i++)
        for (size_t k = r->begin[i]; k < r->begin[i + 1]; k++)
            if (r->index[k] >= features || (k > r->begin[i] && r->index[k] <= r->index[k - 1]))
                abort();
    if (features > 0 && cc_rows_transpose(r, features, &columns, NULL) == CC_OK &&
        cc_rows_nonzeros(&columns) != cc_rows_nonzeros(r))
        abort();
    cc_rows_free(&columns);
}

/* As all values, and as sparse rows: both must take, or refuse, the same texts. */
static void libsvm(const uint8_t *data, size_t size)
{
    int status[2] = {CC_OK, CC_OK};
    for (int sparse = 0; sparse < 2; sparse++) {
        struct cc_data *d = calloc(1, sizeof *d);
        struct cc_svm_labels labels = {.count = 0};
        struct cc_error e = {""};
        if (d == NULL)
            return;
        /* Otherwise the text's own indices would decide how much memory is asked for. */
        const struct cc_svm_form form = {.sparse = sparse, .features = 64};
        status[sparse] =
            cc_libsvm_parse((const char *)data, size, &form, &labels, d, &d->train, &e);
        check(status[sparse], &e);
        if (status[sparse] == CC_OK)
            read_all(&d->train, cc_data_values(d), d->classes);
        read_rows(&d->train.rows, cc_data_values(d));
        free(labels.value);
        cc_data_free(d);
    }
    if (status[0] != status[1])
        abort();
}

static void arrays(const uint8_t *data, size_t size)
{
    struct cc_error e = {""};
    struct two in;
    if (!split(data, size, &in))
        return;
    struct cc_data *d = calloc(1, sizeof *d);
    if (d == NULL)
        return;
    struct cc_npy_file x = {"x", NULL, in.first_size}, y = {"y", NULL, in.second_size};
    int status = CC_FAIL;
    x.bytes = malloc(x.size + 1);
    y.bytes = malloc(y.size + 1);
    if (x.bytes != NULL && y.bytes != NULL) {
        memcpy(x.bytes, in.first, x.size);
        memcpy(y.bytes, in.second, y.size);
        status = cc_npy_pair(&x, &y, d, &d->train, &e);
    }
    free(x.bytes);
    free(y.bytes);
    check(status, &e);
    if (status == CC_OK)
        read_all(&d->train, cc_data_values(d), d->classes);
    cc_data_free(d);
}

static void archive(const uint8_t *data, size_t size)
{
    struct cc_data *d = calloc(1, sizeof *d);
    struct cc_error e = {""};
    bool found = false;
    if (d == NULL)
        return;
    const int status = cc_npz_pair(data, size, false, &found, d, &e);
    check(status, &e);
    if (status == CC_OK && found)
        read_all(&d->train, cc_data_values(d), d->classes);
    cc_data_free(d);
}

/* Dimensions alone: a whole set could be as large as it says. */
static void dims(const uint8_t *data, size_t size)
{
    struct cc_data d = {.name = NULL};
    struct cc_error e = {""};
    char text[256] = "";
    memcpy(text, data, size < sizeof text - 1 ? size : sizeof text - 1);
    check(cc_data_dims(text, &d, &e), &e);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    void (*const reader[])(const uint8_t *, size_t) = {idx, pair, cifar};
    void (*const other[])(const uint8_t *, size_t) = {libsvm, arrays, archive, dims};
    if (size > 0 && data[0] < 128)
        reader[data[0] % 3](data + 1, size - 1);
    else if (size > 0)
        other[data[0] % 4](data + 1, size - 1);
    return 0;
}
