/* Samples in CSV: core/format/csv.h reads the numbers. */
#include <stdlib.h>
#include <string.h>

#include "core/format/csv.h"
#include "core/infile.h"
#include "core/memory.h"
#include "train/data/sources.h"

struct config {
    struct cc_data *d;
    bool first;    /* the class is the first column */
    char *test;    /* path, or NULL */
    bool has_dims; /* d has a shape from the keys */
};

static int set(void *arg, const char *key, const char *value, struct cc_error *e)
{
    struct config *c = arg;
    if (strcmp(key, "label") == 0) {
        c->first = strcmp(value, "first") == 0;
        return c->first || strcmp(value, "last") == 0
                   ? CC_OK
                   : cc_usage(e, "'%s' is not first or last", value);
    }
    if (strcmp(key, "test") == 0) {
        free(c->test);
        c->test = cc_strdup(value, e);
        return c->test != NULL ? CC_OK : CC_FAIL;
    }
    if (strcmp(key, "dims") == 0) {
        c->has_dims = true;
        return cc_data_dims(value, c->d, e);
    }
    return cc_usage(e, "there is no key '%s'; there are label, dims, test", key);
}

/* A matrix of all numbers of a file; the caller frees *out. */
static int read_matrix(const char *path, float **out, size_t *rows, size_t *columns,
                       struct cc_error *e)
{
    struct cc_bytes file;
    struct cc_contents c = {0};
    CC_TRY(cc_file_read(path, &file, e));
    int status = cc_csv_parse(file.data, file.size, &c, e);
    float *x = NULL;
    if (status == CC_OK && c.tensors[0].shape.ndim != 2)
        status = cc_fail(e, "one column; a sample has its class and at least one more number");
    if (status == CC_OK) {
        const struct cc_shape *shape = &c.tensors[0].shape;
        *rows = shape->dim[0];
        *columns = shape->dim[1];
        x = cc_alloc(shape->n * sizeof *x, e);
        status = x != NULL ? cc_csv_values(file.data, file.size, x, shape->n, e) : CC_FAIL;
    }
    cc_contents_free(&c);
    cc_bytes_free(&file);
    if (status != CC_OK) {
        free(x);
        cc_error_in(e, "%s", path);
        return status;
    }
    *out = x;
    return CC_OK;
}

/* Splits a matrix into samples and classes. */
static int take_samples(const char *path, const struct config *c, const float *x, size_t rows,
                        size_t columns, struct cc_samples *out, struct cc_error *e)
{
    struct cc_data *d = c->d;
    const size_t n = columns - 1;
    if (cc_data_values(d) != n)
        return cc_fail(e, "%s: %zu numbers beside the class, and a sample has %zux%zux%zu", path, n,
                       d->channels, d->height, d->width);
    CC_TRY(CC_NEW(out->value, rows * n, e));
    CC_TRY(CC_NEW(out->label, rows, e));
    out->count = rows;
    for (size_t i = 0; i < rows; i++) {
        const float *row = x + i * columns, class = row[c->first ? 0 : n];
        if (!(class >= 0 && class < CC_MOST_CLASSES) || class != (float)(uint16_t) class)
            return cc_fail(
                e,
                "%s: row %zu, field %zu: %g is not a class: 0, 1, ... (the %s field of a row is "
                "its class; label=%s takes the other end)",
                path, i + 1, c->first ? 1 : columns, (double)class, c->first ? "first" : "last",
                c->first ? "last" : "first");
        out->label[i] = (uint16_t) class;
        if (out == &d->test && out->label[i] >= d->classes)
            return cc_fail(e, "%s: row %zu: class %g, and training has %zu classes", path, i + 1,
                           (double)class, d->classes);
        if (out->label[i] >= d->classes)
            d->classes = (size_t)out->label[i] + 1;
        memcpy(out->value + i * n, row + c->first, n * sizeof *row);
    }
    return CC_OK;
}

static int read_part(const char *path, const struct config *c, struct cc_samples *out,
                     struct cc_error *e)
{
    float *x;
    size_t rows, columns;
    CC_TRY(read_matrix(path, &x, &rows, &columns, e));
    if (out == &c->d->train && !c->has_dims) {
        c->d->channels = columns - 1;
        c->d->height = c->d->width = 1;
    }
    const int status = take_samples(path, c, x, rows, columns, out, e);
    free(x);
    return status;
}

int cc_data_csv(const char *path, const char *keys, struct cc_data *d, struct cc_error *e)
{
    struct config c = {.d = d};
    int status = cc_data_keys(keys, set, &c, e);
    if (status == CC_OK)
        status = read_part(path, &c, &d->train, e);
    if (status == CC_OK)
        status = c.test != NULL ? read_part(c.test, &c, &d->test, e) : cc_data_split(d, e);
    free(c.test);
    return status;
}
