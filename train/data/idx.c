/* IDX, the format of MNIST, Fashion-MNIST, KMNIST and EMNIST: four bytes 0, 0, type, number of
 * dimensions; the dimensions, big-endian; the values, the last dimension fastest (Y. LeCun et al.,
 * The MNIST database). Only type 8, unsigned bytes, is read. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/format/gzip.h"
#include "core/infile.h"
#include "core/memory.h"
#include "train/data/sources.h"

enum { UNSIGNED_BYTES = 8, MOST_HEAD = 4 + 4 * 3 };

static size_t big_endian(const uint8_t *p)
{
    return (size_t)p[0] << 24 | (size_t)p[1] << 16 | (size_t)p[2] << 8 | p[3];
}

/* The first n bytes of the contents; compressed or not. */
static int contents(const uint8_t *file, size_t size, uint8_t *out, size_t n, bool whole,
                    struct cc_error *e)
{
    if (cc_is_gzip(file, size))
        return cc_gunzip(file, size, out, n, whole, e);
    if (size < n)
        return cc_fail(e, "byte %zu: the file ends, and should have %zu bytes; fetch it again",
                       size, n);
    if (whole && size > n)
        return cc_fail(e, "byte %zu: the file goes on after the last value; fetch it again", n);
    memcpy(out, file, n);
    return CC_OK;
}

int cc_idx_parse(const uint8_t *file, size_t size, struct cc_idx *out, struct cc_error *e)
{
    uint8_t head[MOST_HEAD];
    struct cc_idx x = {.byte = NULL};
    size_t n = 1;
    CC_TRY(contents(file, size, head, 4, false, e));
    if (head[0] != 0 || head[1] != 0)
        return cc_fail(e, "byte 0: not an IDX file, which begins with two zeros");
    if (head[2] != UNSIGNED_BYTES)
        return cc_fail(e, "byte 2: values of type 0x%02x; only 0x08, unsigned bytes, is read",
                       head[2]);
    x.ndim = head[3];
    if (x.ndim != 1 && x.ndim != 3)
        return cc_fail(e, "byte 3: %d dimensions; labels have 1 and images 3", x.ndim);
    const size_t head_size = 4 + 4 * (size_t)x.ndim;
    CC_TRY(contents(file, size, head, head_size, false, e));
    for (int i = 0; i < x.ndim; i++) {
        x.dim[i] = big_endian(head + 4 + 4 * i);
        if (x.dim[i] == 0 || !cc_mul(n, x.dim[i], &n))
            return cc_fail(e, "byte %d: a dimension of %zu", 4 + 4 * i, x.dim[i]);
    }
    /* deflate makes at most 1,032 bytes of one */
    if (n / 1032 > size)
        return cc_fail(e, "byte 4: %zu values, more than a file of %zu bytes can hold", n, size);
    uint8_t *all = cc_alloc(head_size + n, e);
    if (all == NULL)
        return CC_FAIL;
    const int status = contents(file, size, all, head_size + n, true, e);
    if (status != CC_OK) {
        free(all);
        return status;
    }
    memmove(all, all + head_size, n);
    x.byte = all;
    *out = x;
    return CC_OK;
}

/* --- images and labels together --- */

/* Takes over the images and copies the labels. */
static int join(const char *const name[2], struct cc_idx *images, const struct cc_idx *labels,
                struct cc_data *d, struct cc_samples *out, struct cc_error *e)
{
    if (labels->dim[0] != images->dim[0])
        return cc_fail(e, "%s: byte 4: %zu labels, and %s has %zu images; both are of one set",
                       name[1], labels->dim[0], name[0], images->dim[0]);
    if (d->height != 0 && (d->height != images->dim[1] || d->width != images->dim[2]))
        return cc_fail(e, "%s: byte 8: images of %zux%zu; those for training have %zux%zu", name[0],
                       images->dim[1], images->dim[2], d->height, d->width);
    CC_TRY(CC_NEW(out->label, images->dim[0], e));
    for (size_t i = 0; i < images->dim[0]; i++) {
        out->label[i] = labels->byte[i];
        if (out->label[i] < d->classes)
            continue;
        if (out == &d->test)
            return cc_fail(e, "%s: byte %zu: class %u; the labels for training are 0 to %zu",
                           name[1], 8 + i, labels->byte[i], d->classes - 1);
        d->classes = (size_t)out->label[i] + 1;
    }
    d->channels = 1;
    d->height = images->dim[1];
    d->width = images->dim[2];
    out->count = images->dim[0];
    out->byte = images->byte;
    images->byte = NULL;
    return CC_OK;
}

/* Whether it is a file of the other kind, whose dimensions would be taken for something else. */
static int check_kind(const uint8_t *file, size_t size, int ndim, struct cc_error *e)
{
    uint8_t head[4];
    CC_TRY(contents(file, size, head, sizeof head, false, e));
    if (head[0] == 0 && head[1] == 0 && head[3] != ndim && (head[3] == 1 || head[3] == 3))
        return cc_fail(e, "byte 3: %d dimension%s: it is a file of %s, not of %s", head[3],
                       head[3] == 1 ? "" : "s", head[3] == 1 ? "labels" : "images",
                       ndim == 1 ? "labels" : "images");
    return CC_OK;
}

static int parse(const struct cc_idx_file *f, int ndim, struct cc_idx *out, struct cc_error *e)
{
    int status = check_kind(f->data, f->size, ndim, e);
    if (status == CC_OK)
        status = cc_idx_parse(f->data, f->size, out, e);
    if (status != CC_OK)
        cc_error_in(e, "%s", f->name);
    return status;
}

int cc_data_idx_pair(const struct cc_idx_file *images, const struct cc_idx_file *labels,
                     struct cc_data *d, struct cc_samples *out, struct cc_error *e)
{
    struct cc_idx x = {.byte = NULL}, y = {.byte = NULL};
    int status = CC_OK;
    CC_TRY_OUT(parse(images, 3, &x, e));
    CC_TRY_OUT(parse(labels, 1, &y, e));
    status = join((const char *const[]){images->name, labels->name}, &x, &y, d, out, e);
out:
    free(x.byte);
    free(y.byte);
    return status;
}

/* --- a folder --- */

/* Makes the path of a file, with or without .gz; false if there is none. */
static bool find(const char *folder, const char *name, char *out, size_t cap)
{
    static const char *const suffix[] = {"", ".gz"};
    for (int i = 0; i < 2; i++) {
        const int n = snprintf(out, cap, "%s/%s%s", folder, name, suffix[i]);
        if (n > 0 && (size_t)n < cap && access(out, R_OK) == 0)
            return true;
    }
    return false;
}

static int read_pair(const char *folder, const char *images, const char *labels, struct cc_data *d,
                     struct cc_samples *out, struct cc_error *e)
{
    char path[4096], second[4096];
    struct cc_bytes x = {.data = NULL}, y = {.data = NULL};
    int status = CC_OK;
    if (!find(folder, images, path, sizeof path))
        return cc_fail(e, "%s has no %s, nor %s.gz", folder, images, images);
    if (!find(folder, labels, second, sizeof second))
        return cc_fail(e, "%s has no %s, nor %s.gz", folder, labels, labels);
    CC_TRY_OUT(cc_file_read(path, &x, e));
    CC_TRY_OUT(cc_file_read(second, &y, e));
    status = cc_data_idx_pair(&(struct cc_idx_file){path, x.data, x.size},
                              &(struct cc_idx_file){second, y.data, y.size}, d, out, e);
out:
    cc_bytes_free(&x);
    cc_bytes_free(&y);
    return status;
}

int cc_data_idx_folder(const char *path, bool *found, struct cc_data *d, struct cc_error *e)
{
    char file[4096];
    *found = find(path, "train-images-idx3-ubyte", file, sizeof file);
    if (!*found)
        return CC_OK;
    CC_TRY(read_pair(path, "train-images-idx3-ubyte", "train-labels-idx1-ubyte", d, &d->train, e));
    return read_pair(path, "t10k-images-idx3-ubyte", "t10k-labels-idx1-ubyte", d, &d->test, e);
}
