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

static int cut_off(size_t size, size_t n, struct cc_error *e)
{
    return cc_fail(e, "byte %zu: the file ends, and should have %zu bytes; fetch it again", size,
                   n);
}

/* Whether the contents, compressed or not, have n bytes, by the file's size or last bytes. */
static int check_length(const uint8_t *file, size_t size, size_t n, struct cc_error *e)
{
    if (cc_is_gzip(file, size))
        return cc_gunzip_check(file, size, n, e);
    if (size < n)
        return cut_off(size, n, e);
    if (size > n)
        return cc_fail(e, "byte %zu: the file goes on after the last value; fetch it again", n);
    return CC_OK;
}

/* The first n bytes of the contents; compressed or not. */
static int contents(const uint8_t *file, size_t size, uint8_t *out, size_t n, bool whole,
                    struct cc_error *e)
{
    if (cc_is_gzip(file, size))
        return cc_gunzip(file, size, out, n, whole, e);
    if (size < n)
        return cut_off(size, n, e);
    memcpy(out, file, n);
    return CC_OK;
}

/* The bytes before the values: their dimensions, which the file's size must allow. */
struct head {
    size_t dim[3];
    int ndim;
    size_t size, values; /* bytes of the head, and after it */
};

/* Reads the head alone, so that a file is refused before it is decompressed. ndim: 3 for images, 1
 * for labels, whose dimensions would be taken for something else; 0: either. */
static int read_head(const uint8_t *file, size_t size, int ndim, struct head *out,
                     struct cc_error *e)
{
    uint8_t bytes[MOST_HEAD];
    struct head h = {.values = 1};
    CC_TRY(contents(file, size, bytes, 4, false, e));
    if (bytes[0] != 0 || bytes[1] != 0)
        return cc_fail(e, "byte 0: not an IDX file, which begins with two zeros");
    if (bytes[2] != UNSIGNED_BYTES)
        return cc_fail(e, "byte 2: values of type 0x%02x; only 0x08, unsigned bytes, is read",
                       bytes[2]);
    h.ndim = bytes[3];
    if (h.ndim != 1 && h.ndim != 3)
        return cc_fail(e, "byte 3: %d dimensions; labels have 1 and images 3", h.ndim);
    if (ndim != 0 && h.ndim != ndim)
        return cc_fail(e, "byte 3: %d dimension%s: it is a file of %s, not of %s", h.ndim,
                       h.ndim == 1 ? "" : "s", h.ndim == 1 ? "labels" : "images",
                       ndim == 1 ? "labels" : "images");
    h.size = 4 + 4 * (size_t)h.ndim;
    CC_TRY(contents(file, size, bytes, h.size, false, e));
    for (int i = 0; i < h.ndim; i++) {
        h.dim[i] = big_endian(bytes + 4 + 4 * i);
        if (h.dim[i] == 0 || !cc_mul(h.values, h.dim[i], &h.values))
            return cc_fail(e, "byte %d: a dimension of %zu", 4 + 4 * i, h.dim[i]);
    }
    /* deflate makes at most 1,032 bytes of one */
    if (h.values / 1032 > size)
        return cc_fail(e, "byte 4: %zu values, more than a file of %zu bytes can hold", h.values,
                       size);
    CC_TRY(check_length(file, size, h.size + h.values, e));
    *out = h;
    return CC_OK;
}

int cc_idx_parse(const uint8_t *file, size_t size, struct cc_idx *out, struct cc_error *e)
{
    struct head h;
    CC_TRY(read_head(file, size, 0, &h, e));
    uint8_t *all = cc_alloc(h.size + h.values, e);
    if (all == NULL)
        return CC_FAIL;
    const int status = contents(file, size, all, h.size + h.values, true, e);
    if (status != CC_OK) {
        free(all);
        return status;
    }
    memmove(all, all + h.size, h.values);
    *out = (struct cc_idx){.ndim = h.ndim, .byte = all};
    memcpy(out->dim, h.dim, sizeof h.dim);
    return CC_OK;
}

/* --- images and labels together --- */

/* Takes over the images and copies the labels. */
static int join(const char *labels_name, struct cc_idx *images, const struct cc_idx *labels,
                struct cc_data *d, struct cc_samples *out, struct cc_error *e)
{
    CC_TRY(CC_NEW(out->label, images->dim[0], e));
    for (size_t i = 0; i < images->dim[0]; i++) {
        out->label[i] = labels->byte[i];
        if (out->label[i] < d->classes)
            continue;
        if (out == &d->test)
            return cc_fail(e, "%s: byte %zu: class %u; the labels for training are 0 to %zu",
                           labels_name, 8 + i, labels->byte[i], d->classes - 1);
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

static int head_of(const struct cc_idx_file *f, int ndim, struct head *out, struct cc_error *e)
{
    const int status = read_head(f->data, f->size, ndim, out, e);
    if (status != CC_OK)
        cc_error_in(e, "%s", f->name);
    return status;
}

/* Whether two files belong together by their heads. The images have the height and width of
 * `shape`, which is set if it is zeros. */
static int check_heads(const struct cc_idx_file *images, const struct cc_idx_file *labels,
                       size_t shape[2], struct cc_error *e)
{
    struct head x, y;
    CC_TRY(head_of(images, 3, &x, e));
    CC_TRY(head_of(labels, 1, &y, e));
    if (y.dim[0] != x.dim[0])
        return cc_fail(e, "%s: byte 4: %zu labels, and %s has %zu images; both are of one set",
                       labels->name, y.dim[0], images->name, x.dim[0]);
    if (shape[0] != 0 && (shape[0] != x.dim[1] || shape[1] != x.dim[2]))
        return cc_fail(e, "%s: byte 8: images of %zux%zu; those for training have %zux%zu",
                       images->name, x.dim[1], x.dim[2], shape[0], shape[1]);
    shape[0] = x.dim[1];
    shape[1] = x.dim[2];
    return CC_OK;
}

static int parse(const struct cc_idx_file *f, struct cc_idx *out, struct cc_error *e)
{
    const int status = cc_idx_parse(f->data, f->size, out, e);
    if (status != CC_OK)
        cc_error_in(e, "%s", f->name);
    return status;
}

int cc_data_idx_pair(const struct cc_idx_file *images, const struct cc_idx_file *labels,
                     struct cc_data *d, struct cc_samples *out, struct cc_error *e)
{
    struct cc_idx x = {.byte = NULL}, y = {.byte = NULL};
    int status = CC_OK;
    CC_TRY(check_heads(images, labels, (size_t[]){d->height, d->width}, e));
    CC_TRY_OUT(parse(labels, &y, e)); /* the smaller one first */
    CC_TRY_OUT(parse(images, &x, e));
    status = join(labels->name, &x, &y, d, out, e);
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

/* The files of training or test, images and labels, as they are. */
struct part {
    char path[2][4096];
    struct cc_bytes bytes[2];
    struct cc_idx_file file[2];
};

static int open_part(const char *folder, const char *images, const char *labels, struct part *p,
                     struct cc_error *e)
{
    const char *const name[2] = {images, labels};
    for (int i = 0; i < 2; i++)
        if (!find(folder, name[i], p->path[i], sizeof p->path[i]))
            return cc_fail(e, "%s has no %s, nor %s.gz", folder, name[i], name[i]);
    for (int i = 0; i < 2; i++) {
        CC_TRY(cc_file_read(p->path[i], &p->bytes[i], e));
        p->file[i] = (struct cc_idx_file){p->path[i], p->bytes[i].data, p->bytes[i].size};
    }
    return CC_OK;
}

int cc_data_idx_folder(const char *path, bool *found, struct cc_data *d, struct cc_error *e)
{
    char file[4096];
    size_t shape[2] = {0, 0};
    struct part *part; /* training, test */
    int status = CC_OK;
    *found = find(path, "train-images-idx3-ubyte", file, sizeof file);
    if (!*found)
        return CC_OK;
    CC_TRY(CC_NEW(part, 2, e));
    CC_TRY_OUT(open_part(path, "train-images-idx3-ubyte", "train-labels-idx1-ubyte", &part[0], e));
    CC_TRY_OUT(open_part(path, "t10k-images-idx3-ubyte", "t10k-labels-idx1-ubyte", &part[1], e));
    for (int i = 0; i < 2; i++)
        CC_TRY_OUT(check_heads(&part[i].file[0], &part[i].file[1], shape, e));
    for (int i = 0; i < 2; i++)
        CC_TRY_OUT(cc_data_idx_pair(&part[i].file[0], &part[i].file[1], d,
                                    i == 0 ? &d->train : &d->test, e));
out:
    for (int i = 0; i < 4; i++)
        cc_bytes_free(&part[i / 2].bytes[i % 2]);
    free(part);
    return status;
}
