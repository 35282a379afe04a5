/* Samples in CSV: core/format/csv.h reads the numbers. */
#include <stdlib.h>
#include <string.h>

#include "core/format/csv.h"
#include "core/infile.h"
#include "core/memory.h"
#include "train/data/sources.h"

struct config {
    struct cc_data *d;
    bool first; /* the class is the first column */
    char *test; /* path, or NULL */
};

static const struct cc_data_key csv_keys[] = {
    {"label", CC_KEY_FIRST, .at = offsetof(struct config, first)},
    {"dims", CC_KEY_DIMS, .at = offsetof(struct config, d)},
    {"test", CC_KEY_PATH, .at = offsetof(struct config, test)},
    {.name = NULL}};

/* A matrix of all numbers of a file; the caller frees *out, also after an error. */
static int read_matrix(const char *path, float **out, size_t *rows, size_t *columns,
                       struct cc_error *e)
{
    struct cc_bytes file;
    struct cc_contents c = {0};
    int status = CC_OK;
    *out = NULL;
    CC_TRY(cc_file_read(path, &file, e));
    CC_TRY_OUT(cc_csv_parse(file.data, file.size, &c, e));
    const struct cc_shape *shape = &c.tensors[0].shape;
    if (shape->ndim != 2)
        CC_TRY_OUT(cc_fail(e, "one column; a sample has its class and at least one more number"));
    *rows = shape->dim[0];
    *columns = shape->dim[1];
    CC_TRY_OUT(CC_NEW(*out, shape->n, e));
    status = cc_csv_values(file.data, file.size, *out, shape->n, e);
out:
    if (status != CC_OK)
        cc_error_in(e, "%s", path);
    cc_contents_free(&c);
    cc_bytes_free(&file);
    return status;
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
    int status = CC_OK;
    CC_TRY_OUT(read_matrix(path, &x, &rows, &columns, e));
    if (cc_data_values(c->d) == 0) {
        c->d->channels = columns - 1;
        c->d->height = c->d->width = 1;
    }
    status = take_samples(path, c, x, rows, columns, out, e);
out:
    free(x);
    return status;
}

int cc_data_csv(const char *path, const char *keys, struct cc_data *d, struct cc_error *e)
{
    struct config c = {.d = d};
    int status = CC_OK;
    CC_TRY_OUT(cc_data_keys(keys, csv_keys, &c, e));
    CC_TRY_OUT(read_part(path, &c, &d->train, e));
    status = c.test != NULL ? read_part(c.test, &c, &d->test, e) : cc_data_split(d, e);
out:
    free(c.test);
    return status;
}
